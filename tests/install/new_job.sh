#!/usr/bin/env bash
# A stranger's first fill job: weft new-job, from an installed Weft; it builds, is tried, and works on a training's records.
#   new_job.sh SOURCE BUILD NVCC
set -euo pipefail
source_dir=$1 build=$2 nvcc=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/weft" >/dev/null
weft=$work/weft/bin/weft
cd "$work"
"$weft" new-job root_mean_square | grep -q 'root_mean_square has the fill job root_mean_square'
"$weft" new-job root_mean_square 2>"$work/err" && exit 1
grep -q 'weft: error: root_mean_square is there already' "$work/err"
for wrong in 2nd my-job '' test "$(printf 'a%.0s' {1..61})"; do
  "$weft" new-job "$wrong" 2>"$work/err" && exit 1
  grep -q 'weft: error: ' "$work/err"
done
if grep -rq '@NAME@' root_mean_square; then echo "a placeholder is left"; exit 1; fi
cmake -S root_mean_square -B job -DCMAKE_PREFIX_PATH="$work/weft" -DCMAKE_CUDA_COMPILER="$nvcc" -DWEFT_SOURCE="$source_dir" >"$work/log" 2>&1 &&
  cmake --build job >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
grep -i warning "$work/log" && exit 1
export SIMGPU_KERNELS=$work/job/root_mean_square_kernels.so
on_simulated_gpu() { timeout 100 "$source_dir/scripts/on-simulated-gpu" --build "$build" "$@"; }
SIMGPU_DEVICES=1 on_simulated_gpu "$weft" try job/root_mean_square.so --input root_mean_square/example.jsonl | tee "$work/tried"
grep -q '^units     3 run, 3 right' "$work/tried"
python3 -c '
import struct
head = str({"descr": "<f4", "fortran_order": False, "shape": (5, 4, 2)}).encode().ljust(117) + b"\n"
open("matrices.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + bytes(5 * 4 * 2 * 4))'
SIMGPU_DEVICES=1 on_simulated_gpu "$weft" try job/root_mean_square.so --input matrices.npy >"$work/tried" 2>&1 && exit 1
grep -q "'x' of a record is not one list of numbers" "$work/tried" || { cat "$work/tried"; exit 1; }
on_simulated_gpu "$weft" run --fill job/root_mean_square.so --input root_mean_square/example.jsonl --results results.jsonl -- \
  "$build/bin/trainer" --launch 2 --iterations 12 --microbatches 4 --hidden 32 --sequence 16 --batch 2 --text "$source_dir/LICENSE" >/dev/null
for ((i = 0; i < 50; ++i)); do [ -e results.jsonl ] && break; sleep 0.1; done
python3 - <<'PYTHON'
import json

wanted = [12.5 ** 0.5, 1, 0, (4.5 / 3) ** 0.5, 10]
found = [json.loads(line) for line in open("results.jsonl")]
assert len(found) == 5 and all(abs(a - b) < 1e-5 for a, b in zip(wanted, found)), found
PYTHON
