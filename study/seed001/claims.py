"""Claims of the document and their verdicts."""
from common.numbers import AVERAGES, geometric_mean, mean, rank_correlation
from common.report import CONFIRMED, NOT_COMPARABLE, REFUTED, VARIANT, by_margin, verdict
from seed001 import printed, suite
from seed001.names import OURS

THREE = "arithmetic mean, geometric mean, median"
TOO_FEW = f"a twin has another order than its matrix, and fewer than {suite.FEW} matrices are real or exact"
NO_LISTING = "the document prints no kernel of CSR-2 for GPUs"
COMPILERS = ("the document's compiler may vectorise the sums of listing 1: decided only if plain C and vector rows "
             "give the same verdict")
READING = "the document does not state how it coarsens: Band-k is this library's reading"


def _told(found):
    return ", ".join(f"{title} {rate:.1f}" for title, rate in found.items())


def _averages(rates, names, matrices):
    """Returns the AVERAGES, where the best of `names` counts on each matrix."""
    best = [max(rates.of(n, m) for n in names) for m in matrices]
    return [average(best) for average in AVERAGES]


def _document_orders(rates, sides, titles, matrices):
    """Returns a remark: the ratio of means in the document's orders: CSR5 as given, all others reordered."""
    orders = ["as given" if title == "CSR5" else "reordered" for title in titles]
    there = [m for m in matrices if all(rates.of(n, m, o) for names, o in zip(sides, orders) for n in names)]
    if not there:
        return ""
    one, other = (mean(max(rates.of(n, m, o) for n in names) for m in there) for names, o in zip(sides, orders))
    return f"; in the document's orders the ratio of arithmetic means is {one / other:.2f}"


def _not_run(rates, title):
    return f"{title} was not run" + (": its CPU code is for f64" if title == "CSR5" and rates.kind == "f32" and
                                     rates.device == "cpu" else "")


def _compared(rates, series, one, other, regular):
    """Returns (verdict, finding, remark) of the comparison of two methods, or None if no matrix has both."""
    sides, shared = rates.equal([series[one], series[other]], regular)
    if not shared:
        return None
    found = [_averages(rates, names, shared) for names in sides]
    ratios = [a / b for a, b in zip(*found)]
    rows = "; ".join(f"{title} " + ", ".join(f"{rate:.1f}" for rate in averages) + " GFLOP/s"
                     for title, averages in zip((one, other), found))
    told = f"{rows}; ratios " + ", ".join(f"{q:.2f}" for q in ratios)
    remark = (f"{THREE} over {len(shared)} matrices ({len(rates.twins(shared))} twins); decided if all three "
              f"differ by more than the margin of means, {rates.margin_of_means:.2f} ({_repeats(rates)}); kernels a "
              f"side: {len(sides[0])}, in two orders{_document_orders(rates, sides, (one, other), shared)}")
    return by_margin(ratios, rates.margin_of_means), told, remark


def _numbers(systems, kind, titles):
    """Returns the document's rates of the methods on the systems that have at least one of them."""
    told = {system: _told({t: rates[kind][t] for t in titles if t in rates[kind]}) for system, rates in systems.items()}
    told = "; ".join(f"{system}: {text}" for system, text in told.items() if text)
    return f" ({told} GFLOP/s)" if told else ""


def _repeats(rates):
    return f"from repeats on {rates.again} matrices" if rates.again else "without repeats"


def _compare(report, rates, series, what, item, text, one, other, regular):
    """Adds the claim that `one` is faster than `other` on average over the class. regular: None for all matrices."""
    missing = [title for title in (one, other) if title not in series]
    if missing:
        report.claim(item, text, f"{what}: no {missing[0]}", NOT_COMPARABLE, _not_run(rates, missing[0]))
        return
    found = _compared(rates, series, one, other, regular)
    if not found:
        return
    titles = [OURS[rates.device].get(title, title) for title in (one, other)]
    ours = _compared(rates, series, *titles, regular) if all(title in series for title in titles) else None
    decided, why = found[0], found[2]
    if ours and rates.device == "cpu" and ours[0] != decided and other not in OURS["cpu"]:
        decided, why = NOT_COMPARABLE, f"{COMPILERS}; {why}"
    report.claim(item, text, f"{what}: {found[1]}", decided, why,
                 f"{ours[0]}: {ours[1]}" if ours and titles != [one, other] else "-")


def on_cpu(report, rates, series, what):
    for regular, kind in ((True, "regular"), (False, "irregular")):
        numbers = _numbers(printed.CPU, kind, ("CSR-2", "CSR5"))
        text = f"tuned CSR-2 is faster than CSR5 on {kind} matrices{numbers}"
        _compare(report, rates, series, what, "figures 6a to 6d", text, "CSR-2", "CSR5", regular)
    for other in ("MKL", "CSR5"):
        for regular, kind in ((None, "all"), (True, "regular"), (False, "irregular")):
            text = f"tuned CSR-2 is faster than {other} on {kind} matrices"
            _compare(report, rates, series, what, "section 9", text, "CSR-2", other, regular)
    for text, names in (("the first five matrices (fewer than three entries per row), Hamrle3 and debr (Ice Lake)",
                         printed.CSR5_AHEAD),
                        ("the Wikipedia matrices and webbase-1M (Ice Lake)", printed.VERY_IRREGULAR)):
        _mostly_ahead(report, rates, series, what, "section 6", f"CSR5 is faster than CSR-2 on {text}",
                      ("CSR5", "CSR-2"), names)
    overhead(report, rates, what)
    orderings(report, rates, what, {2: series.get("CSR-2"), 3: series.get("CSR-3")}, ("MKL", "Kokkos Kernels"), series)


def _mostly_ahead(report, rates, series, what, item, text, titles, names):
    """Adds the claim that the first method is faster than the second on most of the matrices `names`."""
    missing = [title for title in titles if title not in series]
    if missing:
        report.claim(item, text, f"{what}: no {missing[0]}", NOT_COMPARABLE, _not_run(rates, missing[0]))
        return
    sides, shared = rates.equal([series[title] for title in titles], None)
    found = [max(rates.of(n, m) for n in sides[0]) / max(rates.of(n, m) for n in sides[1])
             for m in shared if m in names]
    if not found:
        return
    ahead, behind = sum(q > rates.margin for q in found), sum(q < 1 / rates.margin for q in found)
    report.claim(item, text, f"{what}: faster on {ahead}, slower on {behind} of {len(found)}",
                 CONFIRMED if 2 * ahead > len(found) else REFUTED if 2 * behind > len(found) else NOT_COMPARABLE,
                 f"decided by most of the matrices; differences up to a factor of {rates.margin:.2f} do not count "
                 f"({_repeats(rates)})")


def _pointers(rows, k):
    """Returns the bytes of the group pointers of CSR-k with the document's SRS of 96, and SSRS of 8."""
    super_rows = -(-rows // 96)
    return 8 * (super_rows + 1 + (-(-super_rows // 8) + 1 if k == 3 else 0))


def overhead(report, rates, what):
    """Adds the claims on the share of bytes of the group pointers: counted, and in this library's plans."""
    for k in (2, 3):
        stored = {(r["matrix"], r["format"]): r for r in rates.records if r.get("bytes") and not r["peer"] and
                  r["ordering"] == "none" and (r["format"] == "csr" or r["kernel"] == f"csr{k}_listing_cpu")}
        both = [(r, stored[m, "csr"]) for (m, name), r in stored.items() if name != "csr" and (m, "csr") in stored]
        if both:
            printed = max(100 * _pointers(csr["rows"], k) / csr["bytes"] for _, csr in both)
            ours = max(100 * (r["bytes"] / csr["bytes"] - 1) for r, csr in both)
            report.claim("section 2.2", "the only memory overhead of CSR-k is its few pointers",
                         f"{what}: csr{k} has at most {printed:.2f} % more bytes than csr", verdict(printed <= 1),
                         f"holds up to 1 %; {len(both)} matrices; 8 bytes for each super-row of 96 rows. Band-k also "
                         "needs a permuted copy of the matrix", f"at most {ours:.2f} % with row blocks for threads")


# ---- orderings --------------------------------------------------------------------------------------------------


def told_gains(gains, rates):
    """Returns the geometric mean of {matrix: gain} on twins, and each gain on the other matrices."""
    twins = rates.twins(gains)
    told = [f"{geometric_mean(gains[m] for m in twins):.2f} on {len(twins)} twins"] if twins else []
    return "; ".join(told + [f"{m} {q:.2f}" for m, q in gains.items() if m not in twins])


def ordering_verdict(own, margin, variant=False):
    """Returns (verdict, reason, ours) of gains that should exceed 1 on matrices that are not twins.

    variant: the ordering is a reading of the document. Its verdict is then in the column "ours".
    """
    if len(own) < suite.FEW:
        return NOT_COMPARABLE, TOO_FEW, "-"
    ratios = [average(own) for average in AVERAGES]
    found, rule = by_margin(ratios, margin), f"{THREE} over {len(own)} real or exact matrices, margin {margin:.2f}"
    if not variant or found == NOT_COMPARABLE:
        return found, rule, "-"
    return VARIANT, f"{READING}; {rule}", f"{found}: " + ", ".join(f"{q:.2f}" for q in ratios)


def orderings(report, rates, what, by_k, peers, series):
    """Adds the claims on Band-k (abstract) and on RCM (section 5.3). by_k: {k: labels}; peers: titles."""
    claims = [("abstract", f"CSR-{k} is faster with the ordering Band-k", names[:1], True)
              for k, names in by_k.items() if names]
    claims += [("section 5.3", "RCM improves performance", series[title], False) for title in peers if title in series]
    for item, text, names, variant in claims:
        for name in names:
            gains = rates.gains(name)
            if gains:
                own = [q for m, q in gains.items() if m not in rates.twins(gains)]
                decided, why, ours = ordering_verdict(own, rates.margin, variant)
                report.claim(item, text, f"{what}, `{name}`: times as fast as in the given order: "
                             f"{told_gains(gains, rates)}", decided, why, ours)


def band(report, widths, own):
    """Adds the claim on Band-k's bandwidth. widths: {matrix: Band-k's / RCM's}; own: matrices that are not twins."""
    def told(names):
        near = sum(1 <= widths[m] <= 1.5 for m in names)
        return f"{near} of {len(names)}, geometric mean {geometric_mean(widths[m] for m in names):.2f}"

    own = [m for m in own if m in widths]
    twins = [m for m in widths if m not in own]
    found = "; ".join(f"{kind}: {told(names)}" for kind, names in (("twins", twins), ("real or exact", own)) if names)
    near = sum(1 <= widths[m] <= 1.5 for m in own)
    text, found = "Band-k's band is normally slightly wider than RCM's", f"1 to 1.5 times as wide on {found}"
    if len(own) < suite.FEW:
        report.claim("figure 2", text, found, NOT_COMPARABLE, TOO_FEW)
    else:
        report.claim("figure 2", text, found, VARIANT, f"{READING}; decided by most real or exact matrices",
                     f"{verdict(2 * near > len(own))}: {near} of {len(own)}")


# ---- GPU --------------------------------------------------------------------------------------------------------


def _worst_on_gpu(report, rates, series, what):
    if "cuSPARSE" not in series or "CSR-3" not in series:
        return
    ratios = {m: q for m, q in rates.ratios("CSR-3", "cuSPARSE").items() if not suite.is_regular(m)}
    worst = [q for m, q in ratios.items() if m in printed.WORST_ON_GPU]
    others = [q for m, q in ratios.items() if m not in printed.WORST_ON_GPU]
    if worst and others:
        pairs = [(average(worst), average(others)) for average in AVERAGES]
        report.claim("section 7", "CSR-3 is particularly bad on the first five irregular matrices",
                     f"{what}: of cuSPARSE's rate CSR-3 has " + ", ".join(f"{one:.2f}" for one, _ in pairs) +
                     " on these five, " + ", ".join(f"{other:.2f}" for _, other in pairs) + " on the other irregular "
                     "matrices", by_margin([other / one for one, other in pairs], rates.margin_of_means), THREE)


GPU_CLAIMS = (("figures 7a to 7d", "CSR-3", "cuSPARSE", True), ("figures 7a to 7d", "cuSPARSE", "CSR-3", False),
              ("figures 7a to 7d", "CSR-3", "CSR5", True), ("figures 7a to 7d", "CSR5", "CSR-3", False),
              ("abstract", "CSR-3", "Kokkos Kernels", True))


def on_gpu(report, rates, series, what):
    for item, one, other, regular in GPU_CLAIMS:
        kind = "regular" if regular else "irregular"
        _compare(report, rates, series, what, item, f"{one} is faster than {other} on {kind} matrices"
                 f"{_numbers(printed.GPU, kind, (one, other))}", one, other, regular)
    for text, titles, names in (
            ("CSR5 is faster than CSR-3 on the first five matrices (V100)", ("CSR5", "CSR-3"), printed.FIRST_FIVE),
            ("Kokkos Kernels are faster than CSR-3 on hugetrace-00000 and hugetric-00000 (V100)",
             ("Kokkos Kernels", "CSR-3"), printed.KOKKOS_AHEAD),
            *((f"{other} is faster than {one} on AS365, M6 and NLR (V100)", (other, one), printed.OTHERS_AHEAD)
              for other in ("cuSPARSE", "Kokkos Kernels") for one in ("CSR-3", "CSR5")),
            *((f"{one} is faster than {other} on CurlCurl_3 and Hamrle3 (V100)", (one, other), printed.OTHERS_BEHIND)
              for other in ("cuSPARSE", "Kokkos Kernels") for one in ("CSR-3", "CSR5"))):
        _mostly_ahead(report, rates, series, what, "section 7", text, titles, names)
    report.claim("figure 7", "CSR-3 compared with TileSpMV (A100)", f"{what}: no TileSpMV", NOT_COMPARABLE,
                 "not run: its public source has no licence")
    _worst_on_gpu(report, rates, series, what)
    _by_density(report, rates, series, what)
    orderings(report, rates, what, {3: series.get("CSR-3"), 2: ["csr2"]}, ("cuSPARSE", "Kokkos Kernels"), series)


def _by_density(report, rates, series, what):
    """Adds the claim on irregular matrices: CSR-3's rate relative to cuSPARSE grows with the mean row length."""
    if "CSR-3" not in series or "cuSPARSE" not in series:
        return
    ratios = {m: q for m, q in rates.ratios("CSR-3", "cuSPARSE").items() if not suite.is_regular(m)}
    found = rank_correlation([(rates.matrices[m]["nnz"] / rates.matrices[m]["rows"], q) for m, q in ratios.items()])
    if found is not None:
        report.claim("section 7", "on irregular matrices CSR-3 does better as rows get denser",
                     f"{what}: rank correlation of the mean row length with CSR-3's rate / cuSPARSE's: {found:.2f}",
                     verdict(found > 0.3), f"holds over 0.3; {len(ratios)} matrices")


def _k_on_gpu(report, rates, labels, shared, what):
    ratios = {m: q for m, q in rates.ratios(labels[2], labels[3]).items() if m in shared}
    ahead = sorted(m for m, q in ratios.items() if q > rates.margin)
    named = dict.fromkeys(m for names in printed.CSR2_AHEAD.values() for m in names)
    text = "; ".join(f"{system}: {' '.join(names)}" for system, names in printed.CSR2_AHEAD.items())
    report.claim("section 7", f"CSR-2 beats CSR-3 by over 5 % on few matrices ({text})", f"{what}: -", VARIANT,
                 f"{NO_LISTING}; holds if on at most a tenth; margin {rates.margin:.2f} ({_repeats(rates)})",
                 f"{verdict(len(ahead) <= 0.1 * len(ratios))}: on {len(ahead)} of {len(ratios)}, of the named "
                 f"matrices on {' '.join(m for m in named if m in ahead) or 'none'}")
    for peer in ("cuSPARSE", "CSR5"):
        one = rates.ratios(labels[2], peer).get("wiki-Talk")
        if one:
            report.claim("section 7", f"CSR-2 is slower than {peer} on wiki-Talk", f"{what}: -", VARIANT, NO_LISTING,
                         f"{by_margin([1 / one], rates.margin)}: {one:.2f} of its speed")
    compared = [m for m in ahead if rates.of("cuSPARSE", m)]
    ratios = {m: q for m, q in rates.ratios(labels[2], "cuSPARSE").items() if m in compared}
    behind = [m for m, q in ratios.items() if q < 1 / rates.margin]
    faster = any(q > rates.margin for q in ratios.values())
    decided = CONFIRMED if len(behind) == len(compared) else REFUTED if faster else NOT_COMPARABLE
    if compared:
        report.claim("section 7", "where CSR-2 is faster than CSR-3, it is still slower than cuSPARSE",
                     f"{what}: -", VARIANT, f"{NO_LISTING}; holds if on all of them",
                     f"{decided}: slower on {len(behind)} of {len(compared)}")


def choice_of_k(report, rates, series, labels, shared, what):
    """Adds the claims on CSR-2 and CSR-3. labels: {k: label}; shared: the matrices on which both ran."""
    if rates.device == "gpu":
        _k_on_gpu(report, rates, labels, shared, what)
        return
    _compare(report, rates, series, what, "section 6.2", "on CPUs CSR-2 always outperforms CSR-3 on average", "CSR-2",
             "CSR-3", None)
    ahead = [m for m, q in rates.ratios(labels[3], labels[2]).items() if m in shared and q > rates.margin]
    by_chance = 0.05 * len(shared)
    report.claim("section 6.2", "CSR-3 is never able to outperform CSR-2 (Ice Lake)",
                 f"{what}: CSR-3 is faster on {len(ahead)} of {len(shared)}",
                 REFUTED if len(ahead) > by_chance else NOT_COMPARABLE if ahead or rates.margin > 1.1 else CONFIRMED,
                 f"each with the best of its sizes, as in the document; faster by more than the margin, "
                 f"{rates.margin:.2f} ({_repeats(rates)}), which chance exceeds on 5 % of the matrices; confirmed "
                 "only with a margin of at most 1.1")


# ---- figure 5 ---------------------------------------------------------------------------------------------------


def within(values, least, most, margin):
    """Returns the verdict for values that should lie within limits; not comparable if a value that differs from a limit
    by less than the margin decides."""
    if all(least * margin <= v <= most / margin for v in values):
        return CONFIRMED
    return REFUTED if any(v < least / margin or v > most * margin for v in values) else NOT_COMPARABLE


def scalability(report, found, teams, base, margin):
    """Adds the claims on figure 5. found: {title: [(threads, speed-up over `base` with the fewest threads)]}. margin:
    of means over a class."""
    def at(threads, names):
        return {name: dict(found[name])[threads] for name in names if name in found}

    theirs = ("CSR-2", "CSR-3", "CSR5")
    near = f"differences of up to {100 * (margin - 1):.0f} %, the margin of means with all threads, decide nothing"
    missing = [name for name in theirs if name not in found]
    text = "CSR-2, CSR-3 and CSR5 are 8 to 12 times as fast with 16 cores"
    if missing or teams[-1] < 16:
        report.claim("figure 5", text, f"speed-up with {teams[-1]} threads over {base}: "
                     f"{_told(at(teams[-1], theirs)) or 'none'}", NOT_COMPARABLE,
                     "not all methods were run" if missing else "fewer than 16 cores")
        return
    values = at(16, theirs)
    own = {name: value / dict(found[name])[teams[0]] for name, value in values.items()}
    report.claim("figure 5", text, f"speed-up over {base} with {teams[0]} thread: {_told(values)}",
                 within(values.values(), 8, 12, margin), f"{near}; speed-up over the same kernel with "
                 f"{teams[0]} thread: {_told(own)}", _told(at(16, ("CSR-2, vector rows",))) or "-")
    if 4 in teams:
        four = at(4, (*theirs, "MKL", "MKL, optimized"))
        found_by = [within([max(own.values()) / min(own.values())], 0, 1.25, margin)
                    for own in (at(4, (*theirs, mkl)) for mkl in ("MKL", "MKL, optimized") if mkl in found)]
        report.claim("figure 5", "all methods are about equally fast with 4 cores", f"speed-up over {base} with "
                     f"{teams[0]} thread: {_told(four)}",
                     found_by[0] if len(set(found_by)) == 1 else NOT_COMPARABLE,
                     "holds if the fastest is at most 1.25 times as fast as the slowest, with plain and with optimised "
                     f"MKL; {near}",
                     _told(at(4, ("CSR-2, vector rows", "CSR, balanced"))) or "-")
    most = at(teams[-1], theirs)
    report.claim("figure 5", "with all cores CSR-2 does better than CSR5", f"speed-up with {teams[-1]} threads over "
                 f"{base} with {teams[0]} thread: {_told(most)}", by_margin([most["CSR-2"] / most["CSR5"]], margin),
                 near, _told(at(teams[-1], ("CSR-2, vector rows",))) or "-")
