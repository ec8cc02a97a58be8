#!/usr/bin/env python3
"""The kernels of PyTorch that sim/aten knows: each operation on the simulated GPU against the same one on the CPU.

Called by CTest, through scripts/on-simulated-gpu --pytorch. A kernel that PyTorch calls by another name writes nothing, and
its case fails.
"""
import unittest

import torch

GPU = torch.device("cuda")


def random(*shape: int) -> torch.Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(len(shape) + sum(shape)))


class Values(unittest.TestCase):
    def same(self, operation, *operands: torch.Tensor) -> None:
        """Bit by bit: none of them adds up in another order."""
        expected = operation(*operands)
        found = operation(*(operand.to(GPU) for operand in operands))
        for one, other in zip(*((values,) if torch.is_tensor(values) else values for values in (expected, found))):
            self.assertTrue(torch.equal(one, other.cpu()), (one, other.cpu()))

    def test_products_and_sums(self):
        self.same(torch.mul, random(64, 32), random(64, 32) + 1)
        self.same(torch.add, random(1000), random(1000) + 1)
        self.same(lambda x, y: torch.add(x, y, alpha=-0.5), random(256), random(256) + 2)
        self.same(lambda x: x * 3, random(512))
        self.same(lambda x: 0.25 * x, random(512))
        self.same(lambda x: x + 2.5, random(512))

    def test_whole_numbers(self):
        self.same(lambda x: x + 3, torch.arange(64, dtype=torch.int32))
        self.same(lambda x: x + 3, torch.arange(64))
        self.same(torch.sum, torch.tensor([7]))
        self.same(torch.sum, torch.arange(100))

    def test_fills(self):
        self.same(lambda x: torch.full_like(x, 1.5), random(300))
        self.same(torch.zeros_like, random(300))

    def test_concatenation(self):
        self.same(lambda *tensors: torch.cat(tensors), random(4096), random(512), random(1024))
        self.same(lambda *tensors: torch.cat(tensors), random(64, 32), random(128, 32))

    def test_lists_are_copied(self):
        def copy(*tensors: torch.Tensor) -> list[torch.Tensor]:
            results = [torch.empty_like(tensor) for tensor in tensors]
            torch._foreach_copy_(results, tensors)
            return results
        self.same(copy, random(70000), random(3), random(128, 128))

    def test_unpacking_of_what_was_gathered(self):
        def unpack(gathered: torch.Tensor) -> list[torch.Tensor]:
            pieces = [torch.empty(3, size, device=gathered.device) for size in (64, 128, 32)]
            torch.split_with_sizes_copy(gathered.view(3, -1), [64, 128, 32], dim=1, out=pieces)
            return pieces
        self.same(unpack, random(3 * 224))

    def test_packing_of_what_is_scattered(self):
        # Five rows for two ranks: the second piece is filled up with a row of zeros.
        self.same(lambda *tensors: torch._chunk_cat(tensors, dim=0, num_chunks=2), random(4, 64), random(5, 32))


if __name__ == "__main__":
    unittest.main()
