#!/usr/bin/env bash
# WEFT_BUILD_SIMULATOR=OFF, as on a machine with a GPU: no target may need a library of the simulator, which nobody builds
# then. A name that is no target is left to the linker, -lsimgpu_..., so configuring alone says nothing.
#   without_simulator.sh SOURCE CXX CC
set -euo pipefail
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cmake -G Ninja -S "$1" -B "$build" -DWEFT_BUILD_SIMULATOR=OFF -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER="$2" -DCMAKE_C_COMPILER="$3" >"$build/log" 2>&1 ||
  { cat "$build/log"; exit 1; }
if grep -E -- '-lsimgpu|simgpu_(driver|cudart|nccl)' "$build/build.ninja"; then
  echo "a target needs a library of the simulator"
  exit 1
fi
