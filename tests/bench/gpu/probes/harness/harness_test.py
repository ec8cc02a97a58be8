#!/usr/bin/env python3
"""The harness that all probes share: one line of JSON, exit codes, the watchdog, children that end with their probe.

Called by CTest: harness_test.py <harness program>. No GPU is used.
"""
import json
import os
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop()
SEEN = {"number": 0.1, "count": 1 << 20, "yes": True, "none": None, "list": [1, 2.5]}


def run(what):
    return subprocess.run([PROGRAM], env=dict(os.environ, HARNESS=what), capture_output=True, text=True, timeout=20, check=False)


class Harness(unittest.TestCase):
    def test_an_answer_is_one_line_of_json(self):
        result = run("answers")
        self.assertEqual((result.returncode, result.stdout.count("\n")), (0, 1), result)
        self.assertEqual(json.loads(result.stdout), {"probe": "harness", "device": "", "simulated": False, "values": SEEN,
                                                     "fact": 'a "fact" with a \\ and a line break'})

    def test_what_cannot_be_answered_is_77(self):
        result = run("skips")
        self.assertEqual(result.returncode, 77)
        self.assertEqual(json.loads(result.stdout), {"probe": "harness", "skipped": 'there is "no" such thing'})

    def test_a_failure_says_why_on_stderr(self):
        result = run("fails")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("this went wrong", result.stderr)

    def test_a_hang_outside_the_question_is_a_failure(self):
        result = run("hangs")
        self.assertEqual((result.returncode, result.stdout), (3, ""))
        self.assertIn("hangs", result.stderr)

    def test_a_hang_in_the_question_is_the_answer(self):
        result = run("stalls")
        self.assertEqual(result.returncode, 0)
        line = json.loads(result.stdout)
        self.assertEqual((line["fact"], line["values"]), ("stalls in the question", SEEN))

    def test_children_end_with_the_probe(self):
        # Whoever the probe starts inherits this pipe.
        read_end, write_end = os.pipe()
        with subprocess.Popen([PROGRAM], env=dict(os.environ, HARNESS="leaves a child"), stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, pass_fds=[write_end]) as probe:
            os.close(write_end)
            self.assertEqual(probe.wait(20), 3)
            # End of file: nobody who has it is left.
            self.assertEqual(os.read(read_end, 1), b"")
        os.close(read_end)

    def test_a_part_gets_its_environment_and_gives_numbers(self):
        for what in ("part", "noisy part"):  # libraries may write to its stdout before it does
            self.assertEqual(json.loads(run(what).stdout)["values"]["part"], [1.5, 2, 7])

    def test_a_part_that_fails_fails_the_probe_with_its_reason(self):
        result = run("failing part")
        self.assertEqual(result.returncode, 1)
        self.assertIn("the part says why", result.stderr)

    def test_a_part_that_cannot_answer_skips_the_probe(self):
        result = run("skipping part")
        self.assertEqual(result.returncode, 77)
        self.assertEqual(json.loads(result.stdout)["skipped"].strip(), "the part cannot")

    def test_a_part_that_hangs_is_killed(self):
        result = run("hanging part")
        self.assertEqual(result.returncode, 1)
        self.assertIn("too slow: no answer within 0.5 s", result.stderr)

    def test_a_part_that_crashes_was_not_too_slow(self):
        result = run("crashing part")
        self.assertEqual(result.returncode, 1)
        self.assertIn("ended by a signal", result.stderr)
        self.assertNotIn("too slow", result.stderr)

    def test_where_one_of_several_questions_fails_the_other_answers_count(self):
        result = run("one of several fails")
        self.assertEqual(result.returncode, 0, result.stderr)
        values = json.loads(result.stdout)["values"]
        self.assertEqual((values["good"], values["bad_error"]), ([1.5, 2, 7], "part a: the part says why"))

    def test_questions_that_cannot_be_asked_skip_the_probe(self):
        self.assertEqual(run("one of several skips").returncode, 77)

    def test_a_value_that_is_added_again_is_the_last_one(self):
        line = run("answers").stdout
        self.assertEqual((line.count('"count"'), json.loads(line)["values"]["count"]), (1, 1 << 20))


if __name__ == "__main__":
    unittest.main()
