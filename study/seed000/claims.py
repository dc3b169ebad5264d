"""Claims of the document and their verdicts."""
from common.numbers import mean, rank_correlation
from common.report import CONFIRMED, NOT_COMPARABLE, REFUTED, verdict
from seed000.speedups import (ADAPTIVE, COO, CUSPARSE, ELL, HYB, LARGER, LIMITS, MARGIN, SCALAR, SCOO, SEGMENTED,
                              SHARED, TYPES, VECTOR, changes, leading, short)

LONG, EVEN = 32, 1.5  # LONG: mean row length that fills a warp; EVEN: largest longest / mean row length of even rows
# Claims on arithmetic means: item, text, two kernels, and for each type 1 if the first kernel is faster in the
# document, -1 if it is slower.
MEANS = (
    ("2.1", "CSR-Vector has a better speed-up than CSR-Scalar, on average, in both types", VECTOR, SCALAR, (1, 1)),
    ("2.1", "CSR-Adaptive has a better speed-up than CSR-Vector, on average from 10 000 entries", ADAPTIVE, VECTOR,
     (1, 1)),
    ("2.1", "cuSPARSE has a better average speed-up than CSR-Scalar", CUSPARSE, SCALAR, (1, 1)),
    ("2.1", "CSR-Vector is faster than cuSPARSE for float matrices, but not for double ones", VECTOR, CUSPARSE,
     (1, -1)),
    ("2.1", "reduction by shuffles is more efficient than through shared memory", VECTOR, SHARED, (1, 1)),
    ("2.2", "ELL outperforms CSR-Scalar on many matrices (on average)", ELL, SCALAR, (1, 1)),
)


def order(ratios, expected):
    """Returns the verdict: refuted if a type has the opposite order, not comparable if a ratio is within the margin."""
    signs = [(ratio > MARGIN) - (ratio < 1 / MARGIN) for ratio in ratios]
    if any(sign == -wanted for sign, wanted in zip(signs, expected)):
        return REFUTED
    return CONFIRMED if signs == list(expected) else NOT_COMPARABLE


def _told(texts):
    return "; ".join(f"{name}: {text}" for (_, name), text in zip(TYPES, texts))


def _of_adaptive(report, types, item, text, judge, why):
    """Adds a claim on CSR-Adaptive, judged with the block size of table 4. The text also has the verdict for 1024
    entries."""
    found, held = judge(ADAPTIVE)
    if all(LARGER in s.kernels for s in types):
        other, verdict_of_other = judge(LARGER)
        found += f". With blocks of 1024 entries {verdict_of_other}: {other}"
    report.claim(item, text, found, held, why)


def _beaten(report, types):
    """Adds the claims on figures 5c and 5d."""
    f32 = types[0]
    shares = [(len(f32.beaten(limit)), len(f32.both(SCALAR, VECTOR, limit))) for limit in LIMITS]
    report.claim("5c, 5d", "CSR-Scalar is faster than CSR-Vector on 33 % of the float matrices with at least 10 000 "
                 "entries, on 40 % with at least 100 000",
                 " and ".join(f"{100 * part / whole:.0f} % of {whole} matrices" for part, whole in shares if whole),
                 NOT_COMPARABLE, "the share depends on the choice of the matrices")
    beaten = [s.beaten(LIMITS[0]) for s in types]
    if not beaten[0]:
        return
    scalar, vector = (mean(f32.values(k, beaten[0])) for k in (SCALAR, VECTOR))
    report.claim("5c, 5d", "on these matrices the mean speed-up of CSR-Scalar is 8.57, of CSR-Vector 4.80: a ratio of "
                 "1.79", f"{scalar:.4g} and {vector:.4g}: a ratio of {scalar / vector:.2f}",
                 verdict(scalar / vector > 1.4), "a ratio over 1.4 counts as confirmed")

    def judge(adaptive):
        wins = [len(s.ahead(adaptive, SCALAR, there)) for s, there in zip(types, beaten)]
        return (_told(f"on {won} of {len(there)}" for won, there in zip(wins, beaten)),
                verdict(wins[0] == len(beaten[0])))
    _of_adaptive(report, types, "5c, 5d", "CSR-Adaptive is faster than CSR-Scalar on all of these matrices",
                 judge, "judged in float, as in the document")


def _means(report, types):
    for item, text, one, other, expected in MEANS:
        if any(k not in s.kernels for s in types for k in (one, other)):
            continue

        def judge(adaptive, one=one, other=other, expected=expected):
            first, found = adaptive if one == ADAPTIVE else one, []
            for s in types:
                both = s.both(first, other)
                found.append(f"mean speed-ups {mean(s.values(first, both)):.4g} and "
                             f"{mean(s.values(other, both)):.4g}, the first kernel is faster on "
                             f"{len(s.ahead(first, other, both))} of {len(both)}")
            return _told(found), order([s.of_means(first, other) for s in types], expected)
        why = "means over the matrices on which both kernels ran; up to 5 % count as no difference"
        if one == ADAPTIVE:
            _of_adaptive(report, types, item, text, judge, why)
        else:
            report.claim(item, text, *judge(ADAPTIVE), why)


def _long_rows(report, types):
    def judge(adaptive):
        found, some = [], True
        for s in types:
            long = [m for m in s.both(VECTOR, adaptive) if s.mean_row(m) >= LONG]
            won, lost = s.ahead(VECTOR, adaptive, long, MARGIN), s.ahead(adaptive, VECTOR, long, MARGIN)
            far = max((s.of(adaptive, m) / s.of(VECTOR, m) for m in lost), default=1)
            found.append(f"CSR-Vector is faster on {len(won)} of {len(long)}, slower on {len(lost)}" +
                         (f" (up to {far:.2g} times the time)" if lost else "") + "; of all matrices it is faster on "
                         f"{len(s.ahead(VECTOR, adaptive, s.both(VECTOR, adaptive), MARGIN))} of {len(s.matrices)}")
            some = some and bool(won)
        return _told(found), verdict(some)
    _of_adaptive(report, types, "2.1", "CSR-Adaptive might be outperformed by CSR-Vector on some long-row matrices",
                 judge, f"matrices with mean rows of at least {LONG} entries; differences over 5 %; confirmed if "
                 "CSR-Vector is faster on at least one matrix in both types")


def _ell(report, types):
    """Adds the claims on ELL, for matrices with even and uneven rows."""
    ratios, shares, counts = [], [], []
    for s in types:
        both = [m for m in s.both(ELL, SCALAR) if m in s.longest]
        even = [m for m in both if s.longest[m] <= EVEN * s.mean_row(m)]
        sets = even, [m for m in both if m not in even]
        if not all(sets):
            return
        ratios.append([s.ratio(ELL, SCALAR, part) for part in sets])
        won = [len(s.ahead(SCALAR, ELL, part, MARGIN)) for part in sets]
        shares.append([n / len(part) for n, part in zip(won, sets)])
        counts.append(f"CSR-Scalar is over 5 % faster on {won[1]} of {len(sets[1])} such matrices, on {won[0]} of "
                      f"{len(sets[0])} others; it is faster by any margin on {len(s.ahead(SCALAR, ELL, both))} of all "
                      f"{len(both)}")
    report.claim("2.2", "ELL is most efficient where the longest row does not substantially differ from the average",
                 _told(f"ELL has {even:.2f} of CSR-Scalar's speed on such matrices, {rest:.2f} on others"
                       for even, rest in ratios),
                 verdict(all(even > MARGIN * rest for even, rest in ratios)),
                 f"geometric means; such matrices: the longest row has at most {EVEN} times the mean row length")
    report.claim("2.2", "padding by a few long rows leads to CSR-Scalar outperforming ELL in some cases", _told(counts),
                 verdict(all(rest > even for even, rest in shares)),
                 f"such matrices: the longest row has over {EVEN} times the mean row length; confirmed if CSR-Scalar "
                 "is faster on a larger share of them than of the others. The kernel reads no padding, but a warp runs "
                 "as long as its longest row")


def _scoo(report, types):
    found = [(name, limit, s.of_means(SCOO, COO, limit)) for limit in LIMITS for s, (_, name) in zip(types, TYPES)]
    if None not in (ratio for _, _, ratio in found):
        report.claim("tables 6, 7", "SCOO is faster than COO only in float and only from 100 000 entries on",
                     "mean speed-up of SCOO / mean speed-up of COO: " + "; ".join(
            f"{name} from {limit} entries {ratio:.2f}" for name, limit, ratio in found),
            order([ratio for _, _, ratio in found], (-1, -1, 1, -1)), "up to 5 % count as no difference")


def _hyb(report, types):
    def judge(adaptive):
        found, close = [], True
        for s in types:
            ratios = [s.of_means(HYB, adaptive, limit) for limit in LIMITS]
            found.append("HYB has " + " and ".join(f"{ratio:.2f}" for ratio in ratios if ratio) + " of CSR-Adaptive's "
                         "mean speed-up; the geometric mean of HYB's speed / CSR-Adaptive's is "
                         f"{s.ratio(HYB, adaptive, s.both(HYB, adaptive)):.2f}")
            close = close and all(ratio is None or 0.8 < ratio < 1.25 for ratio in ratios)
        return _told(found), verdict(close)
    _of_adaptive(report, types, "table 8", "HYB is quite close to CSR-Adaptive, on average", judge,
                 "arithmetic means from 10 000 and from 100 000 entries on, as in the tables; ratios between 0.8 and "
                 "1.25 are close. The geometric means show that HYB is slower on most matrices (table hyb-adaptive)")


def _coo(report, types):
    if any(SEGMENTED not in s.kernels for s in types):
        return

    def ranks(limit, value, kernel):
        return [rank_correlation([(s.mean_row(m), value(s, m)) for m in s.set_of(kernel, limit)]) for s in types]

    def both(pair):
        return f"{pair[0]:+.2f} (float), {pair[1]:+.2f} (double)"
    times = [ranks(limit, lambda s, m: s.times[COO, m] / s.times[SEGMENTED, m], COO) for limit in LIMITS]
    speeds = {k: ranks(LIMITS[0], lambda s, m, k=k: s.of(k, m), k) for k in (COO, SCALAR)}
    larger = ranks(LIMITS[1], lambda s, m: s.of(COO, m), COO)
    if None in sum(times, []) + sum(speeds.values(), []) + larger:
        return
    report.claim("figure 7", "the wider the rows, the more serialised COO is",
                 "rank correlation of the mean row length with COO's time / time of segmented sums: " + both(times[0]) +
                 ", from 100 000 entries on " + both(times[1]) + "; with COO's speed-up: " + both(speeds[COO]) +
                 ", from 100 000 entries on " + both(larger) + "; with CSR-Scalar's speed-up: " + both(speeds[SCALAR]),
                 verdict(min(times[0]) > 0.3), f"confirmed if the first correlation is over +0.3 in both types. "
                 f"`{SEGMENTED}` reads the same data as COO and has no atomics. Speed-ups on small matrices mostly "
                 "depend on the times of a launch and of the baseline")


def _leaders(report, types):
    def judge(adaptive):
        changing, whole = changes(types, leading(adaptive))
        return f"it changes on {changing} of {whole} matrices", verdict(changing > 0)
    _of_adaptive(report, types, "8c, 8d", "the leader changes with the type", judge,
                 "each leader is over 5 % faster in its type; one such matrix counts as confirmed")

    def judge_most(adaptive):
        most = [s.most_leads(leading(adaptive)) for s in types]
        return (_told(f"{short(k)} leads most often, on {n} of {len(s.matrices)}" for (k, n), s in zip(most, types)),
                verdict(all(n < 0.75 * len(s.matrices) for (_, n), s in zip(most, types))))
    _of_adaptive(report, types, "table 9", "there is no silver bullet", judge_most,
                 "confirmed if no kernel leads on three quarters of the matrices in either type")


def claims(report, types):
    if any(k not in s.kernels for s in types for k in (SCALAR, VECTOR, ADAPTIVE, COO, SCOO, HYB)):
        report.claim("all", "findings about kernels of a GPU", "no GPU was measured", NOT_COMPARABLE)
        return
    report.claim("tables 1 to 8", "speed-ups of 4 to 15 on average over one thread", "see the tables", NOT_COMPARABLE,
                 "GPU, processor and matrices differ: only the order of the kernels can be compared")
    for tell in (_beaten, _means, _long_rows, _ell, _scoo, _hyb, _coo, _leaders):
        tell(report, types)
