#!/usr/bin/env python3
"""A report in a real browser: browser_test.py WEFT TRACES [PICTURES]

No error and no request; tables have the numbers of `weft summary --json`; as many shapes as the data has; CSV buttons,
keys, sorting, light and dark, narrow screens work. With a folder for PICTURES it writes what the page looks like. Skipped (77) without
chromium."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "export" / "readers"))
from browser import Browser  # noqa: E402

WIDTH = 1240


def texts(page, selector):
    return page.value_of(f"[...document.querySelectorAll({selector!r})].map((each) => each.textContent)")


def count(page, selector):
    return page.value_of(f"document.querySelectorAll({selector!r}).length")


def picture_of(page, selector, path):
    box = page.value_of(f"""(() => {{ const box = document.querySelector({selector!r}).getBoundingClientRect();
        return [box.x, box.y + scrollY, box.width, box.height]; }})()""")
    clip = {"x": max(0, box[0] - 12), "y": max(0, box[1] - 12), "width": box[2] + 24, "height": box[3] + 24, "scale": 1}
    path.write_bytes(page.picture(clip=clip, captureBeyondViewport=True))


def check_ranks(page, summary):
    page.value_of("document.querySelectorAll('#ranks > div > button').forEach((button) => button.click())")
    rows = page.value_of("""[...document.querySelectorAll('#table-ranks tbody tr')].map((row) =>
        [...row.children].map((cell) => cell.textContent))""")
    assert len(rows) == min(1000, len(summary["ranks"])), len(rows)
    for row, rank in zip(rows, summary["ranks"]):
        part = rank["steady"] or rank
        wanted = [f"{100 * part['idle_share']:.2f}", f"{100 * part['uncertain_share']:.2f}"]
        assert row[0] == str(rank["rank"]) and row[1] == rank["host"], row
        assert row[4].replace("\N{NARROW NO-BREAK SPACE}", "") == str(rank["iterations"]), row
        assert row[5] == f"{rank['iteration_median'] / 1e6:.3f}", row
        assert row[6:8] == wanted, (row, wanted)


def check_total(page, summary):
    total = summary["total"]
    part = total["steady"] or total
    numbers = dict(zip(texts(page, "#headline .tile span:first-child"), texts(page, "#headline .tile b")))
    assert numbers["idle"] == f"{100 * part['idle_share']:.2f} %", numbers
    assert numbers["iteration"] == f"{total['iteration_median'] / 1e6:.3f} ms", numbers
    dropped = total["dropped_records"]
    assert numbers["dropped"] == ("unknown" if dropped is None else str(dropped)), numbers
    if total["filled"] > 0:
        assert numbers["filled"] == f"{100 * part['conversion']:.2f} %", numbers
    sentence = texts(page, "#sentences p")[0]
    assert f"{100 * part['idle_share']:.1f} %" in sentence, sentence


def check_slots(page, summary):
    rows = page.value_of("""[...document.querySelectorAll('#table-slots tbody tr')].map((row) =>
        [...row.children].map((cell) => cell.textContent))""")
    for row, slot in zip(rows, summary["most_idle_slots"]):
        assert row[1] == slot["name"] and row[4] == str(slot["bubbles"]), (row, slot)
        assert row[6] == f"{slot['idle'] / 1e6:.3f}", (row, slot)


def check_shapes(page):
    data = json.loads(page.value_of("document.getElementById('data').textContent"))
    sections = {section["id"]: section for section in data["sections"]}
    assert count(page, "#timeline rect.part") == len(sections["timeline"]["table"]["rows"])
    assert count(page, "#timeline rect.busy") == len(sections["timeline"]["rows"])
    if len(sections["ranks"]["table"]["rows"]) <= 32:
        cells = len(sections["ranks"]["table"]["rows"]) * (2 + len(sections["ranks"]["causes"]))
        assert count(page, "#ranks rect.cell") == cells
    else:
        assert page.value_of("document.querySelector('#ranks canvas').height") > 10
    if "table" in sections["waits"]["matrix"]:
        assert count(page, "#waits rect.pair") == len(sections["waits"]["matrix"]["table"]["rows"])
    assert len(page.value_of("document.body.innerHTML").split("svg")) < 10 ** 6
    return sections


def check_csv(page, sections, folder):
    page.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    page.value_of("""data.sections.find(({ id }) => id === "ranks").table.rows[0][1] = "=1+1\\r";
        document.querySelector('#ranks .head button').click()""")
    for _ in range(100):
        files = list(folder.glob("*.csv"))
        if files:
            break
        time.sleep(0.1)
    lines = files[0].read_bytes().decode().removesuffix("\n").split("\n")
    table = sections["ranks"]["table"]
    assert files[0].name == "weft-ranks.csv" and len(lines) == 1 + len(table["rows"]), lines[:2]
    assert lines[1].split(",")[1] == '"\'=1+1\r"', lines[1]  # no formula, and quoted
    assert lines[0].split(",")[:3] == ["rank", "host", "GPU"], lines[0]
    buttons = texts(page, "button")
    assert buttons.count("CSV") >= 8, buttons


def check_controls(page):
    page.value_of("document.querySelector('#timeline svg').focus()")
    for _ in range(2):
        page.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight", code="ArrowRight")
    page.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowDown", code="ArrowDown")
    assert page.value_of("!document.getElementById('tip').hidden && document.getElementById('tip').textContent.length")
    page.call("Input.dispatchKeyEvent", type="keyDown", key="Escape", code="Escape")
    assert page.value_of("document.getElementById('tip').hidden")
    heads = "document.querySelectorAll('#table-ranks th button')"
    column = "[...document.querySelectorAll('#table-ranks tbody tr')].map((row) => +row.children[6].textContent)"
    page.value_of(f"{heads}[6].click()")
    falling = page.value_of(column)
    page.value_of(f"{heads}[6].click()")
    assert falling == sorted(falling, reverse=True) and page.value_of(column) == sorted(falling), falling
    ground = "getComputedStyle(document.body).backgroundColor"
    before = page.value_of(ground)
    page.value_of("document.getElementById('theme').click()")
    assert page.value_of(ground) != before
    page.value_of("document.getElementById('theme').click()")
    assert page.value_of(ground) == before


def check_widths(page):
    for width in (360, WIDTH):
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=False)
        time.sleep(0.3)
        assert page.value_of("document.documentElement.scrollWidth <= innerWidth"), width
        clipped = page.value_of("""[...document.querySelectorAll("svg text")].filter((text) => {
            const own = text.getBoundingClientRect(), all = text.ownerSVGElement.getBoundingClientRect();
            return own.right > all.right + 2 || own.left < all.left - 2; }).map((text) => text.textContent)""")
        assert not clipped, (width, clipped)


def take_pictures(page, folder):
    folder.mkdir(parents=True, exist_ok=True)
    sections = page.value_of("[...document.querySelectorAll('section')].map((each) => each.id)")
    for section in sections:
        picture_of(page, f"#{section}", folder / f"{section}.png")
    picture_of(page, "body", folder / "all.png")
    page.value_of("document.getElementById('theme').click()")
    picture_of(page, "body", folder / "all-dark.png")
    page.value_of("document.getElementById('theme').click()")


def main():
    weft, traces = sys.argv[1:3]
    chromium = shutil.which("chromium") or shutil.which("chromium-headless-shell")
    if not chromium:
        print("chromium is missing")
        return 77
    with tempfile.TemporaryDirectory() as name, Browser(chromium) as page:
        folder = pathlib.Path(name)
        subprocess.run([weft, "report", traces, "-o", folder / "run.html"], check=True)
        summary = json.loads(subprocess.run([weft, "summary", "--json", traces], check=True, capture_output=True).stdout)
        for domain in ("Network", "Log"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=WIDTH, height=1000, deviceScaleFactor=1, mobile=False)
        page.call("Page.navigate", url=(folder / "run.html").as_uri())
        for _ in range(300):
            if page.value_of("document.readyState === 'complete' && !!document.querySelector('#notes li')"):
                break
            time.sleep(0.1)
        check_total(page, summary)
        sections = check_shapes(page)
        if len(sys.argv) > 3:
            take_pictures(page, pathlib.Path(sys.argv[3]))
        check_ranks(page, summary)
        check_slots(page, summary)
        check_csv(page, sections, folder)
        check_controls(page)
        assert page.value_of("['rank 10', 'rank 9', 'rank 2'].sort(compared)") == ["rank 2", "rank 9", "rank 10"]
        check_widths(page)
        asked = [event["params"]["request"]["url"] for event in page.events
                 if event["method"] == "Network.requestWillBeSent"]
        foreign = [url for url in asked if not url.startswith(("file://", "data:,", "blob:"))]
        assert not foreign and len([url for url in asked if url.startswith("file://")]) == 1, asked
        errors = [event["params"]["entry"] for event in page.events if event["method"] == "Log.entryAdded"]
        assert not page.exceptions and not errors, (page.exceptions, errors)
    print("the page has no error, asks for nothing, and says what weft summary says")
    return 0


if __name__ == "__main__":
    sys.exit(main())
