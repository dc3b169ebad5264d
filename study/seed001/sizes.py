"""Group sizes: sweeps on CPU and GPU, constants, formulas, two readings of the formula, cases by the longest row."""
import re
import statistics

from common import figures
from common.numbers import geometric_mean
from common.records import REPEAT
from common.report import CONFIRMED, NOT_COMPARABLE, REFUTED, VARIANT, by_margin, verdict
from seed001 import measure, printed, suite

WITHIN_A_TENTH = "holds if at most a tenth slower, in the geometric mean; 5 % around this limit decide nothing"
CHOSEN = "Sizes are chosen in one run and compared in a second one."
BY_CHANCE = "The least of 18 times is partly low by chance, so a part of each loss is noise."
L2 = 50 << 20  # bytes of an H200's L2 cache
WITHIN = 1.01  # sizes within this factor of the fastest time count as best


def _sizes(kernel):
    """Returns (srs, ssrs or 0) from a kernel's name; None if it has no sizes."""
    found = re.search(r":srs=(\d+)(?::ssrs=(\d+))?$", kernel)
    return (int(found[1]), int(found[2] or 0)) if found else None


def a_tenth(lost):
    """Returns the verdict on a loss, as a ratio of times, of at most a tenth."""
    return NOT_COMPARABLE if 1.1 / 1.05 < lost < 1.1 * 1.05 else verdict(lost <= 1.1)


def _sweeps(records):
    """Returns {listing: {matrix: {SRS: microseconds}}} of CSR-2, and {matrix: csr's microseconds}."""
    found, csr = {}, {}
    for r in records:
        if not r["job"].removeprefix(REPEAT).startswith("sizes of ") or not r.get("mean_us"):
            continue
        at = _sizes(r["kernel"])
        if at and r["kernel"].startswith("csr2_"):
            found.setdefault(r["kernel"].partition(":")[0], {}).setdefault(r["matrix"], {})[at[0]] = r["mean_us"]
        elif r["format"] == "csr":
            csr[r["matrix"]] = r["mean_us"]
    return found, csr


def _best(times):
    """Returns the geometric mean of the sizes whose times are within 1 % of the fastest time."""
    least = min(times.values())
    return geometric_mean(size for size, us in times.items() if us <= WITHIN * least)


def _nearest(times, size):
    """Returns the size of the sweep whose ratio to `size` is nearest to 1."""
    return min(times, key=lambda at: max(at / size, size / at))


def show_cpu(report, results):
    found, csr = _sweeps(results.timed())
    if not found:
        return
    report.heading("Sizes of groups on the CPU")
    noise = [q for job in {r["job"] for r in results.records if r["job"].startswith("sizes of ")}
             for q in results.repeated(job=job)]
    if noise:
        report.text(f"Noise: two runs measured {len(noise)} equal cases (kernel, size and matrix). The longer time is "
                    f"{statistics.median(noise):.2f} times the shorter in the median and {max(noise):.2f} times at "
                    "most. The curves have jumps of this size.")
    again = _sweeps(results.repeats)[0]
    shown = {kernel: _show_sweep(report, kernel, sweeps, csr, again.get(kernel, {}))
             for kernel, sweeps in sorted(found.items(), key=lambda item: item[0] != "csr2_listing_cpu")}
    _claim_sizes(report, shown, CHOSEN if again else BY_CHANCE)


def show_mesh(report, results):
    """Adds listing 1 at its best size relative to balanced csr, medians of batches run in turn."""
    found = [r for r in results.timed() if r["job"].startswith("mesh ")]
    rows = []
    for matrix in dict.fromkeys(r["matrix"] for r in found):
        times = {r["kernel"]: r["time_us"] for r in found if r["matrix"] == matrix and _sizes(r["kernel"])}
        csr = [r["time_us"] for r in found if r["matrix"] == matrix and r["format"] == "csr"]
        if not times or not csr:
            continue
        printed_one = {k: us for k, us in times.items() if k.startswith("csr2_listing_cpu:")}
        best, plain = min(times, key=times.get), min(printed_one, key=printed_one.get)
        rows.append([matrix, csr[0], plain, printed_one[plain] / csr[0], best, times[best] / csr[0]])
    if not rows:
        return
    report.table("mesh", "Listing 1 with its best SRS, compared with balanced csr", [
        "matrix", "csr, us", "best as printed", "its time / csr's", "best of all", "its time / csr's"], rows,
                 "f64, as given.",
        "cpu", "mesh ")
    plain, best = (geometric_mean(row[column] for row in rows) for column in (3, 5))
    report.claim("not the document's", "listing 1 with its best SRS takes at most 1.1 times balanced csr's time on "
                                       "the list mesh",
                 f"{plain:.2f} times csr's time, {max(row[3] for row in rows):.2f} at most", a_tenth(plain),
                 f"geometric mean over {len(rows)} matrices, all threads of {report.measured_on('cpu', 'mesh ')}",
                 f"{a_tenth(best)}: {best:.2f} times, {max(row[5] for row in rows):.2f} at most, with vector rows")


def _row_of(matrix, times, constant, csr, again):
    """Returns the matrix's row. Chooses the best size in the first run and compares times of the second run, so that no
    size gains by chance. Without a second run, again is None."""
    best, later = min(times, key=times.get), again or times
    return [matrix, "regular" if suite.is_regular(matrix) else "irregular", _best(times), later[best],
            later[_nearest(times, printed.SRS)] / later[best], later[_nearest(times, constant)] / later[best],
            max(later.values()) / later[best], csr[matrix] / times[best] if matrix in csr else None]


def _one_for_all(sweeps, again):
    """Returns the size with the smallest mean loss relative to each matrix's best size, and its loss in the second
    run."""
    shared = set.intersection(*(set(times) for times in sweeps.values()))
    lost = {at: geometric_mean(times[at] / min(times.values()) for times in sweeps.values()) for at in shared}
    one = min(lost, key=lost.get)
    return one, geometric_mean(again.get(m, times)[one] / again.get(m, times)[min(times, key=times.get)]
                               for m, times in sweeps.items())


def _curves(sweeps):
    return {matrix: [(at, us / min(times.values())) for at, us in times.items()]
            for matrix, times in list(sweeps.items())[:8]}


def _show_sweep(report, kernel, sweeps, csr, again):
    constant = geometric_mean(_best(times) for times in sweeps.values())
    rows = [_row_of(matrix, times, constant, csr, again.get(matrix)) for matrix, times in sweeps.items()]
    lost, refitted = geometric_mean(row[4] for row in rows), geometric_mean(row[5] for row in rows)
    one, one_lost = _one_for_all(sweeps, again)
    columns = ["matrix", "class", "best SRS", "time with it, us", f"time / this time: SRS {printed.SRS}",
               f"SRS {constant:.0f}", "the worst SRS", "balanced csr"]
    report.table(f"sizes-{kernel}", f"CSR-2 by `{kernel}`: the best SRS", columns, rows,
                 "f64, as given. The geometric mean of the best SRS is "
                 f"{constant:.0f} (document: {printed.SRS}). SRS {printed.SRS} is {100 * (lost - 1):.1f} % slower than "
                 f"the best SRS of each matrix, {constant:.0f} is {100 * (refitted - 1):.1f} % slower, and {one}, the "
                 f"best single size, {100 * (one_lost - 1):.1f} % (geometric means over {len(rows)} matrices). "
                 f"{CHOSEN if again else BY_CHANCE}", "cpu", "sizes of ")
    report.figure(f"sizes-{kernel}", f"CSR-2 by {kernel}: time against SRS",
                  lambda axes: draw_sizes(axes, kernel, sweeps), size=(7, 4), on="cpu", jobs="sizes of ")
    return rows, (lost, one, one_lost, constant, refitted)


def draw_sizes(axes, kernel, sweeps):
    figures.lines(axes, _curves(sweeps), "rows a super-row", "time over the best size's", logs="x")
    axes.set_title(f"CSR-2 by {kernel}, f64", fontsize=9)


def _claim_sizes(report, found, chance):
    """Adds the claims of section 4.2 on CPUs. found: {kernel: (rows of its table, losses)}, the printed kernel first;
    losses: of SRS 96; the best single size, its loss; the geometric mean, its loss."""
    least, most = printed.PREFERRED
    claims = {f"most matrices prefer an SRS of {least} to {most} on CPUs": [],
              f"SRS = {printed.SRS} for all is often good enough": [],
              "the geometric mean of the best sizes yields decent performance": []}
    for kernel, (rows, (lost, one, one_lost, constant, refitted)) in found.items():
        inside = sum(least <= row[2] <= most for row in rows)
        near_half = abs(2 * inside - len(rows)) <= 0.2 * len(rows)
        told = [(f"{inside} of {len(rows)} matrices", NOT_COMPARABLE if near_half else verdict(2 * inside > len(rows))),
                (f"{100 * (lost - 1):.1f} % slower than the best sizes; the best single size, {one}, is "
                 f"{100 * (one_lost - 1):.1f} % slower", a_tenth(lost)),
                (f"SRS {constant:.0f} is {100 * (refitted - 1):.1f} % slower than the best sizes", a_tenth(refitted))]
        for list_, (text, decided) in zip(claims.values(), told):
            list_.append((f"{kernel}: {text}", decided))
    why = ["the preferred SRS is the geometric mean of the sizes within 1 % of the fastest; noise can decide about a "
           "share of 40 to 60 %"] + 2 * [f"{WITHIN_A_TENTH}. {chance}"]
    for (text, ((finding, decided), *others)), reason in zip(claims.items(), why):
        report.claim("section 4.2", text, finding, decided, reason,
                     "; ".join(f"{own}: {other}" for other, own in others) or "-")


def _row_of_sweep(r):
    best = r["best_us"]
    return [r["fit"], r["matrix"], r["type"], r["density"], r["best_srs"], r["best_ssrs"], best,
            f"{r['fitted_srs']}, {r['fitted_ssrs']}", r["fitted_us"] / best, r["default_us"] / best]


def show_gpu(report, results):
    """Adds the sweep: the best pair of each matrix compared with the fitted formulas and the library's formula."""
    found = results.where(kind="sizes")
    rows = [_row_of_sweep(r) for r in found]
    if not rows:
        return
    columns = ["fit", "matrix", "type", "density", "best SRS", "best SSRS", "time with them, us", "fitted SRS, SSRS",
               "time with fitted / best sizes", "time with this library's / best sizes"]
    report.heading("Sizes of groups on the GPU")
    report.table("sizes-gpu", "CSR-3: all pairs of sizes, and constant-time tuning", columns, rows,
                 "Column fit: regression is that of the document, with a slope reduced by a rule; search is the "
                 "formula with the least loss. All times are of one more run, after the sweep.",
                 jobs="sizes on the gpu")
    voting = [r for r in found if r.get("bytes", 0) > L2]
    matrices = {r["matrix"]: r["twin"] for r in voting}
    about = (f"{len(matrices)} matrices of over 50 MB, the size of the L2 cache, {sum(matrices.values())} of them twins"
             if len(matrices) >= suite.FEW else
             f"fewer than {suite.FEW} matrices do not fit into the GPU's L2 cache of 50 MB")
    few, rows = len(matrices) < suite.FEW, [_row_of_sweep(r) for r in voting if len(matrices) >= suite.FEW] or rows
    regression = [row[8] for row in rows if row[0] == "regression"]
    if regression:
        lost = geometric_mean(regression)
        report.claim("section 4.1", "a logarithmic regression gives sizes in constant time",
                     f"its sizes are {100 * (lost - 1):.1f} % slower than the best pair of each matrix",
                     NOT_COMPARABLE, f"the document prints no loss; {about}",
                     "-" if few else f"{a_tenth(lost)}; our rule: {WITHIN_A_TENTH}")
    once = {(row[1], row[2]): row for row in reversed(rows)}.values()  # each fit has a row for all matrices
    inside = [row for row in once if 4 <= row[4] <= 12 and 4 <= row[5] <= 12]
    sizes = [4 <= size <= 12 for row in once for size in (row[4], row[5])]
    report.claim("section 4.2", "most matrices on GPUs prefer SRS and SSRS of 4 to 12",
                 f"the fastest pair is in this range in {len(inside)} of {len(once)} cases, the single size in "
                 f"{sum(sizes)} of {len(sizes)}",
                 NOT_COMPARABLE if few else verdict(2 * len(inside) > len(once)), about)


def show_readings(report, rates, what):
    """Compares two readings of the document's formula. They differ only in case 2: 8 < mean row length <= 16."""
    rows = []
    for system in ("volta", "ampere"):
        one, other = f"csr3:tuning={system}", f"csr3:tuning={system}-ssrs"
        ratios = {m: q for m, q in rates.ratios(one, other, "as given").items()
                  if 8 < rates.matrices[m]["nnz"] / rates.matrices[m]["rows"] <= 16}
        if ratios:
            found = ratios.values()
            rows.append([system, len(found), geometric_mean(found), min(found), max(found)])
    if rows:
        report.table(f"readings-{rates.kind}", f"Two readings of \"SRSS\" in case 2, {what}", [
            "formula", "matrices of case 2", "rate read as SRS / rate read as SSRS", "least", "most"], rows,
            "Above 1, the reading as SRS is faster. Equal groups, as given.")


def show_longest(report, rates, what):
    """Adds the document's future work: the case is chosen by the longest row instead of the mean row."""
    ratios = rates.ratios("csr3:by=longest", "csr3", "as given")
    if not ratios:
        return
    rows = [[title, len(those), geometric_mean(ratios[m] for m in those), min(ratios[m] for m in those),
             max(ratios[m] for m in those)] for title, those in suite.classes(list(ratios)) if those]
    report.table(f"longest-{rates.kind}", f"Selection by the longest row, {what}",
                 ["class", "matrices", "rate by the longest row / rate by the mean row", "least", "most"], rows,
                 "Rate of csr3:by=longest / rate of csr3, as given. Above 1, csr3:by=longest is faster.")
    worst = sorted((m for m in ratios if not suite.is_regular(m)), key=lambda m: rates.of("csr3", m, "as given"))[:5]
    if worst:
        gain = geometric_mean(ratios[m] for m in worst)
        named = [ratios[m] for m in printed.WORST_ON_GPU if m in ratios]
        beside = f", {geometric_mean(named):.2f} times on {' '.join(printed.WORST_ON_GPU)}" if named else ""
        report.claim("section 7", "selecting by the longest row may help the most irregular matrices (future work)",
                     f"{what}: -", VARIANT,
                     "the document prints no such kernel; csr3 has this library's sizes; decided if the factor on these "
                     f"matrices exceeds the margin, {rates.margin:.2f}",
                     f"{by_margin([gain], rates.margin)}: {gain:.2f} times as fast on the {len(worst)} matrices on which "
                     f"csr3 is slowest ({' '.join(worst)}), {geometric_mean(ratios.values()):.2f} times on all{beside}")


def inner_ratios(results):
    """Returns {family and type: [(entries per row, time of one thread per row / time of more threads)]}."""
    times = {(r["matrix"], r["type"], r["kernel"]): r["time_us"] for r in results.timed(job="inner products")}
    found = {}
    for matrix, kind in sorted({(matrix, kind) for matrix, kind, _ in times}):
        family, length = matrix.split()
        one, several = (times.get((matrix, kind, kernel)) for kernel in measure.INNER)
        if one and several:
            found.setdefault(f"{family}, {kind}", []).append((int(length), one / several))
    return {name: sorted(points) for name, points in found.items()}


def draw_inner(axes, found):
    figures.lines(axes, found, "entries per row", "time of GPUSpMV-3 / GPUSpMV-3.5", logs="xy")
    axes.axvline(8, color="black", linestyle=":")
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_title("Section 3: above 1, more threads per row are faster; dotted: the document's 8 entries", fontsize=8)


def show_inner(report, results):
    """Adds section 3: the row length from which threads should share a row."""
    found = inner_ratios(results)
    if not found:
        return
    report.heading("A parallel inner product on the GPU")
    lengths = sorted({length for points in found.values() for length, _ in points})
    report.table("inner", "Time of GPUSpMV-3 / time of GPUSpMV-3.5", ["entries per row"] + list(found),
                 [[length] + [dict(points).get(length) for points in found.values()] for length in lengths],
                 "Above 1, the parallel inner product (3.5) is faster. All rows have equal length. Group sizes follow "
                 "this library's formula. 3.5 runs with the thread block of section 4.1 for this length, else 4 x 8 x "
                 "12.",
                 jobs="inner products")
    report.figure("inner", "Time with one thread per row / time with more threads per row",
                  lambda axes: draw_inner(axes, found), jobs="inner products")
    margin = results.margin(device="cuda")
    for name, points in found.items():
        gains = [ratio if length >= 8 else 1 / ratio for length, ratio in points]
        first = next((length for length, ratio in points if ratio > margin), None)
        report.claim("section 3", "a parallel inner product pays from 8 entries per row on",
                     f"{name}: first faster at {first} entries per row" if first else f"{name}: never faster",
                     REFUTED if min(gains) < 1 / margin else CONFIRMED if min(gains) > margin else NOT_COMPARABLE,
                     "confirmed if faster on all rows from 8 entries on and slower on all shorter rows, by more than "
                     f"the margin, {margin:.2f}; refuted if the opposite holds for a length")
