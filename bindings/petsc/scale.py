#!/usr/bin/env python3
"""Simulates how products and a solver of PETSc scale over MPI, with aij and with aijspry, up to 1024 ranks.

    scale.py              prints the tables of docs/scale.md
    scale.py validate     compares simulated times of the measured machine with measured times, for one and two ranks
    scale.py counts       prints the part of each rank: --grid 8x8 --ranks 4 --blocks boxes
    scale.py write        writes the tables of `tables` and `validate` to docs/scale.md
    scale.py check        checks that docs/scale.md has these tables
    scale.py --help       lists the model's parameters, which are options

A grid with a five-point stencil (2-D) or a seven-point stencil (3-D) is partitioned like PETSc does. For each rank, the
model counts rows, entries of the diagonal and the off-diagonal block, and columns received from each sender. It derives
the rank's time:

    MatMult   exchange begins, product with the diagonal block, exchange ends, product with the off-diagonal block
    CG        one iteration of KSPCG with PCJACOBI and its default norm: a MatMult, three dot products (VecTDot twice,
              VecNorm) that each end in a reduction over all ranks, and four passes over vectors (VecAXPY twice,
              VecAYPX, VecPointwiseMult)

The slowest rank determines the time. A product takes its bytes times the measured time per byte, in memory or in
cache. If the rank's share of its node's memory bandwidth requires more time, this bound applies. A working set is in
cache if it fits and in memory if it is twice as large as the cache; in between, a part of it is in cache. Cores copy
messages within a node, so these do not overlap with products. Messages between nodes overlap with the product with the
diagonal block.

Not modelled: noise of the operating system, other jobs on the network and its topology, NUMA, packing of messages,
waiting between products, set-up of matrices and plans. The model covers only the measured processor.

Needs Python 3.9 and numpy. All tables take about two seconds and 100 MB.
"""
import argparse
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

PAGE = Path(__file__).resolve().parents[2] / "docs/scale.md"

# Bytes per entry and per row, for aij and for formats of aijspry. aij reads the same arrays as format csr.
BYTES = {"aij": (12, 4), "csr": (12, 4), "packed": (8.2, 0)}
TYPES = tuple(BYTES)
LEAST_ENTRIES = 8192  # PETSc's code multiplies smaller blocks: bindings/petsc/plans.c
DOTS, PASSES = 3, 4   # per iteration of CG
FIXED, PER_RANK = [(4096, 4096), (256, 256, 256)], [(512, 512), (64, 64, 64)]

# Measured times in microseconds. ONE_RANK, a MatMult on one rank, is the model's input. MEASURED is compared with the
# model's results. docs/scale.md describes the measurements.
SIZES = {"grid5": {"memory": (1000, 1000), "cache": (150, 150)},
         "grid7": {"memory": (80, 80, 80), "cache": (28, 28, 28)}}
ONE_RANK = {("grid5", "memory"): (4142, 3446, 2946), ("grid5", "cache"): (75.6, 71.2, 46.5),
            ("grid7", "memory"): (3153, 2956, 2187), ("grid7", "cache"): (95.8, 102.5, 88.6)}
MEASURED_ON = ("--cores", "2", "--memory", "47")  # the machine of these figures
MEASURED = {("MatMult", "grid5", 2): (2408, 2214, 1643), ("MatMult", "grid7", 2): (2027, 2073, 1487),
            ("CG", "grid5", 1): (13554, 11366, 11212), ("CG", "grid5", 2): (6169, 6175)}


# ---- grids and their partitions ----

@dataclass
class Partition:
    """The parts of all ranks. A message is a number of columns of x that one rank receives from another rank."""
    rows: np.ndarray
    diagonal: np.ndarray   # entries of the diagonal block, whose columns belong to the rank
    off: np.ndarray        # entries of the off-diagonal block
    filled: np.ndarray     # rows with entries in the off-diagonal block
    receiver: np.ndarray   # receiver, sender and columns: one element per message
    sender: np.ndarray
    columns: np.ndarray

    def received(self):
        return np.bincount(self.receiver, self.columns, len(self.rows)).astype(np.int64)


def split(count, parts):
    """Returns the sizes of PETSc's equal parts. The first parts are larger by one if there is a remainder."""
    return np.full(parts, count // parts) + (np.arange(parts) < count % parts)


def three(dims):
    return tuple(dims) + (1,) * (3 - len(dims))


def columns_above(dims, starts):
    """Returns messages (receiver, sender, columns) for the columns that ranks need from later ranks."""
    nx, ny, nz = three(dims)
    reach, total = (nx * ny if nz > 1 else nx), nx * ny * nz
    found = []

    def first_line(k):  # number of points before point k that are in the first line of their plane
        return k // (nx * ny) * nx + min(k % (nx * ny), nx)

    for rank in range(len(starts) - 1):
        begin, end = int(starts[rank]), int(starts[rank + 1])
        far = max(end, begin + reach)                # the rank needs all columns far .. end + reach - 1
        near, near_end = max(end, begin + nx), min(end + nx, far)
        sender = rank + 1
        while begin < end and sender < len(starts) - 1 and starts[sender] < min(end + reach, total):
            low, high = int(starts[sender]), int(starts[sender + 1])
            count = max(0, min(end + reach, high) - max(far, low))
            a, b = max(near, low), min(near_end, high)
            if b > a:
                count += b - a - (first_line(b) - first_line(a))
            by_line = near == end < near_end and end // nx % ny > 0
            if low <= end < high and end % nx > 0 and far > end and not by_line:
                count += 1                           # the rank's last point needs the next point of its line
            if count:
                found.append((rank, sender, count))
            sender += 1
    return found


def row_blocks(dims, ranks):
    """Partitions the grid into contiguous rows in natural order, like MatCreate and MatSetSizes."""
    nx, ny, nz = three(dims)
    total = nx * ny * nz
    starts = np.concatenate(([0], np.cumsum(split(total, ranks))))
    cuts = np.unique(np.concatenate((np.arange(0, total + 1, nx), starts)))  # pieces of lines; a piece is on one rank
    low, high = cuts[:-1], cuts[1:]
    length, rank = high - low, np.searchsorted(starts, low, side="right") - 1
    begin, end = starts[rank], starts[rank + 1]
    y, z = low // nx % ny, low // (nx * ny)
    entries, off, before, after = length.copy(), 0 * low, 0 * low, 0 * low
    steps = ((1, low % nx > 0, high % nx > 0, True), (nx, y > 0, y < ny - 1, False),
             (nx * ny, z > 0, z < nz - 1, False))
    for step, has_before, has_after, in_line in steps:
        # In a piece, the first rows may reach before the rank's first row, and the last rows beyond its last row.
        reach_before = np.where(has_before, np.clip(begin + step - low, 0, length), 0)
        reach_after = np.where(has_after, np.clip(high - (end - step), 0, length), 0)
        in_lines = 2 * length - (low % nx == 0) - (high % nx == 0)
        entries += in_lines if in_line else (1 * has_before + has_after) * length
        off += reach_before + reach_after
        before, after = np.maximum(before, reach_before), np.maximum(after, reach_after)
    by_rank = [np.bincount(rank, what, ranks).astype(np.int64)
               for what in (length, entries - off, off, np.minimum(length, before + after))]
    above = columns_above(dims, starts)
    # Messages from earlier ranks: in reverse order the grid is equal, and earlier ranks become later ranks.
    below = [(ranks - 1 - r, ranks - 1 - s, count) for r, s, count in columns_above(dims, (total - starts)[::-1])]
    messages = np.array(above + below, dtype=np.int64).reshape(-1, 3)
    return Partition(*by_rank, *messages.T)


def processes(dims, ranks):
    """Returns the process grid of DMDACreate2d and DMDACreate3d, whose boxes are nearly squares or cubes."""
    if len(dims) == 2:
        m = max(1, int(0.5 + (dims[0] * ranks / dims[1]) ** 0.5))
        while ranks % m:
            m -= 1
        n = ranks // m
        return (n, m) if dims[0] > dims[1] and m < n else (m, n)
    n = max(1, int(0.5 + (dims[1] ** 2 * ranks / (dims[2] * dims[0])) ** (1 / 3)))
    while ranks % n:
        n -= 1
    m = max(1, int(0.5 + (dims[0] * ranks / (dims[2] * n)) ** 0.5))
    while ranks % (m * n):
        m -= 1
    p = ranks // (m * n)
    return (p, n, m) if dims[0] > dims[2] and m < p else (m, n, p)


def box_blocks(dims, ranks):
    """Partitions the grid into boxes, like a DMDA."""
    counts = processes(dims, ranks)
    places = np.stack(np.unravel_index(np.arange(ranks), counts, order="F"))
    size = np.stack([split(extent, count)[place] for extent, count, place in zip(dims, counts, places)])
    rows = size.prod(axis=0)
    diagonal, off, inner, messages, stride = rows.copy(), 0 * rows, size.copy(), [], 1
    for d, count in enumerate(counts):
        face = rows // size[d]
        diagonal += 2 * (rows - face)
        for side, has in ((-stride, places[d] > 0), (stride, places[d] < count - 1)):
            off += face * has
            inner[d] -= has
            rank = np.flatnonzero(has)
            messages.append(np.stack((rank, rank + side, face[rank])))
        stride *= count
    filled = rows - np.maximum(inner, 0).prod(axis=0)
    return Partition(rows, diagonal, off, filled, *np.concatenate(messages, axis=1))


BLOCKS = {"rows": row_blocks, "boxes": box_blocks}


def points(dims):
    return int(np.prod(dims))


def entries_of(dims):
    return points(dims) + sum(2 * (points(dims) // d * (d - 1)) for d in dims)


# ---- times ----

def product_bytes(name, entries, rows, columns):
    """Returns the bytes of the matrix and both vectors, each counted once."""
    of_entry, of_row = BYTES[name]
    return of_entry * entries + (of_row + 8) * rows + 8 * columns


@dataclass
class Machine:
    """A cluster. Times are in seconds, bandwidths in bytes per second. parse() has the defaults."""
    cores: int             # ranks per node
    memory: float          # memory bandwidth of a node
    cache: float           # cache of a core, in bytes
    local_latency: float
    local_bytes: float     # bandwidth of messages within a node
    network_latency: float
    network_bytes: float   # bandwidth of a node's link, in each direction
    dot: float             # time per row of a dot product in cache
    update: float          # time per row of a pass over vectors in cache
    core: float            # memory bandwidth of one core in a pass over vectors
    byte: dict = field(default_factory=dict)  # time per byte of a product: (grid, "memory" or "cache", type) -> seconds

    def share(self, ranks):
        return self.memory / min(ranks, self.cores)

    def measured(self, times):
        for (grid, kind), of_types in times.items():
            dims = SIZES[grid][kind]
            for name, microseconds in zip(TYPES, of_types):
                size = product_bytes(name, entries_of(dims), points(dims), points(dims))
                self.byte[grid, kind, name] = microseconds * 1e-6 / size


def block_time(machine, grid, name, size, cached, ranks):
    """Returns each rank's time for a product with a block of `size` bytes, with the fraction `cached` in cache."""
    in_memory = np.maximum(size * machine.byte[grid, "memory", name], size / machine.share(ranks))
    return cached * size * machine.byte[grid, "cache", name] + (1 - cached) * in_memory


def diagonal_time(machine, grid, name, part, cached):
    size = product_bytes(name, part.diagonal, part.rows, part.rows)
    return block_time(machine, grid, name, size, cached, len(part.rows))


def off_time(machine, grid, name, part, cached):
    """Returns the time of the off-diagonal block. The model assumes that aijspry skips all empty rows, and that aij
    skips them if at least 60 % of the rows are empty."""
    few = part.rows - part.filled >= 0.6 * part.rows
    rows = part.filled if name != "aij" else np.where(few, part.filled, part.rows)
    size = np.where(part.off > 0, product_bytes(name, part.off, rows, 0) + 8 * (rows + part.received()), 0)
    return block_time(machine, grid, name, size, cached, len(part.rows))


def exchange(machine, part):
    """Returns each rank's time for messages within the node and for messages through the network."""
    ranks = len(part.rows)
    bytes_, node = 8 * part.columns, lambda rank: rank // machine.cores
    local = node(part.receiver) == node(part.sender)
    copies = np.bincount(part.receiver, local * (machine.local_latency + bytes_ / machine.local_bytes), ranks)
    remote = np.bincount(part.receiver, ~local * 1.0, ranks)
    nodes = node(ranks - 1) + 1
    through = np.maximum(np.bincount(node(part.receiver), ~local * bytes_, nodes),
                         np.bincount(node(part.sender), ~local * bytes_, nodes)) / machine.network_bytes
    network = remote * machine.network_latency + np.where(remote > 0, through[node(np.arange(ranks))], 0)
    return copies, network


def working_set(name, part, vectors):
    """Returns the bytes of a rank's blocks, their operands and results, and `vectors` more vectors."""
    columns = part.rows + part.received()
    return product_bytes(name, part.diagonal + part.off, part.rows, columns) + 8 * vectors * part.rows


def in_cache(machine, size):
    """Returns the fraction of a rank's working set that is in cache."""
    return np.clip(2 - size / machine.cache, 0, 1) if machine.cache > 0 else np.zeros(len(size))


def mult_times(machine, grid, name, part, cached):
    """Returns each rank's time for a MatMult."""
    diagonal, off = (np.where(entries < LEAST_ENTRIES, time(machine, grid, "aij", part, cached),
                              time(machine, grid, name, part, cached))
                     for entries, time in ((part.diagonal, diagonal_time), (part.off, off_time)))
    copies, network = exchange(machine, part)
    return copies + np.maximum(diagonal, network) + off


def reduction(machine, ranks):
    """Returns the time of a sum over all ranks by recursive doubling."""
    within = np.ceil(np.log2(min(ranks, machine.cores)))
    return within * machine.local_latency + (np.ceil(np.log2(ranks)) - within) * machine.network_latency


def mult(machine, grid, name, part):
    return mult_times(machine, grid, name, part, in_cache(machine, working_set(name, part, 0))).max()


def cg(machine, grid, name, part):
    """Returns the time of an iteration. The matrix shares the cache with x, r, z, p and the diagonal."""
    ranks = len(part.rows)
    cached = in_cache(machine, working_set(name, part, 3))
    speed = min(machine.core, machine.share(ranks))

    def over(vectors, least):  # time per row of a pass over vectors; least: the time in cache
        return least * cached + (1 - cached) * max(least, 8 * vectors / speed)
    # p'w and z'r read two vectors, the norm reads one; each pass reads two vectors and writes one.
    dots = sum(over(vectors, machine.dot) for vectors in (2, 2, 1))
    passes = PASSES * over(3, machine.update)
    slowest = (mult_times(machine, grid, name, part, cached) + (dots + passes) * part.rows).max()
    return slowest + DOTS * reduction(machine, ranks)


def grow(dims, ranks):
    """Returns the grid with `ranks` times the points, by doubling the sides in turn."""
    dims, d = list(dims), 0
    while ranks > 1:
        dims[d % len(dims)] *= 2
        ranks, d = ranks // 2, d + 1
    return tuple(dims)


def scale(machine, dims, blocks, ranks, weak):
    """Returns the times for each number of ranks: [(ranks, {"mult": times of TYPES, "cg": times of TYPES})]."""
    grid, rows = f"grid{2 * len(dims) + 1}", []
    for count in ranks:
        part = BLOCKS[blocks](grow(dims, count) if weak else dims, count)
        rows.append((count, {what.__name__: tuple(what(machine, grid, name, part) for name in TYPES)
                             for what in (mult, cg)}))
    return rows


# ---- output ----

def number(seconds):
    return f"{seconds * 1e6:.0f}" if seconds >= 1e-5 else f"{seconds * 1e6:.1f}"


def efficiency(first, now, ranks, weak):
    return first / now if weak else first / now / ranks


def cells(first, times, ranks, weak):
    """Returns aij's time, each format's time with its speedup over aij, and the efficiency of the first format."""
    return [number(times[0])] + [f"{number(t)} ({times[0] / t:.2f})" for t in times[1:]] + [
        f"{efficiency(first[1], times[1], ranks, weak):.2f}"]


def table(machine, cases, blocks, ranks, weak):
    one = " | ".join(TYPES) + " | efficiency"
    lines = [f"| grid | blocks | ranks | MatMult: {one} | CG: {one} |", "|---" * (3 + 2 * (len(TYPES) + 1)) + "|"]
    for dims in cases:
        name = "x".join(map(str, dims)) + (" per rank" if weak else "")
        for block in blocks:
            rows = scale(machine, dims, block, ranks, weak)
            for count, times in rows:
                both = [text for what in ("mult", "cg")
                        for text in cells(rows[0][1][what], times[what], count // rows[0][0], weak)]
                lines.append(f"| {name} | {block} | {count} | " + " | ".join(both) + " |")
    return "\n".join(lines)


def validate(machine):
    """Returns the table that compares simulated times with measured times that are not inputs of the model."""
    lines = ["| | grid | ranks | type | simulated, us | measured, us | error |", "|---|---|---|---|---|---|---|"]
    for (what, grid, ranks), times in MEASURED.items():
        dims = SIZES[grid]["memory"]
        part = row_blocks(dims, ranks)
        for name, measured in zip(TYPES, times):
            told = 1e6 * (mult if what == "MatMult" else cg)(machine, grid, name, part)
            lines.append(f"| {what} | {'x'.join(map(str, dims))} | {ranks} | {name} | {told:.0f} | {measured} | "
                         f"{100 * (told / measured - 1):+.0f} % |")
    return "\n".join(lines)


def counts(part):
    lines = ["rank rows diagonal off filled received from"]
    received = part.received()
    for rank in range(len(part.rows)):
        senders = " ".join(map(str, sorted(part.sender[part.receiver == rank])))
        lines.append(f"{rank} {part.rows[rank]} {part.diagonal[rank]} {part.off[rank]} {part.filled[rank]} "
                     f"{received[rank]} {senders}")
    return "\n".join(lines)


def grid_of(text):
    dims = tuple(int(side) for side in text.split("x"))
    if len(dims) not in (2, 3) or min(dims) < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected two or three sides, such as 4096x4096")
    return dims


def times_of(text):
    times = tuple(float(part) for part in text.split(","))
    if len(times) != len(TYPES) or min(times) <= 0:
        raise argparse.ArgumentTypeError(f"{text}: expected the times of {', '.join(TYPES)}, separated by commas")
    return times


def parse(arguments):
    p = argparse.ArgumentParser(description="Simulates scaling of PETSc's products with aij and aijspry. The results "
                                            "are a model, not measurements.")
    p.add_argument("what", nargs="?", choices=("tables", "validate", "counts", "write", "check"),
                   default="tables")
    p.add_argument("--ranks", type=int, nargs="+", default=[1, 64, 256, 1024], help="numbers of ranks")
    p.add_argument("--grid", type=grid_of, nargs="+", help="fixed grids (4096x4096 256x256x256)")
    p.add_argument("--per-rank", type=grid_of, nargs="+",
                   help="grids per rank, which grow with the number of ranks (512x512 64x64x64)")
    p.add_argument("--blocks", nargs="+", choices=BLOCKS, default=list(BLOCKS), help="how the grid is partitioned")
    p.add_argument("--cores", type=int, default=64, help="cores per node, one rank each (64)")
    p.add_argument("--memory", type=float, default=300, help="memory bandwidth of a node in GB/s (300)")
    p.add_argument("--cache", type=float, default=4, help="cache of a core in MB (4)")
    p.add_argument("--local-latency", type=float, default=0.9, help="latency of a message within a node in us (0.9)")
    p.add_argument("--local-bandwidth", type=float, default=2, help="bandwidth within a node in GB/s (2)")
    p.add_argument("--network-latency", type=float, default=1.5, help="latency of a message between nodes in us (1.5)")
    p.add_argument("--network-bandwidth", type=float, default=20, help="bandwidth of a node's link in GB/s (20)")
    p.add_argument("--dot", type=float, default=1.0, help="time per row of a dot product in cache in ns (1.0)")
    p.add_argument("--update", type=float, default=0.5, help="time per row of VecAXPY and similar in cache in ns (0.5)")
    p.add_argument("--core", type=float, default=25, help="memory bandwidth of one rank in VecAXPY in GB/s (25)")
    for (grid, kind), times in ONE_RANK.items():
        size = "x".join(map(str, SIZES[grid][kind]))
        p.add_argument(f"--{grid}-{kind}", type=times_of, default=times, metavar=",".join(TYPES).upper(),
                       help=f"times of a MatMult of {size} on one rank in us {times}")
    return p.parse_args(arguments)


def machine_of(o):
    machine = Machine(cores=o.cores, memory=o.memory * 1e9, cache=o.cache * 1e6, local_latency=o.local_latency * 1e-6,
                      local_bytes=o.local_bandwidth * 1e9, network_latency=o.network_latency * 1e-6,
                      network_bytes=o.network_bandwidth * 1e9, dot=o.dot * 1e-9, update=o.update * 1e-9,
                      core=o.core * 1e9)
    machine.measured({key: getattr(o, "_".join(key)) for key in ONE_RANK})
    return machine


def tables(machine, o):
    return {"fixed": table(machine, o.grid or FIXED, o.blocks, o.ranks, False),
            "part": table(machine, o.per_rank or PER_RANK, o.blocks, o.ranks, True)}


def page(write):
    """Compares the computed tables with the tables between <!-- scale: NAME --> and <!-- end --> of docs/scale.md.

    Returns whether they are equal. write: replaces them and returns True.
    """
    o = parse(["tables"])
    made = tables(machine_of(o), o)
    made["part"] = table(machine_of(o), PER_RANK, ["boxes"], o.ranks, True)  # the page omits rows
    made["two"] = validate(machine_of(parse(MEASURED_ON)))
    old = new = PAGE.read_text()
    for name, text in made.items():
        new, found = re.subn(f"(<!-- scale: {name} -->\n).*?(<!-- end -->)", lambda m: m[1] + text + "\n" + m[2], new,
                             flags=re.S)
        if found != 1:
            sys.exit(f"{PAGE} has {found} markers for the table {name}, expected 1")
    if write:
        PAGE.write_text(new)
    return write or new == old


def main(arguments):
    o = parse(arguments)
    machine = machine_of(o)
    if o.what == "validate":
        print(validate(machine_of(parse([*MEASURED_ON, *arguments]))))
    elif o.what == "counts":
        for dims in o.grid or [(8, 8)]:
            print(counts(BLOCKS[o.blocks[0]](dims, o.ranks[0])))
    elif o.what == "tables":
        made = tables(machine, o)
        print("Fixed grids, us:\n\n" + made["fixed"] + "\n\nFixed grid per rank, us:\n\n" + made["part"])
    elif not page(o.what == "write"):
        sys.exit(f"{PAGE} has other tables; bindings/petsc/scale.py write replaces them")


if __name__ == "__main__":
    main(sys.argv[1:])
