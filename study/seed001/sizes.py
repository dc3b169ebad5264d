"""Group sizes: sweeps on CPU and GPU, constants, formulas, two readings of the formula, cases by the longest row."""
import re
import statistics

from common import figures
from common.numbers import geometric_mean
from common.report import NOT_COMPARABLE, verdict
from seed001 import measure, printed, suite

WITHIN_A_TENTH = "holds: within a tenth of each matrix's best, geometric mean"
WITHIN = 1.01  # sizes within this factor of the fastest time count as best


def _sizes(kernel):
    """Returns (srs, ssrs or 0) from a kernel's name; None if it has no sizes."""
    found = re.search(r":srs=(\d+)(?::ssrs=(\d+))?$", kernel)
    return (int(found[1]), int(found[2] or 0)) if found else None


def _sweeps(results, k):
    """Returns {listing: {matrix: {sizes: microseconds}}} for k, and {matrix: csr's microseconds}."""
    found, csr = {}, {}
    for r in results.timed():
        if not r["job"].startswith("sizes of "):
            continue
        at = _sizes(r["kernel"])
        if at and r["kernel"].startswith(f"csr{k}_"):
            found.setdefault(r["kernel"].partition(":")[0], {}).setdefault(r["matrix"], {})[at] = r["mean_us"]
        elif r["format"] == "csr":
            csr[r["matrix"]] = r["mean_us"]
    return found, csr


def _best(times, part):
    """Returns the geometric mean of the sizes whose times are within 1 % of the fastest time."""
    least = min(times.values())
    return geometric_mean(at[part] for at, us in times.items() if us <= WITHIN * least)


def _nearest(times, size):
    """Returns the size of the sweep whose ratio to `size` is nearest to 1."""
    return min(times, key=lambda at: max(at[0] / size, size / at[0]))


def _repeats(results):
    """Returns longer time / shorter time for each case that both jobs, `sizes of` and `cpu`, measured."""
    times = {}
    for r in results.timed(type="f64", ordering="none"):
        if r["job"].startswith(("sizes of ", "cpu,")) and _sizes(r["kernel"]):
            times.setdefault((r["matrix"], r["kernel"]), {})[r["job"].split()[0]] = r["mean_us"]
    return sorted(max(pair.values()) / min(pair.values()) for pair in times.values() if len(pair) == 2)


def show_cpu(report, results):
    found, csr = _sweeps(results, 2)
    if not found:
        return
    report.heading("Sizes of groups on the CPU")
    again = _repeats(results)
    if again:
        report.text(f"Noise: of {len(again)} pairs of a kernel, size and matrix that two jobs measured, one time is "
                    f"{statistics.median(again):.2f} times the other in the median and {again[-1]:.2f} times at most. "
                    "Curves jump by as much.")
    for kernel, sweeps in found.items():
        _show_sweep(report, kernel, sweeps, csr)
    _show_pairs(report, results)


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
    report.table("mesh", "Listing 1 at its best SRS beside balanced csr", [
        "matrix", "csr, us", "best as printed", "over csr", "best of all", "over csr"], rows, "f64, as given.",
        "cpu", "mesh ")
    over = geometric_mean(row[5] for row in rows)
    report.claim("not the document's", "listing 1 at its best SRS is within 1.1 of balanced csr on mesh",
                 f"{over:.2f} times csr's time, {max(row[5] for row in rows):.2f} at most; as printed "
                 f"{geometric_mean(row[3] for row in rows):.2f}", verdict(over <= 1.1),
                 f"geometric mean over {len(rows)} matrices, all threads of {report.measured_on('cpu', 'mesh ')}")


def _row_of(matrix, times, constant, csr):
    least = min(times.values())
    return [matrix, "regular" if suite.is_regular(matrix) else "irregular", _best(times, 0), least,
            times[_nearest(times, printed.SRS)] / least, times[_nearest(times, constant)] / least,
            max(times.values()) / least, csr[matrix] / least if matrix in csr else None]


def _one_for_all(sweeps):
    """Returns the size with the smallest mean loss relative to each matrix's best size, and the loss."""
    shared = set.intersection(*(set(times) for times in sweeps.values()))
    lost = {at[0]: geometric_mean(times[at] / min(times.values()) for times in sweeps.values()) for at in shared}
    return min(lost.items(), key=lambda item: item[1])


def _curves(sweeps):
    return {matrix: [(at[0], us / min(times.values())) for at, us in times.items()]
            for matrix, times in list(sweeps.items())[:8]}


def _show_sweep(report, kernel, sweeps, csr):
    constant = geometric_mean(_best(times, 0) for times in sweeps.values())
    rows = [_row_of(matrix, times, constant, csr) for matrix, times in sweeps.items()]
    lost, refitted = geometric_mean(row[4] for row in rows), geometric_mean(row[5] for row in rows)
    one, one_lost = _one_for_all(sweeps)
    columns = ["matrix", "class", "best SRS", "time at it, us", f"time at SRS {printed.SRS}", f"at {constant:.0f}",
               "at the worst", "balanced csr's time"]
    report.table(f"sizes-{kernel}", f"CSR-2 by `{kernel}`: the best SRS", columns, rows,
                 "Times but the first are multiples of the best size's. f64, as given. Geometric mean of the best SRS: "
                 f"{constant:.0f} (document: {printed.SRS}). SRS {printed.SRS} loses {100 * (lost - 1):.1f} % against "
                 f"each matrix's best, {constant:.0f} {100 * (refitted - 1):.1f} %, and {one}, which loses least, "
                 f"{100 * (one_lost - 1):.1f} %, over {len(rows)} matrices. The best of 18 times is low by chance too, "
                 "so that a part of each loss is noise.", "cpu", "sizes of ")
    report.figure(f"sizes-{kernel}", f"CSR-2 by {kernel}: time against SRS",
                  lambda axes: figures.lines(axes, _curves(sweeps), "rows a super-row", "time over the best size's",
                                             logs="x"), size=(7, 4), on="cpu", jobs="sizes of ")
    least, most = printed.PREFERRED
    inside = sum(least <= row[2] <= most for row in rows)
    near_half = abs(2 * inside - len(rows)) <= 0.2 * len(rows)
    report.claim("section 4.2", f"most matrices prefer an SRS of {least} to {most} on CPUs",
                 f"{kernel}: {inside} of {len(rows)}",
                 NOT_COMPARABLE if near_half else verdict(2 * inside > len(rows)),
                 "sizes within 1 % of the fastest, geometric mean; 40 to 60 % are about half, which noise can tip")
    report.claim("section 4.2", f"SRS = {printed.SRS} for all is often good enough",
                 f"{kernel}: loses {100 * (lost - 1):.1f} %; {one}, which loses least, {100 * (one_lost - 1):.1f} %",
                 verdict(lost <= 1.1), WITHIN_A_TENTH + ", which is noise in part")
    report.claim("section 4.2", "the geometric mean of the best sizes yields decent performance",
                 f"{kernel}: {constant:.0f} loses {100 * (refitted - 1):.1f} %", verdict(refitted <= 1.1),
                 WITHIN_A_TENTH + ", which is noise in part")


def _show_pairs(report, results):
    for kernel, sweeps in _sweeps(results, 3)[0].items():
        rows = []
        for matrix, times in sweeps.items():
            least, most = min(times.values()), max(times.values())
            rows.append([matrix, _best(times, 0), _best(times, 1), least, most / least])
        report.table(f"sizes-{kernel}", f"CSR-3 by `{kernel}`: the best SRS and SSRS",
                     ["matrix", "best SRS", "best SSRS", "time at it, us", "time at the worst"], rows,
                     f"Geometric means: SRS {geometric_mean(row[1] for row in rows):.0f}, SSRS "
                     f"{geometric_mean(row[2] for row in rows):.1f}.", "cpu", "sizes of ")


def _row_of_sweep(r):
    best = r["best_us"]
    return [r["fit"], r["matrix"], r["type"], r["density"], r["best_srs"], r["best_ssrs"], best,
            f"{r['fitted_srs']}, {r['fitted_ssrs']}", r["fitted_us"] / best, r["default_us"] / best]


def show_gpu(report, results):
    """Adds the sweep: the best pair of each matrix compared with the fitted formulas and the library's formula."""
    rows = [_row_of_sweep(r) for r in results.where(kind="sizes")]
    if not rows:
        return
    columns = ["fit", "matrix", "type", "density", "best SRS", "best SSRS", "time at it, us", "fitted SRS, SSRS",
               "fitted over best", "this library's formula over best"]
    report.heading("Sizes of groups on the GPU")
    report.table("sizes-gpu", "CSR-3: all pairs of sizes, and constant-time tuning", columns, rows,
                 "Ten generated matrices of up to four million entries, which about fit the cache. fit: regression as "
                 "the document makes it, its steepness lowered by rule; search: the formula that loses least.",
                 jobs="sizes on the gpu")
    regression = [row[8] for row in rows if row[0] == "regression"]
    if regression:
        lost = geometric_mean(regression)
        report.claim("section 4.1", "a logarithmic regression gives sizes in constant time",
                     f"loses {100 * (lost - 1):.1f} % against the best pair of each matrix",
                     verdict(lost <= 1.1), WITHIN_A_TENTH)
    once = {(row[1], row[2]): row for row in reversed(rows)}.values()  # each fit has a row for all matrices
    inside = [row for row in once if 4 <= row[4] <= 12 and 4 <= row[5] <= 12]
    report.claim("section 4.2", "most matrices on GPUs prefer SRS and SSRS of 4 to 12", f"{len(inside)} of {len(once)}",
                 verdict(2 * len(inside) > len(once)), "the fastest pair of each of ten generated matrices, up to four "
                 "million entries, in both types; they are not table 1's")


def show_readings(report, rates, what):
    """Compares two readings of the document's formula. They differ only in case 2, mean rows over 8 and up to 16."""
    rows = []
    for system in ("volta", "ampere"):
        one, other = f"csr3:tuning={system}", f"csr3:tuning={system}-ssrs"
        ratios = {m: q for m, q in rates.ratios(one, other, "as given").items()
                  if 8 < rates.matrices[m]["nnz"] / rates.matrices[m]["rows"] <= 16}
        if ratios:
            found = ratios.values()
            rows.append([system, len(found), geometric_mean(found), min(found), max(found)])
    if rows:
        report.table(f"readings-{rates.kind}", f"\"SRSS\" in case 2, {what}: read as SRS over read as SSRS", [
            "formula", "matrices of case 2", "rate over rate", "least", "most"], rows,
            "Above 1 the reading as SRS is the faster; equal groups, as given.")


def show_longest(report, rates, what):
    """Adds the document's future work: the case is chosen by the longest row instead of the mean row."""
    ratios = rates.ratios("csr3:by=longest", "csr3", "as given")
    if not ratios:
        return
    rows = [[title, len(those), geometric_mean(ratios[m] for m in those), min(ratios[m] for m in those),
             max(ratios[m] for m in those)] for title, those in suite.classes(list(ratios)) if those]
    report.table(f"longest-{rates.kind}", f"Selection by the longest row, {what}",
                 ["class", "matrices", "rate over that by the mean", "least", "most"], rows,
                 "csr3:by=longest over csr3, as given.")
    worst = sorted((m for m in ratios if not suite.is_regular(m)), key=lambda m: rates.of("csr3", m, "as given"))[:5]
    if worst:
        gain = geometric_mean(ratios[m] for m in worst)
        named = [ratios[m] for m in printed.WORST_ON_GPU if m in ratios]
        beside = f", {geometric_mean(named):.2f} on {' '.join(printed.WORST_ON_GPU)}" if named else ""
        report.claim("section 7", "selecting by the longest row may help the most irregular matrices (future work)",
                     f"{what}: {gain:.2f} times as fast on the {len(worst)} that csr3 is slowest on "
                     f"({' '.join(worst)}), {geometric_mean(ratios.values()):.2f} on all{beside}", verdict(gain > 1.05),
                     "confirmed: by over 5 %")


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


def show_inner(report, results):
    """Adds section 3: the row length from which threads should share a row."""
    found = inner_ratios(results)
    if not found:
        return
    report.heading("A parallel inner product on the GPU")
    lengths = sorted({length for points in found.values() for length, _ in points})
    report.table("inner", "GPUSpMV-3's time over GPUSpMV-3.5's", ["entries a row"] + list(found),
                 [[length] + [dict(points).get(length) for points in found.values()] for length in lengths],
                 "Above 1 the parallel inner product (3.5) is the faster. Rows of equal length; sizes of groups by "
                 "this library's formula. 3.5 has the block that section 4.1 gives the length, or else 4 x 8 x 12.",
                 jobs="inner products")
    report.figure("inner", "One thread a row over several threads a row, time",
                  lambda axes: figures.lines(axes, found, "entries a row", "GPUSpMV-3 over GPUSpMV-3.5", logs="xy"),
                  jobs="inner products")
    for name, points in found.items():
        over = [ratio > 1 for length, ratio in points if length > 8]
        under = [ratio < 1 for length, ratio in points if length < 8]
        first = next((length for length, ratio in points if ratio > 1), None)
        report.claim("section 3", "a parallel inner product pays from 8 entries a row on",
                     f"{name}: first ahead at {first} entries a row" if first else f"{name}: never ahead",
                     verdict(all(over) and all(under)), "holds: ahead at all longer rows, behind at all shorter ones")
