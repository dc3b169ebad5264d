"""The page: heading, machine and method, sections about groups, matrices, and cases that did not run."""
import os
import re

from . import charts, compare, matrices, sections, words
from .groups import make_groups
from .measures import geometric_mean
from .parts import Html, code, element, facts, figure, join, paragraph, section, table

_FOLDER = os.path.dirname(os.path.abspath(__file__))


# ---- heading ----------------------------------------------------------------------------------------

def _ratio(group, of, over):
    """Returns a list of ratios, the time of `over` divided by the time of `of`, for subjects where both ran.

    `of` and `over` are functions from a subject to a time.
    """
    pairs = [(of(s), over(s)) for s in group.subjects]
    return [b / a for a, b in pairs if a is not None and b is not None]


def _best_time(group, choose):
    def time(subject):
        best = group.best(subject, choose)
        return group.time(subject, best) if best else None
    return time


def _who_won(group):
    """Returns a sentence with the fastest competitor and its speed-up over Spry's best kernel on plain CSR."""
    where = f"over {words.some(len(group.subjects), 'matrix', 'matrices')} ({group.title})" \
        if len(group.subjects) > 1 else f"on {group.subjects[0].label} ({group.title})"
    best = group.ranked()[0]
    csr = next((c for c in group.ranked() if c.kind == "ours" and c.format == "csr"), None)
    whose = ", of another library," if best.peer else ", Spry\u2019s textbook loop," if best.loop else None
    start = join([code(best.label), whose, f" was the fastest {where}"])
    if best == csr:
        return join([start, ": nothing was faster than plain CSR on average." if len(group.competitors) > 1 else "."])
    ratios = _ratio(group, lambda s: group.time(s, best), lambda s: group.time(s, csr)) if csr else []
    if not ratios:
        return join([start, "."])
    return join([start, f": {geometric_mean(ratios):.2f} times as fast on average as ", code(csr.label),
                 ", Spry\u2019s best on plain CSR."])


def _beside_peers(group):
    """Compares our best kernel with the best peer, matrix by matrix. Without peers, counts wins."""
    total = len(group.subjects)
    ratios = _ratio(group, _best_time(group, lambda c: c.is_spry), _best_time(group, lambda c: c.peer))
    if not ratios:
        winner = max(group.ranked(), key=group.won)
        return join(["No other library was measured. The kernel that was fastest most often is ", code(winner.label),
                     f", on {group.won(winner)} of {total}."])
    mean, won = geometric_mean(ratios), sum(ratio > 1 for ratio in ratios)
    how = f"{mean:.2f} times as fast" if mean >= 1 else f"{1 / mean:.2f} times as slow"
    if len(ratios) == 1:
        return f"Spry\u2019s best was {how} as the best of other libraries."
    return (f"Spry\u2019s best kernel was faster than the best of other libraries on {won} of {len(ratios)} matrices, "
            f"and {how} on average (from {min(ratios):.2f} to {max(ratios):.2f} times as fast).")


def _heading(groups, cases, sources, comparison):
    found = [element("h1", "Spry benchmark report")]
    counted = [group for group in make_groups([case for case in cases if not case.disturbed], sources)
               if group.subjects]
    if counted:
        main = max(counted, key=lambda group: len(group.cells))
        found.append(paragraph(_who_won(main), " ", _beside_peers(main), class_="lead"))
    elif groups:
        found.append(paragraph("There is no headline: other programs disturbed every case that ran. Measure again with "
                               "nothing else running.", class_="lead"))
    else:
        found.append(paragraph("No case ran, so there is nothing to compare. See ", element("a", "the reasons",
                               href="#absent"), " below.", class_="lead"))
    ran = [case for case in cases if case.ran]
    disturbed = sum(bool(case.disturbed) for case in ran)
    if disturbed:
        found.append(paragraph(element("strong", "Other programs disturbed this run: "),
                               f"{disturbed} of {words.some(len(ran), 'case')} ran while other programs used the "
                               "processors. "
                               "They are marked \u2020. Their times are inaccurate, and the headline ignores them.",
                               class_="warning"))
    bad = sum(case.status in ("wrong", "failed") for case in cases)
    if bad:
        found.append(paragraph(element("strong", f"{words.some(bad, 'case')} gave a wrong result or failed: "),
                               "see ", element("a", "what did not run", href="#absent"), ".", class_="warning"))
    if comparison and comparison.status == "regression":
        found.append(paragraph(element("strong", "Slower than before: "), comparison.reason, ".", class_="warning"))
    return found


# ---- machine and method -----------------------------------------------------------------------------

def _range(numbers, show=words.count):
    numbers = sorted({number for number in numbers if number is not None})
    if not numbers:
        return None
    return show(numbers[0]) if len(numbers) == 1 else f"{show(numbers[0])} to {show(numbers[-1])}"


def _rates(numbers):
    found = _range(numbers, words.three_digits)
    return f"{found} GB/s" if found else None


def _bytes(number):
    return f"{words.three_digits(number / 1e9)} GB" if number >= 1e9 else f"{words.three_digits(number / 1e6)} MB"


def _device_facts(device, cases):
    """Returns facts about a device from its records, and from `spry devices` if available."""
    ours = [case for case in cases if not case.peer]
    pairs = [("device", code(device["name"])), ("what it is", device.get("description"))]
    if device.get("units"):
        pairs.append(("processors", words.count(device["units"])))
    if device.get("simd"):
        pairs.append(("vector instructions", device["simd"]))
    if device.get("memory_bytes"):
        pairs.append(("memory", _bytes(device["memory_bytes"])))
    if device.get("cache_bytes"):
        pairs.append(("last-level cache", _bytes(device["cache_bytes"])))
    pairs.append(("threads", _range(case.threads for case in ours)))
    pairs.append(("copy bandwidth, measured", _rates(case.copy_gbps for case in cases)))
    return element("div", facts(pairs), class_="card")


def _machine(cases, here, sources):
    devices = []
    for name in dict.fromkeys(case.device for case in cases if case.device and case.ran):
        told = next((device for device in here if device.get("name") == name), {"name": name})
        devices.append(_device_facts(told, [case for case in cases if case.device == name]))
    states = [state for state in dict.fromkeys(case.state for case in cases if case.ran) if state]
    runs = _range(case.runs for case in cases if case.ran)
    ran = sum(case.ran for case in cases)
    about = facts([("records", f"{words.count(len(cases))}, of which {words.count(ran)} ran"),
                   ("from", join([code(source) for source in sources], ", ")),
                   ("caches", ", ".join(states) or None), ("batches or runs a case", runs)])
    told = None if here else paragraph("Records have no more information on the machine. A report of the benchmark "
                                       "itself (", code("spry bench --report"), ") also describes the processor.")
    return section("machine", "Machine and method", element("div", *devices, element("div", about, class_="card"),
                                                            class_="cards"),
                   *([told] if told else []), *_method(states))


def _method(states):
    caches = {("warm",): "Caches are warm: data that fit remain in them between runs. ",
              ("cold",): "Caches are cold: they are flushed before each run. "}
    return [paragraph(
        "Each kernel multiplies the same matrix by the same vectors. After a warm-up it is timed in batches. Batches "
        "of all kernels alternate, so changes of the machine affect all. The time is the median of the batches. ",
        caches.get(tuple(states), ""), "Set-up is timed separately."), paragraph(
        "Every result is checked in the same run, row by row, against the bound on rounding errors. A wrong kernel has "
        "no time. The copy bandwidth is that of a plain copy of large arrays, measured in the same run. GB/s count the "
        "bytes of the matrix as plain CSR and of both vectors once, for every format. Times of different runs are "
        "never divided by each other.")]


# ---- compared with an earlier run -------------------------------------------------------------------

def _comparison(c):
    rows, classes = [], []
    order = {"broken": 0, "slower": 1, "faster": 2, "mended": 3}
    for pair in sorted((p for p in c.pairs if p.verdict in order),
                       key=lambda p: (order[p.verdict], -abs(p.change) if p.old.ran and p.new.ran else 0)):
        timed = pair.old.ran and pair.new.ran
        rows.append([compare.case_name(pair.new), pair.verdict, words.time(pair.old.time_us),
                     words.time(pair.new.time_us),
                     compare.change(pair.change) if timed else "\u2013",
                     f"\u00b1 {compare.change(pair.noise)[1:]}" if timed else pair.why])
        classes.append("bad" if pair.verdict in ("broken", "slower") else "good")
    found = [paragraph(element("strong", {"ok": "No regression: ", "regression": "Regression: ",
                                          "incomparable": "Not comparable: "}[c.status]), c.reason, ".")]
    found.append(facts([("cases judged", words.count(len(c.pairs) - len(c.of("not judged")))),
                        ("not judged", words.count(len(c.of("not judged"))) if c.of("not judged") else None),
                        ("copy bandwidth now", words.gbps(c.copy_new)), ("before", words.gbps(c.copy_old))]))
    if rows:
        found.append(table("Cases that changed beyond their noise",
                           [("case", "t", None), ("verdict", "t", None), ("before", "n", None), ("now", "n", None),
                            ("change", "n", None), ("noise", "n", None)], rows, classes))
    if c.means:
        found.append(table("Mean change over matrices",
                           [("class", "t", None), ("matrices", "n", None), ("change", "n", None),
                            ("interval of 99 %", "t", None), ("verdict", "t", None)],
                           [[m.name, m.matrices, compare.change(
                               m.mean), compare.interval(m), m.verdict] for m in c.means],
                           ["bad" if m.verdict == "slower" else "" for m in c.means]))
    for title, cases in (("New: not in the earlier run", c.new), ("Vanished: only in the earlier run", c.vanished)):
        if cases:
            found.append(paragraph(element("strong", f"{title} ({len(cases)}): "),
                                   words.listed([compare.case_name(case) for case in cases], 12), "."))
    return section("compare", "Compared with the earlier run", *found)


# ---- matrices ---------------------------------------------------------------------------------------

def _matrix(number, subject, name, about, why):
    size = f"{words.count(subject.rows)} \u00d7 {words.count(subject.columns)}"
    found = [element("h3", code(name)),
             facts([("size", size), ("entries", words.count(subject.nnz)), ("row lengths", subject.class_),
                    ("longest row", words.count(about["max_row"])
                     if about and about.get("max_row") is not None else None),
                    ("mean", f"{about['mean_row']:.3g}" if about and about.get("mean_row") is not None else None)])]
    if about is None:
        return element("article", *found, paragraph(why), class_="card matrix")
    picture = charts.spy(about["picture"], about["rows"], about["columns"], f"spy{number}",
                         f"Structure of {subject.matrix}", "Positions of its entries: rows downwards, columns to "
                                                           "the right. "
                         "Parts in a stronger colour have more entries.")
    lengths = charts.histogram(about.get("histogram") or [], f"lengths{number}", f"Row lengths of {subject.matrix}",
                               "Number of rows by their number of entries.")
    shown = [figure(picture, "Positions of entries; stronger means more") if picture else None,
             figure(lengths, "Rows by length") if lengths else None]
    return element("article", *found, *[part for part in shown if part], class_="card matrix")


def _gallery(groups, described):
    first = {}
    for group in groups:
        for subject in group.subjects:
            first.setdefault(subject.identity, subject)
    names = [subject.matrix for subject in first.values()]
    cards = [_matrix(number, subject, subject.label if names.count(subject.matrix) > 1 else subject.matrix,
                     *described[identity]) for number, (identity, subject) in enumerate(first.items(), 1)]
    return section("matrices", "Matrices", element("div", *cards, class_="cards")) if cards else None


# ---- what did not run -------------------------------------------------------------------------------

def _plain_reason(case):
    return re.sub(r";? ?disturbed: .*", "", case.reason or "").strip() or "no reason was given"


def _absent_rows(cases):
    """Groups cases whose reasons differ only in numbers. Returns one row per group."""
    found = {}
    for case in cases:
        found.setdefault((case.status, re.sub(r"\d+(\.\d+)?", "#", _plain_reason(case))), []).append(case)
    rows, classes = [], []
    order = ("wrong", "failed", "skipped")
    for (status, _), members in sorted(found.items(), key=lambda item: order.index(item[0][0])):
        reasons = list(dict.fromkeys(_plain_reason(case) for case in members))
        why = reasons[0] + (f" (and {len(reasons) - 1} more with other numbers)" if len(reasons) > 1 else "")
        kernels = dict.fromkeys(case.kernel or case.format or "not known" for case in members)
        names = dict.fromkeys(case.matrix or "no matrix" for case in members)
        types = [t for t in dict.fromkeys(case.type for case in members) if t]
        rows.append([status, len(members), words.listed(kernels, 20), words.listed(names, 20), ", ".join(types), why])
        classes.append("bad" if status != "skipped" else None)
    return rows, classes


def _absent(cases):
    absent = [case for case in cases if not case.ran]
    if not absent:
        return section("absent", "What did not run", paragraph("Every case ran, and every result was right."))
    normal = [case for case in absent if case.status != "ok"]
    rows, classes = _absent_rows(normal)
    timeless = [case for case in absent if case.status == "ok"]
    found = [paragraph("A case is skipped if a kernel does not support it or would waste memory, wrong if the check "
                       "refused its result, and failed if it could not finish.")]
    if rows:
        heads = [("status", "t", None), ("cases", "n", None), ("kernels", "t", None), ("matrices", "t", None),
                 ("types", "t", None), ("reason", "t", None)]
        found.append(table("Cases without a time", heads, rows, classes))
    if timeless:
        found.append(paragraph(f"{words.some(len(timeless), 'case')} ran, but the record has no time."))
    return section("absent", "What did not run", *found)


# ---- the page ---------------------------------------------------------------------------------------

def _read(name):
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        return file.read()


def _notes(groups):
    repeated = sum(group.repeated for group in groups)
    if not repeated:
        return None
    return paragraph(f"{words.some(repeated, 'case')} occurred more than once in a file; the first counts.")


def make(cases, sources, comparison, arguments):
    """Returns the page as text."""
    groups = [group for group in make_groups(cases, sources) if group.subjects]
    here = matrices.devices(arguments.program) if arguments.here and arguments.program else []
    subjects = [subject for group in groups for subject in group.subjects]
    described = matrices.start(arguments.program, subjects, arguments.matrices)
    parts = [_comparison(comparison) if comparison else None, _machine(cases, here, sources),
             sections.summary(groups, sources) if groups else None, sections.bars(groups) if groups else None,
             sections.profiles(groups), sections.rooflines(groups), sections.break_evens(groups),
             sections.regrets_of_auto(groups), _gallery(groups, described()), _absent(cases)]
    parts = [part for part in parts if part]
    links = [element("li", Html(f"<a href=\"#{m[1]}\">{m[2]}</a>")) for part in parts
             for m in [re.match(r"<section id=\"([^\"]+)\".*?<h2[^>]*>(.*?)</h2>", part, re.S)] if m]
    head = join(_heading(groups, cases, sources, comparison) + [_notes(groups)])
    title = "Spry benchmark: " + words.listed([subject.matrix for subject in dict.fromkeys(subjects)], 3) \
        if subjects else "Spry benchmark"
    body = [element("header", head, element("nav", element("ul", *links), aria_label="Contents")),
            element("main", *parts), element("footer", paragraph(
                "Created by ", code("spry report"), " from JSON lines of ", code("spry bench"), "."))]
    return ("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta name=\"color-scheme\" content=\"light dark\">\n"
            f"{element('title', title)}\n<style>\n{_read('style.css')}</style>\n</head>\n<body>\n"
            + "\n".join(body) + "\n</body>\n</html>\n")
