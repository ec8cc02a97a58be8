"""The numbers of weft top against those of weft summary: the same once the run is over; while it goes on, no more
than at its end, and never backwards.

Usage: top.py WEFT FOLDER during...   `during`: outputs of weft top --json in the order in which they were made
"""
import json
import subprocess
import sys

SAME = ("iterations", "bubbles", "idle", "uncertain", "dark", "filled", "idle_left_out", "slices", "moved", "fill_units",
        "fill_units_wrong", "unfilled", "dropped_records", "window", "idle_share", "uncertain_share", "conversion")
PART = ("window", "idle_share", "uncertain_share", "conversion")


def answer(weft, verb, folder):
    return json.loads(subprocess.run([weft, verb, "--json", folder], check=True, capture_output=True).stdout)


def main():
    weft, folder, *during = sys.argv[1:]
    faults = []

    def hold(condition, text):
        if not condition:
            faults.append(text)

    top, summary = answer(weft, "top", folder), answer(weft, "summary", folder)
    hold(len(top["ranks"]) == len(summary["ranks"]) == 4, f"{len(top['ranks'])} ranks, {len(summary['ranks'])}")
    for ours, theirs in zip(top["ranks"], summary["ranks"]):
        name = f"rank {ours['rank']}"
        hold(ours["presence"] == "ended", f"{name} is {ours['presence']}")
        for key in SAME:
            hold(ours[key] == theirs[key], f"{name}: {key} is {ours[key]}, in weft summary {theirs[key]}")
        for key in PART:
            hold(ours["steady"][key] == theirs["steady"][key], f"{name}: steady {key} differs")
        hold(ours["idle_by_cause"] == theirs["idle_by_cause"], f"{name}: idle_by_cause {ours['idle_by_cause']}")
        for key in ("estimate", "low", "high", "budget", "control", "filled"):
            one, other = ((of["slowdown"] or {}).get(key) for of in (ours, theirs))
            # Lines of the trace have shares with six digits behind the point.
            hold(one == other or abs(one - other) < 1e-6, f"{name}: slowdown {key} is {one}, in weft summary {other}")
        hold(ours["recent"]["iterations"] == min(32, ours["iterations"]) or ours["dark"] > 0, f"{name}: recent iterations")
        hold(ours["waits_for"]["rank"] in (None, 0, 1, 2, 3), f"{name} waits for {ours['waits_for']}")
    # In a pipeline the first rank waits for nobody but the next one.
    hold(top["ranks"][0]["waits_for"]["rank"] == 1, f"rank 0 waits for {top['ranks'][0]['waits_for']}")

    last, seen_running = {}, 0
    for path in during:
        with open(path, encoding="utf-8") as file:
            ranks = json.load(file)["ranks"]
        for rank in ranks:
            seen_running += rank["presence"] == "running" and rank["iterations"] > 0
            hold(rank["process_is_known"], f"{path}: the process of rank {rank['rank']} is not known")
            hold(rank["presence"] in ("running", "ended"), f"{path}: rank {rank['rank']} is {rank['presence']}")
            for key in ("iterations", "window", "idle", "filled"):
                before = last.get((rank["rank"], key), 0)
                hold(rank[key] >= before, f"{path}: {key} of rank {rank['rank']} fell from {before} to {rank[key]}")
                last[rank["rank"], key] = rank[key]
    hold(seen_running >= 4, f"ranks were seen running {seen_running} times only")
    for (rank, key), value in last.items():
        hold(value <= top["ranks"][rank][key], f"{key} of rank {rank} was {value} during the run")
    sys.exit("\n".join(faults) if faults else 0)


if __name__ == "__main__":
    main()
