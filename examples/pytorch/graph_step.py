#!/usr/bin/env python3
"""Trains the example model with work captured into CUDA graphs, in the 1F1B loop of megatron_style.py.

    python3 graph_step.py --launch 4 --capture passes          or          torchrun --nproc-per-node 4 graph_step.py

--capture passes  each forward and backward pass of each microbatch is a graph of its own, NCCL stays outside
--capture step    the whole iteration is one graph: passes, NCCL operations, clipping and optimiser
--capture none    no graphs; the same losses. On the CPU there are no graphs, so nothing else is possible there.

The first iterations run without graphs, and are part of the training.
"""
from typing import Callable

import torch
from torch import nn

import loop
import megatron_style
import model
import ranks

WARM_UP = 3  # iterations without graphs: libraries choose their kernels, NCCL connects, the optimiser makes its state


def add_arguments(parser) -> None:
    parser.add_argument("--capture", choices=("passes", "step", "none"), default="passes")


class GraphedCompute:
    """Like megatron_style.Compute, but each pass is captured when it is first called, and replayed from then on.

    The graphs share one pool of memory: what one leaves free, the next may use. That is right as long as they are always
    replayed in the order in which they were captured, which is that of the schedule.
    """

    def __init__(self, stage: nn.Module, sizes: model.Sizes):
        self._compute = megatron_style.Compute(stage, sizes.microbatches)
        self._pool = torch.cuda.graph_pool_handle()
        self._graphs: dict[tuple[str, int], torch.cuda.CUDAGraph] = {}
        self._inputs: dict[tuple[str, int], tuple] = {}
        self._results: dict[tuple[str, int], torch.Tensor | None] = {}

    def forward(self, number: int, received, tokens, targets) -> torch.Tensor:
        return self._call(("forward", number), self._compute.forward, (received, tokens, targets))

    def backward(self, number: int, gradient) -> torch.Tensor | None:
        return self._call(("backward", number), self._compute.backward, (gradient,))

    def _call(self, key: tuple[str, int], function: Callable, arguments: tuple):
        if key in self._graphs:
            with torch.no_grad():
                for static, argument in zip(self._inputs[key], arguments):
                    if argument is not None:
                        static.copy_(argument)
        else:  # its inputs must not be written to before the backward pass is captured: autograd would refuse
            self._capture(key, function, arguments)
        self._graphs[key].replay()
        return self._results[key]

    def _capture(self, key: tuple[str, int], function: Callable, arguments: tuple) -> None:
        # Copies, since a graph reads the addresses with which it was captured.
        self._inputs[key] = tuple(
            None if argument is None else argument.detach().clone().requires_grad_(argument.requires_grad)
            for argument in arguments)
        self._graphs[key] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graphs[key], pool=self._pool):
            self._results[key] = function(key[1], *self._inputs[key])


class Iterations:
    """An iteration is run without graphs at first, then in the way that --capture names."""

    def __init__(self, rank: ranks.Rank, options, sizes: model.Sizes, stage: nn.Module, trainer: loop.Trainer):
        self._rank, self._sizes, self._stage, self._trainer = rank, sizes, stage, trainer
        self._capture = options.capture if rank.device.type == "cuda" else "none"
        self._compute = megatron_style.Compute(stage, sizes.microbatches)
        # A host that synchronises would end the capture of a step.
        self._exchange = megatron_style.Exchange(rank, sizes, synchronize=self._capture != "step")
        self._done = 0
        self._graph = None

    def __call__(self, tokens: torch.Tensor, targets: torch.Tensor) -> None:
        self._done += 1
        if self._capture == "none":
            self._train(tokens, targets)
        elif self._done <= WARM_UP:
            self._on_side_stream(tokens, targets)
        elif self._capture == "passes":
            if self._done == WARM_UP + 1:
                self._compute = GraphedCompute(self._stage, self._sizes)
            self._train(tokens, targets)
        else:
            self._replay_step(tokens, targets)

    def _train(self, tokens: torch.Tensor, targets: torch.Tensor) -> None:
        self._trainer.clear_gradients()
        parts = tokens.chunk(self._sizes.microbatches), targets.chunk(self._sizes.microbatches)
        losses = megatron_style.one_forward_one_backward(self._rank, self._compute, self._exchange, *parts)
        self._trainer.finish(torch.stack(losses).double().mean() if losses else None)

    def _on_side_stream(self, tokens: torch.Tensor, targets: torch.Tensor) -> None:
        """Work captured later must have run on another stream than the default one, or autograd mixes the two."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self._train(tokens, targets)
        torch.cuda.current_stream().wait_stream(side)

    def _replay_step(self, tokens: torch.Tensor, targets: torch.Tensor) -> None:
        if self._graph is None:
            self._tokens, self._targets = tokens.clone(), targets.clone()
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._train(self._tokens, self._targets)
        self._tokens.copy_(tokens)
        self._targets.copy_(targets)
        self._graph.replay()


if __name__ == "__main__":
    megatron_style.run(__doc__, "graph_step.py", Iterations, add_arguments)
