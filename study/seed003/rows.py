"""Seed 003's question: one thread per row (scalar) or one warp per row (vector)? Matrices, and reasons for each answer.

Times are from records of `spry bench`, properties of matrices from `spry info`.
"""
import os

from common import matrices as real

SCALAR, SHARED, ELL = "csr_scalar_cuda", "csr_vector_shared_cuda", "ell_listing_cuda"  # the tutorial's
SHUFFLE, BY_MEAN, SLOTS, MERGE = "csr_vector_cuda:lanes=32", "csr_vector_cuda", "ell_slots_cuda", "csr_merge_cuda"
KERNELS = (SCALAR, SHARED, SHUFFLE, BY_MEAN, MERGE, ELL, SLOTS)
WARP, SECTOR, COLUMN = 32, 32, 4  # lanes of a warp; bytes of a sector; bytes of a column index

HERE = os.path.dirname(os.path.abspath(__file__))
ENTRIES = 20_000_000              # approximate number of entries of each matrix of the sweep

# Bands whose rows have 1, 3, 5, 9, ... entries. Only the row length differs.
HALVES = (0, 1, 2, 4, 8, 16, 32, 64, 128)


def band(half, entries):
    rows = entries // (2 * half + 1)
    return f"gen:diagonal,rows={rows}" if half == 0 else f"gen:banded,rows={rows},half={half}"


# flickr.mtx of the assignment (Gleich/flickr) has 820 878 rows and 9 837 214 entries, as has the twin. This study chose
# the twin's longest row, share of mirrored entries and kind.
FLICKR = "gen:twin,rows=820878,entries=9837214,longest=10000,kind=social,symmetry=50,diagonal=0"
QUICK_FLICKR = "gen:twin,rows=3000,entries=36000,longest=700,kind=social,symmetry=50,diagonal=0"

# Real graphs with uneven rows, and the length of the rows of a matrix of equal size with even rows.
UNEVEN = {"soc-Slashdot0902": (82168, 12), "cnr-2000": (325557, 10)}

EXAMPLE = os.path.join(HERE, "my.mtx")
# In scalar, one thread processes the longest row, which has about 3e5 entries in the last two matrices.
OTHERS = {"R-MAT, 10 a row": "gen:rmat,scale=20,edges=10", "grid, 5 points": "gen:grid5",
          "grid, 27 points": "gen:grid27", "circuit": "gen:circuit1",
          "one dense row and column": "gen:arrow,rows=300000"}


def flickr(quick, folder):
    """Returns name and source of flickr: the real matrix if it is in the folder, else the twin."""
    path = real.find(folder, "flickr")
    if path:
        return "flickr.mtx", path
    return "flickr's twin", QUICK_FLICKR if quick else FLICKR


def pairs(quick, folder):
    """Returns {name: source} of matrices with even rows, each followed by a matrix of equal size with uneven rows."""
    name, source = flickr(quick, folder)
    found = {"uniform, 12 a row": f"gen:uniform,rows={3000 if quick else 820878},degree=12", name: source}
    for graph, (count, length) in () if quick else UNEVEN.items():
        path = real.find(folder, graph)
        if path:
            found.update({f"uniform, as {graph}": f"gen:uniform,rows={count},degree={length}", graph: path})
    return found


def groups(quick, folder=None):
    """Returns {title: {name: source}}. Matrices of one group are measured in one job."""
    bands = {f"row length {2 * h + 1}": band(h, 20_000 if quick else ENTRIES)
             for h in (HALVES[::3] if quick else HALVES)}
    others = {} if quick else {other: {other: source} for other, source in OTHERS.items()}
    return {"bands": bands, "even and uneven": pairs(quick, folder), "my.mtx": {"my.mtx": EXAMPLE}, **others}


def is_twin(info):
    """Returns whether the matrix is a twin, whose longest row is this study's choice."""
    return info.get("source", "").startswith("gen:twin,")


# ptr of the tutorial's example, and the access patterns that it prints.
PTR = (0, 2, 4, 7, 9)
PRINTED_SCALAR = ((0, 2, 4, 7), (1, 3, 5, 8), (6,))  # entries read by the threads for each jj
PRINTED_VECTOR = (0, 0, 1, 1, 2, 2, 2, 3, 3)         # warp that reads each entry, jj = row_start + lane


def scalar_accesses(ptr):
    """Returns the entries that the threads read in each step, with one thread per row."""
    longest = max(end - begin for begin, end in zip(ptr, ptr[1:]))
    return tuple(tuple(begin + s for begin, end in zip(ptr, ptr[1:]) if begin + s < end) for s in range(longest))


def vector_accesses(ptr):
    """Returns the warp that reads each entry. A row of up to 32 entries is read in one step."""
    return tuple(row for row, (begin, end) in enumerate(zip(ptr, ptr[1:])) for _ in range(begin, end))


def steps(info):
    """Estimates how many reads of 32 entries the warps of the vector kernel do, from the middles of histogram bins."""
    total = 0
    for part in info["histogram"]:
        length = min((part["from"] + part["to"]) / 2, info["max_row"])
        total += part["rows"] * (-(-int(length) // WARP) if part["from"] else 0)
    return total


def busy_lanes(info):
    """Returns how many of the vector kernel's 32 lanes have an entry in the mean step."""
    all_steps = steps(info)
    return min(WARP, info["nnz"] / all_steps) if all_steps else 0


def scalar_sectors(info):
    """Returns the number of sectors of the column indices that a warp of the scalar kernel reads per step, one entry of
    each of 32 rows."""
    return min(WARP, max(WARP * COLUMN / SECTOR, info["mean_row"] * WARP * COLUMN / SECTOR))


def vector_sectors(info):
    """Returns the number of sectors of the column indices that a warp of the vector kernel reads per step, adjacent
    entries of one row."""
    return max(1, busy_lanes(info) * COLUMN / SECTOR)


def result_sectors(neighbours):
    """Returns the number of sectors of y that are accessed for 32 rows, with `neighbours` rows per access."""
    return WARP // neighbours * max(1, neighbours * COLUMN // SECTOR)


def used(entries, sectors):
    """Returns the share of the sectors' bytes that the step uses."""
    return entries * COLUMN / (sectors * SECTOR)


def reason(info, ratio, margin):
    """Returns the reason why scalar takes `ratio` times as long as vector, as text."""
    scalar, lanes = scalar_sectors(info), busy_lanes(info)
    text = (f"a warp of scalar reads 32 rows, {scalar:.0f} sectors per step, and uses "
            f"{100 * used(WARP, scalar):.0f} % of their bytes; a warp of vector reads 1 row with {lanes:.1f} of 32 "
            "lanes")
    if info["max_row"] > 8 * max(1, info["mean_row"]):
        text += f"; one thread of scalar processes a row of {info['max_row']} entries"
    if 1 / margin < ratio < margin:
        return "even: " + text
    return ("vector: " if ratio > 1 else "scalar: ") + text
