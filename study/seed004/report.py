"""Tables and verdicts of seed 004."""
from common.numbers import geometric_mean
from common.report import NOT_COMPARABLE, REFUTED, verdict
from seed004 import storage
from seed004.leaves import LEAVES, PRINTED, Timed

Y_OF_ONES = [2, 8, 25, 14, 25]
SLACK = 1.05  # times within 5 % are no difference
LISTINGS = (("CSR Kernel in CUDA", "csr_scalar_cuda", ""),
            ("ELLPack Kernel", "ell_slots_cuda", "padding is not multiplied"),
            ("COO Kernel", "coo_atomic_cuda", ""), ("COO, \"or segmented reduction\"", "coo_segmented_cuda", ""),
            ("Hybrid Kernel", "hyb_atomic_cuda", "as two launches in order: in one, as printed, y is stored and added "
             "to by threads that do not wait for each other"),
            ("Hybrid, both parts by atomics", "hyb_one_launch_cuda", "one launch that is safe"),
            ("Hybrid, without atomics", "hyb_segmented_cuda", ""),
            ("\"Alternative: CSC for column ops\"", "csc_scatter_cuda", ""))


class Runs:
    """What was timed, by matrix, device and type, in the order of the jobs."""

    def __init__(self, results):
        self.info = {r["matrix"]: r for r in results.where(kind="matrix")}
        self.timed = {}
        for record in results.where(kind="leaf"):
            self.timed.setdefault((record["device"], record["type"], record["matrix"]), []).append(record)
        self.timed = {key: Timed(records) for key, records in self.timed.items()}
        self.auto = {}
        for record in results.timed(kind="auto"):
            self.auto.setdefault((record["device"], record["type"], record["matrix"]), {})[record["format"]] = record

    def of(self, device, kind):
        """{matrix: Timed} of those where the tree's choice and csr ran."""
        return {key[2]: t for key, t in self.timed.items() if key[:2] == (device, kind) and t.tree and t.times}

    def auto_over_csr(self, device, kind, name):
        """Kernel, and its time over csr's, of the library's own choice."""
        found = self.auto.get((device, kind, name), {})
        if "auto" not in found or "csr" not in found:
            return None, None
        return found["auto"]["kernel"], found["auto"]["time_us"] / found["csr"]["time_us"]

    def groups(self):
        return [(d, k) for d in ("cuda", "cpu") for k in ("f32", "f64") if self.of(d, k)]


# ---- tables ----------------------------------------------------------------------------------------------------------

def add_example(results, report):
    found = {r["kernel"]: r for r in results.where(kind="example")}
    rows = []
    for listing, kernel, note in LISTINGS:
        record = found.get(kernel)
        rows.append([listing, kernel, record["status"] if record else "not run here", note])
    for kernel, record in found.items():
        report.check(record["status"] in ("ok", "skipped"), f"{kernel} on the lecture's example: {record['status']}")
        if kernel not in {row[1] for row in rows} and record["status"] == "ok":
            rows.append(["", kernel, "ok", ""])
    report.table("example", "The lecture's 5 x 5 example by every kernel of its layouts",
                 ["listing", "kernel", "y", "note"], rows,
                 "\"ok\": every row of y is within the error bound. The printed arrays of each layout are a test, "
                 "tests/kernels/test_examples.c; those of COO have wrong tails in the lecture (right: rows end ..., 3, "
                 "3, 4 and columns ..., 2, 3, 4).")
    for record in results.where(kind="y"):
        report.check(record["y"] == Y_OF_ONES, f"{record['format']}: y is {record['y']}, by the rows' sums {Y_OF_ONES}")


def add_storage(report, runs):
    rows, built = [], []
    for name, info in runs.info.items():
        printed, width = storage.formulas(info), storage.exact_hyb(info)
        low, high = storage.bounds_of_hyb(info)
        rows.append([name, info["rows"], info["max_row"], info["nnz"], printed["dense"],
                     *(storage.predicted(info, f)["words"] for f in storage.FORMATS), width[0], int(width[1]), low,
                     high, "yes" if storage.hyb_is_within(info) else "no"])
        for problem in storage.problems(info):
            report.problem(problem)
        timed = next((t for (d, k, m), t in runs.timed.items() if m == name and k == "f32" and t.good), None)
        if timed:
            bytes_of = {r["format"]: r["bytes"] for r in timed.good if r["asked"] == "format"}
            built.append([name, *(bytes_of[f] / storage.WORD / storage.predicted(info, f)["words"]
                                  if bytes_of.get(f) else None for f in storage.FORMATS)])
    report.table("storage", "Storage in words", [
        "matrix", "M", "K", "nnz", "Dense: M N", "CSR: 2 nnz + M + 1", "ELL: 2 M K", "COO: 3 nnz",
        "HYB: 2 M W + 3 rest", "W", "rest", "printed: HYB >", "HYB <", "within these"], rows,
        "Of CSR, ELL, COO and HYB what the library foretells; it is checked against the formulas.")
    report.table("storage-built", "Bytes of built plans in f32 over 4 bytes a word", ["matrix", *storage.FORMATS],
                 built, "Above 1 by what plans hold beside the arrays of the table (row blocks, lengths of ELL's "
                 "rows); a dash: refused by the padding guard.")


def add_leaves(report, runs):
    for device, kind in runs.groups():
        rows = []
        for name, timed in runs.of(device, kind).items():
            library, library_us = timed.library()
            leaf_us = timed.of_format(timed.taken)
            kernel, ratio = runs.auto_over_csr(device, kind, name)
            rows.append([name, timed.taken, *(timed.of_format(f) for f in LEAVES), timed.fastest,
                         timed.over(), kernel, ratio, library,
                         library_us / leaf_us if library_us and leaf_us else None])
        report.table(f"leaves-{device}-{kind}", f"The tree's leaves, {device}, {kind}", [
            "matrix", "the tree takes", *(f + ", us" for f in LEAVES), "fastest of these", "the tree's time over its",
            "Spry's own choice", "its time over csr's", "library: cuSPARSE's fastest" if device == "cuda" else
            "library: the fastest peer of csr, ell, coo", "its time over the tree's"], rows,
            "Median of 30 products; every leaf by its best kernel without atomics. A dash: refused by the padding "
            "guard, or not there.")


def check_sets(report, runs):
    """Every matrix was timed in both types, by its leaf too."""
    for device in ("cuda", "cpu"):
        both = [set(runs.of(device, kind)) for kind in ("f32", "f64")]
        report.check(both[0] == both[1], f"{device}: only in one type: {', '.join(sorted(both[0] ^ both[1]))}")
        for kind, names in zip(("f32", "f64"), both):
            for name in names:
                timed = runs.of(device, kind)[name]
                report.check(timed.taken in timed.times, f"{device}, {kind}: {name} has no time of {timed.taken}")


def add_summary(report, runs):
    rows = []
    for device, kind in runs.groups():
        for leaf in LEAVES:
            taken = [t for t in runs.of(device, kind).values() if t.taken == leaf and leaf in t.times]
            if taken:
                over = [t.over() for t in taken]
                rows.append([device, kind, leaf, PRINTED[leaf], len(taken), sum(ratio <= SLACK for ratio in over),
                             geometric_mean(over), max(over)])
    report.table("leaves", "Which leaves hold today", [
        "device", "type", "leaf", "taken where", "matrices", "there within 5 % of the fastest of the four",
        "time over the fastest, geometric mean", "most"], rows)


def add_atomics(report, runs):
    rows = []
    for kind in ("f32", "f64"):
        for name, timed in runs.of("cuda", kind).items():
            coo, hyb = timed.of_format("coo"), timed.of_format("hyb")
            rows.append([name, kind, timed.kernel("coo_atomic_cuda"), coo, timed.kernel("hyb_atomic_cuda"),
                         timed.kernel("hyb_one_launch_cuda"), hyb])
    if rows:
        report.table("atomics", "With atomics and without, us", [
            "matrix", "type", "coo_atomic_cuda", "coo_segmented_cuda", "hyb_atomic_cuda (two launches)",
            "hyb_one_launch_cuda", "hyb_segmented_cuda"], rows)


def add_columns(report, results):
    rows = []
    for record in results.where(kind="transposed"):
        if record["status"] == "ok":
            rows.append([record["matrix"], record["device"], record["format"], record["kernel"], record["time_us"]])
    report.table("columns", "Column operations: y = A^T x", ["matrix", "device", "format", "kernel", "us"], rows)


def add_fill_in(report, results):
    found = [r for r in results.where(kind="fill-in", status="ok")]
    rows = [[r["grid"].removeprefix("gen:"), r["rows"], r["nnz"], r["order"], r["fill_in"],
             r["factor_entries"] / r["nnz"], r["factor_bytes"], r["factor_us"] / 1000, r["solve_us"] / 1000,
             r["cg_bytes"], r["cg_iterations"], r["cg_us"] / 1000, r["factor_us"] / r["cg_us"]] for r in found]
    if not found:
        skipped = results.where(kind="fill-in")
        report.text("Fill-in: not measured" + (f", {skipped[0]['reason']}." if skipped else "."))
        return
    for record in found:
        report.check(record["distance"] < 1e-6,
                     f"{record['grid']}: the two solutions differ by {record['distance']:.1e}")
        report.check(record["fill_in"] >= 0, f"{record['grid']}: fill-in is {record['fill_in']}")
    for key in {(r["dimensions"], r["order"]) for r in found}:
        sizes = [(r["rows"], r["factor_entries"]) for r in found if (r["dimensions"], r["order"]) == key]
        report.check(sorted(sizes) == sizes == sorted(sizes, key=lambda size: size[1]),
                     f"fill-in, {key[0]} dimensions, {key[1]}: factors do not grow with the grid")
    report.table("fill-in", "Elimination against conjugate gradients on one grid", [
        "grid", "rows", "entries of A", "order of elimination", "fill-in, entries", "factors over A", "factors, bytes",
        "factors, ms", "solve, ms", "CG, bytes", "CG, iterations", "CG, ms", "factors' time over CG's"], rows,
        "One thread each: SuperLU (SciPy's splu) with pivots from the diagonal, and spry solve to a residual of 1e-10. "
        "Factors may be used for many right-hand sides, CG begins anew.")

    def draw(*axes):
        from common import figures
        for dimensions, area in zip((2, 3), axes):
            ours = [r for r in found if r["dimensions"] == dimensions]
            series = {f"factors, {order}": [(r["rows"], r["factor_bytes"]) for r in ours if r["order"] == order]
                      for order in dict.fromkeys(r["order"] for r in ours)}
            series["A"] = [(r["rows"], r["matrix_bytes"]) for r in ours]
            series["CG: A and five vectors"] = [(r["rows"], r["cg_bytes"]) for r in ours]
            figures.lines(area, series, f"rows of the grid's matrix, {dimensions} dimensions", "bytes")
    report.figure("fill-in", "Memory of elimination and of conjugate gradients", draw, columns=2, size=(9, 3.6))


# ---- claims ----------------------------------------------------------------------------------------------------------

def claims_of_storage(report, runs):
    infos = runs.info.values()
    good = [not storage.problems(info) for info in infos]
    report.claim("Storage Requirements", "CSR 2 nnz + M + 1, ELL 2 M K, COO 3 nnz words",
                 f"exact on {sum(good)} of {len(good)} matrices", verdict(all(good)),
                 "words are a fourth of the bytes in f32 with 32-bit indices only")
    within = sum(storage.hyb_is_within(info) for info in infos)
    report.claim("Storage Requirements", "HYB > 3 nnz, < 2 M K words", f"holds on {within} of {len(good)} matrices",
                 verdict(within == len(good)),
                 "it is 2 M W + 3 rest, and 2 nnz where all rows are alike")
    worst = max(infos, key=lambda i: storage.formulas(i)["ell"] / i["nnz"])
    ratio = storage.formulas(worst)["ell"] / (2 * worst["nnz"])
    report.claim("Regularizing (ELLPACK)",
                 "if a few rows are much longer than average, padding overhead becomes significant",
                 f"{worst['matrix']}: ELL has {ratio:.3g} slots an entry", verdict(ratio > 2),
                 "the longest row is as wide as all rows are stored")
    least = sum(min(storage.FORMATS, key=lambda f: storage.predicted(i, f)["words"]) == "csr" for i in infos)
    report.claim("Considerations", "Memory constrained? CSR", f"CSR takes the fewest words on {least} of {len(good)}",
                 verdict(least > len(good) / 2),
                 "ELL and HYB take 2 nnz where all rows are alike, COO less than CSR where most rows are empty")


def claims_of_leaves(report, runs):
    device, kind = ("cuda", "f32") if runs.of("cuda", "f32") else ("cpu", "f32")
    for leaf in LEAVES:
        text = f"{PRINTED[leaf]}: {leaf.upper()}"
        taken = {n: t for n, t in runs.of(device, kind).items() if t.taken == leaf and leaf in t.times}
        if not taken:
            report.claim("Decision Tree", text, "-", NOT_COMPARABLE, "no matrix of this leaf was measured")
            continue
        over = [t.over() for t in taken.values()]
        wins = sum(ratio <= SLACK for ratio in over)
        other = sorted({t.fastest for t, ratio in zip(taken.values(), over) if ratio > SLACK})
        report.claim("Decision Tree", text, f"{device}, {kind}: within 5 % of the fastest of the four on {wins} of "
                     f"{len(taken)}, {geometric_mean(over):.2f} times its time in the geometric mean"
                     + (f"; faster: {', '.join(other)}" if other else ""),
                     verdict(geometric_mean(over) <= SLACK),
                     "holds where that is within 5 %")


def claim_of_unpredictable(report, runs):
    over = []
    for name, timed in runs.of("cuda", "f32").items():
        if timed.taken in ("coo", "csr") and timed.of_format("hyb"):
            over.append(timed.of_format("hyb") / min(timed.times.values()))
    report.claim("Considerations", "Unpredictable? HYB (tree:unpredictable)",
                 f"HYB takes {geometric_mean(over):.2f} times the fastest's time where rows vary" if over else "-",
                 verdict(geometric_mean(over) <= SLACK) if over else NOT_COMPARABLE,
                 f"{len(over)} matrices whose rows are not uniform, f32" if over else "no GPU was measured")


def uneven_over_alike(results, kernel):
    """How many times as long an entry takes where rows are uneven."""
    an_entry = {r["matrix"]: r["time_us"] / r["nnz"] for r in results.timed(kind="balance", kernel=kernel)}
    return an_entry["uneven"] / an_entry["alike"] if len(an_entry) == 2 else None


def claims_of_coo(report, runs, results):
    atomic, segmented, scalar = (uneven_over_alike(results, kernel) for kernel in
                                 ("coo_atomic_cuda", "coo_segmented_cuda", "csr_scalar_cuda"))
    if None in (atomic, segmented, scalar):
        for text in ("insensitive to row length distribution: perfect load balance", "requires atomic operations"):
            report.claim("COO", text, "-", NOT_COMPARABLE, "no GPU was measured")
        return
    report.claim("COO for Maximal Parallelism", "insensitive to row length distribution: perfect load balance",
                 f"an entry takes {segmented:.2f} (atomics: {atomic:.2f}) times as long where one row is far longer "
                 f"than the others, with a thread a row (CSR) {scalar:.2f}",
                 verdict(segmented < 1.25 and segmented < scalar),
                 "8 entries a row in columns drawn at random, all rows alike or not; holds below 1.25")
    pairs = [(t.kernel("coo_atomic_cuda"), t.of_format("coo")) for t in runs.of("cuda", "f32").values()]
    ratios = [a / s for a, s in pairs if a and s]
    if ratios:
        report.claim("COO", "requires atomic operations",
                     f"by segmented sums without atomics, {geometric_mean(ratios):.2f} times as fast", REFUTED,
                     "the lecture names segmented reduction itself; the same bits in every run")


def claim_of_columns(report, results):
    wins = total = 0
    for name in dict.fromkeys(r["matrix"] for r in results.timed(kind="transposed")):
        for device in ("cpu", "cuda"):
            ran = results.timed(kind="transposed", matrix=name, device=device)
            times = {f: min((r["time_us"] for r in ran if r["format"] == f), default=None) for f in ("csr", "csc")}
            if None not in times.values():
                total += 1
                wins += times["csc"] < times["csr"]
    report.claim("Considerations", "Column ops? CSC",
                 f"CSC is ahead of CSR in {wins} of {total} cases" if total else "-",
                 verdict(wins == total) if total else NOT_COMPARABLE,
                 "products with the transposed matrix")


def claim_of_library(report, runs):
    ratios, of_tree = [], []
    for kind in ("f32", "f64"):
        for timed in runs.of("cuda", kind).values():
            library = timed.library()[1]
            if library:
                ratios.append(library / min(timed.times.values()))
                if timed.taken in timed.times:
                    of_tree.append(library / timed.times[timed.taken])
    report.claim("Considerations", "Using library? cuSPARSE: production code, optimized kernels",
                 f"cuSPARSE's fastest takes {geometric_mean(of_tree):.2f} times the time of the leaf that the tree "
                 f"takes here, {geometric_mean(ratios):.2f} times that of the fastest leaf" if of_tree else "-",
                 verdict(geometric_mean(of_tree) <= 1) if of_tree else NOT_COMPARABLE,
                 f"holds: ahead of the tree's leaf; geometric means of {len(of_tree)} cases" if of_tree
                 else "no cuSPARSE was measured")
    report.claim("cuSPARSE Library", "auto format selection/conversion; CSR, CSC, COO, ELL, HYB",
                 "cusparseSpMV multiplies in the format that the caller made; HYB is gone since CUDA 11, ELL is left "
                 "as Blocked-ELL", REFUTED, "the interface as it is today")


def claim_of_memory(report, runs):
    roofs = []
    for kind in ("f32", "f64"):
        for name, timed in runs.of("cuda", kind).items():
            best = min((r for r in timed.good if r["asked"] == "format"), key=lambda r: r["time_us"], default=None)
            if best and best["roof"]:
                roofs.append(best["roof"])
    middle = sorted(roofs)[len(roofs) // 2] if roofs else None
    report.claim("Conclusion", "memory-bound operations",
                 f"the fastest leaf moves CSR's bytes at {100 * middle:.0f} % of the copy bandwidth, the median of "
                 f"{len(roofs)}" if roofs else "-",
                 verdict(middle >= 0.5) if roofs else NOT_COMPARABLE,
                 "half and more counts as confirmed; small matrices lie in the cache" if roofs
                 else "no GPU was measured")


def claims_of_fill_in(report, results):
    found = results.where(kind="fill-in", status="ok")
    if not found:
        for text in ("elimination creates too many fill-in elements", "conjugate gradients are preferred"):
            report.claim("Sparse Matrix", text, "-", NOT_COMPARABLE, "no Python with SciPy")
        return
    told, grows = [], []
    pairs = [r for r in found if r["order"] == "minimum degree"]
    lighter = sum(r["cg_bytes"] < r["factor_bytes"] for r in pairs)
    faster = sum(r["cg_us"] < r["factor_us"] + r.get("solve_us", 0) for r in pairs)
    for dimensions in (2, 3):
        ours = [r for r in found if r["dimensions"] == dimensions and r["order"] == "minimum degree"]
        if len(ours) < 2:
            continue
        first, last = ours[0], ours[-1]
        growth = [r["factor_entries"] / r["nnz"] for r in (first, last)]
        told.append(f"{dimensions} dimensions: from {growth[0]:.1f} to {growth[1]:.1f} times A's entries at "
                    f"{last['rows']} rows")
        grows.append(growth[1] > 2 * growth[0])
    report.claim("Sparse Matrix", "elimination can create too many fill-in elements and explode the size of the matrix",
                 "; ".join(told), verdict(all(grows)),
                 "in a minimum-degree order; the natural one is worse")
    report.claim("Sparse Matrix", "iterative Conjugate Gradient solvers are preferred",
                 f"less memory than the factors on {lighter} of {len(pairs)} grids, less time than factors and one "
                 f"solve on {faster}", verdict(2 * min(lighter, faster) > len(pairs)),
                 "holds: both on most grids; minimum-degree order, one right-hand side, no preconditioner, one thread")


def report(results, report):
    runs = Runs(results)
    claims_of_fill_in(report, results)
    if runs.info:
        claims_of_storage(report, runs)
        claims_of_coo(report, runs, results)
        claims_of_leaves(report, runs)
        claim_of_unpredictable(report, runs)
        claim_of_columns(report, results)
        claim_of_library(report, runs)
        claim_of_memory(report, runs)
    if results.where(kind="example"):
        report.heading("The example")
        add_example(results, report)
    if runs.info:
        report.heading("Storage")
        add_storage(report, runs)
        report.heading("Choosing the format")
        check_sets(report, runs)
        add_summary(report, runs)
        add_leaves(report, runs)
        add_atomics(report, runs)
        add_columns(report, results)
    report.heading("Direct and iterative")
    add_fill_in(report, results)
