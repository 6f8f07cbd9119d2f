"""Every tiny checkpoint: exported, run in chunks of several sizes, against the reference logits and greedy continuations."""
import json
import sys
import unittest

from command import DATA, CommandTest, max_difference, read_tensors

INDEX = json.loads((DATA / "arch/index.json").read_text())["models"]
CONTEXT = 128


class Architectures(CommandTest):
    def export(self, model, options, context):
        program = self.folder / f"{context}.pte"
        self.done("export", DATA / "arch" / model["name"], "-o", program, "--context-length", context, "-q", *options)
        return program

    def check(self, model, options, rows, tolerance=None):
        if tolerance is None:
            tolerance = max(1e-4, 10 * model["max_abs_diff_float32_float64"])
        golden = read_tensors(DATA / "arch" / model["golden"])
        options = [*options, "--prefill-rows", rows]
        programs = {CONTEXT: self.export(model, options, CONTEXT)}
        for sequence in range(4):
            ids = list(golden[f"seq{sequence}.ids"][1])
            context = CONTEXT
            if model["sequences"][sequence].get("rope_factors") == "short":
                # A longrope program holds one list of factors: the short one where the context stays below the switch.
                context = model["rope_switch_length"]
                programs.setdefault(context, self.export(model, options, context))
            program = programs[context]
            for chunk in ([], *(["--chunk", n] for n in (1, 3, 7) if n <= rows)):
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
                self.check(model, ["--backend", "portable"], 16)

    def test_flat_boolean_int32_all_rows(self):
        for model in INDEX:
            with self.subTest(model["name"]):
                self.check(model, ["--backend", "portable", "--flat-sliding", "--mask-form", "boolean", "--ids-dtype", "int32", "--logits-rows", "all"], 5)

    def test_decode_only(self):
        for model in INDEX:
            with self.subTest(model["name"]):
                self.check(model, ["--backend", "portable"], 0)

    def test_cpu_float(self):
        for model in INDEX:
            with self.subTest(model["name"]):
                self.check(model, ["--backend", "cpu", "--quant", "none", "--cache-dtype", "float32"], 16)


def model_vocab(golden):
    return golden["seq0.logits"][0][1]


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
