#!/usr/bin/env python3
"""Draws README.md's picture, mesh.svg, from the record of mesh in bench/records: draw_mesh.py [--check]

--check compares with the picture that is there and writes nothing.
"""
import csv
import sys
from pathlib import Path

from picture import keep

HERE = Path(__file__).parent
RECORD = HERE.parents[1] / "bench/records/h200-2026-11-26/mesh.tsv"
LEFT, WIDTH, BAR, GAP = 110, 430, 15, 16
OURS, THEIRS, TEXT, PALE = "#1f77b4", "#b9c2cc", "#1d2733", "#66707c"


def main():
    lines = [line for line in RECORD.read_text().splitlines() if not line.startswith("# ")]
    rows = [(case["case"], float(case["time"]), float(case["peer_time"]), case["peer"])
            for case in csv.DictReader(lines, delimiter="\t") if case["type"] == "f64"]
    if len(rows) != 7:
        sys.exit(f"{RECORD} has {len(rows)} rows of f64, expected 7")
    scale = WIDTH / max(theirs for _, _, theirs, _ in rows)
    parts, y = [], 64
    for name, ours, theirs, how in rows:
        parts.append(f'<text x="{LEFT - 10}" y="{y + BAR + 5}" text-anchor="end" fill="{TEXT}">{name}</text>')
        for k, (time, colour, note) in enumerate(((ours, OURS, ""), (theirs, THEIRS, f" ({how})"))):
            top = y + k * BAR
            parts.append(f'<rect x="{LEFT}" y="{top}" width="{time * scale:.1f}" height="{BAR - 2}" fill="{colour}"/>')
            parts.append(f'<text x="{LEFT + time * scale + 6:.1f}" y="{top + 11}" fill="{PALE}" font-size="11">'
                         f"{time:g} us{note}</text>")
        y += 2 * BAR + GAP
    width, height = LEFT + WIDTH + 120, y
    svg = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
           'font-family="system-ui, sans-serif" font-size="13" role="img">\n'
           "<title>Microseconds a product on an H200: Spry's format packed, and the fastest of cuSPARSE</title>\n"
           f'<rect width="{width}" height="{height}" rx="6" fill="#fbfbfa"/>\n'
           f'<text x="{LEFT}" y="24" fill="{TEXT}" font-weight="bold">Time of a product y = A x, f64, NVIDIA H200 '
           "(shorter is better)</text>\n"
           f'<rect x="{LEFT}" y="36" width="12" height="12" fill="{OURS}"/>'
           f'<text x="{LEFT + 18}" y="47" fill="{TEXT}">Spry, packed</text>'
           f'<rect x="{LEFT + 130}" y="36" width="12" height="12" fill="{THEIRS}"/>'
           f'<text x="{LEFT + 148}" y="47" fill="{TEXT}">the fastest of cuSPARSE 12.9.4 (its name)</text>\n' +
           "\n".join(parts) + "\n</svg>\n")
    keep(HERE / "mesh.svg", svg, f"{RECORD.name} says", "draw_mesh.py")


if __name__ == "__main__":
    main()
