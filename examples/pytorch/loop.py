"""The work of an iteration that all training scripts share: gradients, optimiser, report, profile.

Used by every training script of this folder, on its main thread. compare.py reads the lines of rank 0: the losses
with all their bits, and at the end a checksum of all parameters. Two runs that print the same have trained the same.
"""
import argparse
import contextlib
import pathlib
import time

import torch
import torch.distributed as dist
from torch import nn

import model
import ranks

LARGEST_NORM = 1.0  # gradients are scaled down to this norm over all stages


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("training")
    group.add_argument("--iterations", type=int, default=10)
    group.add_argument("--learning-rate", type=float, default=1e-3)
    group.add_argument("--profile", type=pathlib.Path, metavar="DIR", help="torch.profiler on, one trace per rank into DIR")


def parse_arguments(description: str, *more) -> argparse.Namespace:
    """Command line of a script. `more`: functions that add the script's own arguments."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    for add in (*more, model.add_arguments, add_arguments, ranks.add_arguments):
        add(parser)
    return parser.parse_args()


class Trainer:
    """Parameters and optimiser of this rank's stages, and the numbers that all ranks share after an iteration."""

    def __init__(self, rank: ranks.Rank, stages: list[nn.Module], options: argparse.Namespace):
        self._rank = rank
        self._parameters = [parameter for stage in stages for parameter in stage.parameters()]
        # capturable: the step's counters live on the GPU, so that it can be captured into a CUDA graph.
        self._optimizer = torch.optim.AdamW(self._parameters, lr=options.learning_rate, capturable=rank.device.type == "cuda")
        self.report = torch.zeros(2, dtype=torch.float64, device=rank.device)  # loss, squared norm of the gradients

    def clear_gradients(self) -> None:
        for parameter in self._parameters:
            if parameter.grad is not None:
                parameter.grad.zero_()  # in place: a captured graph knows the address

    def finish(self, loss: torch.Tensor | None) -> None:
        """After the last backward pass: one sum over all ranks, then clipping and the optimiser. `loss` on the last stage."""
        squares = [parameter.grad.double().square().sum() for parameter in self._parameters]
        mine = torch.zeros((), dtype=torch.float64, device=self._rank.device) if loss is None else loss.double()
        self.report.copy_(torch.stack([mine, torch.stack(squares).sum()]))
        if self._rank.count > 1:
            dist.all_reduce(self.report)
        factor = (LARGEST_NORM / self.report[1].sqrt()).clamp(max=1.0)
        for parameter in self._parameters:
            parameter.grad.mul_(factor.to(parameter.grad.dtype))
        self._optimizer.step()

    def checksum(self) -> int:
        """Over the bits of all parameters of all ranks. Sums of integers, so their order does not matter."""
        integers = {2: torch.int16, 4: torch.int32, 8: torch.int64}
        total = torch.zeros((), dtype=torch.int64, device=self._rank.device)
        for parameter in self._parameters:
            bits = parameter.detach().flatten().view(integers[parameter.element_size()]).long()
            total += (bits * (2 * torch.arange(bits.numel(), device=bits.device) + 1)).sum()
        if self._rank.count > 1:
            dist.all_reduce(total)
        return total.item() % 2**64


@contextlib.contextmanager
def profiled(folder: pathlib.Path | None, rank: ranks.Rank):
    """torch.profiler around iterations 4 and 5 (the first ones are not like the others). Yields what ends an iteration."""
    if folder is None:
        yield lambda: None
        return
    folder.mkdir(parents=True, exist_ok=True)
    activities = [torch.profiler.ProfilerActivity.CPU]
    if rank.device.type == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(
            activities=activities, schedule=torch.profiler.schedule(wait=2, warmup=1, active=2, repeat=1),
            on_trace_ready=lambda profile: profile.export_chrome_trace(str(folder / f"rank{rank.number}.json"))) as profile:
        yield profile.step


def train(rank: ranks.Rank, trainer: Trainer, options: argparse.Namespace, name: str, iterate) -> None:
    """`iterate(number)` trains one iteration and leaves its loss in the trainer's report."""
    where = f"{torch.cuda.get_device_name()}, nccl" if rank.device.type == "cuda" else "cpu, gloo"
    rank.say(f"{name}: {rank.count} ranks on {where}; torch {torch.__version__}")
    with profiled(options.profile, rank) as end_iteration:
        for number in range(1, options.iterations + 1):
            started = time.perf_counter()
            iterate(number)
            loss, squared_norm = trainer.report.tolist()  # waits for the GPU
            milliseconds = 1000 * (time.perf_counter() - started)
            rank.say(f"iteration {number}  loss {loss!r} {loss.hex()}  norm {squared_norm ** 0.5:.6g}  {milliseconds:.3f} ms")
            end_iteration()
    rank.say(f"parameters {trainer.checksum():#018x}")
