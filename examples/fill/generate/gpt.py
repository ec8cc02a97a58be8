"""A GPT-2 in NumPy, in double precision, from its definition: to check what the decoding job and the trainer compute."""
import json
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import files
from files import numpy


def metadata(path):
    """As the trainer writes it: heads, and the characters by number."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        return json.loads(file.read(size)).get("__metadata__", {})


class Gpt:
    def __init__(self, weights, heads, prefix=""):
        self.w = {name[len(prefix):]: array.astype("f8") for name, array in weights.items() if name.startswith(prefix)}
        self.heads = heads
        self.layers = sum(name.startswith("h.") and name.endswith(".ln_1.weight") for name in self.w)
        self.positions = len(self.w["wpe.weight"])

    def normalised(self, x, name):
        spread = numpy.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
        return (x - x.mean(axis=1, keepdims=True)) / spread * self.w[name + ".weight"] + self.w[name + ".bias"]

    def product(self, x, name):
        return x @ self.w[name + ".weight"] + self.w[name + ".bias"]

    def attention(self, x, name):
        parts = numpy.split(self.product(x, name + ".c_attn"), 3, axis=1)
        query, key, value = (part.reshape(len(x), self.heads, -1).swapaxes(0, 1) for part in parts)
        scores = query @ key.swapaxes(1, 2) / numpy.sqrt(query.shape[2])
        scores[:, numpy.triu(numpy.ones((len(x), len(x)), bool), 1)] = -numpy.inf
        powers = numpy.exp(scores - scores.max(axis=2, keepdims=True))
        mixed = powers / powers.sum(axis=2, keepdims=True) @ value
        return self.product(mixed.swapaxes(0, 1).reshape(len(x), -1), name + ".c_proj")

    def logits(self, tokens):
        """For each place of the text, of what comes behind it."""
        x = self.w["wte.weight"][tokens] + self.w["wpe.weight"][:len(tokens)]
        for layer in range(self.layers):
            x = x + self.attention(self.normalised(x, f"h.{layer}.ln_1"), f"h.{layer}.attn")
            inner = self.product(self.normalised(x, f"h.{layer}.ln_2"), f"h.{layer}.mlp.c_fc")
            inner = 0.5 * inner * (1 + numpy.tanh(numpy.sqrt(2 / numpy.pi) * (inner + 0.044715 * inner**3)))
            x = x + self.product(inner, f"h.{layer}.mlp.c_proj")
        return self.normalised(x, "ln_f") @ self.w.get("lm_head.weight", self.w["wte.weight"]).T

    def loss(self, tokens):
        """Of each next token in the text, on average."""
        logits = self.logits(tokens[:-1])
        largest = logits.max(axis=1, keepdims=True)
        normaliser = largest[:, 0] + numpy.log(numpy.exp(logits - largest).sum(axis=1))
        return float((normaliser - logits[numpy.arange(len(logits)), tokens[1:]]).mean())
