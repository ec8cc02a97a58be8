#!/usr/bin/env python3
"""The log of the simulated GPU says which kernels had a host function, under the names of the fat binary.

Arguments: <test program> with the environment of the other tests.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile


def main():
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, SIMGPU_LOG=folder)
        tests = "--gtest_filter=Launch.WritesWhatTheHostFunctionSays:Launch.WithoutHostFunctionLeavesMemoryAlone"
        subprocess.run([sys.argv[1], tests], env=environment, timeout=60, check=True)
        records = []
        for path in glob.glob(os.path.join(folder, "*.jsonl")):
            with open(path, encoding="utf-8") as file:
                records += [json.loads(line) for line in file]
    effects = {record["name"]: record["effect"] for record in records if record.get("type") == "kernel"}
    print(effects)
    return 0 if effects == {"_Z5scalePffi": "host", "without_effect": "none"} else 1


if __name__ == "__main__":
    sys.exit(main())
