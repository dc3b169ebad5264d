"""Measurements: products of random matrices by density and size, loading and conversion, and the improvements."""
import os
import tempfile

from common import jobs as common

# density: exponents of the sizes, which are powers of two. The largest matrices fit in the document's 1.5 GB, together
# with the tables of the document's kernels.
SIZES = {1e-3: range(8, 16), 1e-4: range(8, 18), 1e-5: range(8, 20)}
OF_4096 = (3e-5, 3e-4, 3e-3, 1e-2, 3e-2)
LOADED = {1e-3: range(8, 15), 1e-4: range(8, 17)}
QUICK_SIZES = {1e-3: (8, 9), 1e-4: (8, 9), 1e-5: (9,)}
QUICK_4096 = (3e-5,)

PRINTED, OLDER, TOGETHER = "spgemm_seed_getvals_cuda", "spgemm_seed_older_cuda", "spgemm_seed_together_cuda"
RESET = PRINTED + ":reset=touched"
SMMP, DOT, DENSE = "spgemm_smmp_cpu", "spgemm_seed_dot_cpu", "spgemm_seed_dense_cpu"
GPU_PEERS, CPU_PEERS = ("cusparse_spgemm_alg1",), ("octave", "scipy_smmp")
# Largest sizes of kernels whose time grows with rows times columns.
MOST_DOT, MOST_DENSE = 1 << 12, 1 << 13
MANY_PRODUCTS = 4e6  # from this number of multiplications on, half as many runs

# Matrices with even rows (EVEN), with rows from empty to thousands of entries (IRREGULAR), and with few entries per
# row, where most threads are idle (SPARSE).
EVEN = {"even 16384": "gen:random,rows=16384,cols=16384,density=1e-3",
        "even 65536": "gen:random,rows=65536,cols=65536,density=1e-4"}
IRREGULAR = {"rmat 8192": "gen:rmat,scale=13",
             "web 30000": "gen:twin,rows=30000,entries=300000,longest=3000,kind=web,symmetry=40"}
SPARSE = {"sparse 65536": "gen:random,rows=65536,cols=65536,density=1e-5"}
QUICK_WAYS = {"even 512": "gen:random,rows=512,cols=512,density=1e-2", "rmat 256": "gen:rmat,scale=8"}
# Settings of the printed kernel, and of the kernel with all improvements.
WAYS = {
    "rows per block": [f"rows={n}" for n in (2, 4, 8, 16, 32)],
    "rows per block, 8 threads per row": [f"rows={n}:lanes=8:count=8" for n in (1, 4, 8, 16, 32)],
    "rows claimed at a time": [f"claim={n}" for n in (1, 2, 4, 16, 64)],
    "threads of GetVals": [f"lanes={n}" for n in (8, 16, 64, 128, 256)],
    "threads of GetNNZ": [f"count={n}" for n in (16, 32, 64, 256, 512)],
    "blocks per multiprocessor": [f"blocks={n}" for n in (1, 2, 4, 8, 32, 64)],
    "threads of SortCols": [f"sort={n}" for n in (32, 64, 128, 256)],
    "entries cleared": ["reset=touched"],
}
TOGETHER_WAYS = ["blocks=2", "blocks=4", "blocks=16", "blocks=32", "claim=0", "claim=1", "claim=16", "rows=1",
                 "lanes=32", "lanes=8", "lanes=8:rows=4", "lanes=16:rows=4", "lanes=32:rows=4:blocks=16"]


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


def _arguments(options, kernels, runs=10):
    device = "cpu" if options.device == "cpu" else "all"
    return ["--op", "spgemm", "--device", device, "--type", "all", "--calls", "1", "--runs",
            str(2 if options.quick else runs), "--kernels", ",".join(kernels)]


def _product(options, density, size):
    peers = not options.quick or size == 512  # quick: one size, because some peers take seconds to start
    kernels = [SMMP, *(CPU_PEERS if peers else ())]
    kernels += [DOT] if size <= MOST_DOT else []
    kernels += [DENSE] if size <= MOST_DENSE else []
    if options.device != "cpu":
        kernels += [OLDER, PRINTED, RESET, TOGETHER, *(GPU_PEERS if peers else ())]
    name = point_name(density, size)
    runs = 10 if density ** 2 * size ** 3 < MANY_PRODUCTS else 5
    return common.bench(name, generated(density, size), *_arguments(options, kernels, runs), "--formats", "auto",
                        *(["--peers"] if peers else ()), label=name)


def _load(options, density, size):
    """Creates a job that measures reading a file, and the conversions that the older method needs."""
    name = "load " + point_name(density, size)
    kernels = [DOT] + ([] if options.device == "cpu" else [OLDER, PRINTED])

    def measure(run):
        with tempfile.TemporaryDirectory(prefix="spry-study-") as folder:
            path = os.path.join(folder, "matrix.mtx")
            _, status = run.call("gen", generated(density, size).removeprefix("gen:"), "-o", path)
            if status != 0:
                raise SystemExit(f"study/run: {run.command} ended with status {status}")
            for record in run.lines("bench", path, *_arguments(options, kernels, 3)):
                yield {**record, "matrix": name}
    return common.Job(name, measure)


def _ways(options, name, matrix):
    step = 8 if options.quick else 1
    kernels = [PRINTED, TOGETHER] + [f"{PRINTED}:{way}" for ways in WAYS.values() for way in ways[::step]]
    kernels += [f"{TOGETHER}:{way}" for way in TOGETHER_WAYS[::step]]
    return common.bench("ways " + name, matrix, *_arguments(options, kernels), label="ways " + name)


def jobs(options):
    """Returns one job per product with all kernels, one per file, and one per matrix of the improvements."""
    loaded = {density: powers[-1:] for density, powers in QUICK_SIZES.items()} if options.quick else LOADED
    ways = QUICK_WAYS if options.quick else {**EVEN, **IRREGULAR, **SPARSE}
    found = [_product(options, density, size) for density, size in points(options)]
    found += [_load(options, density, 2 ** k) for density in LOADED for k in loaded[density]]
    if options.device != "cpu":
        found += [_ways(options, name, matrix) for name, matrix in ways.items()]
    return found
