"""The model and its data: a decoder-only transformer that learns the characters of a text file, cut into stages.

Used by every script of this folder, in every rank. A layer's first values depend on the seed and on the layer's number
only, so each way to cut the model trains the same model; nothing here may draw from the process's random generator.
"""
import argparse
import dataclasses
import pathlib

import torch
from torch import nn
from torch.nn import functional

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float64": torch.float64}
LICENSE = pathlib.Path(__file__).resolve().parents[2] / "LICENSE"


@dataclasses.dataclass
class Sizes:
    layers: int = 8
    hidden: int = 64
    heads: int = 4
    sequence: int = 32
    batch: int = 2  # sequences in one microbatch
    microbatches: int = 8
    dtype: str = "float32"


PRESETS = {
    "small": Sizes(),
    # Two layers in each of four stages: some milliseconds of tensor-core work for one microbatch, about 13 GB of weights,
    # gradients and optimiser state in all, so that four ranks also fit on one GPU of 80 GB.
    "real": Sizes(layers=8, hidden=4096, heads=32, sequence=1024, batch=4, microbatches=8, dtype="bfloat16"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("model")
    group.add_argument("--size", choices=PRESETS, default="small", help="preset for what follows (default: small)")
    for field in dataclasses.fields(Sizes):
        choices = DTYPES if field.name == "dtype" else None
        group.add_argument(f"--{field.name}", type=field.type, choices=choices, help="default: that of the preset")
    group.add_argument("--seed", type=int, default=1)
    group.add_argument("--text", type=pathlib.Path, default=LICENSE, help="file whose characters are learned")


def sizes_of(options: argparse.Namespace) -> Sizes:
    given = {field.name: getattr(options, field.name) for field in dataclasses.fields(Sizes)}
    return dataclasses.replace(PRESETS[options.size], **{name: value for name, value in given.items() if value is not None})


class Text:
    """Random pieces of a file. Every rank draws the same ones, so no rank has to send them to another."""

    def __init__(self, path: pathlib.Path, sizes: Sizes, seed: int):
        content = path.read_bytes()
        self.alphabet = sorted(set(content))
        numbers = {character: number for number, character in enumerate(self.alphabet)}
        self._characters = torch.tensor([numbers[character] for character in content])
        self._sizes, self._seed = sizes, seed
        if len(content) <= sizes.sequence:
            raise SystemExit(f"{path} is too short for sequences of {sizes.sequence} characters")

    def batch(self, iteration: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        """All microbatches of an iteration: characters, and for each the one that follows it."""
        generator = torch.Generator().manual_seed(self._seed * 1_000_003 + iteration)
        length, count = self._sizes.sequence, self._sizes.batch * self._sizes.microbatches
        starts = torch.randint(len(self._characters) - length, (count, 1), generator=generator)
        places = starts + torch.arange(length)
        return self._characters[places].to(device), self._characters[places + 1].to(device)


class Block(nn.Module):
    def __init__(self, sizes: Sizes):
        super().__init__()
        self._heads = sizes.heads
        self.norm_attention = nn.LayerNorm(sizes.hidden)
        self.attention_in = nn.Linear(sizes.hidden, 3 * sizes.hidden)
        self.attention_out = nn.Linear(sizes.hidden, sizes.hidden)
        self.norm_feed = nn.LayerNorm(sizes.hidden)
        self.feed_in = nn.Linear(sizes.hidden, 4 * sizes.hidden)
        self.feed_out = nn.Linear(4 * sizes.hidden, sizes.hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, sequence, hidden = x.shape
        heads = self.attention_in(self.norm_attention(x)).view(batch, sequence, 3, self._heads, hidden // self._heads)
        query, key, value = (part.transpose(1, 2) for part in heads.unbind(2))
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.attention_out(mixed.transpose(1, 2).reshape(batch, sequence, hidden))
        return x + self.feed_out(functional.gelu(self.feed_in(self.norm_feed(x))))


class Embedding(nn.Module):
    def __init__(self, sizes: Sizes, alphabet: int):
        super().__init__()
        self.characters = nn.Embedding(alphabet, sizes.hidden)
        self.places = nn.Embedding(sizes.sequence, sizes.hidden)

    def forward(self, characters: torch.Tensor) -> torch.Tensor:
        return self.characters(characters) + self.places.weight


class Head(nn.Module):
    def __init__(self, sizes: Sizes, alphabet: int):
        super().__init__()
        self.norm = nn.LayerNorm(sizes.hidden)
        self.scores = nn.Linear(sizes.hidden, alphabet)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.scores(self.norm(x))


def build_stage(index: int, count: int, sizes: Sizes, alphabet: int, seed: int, device: torch.device) -> nn.Module:
    """Stage `index` of `count`: its share of the layers, with the embedding in the first and the head in the last."""
    if count > sizes.layers:
        raise SystemExit(f"{sizes.layers} layers cannot be cut into {count} stages")

    def seeded(number: int, make) -> nn.Module:
        with torch.random.fork_rng(devices=[]), device:
            torch.manual_seed(seed * 1_000_003 + number)
            return make().to(DTYPES[sizes.dtype])

    parts = [seeded(0, lambda: Embedding(sizes, alphabet))] if index == 0 else []
    for layer in range(sizes.layers):
        if layer * count // sizes.layers == index:
            parts.append(seeded(1 + layer, lambda: Block(sizes)))
    if index == count - 1:
        parts.append(seeded(1 + sizes.layers, lambda: Head(sizes, alphabet)))
    return nn.Sequential(*parts)


def loss(scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Mean over the characters of one microbatch; never computed in less than single precision."""
    scores = scores.flatten(0, 1)
    return functional.cross_entropy(scores if scores.dtype == torch.float64 else scores.float(), targets.flatten())
