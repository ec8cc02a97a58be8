"""The simulated GPU of a build tree: how a program gets there, and how real PyTorch runs on it.

Used by main.py and steps.py, by tests/gpu/cases, tests/bench/gpu/probes and by tests/pytorch/simulated_test.py. Which simulator it is, is known from the
environment that scripts/on-simulated-gpu makes, and from nothing else.
"""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
STAND_IN = "libsimulated_cublas.so"  # for cuBLAS, see tests/pytorch/simulated_cublas.c
# PyTorch's own libraries are found through its RPATH, so those of the simulator are preloaded.
PRELOADED = (STAND_IN, "libcudart.so.13", "libnccl.so.2")
BLOCK_TIME = "100us"  # what a block of PyTorch's kernels takes, which no library knows
# Settings without which a probe's question cannot be asked: the simulator's arithmetic is too slow for short kernels.
OF_PROBES = {"collision_slowdown": {"SIMGPU_FLOPS": "1e13", "SIMGPU_BANDWIDTH": "1e12"},
             "default_stream_priority": {"SIMGPU_FLOPS": "1e13"}}


def enter(build, command):
    """Puts `command` in the place of this program, on the simulated GPU of a build tree; every process below inherits that.
    Returns where this program is there already."""
    if "SIMGPU_DEVICES" not in os.environ:
        os.execv(ROOT / "scripts/on-simulated-gpu", ["on-simulated-gpu", "--build", str(build.absolute()), *map(str, command)])


def libraries(environment):
    """The folder of the simulator's libraries, which comes first on the library path; None where there is no simulator."""
    if "SIMGPU_DEVICES" not in environment:
        return None
    return pathlib.Path(environment.get("LD_LIBRARY_PATH", "").split(":")[0])


def missing_for_pytorch(folder):
    """Why PyTorch does not run on the simulator whose libraries are in the folder; "": it does."""
    absent = [name for name in PRELOADED if not (folder / name).exists()]
    return f"the build of the simulated GPU lacks {', '.join(absent)}" if absent else ""


def pytorch_prefix():
    """What comes before a command with PyTorch. Its kernels take time and write nothing there. By name, found through the library path:
    the loader splits the list at blanks, which a path may have."""
    return ["env", "LD_PRELOAD=" + ":".join(PRELOADED), f"SIMGPU_BLOCK_TIME={BLOCK_TIME}"]
