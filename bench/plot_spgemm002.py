#!/usr/bin/env python3
"""Draws the figures of seed 002 (Rose 2013) from the JSON lines of its suite.

    build/spry bench --suite spgemm002 --json=study.jsonl
    .peers/venv/bin/python bench/plot_spgemm002.py study.jsonl -o docs/results/spgemm002

Writes OUT-1e-03.png, OUT-1e-04.png and OUT-1e-05.png, time over size at one density; OUT-4096.png, time over density;
OUT-stages.png, the symbolic and the numeric phase of each kernel that ran as a plan, at the largest size of each density.
Of several files the records are put together: a kernel that is in two of them is drawn from the last; NAME=FILE puts NAME
behind the kernels of a file, for machines that are to be told apart. Needs Matplotlib
(./quickstart --peers has it).
"""
import argparse
import json
import re
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

POINT = re.compile(r"random,rows=(\d+),cols=\d+,density=([-+.e\d]+)$")
MARKS = "os^vD*PXdph<>"


def name_of(record, machine):
    kernel = "device auto" if record["format"] == "auto" else record["kernel"]
    if record["format"] == "host":
        kernel += " from host"
    return f"{kernel}, {machine}" if machine else kernel


def load(paths, value_type):
    """{(kernel, is it a plan): {(size, density): record}}"""
    lines = {}
    for given in paths:
        machine, _, path = given.rpartition("=")
        with open(path, encoding="utf-8") as file:
            for text in file:
                record = json.loads(text)
                point = POINT.match(record["matrix"])
                if record["op"] != "spgemm" or record["status"] != "ok" or record["type"] != value_type or not point:
                    continue
                key = (name_of(record, machine), record["format"] == "plan")
                lines.setdefault(key, {})[int(point[1]), float(point[2])] = record
    return lines


def draw(lines, chosen, axis, title, label, path):
    """A line a kernel; chosen picks points, axis is which part of them is drawn over."""
    figure, axes = plt.subplots(figsize=(9, 6))
    drawn = 0
    for number, (kernel, points) in enumerate(sorted((k, p) for (k, plan), p in lines.items() if not plan)):
        kept = sorted((point[axis], record["time_us"] / 1e3) for point, record in points.items() if chosen(point))
        if len(kept) < 2:
            continue
        peer = any(record["peer"] for record in points.values())
        axes.loglog(*zip(*kept), marker=MARKS[number % len(MARKS)], markersize=4, label=kernel,
                    linestyle="--" if peer else "-")
        drawn += 1
    axes.set(title=title, xlabel=label, ylabel="ms a product, allocations included")
    axes.grid(True, which="major", alpha=0.3)
    if drawn:
        axes.legend(fontsize=8)
        figure.savefig(path, dpi=120, bbox_inches="tight")
        print(path)
    plt.close(figure)


def draw_stages(lines, path):
    bars = []
    for (kernel, plan), points in sorted(lines.items()):
        for density in (1e-3, 1e-4, 1e-5):
            sizes = [point for point in points if plan and point[1] == density]
            if sizes:
                record = points[max(sizes)]
                bars.append((f"{kernel}, {max(sizes)[0]} at {density:g}",
                             (record["setup_us"] - (record["upload_us"] or 0)) / 1e3, record["time_us"] / 1e3))
    if not bars:
        return
    figure, axes = plt.subplots(figsize=(9, 1.5 + 0.3 * len(bars)))
    for name, symbolic, numeric in bars:
        whole = symbolic + numeric
        axes.barh(f"{name}: {whole:.3g} ms", 100 * symbolic / whole, color="tab:blue")
        axes.barh(f"{name}: {whole:.3g} ms", 100 * numeric / whole, left=100 * symbolic / whole, color="tab:orange")
    axes.set(title="By stage: C is counted (blue), then filled (orange)", xlabel="share of both, %", xlim=(0, 100))
    figure.savefig(path, dpi=120, bbox_inches="tight")
    plt.close(figure)
    print(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="[NAME=]FILE.jsonl")
    parser.add_argument("-o", "--out", default="spgemm002", help="how the files' names begin (default: spgemm002)")
    parser.add_argument("--type", choices=("f32", "f64"), default="f64")
    arguments = parser.parse_args()
    lines = load(arguments.files, arguments.type)
    if not lines:
        print("plot_spgemm002.py: no records of suite spgemm002", file=sys.stderr)
        return 1
    for density in (1e-3, 1e-4, 1e-5):
        draw(lines, lambda point, d=density: point[1] == d, 0, f"A*A, density {density:g}, {arguments.type}", "rows",
             f"{arguments.out}-{density:.0e}.png")
    draw(lines, lambda point: point[0] == 4096, 1, f"A*A, 4096 x 4096, {arguments.type}", "density",
         f"{arguments.out}-4096.png")
    draw_stages(lines, f"{arguments.out}-stages.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
