"""Claims of the document and their verdicts. Each ratio is from one job, and so from one machine."""
from common.report import NOT_COMPARABLE, verdict
from seed002 import measure
from seed002.points import NAMES, TYPES, stage, whole, without_sort

HIGH, MEDIUM, LOW = 1e-3, 1e-4, 1e-5
MATLAB = "Octave, which has only double, replaces Matlab"


def told(ratios):
    """Formats some of the ratios: '256: 1.2, 512: 3.4'."""
    step = max(1, len(ratios) // 6)
    shown = sorted(set(ratios[::step]) | set(ratios[-1:]))
    return ", ".join(f"{size}: {ratio:.3g}" for size, ratio in shown) or "nothing was measured"


def larger(ratios):
    return ratios[len(ratios) // 2:]


class Claims:
    def __init__(self, report, points):
        self.report, self.points = report, points

    def compare(self, item, text, density, below, above, holds, why, sizes=None):
        """Adds a claim on the time of method `above` divided by the time of method `below`, in both types. The claim
        is confirmed if holds(ratios in float) is true."""
        found = {}
        for kind, name in TYPES:
            ratios = self.points.ratios(density, kind, (above, without_sort), (below, without_sort))
            found[name] = [(size, ratio) for size, ratio in ratios if not sizes or size in sizes]
        if not found["float"]:
            self.report.claim(item, text, f"{above} or {below} did not run here", NOT_COMPARABLE,
                              "the two were not timed on one machine")
            return
        what = f"time of {NAMES[above]} / time of {NAMES[below]}"
        texts = [f"{what}, {name}, by number of rows: {told(of)}" for name, of in found.items()]
        self.report.claim(item, text, "; ".join(texts), verdict(holds(found["float"])), why)


def _more_than_loading(loads, density, name):
    """Returns [(size, per cent)]: time of conversion as a percentage of the time of reading, on the host (dot) or the
    GPU (older)."""
    more = []
    for size in loads.sizes(density):
        reads, converts = loads.at(density, size, "f32", "dot"), loads.at(density, size, "f32", name)
        if reads and converts and stage(reads, "read") and stage(converts, "convert"):
            more.append((size, 100 * stage(converts, "convert") / stage(reads, "read")))
    return more


def _conversion(report, loads):
    for item, density in (("figure 1", HIGH), ("figure 7", MEDIUM)):
        more, there = (_more_than_loading(loads, density, name) for name in ("dot", "older"))
        text = f"converting formats takes a significant time compared with loading ({density:.0e})"
        if not more:
            report.claim(item, text, "not measured here", NOT_COMPARABLE, "loading was not timed")
            continue
        many = sum(share >= 10 for _, share in more) >= 0.75 * len(more)
        on_gpu = f"; on the GPU: {told(there)}" if there else ""
        report.claim(item, text, "conversion in per cent of loading, by number of rows: "
                                 f"{told(more)}{on_gpu}", verdict(many),
                     "significant: at least 10 % at three quarters of the sizes; judged on the host")


def _counts(report, points):
    def count(record):
        return stage(record, "count")
    for item, density in (("figure 2", MEDIUM), ("figure 8", HIGH)):
        ratios = points.ratios(density, "f32", ("older", count), ("printed", count))
        text = f"GetNNZ is a large improvement over the older method's count ({density:.0e})"
        if not ratios:
            report.claim(item, text, "not measured here", NOT_COMPARABLE, "the two were not timed on one machine")
            continue
        report.claim(item, text, "time of the older method's count / time of GetNNZ, by number of rows: "
                                 f"{told(ratios)}",
                     verdict(all(r > 2 for _, r in larger(ratios))),
                     "large: over twice as fast at the larger half of the sizes; the older method is this study's "
                     "reading of its description")


def _products(c):
    c.compare("figure 3", "small matrices: relatively quick compared with Matlab", HIGH, "printed", "octave",
              lambda r: all(ratio > 1 for _, ratio in r),
              f"confirmed if faster at every size up to 2048 rows; {MATLAB}",
              [2 ** k for k in range(8, 12)])
    c.compare("figures 4, 9", "1e-3: quicker than Matlab in all cases", HIGH, "printed", "octave",
              lambda r: all(ratio > 1 for _, ratio in r), f"confirmed if faster at every size; {MATLAB}")
    c.compare("figures 4, 9", "1e-3: quicker than SMMP for larger matrices", HIGH, "printed", "smmp",
              lambda r: all(ratio > 1 for _, ratio in larger(r)), "confirmed if faster at the larger half of the sizes")
    c.compare("figure 5", "1e-4: slower than Matlab from the middle of the tests on", MEDIUM, "printed", "octave",
              lambda r: r[0][1] > 1 and all(ratio < 1 for _, ratio in larger(r)),
              f"confirmed if faster at the smallest size, and slower at the larger half of the sizes; {MATLAB}")
    c.compare("figure 6", "1e-5: very poor on the larger matrices, compared with Matlab", LOW, "printed", "octave",
              lambda r: all(ratio < 0.5 for _, ratio in larger(r)),
              f"confirmed if it takes over twice Matlab's time at the larger half of the sizes; {MATLAB}")
    c.compare("figure 6", "1e-5: very poor on the larger matrices, compared with SMMP", LOW, "printed", "smmp",
              lambda r: all(ratio < 0.5 for _, ratio in larger(r)),
              "confirmed if it takes over twice SMMP's time at the larger half of the sizes")
    c.compare("section 6", "for large and sparse matrices, resetting only the touched entries is more efficient", LOW,
              "reset", "printed", lambda r: all(ratio > 1.1 for _, ratio in larger(r)),
              "confirmed if over 1.1 times as fast as printed at the larger half of the sizes")
    for other, name in (("octave", "Matlab"), ("smmp", "SMMP")):
        c.compare("section 6", f"with the improvements more competitive with {name} for larger matrices (1e-5)", LOW,
                  "together", other, lambda r: larger(r)[-1][1] > 1,
                  "confirmed if faster at the largest size" + (f"; {MATLAB}" if other == "octave" else ""))


def _baseline(report, points):
    for density in (HIGH, MEDIUM):
        ratios = points.ratios(density, "f32", ("older", whole), ("printed", whole))
        text = f"an improvement over the original code ({density:.0e})"
        if not ratios:
            report.claim("section 6", text, "not measured here", NOT_COMPARABLE,
                         "the two were not timed on one machine")
            continue
        report.claim("section 6", text, "whole products: time of the older method / time of the seed's kernels, by "
                                        f"number of rows: {told(ratios)}",
                     verdict(all(r > 1 for _, r in larger(ratios))),
                     "confirmed if faster at the larger half of the sizes; the older method is this study's reading")


ROWS_A_BLOCK = ("rows per block", "rows per block, 8 threads per row")
BALANCE = ("threads of GetVals", "threads of GetNNZ", "blocks per multiprocessor")


def _best_settings(ways, kinds):
    """Returns {matrix: (speed-up over the printed kernel, setting)} in float for the best setting of these kinds."""
    best = {}
    for matrix, of in ways["f32"].items():
        settings = [s for kind in kinds for s in measure.WAYS[kind] if not s.startswith("rows=1:")]
        gains = [(of.gain(f"{measure.PRINTED}:{setting}"), setting) for setting in settings]
        gains = [gain for gain in gains if gain[0]]
        if gains:
            best[matrix] = max(gains)
    return best


def _judge(report, text, best, judged, holds, why):
    """Adds a claim, confirmed if holds(gains of the matrices in `judged`) is true."""
    gains = [best[m][0] for m in best if m in judged]
    if not gains:
        report.claim("section 6", text, "not measured here", NOT_COMPARABLE,
                     "its jobs did not run, or there is no GPU")
        return
    report.claim("section 6", text, "float: time as printed / time with the best setting: " + "; ".join(
        f"{matrix}: {gain:.2f} ({setting})" for matrix, (gain, setting) in best.items()), verdict(holds(gains)),
        why)


def _improvements(report, ways):
    """Adds claims on the best setting of each improvement, judged on matrices for which the document expects a gain."""
    rows, balance = _best_settings(ways, ROWS_A_BLOCK), _best_settings(ways, BALANCE)
    claimed = _best_settings(ways, ("rows claimed at a time",))
    _judge(report, "very sparse matrices: more than one row per block reduces idle threads", rows, measure.SPARSE,
           lambda gains: min(gains) > 1.1, "confirmed if over 1.1 times as fast on " + " ".join(measure.SPARSE))
    _judge(report, "tests may find a better balance of blocks and threads", balance, balance,
           lambda gains: 2 * sum(gain > 1.1 for gain in gains) > len(gains),
           "confirmed if over 1.1 times as fast on most matrices")
    _judge(report, "rows claimed when blocks become free improve non-uniform matrices", claimed, measure.IRREGULAR,
           lambda gains: min(gains) > 1.1, "confirmed if over 1.1 times as fast on each irregular matrix")
    every = [f"{measure.PRINTED}:{setting}" for settings in measure.WAYS.values() for setting in settings]
    gains = {m: (of.gain(measure.TOGETHER), max(of.gain(kernel) or 0 for kernel in every))
             for m, of in ways["f32"].items()}
    gains = {m: pair for m, pair in gains.items() if pair[0] and pair[1]}
    if gains:
        text = "; ".join(f"{m}: {all_of:.2f} and {one:.2f}" for m, (all_of, one) in gains.items())
        text = "float: speed-up over printed by all together, and by the best single improvement: " + text
        for kind, those in (("large and sparse", measure.SPARSE),
                            ("other", {**measure.EVEN, **measure.IRREGULAR, **measure.QUICK_WAYS})):
            judged = [pair for m, pair in gains.items() if m in those]
            if judged:
                report.claim("section 6", f"all four improvements together are faster than each one alone on {kind} "
                                          "matrices",
                             text, verdict(all(all_of >= one for all_of, one in judged)),
                             f"confirmed if so on each of {' '.join(m for m in gains if m in those)}; this is our "
                             "reading of the outlook")


def add(report, points, loads, ways):
    """Adds all claims. ways: {type: {matrix: show.Ways}}."""
    _conversion(report, loads)
    _counts(report, points)
    _products(Claims(report, points))
    _baseline(report, points)
    _improvements(report, ways)
