#!/usr/bin/env python3
"""Without a driver that can be loaded every call fails with cudaErrorInsufficientDriver, in the simulated runtime as in the real.

Arguments: <toolkit's libcudart.so.13> <simulated libcudart.so.13>
"""
import os
import subprocess
import sys
import tempfile

PROBE = """
import ctypes, sys
runtime = ctypes.CDLL(sys.argv[1])
value = ctypes.c_int()
pointer = ctypes.c_void_p()
print(runtime.cudaGetDeviceCount(ctypes.byref(value)), runtime.cudaMalloc(ctypes.byref(pointer), 16),
      runtime.cudaDeviceSynchronize(), runtime.cudaGetLastError(), runtime.cudaGetLastError(),
      runtime.cudaDriverGetVersion(ctypes.byref(value)), value.value)
"""


def answers(library):
    with tempfile.TemporaryDirectory() as folder:
        # Found before a driver that the machine may have, and no shared object.
        with open(os.path.join(folder, "libcuda.so.1"), "w", encoding="utf-8"):
            pass
        return subprocess.run([sys.executable, "-c", PROBE, library], env=dict(os.environ, LD_LIBRARY_PATH=folder),
                              capture_output=True, text=True, timeout=60, check=True).stdout.split()


def main():
    real, simulated = answers(sys.argv[1]), answers(sys.argv[2])
    print(real, simulated)
    return 0 if simulated == real == ["35", "35", "35", "35", "35", "0", "0"] else 1


if __name__ == "__main__":
    sys.exit(main())
