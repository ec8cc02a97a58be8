#!/usr/bin/env bash
# The shim's message when it cannot work: one line on stderr, nothing on stdout, and the main job goes on. Arguments:
# the probe, the folder with libweft.so and the test core, the folder with the fake driver and NCCL.
set -u
probe=$1
preload=$2
fake=$3
failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$preload/libweft.so" "$folder"  # without a core next to it

expect() {
  local what=$1 line=$2 from=$3
  shift 3
  env "$@" LD_LIBRARY_PATH="$from:$fake" LD_PRELOAD="${WEFT_PRELOAD_FIRST:-}libweft.so" "$probe" passes_on \
    >"$folder/out" 2>"$folder/err"
  local status=$?
  if [[ $status -ne 0 || -s $folder/out ]] || ! grep -Eqx "$line" "$folder/err" || [[ $(wc -l <"$folder/err") -ne 1 ]]; then
    echo "FAILED: $what: status $status"
    cat "$folder/out" "$folder/err"
    failures=$((failures + 1))
  fi
}

expect "no core" 'weft: warning: the core cannot be loaded, not active: .*libweft-core.so.*' "$folder"
expect "old NCCL" 'weft: warning: NCCL is older than 2.18: not active' "$preload" FAKE_NCCL_VERSION=21705
expect "old driver" 'weft: warning: the CUDA driver is older than 12.0: not active' "$preload" FAKE_DRIVER_VERSION=11080
expect "one address for all functions" \
  "weft: warning: not active, because this driver's cuGetProcAddress gives other functions than it exports: cuGetProcAddress_v2" \
  "$preload" FAKE_PROC_ADDRESS=one

# A core that refuses says why itself.
env TEST_CORE_REFUSES=1 LD_LIBRARY_PATH="$preload:$fake" LD_PRELOAD="${WEFT_PRELOAD_FIRST:-}libweft.so" \
  "$probe" local_nccl >"$folder/out" 2>"$folder/err"
[[ -s $folder/err ]] && echo "FAILED: a refusing core: $(cat "$folder/err")" && failures=$((failures + 1))

# Without a communicator there is nothing to say.
env FAKE_NCCL_VERSION=21705 LD_LIBRARY_PATH="$folder:$fake" LD_PRELOAD="${WEFT_PRELOAD_FIRST:-}libweft.so" \
  "$probe" by_handle >"$folder/out" 2>"$folder/err"
[[ -s $folder/out || -s $folder/err ]] && echo "FAILED: not silent" && failures=$((failures + 1))
exit $((failures != 0))
