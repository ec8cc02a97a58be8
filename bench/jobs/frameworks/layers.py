"""A model of plain kernels for the jobs of this folder: so much GPU time per layer, and values that can be followed.

Used by every script here, in every rank. A layer multiplies its input by its weight, element by element, some times;
the backward pass has three times as many kernels. Kernels that multiply, add, copy and fill have an effect on simulated
GPUs (sim/aten), so a loss depends on every weight and message before it.
"""
from __future__ import annotations

import argparse
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


class Layer(nn.Module):
    def __init__(self, number: int, kernels: int, device: torch.device):
        super().__init__()
        generator = torch.Generator().manual_seed(number)
        self._kernels = kernels
        self.weight = nn.Parameter((1 + 0.01 * torch.rand(SIDE, SIDE, generator=generator)).to(device))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.shape[0]
        weight = self.weight if rows == SIDE else self.weight[:rows]  # a slice has kernels of its own
        for _ in range(self._kernels * rows // SIDE):
            x = torch.mul(x, weight)
        return x


def stage(number: int, options: argparse.Namespace, device: torch.device) -> nn.Sequential:
    first = number * options.layers
    return nn.Sequential(*(Layer(layer, options.kernels, device) for layer in range(first, first + options.layers)))


def batch(number: int, options: argparse.Namespace, device: torch.device) -> torch.Tensor:
    """The inputs of all microbatches of an iteration, the same on every rank that asks for this number."""
    generator = torch.Generator().manual_seed(1_000_003 + number)
    return torch.rand(options.microbatches * SIDE, SIDE, generator=generator).to(device)


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
    """A schedule of torch.distributed.pipelining, and the part of it that this rank has."""
    schedule: object
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
        inputs = batch(iteration * copies + rank.number % copies, options, rank.device)
        losses: list[torch.Tensor] = []
        pipeline.schedule.step(*(inputs,) if pipeline.has_first else (), target=inputs if pipeline.has_last else None,
                               losses=losses if pipeline.has_last else None, return_outputs=False)
        optimizer.step()
        found += [each.detach() for each in losses]
    torch.cuda.synchronize()
    write_report(options.report, rank.number, found)
    rank.say(f"done after {options.iterations} iterations")
