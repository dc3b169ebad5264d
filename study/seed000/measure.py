"""Measurements: all kernels of the document on real and generated matrices, one job per matrix."""
from common import jobs as common
from common import matrices as real

# label: generator. Each kind starts at about 10 000 entries, so the document's two limits give different sets.
GENERATED = {
    **{f"grid5-{x}": f"gen:grid5,x={x},y={x}" for x in (48, 90, 160, 500, 1400)},
    **{f"grid7-{x}": f"gen:grid7,x={x},y={x},z={x}" for x in (12, 20, 40, 100)},
    **{f"grid7-shuffled-{x}": f"gen:grid7p,x={x},y={x},z={x}" for x in (20, 40, 100)},
    **{f"grid9-{x}": f"gen:grid9,x={x},y={x}" for x in (40, 120, 700)},
    **{f"grid27-{x}": f"gen:grid27,x={x},y={x},z={x}" for x in (8, 14, 24, 60)},
    **{f"fem3-{x}": f"gen:fem3,x={x},y={x},z={x}" for x in (5, 10, 30)},
    **{f"road-{x}": f"gen:road,side={x}" for x in (80, 250, 1000)},
    **{f"rgg-{x}": f"gen:rgg,scale={x}" for x in (11, 14, 18)},
    **{f"rmat-{x}": f"gen:rmat,scale={x}" for x in (10, 13, 16, 19)},
    "uniform-small-8": "gen:uniform,rows=2000,degree=8", "uniform-short-2": "gen:uniform,rows=1000000,degree=2",
    "uniform-16": "gen:uniform,rows=20000,degree=16", "uniform-64": "gen:uniform,rows=5000,degree=64",
    "uniform-large-16": "gen:uniform,rows=400000,degree=16",
    "circuit-5000": "gen:circuit,rows=5000", "circuit-100000": "gen:circuit,rows=100000",
    "circuit-1000000": "gen:circuit,rows=1000000",
    **{f"debruijn-{x}": f"gen:debruijn,length={x}" for x in (13, 17, 20)},
    **{f"diagonal-{x}": f"gen:diagonal,rows={x}" for x in (12000, 200000, 4000000)},
    "banded-17": "gen:banded,rows=2000,half=8", "banded-41": "gen:banded,rows=20000,half=20",
    "banded-large-17": "gen:banded,rows=300000,half=8",
    "arrow-1": "gen:arrow,rows=20000,width=1", "arrow-2": "gen:arrow,rows=300000,width=2",
    "random-20": "gen:random,rows=1000,cols=1000,density=0.02",
    "random-40": "gen:random,rows=4000,cols=4000,density=0.01",
    "random-large-20": "gen:random,rows=50000,cols=50000,density=0.0004",
    "dense-120": "gen:dense,rows=120,cols=120", "dense-400": "gen:dense,rows=400,cols=400",
    "dense-1500": "gen:dense,rows=1500,cols=1500", "dense-wide": "gen:dense,rows=40,cols=10000",
    "dense-tall": "gen:dense,rows=20000,cols=8",
}
# kind of twin: (entries per row, longest row of the small and of the large twin, symmetry in per cent)
TWINS = {
    "mesh2": (5, 6, 6, 100), "mesh3": (7, 7, 7, 100), "kkt": (26, 28, 28, 100), "triangles": (6, 12, 20, 100),
    "hexagons": (3, 3, 3, 100), "road": (2.6, 7, 9, 100), "words": (4, 4, 4, 100), "ball2": (13, 30, 36, 100),
    "ball3": (25, 60, 80, 100), "circuit": (5, 200, 5000, 90), "web": (12, 300, 8000, 40),
    "social": (12, 400, 12000, 20), "citation": (4.4, 100, 600, 0),
}
for kind, (mean, few, many, symmetry) in TWINS.items():
    for size, entries, longest in (("small", 24000, few), ("large", 1200000, many)):
        GENERATED[f"{kind}-{size}"] = (f"gen:twin,rows={round(entries / mean)},entries={entries},longest={longest},"
                                       f"kind={kind},symmetry={symmetry}")
QUICK = ("grid5-48", "rmat-10", "dense-120")
# The matrices of table 9 and figures 8c, 8d, by the names of their pictures in the document's repository. Matrices of
# different structure replace those that are missing.
NAMED = ("airfoil_2d", "cavity21", "coater2", "lhr07", "cage10", "ASIC_100ks", "scircuit", "hvdc1", "Zd_Jac3_db")
SELECTED = ("G3_circuit", "bcsstk17", "cnr-2000", "delaunay_n16", "wiki-Vote", "boyd1_kkt", "grid27-24", "rmat-16")

BASELINE = "csr_reference_cpu"
# HYB with the width of the author's program; measure() computes the width of each matrix.
AUTHORS_HYB = "hyb_one_launch_cuda:width=author"
# Kernels as printed, in the order of the document's tables; then their variants and this library's kernels.
KERNELS = ("csr_scalar_cuda", "csr_vector_cuda:lanes=32", "csr_adaptive_listing_cuda", "ell_listing_cuda",
           "coo_atomic_cuda", "coo_sliced_cuda", AUTHORS_HYB, "cusparse_csr_alg1")
# Their listings only add to y, so they are timed as y = A*x + y, without the launch that clears y.
ADDING = ("coo_atomic_cuda", "hyb_one_launch_cuda")
VARIANTS = ("csr_vector_shared_cuda", "csr_adaptive_listing_cuda:nnz_per_wg=256",
            "csr_adaptive_listing_cuda:nnz_per_wg=1024", "csr_vector_cuda", "csr_vector_cuda:lanes=4",
            "csr_vector_cuda:lanes=8", "csr_adaptive_atomic_cuda", "csr_adaptive_cuda", "ell_slots_cuda",
            "coo_segmented_cuda", "coo_sliced_cuda:rows=128", "coo_sliced_cuda:rows=32", "scoo_shared_cuda",
            "hyb_one_launch_cuda", "hyb_atomic_cuda", "hyb_segmented_cuda")
CPU_KERNELS = ("csr_portable_cpu", "coo_portable_cpu", "ell_portable_cpu", "scoo_portable_cpu",
               "hyb_portable_cpu")
MEMORY = 8 << 30
REPEATED = 8  # every eighth job is measured twice


def selected(matrices):
    """Returns the names of the matrices for table 9, at most as many as the document has."""
    return [name for name in NAMED + SELECTED if name in matrices][:len(NAMED)]


def _arguments(options, hyb):
    """Returns the arguments of each benchmark of a matrix. hyb: the name of AUTHORS_HYB with the matrix's width."""
    protocol = ["--device", "all", "--type", "all", "--runs", "5" if options.quick else "30",
                "--memory-limit", str(MEMORY // 128 if options.quick else MEMORY)]
    if options.device == "cpu":
        return [[*protocol, "--peers", "--kernels", ",".join((BASELINE, *CPU_KERNELS))]]
    kernels = [hyb if name == AUTHORS_HYB else name for name in KERNELS + VARIANTS]
    adding = [name for name in kernels if name.split(":")[0] in ADDING]
    return [[*protocol, "--peers", "--kernels", ",".join([BASELINE, *(k for k in kernels if k not in adding)])],
            [*protocol, "--op", "spmv_add", "--kernels", ",".join(adding)]]


def _products(name, matrix, options):
    """Creates a job that times all kernels on a matrix, each with the baseline."""
    def measure(run):
        info = run.lines("info", matrix)[0]
        mean = info["nnz"] // max(info["rows"], 1)
        hyb = f"hyb_one_launch_cuda:width={max(int(mean + 0.2 * (info['max_row'] - mean)), 1)}"
        for arguments in _arguments(options, hyb):
            for record in run.lines("bench", matrix, *arguments):
                record["matrix"] = name
                if record["kernel"] == hyb:
                    record["kernel"] = AUTHORS_HYB
                yield record
    return common.Job(name, measure)


def _structure(name, matrix):
    def measure(run):
        for record in run.lines("info", matrix, "--picture", "64"):
            yield {"kind": "structure", "matrix": name, "rows": record["rows"], "columns": record["columns"],
                   "nnz": record["nnz"], "mean_row": record["mean_row"], "max_row": record["max_row"],
                   "picture": record["picture"], "status": "ok"}
    return common.Job(f"structure of {name}", measure)


def jobs(options):
    """Returns one job per matrix, each with the baseline, repeats of some, and a job for the pictures of selected
    matrices."""
    files = {row["name"]: real.find(options.matrices, row["name"]) for row in real.listed("000")}
    matrices = {name: GENERATED[name] for name in QUICK} if options.quick else {
        **{name: path for name, path in files.items() if path}, **GENERATED}
    found = [_products(name, matrix, options) for name, matrix in matrices.items()]
    again = [common.repeat(job) for job in found[::1 if options.quick else REPEATED]]
    pictures = [_structure(name, matrices[name]) for name in (QUICK if options.quick else selected(matrices))]
    return found + again + pictures
