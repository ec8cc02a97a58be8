#!/bin/bash
# Verbs that read traces and answer in text: weft summary, diff, validate; traces that are damaged.
#
# Run by ctest, a case at a time: see cases.sh.
. "$(dirname "$0")/cases.sh"

summary() {
  run "$weft" summary "$source/tests/trace/run"
  expect_code 0
  [[ $(sed 1d <<<"$out") == "$(sed 1d "$source/tests/trace/run/expected.txt")" ]] || fail "the expected table"
  run "$weft" summary --json "$source/tests/trace/run"
  [[ $out == "$(<"$source/tests/trace/run/expected.json")" ]] || fail "the expected JSON"
  mkdir first second
  cp "$source"/tests/trace/run/rank0.* first
  cp "$source"/tests/trace/run/rank[12].* second
  run "$weft" summary --json first second
  [[ $(sort <<<"$out") == "$(sort "$source/tests/trace/run/expected.json")" ]] || fail "the same from two directories"
  run "$weft" summary first second
  [[ $out == "first and 1 more: 3 ranks, "* ]] || fail "both directories in the first line"
  # Of two runs the newest is shown, and the first line says so.
  mkdir earlier
  sed '1s/"wall_clock": *[0-9]*/"wall_clock": 1000/; 1s/"process": *[0-9]*/"process": 7/' first/rank0.100.jsonl >earlier/rank0.7.jsonl
  run "$weft" summary earlier/ first second
  [[ $out == "first and 1 more (the newest run; left out: earlier/): 3 ranks, "* ]] || fail "the run that is shown"
  # The same folder twice is one, and so is a trace of which there is a copy.
  run "$weft" summary "$source/tests/trace/run/" "$source/tests/trace/run"
  [[ $(sed 1d <<<"$out") == "$(sed 1d "$source/tests/trace/run/expected.txt")" ]] || fail "the table of one folder"
  [[ $out == "$source/tests/trace/run/: 3 ranks, "* ]] || fail "one directory in the first line"
  cp -r first copied
  cp first/rank0.100.jsonl copied/rank0.copy.jsonl
  run "$weft" summary copied
  [[ $out == *"note: copied/rank0.copy.jsonl is a copy of copied/rank0.100.jsonl; it is left out"* ]] || fail "a copy"
  mkdir bare
  run "$weft" summary bare
  expect_code 1
  expect_err "weft: error: there are no traces (rank[*].jsonl) in bare"
  # The folder above the traces: the message names where they are.
  mkdir -p above/run/trace above/too/deep/to/look
  cp first/rank0.* above/run/trace
  cp first/rank0.* above/too/deep/to/look
  for verb in summary validate; do
    run "$weft" $verb above
    expect_code 1
    expect_err "weft: error: there are no traces (rank[*].jsonl) in above; below there are some in above/run/trace"
  done
  for more in 1 2 3; do cp -r above/run above/run$more; done
  run "$weft" summary above
  expect_err "*; below there are some in above/run/trace, above/run1/trace, above/run2/trace and 1 more"
  run "$weft" summary missing
  expect_code 1
  expect_err "weft: error: missing does not exist: mistyped, or no process with an NCCL communicator ran under Weft (*README*)"
  touch file
  run "$weft" summary file
  expect_code 1
  expect_err "weft: error: file is not a directory"
  mkdir foreign
  echo '{"type": "header", "format": "weft-trace", "version": 99}' >foreign/rank0.1.jsonl
  run "$weft" summary foreign
  expect_code 1
  expect_err "weft: error: foreign/rank0.1.jsonl:1: has version 99*"
}

# Two runs that differ in a known way, and what is not comparable. The contents are looked at in tests/trace/compare.
diff_runs() {
  local flags=(--observe --iterations 60)
  run "$weft" simulate "${flags[@]}" --output usual
  run "$weft" simulate "${flags[@]}" --seed 2 --output again
  run "$weft" simulate "${flags[@]}" --seed 3 --forward 11ms --output longer
  run "$weft" simulate "${flags[@]}" --seed 4 --stages 8 --output wider
  run "$weft" diff usual longer
  expect_code 0
  expect_err ""
  [[ $out == "A  usual: 4 ranks, "*"B  longer: 4 ranks, "*"The median iteration of B takes "*" % longer: "*"by rank"*"rank 3"* ]] || fail "the text"
  [[ $out != *"note: other"* ]] || fail "nothing else differs"
  run "$weft" diff usual longer --json
  expect_code 0
  python3 - "$out" "$source/docs/diff.md" <<'PYTHON' || fail "the JSON, and its keys in docs/diff.md"
import json, sys
found, page = json.loads(sys.argv[1]), open(sys.argv[2]).read()
change = found["all"]["iteration_time"]
assert change["differs"] and change["low"] < change["change"] < change["high"], change
assert 0.05 < change["change"] < 0.13, change
assert change["b"] / change["a"] - 1 - change["change"] < 1e-9
assert len(found["by_rank"]) == 4 and found["by_rank"][2]["name"] == "rank 2" and len(found["stages"]) == 4
assert abs(sum(part["a"] for part in found["all"]["idle_share_by_cause"].values())
           + found["all"]["idle_share_cause_not_recorded"]["a"] - found["all"]["idle_share"]["a"]) < 1e-9
for keys in (found, found["a"], found["all"], found["by_rank"][0], change):
    assert all(f"`{key}`" in page for key in keys), set(keys)
PYTHON
  run "$weft" diff usual again
  expect_code 0
  [[ $out == *"The median iteration: no difference seen, at most "*" (95 % interval -"* ]] || fail "no difference"
  run "$weft" diff usual wider
  expect_code 0
  [[ $out == *"note: other number of ranks: 4 in A, 8 in B; nothing is compared by stage or rank"*"other work than"* && $out != *"by rank"* ]] || fail "other ranks"
  run "$weft" diff usual usual
  expect_code 1
  expect_err "weft: error: A and B are traces of the same run"
  run "$weft" simulate --observe --iterations 12 --output brief
  run "$weft" diff usual brief
  expect_code 0
  [[ $out == *"Whether the median iteration takes longer is unknown: "*"note: B has "*" iterations: 30 are needed for an interval"* ]] || fail "few iterations"
  run "$weft" diff usual missing
  expect_code 1
  expect_err "weft: error: missing does not exist: *"
  run "$weft" diff "$source/tests/trace/run" usual
  expect_code 0
  [[ $out == *"note: A: rank 1: filling was stopped"* ]] || fail "the notes of the runs"
  run sh -c '"$1" diff usual longer >/dev/full' sh "$weft"
  expect_code 1
  expect_err "weft: error: the output cannot be written: No space left on device"
}

# Of a run with truth files: tests/e2e/validate.sh.
validate() {
  run "$weft" validate "$source/tests/trace/run"
  expect_code 1
  [[ $out == "rank 0: not validated: there is no truth file"*"verdict: none, nothing was compared" ]] || fail "no truth"
  run "$weft" validate --json "$source/tests/trace/run"
  expect_code 1
  [[ $out == *'"agrees": false'*'"compared": false'* ]] || fail "no truth, as JSON"
  run "$weft" validate missing
  expect_code 1
  expect_err "weft: error: missing does not exist*"
  run "$weft" validate
  expect_code 2
  expect_one_line
  run "$weft" validate --shortest 9 "$source/tests/trace/run"
  expect_code 2
  expect_one_line
  for least in 98 nan; do
    run "$weft" validate --least $least "$source/tests/trace/run"
    expect_code 2
    expect_one_line
  done
  run sh -c '"$1" validate "$2" >/dev/full' sh "$weft" "$source/tests/trace/run"
  expect_code 1
  expect_err "weft: error: the output cannot be written: No space left on device"
  # A truth file from anybody: its text does not reach the terminal as it is, its numbers are looked at first.
  cp -r "$source/tests/trace/run" hostile
  read -r host process start < <(python3 -c '
import json
header = json.loads(open("hostile/rank0.100.jsonl").readline())
print(header["host"], header["process"], header.get("start_id", 0))')
  printf '{"type": "header", "format": "weft-truth", "version": 1, "host": "%s", "process": %s, "start_id": %s}\n' \
    "$host" "$process" "$start" >hostile/truth0.1.jsonl
  printf '{"type": "off", "reason": "\\u001b[2J"}\n' >>hostile/truth0.1.jsonl
  run "$weft" validate hostile
  expect_code 1
  LC_ALL=C grep -q '[^[:print:]]' "$work/stdout" && fail "a control character"
  [[ $out == *'rank 0: not validated: \x1b[2J'* ]] || fail "the reason"
  sed -i '/"off"/d' hostile/truth0.1.jsonl
  printf '%s\n' '{"type": "device", "cupti": 0, "device": 0}' '{"type": "clock", "before": 0, "cupti": 0, "after": 0}' \
    '{"type": "clock", "before": 0, "cupti": -9223372036854775808, "after": 0}' \
    '{"type": "work", "rows": [["n",0,1,1,-9223372036854775808,9223372036854775807,1,1],["n",0,1,1,5,10,5,1]]}' >>hostile/truth0.1.jsonl
  run "$weft" validate hostile
  expect_code 1
  [[ $out == *"2 lines of the truth file say nothing"* ]] || fail "impossible numbers"
}

# Other things in a directory of traces: none of them makes the command wait, grow or write to a terminal.
damaged_traces() {
  mkdir run
  cp "$source/tests/trace/run/rank0.100.jsonl" run
  mkfifo run/rank1.jsonl
  mkdir run/rank2.jsonl
  ln -s rank3.jsonl run/rank3.jsonl
  python3 -c 'print("{\"type\": \"header\", \"format\": \"weft-trace\", \"version\": 1, \"rank\": 3, \"ranks\": 4, \"wall_clock\": 2000000000, \"fill_job\": \"\\u001b[2J\"}"); print("x" * 100_000_000)' >run/rank4.jsonl
  run python3 -c '
import resource, subprocess, sys
code = subprocess.run(["timeout", "20", *sys.argv[1:]]).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
sys.exit(code if peak < 300_000 else f"{peak} KB")
' "$weft" summary run
  expect_code 0
  expect_err ""
  [[ $out == "run: 2 ranks"* ]] || fail "the two that can be read"
  for note in "run/rank1.jsonl is a FIFO, not a regular file; it is left out" \
              "run/rank2.jsonl is a directory, not a regular file; it is left out" \
              "run/rank3.jsonl cannot be read: Too many levels of symbolic links; it is left out" \
              "rank 3: 1 line longer than 65536 bytes, skipped: run/rank4.jsonl:2"; do
    [[ $out == *"note: $note"* ]] || fail "$note"
  done
  run "$weft" summary --json run
  expect_code 0
  LC_ALL=C grep -q '[^[:print:]]' "$work/stdout" && fail "a control character in the JSON"
  mkdir hostile
  echo '{"type": "header", "format": "other"}' >hostile/$'rank\e[2J.jsonl'
  run "$weft" summary hostile
  expect_code 1
  expect_err 'weft: error: hostile/rank\\x1b\[2J.jsonl:1: is not a trace of Weft'
  run "$weft" summary run/rank3.jsonl
  expect_code 1
  expect_err "weft: error: run/rank3.jsonl cannot be read: Too many levels of symbolic links"
  run sh -c '"$1" summary run >/dev/full' sh "$weft"
  expect_code 1
  expect_err "weft: error: the output cannot be written: No space left on device"
}

"$case_name"
