"""Claims of the document and their verdicts."""
from common.numbers import geometric_mean, rank_correlation
from common.report import NOT_COMPARABLE, verdict
from seed001 import printed, suite


def _told(found):
    return ", ".join(f"{title} {rate:.1f}" for title, rate in found.items())


def _compare(report, rates, series, what, item, text, one, other, regular, numbering="better", why=""):
    """Adds the claim that `one` is faster than `other` on average over the class."""
    if one not in series or other not in series:
        missing = one if one not in series else other
        report.claim(item, text, f"{what}: no {missing}", NOT_COMPARABLE, f"{missing} was not run")
        return
    shared = [m for m in rates.common((series[one], series[other]), numbering) if suite.is_regular(m) == regular]
    if not shared:
        return
    found = {title: rates.mean(series[title], shared, numbering) for title in (one, other)}
    report.claim(item, text, f"{what}: mean rates: {_told(found)} GFLOP/s, difference "
                 f"{100 * (found[one] / found[other] - 1):+.1f} %",
                 NOT_COMPARABLE if abs(found[one] / found[other] - 1) < 0.02 else verdict(found[one] > found[other]),
                 f"arithmetic means over {len(shared)} matrices; less than 2 % counts as no difference{why}")


def _plain_beside(rates, regular):
    """Returns the class's mean rates of the plain C listing at its default size, and of MKL without optimization."""
    told = []
    for name in ("csr2_listing_cpu", "mkl_csr"):
        those = [m for m in rates.common((name,)) if suite.is_regular(m) == regular]
        if those:
            told.append(f"{name} {rates.mean(name, those):.1f}")
    return f"; for comparison: {', '.join(told)} GFLOP/s" if told else ""


def on_cpu(report, rates, series, what):
    for regular, kind in ((True, "regular"), (False, "irregular")):
        numbers = "; ".join(f"{system}: {_told(rate[kind])}" for system, rate in printed.CPU.items())
        beside = _plain_beside(rates, regular)
        text = f"tuned CSR-2 is faster than CSR5 on {kind} matrices ({numbers} GFLOP/s)"
        _compare(report, rates, series, what, "figures 6a to 6d", text, "CSR-2", "CSR5", regular,
                 why=f"; CSR5 is this library's own implementation, with AVX-512{beside}")
        text = f"tuned CSR-2 is faster than MKL on {kind} matrices"
        _compare(report, rates, series, what, "section 9", text, "CSR-2", "MKL", regular,
                 why=f"; MKL is the faster of its two kernels on each matrix{beside}")
    _where_csr5_wins(report, rates, series, what)
    overhead(report, rates, what)
    _band_k(report, rates, what, {2: "csr2 tuned", 3: "csr3 tuned"})


def _named(rates, one, other, names):
    """Returns the ratios of two labels on the matrices in `names` that were measured."""
    return [q for m, q in rates.ratios(one, other).items() if m in names]


def _where_csr5_wins(report, rates, series, what):
    if "CSR5" not in series or "CSR-2" not in series:
        return
    ratios = rates.ratios(series["CSR5"], series["CSR-2"])
    groups = (("the first five matrices (fewer than three entries per row), Hamrle3 and debr", printed.CSR5_AHEAD),
              ("the Wikipedia matrices and webbase-1M", printed.VERY_IRREGULAR))
    for text, names in groups:
        found = {m: q for m, q in ratios.items() if m in names}
        if found:
            report.claim("section 6", f"CSR5 is faster than CSR-2 on {text} (Ice Lake)",
                         f"{what}: faster on {sum(q > 1 for q in found.values())} of {len(found)}",
                         verdict(2 * sum(q > 1 for q in found.values()) > len(found)),
                         "holds if on most of them; CSR5 is this library's own implementation, with AVX-512")


def _more_bytes(rates, k, printed_alone):
    """Returns by how many per cent csr-k reads more bytes than csr, one number per matrix.

    Uses the kernel that reads most bytes. If printed_alone is true, uses only the listing as printed.
    """
    read = {}
    for r in rates.records:
        name = "csr" if r["format"] == "csr" else f"csr{k}"
        if not r.get("bytes") or r["peer"] or r["ordering"] != "none" or r["format"] not in ("csr", f"csr{k}"):
            continue
        if name != "csr" and printed_alone and r["kernel"] != f"csr{k}_listing_cpu":
            continue
        read[r["matrix"], name] = max(r["bytes"], read.get((r["matrix"], name), 0))
    return [100 * (read[m, f"csr{k}"] / read[m, "csr"] - 1) for m in rates.matrices
            if (m, f"csr{k}") in read and (m, "csr") in read]


def overhead(report, rates, what):
    """Adds the claims on the share of bytes of the group pointers, from the records."""
    for k in (2, 3):
        more, with_ours = _more_bytes(rates, k, True), _more_bytes(rates, k, False)
        if more:
            report.claim("section 2.2", "the only memory overhead of CSR-k is its few pointers",
                         f"{what}: csr{k} as printed reads at most {max(more):.2f} % more bytes than csr",
                         verdict(max(more) <= 1), f"holds up to 1 %; {len(more)} matrices. At most "
                         f"{max(with_ours):.2f} % with the row blocks that this library's kernels store for their "
                         "threads, and SRS from 24. Band-k also needs a permuted copy of the matrix")


def _band_k(report, rates, what, names):
    """Adds the abstract's claims that CSR-k is faster with Band-k."""
    for k, name in names.items():
        both = rates.common((name,), "as given")
        gains = [rates.of(name, m, "reordered") / rates.of(name, m, "as given") for m in both
                 if rates.of(name, m, "reordered")]
        if gains:
            gain = geometric_mean(gains)
            report.claim("abstract", f"CSR-{k} is faster with the ordering Band-k",
                         f"{what}: {gain:.2f} times as fast as in the given order; over 5 % faster on "
                         f"{sum(g > 1.05 for g in gains)}, over 5 % slower on {sum(g < 1 / 1.05 for g in gains)} of "
                         f"{len(gains)} matrices", NOT_COMPARABLE if abs(gain - 1) < 0.02 else verdict(gain > 1),
                         "geometric mean; the given order of generated meshes is already good")


def _worst_on_gpu(report, rates, series, what):
    if "cuSPARSE" not in series or "CSR-3" not in series:
        return
    worst = _named(rates, series["CSR-3"], series["cuSPARSE"], printed.WORST_ON_GPU)
    others = [q for m, q in rates.ratios(series["CSR-3"], series["cuSPARSE"]).items()
              if not suite.is_regular(m) and m not in printed.WORST_ON_GPU]
    if worst and others:
        one, other = geometric_mean(worst), geometric_mean(others)
        report.claim("section 7", "CSR-3 is particularly bad on the first five irregular matrices",
                     f"{what}: CSR-3 has {one:.2f} of cuSPARSE's rate on these five, {other:.2f} on the other "
                     "irregular matrices",
                     verdict(one < other), "geometric means")


def on_gpu(report, rates, series, what):
    for regular, kind in ((True, "regular"), (False, "irregular")):
        one, other = ("CSR-3", "cuSPARSE") if regular else ("cuSPARSE", "CSR-3")
        numbers = "; ".join(f"{system}: {_told(rate[kind])}" for system, rate in printed.GPU.items())
        text = f"{one} is faster than {other} on {kind} matrices ({numbers} GFLOP/s)"
        _compare(report, rates, series, what, "figures 7a to 7d", text, one, other, regular)
        _compare(report, rates, series, what, "figures 7a to 7d", f"{one} is faster than {other} on {kind} "
                 "matrices, CSR-3 ordered by Band-k and cuSPARSE by RCM", one, other, regular, "reordered")
    _worst_on_gpu(report, rates, series, what)
    _by_density(report, rates, series, what)
    _band_k(report, rates, what, {3: "csr3", 2: "csr2"})


def _by_density(report, rates, series, what):
    """Adds the claim on irregular matrices: CSR-3's rate relative to cuSPARSE grows with the mean row length."""
    if "CSR-3" not in series or "cuSPARSE" not in series:
        return
    ratios = {m: q for m, q in rates.ratios(series["CSR-3"], series["cuSPARSE"]).items() if not suite.is_regular(m)}
    found = rank_correlation([(rates.matrices[m]["nnz"] / rates.matrices[m]["rows"], q) for m, q in ratios.items()])
    if found is not None:
        report.claim("section 7", "on irregular matrices CSR-3 does better as rows get denser",
                     f"{what}: rank correlation of the mean row length with CSR-3's rate / cuSPARSE's: {found:.2f}",
                     verdict(found > 0.3), f"holds over 0.3; {len(ratios)} matrices")


def _k_on_gpu(report, rates, labels, shared, what):
    ratios = {m: q for m, q in rates.ratios(labels[2], labels[3]).items() if m in shared}
    ahead = sorted(m for m, q in ratios.items() if q > 1.05)
    named = dict.fromkeys(m for names in printed.CSR2_AHEAD.values() for m in names)
    text = "; ".join(f"{system}: {' '.join(names)}" for system, names in printed.CSR2_AHEAD.items())
    report.claim("section 7", f"CSR-2 beats CSR-3 by over 5 % on few matrices ({text})",
                 f"{what}: on {len(ahead)} of {len(ratios)}, among them of the named matrices: "
                 f"{' '.join(m for m in named if m in ahead) or 'none'}",
                 verdict(len(ahead) <= 0.1 * len(ratios)), "holds if on at most a tenth")
    behind = [m for m, q in rates.ratios(labels[2], "cuSPARSE, best").items() if m in ahead and q < 1]
    compared = [m for m in ahead if rates.of("cuSPARSE, best", m)]
    if compared:
        report.claim("section 7", "where CSR-2 is faster than CSR-3, it is still slower than cuSPARSE",
                     f"{what}: slower on {len(behind)} of {len(compared)}", verdict(len(behind) == len(compared)),
                     "holds if on all of them")


def choice_of_k(report, rates, labels, shared, what):
    if rates.device == "gpu":
        _k_on_gpu(report, rates, labels, shared, what)
        return
    means = {k: rates.mean(name, shared) for k, name in labels.items()}
    report.claim("section 6.2", "on CPUs CSR-2 always outperforms CSR-3 on average",
                 f"{what}: mean rates: " + ", ".join(f"{rate:.1f} (k = {k})" for k, rate in means.items()) +
                 " GFLOP/s",
                 NOT_COMPARABLE if 3 not in means or abs(means[2] / means[3] - 1) < 0.02 else
                 verdict(means[2] > means[3]),
                 f"over {len(shared)} matrices, each k with the best of its group sizes; less than 2 % counts as no "
                 "difference")
    if 3 in means:
        ahead = [m for m, q in rates.ratios(labels[3], labels[2]).items() if m in shared and q > 1.05]
        report.claim("section 6.2", "CSR-3 is never able to outperform CSR-2 (Ice Lake)",
                     f"{what}: CSR-3 is over 5 % faster on {len(ahead)} of {len(shared)}", verdict(not ahead),
                     "each with the best of its group sizes, as in the document")


def scalability(report, found, teams, base):
    """Adds the claims on figure 5. found: {title: [(threads, speed-up over `base` with the fewest threads)]}."""
    def at(threads, names):
        return {name: dict(found[name])[threads] for name in names if name in found}

    def told(values):
        return ", ".join(f"{name} {value:.1f}" for name, value in values.items())
    ours = ("CSR-2", "CSR-3", "CSR5")
    if teams[-1] < 16:
        report.claim("figure 5", "CSR-2, CSR-3 and CSR5 are 8 to 12 times as fast with 16 cores",
                     f"speed-up with {teams[-1]} threads over {base}: {told(at(teams[-1], found))}", NOT_COMPARABLE,
                     "fewer than 16 cores")
        return
    values = {name: round(value, 1) for name, value in at(16, ours).items()}
    own = {name: value / dict(found[name])[teams[0]] for name, value in values.items()}
    report.claim("figure 5", "CSR-2, CSR-3 and CSR5 are 8 to 12 times as fast with 16 cores", f"speed-up over {base} "
                 f"with {teams[0]} thread: {told(values)}", verdict(all(8 <= value <= 12 for value in values.values())),
                 f"measured as in the document; speed-up over the same kernel with {teams[0]} thread: {told(own)}; "
                 "CSR5 is this library's own implementation")
    if 4 in teams:
        four = at(4, found)
        report.claim("figure 5", "all methods are about equally fast with 4 cores", f"speed-up over {base} with "
                     f"{teams[0]} thread: {told(four)}", verdict(max(four.values()) <= 1.25 * min(four.values())),
                     "holds if the fastest is at most 1.25 times as fast as the slowest")
    most = at(teams[-1], ours)
    if "CSR-2" in most and "CSR5" in most:
        report.claim("figure 5", "with all cores CSR-2 does better than CSR5", f"speed-up with {teams[-1]} threads "
                     f"over {base} with {teams[0]} thread: {told(most)}", verdict(most["CSR-2"] > most["CSR5"]),
                     "CSR5 is this library's own implementation")
