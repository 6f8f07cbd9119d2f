"""What the tests share: data, tiny programs that are exported once, and a scratch folder."""
import atexit
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import pteron

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
TOKENIZER = DATA / "llm" / "tokenizer.json"
KEYS = DATA / "manifest"

_folder = pathlib.Path(tempfile.mkdtemp(prefix="pteron-python-"))
atexit.register(shutil.rmtree, _folder, ignore_errors=True)


@functools.lru_cache(maxsize=None)
def model(name="llama_gqa", **options):
    """A tiny checkpoint as a program that can read text."""
    path = _folder / f"{name}-{abs(hash(tuple(sorted(options.items()))))}.pte"
    template = _folder / "chat.jinja"
    template.write_text("{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}")
    pteron.export(DATA / "arch" / name, path, **{"tokenizer": TOKENIZER, "chat_template": template, "threads": 1, **options})
    return path


@functools.lru_cache(maxsize=None)
def llm(name="llama_gqa", **options):
    return pteron.LLM(model(name, **options), threads=1)


def command(*words):
    """Runs `python -m pteron`."""
    return subprocess.run([sys.executable, "-m", "pteron", *map(str, words)], capture_output=True, text=True, env=os.environ)


class Test(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=_folder))

    def assertSame(self, found, expected):
        np.testing.assert_array_equal(found, expected)

    def fails(self, code, call, *arguments, **options):
        """The call raises pteron.Error with that code; returns it."""
        with self.assertRaises(pteron.Error) as caught:
            call(*arguments, **options)
        self.assertEqual(caught.exception.code, code, str(caught.exception))
        return caught.exception
