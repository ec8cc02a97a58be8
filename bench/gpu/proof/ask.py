#!/usr/bin/env python3
"""Asks the driver, the CUDA runtime and NCCL what they are; prints one JSON object. Reads only: no context is created.

Started by environment.py as a process of its own, because cuInit() may hang on a sick machine and leaves threads behind.
Argument: the path of libcudart, or "".
"""

import ctypes
import json
import sys

COMPUTE_CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MINOR, MULTIPROCESSORS = 75, 76, 16


def opened(name):
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


def number(function, *arguments):
    """The number that a function like cuDriverGetVersion(int*) writes, None when it fails."""
    value = ctypes.c_int()
    return value.value if function(ctypes.byref(value), *arguments) == 0 else None


def devices(driver):
    found = []
    for ordinal in range(number(driver.cuDeviceGetCount) or 0):
        device = number(driver.cuDeviceGet, ordinal)
        name = ctypes.create_string_buffer(256)
        memory = ctypes.c_size_t()
        driver.cuDeviceGetName(name, 256, device)
        driver.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
        capability = [number(driver.cuDeviceGetAttribute, attribute, device)
                      for attribute in (COMPUTE_CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MINOR)]
        found.append({"name": name.value.decode(), "memory_bytes": memory.value,
                      "multiprocessors": number(driver.cuDeviceGetAttribute, MULTIPROCESSORS, device),
                      "compute_capability": "{}.{}".format(*capability)})
    return found


def main():
    facts = {"devices": [], "driver": None, "cuda_runtime": None, "nccl": None}
    driver = opened("libcuda.so.1")
    if driver is not None:
        facts["driver"] = number(driver.cuDriverGetVersion)
        error = driver.cuInit(0)
        if error == 0:
            facts["devices"] = devices(driver)
        else:
            facts["cuInit"] = error
    runtime = opened(sys.argv[1]) if sys.argv[1] else opened("libcudart.so.13")
    if runtime is not None:
        facts["cuda_runtime"] = number(runtime.cudaRuntimeGetVersion)
    nccl = opened("libnccl.so.2")
    if nccl is not None:
        facts["nccl"] = number(nccl.ncclGetVersion)
    print(json.dumps(facts))


main()
