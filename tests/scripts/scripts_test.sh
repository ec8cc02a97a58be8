#!/usr/bin/env bash
# scripts/build, scripts/demo and scripts/on-simulated-gpu as a user meets them: scripts_test.sh SOURCE CASE
# Each case works in a copy of the scripts, with cmake, nvcc and dpkg-query being stand-ins: nothing is installed or built.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tree" "$work/bin"
cp -r "$1/scripts" "$work/tree/scripts"
cd "$work/tree" || exit 1
unset CUDA_HOME CUDA_PATH

stand_in() {
  mkdir -p "$(dirname "$1")"
  printf '#!/bin/sh\n%s\n' "$2" >"$1"
  chmod +x "$1"
}
nvcc_of_release() { stand_in "$1" "echo 'Cuda compilation tools, release $2, V$2.1'"; }
stand_in "$work/bin/dpkg-query" "echo 'install ok installed'"
# shellcheck disable=SC2016  # for the stand-in to expand
stand_in "$work/bin/cmake" 'if [ "$1" = --preset ]; then cat "$STATUS"; else echo "CUDA_HOME is $CUDA_HOME"; fi'
touch "$work/status"
export PATH=$work/bin:$PATH STATUS=$work/status

fail() {
  printf 'FAILED: %s\nexit code: %s\noutput: %s\n' "$1" "$code" "$output"
  exit 1
}
run() {
  output=$("$@" 2>&1)
  code=$?
}
expect() {
  [[ $code == "$1" ]] || fail "exit code $1 expected"
  [[ $output == *"$2"* ]] || fail "expected: $2"
}

newest_toolkit() {
  nvcc_of_release "$work/bin/nvcc" 11.8
  nvcc_of_release "$work/cuda/bin/nvcc" 13.1
  CUDA_HOME=$work/cuda run scripts/build
  expect 0 "CUDA_HOME is $work/cuda"
  # Nor does the one that CUDA_HOME names, if it is too old.
  nvcc_of_release "$work/bin/nvcc" 99.0
  nvcc_of_release "$work/old/bin/nvcc" 12.4
  CUDA_HOME=$work/old run scripts/build
  expect 0 "CUDA_HOME is "
  [[ $output != *"$work/old"* ]] || fail "the old one is left"
}

what_is_left_out_is_said() {
  nvcc_of_release "$work/cuda/bin/nvcc" 13.0
  printf '%s\n' "-- Configuring" "-- The examples are left out: libnccl.so.2 is missing." >"$STATUS"
  CUDA_HOME=$work/cuda run scripts/build
  expect 0 "The examples are left out: libnccl.so.2 is missing."
}

no_trainer() {
  run scripts/demo --build "$work/empty" --output "$work/output"
  expect 1 "$work/empty has no trainer"
}

missing_values() {
  run scripts/demo --iterations
  expect 2 "scripts/demo: --iterations needs a value"
  run scripts/on-simulated-gpu --build
  expect 2 "scripts/on-simulated-gpu: --build needs a value"
}

help() {
  run scripts/demo --help
  expect 0 "--iterations N"
  run scripts/on-simulated-gpu --help
  expect 0 "COMMAND [ARGUMENT...]"
}

"$2"
