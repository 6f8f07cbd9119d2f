"""Tokenizers and chat templates against vectors of the reference implementations."""
import json

import fixtures
import pteron

TOKENIZERS = sorted(path for path in (fixtures.DATA / "tokenizers").iterdir() if path.is_dir())
CHAT = fixtures.DATA / "chat"


class TokenizerTest(fixtures.Test):
    def test_vectors(self):
        for folder in TOKENIZERS:
            tokenizer = pteron.Tokenizer(folder / "tokenizer.json")
            vectors = json.loads((folder / "vectors.json").read_text())
            for case in vectors["encode"]:
                with self.subTest(f"{folder.name} {case['text'][:40]!r}"):
                    self.assertEqual(tokenizer.encode(case["text"], parse_special=True), case["ids"])
                    self.assertEqual(tokenizer.encode(case["text"]), case.get("ids_no_parse", case["ids"]))
                    self.assertEqual(tokenizer.encode(case["text"], parse_special=True, add_special=True), case.get("ids_add_special", case["ids"]))
                    decoded = case.get("decoded", case["text"])
                    self.assertEqual(tokenizer.decode(case["ids"]), decoded)
                    self.assertEqual(tokenizer.decode(case["ids"], skip_special=True), case.get("decoded_skip", decoded))

    def test_streams_lose_nothing(self):
        for folder in TOKENIZERS:
            tokenizer = pteron.Tokenizer(folder / "tokenizer.json")
            for case in json.loads((folder / "vectors.json").read_text())["encode"]:
                with self.subTest(f"{folder.name} {case['text'][:40]!r}"):
                    self.assertEqual("".join(tokenizer.stream(case["ids"])), tokenizer.decode(case["ids"]))

    def test_errors_about_bytes_that_are_no_text(self):
        path = self.folder / "tokenizer.json"
        path.write_bytes(b'{"model": {"type": "B\xff\xfeE"}}')
        self.assertEqual(self.fails("invalid_data", pteron.Tokenizer, path).file, str(path))
        path.write_text('{"model": {"type": "M\u00e4gic", "vocab": {}}}')
        self.assertIn("Mägic", self.fails("unsupported", pteron.Tokenizer, path).found)

    def test_ids_out_of_range(self):
        tokenizer = pteron.Tokenizer(fixtures.TOKENIZER)
        for call in (lambda: tokenizer.decode([2**31]), lambda: tokenizer.piece(2**31), lambda: list(tokenizer.stream([10**9]))):
            self.fails("invalid_argument", call)

    def test_vocabulary(self):
        tokenizer = pteron.Tokenizer(fixtures.TOKENIZER)
        self.assertEqual(tokenizer.id_of("<|end|>"), 0)
        self.assertEqual(tokenizer.piece(0), "<|end|>")
        self.assertTrue(tokenizer.is_special(0))
        self.assertIsNone(tokenizer.id_of("no such piece"))
        self.assertGreater(tokenizer.vocab_size, 100)

    def test_special_tokens_in_a_text_are_text(self):
        tokenizer = pteron.Tokenizer(fixtures.TOKENIZER)
        self.assertNotIn(0, tokenizer.encode("a<|end|>b"))
        self.assertIn(0, tokenizer.encode("a<|end|>b", parse_special=True))

    def test_from_a_program(self):
        self.assertEqual(pteron.Tokenizer(fixtures.model()).encode("hello"), pteron.Tokenizer(fixtures.TOKENIZER).encode("hello"))

    def test_errors(self):
        self.fails("not_found", pteron.Tokenizer, "nowhere.json")
        tokenizer = pteron.Tokenizer(fixtures.TOKENIZER)
        self.fails("invalid_argument", list, tokenizer.stream([1 << 20]))
        with self.assertRaises(TypeError):
            tokenizer.encode(7)


class ChatTemplateTest(fixtures.Test):
    def test_templates(self):
        index = json.loads((CHAT / "index.json").read_text())
        conversations = json.loads((CHAT / "conversations.json").read_text())
        always = {**index["always_in_context"], "now": index["clock"]}
        for entry in index["templates"]:
            template = pteron.ChatTemplate((CHAT / "templates" / f"{entry['name']}.jinja").read_text())
            for case in json.loads((CHAT / "templates" / f"{entry['name']}.json").read_text()):
                given = conversations[case["conversation"]]
                variables = {"documents": given.get("documents"), **given.get("kwargs", {})}
                expected = case["with_generation_prompt"]
                with self.subTest(f"{entry['name']} {case['conversation']}"):
                    def render(prompt):
                        return template.render(given["messages"], tools=given.get("tools"), add_generation_prompt=prompt, **always, **variables)

                    if "error" in expected:
                        error = self.fails("invalid_data", render, True)
                        self.assertIn(expected.get("message", ""), str(error))
                        continue
                    self.assertEqual(render(True), expected["out"])
                    if case["without"] == "same":
                        self.assertEqual(render(False), expected["out"])
                    elif "prefix_chars" in case["without"]:
                        self.assertEqual(render(False), expected["out"][:case["without"]["prefix_chars"]])

    def test_a_template_that_does_not_compile(self):
        error = self.fails("invalid_data", pteron.ChatTemplate, "one\n{% frobnicate %}")
        self.assertIn("2", error.field)
