"""Claims of the document and their verdicts: by its kernels as printed, with this library's kernels beside them."""
from common.numbers import mean, rank_correlation
from common.report import NOT_COMPARABLE, beside, both, by_margin, verdict
from seed000.speedups import LIMITS, OURS, PRINTED, SHARED, TYPES, UNSTATED, changes, own, short

MANY, FEW = 1 / 3, 1 / 10
LONG, EVEN = 32, 1.5  # LONG: mean row length that fills a warp; EVEN: largest longest / mean row length of even rows
# Claims on averages: item, text, two kernels, and for each type 1 if the first kernel is faster in the document, -1 if
# it is slower.
AVERAGES = (
    ("2.1", "CSR-Vector has a better speed-up than CSR-Scalar, on average, in both types", "vector", "scalar", (1, 1)),
    ("2.1", "CSR-Adaptive has a better speed-up than CSR-Vector, on average from 10 000 entries", "adaptive", "vector",
     (1, 1)),
    ("2.1", "cuSPARSE has a better average speed-up than CSR-Scalar", "cusparse", "scalar", (1, 1)),
    ("2.1", "CSR-Vector is faster than cuSPARSE for float matrices, but not for double ones", "vector", "cusparse",
     (1, -1)),
    ("2.1", "reduction by shuffles is more efficient than through shared memory", "vector", "shared", (1, 1)),
)
RULE = ("ratio of the arithmetic means, geometric mean of the ratios, and ratio of the medians, over the matrices on "
        "which both kernels ran. The document does not say which average counts: all three must agree, beyond the "
        "margin of averages")


def order(types, ratios, expected):
    """Returns the verdict on triples of ratios, one for each type. expected: 1 if a type's ratios should exceed 1, -1
    if they should be below."""
    return both(*(by_margin([r ** wanted for r in three], s.margin_of_means)
                  for s, three, wanted in zip(types, ratios, expected)))


def _told(texts):
    return "; ".join(f"{name}: {text}" for (_, name), text in zip(TYPES, texts))


def _three(ratios):
    return ", ".join(f"{ratio:.2f}" for ratio in ratios)


def _kernel(kernels, name):
    return SHARED if name == "shared" else getattr(kernels, name)


def _claim(report, types, item, text, names, judge, why):
    """Adds a claim. judge(kernels) returns the finding and its verdict. names: fields of Kernels that the claim
    compares; without their times as printed the claim is omitted."""
    def measured(kernels):
        return all(_kernel(kernels, name) in s.kernels for name in names for s in types)
    if not measured(PRINTED):
        return
    found, held = judge(PRINTED)
    for label, name, kernels in UNSTATED:
        if name in names and measured(kernels):
            other, its_verdict = judge(kernels)
            found += f". {label}: {its_verdict}, {other}"
    changed = any(_kernel(OURS, name) != _kernel(PRINTED, name) for name in names)
    margins = (f"{s.margin:.2f} on a matrix, {s.margin_of_means:.2f} of averages" for s in types)
    report.claim(item, text, found, held, f"{why}; margin {_told(margins)}",
                 beside(judge(OURS) if changed and measured(OURS) else None))


def _beaten(report, types):
    """Adds the claims on figures 5c and 5d."""
    f32 = types[0]
    shares = [(len(f32.beaten(limit)), len(f32.both(PRINTED.scalar, PRINTED.vector, limit))) for limit in LIMITS]
    report.claim("5c, 5d", "CSR-Scalar is faster than CSR-Vector on 33 % of the float matrices with at least 10 000 "
                 "entries, on 40 % with at least 100 000",
                 " and ".join(f"{100 * part / whole:.0f} % of {whole} matrices" for part, whole in shares if whole),
                 NOT_COMPARABLE, "the share depends on the choice of the matrices")
    beaten = [s.beaten(LIMITS[0]) for s in types]
    if not beaten[0]:
        return

    def judge_means(kernels):
        scalar, vector = (mean(f32.values(k, beaten[0])) for k in (kernels.scalar, kernels.vector))
        return (f"{scalar:.4g} and {vector:.4g}: a ratio of {scalar / vector:.2f}",
                by_margin([scalar / vector / 1.4], f32.margin_of_means))
    _claim(report, types, "5c, 5d", "on these matrices the mean speed-up of CSR-Scalar is 8.57, of CSR-Vector 4.80: a "
           "ratio of 1.79", ("scalar", "vector"), judge_means, "a ratio over 1.4 counts as confirmed")

    def judge(kernels):
        there = [[m for m in part if s.has(kernels.adaptive, m)] for s, part in zip(types, beaten)]
        lost = [s.ahead(kernels.scalar, kernels.adaptive, part, s.margin) for s, part in zip(types, there)]
        found = _told(f"on {len(s.ahead(kernels.adaptive, kernels.scalar, part))} of {len(part)}, slower by more than "
                      f"the margin on {len(behind)}" for s, part, behind in zip(types, there, lost))
        return found, verdict(not lost[0])
    _claim(report, types, "5c, 5d", "CSR-Adaptive is faster than CSR-Scalar on all of these matrices",
           ("scalar", "adaptive"), judge, "judged in float, as in the document; refuted if CSR-Adaptive is slower by "
           "more than the margin on a matrix. \"These matrices\" are those of CSR-Vector as printed")


def _averages(report, types):
    for item, text, one, other, expected in AVERAGES:
        def judge(kernels, one=one, other=other, expected=expected):
            first, second = _kernel(kernels, one), _kernel(kernels, other)
            ratios = [s.ratios(first, second) for s in types]
            if None in ratios:
                return "no common matrices", NOT_COMPARABLE
            found = [f"{_three(three)}; the first kernel is faster on {len(s.ahead(first, second, both))} of "
                     f"{len(both)}" for s, three in zip(types, ratios) for both in (s.both(first, second),)]
            return _told(found), order(types, ratios, expected)
        _claim(report, types, item, text, (one, other), judge, RULE)


def _long_rows(report, types):
    def judge(kernels):
        found, some = [], True
        for s in types:
            long = [m for m in s.both(kernels.vector, kernels.adaptive) if s.mean_row(m) >= LONG]
            won = s.ahead(kernels.vector, kernels.adaptive, long, s.margin)
            lost = s.ahead(kernels.adaptive, kernels.vector, long, s.margin)
            found.append(f"CSR-Vector is faster on {len(won)} of {len(long)}, slower on {len(lost)}")
            some = some and bool(won)
        return _told(found), verdict(some)
    _claim(report, types, "2.1", "CSR-Adaptive might be outperformed by CSR-Vector on some long-row matrices",
           ("vector", "adaptive"), judge, f"matrices with mean rows of at least {LONG} entries; differences over the "
           "margin; confirmed if CSR-Vector is faster on at least one matrix in both types")


def _ell(report, types):
    """Adds the claims on ELL, for matrices with even and uneven rows."""
    parts = []
    for s in types:
        shared = [m for m in s.both(PRINTED.ell, PRINTED.scalar) if m in s.longest]
        even = [m for m in shared if s.longest[m] <= EVEN * s.mean_row(m)]
        parts.append((even, [m for m in shared if m not in even]))
    if not all(part for pair in parts for part in pair):
        return

    def judge_even(kernels):
        ratios = [[s.ratio(kernels.ell, kernels.scalar, part) for part in pair] for s, pair in zip(types, parts)]
        return (_told(f"ELL has {even:.2f} of CSR-Scalar's speed on such matrices, {rest:.2f} on others"
                      for even, rest in ratios),
                both(*(by_margin([even / rest], s.margin) for s, (even, rest) in zip(types, ratios))))
    _claim(report, types, "2.2", "ELL is most efficient where the longest row does not substantially differ from the "
           "average", ("ell", "scalar"), judge_even,
           f"geometric means; such matrices: the longest row has at most {EVEN} times the mean row length")

    def judge_many(kernels):
        pairs = [(s, s.both(kernels.ell, kernels.scalar)) for s in types]
        won, lost = ([len(s.ahead(*order, there, s.margin)) / len(there) for s, there in pairs] for order in
                     ((kernels.ell, kernels.scalar), (kernels.scalar, kernels.ell)))
        found = _told(f"ELL is faster on {100 * w:.0f} %, slower on {100 * l:.0f} % of {len(there)}; averages " +
                      _three(s.ratios(kernels.ell, kernels.scalar)) for w, l, (s, there) in zip(won, lost, pairs))
        return found, (verdict(min(won) >= MANY) if min(won) >= MANY or max(won) < FEW else NOT_COMPARABLE)
    _claim(report, types, "2.2", "ELL outperforms CSR-Scalar on many matrices", ("ell", "scalar"), judge_many,
           "differences over the margin; confirmed if ELL is faster on a third of the matrices in both types, refuted "
           "below a tenth; the document does not state how many are many")

    def judge_hybrid(kernels):
        shares = [sorted(s.bytes[kernels.hyb, m] / s.bytes[kernels.ell, m] for m in uneven
                         if (kernels.hyb, m) in s.bytes) for s, (_, uneven) in zip(types, parts)]
        if not all(shares):
            return "no sizes", NOT_COMPARABLE
        middle = [share[len(share) // 2] for share in shares]
        return (_told(f"HYB's arrays have {100 * half:.0f} % of the bytes of ELL's in the median of {len(share)} "
                      "matrices with uneven rows" for half, share in zip(middle, shares)), verdict(max(middle) <= 0.5))
    _claim(report, types, "2.4", "the hybrid significantly reduces the number of padded elements", ("hyb", "ell"),
           judge_hybrid, f"matrices whose longest row has over {EVEN} times the mean row length; significantly: to at "
           "most half of the bytes in the median")

    def judge_padded(kernels):
        won = [[len(s.ahead(kernels.scalar, kernels.ell, part, s.margin)) for part in pair]
               for s, pair in zip(types, parts)]
        shares = [[n / len(part) for n, part in zip(ns, pair)] for ns, pair in zip(won, parts)]
        return (_told(f"CSR-Scalar is faster on {padded} of {len(pair[1])} such matrices, on {even} of {len(pair[0])} "
                      f"others" for (even, padded), pair in zip(won, parts)),
                verdict(all(padded > even for even, padded in shares)))
    _claim(report, types, "2.2", "padding by a few long rows leads to CSR-Scalar outperforming ELL in some cases",
           ("ell", "scalar"), judge_padded, f"such matrices: the longest row has over {EVEN} times the mean row "
           "length; differences over the margin; confirmed if CSR-Scalar is faster on a larger share of them than of "
           "the others. Our kernel reads no padding")


def _scoo(report, types):
    def judge(kernels):
        cases = [(limit, s) for limit in LIMITS for s in types]
        ratios = [s.ratios(kernels.scoo, kernels.coo, limit) for limit, s in cases]
        if None in ratios:
            return "no common matrices", NOT_COMPARABLE
        found = "; ".join(f"{name} from {limit} entries {_three(three)}" for (limit, name), three in
                          zip(((limit, name) for limit in LIMITS for _, name in TYPES), ratios))
        return found, order([s for _, s in cases], ratios, (-1, -1, 1, -1))
    _claim(report, types, "tables 6, 7", "SCOO is faster than COO only in float and only from 100 000 entries on",
           ("scoo", "coo"), judge, RULE)


def _hyb(report, types):
    def judge(kernels):
        found, close = [], []
        for s in types:
            ratios = [s.ratios(kernels.hyb, kernels.adaptive, limit) for limit in LIMITS]
            found.append(" and ".join(_three(three) for three in ratios if three))
            close += [by_margin([1.25 / max(ratio, 1 / ratio)], s.margin_of_means)
                      for three in ratios if three for ratio in three]
        return "HYB's speed-ups / CSR-Adaptive's: " + _told(found), both(*close)
    _claim(report, types, "table 8", "HYB is quite close to CSR-Adaptive, on average", ("hyb", "adaptive"), judge,
           "from 10 000 and from 100 000 entries on: ratio of the arithmetic means, geometric mean of the ratios, "
           "ratio of the medians; all between 0.8 and 1.25 are close")


def _coo(report, types):
    segmented = OURS.coo
    if any(segmented not in s.kernels for s in types):
        return

    def ranks(limit, value, kernel):
        return [rank_correlation([(s.mean_row(m), value(s, m)) for m in s.set_of(kernel, limit)]) for s in types]

    def told(pair):
        return f"{pair[0]:+.2f} (float), {pair[1]:+.2f} (double)"
    times = [ranks(limit, lambda s, m: s.times[PRINTED.coo, m] / s.times[segmented, m], PRINTED.coo)
             for limit in LIMITS]
    speeds = {k: ranks(LIMITS[0], lambda s, m, k=k: s.of(k, m), k) for k in (PRINTED.coo, PRINTED.scalar)}
    if None in sum(times, []) + sum(speeds.values(), []):
        return
    report.claim("figure 7", "the wider the rows, the more serialised COO is",
                 "rank correlation of the mean row length with COO's time / time of segmented sums: " + told(times[0]) +
                 ", from 100 000 entries on " + told(times[1]) + "; with COO's speed-up: " +
                 told(speeds[PRINTED.coo]) + "; with CSR-Scalar's speed-up: " + told(speeds[PRINTED.scalar]),
                 verdict(min(times[0]) > 0.3), f"confirmed if the first correlation is over +0.3 in both types. "
                 f"`{segmented}` reads the same data as COO and has no atomics. Speed-ups on small matrices mostly "
                 "depend on the times of a launch and of the baseline")


def _leaders(report, types):
    names = own(PRINTED._fields)

    def judge(kernels):
        changing, whole = changes(types, own(kernels))
        return f"it changes on {changing} of {whole} matrices", verdict(changing > 0)
    _claim(report, types, "8c, 8d", "the leader changes with the type", names, judge,
           "each leader is faster in its type by more than the margin; one such matrix counts as confirmed")

    def judge_most(kernels):
        most = [s.most_leads(own(kernels)) for s in types]
        return (_told(f"{short(k)} leads most often, on {n} of {len(s.matrices)}" for (k, n), s in zip(most, types)),
                verdict(all(n < 0.75 * len(s.matrices) for (_, n), s in zip(most, types))))
    _claim(report, types, "table 9", "there is no silver bullet", names, judge_most,
           "confirmed if no kernel leads on three quarters of the matrices in either type")


def claims(report, types):
    if any(k not in s.kernels for s in types for k in own(PRINTED)):
        report.claim("all", "findings about kernels of a GPU", "no GPU was measured", NOT_COMPARABLE)
        return
    report.claim("tables 1 to 8", "speed-ups of 4 to 15 on average over one thread", "see the tables", NOT_COMPARABLE,
                 "GPU, processor and matrices differ: only the order of the kernels can be compared")
    for tell in (_beaten, _averages, _long_rows, _ell, _scoo, _hyb, _coo, _leaders):
        tell(report, types)
