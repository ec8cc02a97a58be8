"""A model of plain kernels for the jobs of this folder: so much GPU time per layer, and values that can be followed.

Used by every script here, in every rank. A layer multiplies its input by its weight, element by element, some times;
the backward pass has three times as many kernels. Kernels that multiply, add, copy and fill have an effect on simulated
GPUs (sim/aten), so a loss depends on every weight and message before it.
"""
from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import pathlib

import torch
from torch import nn

SIDE = 128  # of the square weights and activations: 64 KiB each
LEARNING_RATE = 1e-4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--iterations", type=int, default=14)
    parser.add_argument("--kernels", type=int, default=10, help="in a layer's forward pass")
    parser.add_argument("--layers", type=int, default=4, help="in a stage")
    parser.add_argument("--microbatches", type=int, default=6)
    parser.add_argument("--report", type=pathlib.Path, metavar="DIR", help="one file per rank with its losses")


class Offload(torch.autograd.graph.saved_tensors_hooks):
    """Tensors saved for the backward pass go to pinned host memory on a side stream, and come back on it. Weights stay."""

    def __init__(self, device: torch.device):
        super().__init__(self._pack, self._unpack)
        self._side = torch.cuda.Stream(device)

    def _pack(self, saved: torch.Tensor):
        if isinstance(saved, nn.Parameter):
            return saved, None
        self._side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._side):
            host = torch.empty(saved.shape, dtype=saved.dtype, pin_memory=True).copy_(saved, non_blocking=True)
        saved.record_stream(self._side)
        return host, saved.device

    def _unpack(self, packed) -> torch.Tensor:
        kept, device = packed
        if device is None:
            return kept
        with torch.cuda.stream(self._side):
            back = kept.to(device, non_blocking=True)
        torch.cuda.current_stream().wait_stream(self._side)
        back.record_stream(torch.cuda.current_stream())
        return back


class Layer(nn.Module):
    def __init__(self, number: int, kernels: int, device: torch.device, offload: Offload | None = None):
        super().__init__()
        self._offload = offload
        generator = torch.Generator().manual_seed(number)
        self._kernels = kernels
        self.weight = nn.Parameter((1 + 0.01 * torch.rand(SIDE, SIDE, generator=generator)).to(device))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.shape[0]
        weight = self.weight if rows == SIDE else self.weight[:rows]  # a slice has kernels of its own
        for kernel in range(self._kernels * rows // SIDE):
            with self._offload if self._offload is not None and kernel == 0 else contextlib.nullcontext():
                x = torch.mul(x, weight)
        return x


def stage(number: int, options: argparse.Namespace, device: torch.device, offload: Offload | None = None) -> nn.Sequential:
    first = number * options.layers
    return nn.Sequential(*(Layer(layer, options.kernels, device, offload) for layer in range(first, first + options.layers)))


def batch(number: int, microbatches: int, device: torch.device) -> torch.Tensor:
    """The inputs of all microbatches of an iteration, the same on every rank that asks for this number."""
    generator = torch.Generator().manual_seed(1_000_003 + number)
    return torch.rand(microbatches * SIDE, SIDE, generator=generator).to(device)


def loss(output: torch.Tensor, target: torch.Tensor | None = None) -> torch.Tensor:
    """One element: a sum would be a kernel without an effect. No view, which the split backward pass cannot take apart."""
    del target
    return output.view(-1)[0].clone()


def write_report(folder: pathlib.Path | None, rank: int, losses: list[torch.Tensor]) -> None:
    if folder is not None:
        values = [loss.item() for loss in losses]  # only here: a host that reads each loss does not run ahead
        (folder / f"rank{rank}.json").write_text(json.dumps({"losses": values}) + "\n", encoding="utf-8")


@dataclasses.dataclass
class Pipeline:
    """Schedules of torch.distributed.pipelining that take turns, each with its number of microbatches, and the part of the
    pipeline that this rank has."""
    turns: list[tuple[int, object]]
    modules: list[nn.Module]
    has_first: bool
    has_last: bool


def train(rank, options: argparse.Namespace, pipeline: Pipeline, copies: int) -> None:
    """All iterations, then the report. Of `copies` ranks with the same stages each has a batch of its own; `rank` is of
    examples/pytorch/ranks.py."""
    weights = [weight for module in pipeline.modules for weight in module.parameters()]
    optimizer = torch.optim.SGD(weights, lr=LEARNING_RATE, foreach=False)
    found: list[torch.Tensor] = []
    for iteration in range(options.iterations):
        optimizer.zero_grad()
        microbatches, schedule = pipeline.turns[iteration % len(pipeline.turns)]
        inputs = batch(iteration * copies + rank.number % copies, microbatches, rank.device)
        losses: list[torch.Tensor] = []
        schedule.step(*(inputs,) if pipeline.has_first else (), target=inputs if pipeline.has_last else None,
                      losses=losses if pipeline.has_last else None, return_outputs=False)
        optimizer.step()
        found += [each.detach() for each in losses]
    torch.cuda.synchronize()
    write_report(options.report, rank.number, found)
    rank.say(f"done after {options.iterations} iterations")
