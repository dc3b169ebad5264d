"""What the document says, and whether it holds here."""
from common.numbers import geometric_mean
from common.report import NOT_COMPARABLE, verdict
from seed001 import printed, suite


def _rates(rates, series, titles, matrices):
    return {t: rates.mean(series[t], matrices) for t in titles if t in series}


def _told(found):
    return ", ".join(f"{title} {rate:.1f}" for title, rate in found.items())


def _compare(report, rates, series, what, item, text, one, other, regular):
    """The document: `one` is faster on average over the class."""
    if one not in series or other not in series:
        missing = one if one not in series else other
        report.claim(item, text, f"{what}: no {missing}", NOT_COMPARABLE, f"{missing} was not run")
        return
    shared = [m for m in rates.common((series[one], series[other])) if suite.is_regular(m) == regular]
    if not shared:
        return
    found = _rates(rates, series, (one, other), shared)
    report.claim(item, text, f"{what}: {_told(found)} GFLOP/s, {100 * (found[one] / found[other] - 1):+.1f} %",
                 NOT_COMPARABLE if abs(found[one] / found[other] - 1) < 0.02 else verdict(found[one] > found[other]),
                 f"arithmetic means over {len(shared)} matrices; within 2 % is no difference")


def on_cpu(report, rates, series, what):
    system = printed.CPU["Ice Lake, 40 cores"]
    for regular, kind in ((True, "regular"), (False, "irregular")):
        text = f"tuned CSR-2 is faster than CSR5 on {kind} matrices (Ice Lake: {_told(system[kind])} GFLOP/s)"
        _compare(report, rates, series, what, "figures 6a to 6d", text, "CSR-2", "CSR5", regular)
        text = f"tuned CSR-2 is faster than MKL on {kind} matrices"
        _compare(report, rates, series, what, "section 9", text, "CSR-2", "MKL", regular)
    _where_csr5_wins(report, rates, series, what)
    overhead(report, rates, what)


def _named(rates, one, other, names):
    """Ratios of two labels on those of the names that were measured."""
    return [q for m, q in rates.ratios(one, other).items() if m in names]


def _where_csr5_wins(report, rates, series, what):
    if "CSR5" not in series or "CSR-2" not in series:
        return
    ratios = rates.ratios(series["CSR5"], series["CSR-2"])
    groups = (("the first five, with fewer than three entries a row, Hamrle3 and debr", printed.CSR5_AHEAD),
              ("the Wikipedia matrices and webbase-1M", printed.VERY_IRREGULAR))
    for text, names in groups:
        found = {m: q for m, q in ratios.items() if m in names}
        if found:
            report.claim("section 6", f"CSR5 is ahead of CSR-2 on {text} (Ice Lake)",
                         f"{what}: on {sum(q > 1 for q in found.values())} of {len(found)}",
                         verdict(2 * sum(q > 1 for q in found.values()) > len(found)), "holds: on most of them")


def overhead(report, rates, what):
    """The pointers' share of the bytes, from the records' own count."""
    read = {}
    for r in rates.records:
        if r.get("bytes") and not r["peer"] and r["ordering"] == "none" and r["format"].split(":")[0] in \
                ("csr", "csr2", "csr3"):
            key = (r["matrix"], r["format"].split(":")[0])
            read[key] = max(r["bytes"], read.get(key, 0))
    for k in (2, 3):
        more = [100 * (read[m, f"csr{k}"] / read[m, "csr"] - 1) for m in rates.matrices
                if (m, f"csr{k}") in read and (m, "csr") in read]
        if more:
            report.claim("section 2.2", "the only memory overhead of CSR-k is its few pointers",
                         f"{what}: csr{k} reads at most {max(more):.2f} % more bytes than csr",
                         verdict(max(more) <= 5),
                         f"holds: up to 5 %, {len(more)} matrices and every size that was tried, with this "
                         "library's blocks for threads; a permuted copy for Band-k comes beside")


def _worst_on_gpu(report, rates, series, what):
    if "cuSPARSE" not in series or "CSR-3" not in series:
        return
    worst = _named(rates, series["CSR-3"], series["cuSPARSE"], printed.WORST_ON_GPU)
    others = [q for m, q in rates.ratios(series["CSR-3"], series["cuSPARSE"]).items()
              if not suite.is_regular(m) and m not in printed.WORST_ON_GPU]
    if worst and others:
        one, other = geometric_mean(worst), geometric_mean(others)
        report.claim("section 7", "CSR-3 is particularly bad on the first five irregular matrices",
                     f"{what}: {one:.2f} of cuSPARSE's rate there, {other:.2f} on the other irregular ones",
                     verdict(one < other), "geometric means")


def on_gpu(report, rates, series, what):
    for regular, kind in ((True, "regular"), (False, "irregular")):
        one, other = ("CSR-3", "cuSPARSE") if regular else ("cuSPARSE", "CSR-3")
        numbers = "; ".join(f"{system}: {_told(rate[kind])}" for system, rate in printed.GPU.items())
        text = f"{one} is faster than {other} on {kind} matrices ({numbers} GFLOP/s)"
        _compare(report, rates, series, what, "figures 7a to 7d", text, one, other, regular)
    _worst_on_gpu(report, rates, series, what)


def choice_of_k(report, rates, labels, shared, what):
    if rates.device == "gpu":
        ratios = {m: q for m, q in rates.ratios(labels[2], labels[3]).items() if m in shared}
        ahead = sorted(m for m, q in ratios.items() if q > 1.05)
        report.claim("section 7", "CSR-2 beats CSR-3 by over 5 % on few matrices: "
                     + " ".join(printed.CSR2_AHEAD["A100"]) + " (A100)", f"{what}: on {len(ahead)} of {len(ratios)}",
                     verdict(len(ahead) <= 0.1 * len(ratios)), "few: up to a tenth")
        return
    means = {k: rates.mean(name, shared) for k, name in labels.items()}
    report.claim("section 6.2", "on CPUs CSR-2 always outperforms CSR-3 on average",
                 f"{what}: " + ", ".join(f"k = {k} {rate:.1f}" for k, rate in means.items()) + " GFLOP/s",
                 NOT_COMPARABLE if 3 not in means or abs(means[2] / means[3] - 1) < 0.05 else
                 verdict(means[2] > means[3]),
                 f"over {len(shared)} matrices, each k at the best of the sizes tried for it; within 5 % is no "
                 "difference")


def scalability(report, found, teams, base):
    at = max((t for t in teams if t <= 16), default=teams[0])
    told = ", ".join(f"{name} {dict(points)[at]:.1f}" for name, points in found.items())
    text = "CSR-2, CSR-3 and CSR5 are 8 to 12 times as fast with 16 cores"
    if at < 16:
        report.claim("figure 5", text, f"{at} threads over {base}: {told}", NOT_COMPARABLE, "fewer than 16 cores")
        return
    own = {name: round(dict(points)[16] / dict(points)[teams[0]], 1) for name, points in found.items()
           if name.startswith("CSR-") or name == "CSR5"}
    report.claim("figure 5", text, "16 threads over one of the same kernel: "
                 + ", ".join(f"{name} {value:.1f}" for name, value in own.items()),
                 verdict(all(8 <= value <= 12 for value in own.values())), f"over {base} with one thread: {told}")
