#!/bin/bash
# Completion in bash, zsh and fish, and the man pages. completion_test.sh CASE WEFT LIBRARY JOB
#
# bash and zsh get what they would give their functions, fish completes by itself. Exit code 77 where the shell is not
# installed.
set -u
case_name=$1 weft_binary=$2 library=$3 job=$4

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset ${!WEFT*}
export HOME=$work
mkdir -p "$work/tree/bin" "$work/tree/lib/weft" "$work/here/traces" "$work/here/other folder"
cp "$weft_binary" "$work/tree/bin/weft"
cp "$library" "$work/tree/lib/weft/libweft.so"
cp "$job" "$work/tree/lib/weft/fill_stand_in.so"
export PATH=$work/tree/bin:$PATH
cd "$work/here" || exit 1
touch tracefile

failed=0
expect() {  # LINE WORDS FOUND
  [[ $3 == "$2" ]] && return
  printf 'FAILED: %q\nexpected: %q\nfound:    %q\n' "$1" "$2" "$3"
  failed=1
}

# A line and what it may become; the words of a line are those of all three shells.
cases() {
  cat <<'CASES'
weft summ|summary
weft nothing |
weft run --mod|--mode
weft run --w|--weights
weft run --log w|warn
weft run --log |error info off warn
weft run --queue-policy f|fair
weft run -q --fill st|stand_in
weft jobs s|show submit
weft jobs --queue q li|list
weft jobs submit --un|--units
weft jobs submit --que|--queue
weft jobs retr|retry
weft help exit|exit-codes
weft completion z|zsh
weft lib |
CASES
}

# As readline splits it: at blanks, and each run of '=' or ':' is a word.
split() {
  local rest=$1
  COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=() COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
  while [[ $rest =~ ^[[:space:]]*([=:]+|[^=:[:space:]]+)(.*)$ ]]; do
    COMP_WORDS+=("${BASH_REMATCH[1]}")
    rest=${BASH_REMATCH[2]}
  done
  [[ $1 == *" " ]] && COMP_WORDS+=("")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
}
in_bash() {
  split "$1"
  COMPREPLY=()
  _weft
  mapfile -t COMPREPLY < <([[ ${#COMPREPLY[@]} -eq 0 ]] || printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort)
  found=${COMPREPLY[*]}
}
completes_bash() {
  source <(weft completion bash)
  expect "complete -p" "complete -F _weft weft" "$(complete -p weft)"
  local line words found
  while IFS='|' read -r line words; do
    in_bash "$line"
    expect "$line" "$words" "$found"
  done < <(cases)
  # Behind '=' and ':' only the rest is put in.
  while IFS='|' read -r line words; do
    in_bash "$line"
    expect "$line" "$words" "$found"
  done <<'CASES'
weft run --mode=o|observe off
weft run --mode=|fill observe off
weft run --output=trac|tracefile traces
weft run --output trac|tracefile traces
weft run --input=oth|other folder
weft summary trac|traces
weft summary traces trac|traces
weft diff traces trac|traces
weft run --fill ./a:b trac|
CASES
  in_bash "weft run --quiet -- print"
  [[ " $found " == *" printf "* ]] || expect "a command" printf "$found"
  in_bash "weft run --mode off prin"
  [[ " $found " == *" printf "* ]] || expect "a command without --" printf "$found"
  in_bash "weft run -- cat trac"
  expect "files of a command" "tracefile traces" "$found"
  # A command at a path, a cursor inside the line.
  in_bash "$work/tree/bin/weft summ"
  expect "a path" summary "$found"
  in_bash '~/tree/bin/weft summ'
  expect "a path from home" summary "$found"
  split "weft summ --json"
  COMP_POINT=9 COMP_CWORD=1 COMPREPLY=()
  _weft
  expect "inside the line" summary "${COMPREPLY[*]}"
}

# Every flag of every help is offered, and nothing else.
offers_all_flags() {
  local page offered pages=0
  local of_pages
  of_pages=$(
    weft __complete "" | cut -f1 | grep -vx help
    weft __complete jobs "" | cut -f1 | sed 's/^/jobs /'
  )
  while read -r page; do
    pages=$((pages + 1))
    # shellcheck disable=SC2086  # words
    offered=$(weft __complete $page -- | cut -f1 | LC_ALL=C sort)
    # shellcheck disable=SC2086
    listed=$({
      weft help $page
      [[ $page == jobs\ * ]] && weft help jobs
    } | sed -n 's/^  \(-[a-zA-Z], \)\?\(--[a-z-]*\).*/\2/p' | LC_ALL=C sort -u)
    expect "weft $page --" "$listed" "$offered"
  done <<<"$of_pages"
  [[ $pages -gt 20 ]] || expect "all verbs" "more than 20" "$pages"
}

completes_zsh() {
  command -v zsh >/dev/null || exit 77
  weft completion zsh >_weft
  zsh -fn _weft || expect "zsh -n" "" "a mistake"
  cat >stand_ins.zsh <<'ZSH'
compdef() { print -r -- "compdef $*" }
_describe() { print -rl -- "${(@)${(@P)@[-1]}%%:*}" }
_files() { print -r -- "files $*" }
_normal() { print -r -- "normal $CURRENT ${(j: :)words}" }
compset() { [[ $1 == -P ]] && PREFIX=${PREFIX#*=} }
source ./_weft
words=("${(@s: :)1}") CURRENT=${#words} PREFIX=${words[-1]}
_weft
ZSH
  local line words
  while IFS='|' read -r line words; do
    expect "$line" "$words" "$(zsh -f stand_ins.zsh "$line" | grep -v '^compdef\|^files' | LC_ALL=C sort | paste -sd' ')"
  done < <(cases)
  expect "it is declared" "compdef _weft weft" "$(zsh -f stand_ins.zsh "weft lib " | head -n 1)"
  expect "whole words" "--mode=observe --mode=off" "$(zsh -f stand_ins.zsh "weft run --mode=o" | grep -v '^compdef' | sort | paste -sd' ')"
  expect "folders" "files -/" "$(zsh -f stand_ins.zsh "weft summary x" | tail -n 1)"
  expect "a command" "normal 2 cat x" "$(zsh -f stand_ins.zsh "weft run -q -- cat x" | tail -n 1)"
}

completes_fish() {
  command -v fish >/dev/null || exit 77
  weft completion fish >weft.fish
  local line words
  in_fish() { fish --no-config -c "source weft.fish; complete --do-complete \$argv[1]" "$1" | cut -f1 | LC_ALL=C sort | paste -sd' '; }
  while IFS='|' read -r line words; do
    expect "$line" "$words" "$(in_fish "$line")"
  done < <(cases)
  expect "whole words" "--mode=observe --mode=off" "$(in_fish "weft run --mode=o")"
  expect "folders" "traces/" "$(in_fish "weft summary trac")"
  expect "files" "--output=tracefile --output=traces/" "$(in_fish "weft run --output=trac")"
  expect "a command" "tracefile traces/" "$(in_fish "weft run -q -- cat trac")"
}

# Every verb has a page, and those who read them have nothing to say.
man_pages() {
  local page readers=0
  mkdir pages
  while read -r page; do weft __man "$page" >"pages/$page" || expect "weft __man" 0 "$page"; done < <(weft __man)
  expect "a page for each verb" "$(weft __complete "" | cut -f1 | grep -vx help | sort)" \
    "$(cd pages && printf '%s\n' weft-*.1 | sed 's/weft-\(.*\)\.1/\1/' | sort)"
  [[ -f pages/weft.1 && -f pages/weft-options.7 ]] || expect "the other pages" "weft.1 weft-options.7" "$(ls pages)"
  for page in pages/*; do
    if command -v groff >/dev/null; then
      readers=$((readers + 1))
      expect "groff $page" "" "$(groff -man -ww -rCHECKSTYLE=3 -Tutf8 -z "$page" 2>&1)"
    fi
    if command -v mandoc >/dev/null; then
      readers=$((readers + 1))
      expect "mandoc $page" "" "$(mandoc -Tlint -Wwarning "$page" 2>&1 | grep -v 'missing date')"
    fi
  done
  weft __man weft-none.1 2>/dev/null && expect "no such page" 2 0
  [[ $readers -gt 0 ]] || { echo "skipped: neither groff nor mandoc is installed"; exit 77; }
  command -v groff >/dev/null || return
  read_page() { groff -man -Tascii -P-c "pages/$1" | sed 's/.\x08//g'; }
  expect "a default" 1 "$(read_page weft-run.1 | grep -c 'Default: 300us')"
  expect "an option" 1 "$(read_page weft-options.7 | grep -c '^ *WEFT_SLICE, --slice$')"
  expect "a command of a verb" 1 "$(read_page weft-jobs.1 | grep -c '^ *weft jobs submit \[OPTIONS\] JOB$')"
  expect "an exit code" 1 "$(read_page weft-run.1 | grep -c '^ *127 *the command is not found$')"
}

"$case_name"
exit "$failed"
