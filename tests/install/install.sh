#!/usr/bin/env bash
# Installs the build into a folder with a blank in its name, moves it, and uses it as a stranger would: the command finds
# its library and the fill jobs that come with it, the pages have what they link to, and a project elsewhere builds a fill job
# with find_package(weft), and a program and a script that annotate themselves.
#   install.sh BUILD CONSUMER [FILL JOB]...
set -euo pipefail
build=$1 consumer=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/first place" >/dev/null
mv "$work/first place" "$work/second place"
weft="$work/second place/bin/weft"
library=$("$weft" lib)
[ -f "$library" ] && [ "$(dirname "$library")" -ef "$(dirname "$(find "$work/second place" -name libweft.so)")" ]
[ "$("$weft" run -q --output "$work/trace" -- /bin/echo hello)" = hello ]
"$weft" config | grep -q WEFT_MEMORY
for file in weft/grafana.json man/man1/weft-run.1.gz man/man7/weft-options.7.gz bash-completion/completions/weft; do
  [ -s "$work/second place/share/$file" ] || { echo "no share/$file"; exit 1; }
done
for job in "$@"; do
  found=$("$weft" run -q --output "$work/trace" --fill "$job:size=32" -- printenv WEFT_FILL)
  [[ $found == "$work/second place/"*"/fill_$job.so:size=32" ]] || { echo "--fill $job is $found"; exit 1; }
  if ldd "${found%%:*}" | grep 'not found'; then exit 1; fi
done
broken=0 links=0
while IFS= read -r page; do
  while IFS= read -r link; do
    links=$((links + 1))
    [ -e "$(dirname "$page")/$link" ] || { echo "${page#"$work/"} links to $link, which is not installed"; broken=1; }
  done < <(grep -o '](\([^)#]*\)' "$page" | cut -c 3- | grep -v '://')
done < <(find "$work/second place" -name '*.md')
[ "$broken" = 0 ] && [ "$links" -gt 0 ]
cmake -S "$consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$work/second place" >/dev/null
cmake --build "$work/consumer" >/dev/null
nm -D "$work/consumer/libjob.so" | grep -q ' T weft_fill_job_v2'
"$work/consumer/annotated"
PYTHONPATH="$work/second place/include" python3 -B -c 'from weft import annotate; annotate.begin_iteration(1)'
