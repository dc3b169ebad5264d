#!/usr/bin/env python3
"""Draws the picture of docs/scale.md, scale.svg, from what bindings/petsc/scale.py simulates: draw_scale.py [--check]

--check compares with the picture that is there and writes nothing. Needs numpy.
"""
import math
import sys
from pathlib import Path

from picture import keep

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "bindings/petsc"))
import scale  # noqa: E402

COLOURS = {"aij": "#8a949f", "csr": "#1f77b4", "packed": "#e07b00"}
TEXT, PALE = "#1d2733", "#66707c"
RANKS = [2 ** k for k in range(11)]
LEFT, TOP, WIDTH, HEIGHT, GAP = 70, 86, 300, 260, 70
LEAST, MOST = 1e-4, 1.0  # seconds


def place(panel, ranks, seconds):
    x = LEFT + panel * (WIDTH + GAP) + WIDTH * math.log2(ranks) / math.log2(RANKS[-1])
    y = TOP + HEIGHT * (math.log10(MOST) - math.log10(seconds)) / (math.log10(MOST) - math.log10(LEAST))
    return f"{x:.1f},{y:.1f}"


def text(at, words, anchor="middle", colour=PALE, more=""):
    x, y = at.split(",")
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{colour}"{more}>{words}</text>'


def axes(panel):
    parts = []
    for power, words in ((-4, "100 us"), (-3, "1 ms"), (-2, "10 ms"), (-1, "100 ms"), (0, "1 s")):
        begin, end = place(panel, 1, 10.0 ** power), place(panel, RANKS[-1], 10.0 ** power)
        parts.append(f'<path d="M{begin} L{end}" stroke="#dfe3e7" fill="none"/>')
        parts.append(text(begin, words + "&#160;", "end"))
    for ranks in RANKS[::2]:
        x, y = place(panel, ranks, LEAST).split(",")
        parts.append(text(f"{x},{float(y) + 18:.1f}", ranks))
    return parts


def panel_of(machine, panel, dims):
    rows = scale.scale(machine, dims, "boxes", RANKS, False)
    parts = axes(panel)
    first = rows[0][1]["cg"][0]
    ideal = " L".join(place(panel, ranks, first / ranks) for ranks in RANKS)
    parts.append(f'<path d="M{ideal}" stroke="{PALE}" stroke-dasharray="3 4" fill="none"/>')
    for k, name in enumerate(scale.TYPES):
        line = " L".join(place(panel, ranks, times["cg"][k]) for ranks, times in rows)
        parts.append(f'<path d="M{line}" stroke="{COLOURS[name]}" stroke-width="2" fill="none"/>')
    x = LEFT + panel * (WIDTH + GAP)
    parts.append(text(f"{x},{TOP - 12}", " x ".join(map(str, dims)) + " points, boxes", "start", TEXT))
    parts.append(text(f"{x + WIDTH / 2},{TOP + HEIGHT + 38}", "ranks, 64 a node"))
    return parts


def main():
    machine = scale.machine_of(scale.parse([]))
    parts = [part for panel, dims in enumerate(scale.FIXED) for part in panel_of(machine, panel, dims)]
    x = LEFT
    for name, words in (("aij", "aij"), ("csr", "aijspry, csr"), ("packed", "aijspry, packed")):
        parts.append(f'<rect x="{x}" y="34" width="12" height="12" fill="{COLOURS[name]}"/>')
        parts.append(text(f"{x + 18},45", words, "start"))
        x += 50 + 7 * len(words)
    parts.append(text(f"{x},45", "dashed: the time of one rank, divided by the ranks", "start"))
    title = "Simulated time of an iteration of CG with Jacobi"
    width, height = LEFT + 2 * WIDTH + GAP + 30, TOP + HEIGHT + 56
    svg = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
           'font-family="system-ui, sans-serif" font-size="12" role="img">\n'
           f"<title>{title}</title>\n"
           f'<rect width="{width}" height="{height}" rx="6" fill="#fbfbfa"/>\n' +
           text(f"{LEFT},22", title, "start", TEXT, ' font-weight="bold"') + "\n" + "\n".join(parts) + "\n</svg>\n")
    keep(HERE / "scale.svg", svg, "bindings/petsc/scale.py simulates", "draw_scale.py")


if __name__ == "__main__":
    main()
