"""cupti_truth.so, loaded as the driver would load it, with a stand-in for CUPTI that delivers known records (fake_cupti.cpp).

Run by CTest (label unit): cupti_truth_test.py CUPTI_TRUTH FAKE_CUPTI SIMGPU_TRUTH. Each case is a process of its own, because the log is
written when the process ends.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

CUPTI_TRUTH, FAKE_CUPTI, SIMGPU_TRUTH = sys.argv[1:4]
PROGRAM = "import ctypes, sys; print('started', ctypes.CDLL(sys.argv[1]).InitializeInjection())"


class CuptiTruth(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cupti truth ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_it(self, **environment):
        done = subprocess.run([sys.executable, "-c", PROGRAM, CUPTI_TRUTH], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, timeout=60, check=False, env=dict(os.environ, **environment))
        self.assertEqual((done.returncode, done.stdout), (0, "started 1\n"), done.stderr)
        return done.stderr

    def test_records_become_a_log_that_the_truth_reads(self):
        before = time.monotonic_ns()
        self.run_it(CUPTI_TRUTH_LOG=str(self.folder), CUPTI_TRUTH_LIBRARY=FAKE_CUPTI)
        log, = self.folder.glob("gpu0.*.jsonl")
        fill, receive = [json.loads(line) for line in log.read_text().splitlines()[1:]]
        self.assertEqual((fill["name"], fill["thread"], fill["blocks"], fill["start"], fill["end"]), ("product", "weft-dispatch", 6, 1000, 1100))
        self.assertEqual((receive["name"], receive["spin"], receive["thread"]), ("ncclDevKernel_SendRecv", True, ""))
        # CUPTI is told to use the clock of Weft's traces.
        self.assertTrue(before <= receive["start"] <= time.monotonic_ns())
        entry, = json.loads(subprocess.run([SIMGPU_TRUTH, log], stdout=subprocess.PIPE, timeout=60, check=True).stdout)["logs"]
        self.assertEqual((entry["idle"], entry["fill_kernels"]), (100, 1))

    def test_without_cupti_one_line_says_so_and_the_program_goes_on(self):
        self.assertEqual(self.run_it(CUPTI_TRUTH_LOG=str(self.folder), CUPTI_TRUTH_LIBRARY="/missing/libcupti.so"),
                         "cupti_truth: no usable libcupti here, so no log (CUPTI_TRUTH_LIBRARY may name it)\n")

    def test_without_a_folder_nothing_is_done(self):
        self.assertEqual(self.run_it(CUPTI_TRUTH_LOG="", CUPTI_TRUTH_LIBRARY=FAKE_CUPTI), "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
