#!/usr/bin/env python3
"""A pipeline whose stages are a graph and not a chain: one stage, two branches side by side, and a stage that joins.

    python3 branches.py --launch 4

Started by job_table.py. Ranks 1 and 2 are the branches. Rank 2 takes two microbatches at a time (GraphPipe's unequal
microbatches), so rank 3 joins pairs. All forwards come before all backwards, and a sum over all ranks ends an iteration.
"""
import argparse
import pathlib
import sys

import torch
import torch.distributed as dist

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "examples/pytorch"))
import layers  # noqa: E402
import ranks  # noqa: E402

FIRST, SINGLE, PAIRED, JOIN = range(4)
PAIR = 2  # microbatches


class Messages:
    """Each is a batch of one operation. The compute stream waits for receives, and at an iteration's end for sends."""

    def __init__(self, device: torch.device):
        self._device = device
        self._pending: list[dist.Work] = []

    def receive(self, peer: int, count: int = 1) -> torch.Tensor:
        tensor = torch.empty(count * layers.SIDE, layers.SIDE, device=self._device, requires_grad=True)
        for request in dist.batch_isend_irecv([dist.P2POp(dist.irecv, tensor.detach(), peer)]):
            request.wait()
        return tensor

    def send(self, tensor: torch.Tensor, peer: int) -> None:
        self._pending += dist.batch_isend_irecv([dist.P2POp(dist.isend, tensor.detach(), peer)])

    def finish(self) -> None:
        for request in self._pending:
            request.wait()
        self._pending = []


def together(tensors: list[torch.Tensor]) -> torch.Tensor:
    """One below the other, by plain copies."""
    if len(tensors) == 1:
        return tensors[0]
    all_of_them = torch.empty(len(tensors) * layers.SIDE, layers.SIDE, device=tensors[0].device)
    for part, tensor in zip(all_of_them.chunk(len(tensors)), tensors):
        part.copy_(tensor.detach())
    return all_of_them


def halves_of(message: torch.Tensor) -> list[torch.Tensor]:
    """The microbatches of a message, each with a gradient of its own."""
    return [half.detach().requires_grad_() for half in message.chunk(message.shape[0] // layers.SIDE)]


def first(stage, messages: Messages, inputs: torch.Tensor) -> list[torch.Tensor]:
    outputs: list[torch.Tensor] = []
    for part in inputs.chunk(inputs.shape[0] // layers.SIDE):
        outputs.append(stage(part))
        messages.send(outputs[-1], SINGLE)
        if len(outputs) % PAIR == 0:
            messages.send(together(outputs[-PAIR:]), PAIRED)
    for start in range(0, len(outputs), PAIR):
        gradients = [messages.receive(SINGLE) for _ in range(PAIR)]
        halves = halves_of(messages.receive(PAIRED, PAIR))
        for output, one, other in zip(outputs[start:start + PAIR], gradients, halves):
            output.backward(one.detach() + other.detach())
    return []


def branch(stage, messages: Messages, microbatches: int, at_once: int) -> list[torch.Tensor]:
    passes = []
    for _ in range(microbatches // at_once):
        received = halves_of(messages.receive(FIRST, at_once))
        results = [stage(half) for half in received]
        messages.send(together(results), JOIN)
        passes.append((received, results))
    for received, results in passes:
        torch.autograd.backward(results, halves_of(messages.receive(JOIN, at_once)))
        messages.send(together([half.grad for half in received]), FIRST)
    return []


def join(stage, messages: Messages, microbatches: int) -> list[torch.Tensor]:
    passes = []
    for _ in range(microbatches // PAIR):
        singles = [messages.receive(SINGLE) for _ in range(PAIR)]
        pairs = halves_of(messages.receive(PAIRED, PAIR))
        passes.append((singles, pairs, [layers.loss(stage(one * other)) for one, other in zip(singles, pairs)]))
    for singles, pairs, losses in passes:
        for single, loss in zip(singles, losses):
            loss.backward()
            messages.send(single.grad, SINGLE)
        messages.send(together([pair.grad for pair in pairs]), PAIRED)
    return [loss.detach() for _, _, losses in passes for loss in losses]


def iterate(rank: ranks.Rank, stage, messages: Messages, inputs: torch.Tensor, microbatches: int) -> list[torch.Tensor]:
    """The losses, on the stage that joins."""
    if rank.number == FIRST:
        losses = first(stage, messages, inputs)
    elif rank.number == JOIN:
        losses = join(stage, messages, microbatches)
    else:
        losses = branch(stage, messages, microbatches, PAIR if rank.number == PAIRED else 1)
    messages.finish()
    return losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for add in (layers.add_arguments, ranks.add_arguments):
        add(parser)
    options = parser.parse_args()
    with ranks.start(options) as rank:
        if rank.count != 4 or options.microbatches % PAIR:
            raise SystemExit("branches.py is for four ranks and an even number of microbatches")
        stage, messages = layers.stage(rank.number, options, rank.device), Messages(rank.device)
        optimizer = torch.optim.SGD(stage.parameters(), lr=layers.LEARNING_RATE, foreach=False)
        end = torch.ones(1, device=rank.device)  # stands for a norm over all gradients
        found: list[torch.Tensor] = []
        for iteration in range(options.iterations):
            optimizer.zero_grad()
            found += iterate(rank, stage, messages, layers.batch(iteration, options.microbatches, rank.device), options.microbatches)
            dist.all_reduce(end)
            optimizer.step()
        torch.cuda.synchronize()
        layers.write_report(options.report, rank.number, found)
        rank.say(f"done after {options.iterations} iterations")


if __name__ == "__main__":
    main()
