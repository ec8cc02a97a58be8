#!/usr/bin/env bash
# Builds without one of their parts (WEFT_BUILD_...=OFF) can be configured, and no target needs a library of ours that
# nobody builds then. A name that is no target is left to the linker, -lsimgpu_..., so configuring alone says nothing.
#   without.sh SOURCE CXX CC PART
set -euo pipefail
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cmake -G Ninja -S "$1" -B "$build" "-DWEFT_BUILD_$4=OFF" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER="$2" -DCMAKE_C_COMPILER="$3" >"$build/log" 2>&1 ||
  { cat "$build/log"; exit 1; }
unwanted='-l(weft|simgpu|sim|gpu|trainer)_[a-z_]*'
[ "$4" != SIMULATOR ] || unwanted+='|simgpu_(driver|cudart|nccl)'
if grep -E -- "$unwanted" "$build/build.ninja"; then
  echo "a target needs what is not built"
  exit 1
fi
