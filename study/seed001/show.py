"""The document's table 1 and figures 2, 5, 6 and 7, the choice of k, group sizes, and verdicts."""
import statistics

from common import figures
from common.numbers import geometric_mean, mean
from seed001 import claims, printed, sizes, stages, suite
from seed001.rates import NUMBERINGS, Rates
from seed001.names import cpu_series, gpu_series, title_of

TYPES = (("f64", "double"), ("f32", "single"))


# ---- table 1 and figure 2 ---------------------------------------------------------------------------------------


def _row_of_table_1(m, r):
    rows, entries = printed.SIZES.get(m.name, (m.rows, m.entries))
    return [m.id, 100 * r["pattern_symmetry"], m.symmetry, m.name, r["rows"] / 1e6, f"{rows / 1e6:.2f}",
            r["nnz"] / 1e6, f"{entries / 1e6:.2f}", r["max_row"], m.longest, r["mean_row"],
            r["variance_row"], r["class"], "twin" if r["twin"] else "exact" if r.get("exact") else "real"]


def show_table_1(report, results):
    found = {r["matrix"]: r for r in results.where(kind="table 1")}
    there = [m for m in suite.MATRICES if m.name in found]
    if not there:
        return
    rows = [_row_of_table_1(m, found[m.name]) for m in there]
    same = sum((found[m.name]["class"] == "regular") == suite.is_regular(m.name) for m in there)
    columns = ["ID", "SY, %", "document's SY, %", "matrix", "N (M)", "document's N", "NZ (M)", "document's NZ", "MAX",
               "document's MAX", "R", "variance", "class", "source"]
    report.heading("Table 1")
    report.table("table1", "Table 1: the matrices", columns, rows,
                 f"SY is the share of the entries off the diagonal whose mirror image is stored. {same} of {len(rows)} "
                 "have the document's class by the variance of the row lengths (up to 10: regular). Exact: generated "
                 "with the document's structure, maybe in another order.")
    report.check(len({row[3] for row in rows}) == len(rows), "table 1: a matrix is there twice")
    report.check(all(0 <= row[1] <= 100 for row in rows), "table 1: symmetry out of 0 to 100 %")
    report.check(len(rows) == len(found), "table 1: a matrix that is not the document's")


def show_figure_2(report, results):
    for record in results.where(kind="figure 2")[:1]:
        drawn = stages.stages(record)
        report.heading("Figures 1 to 4")
        report.text("Figure 1 (the pointers of CSR-3) is a test: tests/formats/test_csrk_groups_mock.c. Figures 3 and "
                    "4 are diagrams without data: docs/csr-k.md and the comments of src/formats/csrk/csr3_cuda.cu.")
        title = record.get("title", "a random circuit")
        report.figure("figure2", f"Figure 2: Band-k on {title}", lambda *axes: draw_stages(record, title, axes),
                      rows=2, columns=2, size=(7, 7.4), on="cpu", jobs="figure 2")
        report.table("figure2", "Figure 2: the four stages", ["stage", "rows", "entries", "bandwidth"],
                     [[title, size, len(positions), stages.bandwidth(positions)] for title, size, positions in drawn])
        report.check(len(drawn[0][2]) == len(drawn[3][2]), "figure 2: the reordered matrix has other entries")
        report.check(drawn[1][1] == drawn[2][1] < drawn[0][1], "figure 2: the coarse graph is not smaller")
        given, bandk, rcm = stages.bandwidth(drawn[0][2]), stages.bandwidth(drawn[3][2]), record["rcm_bandwidth"]
        report.text(f"The bandwidth is {given} as given, {rcm} with RCM and {bandk} with Band-k. In (c) lines separate "
                    "super-super-rows; in (d) thin lines separate super-rows, too." + ("" if title == "circuit204" else
                    " The document's circuit204 is drawn if the folder of --matrices has it."))


def draw_stages(record, title, axes):
    stages.draw(record, axes)
    axes[0].figure.suptitle(f"Band-k on {title}", fontsize=10)


def show_bands(report, results):
    """Adds bandwidths of matrices of table 1, and the claim on Band-k's bandwidth at figure 2."""
    rows = [[r["matrix"], r["given"], r["rcm"], r["bandk"], r["bandk"] / r["rcm"] if r["rcm"] else None]
            for r in results.where(kind="band")]
    if not rows:
        return
    report.table("bands", "Bandwidths by RCM and by Band-k", ["matrix", "as given", "RCM", "Band-k",
                 "Band-k / RCM"], rows,
                 on="cpu", jobs="bands")
    claims.band(report, {row[0]: row[4] for row in rows if row[4]},
                [r["matrix"] for r in results.where(kind="band", twin=False)])


# ---- rates ------------------------------------------------------------------------------------------------------


def show_classes(report, rates, what):
    """Adds arithmetic means by class. All rows are means over the same matrices. Kernels with a rate on fewer than nine
    tenths of the matrices are left out."""
    few = [n for n in rates.labels if 10 * len(rates.common([n])) < 9 * len(rates.matrices)]
    for numbering in NUMBERINGS:
        names = [n for n in rates.labels if n not in few and any(rates.of(n, m, numbering) for m in rates.matrices)]
        shared = rates.common(names, numbering)
        parts = [(title, those) for title, those in suite.classes(shared)]
        if not names or not shared:
            continue
        rows = [[f"`{name}`"] + [rates.mean(name, those, numbering) for _, those in parts] for name in names]
        report.table(f"classes-{rates.device}-{rates.kind}-{numbering.replace(' ', '-')}",
                     f"Mean GFLOP/s, {what}, numbering: {numbering}",
                     ["kernel or format"] + [f"{title} ({len(those)})" for title, those in parts], rows)
        report.check(len(parts[2][1]) + len(parts[5][1]) == len(shared), f"{what}: classes do not make the whole")
    left = [m for m in rates.matrices if m not in rates.common([n for n in rates.labels if n not in few])]
    if left:
        report.text("Not in the tables, because not all kernels ran on them: " + " ".join(left) + ".")
    if few:
        report.text("Not in the tables, because fewer than nine tenths of the matrices have a rate of them: " +
                    ", ".join(f"{n} ({len(rates.common([n]))})" for n in few) + ".")


def show_ratios(report, rates, series, what):
    """Adds speed-ups of the document's methods over each other and other kernels, each with the faster of the
    numberings "as given" and "reordered"."""
    rows = []
    for one in [title for title in series if title.startswith("CSR-")]:
        others = dict.fromkeys(list(series) + sorted(rates.peers))
        for other in others:
            ratios = rates.ratios(one, other)
            if one == other or not ratios:
                continue
            least, most = min(ratios, key=ratios.get), max(ratios, key=ratios.get)
            regular = [q for m, q in ratios.items() if suite.is_regular(m)]
            irregular = [q for m, q in ratios.items() if not suite.is_regular(m)]
            rows.append([f"`{one}`", f"`{other}`", geometric_mean(regular), geometric_mean(irregular),
                         geometric_mean(ratios.values()), f"{ratios[least]:.2f} {least}", f"{ratios[most]:.2f} {most}",
                         len(ratios)])
    if rows:
        report.table(f"ratios-{rates.device}-{rates.kind}",
                     f"Rate of a kernel / rate of another, {what}, geometric means",
                     ["kernel", "other kernel", "regular", "irregular", "all", "least", "most", "matrices"], rows)


def show_orderings(report, rates, what):
    """Adds the effect of reordering: Band-k on csr-k, RCM on the others."""
    rows = []
    for name in rates.labels:
        gains = rates.gains(name)
        if gains:
            twins = [q for m, q in gains.items() if m in rates.twins(gains)]
            rows.append([f"`{name}`", "Band-k" if name.startswith("csr2") or name.startswith("csr3") else "RCM",
                         geometric_mean(twins), len(twins), sum(q > rates.margin for q in twins),
                         sum(q < 1 / rates.margin for q in twins),
                         ", ".join(f"{m} {q:.2f}" for m, q in gains.items() if m not in rates.twins(gains)) or "none"])
    if rows:
        report.table(f"orderings-{rates.device}-{rates.kind}", f"Rate reordered / rate as given, {what}",
                     ["kernel or format", "ordering", "twins, geometric mean", "twins", "faster", "slower",
                      "real or exact matrices"], rows,
                     f"Faster and slower: by more than the margin, {rates.margin:.2f}.")


def draw_dots(axes, rates, series, names, title):
    """Draws a panel for each method, with a row for each matrix, and the method's mean as a dashed line. A dotted line
    separates symmetric matrices, which come first, from the others."""
    order = [m.name for m in suite.MATRICES if m.name in names]
    border = sum(suite.is_symmetric(m) for m in order)
    most = max(rates.of(name, m) or 0 for name in series for m in order)
    for index, (panel, name) in enumerate(zip(axes, series)):
        rows = [(rates.of(name, m), at) for at, m in enumerate(order) if rates.of(name, m)]
        panel.hlines([at for _, at in rows], 0, [rate for rate, _ in rows], color="#bbbbbb", linewidth=0.8)
        panel.plot([rate for rate, _ in rows], [at for _, at in rows], color=figures.COLOURS[index], linestyle="",
                   marker="o", markersize=4)
        average = mean(rate for rate, _ in rows)
        panel.axvline(average, color=figures.COLOURS[index], linestyle="--", linewidth=1)
        if 0 < border < len(order):
            panel.axhline(border - 0.5, color="black", linestyle=":")
        panel.set_xlim(0, 1.05 * most)
        panel.set_ylim(len(order) - 0.5, -0.5)
        panel.set_yticks(range(len(order)), order if index == 0 else [""] * len(order), fontsize=7)
        panel.set_title(f"{name}: {average:.1f}", fontsize=8)
        panel.set_xlabel("GFLOP/s")
    axes[0].figure.suptitle(f"{title}. Dashed line and number: mean", fontsize=10)


def show_dots(report, rates, series, number, where):
    """Adds two figures, for regular and irregular matrices."""
    for letter, regular in (("a", True), ("b", False)):
        names = [m for m in rates.matrices if suite.is_regular(m) == regular]
        shown = [title for title in series if any(rates.of(title, m) for m in names)]
        title = f"Figure {number}{letter}: {where}, {rates.kind}, {'regular' if regular else 'irregular'} matrices"
        if shown:
            report.figure(f"figure{number}{letter}-{rates.kind}", title,
                          lambda *axes, n=names, t=title, s=shown: draw_dots(axes, rates, s, n, t), columns=len(shown),
                          size=(2.2 + 1.45 * len(shown), 1.4 + 0.16 * len(names)), on=rates.device,
                          jobs=rates.device + ",")


def show_spread(report, rates, what):
    shares = sorted(r["spread_us"] / r["time_us"] for r in rates.records if r.get("time_us"))
    if shares:
        middle, high = 100 * statistics.median(shares), 100 * shares[int(.9 * len(shares))]
        report.text(f"{what}: {len(shares)} cases. Their spread is {middle:.1f} % in the median and {high:.1f} % at "
                    f"the 90th percentile. Margin: {rates.margin:.2f} on a matrix, {rates.margin_of_means:.2f} for "
                    f"means over a class, from repeats on {rates.again} matrices.")
    machines = {r["machine"] for r in rates.records}
    if len(machines) > 1:
        report.text(f"The matrices were divided among {len(machines)} machines. Means of a class combine all machines; "
                    "the rates in a ratio are of one machine.")


def show_choice_of_k(report, rates, series, what):
    """Adds matrices on which CSR-2 is faster or slower than CSR-3 by more than the margin."""
    labels = {2: "CSR-2", 3: "CSR-3"}
    labels = {k: name for k, name in labels.items() if name in rates.labels}
    shared = rates.common(list(labels.values()))
    if 2 not in labels or len(labels) < 2 or not shared:
        return
    rows = []
    for k, name in labels.items():
        ratios = {m: q for m, q in rates.ratios(labels[2], name).items() if m in shared}
        rows.append([k, f"`{name}`"] + [rates.mean(name, those) for _, those in suite.classes(shared)[2::3]] +
                    [rates.mean(name, shared), " ".join(m for m, q in ratios.items() if q > rates.margin) or "none",
                     " ".join(m for m, q in ratios.items() if q < 1 / rates.margin) or "none"])
    columns = ["k", "kernel or format", "regular", "irregular", "all", "CSR-2 faster on", "CSR-2 slower on"]
    report.table(f"k-{rates.device}-{rates.kind}", f"The choice of k, {what}", columns, rows,
        f"Mean GFLOP/s over {len(shared)} matrices, each in the better of two orders: as given, or by Band-k for this "
        f"k. Faster and slower: by more than the margin, {rates.margin:.2f}.")
    claims.choice_of_k(report, rates, series, labels, shared, what)


def show_matrices(report, rates):
    twins = sum(bool(r.get("twin")) for r in rates.matrices.values())
    left = [m.name for m in suite.MATRICES if m.name not in rates.matrices]
    told = f"{len(rates.matrices)} of {len(suite.MATRICES)} matrices, {twins} of them twins"
    told += f", with {rates.threads} threads." if rates.threads else "."
    report.text(told + (f" Not measured: {' '.join(left)}." if left and not report.results.quick else ""))


def show_device(report, results, kind, word, device):
    rates = Rates(results, kind, device)
    if not rates.labels:
        return None
    where = "CPU" if device == "cpu" else "GPU"
    what = f"{word} on the {where}"
    report.heading(f"Rates in {word} on the {where}")
    show_matrices(report, rates)
    show_spread(report, rates, what)
    show_classes(report, rates, what)
    show_orderings(report, rates, what)
    series = (cpu_series if device == "cpu" else gpu_series)(rates)
    show_ratios(report, rates, series, what)
    show_dots(report, rates, series, 6 if device == "cpu" else 7, f"GFLOP/s on the {where}")
    show_choice_of_k(report, rates, series, what)
    (claims.on_cpu if device == "cpu" else claims.on_gpu)(report, rates, series, what)
    if device == "gpu":
        sizes.show_longest(report, rates, what)
        sizes.show_readings(report, rates, what)
    return rates


# ---- scalability ------------------------------------------------------------------------------------------------


def show_scalability(report, results):
    """Adds figure 5: speed-up over MKL with one thread, for reordered matrices on which all kernels ran."""
    mine = [r for r in results.timed(type="f64") if r["job"].startswith("threads,")]
    teams = sorted({r["threads"] for r in mine})
    names = list(dict.fromkeys(title_of(r) for r in mine))
    times = {(title_of(r), r["threads"], r["matrix"]): r["mean_us"] for r in mine}
    base = next((name for name in ("MKL, optimized", "MKL", "CSR, balanced") if name in names), None)
    ran = [m for m in dict.fromkeys(r["matrix"] for r in mine) if all((n, t, m) in times for n in names for t in teams)]
    if not base or not ran:
        return
    found = {name: [(t, geometric_mean(times[base, teams[0], m] / times[name, t, m] for m in ran)) for t in teams]
             for name in names}
    report.heading("Scalability")
    report.table("figure5", f"Figure 5: speed-up over {base} with {teams[0]} thread, f64",
                 ["threads"] + names, [[t] + [dict(found[name])[t] for name in names] for t in teams],
                 f"Geometric mean over {len(ran)} matrices on which all kernels ran with every number of threads. "
                 "CSR-k is reordered by Band-k, others by RCM.", on="cpu", jobs="threads,")
    report.figure("figure5", "Figure 5: scalability", lambda axes: draw_scalability(axes, found, base, teams, len(ran)),
                  on="cpu", jobs="threads,")
    claims.scalability(report, found, teams, base, Rates(results, "f64", "cpu").margin_of_means)


def draw_scalability(axes, found, base, teams, count):
    figures.lines(axes, found, "threads", f"speed-up over {base}, {teams[0]} thread")
    axes.set_title(f"Figure 5: scalability, double, geometric mean over {count} matrices", fontsize=9)


def tell_wrong_peers(to, results):
    """Adds a table of the peers' products that exceed the error bound. Such products have no rate."""
    rows = []
    for kernel in dict.fromkeys(r["kernel"] for r in results.where(status="wrong", peer=True)):
        for kind, word in TYPES:
            every = results.where(kernel=kernel, type=kind, status=("ok", "wrong"))
            wrong = sorted(results.where(kernel=kernel, type=kind, status="wrong"), key=lambda r: r["max_error"])
            if wrong:
                rows.append([f"`{kernel}`", word, len(wrong), len(every), wrong[len(wrong) // 2]["max_error"],
                             wrong[-1]["max_error"], wrong[-1]["matrix"]])
    if rows:
        to.table("wrong-peers", "Products over the error bound",
                 ["kernel", "type", "over the bound", "of", "error / bound, median", "largest", "on"], rows,
                 "These products have no rate. CSR5 for GPUs computes a row's sum as a difference of two prefix sums "
                 "over 32 lanes, so its error grows with the values of neighbouring rows.")


def report(results, to):
    show_table_1(to, results)
    show_figure_2(to, results)
    show_bands(to, results)
    for device in ("cpu", "gpu"):
        for kind, word in TYPES:
            show_device(to, results, kind, word, device)
    show_scalability(to, results)
    sizes.show_cpu(to, results)
    sizes.show_mesh(to, results)
    sizes.show_gpu(to, results)
    sizes.show_inner(to, results)
    tell_wrong_peers(to, results)
    for r in results.where(status=("wrong", "failed")):
        if not (r["peer"] and r["status"] == "wrong"):
            to.problem(f"{r['status']}: {r['matrix']} {r.get('type')} {r.get('kernel')}: {r.get('reason')}")
