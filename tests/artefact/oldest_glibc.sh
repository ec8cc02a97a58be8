#!/usr/bin/env bash
# Files that run with glibc 2.34, and need nothing of a newer one: oldest_glibc.sh FILE...
set -u
[[ $# -gt 0 ]] || { echo "FAILED: no files"; exit 1; }
failed=0
for file in "$@"; do
  needed=$(objdump -T "$file" | grep -o 'GLIBC_2\.[0-9]*' | sort -uV)
  newest=$(tail -n 1 <<<"$needed")
  if [[ -z $newest || ${newest#GLIBC_2.} -gt 34 ]]; then
    echo "FAILED: $file needs ${newest:-no glibc at all}: $(objdump -T "$file" | grep -F "${newest:-none}" | awk '{ print $NF }' | paste -sd' ')"
    failed=1
  fi
done
exit $failed
