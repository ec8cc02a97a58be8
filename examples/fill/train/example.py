#!/usr/bin/env python3
"""Images for the training job, and an independent check of its losses and weights, with NumPy.

  example.py make FOLDER [IMAGES]              data.safetensors, and job.toml for weft run --fill @FOLDER/job.toml
  example.py check FOLDER [STEPS]              exit code 1 where what is in FOLDER/progress is not of such a training
  example.py losses PROGRESS                   of a progress file (WEFT_CHECKPOINT), one a line: their bits, and as text
  example.py weights PROGRESS OUT.safetensors  its weights

The check trains in double precision, from the definition of the layers, and compares the first STEPS (100) losses, and
the weights of files that have no more. A file has the newest losses only: those before them cannot be compared. Losses
have to be the same bits in all files of one training as far as both have them, all numbers finite, and where there are
the first ones of 100 steps or more the loss has to have fallen.
"""
import glob
import json
import os
import re
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import files
from files import numpy

CLASSES, SIZE = 6, 12
MOST_LOSSES = 1 << 20  # of a file
TOLERANCE = 1e-4  # of a loss: the job computes in single precision, and each step goes on with the errors of the last
JOB = """[[job]]
fill = "train:parts=3"  # short kernels for small bubbles
weights = "data.safetensors"
"""
WORD = (1 << 64) - 1


def make(folder, count):
    """Gratings of six directions, of any phase and wave length, with noise."""
    os.makedirs(folder, exist_ok=True)
    numbers = numpy.random.RandomState(1)
    labels = numbers.randint(CLASSES, size=count).astype("u1")
    row, column = numpy.mgrid[:SIZE, :SIZE]
    images = numpy.empty((count, SIZE, SIZE, 1), "u1")
    for image, label in zip(images, labels):
        angle, length, phase = numpy.pi * label / CLASSES, numbers.uniform(3, 5), numbers.uniform(0, 2 * numpy.pi)
        wave = numpy.sin((row * numpy.sin(angle) + column * numpy.cos(angle)) * 2 * numpy.pi / length + phase)
        image[:, :, 0] = numpy.clip(128 + 90 * wave + numbers.normal(0, 20, wave.shape), 0, 255)
    files.write_safetensors(folder + "/data.safetensors", {"images": images, "labels": labels})
    with open(folder + "/job.toml", "w") as out:
        out.write(JOB)


def mixed(x):
    x = (x + 0x9E3779B97F4A7C15) & WORD
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & WORD
    return x ^ (x >> 31)


def permuted(place, count, key):
    half = 1
    while half < 16 and 1 << (2 * half) < count:
        half += 1
    mask = (1 << half) - 1
    while True:
        left, right = place >> half, place & mask
        for turn in range(4):
            left, right = right, left ^ (mixed(key ^ (turn << 32 | right)) & mask)
        place = left << half | right
        if place < count:
            return place


def batch_of(step, size, count, seed):
    for place in range(step * size, (step + 1) * size):
        yield permuted(place % count, count, mixed((mixed(seed) + place // count) & WORD))


def shapes(a, colours, classes):
    channels = a["channels"]
    yield "stem.weight", (3, 3, colours, channels)
    yield "stem.norm.weight", (channels,)
    yield "stem.norm.bias", (channels,)
    for block in range(a["blocks"]):
        yield f"blocks.{block}.conv1.weight", (3, 3, channels, channels)
        yield f"blocks.{block}.norm.weight", (channels,)
        yield f"blocks.{block}.norm.bias", (channels,)
        yield f"blocks.{block}.conv2.weight", (3, 3, channels, channels)
    yield "head.weight", (classes, channels)
    yield "head.bias", (classes,)


def initial(a, colours, classes):
    weights, number, key = {}, 0, mixed(a["seed"] ^ WORD)
    for name, shape in shapes(a, colours, classes):
        count = int(numpy.prod(shape))
        if len(shape) == 1:
            weights[name] = numpy.full(shape, float(name.endswith("norm.weight")))
        else:
            fractions = numpy.array([mixed((key + number + i) & WORD) >> 40 for i in range(count)]) / 2.0 ** 24
            inputs = count // shape[-1 if len(shape) == 4 else 0]
            values = (2 * fractions - 1) * numpy.sqrt(6 / inputs)
            weights[name] = values.astype("f4").astype("f8").reshape(shape)
        number += count
    return weights


def neighbours(x, stride):
    """For each pixel of the result the nine pixels around it: [image, row, column, 3, 3, channel]."""
    padded = numpy.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    rows, columns = -(-x.shape[1] // stride), -(-x.shape[2] // stride)

    def moved(i, j):
        return padded[:, i:i + (rows - 1) * stride + 1:stride, j:j + (columns - 1) * stride + 1:stride]

    return numpy.stack([numpy.stack([moved(i, j) for j in range(3)], axis=3) for i in range(3)], axis=3)


def convolved(x, w, stride=1):
    return numpy.tensordot(neighbours(x, stride), w, axes=3)


def convolution_gradients(x, w, gradient, stride=1):
    """Of the weights, and of the input where there is no stride."""
    of_weights = numpy.tensordot(neighbours(x, stride), gradient, axes=((0, 1, 2), (0, 1, 2)))
    return of_weights, None if stride > 1 else convolved(gradient, w[::-1, ::-1].swapaxes(2, 3))


def normalised(x, w, name):
    scale = 1 / numpy.sqrt(x.var(axis=3, keepdims=True) + 1e-5)
    hat = (x - x.mean(axis=3, keepdims=True)) * scale
    return numpy.maximum(hat * w[name + ".weight"] + w[name + ".bias"], 0), hat, scale


def normalisation_gradients(hat, scale, gradient, w, name, gradients):
    gradients[name + ".weight"] = (gradient * hat).sum(axis=(0, 1, 2))
    gradients[name + ".bias"] = gradient.sum(axis=(0, 1, 2))
    inner = gradient * w[name + ".weight"]
    return scale * (inner - inner.mean(axis=3, keepdims=True) - hat * (inner * hat).mean(axis=3, keepdims=True))


def loss_and_gradients(x, labels, w, blocks):
    y, hat, scale = normalised(convolved(x, w["stem.weight"], 2), w, "stem.norm")
    inputs, insides = [y], [(None, hat, scale)]
    for block in range(blocks):
        name = f"blocks.{block}."
        insides.append(normalised(convolved(inputs[-1], w[name + "conv1.weight"]), w, name + "norm"))
        inputs.append(numpy.maximum(inputs[-1] + convolved(insides[-1][0], w[name + "conv2.weight"]), 0))
    means = inputs[-1].mean(axis=(1, 2))
    scores = means @ w["head.weight"].T + w["head.bias"]
    scores = scores - scores.max(axis=1, keepdims=True)
    logarithms = scores - numpy.log(numpy.exp(scores).sum(axis=1, keepdims=True))
    loss = -logarithms[numpy.arange(len(x)), labels].mean()
    of_scores = (numpy.exp(logarithms) - numpy.eye(scores.shape[1])[labels]) / len(x)
    gradients = {"head.weight": of_scores.T @ means, "head.bias": of_scores.sum(axis=0)}
    gradient = (of_scores @ w["head.weight"])[:, None, None, :] / (y.shape[1] * y.shape[2]) * (inputs[-1] > 0)
    for block in reversed(range(blocks)):
        name, (inside, hat, scale) = f"blocks.{block}.", insides[block + 1]
        gradients[name + "conv2.weight"], inner = convolution_gradients(inside, w[name + "conv2.weight"], gradient)
        inner = normalisation_gradients(hat, scale, inner * (inside > 0), w, name + "norm", gradients)
        gradients[name + "conv1.weight"], inner = convolution_gradients(inputs[block], w[name + "conv1.weight"], inner)
        gradient = (gradient + inner) * (inputs[block] > 0)
    inner = normalisation_gradients(insides[0][1], insides[0][2], gradient, w, "stem.norm", gradients)
    gradients["stem.weight"], _ = convolution_gradients(x, w["stem.weight"], inner, 2)
    return loss, gradients


def train(data, training, steps):
    """The losses of the first steps, and the weights after each."""
    a = {name: int(value) for name, value in re.findall(r"([a-z]+)=(\d+)(?=,)", training)}
    images, labels = data["images"], data["labels"]
    w = initial(a, images.shape[3], int(labels.max()) + 1)
    momenta = {name: numpy.zeros_like(array) for name, array in w.items()}
    trained = []
    for step in range(steps):
        chosen = list(batch_of(step, a["batch"], len(images), a["seed"]))
        loss, gradients = loss_and_gradients((images[chosen] - 128.0) / 128, labels[chosen], w, a["blocks"])
        momenta = {name: a["momentum"] / 100 * momenta[name] + gradients[name] for name in w}
        w = {name: w[name] - a["rate"] / 10000 * momenta[name] for name in w}
        trained.append((loss, w))
    return trained


def read_progress(path):
    """The tensors of a progress file, and the arguments of its training."""
    with open(path, "rb") as file:
        first, content = file.read().split(b"\n", 1)
    found = re.fullmatch(rb"weft-progress 1 (\d+) train", first)
    if not found or int(found[1]) != len(content):
        sys.exit(f"{path} is not the progress of the job train")
    header = json.loads(content[8:8 + struct.unpack("<Q", content[:8])[0]])
    return files.parse_safetensors(content), header["__metadata__"]["training"]


class Training:
    """All files of one training."""

    def __init__(self, data, name, steps):
        self.trained = train(data, name, steps)
        self.first, self.steps, self.losses = 0, 0, numpy.zeros(0, "<f4")  # of the file with most steps so far
        self.compared = 0  # losses

    def wrong_with(self, tensors):
        """Why a file is wrong; None: it is right."""
        for name, array in tensors.items():
            if not numpy.isfinite(array).all():
                return f"{name} is not finite"
        losses, steps = tensors["losses"], int(tensors["steps"])
        first = steps - len(losses)  # the step of the first loss that is there
        if len(losses) != min(steps, MOST_LOSSES):
            return f"{len(losses)} losses of {steps} steps"
        for step, (loss, (wanted, _)) in enumerate(zip(losses, self.trained[first:]), first):
            if not abs(loss - wanted) <= TOLERANCE * max(wanted, 1):
                return f"the loss of step {step} is {loss} and should be {wanted}"
        if 0 < steps <= len(self.trained):
            for name, wanted in self.trained[steps - 1][1].items():
                if not abs(tensors[name] - wanted).max() <= TOLERANCE:
                    return f"{name} is {abs(tensors[name] - wanted).max()} apart after {steps} steps"
        if first == 0 and steps >= 100 and not losses[-20:].mean() < 0.9 * losses[:20].mean():
            return f"the loss was {losses[:20].mean()}, and is {losses[-20:].mean()}"
        for step in range(max(first, self.first), min(steps, self.steps)):
            if losses[step - first].tobytes() != self.losses[step - self.first].tobytes():
                return f"step {step} is not the same bits as in another file"
        if steps > self.steps:
            self.first, self.steps, self.losses = first, steps, losses
        self.compared = max(self.compared, min(steps, len(self.trained)) - first)
        return None


def check(folder, steps):
    paths = sorted(glob.glob(folder + "/progress/*.progress"))
    if not paths:
        return "there is no progress yet"
    data, trainings, counts = files.read_safetensors(folder + "/data.safetensors"), {}, []
    for path in paths:
        tensors, name = read_progress(path)
        if name not in trainings:
            trainings[name] = Training(data, name, steps)
        wrong = trainings[name].wrong_with(tensors)
        if wrong:
            return f"{path}: {wrong}"
        counts.append(int(tensors["steps"]))
    if not any(counts):
        return "there are no losses yet"
    losses = max(trainings.values(), key=lambda training: training.steps).losses
    compared = max(training.compared for training in trainings.values())
    print(f"{len(paths)} files have {', '.join(map(str, counts))} steps, {compared} of the losses checked; "
          f"the loss went from {losses[:20].mean():.3f} to {losses[-20:].mean():.3f}")
    return None


def main(arguments):
    if len(arguments) in (2, 3) and arguments[0] in ("make", "check"):
        number = int(arguments[2]) if len(arguments) == 3 else {"make": 600, "check": 100}[arguments[0]]
        return make(arguments[1], number) if arguments[0] == "make" else check(arguments[1], number)
    if len(arguments) == 2 and arguments[0] == "losses":
        for loss in read_progress(arguments[1])[0]["losses"]:
            print(f"{loss.view('<u4'):08x} {loss}")
        return None
    if len(arguments) == 3 and arguments[0] == "weights":
        tensors = read_progress(arguments[1])[0]
        beside = ("steps", "losses")
        files.write_safetensors(arguments[2], {name: array for name, array in tensors.items()
                                               if name not in beside and not name.startswith("momentum.")})
        return None
    return __doc__


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
