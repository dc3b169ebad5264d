"""The document's tables 1 to 9 and figures 4 to 8."""
import math

from common import figures
from common.numbers import mean
from seed000 import measure
from seed000.claims import LONG, claims
from seed000.speedups import (BLOCKS, LIMITS, OURS, PRINTED, TABLES, TITLES, TYPES, Speedups, changed, changes, own,
                              short)

# The document's speed-ups of an RTX 2080 over one thread of an i7-7700K: {type: ((average, maximum) for matrices from
# 10 000 entries on, the same from 100 000 entries on)}.
DOCUMENT = {
    "scalar": {"f32": ((4.57, 32.50), (8.90, 32.50)), "f64": ((3.78, 29.47), (7.24, 29.47))},
    "cusparse": {"f32": ((5.69, 31.44), (13.62, 31.44)), "f64": ((4.68, 25.42), (10.65, 25.42))},
    "vector": {"f32": ((6.60, 43.46), (14.40, 43.46)), "f64": ((4.37, 29.62), (9.50, 29.62))},
    "adaptive": {"f32": ((7.37, 48.19), (14.27, 48.19)), "f64": ((6.39, 40.39), (11.72, 40.39))},
    "ell": {"f32": ((6.73, 35.47), (11.16, 35.47)), "f64": ((5.57, 27.92), (8.44, 27.92))},
    "coo": {"f32": ((6.96, 54.15), (10.55, 54.15)), "f64": ((7.37, 37.83), (11.69, 37.83))},
    "scoo": {"f32": ((6.82, 38.63), (12.46, 38.63)), "f64": ((4.60, 26.78), (7.43, 26.78))},
    "hyb": {"f32": ((7.73, 38.62), (14.92, 38.62)), "f64": ((6.51, 25.96), (11.59, 25.96))},
}
FIGURES = (("figure4", "Figure 4: CSR-Scalar and cuSPARSE", ("scalar", "cusparse")),
           ("figure5", "Figure 5 (a, b): CSR-Vector", ("vector",)),
           ("figure6", "Figure 6: CSR-Adaptive", ("adaptive",)),
           ("figure7", "Figure 7 (a to d): ELL and COO", ("ell", "coo")),
           ("figure-scoo", "SCOO (unnumbered)", ("scoo",)),
           ("figure8", "Figure 8 (a, b): HYB", ("hyb",)))


# ---- tables -----------------------------------------------------------------------------------------------------


def table_of(report, types, number, name):
    """Adds one of the tables 1 to 8: rows with the kernel as printed, then with this library's kernel."""
    printed, ours = getattr(PRINTED, name), getattr(OURS, name)
    columns = ["kernel", "entries, at least"]
    for _, kind in TYPES:
        columns += [f"{kind} set", "avg", "document's avg", "max", "document's max"]
    rows = []
    for kernel in dict.fromkeys((printed, ours)):
        for place, limit in enumerate(LIMITS):
            row = [f"{'as printed' if kernel == printed else 'ours'}, `{kernel}`", limit]
            for s, (kind, _) in zip(types, TYPES):
                values = s.values(kernel, s.set_of(kernel, limit))
                document = DOCUMENT[name][kind][place]
                row += [len(values), mean(values), document[0], max(values, default=None), document[1]]
            rows.append(row)
        few, many = rows[-1], rows[-2]
        report.check(many[2] >= few[2] and many[7] >= few[7], f"table {number}: the set grows with the limit")
    title = getattr(TITLES, name)
    report.table(f"table{number}", f"Table {number}: {title} speed-up", columns, rows)


def table_of_all(report, types):
    """Adds the table of all kernels and variants. It also has averages over the matrices on which all of the document's
    kernels ran."""
    columns = ["kernel"] + [f"{name} {what}" for _, name in TYPES
                            for what in ("set", "avg", "max", "avg from 100 000", "avg of the common set")]
    rows = []
    common = [s.common([k for k in measure.KERNELS if k in s.kernels], LIMITS[0]) for s in types]
    for kernel in dict.fromkeys(k for s in types for k in s.kernels):
        row = [f"`{kernel}`"]
        for s, shared in zip(types, common):
            values = s.values(kernel, s.set_of(kernel, LIMITS[0]))
            row += [len(values), mean(values), max(values, default=None),
                    mean(s.values(kernel, s.set_of(kernel, LIMITS[1]))),
                    mean(s.values(kernel, s.set_of(kernel, LIMITS[0], set(shared))))]
        rows.append(row)
    report.table("kernels", "All kernels and their variants", columns, rows,
                 f"The common set, on which all kernels of tables 1 to 8 ran, has {len(common[0])} (float) and "
                 f"{len(common[1])} (double) matrices.")


def table_of_beaten(report, types):
    """Adds the numbers of figures 5c and 5d: matrices on which CSR-Scalar is faster than CSR-Vector."""
    rows, adaptive = [], [k.adaptive for k in (PRINTED, *BLOCKS.values(), OURS)]
    for s, (_, name) in zip(types, TYPES):
        for limit in LIMITS:
            both, beaten = s.both(PRINTED.scalar, PRINTED.vector, limit), s.beaten(limit)
            rows.append([name, limit, len(both), len(beaten), 100 * len(beaten) / len(both) if both else None,
                         mean(s.values(PRINTED.scalar, beaten)), mean(s.values(PRINTED.vector, beaten)),
                         mean([s.of(PRINTED.adaptive, m) for m in beaten if s.has(PRINTED.adaptive, m)]),
                         *(len(s.ahead(k, PRINTED.scalar, [m for m in beaten if s.has(k, m)])) for k in adaptive)])
    report.table("scalar-beats-vector", "Matrices on which CSR-Scalar is faster than CSR-Vector (the document: 33 % "
                                        "and 40 % in float)",
                 ["type", "entries, at least", "matrices", "CSR-Scalar faster on", "per cent",
                  "mean speed-up there: CSR-Scalar", "CSR-Vector", "CSR-Adaptive",
                  "CSR-Adaptive faster than CSR-Scalar on", *(f"the same with blocks of {size}" for size in BLOCKS),
                  f"the same with ours, `{OURS.adaptive}`"], rows)


def table_of_hyb(report, types):
    """Shows why HYB's mean is close to CSR-Adaptive's although their times differ on most matrices."""
    rows = []
    for kernels, whose in ((PRINTED, "as printed"), (OURS, "ours")):
        hyb, adaptive = kernels.hyb, kernels.adaptive
        for s, (_, name) in zip(types, TYPES):
            both = s.both(hyb, adaptive)
            ahead = s.ahead(hyb, adaptive, both)
            long = [m for m in both if s.mean_row(m) >= LONG]
            rows.append([whose, name, len(both), *(s.ratios(hyb, adaptive) or (None,) * 3), len(ahead),
                         mean(s.values(adaptive, ahead)), mean(s.values(adaptive, [m for m in both if m not in ahead])),
                         len(s.ahead(adaptive, hyb, both, 2)), s.ratio(hyb, adaptive, long),
                         s.ratio(hyb, adaptive, [m for m in both if m not in long])])
    report.table("hyb-adaptive", "HYB compared with CSR-Adaptive",
                 ["kernels", "type", "matrices", "HYB's mean speed-up / CSR-Adaptive's",
                  "geometric mean of the ratios", "ratio of the medians",
                  "HYB faster on", "CSR-Adaptive's mean speed-up there", "on the others",
                  "HYB takes over twice the time on",
                  f"geometric mean of the ratios, mean rows from {LONG} entries", "shorter mean rows"], rows,
                 "Matrices with high speed-ups dominate an arithmetic mean. In a geometric mean all matrices have "
                 "equal weight. In HYB one thread processes the first entries of a row, up to the width.")


def kind_of(matrix, r):
    return "generated, of a twin's kind" if r["twin"] else "generated" if matrix in measure.GENERATED else "real"


def table_of_leaders(report, types):
    rows, kernels = [], own(PRINTED)
    lead = max(types, key=lambda s: len(s.matrices))
    for m, r in lead.matrices.items():
        leaders = [s.leader(m, kernels) if m in s.matrices else None for s in types]
        rows.append([m, kind_of(m, r), r["rows"], r["nnz"], lead.mean_row(m),
                     *(part for s, k in zip(types, leaders) for part in (short(k) if k else None,
                                                                        s.of(k, m) if k else None)),
                     "yes" if changed(types, m, kernels) else "no"])
    changing, both = changes(types, kernels)
    report.table("leaders", "The fastest kernel of each matrix", [
        "matrix", "kind", "rows", "entries", "entries per "
                                             "row", "float", "speed-up", "double", "speed-up", "changes"], rows,
                 "Only the document's own kernels are compared. The leader changes with the type on "
                 f"{changing} of {both} matrices, by more than the margin in both types.")
    long = [(s, m) for s in types for m in s.both(PRINTED.vector, OURS.vector) if s.mean_row(m) >= LONG]
    if long:
        worst = max(s.times[PRINTED.vector, m] / s.times[OURS.vector, m] for s, m in long)
        report.text(f"On matrices with mean rows of at least {LONG} entries, CSR-Vector as printed takes at most "
                    f"{worst:.2f} times the time of `{OURS.vector}`, whose number of lanes follows the mean row.")


def table9(report, types, results):
    structures = results.where(kind="structure")
    rows = [[r["matrix"], r["rows"], r["columns"], r["nnz"], r["mean_row"], r["max_row"]] for r in structures]
    report.table("table9", "Table 9: structure of the selected matrices",
                 ["matrix", "rows", "columns", "entries", "mean row", "longest row"], rows,
                 f"The document's repository names {len(measure.NAMED)} matrices. "
                 f"{sum(row[0] in measure.NAMED for row in rows)} of them were available; the others were chosen to "
                 "differ as much.")

    def draw(*axes):
        for place, axis in enumerate(axes):
            axis.grid(False)
            if place >= len(structures):
                axis.axis("off")
                continue
            r = structures[place]
            axis.imshow([[math.log1p(n) for n in line] for line in r["picture"]], cmap="Greys", aspect="auto",
                        interpolation="nearest", extent=(0, r["columns"], r["rows"], 0))
            axis.set_title(r["matrix"], fontsize=8)
            figures.name_places(axis)
    wide = 4 if len(structures) > 2 else 2
    report.figure("table9", "Table 9: pictures", draw, rows=-(-len(structures) // wide) or 1, columns=wide,
                  size=(8, 2.3 * (-(-len(structures) // wide) or 1)))
    names = [r["matrix"] for r in structures]
    for s, (_, name), letter in zip(types, TYPES, "cd"):
        kernels = [k for k in measure.KERNELS if k in s.kernels]

        def draw_bars(axis, s=s, kernels=kernels):
            figures.bars(axis, names, {short(k): [s.of(k, m) if m in s.matrices and s.has(k, m) else None
                                                  for m in names] for k in kernels}, "speed-up over one thread",
                         log=True)
            axis.set_title(f"Selected matrices, {name} (n/a: the format does not fit)", fontsize=8, pad=32)
        report.figure(f"figure8{letter}", f"Figure 8 ({letter}): the selected matrices, {name}", draw_bars, size=(8, 4))


# ---- figures ----------------------------------------------------------------------------------------------------


def title_above_legend(axis, title):
    """Sets the title. Moves the legend above the axes, so that it does not cover points."""
    axis.set_title(title, fontsize=8, pad=20)
    if axis.get_legend():
        axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=3)


def distributions(report, types):
    for name, title, kernels in FIGURES:
        def draw(*axes, kernels=kernels):
            for place, axis in enumerate(axes):
                kernel, (s, (_, kind)) = getattr(PRINTED, kernels[place // 2]), list(zip(types, TYPES))[place % 2]
                figures.distribution(axis, s.values(kernel, s.set_of(kernel, LIMITS[0])), "speed-up over one thread")
                title_above_legend(axis, f"{short(kernel)} ({kind})")
        report.figure(name, title, draw, rows=len(kernels), columns=2, size=(7, 2.8 * len(kernels)))


def beaten_figure(report, types):
    def draw(*axes):
        for axis, s, (_, kind) in zip(axes, types, TYPES):
            beaten = s.beaten(LIMITS[0])
            series = {short(k): [(max(s.mean_row(m), 0.1), s.of(k, m)) for m in beaten if s.has(k, m)]
                      for k in (PRINTED.scalar, PRINTED.vector, PRINTED.adaptive)}
            figures.scatter(axis, series, "mean entries per row", "speed-up over one thread")
            title_above_legend(axis, f"Where CSR-Scalar beats CSR-Vector ({kind})")
    report.figure("figure5cd", "Figure 5 (c, d): the matrices on which CSR-Scalar beats CSR-Vector", draw, columns=2,
                  size=(8, 3.4))


def coo_figure(report, types):
    def draw(*axes):
        for axis, s, (_, kind) in zip(axes, types, TYPES):
            series = {short(k): [(max(s.mean_row(m), 0.1), s.of(k, m)) for m in s.matrices
                                 if s.has(k, m)] for k in (PRINTED.coo, OURS.coo) if k in s.kernels}
            figures.scatter(axis, series, "mean entries per row", "speed-up over one thread")
            title_above_legend(axis, f"COO by the mean row ({kind})")
    report.figure("figure7-coo", "Figure 7: COO's speed-up against the mean row", draw, columns=2, size=(8, 3.4))


def what_was_measured(report, types):
    """Adds the number of matrices of each kind, and the sources of the real ones."""
    matrices = {m: r for s in types for m, r in s.matrices.items()}
    kinds = {m: kind_of(m, r) for m, r in matrices.items()}
    real = [m for m, kind in kinds.items() if kind == "real"]
    twins = sum(kind.endswith("twin's kind") for kind in kinds.values())
    report.heading("What was measured")
    report.text(f"{len(matrices)} matrices from {LIMITS[0]} entries on: {len(matrices) - len(real)} generated, {twins} "
                f"of them of a twin's kind; {len(real)} real"
                f"{': ' if real else ''}{', '.join(real)}. Sources of real matrices: study/seed000/matrices.tsv.")


def trials(report, types):
    cases = [r for s in types for r in s.timed]
    few = [r for r in cases if r.get("runs", 30) < 30]
    report.text(f"Of {len(cases)} cases on these matrices, {len(few)} have fewer than 30 trials" + (
        f" (at least {min(r['runs'] for r in few)}), because the time of slow cases is limited; "
        f"{sum(r['kernel'] == measure.BASELINE for r in few)} of them are the baseline" if few else "") + ".")


def noise_of_the_baseline(report, types):
    base, rest = (sorted(100 * r["spread_us"] / r["time_us"] for s in types for r in s.timed
                         if (r["kernel"] == measure.BASELINE) == own) for own in (True, False))
    f32, f64 = ({m: s.times[measure.BASELINE, m] for m in s.matrices} for s in types)
    longer = [f32[m] / f64[m] for m in f32 if m in f64]
    if longer and rest:
        over = [sum(n > limit for n in longer) for limit in (1.1, 1.3)]
        report.text(
            f"The spread of the baseline is {base[len(base) // 2]:.1f} % of its time in the median of {len(base)} "
            f"cases and over 25 % in {sum(n > 25 for n in base)} cases. The spread of the other cases is "
            f"{rest[len(rest) // 2]:.1f} % in the median. On {over[0]} of {len(longer)} matrices the baseline takes "
            f"over 10 % longer in float than in double (on {over[1]} over 30 %, at most {max(longer):.2f} times as "
            "long), although it moves fewer bytes. This affects speed-ups, their means and comparisons of the types. "
            "It does not affect which kernel is the fastest on a matrix.")


def report(results, out):
    """Adds everything to `out`, a common.report.Report."""
    types = [Speedups(results, kind) for kind, _ in TYPES]
    if not any(s.matrices for s in types):
        out.problem("no matrix with at least 10 000 entries was timed together with the baseline")
        return
    for matrix in {r["matrix"] for r in results.where(status=("wrong", "failed"))}:
        out.problem(f"{matrix}: a kernel was wrong or failed")
    if not out.options.quick and len(types[0].matrices) < 100:
        out.text(f"These are {len(types[0].matrices)} matrices; the evaluation asks for 100.")
    what_was_measured(out, types)
    if not results.quick:
        trials(out, types)
        noise_of_the_baseline(out, types)
    out.heading("Tables 1 to 8")
    for number, name in TABLES:
        if any(getattr(PRINTED, name) in s.kernels for s in types):
            table_of(out, types, number, name)
    out.heading("All kernels")
    table_of_all(out, types)
    table_of_beaten(out, types)
    table_of_hyb(out, types)
    table_of_leaders(out, types)
    claims(out, types)
    out.heading("Figures")
    distributions(out, types)
    beaten_figure(out, types)
    coo_figure(out, types)
    out.heading("Table 9 and figures 8c, 8d")
    table9(out, types, results)
