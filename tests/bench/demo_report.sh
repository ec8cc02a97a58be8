#!/usr/bin/env bash
# weft-demo-report says which check failed: demo_report.sh PROGRAM TRACES
# TRACES: rank 0 is sound, rank 1 has a wrong unit and dropped records.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/plain" "$work/filled" "$work/sound" "$work/unsound" "$work/idle" "$work/truth"
for rank in 0 1 2; do
  echo '{"losses": [2.5, 2.25], "iteration_seconds": [0.01, 0.01]}' | tee "$work/plain/rank$rank.json" >"$work/filled/rank$rank.json"
done
cp "$2/rank0.100.jsonl" "$work/sound"
cp "$2"/rank*.jsonl "$work/unsound"
sed '/"type": *"slice"/d; s/"fill_units": *[0-9]*/"fill_units": 0/' "$2/rank0.100.jsonl" >"$work/idle/rank0.100.jsonl"

expect() {  # PROGRAM TRACE CODE LINE...
  local code=0 wanted
  "$1" --plain "$work/plain" --filled "$work/filled" --trace "$work/$2" "${options[@]}" >"$work/out" 2>"$work/err" || code=$?
  wanted=$(printf '%s\n' "${@:4}")
  if [ "$code" = "$3" ] && [ "$(<"$work/err")" = "$wanted" ]; then return; fi
  echo "$2: $code"
  cat "$work/out" "$work/err"
  exit 1
}
shows() {  # LINE...
  for line; do
    grep -Fxq -- "$line" "$work/out" && continue
    echo "missing: $line"
    cat "$work/out"
    exit 1
  done
}
options=()
expect "$1" sound 0
shows "GPU time idle     20.0 %" \
  "uncertain         0.0 % of the time: neither idle nor busy for certain" \
  "rank   idle    truth   filled   units" \
  "   0  20.0 %       -   70.0 %       8"
expect "$1" unsound 1 "FAILED: 2 fill units are wrong" "FAILED: 5 records were dropped"
expect "$1" idle 1 "FAILED: no fill unit was done"
# With the simulated GPUs' logs: rank 0 waited in the first quarter of its window.
cat >"$work/truth/gpu0.100.jsonl" <<'LOG'
{"type":"header","format":"simgpu-log","version":1,"pid":100,"device":0,"sms":4,"time":0}
{"type":"kernel","name":"ncclDevKernel_SendRecv","start":0,"end":25000000,"spin":true,"thread":"trainer"}
{"type":"kernel","name":"gemm","start":25000000,"end":100000000,"spin":false,"thread":"trainer"}
LOG
options=(--truth "$work/truth")
expect "$1" sound 0
shows "GPU time idle     20.0 % (ground truth 25.0 %)" "   0  20.0 %  25.0 %   70.0 %       8"
options=(--json)
expect "$1" unsound 1 "FAILED: 2 fill units are wrong" "FAILED: 5 records were dropped"
python3 -m json.tool "$work/out" >/dev/null
echo '{"losses": [2.5, 2.26], "iteration_seconds": [0.01, 0.01]}' >"$work/filled/rank0.json"
expect "$1" sound 1 "FAILED: the losses differ between the run without Weft and the run with it"
