"""Streams, asyncio, threads, cancelling."""
import asyncio
import subprocess
import sys
import threading
import time

import fixtures
import pteron

PROMPT = "the cat sat on the mat"
OPTIONS = {"max_tokens": 24, "temperature": 0, "ignore_eos": True}


class StreamTest(fixtures.Test):
    def test_pieces_are_the_text(self):
        expected = fixtures.llm().complete(PROMPT, **OPTIONS)
        for options in ({}, {"stop": [expected.text[9:12]]}, {"temperature": 1.0, "seed": 5}):
            session = fixtures.llm().session()
            pieces = list(session.generate(PROMPT, **{**OPTIONS, **options}))
            whole = fixtures.llm().complete(PROMPT, **{**OPTIONS, **options})
            self.assertEqual("".join(pieces), whole.text)
            self.assertEqual((session.last.tokens, session.last.text), (whole.tokens, whole.text))

    def test_leaving_the_loop_ends_the_generation(self):
        session = fixtures.llm().session()
        pieces = []
        for piece in session.generate(PROMPT, **OPTIONS):
            pieces.append(piece)
            if len(pieces) == 3:
                break
        self.assertEqual(session.last.finish_reason, "cancelled")
        self.assertEqual(session.last.text, "".join(pieces))
        rest = session.complete(**OPTIONS)
        self.assertEqual((session.last.finish_reason, len(rest.tokens)), ("length", 24))

    def test_the_session_stands_where_the_text_ends(self):
        session = fixtures.llm().session()
        start = len(fixtures.llm().encode(PROMPT))
        for piece in session.generate(PROMPT, **OPTIONS):
            self.assertGreaterEqual(session.position, start)
            self.assertLessEqual(len(session.tokens), session.position)
            error = self.fails("invalid_argument", session.rewind, 0)
            self.assertEqual(error.field, "session")
            self.fails("invalid_argument", session.complete, PROMPT)
            break
        session.rewind(0)

    def test_errors_come_out_of_the_loop(self):
        session = fixtures.llm().session()
        self.fails("out_of_capacity", list, session.generate(PROMPT * 100, **OPTIONS))
        self.fails("invalid_argument", list, session.generate(**OPTIONS))
        self.assertEqual("".join(session.generate(PROMPT, **OPTIONS)), fixtures.llm().complete(PROMPT, **OPTIONS).text)

    def test_a_stream_that_is_never_read(self):
        session = fixtures.llm().session()
        session.generate(PROMPT, **OPTIONS)
        self.assertEqual(session.position, 0)
        stream = session.generate(PROMPT, **OPTIONS)
        next(stream)
        stream.close()
        self.assertEqual(session.last.finish_reason, "cancelled")


    def test_the_interpreter_can_leave_in_the_middle(self):
        begin = "import pteron, sys, threading; stream = pteron.LLM(sys.argv[1]).session().generate('the cat', max_tokens=200, ignore_eos=True); begun = threading.Event()\n"
        for rest in ("next(stream)", "threading.Thread(target=lambda: [begun.set() for _ in stream], daemon=True).start(); begun.wait()"):
            ran = subprocess.run([sys.executable, "-c", begin + rest, fixtures.model()], capture_output=True, text=True, timeout=60)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))


class AsyncTest(fixtures.Test):
    def test_pieces_are_the_text(self):
        async def talk():
            return [piece async for piece in fixtures.llm().session().agenerate(PROMPT, **OPTIONS)]

        self.assertEqual("".join(asyncio.run(talk())), fixtures.llm().complete(PROMPT, **OPTIONS).text)

    def test_many_at_once(self):
        async def talk():
            return "".join([piece async for piece in fixtures.llm().session().agenerate(PROMPT, **OPTIONS)])

        async def all_of_them():
            return await asyncio.gather(*[talk() for _ in range(8)])

        self.assertEqual(set(asyncio.run(all_of_them())), {fixtures.llm().complete(PROMPT, **OPTIONS).text})

    def test_leaving_and_cancelling(self):
        session = fixtures.llm().session()

        async def leave():
            stream = session.agenerate(PROMPT, **OPTIONS)
            async for _ in stream:
                break
            await stream.aclose()

        asyncio.run(leave())
        self.assertEqual(session.last.finish_reason, "cancelled")

        async def forever():
            async for _ in session.agenerate(**{**OPTIONS, "max_tokens": 200}):
                await asyncio.sleep(3600)

        async def cancel():
            task = asyncio.ensure_future(forever())
            await asyncio.sleep(0.1)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(cancel())
        self.assertEqual(len(session.complete(**OPTIONS).tokens), 24)

    def test_errors(self):
        async def talk():
            async for _ in fixtures.llm().session().agenerate(PROMPT * 100, **OPTIONS):
                pass

        with self.assertRaises(pteron.Error):
            asyncio.run(talk())


class ThreadTest(fixtures.Test):
    def test_sessions_in_threads(self):
        llm = fixtures.llm()
        expected = [llm.complete(f"{PROMPT} {n}", **OPTIONS).text for n in range(4)]
        found = {}

        def work(n):
            for _ in range(10):
                found.setdefault(n, set()).add("".join(llm.session().generate(f"{PROMPT} {n}", **OPTIONS)))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, {n: {expected[n]} for n in range(4)})

    def test_one_session_in_threads(self):
        session = fixtures.llm().session()
        errors = []

        def work():
            for _ in range(30):
                try:
                    session.append([1, 2])
                    session.tokens
                    session.rewind(0)
                except pteron.Error as error:
                    if error.code not in ("out_of_capacity", "invalid_argument"):
                        errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])

    def test_cancel_from_another_thread(self):
        session = fixtures.llm().session()
        pieces = []
        for piece in session.generate(PROMPT, **{**OPTIONS, "max_tokens": 200}):
            pieces.append(piece)
            thread = threading.Thread(target=session.cancel)
            thread.start()
            thread.join()
        self.assertEqual(session.last.finish_reason, "cancelled")
        self.assertLess(len(session.last.tokens), 200)
        self.assertEqual(len(session.complete(**OPTIONS).tokens), 24)

    def test_the_interpreter_goes_on_meanwhile(self):
        session = fixtures.llm().session()
        done = threading.Event()

        def work():
            for _ in range(20):
                session.append_rows([1] * 200)
                session.rewind(0)
            done.set()

        thread = threading.Thread(target=work)
        thread.start()
        longest, last = 0.0, time.monotonic()
        while not done.is_set():
            time.sleep(0.0005)
            now = time.monotonic()
            longest, last = max(longest, now - last), now
        thread.join()
        self.assertLess(longest, 2.0)
