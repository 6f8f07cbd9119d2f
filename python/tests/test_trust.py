"""Signatures: what loading refuses, and what it says."""
import pteron

import fixtures


class TrustTest(fixtures.Test):
    @classmethod
    def setUpClass(cls):
        cls.plain = fixtures.model()
        cls.signed = fixtures.model(sign_key=fixtures.KEYS / "ed25519.key.pem")
        cls.key = [fixtures.KEYS / "ed25519.pub.pem"]
        cls.other = [fixtures.KEYS / "other.pub.pem"]

    def test_valid(self):
        for call in (pteron.check, pteron.verify):
            trust = call(self.signed, trust=self.key, require_signed=True)
            self.assertEqual((trust.state, trust.passes, trust.algorithm), ("valid", True, "ed25519"))
            self.assertEqual(trust.program_bytes, self.plain.stat().st_size)
        self.assertEqual(pteron.Program(self.signed, trust=self.key, require_signed=True).trust, pteron.check(self.signed, trust=self.key))

    def test_unsigned(self):
        self.assertEqual(pteron.check(self.plain).state, "unsigned")
        self.fails("refused", pteron.check, self.plain, trust=self.key, require_signed=True)
        self.fails("refused", pteron.LLM, self.plain, require_signed=True)

    def test_a_key_that_is_not_trusted(self):
        self.assertEqual(pteron.check(self.signed).state, "unknown-key")
        self.fails("refused", pteron.check, self.signed, trust=self.other)
        self.fails("refused", pteron.Program, self.signed, trust=self.other)

    def test_a_changed_byte(self):
        data = bytearray(self.signed.read_bytes())
        data[len(data) // 2] ^= 1
        changed = self.folder / "changed.pte"
        changed.write_bytes(data)
        error = self.fails("refused", pteron.check, changed, trust=self.key)
        self.assertEqual(error.file, str(changed))
        self.fails("refused", pteron.LLM, changed, trust=self.key)
        self.fails("refused", pteron.verify, changed, trust=self.key)

    def test_copied_files_load_too(self):
        self.assertEqual(pteron.LLM(self.signed, trust=self.key, require_signed=True, load="copy", threads=1).vocab_size, 256)
        self.assertEqual(self.fails("invalid_argument", pteron.Program, self.signed, load="borrow").expected, "mmap or copy")

    def test_counter(self):
        self.fails("refused", pteron.check, self.signed, trust=self.key, minimum_counter=1)

    def test_keys_of_the_command(self):
        private, public = self.folder / "maker.pem", self.folder / "maker.pub.pem"
        made = fixtures.command("keygen", "-o", private, "--public", public)
        self.assertEqual(made.returncode, 0, made.stderr)
        signed = self.folder / "signed.pte"
        made = fixtures.command("sign", self.plain, "-o", signed, "--key", private)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(pteron.verify(signed, trust=[public], require_signed=True).state, "valid")
        self.fails("refused", pteron.check, signed, trust=self.key)

    def test_key_files_that_are_none(self):
        self.fails("not_found", pteron.check, self.plain, trust=["nowhere.pem"])
        self.fails("invalid_data", pteron.check, self.plain, trust=[fixtures.KEYS / "program.bin"])
        with self.assertRaises(TypeError):
            pteron.check(self.plain, trust="one.pem")
