"""Engines and sessions: text in, text out, and every way to move through a conversation."""
import signal

import numpy as np

import fixtures
import pteron

PROMPT = "the cat sat on the mat and the dog"
FREE = {"ignore_eos": True}


class EngineTest(fixtures.Test):
    def test_what_it_says(self):
        llm = fixtures.llm()
        self.assertEqual((llm.vocab_size, llm.context_length), (256, 256))
        self.assertEqual(llm.contract["contract"], "hf_static")
        self.assertGreater(llm.prefill_rows, 0)
        self.assertGreater(llm.bytes_per_session, 0)
        self.assertEqual(llm.tokenizer.encode("hello"), llm.encode("hello"))
        self.assertIn("<user>hi", llm.chat_template.render([{"role": "user", "content": "hi"}]))

    def test_prompts(self):
        llm = fixtures.llm()
        chat = [{"role": "user", "content": "hi"}]
        self.assertEqual(llm.encode(np.array([1, 2, 3])), [1, 2, 3])
        self.assertEqual(llm.encode(chat), llm.encode({"messages": chat}))
        self.assertEqual(llm.tokenizer.decode(llm.encode(chat)), "<user>hi\n<assistant>")
        self.assertEqual(llm.encode([]), [])

    def test_special_tokens_in_a_message_are_text(self):
        self.assertNotIn(0, fixtures.llm().encode([{"role": "user", "content": "<|end|>"}]))

    def test_greedy_tokens_equal_the_reference(self):
        golden = read_golden("llama_gqa")
        llm = fixtures.llm(backend="portable")
        for name in ("seq0", "seq1", "seq2"):
            made = llm.complete(golden[f"{name}.ids"], max_tokens=24, temperature=0, **FREE)
            self.assertEqual(made.tokens, list(golden[f"{name}.greedy"]))

    def test_logits_of_all_rows(self):
        golden = read_golden("llama_gqa")
        rows = fixtures.llm(backend="portable").session().append_rows(golden["seq1.ids"])
        np.testing.assert_allclose(rows, golden["seq1.logits"], atol=1.5e-4)

    def test_perplexity(self):
        llm = fixtures.llm()
        text = PROMPT * 5
        self.assertGreater(llm.perplexity(text, ctx=32, stride=16), 1)
        self.assertEqual(llm.perplexity(text, ctx=32, stride=16), llm.perplexity(llm.encode(text), ctx=32, stride=16))

    def test_a_program_without_assets(self):
        llm = fixtures.llm(assets=False)
        self.assertIsNone(llm.tokenizer)
        self.fails("unsupported", llm.encode, "text")
        self.assertEqual(len(llm.complete([1, 2, 3], max_tokens=4, **FREE).tokens), 4)

    def test_a_program_without_a_contract(self):
        self.assertEqual(self.fails("not_found", pteron.LLM, fixtures.DATA / "pte" / "valid" / "bundled.mlp.pte").file, str(fixtures.DATA / "pte" / "valid" / "bundled.mlp.pte"))

    def test_unknown_options(self):
        with self.assertRaises(TypeError):
            pteron.LLM(fixtures.model(), thread=1)
        with self.assertRaises(TypeError):
            fixtures.llm().session().complete(PROMPT, maxtokens=1)
        with self.assertRaises(TypeError):
            fixtures.llm().session().generate(PROMPT, maxtokens=1)
        with self.assertRaises(TypeError):
            fixtures.llm().session().complete(PROMPT, max_tokens="many")


class ExportTest(fixtures.Test):
    def test_report_and_progress(self):
        stages = []
        report = pteron.export(fixtures.DATA / "arch" / "llama_gqa", self.folder / "m.pte", backend="portable", context_length=32, prefill_rows=0,
                               progress=lambda stage, done, total: stages.append(stage))
        self.assertIn("decode", str(report["methods"]))
        self.assertIn("emit", stages)
        llm = pteron.LLM(self.folder / "m.pte")
        self.assertEqual((llm.context_length, llm.prefill_rows), (32, 0))

    def test_the_same_bytes_again(self):
        self.assertEqual(fixtures.model("qwen2_bias_tied").read_bytes(), fixtures.model("qwen2_bias_tied", threads=2).read_bytes())

    def test_exceptions_of_the_listener_end_it(self):
        told = []

        def fail(stage, done, total):
            told.append(stage)
            if stage == wanted:
                raise KeyError(stage)

        for wanted in ("import", "emit"):
            told.clear()
            with self.assertRaises(KeyError):
                pteron.export(fixtures.DATA / "arch" / "llama_gqa", self.folder / "m.pte", progress=fail)
            self.assertEqual(told.count(wanted), 1)
            self.assertEqual(told[-1], wanted)
            self.assertEqual(list(self.folder.iterdir()), [])

    def test_ctrl_c_ends_it(self):
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
        self.addCleanup(signal.signal, signal.SIGINT, before)

        def interrupt(stage, done, total):
            if stage == "passes":
                signal.raise_signal(signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            pteron.export(fixtures.DATA / "arch" / "llama_gqa", self.folder / "m.pte", progress=interrupt)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_errors(self):
        self.fails("not_found", pteron.export, "nowhere", self.folder / "m.pte")
        self.assertFalse((self.folder / "m.pte").exists())
        for name, value in {"quant": "int3", "dtype": "int8", "mask_form": "square", "context_length": -1, "threads": -1, "prefill_rows": -5}.items():
            with self.subTest(name):
                error = self.fails("invalid_argument", pteron.export, fixtures.DATA / "arch" / "llama_gqa", self.folder / "m.pte", **{name: value})
                self.assertEqual((error.field, error.found), (name, str(value)))
                self.assertTrue(error.expected)
        for options in ({"quantisation": "int8"}, {"context_length": "long"}, {"quant": 8}):
            with self.subTest(options), self.assertRaises(TypeError):
                pteron.export(fixtures.DATA / "arch" / "llama_gqa", self.folder / "m.pte", **options)
        error = self.fails("invalid_argument", pteron.export, fixtures.DATA / "arch" / "llama_gqa", self.folder / "m.pte", backend="nonesuch")
        self.assertEqual(error.found, "nonesuch")

    def test_lists(self):
        self.assertIn("cpu", pteron.backends())
        self.assertIn("LlamaForCausalLM", pteron.models())


class SessionTest(fixtures.Test):
    def test_complete_continues(self):
        session = fixtures.llm().session()
        first = session.complete(PROMPT, max_tokens=6, **FREE)
        second = session.complete(max_tokens=6, **FREE)
        whole = fixtures.llm().complete(PROMPT, max_tokens=12, **FREE)
        self.assertEqual(first.tokens + second.tokens, whole.tokens)
        self.assertEqual(session.last, second)
        self.assertEqual(second.finish_reason, "length")

    def test_append_and_positions(self):
        session = fixtures.llm().session()
        ids = fixtures.llm().encode(PROMPT)
        logits = session.append(ids)
        self.assertEqual((logits.shape, str(logits.dtype)), ((256,), "float32"))
        self.assertEqual((session.position, session.tokens, session.capacity), (len(ids), ids, 256))
        self.assertTrue(session.can_append(256 - len(ids)))
        self.assertFalse(session.can_append(257 - len(ids)))
        self.assertEqual(int(logits.argmax()), session.complete(max_tokens=1, temperature=0, **FREE).tokens[0])

    def test_rewind(self):
        session = fixtures.llm().session()
        ids = fixtures.llm().encode(PROMPT)
        expected = session.append(ids)
        session.append([1, 2, 3])
        session.rewind(len(ids) - 1)
        np.testing.assert_allclose(session.append(ids[-1:]), expected, atol=1e-4)
        self.fails("invalid_argument", session.rewind, 200)

    def test_fork(self):
        session = fixtures.llm().session()
        session.append(fixtures.llm().encode(PROMPT))
        other = session.fork()
        self.assertEqual(other.tokens, session.tokens)
        self.assertSame(other.append([5]), session.append([5]))
        other.append([6])
        self.assertEqual(other.position, session.position + 1)

    def test_snapshot_and_restore(self):
        session = fixtures.llm().session()
        session.append(fixtures.llm().encode(PROMPT))
        session.snapshot(self.folder / "talk")
        expected = session.append([7])
        other = fixtures.llm().session()
        other.restore(self.folder / "talk")
        self.assertSame(other.append([7]), expected)
        self.fails("not_found", other.restore, self.folder / "nothing")
        (self.folder / "broken").write_bytes((self.folder / "talk").read_bytes()[:100])
        self.fails("invalid_data", fixtures.llm().session().restore, self.folder / "broken")

    def test_evict(self):
        session = fixtures.llm().session()
        ids = fixtures.llm().encode(PROMPT)
        session.append(ids)
        session.evict(2, 6)
        self.assertEqual(session.tokens, ids[:2] + ids[6:])
        session.append([3])

    def test_reset(self):
        session = fixtures.llm().session()
        first = session.append([1, 2, 3])
        caches = session.caches()
        session.reset()
        self.assertEqual((session.position, session.tokens), (0, []))
        self.assertFalse(any(cache.any() for cache in caches.values()))
        self.assertSame(session.append([1, 2, 3]), first)

    def test_a_full_context(self):
        session = fixtures.llm().session()
        made = session.complete(PROMPT, max_tokens=1000, **FREE)
        self.assertEqual(made.finish_reason, "context")
        error = self.fails("out_of_capacity", session.append, [1] * 300)
        self.assertEqual(error.found, "300")

    def test_misuse(self):
        session = fixtures.llm().session()
        self.fails("invalid_argument", session.complete)
        self.fails("invalid_argument", session.append, [256])
        self.fails("invalid_argument", session.append, [])
        self.assertEqual(self.fails("invalid_argument", session.append, [1, 2**40]).field, "tokens[1]")
        for call, field in ((lambda: session.rewind(-1), "position"), (lambda: session.evict(-1, 2), "start"), (lambda: session.can_append(-1), "count"),
                            (lambda: session.complete(PROMPT, max_tokens=-1), "max_tokens"), (lambda: session.complete(PROMPT, seed=-1), "seed"),
                            (lambda: pteron.LLM(fixtures.model(), threads=-1), "threads"), (lambda: pteron.LLM(fixtures.model(), load="slowly"), "load"),
                            (lambda: pteron.LLM(fixtures.model(), minimum_counter=-1), "minimum_counter")):
            with self.subTest(field):
                self.assertEqual(self.fails("invalid_argument", call).field, field)
        for prompt in ([1.5], [[1, 2]], np.zeros((1, 2), np.int64), ["a"], 5):
            with self.subTest(prompt), self.assertRaises(TypeError):
                session.append(prompt)
        self.assertEqual(session.position, 0)

    def test_caches_are_the_memory_itself(self):
        session = fixtures.llm().session()
        plain = session.fork()
        ids = fixtures.llm().encode(PROMPT)
        session.append(ids)
        plain.append(ids)
        caches = session.caches()
        self.assertEqual(sorted(caches), [("key", 0), ("key", 1), ("value", 0), ("value", 1)])
        cache = caches["value", 1]
        self.assertEqual(cache.shape[0], 1)
        self.assertEqual(cache.shape[2], 256)
        self.assertTrue(cache[:, :, :len(ids)].any())
        self.assertTrue(np.shares_memory(cache, session.caches()["value", 1]))
        cache[:] = 0
        self.assertFalse(np.array_equal(session.append([4]), plain.append([4])))
        self.assertTrue(np.shares_memory(np.from_dlpack(cache), cache))
        del session, caches
        self.assertEqual(cache.shape[2], 256)  # the array keeps the session's memory
        cache[:] = 1

    def test_seeds_repeat(self):
        def draw(seed):
            return fixtures.llm().complete(PROMPT, max_tokens=16, temperature=1.0, seed=seed, **FREE).tokens

        self.assertEqual(draw(3), draw(3))
        self.assertNotEqual(draw(3), draw(4))

    def test_stop_texts_and_tokens(self):
        llm = fixtures.llm()
        free = llm.complete(PROMPT, max_tokens=24, temperature=0, **FREE)
        stop = free.text[8:11]
        made = llm.complete(PROMPT, max_tokens=24, temperature=0, stop=stop, **FREE)
        self.assertEqual((made.finish_reason, made.stop_sequence), ("stop", stop))
        self.assertEqual(made.text, free.text[:free.text.index(stop)])
        token = free.tokens[5]
        made = llm.complete(PROMPT, max_tokens=24, temperature=0, stop_tokens=[token], **FREE)
        self.assertEqual(made.tokens, free.tokens[:free.tokens.index(token) + 1])
        made = llm.complete(PROMPT, max_tokens=24, temperature=0, stop_tokens=[token], min_tokens=12, **FREE)
        self.assertGreaterEqual(len(made.tokens), 12)

    def test_bias_and_logprobs(self):
        made = fixtures.llm().complete(PROMPT, max_tokens=3, logit_bias={77: 1000}, logprobs=2, **FREE)
        self.assertEqual(made.tokens, [77] * 3)
        self.assertEqual(len(made.logprobs), 3)
        self.assertEqual([len(row) for row in made.top_logprobs], [2] * 3)
        self.assertEqual(fixtures.llm().complete(PROMPT, max_tokens=1, **FREE).logprobs, [])

    def test_lookup_changes_nothing(self):
        llm = fixtures.llm()
        text = PROMPT * 3
        self.assertEqual(llm.complete(text, max_tokens=40, temperature=0, lookup=4, **FREE).tokens, llm.complete(text, max_tokens=40, temperature=0, **FREE).tokens)

    def test_conversations_cost_their_new_tokens(self):
        session = fixtures.llm().session()
        messages = [{"role": "user", "content": "hi there"}]
        answer = session.complete(messages, max_tokens=8, **FREE)
        messages += [{"role": "assistant", "content": answer.text}, {"role": "user", "content": "and now?"}]
        second = session.complete(messages, max_tokens=8, temperature=0, **FREE)
        ids = fixtures.llm().encode(messages)
        self.assertEqual(session.tokens[:len(ids)], ids)
        self.assertEqual(second.tokens, fixtures.llm().complete(messages, max_tokens=8, temperature=0, **FREE).tokens)

    def test_conversations_under_a_sliding_window(self):
        llm = fixtures.llm("mistral_sliding")
        session = llm.session()
        session.complete([{"role": "user", "content": "hi " * 20}], max_tokens=20, **FREE)
        messages = [{"role": "user", "content": "something else"}]
        made = session.complete(messages, max_tokens=8, temperature=0, **FREE)
        self.assertEqual(made.tokens, llm.complete(messages, max_tokens=8, temperature=0, **FREE).tokens)


class RunnerTest(fixtures.Test):
    def test_step_by_step(self):
        runner = pteron.hf_static.Runner(fixtures.model(), version=1, threads=1)
        ids = fixtures.llm().encode(PROMPT)
        logits = runner.prefill(ids)
        tokens = []
        for _ in range(6):
            tokens.append(int(logits.argmax()))
            logits = runner.decode(tokens[-1])
        self.assertEqual(tokens, fixtures.llm().complete(ids, max_tokens=6, temperature=0, **FREE).tokens)
        self.assertEqual((runner.position, runner.tokens), (len(ids) + 6, ids + tokens))
        runner.rewind(len(ids))
        self.assertEqual(runner.position, len(ids))
        runner.reset()
        self.assertEqual(runner.position, 0)
        self.assertSame(runner.prefill(ids), fixtures.llm().session().append(ids))

    def test_shape_of_the_contract(self):
        runner = pteron.hf_static.Runner(fixtures.model(), threads=1)
        self.assertEqual(runner.contract["version"], 1)
        self.assertEqual((runner.capacity, runner.rows), (256, fixtures.llm().prefill_rows))
        self.assertTrue(runner.can_append(256))
        self.assertEqual(len(runner.caches()), 4)

    def test_misuse(self):
        runner = pteron.hf_static.Runner(fixtures.model(), threads=1)
        for ids in ("text", [[1, 2]], [0.5], np.zeros((1, 3), np.float32)):
            with self.subTest(ids), self.assertRaises(TypeError):
                runner.prefill(ids)
        with self.assertRaises(TypeError):
            runner.decode([1])
        self.fails("invalid_argument", runner.decode, 256)
        self.fails("invalid_argument", runner.decode, -1)
        self.fails("invalid_argument", runner.prefill, [])
        self.fails("invalid_argument", runner.rewind, 1)
        self.fails("out_of_capacity", runner.prefill, [1] * 257)
        self.assertEqual(runner.position, 0)
        self.assertEqual(runner.decode(3).shape, (256,))
        caches = runner.caches()
        del runner
        self.assertTrue(caches["key", 0].any())

    def test_other_versions(self):
        error = self.fails("unsupported", pteron.hf_static.Runner, fixtures.model(), version=2)
        self.assertEqual(error.found, "hf_static version 1")


def read_golden(name):
    """The tensors of a golden file by name."""
    import json
    import struct

    data = (fixtures.DATA / "arch" / f"{name}.golden.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    types = {"F32": np.float32, "F64": np.float64, "I64": np.int64, "I32": np.int32}
    tensors = {}
    for key, entry in json.loads(data[8:8 + length]).items():
        if key != "__metadata__":
            begin, end = entry["data_offsets"]
            tensors[key] = np.frombuffer(data[8 + length + begin:8 + length + end], types[entry["dtype"]]).reshape(entry["shape"])
    return tensors
