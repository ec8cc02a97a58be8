#!/usr/bin/env python3
"""The Python module beside annotate.h, in a process with Weft preloaded or without: annotate_test.py present|absent|none

none: as absent, on a system where the symbol cannot even be looked up."""
import ctypes
import sys
import threading
import unittest

state = sys.argv.pop(1)
if state == "none":
    ctypes.PyDLL = None
from weft import annotate  # noqa: E402

calls = []


class Annotate(unittest.TestCase):
    def setUp(self):
        """Notes the calls of the library, which is called all the same."""
        calls.clear()
        real = annotate._weft
        self.addCleanup(setattr, annotate, "_weft", real)
        if real is not None:
            annotate._weft = lambda *values: (calls.append(values), real(*values))

    def test_finds_what_is_preloaded(self):
        self.assertEqual(annotate.is_preloaded(), state == "present")

    def expect(self, *expected):
        self.assertEqual(calls, list(expected) if state == "present" else [])

    def test_managers_begin_and_end(self):
        with annotate.iteration(3):
            with annotate.microbatch(1, device=2):
                pass
            with annotate.bubble():
                pass
        self.expect((1, -1, 3, 0), (4, 2, 1, 0), (5, 2, 1, 0), (6, -1, 0, 0), (7, -1, 0, 0), (2, -1, 3, 0))

    def test_ends_when_left_by_an_exception(self):
        with self.assertRaises(KeyError), annotate.iteration(5):
            raise KeyError
        self.expect((1, -1, 5, 0), (2, -1, 5, 0))

    def test_stage_and_chunk(self):
        annotate.set_stage(2)
        annotate.set_stage(2, 1, device=3)
        self.expect((3, -1, 2, -1), (3, 3, 2, 1))

    def test_other_than_integers_are_refused_also_without_weft(self):
        for number in (1.5, "1", None):
            with self.assertRaises(TypeError):
                annotate.begin_iteration(number)

    def test_numbers_that_do_not_fit_are_refused_also_without_weft(self):
        for number, device in ((2**70, 0), (2**63, 0), (-(2**63) - 1, 0), (1, 2**31)):
            with self.assertRaises(OverflowError):
                annotate.begin_iteration(number, device)
        annotate.begin_iteration(2**63 - 1)
        self.expect((1, -1, 2**63 - 1, 0))

    def test_threads(self):
        threads = [threading.Thread(target=lambda: [annotate.begin_microbatch(i) for i in range(1000)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(calls), 4000 if state == "present" else 0)

    def test_no_second_list_of_numbers(self):
        import pathlib
        import re
        header = (pathlib.Path(annotate.__file__).parent / "annotate.h").read_text()
        numbers = {name: int(number) for name, number in re.findall(r"WEFT_([A-Z_]+) = (\d+)", header)}
        self.assertEqual(len(numbers), 7)
        for name, number in numbers.items():
            self.assertEqual(getattr(annotate, "_" + name), number, name)


if __name__ == "__main__":
    unittest.main()
