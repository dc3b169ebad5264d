"""PageRank as printed in the tutorial, steps a to e, in plain Python, and its comparison with `spry pagerank`."""
import json
import os
import sys
import tempfile

TOLERANCE = 1e-12


class ZeroColumn(Exception):
    """Step a: "If a 0-column exists, abort."."""


def read_matrix(path):
    """Returns the number of rows, and entries (row, column, value) counted from 0, of a small Matrix Market file."""
    with open(path, encoding="utf-8") as file:
        lines = [line.split() for line in file if not line.startswith("%")]
    n = int(lines[0][0])
    return n, [(int(i) - 1, int(j) - 1, float(v)) for i, j, v in lines[1:]]


def column_sums(n, entries):
    sums = [0.0] * n
    for _, j, value in entries:
        sums[j] += value
    return sums


def step_a(n, entries):
    """Step a: if B is not left stochastic, divides each entry by its column sum. Returns B, and whether B was left
    stochastic before."""
    sums = column_sums(n, entries)
    if any(s == 0 for s in sums):
        raise ZeroColumn(sums.index(0))
    if all(abs(s - 1) <= 8 * 2.0 ** -52 for s in sums):
        return entries, True
    return [(i, j, value / sums[j]) for i, j, value in entries], False


def ranks(n, entries, alpha=0.85, tolerance=TOLERANCE):
    """Returns the ranks, the number of iterations, and whether B was left stochastic."""
    b, stochastic = step_a(n, entries)
    x = [1 / n] * n                                               # b
    iterations, step = 0, float("inf")
    while step > tolerance:                                       # e
        y = [0.0] * n
        for i, j, value in b:                                     # c
            y[i] += value * x[j]
        following = [alpha * v + (1 - alpha) / n for v in y]      # d
        step = sum(abs(p - q) for p, q in zip(following, x))
        x, iterations = following, iterations + 1
    return x, iterations, stochastic


def spry_ranks(run, path, device, tolerance=TOLERANCE):
    """Runs `spry pagerank` with the printed steps. Returns its record, and the ranks or None if it failed."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "x.mtx")
        text, status = run.call("pagerank", path, "--edges", "column-to-row", "--dangling", "refuse", "--tol",
                                str(tolerance), "--device", device, "--json", "--out", out)
        record = json.loads(text)
        x = None
        if status == 0:
            with open(out, encoding="utf-8") as file:
                x = [float(line) for line in [line for line in file if not line.startswith("%")][1:]]
    return record, x


def ranks_or_exit(run, path, device):
    """Like spry_ranks, but exits if the program gives no ranks."""
    record, x = spry_ranks(run, path, device)
    if x is None:
        sys.exit(f"study/run: {run.command} failed: {record.get('reason') or record.get('verdict')}")
    return record, x


def write_matrix(path, n, entries):
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"%%MatrixMarket matrix coordinate real general\n{n} {n} {len(entries)}\n")
        for i, j, value in entries:
            file.write(f"{i + 1} {j + 1} {value!r}\n")


def check_steps(run, path, device):
    """Returns a row for each step of the algorithm: step, printed text, finding, whether text and finding agree."""
    n, entries = read_matrix(path)
    x, iterations, _ = ranks(n, entries)
    record, ours = ranks_or_exit(run, path, device)
    distance = max(abs(p - q) for p, q in zip(x, ours))
    with tempfile.TemporaryDirectory() as folder:
        divided = os.path.join(folder, "divided.mtx")
        write_matrix(divided, n, step_a(n, entries)[0])
        stochastic, same = ranks_or_exit(run, divided, device)
        without = os.path.join(folder, "without.mtx")
        write_matrix(without, n, [e for e in entries if e[1] != n - 1])
        aborted, nothing = spry_ranks(run, without, device)
        turned = os.path.join(folder, "turned.mtx")
        write_matrix(turned, n, [(i, (i + 1) % n, 1.0) for i in range(n)])
        first, even = ranks_or_exit(run, turned, device)
    shift = max(abs(p - q) for p, q in zip(same, ours))
    return [
        ("a", "divide each entry by its column sum", f"ranks of the plain loop, apart by {distance:.1e} at most",
         distance <= 1e-14 and not record["is_stochastic"]),
        ("a", "left stochastic: as it stands", f"the quotients are taken as they are, ranks apart by {shift:.1e}",
         bool(stochastic["is_stochastic"]) and shift <= 1e-14),
        ("a", "a 0-column: abort", f"verdict: {aborted['verdict']}",
         aborted["verdict"] == "dangling node" and nothing is None),
        ("b", "x = 1/n e", f"which a permutation leaves as it is: {first['iterations']} iteration",
         first["iterations"] == 1 and all(abs(v - 1 / n) <= 1e-16 for v in even)),
        ("c, d", "y = B x, x = alpha y + (1 - alpha) 1/n e", f"{iterations} iterations, the sum of x {sum(ours):.15f}",
         abs(sum(ours) - 1) <= 1e-14 and distance <= 1e-14),
        ("e", "while the error criterion is not fulfilled",
         f"{record['iterations']} iterations, {iterations} by the loop",
         record["iterations"] == iterations and record["verdict"] == "converged"),
    ]
