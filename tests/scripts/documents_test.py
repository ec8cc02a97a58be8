#!/usr/bin/env python3
"""The Markdown files and the comments of the sources as a reader meets them: documents_test.py SOURCE
Lines of prose end at column 120, and every link leads to a file and a heading. Tables, code blocks and the output of
programs (docs/results, docs/options.md, between "begin" and "end" comments) may have longer lines.

Tools that wrap lines have run commands together and broken them in two. They leave fences alone, so code stands in
fences, and no line ends inside `inline code`. A comment behind a command names no second command.

In a comment or docstring of the sources, a sentence that begins with the word "What" is a question."""
import ast
import os
import pathlib
import re
import sys

MOST_COLUMNS = 120
LINK = re.compile(r"\]\(([^)#\s]*)(#[^)\s]*)?\)")
OTHER_PLACE = re.compile(r"[a-z]+:")
# The project's way to write: subject first, and the words of the field.
DIALECT = re.compile(r"((?:^(?:#+ |[-*] )?|[.:;] |\| )What(?: [^?|]*?(?:\. |\||$)|$)|\bfor ever\b|\bcan(?:not)? be had\b|\bfor want of\b|\b(?:is|are) told\b|\bnobody's\b)")
# In a comment the word has its capital only where a sentence begins.
NO_QUESTION = re.compile(r"\bWhat [^?]*?(?:\.\s|$)")
SLASHES = re.compile(r"(?:^\s*\*|(?:^|\s)(?://+|/\*+)) (.*)")
HASH = re.compile(r"(?:^|\s)#+ (.*)")
LINE = re.compile(r"(.*)")


def files(source, pattern):
    for path in sorted(source.rglob(pattern)):
        folder = path.relative_to(source).parts[0]
        if not folder.startswith(".") and not folder.startswith("build"):
            yield path


def comment_mark(path):
    """The pattern of a comment in a file of this name; None: it is no source file."""
    if path.suffix in (".cpp", ".h", ".c", ".cu", ".cuh", ".S", ".def"):
        return SLASHES
    if path.suffix in (".py", ".sh", ".cmake", ".events") or path.name == "CMakeLists.txt":
        return HASH
    return HASH if path.parent.name == "scripts" and not path.suffix and path.is_file() else None


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


def code(text):
    """(number, line) of each line inside a fence."""
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif in_code:
            yield number, line


def indented_code(text):
    """Numbers of the lines that begin a block of code without a fence; below a list item such a line is prose."""
    blank, in_list = True, False
    for number, line in prose(text):
        if line.strip() and not line.startswith(" "):
            in_list = re.match(r"(-|\d+\.) ", line) is not None
        elif blank and line.startswith("    ") and not in_list:
            yield number
        blank = not line.strip()


def anchors(page):
    """As the usual sites make them of headings."""
    found = set()
    for _, line in prose(page.read_text(encoding="utf-8")):
        if line.startswith("#"):
            words = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower())
            found.add("#" + words.replace(" ", "-"))
    return found


def second_command(source, line):
    """A file of the tree that can be run and is named in the comment behind a command; else None."""
    for word in line.partition(" # ")[2].split():
        file = source / word
        if "/" in word and not word.startswith("/") and file.is_file() and os.access(file, os.X_OK):
            return word
    return None


def faults_of_links(path, name, text):
    for target, anchor in LINK.findall(text):
        page = path.parent / target if target else path
        if OTHER_PLACE.match(target):
            continue
        if not page.exists():
            yield f"{name}: no {target}"
        elif anchor and anchor not in anchors(page):
            yield f"{name}: no {anchor} in {target or name}"


def faults_of_lines(source, name, text):
    for number, line in prose(text):
        if len(line) > MOST_COLUMNS and not is_written_by_a_program(name):
            yield f"{name}:{number}: {len(line)} columns"
        if line.count("`") % 2:
            yield f"{name}:{number}: ends inside inline code"
    for number in indented_code(text):
        yield f"{name}:{number}: code without a fence"
    for number, line in code(text):
        if second_command(source, line):
            yield f"{name}:{number}: a second command in a comment: {second_command(source, line)}"
    fenced = {number for number, _ in code(text)}
    for number, line in enumerate(text.splitlines(), 1):
        if number not in fenced and (found := DIALECT.search(re.sub(r"`[^`]*`", "``", line))):
            yield f"{name}:{number}: write it plainly: {found[0].strip()}"


def docstring_lines(text):
    """Numbers of the lines of all docstrings of a Python file."""
    numbers = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if ast.get_docstring(node) is not None:
                numbers.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return numbers


def comments(path, text):
    """(number of the first line, text) of each comment: lines of comment with nothing between them."""
    docstrings = docstring_lines(text) if path.suffix == ".py" else ()
    first, comment = 1, []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        found = (LINE if number in docstrings else comment_mark(path)).search(line)
        if comment and (not found or line[:found.start()].strip()):
            yield first, "\n".join(comment)
            comment = []
        if found:
            first = first if comment else number
            comment.append(found[1])


def faults_of_comments(path, name):
    for first, comment in comments(path, path.read_text(encoding="utf-8")):
        for found in NO_QUESTION.finditer(comment):
            number = first + comment.count("\n", 0, found.start())
            yield f"{name}:{number}: write it plainly: {found[0].splitlines()[0].rstrip()}"


def faults(source):
    for path in files(source, "*"):
        if comment_mark(path):
            yield from faults_of_comments(path, path.relative_to(source).as_posix())
    count = 0
    for path in files(source, "*.md"):
        count += 1
        name = path.relative_to(source).as_posix()
        text = path.read_text(encoding="utf-8")
        yield from faults_of_lines(source, name, text)
        yield from faults_of_links(path, name, text)
    if count == 0:
        yield f"no Markdown files in {source}"


found = list(faults(pathlib.Path(sys.argv[1])))
for fault in found:
    print("FAILED:", fault)
sys.exit(1 if found else 0)
