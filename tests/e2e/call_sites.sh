#!/usr/bin/env bash
# Call sites in traces of programs whose functions are known by their names, on the simulated GPU.
#   native         each slot's frames have the function that called NCCL, and none is Weft's own; a recording is right
#   python         likewise, of Python, with file and line
#   libunwind      the same, where WEFT_UNWINDER names a libunwind
#   no_unwinder    the same, where that is none: one line says so, and so does each trace
#   nvtx           with weft run --nvtx they begin with the innermost NVTX range
#   other_nvtx     where another tool has NVTX one line says so, and there are no ranges
#   off            nothing is recorded
#   call_sites.sh SOURCE BUILD PROGRAM CASE
set -uo pipefail
source_dir=$1 build=$2 program=$3 case=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SIMGPU_DEVICES=2 XDG_RUNTIME_DIR=$work WEFT_CALL_SITES=on
fail() { echo "call sites: $1"; tail -n 40 "$work/err" "$work/out"; exit 1; }

case $case in
  libunwind)
    ldconfig -p | grep -q 'libunwind\.so\.8' || { echo "no libunwind.so.8 here"; exit 77; }
    export WEFT_UNWINDER=libunwind.so.8 ;;
  no_unwinder) export WEFT_UNWINDER=$work/absent.so ;;
  off) unset WEFT_CALL_SITES ;;
esac
if [ "$case" = native ]; then export WEFT_RECORD=on; fi
flags=()
if [[ $case == *nvtx ]]; then flags=(--nvtx) && unset WEFT_CALL_SITES; fi
if [ "$case" = other_nvtx ]; then export NVTX_INJECTION64_PATH=$work/of_another_tool.so; fi
command=("$program")
if [ "$case" = python ]; then
  # Some versions hide it, and so may some builds.
  python3 -c 'import ctypes; ctypes.CDLL(None)._Py_DumpTraceback' || { echo "this Python has no such function"; exit 77; }
  script=$source_dir/tests/e2e/call_sites.py
  command=(sh -c "python3 -B '$script' 0 '$work/id' & python3 -B '$script' 1 '$work/id' && wait %1")
fi
if [[ $case != python ]]; then export LD_DEBUG=files LD_DEBUG_OUTPUT=$work/loaded; fi
timeout 200 "$source_dir/scripts/on-simulated-gpu" --build "$build" "$build/bin/weft" run "${flags[@]}" --observe \
  --output "$work/trace" -- "${command[@]}" >"$work/out" 2>"$work/err" || fail "the program fails"
unset LD_DEBUG LD_DEBUG_OUTPUT
if [[ $case != python ]]; then
  grep -q 'libweft-core' "$work"/loaded.* || fail "the loader does not tell what it loads"
  if [ "$case" = libunwind ]; then
    grep -q 'calling init: .*libunwind' "$work"/loaded.* || fail "libunwind is not loaded"
  else
    ! grep -q 'libunwind' "$work"/loaded.* || fail "libunwind is loaded"
  fi
fi
if [ "$case" = no_unwinder ]; then
  [ "$(grep -c 'is no libunwind: Weft reads native frames without it' "$work/err")" = 1 ] || fail "it is not said once"
fi
if [ "$case" = native ]; then
  "$build/bin/weft" replay "$work"/trace/*.weftrec >"$work/out" 2>&1 || fail "a recording beside them is not right"
fi
if [ "$case" = other_nvtx ]; then
  grep -q 'NVTX_INJECTION64_PATH is set, so another tool has NVTX' "$work/err" || fail "nothing is said of the other tool"
fi
python3 - "$work/trace" "$case" "$source_dir" <<'CHECKS' || fail "the trace is not right"
import collections, glob, json, sys

folder, case, source = sys.argv[1:]
native = {("receive", 1): "receive_activation", ("receive", 0): "receive_gradient", ("send", 0): "send_message",
          ("send", 1): "send_message", ("all_reduce", 0): "sum_up", ("all_reduce", 1): "sum_up"}
ranges = {"receive_activation": "forward-recv", "receive_gradient": "backward-recv"}
python = {"receive": "receive_message", "send": "send_message", "all_reduce": "sum_up"}
functions = set(native.values())
lines = open(source + "/tests/e2e/call_sites.py").read().splitlines()
traces = glob.glob(folder + "/*.jsonl")
assert len(traces) == 2, traces
for path in traces:
    records = [json.loads(line) for line in open(path)]
    rank = records[0]["rank"]
    assert records[-1]["type"] == "summary" and records[-1]["dropped_records"] == 0, records[-1]
    of = lambda kind: [record for record in records if record["type"] == kind]
    notes = [record["text"] for record in of("anomaly")]
    frames = collections.defaultdict(list)
    for frame in of("call_frame"):
        frames[frame["rhythm"], frame["ordinal"]].append(frame)
    slots = {(bubble["rhythm"], bubble["ordinal"]) for bubble in of("bubble") if bubble["iteration"] > 1}
    print(f"rank {rank}: {len(slots)} slots, {len(frames)} with a call site; {notes}")
    if case == "off":
        assert not frames and not notes, (frames, notes)
        continue
    if case == "no_unwinder":
        assert sum("is no libunwind" in note for note in notes) == 1, notes
    # Where the host is late its calls come in bubbles.
    assert frames, slots
    assert set(frames) <= {(bubble["rhythm"], bubble["ordinal"]) for bubble in of("bubble")}, frames
    kinds = {group["id"]: group["operations"][0]["kind"] for group in of("group")}
    for slot, stack in frames.items():
        group, = {frame["group"] for frame in stack}
        assert group in kinds, (group, slot)
        own = [frame for frame in stack if frame["kind"] == "native"]
        assert [frame["number"] for frame in own] == list(range(len(own))), own
        assert not any("libweft" in frame["file"] for frame in own), own
        assert all(frame["file"] and frame["offset"] < 2**53 for frame in own), own
        nvtx = [frame["function"] for frame in stack if frame["kind"] == "nvtx"]
        called = native[kinds[group], rank]
        assert nvtx == ([ranges.get(called, "iteration")] if case == "nvtx" else []), (nvtx, called)
        if case != "python":
            assert [frame["function"] for frame in own if frame["function"] in functions] == [native[kinds[group], rank]], own
            assert own[0]["function"] == native[kinds[group], rank] and own[0]["file"] == "call_sites", own
            assert own[0]["offset"] > 0 and len(own) >= 4, own
        else:
            stack = [frame for frame in stack if frame["kind"] == "python"]
            assert [frame["number"] for frame in stack] == list(range(len(stack))), stack
            assert [frame["function"] for frame in stack] == [python[kinds[group]], "iteration", "main", "<module>"], stack
            assert {frame["file"] for frame in stack} == {source + "/tests/e2e/call_sites.py"}, stack
            assert "nccl.nccl" in lines[stack[0]["line"] - 1], stack[0]
            assert "rank.iteration()" in lines[stack[2]["line"] - 1], stack[2]
CHECKS
