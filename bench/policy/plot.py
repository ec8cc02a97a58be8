#!/usr/bin/env python3
"""Draws conversion against slowdown from the output of `bench_policy frontier --csv`, as an SVG.

    <build>/bin/bench_policy frontier --csv | python3 bench/policy/plot.py - docs/frontier.svg

One panel for each pipeline and interference, one curve for each policy, in the order of its settings. The axis of the
slowdown is logarithmic, and linear from 0 to its smallest mark. Points above the panel are drawn at its edge, with
their conversion. Nothing but the standard library is needed.
"""
import csv
import io
import math
import sys
from xml.sax.saxutils import escape

COLUMNS = ["pipeline", "interference_percent", "policy", "setting", "conversion", "slowdown_percent"]
LINEAR = 0.01  # percent: up to here the axis is linear
HIGHEST = 1.4  # conversion: no panel goes farther
WIDTH, HEIGHT, LEFT, TOP, GAP_X, GAP_Y, LEGEND = 470, 300, 70, 40, 80, 90, 60
# Colours that people who see fewer of them tell apart (Okabe and Ito), and a shape for each besides.
STYLES = [("#0072b2", "circle"), ("#000000", "square"), ("#e69f00", "triangle"), ("#009e73", "diamond"),
          ("#666666", "cross"), ("#d55e00", "plus"), ("#cc79a7", "ring")]


class Malformed(Exception):
    pass


def number(text, line, column):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise Malformed(f"line {line}: '{text}' is no {column}")
    return value


def read(text):
    """The points of each panel: {(pipeline, interference): {policy: [(slowdown, conversion, setting)]}}."""
    rows = list(csv.reader(io.StringIO(text)))
    if not rows or rows[0] != COLUMNS:
        raise Malformed("line 1: the columns have to be " + ",".join(COLUMNS))
    panels = {}
    for line, row in enumerate(rows[1:], start=2):
        if len(row) != len(COLUMNS):
            raise Malformed(f"line {line}: {len(row)} values instead of {len(COLUMNS)}")
        pipeline, interference, policy, setting, conversion, slowdown = row
        conversion = number(conversion, line, "conversion")
        if conversion < 0:
            raise Malformed(f"line {line}: a conversion below 0")
        point = (number(slowdown, line, "slowdown_percent"), conversion, setting)
        panel = panels.setdefault((pipeline, number(interference, line, "interference_percent")), {})
        panel.setdefault(policy, []).append(point)
    if not panels:
        raise Malformed("there is no point")
    return panels


class Axes:
    """Of all panels, so that they can be compared."""

    def __init__(self, panels):
        points = [point for panel in panels.values() for curve in panel.values() for point in curve]
        self.decades = max(1, math.ceil(math.log10(max(LINEAR * 10, *(x for x, _, _ in points)) / LINEAR)))
        self.most = min(HIGHEST, max(1, math.ceil(max(y for _, y, _ in points) * 5) / 5))

    def x(self, slowdown):
        """A slowdown of less than nothing is drawn at 0."""
        slowdown = max(0, slowdown)
        part = slowdown / LINEAR if slowdown < LINEAR else 1 + math.log10(slowdown / LINEAR)
        return WIDTH * part / (1 + self.decades)

    def y(self, conversion):
        return HEIGHT * (1 - min(conversion, self.most) / self.most)

    def marks_x(self):
        return [0] + [LINEAR * 10**decade for decade in range(self.decades + 1)]

    def marks_y(self):
        return [0.2 * i for i in range(round(self.most / 0.2) + 1)]


def line(x1, y1, x2, y2, colour, width=1.0):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"/>'


def text(x, y, content, anchor="middle", size=12, rest=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{rest}>{escape(content)}</text>'


def mark(x, y, style, title):
    colour, shape = style
    filled, stroke = f'fill="{colour}"', f'fill="none" stroke="{colour}" stroke-width="2"'
    shapes = {
        "circle": f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" {filled}>',
        "ring": f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" {stroke}>',
        "square": f'<path d="M{x - 4:.1f} {y - 4:.1f}h8v8h-8z" {filled}>',
        "triangle": f'<path d="M{x:.1f} {y - 5:.1f}l5 9h-10z" {filled}>',
        "diamond": f'<path d="M{x:.1f} {y - 5.5:.1f}l5.5 5.5l-5.5 5.5l-5.5 -5.5z" {filled}>',
        "cross": f'<path d="M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8" {stroke}>',
        "plus": f'<path d="M{x - 5:.1f} {y:.1f}h10m-5 -5v10" {stroke}>',
    }
    return shapes[shape] + f"<title>{escape(title)}</title></{shapes[shape][1:].split()[0]}>"


def grid(axes):
    parts = []
    for slowdown in axes.marks_x():
        parts += [line(axes.x(slowdown), 0, axes.x(slowdown), HEIGHT, "#dddddd"),
                  text(axes.x(slowdown), HEIGHT + 18, f"{slowdown:g}")]
    for conversion in axes.marks_y():
        parts += [line(0, axes.y(conversion), WIDTH, axes.y(conversion), "#dddddd"),
                  text(-8, axes.y(conversion) + 4, f"{conversion:.1f}", "end")]
    return parts + [line(0, axes.y(1), WIDTH, axes.y(1), "#999999", 1.5),
                    f'<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#333333"/>']


def curve(axes, policy, points, style):
    places = [(axes.x(slowdown), axes.y(conversion)) for slowdown, conversion, _ in points]
    way = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts = [f'<polyline points="{way}" fill="none" stroke="{style[0]}" stroke-width="1.5" stroke-opacity="0.7"/>']
    for (x, y), (slowdown, conversion, setting) in zip(places, points):
        parts.append(mark(x, y, style, f"{policy}, {setting}: {conversion:.3f} at {slowdown:+.3f} %"))
        if conversion > axes.most:
            parts.append(text(x, y + 18, f"{conversion:.1f}", size=11))
    return parts


def panel(axes, title, curves, styles, place):
    parts = [f'<g transform="translate({place[0]} {place[1]})">', text(WIDTH / 2, -14, title, size=14)]
    parts += grid(axes)
    for policy, points in curves.items():
        parts += curve(axes, policy, points, styles[policy])
    parts.append(text(WIDTH / 2, HEIGHT + 38, "slowdown of the training, %"))
    parts.append(text(-45, HEIGHT / 2, "fill work / idle time", rest=f' transform="rotate(-90 -45 {HEIGHT / 2})"'))
    return parts + ["</g>"]


def legend(policies, styles, width, top):
    parts = []
    step = (width - LEFT) / len(policies)
    for i, policy in enumerate(policies):
        x = LEFT + i * step
        parts += [mark(x, top, styles[policy], policy), text(x + 12, top + 4, policy, "start", 13)]
    return parts


def draw(panels):
    axes = Axes(panels)
    policies = list(dict.fromkeys(policy for curves in panels.values() for policy in curves))
    if len(policies) > len(STYLES):
        raise Malformed(f"there are {len(policies)} policies; at most {len(STYLES)} can be told apart")
    styles = dict(zip(policies, STYLES))
    columns = min(2, len(panels))
    rows = math.ceil(len(panels) / columns)
    width = LEFT + columns * WIDTH + (columns - 1) * GAP_X + 30
    height = TOP + rows * (HEIGHT + GAP_Y) + LEGEND
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
             f'height="{height}" font-family="sans-serif" fill="#222222">',
             "<title>Conversion of idle time against slowdown of the training</title>",
             f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    for i, ((pipeline, interference), curves) in enumerate(panels.items()):
        place = (LEFT + i % columns * (WIDTH + GAP_X), TOP + i // columns * (HEIGHT + GAP_Y))
        parts += panel(axes, f"{pipeline}, interference {interference:g} %", curves, styles, place)
    return "\n".join(parts + legend(policies, styles, width, height - LEGEND / 2) + ["</svg>"]) + "\n"


def main(arguments):
    if len(arguments) != 2:
        print("usage: plot.py CSV|- SVG", file=sys.stderr)
        return 2
    source, target = arguments
    name = "standard input" if source == "-" else source
    try:
        if source == "-":
            content = sys.stdin.read()
        else:
            with open(source, encoding="utf-8", newline="") as file:
                content = file.read()
        drawing = draw(read(content))
        with open(target, "w", encoding="utf-8") as file:
            file.write(drawing)
    except (Malformed, csv.Error, UnicodeDecodeError) as error:
        print(f"plot.py: {name}: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"plot.py: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
