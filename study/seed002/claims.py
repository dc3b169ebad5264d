"""What the document says, and what was found. Ratios are of one job, and so of one machine."""
from common.report import NOT_COMPARABLE, verdict
from seed002 import measure
from seed002.points import TYPES, stage, whole, without_sort

HIGH, MEDIUM, LOW = 1e-3, 1e-4, 1e-5
MATLAB = "Octave stands for Matlab, and double for its float"


def told(ratios):
    """'256: 1.2, 512: 3.4' of some of them."""
    step = max(1, len(ratios) // 6)
    shown = sorted(set(ratios[::step]) | set(ratios[-1:]))
    return ", ".join(f"{size}: {ratio:.3g}" for size, ratio in shown) or "nothing was measured"


def larger(ratios):
    return ratios[len(ratios) // 2:]


class Claims:
    def __init__(self, report, points):
        self.report, self.points = report, points

    def compare(self, item, text, density, below, above, holds, why, sizes=None):
        """How many times as fast the seed's kernels are as another, in both types; holds(ratios) of float decides."""
        found = {}
        for kind, name in TYPES:
            ratios = self.points.ratios(density, kind, (above, without_sort), (below, without_sort))
            found[name] = [(size, ratio) for size, ratio in ratios if not sizes or size in sizes]
        if not found["float"]:
            self.report.claim(item, text, f"{above} or {below} did not run here", NOT_COMPARABLE,
                              "no time of both on one machine")
            return
        texts = [f"{name}, times as fast, by rows: {told(of)}" for name, of in found.items()]
        self.report.claim(item, text, "; ".join(texts), verdict(holds(found["float"])), why)


def _conversion(report, loads):
    for item, density in (("figure 1", HIGH), ("figure 7", MEDIUM)):
        more = []
        for size in loads.sizes(density):
            record = loads.at(density, size, "f32", "dot")
            if record and stage(record, "read") and stage(record, "convert"):
                more.append((size, 100 * stage(record, "convert") / stage(record, "read")))
        text = f"converting formats takes a significant time beside loading ({density:.0e})"
        if not more:
            report.claim(item, text, "nothing was loaded here", NOT_COMPARABLE, "no time")
            continue
        many = sum(share >= 10 for _, share in more) >= 0.75 * len(more)
        report.claim(item, text, f"per cent more than loading, by rows: {told(more)}", verdict(many),
                     "10 % more at three quarters of the sizes count as significant; on the host")


def _counts(report, points):
    def count(record):
        return stage(record, "count")
    for item, density in (("figure 2", MEDIUM), ("figure 8", HIGH)):
        ratios = points.ratios(density, "f32", ("older", count), ("printed", count))
        text = f"GetNNZ is a large improvement over the older method's count ({density:.0e})"
        if not ratios:
            report.claim(item, text, "not measured here", NOT_COMPARABLE, "no time of both on one machine")
            continue
        report.claim(item, text, f"times as fast, by rows: {told(ratios)}",
                     verdict(all(r > 2 for _, r in larger(ratios))),
                     "over twice as fast at the larger half of the sizes counts as large; the older method is a "
                     "reading of what the document says of it")


def _products(c):
    c.compare("figure 3", "small matrices: relatively quick beside Matlab", HIGH, "printed", "octave",
              lambda r: all(ratio > 1 for _, ratio in r), f"ahead at every size up to 2048 rows; {MATLAB}",
              [2 ** k for k in range(8, 12)])
    c.compare("figures 4, 9", "1e-3: quicker than Matlab in all cases", HIGH, "printed", "octave",
              lambda r: all(ratio > 1 for _, ratio in r), f"ahead at every size; {MATLAB}")
    c.compare("figures 4, 9", "1e-3: quicker than SMMP for larger matrices", HIGH, "printed", "smmp",
              lambda r: all(ratio > 1 for _, ratio in larger(r)), "ahead at the larger half of the sizes")
    c.compare("figure 5", "1e-4: behind Matlab from the middle of the tests on", MEDIUM, "printed", "octave",
              lambda r: r[0][1] > 1 and all(ratio < 1 for _, ratio in larger(r)),
              f"ahead at the smallest size, behind at the larger half; {MATLAB}")
    c.compare("figure 6", "1e-5: very poor on the larger matrices, beside Matlab", LOW, "printed", "octave",
              lambda r: all(ratio < 0.5 for _, ratio in larger(r)),
              f"over twice Matlab's time at the larger half; {MATLAB}")
    c.compare("figure 6", "1e-5: very poor on the larger matrices, beside SMMP", LOW, "printed", "smmp",
              lambda r: all(ratio < 0.8 for _, ratio in larger(r)), "behind by over a fifth at the larger half")
    c.compare("section 6", "for large and sparse matrices resetting the touched entries alone is more efficient", LOW,
              "reset", "printed", lambda r: all(ratio > 1.1 for _, ratio in larger(r)),
              "over 1.1 times as fast as printed at the larger half")
    for other, name in (("octave", "Matlab"), ("smmp", "SMMP")):
        c.compare("section 6", f"with the improvements more competitive with {name} for larger matrices (1e-5)", LOW,
                  "together", other, lambda r: larger(r)[-1][1] > 1,
                  "ahead at the largest size" + (f"; {MATLAB}" if other == "octave" else ""))


def _baseline(report, points):
    for density in (HIGH, MEDIUM):
        ratios = points.ratios(density, "f32", ("older", whole), ("printed", whole))
        text = f"an improvement over the code that it began with ({density:.0e})"
        if not ratios:
            report.claim("section 6", text, "not measured here", NOT_COMPARABLE, "no time of both on one machine")
            continue
        report.claim("section 6", text, f"whole products, times as fast, by rows: {told(ratios)}",
                     verdict(all(r > 1 for _, r in larger(ratios))),
                     "faster at the larger half of the sizes; the older method is a reading")


def _improvements(report, ways):
    """The best setting of each against the printed kernel, on irregular matrices and on even ones."""
    wanted = (("several rows a block reduce idle threads", ("rows a block", "rows a block, by 8 threads each")),
              ("a better balance of blocks and threads is worth looking for",
               ("threads of GetVals", "threads of GetNNZ", "blocks a multiprocessor")),
              ("rows claimed as blocks get free improve non-uniform matrices", ("rows claimed at a time",)))
    for text, kinds in wanted:
        best = {}
        for matrix, of in ways["f32"].items():
            settings = [s for kind in kinds for s in measure.WAYS[kind] if not s.startswith("rows=1:")]
            gains = [(of.gain(f"{measure.PRINTED}:{setting}"), setting) for setting in settings]
            gains = [gain for gain in gains if gain[0]]
            if gains:
                best[matrix] = max(gains)
        if not best:
            report.claim("section 6", text, "not measured here", NOT_COMPARABLE,
                         "its jobs did not run, or no GPU was there")
            continue
        judged = [m for m in best if m in measure.IRREGULAR] if "non-uniform" in text else list(best)
        report.claim("section 6", text, "best of each, float: " + "; ".join(
            f"{matrix}: {gain:.2f} times by {setting}" for matrix, (gain, setting) in best.items()),
            verdict(bool(judged) and all(best[m][0] > 1.1 for m in judged)),
            "over 1.1 times as fast on " + ("each irregular matrix" if "non-uniform" in text else "each matrix"))
    every = [f"{measure.PRINTED}:{setting}" for settings in measure.WAYS.values() for setting in settings]
    gains = {m: (of.gain(measure.TOGETHER), max(of.gain(kernel) or 0 for kernel in every))
             for m, of in ways["f32"].items()}
    gains = {m: pair for m, pair in gains.items() if pair[0] and pair[1]}
    if gains:
        report.claim("section 6", "all four improvements together are better than any by itself", "; ".join(
            f"{m}: {all_of:.2f} times, best by itself {one:.2f}" for m, (all_of, one) in gains.items()),
            verdict(all(all_of >= one for all_of, one in gains.values())),
            "on each matrix, float; our reading of the outlook")


def add(report, points, loads, ways):
    """All claims; ways: {type: {matrix: show.Ways}}."""
    _conversion(report, loads)
    _counts(report, points)
    _products(Claims(report, points))
    _baseline(report, points)
    _improvements(report, ways)
