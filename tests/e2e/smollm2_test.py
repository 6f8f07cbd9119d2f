"""SmolLM2-135M-Instruct from its GGUF file: greedy tokens and logits against the float32 reference; two exports are equal."""
import hashlib
import json
import pathlib
import sys
import tempfile
import unittest

from command import DATA, SMOLLM2, CommandTest, max_difference, pteron, read_tensors

NEAR_TIE = 0.5  # between two logits; docs/cpu_backend.md
REFERENCE = json.loads((DATA / "real/smollm2/prompts.json").read_text())


@unittest.skipUnless(SMOLLM2.exists(), "scripts/fetch_smollm2.sh brings the checkpoint")
class SmolLM2(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory()
        cls.program = pathlib.Path(cls.shared.name) / "smollm2.pte"
        made = pteron("export", SMOLLM2, "-o", cls.program, "--backend", "portable", "--context-length", 2048, "-q")
        if made.code != 0:
            raise AssertionError(made.err)

    @classmethod
    def tearDownClass(cls):
        cls.shared.cleanup()

    def test_greedy_tokens_equal_the_reference(self):
        for prompt in REFERENCE["prompts"]:
            with self.subTest(prompt["name"]):
                ids = ",".join(map(str, prompt["ids"]))
                run = self.done("run", self.program, "--tokens", ids, "-n", len(prompt["greedy"]), "--temperature", 0, "--ignore-eos", "--json").json
                self.assertEqual(run["tokens"], prompt["greedy"])
                self.assertEqual(run["finish_reason"], "length")

    def test_logits_of_the_last_row(self):
        rows = read_tensors(DATA / "real/smollm2/rows.safetensors")
        for prompt in REFERENCE["prompts"]:
            with self.subTest(prompt["name"]):
                out = self.folder / "logits.safetensors"
                self.done("logits", self.program, "--tokens", ",".join(map(str, prompt["ids"])), "--last", "-o", out, "-q")
                got = read_tensors(out)["logits"][1]
                top = [abs(got[token] - logit) for token, logit in prompt["top20"]]
                self.assertLessEqual(max(top), 2e-3)
                if prompt["name"] in rows:
                    self.assertLessEqual(max_difference(got, rows[prompt["name"]][1]), 2e-3)

    def test_rows_of_a_call_do_not_change_each_other_on_the_cpu_backend(self):
        """One row a call or many, with guesses or without: the same logits, bit by bit, and the same text."""
        program = self.folder / "cpu.pte"
        self.done("export", SMOLLM2, "-o", program, "--backend", "cpu", "--context-length", 512, "-q")
        ids = ",".join(str(id) for prompt in REFERENCE["prompts"] for id in prompt["ids"])
        ids = ",".join(ids.split(",")[:200])
        out = self.folder / "logits.safetensors"
        found = set()
        for chunk in (1, 3, 8, 77, 128):
            self.done("logits", program, "--tokens", ids, "--last", "--chunk", chunk, "-o", out, "-q")
            found.add(hashlib.sha256(out.read_bytes()).hexdigest())
        self.assertEqual(len(found), 1)
        quoted = "the old clock in the hall struck nine, then ten, then eleven. "
        texts = [self.done("run", program, "-p", quoted * 3 + quoted[:20], "-n", 60, "--temperature", 0, "--ignore-eos", "--lookup", guesses, "--json").json
                 for guesses in (0, 4, 7)]
        self.assertEqual([t["tokens"] for t in texts], [texts[0]["tokens"]] * 3)
        self.assertGreater(texts[1]["lookup"]["accepted"], 10)

    def test_the_cpu_backend_differs_at_near_ties_only(self):
        """Its activations have 8 bits: greedy tokens may part where the reference itself hardly decides."""
        program = self.folder / "cpu.pte"
        self.done("export", SMOLLM2, "-o", program, "--backend", "cpu", "--context-length", 2048, "-q")
        for prompt in REFERENCE["prompts"]:
            with self.subTest(prompt["name"]):
                ids, expected = prompt["ids"], prompt["greedy"]
                run = self.done("run", program, "--tokens", ",".join(map(str, ids)), "-n", len(expected), "--temperature", 0, "--ignore-eos", "--json").json
                if run["tokens"] == expected:
                    continue
                at = next(i for i, (a, b) in enumerate(zip(run["tokens"], expected)) if a != b)
                out = self.folder / "logits.safetensors"
                self.done("logits", self.program, "--tokens", ",".join(map(str, ids + expected[:at])), "--last", "-o", out, "-q")
                got = read_tensors(out)["logits"][1]
                gap = got[expected[at]] - got[run["tokens"][at]]
                self.assertLess(gap, NEAR_TIE, f"token {at}")

    def test_text_and_end_of_text(self):
        run = self.done("run", self.program, "-p", "The capital of France is", "-n", 48, "--temperature", 0, "--json").json
        self.assertEqual(run["prompt_tokens"], REFERENCE["prompts"][0]["ids"])
        self.assertTrue(run["text"].startswith(" Paris"))
        self.assertEqual(run["finish_reason"], "stop")
        self.assertEqual(len(run["tokens"]), REFERENCE["prompts"][0]["first_eos"] + 1)
        stopped = self.done("run", self.program, "-p", "The capital of France is", "--stop", "answer", "--temperature", 0, "--json").json
        self.assertEqual(stopped["text"], " Paris.\n\nThe ")
        self.assertEqual(stopped["stop_sequence"], "answer")

    def test_equal_bytes(self):
        again = self.folder / "again.pte"
        self.done("export", SMOLLM2, "-o", again, "--backend", "portable", "--context-length", 2048, "-q", "--threads", 1)
        digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (self.program, again)]
        self.assertEqual(*digests)

    def test_prompt_longer_than_the_context(self):
        line = self.fails("run", self.program, "--tokens", ",".join(["5"] * 2049), "-n", 1)
        self.assertIn("2048", line)
        self.assertIn("2049", line)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
