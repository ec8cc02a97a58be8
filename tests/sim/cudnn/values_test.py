#!/usr/bin/env python3
"""PyTorch's operations of cuDNN on the simulated GPU: values against those of the CPU, and operations without values run.

Called by CTest, through scripts/on-simulated-gpu --pytorch. Gradients are asked for with given ones of the results: PyTorch's
own sums and copies write nothing for most types and shapes.
"""
import subprocess
import sys
import unittest

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


def random(*shape: int) -> torch.Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(len(shape) + sum(shape)))


def last(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(memory_format=torch.channels_last)


class Values(unittest.TestCase):
    def same(self, operation, *operands: torch.Tensor) -> None:
        """The result and the gradients of all operands. Sums are made in another order."""
        gradient = None
        found = []
        for device in "cpu", "cuda":
            there = [operand.to(device).requires_grad_() for operand in operands]
            result = operation(*there)
            if gradient is None:
                gradient = torch.empty_like(result).copy_(random(*result.shape))
            gradients = torch.autograd.grad(result, there, gradient.to(device))
            found.append([tensor.detach().cpu() for tensor in (result, *gradients)])
        for one, other in zip(*found):
            torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-4)

    def test_convolutions(self):
        self.same(F.conv2d, random(2, 3, 16, 16), random(8, 3, 3, 3))
        self.same(lambda x, w: F.conv2d(x, w, stride=2, padding=1, dilation=2), random(2, 3, 17, 15), random(8, 3, 3, 3))
        self.same(lambda x, w: F.conv2d(x, w, padding=2, groups=2), random(2, 4, 9, 9), random(6, 2, 5, 3))
        self.same(lambda x, w: F.conv1d(x, w, padding=1), random(2, 3, 16), random(8, 3, 3))
        self.same(lambda x, w: F.conv3d(x, w, padding=1, stride=2), random(2, 3, 8, 7, 6), random(4, 3, 3, 2, 3))
        self.same(F.conv2d, last(random(2, 3, 16, 16)), last(random(8, 3, 3, 3)))
        self.same(lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1), random(2, 3, 8, 8), random(3, 4, 3, 3))

    def test_the_search_for_the_fastest_plan(self):
        with torch.backends.cudnn.flags(enabled=True, benchmark=True):
            self.same(F.conv2d, random(3, 3, 16, 16), random(8, 3, 3, 3))

    def test_batch_normalisation(self):
        def normalise(x, scale, bias):
            return F.batch_norm(x, None, None, scale, bias, training=True)
        self.same(normalise, random(4, 3, 5, 6), random(3), random(3) + 1)
        self.same(normalise, last(random(4, 3, 5, 6)), random(3), random(3) + 1)
        self.same(normalise, random(4, 3, 2, 5, 6), random(3), random(3) + 1)

    def test_running_mean_and_variance(self):
        found = []
        for device in "cpu", "cuda":
            layer = torch.nn.BatchNorm2d(3).to(device)
            layer(random(4, 3, 5, 6).to(device))
            layer.eval()
            result = layer(random(2, 3, 5, 6).to(device))
            found.append([tensor.detach().cpu() for tensor in (result, layer.running_mean, layer.running_var)])
        for one, other in zip(*found):
            torch.testing.assert_close(other, one)

    def test_a_captured_convolution_is_replayed(self):
        x, w = random(2, 3, 8, 8), random(4, 3, 3, 3)
        on_gpu, weight = x.cuda(), w.cuda()
        F.conv2d(on_gpu, weight)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = F.conv2d(on_gpu, weight)
        on_gpu.copy_(2 * x)
        graph.replay()
        torch.testing.assert_close(result.cpu(), F.conv2d(2 * x, w), rtol=1e-4, atol=1e-4)


class Runs(unittest.TestCase):
    def test_other_types(self):
        for dtype in torch.bfloat16, torch.float16, torch.float64:
            x, w = random(2, 3, 8, 8).to("cuda", dtype).requires_grad_(), random(4, 3, 3, 3).to("cuda", dtype)
            F.conv2d(x, w).sum().backward()
            layer = torch.nn.BatchNorm2d(3).cuda()
            if dtype != torch.float64:
                layer(x).sum().backward()
        torch.cuda.synchronize()

    def test_fused_convolution(self):
        result = torch.cudnn_convolution_relu(random(2, 3, 8, 8).cuda(), random(4, 3, 3, 3).cuda(), random(4).cuda(), (1, 1), (0, 0),
                                              (1, 1), 1)
        torch.cuda.synchronize()
        self.assertEqual(result.shape, (2, 4, 6, 6))

    def test_attention(self):
        for dtype in torch.bfloat16, torch.float16:
            for causal in False, True:
                operands = [random(2, 4, 64, 64).to("cuda", dtype).requires_grad_() for _ in range(3)]
                with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                    F.scaled_dot_product_attention(*operands, is_causal=causal).sum().backward()
                torch.cuda.synchronize()
                self.assertEqual(operands[0].grad.shape, operands[0].shape)

    def test_a_larger_convolution_takes_longer(self):
        def seconds(channels: int) -> float:
            x, w = torch.empty(4, channels, 32, 32, device="cuda"), torch.empty(channels, channels, 3, 3, device="cuda")
            F.conv2d(x, w)
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            F.conv2d(x, w)
            end.record()
            end.synchronize()
            return begin.elapsed_time(end) / 1000
        # 2 * 4 * 30 * 30 * 16 * 16 * 9 operations at 1.5e9 each second, and more where the device is not full.
        self.assertGreater(seconds(16), 0.8 * 2 * 4 * 900 * 16 * 16 * 9 / 1.5e9)

    def test_what_is_refused_is_said_and_runs_without(self):
        program = ("import torch\n"
                   "layer, x = torch.nn.LSTM(4, 4), torch.rand(3, 2, 4).cuda()\n"
                   "try: layer.cuda()(x)\n"
                   "except RuntimeError as error: print(error)\n"
                   "torch.backends.cudnn.enabled = False\n"
                   "print(layer.cuda()(x)[0].shape)\n")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=True)
        self.assertIn("CUDNN_STATUS_NOT_SUPPORTED", done.stdout)
        self.assertIn("torch.Size([3, 2, 4])", done.stdout)
        self.assertIn("simulated cuDNN: cudnnCreateDropoutDescriptor is not simulated", done.stderr)


if __name__ == "__main__":
    unittest.main()
