#!/usr/bin/env python3
"""Writes what the simulated libcuda knows about the names of the real one. Run by CMake; the output stays in the build tree.

In:  the dynamic symbols of the toolkit's stub libcuda (which names exist) and the *Typedefs.h headers of the toolkit
     (which ABI of a function a program means by name, version and flags).
Out: exports.map        the export list (anonymous version script, as the real library has no symbol versions)
     not_supported.S    a weak definition of every name, answering CUDA_ERROR_NOT_SUPPORTED; C++ definitions override it
     entry_table.cpp    the table behind cuGetProcAddress
     thunks.S           jumps to its functions, at addresses of their own
     entry_types.cpp    compile-time check that each typedef is the type of the symbol the table gives for it
"""
import argparse
import collections
import pathlib
import re
import subprocess

NOT_SUPPORTED = 801
THUNK_BYTES, THUNKS_PER_ENTRY = 16, 3
TYPEDEF_HEADERS = ["cudaTypedefs.h", "cudaProfilerTypedefs.h", "cudaGLTypedefs.h", "cudaEGLTypedefs.h",
                   "cudaVDPAUTypedefs.h"]
TYPEDEF = re.compile(r"\(CUDAAPI \*PFN_(cu\w+?)_v(\d+)(_ptsz|_ptds)?\)")
SYMBOL = re.compile(r"(cu\w+?)(?:_v(\d+))?(_ptsz|_ptds)?")


def exported_names(nm, library):
    listing = subprocess.run([nm, "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    names = {line.split()[-1].split("@")[0] for line in listing.splitlines() if line}
    return sorted(name for name in names if name.startswith("cu"))


def typedef_versions(include):
    """(base name, thread suffix) -> {version}, one for each ABI that ever had a typedef."""
    versions = collections.defaultdict(set)
    for header in TYPEDEF_HEADERS:
        path = include / header
        if path.exists():
            for base, version, suffix in TYPEDEF.findall(path.read_text()):
                versions[base, suffix].add(int(version))
    return versions


def entries(names, versions):
    """[(base, version, suffix, exact symbol)]: the n-th version of a function is its n-th ABI, oldest first."""
    abis = collections.defaultdict(list)
    for name in names:
        base, number, suffix = SYMBOL.fullmatch(name).groups()
        abis[base, suffix or ""].append((int(number or 1), name))
    table = []
    for (base, suffix), symbols in abis.items():
        known = sorted(versions.get((base, suffix), ()))
        if len(known) != len(symbols):
            raise SystemExit(f"{base}{suffix}: {len(symbols)} exported ABIs, but typedefs for versions {known}")
        table += [(base, version, suffix, symbol) for version, (_, symbol) in zip(known, sorted(symbols))]
    return sorted(table)


def write(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def export_map(names):
    return "{\n  global:\n" + "".join(f"    {name};\n" for name in names) + "  local:\n    *;\n};\n"


def not_supported(names):
    stubs = ["    .text\n"]
    for name in names:
        stubs.append(f"    .weak {name}\n    .type {name}, @function\n    .balign 16\n{name}:\n    endbr64\n"
                     f"    mov ${NOT_SUPPORTED}, %eax\n    ret\n    .size {name}, . - {name}\n")
    return "".join(stubs) + '    .section .note.GNU-stack, "", @progbits\n'


def entry_table(table):
    declarations = "".join(f"void {symbol}();\n" for symbol in sorted({row[3] for row in table}))
    rows = "".join(f'    {{"{base}", {version}, {"true" if suffix else "false"}, &{symbol}}},\n'
                   for base, version, suffix, symbol in table)
    return ('#include "symbols/entry_table.h"\n\nextern "C" {\n' + declarations + "}\n\nnamespace simgpu {\n\n"
            "const EntryPoint entry_points[] = {\n" + rows + "};\n"
            f"const std::size_t entry_point_count = {len(table)};\n\n}}  // namespace simgpu\n")


def thunks(table):
    """The layout is that of entry_table.h: THUNKS_PER_ENTRY pieces of THUNK_BYTES for each entry."""
    piece = f"    .balign {THUNK_BYTES}\n    endbr64\n    jmp {{}}@PLT\n"
    pieces = "".join(piece.format(row[3]) * THUNKS_PER_ENTRY for row in table)
    return (f"    .text\n    .hidden simgpu_thunks\n    .globl simgpu_thunks\n    .balign {THUNK_BYTES}\nsimgpu_thunks:\n"
            + pieces + '    .section .note.GNU-stack, "", @progbits\n')


def entry_types(table):
    rows = "".join(f"static_assert(std::is_same_v<PFN_{base}_v{version}{suffix}, decltype(&{symbol})>);\n"
                   for base, version, suffix, symbol in table)
    return ("#include <type_traits>\n\n#include <cuda.h>\n#include <cudaProfiler.h>\n#include <cudaProfilerTypedefs.h>\n"
            "#include <cudaTypedefs.h>\n\n" + rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--library", required=True, help="the toolkit's stub libcuda.so")
    parser.add_argument("--include", required=True, type=pathlib.Path, help="the folder of cuda.h")
    parser.add_argument("--output", required=True, type=pathlib.Path)
    arguments = parser.parse_args()

    names = exported_names(arguments.nm, arguments.library)
    table = entries(names, typedef_versions(arguments.include))
    arguments.output.mkdir(parents=True, exist_ok=True)
    write(arguments.output / "exports.map", export_map(names))
    write(arguments.output / "not_supported.S", not_supported(names))
    write(arguments.output / "entry_table.cpp", entry_table(table))
    write(arguments.output / "thunks.S", thunks(table))
    write(arguments.output / "entry_types.cpp", entry_types(table))


if __name__ == "__main__":
    main()
