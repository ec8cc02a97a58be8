#!/usr/bin/env bash
# scripts/build, demo, test and on-simulated-gpu as a user meets them: scripts_test.sh SOURCE CASE
# Each case works in a copy of the scripts, in a folder with a blank, with cmake, ctest, nvcc, dpkg-query and python3 being
# stand-ins: nothing is installed or built.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/a tree/tests/pytorch" "$work/a tree/bench/jobs/frameworks" "$work/bin"
cp -r "$1/scripts" "$work/a tree/scripts"
cp "$1/tests/pytorch/requirements.txt" "$work/a tree/tests/pytorch"
cp "$1/bench/jobs/frameworks/requirements.txt" "$work/a tree/bench/jobs/frameworks"
cd "$work/a tree" || exit 1
unset CUDA_HOME CUDA_PATH

stand_in() {
  mkdir -p "$(dirname "$1")"
  printf '#!/bin/sh\n%s\n' "$2" >"$1"
  chmod +x "$1"
}
nvcc_of_release() { stand_in "$1" "echo 'Cuda compilation tools, release $2, V$2.1'"; }
stand_in "$work/bin/dpkg-query" "echo 'install ok installed'"
# shellcheck disable=SC2016  # for the stand-in to expand
stand_in "$work/bin/cmake" 'echo "cmake $*" >>"$CALLS"; if [ "$1" = --preset ]; then cat "$STATUS"; else echo "CUDA_HOME is $CUDA_HOME"; fi'
# shellcheck disable=SC2016
stand_in "$work/bin/ctest" 'echo "ctest $*" >>"$CALLS"'
touch "$work/status" "$work/calls"
export PATH=$work/bin:$PATH STATUS=$work/status CALLS=$work/calls

fail() {
  printf 'FAILED: %s\nexit code: %s\noutput: %s\n' "$1" "$code" "$output"
  exit 1
}
run() {
  output=$("$@" 2>&1)
  code=$?
}
expect() {
  [[ $code == "$1" ]] || fail "exit code $1 expected"
  [[ $output == *"$2"* ]] || fail "expected: $2"
}

newest_toolkit() {
  nvcc_of_release "$work/bin/nvcc" 11.8
  nvcc_of_release "$work/cuda/bin/nvcc" 13.1
  CUDA_HOME=$work/cuda run scripts/build
  expect 0 "CUDA_HOME is $work/cuda"
  # Nor does the one that CUDA_HOME names, if it is too old.
  nvcc_of_release "$work/bin/nvcc" 99.0
  nvcc_of_release "$work/old/bin/nvcc" 12.4
  CUDA_HOME=$work/old run scripts/build
  expect 0 "CUDA_HOME is "
  [[ $output != *"$work/old"* ]] || fail "the old one is left"
}

what_is_left_out_is_said() {
  nvcc_of_release "$work/cuda/bin/nvcc" 13.0
  printf '%s\n' "-- Configuring" "-- The examples are left out: libnccl.so.2 is missing." >"$STATUS"
  CUDA_HOME=$work/cuda run scripts/build
  expect 0 "The examples are left out: libnccl.so.2 is missing."
}

no_trainer() {
  mkdir "$work/empty"
  run scripts/demo --build "$work/empty" --output "$work/output"
  expect 1 "$work/empty has no trainer"
  run scripts/demo --build "$work/nowhere" --output "$work/output"
  expect 2 "scripts/demo: --build $work/nowhere: there is no such folder"
  [[ $output != *nvcc* ]] || fail "a folder that is not there lacks no compiler"
}

# Wrong arguments of the demo are found before anything is built, run or made.
wrong_values() {
  mkdir -p "$work/built/bin"
  stand_in "$work/built/bin/trainer" 'echo "trainer $*" >>"$CALLS"'
  stand_in "$work/built/bin/weft-demo-report" true
  stand_in "$work/built/bin/weft" 'echo "weft: error: fill job nowhere: no such file" >&2; exit 1'
  demo=(scripts/demo --build "$work/built" --output "$work/output")
  for number in x 0 -3 1.5 "" 99999999999; do
    run "${demo[@]}" --iterations "$number"
    expect 2 "scripts/demo: --iterations $number: a whole number above 0 is wanted"
  done
  run "${demo[@]}" --schedule foo
  expect 2 "scripts/demo: --schedule foo is none of gpipe, 1f1b, interleaved"
  run "${demo[@]}" --wait foo
  expect 2 "scripts/demo: --wait foo is none of event, in-stream, host"
  run "${demo[@]}" --schedule interleaved --wait in-stream
  expect 2 "scripts/demo: --wait in-stream does not go with --schedule interleaved"
  run "${demo[@]}" --fill nowhere
  expect 1 "weft: error: fill job nowhere"
  run scripts/demo --iterations x
  expect 2 "a whole number"
  [[ ! -s $CALLS ]] || fail "nothing is called: $(<"$CALLS")"
  [[ ! -e $work/output ]] || fail "no folder is made"
}

# A folder that the demo writes to may have files of its user.
demo_keeps_files() {
  mkdir -p "$work/built/bin" "$work/output/example" "$work/output/weft-demo-example"
  touch "$work/output/example/mine" "$work/output/weft-demo-example/old"
  stand_in "$work/built/bin/trainer" true
  stand_in "$work/built/bin/weft-demo-report" true
  stand_in "$work/built/bin/weft" true
  stand_in "$work/a tree/examples/fill/made/example.py" true
  run scripts/demo --build "$work/built" --output "$work/output" --simulated --fill made
  expect 1 "no simulated GPU in $work/built"
  [[ -e $work/output/example/mine ]] || fail "a file of the user's is removed"
  [[ ! -e $work/output/weft-demo-example/old ]] || fail "a file of an earlier demo is left"
}

missing_values() {
  run scripts/demo --iterations
  expect 2 "scripts/demo: --iterations needs a value"
  run scripts/on-simulated-gpu --build
  expect 2 "scripts/on-simulated-gpu: --build needs a value"
}

# The calls of the tools since $CALLS was emptied.
expect_call() {
  grep -qF -- "$1" "$CALLS" || { cat "$CALLS"; fail "expected call: $1"; }
}
expect_no_call() {
  if grep -qF -- "$1" "$CALLS"; then cat "$CALLS"; fail "call not expected: $1"; fi
}

unknown_options() {
  run scripts/test -L unit
  expect 2 "scripts/test: unknown argument -L (see --help); arguments of ctest stand behind --: scripts/test -- -L unit"
  run scripts/test --frameworks --python
  expect 2 "scripts/test: --python needs a value"
  run scripts/test --python /usr/bin/python3
  expect 2 "scripts/test: --python goes with --frameworks"
  run scripts/package sdist
  expect 2 "scripts/package: unknown argument sdist"
  run scripts/package --output
  expect 2 "scripts/package: --output needs a value"
  run scripts/on-simulated-gpu --pytroch python3 train.py
  expect 2 "scripts/on-simulated-gpu: unknown option --pytroch"
}

tests_without_frameworks() {
  nvcc_of_release "$work/cuda/bin/nvcc" 13.0
  CUDA_HOME=$work/cuda run scripts/test -- -L unit
  expect 0 ""
  expect_call "cmake --preset release -DWEFT_TORCH_PYTHON="
  expect_no_call "frameworks"
  expect_call "--parallel 2 -L unit"
}

# `ctest`: fails in the tests named by $FAILS, the second time in those named by $FAILS_AGAIN.
tests_that_fail() {
  nvcc_of_release "$work/cuda/bin/nvcc" 13.0
  export CUDA_HOME=$work/cuda FAILS FAILS_AGAIN
  # shellcheck disable=SC2016
  stand_in "$work/bin/ctest" '
case "$*" in
  *--show-only*) printf "  Test #%d: %s\n" 7 e2e.one 18 e2e.two 19 e2e.3 20 e2e.4 21 sim.5 22 sim.6 23 sim.7; exit 0 ;;
  *--rerun-failed*) echo again >>"$CALLS"; now=$FAILS_AGAIN ;;
  *) now=$FAILS ;;
esac
[ -n "$now" ] || exit 0
mkdir -p build/release/Testing/Temporary
for name in $now; do echo "7:$name"; done >build/release/Testing/Temporary/LastTestsFailed.log
exit 8'
  FAILS="e2e.two e2e.one" run scripts/test
  expect 0 "scripts/test: failed beside other tests, passed alone: e2e.one e2e.two"
  FAILS="e2e.one e2e.two e2e.3 e2e.4 sim.5 sim.6" run scripts/test
  expect 0 "passed alone: e2e.3 e2e.4 e2e.one e2e.two sim.5 sim.6"
  FAILS="e2e.two e2e.one" FAILS_AGAIN=e2e.one run scripts/test
  expect 8 "scripts/test: tests have failed"
  : >"$CALLS"
  for several in "e2e.one detector.two" detector.one "e2e.one e2e.two e2e.3 e2e.4 sim.5 sim.6 sim.7"; do
    FAILS=$several run scripts/test
    expect 8 "scripts/test: tests have failed"
    expect_no_call again
  done
}

# The environment is made once; again when it is of other versions or was left half made.
tests_with_frameworks() {
  nvcc_of_release "$work/cuda/bin/nvcc" 13.0
  export CUDA_HOME=$work/cuda
  # shellcheck disable=SC2016
  stand_in "$work/bin/python3" 'echo "python3 $*" >>"$CALLS"; if [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; fi'
  run scripts/test --frameworks -- -R gloo
  expect 0 "scripts/test: making build/frameworks with torch=="
  expect_call "python3 -m pip install --quiet --disable-pip-version-check -r tests/pytorch/requirements.txt -r bench/jobs/frameworks/requirements.txt"
  expect_call "cmake --preset release -DWEFT_TORCH_PYTHON=$PWD/build/frameworks/bin/python"
  expect_call "--parallel 2 -L frameworks -R gloo"
  : >"$CALLS"
  run scripts/test --frameworks
  expect 0 ""
  expect_no_call "pip install"
  expect_call "-L frameworks"
  echo torch==99 >tests/pytorch/requirements.txt
  run scripts/test --frameworks
  expect 0 "with torch==99"
  expect_call "pip install"
  : >"$CALLS"
  echo deepspeed==99 >bench/jobs/frameworks/requirements.txt
  run scripts/test --frameworks
  expect 0 "with torch==99 deepspeed==99"
  expect_call "pip install"
  : >"$CALLS"
  stand_in "$work/other/python" 'exit 0'
  run scripts/test --frameworks --python "$work/other/python"
  expect 0 ""
  expect_no_call "pip install"
  expect_call "-DWEFT_TORCH_PYTHON=$work/other/python"
  stand_in "$work/other/python" 'exit 1'
  run scripts/test --frameworks --python "$work/other/python"
  expect 1 "$work/other/python has no PyTorch"
}

pytorch() {
  local libraries="$PWD/build/release/lib/simgpu"
  mkdir -p "$libraries"
  touch "$libraries"/{libcuda.so.1,libcudart.so.13,libnccl.so.2,one_kernels.so}
  run scripts/on-simulated-gpu --pytorch true
  expect 1 "has no libsimulated_cublas.so, which PyTorch needs"
  touch "$libraries/libsimulated_cublas.so"
  run scripts/on-simulated-gpu --pytorch true
  expect 1 "has no libcudnn.so.9, which PyTorch needs"
  touch "$libraries/libcudnn.so.9"
  # The loader splits LD_PRELOAD at blanks, so no folder stands in it. It complains of the empty files and goes on.
  run scripts/on-simulated-gpu --pytorch printenv LD_PRELOAD
  expect 0 $'\nlibsimulated_cublas.so:libcudnn.so.9:libcudart.so.13:libnccl.so.2'
  run scripts/on-simulated-gpu --pytorch printenv SIMGPU_BLOCK_TIME
  expect 0 "100us"
  SIMGPU_BLOCK_TIME=7us run scripts/on-simulated-gpu --pytorch printenv SIMGPU_BLOCK_TIME
  expect 0 "7us"
  run scripts/on-simulated-gpu scripts/on-simulated-gpu --pytorch sh -c "printf '<%s>' \"\$SIMGPU_KERNELS\" \"\$LD_LIBRARY_PATH\""
  expect 0 "<$libraries/one_kernels.so><$libraries>"
}

help() {
  run scripts/test --help
  expect 0 "--frameworks"
  expect 0 "--sanitizers"
  run scripts/sanitize --help
  expect 0 "-- -I 1,,4"
  run scripts/demo --help
  expect 0 "--iterations N"
  run scripts/package --help
  expect 0 "--twice"
  run scripts/on-simulated-gpu --help
  expect 0 "COMMAND [ARGUMENT...]"
}

"$2"
