#!/usr/bin/env python3
"""The tables of the CSR-k study's rerun in Markdown, of one run or of several that make the whole together.

    build/spry bench --suite csrk64 --runs 20 --at-once 16 --part 1/4 --json=part1.jsonl     (and 2/4 to 4/4)
    build/spry bench --suite csrk64 --runs 20 --threads 1,4,16 --device cpu --ordering none --json=scaling.jsonl
    python3 bench/csrk64_tables.py part1.jsonl part2.jsonl part3.jsonl part4.jsonl --scaling scaling.jsonl

Rates are of the arithmetic mean of a case's runs, as in the study, and classes are the study's: regular or irregular
by its table 1, of symmetric pattern or not. Our kernels go by their format, whichever kernel it took on a matrix.
Numberings: as given; reordered, by RCM and of csr2 and csr3 by Band-k; and the better of the two on each matrix. Ratios
are of one file: a matrix that is in several (for the same type and device) counts by the first that has it.
"""
import argparse
import json
import math
import os
import re
import statistics
import sys

ORDERED = {"none": "as given", "rcm": "reordered", "bandk": "reordered"}
NUMBERINGS = ("as given", "reordered", "better")
FIELDS = ("matrix", "nnz", "type", "format", "kernel", "peer", "ordering", "threads", "mean_us", "twin", "device",
          "time_us", "spread_us", "status", "reason")


def read_study():
    """Name: (regular?, symmetric?) of the 64, in the order of table 1, from the file that the program has them of."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "csrk64.c")
    with open(source, encoding="utf-8") as file:
        found = re.findall(r'^ *\{"([ri])\d+", "([^"]+)", \d+, \d+, \d+, (\d+), ', file.read(), re.M)
    if len(found) != 64:
        sys.exit(f"{source}: {len(found)} matrices of the study, expected 64")
    return {name: (kind == "r", symmetry == "100") for kind, name, symmetry in found}


def read_lines(path):
    try:
        with open(path, encoding="utf-8") as file:
            return list(file)
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"{path}: cannot be read: {error}")


def load(paths, study):
    """Records that were timed; what was not ok; a matrix, type and device of the first file that has it."""
    records, bad, owner = [], [], {}
    for path in paths:
        for number, line in enumerate(read_lines(path), 1):
            try:
                r = json.loads(line)
            except ValueError as error:
                sys.exit(f"{path}:{number}: no JSON: {error}")
            if not isinstance(r, dict) or any(field not in r for field in FIELDS):
                sys.exit(f"{path}:{number}: no record of spry bench, which has {', '.join(FIELDS)}")
            if r["matrix"] not in study:
                continue
            if r["status"] != "ok":
                if r["kernel"]:
                    bad.append(r)
                continue
            r["device"] = r["device"].split(":")[0]
            if owner.setdefault((r["matrix"], r["type"], r["device"]), path) == path:
                records.append(r)
    return records, bad


def label(r):
    return r["kernel"] if r["peer"] else r["format"]


def gflops(r):
    return 2e-3 * r["nnz"] / r["mean_us"]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


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
    """Speed-up over mkl_csr_optimized with the fewest threads, matrices as given, on those where everybody ran."""
    mine = [r for r in records if r["type"] == kind and r["device"] == "cpu" and r["ordering"] == "none"]
    teams, names = sorted({r["threads"] for r in mine}), list(dict.fromkeys(label(r) for r in mine))
    if len(teams) < 2 or "mkl_csr_optimized" not in names:
        return
    times = {(label(r), r["threads"], r["matrix"]): r["mean_us"] for r in mine}
    for title, regular in (("all", None), ("regular", True), ("irregular", False)):
        ran = [m for m in study if regular in (None, study[m][0]) and
               all((name, t, m) in times for name in names for t in teams)]
        if not ran:
            continue
        print(f"Scalability, {kind}, {title}: speed-up over mkl_csr_optimized at {teams[0]} thread"
              f"{'' if teams[0] == 1 else 's'}, geometric mean over {len(ran)} matrices as given\n")
        print("| threads | " + " | ".join(map(str, teams)) + " |\n" + "|---" * (len(teams) + 1) + "|")
        for name in names:
            cells = [geometric_mean([times["mkl_csr_optimized", teams[0], m] / times[name, t, m] for m in ran])
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE.jsonl")
    parser.add_argument("--scaling", nargs="+", default=[], metavar="FILE.jsonl", help="runs with --threads N,N,...")
    arguments = parser.parse_args()
    if not arguments.files and not arguments.scaling:
        parser.error("no file is named")
    study = read_study()
    records, bad = load(arguments.files, study)
    if records:
        print_matrices(records, study)
    for kind in ("f64", "f32"):
        for device in ("cpu", "cuda"):
            rates = Rates(records, kind, device)
            if not rates.labels:
                continue
            print_spread(records, kind, device)
            for numbering in NUMBERINGS:
                print(f"Mean GFLOP/s, {kind} on {device}, {numbering}\n")
                print_classes(rates, study, numbering)
            if rates.peers:
                print(f"Speed-ups, {kind} on {device}, geometric means, everybody in the better numbering\n")
                print_ratios(rates, study, "better")
            print_choice_of_k(rates, study, f"{device}, {kind}")
    scaling = load(arguments.scaling, study)
    if not any((records, bad, *scaling)):
        sys.exit("no matrix of the study was measured in " + " ".join(arguments.files + arguments.scaling))
    for kind in ("f64", "f32"):
        print_scaling(scaling[0], study, kind)
    for r in bad + scaling[1]:
        print(f"{r['status']}: {r['matrix']} {r['type']} {r['kernel']}: {r['reason']}")
    return 1 if any(r["status"] in ("wrong", "failed") for r in bad + scaling[1]) else 0


if __name__ == "__main__":
    sys.exit(main())
