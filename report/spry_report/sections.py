"""Sections of the page about one group of cases: tables and charts, with a sentence on how to read them."""
import math

from . import charts, words
from .lists import lists_of
from .measures import break_even, cost_of_calls, geometric_mean, profile, regret
from .parts import BAR_LEGEND, Html, code, element, figure, join, legend, line_legend, paragraph, section, table

NAMED = 7  # number of lines with their own colour
PRODUCTS = ("spmv", "spmv_t", "spmv_add", "spmm", "spmm_t")
CALLS = (1, 10, 100, 1000, None)


def is_disturbed(case):
    return bool(case and case.disturbed)


def name_of(competitor, star=False):
    """Returns the competitor's name, with a tag unless it is a kernel of Spry."""
    pieces = [code(competitor.label)]
    if competitor.peer or competitor.loop:
        pieces.append(element("span", "peer" if competitor.peer else "textbook loop", class_="tag"))
    if star:
        pieces.append(Html(" <b class=\"star\" title=\"fastest\">\u2605</b>"))
    return join(pieces, " ")


def each_group(groups, make):
    """Returns make(group) for each group, below the group's title if there is more than one group."""
    found = []
    for group in groups:
        content = make(group)
        if content:
            if len(groups) > 1:
                found.append(element("h3", group.title))
            found.append(content)
    return found


# ---- summary ----------------------------------------------------------------------------------------

def _summary_table(group, sources):
    lists = lists_of(group.subjects, sources)
    heads = [("kernel", "t", None), ("all", "n", "geometric mean over all matrices of the time over the fastest")]
    heads += [(name, "n", f"geometric mean over {words.some(len(members), 'matrix', 'matrices')}")
              for name, members in lists.items()]
    heads += [("worst", "n", "largest time over the fastest of any matrix"),
              ("won", "n", "matrices on which it was the fastest"),
              ("ran", "n", "matrices with a correct result")]
    rows, classes = [], []
    total = len(group.subjects)
    for place, competitor in enumerate(group.ranked()):
        ran = group.count_ran(competitor)
        row = [name_of(competitor, place == 0 and ran == total), words.factor(group.mean_factor(competitor))]
        for members in lists.values():
            all_ran = group.count_ran(competitor, members) == len(members)
            value = words.factor(group.mean_factor(competitor, members))
            row.append(value if all_ran or value == "\u2013" else f"({value})")
        if ran < total:
            row[1] = f"({row[1]})"
        worst = max(f for f in group.factors(competitor) if f is not None)
        row += [words.factor(worst), group.won(competitor) or "\u2013", f"{ran} of {total}"]
        rows.append(row)
        classes.append(f"{competitor.kind}{' winner' if place == 0 and ran == total else ''}")
    return table(f"Time over the fastest: {group.title}", heads, rows, classes,
                 "1.00\u00d7 means the fastest on every matrix. In brackets: it did not run on all matrices.")


def summary(groups, sources):
    return section("summary", "Summary", paragraph(
        "A kernel\u2019s time on a matrix is divided by the fastest time on that matrix; the table has the geometric "
        "means of these factors. A matrix is regular if its row lengths have a variance of at most 10."),
        *each_group(groups, lambda group: _summary_table(group, sources)))


# ---- bars -------------------------------------------------------------------------------------------

def _mean_bars(group, name, subjects, slug):
    """Draws means over subjects: a bar for the best kernel of each format, for each peer and for auto."""
    rows = []
    for competitor in group.best_of_formats():
        ran = group.count_ran(competitor, subjects)
        mean = group.mean_factor(competitor, subjects)
        if mean is None:
            continue
        disturbed = any(is_disturbed(group.case(s, competitor)) for s in subjects)
        tail = words.factor(mean) + (f" {ran} of {len(subjects)}" if ran < len(subjects) else "")
        rows.append((ran < len(subjects), mean, competitor, tail, disturbed))
    rows.sort(key=lambda row: (row[0], row[1]))
    best = rows[0][1] if rows else None
    bars = [(c.label, c.kind, max(mean / best, 1.0 if n == 0 else 1.0001), tail, d)
            for n, (_, mean, c, tail, d) in enumerate(rows)]
    title = "Mean over " + words.some(len(subjects), f"{name} matrix".strip(), f"{name} matrices".strip())
    picture = charts.bars(bars, slug, f"{title}: {group.title}", _describe_bars(bars))
    return figure(picture, title, "panel mean") if picture else None


def _describe_bars(bars):
    return "From the fastest on: " + "; ".join(f"{name} {tail}" for name, _, _, tail, _ in bars[:8]) + "."


def _matrix_bars(group, subject, slug):
    """Draws a bar for the best kernel of each format on this matrix, each peer, and auto."""
    formats = dict.fromkeys(c.format for c in group.competitors if c.kind == "ours")
    chosen = [group.best(subject, lambda c, f=f: c.kind == "ours" and c.format == f) for f in formats]
    absent = [f for f, c in zip(formats, chosen) if c is None]
    chosen = [c for c in chosen if c] + [c for c in group.competitors if c.kind != "ours" and group.case(subject, c)]
    rows = []
    for competitor in chosen:
        case, factor = group.case(subject, competitor), group.factor(subject, competitor)
        tail = case.status if factor is None else words.time(case.time_us) + (
            "" if factor <= 1 else f"  {words.factor(factor)}")
        rows.append((competitor.label, competitor.kind, factor, tail, is_disturbed(case)))
    for format_ in absent:
        statuses = {group.case(subject, c).status for c in group.competitors
                    if c.kind == "ours" and c.format == format_ and group.case(subject, c)}
        if statuses:
            rows.append((format_, "ours", None, "failed" if statuses & {"failed", "wrong"} else "skipped", False))
    rows.sort(key=lambda row: (row[2] is None, row[2] or 0, row[0]))
    picture = charts.bars(rows, slug, f"{subject.label}: {group.title}", _describe_bars(rows))
    return figure(picture, code(subject.label), "panel") if picture else None


def _bars(group):
    panels = [_mean_bars(group, "", group.subjects, f"{group.slug}-mean")] if len(group.subjects) > 1 else []
    for name in ("regular", "irregular"):
        members = [s for s in group.subjects if s.class_ == name]
        if 1 < len(members) < len(group.subjects):
            panels.append(_mean_bars(group, name, members, f"{group.slug}-{name}"))
    panels += [_matrix_bars(group, subject, f"{group.slug}-bars{n}") for n, subject in enumerate(group.subjects, 1)]
    return element("div", *[panel for panel in panels if panel], class_="panels")


def bars(groups):
    return section("bars", "Matrix by matrix", paragraph(
        "A longer bar is a faster kernel; the fastest has the full length. The best kernel of each of Spry\u2019s "
        "formats is shown. The text after a bar is its time, and its time over the fastest time."), BAR_LEGEND,
        *each_group(groups, _bars))


# ---- performance profile ----------------------------------------------------------------------------

def choose_named(competitors, most=NAMED):
    """Returns the competitors that get lines of their own, by rank: auto, at least two peers, and our best kernels."""
    auto = [c for c in competitors if c.is_auto][:1]
    peers, ours = [c for c in competitors if c.peer], [c for c in competitors if c.kind == "ours"]
    room = most - len(auto)
    of_peers = min(len(peers), max(2, room - len(ours)))
    chosen = set(auto + peers[:of_peers] + ours[:room - of_peers])
    return [c for c in competitors if c in chosen]


def _profile(group):
    tried = [c for c in group.ranked() if group.was_tried(c)]
    untried = [c for c in group.ranked() if not group.was_tried(c)]
    if len(group.subjects) < 2 or not tried:
        return None
    named = choose_named([c for c in group.best_of_formats() if c in tried])
    others = [c for c in tried if c not in named]
    picture = charts.profile([(c.label, group.factors(c)) for c in named], [group.factors(c) for c in others],
                             f"{group.slug}-profile", f"Performance profile: {group.title}",
                             "Each line shows the share of matrices on which a kernel is within a factor of the "
                             "fastest.")
    ats = (1.0, 1.1, 1.5, 2.0, 4.0)
    heads = [("kernel", "t", None)] + [("fastest" if at == 1 else f"\u2264\u2009{at:g}\u00d7", "n", None) for at in ats]
    heads.append(("never", "n", "matrices on which it did not run or was wrong"))
    rows = [[name_of(c)] + [words.percent(profile(group.factors(c), at)) for at in ats] +
            [len(group.subjects) - group.count_ran(c) or "\u2013"] for c in tried]
    note = paragraph("Not in the profile, because they were not measured on all matrices: ",
                     words.listed([c.label for c in untried]), ".") if untried else None
    legend_ = line_legend([name_of(c) for c in named], f"{words.some(len(others), 'other')}" if others else None)
    return join([element("div", figure(picture, legend_, "chart"),
                         table(f"Share of matrices: {group.title}", heads, rows, [c.kind for c in tried]),
                         class_="beside"), note])


def profiles(groups):
    content = each_group(groups, _profile)
    return section("profile", "Performance profile", paragraph(
        "The share of the matrices on which a kernel is within a factor of the fastest. A higher line is better. The "
        "left edge shows how often a kernel is the fastest, the rest how much slower it is on other matrices. A matrix "
        "without a correct result counts as never."), *content) if content else None


# ---- roofline ---------------------------------------------------------------------------------------

def _best_cases(group, subject):
    """Returns {kind of marker: case}."""
    found = {"csr": group.best(subject, lambda c: c.kind == "ours" and c.format == "csr"),
             "ours": group.best(subject, lambda c: c.kind == "ours"),
             "peer": group.best(subject, lambda c: c.peer), "auto": group.best(subject, lambda c: c.is_auto)}
    return {kind: group.case(subject, c) for kind, c in found.items() if c}


def _roofline(group):
    rows = []
    points = []
    for number, subject in enumerate(group.subjects, 1):
        cases = _best_cases(group, subject)
        marks = {kind: case.gbps for kind, case in cases.items() if case.gbps}
        if marks:
            rows.append((subject.label, marks))
        for kind in ("ours", "peer"):
            case = cases.get(kind)
            if case and case.gbps and case.gflops:
                points.append((number, kind, case.gflops / case.gbps, case.gflops))
    copies = group.copy_gbps()
    keys = [("mark-ours", "the best of Spry"), ("mark-csr", "Spry\u2019s best on plain CSR"),
            ("mark-peer", "the best peer"), ("mark-auto", "auto")]
    seen = {kind for _, marks in rows for kind in marks}
    marks_legend = legend([(k, t) for k, t in keys if k[5:] in seen] + ([("roof", "copy bandwidth")] if copies else []))
    picture = charts.bandwidth(rows, copies, f"{group.slug}-bandwidth", f"Bandwidth: {group.title}",
                               "Rates of the best kernels on each matrix, and the copy bandwidth.")
    found = [figure(picture, join([marks_legend, "Bytes of plain CSR, x and y, divided by the time."]), "chart")] \
        if picture else []
    intensities = [point[2] for point in points]
    if points and max(intensities) > 1.02 * min(intensities):
        picture = charts.roofline(points, copies, f"{group.slug}-roofline", f"Roofline: {group.title}",
                                  "GFLOP/s against operations per byte, with the bound of the copy bandwidth.")
        matrices = join([join([element("b", n), "\u00a0", code(s.label)])
                        for n, s in enumerate(group.subjects, 1)], ", ")
        found.append(figure(picture, join(["The line is the bound of the copy bandwidth. Matrices: ", matrices, "."]),
                            "chart"))
    return element("div", *found, class_="beside") if found else None


def rooflines(groups):
    content = each_group(groups, _roofline)
    return section("roofline", "Roofline", paragraph(
        "A product reads its matrix once, so memory bandwidth bounds its speed. A mark right of the line (above it, in "
        "the second chart) is no error: caches held the matrix, or its format is smaller than plain CSR."),
        *content) if content else None


# ---- break-even -------------------------------------------------------------------------------------

def _base(group, subject):
    competitor = group.best(subject, lambda c: c.kind == "ours" and c.format == "csr")
    return group.case(subject, competitor) if competitor else None


def paid_calls(group, competitor):
    """Returns for each subject the number of calls after which set-up has paid, relative to the best csr kernel; None
    if unknown."""
    found = []
    for subject in group.subjects:
        base, case = _base(group, subject), group.case(subject, competitor)
        found.append(break_even(case.setup_us, case.time_us, base.setup_us, base.time_us)
                     if base and case and case.ran else None)
    return found


def _cheapest(group):
    """Returns, for each number of calls, the competitor with the least mean cost relative to the best csr kernel."""
    ours = [c for c in group.best_of_formats() if c.kind == "ours" and group.count_ran(c) == len(group.subjects)]
    csr = next((c for c in ours if c.format == "csr"), None)
    rows = []
    for calls in CALLS if csr else ():
        means = []
        for number, competitor in enumerate(ours):
            ratios = []
            for subject in group.subjects:
                case, base = group.case(subject, competitor), group.case(subject, csr)
                costs = [cost_of_calls(c.setup_us, c.upload_us, c.time_us, calls) for c in (case, base)]
                ratios.append(costs[0] / costs[1] if costs[0] and costs[1] else None)
            if None not in ratios:
                means.append((geometric_mean(ratios), number))
        if means:
            mean, number = min(means)
            rows.append(["many" if calls is None else words.count(calls), name_of(ours[number]), words.factor(mean)])
    return table(f"Best kernel by number of calls: {group.title}",
                 [("calls", "n", None), ("least cost on average", "t", None), ("of csr\u2019s cost", "n", None)],
                 rows, None,
                 f"Time of set-up and calls, divided by that of {csr.label}.") if rows else None


def _break_even(group):
    if group.key[0].split(" ")[0] not in PRODUCTS:
        return None
    rivals = [c for c in group.best_of_formats() if c.is_spry and c.format != "csr"]
    series = [(c, paid_calls(group, c)) for c in rivals]
    series = [(c, calls) for c, calls in series if any(n is not None for n in calls)]
    if not series:
        return None
    heads = [("kernel", "t", None)] + [(s.label, "n", None) for s in group.subjects]
    rows = [[name_of(c)] + [words.calls(n) for n in calls] for c, calls in series]
    named = [(c, calls) for c, calls in series if any(n not in (None, math.inf) for n in calls)][:NAMED]
    picture = charts.paid([(c.label, calls) for c, calls in named], f"{group.slug}-paid", f"Break-even: {group.title}",
                          "Share of the matrices where the set-up of a format has paid, by the number of calls.")
    shown = figure(picture, line_legend([name_of(c) for c, _ in named]), "chart") if picture else None
    return join([element("div", *[x for x in (shown, _cheapest(group)) if x], class_="beside"),
                 table(f"Calls after which the set-up has paid: {group.title}", heads, rows)])


def break_evens(groups):
    content = each_group(groups, _break_even)
    return section("break-even", "Break-even", paragraph(
        "A format needs set-up time before its first product. The number of calls is the number of products after "
        "which set-up has paid, compared with the fastest of Spry\u2019s csr kernels on the same matrix. Never: its "
        "products are not faster. The best kernel of each format on average is shown."), *content) if content else None


# ---- regret of auto ---------------------------------------------------------------------------------

def _regret(group):
    rows, losses, classes = [], [], []
    for auto in [c for c in group.competitors if c.is_auto]:
        for subject in group.subjects:
            case = group.case(subject, auto)
            if not (case and case.ran):
                continue
            ours = [c for c in group.competitors if c.kind == "ours" and group.time(subject, c) is not None
                    and group.case(subject, c).deterministic is not False]
            loss = regret(case.time_us, [group.time(subject, c) for c in ours])
            best = min(ours, key=lambda c: group.time(subject, c)) if ours else None
            losses.append(loss)
            taken = join([code(case.kernel or "not known"), "\u2020" if case.disturbed else None])
            rows.append([code(subject.label), taken, words.time(case.time_us),
                         name_of(best) if best and loss > 1 else "itself",
                         words.time(group.time(subject, best)) if best and loss > 1 else "\u2013", words.factor(loss)])
            classes.append(None)
    if not rows:
        return None
    rows.append(["geometric mean", "", "", "", "", words.factor(geometric_mean(losses))])
    rows.append(["worst", "", "", "", "", words.factor(max(losses))])
    return table(f"Regret of auto: {group.title}",
                 [("matrix", "t", None), ("auto took", "t", None), ("time", "n", None), ("best of Spry", "t", None),
                  ("its time", "n", None), ("loss", "n", "time of auto over the best")], rows, classes + ["sum", "sum"])


def regrets_of_auto(groups):
    content = each_group(groups, _regret)
    return section("regret", "Regret of auto", paragraph(
        "The loss by auto\u2019s choice: its time over the fastest of Spry\u2019s deterministic "
        "kernels in the "
        "same run. 1.00\u00d7 is no loss. Noise can cause losses of a few per cent."), *content) if content else None
