"""Streams, asyncio, threads, cancelling."""
import asyncio
import signal
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
        self.assertEqual(len(session.complete(**OPTIONS).tokens), 24)

    def test_a_stream_that_nobody_holds_any_more(self):
        session = fixtures.llm().session()
        stream = session.generate(PROMPT, **OPTIONS)
        next(stream)
        self.fails("invalid_argument", session.reset)
        self.fails("invalid_argument", next, session.generate(**OPTIONS))
        del stream
        session.reset()

    def test_two_streams_of_two_sessions_in_turns(self):
        expected = fixtures.llm().complete(PROMPT, **OPTIONS).text
        pieces = zip(*[fixtures.llm().session().generate(PROMPT, **OPTIONS) for _ in range(2)])
        self.assertEqual(["".join(text) for text in zip(*pieces)], [expected] * 2)

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

    def test_a_prompt_and_its_answer_are_one_turn(self):
        once = fixtures.llm().session()
        for _ in range(4):
            once.complete([1, 2, 3], max_tokens=5, temperature=0, ignore_eos=True)
        session = fixtures.llm().session()
        threads = [threading.Thread(target=session.complete, args=([1, 2, 3],), kwargs={**OPTIONS, "max_tokens": 5}) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(session.tokens, once.tokens)

    def test_looking_does_not_wait_for_the_end(self):
        session = fixtures.llm().session()
        seen = set()
        thread = threading.Thread(target=lambda: [(session.complete(PROMPT, **{**OPTIONS, "max_tokens": 200}), session.reset()) for _ in range(5)])
        thread.start()
        while thread.is_alive():
            seen.add(session.position)
        self.assertGreater(len(seen), 5)

    def test_a_fork_has_no_threads(self):
        code = """if True:
            import os, pteron, sys
            llm = pteron.LLM(sys.argv[1], threads=2)
            session, method = llm.session(), pteron.Program(sys.argv[1]).method("decode", threads=2)
            session.append([1, 2])
            if os.fork() == 0:
                for work in (lambda: session.append([3]), method.execute):
                    try:
                        work()
                    except pteron.Error as error:
                        print(error.code, error.field, flush=True)
                print(llm.session().append([1]).shape, flush=True)
                os._exit(0)
            os.wait()
        """
        ran = subprocess.run([sys.executable, "-c", code, fixtures.model()], capture_output=True, text=True, timeout=60)
        self.assertEqual((ran.stdout, ran.stderr), ("unsupported session\nunsupported method\n(256,)\n", ""))

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


class InterruptTest(fixtures.Test):
    def alarm(self, handler):
        before = signal.signal(signal.SIGALRM, handler)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)

    def test_what_a_handler_raises_ends_the_work(self):
        def leave(number, frame):
            raise KeyboardInterrupt

        llm = fixtures.llm()
        for work in (lambda s: s.append_rows([1] * 200), lambda s: s.append([1] * 200), lambda s: s.complete([1, 2], **{**OPTIONS, "max_tokens": 200}),
                     lambda s: list(s.generate([1, 2], **{**OPTIONS, "max_tokens": 200}))):
            session = llm.session()
            self.alarm(leave)
            with self.assertRaises(KeyboardInterrupt):
                for _ in range(100000):
                    work(session)
                    session.reset()
            signal.setitimer(signal.ITIMER_REAL, 0)
            session.reset()
            self.assertEqual(len(session.complete([1, 2], **OPTIONS).tokens), 24)

    def test_a_handler_may_look_but_not_change(self):
        session = fixtures.llm(context_length=8192).session()  # room for a generation of a good part of a second
        looked, refused = [], []

        def look(number, frame):
            looked.append(session.position)
            try:
                session.can_append(1)
                session.rewind(0)
            except pteron.Error as error:
                refused.append(error.field)

        self.alarm(look)
        until = time.monotonic() + 60
        while not refused and time.monotonic() < until:
            session.complete([1, 2], **{**OPTIONS, "max_tokens": 8000})
            session.reset()
        self.assertIn("session", refused)
        self.assertTrue(looked)
