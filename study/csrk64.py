#!/usr/bin/env python3
"""The CSR-k study's rerun: its 64 matrices, in Markdown the tables of one run or of several that make the whole together.

    study/csrk64.py run --runs 20 --at-once 16 --part 1/4 --json part1.jsonl                 (and 2/4 to 4/4)
    study/csrk64.py run --runs 20 --threads 1,4,16 --device cpu --ordering none --json scaling.jsonl
    study/csrk64.py tables part1.jsonl part2.jsonl part3.jsonl part4.jsonl --scaling scaling.jsonl

P. A. Lane and J. D. Booth, Heterogeneous sparse matrix-vector multiplication via compressed sparse row format. A matrix
that is not in the folder (--matrices, SPRY_MATRIX_DIR) is replaced by a twin (gen:twin) of its printed figures, which
every record tells. Unless other options are given, formats are csr, csr2 and csr3 beside all peers, and the orderings
those of the study: as given; reordered, by RCM and of csr2 and csr3 by Band-k.

Rates are of the arithmetic mean of a case's runs, as in the study, and classes are the study's: regular or irregular
by its table 1, of symmetric pattern or not. Our kernels go by their format, whichever kernel it took on a matrix.
Numberings: as given, reordered, and the better of the two on each matrix. Ratios are of one file: a matrix that is in
several (for the same type and device) counts by the first that has it.
"""
import math
import statistics
import sys
from collections import namedtuple

import records
from records import geometric_mean

# Sorted as printed; ids r regular, i irregular. The study prints sizes in millions with two decimals; these lie inside
# what those allow, and give the mean row length printed beside them (of thermal2 the table's 1.28 million rows and 8.58
# million entries contradict its mean of 6.99: 1.228 million fits). Symmetry: of the pattern, in per cent.
Matrix = namedtuple("Matrix", "id name rows entries longest symmetry kind diagonal dof")
MATRICES = [Matrix(*(int(word) if word.isdigit() else word for word in line.split())) for line in """
    r1 belgium_osm 1440000 3100000 10 100 road 0 1
    r2 netherlands_osm 2220000 4880000 7 100 road 0 1
    r3 roadNet-TX 1390000 3840000 12 100 road 0 1
    r4 roadNet-CA 1970000 5530000 12 100 road 0 1
    r5 roadNet-PA 1088800 3081200 9 100 road 0 1
    r6 hugetrace-00000 4590000 13760000 3 100 hexagons 0 1
    r7 hugetric-00000 5824900 17470000 3 100 hexagons 0 1
    r8 debr 1048000 4192000 4 100 words 0 1
    r9 venturiLevel3 4030000 16110000 6 100 mesh2 0 1
    r10 rajat31 4690000 20320000 1200 100 circuit 1 1
    r11 G3_circuit 1586700 7663300 6 100 mesh2 1 1
    r12 ecology1 1000000 5000000 5 100 mesh2 1 1
    r13 333SP 3712800 22217200 28 100 triangles 0 1
    r14 AS365 3800200 22739800 14 100 triangles 0 1
    r15 NACA0015 1040000 6230000 10 100 triangles 0 1
    r16 M6 3500000 21000000 10 100 triangles 0 1
    r17 NLR 4160500 24979500 20 100 triangles 0 1
    r18 delaunay_n20 1048600 6291400 23 100 triangles 0 1
    r19 delaunay_n21 2097200 12582800 23 100 triangles 0 1
    r20 delaunay_n22 4191900 25168100 23 100 triangles 0 1
    r21 atmosmodl 1489300 10320700 7 100 mesh3 1 1
    r22 atmosmodm 1489300 10320700 7 100 mesh3 1 1
    r23 atmosmodd 1269500 8810300 7 100 mesh3 1 1
    r24 atmosmodj 1269500 8810300 7 100 mesh3 1 1
    r25 thermal2 1228000 8580300 11 100 triangles 1 1
    r26 CurlCurl_3 1218800 13540900 13 100 mesh3 1 1
    r27 CurlCurl_4 2380500 26519500 13 100 mesh3 1 1
    r28 StocF-1465 1465400 21013800 189 100 mesh3 1 1
    r29 Transport 1601500 23478500 15 100 mesh3 1 1
    r30 packing-500x100x100-b050 2146200 34983100 18 100 mesh3 1 1
    r31 af_shell10 1508200 52259100 35 100 mesh2 1 5
    r32 Hamrle3 1448100 5511900 9 0 circuit 1 1
    r33 circuit5M_dc 3520300 14869700 24 90 circuit 1 1
    r34 memchip 2708400 13341600 27 90 circuit 1 1
    r35 Freescale1 3430000 17050000 25 90 circuit 1 1
    i1 com-Youtube 1134000 5976200 28800 100 social 0 1
    i2 kkt_power 2062500 12767500 90 100 web 1 1
    i3 FullChip 2989000 26621000 2300000 100 circuit 1 1
    i4 circuit5M 5559500 59520500 1300000 100 circuit 1 1
    i5 as-Skitter 1696700 22192800 35500 100 social 0 1
    i6 rgg_n_2_20_s0 1048800 13781200 36 100 ball2 0 1
    i7 rgg_n_2_21_s0 2097200 28982800 37 100 ball2 0 1
    i8 cage14 1505800 27134200 41 100 ball3 1 1
    i9 dgreen 1200800 26609700 97 100 ball3 1 1
    i10 nv2 1453700 37476400 84 100 ball3 1 1
    i11 nlpkkt80 1062100 28188100 28 100 kkt 1 1
    i12 Hook_1498 1497699 59368800 93 100 ball3 1 3
    i13 dielFilterV2real 1157400 48541400 110 100 ball3 1 1
    i14 wiki-Talk 2390000 5020000 3300 10 social 0 1
    i15 wiki-talk-temporal 1141000 3309000 3300 20 social 0 1
    i16 webbase-1M 1000000 3110000 28600 10 web 0 1
    i17 patents 3770000 14970000 762 0 citation 0 1
    i18 cit-Patents 3770000 16520000 779 0 citation 0 1
    i19 Freescale2 3000000 14310000 14900 100 circuit 1 1
    i20 wikipedia-20051105 1634600 19746000 75500 10 social 0 1
    i21 in-2004 1383200 16916800 21900 40 web 0 1
    i22 wikipedia-20060925 2983700 37266400 159000 10 social 0 1
    i23 wikipedia-20061104 3148100 39381900 168000 10 social 0 1
    i24 wikipedia-20070206 3568300 45031700 187000 10 social 0 1
    i25 sx-stackoverflow 2600800 36229200 22300 40 social 0 1
    i26 wiki-topcats 1790800 28509500 238000 20 social 0 1
    i27 soc-Pokec 1632900 30617100 230000 50 social 0 1
    i28 ss 1652300 34747900 27 70 ball3 1 1
    i29 vas_stokes_1M 1090600 34769400 1000 40 ball3 1 1
""".strip().splitlines()]
# Name: (regular?, symmetric?)
STUDY = {m.name: (m.id[0] == "r", m.symmetry == 100) for m in MATRICES}
ORDERED = {"none": "as given", "rcm": "reordered", "bandk": "reordered"}
NUMBERINGS = ("as given", "reordered", "better")
FIELDS = ("matrix", "nnz", "type", "format", "kernel", "peer", "ordering", "threads", "mean_us", "twin", "device",
          "time_us", "spread_us", "status", "reason")


def twin(m):
    return (f"gen:twin,rows={m.rows},entries={m.entries},longest={m.longest},kind={m.kind},symmetry={m.symmetry},"
            f"diagonal={m.diagonal},dof={m.dof}")


def sort(found, study):
    """Records that were timed; what was not ok; a matrix, type and device of the first file that has it."""
    timed, bad, owner = [], [], {}
    for path, r in found:
        if r["matrix"] not in study:
            continue
        if r["status"] != "ok":
            if r["kernel"]:
                bad.append(r)
            continue
        r["device"] = r["device"].split(":")[0]
        if owner.setdefault((r["matrix"], r["type"], r["device"]), path) == path:
            timed.append(r)
    return timed, bad


def label(r):
    return r["kernel"] if r["peer"] else r["format"]


def gflops(r):
    return 2e-3 * r["nnz"] / r["mean_us"]


class Rates:
    """The rates of one type and device: by label, numbering and matrix, with the most threads alone."""

    def __init__(self, records, kind, device):
        mine = [r for r in records if r["type"] == kind and r["device"] == device]
        most = max((r["threads"] for r in mine), default=0)
        self.labels, self.peers, self.by = [], set(), {}
        for r in mine:
            if r["threads"] != most or r["ordering"] not in ORDERED:
                continue
            if label(r) not in self.labels:
                self.labels.append(label(r))
            if r["peer"]:
                self.peers.add(label(r))
            for numbering in (ORDERED[r["ordering"]], "better"):
                key = (label(r), numbering, r["matrix"])
                self.by[key] = max(gflops(r), self.by.get(key, 0))

    def of(self, name, numbering, matrix):
        return self.by.get((name, numbering, matrix))

    def matrices(self, name, numbering):
        return {m for n, of, m in self.by if n == name and of == numbering}

    def best_peer(self, numbering, matrix):
        found = [self.of(p, numbering, matrix) for p in self.peers]
        return max((f for f in found if f), default=None)


def classes(study):
    def those(regular, symmetric):
        return [m for m, (r, s) in study.items() if r == regular and symmetric in (None, s)]

    return [("regular, sym.", those(True, True)), ("regular, other", those(True, False)),
            ("regular", those(True, None)), ("irregular, sym.", those(False, True)),
            ("irregular, other", those(False, False)), ("irregular", those(False, None)), ("all", list(study))]


def print_classes(rates, study, numbering):
    """Arithmetic means over those matrices of a class on which everybody ran: over the same for all lines."""
    ran = [m for m in study if all(rates.of(name, numbering, m) for name in rates.labels)]
    columns = [(title, [m for m in those if m in ran]) for title, those in classes(study)]
    print("| | " + " | ".join(f"{title} ({len(those)})" for title, those in columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for name in rates.labels:
        cells = [f"{statistics.fmean(rates.of(name, numbering, m) for m in those):.1f}" if those else ""
                 for _, those in columns]
        print(f"| {name} | " + " | ".join(cells) + " |")
    print()
    left = [m for m in study if m not in ran and any(rates.of(name, numbering, m) for name in rates.labels)]
    if left:
        print("Not everybody ran on, and so not in the table: " + " ".join(left) + ".\n")


def print_own_sets(rates, study, numbering):
    """Arithmetic means of each kernel over the matrices that it ran on, and how many these are."""
    columns = classes(study)[:-1]
    print("| | " + " | ".join(title for title, _ in columns) + " |\n" + "|---" * (len(columns) + 1) + "|")
    for name in rates.labels:
        found = [[rates.of(name, numbering, m) for m in those if rates.of(name, numbering, m)] for _, those in columns]
        if any(found):
            cells = [f"{statistics.fmean(values):.2f} ({len(values)})" if values else "" for values in found]
            print(f"| {name} | " + " | ".join(cells) + " |")
    print()


def print_ratios(rates, study, numbering):
    print("| | over | regular | irregular | all | least | most |\n|---|---|---|---|---|---|---|")
    own = [name for name in rates.labels if name not in rates.peers]
    for name in own:
        for peer in [p for p in rates.labels if p in rates.peers] + ["the best of them"]:
            found = {}
            for m in study:
                base = rates.best_peer(numbering, m) if peer == "the best of them" else rates.of(peer, numbering, m)
                if base and rates.of(name, numbering, m):
                    found[m] = rates.of(name, numbering, m) / base
            if not found:
                continue
            cells = [geometric_mean([q for m, q in found.items() if wanted in (None, study[m][0])])
                     for wanted in (True, False, None)]
            least, most = min(found, key=found.get), max(found, key=found.get)
            print(f"| {name} | {peer} | " + " | ".join("" if math.isnan(c) else f"{c:.2f}" for c in cells) +
                  f" | {found[least]:.2f} {least} | {found[most]:.2f} {most} |")
    print()


def print_choice_of_k(rates, study, where):
    both = [m for m in study if rates.of("csr2", "better", m) and rates.of("csr3", "better", m)]
    if not both:
        return
    means = [statistics.fmean(rates.of(name, "better", m) for m in both) for name in ("csr2", "csr3")]
    ahead = [m for m in both if rates.of("csr2", "better", m) > 1.05 * rates.of("csr3", "better", m)]
    behind = [m for m in both if rates.of("csr3", "better", m) > 1.05 * rates.of("csr2", "better", m)]
    print(f"k on {where}: csr2 {means[0]:.1f}, csr3 {means[1]:.1f} GFLOP/s over {len(both)} matrices; csr2 ahead by over "
          f"5 % on {len(ahead)} ({' '.join(ahead)}), csr3 on {len(behind)}.\n")


def print_scaling(records, study, kind):
    """Speed-up over MKL with the fewest threads, matrices as given, on those where everybody ran."""
    mine = [r for r in records if r["type"] == kind and r["device"] == "cpu" and r["ordering"] == "none"]
    teams, names = sorted({r["threads"] for r in mine}), list(dict.fromkeys(label(r) for r in mine))
    base = next((name for name in ("mkl_csr_optimized", "mkl_csr") if name in names), None)
    if len(teams) < 2 or not base:
        return
    times = {(label(r), r["threads"], r["matrix"]): r["mean_us"] for r in mine}
    for title, regular in (("all", None), ("regular", True), ("irregular", False)):
        ran = [m for m in study if regular in (None, study[m][0]) and
               all((name, t, m) in times for name in names for t in teams)]
        if not ran:
            continue
        print(f"Scalability, {kind}, {title}: speed-up over {base} at {teams[0]} thread"
              f"{'' if teams[0] == 1 else 's'}, geometric mean over {len(ran)} matrices as given\n")
        print("| threads | " + " | ".join(map(str, teams)) + " |\n" + "|---" * (len(teams) + 1) + "|")
        for name in names:
            cells = [geometric_mean([times[base, teams[0], m] / times[name, t, m] for m in ran])
                     for t in teams]
            print(f"| {name} | " + " | ".join(f"{c:.2f}" for c in cells) + " |")
        print()


def print_spread(records, kind, device):
    shares = sorted(r["spread_us"] / r["time_us"] for r in records if r["type"] == kind and r["device"] == device)
    disturbed = {r["matrix"] for r in records
                 if r["type"] == kind and r["device"] == device and "disturbed" in (r["reason"] or "")}
    if shares:
        print(f"{kind} on {device}: {len(shares)} cases; quartiles {100 * shares[len(shares) // 2]:.1f} % apart in the "
              f"median case, {100 * shares[int(.9 * len(shares))]:.1f} % in one of ten"
              + (f"; others had part of the processors on {' '.join(sorted(disturbed))}" if disturbed else "") + ".\n")


def print_matrices(records, study):
    measured = {r["matrix"]: r["twin"] for r in records}
    print(f"{len(measured)} of 64 matrices, {sum(measured.values())} of them twins"
          + "".join(f"; no twin: {m}" for m, twin in measured.items() if not twin) + ".")
    for kind in ("f64", "f32"):
        for device in ("cpu", "cuda"):
            there = {r["matrix"] for r in records if r["type"] == kind and r["device"] == device}
            left = [m for m in study if m not in there]
            if there and left:
                print(f"Left out in {kind} on {device}: {' '.join(left)}.")
    print()


def print_tables(timed, bad, scaling, study=STUDY):
    """0, or 1 where something was wrong or failed."""
    if timed:
        print_matrices(timed, study)
    for kind in ("f64", "f32"):
        for device in ("cpu", "cuda"):
            rates = Rates(timed, kind, device)
            if not rates.labels:
                continue
            print_spread(timed, kind, device)
            for numbering in NUMBERINGS:
                print(f"Mean GFLOP/s, {kind} on {device}, {numbering}\n")
                print_classes(rates, study, numbering)
                if len({frozenset(rates.matrices(name, numbering)) for name in rates.labels}) > 1:
                    print(f"Mean GFLOP/s of each over the matrices that it ran on, {kind} on {device}, {numbering}\n")
                    print_own_sets(rates, study, numbering)
            if rates.peers:
                print(f"Speed-ups, {kind} on {device}, geometric means, everybody in the better numbering\n")
                print_ratios(rates, study, "better")
            print_choice_of_k(rates, study, f"{device}, {kind}")
    for kind in ("f64", "f32"):
        print_scaling(scaling, study, kind)
    for r in bad:
        print(f"{r['status']}: {r['matrix']} {r['type']} {r['kernel']}: {r['reason']}")
    return 1 if any(r["status"] in ("wrong", "failed") for r in bad) else 0


def choose(arguments):
    """The matrices that are asked for, small ones first: of sorted ones, parts take about as long."""
    part, _, parts = arguments.part.partition("/")
    if not (part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
        sys.exit(f"csrk64.py: --part is '{arguments.part}', expected I/N, as 1/4 and so on to 4/4")
    only = arguments.only.split(",") if arguments.only else STUDY
    unknown = [name for name in only if name not in STUDY]
    if unknown:
        sys.exit(f"csrk64.py: --only: there is no matrix '{unknown[0]}' in the study")
    chosen = []
    for m in sorted((m for m in MATRICES if m.name in only), key=lambda m: m.entries)[int(part) - 1::int(parts)]:
        if arguments.limit_nnz and m.entries > arguments.limit_nnz:
            print(f"{m.name} skipped: it has about {m.entries} entries, more than the limit of {arguments.limit_nnz}")
        else:
            chosen.append(m)
    return chosen


def run(arguments, rest):
    files = {m.name: arguments.matrices and records.find_matrix(arguments.matrices, m.name) for m in MATRICES}
    chosen = choose(arguments)
    options = ["--peers", *rest]
    if not records.has_option(rest, "formats", "kernels"):
        options += ["--formats", "csr,csr2,csr3"]
    if not records.has_option(rest, "ordering"):
        options += ["--ordering", "by-format"]
    if not chosen:
        return 0
    found, status = records.run([files[m.name] or twin(m) for m in chosen] + options, arguments.json,
                                {twin(m)[len("gen:"):]: m.name for m in MATRICES})
    timed, bad = sort([("", r) for r in found], STUDY)
    return max(print_tables(timed, bad, timed), status)


def study(arguments, rest):
    if arguments.command == "list":
        for m in MATRICES:
            print(*m, twin(m))
        return 0
    if arguments.command == "run":
        return run(arguments, rest)
    if not arguments.files and not arguments.scaling:
        sys.exit("csrk64.py: no file is named")
    timed, bad = sort([(path, r) for path in arguments.files for r in records.read(path, FIELDS)], STUDY)
    scaling = sort([(path, r) for path in arguments.scaling for r in records.read(path, FIELDS)], STUDY)
    if not any((timed, bad, *scaling)):
        sys.exit("no matrix of the study was measured in " + " ".join(arguments.files + arguments.scaling))
    return print_tables(timed, bad + scaling[1], scaling[0])


def add_options(run_parser, tables_parser):
    run_parser.add_argument("--part", default="1/1", metavar="I/N", help="every N-th matrix from the I-th on")
    run_parser.add_argument("--only", metavar="LIST", help="only these, by name")
    run_parser.add_argument("--limit-nnz", type=int, metavar="N", help="leave out matrices of more entries")
    tables_parser.add_argument("--scaling", nargs="+", default=[], metavar="FILE.jsonl",
                               help="runs with --threads N,N,...")


if __name__ == "__main__":
    sys.exit(records.main(study, __doc__, add_options))
