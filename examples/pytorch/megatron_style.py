#!/usr/bin/env python3
"""Trains the example model with a hand-written 1F1B loop that waits as Megatron-LM does by default.

    python3 megatron_style.py --launch 4          or          torchrun --nproc-per-node 4 megatron_style.py

Each exchange with the neighbours is one batch of point-to-point operations, and after it the host synchronises the
device: nothing is queued behind the receive, and the bubble is seen by the host that stands in the synchronise. With one
rank the same loop is the training without a pipeline.
"""
from typing import Callable

import torch
import torch.distributed as dist
from torch import nn

import loop
import model
import ranks


class Exchange:
    """Activations and their gradients to and from the neighbours; all of one size."""

    def __init__(self, rank: ranks.Rank, sizes: model.Sizes, synchronize: bool):
        self._rank, self._synchronize = rank, synchronize and rank.device.type == "cuda"
        self._shape = (sizes.batch, sizes.sequence, sizes.hidden)
        self._dtype = model.DTYPES[sizes.dtype]

    def swap(self, to_previous=None, from_previous=False, to_next=None, from_next=False) -> tuple:
        """Tensors received from the previous and the next stage. At the ends of the pipeline one side has none."""
        operations, received = [], []
        sides = ((self._rank.number - 1, to_previous, from_previous), (self._rank.number + 1, to_next, from_next))
        for peer, tensor, wanted in sides:
            exists = 0 <= peer < self._rank.count
            if tensor is not None and exists:
                operations.append(dist.P2POp(dist.isend, tensor, peer))
            received.append(self._empty() if wanted and exists else None)
            if received[-1] is not None:
                operations.append(dist.P2POp(dist.irecv, received[-1], peer))
        for request in dist.batch_isend_irecv(operations) if operations else ():
            request.wait()
        if operations and self._synchronize:
            torch.cuda.synchronize()
        return tuple(received)

    def _empty(self) -> torch.Tensor:
        return torch.empty(self._shape, dtype=self._dtype, device=self._rank.device, requires_grad=True)


class Compute:
    """Forward and backward passes of this rank's stage, by number of the microbatch."""

    def __init__(self, stage: nn.Module, microbatches: int):
        self._stage, self._microbatches = stage, microbatches
        self._open: dict[int, tuple] = {}

    def forward(self, number: int, received, tokens, targets) -> torch.Tensor:
        """The activation for the next stage or, where there are targets, the loss."""
        result = self._stage(tokens if received is None else received)
        if targets is not None:
            result = model.loss(result, targets)
        self._open[number] = (received, result)
        return result.detach()

    def backward(self, number: int, gradient) -> torch.Tensor | None:
        """The gradient for the previous stage. `gradient` is None on the last stage: it begins with the loss."""
        received, result = self._open.pop(number)
        if gradient is None:
            (result / self._microbatches).backward()
        else:
            result.backward(gradient)
        return None if received is None else received.grad


def one_forward_one_backward(rank: ranks.Rank, compute, exchange: Exchange, tokens, targets) -> list[torch.Tensor]:
    """One iteration. `tokens`, `targets`: per microbatch, used on the first and the last stage. Losses on the last one."""
    is_first, is_last = rank.number == 0, rank.number == rank.count - 1
    count = len(tokens)
    warm_up = min(rank.count - 1 - rank.number, count)
    losses: list[torch.Tensor] = []

    def forward(number: int, received):
        result = compute.forward(number, received, tokens[number] if is_first else None, targets[number] if is_last else None)
        if not is_last:
            return result
        losses.append(result)
        return None

    for number in range(warm_up):
        received, _ = exchange.swap(from_previous=True)
        exchange.swap(to_next=forward(number, received))
    received, _ = exchange.swap(from_previous=True) if warm_up < count else (None, None)
    for number in range(warm_up, count):
        activation = forward(number, received)
        _, gradient = exchange.swap(to_next=activation, from_next=True)
        gradient = compute.backward(number - warm_up, gradient)
        more = number + 1 < count
        received, _ = exchange.swap(to_previous=gradient, from_previous=more)
    for number in range(count - warm_up, count):
        _, gradient = exchange.swap(from_next=True)
        exchange.swap(to_previous=compute.backward(number, gradient))
    return losses


def run(description: str, name: str, make_iteration: Callable, *arguments: Callable) -> None:
    """The frame that graph_step.py shares. `make_iteration(rank, options, sizes, stage, trainer)` gives a function that
    trains on the tokens and targets of one iteration."""
    options = loop.parse_arguments(description, *arguments)
    with ranks.start(options) as rank:
        sizes = model.sizes_of(options)
        text = model.Text(options.text, sizes, options.seed)
        stage = model.build_stage(rank.number, rank.count, sizes, len(text.alphabet), options.seed, rank.device)
        trainer = loop.Trainer(rank, [stage], options)
        iteration = make_iteration(rank, options, sizes, stage, trainer)
        loop.train(rank, trainer, options, name, lambda number: iteration(*text.batch(number, rank.device)))


def make_iteration(rank: ranks.Rank, options, sizes: model.Sizes, stage: nn.Module, trainer: loop.Trainer) -> Callable:
    exchange = Exchange(rank, sizes, synchronize=True)
    compute = Compute(stage, sizes.microbatches)

    def iteration(tokens: torch.Tensor, targets: torch.Tensor) -> None:
        trainer.clear_gradients()
        parts = tokens.chunk(sizes.microbatches), targets.chunk(sizes.microbatches)
        losses = one_forward_one_backward(rank, compute, exchange, *parts)
        trainer.finish(torch.stack(losses).double().mean() if losses else None)

    return iteration


if __name__ == "__main__":
    run(__doc__, "megatron_style.py", make_iteration)
