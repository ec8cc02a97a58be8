#!/usr/bin/env python3
"""A pipeline of PyTorch kernels whose stages exchange activations, or do something beside that, in one of several ways.

    python3 situations.py --launch 2 --situation item

Started by job_table.py, one process per rank, on simulated GPUs or real ones. It trains nothing: a forward pass is so many
kernels and a backward pass twice as many. The order of the operations is that of trainings: all forwards, all backwards,
a sum of the gradients. No tensor's value decides anything.
"""
import argparse
import contextlib
import pathlib
import sys

import torch
import torch.distributed as dist

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples/pytorch"))
import ranks  # noqa: E402

SITUATIONS = {
    "plain": "batched sends and receives, one sum of all gradients",
    "loss_copy": "a side stream waits for the compute stream and copies a loss to the host",
    "weight_grads": "gradients of the weights on a stream that has nothing to do with NCCL",
    "alternating": "6 and 8 microbatches in turn",
    "random": "another number of microbatches in each iteration",
    "unbatched": "each send and receive by itself, and one all-reduce for each of 20 parameters",
    "second_stream": "an all-reduce of a second process group for each microbatch, beside the next one's backward pass",
    "item": "the host reads a received shape with .item() before it posts the receive of the data",
    "offload": "activations go to pinned host memory on a side stream and come back for the backward pass",
}
MICROBATCHES = {"alternating": (6, 8), "random": (6, 8, 7, 5, 9, 6, 6, 10, 4, 8)}
PARAMETERS = 20
SIDE = 128  # of the square matrices: a message takes much less time than a pass
OFFLOADED = 2 << 20  # bytes of activations of a microbatch


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--situation", choices=SITUATIONS, default="plain")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--kernels", type=int, default=40, help="in a forward pass; a backward pass has twice as many")


class Exchange:
    """Messages to and from the neighbours. The compute stream waits for each receive, and for sends at the end."""

    def __init__(self, rank: ranks.Rank, situation: str):
        self._unbatched, self._with_shape = situation == "unbatched", situation == "item"
        self._received = torch.empty(SIDE, SIDE, device=rank.device)
        self._shape = torch.tensor([SIDE, SIDE], device=rank.device)
        self._pending: list[dist.Work] = []

    def receive(self, peer: int) -> torch.Tensor:
        if self._unbatched:
            dist.recv(self._received, peer)
            return self._received
        if self._with_shape:
            self._wait(dist.batch_isend_irecv([dist.P2POp(dist.irecv, self._shape, peer)]))
            self._shape[0].item()
        self._wait(dist.batch_isend_irecv([dist.P2POp(dist.irecv, self._received, peer)]))
        return self._received

    def send(self, tensor: torch.Tensor, peer: int) -> None:
        if self._unbatched:
            dist.send(tensor, peer)
            return
        for part in (self._shape, tensor) if self._with_shape else (tensor,):
            self._pending += dist.batch_isend_irecv([dist.P2POp(dist.isend, part, peer)])

    def finish(self) -> None:
        self._wait(self._pending)
        self._pending = []

    @staticmethod
    def _wait(requests) -> None:
        for request in requests:
            request.wait()


class Beside:
    """Work beside the pipeline's own: streams of its own, copies, a second process group."""

    def __init__(self, rank: ranks.Rank, situation: str, most_microbatches: int):
        self._situation = situation
        self._compute = torch.cuda.current_stream()
        self._side = torch.cuda.Stream()
        self._group = dist.new_group(list(range(rank.count)))
        self._sums: list[dist.Work] = []
        self._gradient = torch.ones(SIDE, SIDE, device=rank.device)
        self._loss = torch.empty(8, pin_memory=True)
        count = OFFLOADED // 4 if situation == "offload" else 1
        self._activations = torch.ones(count, device=rank.device)
        self._on_host = [torch.empty(count, pin_memory=True) for _ in range(most_microbatches)]

    @contextlib.contextmanager
    def _on_side(self):
        """On the side stream, behind what the compute stream has so far."""
        self._side.wait_stream(self._compute)
        with torch.cuda.stream(self._side):
            yield

    def after_forward(self, microbatch: int, result: torch.Tensor) -> None:
        if self._situation == "loss_copy":
            self._copy_loss(result)
        if self._situation == "offload":
            with self._on_side():
                self._on_host[microbatch].copy_(self._activations, non_blocking=True)

    def before_backward(self, microbatch: int) -> None:
        """Before the gradient is received, so that the copy runs during the wait for it."""
        if self._situation == "offload":
            with self._on_side():
                self._activations.copy_(self._on_host[microbatch], non_blocking=True)

    def before_compute(self) -> None:
        if self._situation == "offload":
            self._compute.wait_stream(self._side)

    def after_backward(self, kernels: int, result: torch.Tensor) -> None:
        if self._situation == "loss_copy":
            self._copy_loss(result)
        if self._situation == "weight_grads":
            with torch.cuda.stream(self._side):  # it waits for nobody: the values mean nothing
                for _ in range(kernels // 4):
                    torch.mul(self._gradient, self._gradient)

    def after_send(self) -> None:
        """The sum of a microbatch stands behind its send on every rank. In front of it, the next stage's sum would wait for
        this send and this send, wherever streams share a hardware queue or a call waits for the sum, for that sum."""
        if self._situation == "second_stream":
            self._sums.append(dist.all_reduce(self._gradient, group=self._group, async_op=True))

    def finish(self) -> None:
        for request in self._sums:
            request.wait()
        self._sums = []

    def _copy_loss(self, result: torch.Tensor) -> None:
        with self._on_side():
            self._loss.copy_(result.view(-1)[:8], non_blocking=True)


def compute(tensor: torch.Tensor, weights: torch.Tensor, kernels: int) -> torch.Tensor:
    for _ in range(kernels):
        tensor = torch.mul(tensor, weights)
    return tensor


def iterate(rank: ranks.Rank, microbatches: int, kernels: int, exchange: Exchange, beside: Beside,
            weights: torch.Tensor, gradients: list[torch.Tensor]) -> None:
    previous = rank.number - 1 if rank.number > 0 else None
    following = rank.number + 1 if rank.number + 1 < rank.count else None
    for microbatch in range(microbatches):
        received = weights if previous is None else exchange.receive(previous)
        result = compute(received, weights, kernels)
        if following is not None:
            exchange.send(result, following)
        beside.after_forward(microbatch, result)
    for microbatch in range(microbatches):
        beside.before_backward(microbatch)
        received = weights if following is None else exchange.receive(following)
        beside.before_compute()
        result = compute(received, weights, 2 * kernels)
        beside.after_backward(kernels, result)
        if previous is not None:
            exchange.send(result, previous)
        beside.after_send()
    exchange.finish()
    beside.finish()
    for gradient in gradients:
        dist.all_reduce(gradient)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for add in (add_arguments, ranks.add_arguments):
        add(parser)
    options = parser.parse_args()
    counts = MICROBATCHES.get(options.situation, (6,))
    with ranks.start(options) as rank:
        exchange, beside = Exchange(rank, options.situation), Beside(rank, options.situation, max(counts))
        weights = torch.ones(SIDE, SIDE, device=rank.device)
        parameters = PARAMETERS if options.situation == "unbatched" else 1
        gradients = [torch.ones(4 * SIDE, SIDE, device=rank.device) for _ in range(parameters)]
        for number in range(options.iterations):
            iterate(rank, counts[number % len(counts)], options.kernels, exchange, beside, weights, gradients)
        torch.cuda.synchronize()
        rank.say(f"done after {options.iterations} iterations")


if __name__ == "__main__":
    main()
