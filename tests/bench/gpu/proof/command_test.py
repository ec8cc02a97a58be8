"""Tests of scripts/gpu-proof and scripts/gpu-bundle as commands."""

import json
import os
import pathlib
import subprocess
import time
import unittest

from support import BUILD, SOURCE, TemporaryFolder, alive  # it also makes the modules of bench/gpu known

from proof import bundle, environment, files, processes


class Bundle(TemporaryFolder):
    def make(self, *arguments):
        return subprocess.run([SOURCE / "scripts/gpu-bundle", "--build", BUILD, "--out", self.folder / "a bundle", *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=300, check=False)

    def test_it_is_small_complete_and_can_be_made_twice(self):
        for _ in range(2):
            done = self.make()
            self.assertEqual(done.returncode, 0, done.stderr)
        folder = self.folder / "a bundle"
        files = [path for path in folder.glob("**/*") if path.is_file()]
        self.assertLess(sum(path.stat().st_size for path in files), 63_000_000)
        for name in bundle.REQUIRED + ("lib/cuda/libcudart.so.13",):
            self.assertTrue((folder / name).exists(), name)
        subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=folder, timeout=60, check=True)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["a bundle"])
        moved = folder.rename(self.folder / "moved")
        printed = subprocess.run([moved / "bin/weft", "lib"], stdout=subprocess.PIPE, universal_newlines=True, timeout=60, check=True).stdout
        self.assertTrue(pathlib.Path(printed.strip()).samefile(moved / "lib/weft/libweft.so"))

    def test_nothing_but_the_system_the_driver_and_nccl_is_needed(self):
        self.assertEqual(self.make().returncode, 0)
        for path in sorted((self.folder / "a bundle").glob("**/*")):
            if path.is_file() and bundle.is_elf(path):
                strangers = set(bundle.needed_libraries(path)) - bundle.FROM_THE_SYSTEM - {bundle.CUDA_RUNTIME}
                self.assertEqual(strangers, set(), path.name)

    def test_a_dependency_that_the_target_may_lack_is_refused(self):
        with self.assertRaisesRegex(bundle.BundleError, "needs libstdc"):
            bundle.check_file(BUILD / "lib/simgpu/libcuda.so.1", "libcuda.so.1", set())

    def test_another_folder_is_never_replaced(self):
        (self.folder / "a bundle").mkdir()
        (self.folder / "a bundle/precious").write_text("mine")
        done = self.make()
        self.assertEqual(done.returncode, 1)
        self.assertIn("is no bundle", done.stderr)
        self.assertEqual((self.folder / "a bundle/precious").read_text(), "mine")


class CommandLine(TemporaryFolder):
    def proof(self, *arguments, environment=None):
        return subprocess.run([SOURCE / "scripts/gpu-proof", "--bundle", BUILD, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, timeout=200, env=environment or dict(os.environ), check=False)

    def test_without_a_gpu_one_line_says_so(self):
        # A driver that cannot be loaded, wherever this test runs.
        (self.folder / "libcuda.so.1").write_text("no library")
        done = self.proof("--out", self.folder / "out", environment=dict(os.environ, LD_LIBRARY_PATH=str(self.folder)))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "scripts/gpu-proof: no GPU can be used here (--simulated runs everything on simulated ones)\n")

    def run_until_training(self):
        """A simulated run in its own process, once the trainer's ranks work: the process and them."""
        process = subprocess.Popen([SOURCE / "scripts/gpu-proof", "--simulated", "--simulator", BUILD, "--out", self.folder, "--work",
                                    self.folder / "work", "--only", "measure.training"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        give_up = time.monotonic() + 100
        while time.monotonic() < give_up and process.poll() is None:
            started = processes.descendants(process.pid)
            if sum(self.program_of(one) == "trainer" for one in started) >= 4:
                return process, started
            time.sleep(0.02)
        self.fail("no training began")

    @staticmethod
    def program_of(process):
        try:
            return pathlib.Path(f"/proc/{process}/comm").read_text().strip()
        except OSError:
            return ""

    def wait_until_gone(self, started):
        give_up = time.monotonic() + 60
        while any(alive(one) for one in started) and time.monotonic() < give_up:
            time.sleep(0.02)
        self.assertEqual([one for one in started if alive(one)], [])

    def test_an_interrupted_run_leaves_its_results_and_no_process(self):
        process, started = self.run_until_training()
        process.terminate()
        self.assertEqual(process.wait(60), 0)
        self.wait_until_gone(started)
        result = json.loads(next(self.folder.glob("2*.json")).read_text())
        self.assertEqual([(step["status"], step["reason"]) for step in result["steps"]], [("not run", "interrupted")])

    def test_a_killed_run_leaves_no_process(self):
        process, started = self.run_until_training()
        process.kill()
        self.wait_until_gone(started)

    def test_a_simulated_run_never_writes_under_docs_results(self):
        done = self.proof("--simulated", "--simulator", BUILD, "--out", SOURCE / "docs/results/try")
        self.assertEqual(done.returncode, 1)
        self.assertIn("may not write under docs/results", done.stderr)
        self.assertFalse((SOURCE / "docs/results/try").exists())


if __name__ == "__main__":
    unittest.main()
