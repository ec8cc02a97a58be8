#!/bin/bash
# The weft command as a user meets it. Runs one case: cli_test.sh CASE WEFT LIBRARY JOB SOURCE
#
# Each case works in an installed tree of its own, in a folder that goes away: bin/weft next to lib/weft/libweft.so (a
# stand-in that does nothing). A case fails with the first check that does not hold.
set -u
case_name=$1 weft_binary=$2 library=$3 job=$4 source=$5

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset ${!WEFT*} ${!SLURM*} LD_PRELOAD RANK OMPI_COMM_WORLD_RANK PMI_RANK PMIX_RANK PBS_JOBID LSB_JOBID TORCHELASTIC_RUN_ID
export XDG_RUNTIME_DIR=$work/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"

install_into() {
  mkdir -p "$1/bin" "$1/lib/weft"
  cp "$weft_binary" "$1/bin/weft"
  cp "$library" "$1/lib/weft/libweft.so"
  cp "$job" "$1/lib/weft/fill_stand_in.so"
  weft=$1/bin/weft
}
install_into "$work/tree"
cd "$work" || exit 1

fail() {
  printf 'FAILED: %s\nexit code: %s\nstdout: %s\nstderr: %s\n' "$1" "$code" "$out" "$err"
  exit 1
}
# Runs a command; leaves $code, $out and $err. Each exit code of a verb has to be in the list.
run() {
  "$@" >"$work/stdout" 2>"$work/stderr"
  code=$?
  out=$(<"$work/stdout")
  err=$(<"$work/stderr")
  [[ $1 == "$weft" ]] && expect_listed_code "${2-}"
}
declare -A listed=()
list_codes() {
  local word rest verb=""
  while read -r word rest; do
    [[ $word == weft ]] && verb=$rest
    [[ $word =~ ^[0-9]+$ ]] && listed[$verb:$word]=1
  done < <("$weft" help exit-codes)
}
expect_listed_code() {
  [[ ${#listed[@]} -gt 0 ]] || list_codes
  [[ $1 == run || -n ${listed[$1:$code]-} || -n ${listed[:$code]-} ]] || fail "exit code $code of weft $1 is in no list"
}
expect_code() { [[ $code == "$1" ]] || fail "exit code $1 expected"; }
expect_out() { [[ $out == "$1" ]] || fail "stdout expected: $1"; }
expect_err() { [[ $err == $1 ]] || fail "stderr expected: $1"; }
expect_one_line() { [[ $err == "weft: "* && $err != *$'\n'* ]] || fail "one line from weft expected on stderr"; }

exit_codes() {
  for wanted in 0 1 7 42 255; do
    run "$weft" run -q -- sh -c "exit $wanted"
    expect_code $wanted
    expect_err ""
  done
  run "$weft" run -q -- sh -c 'kill -9 $$'
  expect_code 137
  run "$weft" run -q -- ./missing-command
  expect_code 127
  expect_err "weft: error: cannot run './missing-command': No such file or directory"
  touch no-program
  run "$weft" run -q -- ./no-program
  expect_code 126
  expect_err "weft: error: cannot run './no-program': Permission denied"
}

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
  expect_err "weft: error: A subcommand is required; see 'weft jobs --help'"
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

# Two runs that differ in a known way, and what is not comparable. The contents are looked at in tests/trace/compare.
diff_runs() {
  local flags=(--observe --iterations 60)
  run "$weft" simulate "${flags[@]}" --output usual
  run "$weft" simulate "${flags[@]}" --seed 2 --output again
  run "$weft" simulate "${flags[@]}" --seed 3 --forward 11ms --output longer
  run "$weft" simulate "${flags[@]}" --seed 4 --stages 8 --output wider
  run "$weft" diff usual longer
  expect_code 0
  expect_err ""
  [[ $out == "A  usual: 4 ranks, "*"B  longer: 4 ranks, "*"The median iteration of B takes "*" % longer: "*"by rank"*"rank 3"* ]] || fail "the text"
  [[ $out != *"note: other"* ]] || fail "nothing else differs"
  run "$weft" diff usual longer --json
  expect_code 0
  python3 - "$out" "$source/docs/diff.md" <<'PYTHON' || fail "the JSON, and its keys in docs/diff.md"
import json, sys
found, page = json.loads(sys.argv[1]), open(sys.argv[2]).read()
change = found["all"]["iteration_time"]
assert change["differs"] and change["low"] < change["change"] < change["high"], change
assert 0.05 < change["change"] < 0.13, change
assert change["b"] / change["a"] - 1 - change["change"] < 1e-9
assert len(found["by_rank"]) == 4 and found["by_rank"][2]["name"] == "rank 2" and len(found["stages"]) == 4
assert abs(sum(part["a"] for part in found["all"]["idle_share_by_cause"].values())
           + found["all"]["idle_share_cause_not_recorded"]["a"] - found["all"]["idle_share"]["a"]) < 1e-9
for keys in (found, found["a"], found["all"], found["by_rank"][0], change):
    assert all(f"`{key}`" in page for key in keys), set(keys)
PYTHON
  run "$weft" diff usual again
  expect_code 0
  [[ $out == *"The median iteration: no difference seen, at most "*" (95 % interval -"* ]] || fail "no difference"
  run "$weft" diff usual wider
  expect_code 0
  [[ $out == *"note: other number of ranks: 4 in A, 8 in B; nothing is compared by stage or rank"*"other work than"* && $out != *"by rank"* ]] || fail "other ranks"
  run "$weft" diff usual usual
  expect_code 1
  expect_err "weft: error: A and B are traces of the same run"
  run "$weft" simulate --observe --iterations 12 --output brief
  run "$weft" diff usual brief
  expect_code 0
  [[ $out == *"Whether the median iteration takes longer is unknown: "*"note: B has "*" iterations: 30 are needed for an interval"* ]] || fail "few iterations"
  run "$weft" diff usual missing
  expect_code 1
  expect_err "weft: error: missing does not exist: *"
  run "$weft" diff "$source/tests/trace/run" usual
  expect_code 0
  [[ $out == *"note: A: rank 1: filling was stopped"* ]] || fail "the notes of the runs"
  run sh -c '"$1" diff usual longer >/dev/full' sh "$weft"
  expect_code 1
  expect_err "weft: error: the output cannot be written: No space left on device"
}

arguments_reach_the_command() {
  run "$weft" run -q -- printf '%s|' "a b" -- --fill "" -q
  expect_code 0
  expect_out "a b|--|--fill||-q|"
  # Without '--' the first word that is no option begins the command, and its options stay its own.
  run "$weft" run -q printf '%s|' --observe -h --fill= x
  expect_out "--observe|-h|--fill=|x|"
  # A value from an empty variable of the shell counts as not set, and takes nothing from the command.
  run "$weft" run -q --fill= -- printf '%s|' a
  expect_out "a|"
  run "$weft" run -q --slice 1ms --fill "" --output= printf '%s|' a
  expect_out "a|"
  # It wins over the environment, as every value does.
  WEFT_FILL=stand_in WEFT_SLICE=1ms run "$weft" run -q --fill= --set slice= -- sh -c 'echo ${WEFT_FILL-unset} ${WEFT_SLICE-unset}'
  expect_out "unset unset"
}

variables() {
  run "$weft" run -q --observe --slice 200us --set memory=1MiB --set WEFT_POLL=20us --set reserve-sms=4 -- \
    sh -c 'echo $WEFT $WEFT_SLICE $WEFT_MEMORY $WEFT_POLL $WEFT_RESERVE_SMS'
  expect_out "observe 200us 1MiB 20us 4"
  WEFT_SLICE=100us WEFT_POLL=3ms run "$weft" run -q --slice 200us -- sh -c 'echo $WEFT_SLICE $WEFT_POLL'
  expect_out "200us 3ms"
  run "$weft" run -q --validate sh -c 'echo $WEFT_VALIDATE'
  expect_out on
  run "$weft" run -q --set validate=on --set cupti=/x -- sh -c 'echo $WEFT_VALIDATE $WEFT_CUPTI'
  expect_out "on /x"
  run "$weft" run -q -- sh -c 'echo ${WEFT_VALIDATE-unset}'
  expect_out unset
  WEFT_VALIDATE=on run "$weft" run -q --validate=off -- sh -c 'echo $WEFT_VALIDATE'
  expect_out off
  # Folders are those of the shell that ran it, wherever the command goes.
  run "$weft" run -q --output traces --checkpoint kept -- sh -c 'cd / && echo $WEFT_OUTPUT $WEFT_CHECKPOINT'
  expect_out "$work/traces $work/kept"
  WEFT_OUTPUT=/x run "$weft" run -q --checkpoint '%q{HOME}/kept' -- sh -c 'echo $WEFT_OUTPUT $WEFT_CHECKPOINT'
  expect_out "/x %q{HOME}/kept"
  mkdir -p '100%'
  (cd '100%' && run "$weft" run -q --output %h/x -- sh -c 'echo $WEFT_OUTPUT' && expect_out "$work/100%%/%h/x") || exit 1
  ln -s '100%' linked
  (cd linked && run "$weft" run -q --output x -- sh -c 'echo $WEFT_OUTPUT' && expect_out "$work/linked/x") || exit 1
  run "$weft" run -q -- sh -c 'echo ${WEFT_OUTPUT-unset}'
  expect_out unset
  mkdir gone
  (cd gone && rmdir ../gone && run "$weft" run -q --output here -- sh -c 'echo $WEFT_OUTPUT' && expect_out here) || exit 1
  run "$weft" run -q --set slcie=1 -- true
  expect_code 2
  expect_one_line
  run "$weft" run -q --set slice -- true
  expect_code 2
  expect_one_line
}

nothing_on_stdout() {
  run "$weft" run -- true
  expect_code 0
  expect_out ""
  expect_err "weft: traces will be in weft-+([0-9])/ if the command uses NCCL"
  run "$weft" run --output 'here/%j-%r' --job 12 -- true
  expect_err "weft: traces will be in here/12-%r/ if the command uses NCCL"
  WEFT=off run "$weft" run -- true
  expect_err "weft: WEFT=off: the command runs as if Weft were not there"
  # Of many ranks started one by one only the first says it.
  RANK=1 run "$weft" run -- true
  expect_err ""
  RANK=0 run "$weft" run -- true
  expect_err "weft: traces will be in weft-$$/ if the command uses NCCL"
}

job_id_is_shared() {
  run "$weft" run -- sh -c 'echo $WEFT_JOB $$'
  set -- $out
  [[ $1 == "$2" ]] || fail "the job id is that of the launcher, which the command becomes"
  expect_err "weft: traces will be in weft-$1/ if the command uses NCCL"
  SLURM_JOB_ID=481 run "$weft" run -- sh -c 'echo $WEFT_JOB'
  expect_out 481
  RANK=2 run "$weft" run -- sh -c 'echo $WEFT_JOB'
  expect_out $$
  WEFT_JOB=mine run "$weft" run -- sh -c 'echo $WEFT_JOB'
  expect_out mine
}

malformed_values() {
  WEFT_SLICE=abc run "$weft" run -q -- echo runs
  expect_code 0
  expect_out runs
  expect_err "weft: warning: WEFT_SLICE=abc is not a duration*default 300us is used"
  WEFT_SLICE=abc run "$weft" run -q --strict -- echo runs
  expect_code 2
  expect_out ""
  expect_err "weft: error: WEFT_SLICE=abc is not a duration from 10us to 100ms"  # no default is used: nothing runs
  run "$weft" run -q --strict --slice 5 -- true
  expect_code 2
  expect_err "weft: error: WEFT_SLICE=5 is not a duration from 10us to 100ms: its unit is missing, as in 5ms"
  WEFT_SLCE=1ms run "$weft" run -q --strict -- echo runs
  expect_code 2
  expect_err "weft: error: WEFT_SLCE is not an option of Weft; did you mean WEFT_SLICE[?]"
}

# "%q{SCRATCH}/weft" without SCRATCH would be a folder of the root.
paths_with_sequences() {
  wrong="WEFT_OUTPUT=%q{SCRATCH}/weft needs SCRATCH, which is unset or empty"
  for empty in "env -u SCRATCH" "env SCRATCH="; do
    run $empty "$weft" run --job 7 --output '%q{SCRATCH}/weft' -- echo runs
    expect_code 0
    expect_out runs
    expect_err "weft: warning: $wrong; the default weft-%j is used
weft: traces will be in weft-7/ if the command uses NCCL"
    run $empty "$weft" run -q --strict --output '%q{SCRATCH}/weft' -- echo runs
    expect_code 2
    expect_out ""
    expect_err "weft: error: $wrong"
  done
  run env SCRATCH=/s "$weft" run --strict --output '%q{SCRATCH}/weft' -- echo runs
  expect_code 0
  expect_err "weft: traces will be in /s/weft/ if the command uses NCCL"
  # Of one mistake is one line, wherever the command stands.
  export WEFT_OUTPUT='%q{SCRATCH}/weft'
  run "$weft" run -q -- "$weft" run -q -- true
  expect_one_line
  unset WEFT_OUTPUT
  run "$weft" run -q --output 'a%z' -- echo runs
  expect_code 0
  expect_out runs
  expect_err "weft: warning: WEFT_OUTPUT=a%z has %z, which stands for nothing (%% is a percent sign); it stays in the name"
  run "$weft" run -q --strict --output 'a%z' -- echo runs
  expect_code 2
  expect_out ""
  expect_one_line
  run "$weft" run -q --strict --checkpoint '%q{SCRATCH}/kept' -- echo runs
  expect_code 2
  expect_err "weft: error: WEFT_CHECKPOINT=%q{SCRATCH}/kept needs SCRATCH, which is unset or empty"
  # A launcher below sets them for its ranks; behind it they have to be there.
  run "$weft" run --strict --output 'x/%q{LOCAL_RANK}' -- sh -c 'echo "$WEFT_OUTPUT ${WEFT_WARNED-unset}"'
  expect_out "$work/x/%q{LOCAL_RANK} unset"
  expect_err "weft: traces will be in x/%q{LOCAL_RANK}/ if the command uses NCCL"
  RANK=0 run "$weft" run -q --strict --output 'x/%q{LOCAL_RANK}' -- true
  expect_code 2
  # A script of Slurm starts torchrun.
  SLURM_PROCID=0 run "$weft" run -q --strict --output 'x/%q{LOCAL_RANK}' -- true
  expect_code 0
  SLURM_PROCID=0 run "$weft" run -q --strict --output 'x/%q{SLURM_LOCALID}' -- true
  expect_code 2
}

# A wrong variable is one line, wherever the command stands: the ranks below are told that it was said.
said_once() {
  export WEFT_SLICE=abc
  run "$weft" run -q -- "$weft" run -q -- sh -c 'echo "$WEFT_SLICE $WEFT_WARNED"'
  expect_out "abc on"
  expect_one_line
  RANK=0 run "$weft" run -q -- true
  expect_one_line
  OMPI_COMM_WORLD_RANK=1 run "$weft" run -q -- sh -c 'echo "$WEFT_WARNED"'
  expect_out on
  expect_err ""
  unset WEFT_SLICE
  run "$weft" run -q -- sh -c 'echo "${WEFT_WARNED-nothing was wrong}"'
  expect_out "nothing was wrong"
}

preload() {
  run "$weft" lib
  expect_out "$work/tree/lib/weft/libweft.so"
  run "$weft" run -q -- sh -c 'echo "$LD_PRELOAD"'
  expect_out "$work/tree/lib/weft/libweft.so"
  LD_PRELOAD=libc.so.6:libm.so.6 run "$weft" run -q -- sh -c 'echo "$LD_PRELOAD"'
  expect_out "$work/tree/lib/weft/libweft.so:libc.so.6:libm.so.6"
  run "$weft" run -q -- "$weft" run -q -- sh -c 'echo "$LD_PRELOAD"'
  expect_out "$work/tree/lib/weft/libweft.so"
  run "$weft" run -q -- grep -c -m1 "$work/tree/lib/weft/libweft.so" /proc/self/maps
  expect_out 1
  ln -s "$weft" linked-weft
  run ./linked-weft lib
  expect_out "$work/tree/lib/weft/libweft.so"
  rm "$work/tree/lib/weft/libweft.so"
  run "$weft" run -q -- echo runs
  expect_code 1
  expect_out ""
  expect_err "weft: error: libweft.so is not where it belongs*"
}

# LD_PRELOAD is split at blanks and colons: the library must be loaded all the same, with nothing left for each launch.
awkward_paths() {
  for folder in "with blank" with:colon 'with$dollar' "two  blanks"; do
    install_into "$work/$folder"
    run "$weft" run -q -- grep -m1 -o 'libweft.so' /proc/self/maps
    expect_code 0
    expect_out libweft.so
    expect_err ""
    run "$weft" lib
    [[ $out != *[\ :\$]* ]] || fail "a path that LD_PRELOAD can hold"
    cmp -s "$out" "$work/$folder/lib/weft/libweft.so" || fail "the same library"
    [[ -e ${out%/*}/fill_stand_in.so ]] || fail "the libraries next to it are reached the same way"
    [[ $(stat -c %a "$(dirname "$(dirname "$out")")") == 700 ]] || fail "a private folder"
  done
  [[ $(ls "$XDG_RUNTIME_DIR" | wc -l) == 4 ]] || fail "one link for each installation"
}

# A folder of that name which others may write to is not used.
foreign_link_folder() {
  install_into "$work/with blank"
  run "$weft" lib
  chmod 777 "$(dirname "$(dirname "$out")")"
  first=$out
  export TMPDIR=$work/tmp
  mkdir "$TMPDIR"
  run "$weft" lib
  [[ $out == "$TMPDIR"/* && $out != "$first" ]] || fail "the next place is taken"
}

fill_job() {
  run "$weft" run -q --fill "$job:n=64" -- sh -c 'echo $WEFT $WEFT_FILL'
  expect_out "fill $job:n=64"
  cp "$job" here.so
  run "$weft" run -q --fill here.so -- sh -c 'echo $WEFT_FILL'
  expect_out "$work/here.so"
  run "$weft" run -q --fill stand_in:a:b -- sh -c 'echo $WEFT_FILL'
  expect_out "$work/tree/lib/weft/fill_stand_in.so:a:b"
  WEFT=observe run "$weft" run -q --fill stand_in -- sh -c 'echo $WEFT'
  expect_out fill
  for off in off OFF Off; do
    WEFT=$off run "$weft" run -q --fill stand_in -- sh -c 'echo $WEFT'
    expect_out $off
  done
  WEFT=observe run "$weft" run -q --set fill=stand_in -- sh -c 'echo $WEFT'
  expect_out fill
  # One command line says one thing; a job of the environment gives way.
  for mode in --observe "--mode observe" "--mode OBSERVE" "--set mode=observe" "--set WEFT=observe"; do
    run "$weft" run -q $mode --fill stand_in -- echo runs
    expect_code 2
    expect_out ""
    WEFT_FILL=stand_in run "$weft" run -q $mode -- sh -c 'echo $WEFT'
    [[ ${out,,} == observe ]] || fail "observe expected, not $out"
  done
}

bad_fill_job() {
  run "$weft" run -q --fill no-such-job -- echo runs
  expect_code 1
  expect_out ""
  expect_err "weft: error: fill job 'no-such-job': no such file*"
  WEFT_FILL=./gone.so run "$weft" run -q -- echo runs
  expect_code 1
  expect_err "weft: error: fill job './gone.so': no such file"
  run "$weft" run -q --fill "$library" -- echo runs
  expect_code 1
  expect_err "weft: error: fill job '$library' does not export weft_fill_job_v2"
  echo text >text.so
  run "$weft" run -q --fill ./text.so -- echo runs
  expect_err "weft: error: fill job './text.so' is not a shared object for this machine"
  run "$weft" run -q --fill "$work" -- echo runs
  expect_err "weft: error: fill job '$work' is not a file"
  run "$weft" run -q --mode fill -- echo runs
  expect_code 2
  expect_err "weft: error: mode fill needs a fill job*"
  # Whatever is cut off the file, the answer is one line.
  size=$(stat -c %s "$job")
  for ((length = 0; length < size; length += size / 40 + 1)); do
    head -c $length "$job" >cut.so
    run "$weft" run -q --fill ./cut.so -- echo runs
    expect_code 1
    expect_one_line
  done
}

config() {
  WEFT_SLICE=200us WEFT_SLCE=1 run "$weft" config
  expect_code 0
  expect_err "weft: warning: WEFT_SLCE is not an option of Weft; did you mean WEFT_SLICE[?]"
  [[ $out =~ WEFT_SLICE\ +200us\ +300us\ +environment ]] || fail "the value, the default and the source"
  [[ $out =~ WEFT_MEMORY\ +1GiB\ +1GiB\ +default ]] || fail "a default"
  [[ $out == *"--slice, a duration from 10us to 100ms"* ]] || fail "the flag and what it accepts"
  [[ $out != *WEFT_POLL* && $out == *"weft config --all"* ]] || fail "an advanced option that is not set"
  run "$weft" config --all
  [[ $out =~ WEFT_POLL\ +50us\ +50us\ +default ]] || fail "advanced options with --all"
  WEFT_JOB=7 run "$weft" config --all
  [[ $out != *WEFT_JOB* && $out != *WEFT_WARNED* ]] || fail "internal options"
  WEFT_FILL=x WEFT_MEMORY=huge run "$weft" config --json
  expect_err ""
  checked=$(python3 -c '
import json, sys
config = json.load(sys.stdin)
options = {option["variable"]: option for option in config["options"]}
print(options["WEFT"]["value"], options["WEFT"]["source"], options["WEFT_MEMORY"]["value"], len(config["warnings"]))
print(options["WEFT"]["flag"], options["WEFT"]["accepted"])
page = open(sys.argv[1]).read()
assert all(f"`{key}`" in page for key in [*config, *options["WEFT"]]), "docs/trace.md lacks a key of weft config --json"
' "$source/docs/trace.md" <<<"$out")
  [[ $checked == "fill implied by WEFT_FILL 1GiB 1"$'\n'"--mode one of off, observe, fill" ]] || fail "JSON: $checked"
}

# Half of an answer must not be taken for all of it: LD_PRELOAD=$(weft lib) would be empty.
full_disk() {
  for verb in lib version config "config --markdown" "config --all --json" help --help --version "run --help"; do
    run sh -c '"$0" $1 >/dev/full' "$weft" "$verb"
    expect_code 1
    expect_err "weft: error: the output cannot be written: No space left on device"
  done
  run sh -c '"$0" nonsense >/dev/full' "$weft"
  expect_code 2
  run sh -c '"$0" run -q -- sh -c "exit 7" >/dev/full' "$weft"
  expect_code 7
}

options_page() {
  "$weft" config --markdown | diff - "$source/docs/options.md" || { code=- out=- err=-; fail "weft config --markdown >docs/options.md"; }
}

# Of the JSON on stdout.
value_of() { python3 -c 'import functools, json, sys; print(functools.reduce(lambda at, key: at[key], sys.argv[2].split("."), json.loads(sys.argv[1])))' "$out" "$1"; }

simulate() {
  run "$weft" simulate --stages 4 --iterations 20 --output traces
  expect_code 0
  expect_err ""
  [[ $out == "1f1b, 4 stages, 8 microbatches, 4 GPUs, 20 iterations (12 count) of "*"next: weft summary traces" ]] || fail "the table"
  run "$weft" summary --json traces
  expect_code 0
  [[ $(value_of total.bubbles) -gt 500 && $(value_of total.fill_units) -gt 100 ]] || fail "the traces of all ranks"
  # 20 iterations of 3 pairs of stages with 16 messages each, sent and received, and of 4 ranks with 2 sums each.
  [[ $(value_of groups.recorded) -eq 2080 && $(value_of groups.joined) -eq 2080 ]] || fail "the groups of all ranks"
  run "$weft" export traces --perfetto traces.pftrace
  expect_err *"960 sends and 960 receives, with an arrow between the two of a message"*
  printf '%s\n' 'schedule = "zb-h1"' 'stages = 2' 'ranks = 4' 'microbatches = 6' 'iterations = 20' 'forward = "4ms"' \
    'slowdown-budget = "0%"' >pipeline.toml
  run "$weft" simulate --config pipeline.toml --baselines --json
  expect_code 0
  [[ "$(value_of schedule) $(value_of stages) $(value_of ranks) $(value_of microbatches) $(value_of iterations)" == "zb-h1 2 4 6 20" ]] ||
    fail "the flags of the file"
  [[ $(value_of conversion) == 0.0 && $(value_of slowdown) == 0.0 ]] || fail "a budget of nothing"
  for name in first-planner pipefill freeride gating mps low-priority; do value_of "baselines.$name.conversion" >/dev/null || fail "$name"; done
  local before=$out
  run "$weft" simulate --config pipeline.toml --baselines --json
  [[ $out == "$before" ]] || fail "the same flags, other numbers"
  for words in "--schedule 2f2b" "--stages 0" "--ranks 6" "--jitter x" "--forward 3" "--forward 0" "--iterations 4" "--config none.toml" "--bandwidth 1" "--schedule dag --stages 3" "--seed -1" \
    "--schedule interleaved --microbatches 3" "--microbatches 8,0" "--schedule dualpipev --microbatches 8,6" "--ramp-up 5" "--evaluation-microbatches 4" \
    "--checkpoint-time 1s" "--schedule pipeoffload --evaluate-every 5 --evaluation-microbatches 6" "--gpu-memory 4GB" "--gpu-memory 0" \
    "--parameter-bytes 1GB,2GB" "--activation-bytes 1GB,little" "--observe --gpu-memory 80GB" "--fill 8x25us;memory=x" nonsense; do
    # shellcheck disable=SC2086  # words
    run "$weft" simulate $words
    expect_code 2
    expect_one_line
  done
  run "$weft" simulate --iterations 20 --output traces
  expect_code 1
  expect_err "weft: error: traces has traces already; each run has a folder of its own"
  run "$weft" simulate --stages 2 --microbatches 300 --iterations 12 --json
  [[ $(value_of filling_stopped) == None ]] || fail "an iteration of many groups"
  run "$weft" simulate --iterations 20 --output /proc/nowhere
  expect_code 1
  expect_one_line
}

# Evaluations, checkpoints, other numbers of microbatches; memory.
simulate_changes() {
  printf '%s\n' 'stages = 4' 'microbatches = [4, 8]' 'iterations = 40' 'evaluate-every = 5' 'checkpoint-every = 10' 'checkpoint-time = "200ms"' >changing.toml
  run "$weft" simulate --config changing.toml
  expect_code 0
  [[ $out == "1f1b, 4 stages, 4, 8 microbatches, 4 GPUs"* && $out != *activations* ]] || fail "the numbers of microbatches"
  run "$weft" simulate --config changing.toml --json
  [[ "$(value_of microbatches) $(value_of stage_memory | head -c 22)" == "[4, 8] [{'parameter_bytes': 8" ]] || fail "a list"
  local changing
  changing=$(value_of iteration_seconds)
  run "$weft" simulate --microbatches 4,8 --ramp-up 10 --json
  [[ $(value_of iteration_seconds) != "$changing" ]] || fail "a ramp-up"
  # 8 GiB of parameters, 2 of reserve, 512 MiB for each of 4 to 1 microbatches.
  run "$weft" simulate --iterations 20 --gpu-memory 20GiB --fill 'small=8x25us;memory=1GiB' --fill 'large=8x25us;memory=9.2GiB' --output memory
  expect_code 0
  [[ $out == *"    2    8.00 GiB     1.00 GiB    9.00 GiB  small"$'\n'"    3    8.00 GiB     0.50 GiB    9.50 GiB  small, large"* ]] || fail "the memory of stages"
  grep -q '"name": "large", "event": "refused", "why": "it needs 9420 MiB, the training leaves 9216 MiB"' memory/rank2.*.jsonl || fail "the trace says why"
  grep -q '"name": "large", "event": "ready"' memory/rank3.*.jsonl || fail "a job that fits"
  run "$weft" simulate --schedule pipeoffload --iterations 20 --gpu-memory 20GiB --fill 'huge=8x25us;memory=1TiB'
  [[ $out == *"note: huge fits on no GPU"* && $out == "pipeoffload, "* ]] || fail "a job that fits nowhere"
  run "$weft" summary memory
  expect_code 0
}

simulate_jobs() {
  local mix=(--fill "late=40x25us;units=100;arrives=2s" --fill "early=40x25us;units=1000")
  run "$weft" simulate "${mix[@]}" --job-policy shortest
  expect_code 0
  expect_err ""
  [[ $out == *"arrived        began        ended"*"early "*" 0.000 s"*"late "*" 2.000 s"*"from arrival to end: "*" s on average"* ]] ||
    fail "the jobs, in the order in which they arrive"
  run "$weft" simulate "${mix[@]}" --job-policy shortest --json
  expect_code 0
  python3 -c 'import json, sys
run = json.loads(sys.argv[1])
early, late = run["jobs"]
assert (early["name"], late["name"], early["arrived"], late["arrived"]) == ("early", "late", 0, 2), run["jobs"]
assert 2 <= late["began"] < late["ended"] < early["ended"] and late["units"] == 400, run["jobs"]
assert abs(run["mean_completion"] - (early["ended"] + late["ended"] - 2) / 2) < 1e-9, run["mean_completion"]
' "$out" || fail "jobs as JSON"
  # 5.5, 6, 6.5 and 7 GiB beside the reserve.
  printf '%s\n' 'iterations = 20' 'gpu-memory = "17.5GiB"' "fill = ['tune=8x25us;memory=6.2GiB;variant=8x10us;memory=1GiB']" >variants.toml
  run "$weft" simulate --config variants.toml --output variants
  expect_code 0
  [[ $out == *"  as differs"*"6.00 GiB  tune (8x10us)"*"6.50 GiB  tune (8x25us)"* ]] || fail "a variant for each stage"
  grep -q '"name": "tune", "event": "ready", "why": "8x25us needs 6348 MiB, 6144 MiB are free", .*"variant": "8x10us"' variants/rank1.*.jsonl ||
    fail "the trace names the variant, and says why"
  run "$weft" summary variants
  [[ $out == *"job 0, tune (differs): "* ]] || fail "the summary names the variants"
  run "$weft" simulate --iterations 20 --fill '8x25us;variant=8x10us' --json
  [[ $out == *'"variant": "8x25us",'* && $(value_of jobs) == *"'variant': '8x25us'"* ]] || fail "the first one where there is room"
  run "$weft" simulate --price 2.5 --fill-price 1 --baselines --json
  expect_code 0
  python3 -c 'import json, sys
run = json.loads(sys.argv[1])
saving = run["saving"]
assert saving["training_cost_per_day"] == 4 * 24 * 2.5, saving
assert abs(saving["fill_value_per_day"] - 24 * run["gpu_equivalents"]) < 1e-9, saving
assert abs(saving["slowdown_cost_per_day"] - 240 * run["slowdown"] / (1 + run["slowdown"])) < 1e-9, saving
assert run["baselines"]["mps"]["saving"]["slowdown_cost_per_day"] > saving["slowdown_cost_per_day"], run["baselines"]["mps"]
' "$out" || fail "saving as JSON"
  run "$weft" simulate --fill 400x25us --fill 40x25us --arrivals 1s --json
  expect_code 0
  local before=$out
  run "$weft" simulate --fill 400x25us --fill 40x25us --arrivals 1s --json
  [[ $out == "$before" && $(value_of mean_completion) == None && $(value_of saving) == None ]] || fail "the same seed, the same arrivals"
  for words in "--fill 400x25us;arrives=soon" "--fill 400x25us;variant=" "--fill 400x25us;variant=fast" \
    "--fill 9x1ms$(printf ';variant=%dx1ms' {8..1})" "--fill 8x1ms;variant=1ms;memory=x" "--arrivals 3" "--price x" "--price nan" "--fill-price 1" "--price -1" "--observe --price 1"; do
    # shellcheck disable=SC2086  # words
    run "$weft" simulate $words
    expect_code 2
    expect_one_line
  done
}

estimate() {
  run "$weft" simulate --observe --iterations 40 --output observed
  expect_code 0
  [[ $out == *"next: weft estimate observed" ]] || fail "the next step"
  run "$weft" estimate observed
  expect_code 0
  expect_err ""
  [[ $out == "4 ranks"*"400x25us, WEFT_SLICE=300us, WEFT_SLOWDOWN_BUDGET=0.1%"*"WEFT_SLOWDOWN_BUDGET=1%"*"units in a day"* && $out != *note:* ]] ||
    fail "the table"
  run "$weft" estimate observed --price 2.5
  [[ $out == *"in a day: fill work worth "*" at most; saved "*" at least, +"* ]] || fail "what it saves"
  run "$weft" estimate observed --price 2.5 --json
  python3 -c 'import json, sys
for one in json.loads(sys.argv[1])["estimates"]:
    saving = one["least_saving"]
    assert abs(saving["fill_value_per_day"] - 2.5 * one["gpu_hours_per_day"]) < 1e-9, one
    assert 0 < saving["saving_per_day"] < saving["fill_value_per_day"], one
' "$out" || fail "what it saves, as JSON"
  run "$weft" estimate observed --fill gemm=64x25us,2x1.5ms --fill 3ms --slowdown-budget off --slice 1ms --json
  expect_code 0
  [[ "$(value_of ranks) $(python3 -c 'import json, sys
one, two = json.loads(sys.argv[1])["estimates"]
assert 0.8 < one["conversion"] < 1 and two["conversion"] < one["conversion"], (one, two)
assert abs(one["units_per_day"] * 0.0046 / 3600 - one["gpu_hours_per_day"]) < 1e-6
print(one["job"], two["job"], one["options"])' "$out")" == "4 gemm 3ms {'WEFT_SLICE': '1ms', 'WEFT_SLOWDOWN_BUDGET': 'off'}" ]] ||
    fail "two jobs of other lengths"
  for words in "" "observed --fill" "observed --fill matmul" "observed --fill 3x" "observed --fill 0x3us" "observed --fill 999999x3us" "observed --slice 0" \
    "observed --slowdown-budget little" "observed --slice 3"; do
    # shellcheck disable=SC2086  # words
    run "$weft" estimate $words
    expect_code 2
    expect_one_line
  done
  run "$weft" estimate nowhere
  expect_code 1
  expect_one_line
  run "$weft" simulate --iterations 20 --output filled
  run "$weft" estimate filled
  expect_code 0
  [[ $out == *"note: rank 0, 1, 2, 3: fill work ran in this run"* ]] || fail "a run that was filled"
}

summary() {
  run "$weft" summary "$source/tests/trace/run"
  expect_code 0
  [[ $(sed 1d <<<"$out") == "$(sed 1d "$source/tests/trace/run/expected.txt")" ]] || fail "the expected table"
  run "$weft" summary --json "$source/tests/trace/run"
  [[ $out == "$(<"$source/tests/trace/run/expected.json")" ]] || fail "the expected JSON"
  mkdir first second
  cp "$source"/tests/trace/run/rank0.* first
  cp "$source"/tests/trace/run/rank[12].* second
  run "$weft" summary --json first second
  [[ $(sort <<<"$out") == "$(sort "$source/tests/trace/run/expected.json")" ]] || fail "the same from two directories"
  run "$weft" summary first second
  [[ $out == "first and 1 more: 3 ranks, "* ]] || fail "both directories in the first line"
  # The same folder twice is one, and so is a trace of which there is a copy.
  run "$weft" summary "$source/tests/trace/run/" "$source/tests/trace/run"
  [[ $(sed 1d <<<"$out") == "$(sed 1d "$source/tests/trace/run/expected.txt")" ]] || fail "the table of one folder"
  [[ $out == "$source/tests/trace/run/: 3 ranks, "* ]] || fail "one directory in the first line"
  cp -r first copied
  cp first/rank0.100.jsonl copied/rank0.copy.jsonl
  run "$weft" summary copied
  [[ $out == *"note: copied/rank0.copy.jsonl is a copy of copied/rank0.100.jsonl; it is left out"* ]] || fail "a copy"
  mkdir bare
  run "$weft" summary bare
  expect_code 1
  expect_err "weft: error: there are no traces (rank[*].jsonl) in bare"
  # The folder above the traces: the message names where they are.
  mkdir -p above/run/trace above/too/deep/to/look
  cp first/rank0.* above/run/trace
  cp first/rank0.* above/too/deep/to/look
  for verb in summary validate; do
    run "$weft" $verb above
    expect_code 1
    expect_err "weft: error: there are no traces (rank[*].jsonl) in above; below there are some in above/run/trace"
  done
  for more in 1 2 3; do cp -r above/run above/run$more; done
  run "$weft" summary above
  expect_err "*; below there are some in above/run/trace, above/run1/trace, above/run2/trace and 1 more"
  run "$weft" summary missing
  expect_code 1
  expect_err "weft: error: missing does not exist: mistyped, or no process with an NCCL communicator ran under Weft (*README*)"
  touch file
  run "$weft" summary file
  expect_code 1
  expect_err "weft: error: file is not a directory"
  mkdir foreign
  echo '{"type": "header", "format": "weft-trace", "version": 99}' >foreign/rank0.1.jsonl
  run "$weft" summary foreign
  expect_code 1
  expect_err "weft: error: foreign/rank0.1.jsonl:1: has version 99*"
}

# The contents are looked at in tests/trace/export.
export_traces() {
  traces=$source/tests/trace/run
  run "$weft" export "$traces" --perfetto run.pftrace
  expect_code 0
  expect_out ""
  expect_err "weft: note: *rank 0, 1, 2: the trace has no groups *weft: run.pftrace, *: 3 ranks, *"
  [[ -s run.pftrace ]] || fail "a file"
  run "$weft" export "$traces" --perfetto one.pftrace --ranks 0 --iterations 1
  expect_code 0
  [[ $(stat -c %s one.pftrace) -lt $(stat -c %s run.pftrace) ]] || fail "less of one rank"
  run "$weft" export "$traces"
  expect_code 2
  expect_err "weft: error: a format is missing, as --perfetto FILE; see 'weft export --help'"
  run "$weft" export "$traces" --perfetto x --iterations 3-1
  expect_code 2
  expect_err "weft: error: '3-1' is no range of iterations; 100-110 is; see 'weft export --help'"
  run "$weft" export "$traces" --perfetto x --ranks 1,,2
  expect_code 2
  expect_err "weft: error: '1,,2' is no list of ranks; 0,4-7 is; see 'weft export --help'"
  run "$weft" export "$traces" --perfetto x --ranks 7
  expect_code 1
  expect_err "weft: error: none of the wanted ranks has a trace here; the last one is rank 2"
  run "$weft" export "$traces" --perfetto none/x
  expect_code 1
  expect_err "*weft: error: none/x cannot be written: No such file or directory"
  run "$weft" export "$traces" --perfetto /dev/null
  expect_code 1
  expect_err "*weft: error: /dev/null cannot be written: it is no regular file"
  [[ -c /dev/null ]] || fail "a device stays what it is"
  run "$weft" export missing --perfetto x
  expect_code 1
  expect_err "weft: error: missing does not exist: *"
  run "$weft" export "$traces" --kineto kineto --perfetto again.pftrace
  expect_code 0
  [[ $(ls kineto) == $'rank0.json\nrank1.json\nrank2.json' ]] || fail "a file for each rank"
  cmp -s run.pftrace again.pftrace || fail "the same again"
  run "$weft" export "$traces" --csv tables --ranks 0,2
  expect_code 0
  [[ $(cut -d, -f1 tables/header.csv) == $'trace_rank\n0\n2' ]] || fail "a table with two traces"
  run "$weft" export "$traces" --kineto kineto
  expect_code 1
  expect_err "weft: error: kineto cannot be written: the folder is not empty"
  run "$weft" export "$traces" --perfetto early.pftrace --csv kineto
  expect_code 1
  expect_err "weft: error: kineto cannot be written: the folder is not empty"
  [[ ! -e early.pftrace ]] || fail "all outputs are looked at first"
  run "$weft" export "$traces" --perfetto same --csv ./same
  expect_code 2
  expect_err "weft: error: two formats cannot go to same"
  run "$weft" export "$traces" --perfetto rank7.7.jsonl
  expect_code 1
  expect_err "weft: error: rank7.7.jsonl cannot be written: it has the name of a trace"
  # An export that fails leaves nothing, and takes nothing away.
  mkdir full
  echo old >full/x
  run bash -c 'trap "" XFSZ; ulimit -f 1; "$0" export "$1" --perfetto full/x' "$weft" "$traces"
  expect_code 1
  expect_err "*weft: error: full/x cannot be written: File too large"
  [[ $(ls full) == x && $(<full/x) == old ]] || fail "nothing has changed"
}

# The numbers are looked at in tests/trace/report, the page itself by browser_test.py there.
report_page() {
  traces=$source/tests/trace/run
  run "$weft" report "$traces"
  expect_code 0
  expect_out ""
  expect_err "weft: The GPUs wait for *weft: weft-report.html, *: open it in a browser"
  [[ $(ls) == *weft-report.html* && ! $(ls) == *.tmp* ]] || fail "the file alone"
  run "$weft" report "$traces" -o again.html --iteration 1
  expect_code 0
  grep -q "Iteration 1, " again.html || fail "the iteration that was asked for"
  # It has all that it needs, says that it may load nothing, and names no place but the folder's name.
  page=$(<weft-report.html)
  [[ $page == "<!DOCTYPE html>"*"default-src 'none'"*"</html>" ]] || fail "a page that may load nothing"
  if grep -nE '(src|href)="?(https?:|//|[a-z./]+\.(js|css))|@import|url\(|fetch\(|XMLHttp|WebSocket|sendBeacon' weft-report.html; then
    fail "nothing from outside"
  fi
  [[ $page != *"$source"* && $page != *"$work"* ]] || fail "no path"
  for part in title style data script; do [[ $page != *"@$part@"* ]] || fail "$part is in its place"; done
  [[ $(grep -c '<script' weft-report.html) == 2 ]] || fail "two script elements"
  export HOST_TOKEN=very-secret
  run "$weft" report "$traces" -o secret.html
  ! grep -q "very-secret" secret.html || fail "nothing of the environment"
  cmp -s secret.html weft-report.html || fail "the same again"
  run "$weft" report
  expect_code 2
  expect_one_line
  for number in x -1 99999999999999999999 1.5 ""; do
    run "$weft" report "$traces" --iteration="$number"
    expect_code 2
    expect_one_line
  done
  run "$weft" report "$traces" -o absent.html --iteration 77
  expect_code 1
  expect_err "*weft: error: no rank has measured iteration 77: there are 1 to *"
  [[ ! -e absent.html ]] || fail "no page of another iteration"
  run "$weft" report missing
  expect_code 1
  expect_err "weft: error: missing does not exist: *"
  mkdir -p empty folder
  run "$weft" report empty
  expect_code 1
  expect_err "weft: error: there are no traces (rank\*.jsonl) in empty"
  run "$weft" report "$traces" -o folder
  expect_code 1
  expect_err "weft: error: folder cannot be written: it is no regular file"
  run "$weft" report "$traces" -o rank7.7.jsonl
  expect_code 1
  expect_err "weft: error: rank7.7.jsonl cannot be written: it has the name of a trace"
  echo "my notes" >notes.txt
  run "$weft" report "$traces" -o notes.txt
  expect_code 1
  expect_err "weft: error: notes.txt cannot be written: it is there, and is no page of a report"
  [[ $(<notes.txt) == "my notes" ]] || fail "the file is as it was"
  : >empty.html
  run "$weft" report "$traces" -o empty.html
  expect_code 0
  # Nothing is left of one that fails, nor taken away by it.
  mkdir full
  echo '<!DOCTYPE html> old' >full/x
  run bash -c 'trap "" XFSZ; ulimit -f 1; "$0" report "$1" -o full/x' "$weft" "$traces"
  expect_code 1
  expect_err "*weft: error: full/x cannot be written: File too large"
  [[ $(ls full) == x && $(<full/x) == *" old" ]] || fail "nothing has changed"
  # Damage is taken as weft summary takes it, and said.
  mkdir damaged
  cp "$traces"/rank*.jsonl damaged
  printf 'no JSON\n{"type": "bub' >>damaged/rank1.101.jsonl
  sed 's/"version": [0-9]*/"version": 99/' "$traces"/rank2.102.jsonl >damaged/rank2.102.jsonl
  run "$weft" report "$PWD/damaged" -o damaged.html
  expect_code 0
  ! grep -q "$PWD" damaged.html || fail "no path, in notes neither"
  grep -q "rank1.101.jsonl:[0-9]" damaged.html || fail "the name of the file"
  grep -q "has version 99 of the trace format" damaged.html || fail "a newer version is named"
  grep -q "1 line not readable" damaged.html || fail "a line that cannot be read is named"
  # Of an observed run it says how much filling would give, but not from a few iterations, nor without bubbles.
  run "$weft" simulate --observe --stages 2 --iterations 24 --output observed
  run "$weft" report observed
  expect_err "*weft: Filling would use about * of the idle time, * of the 48 GPU hours of a day on 2 GPUs (estimated for *"
  sed -i '$i {"type": "limit", "time": 1000000, "device": 0, "bytes": 1000}' observed/rank*.jsonl
  run "$weft" report observed
  expect_err "*(estimated from part of the bubbles for a job of 400 kernels of 25 us and a slowdown budget of 1 %)*"
  sed -i '/"type": *"bubble"/d' observed/rank*.jsonl
  run "$weft" report observed
  expect_err "*It is not known how much filling would give: no bubble of an iteration is in the traces*"
  run "$weft" simulate --observe --stages 2 --iterations 12 --output brief
  run "$weft" report brief
  expect_err "*It is not known how much filling would give: it takes 20 iterations at least, and the traces have *"
  run "$weft" report --help
  [[ $(wc -l <<<"$out") -le 24 && $(wc -L <<<"$out") -le 100 ]] || fail "a screen"
}

# Until a condition holds, 20 s at most.
wait_until() {
  for _ in {1..200}; do
    eval "$1" && return
    sleep 0.1
  done
  code=- out=$(ls out) err=$(<said)
  fail "within 20 s: $1"
}

# The texts are looked at in tests/trace/metrics, and under a real Prometheus there.
export_metrics() {
  traces=$source/tests/trace/run
  mkdir out
  run "$weft" export "$traces" --prometheus out --once --all-hosts --run weft-7
  expect_code 0
  expect_out ""
  expect_err "weft: note: traces of earlier runs that are left out: 1*weft: out: 3 files"
  [[ $(ls out) == $'weft-weft-7-rank0.prom\nweft-weft-7-rank1.prom\nweft-weft-7-rank2.prom' ]] || fail "a file for each rank"
  diff <(grep -v ^weft_last_update out/weft-weft-7-rank0.prom) \
       <(grep -v ^weft_last_update "$source/tests/trace/metrics/rank0.prom") || fail "the golden text"
  rm out/*
  run "$weft" export "$traces" --prometheus out --once --all-hosts --ranks 1
  expect_code 0
  [[ $(ls out) == weft-run-rank1.prom ]] || fail "the folder's name is the run's"
  rm out/*
  run "$weft" export "$traces" --prometheus out --once
  expect_code 1
  expect_err "weft: error: none of the traces is of this host, 4 are of others; --all-hosts takes those too"
  run "$weft" export missing --prometheus out --once
  expect_code 1
  expect_err "weft: error: missing does not exist: *"
  run "$weft" export out --prometheus out --once
  expect_code 1
  expect_err "weft: error: there are no traces (rank[*].jsonl) in out"
  run "$weft" export "$traces" --prometheus none --once --all-hosts
  expect_code 1
  expect_err "weft: error: none does not exist: it is the folder that node exporter reads (*"
  touch file
  run "$weft" export "$traces" --prometheus file --once --all-hosts
  expect_code 1
  expect_err "weft: error: file cannot be written: it is no folder"
  run "$weft" export "$traces" --prometheus /proc --once --all-hosts
  expect_code 1
  expect_err "weft: error: /proc cannot be written: *"
  run bash -c '(trap "" XFSZ; ulimit -f 0; "$0" export "$1" --prometheus out --once --all-hosts) 2>&1 | cat >&2' "$weft" "$traces"
  expect_err "*weft: error: out/weft-run-rank0.prom.tmp cannot be written: File too large"
  [[ $(ls out) == "" ]] || fail "nothing is left"
  for wrong in "--perfetto x" "--iterations 1-2" "--interval 0.5s" "--interval soon" "--once --interval 2s"; do
    run "$weft" export "$traces" --prometheus out $wrong
    expect_code 2
    expect_one_line
  done
  run "$weft" export "$traces" --csv tables --once
  expect_code 2
  expect_err "weft: error: --interval, --once, --all-hosts and --run are for --prometheus, which is missing"
  # Stages that the training does not say come from its messages.
  run "$weft" simulate --stages 3 --iterations 12 --output stages
  expect_code 0
  run "$weft" export stages --prometheus out --once --all-hosts
  expect_code 0
  for rank in 0 1 2; do
    grep -q "^weft_info{run=\"stages\",rank=\"$rank\",gpu=\"0\",stage=\"$rank\"," out/weft-stages-rank$rank.prom || fail "stage of rank $rank"
  done
  rm out/*

  # Beside a run: it waits, follows, and takes its files away. One that is killed leaves them to the next one.
  trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
  touch said
  "$weft" export grows --prometheus out --interval 1s 2>said &
  wait_until '[[ $(<said) == *"note: grows does not exist"*"; waiting for it"*"there are no traces of these ranks yet; waiting" ]]'
  run "$weft" export grows --prometheus out
  expect_code 1
  expect_err "weft: error: out cannot be written: another 'weft export --prometheus' writes this run there (*--run NAME"
  mkdir grows
  host=$(uname -n)
  sed "1s/\"node\"/\"$host\"/; 1s/fill/observe/" "$traces/rank0.100.jsonl" | head -n 3 >grows/rank0.1.jsonl
  wait_until 'grep -q "^weft_bubbles_total{run=\"grows\",rank=\"0\",gpu=\"0\",cause=\"receive\"} 2$" out/weft-grows-rank0.prom 2>/dev/null'
  sed -n 4p "$traces/rank0.100.jsonl" >>grows/rank0.1.jsonl
  wait_until 'grep -q "cause=\"collective\"} 1$" out/weft-grows-rank0.prom'
  sed "1s/\"node\"/\"$host\"/" "$traces/rank1.101.jsonl" >grows/rank1.1.jsonl
  wait_until '[[ -e out/weft-grows-rank1.prom ]]'
  kill -KILL %%
  wait %% 2>/dev/null
  [[ -e out/weft-grows-rank0.prom ]] || fail "a killed one leaves its files"
  rm grows/rank1.1.jsonl
  "$weft" export grows --prometheus out --interval 1s 2>said &
  wait_until '[[ $(ls out) == $'"'weft-grows-rank0.prom\nweft-grows.lock'"' ]]'
  for signal in TERM INT HUP; do
    python3 - "$weft" $signal <<'PYTHON' || fail "SIG$signal ends it, and no file is left"
import os, signal, subprocess, sys, time
end = signal.Signals["SIG" + sys.argv[2]]
signal.signal(end, signal.SIG_DFL)
os.mkdir("out-" + sys.argv[2])
process = subprocess.Popen([sys.argv[1], "export", "grows", "--prometheus", "out-" + sys.argv[2]],
                           stderr=subprocess.DEVNULL)
deadline = time.monotonic() + 20
while not any(name.endswith(".prom") for name in os.listdir("out-" + sys.argv[2])):
    assert time.monotonic() < deadline
    time.sleep(0.05)
process.send_signal(end)
assert process.wait(20) == 0, process.returncode
assert os.listdir("out-" + sys.argv[2]) == [], os.listdir("out-" + sys.argv[2])
PYTHON
  done
  kill -TERM %%
  wait %%
  code=$?
  expect_code 0
  [[ $(ls out) == "" ]] || fail "no file is left"
}

# Of runs under the preload: tests/e2e/replay.sh.
replay() {
  golden=$source/tests/runner/recording/golden
  run "$weft" replay "$golden/trainer_filled.weftrec"
  expect_code 0
  expect_err ""
  [[ $out == "$(<"$golden/trainer_filled.txt")"*"trainer_filled.weftrec: "*" records: as recorded" ]] || fail "the summary"
  run "$weft" replay --json --output traces "$golden"/*.weftrec
  expect_code 0
  python3 - "$out" "$source/docs/replay.md" <<'PYTHON' || fail "the JSON, and its keys in docs/replay.md"
import json, sys
answer, page = json.loads(sys.argv[1]), open(sys.argv[2]).read()
assert set(answer) == {"replayed", "left_out", "summary"} and len(answer["replayed"]) == 2 and not answer["left_out"]
for device in answer["replayed"]:
    assert device["differences"] == 0 and device["first_difference"] is None and device["cut"] is None, device
    assert all(f"`{key}`" in page for key in device), device
PYTHON
  run "$weft" summary traces
  expect_code 0
  run "$weft" replay --output traces "$golden/trainer_filled.weftrec"
  expect_code 1
  expect_err "weft: error: traces has traces already; each run has a folder of its own"
  # The last block is the end; without it the process was killed.
  head -c -1 "$golden/trainer_filled.weftrec" >cut.weftrec
  run "$weft" replay cut.weftrec
  expect_code 0
  [[ $out == *"as recorded"*"it ends before the run did: the process was killed, or the file was cut off"* ]] || fail "a cut recording"
  # One more bubble in the recorded summary, and right checksums: nothing but that answer differs.
  python3 - "$golden/trainer_filled.weftrec" other.weftrec <<'PYTHON'
import re, struct, sys

def checksum(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value

file = open(sys.argv[1], "rb").read()
out, at = file[:16], 16
while at < len(file):
    kind, size, _, _ = struct.unpack_from("<IIQQ", file, at)
    block = file[at + 24:at + 24 + size]
    at += 24 + size
    if kind == 3:
        block = re.sub(rb'"bubbles": (\d+)', lambda found: b'"bubbles": %d' % (int(found[1]) + 1), block, count=1)
    head = struct.pack("<IIQ", kind, len(block), checksum(block))
    out += head + struct.pack("<Q", checksum(head)) + block
open(sys.argv[2], "wb").write(out)
PYTHON
  run "$weft" replay other.weftrec
  expect_code 3
  expect_err ""
  [[ $out == *": 1 call of "*" with another answer"*"the first is call "*"recorded: "*"now: "*"nobody knows"* ]] || fail "another answer"
  run "$weft" replay --json other.weftrec
  expect_code 3
  python3 -c 'import json, sys
device = json.loads(sys.argv[1])["replayed"][0]
page = open(sys.argv[2]).read()
assert device["differences"] == 1
assert all(f"`{key}`" in page for key in device["first_difference"]), device' "$out" "$source/docs/replay.md" || fail "the first difference"
  # One more call: a decision with more slices in flight than there may be. Behind it the end cannot be compared.
  python3 - "$golden/trainer_filled.weftrec" rule.weftrec <<'PYTHON'
import struct, sys

def block_of(kind, contents):
    head = struct.pack("<IIQ", kind, len(contents), checksum(contents))
    return head + struct.pack("<Q", checksum(head)) + contents

def checksum(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value

file = open(sys.argv[1], "rb").read()
at, kind = 16, 0
while kind != 3:
    before = at
    kind, size, _, _ = struct.unpack_from("<IIQQ", file, at)
    at += 24 + size
decide = bytes([7, 0, 1, 0, 99, 0, 0, 0, 0, 0, 0, 0])
open(sys.argv[2], "wb").write(file[:before] + block_of(2, decide) + file[before:])
PYTHON
  if grep -q 'now >= last_decision_' "$weft"; then  # WEFT_DCHECKS
    run "$weft" replay rule.weftrec missing.weftrec
    expect_code 4
    expect_err "weft: error: missing.weftrec *"
    [[ $out == *"as recorded"*"it stops at call "*" (decide), after event "*", which breaks a rule of this Weft:"*"most_in_flight"* &&
      $out == *"either the file was altered or this Weft has a fault"* ]] || fail "a call that breaks a rule"
    run "$weft" replay --json rule.weftrec
    expect_code 4
    python3 -c 'import json, sys
device = json.loads(sys.argv[1])["replayed"][0]
page = open(sys.argv[2]).read()
assert device["cut"] is None and device["events"] > 500 and device["fault"]["event"] == device["events"], device
assert all(f"`{key}`" in page for key in device["fault"]), device' "$out" "$source/docs/replay.md" || fail "the fault"
  fi
  # A file that cannot be replayed is left out and named. Alone it leaves nothing behind.
  cp "$golden/trainer_filled.weftrec" damaged.weftrec
  printf '\xff' | dd of=damaged.weftrec bs=1 seek=5000 conv=notrunc status=none
  head -c 500 "$golden/trainer_filled.weftrec" >short.weftrec
  { head -c 12 "$golden/trainer_filled.weftrec"; printf '\x63\0\0\0'; tail -c +17 "$golden/trainer_filled.weftrec"; } >newer.weftrec
  echo '{"type": "header"}' >foreign.weftrec
  touch empty.weftrec
  ln -s loop.weftrec loop.weftrec
  while IFS='|' read -r file message; do
    run "$weft" replay --output not-made "$file"
    expect_code 2
    expect_out ""
    expect_err "weft: error: $file $message"
    [[ ! -e not-made ]] || fail "a folder for a file that cannot be replayed"
    run "$weft" replay "$file" "$golden/trainer_observed.weftrec"
    expect_code 2
    expect_err "weft: error: $file $message"
    [[ $out == *"trainer_observed.weftrec: "*" records: as recorded" ]] || fail "the other file"
    run "$weft" replay --json "$golden/trainer_observed.weftrec" "$file"
    python3 -c 'import json, sys
answer = json.loads(sys.argv[1])
assert len(answer["replayed"]) == 1 and answer["replayed"][0]["rank"] == 0
[left_out] = answer["left_out"]
assert left_out["file"] == sys.argv[2] and left_out["why"]' "$out" "$file" || fail "a file that was left out, in JSON"
  done <<'FILES'
damaged.weftrec|is damaged at byte [0-9]*
short.weftrec|breaks off before its first block
newer.weftrec|has version 99 of the format; this Weft (*) replays version *
foreign.weftrec|is not a recording of Weft
empty.weftrec|is empty
missing.weftrec|does not exist
loop.weftrec|cannot be read: Too many levels of symbolic links
FILES
  # Behind its first calls a damaged file is cut.
  tail -c +17 "$golden/trainer_filled.weftrec" | cat "$golden/trainer_observed.weftrec" - >two.weftrec
  printf '\xff' | dd of=two.weftrec bs=1 seek=$(($(stat -c %s "$golden/trainer_observed.weftrec") + 5000)) conv=notrunc status=none
  run "$weft" replay two.weftrec
  expect_code 2
  expect_err "weft: error: two.weftrec is damaged at byte [0-9]*: what is behind that was left out"
  [[ $out == *" records: as recorded"*"it ends before the run did: the file is damaged at byte "* ]] || fail "a file that is damaged within"
  mkdir -p run/rank7.weftrec none
  cp "$golden/trainer_observed.weftrec" run/rank0.1.weftrec
  cp "$golden/trainer_filled.weftrec" run/rank1.2.weftrec
  touch run/other.weftrec run/rank0.1.jsonl
  run "$weft" replay --json run run/rank0.1.weftrec
  expect_code 2
  expect_err "weft: error: run/rank7.weftrec is not a file"
  python3 -c 'import json, sys
files = [device["file"] for device in json.loads(sys.argv[1])["replayed"]]
assert files == ["run/rank0.1.weftrec", "run/rank1.2.weftrec"], files' "$out" || fail "the recordings of a folder"
  rmdir run/rank7.weftrec
  run "$weft" replay run
  expect_code 0
  expect_err ""
  run "$weft" replay none
  expect_code 2
  expect_out ""
  expect_err "weft: error: none has no recordings (rank*.weftrec): WEFT_RECORD=on makes some"
  run "$weft" replay
  expect_code 2
  expect_one_line
}

# Of a run with truth files: tests/e2e/validate.sh.
validate() {
  run "$weft" validate "$source/tests/trace/run"
  expect_code 1
  [[ $out == "rank 0: not validated: there is no truth file"*"verdict: none, nothing was compared" ]] || fail "no truth"
  run "$weft" validate --json "$source/tests/trace/run"
  expect_code 1
  [[ $out == *'"agrees": false'*'"compared": false'* ]] || fail "no truth, as JSON"
  run "$weft" validate missing
  expect_code 1
  expect_err "weft: error: missing does not exist*"
  run "$weft" validate
  expect_code 2
  expect_one_line
  run "$weft" validate --shortest 9 "$source/tests/trace/run"
  expect_code 2
  expect_one_line
  for least in 98 nan; do
    run "$weft" validate --least $least "$source/tests/trace/run"
    expect_code 2
    expect_one_line
  done
  run sh -c '"$1" validate "$2" >/dev/full' sh "$weft" "$source/tests/trace/run"
  expect_code 1
  expect_err "weft: error: the output cannot be written: No space left on device"
  # A truth file from anybody: its text does not reach the terminal as it is, its numbers are looked at first.
  cp -r "$source/tests/trace/run" hostile
  read -r host process start < <(python3 -c '
import json
header = json.loads(open("hostile/rank0.100.jsonl").readline())
print(header["host"], header["process"], header.get("start_id", 0))')
  printf '{"type": "header", "format": "weft-truth", "version": 1, "host": "%s", "process": %s, "start_id": %s}\n' \
    "$host" "$process" "$start" >hostile/truth0.1.jsonl
  printf '{"type": "off", "reason": "\\u001b[2J"}\n' >>hostile/truth0.1.jsonl
  run "$weft" validate hostile
  expect_code 1
  LC_ALL=C grep -q '[^[:print:]]' "$work/stdout" && fail "a control character"
  [[ $out == *'rank 0: not validated: \x1b[2J'* ]] || fail "the reason"
  sed -i '/"off"/d' hostile/truth0.1.jsonl
  printf '%s\n' '{"type": "device", "cupti": 0, "device": 0}' '{"type": "clock", "before": 0, "cupti": 0, "after": 0}' \
    '{"type": "clock", "before": 0, "cupti": -9223372036854775808, "after": 0}' \
    '{"type": "work", "rows": [["n",0,1,1,-9223372036854775808,9223372036854775807,1,1],["n",0,1,1,5,10,5,1]]}' >>hostile/truth0.1.jsonl
  run "$weft" validate hostile
  expect_code 1
  [[ $out == *"2 lines of the truth file say nothing"* ]] || fail "impossible numbers"
}

# Other things in a directory of traces: none of them makes the command wait, grow or write to a terminal.
damaged_traces() {
  mkdir run
  cp "$source/tests/trace/run/rank0.100.jsonl" run
  mkfifo run/rank1.jsonl
  mkdir run/rank2.jsonl
  ln -s rank3.jsonl run/rank3.jsonl
  python3 -c 'print("{\"type\": \"header\", \"format\": \"weft-trace\", \"version\": 1, \"rank\": 3, \"ranks\": 4, \"wall_clock\": 2000000000, \"fill_job\": \"\\u001b[2J\"}"); print("x" * 100_000_000)' >run/rank4.jsonl
  run python3 -c '
import resource, subprocess, sys
code = subprocess.run(["timeout", "20", *sys.argv[1:]]).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
sys.exit(code if peak < 300_000 else f"{peak} KB")
' "$weft" summary run
  expect_code 0
  expect_err ""
  [[ $out == "run: 2 ranks"* ]] || fail "the two that can be read"
  for note in "run/rank1.jsonl is a FIFO, not a regular file; it is left out" \
              "run/rank2.jsonl is a directory, not a regular file; it is left out" \
              "run/rank3.jsonl cannot be read: Too many levels of symbolic links; it is left out" \
              "rank 3: 1 line longer than 65536 bytes, skipped: run/rank4.jsonl:2"; do
    [[ $out == *"note: $note"* ]] || fail "$note"
  done
  run "$weft" summary --json run
  expect_code 0
  LC_ALL=C grep -q '[^[:print:]]' "$work/stdout" && fail "a control character in the JSON"
  mkdir hostile
  echo '{"type": "header", "format": "other"}' >hostile/$'rank\e[2J.jsonl'
  run "$weft" summary hostile
  expect_code 1
  expect_err 'weft: error: hostile/rank\\x1b\[2J.jsonl:1: is not a trace of Weft'
  run "$weft" summary run/rank3.jsonl
  expect_code 1
  expect_err "weft: error: run/rank3.jsonl cannot be read: Too many levels of symbolic links"
  run sh -c '"$1" summary run >/dev/full' sh "$weft"
  expect_code 1
  expect_err "weft: error: the output cannot be written: No space left on device"
}

shopt -s extglob
"$case_name"
