"""Claims of the document and their verdicts. Each ratio is from one job, and so from one machine."""
import statistics

from common import numbers
from common.report import CONFIRMED, NOT_COMPARABLE, REFUTED, VARIANT, both, verdict
from seed002 import measure
from seed002.points import NAMES, kernels_only, outliers, stage, whole, without_sort

HIGH, MEDIUM, LOW = 1e-3, 1e-4, 1e-5
MATLAB = "Octave, which has only double, replaces Matlab"
SMMP = "This SMMP links the columns of a row twice, the package once; SciPy's times are in the tables"
NO_CODE = "The document has no code of the older method: this study's reading replaces it"
LARGER = "at the larger half of the sizes"


def told(ratios):
    """Formats some of the ratios, and their means: '256: 1.2, 512: 3.4 (means 2.3, 2.02; median 2.3)'."""
    if not ratios:
        return "not measured"
    step = max(1, len(ratios) // 6)
    shown = sorted(set(ratios[::step]) | set(ratios[-1:]))
    every = [ratio for _, ratio in ratios]
    return ", ".join(f"{size}: {ratio:.3g}" for size, ratio in shown) + \
        f" (arithmetic mean {numbers.mean(every):.3g}, geometric {numbers.geometric_mean(every):.3g}, " \
        f"median {statistics.median(every):.3g})"


def larger(ratios):
    return ratios[len(ratios) // 2:]


def beyond(ratios, bound, margin):
    """Returns CONFIRMED if every ratio exceeds the bound by the margin, REFUTED if one is below it by the margin or
    none was measured, else NOT_COMPARABLE."""
    if ratios and all(ratio > bound * margin for _, ratio in ratios):
        return CONFIRMED
    return REFUTED if not ratios or any(ratio < bound / margin for _, ratio in ratios) else NOT_COMPARABLE


def slower(ratios):
    """Returns the inverse ratios, for claims that the document's method is slower."""
    return [(size, 1 / ratio) for size, ratio in ratios]


class Claims:
    """Adds claims on products. margin: the ratio of times that counts as a difference."""

    def __init__(self, report, points, margin):
        self.report, self.points, self.margin = report, points, margin
        self.rule = f"A difference is a ratio over {margin:.3g}; products without entries do not vote"

    def ratios(self, density, above, below, value=without_sort):
        """Returns [(size, time of method `above` / time of method `below`)] in float. Spry's product is sorted."""
        own = whole if below == "gpu" else value
        return self.points.ratios(density, "f32", (above, value), (below, own))

    def compare(self, item, text, density, rival, rule, why, least=0, most=1 << 30):
        """Adds a claim on rule([(size, time of the rival / time of the seed's kernels)]), for `least` to `most` rows.
        It is decided only if whole products and the kernels alone give the same verdict."""
        of = {name: [pair for pair in self.ratios(density, rival, name) if least <= pair[0] <= most]
              for name in ("printed", "repaired", "gpu")}
        if not of["printed"]:
            self.missing(item, text)
            return
        alone = [pair for pair in self.points.ratios(density, "f32", (rival, without_sort), ("printed", kernels_only))
                 if least <= pair[0] <= most]
        what, held = f"time of {NAMES[rival]} / time", rule(of["printed"])
        self.report.claim(item, text, f"{what} as printed, by number of rows: {told(of['printed'])}; by the kernels "
                                      f"alone, without allocations ({rule(alone)}): {told(alone)}; with GetVals "
                                      f"repaired: {told(of['repaired'])}",
                          held if rule(alone) == held else NOT_COMPARABLE,
                          f"{why}, by whole products and by the kernels alone. {self.rule}",
                          f"{rule(of['gpu'])}: {what} of {NAMES['gpu']}, sorted: {told(of['gpu'])}")

    def missing(self, item, text):
        self.report.claim(item, text, "not measured", NOT_COMPARABLE, "the two were not timed in one job")

    def variant(self, item, text, held, finding, why):
        """Adds a claim on the older method, whose code the document does not have."""
        self.report.claim(item, text, "the document has no code", VARIANT if held != NOT_COMPARABLE else held,
                          f"{NO_CODE}. {why}", f"{held}: {finding}")


def _more_than_loading(loads, density, name, left_out):
    """Returns [(size, per cent)]: time of conversion as a percentage of the time of reading, on the host (dot) or the
    GPU (older)."""
    more = []
    for size in loads.sizes(density):
        reads, converts = loads.at(density, size, "f32", "dot"), loads.at(density, size, "f32", name)
        if size not in left_out and reads and converts and stage(reads, "read") and stage(converts, "convert"):
            more.append((size, 100 * stage(converts, "convert") / stage(reads, "read")))
    return more


def _conversion(c, loads):
    for item, density in (("figure 1", HIGH), ("figure 7", MEDIUM)):
        left_out = outliers(loads.line(density, "f32", "dot", lambda record: stage(record, "read")), c.margin)
        more, on_gpu = (_more_than_loading(loads, density, name, left_out) for name in ("dot", "older"))
        text = f"converting formats takes a significant time compared with loading ({density:.0e})"
        if not more:
            c.missing(item, text)
            continue
        without = f"; outliers that do not vote: {', '.join(map(str, sorted(left_out)))} rows" if left_out else ""
        held = verdict(sum(share >= 10 for _, share in more) >= 0.75 * len(more))
        c.variant(item, text, held, f"conversion in per cent of loading, by number of rows: {told(more)}; on the GPU: "
                                    f"{told(on_gpu)}",
                  f"Significant: at least 10 % at three quarters of the sizes, on the host{without}")


def _counts(c):
    for item, density in (("figure 2", MEDIUM), ("figure 8", HIGH)):
        ratios = c.ratios(density, "older", "printed", lambda record: stage(record, "count"))
        text = f"GetNNZ is a large improvement over the older method's count ({density:.0e})"
        if not ratios:
            c.missing(item, text)
            continue
        c.variant(item, text, beyond(larger(ratios), 2, c.margin),
                  f"time of the older method's count / time of GetNNZ as printed, by number of rows: {told(ratios)}",
                  f"Large: over twice as fast {LARGER}. {c.rule}")


def _baseline(c):
    for density in (HIGH, MEDIUM):
        ratios, repaired = (c.ratios(density, "older", name, whole) for name in ("printed", "repaired"))
        text = f"an improvement over the original code ({density:.0e})"
        if not ratios:
            c.missing("section 6", text)
            continue
        c.variant("section 6", text, beyond(larger(ratios), 1, c.margin),
                  "whole products: time of the older method / time as printed, by number of rows: "
                  f"{told(ratios)}; with GetVals repaired ({beyond(larger(repaired), 1, c.margin)}): {told(repaired)}",
                  f"Confirmed if faster {LARGER}. {c.rule}")


FIGURE_4 = 512  # rows of the smallest matrix of figure 4


def _products(c):
    m = c.margin

    def everywhere(ratios):
        return beyond(ratios, 1, m)

    def when_large(ratios):
        return beyond(larger(ratios), 1, m)

    def poor(ratios):
        return beyond(slower(larger(ratios)), 2, m)

    c.compare("figure 3", "small matrices: relatively quick compared with Matlab", HIGH, "octave",
              lambda r: beyond(sorted(r, key=lambda pair: pair[1])[(len(r) - 1) // 2:], 1, m),
              f"Confirmed if faster at most of the sizes up to 2048 rows; the document does not state the density. "
              f"{MATLAB}", most=2048)
    c.compare("figure 4", "1e-3: quicker than Matlab in all cases", HIGH, "octave", everywhere,
              f"Confirmed if faster at every size from {FIGURE_4} rows on. {MATLAB}", least=FIGURE_4)
    c.compare("figure 9", "1e-3: quicker than Matlab in all cases", HIGH, "octave", everywhere,
              f"Confirmed if faster at every size. {MATLAB}")
    c.compare("figures 4, 9", "1e-3: quicker than SMMP for larger matrices", HIGH, "smmp", when_large,
              f"Confirmed if faster {LARGER}. {SMMP}")
    c.compare("figure 5", "1e-4: slower than Matlab from the middle of the tests on", MEDIUM, "octave",
              lambda r: both(beyond(r[:1], 1, m), beyond(slower(larger(r)), 1, m)),
              f"Confirmed if faster at the smallest size, and slower {LARGER}. {MATLAB}")
    for rival, name in (("octave", "Matlab"), ("smmp", "SMMP")):
        c.compare("figure 6", f"1e-5: very poor on the larger matrices, compared with {name}", LOW, rival, poor,
                  f"Confirmed if over twice {name}'s time {LARGER}. {MATLAB if rival == 'octave' else SMMP}")


def _densities(c):
    """Adds the claim that the seed's kernels fare worse on less dense matrices, at sizes of all three densities."""
    text = "as the matrices become less dense, the solution fares worse and worse"
    found = {}
    for name in ("printed", "repaired", "gpu"):
        of = [dict(c.ratios(density, "octave", name)) for density in (HIGH, MEDIUM, LOW)]
        found[name] = [(size, [ratios[size] for ratios in of])
                       for size in sorted(set(of[0]) & set(of[1]) & set(of[2]))]
    if not found["printed"]:
        c.missing("section 5", text)
        return

    def rule(rows):
        return beyond([(size, high / low) for size, of in rows for high, low in zip(of, of[1:])], 1, c.margin)

    def listed(rows):
        return "; ".join(f"{size}: {', '.join(f'{ratio:.3g}' for ratio in of)}" for size, of in rows) or "not measured"
    what = "time of Octave / time at 1e-3, 1e-4 and 1e-5, by number of rows"
    c.report.claim("section 5", text, f"{what}: {listed(found['printed'])}; with GetVals repaired "
                                      f"({rule(found['repaired'])}): {listed(found['repaired'])}",
                   rule(found["printed"]), f"Confirmed if each ratio is below the one before. {MATLAB}. {c.rule}",
                   f"{rule(found['gpu'])}: {listed(found['gpu'])}")


def _proposed(c):
    """Adds claims on the improvements by density and size."""
    text = "for large and sparse matrices, resetting only the touched entries is more efficient"
    printed, repaired = (c.ratios(LOW, name, "reset") for name in ("printed", "repaired"))
    if printed and repaired:
        held = [beyond(larger(ratios), 1, c.margin) for ratios in (printed, repaired)]
        c.report.claim("section 6", text, f"time as printed / time so, by number of rows: {told(printed)}; repaired / "
                                          f"so: {told(repaired)}", both(*held),
                       f"Confirmed if faster than both {LARGER}. {c.rule}")
    else:
        c.missing("section 6", text)
    for rival, name in (("octave", "Matlab"), ("smmp", "SMMP")):
        text = f"with the improvements more competitive with {name} for larger matrices (1e-5)"
        ratios, ours = (c.ratios(LOW, rival, method) for method in ("together", "gpu"))
        if not ratios:
            c.missing("section 6", text)
            continue
        c.report.claim("section 6", text, f"time of {NAMES[rival]} / time of {NAMES['together']}, by number of rows: "
                                          f"{told(ratios)}", beyond(ratios[-1:], 1, c.margin),
                       f"Confirmed if faster at the largest size. {MATLAB if rival == 'octave' else SMMP}. {c.rule}",
                       f"{beyond(ours[-1:], 1, c.margin)}: of {NAMES['gpu']}, sorted: {told(ours)}")


ROWS_A_BLOCK = ("rows per block", "rows per block, 8 threads per row")
BALANCE = ("threads of GetVals", "threads of GetNNZ", "blocks per multiprocessor")
ONCE = "The improvements were not measured twice: the best setting of one measurement is judged by the other"


class Improvements:
    """Adds claims on settings. first, again: {matrix: show.Ways} of both measurements. The first chooses the setting,
    and the second gives its gain, so that the choice does not profit from noise."""

    def __init__(self, report, first, again, margin):
        self.report, self.first, self.again, self.margin = report, first, again, margin

    def best(self, settings, over=measure.BASE):
        """Returns {matrix: (gain over another kernel, setting)} of the best of these settings."""
        found = {}
        for matrix, of in self.first.items():
            gains = [(of.gain(setting, over), setting) for setting in settings]
            gains = [gain for gain in gains if gain[0]]
            if gains and matrix in self.again:
                setting = max(gains)[1]
                found[matrix] = self.again[matrix].gain(setting, over), setting.removeprefix(measure.BASE + ":")
        return {matrix: pair for matrix, pair in found.items() if pair[0]}

    def all_gain(self, gains):
        return beyond([(None, gain) for gain in gains], 1, self.margin)

    def most_gain(self, gains):
        if 2 * sum(gain > self.margin for gain in gains) > len(gains):
            return CONFIRMED
        return NOT_COMPARABLE if 2 * sum(gain * self.margin >= 1 for gain in gains) > len(gains) else REFUTED

    def claim(self, text, kinds, judged, holds, why, over=measure.BASE):
        """Adds a claim. holds(gains of the matrices in `judged`) returns the verdict."""
        settings = [f"{measure.BASE}:{s}" for kind in kinds for s in measure.WAYS[kind] if not s.startswith("rows=1:")]
        best = self.best(settings, over)
        gains = [best[m][0] for m in best if m in judged]
        if not gains:
            self.report.claim("section 6", text, "not measured", NOT_COMPARABLE, ONCE)
            return
        ours = [f"{m}: {self.again[m].gain(measure.OURS):.2f}" for m in best if self.again[m].gain(measure.OURS)]
        found = "; ".join(f"{matrix}: {gain:.2f} ({setting})" for matrix, (gain, setting) in best.items())
        self.report.claim(
            "section 6", text, f"time of the kernels with parameters / time with the best setting: {found}",
            holds(gains),
            f"Confirmed if over {self.margin:.3g} times as fast {why}. One of {len(settings)} settings is chosen in "
            "one measurement and judged in another. The compared kernel has its time of the first if its times in the "
            "other scatter by over half",
            f"{NAMES['gpu']}, sorted: {'; '.join(ours)}" if ours else "-")

    def together(self, kind, matrices):
        text = f"all four improvements together are faster than each one alone on {kind} matrices"
        singles = self.best([f"{measure.BASE}:{setting}" for kind, settings in measure.WAYS.items()
                             if kind != measure.TOUCHED_ROWS for setting in settings])
        pairs = {m: (self.again[m].gain(measure.TOGETHER), one) for m, (one, _) in singles.items()}
        pairs = {m: pair for m, pair in pairs.items() if pair[0] and m in matrices}
        if not pairs:
            self.report.claim("section 6", text, "not measured", NOT_COMPARABLE, ONCE)
            return
        found = "; ".join(f"{m}: {a:.2f} and {b:.2f}" for m, (a, b) in pairs.items())
        self.report.claim("section 6", text, "speed-up over the kernels with parameters by all together, and by the "
                          f"best single improvement: {found}",
                          beyond([(m, a / b) for m, (a, b) in pairs.items()], 1, self.margin),
                          f"Confirmed if so on each, by a ratio over {self.margin:.3g}; this is our reading of the "
                          "outlook")

    def add(self):
        self.claim("very sparse matrices: more than one row per block reduces idle threads", ROWS_A_BLOCK,
                   measure.SPARSE, self.all_gain, "on " + " ".join(measure.SPARSE))
        self.claim("very sparse matrices: more than one row per block, if only touched entries are cleared",
                   (measure.TOUCHED_ROWS,), measure.SPARSE,
                   self.all_gain, "as with one row per block, on " + " ".join(measure.SPARSE),
                   measure.RESET)
        self.claim("tests may find a better balance of blocks and threads", BALANCE,
                   {**measure.EVEN, **measure.IRREGULAR, **measure.SPARSE},
                   self.most_gain, "on most matrices")
        self.claim("rows claimed when blocks become free improve non-uniform matrices", ("rows claimed at a time",),
                   measure.IRREGULAR, self.all_gain, "on each irregular matrix")
        self.together("large and sparse", measure.SPARSE)
        self.together("other", {**measure.EVEN, **measure.IRREGULAR})


def add(report, points, loads, ways, margins):
    """Adds all claims. ways: two {matrix: show.Ways}, of the measurement and its repeat; margins: of products and of
    improvements."""
    c = Claims(report, points, margins[0])
    _conversion(c, loads)
    _counts(c)
    _products(c)
    _densities(c)
    _baseline(c)
    _proposed(c)
    Improvements(report, *ways, margins[1]).add()
