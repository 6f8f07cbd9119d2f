"""Installs a build into a scratch prefix and builds the README's C++ program against it, as a stranger would: find_package and nothing else."""
import os
import pathlib
import re
import subprocess
import unittest

from command import DATA, CommandTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ["PTERON_BUILD"]


def snippet(language):
    """The README's only block in that language."""
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    return block


class InstallTest(CommandTest):
    def run_tool(self, *words, **options):
        done = subprocess.run([*map(str, words)], capture_output=True, text=True, cwd=self.folder, **options)
        self.assertEqual(done.returncode, 0, f"{' '.join(map(str, words))}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
        return done.stdout

    def test_a_stranger(self):
        prefix = self.folder / "prefix"
        self.run_tool("cmake", "--install", BUILD, "--prefix", prefix)
        version = (ROOT / "VERSION").read_text().strip()
        self.assertIn(version, self.run_tool(prefix / "bin" / "pteron", "--version"))

        self.done("export", DATA / "arch/llama_gqa", "-o", self.folder / "smollm2.pte", "--tokenizer", DATA / "llm/tokenizer.json", "-q")
        self.readme_program(prefix)
        self.examples(prefix)

    def readme_program(self, prefix):
        app = self.folder / "app"
        app.mkdir()
        (app / "main.cc").write_text(snippet("cpp"))
        (app / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES CXX)\nset(CMAKE_CXX_STANDARD 20)\n"
                                            "add_executable(app main.cc)\n" + snippet("cmake"))
        self.run_tool("cmake", "-S", app, "-B", app / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={prefix}")
        self.run_tool("cmake", "--build", app / "build")

        text = self.run_tool(app / "build" / "app", errors="replace")
        self.assertEqual(text.rstrip("\n"), self.done("run", self.folder / "smollm2.pte", "-p", "The capital of France is", "-q").out.rstrip("\n"))

    def examples(self, prefix):
        build = self.folder / "examples"
        self.run_tool("cmake", "-S", ROOT / "examples", "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
        self.run_tool("cmake", "--build", build)
        self.assertIn("[length]", self.run_tool(build / "generate", "smollm2.pte", "one two", errors="replace"))
        self.assertEqual(self.run_tool(build / "branches", "smollm2.pte", "one two", errors="replace").count("---"), 3)
        self.assertIn("output 0: float32", self.run_tool(build / "any_method", "smollm2.pte", "decode"))
        # A backend that this package has never heard of: it is called, computes what plain operators compute, and the program needs it.
        said = self.run_tool(build / "backend", DATA / "arch/llama_gqa", 3, 14, 15)
        self.assertRegex(said, r"^[1-9][0-9]* steps in the backend, logits within 0 of the portable program; without the backend: .*ExamplePairs")
        shared = self.run_tool(build / "shared_memory", "smollm2.pte", "one two")
        self.assertRegex(shared, r"another process sees (\d+) of \1 caches\n0 blocks are left")


if __name__ == "__main__":
    unittest.main()
