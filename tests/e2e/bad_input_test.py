"""Broken files and wrong words: exit code, one line that names the file, nothing left behind."""
import json
import os
import pathlib
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

from command import DATA, PTERON, SMOLLM2, CommandTest, pteron

CHECKPOINT = DATA / "arch/llama_gqa"
SHARDED = DATA / "arch/llama3_rope_sharded"
KEY = DATA / "manifest/ed25519.key.pem"


class BadInput(CommandTest):
    def export_fails(self, source, *options):
        out = self.folder / "out" / "model.pte"
        shutil.rmtree(out.parent, ignore_errors=True)
        out.parent.mkdir()
        line = self.fails("export", source, "-o", out, "--backend", "portable", "-q", *options)
        self.assertEqual(list(out.parent.iterdir()), [], "something was left behind")
        return line

    def copy(self, source=CHECKPOINT):
        target = self.folder / "checkpoint"
        if target.exists():
            shutil.rmtree(target)
        shutil.copytree(source, target)
        return target

    def change_config(self, **changes):
        target = self.copy()
        config = json.loads((target / "config.json").read_text())
        for key, value in changes.items():
            config[key] = value
        (target / "config.json").write_text(json.dumps(config))
        return target

    def tiny(self):
        program = self.folder / "model.pte"
        self.done("export", CHECKPOINT, "-o", program, "--backend", "portable", "--context-length", 64, "-q")
        return program

    def talker(self, *options):
        """A tiny program with a tokenizer and a template."""
        template, program = self.folder / "chat.jinja", self.folder / "talker.pte"
        template.write_text("{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}")
        self.done("export", CHECKPOINT, "-o", program, "--backend", "portable", "-q", "--tokenizer", DATA / "llm/tokenizer.json", "--chat-template", template, *options)
        return program

    def test_empty_folder_and_folder_without_weights(self):
        empty = self.folder / "empty"
        empty.mkdir()
        self.assertIn("config.json", self.export_fails(empty))
        target = self.copy()
        (target / "model.safetensors").unlink()
        self.assertIn("model.safetensors", self.export_fails(target))
        self.assertIn("nowhere", self.export_fails(self.folder / "nowhere"))

    def test_unknown_architecture_lists_the_known_ones(self):
        line = self.export_fails(self.change_config(architectures=["MambaForCausalLM"], model_type="mamba"))
        self.assertIn("MambaForCausalLM", line)
        self.assertIn("LlamaForCausalLM", line)

    def test_shapes_that_do_not_match_the_config(self):
        line = self.export_fails(self.change_config(intermediate_size=1000))
        self.assertIn("mlp", line)
        self.assertIn("1000", line)

    def test_a_report_over_the_checkpoint(self):
        source = self.copy()
        before = (source / "config.json").read_bytes()
        self.assertIn("--report", self.fails("export", source, "-o", self.folder / "made.pte", "--backend", "portable", "-q", "--report", source / "config.json", code=2))
        self.assertEqual((source / "config.json").read_bytes(), before)
        for _ in range(2):  # an earlier report is no file of the checkpoint
            self.done("export", source, "-o", self.folder / "again.pte", "--backend", "portable", "-q", "--report", source / "report.json")
        self.assertFalse((self.folder / "made.pte").exists())

    def test_missing_tensor(self):
        line = self.export_fails(self.change_config(num_hidden_layers=3))
        self.assertIn("model.layers.2.", line)

    def test_silly_numbers(self):
        for changes in ({"hidden_size": -4}, {"hidden_size": 0}, {"hidden_size": 2**62}, {"hidden_size": 48.5}, {"num_attention_heads": 0}, {"num_attention_heads": 5, "head_dim": None},
                        {"num_key_value_heads": 3}, {"num_hidden_layers": "two"}, {"num_hidden_layers": 2**31 - 1}, {"head_dim": 2 * 10**9}, {"rms_norm_eps": "x"}, {"rms_norm_eps": -1}, {"vocab_size": 1e30},
                        {"vocab_size": 0}, {"head_dim": True}, {"max_position_embeddings": []}, {"rope_parameters": {"rope_theta": 0}}, {"rope_parameters": 3}, {"hidden_act": "sine"}):
            with self.subTest(str(changes)):
                key, value = next(iter(changes.items()))
                self.assertIn(next(iter(value)) if isinstance(value, dict) else key, self.export_fails(self.change_config(**changes)))
        self.assertIn("rope_theta", self.export_fails(self.change_config(rope_parameters=None, rope_theta=0)))

    def test_text_that_is_no_configuration(self):
        for text in (b"", b"null", b"[1]", b"{", b"\xff\xfe{}", b"[" * 100_000, b'{"a":' * 100_000, b'{"vocab_size": NaN}'):
            for name in ("config.json", "generation_config.json", "tokenizer_config.json", "tokenizer.json"):
                with self.subTest(f"{name} {text[:9]}"):
                    target = self.copy()
                    (target / name).write_bytes(text)
                    self.assertIn(name, self.export_fails(target))

    def test_tensors_that_lie(self):
        whole = (CHECKPOINT / "model.safetensors").read_bytes()
        (size,) = struct.unpack("<Q", whole[:8])
        name = "model.norm.weight"
        for change in ({"dtype": "I32"}, {"dtype": "F16"}, {"dtype": "F7"}, {"shape": [47]}, {"shape": [2**62, 4]}, {"shape": [-48]}, {"shape": [48, 0]}, {"data_offsets": [0, 192]},
                       {"data_offsets": [2**63, 2**63 + 192]}, {"data_offsets": [8, 4]}, {"data_offsets": []}):
            with self.subTest(str(change)):
                header = json.loads(whole[8:8 + size])
                header[name].update(change)
                text = json.dumps(header).encode()
                target = self.copy()
                (target / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + whole[8 + size:])
                self.assertIn("model.safetensors", self.export_fails(target))

    def test_index_that_points_elsewhere(self):
        index = json.loads((SHARDED / "model.safetensors.index.json").read_text())
        tensor, shard = next(iter(index["weight_map"].items()))
        for where in ("absent.safetensors", "../checkpoint/" + shard, "/etc/passwd", "", "..", 3, None, next(s for s in index["weight_map"].values() if s != shard)):
            with self.subTest(str(where)):
                target = self.copy(SHARDED)
                (target / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {**index["weight_map"], tensor: where}}))
                self.assertIn("absent" if where == "absent.safetensors" else "model.safetensors.index.json", self.export_fails(target))
        target = self.copy(SHARDED)
        (target / shard).unlink()
        self.assertIn(shard, self.export_fails(target))

    def test_things_that_are_no_files(self):
        makers = {"folder": pathlib.Path.mkdir, "pipe": os.mkfifo, "loop": lambda path: path.symlink_to(path.name), "device": lambda path: path.symlink_to("/dev/zero")}
        for name in ("config.json", "model.safetensors", "tokenizer.json", "generation_config.json"):
            for kind, make in makers.items():
                with self.subTest(f"{name} is a {kind}"):
                    target = self.copy()
                    (target / name).unlink(missing_ok=True)
                    make(target / name)
                    self.assertIn(name, self.export_fails(target))
        program = self.tiny()
        for kind, make in makers.items():
            path = self.folder / kind
            make(path)
            for words in (["run", path, "--tokens", 1], ["verify", path], ["inspect", path], ["manifest", "show", path], ["tokenize", path], ["run", program, "--tokens", 1, "--trust", path],
                          ["sign", program, "--key", path], ["run", program, "--tokens", 1, "--data", path], ["run", program, "--tokens", 1, "--load-session", path]):
                with self.subTest(f"{words[0]} of a {kind}"):
                    self.assertIn(kind, self.fails(*words, timeout=20))

    def test_truncations(self):
        whole = (CHECKPOINT / "model.safetensors").read_bytes()
        target = self.copy()
        for cut in range(0, len(whole), max(1, len(whole) // 40)):
            (target / "model.safetensors").write_bytes(whole[:cut])
            self.assertIn("model.safetensors", self.export_fails(target))

    def test_truncated_programs(self):
        program = self.folder / "model.pte"
        self.done("export", CHECKPOINT, "-o", program, "--backend", "portable", "--context-length", 64, "-q")
        whole = program.read_bytes()
        cut_file = self.folder / "cut.pte"
        for cut in [*range(0, 200, 10), *range(200, len(whole), max(1, len(whole) // 40))]:
            cut_file.write_bytes(whole[:cut])
            self.assertIn("cut.pte", self.fails("run", cut_file, "--tokens", "1,2", "-n", 1))

    def test_handed_malformed_programs(self):
        for program in sorted((DATA / "pte/negative").glob("*.*pte")):
            with self.subTest(program.name):
                self.assertIn(program.name, self.fails("run", program, "--tokens", 1, "-n", 1))
                answer = pteron("run", program, "--tokens", 1, "--json")
                self.assertEqual((answer.code, answer.json["error"]["file"]), (1, str(program)))

    def test_output_that_cannot_be_written(self):
        line = self.fails("export", CHECKPOINT, "-o", self.folder / "no" / "such" / "folder.pte", "--backend", "portable", "-q")
        self.assertIn("folder.pte", line)
        program = self.tiny()
        for words in (["export", CHECKPOINT, "--backend", "portable", "-q", "-o"], ["logits", program, "--tokens", 1, "-o"], ["sign", program, "--key", KEY, "-o"],
                      ["run", program, "--tokens", 1, "-n", 1, "--save-session"], ["inspect", program, "--html"]):
            with self.subTest(words[0]):
                self.assertIn("/dev/full", self.fails(*words, "/dev/full"))
                self.assertIn("nowhere", self.fails(*words, self.folder / "nowhere" / "x"))
                self.assertIn(self.folder.name, self.fails(*words, self.folder))

    def test_no_space(self):
        """A file system that takes no more: here a limit on the size of files."""
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        out = self.folder / "out"
        out.mkdir()
        for words in (["--backend", "portable"], ["--backend", "cpu"], ["--backend", "portable", "--external-constants", "w.ptd"], ["--backend", "portable", "--sign-key", KEY]):
            with self.subTest(str(words)):
                done = subprocess.run([PTERON, "export", CHECKPOINT, "-o", out / "m.pte", "-q", *words], capture_output=True, text=True, preexec_fn=limit, restore_signals=False)
                self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
                self.assertRegex(done.stderr, r"^pteron: .*(m\.pte|w\.ptd).*")
                self.assertEqual(list(out.iterdir()), [])

    def test_output_is_the_source(self):
        target = self.copy()
        for name in ("model.safetensors", "config.json"):
            before = (target / name).read_bytes()
            self.assertIn(name, self.fails("export", target, "-o", target / name, "--backend", "portable", "-q"))
            self.assertEqual((target / name).read_bytes(), before)
        self.done("export", target, "-o", target / "model.pte", "--backend", "portable", "-q")

    @unittest.skipUnless(SMOLLM2.exists(), "scripts/fetch_smollm2.sh brings the checkpoint")
    def test_interrupted_exports_leave_nothing(self):
        out = self.folder / "out"
        out.mkdir()
        for number in (signal.SIGINT, signal.SIGTERM):
            for delay in (0, 0.1, 0.3, 0.6):
                process = subprocess.Popen([PTERON, "export", SMOLLM2, "-o", out / "m.pte", "--backend", "portable", "-q"], stderr=subprocess.PIPE, text=True)
                status = pathlib.Path(f"/proc/{process.pid}/status")
                while process.poll() is None and not int(status.read_text().split("SigCgt:")[1].split()[0], 16) >> (number - 1) & 1:
                    time.sleep(0.01)  # the command is not there yet to be interrupted
                time.sleep(delay)
                process.send_signal(number)
                _, error = process.communicate()
                if process.returncode == 0:  # it was done before
                    (out / "m.pte").unlink()
                    continue
                self.assertEqual(process.returncode, 130, error)
                self.assertEqual(list(out.iterdir()), [])

    def test_two_exports_to_one_output(self):
        out = self.folder / "m.pte"
        words = [[PTERON, "export", source, "-o", out, "--backend", "portable", "-q"] for source in (CHECKPOINT, SHARDED)]
        whole = set()
        for word in words:
            subprocess.run(word, check=True)
            whole.add(out.read_bytes())
        for _ in range(3):
            running = [subprocess.Popen(word) for word in words * 2]
            self.assertEqual([process.wait() for process in running], [0] * 4)
            self.assertIn(out.read_bytes(), whole)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["m.pte"])

    def test_a_prompt_that_does_not_fit(self):
        program = self.tiny()
        ids = ",".join(["5"] * 65)
        for words in (["run", program, "--tokens", ids], ["logits", program, "--tokens", ids, "-o", self.folder / "l"]):
            line = self.fails(*words)
            self.assertIn("64", line)
            self.assertIn("65", line)
        for words in (["--tokens", "256"], ["--tokens", "-1"], ["--tokens", "1,,2"], ["--tokens", ""], ["-p", ""]):
            with self.subTest(words):
                self.assertIn(pteron("run", program, *words).code, (1, 2))

    def test_wrong_words(self):
        for words in (["export"], ["export", CHECKPOINT], ["run"], ["nothing"], ["export", CHECKPOINT, "-o", "x", "--dtype", "float8"], []):
            with self.subTest(words):
                self.fails(*words, code=2)
        answer = pteron("run", self.folder / "none.pte", "-p", "x", "--json")
        self.assertEqual(answer.code, 1)
        self.assertEqual(answer.json["error"]["code"], "not_found")
        self.assertIn("none.pte", answer.json["error"]["file"])
        self.assertIn("unknown verb nothing", self.fails("nothing", code=2))

    def test_counts_are_whole_numbers(self):
        program = self.tiny()
        for count in ("-1", "010", "0x10", "1.5", "18446744073709551616", ""):
            with self.subTest(count):
                self.fails("run", program, "--tokens", "1,2", "-n", count, code=2)
        self.fails("sign", program, "--key", KEY, "--counter", "-1", code=2)
        self.done("run", program, "--tokens", "1,2", "-n", 2, "--seed", 2**64 - 1, "-q")

    def test_no_output_takes_the_place_of_what_is_read(self):
        program, key, page = self.tiny(), self.folder / "key.pem", self.folder / "page"
        shutil.copy(KEY, key)
        kept = {path: path.read_bytes() for path in (program, key)}
        for words in (["inspect", program, "--html", program], ["logits", program, "--tokens", 1, "-o", program],
                      ["run", program, "--tokens", 1, "-n", 1, "--save-session", program], ["sign", program, "--key", key, "-o", key],
                      ["export", CHECKPOINT, "-o", page, "--report", page], ["keygen", "-o", page, "--public", page]):
            with self.subTest(words):
                self.fails(*words, code=2)
        self.fails("keygen", "-o", self.folder / "new.pem", "--public", key)
        self.assertEqual({path: path.read_bytes() for path in kept}, kept)
        self.assertFalse(page.exists())

    def test_lost_standard_output_is_no_success(self):
        program = self.tiny()
        for words in (["inspect", program], ["run", program, "--tokens", 1, "-n", 2, "--json"]):
            with self.subTest(words), open("/dev/full", "w") as full:
                done = subprocess.run([PTERON, *map(str, words)], stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("standard output", done.stderr)

    def test_nothing_to_score(self):
        self.assertIn("nothing to score", self.fails("perplexity", self.tiny(), "--tokens", 1))

    def test_a_template_that_does_not_compile(self):
        template = self.folder / "chat.jinja"
        template.write_text("{{ messages | nosuchfilter }}")
        self.assertIn("chat.jinja", self.export_fails(CHECKPOINT, "--chat-template", template))

    def test_sampling_options_are_numbers_before_anything_is_read(self):
        for words in (["--temperature", "nan"], ["--temperature", "inf"], ["--temperature", "-1"], ["--top-p", "nan"], ["--top-p", "1.5"], ["--min-p", "-0.1"], ["--typical-p", 0],
                      ["--repetition-penalty", 0], ["--repetition-penalty", "nan"], ["--presence-penalty", "inf"], ["--frequency-penalty", "nan"], ["--top-k", -1],
                      ["--time-limit", "nan"], ["--logit-bias", "3=nan"], ["--logit-bias", "3=inf"], ["--logit-bias", "x"], ["--logit-bias", "-1=2"], ["--logit-bias", "3=2x"]):
            with self.subTest(words):
                line = self.fails("run", self.folder / "absent.pte", "--tokens", 1, *words, code=2)
                self.assertIn(words[0], line)
                self.assertIn(str(words[1]), line)
        program = self.tiny()
        self.assertIn("256", self.fails("run", program, "--tokens", 1, "--logit-bias", "256=1", code=2))
        first = self.done("run", program, "--tokens", "1,2", "-n", 1, "--json").json["tokens"][0]
        self.assertNotEqual(self.done("run", program, "--tokens", "1,2", "-n", 1, "--json", "--logit-bias", f"{first}=-inf").json["tokens"][0], first)

    def test_generation_settings_that_no_session_could_use(self):
        config = self.folder / "mine.json"
        for text, field in (('{"temperature": -1}', "temperature"), ('{"temperature": "x"}', "temperature"), ('{"temperature": 1e300}', "temperature"), ('{"top_p": 2}', "top_p"), ('{"top_k": -5}', "top_k"),
                            ('{"top_k": 1.5}', "top_k"), ('{"typical_p": 0}', "typical_p"), ('{"repetition_penalty": 0}', "repetition_penalty"), ('{"do_sample": "yes"}', "do_sample"),
                            ('{"eos_token_id": 256}', "eos_token_id"), ('{"eos_token_id": [2, -7]}', "eos_token_id"), ('{"eos_token_id": "two"}', "eos_token_id"),
                            ('{"eos_token_id": 2, "eos_token_id": 3}', "eos_token_id"), ("[]", "object"), ("{", "JSON")):
            with self.subTest(text):
                config.write_text(text)
                line = self.export_fails(CHECKPOINT, "--generation-config", config)
                self.assertIn("mine.json", line)
                self.assertIn(field, line)
                if text.startswith("{") and text.endswith("}"):
                    target = self.copy()
                    (target / "generation_config.json").write_text(text)
                    self.assertIn("generation_config.json", self.export_fails(target))
        config.write_text('{"eos_token_id": [255], "temperature": 0, "pad_token_id": -1}')
        program = self.folder / "good.pte"
        self.done("export", CHECKPOINT, "-o", program, "--backend", "portable", "-q", "--generation-config", config)
        self.done("run", program, "--tokens", 1, "-n", 1, "-q")

    def test_rope_numbers_that_no_program_can_turn_with(self):
        for value in (0, -1, 1e-300, 1e300):
            with self.subTest(value):
                for key, name in (("rope_theta", "rope_theta"), ("rope_scaling", "factor")):
                    changes = {"rope_parameters": None, key: value if key == "rope_theta" else {"rope_type": "linear", "factor": value}}
                    line = self.export_fails(self.change_config(**changes))
                    self.assertIn("config.json", line)
                    self.assertIn(name, line)

    def test_a_context_that_no_machine_holds(self):
        line = self.export_fails(CHECKPOINT, "--context-length", 1 << 24)
        for number in (1 << 24, 128, 1 << 31):
            self.assertIn(str(number), line)
        done = self.done("export", CHECKPOINT, "-o", self.folder / "long.pte", "--backend", "portable", "--context-length", 1 << 24, "--prefill-rows", 0)
        self.assertIn("16777216", done.err)
        self.assertIn("MB", done.err)

    def test_text_that_is_not_utf8(self):
        program = self.talker()
        for words, stdin in ((["run", program, "-p", b"a\xff"], b""), (["run", program, "--chat", "-p", b"a\xff"], b""), (["run", program, "--chat", "-"], b"a\xff"),
                             (["run", program, "--chat", "-p", "a", "--system", b"a\xff"], b""), (["chat", program, "--system", b"a\xff"], b"hi\n"), (["chat", program], b"a\xff\n"),
                             (["template", program, "--messages", "-"], b'{"messages": [{"role": "user", "content": "a\xff"}]}'), (["tokenize", program], b"a\xff")):
            with self.subTest(words):
                done = subprocess.run([PTERON, *words], input=stdin, capture_output=True)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(b"UTF", done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_empty_prompts(self):
        self.assertIn("empty", self.fails("run", self.talker(), "-p", ""))

    def test_templates_get_times_and_messages(self):
        template, messages = self.folder / "t.jinja", self.folder / "m.json"
        template.write_text("{% for m in messages %}{{ m.content }}{% endfor %}")
        messages.write_text('{"messages": []}')
        for now in ("junk", "2024-07-26", "2024-07-26T09:05:03junk", "2024-02-31T00:00:00"):
            with self.subTest(now):
                self.assertIn(now, self.fails("template", template, "--messages", messages, "--now", now, code=2))
        for value in ("{}", '"x"', "3", '[1]', "null"):
            with self.subTest(value):
                messages.write_text('{"messages": %s}' % value)
                line = self.fails("template", template, "--messages", messages)
                self.assertIn("m.json", line)
                self.assertIn("messages", line)

    def test_what_is_signed_is_a_program_and_stays_valid(self):
        program, other = self.tiny(), self.folder / "notes.txt"
        other.write_text("no program at all, but long enough to be one" * 40)
        self.assertIn("notes.txt", self.fails("sign", other, "--key", KEY))
        self.assertIn("notes.txt", self.fails("sign", other, "--key", KEY, "-o", self.folder / "signed"))
        self.assertFalse((self.folder / "signed").exists())
        before = program.read_bytes()
        for end in ("0d", "-1d", "soon"):
            self.assertIn("--not-after", self.fails("sign", program, "--key", KEY, f"--not-after={end}", code=2))
        self.assertEqual(program.read_bytes(), before)
        self.assertIn("expired already", self.done("sign", program, "--key", KEY, "--not-after", "1971-01-01").err)

    def test_two_writers_of_one_report(self):
        report, name = self.folder / "report.html", self.tiny()
        self.done("inspect", name, "--html", report, "-q")
        whole = report.read_bytes()
        for _ in range(5):
            running = [subprocess.Popen([PTERON, "inspect", name, "--html", report, "-q"], stdout=subprocess.DEVNULL) for _ in range(4)]
            self.assertEqual([process.wait() for process in running], [0] * 4)
            self.assertEqual(report.read_bytes(), whole)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["model.pte", "report.html"])

    def test_weights_that_a_backend_packed_stay_and_it_says_so(self):
        done = self.done("export", CHECKPOINT, "-o", self.folder / "model.pte", "--external-constants", "w.ptd")
        self.assertIn("w.ptd", done.err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
