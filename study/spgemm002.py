#!/usr/bin/env python3
"""Seed 002's study (Rose 2013): random matrices squared, its tables in Markdown and its figures.

    study/spgemm002.py run --json study.jsonl
    study/spgemm002.py tables study.jsonl
    .peers/venv/bin/python study/spgemm002.py tables GPU=study.jsonl CPU=cpu.jsonl --stages 'ncu/*.csv' --plot spgemm002

The study's kernels, the library's choice and all peers; products as plans too, whose set-up counts C (the study's GetNNZ
and scan) and whose runs fill it (GetVals, SortCols). --plot OUT writes OUT-sizes.png, time over size at three densities
and over density at 4096 x 4096; OUT-conversion.png, B's columns against the product by rows; with --stages
OUT-stages.png, the shares of GetNNZ, scan, GetVals and SortCols. Of several files the records are put together: a
kernel that is in two of them at a point is taken from the last; NAME=FILE tells machines apart, that of the GPU and its
host first. A file of --stages comes from

    ncu --metrics gpu__time_duration.sum --csv --clock-control none build/spry spgemm \\
        gen:random,rows=16384,cols=16384,density=0.001 --device cuda --kernel spgemm_seed_getvals_cuda

Plots need Matplotlib (./quickstart --peers has it).
"""
import csv
import glob
import json
import re
import subprocess
import sys

import records

DENSITIES = (1e-3, 1e-4, 1e-5)
POINT = re.compile(r"random,rows=(\d+),cols=\d+,density=([-+.e\d]+)")

# key: what is drawn (label, colour, mark, dashed); machines are the first and the last NAME of the command line
LINES = {
    "device": ("Spry, A and C on the GPU", "#08519c", "o", "-"),
    "host": ("Spry, GPU from host memory", "#4292c6", "s", "-"),
    "cpu of host": ("Spry, CPU of the GPU's host", "#78c679", "^", "-"),
    "cusparse": ("cuSPARSE, best of ALG1, 2, 3", "#238b45", "v", "--"),
    "seed": ("seed's kernels, GPU", "#000000", "D", "-"),
    "reset": ("seed's, reset only what was touched", "#969696", "d", "-"),
    "cpu": ("Spry, CPU, 2 threads", "#fd8d3c", "o", "-"),
    "octave": ("Octave", "#de2d26", "X", "--"),
    "smmp": ("SMMP", "#a50f15", "P", "--"),
    "scipy": ("SciPy (SMMP)", "#e377c2", "*", "--"),
    "mkl": ("MKL sp2m", "#807dba", "h", "--"),
    "graphblas": ("GraphBLAS", "#54278f", "p", "--"),
}
OTHERS = {"alg1": "cusparse_spgemm_alg1", "alg2": "cusparse_spgemm_alg2", "alg3": "cusparse_spgemm_alg3",
          "rows": "spgemm_seed_rows_cuda", "claim": "spgemm_seed_claim_cuda", "balance": "spgemm_seed_balance_cuda",
          "dot": "spgemm_seed_dot_cpu", "dense": "spgemm_seed_dense_cpu"}
KERNELS = {"seed": "spgemm_seed_getvals_cuda", "reset": "spgemm_seed_reset_cuda", "octave": "octave",
           "smmp": "spgemm_smmp_cpu", "scipy": "scipy_smmp", "mkl": "mkl_sp2m", "graphblas": "graphblas_mxm", **OTHERS}
STAGES = (("GetNNZ", "get_nnz", "#4292c6"), ("scan", "DeviceScan", "#78c679"), ("GetVals", "get_vals", "#fd8d3c"),
          ("SortCols", "sort_cols", "#a50f15"))


def key_of(record, last_machine):
    """What a record is, as a key of LINES or KERNELS; None: nothing that is shown."""
    if record["format"] == "plan":
        return None
    if record["format"] == "auto":
        return "auto"
    if not record["peer"] and (record["kernel"] or "").startswith("spgemm_rows_"):
        if record["format"] == "host":
            return "host"
        return "device" if record["device"] != "cpu" else "cpu" if last_machine else "cpu of host"
    return next((key for key, kernel in KERNELS.items() if kernel == record["kernel"]), None)


def collect(runs, value_type):
    """{(density, size): {key: record}}, of runs by machine: [(NAME, records)]."""
    points = {}
    machines = [machine for machine, _ in runs]
    for machine, found_records in runs:
        for record in found_records:
            found = POINT.fullmatch(record["matrix"])
            if record["op"] != "spgemm" or record["type"] != value_type or not found:
                continue
            key = key_of(record, machine == machines[-1] and len(set(machines)) > 1)
            point = points.setdefault((float(found[2]), int(found[1])), {})
            if record["format"] == "plan" and record["status"] == "ok":
                point.setdefault("plans", []).append(record)
            elif key and (record["status"] == "ok" or key == "dot") and (key not in point or record["time_us"]):
                point[key] = record
    for point in points.values():
        ran = [point[a] for a in ("alg1", "alg2", "alg3") if a in point]
        if ran:
            point["cusparse"] = min(ran, key=lambda record: record["time_us"])
    return points


def columns_us(record):
    """What B by columns takes, of a record of spgemm_seed_dot_cpu."""
    return record["stages"]["convert"]


def ms(point, key):
    return point[key]["time_us"] / 1e3 if key in point and point[key]["time_us"] else None


# ---- stages ---------------------------------------------------------------------------------------------


def load_stages(patterns):
    """[(density, size, kernel, {stage: ms})] of the largest launches: a process first multiplies something tiny."""
    found = []
    for path in sorted(path for pattern in patterns for path in glob.glob(pattern)):
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        table = [line for line in lines if line.startswith('"')]
        spec = next((POINT.search(line) for line in lines if line.startswith("gen:")), None)
        kernel = next((line.split()[1] for line in lines if line.strip().startswith("kernel")), "")
        if not spec or len(table) < 2:
            continue
        times = {}
        for row in csv.DictReader(table):
            took = float(row["Metric Value"].replace(",", "")) / 1e6
            for stage, name, _ in STAGES:
                if name in row["Kernel Name"]:
                    times.setdefault(stage, []).append(took)
        calls = len(times.get("GetNNZ", [1]))
        stages = {stage: sum(took[-(len(took) // calls):]) for stage, took in times.items()}
        found.append((float(spec[2]), int(spec[1]), kernel, stages))
    return sorted(found, key=lambda entry: (-entry[0], entry[1], entry[2] != KERNELS["seed"]))


def draw_stages(plt, stages, path):
    figure, axes = plt.subplots(figsize=(9, 1.4 + 0.33 * len(stages)))
    for row, (density, size, kernel, times) in enumerate(stages):
        whole, left = sum(times.values()), 0.0
        for stage, _, colour in STAGES:
            share = 100 * times.get(stage, 0) / whole
            axes.barh(row, share, left=left, color=colour, label=stage if row == 0 else None)
            if share >= 7:
                axes.text(left + share / 2, row, f"{share:.0f}", ha="center", va="center", fontsize=8, color="white")
            left += share
        axes.text(101, row, f"{whole:.3g} ms", va="center", fontsize=8)
    names = [f"{size} at {density:g}{', reset' if 'reset' in kernel else ''}" for density, size, kernel, _ in stages]
    axes.set_yticks(range(len(stages)), names, fontsize=8)
    axes.invert_yaxis()
    axes.set(xlabel="share of the kernels' time, %", xlim=(0, 112))
    axes.set_xticks(range(0, 101, 20))
    axes.set_title("The seed's kernels by stage, one H200", pad=24)
    axes.legend(ncols=4, fontsize=8, loc="lower center", bbox_to_anchor=(0.45, 1.0), frameon=False)
    save(plt, figure, path)


# ---- time over size and density ---------------------------------------------------------------------------


def save(plt, figure, path):
    figure.savefig(path, dpi=85, bbox_inches="tight")
    plt.close(figure)
    print(path)


def panel(axes, points, chosen, axis, title, label):
    for key, (_, colour, mark, style) in LINES.items():
        line = sorted((point[axis], ms(records, key)) for point, records in points.items()
                      if chosen(point) and ms(records, key))
        if len(line) > 1:
            axes.loglog(*zip(*line), color=colour, marker=mark, markersize=4, linewidth=1.2, linestyle=style)
    finish_panel(axes, title, label)


def finish_panel(axes, title, label):
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(label, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(True, which="major", alpha=0.3)


def draw_sizes(plt, points, path):
    figure, axes = plt.subplots(2, 2, figsize=(11, 9.5))
    for number, density in enumerate(DENSITIES):
        panel(axes.flat[number], points, lambda point, d=density: point[0] == d, 1, f"density {density:.0e}", "rows")
    panel(axes.flat[3], points, lambda point: point[1] == 4096, 0, "4096 x 4096", "density")
    for row in axes:
        row[0].set_ylabel("ms a product, allocations included", fontsize=9)
    shown = [key for key in LINES if any(ms(records, key) for records in points.values())]
    handles = [plt.Line2D([], [], color=colour, marker=mark, linestyle=style, markersize=5)
               for _, colour, mark, style in (LINES[key] for key in shown)]
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    figure.legend(handles, [LINES[k][0] for k in shown], ncols=4, fontsize=9, loc="lower center", frameon=False)
    save(plt, figure, path)


def draw_conversion(plt, points, path):
    figure, all_axes = plt.subplots(1, 3, figsize=(11, 3.8), sharey=True)
    for axes, density in zip(all_axes, DENSITIES):
        at = sorted((point, records) for point, records in points.items() if point[0] == density and "dot" in records)
        lines = (("B by columns (conversion)", "#08519c", lambda r: columns_us(r["dot"]) / 1e3),
                 ("product by rows (Spry, CPU)", "#fd8d3c", lambda r: ms(r, "cpu")),
                 ("product by rows (SMMP)", "#a50f15", lambda r: ms(r, "smmp")),
                 ("rows times columns (listing)", "#969696", lambda r: ms(r, "dot")))
        for name, colour, value in lines:
            line = [(point[1], value(records)) for point, records in at if value(records)]
            if line:
                axes.loglog(*zip(*line), color=colour, marker="o", markersize=4, label=name)
        finish_panel(axes, f"density {density:.0e}", "rows")
    all_axes[0].set_ylabel("ms, 2 threads", fontsize=9)
    figure.tight_layout(rect=(0, 0.1, 1, 1))
    handles, names = all_axes[0].get_legend_handles_labels()
    figure.legend(handles, names, ncols=4, fontsize=9, loc="lower center", frameon=False)
    save(plt, figure, path)


# ---- tables ----------------------------------------------------------------------------------------------


def number(value):
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 1 else f"{value:.2g}"


def table(points, chosen, head, columns):
    print("| density | rows | products | " + " | ".join(head) + " |")
    print("|---" * (3 + len(head)) + "|")
    for density, size in sorted(filter(chosen, points), key=lambda point: (-point[0], point[1])):
        records = points[density, size]
        if not records:
            continue
        products = next((r for key, r in records.items() if key != "plans"), records.get("plans", [{}])[0])["products"]
        print(f"| {density:g} | {size} | {products} | " + " | ".join(column(records) for column in columns) + " |")
    print()


def print_tables(points, stages):
    def of(key):
        return lambda records: number(ms(records, key))

    def took(records):
        return "-" if "auto" not in records else "CPU" if records["auto"]["device"] == "cpu" else "GPU"

    def loss(records):
        if not all(key in records for key in ("auto", "cpu of host", "host")):
            return "-"
        best = min(ms(records, "cpu of host"), ms(records, "host"))
        return f"{100 * (ms(records, 'auto') / best - 1):+.0f} %"

    def ahead(own, peers):
        def ratio(records):
            there = [ms(records, peer) for peer in peers if ms(records, peer)]
            return f"{min(there) / ms(records, own):.3g}" if there and ms(records, own) else "-"
        return ratio

    every = lambda point: True
    print("ms, GPU and its host\n")
    head = ["device", "from host", "auto", "took", "loss", "CPU of host", "cuSPARSE ALG1", "ALG2", "ALG3"]
    table(points, every, head,
          [of("device"), of("host"), of("auto"), took, loss, of("cpu of host"), of("alg1"), of("alg2"), of("alg3")])
    print("ms, the seed's kernels\n")
    seeds = ("seed", "reset", "rows", "claim", "balance")
    table(points, every, ["getvals", "reset", "rows", "claim", "balance"], [of(key) for key in seeds])
    print("ms, CPU\n")
    cpus = ("cpu", "octave", "smmp", "scipy", "mkl", "graphblas", "dense", "dot")
    table(points, every, ["Spry", "Octave", "SMMP", "SciPy", "MKL", "GraphBLAS", "dense rows", "dots",
                          "best of Octave, SMMP over GPU, device", "from host"],
          [of(key) for key in cpus] + [ahead("device", ("octave", "smmp")), ahead("host", ("octave", "smmp"))])
    print("ms, conversion\n")

    def by_rows(records):
        return ms(records, "cpu") or ms(records, "cpu of host")

    def share(records):
        return number(columns_us(records["dot"]) / 1e3 / by_rows(records)) if by_rows(records) else "-"

    table(points, lambda point: "dot" in points[point], ["B by columns", "by rows", "dots", "conversion / by rows"],
          [lambda records: number(columns_us(records["dot"]) / 1e3), lambda records: number(by_rows(records)), of("dot"),
           share])
    plans = [(density, size, plan) for (density, size), found in sorted(points.items(), key=lambda p: (-p[0][0], p[0][1]))
             for plan in found.get("plans", [])]
    print("ms, by stage of plans: the symbolic phase counts C, the numeric one fills it\n")
    print("| density | rows | kernel | symbolic | numeric |\n|---|---|---|---|---|")
    for density, size, plan in plans:
        print(f"| {density:g} | {size} | {plan['kernel']} | {number((plan['setup_us'] - plan['upload_us']) / 1e3)} | "
              f"{number(plan['time_us'] / 1e3)} |")
    print()
    spreads = {}
    for records in points.values():
        for key, record in records.items():
            if key != "plans" and record["time_us"]:
                spreads.setdefault(key, []).append(record["spread_us"] / record["time_us"])
    print("quartiles apart, most and median: " +
          ", ".join(f"{key} {100 * max(s):.0f} / {100 * sorted(s)[len(s) // 2]:.0f} %" for key, s in spreads.items()))
    names = " | ".join(stage for stage, _, _ in STAGES)
    print(f"\n| density | rows | kernel | {names} | all | without SortCols |")
    print("|---" * 9 + "|")
    for density, size, kernel, times in stages:
        whole = sum(times.values())
        print(f"| {density:g} | {size} | {kernel} | " + " | ".join(number(times.get(s, 0)) for s, _, _ in STAGES) +
              f" | {number(whole)} | {number(whole - times.get('SortCols', 0))} |")


def draw(points, stages, out):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    draw_sizes(plt, points, f"{out}-sizes.png")
    if any("dot" in found for found in points.values()):
        draw_conversion(plt, points, f"{out}-conversion.png")
    if stages:
        draw_stages(plt, stages, f"{out}-stages.png")


# ---- the run ---------------------------------------------------------------------------------------------


def matrices():
    """Three densities over sizes, here past the 65 536 of the study; 4096 x 4096 over densities."""
    sizes = [(2 ** k, density) for density, largest in ((1e-3, 16), (1e-4, 18), (1e-5, 20))
             for k in range(8, largest + 1)]
    # 1e-4 and 1e-3 are there already
    return [f"gen:random,rows={size},cols={size},density={density:g}"
            for size, density in sizes + [(4096, density) for density in (3e-5, 3e-4, 3e-3, 1e-2, 3e-2)]]


def kernels(rest):
    """The study's kernels on the devices that are asked for, those that are there."""
    device = next((b for a, b in zip(rest, rest[1:]) if a == "--device"), None)
    listed = subprocess.run([records.program(), "kernels", "--json"], stdout=subprocess.PIPE, check=True,
                            encoding="utf-8")
    found = [json.loads(line) for line in listed.stdout.splitlines()]
    return [k["name"] for k in found if k["operations"] == "spgemm" and re.search("_seed_|_smmp_", k["name"])
            and (k["device"] == device if device in ("cpu", "cuda") else k["available"])]


def study(arguments, rest):
    if arguments.command == "list":
        print("\n".join(matrices()))
        return 0
    status, stages = 0, []
    if arguments.command == "tables":
        runs = [(name.rpartition("=")[0], list(records.read(name.rpartition("=")[2]))) for name in arguments.files]
        stages = load_stages(arguments.stages)
    else:
        options = ["--op", "spgemm", "--peers", *rest]
        if not records.has_option(rest, "calls"):
            options += ["--calls", "2"]
        if not records.has_option(rest, "formats", "kernels"):
            options += ["--formats", "auto", "--kernels", ",".join(kernels(rest))]
        found, status = records.run(matrices() + options, arguments.json)
        runs = [("", found)]
    points = collect(runs, arguments.show_type)
    if not points:
        print("spgemm002.py: no records of the study", file=sys.stderr)
        return 1
    if arguments.command == "tables" and arguments.plot:
        draw(points, stages, arguments.plot)
    else:
        print_tables(points, stages)
    return status


def add_options(run_parser, tables_parser):
    for parser in (run_parser, tables_parser):
        parser.add_argument("--show-type", choices=("f32", "f64"), default="f64", help="type of the records shown")
    tables_parser.add_argument("--plot", metavar="OUT", help="draw the figures in place of tables")
    tables_parser.add_argument("--stages", action="append", default=[], metavar="CSV",
                               help="ncu's tables, a pattern of names")


if __name__ == "__main__":
    sys.exit(records.main(study, __doc__, add_options))
