"""The document's figures 1 to 11, their tables, and the improvements of its conclusion."""
import statistics

from common import figures
from seed002 import claims, measure
from seed002.points import NAMES, STAGES, TYPES, Points, outliers, stage, stage_sum, who, whole, without_sort

HIGH, MEDIUM, LOW = 1e-3, 1e-4, 1e-5
SMALL = 2048  # largest number of rows in figure 3
BESIDE = ("octave", "smmp", "scipy")
SORTED = NAMES["gpu"] + " (sorted)"


# ---- figures ------------------------------------------------------------------------------------------------------


def in_powers(axis):
    """Labels the axis with powers of two."""
    if axis.get_xscale() == "log":
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def legend_below(axis, columns):
    if axis.get_legend():
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=columns, fontsize=7)


def add_figure(report, name, title, draw, **layout):
    """Adds a figure whose picture has its title."""
    def draw_with_title(*axes):
        draw(*axes)
        axes[0].figure.suptitle(title, fontsize=9)
    report.figure(name, title, draw_with_title, **layout)


def panels(report, name, title, series_of, xlabel="rows", types=TYPES, marked=()):
    """Adds a figure with one panel per type. series_of(kind): {label: points}; marked: points of outliers."""
    def draw(*axes):
        for axis, (kind, text) in zip(axes, types):
            figures.lines(axis, series_of(kind), xlabel, "ms")
            axis.set_title(text, fontsize=8)
            if xlabel == "rows":
                in_powers(axis)
                axis.tick_params(axis="x", labelsize=7)
            if marked:
                axis.plot(*zip(*marked), "o", color="black", fillstyle="none", markersize=9,
                          label="outlier, does not vote")
            legend_below(axis, 2)
    add_figure(report, name, title, draw, columns=len(types), size=(4.5 * len(types), 4.8))


def reading_line(loads, density):
    return loads.line(density, "f32", "dot", lambda record: stage(record, "read"))


def conversion_figure(report, loads, number, density, margin):
    """Adds loading, and loading with conversion. Only float: loading does not depend on the type."""
    def after(name):
        return [(size, stage(record, "read") + stage(record, "convert")) for size in loads.sizes(density)
                for record in [loads.at(density, size, "f32", name)]
                if record and stage(record, "read") and stage(record, "convert")]
    load = reading_line(loads, density)
    left_out = outliers(load, margin)
    panels(report, f"figure{number}", f"Figure {number}: {density:.0e} density format conversion speed comparison",
           lambda kind: {"load": load, "load and conversion, CPU": after("dot"),
                         "load and conversion, GPU": after("older")},
           types=TYPES[:1], marked=[point for point in load if point[0] in left_out])


def count_figure(report, points, number, density):
    def series(kind):
        return {label: points.line(density, kind, name, lambda record: stage(record, "count"))
                for label, name in (("GetNNZ as printed", "printed"), ("GetNNZ, all improvements", "together"),
                                    ("older method's count", "older"))}
    panels(report, f"figure{number}", f"Figure {number}: {density:.0e} density GetNNZ speed comparison", series)


def product_lines(line):
    """Returns {label: line(method, value)} of the products' figures. Only Spry's product includes a sort."""
    lines = {NAMES[name]: line(name, without_sort) for name in ("printed", "repaired", "together", *BESIDE)}
    lines["SMMP, unsorted"] = lines.pop(NAMES["smmp"])
    lines[SORTED] = line("gpu", whole)
    return lines


def product_figure(report, points, number, title, density, least=0, most=1 << 30):
    def series(kind):
        return product_lines(lambda name, value: [point for point in points.line(density, kind, name, value)
                                                  if least <= point[0] <= most])
    panels(report, f"figure{number}", f"Figure {number}: {title}, without SortCols", series)


def density_figure(report, points):
    """Adds figure 10: times of one size by density."""
    def series(kind):
        def line(name, value):
            found = [(density, value(points.at(density, 4096, kind, name))) for density in points.densities()]
            return [(density, ms) for density, ms in found if ms]
        return product_lines(line)
    panels(report, "figure10", "Figure 10: 4096 x 4096 matrix multiplication, without SortCols", series, "density")


def size_figure(report, points):
    """Adds figure 11: times of the seed's kernels by size, one panel per type and density."""
    def draw(*axes):
        for place, axis in enumerate(axes):
            (kind, text), density = TYPES[place // 3], (HIGH, MEDIUM, LOW)[place % 3]
            lines = {NAMES[name]: points.line(density, kind, name, without_sort)
                     for name in ("printed", "repaired", "together")}
            lines[SORTED] = points.line(density, kind, "gpu", whole)
            figures.lines(axis, lines, "rows", "ms")
            in_powers(axis)
            axis.tick_params(axis="x", labelsize=7)
            axis.set_title(f"{density:.0e}, {text}", fontsize=8)
            if place > 0 and axis.get_legend():
                axis.get_legend().remove()
    add_figure(report, "figure11", "Figure 11: GPU MM size comparison, without SortCols", draw, rows=2, columns=3,
               size=(10, 6.4))


def stages_figure(report, points):
    """Adds shares of the stages: one bar per size, for each density."""
    names, labels = ("count", "scan", "fill", "sort"), ("GetNNZ", "scan", "GetVals", "SortCols")

    def draw(*axes):
        for place, axis in enumerate(axes):
            density, name = (HIGH, MEDIUM, LOW)[place % 3], ("printed", "repaired", "together")[place // 3]
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
            if place == 7 and records:
                axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=4, fontsize=7)
    add_figure(report, "figure11-stages", "Figure 11: the stages of the seed's kernels", draw, rows=3, columns=3,
               size=(10, 9))


# ---- tables -------------------------------------------------------------------------------------------------------


def times_table(report, points, kind, text):
    columns = ["density", "rows", "products", "as printed without SortCols", "with SortCols",
               "repaired without SortCols", "resetting what was touched, without SortCols",
               "all improvements without SortCols", "with SortCols", "older method", "SMMP unsorted", "SMMP", "SciPy",
               "Octave (double)", "array of all columns", "rows times columns, CPU", "cuSPARSE", "Spry, GPU",
               "Spry, CPU"]
    wanted = (("printed", without_sort), ("printed", whole), ("repaired", without_sort), ("reset", without_sort),
              ("together", without_sort), ("together", whole), ("older", whole), ("smmp", without_sort),
              ("smmp", whole), ("scipy", whole), ("octave", whole), ("dense", whole), ("dot", whole),
              ("cusparse", whole), ("gpu", whole), ("cpu", whole))
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
            for name in ("printed", "repaired", "reset", "together", "older", "smmp"):
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
                 "Load: reading a Matrix Market file from the page cache, the median of three. Conversion: B from rows "
                 "to columns.")


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
    """Kernels with parameters on one matrix, in float: ms without SortCols, and speed-ups over the kernels with
    parameters, which count and compute like the repaired listings with other loops.

    others: records of another measurement, which replace those of the compared kernels whose spread is over half of
    their time."""

    def __init__(self, records, matrix, others=()):
        def mine(every):
            return {r["kernel"]: r for r in every if r["matrix"] == "ways " + matrix and r["type"] == "f32"}
        self.records = mine(records)
        for kernel in (measure.BASE, measure.RESET):
            record, other = self.records.get(kernel), mine(others).get(kernel)
            if record and other and 2 * record["spread_us"] > record["time_us"]:
                self.records[kernel] = other

    def ms(self, kernel):
        return without_sort(self.records.get(kernel))

    def gain(self, kernel, over=measure.BASE):
        """Returns the speed-up over another kernel; None if one of the two did not run."""
        own, base = self.ms(kernel), self.ms(over)
        return base / own if own and base else None

    def sort_gain(self, kernel):
        """Returns the speed-up of SortCols over measure.BASE; None if one of the two kernels did not run."""
        own, base = (stage(self.records.get(name), "sort") for name in (kernel, measure.BASE))
        return base / own if own and base else None

    def name(self, matrix):
        """Returns the matrix's name with its density, for pictures and tables."""
        record = next(iter(self.records.values()))
        return f"{matrix} ({record['nnz'] / record['rows'] ** 2:.0e})"


def all_ways(records, others=()):
    """Returns {matrix: Ways}."""
    names = sorted({r["matrix"].removeprefix("ways ") for r in records if r["matrix"].startswith("ways ")})
    return {matrix: Ways(records, matrix, others) for matrix in names}


def ways_table(report, ways):
    every = list(ways.values())
    rows = [["ms of the kernels with parameters", "-"] + [w.ms(measure.BASE) for w in every]]
    rows += [[f"ms of the listings {what}", "-"] + [w.ms(kernel) for w in every]
             for what, kernel in (("as printed", measure.PRINTED), ("repaired", measure.REPAIRED))]
    for what, settings in measure.WAYS.items():
        of_sort = what == "threads of SortCols"
        for setting in settings:
            kernel = f"{measure.BASE}:{setting}"
            rows.append([what, setting] + [(w.sort_gain if of_sort else w.gain)(kernel) for w in every])
    rows += [["all together", setting or "-"] + [w.gain(":".join(filter(None, (measure.TOGETHER, setting))))
                                                 for w in every] for setting in ("", *measure.TOGETHER_WAYS)]
    report.table("improvements", "The improvements of section 6, float", ["what", "setting", *(
        w.name(m) for m, w in ways.items())], rows,
                 "First rows: ms without SortCols. Other rows: speed-up over the kernels with parameters, which do the "
                 "steps of the repaired listings with faster loops. Rows 'threads of SortCols': speed-up of this "
                 "stage over its default, which depends on the longest row.")


def number_in(setting):
    """Returns the value of a setting's first parameter, which is varied."""
    return int(setting.split(":")[0].partition("=")[2])


def ways_figure(report, ways):
    varied = [what for what in measure.WAYS if what != "entries cleared"]

    def draw(*axes):
        for axis, what in zip(axes, varied):
            series = {}
            for matrix, of in ways.items():
                value = of.sort_gain if what == "threads of SortCols" else of.gain
                line = [(number_in(setting), value(f"{measure.BASE}:{setting}")) for setting in measure.WAYS[what]]
                series[of.name(matrix)] = [(x, y) for x, y in line if y]
            figures.lines(axis, series, what, "times as fast as the defaults", logs="x")
            in_powers(axis)
            if axis.get_legend():
                axis.axhline(1, color="black", linewidth=0.6)
                axis.set_ylim(bottom=0)
                axis.get_legend().remove()
        for axis in axes[len(varied):]:
            axis.axis("off")
            axis.legend(*axes[0].get_legend_handles_labels(), loc="center", title="rows (density)")
    add_figure(report, "improvements", "Each improvement by itself, on even and irregular matrices (float)", draw,
               rows=2, columns=4, size=(13, 6))


def together_figure(report, ways):
    kernels = {"as printed": measure.PRINTED, "reset": measure.RESET, "4 rows per block": measure.BASE + ":rows=4",
               "4 rows claimed": measure.BASE + ":claim=4", "64 threads": measure.BASE + ":lanes=64",
               "all together": measure.TOGETHER}

    def draw(axis):
        figures.bars(axis, [of.name(matrix) for matrix, of in ways.items()],
                     {label: [of.gain(kernel) for of in ways.values()] for label, kernel in kernels.items()},
                     "times as fast as the defaults", log=True)
        axis.axhline(1, color="black", linewidth=0.6)
    add_figure(report, "together", "The improvements together, matrices by rows (density), float", draw, size=(8, 4.4))


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


def margins(results):
    """Returns the margins of products and of improvements."""
    jobs = {record["job"] for record in results.records}
    ways = {job for job in jobs if job.startswith("ways ")}
    return [results.margin(field=without_sort, format="csr", job=names) for names in (jobs - ways, ways)]


def report(results, out):
    """Adds everything to `out`, a common.report.Report."""
    points, loads, margin = Points(results), Points(results, "load "), margins(results)
    checks(out, points, results)
    conversion_figure(out, loads, 1, HIGH, margin[0])
    count_figure(out, points, 2, MEDIUM)
    product_figure(out, points, 3, f"small MM speed comparison, {HIGH:.0e} up to {SMALL} rows", HIGH, most=SMALL)
    product_figure(out, points, 4, f"high density MM speed comparison, {HIGH:.0e}", HIGH, least=SMALL // 4)
    product_figure(out, points, 5, f"medium density MM speed comparison, {MEDIUM:.0e}", MEDIUM)
    product_figure(out, points, 6, f"low density MM speed comparison, {LOW:.0e}", LOW)
    conversion_figure(out, loads, 7, MEDIUM, margin[0])
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
    ways, again = all_ways(results.records), all_ways(results.repeats, results.records)
    if ways:
        ways_table(out, ways)
        ways_figure(out, ways)
        together_figure(out, ways)
    claims.add(out, points, loads, (ways, again), margin)
