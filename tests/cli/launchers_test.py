#!/usr/bin/env python3
"""The commands of docs/launchers.md, with stand-ins for the launchers: launchers_test.py WEFT LIBRARY SOURCE
A stand-in passes on to its workers what the real launcher does: its whole environment, or only what it is given by
name. Each worker writes its environment down; it has to be that which `weft run` makes."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

WEFT, LIBRARY, SOURCE = map(pathlib.Path, sys.argv[1:4])
del sys.argv[1:4]

WORKER = """import json, os, sys
with open(f"worker-{os.getpid()}.json", "w") as file:
    json.dump({name: os.environ[name] for name in os.environ if name.startswith(("WEFT", "LD_PRELOAD"))}, file)
"""
# All pass on the last words of their command line. `bare` is an environment without anything.
BARE = 'bare=(env -i "PATH=$PATH" "HOME=$HOME")\n'
LAUNCHERS = {
    "torchrun": 'for r in 0 1; do RANK=$r WORLD_SIZE=2 python3 "${@: -1}"; done',
    "accelerate": 'for r in 0 1; do RANK=$r WORLD_SIZE=2 python3 "${@: -1}"; done',
    "srun": 'for r in 0 1; do SLURM_JOB_ID=77 SLURM_PROCID=$r SLURM_NTASKS=2 "$@"; done',
    "mpirun": BARE + """[ "$1" = -n ] && n=$2 && shift 2
while [ "$1" = -x ]; do bare+=("$2"); shift 2; done
for ((r = 0; r < n; ++r)); do "${bare[@]}" OMPI_COMM_WORLD_RANK=$r "$@"; done""",
    "deepspeed": BARE + """while IFS= read -r line; do bare+=("$line"); done <.deepspeed_env
"${bare[@]}" RANK=0 python3 "${@: -1}\"""",
    "docker": BARE + """shift
while [[ $1 == -* ]]; do
  case $1 in
    -e) bare+=("$2") ;;
    --volume) mkdir -p "${2%%:*}" ;;
  esac
  shift 2
done
shift
"${bare[@]}" "$@\"""",
    "ray": BARE + """[ "$1 $2 $3 $5" = "job submit --runtime-env-json --" ] || exit 9
while IFS= read -r line; do bare+=("$line"); done < <(
  python3 -c 'import json, sys; [print(f"{n}={v}") for n, v in json.loads(sys.argv[1])["env_vars"].items()]' "$4")
shift 5
"${bare[@]}" "$@\"""",
}
RAY_MODULE = """import os, subprocess, sys
def init(runtime_env):
    subprocess.run([sys.executable, "train.py"], env={"PATH": os.environ["PATH"], **runtime_env["env_vars"]}, check=True)
"""


def blocks(text, language):
    """(heading, code) of each block of the language."""
    heading = ""
    for match in re.finditer(r"^## ([^\n]*)$|^```" + language + r"\n(.*?)^```$", text, re.M | re.S):
        if match[1]:
            heading = match[1]
        else:
            yield heading, match[2]


class Launchers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.page = (SOURCE / "docs/launchers.md").read_text(encoding="utf-8")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("bin", "lib/weft", "here", "stand_ins"):
            (self.folder / name).mkdir(parents=True)
        self.weft = shutil.copy(WEFT, self.folder / "bin/weft")
        self.library = shutil.copy(LIBRARY, self.folder / "lib/weft/libweft.so")
        for name, text in LAUNCHERS.items():
            file = self.folder / "stand_ins" / name
            file.write_text(f"#!/bin/bash\nset -eu\n{text}\n")
            file.chmod(0o755)
        (self.folder / "here/train.py").write_text(WORKER)
        (self.folder / "here/ray.py").write_text(RAY_MODULE)
        left_out = ("WEFT", "LD_PRELOAD", "SLURM", "RANK", "OMPI", "PMI", "TORCHELASTIC")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
        self.environment["PATH"] = f"{self.folder}/bin:{self.folder}/stand_ins:{os.environ['PATH']}"

    def run_here(self, words, **more):
        return subprocess.run(words, cwd=self.folder / "here", env={**self.environment, **more}, check=True,
                              stdout=subprocess.PIPE, text=True).stdout

    def workers(self):
        files = sorted((self.folder / "here").glob("worker-*.json"))
        found = [json.loads(file.read_text()) for file in files]
        for file in files:
            file.unlink()
        return found

    def check_workers(self, count):
        found = self.workers()
        self.assertEqual(len(found), count)
        for worker in found:
            self.assertEqual(worker["LD_PRELOAD"], str(self.library))
            self.assertTrue(worker["WEFT_JOB"])
            self.assertEqual(worker["WEFT_LOG"], "info")
        self.assertEqual(len({worker["WEFT_JOB"] for worker in found}), 1)

    def test_every_command_of_the_page(self):
        wanted = {"torchrun and accelerate": 4, "Slurm": 2, "Open MPI": 2, "DeepSpeed": 1, "Ray": 1, "Docker": 1}
        seen = set()
        for heading, code in blocks(self.page, "sh"):
            seen.add(heading)
            if heading not in wanted:
                continue
            with self.subTest(heading=heading, code=code):
                if heading.startswith("torchrun"):  # two commands, each a run of its own
                    for line in code.splitlines():
                        self.run_here(["bash", "-euc", line], WEFT_LOG="info")
                        self.check_workers(2)
                    continue
                self.run_here(["bash", "-euc", code], WEFT_LOG="info")
                self.check_workers(wanted[heading])
        self.assertEqual(seen, {*wanted, "Kubernetes"})

    def test_a_shell_gets_what_weft_run_sets(self):
        for flags in ([], ["--observe"], ["--slice", "200us", "--set", "log=error"], ["--fill=", "--log", "info"],
                      ["--output", "a b/it's \"$HOME\" `x` \\ ;*\nnew line"]):
            for preloaded in ("", shutil.copy(LIBRARY, self.folder / "liballocator.so"), str(self.library)):
                with self.subTest(flags=flags, preloaded=preloaded):
                    more = {"WEFT_SPIN": "2%", "WEFT_FILL": "", "WEFT_JOB": "seven", "LD_PRELOAD": str(preloaded)}
                    self.run_here(["weft", "run", "-q", *flags, "--", "python3", "train.py"], **more)
                    self.run_here(["sh", "-c", 'set -a; eval "$(weft run --print-env "$@")"; exec python3 train.py',
                                   "sh", *flags], **more)
                    run, printed = self.workers()
                    self.assertEqual({name: value for name, value in printed.items() if value}, run)

    def test_export_is_enough_where_nothing_is_quoted(self):
        self.run_here(["sh", "-c", "export $(weft run --print-env --slice 200us); exec python3 train.py"])
        (worker,) = self.workers()
        self.assertEqual((worker["LD_PRELOAD"], worker["WEFT_SLICE"]), (str(self.library), "200us"))

    def refused(self, *flags, code):
        done = subprocess.run([self.weft, "run", *flags], cwd=self.folder / "here", env=self.environment,
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (code, ""))
        self.assertRegex(done.stderr, r"^weft: error: [^\n]*\n$")
        return done.stderr

    def test_refused(self):
        self.assertIn("'true' is a command", self.refused("--print-env", "--", "true", code=2))
        self.assertIn("weft-feeder", self.refused("--print-env", "--queue", "jobs", code=2))
        self.assertFalse((self.folder / "here/jobs").exists())
        self.refused("--print-env=nothing", code=2)
        for form in ("docker", "mpirun", "deepspeed"):
            error = self.refused(f"--print-env={form}", "--output", "my traces", code=1)
            self.assertIn(f"--print-env={form} cannot hold WEFT_OUTPUT=", error)

    def test_ray_in_python(self):
        (_, code), = blocks(self.page, "python")
        self.run_here([sys.executable, "-c", code], WEFT_LOG="info")
        self.check_workers(1)

    def test_the_pod_mounts_what_the_image_has(self):
        (_, pod), = blocks(self.page, "yaml")
        dockerfile = (SOURCE / "packaging/container/Dockerfile").read_text(encoding="utf-8")
        folder = re.search(r'"cp", "-r", "(.*?)/\."', pod)[1]
        self.assertIn(f"mountPath: {folder}}}", pod)
        self.assertEqual(folder, re.search(r"--prefix (\S+)", dockerfile)[1] + "/lib/weft")
        (_, command), = (block for block in blocks(self.page, "sh") if block[0] == "Kubernetes")
        self.run_here(["bash", "-euc", command.replace("docker run weft weft", "weft")], WEFT_LOG="info")
        lines = (self.folder / "here/env.yaml").read_text().splitlines()
        names = [line.removeprefix("- name: ") for line in lines[::2]]
        values = [json.loads(line.removeprefix("  value: ")) for line in lines[1::2]]
        found = dict(zip(names, values, strict=True))
        self.assertEqual((found["LD_PRELOAD"], found["WEFT_OUTPUT"]), (str(self.library), "/traces/run-1"))


if __name__ == "__main__":
    unittest.main()
