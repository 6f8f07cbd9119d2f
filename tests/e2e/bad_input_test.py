"""Broken files and wrong words: exit code, one line that names the file, nothing left behind."""
import json
import pathlib
import shutil
import struct
import sys
import unittest

from command import DATA, CommandTest, pteron, read_tensors

CHECKPOINT = DATA / "arch/llama_gqa"


class BadInput(CommandTest):
    def export_fails(self, source, *options):
        out = self.folder / "out" / "model.pte"
        out.parent.mkdir(exist_ok=True)
        line = self.fails("export", source, "-o", out, "--backend", "portable", "-q", *options)
        self.assertEqual(list(out.parent.iterdir()), [], "something was left behind")
        return line

    def copy(self):
        target = self.folder / "checkpoint"
        if target.exists():
            shutil.rmtree(target)
        shutil.copytree(CHECKPOINT, target)
        return target

    def change_config(self, **changes):
        target = self.copy()
        config = json.loads((target / "config.json").read_text())
        for key, value in changes.items():
            config[key] = value
        (target / "config.json").write_text(json.dumps(config))
        return target

    def test_empty_folder_and_folder_without_weights(self):
        empty = self.folder / "empty"
        empty.mkdir()
        self.assertIn("config.json", self.export_fails(empty))
        target = self.copy()
        (target / "model.safetensors").unlink()
        self.assertIn("model.safetensors", self.export_fails(target))
        self.assertIn("nowhere", self.export_fails(self.folder / "nowhere"))

    def test_unknown_architecture_lists_the_known_ones(self):
        line = self.export_fails(self.change_config(architectures=["MambaForCausalLM"], model_type="mamba"))
        self.assertIn("MambaForCausalLM", line)
        self.assertIn("LlamaForCausalLM", line)

    def test_shapes_that_do_not_match_the_config(self):
        line = self.export_fails(self.change_config(intermediate_size=1000))
        self.assertIn("mlp", line)
        self.assertIn("1000", line)

    def test_missing_tensor(self):
        line = self.export_fails(self.change_config(num_hidden_layers=3))
        self.assertIn("model.layers.2.", line)

    def test_silly_numbers(self):
        for changes in ({"hidden_size": -4}, {"hidden_size": 2**62}, {"num_attention_heads": 0}, {"num_hidden_layers": "two"}, {"rms_norm_eps": "x"}, {"vocab_size": 1e30}):
            with self.subTest(str(changes)):
                self.assertIn(next(iter(changes)), self.export_fails(self.change_config(**changes)))

    def test_truncations(self):
        whole = (CHECKPOINT / "model.safetensors").read_bytes()
        target = self.copy()
        for cut in range(0, len(whole), max(1, len(whole) // 40)):
            (target / "model.safetensors").write_bytes(whole[:cut])
            self.assertIn("model.safetensors", self.export_fails(target))

    def test_truncated_programs(self):
        program = self.folder / "model.pte"
        self.done("export", CHECKPOINT, "-o", program, "--backend", "portable", "--context-length", 64, "-q")
        whole = program.read_bytes()
        cut_file = self.folder / "cut.pte"
        for cut in [*range(0, 200, 10), *range(200, len(whole), max(1, len(whole) // 40))]:
            cut_file.write_bytes(whole[:cut])
            self.assertIn("cut.pte", self.fails("run", cut_file, "--tokens", "1,2", "-n", 1))

    def test_output_that_cannot_be_written(self):
        line = self.fails("export", CHECKPOINT, "-o", self.folder / "no" / "such" / "folder.pte", "--backend", "portable", "-q")
        self.assertIn("folder.pte", line)
        if pathlib.Path("/dev/full").exists():
            self.assertIn("/dev/full", self.fails("export", CHECKPOINT, "-o", "/dev/full", "--backend", "portable", "-q"))

    def test_wrong_words(self):
        for words in (["export"], ["export", CHECKPOINT], ["run"], ["nothing"], ["export", CHECKPOINT, "-o", "x", "--dtype", "float8"], []):
            with self.subTest(words):
                self.fails(*words, code=2)
        answer = pteron("run", self.folder / "none.pte", "-p", "x", "--json")
        self.assertEqual(answer.code, 1)
        self.assertEqual(answer.json["error"]["code"], "not_found")
        self.assertIn("none.pte", answer.json["error"]["file"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
