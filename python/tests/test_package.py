"""The package itself: what it carries, and how fast it is there."""
import ast
import os
import pathlib
import pickle
import subprocess
import sys

import fixtures
import pteron
from pteron import _pteron

FOLDER = pathlib.Path(pteron.__file__).parent


class PackageTest(fixtures.Test):
    def test_names(self):
        for name in pteron.__all__:
            self.assertTrue(hasattr(pteron, name), name)
        self.assertTrue((FOLDER / "py.typed").exists())
        self.assertEqual(pteron.__version__, (fixtures.ROOT / "VERSION").read_text().strip())

    def test_stubs_are_the_extension(self):
        stub = ast.parse((FOLDER / "_pteron.pyi").read_text())

        def names(body):
            return {node.name if hasattr(node, "name") else node.target.id for node in body if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AnnAssign))}

        def public(owner):
            return {name for name in dir(owner) if not name.startswith("_")}

        self.assertEqual(names(stub.body), public(_pteron))
        for node in stub.body:
            if isinstance(node, ast.ClassDef):
                with self.subTest(node.name):
                    self.assertEqual(names(node.body) - {"__init__"}, public(getattr(_pteron, node.name)))

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
