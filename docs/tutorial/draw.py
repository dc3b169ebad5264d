#!/usr/bin/env python3
"""Draws the tutorial's pictures: draw.py PROGRAM [--check]

PROGRAM is spry. Each picture shows arrays that the program wrote (as a container), so none can show what the library
does not do. With --check the pictures are compared with those in pictures/, and nothing is written.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from arrays import read_container  # noqa: E402

HERE = Path(__file__).parent
MATRIX = HERE.parents[1] / "examples/data/eight.mtx"
# A colour for each row; dark text is readable on all of them.
COLOURS = ["#f6c6c6", "#f9dcb4", "#f4efb0", "#cdeac0", "#b9e3e6", "#c3d3f5", "#dccaf2", "#f2c6e4"]
EMPTY, TEXT, PALE, LINE = "#ffffff", "#1d2733", "#66707c", "#aab2bb"
SIDE = 34  # of a cell


class Picture:
    def __init__(self, title):
        self.title, self.parts, self.width, self.height = title, [], 0, 0

    def grow(self, x, y):
        self.width, self.height = max(self.width, x), max(self.height, y)

    def cell(self, x, y, text="", fill=EMPTY, width=SIDE, dashed=False):
        dash = ' stroke-dasharray="3 3"' if dashed else ""
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{SIDE}" fill="{fill}" '
                          f'stroke="{LINE}"{dash}/>')
        if text != "":
            self.text(x + width / 2, y + SIDE / 2 + 5, text, "middle")
        self.grow(x + width, y + SIDE)

    def text(self, x, y, text, anchor="start", colour=TEXT, size=14):
        self.parts.append(f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{colour}" font-size="{size}">'
                          f"{text}</text>")
        self.grow(x + (len(str(text)) * size * 0.6 if anchor == "start" else 0), y + 6)

    def row(self, y, name, numbers, fills, left=120):
        self.text(left - 12, y + SIDE / 2 + 5, name, "end")
        for k, number in enumerate(numbers):
            self.cell(left + k * SIDE, y, number, fills[k] if fills else EMPTY)

    def svg(self):
        width, height = self.width + 14, self.height + 14
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
                f'height="{height:g}" font-family="ui-monospace, Menlo, Consolas, monospace" role="img">\n'
                f"<title>{self.title}</title>\n"
                f'<rect width="{width:g}" height="{height:g}" rx="6" fill="#fbfbfa"/>\n' + "\n".join(self.parts) +
                "\n</svg>\n")


def number(value):
    return f"{value:g}"


def colour(value):
    """The colour of a value's row: 53 is in row 5."""
    return COLOURS[int(value) // 10 - 1] if value else EMPTY


class Formats:
    """The matrix in the formats that the program wrote."""

    def __init__(self, program, folder):
        self.program, self.folder = program, Path(folder)

    def arrays(self, source, name):
        path = self.folder / "matrix.spry"
        subprocess.run([self.program, "convert", str(source), "--format", name, "-o", str(path)], check=True,
                       stdout=subprocess.DEVNULL)
        return read_container(path)[2]

    def of(self, name):
        return self.arrays(MATRIX, name)


def draw_product(formats):
    a = formats.of("csr")
    p = Picture("y = A x: the matrix, x of ones, and the sums of the rows")
    entries = {}
    for i in range(8):
        for k in range(a["offsets"][i], a["offsets"][i + 1]):
            entries[i, a["indices"][k]] = a["values"][k]
    top, left = 44, 90
    p.text(left + 4 * SIDE, 28, "A", "middle")
    for i in range(8):
        y = top + i * SIDE
        p.text(left - 10, y + 22, f"row {i}", "end", PALE, 12)
        for j in range(8):
            value = entries.get((i, j))
            p.cell(left + j * SIDE, y, number(value) if value else "", colour(value) if value else EMPTY)
        p.cell(left + 9.5 * SIDE, y, 1)
        p.cell(left + 12 * SIDE, y, number(sum(entries.get((i, j), 0) for j in range(8))), COLOURS[i], 1.4 * SIDE)
    for j in range(8):
        p.text(left + (j + 0.5) * SIDE, top + 8 * SIDE + 16, j, "middle", PALE, 12)
    p.text(left - 10, top + 8 * SIDE + 16, "column", "end", PALE, 12)
    p.text(left + 10 * SIDE, 28, "x", "middle")
    p.text(left + 12.7 * SIDE, 28, "y", "middle")
    p.text(left + 8.75 * SIDE, top + 4 * SIDE + 5, "*", "middle")
    p.text(left + 11.25 * SIDE, top + 4 * SIDE + 5, "=", "middle")
    return p


def draw_csr(formats):
    a = formats.of("csr")
    p = Picture("CSR: offsets, columns, values")
    fills = [colour(v) for v in a["values"]]
    p.row(14, "offsets", a["offsets"], COLOURS + [EMPTY])
    p.row(74, "columns", a["indices"], fills)
    p.row(74 + SIDE, "values", [number(v) for v in a["values"]], fills)
    for i in range(8):
        p.text(120 + (i + 0.5) * SIDE, 14 + SIDE + 15, f"row {i}", "middle", PALE, 10)
    return p


def draw_csc(formats):
    a = formats.of("csc")
    p = Picture("CSC: offsets of columns, rows, values")
    fills = [colour(v) for v in a["values"]]
    p.row(14, "offsets", a["offsets"], None)
    p.row(74, "rows", a["indices"], fills)
    p.row(74 + SIDE, "values", [number(v) for v in a["values"]], fills)
    for j in range(8):
        p.text(120 + (j + 0.5) * SIDE, 14 + SIDE + 15, f"col {j}", "middle", PALE, 10)
    return p


def slots(p, values, columns, rows, width, at, left):
    """ELL's slots as a table of rows: values slot by slot, `rows` of them each."""
    for i in range(rows):
        for s in range(width):
            value, column = values[s * rows + i], columns[s * rows + i]
            fill = colour(value) if value else "#e9ebee"
            p.cell(left + s * SIDE, at + i * SIDE, number(value) if value else "pad", fill, dashed=not value)
            p.cell(left + (width + 1 + s) * SIDE, at + i * SIDE, column, fill, dashed=not value)


def draw_ell(formats):
    a = formats.of("ell")
    width = len(a["values"]) // 8
    p = Picture("ELL: every row padded to the longest")
    left, top = 90, 44
    p.text(left, 28, "values")
    p.text(left + (width + 1) * SIDE, 28, "columns")
    slots(p, a["values"], a["columns"], 8, width, top, left)
    for i in range(8):
        p.text(left - 10, top + i * SIDE + 22, f"row {i}", "end", PALE, 12)
    return p


def draw_sell(formats):
    a = formats.of("sell:c=2:sigma=4")
    p = Picture("SELL: chunks of two rows, each padded to its own longest row")
    left, top, gap = 90, 44, 12
    p.text(left, 28, "values")
    p.text(left + 7 * SIDE, 28, "columns")
    # A window of 4 rows: permutation[i] is the place of row i in it.
    order = [0] * 8
    for i in range(8):
        order[i // 4 * 4 + a["permutation"][i]] = i
    for chunk in range(4):
        begin, end = a["offsets"][chunk], a["offsets"][chunk + 1]
        width, at = (end - begin) // 2, top + chunk * (2 * SIDE + gap)
        for lane in range(2):
            p.text(left - 10, at + lane * SIDE + 22, f"row {order[2 * chunk + lane]}", "end", PALE, 12)
            for s in range(width):
                value, column = a["values"][begin + 2 * s + lane], a["columns"][begin + 2 * s + lane]
                fill = colour(value) if value else "#e9ebee"
                p.cell(left + s * SIDE, at + lane * SIDE, number(value) if value else "pad", fill, dashed=not value)
                p.cell(left + (7 + s) * SIDE, at + lane * SIDE, column, fill, dashed=not value)
    return p


def draw_hyb(formats):
    a = formats.of("hyb")
    width = len(a["values"]) // 8
    p = Picture("HYB: three entries a row as ELL, the rest as COO")
    left, top = 90, 44
    p.text(left, 28, "ELL: values")
    p.text(left + (width + 1) * SIDE, 28, "columns")
    slots(p, a["values"], a["columns"], 8, width, top, left)
    for i in range(8):
        p.text(left - 10, top + i * SIDE + 22, f"row {i}", "end", PALE, 12)
    right = left + (2 * width + 4) * SIDE
    p.text(right, 28, "the rest, as COO")
    fills = [colour(v) for v in a["rest_values"]]
    for r, (name, numbers) in enumerate((("rows", a["rest_rows"]), ("columns", a["rest_columns"]),
                                         ("values", [number(v) for v in a["rest_values"]]))):
        p.row(top + r * SIDE, name, numbers, fills, right + 1.5 * SIDE)
    return p


def draw_bsr(formats):
    a = formats.of("bsr:block=2")
    p = Picture("BSR: blocks of 2 x 2, their fill, and what is stored")
    left, top = 90, 20
    for block_row in range(4):
        for k in range(a["offsets"][block_row], a["offsets"][block_row + 1]):
            for c in range(2):
                for r in range(2):
                    value = a["values"][4 * k + 2 * c + r]
                    x, y = left + (2 * a["columns"][k] + c) * SIDE, top + (2 * block_row + r) * SIDE
                    p.cell(x, y, number(value), colour(value) if value else "#e9ebee", dashed=not value)
    p.parts.append(f'<path d="M{left} {top}' + f'h{8 * SIDE}v{8 * SIDE}h-{8 * SIDE}z" fill="none" stroke="{PALE}"/>')
    for line in (2, 4, 6):
        p.parts.append(f'<path d="M{left} {top + line * SIDE}h{8 * SIDE}M{left + line * SIDE} {top}v{8 * SIDE}" '
                       f'stroke="{PALE}"/>')
    for i in range(4):
        p.text(left - 10, top + (2 * i + 1) * SIDE + 5, f"block row {i}", "end", PALE, 10)
        p.text(left + (2 * i + 1) * SIDE, top + 8 * SIDE + 15, f"column {i}", "middle", PALE, 10)
    return p


def dots(p, a, x, y, side, title):
    rows = len(a["offsets"]) - 1
    dot = side / rows
    p.text(x + side / 2, y - 8, title, "middle", TEXT, 13)
    p.parts.append(f'<rect x="{x}" y="{y}" width="{side}" height="{side}" fill="#ffffff" stroke="{LINE}"/>')
    squares = "".join(f"M{x + a['indices'][k] * dot:.1f} {y + i * dot:.1f}h{dot:.1f}v{dot:.1f}h-{dot:.1f}z"
                      for i in range(rows) for k in range(a["offsets"][i], a["offsets"][i + 1]))
    p.parts.append(f'<path fill="#2a5db0" d="{squares}"/>')
    p.grow(x + side, y + side)


def draw_spy(formats):
    p = Picture("A grid of 12 x 12 points, numbered at random, by RCM and by Band-k")
    source = "gen:grid5,x=12,y=12,shuffle=1"
    dots(p, formats.arrays(source, "csr"), 20, 34, 220, "as it came")
    for k, method in enumerate(("rcm", "bandk")):
        moved = formats.folder / "moved.spry"
        order = [formats.program, "reorder", source, "--method", method, "-o", str(moved)]
        if method == "bandk":
            order += ["--srs", "4", "--ssrs", "4"]
        subprocess.run(order, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        dots(p, read_container(moved)[2], 260 + 240 * k, 34, 220, {"rcm": "after RCM", "bandk": "after Band-k"}[method])
    return p


def draw_packed(formats):
    """Eight rows of a grid in one dimension: the distances of a slice, and how columns follow from them."""
    a = formats.arrays("gen:laplace5,x=8,y=1", "csr")
    p = Picture("packed: one list of distances for a slice of rows, instead of a column an entry")
    left, top = 90, 44
    p.text(left + 4 * SIDE, 28, "eight neighbouring rows", "middle")
    for i in range(8):
        p.text(left - 10, top + i * SIDE + 22, f"row {i}", "end", PALE, 12)
        for j in range(8):
            p.cell(left + j * SIDE, top + i * SIDE)
        for k in range(a["offsets"][i], a["offsets"][i + 1]):
            distance = a["indices"][k] - i
            p.cell(left + a["indices"][k] * SIDE, top + i * SIDE, f"{distance:+d}" if distance else "0",
                   COLOURS[distance + 4])
    distances = sorted({a["indices"][k] - i for i in range(8) for k in range(a["offsets"][i], a["offsets"][i + 1])})
    right = left + 10 * SIDE
    p.text(right, 28, "stored once a slice")
    for d, distance in enumerate(distances):
        p.cell(right + d * SIDE, top, f"{distance:+d}" if distance else "0", COLOURS[distance + 4])
    p.text(right, top + 2 * SIDE, "column = row + distance", colour=PALE)
    return p


PICTURES = {"product": draw_product, "csr": draw_csr, "csc": draw_csc, "ell": draw_ell, "sell": draw_sell,
            "hyb": draw_hyb, "bsr": draw_bsr, "spy": draw_spy, "packed": draw_packed}


def main():
    program, check = sys.argv[1], "--check" in sys.argv[2:]
    different = []
    with tempfile.TemporaryDirectory() as folder:
        formats = Formats(program, folder)
        for name, draw in PICTURES.items():
            path, text = HERE / "pictures" / f"{name}.svg", draw(formats).svg()
            if not check:
                path.write_text(text, encoding="utf-8")
            elif not path.exists() or path.read_text(encoding="utf-8") != text:
                different.append(path.name)
    if different:
        sys.exit(f"what the library does is not what is drawn: {', '.join(different)}; docs/tutorial/draw.py PROGRAM "
                 "draws it anew")


if __name__ == "__main__":
    main()
