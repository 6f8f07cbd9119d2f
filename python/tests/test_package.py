"""The package itself: what it carries, and how fast it is there."""
import os
import pathlib
import pickle
import subprocess
import sys

import fixtures
import pteron

FOLDER = pathlib.Path(pteron.__file__).parent


class PackageTest(fixtures.Test):
    def test_names(self):
        for name in pteron.__all__:
            self.assertTrue(hasattr(pteron, name), name)
        self.assertTrue((FOLDER / "py.typed").exists())
        self.assertEqual(pteron.__version__, (fixtures.ROOT / "VERSION").read_text().strip())

    def test_import_needs_neither_numpy_nor_long(self):
        code = "import time; t = time.process_time(); import pteron, sys; print(time.process_time() - t, 'numpy' in sys.modules, 'asyncio' in sys.modules)"
        runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ).stdout.split() for _ in range(5)]
        self.assertEqual({tuple(run[1:]) for run in runs}, {("False", "False")})
        self.assertLess(min(float(run[0]) for run in runs), 0.1)

    def test_the_command(self):
        self.assertEqual(fixtures.command("--version").stdout.split()[-1], pteron.__version__)
        failed = fixtures.command("inspect", "nowhere.pte")
        self.assertEqual(failed.returncode, 1)
        self.assertIn("nowhere.pte", failed.stderr)

    def test_errors_can_be_pickled(self):
        error = self.fails("not_found", pteron.Program, "nowhere.pte")
        copy = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(copy), copy.code, copy.file), (str(error), "not_found", "nowhere.pte"))
