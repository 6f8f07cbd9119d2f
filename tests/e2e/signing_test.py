"""Signing from the outside: the recipes of docs/signing.md as they stand there, and what the command says and does."""
import hashlib
import json
import os
import pathlib
import pty
import re
import shutil
import stat
import struct
import subprocess
import time
import unittest

from command import DATA, PTERON, CommandTest, pteron, read_tensors, write_tensors

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = DATA / "pte/valid/io.no_operators.pte"
BUNDLE = DATA / "pte/valid/bundled.mlp.bpte"


def published_reader(data):
    """What the published Python reader finds: (signature, padding, program_offset), or None where there is no valid manifest."""
    if len(data) <= 24 or data[-4:] != b"em00":
        return None
    signature_size, padding, program_offset, length = struct.unpack("<IIQI", data[-24:-4])
    if not 24 <= length <= 536 or signature_size > 512:
        return None
    return data[-(signature_size + 24):-24], padding, program_offset


class SigningTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "model.pte"
        shutil.copy(PROGRAM, self.model)
        self.original = self.model.read_bytes()

    def keys(self, name, *options):
        private, public = self.folder / f"{name}.key.pem", self.folder / f"{name}.pub.pem"
        self.done("keygen", "-o", private, "--public", public, *options)
        return private, public


class Recipes(SigningTest):
    def run_blocks(self, algorithm):
        """Runs the shell blocks of the page in one folder, in order; blocks with a name after `sh` only for that algorithm."""
        text = (ROOT / "docs" / "signing.md").read_text()
        blocks = re.findall(r"^```sh ?(\S*)\n(.*?)^```", text, re.S | re.M)
        self.assertGreater(len(blocks), 8)
        shutil.copy(DATA / "pte/valid/mlp.external_constants.ptd", self.folder / "weights.ptd")
        script = "set -eu\nset -o pipefail\n"
        for name, block in blocks:
            openssl_for_ed25519 = "-rawin" in block and algorithm != "ed25519"
            if (name and name != algorithm) or openssl_for_ed25519:
                continue
            if "keygen -o maker" in block:
                block = block.replace("maker.pub.pem\n", f"maker.pub.pem --algorithm {algorithm}\n", 1)
            if "cmp one.pte" in block and algorithm != "ed25519":
                continue  # only Ed25519 is deterministic
            script += block
        folder = self.folder / "bin"
        folder.mkdir()
        (folder / "pteron").symlink_to(pathlib.Path(PTERON).resolve())
        done = subprocess.run(["bash", "-c", script], cwd=self.folder, capture_output=True, text=True, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
        self.assertEqual(done.returncode, 0, f"{script}\n{done.stdout}\n{done.stderr}")
        self.assertEqual((self.folder / "original.pte").read_bytes(), self.original)
        key_id = json.loads(self.done("manifest", "show", self.model, "--json").out)["statement"]["key_id"]
        self.assertIn(key_id, done.stdout)

    def test_ed25519(self):
        self.run_blocks("ed25519")

    def test_ecdsa(self):
        self.run_blocks("ecdsa-p256")

    def test_rsa(self):
        self.run_blocks("rsa-pss-3072")


class Signing(SigningTest):
    def test_published_reader_reads_both_kinds(self):
        private, _ = self.keys("k")
        self.done("sign", self.model, "--key", private)
        data = self.model.read_bytes()
        shown = self.done("manifest", "show", self.model, "--json").json
        signature, padding, offset = published_reader(data)
        self.assertEqual(signature.hex(), shown["signature"])
        self.assertEqual((padding, offset), (shown["padding_bytes"], shown["signed_bytes"]))
        self.assertEqual(data[:len(self.original)], self.original)

        raw = self.folder / "raw"
        raw.write_bytes(bytes(range(77)))
        self.done("manifest", "append", self.model, "--signature-file", raw)
        data = self.model.read_bytes()
        self.assertEqual(published_reader(data), (bytes(range(77)), -len(self.original) % 16, len(self.original)))
        expected = self.original + b"\0" * (-len(self.original) % 16) + bytes(range(77)) + struct.pack("<IIQI", 77, -len(self.original) % 16, len(self.original), 101) + b"em00"
        self.assertEqual(data, expected)

    def test_tree_in_other_words(self):
        private, _ = self.keys("k")
        self.model.write_bytes(self.original + os.urandom(2_500_000))
        program = self.model.read_bytes()
        self.done("sign", self.model, "--key", private)
        statement = self.done("manifest", "show", self.model, "--json").json["statement"]
        leaves = b"".join(hashlib.sha256(program[i:i + (1 << 20)]).digest() for i in range(0, len(program), 1 << 20))
        head = b"pteron manifest tree\n" + struct.pack("<QII", len(program), 1 << 20, len(leaves) // 32)
        self.assertEqual(hashlib.sha256(head + leaves).hexdigest(), statement["root"])
        self.assertEqual(self.model.read_bytes()[len(program):len(program) + len(leaves)], leaves)

    def test_policy_exit_codes(self):
        private, public = self.keys("k")
        _, other = self.keys("other")
        self.done("verify", self.model)
        self.assertEqual(pteron("verify", self.model, "--require-signed", "--trust", public).code, 3)
        self.done("sign", self.model, "--key", private, "--counter", 4, "--not-after", "1971-01-01")
        self.assertEqual(pteron("verify", self.model, "--trust", other).code, 3)
        self.assertEqual(pteron("verify", self.model, "--trust", public).code, 3)
        answer = self.done("verify", self.model, "--trust", public, "--allow-expired", "--json").json
        self.assertEqual(answer["program_bytes"], len(self.original))
        self.done("sign", self.model, "--key", private, "--counter", 4)
        answer = self.done("verify", self.model, "--trust", public, "--trust", other, "--require-signed", "--json").json
        self.assertEqual((answer["structure"], answer["signature"], answer["algorithm"]), ("ok", "valid", "ed25519"))
        self.assertEqual(pteron("verify", self.model, "--trust", public, "--minimum-counter", 5).code, 3)
        data = bytearray(self.model.read_bytes())
        data[len(self.original) // 2] ^= 1
        self.model.write_bytes(data)
        result = pteron("verify", self.model, "--trust", public, "--json")
        self.assertNotEqual(result.code, 0)
        self.assertEqual(result.json["signature"], "invalid")

    def test_bundled_programs_are_signed_as_they_are(self):
        private, public = self.keys("k")
        signed = self.folder / "signed.bpte"
        self.done("sign", BUNDLE, "-o", signed, "--key", private)
        self.done("verify", signed, "--trust", public, "--require-signed")
        self.done("manifest", "strip", signed)
        self.assertEqual(signed.read_bytes(), BUNDLE.read_bytes())

    def test_export_signs_what_it_writes(self):
        private, public = self.keys("k")
        out = self.folder / "out"
        out.mkdir()
        words = ("export", DATA / "arch/llama_gqa", "-o", out / "model.pte", "--backend", "portable", "--external-constants", "weights.ptd", "-q", "--sign-key")
        self.done(*words, private)
        self.assertEqual(sorted(path.name for path in out.iterdir()), ["model.pte", "weights.ptd"])
        self.done("verify", out / "model.pte", "--data", out / "weights.ptd", "--trust", public, "--require-signed")
        first = (out / "model.pte").read_bytes()
        self.done(*words, private)
        self.assertEqual((out / "model.pte").read_bytes(), first)
        data = bytearray((out / "weights.ptd").read_bytes())
        data[-1] ^= 1
        (out / "weights.ptd").write_bytes(data)
        self.assertNotEqual(pteron("verify", out / "model.pte", "--data", out / "weights.ptd", "--trust", public, "--require-signed").code, 0)
        self.assertEqual(pteron("exec", out / "model.pte", "--data", out / "weights.ptd", "--trust", public).code, 3)

    def test_keys(self):
        private, public = self.keys("k")
        self.assertEqual(stat.S_IMODE(private.stat().st_mode), 0o600)
        before = private.read_bytes()
        self.assertIn("not overwritten without --force", self.fails("keygen", "-o", private, "--public", public))
        self.assertEqual(private.read_bytes(), before)
        self.fails("keygen", "-o", self.folder / "same", "--public", self.folder / "same", code=2)
        self.fails("keygen", "-o", self.folder / "half", "--public", self.folder / "no/such/folder")
        self.assertFalse((self.folder / "half").exists() or (self.folder / "same").exists())
        self.fails("sign", self.model, "--key", public)
        self.fails("sign", self.model, "--key", self.model)
        self.fails("verify", self.model, "--trust", private)
        self.fails("sign", self.model, "--key", private, "--not-after", "tomorrow", code=2)
        self.fails("keygen", "-o", self.folder / "x", "--public", public, "--algorithm", "rot13", code=2)
        (self.folder / "right").write_text("right\n")
        (self.folder / "wrong").write_text("wrong\n")
        secret, _ = self.keys("secret", "--passphrase-file", self.folder / "right")
        self.done("sign", self.model, "--key", secret, "--passphrase-file", self.folder / "right")
        before = self.model.read_bytes()
        self.assertIn("wrong passphrase", self.fails("sign", self.model, "--key", secret, "--passphrase-file", self.folder / "wrong"))
        self.fails("sign", self.model, "--key", secret)
        self.assertEqual(self.model.read_bytes(), before)

    def at_terminal(self, answers, *words):
        """Runs the command with a terminal as standard input, on which `answers` are typed. (code, what the terminal showed)"""
        terminal, inner = pty.openpty()
        process = subprocess.Popen([PTERON, *map(str, words)], stdin=inner, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for answer in answers:
            while not process.stderr.read(1) == b":":  # the end of the question: echo is off now
                self.assertIsNone(process.poll())
            process.stderr.read(1)
            time.sleep(0.2)
            os.write(terminal, answer.encode() + b"\n")
        out, _ = process.communicate()
        os.close(inner)
        shown = b""
        try:
            shown = os.read(terminal, 1 << 16)
        except OSError:
            pass
        os.close(terminal)
        return process.returncode, (shown + out).decode()

    def test_passphrase_prompt(self):
        private, public = self.folder / "p.key.pem", self.folder / "p.pub.pem"
        code, shown = self.at_terminal(["sesame", "sesame"], "keygen", "-o", private, "--public", public, "--passphrase")
        self.assertEqual(code, 0, shown)
        self.assertNotIn("sesame", shown)
        self.assertIn("BEGIN ENCRYPTED PRIVATE KEY", private.read_text())
        self.assertEqual(self.at_terminal(["wrong"], "sign", self.model, "--key", private)[0], 1)
        self.assertEqual(self.model.read_bytes(), self.original)
        code, shown = self.at_terminal(["sesame"], "sign", self.model, "--key", private)
        self.assertEqual(code, 0, shown)
        self.assertNotIn("sesame", shown)
        self.done("verify", self.model, "--trust", public, "--require-signed")
        self.assertEqual(self.at_terminal(["one", "two"], "keygen", "-o", self.folder / "q", "--public", self.folder / "r", "--passphrase")[0], 1)
        self.assertFalse((self.folder / "q").exists())

    def test_mode_bits_stay(self):
        private, _ = self.keys("k")
        for mode in (0o600, 0o640, 0o755):
            self.model.chmod(mode)
            for words in (("sign", self.model, "--key", private), ("manifest", "strip", self.model)):
                self.done(*words)
                self.assertEqual(stat.S_IMODE(self.model.stat().st_mode), mode)
        self.assertEqual(self.model.read_bytes(), self.original)

    def test_refusal_is_the_same_everywhere(self):
        """Exit code 3, one line and an error object, before anything of the file is used."""
        private, public = self.keys("k")
        _, other = self.keys("other")
        model = self.folder / "llm.pte"
        self.done("export", DATA / "arch/llama_gqa", "-o", model, "--backend", "portable", "--context-length", 64, "-q", "--sign-key", private)
        uses = [("run", model, "--tokens", "1,2", "-n", 1), ("logits", model, "--tokens", "1", "-o", self.folder / "l"), ("exec", model, "--method", "get_vocab_size"),
                ("inspect", model), ("bench", model, "-p", 2, "-n", 1, "-r", 1), ("conformance", model), ("perplexity", model, "-f", __file__)]
        for words in uses:
            for policy in (("--trust", other), ("--trust", other, "--require-signed"), ("--require-signed",), ("--trust", public, "--minimum-counter", 1)):
                with self.subTest(f"{words[0]} {policy}"):
                    line = self.fails(*words, *policy, code=3)
                    self.assertIn("llm.pte", line)
                    answer = pteron(*words, *policy, "--json")
                    self.assertEqual((answer.code, answer.json["error"]["code"]), (3, "refused"))
        for load in ("mmap", "copy"):
            self.done("run", model, "--tokens", "1,2", "-n", 1, "--trust", public, "--require-signed", "--load", load)
        data = bytearray(model.read_bytes())
        data[100] ^= 4  # of the program: nobody gets to parse it
        model.write_bytes(data)
        for words in uses:
            self.assertIn("llm.pte", self.fails(*words, "--trust", public, code=3))
        answer = pteron("verify", model, "--trust", public, "--json")
        self.assertEqual((answer.code, answer.json["signature"], answer.json["structure"], answer.json["error"]["file"]), (1, "invalid", "not checked", str(model)))

    def test_nothing_is_left_behind(self):
        private, _ = self.keys("k")
        before = sorted(self.folder.iterdir())
        self.fails("sign", self.folder / "none.pte", "-o", self.folder / "out.pte", "--key", private)
        self.fails("sign", self.model, "-o", "/dev/full", "--key", private)
        self.fails("manifest", "strip", self.model)
        self.fails("manifest", "show", self.model)
        self.assertEqual(sorted(self.folder.iterdir()), before)

    def stock(self, *words):
        """Exit code and report (times left out) of the stock runner."""
        done = subprocess.run([os.environ["PTERON_STOCK_RUN"], *map(str, words)], capture_output=True)
        report = {k: v for k, v in json.loads(done.stdout).items() if k != "program" and not k.endswith("_ms")}
        return done.returncode, report

    @unittest.skipUnless(os.environ.get("PTERON_STOCK_RUN"), "PTERON_STOCK_RUN does not name a stock runner")
    def test_stock_runtime_runs_signed_programs(self):
        private, _ = self.keys("k", "--algorithm", "rsa-pss-3072")
        inputs = self.folder / "in.safetensors"
        program = DATA / "pte/valid/bundled.mlp.pte"  # the one inside the bundle
        code, report = self.stock(program, "--list")
        self.assertEqual(code, 0)
        slots = report["methods"][0]["inputs"]
        write_tensors(inputs, {f"in{i}": ("F32", slot["shape"], struct.pack(f"<{slot['nbytes'] // 4}f", *range(slot["nbytes"] // 4))) for i, slot in enumerate(slots)})
        signed = self.folder / "signed.pte"
        self.done("sign", program, "-o", signed, "--key", private)
        results = []
        for path in (program, signed):
            out = self.folder / "out.safetensors"
            code, report = self.stock(path, "--inputs", inputs, "--outputs", out)
            self.assertEqual((code, report["status"]), (0, "Ok"))
            results.append(read_tensors(out))
        self.assertEqual(*results)
        # The runner takes no bundles; what it answers to one does not change, and the program inside is where it was.
        bundle = self.folder / "signed.bpte"
        self.done("sign", BUNDLE, "-o", bundle, "--key", private)
        self.assertEqual(self.stock(BUNDLE, "--list"), self.stock(bundle, "--list"))
        self.assertIn(program.read_bytes(), bundle.read_bytes())


if __name__ == "__main__":
    unittest.main()
