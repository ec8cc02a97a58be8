#!/bin/bash
# weft run and weft lib: the command, its variables, the library that is preloaded, the fill job.
#
# Run by ctest, a case at a time: see cases.sh.
. "$(dirname "$0")/cases.sh"

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

# A file, or earlier traces, at the place of the traces.
place_of_traces() {
  touch file
  for folder in file file/below/it 'file/%r'; do
    run "$weft" run --output "$folder" -- echo runs
    expect_code 2
    expect_out ""
    expect_err "weft: error: traces cannot be written to $folder: file is no folder"
  done
  # A variable of the environment keeps no command from running.
  WEFT_OUTPUT=$work/file run "$weft" run -q -- echo runs
  expect_code 0
  expect_out runs
  WEFT=off run "$weft" run --output file -- echo runs
  expect_out runs
  mkdir folder
  ln -s folder link
  run "$weft" run --output link -- true
  expect_err "weft: traces will be in link/ if the command uses NCCL"
  cp "$source"/tests/trace/run/rank0.100.jsonl folder
  run "$weft" run --output link -- true
  expect_code 0
  expect_err "weft: traces will be in link/ if the command uses NCCL; some are there already, and 'weft summary' takes the newest run"
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

ranges_without_call_sites() {
  for no in "--call-sites off" "--set call_sites=no" "--call-sites 0"; do
    run "$weft" run -q --nvtx $no -- echo runs
    expect_code 2
    expect_out ""
  done
  WEFT_CALL_SITES=off run "$weft" run -q --nvtx -- sh -c 'echo $WEFT_CALL_SITES'
  expect_out on
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
  run "$weft" run -q --input x.npy -- echo runs
  expect_code 2
  expect_out ""
  expect_err "weft: error: --input x.npy: it is for a fill job, and there is none (--fill JOB)*"
  run "$weft" run -q --queue q --results y.npy -- echo runs
  expect_code 2
  expect_err "weft: error: --results y.npy: it is for a fill job, and jobs of a queue have their own (weft jobs submit JOB --results)*"
  WEFT_INPUT=x.npy run "$weft" run -q -- echo runs
  expect_code 0
  # Whatever is cut off the file, the answer is one line.
  size=$(stat -c %s "$job")
  for ((length = 0; length < size; length += size / 40 + 1)); do
    head -c $length "$job" >cut.so
    run "$weft" run -q --fill ./cut.so -- echo runs
    expect_code 1
    expect_one_line
  done
}

"$case_name"
