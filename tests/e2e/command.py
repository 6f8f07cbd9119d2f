"""Runs the `pteron` command and reads its files, for the end-to-end tests. Standard library only."""
import array
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

PTERON = os.environ.get("PTERON", "build/release/bin/pteron")
DATA = pathlib.Path(os.environ.get("PTERON_DATA", "tests/data"))
MODELS = pathlib.Path(os.environ.get("PTERON_MODELS", "cache/models"))
SMOLLM2 = MODELS / "SmolLM2-135M-Instruct.Q4_1.gguf"

CODES = {"F32": "f", "F64": "d", "I32": "i", "I64": "q", "U8": "B", "I8": "b", "BOOL": "B", "F16": "H", "BF16": "H", "I16": "h"}


class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    @property
    def json(self):
        return json.loads(self.out)


def pteron(*words, stdin=b"", timeout=600, env=None):
    """Runs the command; output as bytes decoded leniently."""
    done = subprocess.run([PTERON, *map(str, words)], input=stdin, capture_output=True, timeout=timeout, env={**os.environ, **(env or {})})
    done.stdout, done.stderr = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    return Result(done)


def read_tensors(path):
    """{name: (shape, array)} of a safetensors file."""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            values = array.array(CODES[entry["dtype"]])
            values.frombytes(data[8 + length + begin:8 + length + end])
            tensors[name] = (entry["shape"], values)
    return tensors


def write_tensors(path, tensors):
    """tensors: {name: (dtype, shape, bytes)}"""
    header, blob = {}, b""
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(blob), len(blob) + len(data)]}
        blob += data
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + blob)


def max_difference(a, b):
    return max((abs(x - y) for x, y in zip(a, b)), default=0.0)


class CommandTest(unittest.TestCase):
    """A test with a scratch folder."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)
        self.addCleanup(self._folder.cleanup)

    def done(self, *words, **options):
        result = pteron(*words, **options)
        self.assertEqual(result.code, 0, f"pteron {' '.join(map(str, words))}\n{result.err}")
        return result

    def fails(self, *words, code=1, **options):
        """The command fails cleanly: the exit code, one line on stderr that says what."""
        result = pteron(*words, **options)
        self.assertEqual(result.code, code, f"pteron {' '.join(map(str, words))}\n{result.out}\n{result.err}")
        lines = [line for line in result.err.splitlines() if line.strip()]
        self.assertEqual(len(lines), 1, result.err)
        self.assertTrue(lines[0].startswith("pteron: "), result.err)
        return lines[0]
