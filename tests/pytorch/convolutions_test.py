#!/usr/bin/env python3
"""A pipeline of convolutions on simulated GPUs with the stand-in for cuDNN: its weights against those of the CPU, and what
Weft reports while it observes against what really ran.

Called by CTest: convolutions_test.py SOURCE BUILD. Time runs slowly, so that how late Weft's thread looks matters little.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LIMIT = 250  # seconds, of each run
ITERATIONS = 8
RANKS = 2
TIME_SCALE = 4


def sizes_of_weights(output: str) -> dict[str, str]:
    # Two processes write: their lines may be one.
    return dict(re.findall(r"(stage \d+): ([-+.\d]+(?:e[-+]?\d\d)?)", output))


def run(command: list[str], **environment: str) -> tuple[dict[str, str], str]:
    """The sizes of the weights that the stages say, and stderr."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False, env={**os.environ, **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    found = sizes_of_weights(done.stdout)
    assert len(found) == RANKS, done.stdout + done.stderr
    return found, done.stderr


def main() -> int:
    source, build = map(pathlib.Path, sys.argv[1:3])
    for folder in "bench/jobs", "tests/e2e":
        sys.path.insert(0, str(source / folder))
    import truth  # pylint: disable=import-outside-toplevel
    stages = str(source / "tests/pytorch/convolution_stages.py")
    training = [sys.executable, "-B", "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={RANKS}", stages, str(ITERATIONS)]
    simulated = [str(source / "scripts/on-simulated-gpu"), "--build", str(build), "--pytorch"]
    on_the_cpu, _ = run([sys.executable, "-B", stages, str(ITERATIONS), "cpu"])
    with tempfile.TemporaryDirectory() as work:
        settings = {"SIMGPU_TIME_SCALE": str(TIME_SCALE), "SIMGPU_DEVICES": str(RANKS), "XDG_RUNTIME_DIR": work, "OMP_NUM_THREADS": "1"}
        plain, _ = run(simulated + training, **settings)
        os.mkdir(work + "/truth")
        weft = [str(build / "bin/weft"), "run", "--observe", "--output", work + "/trace", "--"]
        observed, said = run(simulated + weft + training, SIMGPU_LOG=work + "/truth", **settings)
        ranks = truth.compare_all(str(build / "bin/simgpu-truth"), work)
    assert observed == plain, (observed, plain)
    for stage, size in on_the_cpu.items():
        assert abs(float(plain[stage]) / float(size) - 1) < 1e-5, (plain, on_the_cpu)
    assert "simulated cuDNN: " not in said, said
    assert len(ranks) == RANKS, ranks
    for rank in ranks:
        assert rank.true > 0.03 and rank.precision > 0.93 and rank.coverage > 0.9, rank
        # Where the host is slow to launch, nothing runs; that is uncertain, and nothing else is.
        assert abs(rank.idle - rank.true) < 0.03 and rank.uncertain < rank.nothing + 0.01, rank
        assert not rank.of("anomaly") and rank.summaries[-1]["iterations"] >= ITERATIONS - 3, rank
    # The first stage has less to do.
    assert ranks[0].true > ranks[1].true, ranks
    return 0


if __name__ == "__main__":
    sys.exit(main())
