#!/usr/bin/env python3
"""A graph and records of seeds for the PageRank job, and an independent check of its results, with NumPy.

  example.py make FOLDER [RECORDS]     graph.txt, seeds.jsonl, and job.toml, which names them
  example.py check FOLDER [EVERY]      exit code 1 where ranks in FOLDER/ranks.safetensors are not those of the record

The check computes in double precision, from the definition. Where the results are not complete yet it checks those that
are there. EVERY: each so manieth one, 5.
"""
import json
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import files
from files import numpy

VERTICES, EDGES, STEPS, DAMPING = 400, 2400, 50, 0.85
JOB = """[[job]]
fill = "pagerank:batch=4"
weights = "graph.txt"
input = "seeds.jsonl"
results = "ranks.safetensors"
"""


def make(folder, records):
    os.makedirs(folder, exist_ok=True)
    numbers = random.Random(1)
    vertices = numbers.sample(range(10 * VERTICES), VERTICES)
    with open(folder + "/graph.txt", "w") as out:
        out.write(f"# Directed graph: made up, some vertices are popular, every tenth has no way out\n"
                  f"# Nodes: {VERTICES} Edges: {EDGES}\n# FromNodeId\tToNodeId\n")
        for _ in range(EDGES):
            source, target = numbers.randrange(VERTICES), int(VERTICES * numbers.random() ** 2)
            out.write(f"{vertices[source - (source % 10 == 0)]}\t{vertices[target]}\n")
    unknown = max(vertices) + 1
    with open(folder + "/seeds.jsonl", "w") as out:
        for record in range(records):
            seeds = [numbers.choice(vertices) for _ in range(record % 7)]
            if record % 9 == 0:
                seeds.append(unknown)
            out.write(json.dumps({"seeds": seeds}) + "\n")
    with open(folder + "/job.toml", "w") as out:
        out.write(JOB)


class Graph:
    def __init__(self, path):
        edges = numpy.loadtxt(path, dtype="i8")
        self.ids, self.places = numpy.unique(edges, return_inverse=True)
        self.places = self.places.reshape(edges.shape)
        self.degrees = numpy.bincount(self.places[:, 0], minlength=len(self.ids))

    def step(self, ranks, restart):
        flow = ranks / numpy.maximum(self.degrees, 1)
        incoming = numpy.bincount(self.places[:, 1], flow[self.places[:, 0]], len(ranks))
        dangling = ranks[self.degrees == 0].sum()
        return DAMPING * incoming + (1 - DAMPING + DAMPING * dangling) * restart

    def ranks(self, seeds):
        """The ranks, by how much the last step changed them, and how many seeds are vertices."""
        known = [numpy.searchsorted(self.ids, seed) for seed in seeds if seed in self.ids]
        if seeds and not known:
            return numpy.full(len(self.ids), numpy.nan), numpy.nan, 0
        restart = numpy.full(len(self.ids), 1 / len(self.ids))
        if seeds:
            restart = numpy.bincount(known, minlength=len(self.ids)) / len(known)
        ranks = restart
        for _ in range(STEPS):
            before, ranks = ranks, self.step(ranks, restart)
        return ranks, abs(ranks - before).sum(), len(known)


def check(folder, every):
    graph = Graph(folder + "/graph.txt")
    with open(folder + "/seeds.jsonl") as lines:
        records = [json.loads(line)["seeds"] for line in lines]
    path, outputs = folder + "/ranks.safetensors", [("ranks", "<f4", (len(graph.ids),), False),
                                                    ("change", "<f4", (), False), ("known", "<i4", (), False)]
    found = files.read_results(path, outputs)
    if os.path.exists(path) and len(records) != len(found["ranks"]):
        return f"{len(found['ranks'])} results for {len(records)} records"
    if not found["ranks"]:
        return "there are no results yet"
    farthest, largest, checked = 0.0, 0.0, sorted(found["ranks"])[::every]
    for number in checked:
        wanted, change, known = graph.ranks(records[number])
        if found["known"][number] != known:
            return f"record {number} has {found['known'][number]} known seeds and should have {known}"
        if numpy.isnan(change) and numpy.isnan(found["change"][number]) and numpy.isnan(found["ranks"][number]).all():
            continue
        apart = max(abs(wanted - found["ranks"][number]).max(), abs(change - found["change"][number]))
        if not apart < 1e-6:
            return f"record {number} has ranks or a last change that are {apart} from the right ones"
        farthest, largest = max(farthest, apart), max(largest, change)
    print(f"{len(found['ranks'])} of {len(records)} records have results, {len(checked)} checked, at most {farthest:.1e} "
          f"apart; the last steps moved at most {largest:.1e}")
    return None


def main(arguments):
    if len(arguments) in (2, 3) and arguments[0] in ("make", "check"):
        if arguments[0] == "make":
            return make(arguments[1], int(arguments[2]) if len(arguments) == 3 else 10000)
        return check(arguments[1], int(arguments[2]) if len(arguments) == 3 else 5)
    return __doc__


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
