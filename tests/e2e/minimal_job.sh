#!/usr/bin/env bash
# examples/fill/README.md: its compile line builds the minimal job, and that fills bubbles of the example trainer.
#   minimal_job.sh SOURCE BUILD NVCC
set -euo pipefail
source_dir=$1 build=$2 nvcc=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
read -ra compile < <(sed -n 's/^\$ nvcc //p' "$source_dir/examples/fill/README.md")
cd "$source_dir"
"$nvcc" "${compile[@]/#job.so/$work/job.so}"
timeout 250 scripts/on-simulated-gpu --build "$build" "$build/bin/weft" run --fill "$work/job.so" --set log=info --output "$work/trace" -- \
  "$build/bin/trainer" --launch 4 --iterations 12 --text LICENSE >"$work/log" 2>"$work/messages"
cat "$work/messages"
grep -q 'weft: minimal: ready' "$work/messages"
"$build/bin/weft" summary --json "$work/trace" | python3 -c 'import json, sys
total = json.load(sys.stdin)["total"]
assert total["conversion"] > 0.03 and not total["filling_stopped"], total'
