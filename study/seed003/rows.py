"""Seed 003's question: a thread a row (scalar) or a warp a row (vector)? Matrices, and the reason of each answer.

All of it goes by the records of `spry bench` and, for what is known of a matrix, of `spry info`.
"""
import os

from common import matrices as real

SCALAR, SHUFFLE, SHARED = "csr_scalar_cuda", "csr_vector_cuda:lanes=32", "csr_vector_shared_cuda"
BY_MEAN, ELL, LIBRARY = "csr_vector_cuda", "ell_slots_cuda", "csr_merge_cuda"
KERNELS = (SCALAR, SHARED, SHUFFLE, BY_MEAN, ELL, LIBRARY)
WARP, SECTOR, COLUMN = 32, 32, 4  # lanes; bytes of a sector, of a column's number
EVEN = 1.05                       # times within 5 % are no difference

HERE = os.path.dirname(os.path.abspath(__file__))
ENTRIES = 20_000_000              # of each matrix of the sweep, about

# Bands whose rows have 1, 3, 5, 9, ... entries: nothing but the row length differs.
HALVES = (0, 1, 2, 4, 8, 16, 32, 64, 128)


def band(half, entries):
    rows = entries // (2 * half + 1)
    return f"gen:diagonal,rows={rows}" if half == 0 else f"gen:banded,rows={rows},half={half}"


# flickr.mtx of the assignment (Gleich/flickr) has 820 878 rows and 9 837 214 entries. The twin has these; its longest
# row, its share of mirrored entries and its kind are ours.
FLICKR = "gen:twin,rows=820878,entries=9837214,longest=10000,kind=social,symmetry=50,diagonal=0"
QUICK_FLICKR = "gen:twin,rows=3000,entries=36000,longest=700,kind=social,symmetry=50,diagonal=0"


EXAMPLE = os.path.join(HERE, "my.mtx")
# One thread has the whole of the longest row, 3e5 entries of the last two.
OTHERS = {"R-MAT, 10 a row": "gen:rmat,scale=20,edges=10", "grid, 5 points": "gen:grid5",
          "grid, 27 points": "gen:grid27", "circuit": "gen:circuit1",
          "one dense row and column": "gen:arrow,rows=300000"}


def flickr(quick, folder):
    """Name and source: the real one, or what stands for it."""
    path = real.find(folder, "flickr")
    if path:
        return "flickr.mtx", path
    return "flickr's twin", QUICK_FLICKR if quick else FLICKR


def groups(quick, folder=None):
    """{title: {name: source}}; what is in one group is measured in one go."""
    bands = {f"row length {2 * h + 1}": band(h, 20_000 if quick else ENTRIES)
             for h in (HALVES[::3] if quick else HALVES)}
    name, source = flickr(quick, folder)
    uneven = {"uniform, 12 a row": f"gen:uniform,rows={3000 if quick else 820878},degree=12", name: source}
    others = {} if quick else {other: {other: source} for other, source in OTHERS.items()}
    return {"bands": bands, "even and uneven": uneven, "my.mtx": {"my.mtx": EXAMPLE}, **others}


def settled_here(info):
    """What the longest row of a twin stands on; "": the matrix is real."""
    if not info.get("source", "").startswith("gen:twin,"):
        return ""
    return (f"the longest row of {info['matrix']}, {info['max_row']} entries, is this study's choice, not the real "
            "matrix's, and the verdict rests on it")


# ptr of the tutorial's example data, and what it prints of it.
PTR = (0, 2, 4, 7, 9)
PRINTED_SCALAR = ((0, 2, 4, 7), (1, 3, 5, 8), (6,))  # places of the threads' numbers in the rows for each jj
PRINTED_VECTOR = (0, 0, 1, 1, 2, 2, 2, 3, 3)         # the warp of each entry, jj = row_start + lane


def scalar_accesses(ptr):
    """The entries that the threads read in each step, a thread a row."""
    longest = max(end - begin for begin, end in zip(ptr, ptr[1:]))
    return tuple(tuple(begin + s for begin, end in zip(ptr, ptr[1:]) if begin + s < end) for s in range(longest))


def vector_accesses(ptr):
    """The warp that reads each entry; a row of up to 32 is read in one step."""
    return tuple(row for row, (begin, end) in enumerate(zip(ptr, ptr[1:])) for _ in range(begin, end))


def steps(info):
    """Of the vector kernel: how often a warp reads 32 entries of a row, about (the histogram's bins are halved)."""
    total = 0
    for part in info["histogram"]:
        length = min((part["from"] + part["to"]) / 2, info["max_row"])
        total += part["rows"] * (-(-int(length) // WARP) if part["from"] else 0)
    return total


def busy_lanes(info):
    """Of the vector kernel's 32 lanes, how many have an entry in the mean step."""
    all_steps = steps(info)
    return min(WARP, info["nnz"] / all_steps) if all_steps else 0


def scalar_sectors(info):
    """Sectors of columns that the 32 threads of a warp meet in a step, one entry of each of 32 rows."""
    return min(WARP, max(WARP * COLUMN / SECTOR, info["mean_row"] * WARP * COLUMN / SECTOR))


def vector_sectors(info):
    """Sectors of columns that a warp of the vector kernel meets in a step, neighbouring entries of one row."""
    return max(1, busy_lanes(info) * COLUMN / SECTOR)


def result_sectors(neighbours):
    """Sectors of y that 32 rows meet, `neighbours` of them in one access."""
    return WARP // neighbours * max(1, neighbours * COLUMN // SECTOR)


def used(entries, sectors):
    """Share of the bytes of these sectors that the step uses."""
    return entries * COLUMN / (sectors * SECTOR)


def reason(info, ratio):
    """Why scalar takes `ratio` times as long as vector."""
    scalar, lanes = scalar_sectors(info), busy_lanes(info)
    text = (f"scalar reads 32 rows a warp, {scalar:.0f} sectors a step, of which it uses "
            f"{100 * used(WARP, scalar):.0f} %; vector reads 1 row with {lanes:.1f} of 32 lanes")
    if info["max_row"] > 8 * max(1, info["mean_row"]):
        text += f"; one thread of scalar has a row of {info['max_row']} entries"
    if 1 / EVEN < ratio < EVEN:
        return "even: " + text
    return ("vector: " if ratio > 1 else "scalar: ") + text
