"""One process per rank: started by torchrun, or by --launch N; device, process group, and an end that always comes.

Used by every training script of this folder, on its main thread. Nothing here may wait without a limit: a rank whose
peer has died would otherwise spin in NCCL without end, and hold its GPU.
"""
import argparse
import contextlib
import dataclasses
import datetime
import faulthandler
import os
import signal
import sys

import torch
import torch.distributed as dist


@dataclasses.dataclass
class Rank:
    number: int
    count: int
    device: torch.device

    def say(self, line: str) -> None:
        """Rank 0 speaks for all."""
        if self.number == 0:
            print(line, flush=True)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("processes")
    group.add_argument("--launch", type=int, metavar="N", help="start N ranks here (instead of through torchrun)")
    group.add_argument("--device", choices=("cuda", "cpu"), help="default: cuda (with NCCL) where there is one, else cpu (with gloo)")
    group.add_argument("--time-limit", type=int, default=600, metavar="SECONDS", help="each rank ends itself after this time")


def launch(options: argparse.Namespace) -> None:
    """With --launch: becomes torchrun, which runs the same script N times without it. Returns in those."""
    if options.launch is None or "TORCHELASTIC_RUN_ID" in os.environ:
        return
    torchrun = ["-m", "torch.distributed.run", "--nnodes=1", f"--nproc-per-node={options.launch}",
                "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", "--local-addr=localhost"]
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # torchrun would set it too, and warn about it
    os.execv(sys.executable, [sys.executable, *torchrun, *sys.argv])


def share_one_gpu(local_rank: int) -> None:
    """NCCL refuses two ranks of one host on one GPU. With a host name each they talk over the loopback device."""
    for name, value in {
        "NCCL_HOSTID": f"rank-{local_rank}",
        "NCCL_NET": "Socket",
        "NCCL_SOCKET_IFNAME": "lo",
        "NCCL_IB_DISABLE": "1",
        "NCCL_P2P_DISABLE": "1",
        "NCCL_SHM_DISABLE": "1",
        "NCCL_MAX_CTAS": "2",  # the ranks' kernels share the multiprocessors
    }.items():
        os.environ.setdefault(name, value)


def make_deterministic() -> None:
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when cuBLAS starts
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # a kernel for each new tensor, for debugging only
    torch.backends.cudnn.benchmark = False
    torch.set_num_threads(1)  # sums on the CPU are split by the number of threads


def choose_device(wanted: str | None, local_rank: int, local_count: int) -> torch.device:
    if wanted == "cpu" or (wanted is None and not torch.cuda.is_available()):
        return torch.device("cpu")
    gpus = torch.cuda.device_count()
    if gpus < local_count:
        share_one_gpu(local_rank)
    device = torch.device("cuda", local_rank % max(gpus, 1))
    torch.cuda.set_device(device)
    return device


@contextlib.contextmanager
def start(options: argparse.Namespace):
    """The life of a rank: yields it, and takes its process group down at the end."""
    launch(options)
    faulthandler.dump_traceback_later(options.time_limit, exit=True)  # a thread of its own, also next to a stuck call
    signal.alarm(options.time_limit + 5)  # and where Python is gone already: the signal's default is the end
    number, count = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    local, local_count = int(os.environ.get("LOCAL_RANK", 0)), int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    make_deterministic()
    rank = Rank(number, count, choose_device(options.device, local, local_count))
    if count > 1:
        if local_count == count:
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # one machine: its name need not resolve
        backend = "nccl" if rank.device.type == "cuda" else "gloo"
        dist.init_process_group(backend, timeout=datetime.timedelta(seconds=options.time_limit))
    yield rank
    # After an error the process just ends: to take the group down could wait for peers that will never come.
    if dist.is_initialized():
        dist.destroy_process_group()
