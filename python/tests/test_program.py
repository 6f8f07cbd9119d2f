"""Programs and methods on numpy arrays."""
import threading

import numpy as np

import fixtures
import pteron

PROGRAMS = fixtures.DATA / "pte" / "valid"


class OnlyDlpack:
    """A tensor of another library, as far as numpy can tell."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def program(name, **options):
    return pteron.Program(PROGRAMS / f"{name}.pte", **options)


class ProgramTest(fixtures.Test):
    def test_methods_say_what_they_take(self):
        methods = program("mlp.dynamic_unplanned_io").methods
        self.assertEqual(list(methods), ["forward"])
        slot = methods["forward"]["inputs"][0]
        self.assertEqual((slot["kind"], slot["dtype"], slot["shape"], slot["dynamic"], slot["planned"]), ("tensor", "float32", (6, 8), True, False))
        self.assertIn("aten::addmm.out", methods["forward"]["operators"])

    def test_metadata_of_every_kind(self):
        opened = program("methods.constants")
        self.assertEqual(opened.metadata("get_max_seq_len"), 128)
        self.assertEqual(opened.metadata("get_eos_ids"), [2, 7])
        self.assertEqual(opened.metadata("get_scale"), 0.125)
        self.assertIs(opened.metadata("use_kv_cache"), True)
        self.assertEqual(opened.metadata("get_name"), "tiny é")
        self.assertEqual(opened.metadata("get_pair"), [1, 2.5])
        self.assertSame(opened.metadata("get_table"), np.arange(6, dtype=np.float32).reshape(2, 3))

    def test_named_data(self):
        opened = pteron.Program(fixtures.model())
        self.assertIn("tokenizer", opened.named_data)
        self.assertTrue(opened.read_named_data("chat_template").startswith(b"{% for m"))
        self.assertIn("nothing", str(self.fails("not_found", opened.read_named_data, "nothing")))

    def test_describe_is_what_inspect_shows(self):
        described = program("methods.constants").describe(instructions=True)
        self.assertIn("methods", described)

    def test_one_path_is_no_list(self):
        with self.assertRaises(TypeError):
            program("mlp.external_constants", data=str(PROGRAMS / "mlp.external_constants.ptd"))

    def test_external_data(self):
        opened = program("mlp.external_constants", data=[PROGRAMS / "mlp.external_constants.ptd"])
        self.assertEqual(opened.method()(np.zeros((3, 8), np.float32))[0].shape, (3, 4))

    def test_errors_have_parts(self):
        error = self.fails("not_found", pteron.Program, "nowhere.pte")
        self.assertEqual(error.file, "nowhere.pte")
        self.assertIn("nowhere.pte", str(error))
        error = self.fails("not_found", program("methods.constants").method, "backward")
        self.assertIn("backward", str(error))

    def test_malformed_files_are_refused(self):
        files = sorted((fixtures.DATA / "pte" / "negative").glob("*.pte"))[:40]
        self.assertTrue(files)
        for path in files:
            with self.subTest(path.name), self.assertRaises(pteron.Error):
                opened = pteron.Program(path)
                for name in opened.methods:
                    opened.method(name, threads=1).execute()


class MethodTest(fixtures.Test):
    def test_call(self):
        (out,) = program("asm.constants_inline").method()(np.arange(3, dtype=np.float32))
        self.assertEqual(out.dtype, np.float32)
        self.assertSame(out, [40, 84, 128])

    def test_numbers_and_lists_take_the_type_of_the_input(self):
        method = program("asm.constants_inline").method()
        self.assertSame(method([0, 1, 2])[0], [40, 84, 128])
        self.assertEqual(program("asm.loop_sum").method()([5]), program("asm.loop_sum").method()(np.array([5])))

    def test_arrays_are_taken_as_they_are(self):
        method = program("asm.constants_inline").method()
        error = self.fails("invalid_argument", method, np.zeros(3, np.float64))
        self.assertEqual((error.expected, error.found), ("float32", "float64"))
        self.fails("unsupported", method, np.zeros(4, np.float32))

    def test_layouts_are_made_plain(self):
        method = program("mlp.dynamic_unplanned_io").method()
        values = np.random.default_rng(1).standard_normal((6, 8)).astype(np.float32)
        expected = method(values)[0]
        unaligned = np.frombuffer(b"x" + values.tobytes(), np.uint8)[1:].view(np.float32).reshape(6, 8)
        for name, given in {"columns first": np.asfortranarray(values), "every second": np.repeat(values, 2, axis=1)[:, ::2], "other byte order": values.astype(">f4"),
                            "unaligned": unaligned, "dlpack": OnlyDlpack(values)}.items():
            with self.subTest(name):
                self.assertSame(method(given)[0], expected)

    def test_dynamic_shapes(self):
        method = program("mlp.dynamic_unplanned_io").method()
        values = np.random.default_rng(1).standard_normal((6, 8)).astype(np.float32)
        for rows in (6, 1, 4):
            out = method(values[:rows])[0]
            self.assertEqual(out.shape, (rows, 4))
            np.testing.assert_allclose(out, method(values)[0][:rows], atol=1e-6)
        self.fails("out_of_capacity", method, np.zeros((7, 8), np.float32))

    def test_unplanned_inputs_are_used_in_place(self):
        method = program("mlp.dynamic_unplanned_io").method()
        values = np.zeros((6, 8), np.float32)
        before = method(values)[0]
        values[:] = 1
        after = method.execute()[0]
        self.assertFalse(np.array_equal(before, after))
        del values
        self.assertSame(method.execute()[0], after)

    def test_many_dtypes(self):
        method = program("io.many_dtypes").method()
        inputs = [np.array([1, 2, 3]).astype(slot["dtype"]) for slot in method.inputs]
        outputs = method(*inputs)
        self.assertEqual([str(out.dtype) for out in outputs], [slot["dtype"] for slot in method.outputs])

    def test_outputs_are_copies_and_export_dlpack(self):
        method = program("asm.constants_inline").method()
        first = method([0, 1, 2])[0]
        method([5, 5, 5])
        self.assertSame(first, [40, 84, 128])
        self.assertSame(np.from_dlpack(first), first)

    def test_state_and_reset(self):
        method = program("state.zero_start").method()
        one = np.ones(3, np.float32)
        first, second = method(one)[0], method(one)[0]
        self.assertFalse(np.array_equal(first, second))
        method.reset()
        self.assertSame(method(one)[0], first)

    def test_misuse(self):
        method = program("asm.constants_inline").method()
        with self.assertRaises(TypeError):
            method()
        with self.assertRaises(IndexError):
            method.set_input(1, np.zeros(3, np.float32))
        for value in (np.array(["a", "b", "c"]), None, [object()] * 3):
            with self.subTest(value), self.assertRaises(TypeError):
                method(value)
        self.assertEqual(self.fails("invalid_argument", program("asm.constants_inline").method, threads=-1).field, "threads")

    def test_threads_share_a_method(self):
        method = program("mlp.dynamic_unplanned_io").method(threads=1)
        inputs = [np.full((6, 8), n, np.float32) for n in range(4)]
        expected = [method(value)[0] for value in inputs]
        wrong = []

        def work(index):
            for _ in range(50):
                if not np.array_equal(method(inputs[index])[0], expected[index]):
                    wrong.append(index)

        threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_method_outlives_its_program(self):
        method = program("asm.constants_inline").method()
        self.assertSame(method([0, 1, 2])[0], [40, 84, 128])
