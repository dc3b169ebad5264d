"""Seed 003: Oliver Meister, CUDA Kernels for SpMV, a tutorial, 9 January 2013."""
import sys

from common import machine
from common.jobs import Job, repeat
from common.report import NOT_COMPARABLE, beside, both, by_margin, runs_of, verdict
from seed003 import pagerank, rows

TITLE = "Seed 003: CUDA Kernels for SpMV (Meister 2013)"
ABOUT = ("The tutorial asks its readers to compare one thread per row (scalar) with one warp per row (vector) on "
         "different matrices, including a diagonal one, and to rank the nodes of a graph. It prints no measurements; "
         "its type is float.")
WORDS = {
    "scalar": "one thread per row, CSR Kernel 1.",
    "vector": "one warp of 32 threads per row, which adds up in shared memory, CSR Kernel 2.",
    "shuffles": "adding up the 32 sums of a row from register to register, instead of in shared memory.",
    "lanes": "the threads of a warp, or the threads that share a row.",
    "lanes by the mean row": "2 to 32 threads per row, chosen by the mean row.",
    "sector": "32 bytes, the smallest unit that a GPU reads from its memory.",
    "twin": "a matrix generated with the rows and entries of a real matrix that was not available. Its longest row, "
            "share of mirrored entries and kind of pattern are this study's choice.",
    "step": "the entries that the 32 threads of a warp read together; for PageRank, a printed step of the algorithm.",
}
TYPES = ("f32", "f64")
SHORT = {rows.SCALAR: "scalar", rows.SHARED: "vector, shared memory", rows.SHUFFLE: "vector, shuffles",
         rows.BY_MEAN: "lanes by the mean row", rows.MERGE: "csr_merge_cuda", rows.ELL: "ELLPACK",
         rows.SLOTS: "ELLPACK, padding not read"}
KNOWN = ("rows", "nnz", "mean_row", "max_row", "empty_rows", "histogram")


def devices(run):
    """Returns the kinds of devices that the run can use."""
    gpu = run.mock or machine.describe()["gpu"]
    return [d for d, there in (("cpu", True), ("cuda", gpu)) if there and run.options.device in (d, "all")]


# ---- jobs ------------------------------------------------------------------------------------------------------------

def multiply(title, group):
    """Creates a job that measures products of the matrices with all kernels of rows.KERNELS in both types, and records
    the matrices' row lengths."""
    def measure(run):
        for name, source in group.items() if "cuda" in devices(run) else ():
            info = run.lines("info", source)[0]
            yield {"kind": "matrix", "matrix": name, "source": source, **{field: info[field] for field in KNOWN}}
            # The listings add to y, so all kernels are timed as y = A*x + y.
            for record in run.lines("bench", source, "--op", "spmv_add", "--device", "cuda", "--type", "all", "--runs",
                                    "3" if run.options.quick else "30", "--kernels", ",".join(rows.KERNELS)):
                yield {"kind": "product", **record, "matrix": name}
    return Job(f"rows: {title}", measure)


def check_steps(source, device):
    def measure(run):
        for step, printed, found, holds in pagerank.check_steps(run, source, device) if device in devices(run) else ():
            yield {"kind": "step", "device": device, "step": step, "printed": printed, "found": found, "holds": holds}
    return Job(f"PageRank: steps, {device}", measure)


def rank(name, source, device):
    """Creates a job that ranks the graph's nodes, with all entries 1, in csr and in the library's choice of format."""
    def measure(run):
        for form in ("csr", "auto") if device in devices(run) else ():
            record = run.lines("pagerank", source, "--type", "pattern", "--format", form, "--device", device)[0]
            if "rows" not in record:
                sys.exit(f"study/run: {run.command} failed: {record.get('reason')}")
            yield {"kind": "ranks", **{field: value for field, value in record.items()
                                       if field not in ("top", "convergence")}, "matrix": name, "asked": form}
    return Job(f"PageRank: {name}, {device}", measure)


def jobs(options):
    """Returns the jobs. Matrices that are compared with each other are in one job: all bands, and the matrices with
    even and with uneven rows."""
    groups = rows.groups(options.quick, options.matrices)
    graph, source = next((n, s) for group in groups.values() for n, s in group.items() if n.startswith("flickr"))
    kinds = ("cpu", "cuda") if options.device == "all" else (options.device,)
    products = {title: multiply(title, group) for title, group in groups.items()}
    return [*products.values(), *(repeat(products[title]) for title in ("bands", "even and uneven")),
            *(check_steps(rows.EXAMPLE, device) for device in kinds),
            *(rank(graph, source, device) for device in kinds)]


# ---- results ---------------------------------------------------------------------------------------------------------

class Products:
    """Times of one type in microseconds, by matrix and kernel. Matrices are in the order of the jobs."""

    def __init__(self, results, kind):
        self.info = {r["matrix"]: r for r in results.where(kind="matrix")}
        self.records = {(r["matrix"], r["kernel"]): r for r in results.timed(kind="product", type=kind)}
        self.names = [name for name in self.info if any(key[0] == name for key in self.records)]
        self.margin = results.margin(field="time_us", kind="product", type=kind)

    def us(self, name, kernel):
        record = self.records.get((name, kernel))
        return record["time_us"] if record else None

    def ratio(self, name, kernel, over):
        mine, other = self.us(name, kernel), self.us(name, over)
        return mine / other if mine and other else None

    def an_entry(self, name, kernel):
        """Returns the time per entry in nanoseconds."""
        us = self.us(name, kernel)
        return 1000 * us / self.info[name]["nnz"] if us else None

    def sweep(self):
        """Returns the (row length, matrix) of the bands."""
        return [(int(name.split()[-1]), name) for name in self.names if name.startswith("row length")]


def add_times(report, results, products, kind):
    columns = ["matrix", "rows", "entries", "mean row", "longest row", *(SHORT[k] + ", us" for k in rows.KERNELS),
               "scalar / vector"]
    table = []
    for name in products.names:
        info = products.info[name]
        table.append([name, info["rows"], info["nnz"], info["mean_row"], info["max_row"],
                      *(products.us(name, kernel) for kernel in rows.KERNELS),
                      products.ratio(name, rows.SCALAR, rows.SHARED)])
    report.table(f"products-{kind}", f"Scalar against vector, {kind}", columns, table,
                 runs_of(results, products.records.values()) + " Scalar, vector with shared memory and ELLPACK are as "
                 "printed, the others ours. The last column is the time of scalar / the time of vector with shared "
                 "memory: above 1, vector is faster. ELLPACK is missing where the padding guard refuses it.")


def add_reasons(report, both):
    table = []
    for name in both["f32"].names:
        info = both["f32"].info[name]
        ratios = [both[kind].ratio(name, rows.SCALAR, rows.SHARED) for kind in TYPES]
        if None not in ratios:
            table.append([name, info["mean_row"], *ratios, rows.scalar_sectors(info), rows.vector_sectors(info),
                          rows.busy_lanes(info), rows.reason(info, ratios[0], both["f32"].margin)])
    report.table("reasons", "Which is faster, and why", [
        "matrix", "mean row", "time of scalar / vector, f32", "f64", "sectors per step, scalar",
        "sectors per step, vector",
        "lanes of 32 that have an entry, vector", "faster in f32, and reason"], table,
        "Counted from the row lengths, not measured. In a step a warp reads one entry of each of its 32 rows "
        "(scalar), or 32 entries of its one row (vector). Sectors are 32 bytes of the column indices; in f32 the "
        f"values have the same number of sectors. Adding 32 rows to y accesses {rows.result_sectors(rows.WARP)} "
        f"sectors by scalar, whose warp adds to 32 adjacent elements, and {rows.result_sectors(1)} by vector, whose "
        "warp adds to one element per row. Sectors that a later step finds in a cache, reads of x and shared memory "
        "are not counted.")


def add_listings(report, results):
    """Adds the results of each listing on my.mtx."""
    listings = (("CSR matrix-vector multiplication, the loop", "csr_reference_cpu", None),
                ("CSR Kernel 1", rows.SCALAR, rows.SCALAR),
                ("CSR Kernel 2, setup, loop and reduce", rows.SHARED, rows.SHARED),
                ("CSR Kernel 2 with shuffles instead of shared memory", rows.SHUFFLE, rows.SHUFFLE),
                ("ELLPACK Kernel (in the table of contents)", rows.ELL, rows.ELL))
    table = []
    for listing, kernel, timed in listings:
        found = results.where(kind="product", matrix="my.mtx", kernel=timed, type="f32") if timed else []
        state = found[0]["status"] if found else "test kernels_examples" if not timed else "not run here"
        table.append([listing, kernel, state, found[0]["max_error"] if found else None])
        report.check(state != "wrong" and state != "failed", f"{kernel} on my.mtx: {state}")
    columns = ["listing", "kernel", "product", "error / error bound"]
    report.table("listings", "The listings, on my.mtx", columns, table,
                 "my.mtx is the tutorial's example with ptr 0 2 4 7 9. tests/kernels/test_examples.c and "
                 "test_examples_cuda.c check that all listings add to y (beta = 1). Kernel 2 as printed lacks the warp "
                 "synchronisation that Volta and later GPUs need; the kernel here has it.")


def add_accesses(report):
    """Adds the pictures of "Access pattern to indices and data", as a table."""
    scalar, vector = rows.scalar_accesses(rows.PTR), rows.vector_accesses(rows.PTR)
    table = [[f"Kernel 1, jj = row_start + {step}", " ".join(map(str, entries)), f"threads in use: {len(entries)}"]
             for step, entries in enumerate(scalar)]
    table.append(["Kernel 2, jj = row_start + lane", " ".join(map(str, range(rows.PTR[-1]))),
                  "warps " + " ".join(map(str, vector))])
    report.table("accesses", "Access pattern to indices and data, ptr 0 2 4 7 9",
                 ["step", "entries read together", "by"], table)
    report.check(scalar == rows.PRINTED_SCALAR and vector == rows.PRINTED_VECTOR, "access patterns are not as printed")


def add_pagerank(report, results):
    steps = results.where(kind="step")
    report.table("pagerank-steps", "PageRank, the printed steps on my.mtx",
                 ["step", "as printed", "device", "here", "agrees"],
                 [[r["step"], r["printed"], r["device"], r["found"], "yes" if r["holds"] else "NO"] for r in steps],
                 "Compared with the steps in plain Python (study/seed003/pagerank.py).")
    for record in steps:
        report.check(record["holds"], f"PageRank step {record['step']} on {record['device']}: {record['found']}")
    ranks = results.where(kind="ranks")
    report.table("pagerank", "PageRank of the graph",
                 ["graph", "nodes", "links", "device", "format", "kernel", "iterations", "us per iteration",
                  "of which the product", "verdict"],
                 [[r["matrix"], r["rows"], r["nnz"], r["device"], r["asked"], r["kernel"], r["iterations"],
                   r["iteration_us"], r["product_us"], r["verdict"]] for r in ranks],
                 "An entry in row i, column j is a link from i to j. Nodes without links out link to all nodes. All "
                 "links have equal weight. Iterations end at a step of 1e-8.")
    counts = [r["iterations"] for r in ranks]
    report.check(not counts or max(counts) - min(counts) <= 1, "PageRank: devices and formats differ in iterations")


def add_sweep(report, both):
    def draw(*axes):
        from common import figures
        for kind, area in zip(TYPES, axes):
            products = both[kind]
            series = {SHORT[kernel]: [(length, products.an_entry(name, kernel)) for length, name in products.sweep()
                                      if products.an_entry(name, kernel)] for kernel in rows.KERNELS}
            figures.lines(area, series, "entries per row", "ns per entry")
            area.set_title(f"Time per entry of bands, {kind}", fontsize=8)
    if both["f32"].sweep():
        report.figure("row-length", "Time per entry by the row length (a diagonal, then bands)", draw, columns=2,
                      size=(9, 3.6))


# ---- claims ----------------------------------------------------------------------------------------------------------

def crossing(products):
    """Returns the least row length of the sweep from which on vector is always faster by more than the margin; None if
    none."""
    first = None
    for length, name in products.sweep():
        ratio = products.ratio(name, rows.SCALAR, rows.SHARED)
        if ratio is None or ratio <= products.margin:
            first = None
        elif first is None:
            first = length
    return first


def claims_of_coalescing(report, products):
    """Adds claims on coalescing. The access pattern is counted from the listing; its cost is measured."""
    pattern = [(name, rows.scalar_sectors(info), rows.vector_sectors(info)) for name, info in products.info.items()
               if info["mean_row"] >= 8]
    more = sum(scalar > 2 * vector for _, scalar, vector in pattern)
    report.claim("CSR Kernel 1, observations", "non-coalesced memory access to indices and data",
                 f"scalar reads over twice the sectors of columns per step on {more} of {len(pattern)} matrices: " +
                 "; ".join(f"{name}: scalar {scalar:.0f}, vector {vector:.1f}"
                           for name, scalar, vector in pattern[:2]) if pattern else "-",
                 verdict(more == len(pattern)) if pattern else NOT_COMPARABLE,
                 "holds if on all; counted, not measured; matrices with mean rows of at least 8 entries")
    found = judge_long_rows(products, rows.SHARED)
    if found:
        report.claim("not the tutorial's", "therefore scalar is slower on rows of 32 entries and more", *found,
                     f"this study's inference; holds if scalar takes over {products.margin:.2f} times as long on all "
                     "of these bands; a cache may keep a sector for the thread's next steps",
                     beside(judge_long_rows(products, rows.SHUFFLE, "with shuffles: ")))


def judge_long_rows(products, vector, which=""):
    """Returns the times of scalar over those of a vector kernel on bands of long rows, as text that begins with
    `which`, and the verdict; None without bands."""
    found = [(length, products.ratio(name, rows.SCALAR, vector)) for length, name in products.sweep()
             if length >= rows.WARP]
    told = ", ".join(f"{ratio:.2f} on rows of {length}" for length, ratio in found)
    return found and (f"{which}time of scalar / time of vector, f32: {told}",
                      both(*(by_margin([ratio], products.margin) for _, ratio in found)))


def pairs_of(products):
    """Returns the (even, uneven) pairs of matrices that were measured."""
    found = []
    for even in (name for name in products.names if name.startswith("uniform")):
        _, as_, graph = even.partition("uniform, as ")
        uneven = next((n for n in products.names if (n == graph if as_ else n.startswith("flickr"))), None)
        if uneven:
            found.append((even, uneven))
    return found


def an_entry_over(products, pair, kernel):
    """Returns the time per entry with uneven rows / with even rows."""
    even, uneven = pair
    return products.an_entry(uneven, kernel) / products.an_entry(even, kernel)


def claims_of_uneven_rows(report, both):
    products = both["f32"]
    pairs = pairs_of(products)
    real = [pair for pair in pairs if not rows.is_twin(products.info[pair[1]])]
    items = (("CSR Kernel 1, observations", "non-uniform distribution of nonzeros may lead to serialization"),
             ("CSR Kernel 2, observations", "non-uniform distribution of nonzeros is handled to some degree"))
    if not pairs:
        for item, text in items:
            report.claim(item, text, "-", NOT_COMPARABLE, "no GPU was measured")
        return
    slower = {pair: [an_entry_over(products, pair, k) for k in (rows.SCALAR, rows.SHARED)] for pair in pairs}
    found = "; ".join(f"{uneven} (mean row {products.info[uneven]['mean_row']:.0f}, longest "
                      f"{products.info[uneven]['max_row']}): scalar {scalar:.2f}, vector {vector:.2f}"
                      for (_, uneven), (scalar, vector) in slower.items())
    ours = "; ".join(f"{uneven}: " + ", ".join(f"{SHORT[k]} {an_entry_over(products, (even, uneven), k):.2f}"
                                              for k in (rows.SHUFFLE, rows.BY_MEAN, rows.MERGE)
                                              if products.us(uneven, k) and products.us(even, k))
                     for even, uneven in pairs)
    twin = "the longest row of a twin is this study's choice: twins have no vote"
    for (item, text), holds, rule in zip(items, (
            lambda scalar, vector: scalar > 1.2, lambda scalar, vector: vector < scalar), (
            "scalar is above 1.2: one thread sums the longest row",
            "vector is below scalar: a warp shares the longest row")):
        report.claim(item, text, found, verdict(all(holds(*slower[pair]) for pair in real)) if real else NOT_COMPARABLE,
                     "time per entry / time per entry of a matrix of equal size with even rows, f32; holds if on all "
                     f"real matrices {rule}; {twin}", ours)


def claim_of_reductions(report, both):
    item, text = "CSR Kernel 2, reduce", "parallel reduction in shared memory"
    found, names = [], both["f32"].names
    for kind in TYPES:
        ratios = [r for r in (both[kind].ratio(n, rows.SHARED, rows.SHUFFLE) for n in names) if r]
        if ratios:
            found.append(f"{kind}: shared memory takes {min(ratios):.2f} to {max(ratios):.2f} times the time of "
                         "shuffles")
    report.claim(item, text, "; ".join(found) or "-", NOT_COMPARABLE,
                 "the tutorial has no other reduction; shuffles appeared later" if found else "no GPU was measured")


def claim_of_steps(report, results):
    steps = results.where(kind="step")
    holds = bool(steps) and all(r["holds"] for r in steps)
    report.claim("Assignment: PageRank", "steps a to e",
                 f"{sum(r['holds'] for r in steps)} of {len(steps)} checks agree",
                 verdict(holds) if steps else NOT_COMPARABLE, "compared with the steps in plain Python")


# ---- questions that the tutorial asks --------------------------------------------------------------------------------

def answer_on_diagonals(products):
    name = next((name for length, name in products.sweep() if length == 1), None)
    ratio = products.ratio(name, rows.SHARED, rows.SCALAR) if name else None
    if ratio is None:
        return "not measured"
    return (f"f32: one warp per row, where 1 of 32 lanes has an entry, takes {ratio:.1f} times as long as one thread "
            f"per row; lanes by the mean row take {products.ratio(name, rows.BY_MEAN, rows.SCALAR):.2f} times as long, "
            f"ELLPACK {products.ratio(name, rows.ELL, rows.SCALAR):.2f} times")


def answer_on_matrices(both):
    found = []
    for kind in TYPES if both["f32"].sweep() else ():
        ratios = [r for r in (both[kind].ratio(n, rows.SCALAR, rows.SHARED) for n in both[kind].names) if r]
        length, margin = crossing(both[kind]), both[kind].margin
        found.append(f"{kind}: vector is faster on {sum(r > margin for r in ratios)} of {len(ratios)} matrices, by "
                     f"more than the margin of {margin:.2f}; on " +
                     (f"bands from {length} entries per row on" if length else "no bands"))
    return "; ".join(found) or "not measured"


def add_answers(report, both):
    report.table("questions", "Questions that the tutorial asks", ["where", "question", "answer here"], [
        ["CSR Kernel 2, observations", "what about diagonal matrices?", answer_on_diagonals(both["f32"])],
        ["Assignment 3", "compare performance results for different matrices. What do you observe?",
         answer_on_matrices(both)]], "A question makes no claim and has no verdict.")


def report(results, report):
    both = {kind: Products(results, kind) for kind in TYPES}
    claims_of_coalescing(report, both["f32"])
    claims_of_uneven_rows(report, both)
    claim_of_reductions(report, both)
    claim_of_steps(report, results)
    for name in both["f32"].info:
        for kind in TYPES:
            report.check(both[kind].ratio(name, rows.SCALAR, rows.SHARED), f"{name}, {kind}: not both kernels ran")
    if both["f32"].names:
        report.heading("Scalar and vector")
        add_answers(report, both)
        for kind in TYPES:
            add_times(report, results, both[kind], kind)
        add_reasons(report, both)
        add_sweep(report, both)
        add_listings(report, results)
        add_accesses(report)
    report.heading("PageRank")
    add_pagerank(report, results)
