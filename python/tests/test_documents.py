"""The Python of the documents, run as it stands there, one page after the other in a folder with the checkpoint."""
import contextlib
import io
import os
import re
import unittest

import fixtures

MODEL = fixtures.ROOT / "cache" / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"


@unittest.skipUnless(MODEL.exists(), "scripts/fetch_smollm2.sh brings the checkpoint")
class DocumentsTest(fixtures.Test):
    def test_pages(self):
        os.symlink(MODEL.resolve(), self.folder / MODEL.name)
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        for page in ("docs/python.md", "README.md"):  # the first page makes the program that the second uses
            names = {}
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                for block in re.findall(r"^```python\n(.*?)^```$", (fixtures.ROOT / page).read_text(), re.MULTILINE | re.DOTALL):
                    exec(compile(block, page, "exec"), names)
            self.assertIn("Paris", printed.getvalue(), page)
