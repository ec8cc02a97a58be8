#!/usr/bin/env bash
# Installs the build into a folder with a blank in its name, moves it, and uses it as a stranger would: the command finds
# its library, and a project elsewhere builds a fill job with find_package(weft).
#   install.sh BUILD CONSUMER
set -euo pipefail
build=$1 consumer=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/first place" >/dev/null
mv "$work/first place" "$work/second place"
weft="$work/second place/bin/weft"
library=$("$weft" lib)
[ -f "$library" ] && [ "$(dirname "$library")" -ef "$(dirname "$(find "$work/second place" -name libweft.so)")" ]
[ "$("$weft" run -q --output "$work/trace" -- /bin/echo hello)" = hello ]
"$weft" config | grep -q WEFT_MEMORY
cmake -S "$consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$work/second place" >/dev/null
cmake --build "$work/consumer" >/dev/null
nm -D "$work/consumer/libjob.so" | grep -q ' T weft_fill_job_v1'
