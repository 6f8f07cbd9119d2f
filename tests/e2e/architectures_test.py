"""Every tiny checkpoint: exported, run in chunks of several sizes, against the reference logits and greedy continuations."""
import json
import sys
import unittest

from command import DATA, CommandTest, max_difference, read_tensors

INDEX = json.loads((DATA / "arch/index.json").read_text())["models"]
CONTEXT = 128


class Architectures(CommandTest):
    def check(self, model, backend, options, tolerance):
        golden = read_tensors(DATA / "arch" / model["golden"])
        program = self.folder / "model.pte"
        self.done("export", DATA / "arch" / model["name"], "-o", program, "--backend", backend, "--context-length", CONTEXT, "-q", *options)
        for sequence in range(4):
            ids = list(golden[f"seq{sequence}.ids"][1])
            for chunk in ([], ["--chunk", 1], ["--chunk", 3], ["--chunk", 7]):
                out = self.folder / "logits.safetensors"
                words = ["--tokens", ",".join(map(str, ids)), "-o", out, "-q", *chunk]
                if chunk:  # chunks matter where only the last row is read
                    self.done("logits", program, "--last", *words)
                    expected = golden[f"seq{sequence}.logits"][1][-model_vocab(golden):]
                else:
                    self.done("logits", program, *words)
                    expected = golden[f"seq{sequence}.logits"][1]
                got = read_tensors(out)["logits"][1]
                self.assertEqual(len(got), len(expected))
                self.assertLessEqual(max_difference(got, expected), tolerance, f"{model['name']} seq{sequence} {chunk}")
            run = self.done("run", program, "--tokens", ",".join(map(str, ids)), "-n", 24, "--temperature", 0, "--ignore-eos", "--json").json
            self.assertEqual(run["tokens"], list(golden[f"seq{sequence}.greedy"][1]), f"{model['name']} seq{sequence}")

    def test_portable(self):
        for model in INDEX:
            with self.subTest(model["name"]):
                noise = model["max_abs_diff_float32_float64"]
                self.check(model, "portable", ["--prefill-rows", 16], max(1e-4, 10 * noise))

    def test_flat_boolean_int32_all_rows(self):
        for model in INDEX:
            with self.subTest(model["name"]):
                noise = model["max_abs_diff_float32_float64"]
                options = ["--prefill-rows", 5, "--flat-sliding", "--mask-form", "boolean", "--ids-dtype", "int32", "--logits-rows", "all"]
                self.check(model, "portable", options, max(1e-4, 10 * noise))

    def test_decode_only(self):
        for model in INDEX:
            with self.subTest(model["name"]):
                self.check(model, "portable", ["--prefill-rows", 0], max(1e-4, 10 * model["max_abs_diff_float32_float64"]))


def model_vocab(golden):
    return golden["seq0.logits"][0][1]


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
