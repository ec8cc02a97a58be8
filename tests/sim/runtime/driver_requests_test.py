#!/usr/bin/env python3
"""The simulated libcudart asks a driver for nothing that the toolkit's does not: same names, versions and flags.

Both are loaded on a driver that only records. Arguments:
<toolkit's libcudart.so.13> <simulated libcudart.so.13> <folder of the recording libcuda.so.1>
"""
import os
import subprocess
import sys
import tempfile

PROBE = "import ctypes, sys; count = ctypes.c_int(); print(ctypes.CDLL(sys.argv[1]).cudaGetDeviceCount(ctypes.byref(count)))"


def requests(library, driver_folder):
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "requests")
        environment = dict(os.environ, LD_LIBRARY_PATH=driver_folder, RECORDING_DRIVER_LOG=log)
        result = subprocess.run([sys.executable, "-c", PROBE, library], env=environment, capture_output=True, text=True,
                                timeout=60, check=False)
        if result.returncode != 0 or int(result.stdout) == 0:
            sys.exit(f"{library}: cudaGetDeviceCount must fail without crashing: {result}")
        with open(log, encoding="utf-8") as file:
            return {tuple(line.rstrip("\n").rsplit(" ", 2)) for line in file}


def main():
    real, simulated, driver_folder = sys.argv[1:]
    wanted, asked = requests(real, driver_folder), requests(simulated, driver_folder)
    foreign = sorted(asked - wanted)
    print(f"the real runtime asks for {len(wanted)}, the simulated one for {len(asked)}")
    for request in foreign:
        print("the real runtime does not ask for", *request, [other for other in wanted if other[0] == request[0]])
    return 1 if foreign or len(asked) < 150 else 0


if __name__ == "__main__":
    sys.exit(main())
