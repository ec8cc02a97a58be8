#!/bin/sh
# The contract of libweft-core.so, weft-fill-probe and weft-feeder as built objects. Arguments: the three files.
set -u
core=$1
probe=$2
feeder=$3
failed=0
fail() {
  echo "FAILED: $*"
  failed=1
}

allowed='libc.so.6 libm.so.6 ld-linux-x86-64.so.2'
for object in "$core" "$probe" "$feeder"; do
  for needed in $(readelf -d "$object" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
    case " $allowed " in
      *" $needed "*) ;;
      *) fail "$object needs $needed" ;;
    esac
  done
  readelf -d "$object" | grep -q TEXTREL && fail "$object has text relocations"
done

exports=$(nm -D --defined-only "$core" | awk '{ print $3 }')
[ "$exports" = weft_core_start ] || fail "the core exports: $exports"
readelf -d "$core" | grep -q NODELETE || fail "the core can be unloaded"

# A guest in a training process must not be able to call these. (abort comes with the C++ runtime.)
for name in exit _exit quick_exit sigaction signal setenv putenv unsetenv system fork puts printf atexit pthread_atfork; do
  nm -D -u "$core" | sed 's/@.*//' | grep -qw "U $name" && fail "the core imports $name"
done
nm -D -u "$core" | grep -Eq ' (cu|cuda|nccl)[A-Z]' && fail "the core imports CUDA or NCCL by name"
exit $failed
