#!/bin/bash
# simgpu-truth on a log written by hand: program_test.sh PROGRAM
set -u
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { printf 'FAILED: %s\n' "$1"; exit 1; }

cat >"$work/gpu0.7.jsonl" <<'LOG'
{"type":"header","format":"simgpu-log","version":1,"pid":7,"device":0,"sms":4,"time":0}
{"type":"kernel","name":"ncclDevKernel_SendRecv","start":100,"end":500,"spin":true,"thread":"trainer"}
{"type":"kernel","name":"compute","start":100,"end":200,"start_told":100,"end_told":240,"spin":false,"thread":"trainer"}
{"type":"kernel","name":"gemm","start":300,"end":400,"spin":false,"thread":"weft-dispatch"}
LOG
numbers() {
  "$program" "$@" "$work/gpu0.7.jsonl" | python3 -c '
import json, sys
log = json.load(sys.stdin)["logs"][0]
print(log["process"], log["window"], log["idle"], log["idle_share"], log["fill"], log["fill_in_idle"], log.get("intervals"))'
}
[[ $(numbers) == "7 400 300 0.75 100 100 None" ]] || fail "the window is that of the communication"
[[ $(numbers --from 0 --to 400 --intervals) == "7 400 200 0.5 100 100 [[200, 400]]" ]] || fail "the given window"
[[ $(numbers --shortest 301) == "7 400 0 0.0 100 0 None" ]] || fail "short intervals are left out"
[[ $(numbers --as-told --intervals) == "7 400 260 0.65 100 100 [[240, 500]]" ]] || fail "what the GPU told late"
[[ $(numbers --by-waits --intervals) == "7 400 300 0.75 100 100 [[200, 500]]" ]] || fail "nothing is held up"
message=$("$program" "$work/missing" 2>&1) && fail "exit code"
[[ $message == "simgpu-truth: $work/missing cannot be read: No such file or directory" ]] || fail "one line: $message"
"$program" >"$work/out" 2>&1 && fail "a file is needed"
exit 0
