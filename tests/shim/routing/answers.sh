#!/usr/bin/env bash
# A driver whose cuGetProcAddress gives thunks: the answers under libweft.so are the hooks that they are with one that gives
# the exported addresses. Run with libweft.so preloaded into the program only.
#   answers.sh PROGRAM PRELOAD LIBRARY_PATH
set -uo pipefail
program=$1 preload=$2 path=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
answers() { env "$@" LD_LIBRARY_PATH="$path" LD_PRELOAD="$preload" "$program"; }
fail() { echo "answers: $1"; exit 1; }

answers >"$work/exports" || fail "does not run"
answers SIMGPU_PROC_ADDRESS=thunks >"$work/thunks" || fail "does not run with thunks"
answers WEFT=off SIMGPU_PROC_ADDRESS=thunks >"$work/off" || fail "does not run with WEFT=off"
for what in ' cuMemAlloc_v2$' ' cuEventRecord_ptsz$' ' driver$' ' none$'; do
  grep -q "$what" "$work/exports" || fail "no answer is$what"
done
grep -qEv ' (driver|none)$' "$work/off" && fail "hooks with WEFT=off"
diff "$work/exports" "$work/thunks" >"$work/differences" || { head -20 "$work/differences"; fail "thunks are answered otherwise"; }
