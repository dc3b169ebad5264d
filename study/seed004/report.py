"""Tables and verdicts of seed 004."""
import statistics

from common.numbers import geometric_mean
from common.report import CONFIRMED, NOT_COMPARABLE, REFUTED, VARIANT, beside, runs_of, verdict
from seed004 import storage
from seed004.leaves import CHOSEN_FOR, LEAVES, LIBRARY, LISTED, Timed, fastest

Y_OF_ONES = [2, 8, 25, 14, 25]
EQUAL = 1.05  # smaller ratios of times of solvers count as equal
EVEN = 1.25   # largest ratio of times per entry for which a kernel counts as insensitive to row lengths
LONG = 0.01   # a row with at least this share of all entries counts as dense
LISTINGS = (("CSR Kernel in CUDA", "csr_scalar_cuda", ""),
            ("ELLPack Kernel", "ell_listing_cuda", ""), ("ELL, padding not read", "ell_slots_cuda", ""),
            ("COO Kernel", "coo_atomic_cuda", ""), ("COO, \"or segmented reduction\"", "coo_segmented_cuda", ""),
            ("Hybrid Kernel", "hyb_atomic_cuda", "two launches, one after the other: in one launch, as printed, some "
             "threads store y and others add to y without waiting"),
            ("Hybrid, both parts by atomics", "hyb_one_launch_cuda", "correct in one launch"),
            ("Hybrid, without atomics", "hyb_segmented_cuda", ""),
            ("\"Alternative: CSC for column ops\"", "csc_scatter_cuda", ""))


class Runs:
    """Timed cases by matrix, device and type, in the order of the jobs."""

    def __init__(self, results):
        self.margin = results.margin(field="time_us", kind="leaf", device="cuda")
        self.info = {r["matrix"]: r for r in results.where(kind="matrix")}
        self.timed = {}
        for record in results.where(kind="leaf"):
            self.timed.setdefault((record["device"], record["type"], record["matrix"]), []).append(record)
        self.timed = {key: Timed(records) for key, records in self.timed.items()}
        self.auto = {}
        for record in results.timed(kind="auto"):
            self.auto.setdefault((record["device"], record["type"], record["matrix"]), {})[record["format"]] = record

    def of(self, device, kind):
        """Returns {matrix: Timed} of matrices on which the tree's choice and a leaf ran."""
        return {key[2]: t for key, t in self.timed.items() if key[:2] == (device, kind) and t.tree and t.times}

    def kernels(self, device, kind, form):
        """Returns the names of the kernels that ran for a leaf, a format of the tree."""
        return ", ".join(sorted({t.leaves[form]["kernel"] for t in self.of(device, kind).values() if form in t.leaves}))

    def built(self, device=None):
        """Returns {matrix: {format: words (storage.py) of the plan in f32}}. device None: the GPU if measured, else
        the CPU."""
        device = device or ("cuda" if any(key[0] == "cuda" for key in self.timed) else "cpu")
        return {name: {form: r["bytes"] / storage.WORD for form, r in timed.leaves.items()}
                for (d, kind, name), timed in self.timed.items() if (d, kind) == (device, "f32") and timed.leaves}

    def built_over_foretold(self, form, device=None):
        """Returns words of built plans divided by predicted words."""
        return [words[form] / storage.predicted(self.info[name], form)["words"]
                for name, words in self.built(device).items() if form in words]

    def auto_over_csr(self, device, kind, name):
        """Returns the kernel of the library's own choice, and its time divided by csr's."""
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
                 "tests/kernels/test_examples.c; the ends of COO's arrays are wrong in the lecture (correct: rows "
                 "..., 3, 3, 4 and columns ..., 2, 3, 4).")
    for record in results.where(kind="y"):
        report.check(record["y"] == Y_OF_ONES, f"{record['format']}: y is {record['y']}, expected the sums of the "
                                               f"rows {Y_OF_ONES}")


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
        words = runs.built().get(name)
        if words:
            built.append([name, *(words[f] / storage.predicted(info, f)["words"] if f in words else None
                                  for f in storage.FORMATS)])
    report.table("storage", "Storage in words", [
        "matrix", "M", "K", "nnz", "Dense: M N", "CSR: 2 nnz + M + 1", "ELL: 2 M K", "COO: 3 nnz",
        "HYB: 2 M W + 3 rest", "W", "rest", "HYB's printed lower bound", "upper bound", "HYB within bounds"], rows,
        "Words of CSR, ELL, COO and HYB are predicted by the library and checked against the formulas.")
    report.table("storage-built", "Words of built plans / predicted words, f32", ["matrix", *storage.FORMATS],
                 built, "Measured on the GPU if there is one. A word has 4 bytes. Values above 1 come from data that "
                 "the formulas lack (row blocks, row lengths of ELL). A dash: refused by the padding guard.")


def add_leaves(report, results, runs):
    for device, kind in runs.groups():
        rows, listed = [], device == "cuda"
        for name, timed in runs.of(device, kind).items():
            library, library_us = timed.library()
            kernel, ratio = runs.auto_over_csr(device, kind, name)
            row = [name, timed.taken]
            for times in (of(timed) for of in kernels_of(device).values()):
                row += [*(times.get(form) for form in LEAVES), fastest(times), timed.over(times)]
            leaf_us = (timed.printed if listed else timed.times).get(timed.taken)
            rows.append([*row, kernel, ratio, library, library_us / leaf_us if library_us and leaf_us else None])
        columns = ["matrix", "leaf of the tree"]
        for whose in kernels_of(device):
            columns += [*(f"{whose}: {form}, us" for form in LEAVES), f"{whose}: fastest", f"{whose}: leaf / fastest"]
        report.table(f"leaves-{device}-{kind}", f"The tree's leaves, {device}, {kind}", [
            *columns, "Spry's own choice", "its time / csr's", "library: cuSPARSE's fastest" if listed else
            "library: the fastest peer of csr, ell, coo", "its time / time of the leaf"], rows,
            runs_of(results, [r for t in runs.of(device, kind).values() for r in t.good]) + " As printed: the "
            "lecture's kernels, one per leaf. Ours: this library's best kernel without atomics. A dash: refused by the "
            "padding guard, or not measured.")


def library_over_leaves(runs, algorithm, ours=False):
    """Returns two lists of ratios in both types: times of a cuSPARSE algorithm divided by times of the leaf that the
    tree chose, and divided by times of the fastest leaf. algorithm: None means the fastest one of each case."""
    ratios = []
    for kind in ("f32", "f64"):
        for timed in runs.of("cuda", kind).values():
            times = timed.times if ours else timed.printed
            time = timed.peers.get(algorithm) if algorithm else timed.library()[1]
            if time and timed.taken in times:
                ratios.append((time / times[timed.taken], time / min(times.values())))
    return tuple(map(list, zip(*ratios))) or ([], [])


def add_library(report, runs):
    rows = []
    for algorithm in LIBRARY:
        of_tree, of_best = library_over_leaves(runs, algorithm)
        _, of_ours = library_over_leaves(runs, algorithm, ours=True)
        if of_tree:
            rows.append([algorithm, len(of_tree), geometric_mean(of_tree), min(of_tree), max(of_tree),
                         sum(ratio * runs.margin < 1 for ratio in of_tree), geometric_mean(of_best),
                         geometric_mean(of_ours)])
    if rows:
        report.table("library", "cuSPARSE by algorithm", [
            "algorithm", "cases, f32 and f64", "time / time of the tree's leaf as printed, geometric mean", "least",
            "most", "faster than that leaf by more than the margin on", "time / time of the fastest leaf as printed",
            "time / time of the fastest leaf, ours"], rows,
            f"{LIBRARY[0]} is cuSPARSE's default for a matrix in CSR. Algorithms without a case were refused or "
            "missing.")


def check_sets(report, runs):
    """Checks that every matrix was timed in both types, and that the format of the chosen leaf was timed."""
    for device in ("cuda", "cpu"):
        both = [set(runs.of(device, kind)) for kind in ("f32", "f64")]
        report.check(both[0] == both[1], f"{device}: only in one type: {', '.join(sorted(both[0] ^ both[1]))}")
        for kind, names in zip(("f32", "f64"), both):
            for name in names:
                timed = runs.of(device, kind)[name]
                report.check(timed.taken in timed.times, f"{device}, {kind}: {name} has no time of {timed.taken}")


def kernels_of(device):
    """Returns the kernels by which leaves are judged: {"as printed" or "ours": function from Timed to times}."""
    of = {"as printed": lambda t: t.printed, "ours": lambda t: t.times}
    return of if device == "cuda" else {"ours": of["ours"]}


def overs(runs, device, kind, leaf, times_of):
    """Returns the matrices for which the tree chose the leaf, as pairs of Timed and time of the leaf / fastest leaf."""
    taken = [t for t in runs.of(device, kind).values() if t.taken == leaf and leaf in times_of(t)]
    return [(t, t.over(times_of(t))) for t in taken]


def add_summary(report, runs):
    rows = []
    for device, kind in runs.groups():
        for whose, times_of in kernels_of(device).items():
            for leaf in LEAVES:
                over = [ratio for _, ratio in overs(runs, device, kind, leaf, times_of)]
                if over:
                    rows.append([device, kind, whose, leaf, CHOSEN_FOR[leaf], len(over),
                                 sum(ratio <= runs.margin for ratio in over), geometric_mean(over), max(over)])
    report.table("leaves", "Which leaves hold", [
        "device", "type", "kernels", "leaf", "chosen for", "matrices",
        "leaf within the margin of the fastest of the four on", "time of the leaf / the fastest, geometric mean",
        "most"], rows, f"The margin is {runs.margin:.2f}. The CPU has no kernels of the lecture.")


def add_atomics(report, runs):
    rows = []
    for kind in ("f32", "f64"):
        for name, timed in runs.of("cuda", kind).items():
            coo, hyb = timed.times.get("coo"), timed.times.get("hyb")
            rows.append([name, kind, timed.kernel("coo_atomic_cuda"), coo, timed.kernel("hyb_atomic_cuda"),
                         timed.kernel("hyb_one_launch_cuda"), hyb])
    if rows:
        report.table("atomics", "Times with and without atomics, us", [
            "matrix", "type", "coo_atomic_cuda", "coo_segmented_cuda", "hyb_atomic_cuda (two launches)",
            "hyb_one_launch_cuda", "hyb_segmented_cuda"], rows)


def add_columns(report, results):
    rows = []
    for record in results.where(kind="transposed"):
        if record["status"] == "ok":
            rows.append([record["matrix"], record["device"], record["format"], record["kernel"], record["time_us"]])
    report.table("columns", "Column operations: y = A^T x", ["matrix", "device", "format", "kernel", "us"], rows)


def direct_over_cg(record):
    """Returns the time of the factorisation and one solve divided by that of conjugate gradients."""
    return (record["factor_us"] + record["solve_us"]) / record["cg_us"]


def add_fill_in(report, results):
    found = [r for r in results.where(kind="fill-in", status="ok")]
    rows = [[r["grid"].removeprefix("gen:"), r["rows"], r["nnz"], r["order"], r["fill_in"],
             r["factor_entries"] / r["nnz"], r["factor_bytes"], r["factor_us"] / 1000, r["solve_us"] / 1000,
             r["cg_bytes"], r["cg_format"], r["cg_iterations"], r["cg_us"] / 1000, direct_over_cg(r)] for r in found]
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
        "grid", "rows", "entries of A", "order of elimination", "fill-in, entries",
        "entries of the factors / of A", "factors, bytes",
        "factors, ms", "solve, ms", "CG, bytes as CSR", "CG, format it ran in", "CG, iterations", "CG, ms",
        "time of factors and solve / time of CG"], rows,
        "SuperLU (SciPy's splu, pivots from the diagonal) and spry solve (residual 1e-10), each with one thread. "
        "Factors can be used for many right-hand sides; CG starts again for each. CG's bytes are counted, not "
        "measured: A in CSR and five vectors, independent of the format in which CG ran.")

    def draw(*axes):
        from common import figures
        for dimensions, area in zip((2, 3), axes):
            ours = [r for r in found if r["dimensions"] == dimensions]
            series = {f"factors, {order}": [(r["rows"], r["factor_bytes"]) for r in ours if r["order"] == order]
                      for order in dict.fromkeys(r["order"] for r in ours)}
            series["A"] = [(r["rows"], r["matrix_bytes"]) for r in ours]
            series["CG (A in CSR)"] = [(r["rows"], r["cg_bytes"]) for r in ours]
            figures.lines(area, series, "rows of the grid's matrix", "bytes")
            area.set_title(f"Memory on grids of {dimensions} dimensions", fontsize=8)
    report.figure("fill-in", "Memory of elimination and of conjugate gradients", draw, columns=2, size=(9, 3.6),
                  on="cpu", jobs="fill-in")


# ---- claims ----------------------------------------------------------------------------------------------------------

def claims_of_storage(report, runs):
    infos, built = runs.info.values(), runs.built()
    exact = sum(all(words[f] == storage.formulas(runs.info[name])[f] for f in ("csr", "coo") if f in words)
                for name, words in built.items())
    more = runs.built_over_foretold("csr", "cpu")
    report.claim("Storage Requirements", "CSR 2 nnz + M + 1, COO 3 nnz words",
                 f"built plans take these words on {exact} of {len(built)} matrices" +
                 (f"; on the CPU CSR, with its row blocks, takes {min(more):.4f} to {max(more):.4f} times as "
                  "many" if more
                  else ""), verdict(exact == len(built)) if built else NOT_COMPARABLE,
                 "holds if on all; measured on the GPU if there is one, in f32 with 32-bit indices, where a word has 4 "
                 "bytes")
    good, more = sum(not storage.problems(info) for info in infos), runs.built_over_foretold("ell")
    report.claim("Storage Requirements", "ELL 2 M K words",
                 f"predicted words equal these on {good} of {len(infos)} matrices" +
                 (f"; built plans take {min(more):.2f} to {max(more):.2f} times as many on the {len(more)} that the "
                  "padding guard accepts" if more else ""), NOT_COMPARABLE,
                 "the prediction uses the same formula; built plans also store the row lengths, which the lecture's "
                 "ELL lacks")
    within, more = sum(storage.hyb_is_within(info) for info in infos), runs.built_over_foretold("hyb")
    report.claim("Storage Requirements", "HYB > 3 nnz, < 2 M K words",
                 f"predicted words are within these bounds on {within} of {len(infos)} matrices" +
                 (f"; built plans take {min(more):.2f} to {max(more):.2f} times the predicted words" if more else ""),
                 verdict(within == len(infos)),
                 "holds if on all; HYB takes 2 M W + 3 rest words, and 2 nnz if all rows have equal length; built "
                 "plans also store the row lengths")
    worst = max(infos, key=lambda i: storage.formulas(i)["ell"] / i["nnz"])
    ratio = storage.formulas(worst)["ell"] / (2 * worst["nnz"])
    report.claim("Regularizing (ELLPACK)",
                 "if a few rows are much longer than average, padding overhead becomes significant",
                 f"{worst['matrix']}: ELL has {ratio:.3g} slots per entry", verdict(ratio > 2),
                 "counted by the formula; holds if above 2 on one matrix; ELL stores all rows as wide as the longest")
    least = sum(min(words, key=words.get) == "csr" for words in built.values())
    counted = sum(min(words, key=words.get) == "csr" for words in map(storage.counted, infos))
    report.claim("Considerations", "Memory constrained? CSR",
                 f"CSR takes the fewest words of the four built plans on {least} of {len(built)} matrices, by the "
                 f"lecture's formulas on {counted} of {len(infos)}",
                 verdict(2 * least > len(built)) if built else NOT_COMPARABLE,
                 "holds if on most; COO takes less than CSR if rows have at most one entry on average")


def claim_of_sparse_coo(report, runs):
    item, text = "Coordinate Storage (COO)", "COO storage is efficient for very sparse matrices"
    device = next((d for d in ("cuda", "cpu") if runs.of(d, "f32")), None)
    taken = {name: t for name, t in runs.of(device, "f32").items() if t.taken == "coo"}
    words = {name: runs.built()[name] for name, t in taken.items() if {"coo", "csr"} <= set(t.times)}
    least = sum(min(of, key=of.get) == "coo" for of in words.values())
    report.claim(item, text, f"COO takes the fewest words of the four built plans on {least} of {len(words)}; words "
                             "of COO / CSR: " +
                 ", ".join(f"{of['coo'] / of['csr']:.3g} ({name})" for name, of in words.items()) if words else "-",
                 verdict(2 * least > len(words)) if words else NOT_COMPARABLE,
                 "holds if on most matrices that the tree calls very sparse; the claim on the leaf judges "
                 "times" if words
                 else "no matrix of this leaf was measured")


def judge_leaf(runs, kind, leaf, times_of):
    """Returns the finding on a leaf of the tree, on the GPU, and its verdict; None if no matrix has the leaf."""
    over = overs(runs, "cuda", kind, leaf, times_of)
    if not over:
        return None
    mean = geometric_mean(ratio for _, ratio in over)
    right = sum(ratio <= runs.margin for _, ratio in over)
    held = CONFIRMED if mean <= runs.margin else NOT_COMPARABLE if 2 * right > len(over) else REFUTED
    other = sorted({fastest(times_of(t)) for t, ratio in over if ratio > runs.margin})
    return (f"within the margin of the fastest of the four on {right} of {len(over)} matrices, {mean:.2f} times its "
            "time in the geometric mean" + (f"; faster on the others: {', '.join(other)}" if other else ""), held)


def claims_of_leaves(report, runs):
    printed, ours = kernels_of("cuda").values()
    for leaf in LEAVES:
        text = f"{CHOSEN_FOR[leaf]}: {leaf.upper()}"
        finding = judge_leaf(runs, "f32", leaf, printed)
        if not finding:
            report.claim("Decision Tree", text, "-", NOT_COMPARABLE, "no GPU, or no matrix of this leaf, was measured")
            continue
        report.claim("Decision Tree", text, *finding,
                     f"f32; confirmed if that mean is at most the margin, {runs.margin:.2f}; not comparable if it is "
                     "above, although the leaf is within the margin on most matrices; all four leaves by the lecture's "
                     f"kernels ({', '.join(LISTED.values())})", beside(judge_leaf(runs, "f32", leaf, ours)))


def claim_of_unpredictable(report, runs):
    item, text = "Considerations", "Unpredictable? HYB (tree:unpredictable)"

    def judge(times_of):
        over = [times_of(t)["hyb"] / min(times_of(t).values()) for t in runs.of("cuda", "f32").values()
                if t.taken in ("coo", "csr") and "hyb" in times_of(t)]
        mean = geometric_mean(over)
        return over and (f"HYB takes {mean:.2f} times the time of the fastest format, on {len(over)} matrices",
                         verdict(mean <= runs.margin))
    printed, ours = map(judge, kernels_of("cuda").values())
    if not printed:
        report.claim(item, text, "-", NOT_COMPARABLE, "no GPU was measured")
        return
    report.claim(item, text, *printed, "matrices with rows that are not uniform, f32; geometric mean; holds within the "
                 f"margin, {runs.margin:.2f}", beside(ours))


def uneven_over_alike(results, kernel):
    """Returns the time per entry with uneven rows divided by that with equal rows."""
    an_entry = {r["matrix"]: r["time_us"] / r["nnz"] for r in results.timed(kind="balance", kernel=kernel)}
    return an_entry["uneven"] / an_entry["alike"] if len(an_entry) == 2 else None


def atomic_over_segmented(runs):
    """Returns {matrix: time with atomics divided by time of segmented sums} in f32."""
    both = {name: (t.kernel("coo_atomic_cuda"), t.times.get("coo")) for name, t in runs.of("cuda", "f32").items()}
    return {name: atomic / segmented for name, (atomic, segmented) in both.items() if atomic and segmented}


def claim_of_coo(report, runs, results):
    item, text = "COO for Maximal Parallelism", "insensitive to row length distribution: perfect load balance"
    atomic, segmented, scalar = (uneven_over_alike(results, kernel) for kernel in
                                 ("coo_atomic_cuda", "coo_segmented_cuda", "csr_scalar_cuda"))
    if None in (atomic, segmented, scalar):
        report.claim(item, text, "-", NOT_COMPARABLE, "no GPU was measured")
        return
    longer = "times as long if one row is far longer than the others"
    dense = [ratio for name, ratio in atomic_over_segmented(runs).items()
             if runs.info[name]["max_row"] > LONG * runs.info[name]["nnz"]]
    report.claim(item, text, f"by atomics an entry takes {atomic:.2f} {longer}" + (
        f"; {min(dense):.0f} to {max(dense):.0f} times the time of segmented sums on the {len(dense)} matrices with a "
        f"row of over {100 * LONG:.0f} % of all entries" if dense else ""), verdict(atomic < EVEN),
        "time per entry with one far longer row / with equal rows, 8 random entries per row, f32; holds below "
        f"{EVEN}. The lecture also names a segmented reduction",
        beside((f"by segmented sums {segmented:.2f}; with one thread per row (CSR) {scalar:.2f}",
                verdict(segmented < EVEN))))


def claim_of_atomics(report, runs, results):
    ran = [r for r in results.where(format="coo", device="cuda", kind=("example", "leaf"))
           if r["status"] == "ok" and not r["peer"]]
    without = sorted({r["kernel"] for r in ran if r.get("deterministic")})
    ratios = atomic_over_segmented(runs).values()
    report.claim("COO", "requires atomic operations",
                 (f"{', '.join(without)}: correct without atomics, equal bits in every run" if without else
                 "no other kernel ran") +
                 (f"; atomics take {geometric_mean(ratios):.2f} times as long (geometric mean, f32)" if ratios else ""),
                 NOT_COMPARABLE,
                 "the lecture itself adds \"(or segmented reduction)\", which needs none"
                 if ran else "no GPU was measured")


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
                 f"CSC is faster than CSR in {wins} of {total} cases" if total else "-",
                 verdict(wins == total) if total else NOT_COMPARABLE,
                 "products with the transposed matrix; holds if in all cases")


def judge_library(runs, ours):
    """Returns the finding on cuSPARSE against the leaves and its verdict; None without times."""
    (default, _), (_, best) = (library_over_leaves(runs, algorithm, ours) for algorithm in (LIBRARY[0], None))
    if not default or not best:
        return None
    means = geometric_mean(default), geometric_mean(best)
    held = CONFIRMED if max(means) <= runs.margin else REFUTED if min(means) > runs.margin else NOT_COMPARABLE
    return (f"{LIBRARY[0]}, the default, takes {means[0]:.2f} times the time of the leaf that the tree chooses; the "
            f"fastest of {len(LIBRARY)} algorithms takes {means[1]:.2f} times that of the fastest of {len(LEAVES)} "
            "leaves", held)


def claim_of_library(report, runs):
    item, text = "Considerations", "Using library? cuSPARSE: production code, optimized kernels"
    printed = judge_library(runs, ours=False)
    if not printed:
        report.claim(item, text, "-", NOT_COMPARABLE, "no cuSPARSE was measured")
    else:
        report.claim(item, text, *printed, "geometric means in f32 and f64; holds if both are at most the margin, "
                     f"{runs.margin:.2f}; table library has each algorithm", beside(judge_library(runs, ours=True)))
    all_of = [t for kind in ("f32", "f64") for t in runs.of("cuda", kind).values() if t.peers]
    formats = sorted({r["format"] for t in all_of for r in t.good if r["peer"]})
    report.claim("cuSPARSE Library", "auto format selection/conversion; CSR, CSC, COO, ELL, HYB",
                 f"timed here in {', '.join(formats)}, which the caller built" if formats else "-", NOT_COMPARABLE,
                 "a list of features, which no measurement judges; by the manual CUDA 11 removed HYB, ELL exists as "
                 "Blocked-ELL, and the caller chooses the format")


def judge_memory(roofs):
    """Returns the finding on shares of the copy bandwidth, and its verdict."""
    half = sum(roof >= 0.5 for roof in roofs)
    held = CONFIRMED if 4 * half >= 3 * len(roofs) else REFUTED if 4 * half <= len(roofs) else NOT_COMPARABLE
    return (f"at least half of the copy bandwidth in {half} of {len(roofs)} cases, {100 * min(roofs):.0f} to "
            f"{100 * max(roofs):.0f} %, median {100 * statistics.median(roofs):.0f} %", held)


def claim_of_memory(report, runs):
    all_of = [t for kind in ("f32", "f64") for t in runs.of("cuda", kind).values() if t.printed]
    best = [[min(leaves.values(), key=lambda r: r["time_us"]) for leaves in part if leaves]
            for part in ([t.listed for t in all_of], [t.leaves for t in all_of])]
    printed, ours = ([r["roof"] for r in part if r["roof"]] for part in best)
    if not printed or not ours:
        report.claim("Conclusion", "memory-bound operations", "-", NOT_COMPARABLE, "no GPU was measured")
        return
    report.claim("Conclusion", "memory-bound operations", *judge_memory(printed), "the fastest leaf of each case: "
                 "bytes of CSR / time, over the copy bandwidth; confirmed if at least half of it in three quarters of "
                 "the cases, refuted if in at most one quarter. Small matrices fit into the cache",
                 beside(judge_memory(ours)))


def differs(one, other, margin):
    """Returns whether the fastest leaves of two runs differ, by more than the margin and the spread in each run."""
    best_of_one, best_of_other = fastest(one.times), fastest(other.times)
    both = {best_of_one, best_of_other}
    if len(both) == 1 or not both <= set(one.times) & set(other.times):
        return False
    for mine, best in ((one, best_of_one), (other, best_of_other)):
        two = [mine.leaves[form] for form in both]
        spread = max((r.get("spread_us") or 0) / r["time_us"] for r in two)
        if max(r["time_us"] for r in two) <= max(margin, 1 + spread) * mine.times[best]:
            return False
    return True


def claim_of_hardware(report, runs):
    item, text, found = "Conclusion", "hardware characteristics influence format choice", []
    for kind in ("f32", "f64"):
        gpu, cpu = runs.of("cuda", kind), runs.of("cpu", kind)
        both = [name for name in gpu if name in cpu]
        if both:
            found.append((kind, [name for name in both if differs(gpu[name], cpu[name], runs.margin)], len(both)))
    if not found:
        report.claim(item, text, "-", NOT_COMPARABLE, "not both devices were measured")
        return
    told = "; ".join(f"{kind}: CPU and GPU have different fastest leaves on {len(names)} of {count} matrices" +
                     (f" ({', '.join(names)})" if names else "") for kind, names, count in found)
    report.claim(item, text, "-", VARIANT, "the lecture's kernels run on GPUs only, so that CPU and GPU are compared "
                 "by this library's kernels; holds if on at least one matrix in each type, by more than the margin and "
                 "the spread on both devices", beside((told, verdict(all(names for _, names, _ in found)))))


def claims_of_fill_in(report, results):
    found = results.where(kind="fill-in", status="ok")
    if not found:
        for text in ("elimination creates too many fill-in elements", "conjugate gradients are preferred"):
            report.claim("Sparse Matrix", text, "-", NOT_COMPARABLE, "no Python with SciPy")
        return
    told, grows, of = [], [], {}
    for dimensions in (2, 3):
        ours = [r for r in found if r["dimensions"] == dimensions and r["order"] == "minimum degree"]
        if len(ours) < 2:
            continue
        of[dimensions], last = ours, ours[-1]
        growth = [r["factor_entries"] / r["nnz"] for r in (ours[0], last)]
        told.append(f"{dimensions} dimensions: factors have {growth[0]:.1f} times A's entries on the smallest grid, "
                    f"{growth[1]:.1f} times on {last['rows']} rows")
        grows.append(growth[1] > 2 * growth[0])
    report.claim("Sparse Matrix", "elimination can create too many fill-in elements and explode the size of the matrix",
                 "; ".join(told) or "-", verdict(all(grows)) if grows else NOT_COMPARABLE,
                 "holds if this ratio more than doubles from the smallest to the largest grid; minimum-degree order "
                 "(table fill-in also has the natural order)")
    for dimensions, ours in of.items():
        lighter = sum(r["cg_bytes"] < r["factor_bytes"] for r in ours)
        faster = sum(direct_over_cg(r) * EQUAL >= 1 for r in ours)
        behind = [f"{r['rows']} rows ({direct_over_cg(r):.2f})" for r in ours if direct_over_cg(r) < 1]
        formats = ", ".join(sorted({r["cg_format"] for r in ours}))
        report.claim("Sparse Matrix", f"iterative Conjugate Gradient solvers are preferred, {dimensions} dimensions",
                     f"CG takes less memory than the factors on {lighter} of {len(ours)} grids, and no more time than "
                     f"factors and one solve on {faster}" + (
                     f"; time of factors and solve / CG below 1 with {', '.join(behind)}" if behind else ""),
                     verdict(lighter == faster == len(ours)),
                     "holds if both on all grids; times within 5 % count as equal; minimum-degree order, one "
                     f"right-hand side, no preconditioner, one thread; memory is counted for CSR, CG ran in {formats}")


def report(results, report):
    runs = Runs(results)
    claims_of_fill_in(report, results)
    if runs.info:
        claims_of_storage(report, runs)
        claim_of_sparse_coo(report, runs)
        claim_of_coo(report, runs, results)
        claim_of_atomics(report, runs, results)
        claims_of_leaves(report, runs)
        claim_of_unpredictable(report, runs)
        claim_of_columns(report, results)
        claim_of_library(report, runs)
        claim_of_memory(report, runs)
        claim_of_hardware(report, runs)
    if results.where(kind="example"):
        report.heading("The example")
        add_example(results, report)
    if runs.info:
        report.heading("Storage")
        add_storage(report, runs)
        report.heading("Choosing the format")
        check_sets(report, runs)
        add_summary(report, runs)
        add_leaves(report, results, runs)
        add_library(report, runs)
        add_atomics(report, runs)
        add_columns(report, results)
    report.heading("Direct and iterative")
    add_fill_in(report, results)
