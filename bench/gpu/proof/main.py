"""scripts/gpu-proof: the command line, the order of things, and the files that are left.

Runs on the machine with the GPU, on one thread. The results file and the page are written after every step, whatever happens then. Never changes clocks, power, MIG or persistence settings: nothing here or in a step calls a setter.
"""

import argparse
import datetime
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from . import budget, constants, environment, files, page, processes, results, run, simulator, steps


def parse(arguments):
    parser = argparse.ArgumentParser(prog="scripts/gpu-proof", description=(
        "Builds or finds the programs, asks the GPU the open questions, runs the tests that need one, measures, and writes one JSON "
        "file and one page. Needs a driver, NCCL and Python 3.9; PyTorch is used where it is."))
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--quick", dest="mode", action="store_const", const="quick", help="under 8 minutes (the default)")
    length.add_argument("--full", dest="mode", action="store_const", const="full", help="under 25 minutes, with repeats enough for intervals")
    parser.add_argument("--out", type=pathlib.Path, help="folder of the results: one JSON file, one page, one archive of logs (docs/results, the logs "
                        "in build/gpu-proof)")
    parser.add_argument("--work", type=pathlib.Path, help="folder of logs and traces (build/gpu-proof; with --out one that is removed at the end)")
    parser.add_argument("--bundle", type=pathlib.Path, help="programs: a bundle or a build tree (build/gpu-bundle, then build/release)")
    parser.add_argument("--python", default=sys.executable, help="the Python that has PyTorch (this one)")
    parser.add_argument("--simulated", action="store_true", help="run on simulated GPUs; results go to --out or build/gpu-proof only")
    parser.add_argument("--simulator", type=pathlib.Path, help="build tree with the simulated GPU (build/release)")
    parser.add_argument("--only", metavar="TEXT", action="append", help="only steps whose name contains this; may be repeated")
    parser.add_argument("--seconds", type=float, help="time for all steps together, less than the mode's")
    parser.add_argument("--add", type=pathlib.Path, metavar="FILE",
                        help="put the steps of this earlier results file in front, where the machine is lent for a few minutes at a time")
    parser.add_argument("--list", action="store_true", help="print the steps and end")
    parser.set_defaults(mode="quick")
    return parser.parse_args(arguments)


def fail(message):
    print(f"scripts/gpu-proof: {message}", file=sys.stderr)
    return 1


def programs_of(root, options):
    named = options.bundle or (options.simulator if options.simulated else None)
    programs = environment.find_programs(root, named, options.simulated)
    if programs is None and named is None:
        print("scripts/gpu-proof: no bundle and no build: running scripts/build", file=sys.stderr)
        try:
            subprocess.run([root / "scripts/build"], check=True, timeout=3600)
        except (OSError, subprocess.SubprocessError):
            return None
        programs = environment.find_programs(root, None, options.simulated)
    return programs


def folders(root, options, simulated):
    """(where the results go, where logs and traces go). A simulated run never writes under docs/results."""
    work = options.work.absolute() if options.work else root / "build/gpu-proof"
    if options.out:
        return options.out.absolute(), work if options.work else pathlib.Path(tempfile.mkdtemp(prefix="gpu-proof-"))
    return work if simulated else root / "docs/results", work


def _interrupt(number, frame):
    raise run.Interrupted


def main(root, arguments):
    options = parse(arguments)
    if options.simulated:
        simulator.enter(options.simulator or root / "build/release", [sys.executable, root / "scripts/gpu-proof", *arguments])
    programs = programs_of(root, options)
    if programs is None:
        return fail("there is no bundle (scripts/gpu-bundle makes one on a machine with the CUDA toolkit) and scripts/build did not work")
    torch = environment.torch_facts(options.python)
    step_environment = environment.of_steps(os.environ, torch)
    facts = environment.facts(root, programs, step_environment, torch)
    simulated = environment.is_simulated(facts["devices"])
    if not facts["devices"]:
        return fail("no GPU can be used here (--simulated runs everything on simulated ones)")
    out = options.out.absolute() if options.out else root
    if simulated and root / "docs/results" in [out, *out.parents]:
        return fail("a simulated run may not write under docs/results")
    results_folder, work = folders(root, options, simulated)
    try:
        place = steps.Place(root=root, programs=programs, python=options.python, work=work, mode=options.mode,
                            simulated=simulated, devices=len(facts["devices"]), torch=bool(facts["torch"]),
                            simulator=simulator.libraries(os.environ), training=environment.of_training(os.environ))
        return with_place(root, options, place, facts, step_environment, results_folder)
    finally:
        if options.out and not options.work:
            shutil.rmtree(work, ignore_errors=True)


def with_place(root, options, place, facts, step_environment, results_folder):
    chosen = [step for step in steps.steps_of(place) if not options.only or any(text in step.name for text in options.only)]
    if options.list:
        for step in chosen:
            print(f"{step.name:40} {step.limit:5.0f} s  {' '.join(str(word) for word in step.command)}")
        return 0
    try:
        earlier = results.earlier_entries(options.add, facts) if options.add else []
    except (OSError, ValueError) as error:
        return fail(f"--add: {error}")
    return carry_out(root, options, place, facts, chosen, step_environment, results_folder, earlier)


def carry_out(root, options, place, facts, chosen, step_environment, results_folder, earlier):
    logs = place.work / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    verdict = place.work / "mps.json"  # of the first step that tries it, for those after it
    verdict.unlink(missing_ok=True)
    step_environment = {**step_environment, environment.MPS_VERDICT: str(verdict)}
    results_folder.mkdir(parents=True, exist_ok=True)
    processes.become_subreaper()
    signal.signal(signal.SIGTERM, _interrupt)
    started = datetime.datetime.now(datetime.timezone.utc)
    listed = constants.load(root)

    places = {f"{root}/": "", str(root): ".", str(place.work): "WORK", str(place.python): "python3", sys.executable: "python3"}

    def write(done):
        entries = results.shown(results.joined(earlier, done), places)
        facts["mps"] = environment.mps_verdict(verdict) or facts.get("mps")
        result = results.assemble(mode=options.mode, started=started, seconds=sum(entry["seconds"] for entry in entries),
                                  simulated=place.simulated, environment=facts, entries=entries, constants=listed)
        return files.write_results(results_folder / results.stem(result), result, page.render(result, listed))

    print(f"scripts/gpu-proof: {len(chosen)} steps, {facts['devices'][0]['name']}, logs in {logs}", flush=True)
    seconds = min(budget.SECONDS[options.mode], options.seconds or budget.SECONDS[options.mode])
    done = run.run_all(chosen, seconds, step_environment, logs, say=lambda line: print(line, flush=True), after_each=write,
                       sure=budget.sure(options.mode, {step.kind for step in chosen if not step.skip}, seconds))
    page_file = write(done)
    files.pack_logs(place.work, (results_folder if options.out else place.work) / f"{page_file.stem}-logs.tar.gz")
    counts = results.counts(done)
    print("scripts/gpu-proof: " + ", ".join(f"{number} {status}" for status, number in counts.items() if number))
    print(f"scripts/gpu-proof: {page_file}")
    return 1 if counts["failed"] or counts["timed out"] else 0
