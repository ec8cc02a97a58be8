"""weft export --prometheus under a real Prometheus: prometheus_test.py WEFT DASHBOARD

A sample run grows, weft writes its metrics, node exporter reads them, Prometheus scrapes that. Then every expression of
the dashboard is asked by promtool: none may be empty or an error. Skipped (77) where the programs are missing.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from sample_run import SampleRun

PROGRAMS = ("prometheus", "promtool", "prometheus-node-exporter")
RUN = "weft-12345"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(what, condition, seconds=60, meanwhile=lambda: None):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        meanwhile()
        if condition():
            return
        time.sleep(0.2)
    raise AssertionError(f"within {seconds} s not: {what}")


def expressions_of(dashboard):
    """Those of the panels, with what Grafana would put in for its variables."""
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            expression = target["expr"].replace("$__rate_interval", "8s").replace("$run", RUN)
            assert "$" not in expression, expression
            yield panel["title"], expression


class Prometheus:
    def __init__(self, folder, exporter):
        self.address = f"http://127.0.0.1:{free_port()}"
        config = os.path.join(folder, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"global": {"scrape_interval": "1s"},
                       "scrape_configs": [{"job_name": "node", "static_configs": [{"targets": [exporter]}]}]}, file)
        self.arguments = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
                          f"--web.listen-address={self.address.removeprefix('http://')}", "--log.level=error"]

    def asked(self, expression):
        """The samples, by promtool as a user would ask."""
        done = subprocess.run(["promtool", "query", "instant", "--format=json", self.address, expression],
                              capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, f"{expression}: {done.stderr}"
        return json.loads(done.stdout)

    def value(self, expression):
        samples = self.asked(expression)
        return float(samples[0]["value"][1]) if samples else None

    def is_ready(self):
        with contextlib.suppress(urllib.error.URLError, OSError):
            return urllib.request.urlopen(self.address + "/-/ready", timeout=2).status == 200
        return False


def check_metrics(folder):
    """promtool's own opinion of the files."""
    for name in sorted(os.listdir(folder)):
        if name.endswith(".prom"):
            with open(os.path.join(folder, name), "rb") as file:
                done = subprocess.run(["promtool", "check", "metrics"], stdin=file, capture_output=True, text=True)
            assert done.returncode == 0 and not done.stderr, f"{name}: {done.stdout}{done.stderr}"


def check_dashboard(prometheus, dashboard, run):
    expressions = list(expressions_of(dashboard))
    # Rates need two scrapes of a counter that grows; of a share of nothing there is a sample that is no number.
    for title, expression in expressions:
        wait_for(f"{title}: {expression}", lambda: prometheus.asked(expression), meanwhile=run.step)
        run.step()
        values = [float(sample["value"][1]) for sample in prometheus.asked(expression)]
        assert values and any(value == value for value in values), f"{title}: {expression}: {values}"
    known = prometheus.asked('count by (__name__) ({__name__=~"weft_.*"})')
    names = {sample["metric"]["__name__"] for sample in known}
    unknown = set(re.findall(r"weft_[a-z_]+", json.dumps(dashboard))) - names
    assert not unknown, f"the dashboard has names that no file has: {unknown}"
    print(f"{len(dashboard['panels'])} panels, {len(expressions)} expressions, none is empty; "
          f"{len(names)} names, {int(prometheus.value(f'count({{run={json.dumps(RUN)}}})'))} series of 4 ranks")


def check_shares(prometheus, dashboard, run):
    """Known from how the run is made: 2 bubbles of (rank + 1) * 10 ms in 200 ms, half of each filled."""
    by_title = {}
    for title, expression in expressions_of(dashboard):
        by_title.setdefault(title, []).append(expression)
    for _ in range(10):
        run.step()
        time.sleep(0.2)
    idle = {sample["metric"]["rank"]: float(sample["value"][1])
            for sample in prometheus.asked(by_title["Idle share of each rank"][0])}
    # Without the dark time, of which a window of some seconds has one piece more or less.
    assert abs(idle["0"] - 0.1) < 0.01 and abs(idle["1"] - 0.2) < 0.02 and "3" not in idle, idle
    assert abs(prometheus.value(by_title["Filled"][0]) - 0.5) < 0.01
    assert abs(prometheus.value(by_title["Iteration time"][0]) - 0.2) < 1e-6


def check_totals(prometheus, weft, traces, run):
    """In the end Prometheus and `weft summary` have the same sums."""
    run.close()
    summary = json.loads(subprocess.run([weft, "summary", "--json", traces], capture_output=True, check=True).stdout)
    for rank in summary["ranks"]:
        if rank["idle"] is None:
            continue
        for name, wanted in (("idle_seconds_total", rank["idle"] / 1e9), ("bubbles_total", rank["bubbles"]),
                             ("window_seconds_total", rank["window"] / 1e9), ("dark_seconds_total", rank["dark"] / 1e9),
                             ("filled_seconds_total", rank["filled"] / 1e9), ("iterations_total", rank["iterations"]),
                             ("fill_units_total", rank["fill_units"])):
            expression = f'sum (weft_{name}{{run="{RUN}",rank="{rank["rank"]}"}})'
            wait_for(f"{expression} is {wanted}, not {prometheus.value(expression)}",
                     lambda: abs(prometheus.value(expression) - wanted) < 1e-6, seconds=10)


def main():
    weft, dashboard_path = sys.argv[1:]
    missing = [program for program in PROGRAMS if not shutil.which(program)]
    if missing:
        print("skipped: not installed:", ", ".join(missing))
        return 77
    with open(dashboard_path, encoding="utf-8") as file:
        dashboard = json.load(file)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as processes:
        def start(arguments):
            process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
            processes.callback(lambda: (process.kill(), process.wait()))
            return process

        traces, out = os.path.join(folder, RUN), os.path.join(folder, "out")
        os.mkdir(out)
        exporter = f"127.0.0.1:{free_port()}"
        prometheus = Prometheus(folder, exporter)
        run = SampleRun(traces)
        metrics = start([weft, "export", traces, "--prometheus", out, "--interval", "1s"])
        start(["prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile", "--log.level=error",
               f"--collector.textfile.directory={out}", f"--web.listen-address={exporter}"])
        start(prometheus.arguments)
        wait_for("Prometheus is ready", prometheus.is_ready, meanwhile=run.step)
        wait_for("metrics of all ranks", lambda: len(prometheus.asked("weft_info")) == 4, meanwhile=run.step)
        check_metrics(out)
        check_dashboard(prometheus, dashboard, run)
        check_shares(prometheus, dashboard, run)
        check_totals(prometheus, weft, traces, run)
        assert prometheus.value("max (max_over_time (node_textfile_scrape_error[5m]))") == 0, "a file was not readable"
        assert not prometheus.asked('{run!="",exported_job!=""}') and not prometheus.asked('{exported_instance!=""}')
        metrics.send_signal(signal.SIGTERM)
        assert metrics.wait(timeout=10) == 0 and os.listdir(out) == []
        wait_for("the series end with their files", lambda: not prometheus.asked("weft_info"), seconds=20)
    return 0


if __name__ == "__main__":
    sys.exit(main())
