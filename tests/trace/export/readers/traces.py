"""The traces of a run as the tests of readers know them without weft export: line by line."""
import collections
import json
import pathlib


class Run:
    def __init__(self, folder):
        self.records = collections.defaultdict(list)  # by type; each with the rank of its trace
        for path in sorted(pathlib.Path(folder).glob("rank*.jsonl")):
            rank = None
            for line in path.read_text().splitlines():
                record = json.loads(line)
                if record["type"] == "header":
                    rank = record["rank"]
                self.records[record["type"]].append({**record, "of": rank})
        self.ranks = sorted({header["of"] for header in self.records["header"]})

    def of(self, kind, rank):
        return [record for record in self.records[kind] if record["of"] == rank]

    def messages(self):
        """How many were seen on both sides: the k-th send from A to B is the k-th receive at B from A."""
        places = {(one["of"], one["communicator"]): (one["id"], one["rank"]) for one in self.records["communicator"]}
        sent, received = set(), set()
        for group in self.records["group"]:
            name, place = places[group["of"], group["communicator"]]
            for operation in group["operations"]:
                if operation["kind"] == "send" and operation["sequence"]:
                    sent.add((name, place, operation["peer"], operation["sequence"]))
                if operation["kind"] == "receive" and operation["sequence"] and group["ended"]:
                    received.add((name, operation["peer"], place, operation["sequence"]))
        return len(sent & received)

    def idle_share(self, rank, first, last):
        """Of the iterations, in percent."""
        chosen = [one for one in self.of("iteration", rank) if first <= one["number"] <= last]
        length = max(one["ended"] for one in chosen) - min(one["started"] for one in chosen)
        return 100 * sum(one["idle"] for one in chosen) / length
