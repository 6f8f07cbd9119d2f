"""The shell commands of the README and of the how-to pages, as they stand there, one page a shell."""
import os
import pathlib
import re
import subprocess
import unittest

from command import PTERON, SMOLLM2, CommandTest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def commands(page):
    """The `sh` blocks of a page, joined; building and installing are left to whoever runs this."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    return "".join(block for block in blocks if not re.match(r"(make|apt-get|pip|python3 -m venv) ", block))


@unittest.skipUnless(SMOLLM2.exists(), "scripts/fetch_smollm2.sh brings the checkpoint")
class DocumentsTest(CommandTest):
    def runs(self, page):
        os.symlink(os.path.abspath(PTERON), self.folder / "pteron")
        os.symlink(SMOLLM2.resolve(), self.folder / SMOLLM2.name)
        script = commands(page)
        self.assertIn("pteron ", script)
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1200,
                              env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"})
        self.assertEqual(done.returncode, 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        return done.stdout

    def test_readme(self):
        self.assertIn("Paris", self.runs("README.md"))


if __name__ == "__main__":
    unittest.main()
