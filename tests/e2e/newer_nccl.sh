#!/usr/bin/env bash
# A training by NCCL's newer functions: its communicators and operations are in the trace, and neither the one that was
# aborted unused nor the suspension ends anything.
#   newer_nccl.sh SOURCE BUILD PROGRAM
set -uo pipefail
source_dir=$1 build=$2 program=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SIMGPU_DEVICES=3 XDG_RUNTIME_DIR=$work
simulated=("$source_dir/scripts/on-simulated-gpu" --build "$build")

fail() { echo "$1"; tail -n 40 "$work/err"; exit 1; }
timeout 60 "${simulated[@]}" "$program" 2>"$work/err" || fail "it fails without Weft"
timeout 100 "${simulated[@]}" "$build/bin/weft" run -q --observe --output "$work/trace" -- "$program" 2>"$work/err" ||
  fail "it fails with Weft"
python3 - "$work"/trace/*.jsonl <<'CHECKS' || fail "the trace is not right"
import json, sys

assert len(sys.argv) == 4, sys.argv
for path in sys.argv[1:]:
    records = [json.loads(line) for line in open(path)]
    of = lambda kind: [record for record in records if record["type"] == kind]
    opened = {r["communicator"]: r["ranks"] for r in of("communicator") if r["event"] == "opened"}
    closed = {r["communicator"]: r["time"] for r in of("communicator") if r["event"] == "closed"}
    joined = len(opened) == 2
    assert sorted(opened.values()) == ([1, 3] if joined else [1, 2, 3]), (path, opened)
    assert closed.keys() == opened.keys(), (path, closed)
    grown = next(number for number, ranks in opened.items() if ranks == 3)
    own = next(number for number, ranks in opened.items() if ranks == 1)
    # A put, a wait for a signal and an all-reduce with a configuration.
    iterations = of("iteration")
    assert len(iterations) > 20 and all(r["groups"] == 3 for r in iterations), (path, iterations[-3:])
    assert any(r["started"] > closed[own] for r in iterations), path
    receives = [r for r in of("bubble") if r["cause"] == "receive"]
    assert receives and all(r["communicator"] == grown for r in receives), (path, receives[:2])
    assert len({r["receive_peer"] for r in receives}) == 1, (path, receives[:2])
    assert not of("anomaly"), (path, of("anomaly"))
    summaries = of("summary")
    assert len(summaries) == 1 and summaries[0]["dropped_records"] == 0, (path, summaries)
    assert not summaries[0]["filling_stopped"], (path, summaries)
CHECKS
