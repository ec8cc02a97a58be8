#!/usr/bin/env python3
"""Writes a C file with a weak definition of every function that the toolkit's libcudart exports.

Called by CMake as: generate_stubs.py <nm> <libcudart.so.13> <output.c>. A function that the simulator implements is defined
in C++ and wins over the weak one at link time; the others record and return cudaErrorNotSupported.
"""
import re
import subprocess
import sys


def exported_functions(nm, library):
    listing = subprocess.run([nm, "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    names = {match.group(1) for match in re.finditer(r"^\S+ [TW] (\w+)", listing, re.MULTILINE)}
    if not names:
        sys.exit(f"{library} exports no function")
    return sorted(names)


def main():
    nm, library, output = sys.argv[1:]
    lines = [
        "/* Generated from the export table of the toolkit's libcudart: functions that are not simulated. */",
        "int simgpu_runtime_not_supported(const char* name);",
    ]
    for name in exported_functions(nm, library):
        lines.append(f"__attribute__((weak)) int {name}(void) {{ return simgpu_runtime_not_supported(\"{name}\"); }}")
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
