"""Gathers into one folder what scripts/gpu-proof needs and a machine with little installed lacks.

Called by scripts/gpu-bundle on the machine that builds. Copies and strips the files of a build tree, whose layout the bundle
keeps, and checks each: nothing but libc, the driver and NCCL may be needed, besides the CUDA runtime that comes along. The
folder is written anew beside the old one and put in its place at the end; a folder that is not a bundle is never replaced.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MOST_BYTES = 63_000_000
LEAST_GLIBC_ON_TARGETS = (2, 36)
FROM_THE_SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2",
                   "libcuda.so.1", "libnccl.so.2"}
CUDA_RUNTIME = "libcudart.so.13"
FOLDERS = ("lib/weft", "lib/stand_in", "bin/probes", "bin/gpu_cases", "bin/measures")
PROGRAMS = ("bin/weft", "bin/trainer", "bin/simgpu-truth", "bin/weft-demo-report")
OPTIONAL_PROGRAMS = ("bin/bubble_case",)
# Without these it is no bundle; the rest depends on what the build contains.
REQUIRED = PROGRAMS + ("lib/weft/libweft.so", "lib/weft/libweft-core.so", "lib/weft/weft-fill-probe",
                       "lib/weft/fill_matmul.so")


class BundleError(Exception):
    """One line that the user can act on."""


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, universal_newlines=True, timeout=120).stdout


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def needed_libraries(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "--wide", "--dynamic", path))


def needed_glibc(path):
    """The newest GLIBC_x.y symbol version that the file asks for."""
    versions = re.findall(r"\bGLIBC_(\d+)\.(\d+)", output_of("readelf", "--wide", "--version-info", path))
    return max(((int(major), int(minor)) for major, minor in versions), default=(0, 0))


def files_of(build):
    """Paths relative to the build tree, sorted."""
    missing = [name for name in REQUIRED if not (build / name).exists()]
    if missing:
        raise BundleError(f"{build} lacks {', '.join(missing)}; run scripts/build first")
    files = set(PROGRAMS) | {name for name in OPTIONAL_PROGRAMS if (build / name).exists()}
    for folder in FOLDERS:
        files |= {str(path.relative_to(build)) for path in sorted((build / folder).glob("**/*")) if path.is_file() and not path.is_symlink()}
    return sorted(files)


def cuda_runtime(build):
    """The real CUDA runtime, at the place where the build found it."""
    match = re.search(r"^WEFT_REAL_CUDART:\w+=(.+)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)
    if match is None or not os.path.exists(match.group(1)):
        raise BundleError(f"{build} was configured without {CUDA_RUNTIME}")
    return pathlib.Path(match.group(1)).resolve()


def copy_stripped(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    if is_elf(source):
        subprocess.run(["strip", "--strip-unneeded", "-o", target, source], check=True, timeout=120)
        shutil.copymode(source, target)
    else:
        shutil.copy(source, target)


def check_file(path, name, carried):
    """The glibc that a copied file needs; raises when it needs a library that the target may not have."""
    strangers = [library for library in needed_libraries(path) if library not in FROM_THE_SYSTEM | carried]
    if strangers:
        raise BundleError(f"{name} needs {', '.join(strangers)}: link it with weft_self_contained")
    return needed_glibc(path)


def describe(folder, commit, glibc):
    files = {}
    for path in sorted(folder.glob("**/*")):
        if path.is_file():
            data = path.read_bytes()
            files[str(path.relative_to(folder))] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    return {"format": "weft-gpu-bundle", "version": 1, "commit": commit, "glibc": ".".join(map(str, glibc)),
            "bytes": sum(entry["bytes"] for entry in files.values()), "files": files}


def commit_of(source):
    try:
        commit = output_of("git", "-C", source, "rev-parse", "HEAD").strip()
        changed = output_of("git", "-C", source, "status", "--porcelain", "--untracked-files=no").strip()
        return commit + ("+changes" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def fill(folder, build, commit):
    """Fills the empty folder; returns its manifest."""
    for name in files_of(build):
        copy_stripped(build / name, folder / name)
    copy_stripped(cuda_runtime(build), folder / "lib/cuda" / CUDA_RUNTIME)
    elf_files = [path for path in sorted(folder.glob("**/*")) if path.is_file() and is_elf(path)]
    glibc = max(check_file(path, str(path.relative_to(folder)), {CUDA_RUNTIME}) for path in elf_files)
    here = tuple(int(part) for part in os.confstr("CS_GNU_LIBC_VERSION").split()[1].split(".")[:2])
    if glibc > max(LEAST_GLIBC_ON_TARGETS, here):
        raise BundleError("glibc {}.{} would be needed".format(*glibc))
    manifest = describe(folder, commit, glibc)
    if manifest["bytes"] > MOST_BYTES:
        raise BundleError(f"the bundle has {manifest['bytes']} bytes, more than {MOST_BYTES}")
    (folder / "SHA256SUMS").write_text("".join(f"{entry['sha256']}  {name}\n" for name, entry in manifest["files"].items()))
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return manifest


def is_bundle(folder):
    try:
        return json.loads((folder / "manifest.json").read_text())["format"] == "weft-gpu-bundle"
    except (OSError, ValueError, KeyError, TypeError):
        return False


def make(build, out, commit):
    """Makes or replaces the bundle `out`; returns its manifest."""
    if out.exists() and not is_bundle(out) and (not out.is_dir() or any(out.iterdir())):
        raise BundleError(f"{out} exists and is no bundle; name another folder with --out")
    out.parent.mkdir(parents=True, exist_ok=True)
    work = pathlib.Path(tempfile.mkdtemp(prefix=".gpu-bundle-", dir=out.parent))
    try:
        folder = work / "bundle"
        folder.mkdir()
        manifest = fill(folder, build, commit)
        if out.exists():
            out.rename(work / "old")
        folder.rename(out)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return manifest


def main(source, arguments=None):
    parser = argparse.ArgumentParser(prog="scripts/gpu-bundle", description=(
        "Gathers what scripts/gpu-proof needs beyond a driver, NCCL and Python into one folder under 63 MB. It travels with the "
        "source tree to a machine with a GPU. Without --build, scripts/build is run first."))
    parser.add_argument("--out", type=pathlib.Path, default=source / "build/gpu-bundle", help="the folder (build/gpu-bundle)")
    parser.add_argument("--build", type=pathlib.Path, help="take the programs of this build tree as they are")
    options = parser.parse_args(arguments)
    try:
        if options.build is None:
            subprocess.run([source / "scripts/build"], check=True)
        manifest = make(options.build or source / "build/release", options.out.absolute(), commit_of(source))
    except (BundleError, OSError, subprocess.SubprocessError) as error:
        print(f"scripts/gpu-bundle: {error}", file=sys.stderr)
        return 1
    print(f"{options.out}: {len(manifest['files'])} files, {manifest['bytes'] / 1e6:.1f} MB, of commit {manifest['commit'][:12]}, "
          f"for glibc {manifest['glibc']} or newer")
    return 0
