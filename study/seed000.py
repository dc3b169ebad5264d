#!/usr/bin/env python3
"""The tables of Evtushenko 2019: every matrix of a folder, with that study's kernels.

    study/seed000.py run --matrices DIR --json study.jsonl          (more options of spry bench: --device cpu)
    study/seed000.py tables study.jsonl

Speed-up over the textbook loop on one thread, in arithmetic means and maxima over the matrices with at least 10 000 and
at least 100 000 entries (the study's tables 1 to 8), CSR-Scalar beside CSR-Vector, COO against the mean row length
(figure 7), and how the leader changes with the type (figures 8c, 8d and table 9). Times are the arithmetic means of the
batches, as there. A kernel's set is the matrices that it ran on, which is smaller where the padding guard refuses; the
common set is those that every kernel ran on.
"""
import math
import os
import sys

import records

BASELINE = "csr_plain"
LIMITS = (10000, 100000)
EDGES = (0, 2, 4, 8, 16, 32, 64, math.inf)
# In the order of the study's tables, beside what it compared with. On the CPU there is no such list.
KERNELS = ("csr_scalar_cuda,csr_vector_shared_cuda,csr_vector_cuda,csr_adaptive_atomic_cuda,csr_adaptive_cuda,"
           "ell_slots_cuda,coo_atomic_cuda,coo_segmented_cuda,scoo_shared_cuda,hyb_atomic_cuda,hyb_segmented_cuda,"
           "cusparse_csr_alg1")
FORMATS = "csr,ell,coo,scoo,hyb"


class Results:
    """Of one type: the baseline's records by matrix, the other kernels, and the speed-ups by both."""

    def __init__(self, found, kind):
        timed = [r for r in found if r["status"] == "ok" and (r["mean_us"] or 0) > 0 and r["type"] == kind]
        self.kind = kind
        self.base = {r["matrix"]: r for r in reversed(timed) if r["kernel"] == BASELINE}
        self.base = {m: self.base[m] for m in dict.fromkeys(r["matrix"] for r in timed) if m in self.base}
        self.kernels = list(dict.fromkeys(r["kernel"] for r in timed if r["kernel"] != BASELINE))
        self.speedup = {(r["kernel"], r["matrix"]): self.base[r["matrix"]]["mean_us"] / r["mean_us"]
                        for r in timed if r["kernel"] != BASELINE and r["matrix"] in self.base}

    def of(self, kernel, matrices):
        return [self.speedup[kernel, m] for m in matrices if (kernel, m) in self.speedup]

    def at_least(self, limit):
        return [m for m, r in self.base.items() if r["nnz"] >= limit]

    def common(self, matrices):
        return [m for m in matrices if all((k, m) in self.speedup for k in self.kernels)]

    def winner(self, matrix):
        return max((k for k in self.kernels if (k, matrix) in self.speedup), default=None,
                   key=lambda k: self.speedup[k, matrix])


def figure(values):
    if not values:
        return f"  {0:4d}  {'-':>7s}  {'-':>7s}"
    return f"  {len(values):4d}  {sum(values) / len(values):7.2f}  {max(values):7.2f}"


def print_speedups(s):
    print(f"Speed-up over {BASELINE}, one thread, {s.kind} (arithmetic means)")
    print(f"  {'':26s}  {'10 000 entries':22s}  {'100 000 entries':22s}  common set, 10 000")
    print(f"  {'kernel':26s}" + f"  {'set':>4s}  {'avg':>7s}  {'max':>7s}" * 3)
    sets = [s.at_least(limit) for limit in LIMITS]
    sets.append(s.common(sets[0]))
    for kernel in s.kernels:
        print(f"  {kernel:26s}" + "".join(figure(s.of(kernel, matrices)) for matrices in sets))
    print()


def print_scalar_and_vector(s, limit):
    """The share of matrices on which CSR-Scalar beats CSR-Vector, and what the CSR kernels do on those."""
    scalar, vector, adaptive = "csr_scalar_cuda", "csr_vector_shared_cuda", "csr_adaptive_atomic_cuda"
    if scalar not in s.kernels or vector not in s.kernels:
        return
    both = [m for m in s.at_least(limit) if (scalar, m) in s.speedup and (vector, m) in s.speedup]
    beaten = [m for m in both if s.speedup[scalar, m] > s.speedup[vector, m]]
    line = f"{s.kind}, {limit} entries: csr_scalar beats csr_vector_shared on {len(beaten)} of {len(both)} matrices"
    if beaten:
        mean = {k: sum(s.of(k, beaten)) / len(beaten) for k in (scalar, vector, adaptive)}
        line += f" ({100 * len(beaten) / len(both):.0f} %); there scalar {mean[scalar]:.2f}, vector {mean[vector]:.2f}"
        if adaptive in s.kernels:
            wins = sum(s.speedup.get((adaptive, m), 0) > s.speedup[scalar, m] for m in beaten)
            line += f", adaptive {mean[adaptive]:.2f}, ahead of scalar on {wins}"
    print(line)


def print_row_lengths(s):
    """Figure 7: the mean speed-up of the COO kernels by mean row length."""
    kernels = [k for k in s.kernels if k.startswith("coo_")]
    if kernels:
        print(f"\nSpeed-up of COO by mean row length, {s.kind} (avg, matrices)\n  {'kernel':26s}   under 2    2 to 4    "
              "4 to 8   8 to 16  16 to 32  32 to 64    longer")
    lengths = {m: r["nnz"] / r["rows"] if r["rows"] else 0 for m, r in s.base.items()}
    for kernel in kernels:
        cells = ""
        for low, high in zip(EDGES, EDGES[1:]):
            values = s.of(kernel, [m for m, length in lengths.items() if low <= length < high])
            cells += f"{sum(values) / len(values):7.2f} {len(values):2d}" if values else f"{'-':>10s}"
        print(f"  {kernel:26s}" + cells)


def print_winners(types):
    """Figures 8c and 8d, table 9: who is fastest on each matrix, and where that changes with the type."""
    print(f"\nFastest kernel of each matrix of at least {LIMITS[0]} entries\n  {'matrix':24s}  {'rows':>10s}  "
          f"{'entries':>10s}  {'a row':>8s}  {types[0].kind:34s}  {types[1].kind}")
    changes = both = 0
    lead = max(types, key=lambda s: len(s.base))
    for matrix in lead.at_least(LIMITS[0]):
        r, winners = lead.base[matrix], [s.winner(matrix) for s in types]
        text = [f"{w} {s.speedup[w, matrix]:.2f}" if w else "-" for w, s in zip(winners, types)]
        changed = all(winners) and winners[0] != winners[1]
        both += all(winners)
        changes += changed
        length = r["nnz"] / r["rows"] if r["rows"] else 0
        print(f"  {matrix:24s}  {r['rows']:10d}  {r['nnz']:10d}  {length:8.1f}  {text[0]:34s}  {text[1]}"
              + ("  changes" if changed else ""))
    print(f"The fastest kernel changes with the type on {changes} of {both} matrices.\n")


def print_tables(found):
    types = [Results(found, kind) for kind in ("f32", "f64")]
    if not any(s.base for s in types):
        print(f"No tables: nothing was timed beside {BASELINE}.")
        return
    for s in types:
        if s.base:
            print_speedups(s)
    for s in types:
        for limit in LIMITS:
            print_scalar_and_vector(s, limit)
    for s in types:
        print_row_lengths(s)
    print_winners(types)


def matrices(folder):
    """Every .mtx and .mtx.gz of the folder, and of folders that hold one of their own name."""
    if not folder:
        sys.exit("seed000.py: the study measures every matrix of a folder: name it with --matrices or SPRY_MATRIX_DIR")
    names = dict.fromkeys(entry.removesuffix(".gz").removesuffix(".mtx") for entry in sorted(os.listdir(folder))
                          if not entry.startswith("."))
    return [path for path in (records.find_matrix(folder, name) for name in names) if path]


def study(arguments, rest):
    if arguments.command == "list":
        print("\n".join(matrices(os.environ.get("SPRY_MATRIX_DIR"))))
        return 0
    if arguments.command == "tables":
        print_tables([r for path in arguments.files for r in records.read(path)])
        return 0
    options = ["--peers", *rest]
    if not records.has_option(rest, "type"):
        options += ["--type", "all"]
    kernels = [arguments.kernels] if arguments.kernels else []
    if not kernels and not records.has_option(rest, "formats"):
        if "--device=cpu" in rest or ("--device", "cpu") in zip(rest, rest[1:]):
            options += ["--formats", FORMATS]
        else:
            kernels = [KERNELS]
    options += ["--kernels", ",".join(dict.fromkeys(",".join([*kernels, BASELINE]).split(",")))]
    found, status = records.run(matrices(arguments.matrices) + options, arguments.json)
    print_tables(found)
    return status


if __name__ == "__main__":
    sys.exit(records.main(study, __doc__, lambda run, tables: run.add_argument("--kernels", metavar="LIST")))
