"""Measurements: products of random matrices by density and size, loading and conversion, and the improvements."""
import os
import tempfile

from common import jobs as common

# density: exponents of the sizes, which are powers of two. The largest matrices fit in the document's 1.5 GB, together
# with the tables of the document's kernels.
SIZES = {1e-3: range(8, 16), 1e-4: range(8, 18), 1e-5: range(9, 20)}  # 256 rows have no entries at 1e-5
OF_4096 = (3e-5, 3e-4, 3e-3, 1e-2)
LOADED = {1e-3: range(8, 15), 1e-4: range(8, 17)}
QUICK_SIZES = {1e-3: (8, 9), 1e-4: (8, 9), 1e-5: (9,)}
QUICK_4096 = (3e-5,)

# BASE: the repaired method with parameters for the improvements; the listings have none.
BASE, OLDER, TOGETHER = "spgemm_seed_getvals_cuda", "spgemm_seed_older_cuda", "spgemm_seed_together_cuda"
PRINTED, REPAIRED, RESET = (f"{BASE}:reset={what}" for what in ("printed", "repaired", "touched"))
OURS = "spgemm_rows_cuda"
SMMP, DOT, DENSE = "spgemm_smmp_cpu", "spgemm_seed_dot_cpu", "spgemm_seed_dense_cpu"
GPU_PEERS, CPU_PEERS = ("cusparse_spgemm_alg1",), ("octave", "scipy_smmp")
# Largest sizes of kernels whose time grows with rows times columns.
MOST_DOT, MOST_DENSE, MOST_OLDER, MOST_PRINTED = 1 << 11, 1 << 12, 1 << 16, 1 << 16
MANY_PRODUCTS = 4e5  # from this number of multiplications on, fewer runs
# Points that are measured twice, for the margin of the verdicts.
REPEATED = ((1e-3, 512), (1e-3, 4096), (1e-4, 2048), (1e-4, 32768), (1e-5, 16384))
QUICK_REPEATED = ((1e-3, 256),)

# Matrices with even rows (EVEN), with rows from empty to thousands of entries (IRREGULAR), and with few entries per
# row, where most threads are idle (SPARSE).
EVEN = {"even 16384": "gen:random,rows=16384,cols=16384,density=1e-3",
        "even 65536": "gen:random,rows=65536,cols=65536,density=1e-4"}
IRREGULAR = {"rmat 8192": "gen:rmat,scale=13",
             "web 30000": "gen:twin,rows=30000,entries=300000,longest=3000,kind=web,symmetry=40"}
SPARSE = {"sparse 65536": "gen:random,rows=65536,cols=65536,density=1e-5"}
QUICK_WAYS = {"even 512": "gen:random,rows=512,cols=512,density=1e-2", "rmat 256": "gen:rmat,scale=8"}
TOUCHED_ROWS = "rows per block, only touched entries cleared"  # two improvements together
# Settings of BASE, and of the kernel with all improvements.
WAYS = {
    "rows per block": [f"rows={n}" for n in (2, 4, 8, 32)],
    "rows per block, 8 threads per row": [f"rows={n}:lanes=8:count=8" for n in (1, 4, 8, 32)],
    TOUCHED_ROWS: [f"rows={n}:reset=touched" for n in (2, 4, 8, 32)],
    "rows claimed at a time": [f"claim={n}" for n in (1, 2, 4, 16)],
    "threads of GetVals": [f"lanes={n}" for n in (8, 16, 64, 128, 256)],
    "threads of GetNNZ": [f"count={n}" for n in (32, 64, 256, 512)],
    "blocks per multiprocessor": [f"blocks={n}" for n in (2, 4, 8, 32, 64)],
    "threads of SortCols": [f"sort={n}" for n in (32, 64, 128, 256)],
    "entries cleared": ["reset=touched"],
}
TOGETHER_WAYS = ["blocks=4", "blocks=32", "claim=0", "claim=16", "rows=1", "lanes=8", "lanes=32"]


def point_name(density, size):
    return f"{density:.0e} {size}"


def generated(density, size):
    return f"gen:random,rows={size},cols={size},density={density:g}"


def points(options):
    """Returns all (density, size), small ones first."""
    sizes, densities = (QUICK_SIZES, QUICK_4096) if options.quick else (SIZES, OF_4096)
    found = {(density, 2 ** k) for density, powers in sizes.items() for k in powers}
    found |= {(density, 4096) for density in densities}
    return sorted(found, key=lambda point: (point[0] * point[1] ** 2, point))


def _arguments(options, kernels, runs, types):
    device = "cpu" if options.device == "cpu" else "all"
    return ["--op", "spgemm", "--device", device, "--type", types, "--calls", "1", "--runs",
            str(2 if options.quick else runs), "--kernels", ",".join(kernels)]


def _product(options, density, size):
    peers = not options.quick or size == 512  # quick: one size, because some peers take seconds to start
    kernels = [SMMP, *(CPU_PEERS if peers else ())]
    kernels += [DOT] if size <= MOST_DOT else []
    kernels += [DENSE] if size <= MOST_DENSE else []
    if options.device != "cpu":
        kernels += [OLDER] if size <= MOST_OLDER else []
        kernels += [PRINTED] if size <= MOST_PRINTED else []
        kernels += [REPAIRED, RESET, TOGETHER, *(GPU_PEERS if peers else ())]
    name = point_name(density, size)
    runs = 10 if density ** 2 * size ** 3 < MANY_PRODUCTS else 3
    return common.bench(name, generated(density, size), *_arguments(options, kernels, runs, "all"), "--formats",
                        "auto", *(["--peers"] if peers else ()), label=name)


def _load(options, density, size):
    """Creates a job that measures reading a file, and the conversions that the older method needs. A process reads the
    file three times, because a first reading takes far longer. The records have the reading of median time."""
    name = "load " + point_name(density, size)
    kernels = [DOT] + ([] if options.device == "cpu" else [OLDER])

    def measure(run):
        with tempfile.TemporaryDirectory(prefix="spry-study-") as folder:
            path = os.path.join(folder, "matrix.mtx")
            _, status = run.call("gen", generated(density, size).removeprefix("gen:"), "-o", path)
            if status != 0:
                raise SystemExit(f"study/run: {run.command} ended with status {status}")
            found = run.lines("bench", path, path, path, *_arguments(options, kernels, 3, "f32"))
            each = len(found) // 3
            readings = sorted((found[at:at + each] for at in (0, each, 2 * each)),
                              key=lambda records: records[0]["stages"]["read"] or 0)
            for record in readings[1]:
                yield {**record, "matrix": name, "path": None}
    return common.Job(name, measure)


def _ways(options, name, matrix):
    step = 8 if options.quick else 1
    kernels = [BASE, PRINTED, REPAIRED, TOGETHER, OURS]
    kernels += [f"{BASE}:{way}" for ways in WAYS.values() for way in ways[::step]]
    kernels += [f"{TOGETHER}:{way}" for way in TOGETHER_WAYS[::step]]
    return common.bench("ways " + name, matrix, *_arguments(options, kernels, 5, "f32"), label="ways " + name)


def jobs(options):
    """Returns one job per product with all kernels, one per file, one per matrix of the improvements, and repeats."""
    loaded = {density: powers[-1:] for density, powers in QUICK_SIZES.items()} if options.quick else LOADED
    matrices = QUICK_WAYS if options.quick else {**EVEN, **IRREGULAR, **SPARSE}
    found = [_product(options, density, size) for density, size in points(options)]
    found += [_load(options, density, 2 ** k) for density in LOADED for k in loaded[density]]
    found += [common.repeat(_product(options, *point)) for point in (QUICK_REPEATED if options.quick else REPEATED)]
    if options.device != "cpu":
        ways = [_ways(options, name, matrix) for name, matrix in matrices.items()]
        found += ways + [common.repeat(job) for job in ways]
    return found
