#!/usr/bin/env bash
# The traces of three ranks belong together: ids of communicators, sequences of operations, clocks; also without group
# records, with a value that WEFT_TRACE_GROUPS cannot have, and with a trace that breaks off.
#   joined_traces.sh SOURCE BUILD PROGRAM
set -uo pipefail
source_dir=$1 build=$2 program=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SIMGPU_DEVICES=3 XDG_RUNTIME_DIR=$work
simulated=("$source_dir/scripts/on-simulated-gpu" --build "$build")

fail() { echo "$1"; tail -n 40 "$work/err"; exit 1; }
# run_traced DIRECTORY [VARIABLE=VALUE...]
run_traced() {
  local directory=$1
  shift
  timeout 100 "${simulated[@]}" env "$@" "$build/bin/weft" run -q --observe --output "$work/$directory" -- "$program" \
    2>"$work/err" || fail "it fails with Weft ($*)"
}
timeout 60 "${simulated[@]}" "$program" 2>"$work/err" || fail "it fails without Weft"

run_traced on
python3 - "$work"/on/*.jsonl <<'CHECKS' || fail "the traces are not right"
import json, sys

assert len(sys.argv) == 4, sys.argv
of_rank = []
for path in sys.argv[1:]:
    of_rank.append([json.loads(line) for line in open(path, encoding="utf-8")])
headers = [records[0] for records in of_rank]
assert len({header["boot"] for header in headers}) == 1 and headers[0]["boot"], headers
assert len({header["clock_offset"] for header in headers}) == 1, headers
ids, operations = [], {}
for rank, records in enumerate(of_rank):
    of = lambda kind: [record for record in records if record["type"] == kind]
    opened = [r for r in of("communicator") if r["event"] == "opened"]
    assert len(opened) == (3 if rank < 2 else 2), opened
    assert opened[0]["name"] == 'the "world"\n\\ ? \u00e4', opened[0]
    assert all(r["name"] == "" and r["id"] for r in opened[1:]), opened
    ids.append([r["id"] for r in opened])
    assert len(set(ids[-1])) == len(opened), ids
    place = {r["communicator"]: (r["id"], r["rank"]) for r in opened}
    groups = of("group")
    assert len({g["id"] for g in groups}) == len(groups) == (49 if rank < 2 else 36), (rank, len(groups))
    for group in groups:
        assert group["begun"] <= group["ended"], group
        number, own = place[group["communicator"]]
        for operation in group["operations"]:
            kind, peer = operation["kind"], operation["peer"]
            edge = (own, peer) if kind == "send" else (peer, own) if kind == "receive" else ()
            side = own if not edge else kind
            operations.setdefault((number, edge, operation["sequence"]), {})[side] = (edge or kind, operation["bytes"])
    crowded = [g for g in groups if g["left_out"]]
    assert [len(g["operations"]) + g["left_out"] for g in crowded] == ([20] if rank < 2 else []), crowded
    pairs = of("clock")
    assert len(pairs) >= 2 and all(0 <= p["width"] < 100_000_000 for p in pairs), pairs
    assert abs((pairs[0]["wall_clock"] - pairs[0]["monotonic"]) -
               (records[0]["wall_clock"] - records[0]["started"])) < 1_000_000_000, pairs
assert ids[0] == ids[1] and ids[2] == [ids[0][0], ids[0][2]], ids
for key, sides in operations.items():
    number, edge, sequence = key
    assert len(sides) == (2 if edge else 3) and len(set(sides.values())) == 1, (key, sides)
# 12 for each of three edges of the ring; 12 and 8 of the pair, of 32; 12 all-reduces and 12 broadcasts.
assert len(operations) == 3 * 12 + 20 + 24, len(operations)
pair = sorted(sequence for number, edge, sequence in operations if edge and number == ids[0][1])
assert pair == [1, 2, 3, 4] + list(range(5, 13)) + list(range(25, 33)), pair
CHECKS

# joined DIRECTORY: "recorded joined" and the reasons that are not 0, as weft summary has them
joined() {
  "$build/bin/weft" summary --json "$work/$1" 2>"$work/err" | python3 -c '
import json, sys
groups = json.load(sys.stdin)["groups"]
print(groups and [groups["recorded"], groups["joined"], {k: n for k, n in groups["not_joined"].items() if n}])'
}
[ "$(joined on)" = "[134, 132, {'left_out': 2}]" ] || fail "joined: $(joined on)"
"$build/bin/weft" summary "$work/on" | grep -q "^groups: 134 recorded, 132 joined" || fail "the summary does not say so"

run_traced off WEFT_TRACE_GROUPS=off
grep -q '"type": "group"' "$work"/off/*.jsonl && fail "groups although they are off"
[ "$(cat "$work"/off/*.jsonl | grep -c '"event": "opened".*"id": "')" -eq 8 ] || fail "no ids without groups"
[ "$(joined off)" = None ] || fail "joined without groups: $(joined off)"

run_traced bad WEFT_TRACE_GROUPS=perhaps
[ "$(grep -c '^weft: warning: .*WEFT_TRACE_GROUPS' "$work/err")" -eq 1 ] || fail "nothing was said about a bad value"
grep -q '"type": "group"' "$work"/bad/*.jsonl || fail "a bad value is not the default"

# The process was killed while it wrote.
trace=$(echo "$work"/on/rank1.*.jsonl)
size=$(($(wc -c <"$trace") / 2))
truncate -s "$size" "$trace"
[[ $(joined on) == "["*"'not_recorded': "* ]] || fail "joined with half a trace: $(joined on)"
