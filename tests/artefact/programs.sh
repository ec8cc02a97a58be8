#!/usr/bin/env bash
# Ordinary programs under the preloaded library: status, stdout and stderr as without it. Argument: the library.
# Programs that are not installed are left out, and said so.
set -u
folder=$(mktemp -d)
library=$folder/libweft.so  # the loader splits LD_PRELOAD at spaces, which the path of the build may have
cp "$1" "$library"
trap 'rm -rf "$folder"' EXIT
failures=0

same() {
  local name=$1
  shift
  if ! command -v "$1" >/dev/null; then
    echo "left out: $1 is not installed"
    return
  fi
  (cd "$folder" && "$@") >"$folder/out" 2>"$folder/err" </dev/null
  local status=$?
  (cd "$folder" && LD_PRELOAD=$library "$@") >"$folder/out.preloaded" 2>"$folder/err.preloaded" </dev/null
  local preloaded=$?
  if [[ $status -ne $preloaded ]] || ! cmp -s "$folder/out" "$folder/out.preloaded" ||
    ! cmp -s "$folder/err" "$folder/err.preloaded"; then
    echo "FAILED: $name: $status without, $preloaded with"
    diff "$folder/err" "$folder/err.preloaded" | head -5
    failures=$((failures + 1))
  else
    echo "same: $name ($status)"
  fi
}

cat >"$folder/hello.c" <<'C'
#include <stdio.h>
int main(void) { return printf("hello\n") != 6; }
C
cat >"$folder/kernel.cu" <<'CUDA'
__global__ void twice(float* x) { x[threadIdx.x] *= 2; }
CUDA
cat >"$folder/kernel.ptx" <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry nothing() { ret; }
PTX
mkdir "$folder/project"
cat >"$folder/project/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.20)
project(hello C)
add_executable(hello ../hello.c)
CMAKE

export PATH=$PATH:/usr/local/cuda/bin
same "true" true
same "false" false
same "bash --version" bash --version
same "bash: a pipe, a substitution, a job" bash -c 'for i in 1 2 3; do echo $((i * $(echo 2 | cat))); done; wait'
same "git --version" git --version
same "git: a repository" bash -c 'rm -rf r && git init -q r && cd r && echo x >x && git add x && git -c user.name=a -c user.email=a@b commit -qm x --date "2020-01-01T00:00:00" && git ls-files'
same "gcc --version" gcc --version
same "gcc: compile, link, run" bash -c 'gcc -o hello hello.c && ./hello'
same "gcc: a wrong program" gcc -c nosuch.c
same "cmake --version" cmake --version
same "cmake: configure" bash -c 'rm -rf b && cmake -S project -B b >/dev/null && cmake --build b >/dev/null && b/hello'
same "python3 --version" python3 --version
same "python3: threads, processes, a library" python3 -c '
import ctypes, subprocess, threading, multiprocessing
lib = ctypes.CDLL(None)
print(lib.abs(-3), subprocess.check_output(["echo", "x"]))
t = threading.Thread(target=print, args=("thread",)); t.start(); t.join()
p = multiprocessing.get_context("fork").Process(target=int); p.start(); p.join(); print(p.exitcode)'
same "nvcc --version" nvcc --version
same "nvcc: compile" nvcc -c -arch=sm_80 -o kernel.o kernel.cu
same "ptxas --version" ptxas --version
same "ptxas: assemble" ptxas -arch=sm_80 -o kernel.cubin kernel.ptx

LD_BIND_NOW=1 LD_PRELOAD=$library true || { echo "FAILED: LD_BIND_NOW=1"; failures=$((failures + 1)); }
threads=$(LD_PRELOAD=$library bash -c 'ls /proc/self/task | wc -l')
[[ $threads -eq 1 ]] || { echo "FAILED: $threads threads in a process without CUDA"; failures=$((failures + 1)); }
exit $((failures != 0))
