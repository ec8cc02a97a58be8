"""Tests of the harness behind scripts/gpu-proof: ranks on one GPU, MPS, the sanitizer's words."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

from support import SOURCE, TemporaryFolder, results_of  # it also makes the modules of bench/gpu known

from proof import environment, page
import mps
import training_runs


# Stands for nvidia-cuda-mps-control: writes down how it was called.
MPS_CONTROL = """#!/bin/sh
echo "$* $(cat) $CUDA_MPS_PIPE_DIRECTORY" >>"{log}"
exit {code}
"""


# Stands for fill_loop: a client that works, or whose context cannot be made, and says with how many hardware queues it was started.
MPS_CLIENT = """#!/bin/sh
echo "$CUDA_DEVICE_MAX_CONNECTIONS $CUDA_MPS_PIPE_DIRECTORY" >>"{log}"
[ {works} = 1 ] || {{ echo "error 809" >&2; exit 1; }}
echo "1 1" >"$2"
"""


class MpsDaemon(TemporaryFolder):
    def executable(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def variable(self, name, value):
        before = os.environ.get(name)
        self.addCleanup(lambda: os.environ.pop(name, None) if before is None else os.environ.__setitem__(name, before))
        os.environ[name] = value

    def control(self, code, clients_work=True):
        self.executable("nvidia-cuda-mps-control", MPS_CONTROL.format(log=self.folder / "log", code=code))
        self.executable("bin/measures/fill_loop", MPS_CLIENT.format(log=self.folder / "clients", works=int(clients_work)))
        self.variable("PATH", f"{self.folder}:{os.environ['PATH']}")
        self.variable(environment.MPS_VERDICT, str(self.folder / "mps.json"))

    def clients(self):
        return (self.folder / "clients").read_text().splitlines()

    def test_it_is_started_and_ended_in_a_folder_of_its_own(self):
        self.control(0)
        daemon = mps.Mps()
        pipes = pathlib.Path(daemon.environment["CUDA_MPS_PIPE_DIRECTORY"])
        self.assertTrue(pipes.is_dir())
        daemon.stop()
        self.assertFalse(pipes.exists())
        self.assertEqual([line.split() for line in (self.folder / "log").read_text().splitlines()],
                         [["-d", str(pipes)], ["start_server", "-uid", str(os.getuid()), str(pipes)], ["quit", str(pipes)]])

    def test_where_it_does_not_start_there_is_none(self):
        self.control(1)
        with self.assertRaisesRegex(mps.Unavailable, "cannot be started"):
            mps.Mps()

    def test_as_many_clients_as_any_measurement_has_must_work_once(self):
        self.control(0)
        for _ in range(2):
            mps.tried(self.folder).stop()
        queues = sorted(int(line.split()[0]) for line in self.clients())
        self.assertEqual(queues, [4, 4, 4, 16, 16, 16])
        self.assertEqual(environment.mps_verdict(self.folder / "mps.json"), {"usable": True, "reason": ""})

    def test_where_clients_fail_it_is_not_used_and_not_tried_again(self):
        self.control(0, clients_work=False)
        for _ in range(2):
            with self.assertRaisesRegex(mps.Unavailable, "6 of 6 clients at once failed: error 809"):
                mps.tried(self.folder)
        self.assertEqual(len(self.clients()), 6)
        self.assertIn("| MPS | not used: 6 of 6 clients at once failed: error 809 |", page.render(
            dict(results_of(), environment=dict(results_of()["environment"], mps=environment.mps_verdict(self.folder / "mps.json"))), []))

    def test_a_command_runs_with_it_and_without_it(self):
        for code, works, expected in ((0, True, True), (1, True, False), (0, False, False)):
            self.control(code, works)
            (self.folder / "mps.json").unlink(missing_ok=True)
            command = [sys.executable, SOURCE / "bench/gpu/measures/mps.py", self.folder, "sh", "-c",
                       "echo [$CUDA_MPS_PIPE_DIRECTORY]; exit 7"]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=60, check=False)
            self.assertEqual((done.returncode, "weft-mps-" in done.stdout), (7, expected))

    def test_when_the_first_training_under_it_fails_it_is_made_again_without(self):
        self.control(0)
        measuring = training_runs.Measuring.__new__(training_runs.Measuring)
        measuring.mps, measuring.without_mps, measuring.failures, measuring._trained = mps.tried(self.folder), "", [], False
        tried = []

        def train(*_):
            tried.append(measuring.mps is not None)
            return ("error 807" if measuring.mps else ""), "the run"

        measuring._train = train
        self.assertEqual(measuring.run("one", "1f1b", 10), "the run")
        self.assertEqual((tried, measuring.failures), ([True, False], []))
        self.assertIn("error 807", environment.mps_verdict(self.folder / "mps.json")["reason"])


class Ranks(TemporaryFolder):
    def start(self, ranks, text, **environment):
        command = [sys.executable, SOURCE / "bench/gpu/measures/ranks.py", str(ranks), *self.script(text)]
        return subprocess.run(command, stdout=subprocess.PIPE, universal_newlines=True, timeout=60, check=False, env=dict(os.environ, **environment))

    def test_ranks_on_one_gpu_are_machines_of_their_own_and_one_is_measured(self):
        done = self.start(3, """
            import os
            names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "NCCL_HOSTID", "NCCL_NET", "WEFT", "BASELINE_FILL")
            print(" ".join(os.environ.get(name, "-") for name in names) + "\\n", end="", flush=True)
        """, GPU_PROOF_SHARED_GPU="1", GPU_PROOF_RANK="1", BASELINE_FILL="job", WEFT="fill")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(sorted(done.stdout.splitlines()), ["0 0 3 weft-rank-0 Socket off -", "1 1 3 weft-rank-1 Socket fill job",
                                                           "2 2 3 weft-rank-2 Socket off -"])

    def test_under_mps_sleeping_peers_have_few_hardware_queues(self):
        done = self.start(2, """
            import os
            print(os.environ["RANK"] + " " + os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] + "\\n", end="", flush=True)
        """, GPU_PROOF_RANK="1", CUDA_MPS_PIPE_DIRECTORY="/tmp/x", CUDA_DEVICE_MAX_CONNECTIONS="16")
        self.assertEqual(sorted(done.stdout.splitlines()), ["0 4", "1 16"])

    def test_a_rank_that_fails_ends_the_others(self):
        # Rank 0 would wait for ever, as in a receive whose peer has gone.
        done = self.start(2, """
            import os, sys, time
            if os.environ["RANK"] == "1":
                sys.exit(5)
            time.sleep(1000)
        """)
        self.assertEqual(done.returncode, 5)


    def test_the_ranks_of_a_case_end_within_the_limit_of_their_step(self):
        question = f"import sys; sys.path.insert(0, {str(SOURCE / 'tests/gpu/cases')!r}); import run_ranks; print(run_ranks.RUN_LIMIT)"
        done = subprocess.run([sys.executable, "-B", "-c", question], stdout=subprocess.PIPE, universal_newlines=True, timeout=60, check=True,
                              env=dict(os.environ, GPU_PROOF_LIMIT="60.0"))
        self.assertEqual(float(done.stdout), 25)


# Stands for compute-sanitizer: ends for each program as a file of its name says, after Weft's trace was written.
SANITIZER = """#!/bin/sh
case "$*" in
  *bin/weft*) trace=$(echo "$*" | sed 's/.*--output \\([^ ]*\\) .*/\\1/'); mkdir -p "$trace"
    echo '{{"type": "summary", "fill_units": {units}}}' >"$trace/rank0.jsonl" ;;
  *size=256*) exit {large} ;;
esac
"""


class Sanitizer(TemporaryFolder):
    def words(self, units, large):
        for name, text in (("tools/compute-sanitizer", SANITIZER.format(units=units, large=large)),
                           ("bin/gpu_cases/kernels_check", "#!/bin/sh\n[ \"$1\" = --no-speed ]\n"), ("bin/measures/fill_loop", ""),
                           ("bin/bubble_case", ""), ("bin/weft", "")):
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        done = subprocess.run([SOURCE / "tests/gpu/cases/compute_sanitizer.sh", self.folder, "memcheck"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, timeout=60, check=False,
                              env=dict(os.environ, PATH=f"{self.folder}/tools:{os.environ['PATH']}"))
        line = json.loads(done.stdout)
        self.assertEqual(line["holds"], done.returncode == 0, done.stderr)
        return line["values"]

    def test_no_time_is_no_report_and_weft_that_did_not_fill_was_not_checked(self):
        clean = {"kernels": "clean", "matmul": "clean", "large_matmul": "clean", "weft": "clean"}
        self.assertEqual(self.words(units=3, large=0), clean)
        self.assertEqual(self.words(units=0, large=124), {**clean, "large_matmul": "out of time", "weft": "did not fill"})
        self.assertEqual(self.words(units=3, large=99)["large_matmul"], "report")


if __name__ == "__main__":
    unittest.main()
