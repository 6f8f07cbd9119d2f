"""Runs the C program over a tiny language model, plain and signed."""
import os
import subprocess
import unittest

from command import DATA, CommandTest

TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}<assistant>"


class CApiTest(CommandTest):
    def test_everything(self):
        model, signed, template = self.folder / "model.pte", self.folder / "signed.pte", self.folder / "chat.jinja"
        template.write_text(TEMPLATE)
        self.done("export", DATA / "arch/llama_gqa", "-o", model, "--tokenizer", DATA / "llm/tokenizer.json", "--chat-template", template, "-q")
        self.done("sign", model, "-o", signed, "--key", DATA / "manifest/ed25519.key.pem", "-q")
        ran = subprocess.run([os.environ["PTERON_C_API_TEST"], DATA, model, signed, self.folder], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
