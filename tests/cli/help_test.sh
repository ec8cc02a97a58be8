#!/bin/bash
# Help, usage errors, exit codes and colours of all verbs.
#
# Run by ctest, a case at a time: see cases.sh.
. "$(dirname "$0")/cases.sh"

usage() {
  run "$weft"
  expect_code 2
  expect_one_line
  run "$weft" rnu
  expect_code 2
  expect_err "weft: error: 'rnu' is not a verb; did you mean run[?]; 'weft --help' lists them"
  run "$weft" frobnicate
  expect_code 2
  expect_err "weft: error: 'frobnicate' is not a verb; 'weft --help' lists them"
  run "$weft" $'summary\n\e[2J'
  expect_code 2
  expect_err "weft: error: 'summary\\\\x0a\\\\x1b\[2J' is not a verb; 'weft --help' lists them"
  run "$weft" help sumary
  expect_code 2
  expect_err "weft: error: 'sumary' is not a verb; did you mean summary[?]; 'weft --help' lists them"
  run "$weft" run
  expect_code 2
  expect_one_line
  run "$weft" run --flil x -- true
  expect_code 2
  expect_err "weft: error: '--flil' is not an option of 'weft run'; did you mean --fill[?]; see 'weft run --help'"
  run "$weft" run --budget 2% -- true
  expect_err "weft: error: '--budget' is not an option of 'weft run'; did you mean --slowdown-budget[?]; see 'weft run --help'"
  run "$weft" summary --jsn x
  expect_code 2
  expect_err "weft: error: '--jsn' is not an option of 'weft summary'; did you mean --json[?]; see 'weft summary --help'"
  run "$weft" summary --frobnicate=3 x
  expect_err "weft: error: '--frobnicate' is not an option of 'weft summary'; see 'weft summary --help'"
  run "$weft" jobs sumbit x
  expect_code 2
  expect_err "weft: error: 'sumbit' is not a command of 'weft jobs'; did you mean submit[?]; see 'weft jobs --help'"
  run "$weft" jobs --queue q
  expect_code 2
  expect_err "weft: error: a command is missing; see 'weft jobs --help'"
  run "$weft" jobs submit --untis 3 x
  expect_code 2
  expect_err "weft: error: '--untis' is not an option of 'weft jobs submit'; did you mean --units[?]; see 'weft jobs submit --help'"
  run "$weft" run --fill
  expect_code 2
  expect_one_line
  run "$weft" run --output -- true
  expect_code 2
  expect_err "weft: error: '--output' needs a folder, and '--' follows"
  run "$weft" run --observe --slice -- true
  expect_code 2
  expect_err "weft: error: '--slice' needs a value, and '--' follows"
  run "$weft" run -q --output=-- -- sh -c 'echo $WEFT_OUTPUT'
  expect_out "$work/--"
  run "$weft" run --fill stand_in --observe -- true
  expect_code 2
  expect_err "weft: error: --fill stand_in and --observe contradict each other: bubbles are filled, or only observed"
  run "$weft" run --mode observe --set fill=stand_in -- true
  expect_err "weft: error: --fill stand_in and mode observe contradict each other*"
  run "$weft" run --set= -- true
  expect_code 2
  expect_err "weft: error: --set '': NAME=VALUE is wanted"
  run "$weft" top "$work"
  expect_code 2
  expect_err "weft: error: input and output are not both a terminal; 'weft top --once' prints the table,*"
  run "$weft" top --once
  expect_code 1
  expect_err "weft: error: there is no folder weft-\* with a page (rank\*.live) here; 'weft top DIR' names the output of a run"
  run "$weft" top --once --sort length
  expect_code 2
  expect_err "weft: error: 'length' is none of rank, idle, filled, slowdown, iteration*"
  run "$weft" summary
  expect_code 2
  expect_one_line
  run "$weft" config --json --markdown
  expect_code 2
  expect_one_line
  run "$weft" lib surplus
  expect_code 2
  expect_one_line
  for words in --help "help run" "run --help" "config --help" "summary --help" "export --help" "report --help" "validate --help" "simulate --help" "estimate --help" "lib --help" "version --help" --version; do
    run "$weft" $words
    expect_code 0
    expect_err ""
    [[ -n $out ]] || fail "text expected"
  done
}

# All verbs, and the commands of those that have some.
verbs() { "$weft" --help | sed -n 's/^  \([a-z-]*\) .*/\1/p'; }

pages() {
  verbs | grep -vx help
  "$weft" jobs --help | sed -n 's/^  \([a-z]*\) .*/jobs \1/p'
}

# In 24 lines of 80 columns; of the verb with the most stable options in 40. All else is on the long page.
help() {
  local page
  [[ $(pages | wc -l) -gt 15 && $(pages) == *"jobs submit"* ]] || fail "all verbs"
  while read -r page; do
    local lines=24
    [[ $page == run ]] && lines=40
    # shellcheck disable=SC2086  # words
    run "$weft" $page --help
    expect_code 0
    expect_err ""
    [[ $(wc -l <<<"$out") -le $lines && $(wc -L <<<"$out") -le 80 ]] || fail "a screen for weft $page --help"
    [[ $out == "Usage: weft $page"*": weft help $page" ]] || fail "how it is used, and where more is"
    # shellcheck disable=SC2086  # words
    run "$weft" help $page
    expect_code 0
    [[ $(wc -L <<<"$out") -le 80 && $out == "Usage: weft $page"*"Exit codes"* ]] || fail "the long page of weft $page"
  done < <(pages)
  run "$weft" --help
  [[ $(wc -l <<<"$out") -le 24 && $(wc -L <<<"$out") -le 80 ]] || fail "a screen for weft --help"
  run "$weft" help run
  [[ $out == *"Advanced options"*"--slice DURATION"*"WEFT_SLICE: a duration from 10us to 100ms."*"Default: 300us."* ]] || fail "advanced options, whole"
  [[ $out == *" 1  "*" 2  "*" 126  "*" 127  "* ]] || fail "all exit codes of weft run"
  [[ $out != *--warned* && $out != *"--job "* ]] || fail "internal options"
  run "$weft" run --help
  [[ $out == *"cap. [1GiB]"* && $out == *"an iteration. [1%]"* ]] || fail "defaults in brackets"
  [[ $out == *--slowdown-budget* && $out != *--slice* && $out == *" advanced options: weft help run" ]] || fail "stable options only"
  # Words that are no command of the verb are refused, and none of them is run.
  while read -r words; do
    # shellcheck disable=SC2086  # words
    run "$weft" help $words
    expect_code 2
    expect_out ""
    expect_one_line
    [[ ! -e was_run ]] || fail "weft help $words ran something"
  done <<'WORDS'
run -- touch was_run
run touch was_run
run --quiet -- touch was_run
run --output -- touch was_run
jobs foo
jobs submit foo
summary diff
exit-codes foo
WORDS
  run "$weft" help jobs sumbit
  expect_err "weft: error: 'sumbit' is not a command of 'weft jobs'; did you mean submit[?]; see 'weft jobs --help'"
  run "$weft" help run extra
  expect_err "weft: error: 'weft help run' takes no more words; 'extra' is one"
  run "$weft" help exit-code
  expect_err "weft: error: 'exit-code' is not a verb; did you mean exit-codes[?]; 'weft --help' lists them"
  # Behind a command its own help is meant.
  run "$weft" run -q -- echo --help --help-all
  expect_out "--help --help-all"
}

# docs/cli.md and the pages of verbs have the codes of the list; those that need no GPU come out.
exit_codes_listed() {
  run "$weft" help exit-codes
  expect_code 0
  python3 - "$out" "$source" <<'PYTHON' || fail "the list and the documents"
import pathlib, re, sys
listed, verb = {}, ""
for line in sys.argv[1].splitlines():
    if line.startswith("weft "):
        verb = line.split()[1]
    elif code := re.match(r" +(\d+)  (.*)", line):
        listed[verb, int(code[1])] = code[2]
    elif line.startswith(" "):
        listed[verb, max(code for of, code in listed if of == verb)] += " " + line.strip()
docs = pathlib.Path(sys.argv[2]) / "docs"
table = {}
for row in re.findall(r"^\| (.*?) \| (\d+) \| (.*?) \|$", (docs / "cli.md").read_text(), re.M):
    verb = row[0].strip("`").removeprefix("weft ")
    table["" if verb == "any" else verb, int(row[1])] = row[2].replace("`", "")
assert table == listed, set(table.items()) ^ set(listed.items())
for verb in ("check", "replay", "validate"):
    rows = re.findall(r"^\| (\d) \| ", (docs / f"{verb}.md").read_text(), re.M)
    known = {code for of, code in listed if of in ("", verb)}
    assert {int(code) for code in rows} == known, (verb, rows, known)
PYTHON
  # Most of those that need a GPU come out in tests/e2e: check.sh, try_job.sh, validate.sh.
  local golden=$source/tests/runner/recording/golden
  head -c 500 "$golden/trainer_filled.weftrec" >short.weftrec
  local words
  while read -r wanted words; do
    # shellcheck disable=SC2086  # words
    run "$weft" $words
    expect_code "$wanted"
  done <<COMMANDS
0 version
0 summary $source/tests/trace/run
1 summary missing
2 summary
1 run --fill missing -- true
2 run
0 run -q -- true
126 run -q -- $work
127 run -q -- missing
1 check
2 check --verbos
1 try $job
2 try
1 validate $source/tests/trace/run
2 validate
1 diff missing missing
2 diff missing
1 top --once $source/tests/trace/run
1 top --json missing
2 top $source/tests/trace/run
2 top --once --interval 1s $source
0 replay $golden/trainer_filled.weftrec
2 replay short.weftrec
2 help nothing
COMMANDS
  for lines in check.sh:'check 3' check.sh:'check 0' try_job.sh:' 0 matmul' try_job.sh:' 3 "$bad' validate.sh:'-eq 3'; do
    grep -qF -- "${lines#*:}" "$source/tests/e2e/${lines%%:*}" || fail "tests/e2e/${lines%%:*} no longer has '${lines#*:}'"
  done
}

# On a terminal only, and not where NO_COLOR is set.
colours() {
  run "$weft" summary "$source/tests/trace/run"
  [[ $out != *$'\e'* ]] || fail "colours in a pipe"
  on_terminal() {
    run python3 -c 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$@" </dev/null
    out=${out//$'\r'/}
  }
  local plain=$out
  TERM=xterm on_terminal "$weft" summary "$source/tests/trace/run"
  expect_code 0
  [[ $out == $'\e[1m'*": 3 ranks, "*$'\e[0m'*$'\e[33mnote:\e[0m'* ]] || fail "a bold head, yellow notes"
  [[ $(sed $'s/\e\\[[0-9]*m//g' <<<"$out") == "$plain" ]] || fail "the same text"
  TERM=xterm on_terminal "$weft" frobnicate
  expect_code 2
  [[ $out == "weft: "$'\e[31merror:\e[0m '* ]] || fail "a red error"
  TERM=xterm on_terminal "$weft" summary --json "$source/tests/trace/run"
  [[ $out != *$'\e'* ]] || fail "colours in JSON"
  NO_COLOR=1 TERM=xterm on_terminal "$weft" summary "$source/tests/trace/run"
  [[ $out == "$plain" ]] || fail "colours with NO_COLOR"
  TERM=dumb on_terminal "$weft" summary "$source/tests/trace/run"
  [[ $out == "$plain" ]] || fail "colours on a terminal that has none"
}

"$case_name"
