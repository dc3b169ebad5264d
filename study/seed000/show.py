"""The document's tables 1 to 9 and figures 4 to 8, and what became of its findings."""
import math

from common import figures
from common.numbers import geometric_mean, mean
from common.report import NOT_COMPARABLE, verdict
from seed000 import measure

LIMITS = (10000, 100000)
OWN = "csr_adaptive_cuda"  # CSR-Adaptive with this library's row blocks
TYPES = (("f32", "float"), ("f64", "double"))
SCALAR, VECTOR, ADAPTIVE, ELL, COO, SCOO, HYB, CUSPARSE = measure.KERNELS
# Of the document, RTX 2080 over one thread of an i7-7700K: {type: ((avg, max) from 10 000 entries, from 100 000)}.
PRINTED = {
    SCALAR: {"f32": ((4.57, 32.50), (8.90, 32.50)), "f64": ((3.78, 29.47), (7.24, 29.47))},
    CUSPARSE: {"f32": ((5.69, 31.44), (13.62, 31.44)), "f64": ((4.68, 25.42), (10.65, 25.42))},
    VECTOR: {"f32": ((6.60, 43.46), (14.40, 43.46)), "f64": ((4.37, 29.62), (9.50, 29.62))},
    ADAPTIVE: {"f32": ((7.37, 48.19), (14.27, 48.19)), "f64": ((6.39, 40.39), (11.72, 40.39))},
    ELL: {"f32": ((6.73, 35.47), (11.16, 35.47)), "f64": ((5.57, 27.92), (8.44, 27.92))},
    COO: {"f32": ((6.96, 54.15), (10.55, 54.15)), "f64": ((7.37, 37.83), (11.69, 37.83))},
    SCOO: {"f32": ((6.82, 38.63), (12.46, 38.63)), "f64": ((4.60, 26.78), (7.43, 26.78))},
    HYB: {"f32": ((7.73, 38.62), (14.92, 38.62)), "f64": ((6.51, 25.96), (11.59, 25.96))},
}
TABLES = ((1, "CSR-Scalar", SCALAR), (2, "CSR (cuSPARSE)", CUSPARSE), (3, "CSR-Vector", VECTOR),
          (4, "CSR-Adaptive", ADAPTIVE), (5, "ELL", ELL), (6, "COO", COO), (7, "SCOO", SCOO), (8, "HYB", HYB))
FIGURES = (("figure4", "Figure 4: CSR-Scalar and cuSPARSE", (SCALAR, CUSPARSE)),
           ("figure5", "Figure 5 (a, b): CSR-Vector", (VECTOR,)),
           ("figure6", "Figure 6: CSR-Adaptive", (ADAPTIVE,)),
           ("figure7", "Figure 7 (a to d): ELL and COO", (ELL, COO)),
           ("figure-scoo", "SCOO (unnumbered)", (SCOO,)),
           ("figure8", "Figure 8 (a, b): HYB", (HYB,)))


class Speedups:
    """Of one type: times and speed-ups by kernel and matrix."""

    def __init__(self, results, kind):
        self.kind = kind
        timed = results.timed(type=kind)
        base = {r["matrix"]: r for r in timed if r["kernel"] == measure.BASELINE}
        self.matrices = {m: r for m, r in base.items() if r["nnz"] >= LIMITS[0]}
        self.times = {(r["kernel"], r["matrix"]): r["mean_us"] for r in timed if r["matrix"] in self.matrices}
        self.kernels = list(dict.fromkeys(k for k, _ in self.times if k != measure.BASELINE))

    def has(self, kernel, matrix):
        return (kernel, matrix) in self.times

    def of(self, kernel, matrix):
        return self.times[measure.BASELINE, matrix] / self.times[kernel, matrix]

    def set_of(self, kernel, limit, among=None):
        return [m for m, r in self.matrices.items() if r["nnz"] >= limit and self.has(kernel, m) and
                (among is None or m in among)]

    def values(self, kernel, matrices):
        return [self.of(kernel, m) for m in matrices]

    def common(self, kernels, limit):
        return [m for m, r in self.matrices.items() if r["nnz"] >= limit and all(self.has(k, m) for k in kernels)]

    def both(self, one, other, limit=LIMITS[0]):
        return self.common((one, other), limit)

    def ratio(self, one, other, matrices):
        """Geometric mean of how many times as fast `one` is as `other`."""
        return geometric_mean(self.times[other, m] / self.times[one, m] for m in matrices)

    def beaten(self, limit):
        """Where CSR-Scalar is faster than CSR-Vector."""
        return [m for m in self.both(SCALAR, VECTOR, limit) if self.of(SCALAR, m) > self.of(VECTOR, m)]

    def leader(self, matrix, kernels):
        return max((k for k in kernels if self.has(k, matrix)), key=lambda k: self.of(k, matrix), default=None)


NAMES = {kernel: title for _, title, kernel in TABLES}
NAMES[CUSPARSE] = "cuSPARSE"


def short(kernel):
    return NAMES.get(kernel, kernel.replace("_cuda", ""))


# ---- tables -----------------------------------------------------------------------------------------------------


def table_of(report, types, number, title, kernel):
    columns = ["NNZ lower limit"]
    for _, name in TYPES:
        columns += [f"{name} set", "avg", "document's avg", "max", "document's max"]
    rows = []
    for place, limit in enumerate(LIMITS):
        row = [limit]
        for s, (kind, _) in zip(types, TYPES):
            values = s.values(kernel, s.set_of(kernel, limit))
            printed = PRINTED[kernel][kind][place]
            row += [len(values), mean(values), printed[0], max(values, default=None), printed[1]]
        rows.append(row)
        report.check(row[1] >= rows[-1][1], f"table {number}: the set of {limit} entries is larger than that of fewer")
    report.check(rows[0][1] >= rows[1][1] and rows[0][6] >= rows[1][6],
                 f"table {number}: the set grows with the limit")
    report.table(f"table{number}", f"Table {number}: {title} speed-up", columns, rows, f"Kernel `{kernel}`.")


def table_of_all(report, types):
    """Every kernel and variant; on the matrices that all of the document's kernels ran on, too."""
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
                 f"The common set, on which every kernel of tables 1 to 8 ran, has {len(common[0])} (float) and "
                 f"{len(common[1])} (double) matrices.")


def table_of_beaten(report, types):
    """Figures 5c, 5d and the numbers beside: where CSR-Scalar beats CSR-Vector."""
    rows = []
    for s, (_, name) in zip(types, TYPES):
        for limit in LIMITS:
            both, beaten = s.both(SCALAR, VECTOR, limit), s.beaten(limit)
            ahead = [[m for m in beaten if s.has(k, m) and s.of(k, m) > s.of(SCALAR, m)] for k in (ADAPTIVE, OWN)]
            rows.append([name, limit, len(both), len(beaten), 100 * len(beaten) / len(both) if both else None,
                         mean(s.values(SCALAR, beaten)), mean(s.values(VECTOR, beaten)),
                         mean([s.of(ADAPTIVE, m) for m in beaten if s.has(ADAPTIVE, m)]), len(ahead[0]),
                         len(ahead[1])])
    report.table("scalar-beats-vector", "Where CSR-Scalar beats CSR-Vector (the document: 33 % and 40 % in float)",
                 ["type", "NNZ lower limit", "matrices", "of them", "per cent", "CSR-Scalar there", "CSR-Vector there",
                  "CSR-Adaptive there", "CSR-Adaptive ahead of CSR-Scalar on", f"`{OWN}` ahead on"], rows)
    return rows


def table_of_leaders(report, types):
    rows, changes, both = [], 0, 0
    kernels = [k for k in measure.KERNELS if k != CUSPARSE]
    lead = max(types, key=lambda s: len(s.matrices))
    for m, r in lead.matrices.items():
        leaders = [s.leader(m, kernels) if m in s.matrices else None for s in types]
        both += all(leaders)
        changed = all(leaders) and all(s.of(own, m) > 1.05 * s.of(other, m) for s, own, other in
                                       zip(types, leaders, reversed(leaders)) if s.has(other, m))
        changes += changed
        rows.append([m, "twin" if r["twin"] else "generated" if m in measure.GENERATED else "real", r["rows"], r["nnz"],
                     r["nnz"] / max(r["rows"], 1),
                     *(part for s, k in zip(types, leaders) for part in (short(k) if k else None,
                                                                        s.of(k, m) if k else None)),
                     "yes" if changed else "no"])
    report.table("leaders", "The fastest kernel of each matrix", ["matrix", "kind", "rows", "entries", "entries a row",
                                                                  "float", "speed-up", "double", "speed-up", "changes"],
                 rows, "Of the document's own kernels. The leader changes with the type on "
                 f"{changes} of {both}: by over 5 % in both.")
    return changes, both


def table9(report, types, results):
    structures = results.where(kind="structure")
    rows = [[r["matrix"], r["rows"], r["cols"], r["nnz"], r["mean_row"], r["max_row"]] for r in structures]
    report.table("table9", "Table 9: structure of the selected matrices",
                 ["matrix", "rows", "columns", "entries", "mean row", "longest row"], rows,
                 "The document shows pictures without names; these are chosen to differ as much.")

    def draw(*axes):
        for place, axis in enumerate(axes):
            axis.grid(False)
            if place >= len(structures):
                axis.axis("off")
                continue
            r = structures[place]
            axis.imshow([[math.log1p(n) for n in line] for line in r["picture"]], cmap="Greys", aspect="auto",
                        interpolation="nearest", extent=(0, r["cols"], r["rows"], 0))
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
                                                  for m in names] for k in kernels}, "speed-up", log=True)
        report.figure(f"figure8{letter}", f"Figure 8 ({letter}): the selected matrices, {name}", draw_bars, size=(8, 4))


# ---- figures ----------------------------------------------------------------------------------------------------


def distributions(report, types):
    for name, title, kernels in FIGURES:
        def draw(*axes, kernels=kernels):
            for place, axis in enumerate(axes):
                kernel, (s, (_, kind)) = kernels[place // 2], list(zip(types, TYPES))[place % 2]
                figures.distribution(axis, s.values(kernel, s.set_of(kernel, LIMITS[0])), "speed-up over one thread")
                axis.set_title(f"{short(kernel)} ({kind})", fontsize=8)
        report.figure(name, title, draw, rows=len(kernels), columns=2, size=(7, 2.8 * len(kernels)))


def beaten_figure(report, types):
    def draw(*axes):
        for axis, s, (_, kind) in zip(axes, types, TYPES):
            beaten = s.beaten(LIMITS[0])
            series = {short(k): [(s.matrices[m]["nnz"], s.of(k, m)) for m in beaten if s.has(k, m)]
                      for k in (SCALAR, VECTOR, ADAPTIVE)}
            figures.scatter(axis, series, "entries", "speed-up over one thread")
            axis.set_title(f"where CSR-Scalar beats CSR-Vector ({kind})", fontsize=8)
    report.figure("figure5cd", "Figure 5 (c, d): the matrices on which CSR-Scalar beats CSR-Vector", draw, columns=2,
                  size=(8, 3.4))


def coo_figure(report, types):
    def draw(*axes):
        for axis, s, (_, kind) in zip(axes, types, TYPES):
            series = {short(k): [(max(r["nnz"] / max(r["rows"], 1), 0.1), s.of(k, m)) for m, r in s.matrices.items()
                                 if s.has(k, m)] for k in (COO, "coo_segmented_cuda") if k in s.kernels}
            figures.scatter(axis, series, "mean entries a row", "speed-up over one thread")
            axis.set_title(kind, fontsize=8)
    report.figure("figure7-coo", "Figure 7: COO's speed-up against the mean row", draw, columns=2, size=(8, 3.4))


# ---- the document's findings ------------------------------------------------------------------------------------


def correlation(pairs):
    """Of ranks (Spearman's), without ties broken."""
    if len(pairs) < 3:
        return None
    ranks = []
    for place in (0, 1):
        order = sorted(range(len(pairs)), key=lambda i: pairs[i][place])
        rank = [0] * len(pairs)
        for position, i in enumerate(order):
            rank[i] = position
        ranks.append(rank)
    middle = (len(pairs) - 1) / 2
    top = sum((a - middle) * (b - middle) for a, b in zip(*ranks))
    return top / sum((a - middle) ** 2 for a in ranks[0])


def claims(report, types, beaten, leaders):
    f32, f64 = types
    if any(k not in s.kernels for s in types for k in (SCALAR, VECTOR, ADAPTIVE, COO, SCOO, HYB)):
        report.claim("all", "findings about kernels of a GPU", "no GPU took part", NOT_COMPARABLE)
        return
    share = {(row[0], row[1]): row for row in beaten}
    rows = [share["float", limit] for limit in LIMITS]
    report.claim("tables 1 to 8", "speed-ups of 4 to 15 on average over one thread", "see the tables", NOT_COMPARABLE,
                 "another GPU, another processor, other matrices: the order of the kernels compares, speed-ups do not")
    report.claim("5c, 5d", "CSR-Scalar outperforms CSR-Vector on 33 % of float matrices from 10 000 entries, 40 % from "
                 "100 000", " and ".join(f"{row[4]:.0f} % of {row[2]}" for row in rows if row[4] is not None),
                 NOT_COMPARABLE, "the share follows from the matrices that were chosen")
    row = share["float", LIMITS[0]]
    if row[3]:
        report.claim("5c, 5d", "there CSR-Scalar has 8.57 and CSR-Vector 4.80, 1.79 times", f"{row[5]:.4g} and "
                     f"{row[6]:.4g}, {row[5] / row[6]:.2f} times", verdict(row[5] / row[6] > 1.4),
                     "the ratio of the means; over 1.4 counts as confirmed")
        report.claim("5c, 5d", "CSR-Adaptive outperforms CSR-Scalar on all of those",
                     f"on {row[8]} of {row[3]} (float), {share['double', LIMITS[0]][8]} of "
                     f"{share['double', LIMITS[0]][3]} (double); with blocks of 1024 and 2048 "
                     f"entries on {row[9]} and {share['double', LIMITS[0]][9]}",
                     verdict(row[8] == row[3]))
    for text, one, other, expected in (
            ("CSR-Vector has a better speed-up than CSR-Scalar, on average, in both types", VECTOR, SCALAR, (1, 1)),
            ("CSR-Adaptive has a better speed-up than CSR-Vector, on average from 10 000 entries", ADAPTIVE, VECTOR,
             (1, 1)),
            ("cuSPARSE has a better average speed-up than CSR-Scalar", CUSPARSE, SCALAR, (1, 1)),
            ("CSR-Vector is ahead of cuSPARSE for float matrices, and not for double ones", VECTOR, CUSPARSE, (1, 0)),
            ("ELL outperforms CSR-Scalar on many matrices (on average)", ELL, SCALAR, (1, 1))):
        if any(k not in s.kernels for s in types for k in (one, other)):
            continue
        found, holds = [], True
        for s, ahead in zip(types, expected):
            both = s.both(one, other)
            a, b = mean(s.values(one, both)), mean(s.values(other, both))
            wins = sum(s.of(one, m) > s.of(other, m) for m in both)
            found.append(f"{a:.4g} and {b:.4g}, ahead on {wins} of {len(both)}")
            holds = holds and (a > b) == bool(ahead)
        report.claim("2.1, 2.2", text, "; ".join(f"{name}: {text}" for (_, name), text in zip(TYPES, found)),
                     verdict(holds), "means over the matrices on which both ran")
    found = []
    for limit in LIMITS:
        for s, (_, name) in zip(types, TYPES):
            both = s.both(SCOO, COO, limit)
            found.append((name, limit, mean(s.values(SCOO, both)) / mean(s.values(COO, both)) if both else None))
    report.claim("tables 6, 7", "SCOO is ahead of COO in float from 100 000 entries alone", "; ".join(
        f"{name} from {limit}: {ratio:.2f} times" for name, limit, ratio in found if ratio),
        verdict([ratio is not None and ratio > 1 for _, _, ratio in found] == [False, False, True, False]),
        "the ratio of the means")
    close = [s.ratio(HYB, ADAPTIVE, s.both(HYB, ADAPTIVE)) for s in types]
    report.claim("table 8", "HYB is quite close to CSR-Adaptive", "; ".join(
        f"{name}: {ratio:.2f} times its speed" for (_, name), ratio in zip(TYPES, close) if ratio),
        verdict(all(ratio and 0.8 < ratio < 1.25 for ratio in close)), "geometric means; within 1.25 counts as close")
    ranks = {kernel: [correlation([(r["nnz"] / max(r["rows"], 1), s.of(kernel, m)) for m, r in s.matrices.items()
                                   if s.has(kernel, m)]) for s in types] for kernel in (COO, SCALAR)}
    if None not in ranks[COO] + ranks[SCALAR]:
        report.claim("figure 7", "the wider the rows, the more serialised COO is",
                     "rank correlation of speed-up and mean row " + "; ".join(
                         f"{short(k)} {one:+.2f} (float), {two:+.2f} (double)" for k, (one, two) in ranks.items()),
                     verdict(max(ranks[COO]) < -0.3),
                     "below -0.3 in both types counts as confirmed; CSR-Scalar has no atomics")
    long_rows = [m for s in types for m, r in s.matrices.items() if r["nnz"] >= 32 * r["rows"] and
                 s.has("csr_vector_cuda", m)]
    if long_rows:
        worst = max(s.times[VECTOR, m] / s.times["csr_vector_cuda", m] for s in types for m in long_rows
                    if s.has("csr_vector_cuda", m))
        report.text(f"On rows of 32 entries and more CSR-Vector as printed takes at most {worst:.2f} times as long as "
                    "`csr_vector_cuda`, which takes as many lanes as the mean row has entries.")
    changes, both = leaders
    report.claim("8c, 8d", "the leader changes with the type", f"on {changes} of {both} matrices by over 5 % in both "
                 "types", verdict(changes > 0))
    wins = {k: sum(f64.leader(m, measure.KERNELS[:-1]) == k for m in f64.matrices) for k in measure.KERNELS[:-1]}
    most = max(wins.values())
    report.claim("table 9", "there is no silver bullet",
                 f"no kernel leads on more than {most} of {len(f64.matrices)} (double)",
                 verdict(most < 0.75 * len(f64.matrices)), "under three quarters counts as confirmed")


def report(results, out):
    """Adds everything to `out`, a common.report.Report."""
    types = [Speedups(results, kind) for kind, _ in TYPES]
    if not any(s.matrices for s in types):
        out.problem("no matrix of 10 000 entries was timed beside the baseline")
        return
    for matrix in {r["matrix"] for r in results.where(status=("wrong", "failed"))}:
        out.problem(f"{matrix}: a kernel was wrong or failed")
    if not out.options.quick and len(types[0].matrices) < 100:
        out.text(f"These are {len(types[0].matrices)} matrices; the evaluation asks for 100.")
    out.heading("Tables 1 to 8")
    for number, title, kernel in TABLES:
        if any(kernel in s.kernels for s in types):
            table_of(out, types, number, title, kernel)
    out.heading("More of the same")
    table_of_all(out, types)
    beaten = table_of_beaten(out, types)
    leaders = table_of_leaders(out, types)
    claims(out, types, beaten, leaders)
    out.heading("Figures")
    distributions(out, types)
    beaten_figure(out, types)
    coo_figure(out, types)
    out.heading("Table 9 and figures 8c, 8d")
    table9(out, types, results)
