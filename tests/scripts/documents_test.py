#!/usr/bin/env python3
"""The Markdown files as a reader meets them: documents_test.py SOURCE
Lines of prose end at column 120, and every link to a file leads to one. Tables, code blocks and what a program wrote
(docs/results, docs/options.md, between "begin" and "end" comments) may have longer lines."""
import pathlib
import re
import sys

MOST_COLUMNS = 120
LINK = re.compile(r"\]\(([^)#\s]+)[^)\s]*\)")
OTHER_PLACE = re.compile(r"[a-z]+:")


def documents(source):
    for path in sorted(source.rglob("*.md")):
        folder = path.relative_to(source).parts[0]
        if not folder.startswith(".") and not folder.startswith("build"):
            yield path


def is_written_by_a_program(name):
    return name.startswith("docs/results/") or name == "docs/options.md"


def prose(text):
    """(number, line) of each line that a person breaks."""
    in_code = in_written = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif line.startswith("<!-- ") and line.endswith((" begin -->", " end -->")):
            in_written = line.endswith(" begin -->")
        elif not in_code and not in_written and not line.lstrip().startswith("|"):
            yield number, line


def faults(source):
    count = 0
    for path in documents(source):
        count += 1
        name = path.relative_to(source).as_posix()
        text = path.read_text(encoding="utf-8")
        for number, line in prose(text):
            if len(line) > MOST_COLUMNS and not is_written_by_a_program(name):
                yield f"{name}:{number}: {len(line)} columns"
        for target in LINK.findall(text):
            if not OTHER_PLACE.match(target) and not (path.parent / target).exists():
                yield f"{name}: no {target}"
    if count == 0:
        yield f"no Markdown files in {source}"


found = list(faults(pathlib.Path(sys.argv[1])))
for fault in found:
    print("FAILED:", fault)
sys.exit(1 if found else 0)
