#!/usr/bin/env python3
"""Fits the group sizes of csr2 and csr3 to this machine, and writes them as a tuning file.

    study/tune_sizes.py -o mine.tuning                       # CPU, generated matrices; takes some minutes
    study/tune_sizes.py --device cuda --type all a.mtx b.mtx -o mine.tuning
    SPRY_TUNING=mine.tuning build/spry spmv matrix.mtx --format csr3

Times every size with `spry bench` (CPU: SRS 8 to 3072, in csr3 with SSRS 2 to 32; GPU: csr3 with SRS and SSRS 4 to 48).
On a CPU the file has constants, the geometric means of the best sizes. On a GPU the file has two formulas of the mean
row length, those of a grid of formulas with the smallest loss of time. All sizes within 1 % of the fastest count as
best, because smaller differences are noise.
"""
import argparse
import json
import math
import os
import subprocess
import sys

from common import jobs, machine
from common.numbers import geometric_mean

# Matrices of a few million entries, with 3 to 81 entries per row.
MATRICES = ["gen:road,side=900", "gen:grid5,x=800,y=800", "gen:grid7,x=80,y=80,z=80", "gen:grid9,x=600,y=600",
            "gen:rgg,scale=18", "gen:banded,rows=200000", "gen:grid27,x=50,y=50,z=50", "gen:fem3,x=30,y=30,z=30,dof=2",
            "gen:fem3,x=25,y=25,z=25"]
PROGRAM = "study/tune_sizes.py"
NOISE = 1.01
STEP, MOST = 8, 32  # step and largest value of sizes in GPU formulas: a block processes eight rows at a time


def powers(first, last):
    return [size for i in range(first, last + 1) for size in (1 << i, 3 << (i - 1))]


def sizes_of(device, levels):
    """Returns the pairs (SRS, SSRS) to try. SSRS is 1 in csr2."""
    srs, ssrs = (powers(2, 5), powers(2, 5)) if device == "cuda" else (powers(3, 11), [2, 4, 8, 16, 32])
    return [(a, b) for a in srs for b in (ssrs if levels == 3 else [1])]


def name_of(levels, sizes):
    return f"csr2:srs={sizes[0]}" if levels == 2 else f"csr3:srs={sizes[0]}:ssrs={sizes[1]}"


def measure(lines, matrix, levels, names, protocol):
    """Runs all formats in turn. Returns {type: {format: record}}. lines: runs spry and returns its records."""
    found = {}
    for r in lines("bench", matrix, *protocol, "--formats", ",".join(dict.fromkeys(names))):
        if r["status"] != "ok":
            sys.exit(f"{PROGRAM}: {r['matrix']}, {r.get('format', 'all formats')}: {r['status']}, {r['reason']}")
        found.setdefault(r["type"], {})[r["format"]] = r
    return found


def sweep(lines, matrices, device, levels, protocol):
    """Times all sizes. Returns a dictionary for each matrix and type, with times {sizes: us} and the best sizes."""
    found = []
    sizes = sizes_of(device, levels)
    for path in matrices:
        for kind, records in measure(lines, path, levels, [name_of(levels, s) for s in sizes], protocol).items():
            first = next(iter(records.values()))
            times = {s: records[name_of(levels, s)]["time_us"] for s in sizes}
            best = min(times, key=times.get)
            found.append({"path": path, "matrix": first["matrix"], "type": kind, "device": device, "levels": levels,
                          "density": first["nnz"] / first["rows"], "bytes": first["bytes"], "twin": first["twin"],
                          "times": times, "best_srs": best[0], "best_ssrs": best[1]})
    return found


def best_size(swept, part):
    """Returns the geometric mean of the sizes whose times are within 1 % of the fastest. part: 0 for SRS, 1 for
    SSRS."""
    least = min(swept["times"].values())
    return geometric_mean([sizes[part] for sizes, us in swept["times"].items() if us <= NOISE * least])


def constants(swept):
    """Returns (SRS, SSRS), the rounded geometric means of the best sizes."""
    return tuple(math.floor(geometric_mean([best_size(s, part) for s in swept]) + 0.5) for part in (0, 1))


def size_by(formula, density):
    """Returns the size that the library computes: constant - fall * ln(density), rounded to a multiple of STEP."""
    constant, fall = formula
    steps = math.floor(math.floor(constant - fall * math.log(density) + 0.5) / STEP + 0.5)
    return STEP * min(max(steps, 1), MOST // STEP)


def candidates(densities):
    """Returns the formulas of a grid, {sizes: formula}, flat ones first. If formulas give equal sizes, only the first
    is kept."""
    found = {}
    for step in range(33):
        fall = (step + 1) // 2 if step % 2 else -(step // 2)
        for constant in range(-32, 65, 2):
            if constant:  # in a tuning file, a constant of 0 means no formula
                found.setdefault(tuple(size_by((constant, fall), d) for d in densities), (constant, fall))
    return found


def search(swept):
    """Returns the formulas (constant, fall) of SRS and SSRS with the smallest loss, and their geometric mean loss."""
    grid = range(STEP, MOST + 1, STEP)
    losses = []
    for s in swept:
        least = min(s["times"][a, b] for a in grid for b in grid)
        losses.append({sizes: math.log(us / least) for sizes, us in s["times"].items()})
    formulas = candidates([s["density"] for s in swept])
    least, srs, ssrs = min(((sum(loss[pair] for loss, pair in zip(losses, zip(a, b))), a, b)
                            for b in formulas for a in formulas), key=lambda found: found[0])
    return formulas[srs], formulas[ssrs], math.exp(least / len(swept))


def fit(swept, device):
    """Returns a function from a density (mean row length) to (SRS, SSRS), and the lines of the tuning file."""
    levels = swept[0]["levels"]
    if device == "cuda":
        srs, ssrs, _ = search(swept)
        return (lambda d: (size_by(srs, d), size_by(ssrs, d))), [
            f"cuda ssrs {ssrs[0]} {ssrs[1]}", f"cuda srs {srs[0]} {srs[1]}", f"cuda whole {STEP} {MOST}"]
    sizes = constants(swept)
    return (lambda d: sizes), [f"cpu csr{levels} " + " ".join(map(str, sizes[:levels - 1]))]


def compare(lines, swept, sizes_by, protocol):
    """Yields the entries of a sweep with times of one more run with the best sizes, the fitted sizes and the library's
    defaults."""
    for s in swept:
        levels, fitted = s["levels"], sizes_by(s["density"])
        best = s["best_srs"], s["best_ssrs"]
        names = [name_of(levels, best), name_of(levels, fitted), f"csr{levels}"]
        records = measure(lines, s["path"], levels, names, [*protocol, "--type", s["type"]])[s["type"]]
        times = [records[name]["time_us"] for name in names]
        yield {**{k: v for k, v in s.items() if k not in ("path", "times")}, "best_us": times[0],
               "fitted_srs": fitted[0], "fitted_ssrs": fitted[1], "fitted_us": times[1], "default_us": times[2]}


def capability():
    """Returns the major compute capability of the first GPU."""
    query = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    try:
        found = subprocess.run(query, capture_output=True, encoding="utf-8", check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"{PROGRAM}: the compute capability of the GPU is unknown: {error}")
    major = found.partition(".")[0]
    if not major.isdigit():
        sys.exit(f"{PROGRAM}: the compute capability of the GPU is unknown: nvidia-smi printed {found.strip()!r}")
    return major


def check_output(path):
    """Fails if the file cannot be written. Creates no file."""
    exists = os.path.exists(path)
    with open(path, "a", encoding="utf-8"):
        pass
    if not exists:
        os.remove(path)


def check_matrices(lines, matrices):
    """Exits if a matrix cannot be read or has no entries."""
    for path in matrices:
        if not lines("info", path)[0]["nnz"]:
            sys.exit(f"{PROGRAM}: {path} has no entries; expected matrices with entries")


def write(path, facts):
    """Writes the tuning file. If this fails, prints its lines."""
    text = "\n".join(["spry-tuning 3", *facts, f"end {len(facts)}", ""])
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        print(text, end="")
        sys.exit(f"{PROGRAM}: {path}: {error.strerror}; its lines are on standard output")


def tune(options, lines):
    """Measures, prints the losses of sizes and returns the lines of the tuning file."""
    protocol = ["--device", options.device] + (["--runs", options.runs] if options.runs else [])
    facts = [f"cuda {capability()}"] if options.device == "cuda" else []
    for levels in (3,) if options.device == "cuda" else (2, 3):
        swept = sweep(lines, options.matrices, options.device, levels, [*protocol, "--type", options.type])
        sizes_by, fitted = fit(swept, options.device)
        facts += fitted
        found = list(compare(lines, swept, sizes_by, protocol))
        for what in ("fitted", "default"):
            loss = geometric_mean([r[what + "_us"] / r["best_us"] for r in found])
            print(f"csr{levels}, {what} sizes: {100 * (loss - 1):+.1f} % compared with the best, geometric mean")
    return facts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matrices", nargs="*", default=MATRICES, metavar="MATRIX")
    parser.add_argument("-o", "--out", required=True, metavar="TABLE")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--type", choices=("f32", "f64", "all"), default="f64")
    parser.add_argument("--runs", help="passed to spry bench")
    parser.set_defaults(quick=False)
    options = parser.parse_args()
    lines = jobs.Run(options).lines
    check_output(options.out)
    check_matrices(lines, options.matrices)
    write(options.out, tune(options, lines))


if __name__ == "__main__":
    try:
        main()
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        sys.exit(f"{PROGRAM}: {machine.program()} printed no JSON ({error}); set SPRY to the path of spry")
    except KeyboardInterrupt:
        sys.exit(f"{PROGRAM}: interrupted; no file was written")
    except OSError as error:
        sys.exit(f"{PROGRAM}: {error.filename or 'output'}: {error.strerror}")
