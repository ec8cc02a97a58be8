"""detector/ and runner/policy/ include nothing that has a clock, a thread, a file, a log or CUDA in it.

Follows the project's own headers as well. Also looks for a clock being read, which <chrono> would allow.
Usage: includes_test.py SOURCE_DIRECTORY
"""
import pathlib
import re
import sys

PURE = ("detector", "runner/policy")
ALLOWED = {
    "algorithm", "array", "bit", "charconv", "chrono", "cmath", "compare", "concepts", "cstddef", "cstdint", "cstring", "deque",
    "functional", "initializer_list", "iterator", "limits", "map", "memory", "numbers", "numeric", "optional", "queue", "set",
    "span", "stdexcept", "string", "string_view", "tuple", "type_traits", "unordered_map", "utility", "variant", "vector",
}
READS_A_CLOCK = re.compile(r"_clock::now|clock_gettime|gettimeofday|\bstd::time\b")


def includes(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if match:
            yield number, match.group(1) == '"', match.group(2)


def faults_of(root, start):
    faults, seen, waiting = [], set(), [start]
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        if READS_A_CLOCK.search(path.read_text()):
            faults.append(f"{path.relative_to(root)} reads a clock")
        for number, own, name in includes(path):
            if own and (root / name).is_file():
                waiting.append(root / name)
            elif own or name not in ALLOWED:
                faults.append(f"{path.relative_to(root)}:{number} includes {name}")
    return faults


def main(root):
    sources = [path for folder in PURE for path in sorted((root / folder).rglob("*")) if path.suffix in (".h", ".cpp")]
    assert len(sources) > 20, "the pure sources were not found"
    # The test can fail: the dispatcher is not pure.
    assert faults_of(root, root / "runner/core/worker.cpp"), "a file with threads and clocks was not found out"
    faults = sorted({fault for source in sources for fault in faults_of(root, source)})
    print("\n".join(faults))
    return 1 if faults else 0


sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
