#!/usr/bin/env python3
"""A convolutional net in two pipeline stages, one process per stage: convolutions and batch normalisation of cuDNN, sends
and receives of NCCL, microbatches one after the other (GPipe), an all-reduce per iteration.

Started by torchrun: convolution_stages.py [ITERATIONS]. Each stage says how large its weights are at the end. All that
decides them has an effect on the simulated GPU, so they are those of the CPU: with "cpu" as a second argument both stages
run in this process, without NCCL.
"""
import os
import sys

import torch
import torch.distributed as dist

MICROBATCHES, BATCH, CHANNELS, SIDE = 4, 2, 8, 16
RATE = -1e-3


def stage(number: int, device: str) -> torch.nn.Sequential:
    """The second stage has twice the work of the first."""
    torch.manual_seed(number)
    layers = []
    for _ in range(2 + 2 * number):
        layers += [torch.nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, bias=False), torch.nn.BatchNorm2d(CHANNELS)]
    return torch.nn.Sequential(*layers).to(device)


def inputs(iteration: int, device: str, seed: int = 0) -> list[torch.Tensor]:
    """Of the first stage; with the seed 1 the gradients of the last stage's results."""
    generator = torch.Generator().manual_seed(2 * iteration + seed)
    return [torch.rand(BATCH, CHANNELS, SIDE, SIDE, generator=generator).to(device) for _ in range(MICROBATCHES)]


def step(module: torch.nn.Module, gradients: list[list[torch.Tensor]]) -> None:
    """Plain descent; the sums have an effect on the simulated GPU."""
    with torch.no_grad():
        for one in gradients:
            for weight, gradient in zip(module.parameters(), one):
                weight.add_(gradient, alpha=RATE / MICROBATCHES)


def backward(result: torch.Tensor, operand: torch.Tensor, module: torch.nn.Module, gradient: torch.Tensor):
    """Of the operand, and of the weights."""
    found = torch.autograd.grad(result, [operand, *module.parameters()], gradient)
    return found[0], found[1:]


def say(rank: int, module: torch.nn.Module) -> None:
    size = sum(float(weight.detach().cpu().double().abs().sum()) for weight in module.parameters())
    print(f"stage {rank}: {size!r}", flush=True)


def on_the_cpu(iterations: int) -> None:
    first, second = stage(0, "cpu"), stage(1, "cpu")
    for iteration in range(iterations):
        sums = [[], []]
        for x, gradient in zip(inputs(iteration, "cpu"), inputs(iteration, "cpu", 1)):
            middle = first(x.requires_grad_())
            received = middle.detach().requires_grad_()
            result = second(received)
            gradient, of_second = backward(result, received, second, gradient)
            _, of_first = backward(middle, x, first, gradient)
            sums[0].append(of_first)
            sums[1].append(of_second)
        step(first, sums[0])
        step(second, sums[1])
    say(0, first)
    say(1, second)


def on_the_gpu(rank: int, iterations: int) -> None:
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    module, total = stage(rank, "cuda"), torch.zeros(CHANNELS, device="cuda")
    for iteration in range(iterations):
        operands, gradients, results, sums = inputs(iteration, "cuda"), inputs(iteration, "cuda", 1), [], []
        for i in range(MICROBATCHES):
            if rank == 1:
                operands[i] = torch.empty(BATCH, CHANNELS, SIDE, SIDE, device="cuda")
                dist.recv(operands[i], 0)
            results.append(module(operands[i].requires_grad_()))
            if rank == 0:
                dist.send(results[i].detach(), 1)
        for i in range(MICROBATCHES):
            if rank == 0:
                gradients[i] = torch.empty_like(gradients[i])
                dist.recv(gradients[i], 1)
            gradient, of_weights = backward(results[i], operands[i], module, gradients[i])
            sums.append(of_weights)
            if rank == 1:
                dist.send(gradient, 0)
        step(module, sums)
        dist.all_reduce(total)
    torch.cuda.synchronize()
    say(rank, module)
    dist.destroy_process_group()


def main() -> None:
    iterations = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    if sys.argv[2:] == ["cpu"]:
        on_the_cpu(iterations)
    else:
        on_the_gpu(int(os.environ["RANK"]), iterations)


if __name__ == "__main__":
    main()
