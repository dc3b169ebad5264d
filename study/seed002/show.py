"""The document's figures 1 to 11, their tables, and the improvements of its conclusion."""
import statistics

from common import figures
from seed002 import claims, measure
from seed002.points import NAMES, STAGES, TYPES, Points, stage, stage_sum, who, whole, without_sort

HIGH, MEDIUM, LOW = 1e-3, 1e-4, 1e-5
SMALL = 2048  # largest number of rows in figure 3
BESIDE = ("octave", "smmp", "scipy")


# ---- figures ------------------------------------------------------------------------------------------------------


def in_powers(axis):
    """Labels the axis with powers of two."""
    if axis.get_xscale() == "log":
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def legend_below(axis, columns):
    if axis.get_legend():
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=columns, fontsize=7)


def panels(report, name, title, series_of, xlabel="rows"):
    """Adds a figure with one panel per type. series_of(kind): {label: points}."""
    def draw(*axes):
        for axis, (kind, text) in zip(axes, TYPES):
            figures.lines(axis, series_of(kind), xlabel, "ms")
            axis.set_title(text, fontsize=8)
            if xlabel == "rows":
                in_powers(axis)
                axis.tick_params(axis="x", labelsize=7)
            legend_below(axis, 2)
    report.figure(name, title, draw, columns=2, size=(9, 4.6))


def conversion_figure(report, loads, number, density):
    def series(kind):
        def after(name):
            return [(size, stage(record, "read") + stage(record, "convert")) for size in loads.sizes(density)
                    for record in [loads.at(density, size, kind, name)]
                    if record and stage(record, "read") and stage(record, "convert")]
        load = [(size, stage(record, "read")) for size in loads.sizes(density)
                for record in [loads.at(density, size, kind, "dot")] if record and stage(record, "read")]
        return {"load": load, "load and conversion, CPU": after("dot"), "load and conversion, GPU": after("older")}
    panels(report, f"figure{number}", f"Figure {number}: {density:.0e} density format conversion speed comparison",
           series)


def count_figure(report, points, number, density):
    def series(kind):
        return {label: points.line(density, kind, name, lambda record: stage(record, "count"))
                for label, name in (("GetNNZ", "printed"), ("GetNNZ, all improvements", "together"),
                                    ("older method's count", "older"))}
    panels(report, f"figure{number}", f"Figure {number}: {density:.0e} density GetNNZ speed comparison", series)


def product_lines(points, density, kind, sizes):
    def line(name, value):
        return [point for point in points.line(density, kind, name, value) if point[0] in sizes]
    lines = {"seed's kernels, without SortCols": line("printed", without_sort), "with SortCols": line("printed", whole),
             "all improvements, without SortCols": line("together", without_sort)}
    lines.update({NAMES[name] + (", unsorted" if name == "smmp" else ""): line(name, without_sort) for name in BESIDE})
    lines[NAMES["gpu"] + " (sorted)"] = line("gpu", whole)
    return lines


def product_figure(report, points, number, title, density, least=0, most=1 << 30):
    sizes = [size for size in points.sizes(density) if least <= size <= most]
    panels(report, f"figure{number}", f"Figure {number}: {title}",
           lambda kind: product_lines(points, density, kind, sizes))


def density_figure(report, points):
    """Adds figure 10: times of one size by density."""
    def series(kind):
        def line(name, value):
            found = [(density, value(points.at(density, 4096, kind, name))) for density in points.densities()]
            return [(density, ms) for density, ms in found if ms]
        lines = {"seed's kernels, without SortCols": line("printed", without_sort),
                 "with SortCols": line("printed", whole),
                 "all improvements, without SortCols": line("together", without_sort)}
        lines.update({NAMES[name]: line(name, without_sort) for name in BESIDE})
        lines[NAMES["gpu"] + " (sorted)"] = line("gpu", whole)
        return lines
    panels(report, "figure10", "Figure 10: 4096 x 4096 matrix multiplication", series, "density")


def size_figure(report, points):
    """Adds figure 11: times of the seed's kernels by size, one line per density."""
    def series(kind):
        lines = {}
        for density in (HIGH, MEDIUM, LOW):
            lines[f"density {density:.0e}"] = points.line(density, kind, "printed", without_sort)
            lines[f"{density:.0e}, all improvements"] = points.line(density, kind, "together", without_sort)
        return lines
    panels(report, "figure11", "Figure 11: GPU MM size comparison, without SortCols", series)


def stages_figure(report, points):
    """Adds shares of the stages: one bar per size, for each density."""
    names, labels = ("count", "scan", "fill", "sort"), ("GetNNZ", "scan", "GetVals", "SortCols")

    def draw(*axes):
        for place, axis in enumerate(axes):
            density, name = (HIGH, MEDIUM, LOW)[place % 3], ("printed", "together")[place // 3]
            records = [(size, points.at(density, size, "f32", name)) for size in points.sizes(density)]
            records = [(size, record) for size, record in records if stage_sum(record)]
            left, sums = [0.0] * len(records), [stage_sum(record, "convert") for _, record in records]
            for index, (stage_name, label) in enumerate(zip(names, labels)):
                shares = [100 * (stage(record, stage_name) or 0) / ms for (_, record), ms in zip(records, sums)]
                axis.barh(range(len(records)), shares, left=left, label=label, color=figures.COLOURS[index],
                          hatch=figures.HATCHES[index], edgecolor="white", linewidth=0.3)
                left = [a + b for a, b in zip(left, shares)]
            axis.set_yticks(range(len(records)))
            axis.set_yticklabels([f"{size}: {ms:.3g} ms" for (size, _), ms in zip(records, sums)], fontsize=6)
            axis.set_xlim(0, 100)
            axis.set_title(f"{NAMES[name]}, {density:.0e} (float)", fontsize=8)
            axis.set_xlabel("share of the stages, %")
            axis.grid(axis="y", visible=False)
            if place == 4 and records:
                axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=4, fontsize=7)
    report.figure("figure11-stages", "Figure 11: the stages of the seed's kernels", draw, rows=2, columns=3,
                  size=(10, 6.4))


# ---- tables -------------------------------------------------------------------------------------------------------


def times_table(report, points, kind, text):
    columns = ["density", "rows", "products", "seed's kernels without SortCols", "with SortCols",
               "resetting what was touched, without SortCols", "all improvements without SortCols",
               "with SortCols", "older method", "SMMP unsorted", "SMMP", "SciPy", "Octave (double)",
               "array of all columns", "rows times columns, CPU", "cuSPARSE", "Spry, GPU", "Spry, CPU"]
    wanted = (("printed", without_sort), ("printed", whole), ("reset", without_sort), ("together", without_sort),
              ("together", whole), ("older", whole), ("smmp", without_sort), ("smmp", whole), ("scipy", whole),
              ("octave", whole), ("dense", whole), ("dot", whole), ("cusparse", whole), ("gpu", whole), ("cpu", whole))
    rows = []
    for density, size in points.keys():
        record = points.at(density, size, kind, "smmp")
        rows.append([density, size, record["products"] if record else None] +
                    [value(points.at(density, size, kind, name)) for name, value in wanted])
    report.table(f"times-{kind}", f"Figures 3 to 6, 9 and 10, {text}: ms of a product", columns, rows)


def stages_table(report, points):
    rows = []
    for density, size in points.keys():
        for kind, text in TYPES:
            for name in ("printed", "reset", "together", "older", "smmp"):
                record = points.at(density, size, kind, name)
                if stage_sum(record):
                    rows.append([density, size, text, NAMES[name], *(stage(record, one) for one in STAGES),
                                 stage_sum(record, "sort"), stage_sum(record), whole(record)])
    report.table("stages", "Figures 2, 8 and 11: ms of the stages", ["density", "rows", "type", "method", "conversion",
                 "count (GetNNZ)", "scan", "fill (GetVals)", "sort (SortCols)", "without sort", "all stages",
                 "whole product"], rows, "The whole product also includes allocations, launches and waits.")


def conversion_table(report, loads):
    rows = []
    for density, size in loads.keys():
        dot, older = loads.at(density, size, "f32", "dot"), loads.at(density, size, "f32", "older")
        read, host, device = stage(dot, "read"), stage(dot, "convert"), stage(older, "convert")
        report.check(bool(read and host), f"load {density:.0e} {size}: reading or conversion has no time")
        if read and host:
            rows.append([density, size, dot["nnz"], read, read + host, 100 * host / read, device,
                         100 * device / read if device else None])
    if not rows:
        report.text("Figures 1 and 7: loading and conversion were not measured.")
        return
    report.table("conversion", "Figures 1 and 7: ms of loading, and of loading and conversion (float)",
                 ["density", "rows", "entries", "load", "load and conversion, CPU", "conversion / load, %",
                  "conversion on the GPU", "this / load, %"], rows,
                 "Load: reading a Matrix Market file from the page cache. Conversion: B from rows to columns.")


def spread_table(report, results):
    """Adds the spread of times by method."""
    found = {}
    for record in results.timed():
        if who(record) and not record["matrix"].startswith(("load", "ways")):
            found.setdefault(who(record), []).append(100 * record["spread_us"] / record["time_us"])
    rows = [[NAMES[name], len(all_of), statistics.median(all_of), max(all_of)] for name, all_of in found.items()]
    report.table("spread", "Spread of the times, per cent", ["method", "times", "median", "largest"], rows)


# ---- improvements -------------------------------------------------------------------------------------------------


class Ways:
    """Kernels with parameters on one matrix and type: ms without SortCols, and speed-ups over the printed kernel."""

    def __init__(self, results, matrix, kind):
        self.records = {r["kernel"]: r for r in results.timed(matrix="ways " + matrix, type=kind)}

    def ms(self, kernel):
        return without_sort(self.records.get(kernel))

    def gain(self, kernel):
        """Returns the speed-up over the printed kernel; None if one of the two kernels did not run."""
        own, printed = self.ms(kernel), self.ms(measure.PRINTED)
        return printed / own if own and printed else None

    def sort_gain(self, kernel):
        """Returns the speed-up of SortCols over the printed kernel; None if one of the two kernels did not run."""
        own, printed = (stage(self.records.get(name), "sort") for name in (kernel, measure.PRINTED))
        return printed / own if own and printed else None


def ways_matrices(results):
    return sorted({r["matrix"].removeprefix("ways ") for r in results.records if r["matrix"].startswith("ways ")})


def ways_table(report, results, matrices):
    for kind, text in TYPES:
        ways = [Ways(results, matrix, kind) for matrix in matrices]
        rows = [["as printed", "-"] + [w.ms(measure.PRINTED) for w in ways]]
        for what, settings in measure.WAYS.items():
            of_sort = what == "threads of SortCols"
            for setting in settings:
                kernel = f"{measure.PRINTED}:{setting}"
                rows.append([what, setting] + [(w.sort_gain if of_sort else w.gain)(kernel) for w in ways])
        rows.append(["all together", "-"] + [w.gain(measure.TOGETHER) for w in ways])
        rows += [["all together", setting] + [w.gain(f"{measure.TOGETHER}:{setting}") for w in ways]
                 for setting in measure.TOGETHER_WAYS]
        report.table(f"improvements-{kind}", f"The improvements of section 6, {text}", ["what", "setting", *matrices],
                     rows, "First row: ms of the printed kernels without SortCols. Other rows: speed-up over it. "
                     "Rows 'threads of SortCols': speed-up of this stage over its default, which depends on the "
                     "longest row.")


def number_in(setting):
    """Returns the value of a setting's first parameter, which is varied."""
    return int(setting.split(":")[0].partition("=")[2])


def ways_figure(report, results, matrices):
    varied = [what for what in measure.WAYS if what != "entries cleared"]

    def draw(*axes):
        for axis, what in zip(axes, varied):
            series = {}
            for matrix in matrices:
                ways = Ways(results, matrix, "f32")
                value = ways.sort_gain if what == "threads of SortCols" else ways.gain
                line = [(number_in(setting), value(f"{measure.PRINTED}:{setting}")) for setting in measure.WAYS[what]]
                series[matrix] = [(x, y) for x, y in line if y]
            figures.lines(axis, series, what, "times as fast as printed", logs="x")
            in_powers(axis)
            if axis.get_legend():
                axis.axhline(1, color="black", linewidth=0.6)
                axis.set_ylim(bottom=0)
            if axis.get_legend():
                axis.get_legend().remove()
        for axis in axes[len(varied):]:
            axis.axis("off")
            axis.legend(*axes[0].get_legend_handles_labels(), loc="center")
    report.figure("improvements", "The improvements, each by itself, on even and irregular matrices (float)", draw,
                  rows=2, columns=4, size=(13, 6))


def together_figure(report, results, matrices):
    kernels = {"as printed": measure.PRINTED, "reset": measure.RESET, "4 rows per block": measure.PRINTED + ":rows=4",
               "4 rows claimed": measure.PRINTED + ":claim=4", "64 threads": measure.PRINTED + ":lanes=64",
               "all together": measure.TOGETHER}

    def draw(*axes):
        for axis, (kind, text) in zip(axes, TYPES):
            ways = [Ways(results, matrix, kind) for matrix in matrices]
            figures.bars(axis, matrices, {label: [w.gain(kernel) for w in ways] for label, kernel in kernels.items()},
                         "times as fast as printed")
            axis.set_title(text, fontsize=8)
            legend_below(axis, 3)
    report.figure("together", "The improvements together", draw, columns=2, size=(9, 4.4))


# ---- all ------------------------------------------------------------------------------------------------------------


def checks(report, points, results):
    for density in points.densities():
        products = [points.at(density, size, "f64", "smmp")["products"] for size in points.sizes(density)
                    if points.at(density, size, "f64", "smmp")]
        report.check(products == sorted(products), f"density {density:g}: products fall although the size grows")
    for record in results.records:
        told = f"{record['matrix']}, {record.get('type')}: {record['kernel']} is {record['status']}: {record['reason']}"
        if record["status"] == "wrong" and record["peer"]:
            report.text(f"Left out: {told}. SciPy and Octave drop an entry whose sum is zero.")
        else:
            report.check(record["status"] not in ("wrong", "failed"), told)
    skipped = sorted(results.where(status="skipped", peer=True), key=lambda r: r["type"])
    absent = {r["kernel"]: r["reason"] for r in skipped}
    here = {r["kernel"] for r in results.timed()}
    for kernel, reason in absent.items():
        if kernel not in here:
            report.text(f"`{kernel}` did not take part: {reason}.")
    if len(results.machines()) > 1:
        report.text("The jobs ran on more than one machine, so a line may join points of different machines. The times "
                    "in a ratio are from one machine.")


def report(results, out):
    """Adds everything to `out`, a common.report.Report."""
    points, loads = Points(results), Points(results, "load ")
    checks(out, points, results)
    conversion_figure(out, loads, 1, HIGH)
    count_figure(out, points, 2, MEDIUM)
    product_figure(out, points, 3, f"small MM speed comparison, {HIGH:.0e} up to {SMALL} rows", HIGH, most=SMALL)
    product_figure(out, points, 4, f"high density MM speed comparison, {HIGH:.0e}", HIGH, least=SMALL // 4)
    product_figure(out, points, 5, f"medium density MM speed comparison, {MEDIUM:.0e}", MEDIUM)
    product_figure(out, points, 6, f"low density MM speed comparison, {LOW:.0e}", LOW)
    conversion_figure(out, loads, 7, MEDIUM)
    count_figure(out, points, 8, HIGH)
    product_figure(out, points, 9, f"{HIGH:.0e} density matrix multiplication", HIGH)
    density_figure(out, points)
    size_figure(out, points)
    stages_figure(out, points)
    for kind, text in TYPES:
        times_table(out, points, kind, text)
    stages_table(out, points)
    conversion_table(out, loads)
    spread_table(out, results)
    matrices = ways_matrices(results)
    if matrices:
        ways_table(out, results, matrices)
        ways_figure(out, results, matrices)
        together_figure(out, results, matrices)
    claims.add(out, points, loads, {kind: {m: Ways(results, m, kind) for m in matrices} for kind, _ in TYPES})
