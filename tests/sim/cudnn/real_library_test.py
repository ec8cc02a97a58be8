#!/usr/bin/env python3
"""The numbers and names of sim/cudnn against cuDNN's own header and against what PyTorch's libraries import.

Called by CTest with a Python that has PyTorch: real_library_test.py SIM/CUDNN C++-COMPILER NM CUDA-INCLUDE. Skipped (77)
where that Python has no cuDNN header, or a PyTorch of another version than the one that sim/cudnn is made for.
"""
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile

VERSION = "2.11."  # of PyTorch


def skip(why: str) -> None:
    print(f"skipped: {why}")
    sys.exit(77)


def folder_of(module: str) -> pathlib.Path:
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        spec = None
    if spec is None:
        skip(f"no {module} beside this Python")
    return pathlib.Path(next(iter(spec.submodule_search_locations)))


def check_numbers(source: pathlib.Path, compiler: str, include: list[pathlib.Path]) -> None:
    """Compiles one assertion for each number."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "numbers.cpp"
        program.write_text('#include <cudnn.h>\n#define NUMBER(name, value) static_assert(name == value, #name);\n'
                           f'#include "{source}/numbers.def"\n', encoding="utf-8")
        options = [option for path in include for option in ("-isystem", str(path))]
        subprocess.run([compiler, "-std=c++20", "-fsyntax-only", *options, str(program)], check=True)


def imports(nm: str, library: pathlib.Path) -> set[str]:
    found = subprocess.run([nm, "-D", "--undefined-only", str(library)], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r" U (cudnn\w+)@libcudnn\.so\.9$", found, re.MULTILINE))


def main() -> int:
    source, compiler, nm, cuda = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4])
    torch = folder_of("torch")
    version = re.search(r"__version__ = '([^']*)'", (torch / "version.py").read_text(encoding="utf-8")).group(1)
    if not version.startswith(VERSION):
        skip(f"PyTorch {version}, not {VERSION}")
    header = folder_of("nvidia.cudnn") / "include"
    if not (header / "cudnn.h").exists():
        skip("no cudnn.h beside this Python")
    check_numbers(source, compiler, [header, cuda])
    wanted = set().union(*(imports(nm, torch / "lib" / name) for name in ("libtorch_cuda.so", "libtorch_python.so")))
    listed = set(re.findall(r"^(?:SIMULATED|REFUSED)\((\w+)\)", (source / "functions.def").read_text(encoding="utf-8"), re.MULTILINE))
    # PyTorch never destroys a handle.
    assert len(wanted) > 50 and listed - wanted == {"cudnnDestroy"} and not wanted - listed, (wanted - listed, listed - wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
