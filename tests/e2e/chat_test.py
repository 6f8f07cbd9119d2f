"""Conversations through a pipe and on a terminal: what does not fit is said, nothing is lost in silence."""
import json
import os
import pty
import select
import subprocess
import sys
import time
import unittest

from command import DATA, PTERON, CommandTest, pteron

TEMPLATE = "{% for m in messages %}{{ m.role[0] }}:{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}a:{% endif %}"


class Chat(CommandTest):
    CONTEXT = 64

    def setUp(self):
        super().setUp()
        template = self.folder / "chat.jinja"
        template.write_text(TEMPLATE)
        self.program = self.folder / "model.pte"
        self.done("export", DATA / "arch/llama_gqa", "-o", self.program, "--backend", "portable", "-q", "--context-length", self.CONTEXT, "--prefill-rows", 8,
                  "--tokenizer", DATA / "llm/tokenizer.json", "--chat-template", template)

    def chat(self, *lines, options=(), code=0):
        done = pteron("chat", self.program, "--ignore-eos", *(options if "-n" in options else ("-n", 4, *options)), stdin="".join(line + "\n" for line in lines).encode())
        self.assertEqual(done.code, code, done.err)
        return done

    def messages(self, *lines, options=(), code=0):
        return self.chat(*lines, options=("--json", *options), code=code).json["messages"]

    def questions(self, *lines, **rest):
        return [message["content"] for message in self.messages(*lines, **rest) if message["role"] == "user"]

    LINES = ["one two three four", "five six seven eight", "nine ten eleven", "and twelve more"]

    def test_evict_forgets_the_oldest_and_goes_on(self):
        done = self.chat(*self.LINES, options=("--when-full", "evict"))
        self.assertIn("forgot the oldest exchange", done.err)
        self.assertEqual(len(done.out.splitlines()), 4)
        kept = self.questions(*self.LINES, options=("--when-full", "evict"))
        self.assertEqual(kept, self.LINES[-len(kept):])
        self.assertLess(len(kept), 4)

    def test_reset_starts_anew_with_the_question(self):
        done = self.chat(*self.LINES, options=("--when-full", "reset", "--system", "S"))
        self.assertIn("started anew", done.err)
        left = self.messages(*self.LINES, options=("--when-full", "reset", "--system", "S"))
        self.assertEqual(left[0], {"role": "system", "content": "S"})
        self.assertEqual(left[-2]["content"], self.LINES[-1])

    def test_stop_says_so_and_ends(self):
        for mode in ("stop", "ask"):  # in a pipe there is nobody to ask
            done = self.chat(*self.LINES, options=("--when-full", mode), code=1)
            self.assertEqual(done.err.count("the context is full; the question was not asked"), 1)
            asked = self.questions(*self.LINES, options=("--when-full", mode), code=1)
            self.assertEqual(asked, self.LINES[:len(asked)])

    def test_a_line_that_no_context_holds(self):
        for mode in ("evict", "reset", "stop"):
            with self.subTest(mode):
                lines = ["first", "x" * 100, "last"]
                done = self.chat(*lines, options=("--when-full", mode), code=1)
                self.assertIn("the message alone has", done.err)
                self.assertIn("64", done.err)
                self.assertNotIn("forgot", done.err)
                self.assertEqual(self.questions(*lines, options=("--when-full", mode), code=1), ["first", "last"])

    def test_an_answer_that_meets_the_end_says_so(self):
        done = self.chat("x" * 50, options=("-n", 50))
        self.assertIn("the context is full: the answer stops here", done.err)

    def test_stats_are_of_the_conversation_as_it_stands(self):
        def stats(*lines):
            return [line for line in self.chat(*lines, "/stats").err.splitlines() if " of 64 tokens" in line][-1]
        self.assertIn("last turn read", stats("hello"))
        self.assertNotEqual(stats("hello").split()[0], "0")
        for after in ("/reset", "/undo"):
            self.assertEqual(stats("hello", after), "0 of 64 tokens")
        self.assertNotIn("last turn", stats("hello", "again", "/undo"))
        self.assertEqual(stats("hello", "again", "/undo").split()[0], stats("hello").split()[0])

    def test_saving_and_loading_are_confirmed(self):
        file = self.folder / "talk.json"
        self.assertIn(f"2 messages written to {file}", self.chat("hello", f"/save {file}").err)
        saved = json.loads(file.read_text())["messages"]
        self.assertIn(f"2 messages read from {file}", self.chat(f"/load {file}").err)
        self.assertEqual(self.messages(f"/load {file}", "more")[:2], saved)
        self.assertIn("started anew", self.chat("/reset").err)
        for wrong in ("{}", '{"messages": 3}', '{"messages": [3]}', "\xff"):
            file.write_bytes(wrong.encode("latin-1"))
            self.assertIn(str(file), self.chat(f"/load {file}", "go on").err)

    def test_a_loaded_conversation_that_does_not_fit(self):
        file = self.folder / "talk.json"
        file.write_text(json.dumps({"messages": [{"role": "system", "content": "T"}] + [{"role": role, "content": role * 4} for role in ("user", "assistant")] * 4}))
        left = self.messages(f"/load {file}", "now", options=("--when-full", "evict"))
        self.assertEqual(left[0]["content"], "T")
        self.assertEqual(left[-2]["content"], "now")
        self.assertEqual(self.questions(f"/load {file}", "now", options=("--when-full", "reset")), ["now"])

    def at_terminal(self, answers, *options):
        """Answers each prompt in turn; what the terminal shows."""
        process_id, terminal = pty.fork()
        if process_id == 0:
            os.environ["TERM"] = "dumb"
            os.execv(PTERON, [PTERON, "chat", str(self.program), "-n", "4", "--ignore-eos", *options])
        shown, left, seen = "", list(answers), 0
        deadline = time.time() + 60
        while time.time() < deadline:
            if not select.select([terminal], [], [], 0.2)[0]:
                continue
            try:
                data = os.read(terminal, 4096)
            except OSError:
                break
            if not data:
                break
            shown += data.decode("utf-8", "replace")
            if left and (shown[seen:].rstrip(" ").endswith(">") or shown[seen:].rstrip(" ").endswith("?")):
                seen = len(shown)
                os.write(terminal, (left.pop(0) + "\n").encode())
        _, status = os.waitpid(process_id, 0)
        os.close(terminal)
        self.assertEqual(left, [], shown)
        return os.waitstatus_to_exitcode(status), shown

    def test_a_person_is_asked(self):
        for key, said in (("o", "forgot the oldest exchange"), ("r", "started anew"), ("s", "the question was not asked"), ("x", "forgot the oldest exchange")):
            with self.subTest(key):
                answers = [*self.LINES[:3], key] + (["o"] if key == "x" else []) + ["/quit"]
                code, shown = self.at_terminal(answers)
                self.assertEqual(code, 0, shown)
                self.assertIn("(o)ldest", shown)
                self.assertIn(said, shown)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
