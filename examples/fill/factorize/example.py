#!/usr/bin/env python3
"""A graph with values for the factorizing job, and an independent check of its progress, with NumPy.

  example.py make FOLDER               ratings.txt, and job.toml, which names it
  example.py check FOLDER              exit code 1 where the progress in FOLDER/progress is not that of the same steps
  example.py compare ONE OTHER         exit code 1 where the losses that two files of progress have both are not the same

The check does the same steps in double precision. The values are those of factors of rank 3 with noise: after some
hundred steps the error must be that of the noise.
"""
import glob
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import files
from files import numpy

USERS, ITEMS, RATINGS, RANK, NOISE = 80, 60, 3200, 3, 0.1
FACTORS, SHARE, RATE, DECAY, SEED = 3, 25, 100, 100, 1
STEPS_TO_NOISE = 500
JOB = f"""[[job]]
fill = "factorize:factors={FACTORS},steps=10,minibatch={SHARE},rate={RATE},decay={DECAY},seed={SEED}"
weights = "ratings.txt"
"""


def make(folder):
    os.makedirs(folder, exist_ok=True)
    numbers = random.Random(1)
    vertices = numbers.sample(range(100 * (USERS + ITEMS)), USERS + ITEMS)
    factors = [[numbers.gauss(0, 1) for _ in range(RANK)] for _ in vertices]
    with open(folder + "/ratings.txt", "w") as out:
        out.write("# Ratings of items by users: made up\n# User\tItem\tRating\n")
        for _ in range(RATINGS):
            user, item = numbers.randrange(USERS), USERS + numbers.randrange(ITEMS)
            rating = sum(p * q for p, q in zip(factors[user], factors[item])) + numbers.gauss(0, NOISE)
            out.write(f"{vertices[user]}\t{vertices[item]}\t{rating:.4f}\n")
    with open(folder + "/job.toml", "w") as out:
        out.write(JOB)


def mixed(bits):
    bits = (bits ^ bits >> numpy.uint32(16)) * numpy.uint32(0x9E3779B1)
    bits = (bits ^ bits >> numpy.uint32(15)) * numpy.uint32(0x85EBCA77)
    return bits ^ bits >> numpy.uint32(16)


def salted(seed, number):
    return mixed(mixed(numpy.array([seed], "u4")) + numpy.array([number], "u4"))


class Descent:
    """The steps from the beginning, one after the other."""

    def __init__(self, path):
        table = numpy.loadtxt(path)
        ids, places = numpy.unique(table[:, :2].astype("i8"), return_inverse=True)
        places = places.reshape(len(table), 2)
        order = numpy.lexsort((places[:, 0], places[:, 1]))  # by target, then source; equal ones as in the file
        self.sources, self.targets, self.values = places[order, 0], places[order, 1], table[order, 2]
        self.vertices, self.losses = len(ids), []
        bits = mixed(mixed(~numpy.array([SEED], "u4")) + numpy.arange(2 * self.vertices * FACTORS, dtype="u4"))
        start = ((bits >> numpy.uint32(8)) / 2**24 - 0.5) * 2 / numpy.sqrt(FACTORS)
        self.p, self.q = start.reshape(2, self.vertices, FACTORS)
        self.first = (self.missed()**2).mean()

    def missed(self):
        return self.values - (self.p[self.sources] * self.q[self.targets]).sum(axis=1)

    def descended(self, factors, places, others, missed):
        gradient = numpy.zeros_like(factors)
        numpy.add.at(gradient, places, missed[:, None] * others)
        expected = numpy.maximum(numpy.bincount(places, minlength=self.vertices) * SHARE / 100, 1)
        return factors + RATE / 1000 * (gradient / expected[:, None] - DECAY / 1e6 * factors)

    def go_to(self, step):
        """The factors before that step."""
        while len(self.losses) < step:
            limit = 0xFFFFFFFF * SHARE // 100
            chosen = mixed(salted(SEED, len(self.losses)) + numpy.arange(len(self.values), dtype="u4")) <= limit
            missed = numpy.where(chosen, self.missed(), 0)
            self.losses.append((missed**2).sum() / max(chosen.sum(), 1))
            self.p, self.q = (self.descended(self.p, self.sources, self.q[self.targets], missed),
                              self.descended(self.q, self.targets, self.p[self.sources], missed))


def read_progress(path):
    with open(path, "rb") as file:
        content = file.read()
    return files.parse_safetensors(content[content.index(b"\n") + 1:])


def check(folder):
    kept = {path: read_progress(path) for path in glob.glob(folder + "/progress/*.progress")}
    if not kept:
        return "there is no progress yet"
    descent, farthest, error = Descent(folder + "/ratings.txt"), 0.0, 0.0
    for path, state in sorted(kept.items(), key=lambda item: item[1]["step"][0]):
        step, losses = int(state["step"][0]), state["losses"]
        descent.go_to(step)
        wanted = numpy.array(descent.losses[step - len(losses):])
        error = float(state["loss_of_all_edges"][0])
        pairs = [("a loss", losses, wanted), ("the first loss", float(state["first_loss"][0]), descent.first),
                 ("the loss of all edges", error, (descent.missed()**2).mean()),
                 ("a factor of a source", state["source_factors"], descent.p),
                 ("a factor of a target", state["target_factors"], descent.q)]
        for name, found, right in pairs:
            apart = float((abs(found - right) / (1 + abs(right))).max())
            if not apart < 1e-4:
                return f"{path}: {name} is {apart} from the right one after {step} steps"
            farthest = max(farthest, apart)
        if step >= STEPS_TO_NOISE and not error < 1.2 * NOISE**2:
            return f"{path}: after {step} steps the loss is {error}, and that of the noise is {NOISE**2}"
    steps = sorted(int(state["step"][0]) for state in kept.values())
    print(f"{len(kept)} files of progress, of {', '.join(map(str, steps))} steps, at most {farthest:.1e} apart; loss "
          f"{descent.losses[0]:.3f} at first, {error:.4f} after the most steps, {NOISE**2:.4f} of the noise")
    return None


def compare(one, other):
    states = [read_progress(path) for path in (one, other)]
    first = [int(state["step"][0]) - len(state["losses"]) for state in states]
    count = min(len(state["losses"]) for state in states)
    if first[0] != first[1]:
        return f"the losses begin at the steps {first[0]} and {first[1]}"
    if states[0]["losses"][:count].tobytes() != states[1]["losses"][:count].tobytes():
        return f"of the first {count} losses not all are the same"
    print(f"the first {count} losses have the same bits")
    return None


def main(arguments):
    calls = {("make", 2): make, ("check", 2): check, ("compare", 3): compare}
    call = calls.get((arguments[0], len(arguments))) if arguments else None
    return call(*arguments[1:]) if call else __doc__


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
