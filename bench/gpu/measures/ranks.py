#!/usr/bin/env python3
"""Starts N ranks of a program on this machine: ranks.py N PROGRAM [ARGUMENT...]. Ranks that have to share a GPU find each other
over sockets, as NCCL takes processes with different NCCL_HOSTID for different machines (GPU_PROOF_SHARED_GPU=1). Where only
one rank is of interest (GPU_PROOF_RANK), the others run as if nobody measured.

Used by training_runs.py, also under `weft run`. Ends when all ranks have ended, with the first exit code that is not 0; the
others are stopped then. A rank never outlives this process.
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from mps import CONNECTIONS_ASLEEP, QUEUES  # noqa: E402
from proof import processes  # noqa: E402

# For ranks on one GPU: every transport that NCCL would refuse or that needs distinct GPUs is off. At real size a message has
# 34 MB; one socket would be the slowest link of all.
SHARED_GPU = {"NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1", "NCCL_P2P_DISABLE": "1",
              "NCCL_SHM_DISABLE": "1", "NCCL_MAX_CTAS": "2", "NCCL_SOCKET_NTHREADS": "4", "NCCL_NSOCKS_PERTHREAD": "2"}
# Variables that make a process observed, filled, logged or a baseline.
MEASURING = ("BASELINE_FILL", "CUDA_INJECTION64_PATH", "CUPTI_TRUTH_LOG", "SIMGPU_LOG")


def environment_of(rank, ranks, shared, folder):
    environment = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks),
                       TRAINER_RENDEZVOUS=os.path.join(folder, "rendezvous"))
    if shared:
        environment.update(SHARED_GPU, NCCL_HOSTID=f"weft-rank-{rank}")
    if environment.get("GPU_PROOF_RANK", str(rank)) != str(rank):
        for name in MEASURING:
            environment.pop(name, None)
        environment["WEFT"] = "off"
        if "CUDA_MPS_PIPE_DIRECTORY" in environment:
            environment[QUEUES] = CONNECTIONS_ASLEEP
    return environment


def wait_for_all(started, give_up=None):
    """The first exit code that is not 0, as soon as there is one; else 0. TimeoutError at the monotonic time `give_up`."""
    waiting = list(started)
    while waiting:
        for process in list(waiting):
            if process.poll() is not None:
                waiting.remove(process)
                if process.returncode != 0:
                    return process.returncode
        if give_up is not None and time.monotonic() > give_up:
            raise TimeoutError
        time.sleep(0.01)
    return 0


def main():
    ranks, command = int(sys.argv[1]), sys.argv[2:]
    shared = os.environ.get("GPU_PROOF_SHARED_GPU") == "1"
    started = []
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="ranks-") as folder:
        try:
            for rank in range(ranks):
                started.append(subprocess.Popen(command, env=environment_of(rank, ranks, shared, folder),
                                                preexec_fn=processes.die_with_parent))
            code = wait_for_all(started)
            return code if code >= 0 else 128 - code
        finally:
            for process in started:
                if process.poll() is None:
                    process.kill()
                process.wait()


if __name__ == "__main__":
    sys.exit(main())
