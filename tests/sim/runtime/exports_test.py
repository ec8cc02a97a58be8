#!/usr/bin/env python3
"""The simulated libcudart exports exactly the names and versions of the toolkit's, and imports nothing of the driver.

Arguments: <readelf> <toolkit's libcudart.so.13> <simulated libcudart.so.13>
"""
import re
import subprocess
import sys


def symbols(readelf, library):
    listing = subprocess.run([readelf, "--dyn-syms", "-W", library], check=True, capture_output=True, text=True).stdout
    exported, imported = set(), set()
    for line in listing.splitlines():
        fields = line.split()
        if len(fields) < 8 or not fields[0].endswith(":") or fields[0] == "Num:":
            continue
        if fields[6] == "UND":
            imported.add(fields[7])
        elif fields[4] in ("GLOBAL", "WEAK"):
            exported.add(fields[7])
    return exported, imported


def dynamic(readelf, library):
    return subprocess.run([readelf, "-d", "-W", library], check=True, capture_output=True, text=True).stdout


def main():
    readelf, real, simulated = sys.argv[1:]
    wanted, _ = symbols(readelf, real)
    found, imported = symbols(readelf, simulated)
    problems = [f"missing: {name}" for name in sorted(wanted - found)]
    problems += [f"not in the real one: {name}" for name in sorted(found - wanted)]
    problems += [f"driver symbol imported: {name}" for name in imported if re.match(r"cu[A-Z]", name)]
    if len([name for name in wanted if name.endswith("@@libcudart.so.13")]) < 400:
        problems.append("the real library's table was not read")
    tags = dynamic(readelf, simulated)
    for tag in ("[libcudart.so.13]", "(SYMBOLIC)"):
        if tag not in tags:
            problems.append(f"dynamic section lacks {tag}")
    if re.search(r"NEEDED.*libcuda\.so", tags):
        problems.append("linked to libcuda")
    print("\n".join(problems) or f"{len(found)} exports")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
