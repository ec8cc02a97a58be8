# The weft command as a user meets it: what the tests of each verb begin with. Each of them runs one case, which is a
# function of it: NAME_test.sh CASE WEFT LIBRARY JOB SOURCE
#
# Each case works in an installed tree of its own, in a folder that goes away: bin/weft next to lib/weft/libweft.so (a
# stand-in that does nothing). A case fails with the first check that does not hold.
set -u
shopt -s extglob
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
