#!/usr/bin/env python3
"""A PyTorch example with PyTorch's own CUDA and NCCL calls, on simulated GPUs, without Weft and with it filling.

Called by CTest: simulated_test.py SOURCE BUILD CUBLAS RANKS BUBBLES SCRIPT [SCRIPT ARGUMENTS]. CUBLAS is the stand-in
(simulated_cublas.c); BUBBLES says whether Weft must have found some. PyTorch's kernels take time and write nothing, so the
losses mean nothing: what is checked is that all calls go through, and what Weft saw. Exit code 77 without PyTorch.
"""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

LIMIT = 200  # seconds, of each run
ITERATIONS = 8


def command(source: pathlib.Path, build: pathlib.Path, ranks: str, script: str, arguments: list[str]) -> list[str]:
    """compare.py on the simulated GPU. Its own preloads are set by env, for the launcher is a shell."""
    libraries = build / "lib/simgpu"
    preload = [sys.argv[3], libraries / "libcudart.so.13", libraries / "libnccl.so.2"]  # PyTorch's RPATH would win otherwise
    return [str(source / "scripts/on-simulated-gpu"), "--build", str(build),
            "env", "LD_PRELOAD=" + ":".join(map(str, preload)), "SIMGPU_BLOCK_TIME=100us",
            sys.executable, "-B", str(source / "examples/pytorch/compare.py"), "--json", "--weft", str(build / "bin/weft"),
            "--fill", str(build / "lib/weft/fill_matmul.so"), "--time-limit", str(LIMIT), "--script", script, "--ranks", ranks,
            "--", "--iterations", str(ITERATIONS), "--device", "cuda", *arguments]


def main() -> int:
    source, build = map(pathlib.Path, sys.argv[1:3])
    ranks, bubbles, script = sys.argv[4:7]
    if importlib.util.find_spec("torch") is None:
        print(f"skipped: {sys.executable} has no PyTorch (see gloo_test.py)")
        return 77
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    done = subprocess.run(command(source, build, ranks, script, sys.argv[7:]), stdout=subprocess.PIPE, text=True, env=environment,
                          timeout=3 * LIMIT, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.returncode
    result = json.loads(done.stdout)
    assert result["simulated"] and result["weft_active"] and result["iterations"] == ITERATIONS
    assert len(result["ranks"]) == int(ranks), result["notes"]
    assert result["fill_units_wrong"] == 0 and result["dropped_records"] == 0
    for rank in result["ranks"]:
        assert rank["complete"] and (rank["bubbles"] > 0 or bubbles == "any"), rank
    return 0


if __name__ == "__main__":
    sys.exit(main())
