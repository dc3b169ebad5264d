"""Measurements: the 64 matrices on CPU and GPU, group sizes, threads, table 1 and the stages of Band-k."""
import os
import tempfile

import tune_sizes
from common import jobs as common
from common import machine
from common import matrices as real_matrices
from seed001 import printed, regression, suite

RUNS = 20
SHARES = {"cpu": 16, "gpu": 8, "threads": 8, "table 1": 8}  # number of jobs over which the matrices are distributed
REPEATED = {"cpu": 4, "gpu": 8, "threads": 8}  # every n-th of these jobs is measured again, for the margins
THREADS = (1, 2, 4, 8, 16, 32, 64)
CPU_PEERS = {"mkl": ("mkl_csr", "mkl_csr_optimized"), "csr5_authors": ("csr5_authors_cpu",),
             "kokkos_kernels": ("kokkos_kernels_cpu",)}
GPU_PEERS = {"cusparse": ("cusparse_csr_alg1", "cusparse_csr_alg2"), "csr5_authors_cuda": ("csr5_authors_cuda",),
             "kokkos_kernels_cuda": ("kokkos_kernels_cuda",)}
LEVELS = ("csr{k}_listing_cpu", "csr{k}_listing_avx2_cpu", "csr{k}_listing_avx512_cpu")  # from slow to fast
TRIED = {2: ("srs=384", "srs=1536"), 3: ("srs=384:ssrs=4", "srs=1536:ssrs=2")}  # in addition to SRS 96
BANDS = 4  # bandwidths are measured for every fourth matrix
TUNED = 3  # all sizes, and all numbers of threads, are measured for every third matrix
GPU_FORMATS = ("csr", "csr2", "csr3", "csr3:by=longest", "csr3:tuning=volta", "csr3:tuning=volta-ssrs",
               "csr3:tuning=ampere", "csr3:tuning=ampere-ssrs", "packed")
# Matrices on which all sizes are measured on a GPU: real or exact ones first, then twins, by mean row length.
SWEPT = ("debr", "G3_circuit", "ecology1", "roadNet-CA", "atmosmodd", "CurlCurl_3", "cage14", "nlpkkt80", "af_shell10",
         "Hook_1498")
# Matrices whose rows have equal lengths, to find the row length from which threads should share a row (section 3).
HALVES, DEGREES = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24), (2, 4, 6, 8, 10, 12, 16, 24, 32, 48)
LENGTHS = {"banded": {2 * half + 1: f"gen:banded,rows=500000,half={half}" for half in HALVES},
           "uniform": {degree: f"gen:uniform,rows=500000,degree={degree}" for degree in DEGREES}}
QUICK_LENGTHS = {"banded": {3: "gen:banded,rows=2000,half=1", 17: "gen:banded,rows=2000,half=8"}}
INNER = ("csr3_gpuspmv3_cuda", "csr3_gpuspmv35_cuda")
# The benchmark's list "mesh", on which listing 1 is compared with balanced csr.
MESH = ("grid5", "grid7", "grid27", "fem3", "road", "rgg21", "G3_circuit")
MESH_SIZES = (24, 96, 384, 1536, 3072)
SMALL = ("a grid of 6 x 34 points, numbered at random", "gen:grid5,x=6,y=34,shuffle=1")  # replaces circuit204


def peers(modules):
    """Returns the kernels of the peer modules that are installed. modules: {module: kernels}."""
    folder = os.environ.get("SPRY_PEER_DIR") or os.path.join(os.path.dirname(machine.program()), "peers")
    return [kernel for name, kernels in modules.items() if os.path.isfile(os.path.join(folder, f"spry-peer-{name}.so"))
            for kernel in kernels]


def with_peers(names):
    return ["--peers"] if names else []


def listing(run, k):
    """Returns the name of listing 1 with the fastest instructions that this processor supports."""
    there = {r["name"] for r in run.lines("kernels") if r["available"]}
    return next(name for name in (level.format(k=k) for level in reversed(LEVELS)) if name in there)


def bench(run, matrices, *arguments):
    """Yields the records of `spry bench` for matrices, with their names in table 1."""
    names = {matrix.removeprefix("gen:"): name for name, matrix in matrices.items()}
    for record in run.lines("bench", *matrices.values(), *arguments):
        record["matrix"] = names.get(record["matrix"], record["matrix"])
        yield record


def runs(options):
    return ["--runs", "3" if options.quick else str(RUNS), "--at-once", "16"]


def on_cpu(options, matrices):
    def measure(run):
        named = peers(CPU_PEERS)
        kernels = list(named)
        for k in (2, 3):
            printed_one, fast = LEVELS[0].format(k=k), listing(run, k)
            kernels += [printed_one] + [f"{printed_one}:{sizes}" for sizes in TRIED[k]]
            kernels += [f"{fast}:{TRIED[k][0]}"] * (fast != printed_one)
        yield from bench(run, matrices, "--device", "cpu", "--type", "all", *runs(options), "--ordering", "by-k",
                         "--formats", "csr,csr2,csr3", "--kernels", ",".join(kernels), *with_peers(named))
    return measure


def on_gpu(options, matrices):
    def measure(run):
        named = peers(GPU_PEERS) if not run.mock else []
        kernels = ["--kernels", ",".join(named)] if named else []
        yield from bench(run, matrices, "--device", "cuda", "--type", "all", *runs(options), "--ordering", "by-k",
                         "--formats", ",".join(GPU_FORMATS), *kernels, *with_peers(named))
    return measure


def by_threads(options, matrices):
    def measure(run):
        most = min(machine.describe()["cores"], 2 if options.quick else max(THREADS))
        teams = [t for t in THREADS if t <= most]
        named = peers({module: CPU_PEERS[module] for module in ("mkl", "csr5_authors")})
        protocol = ["--device", "cpu", "--type", "f64", *runs(options), "--threads", ",".join(map(str, teams))]
        yield from bench(run, matrices, *protocol, "--ordering", "rcm", "--formats", "csr",
                         *(["--kernels", ",".join(named), "--peers"] if named else []))
        names = dict.fromkeys((LEVELS[0].format(k=2), listing(run, 2), LEVELS[0].format(k=3)))
        yield from bench(run, matrices, *protocol, "--ordering", "bandk2,bandk3", "--formats", "csr", "--kernels",
                         ",".join(f"{name}:{TRIED[int(name[3])][0]}" for name in names))
    return measure


def sizes_on_cpu(options, matrices):
    """Measures all sizes of the document for CSR-2. Matrices are not reordered."""
    def measure(run):
        some = printed.CPU_SIZES[::6] if options.quick else printed.CPU_SIZES
        kernels = [f"{name}:srs={s}" for name in dict.fromkeys((LEVELS[0].format(k=2), listing(run, 2))) for s in some]
        yield from bench(run, matrices, "--device", "cpu", "--type", "f64", *runs(options), "--formats", "csr",
                         "--kernels", ",".join(kernels))
    return measure


def mesh(options):
    """Returns {name: file or generator} of the list MESH. Quick runs have one small grid."""
    if options.quick:
        return {"grid7": "gen:grid7,x=20,y=20,z=20"}
    there = suite.chosen(options)
    return {name: there.get(name, f"gen:{name}") for name in MESH}


def on_mesh(matrices):
    """Measures listing 1 and balanced csr with the benchmark's default protocol: medians of batches that run in
    turn."""
    def measure(run):
        few = ["--runs", "3"] if run.options.quick else []
        kernels = [f"{name}:srs={size}" for name in dict.fromkeys((LEVELS[0].format(k=2), listing(run, 2)))
                   for size in MESH_SIZES]
        yield from bench(run, matrices, "--device", "cpu", "--type", "f64", "--formats", "csr", "--kernels",
                         ",".join(kernels), *few)
    return measure


def sizes_on_gpu(options):
    """Measures all pairs of sizes, and compares two methods to fit a formula."""
    def measure(run):
        chosen = {"grid5": "gen:grid5,x=40,y=40"} if options.quick else \
            {name: matrix for name, matrix in suite.chosen(options).items() if name in SWEPT}
        names = {matrix: name for name, matrix in chosen.items()}
        protocol = ["--device", "cuda", "--runs", "2" if options.quick else str(RUNS)]
        kind = ["--type", "f64" if options.quick else "all"]
        swept = tune_sizes.sweep(run.lines, chosen.values(), "cuda", 3, [*protocol, *kind])
        for s in swept:
            s["matrix"] = names[s["path"]]
        srs, ssrs = (regression.fit([(s["density"], s[size]) for s in swept]) for size in ("best_srs", "best_ssrs"))
        fits = {"search": tune_sizes.fit(swept, "cuda")[0], "regression": lambda d: (srs(d), ssrs(d))}
        for name, sizes_by in fits.items():
            for r in tune_sizes.compare(run.lines, swept, sizes_by, protocol):
                yield {**r, "kind": "sizes", "fit": name, "status": "ok"}
    return measure


def inner_products(options):
    """Measures one thread per row and more threads per row, for rows of two and more entries."""
    def measure(run):
        for family, matrices in (QUICK_LENGTHS if options.quick else LENGTHS).items():
            names = {f"{family} {length}": matrix for length, matrix in matrices.items()}
            yield from bench(run, names, "--device", "cuda", "--type", "all", "--formats", "csr3", "--kernels",
                             ",".join(INNER), *(runs(options) if options.quick else []))
    return measure


def is_twin(matrix):
    return matrix.startswith("gen:twin,")


def table_1(_, matrices):
    def measure(run):
        for name, matrix in matrices.items():
            for r in run.lines("info", matrix):
                yield {"kind": "table 1", "matrix": name, "status": "ok", "twin": is_twin(matrix),
                       "exact": matrix in suite.EXACT.values(),
                       **{f: r[f] for f in ("rows", "nnz", "max_row", "mean_row", "variance_row", "pattern_symmetry",
                                            "class")}}
    return measure


def read_positions(path):
    """Returns the number of rows, and the (row, column), counted from 0, of a coordinate Matrix Market file."""
    with open(path, encoding="utf-8") as file:
        lines = [line.split() for line in file if not line.startswith("%")]
    entries = [(int(words[0]) - 1, int(words[1]) - 1) for words in lines[1:]]
    return int(lines[0][0]), entries


def figure_2(options):
    """Records the entries, the ordering and the groups of a small matrix, and RCM's bandwidth, for figure 2."""
    def measure(run):
        real = None if options.quick else real_matrices.find(options.matrices, "circuit204")
        title, matrix = ("circuit204", real) if real else SMALL
        with tempfile.TemporaryDirectory() as folder:
            at = {what: os.path.join(folder, what) for what in ("given.mtx", "order.mtx", "groups")}
            run.call("convert", matrix, "--full", "-o", at["given.mtx"])
            rows, entries = read_positions(at["given.mtx"])
            run.lines("reorder", matrix, "--method", "bandk", "--k", "3", "--srs", str(rows // 34), "--ssrs", "4",
                      "--perm", at["order.mtx"], "--groups", at["groups"])
            rcm = run.lines("reorder", matrix, "--method", "rcm")[0]["bandwidth_after"]
            with open(at["order.mtx"], encoding="utf-8") as file:
                order = [int(line) - 1 for line in [line for line in file if not line.startswith("%")][1:]]
            with open(at["groups"], encoding="utf-8") as file:
                groups = {words[0]: [int(w) for w in words[1:]] for words in map(str.split, file)}
        yield {"kind": "figure 2", "status": "ok", "title": title, "rows": rows, "entries": entries, "order": order,
               "rcm_bandwidth": rcm, "sr_ptr": groups["sr_ptr"], "ssr_ptr": groups["ssr_ptr"]}
    return measure


def bands(matrices):
    """Measures the bandwidths after RCM and Band-k."""
    def measure(run):
        for name, matrix in matrices.items():
            rcm, bandk = (run.lines("reorder", matrix, "--method", method)[0] for method in ("rcm", "bandk"))
            yield {"kind": "band", "matrix": name, "status": "ok", "twin": is_twin(matrix),
                   "given": rcm["bandwidth_before"], "rcm": rcm["bandwidth_after"], "bandk": bandk["bandwidth_after"]}
    return measure


def shares(matrices, parts):
    names = list(matrices)
    for part in range(min(parts, len(names))):
        yield part + 1, {name: matrices[name] for name in names[part::parts]}


def has_gpu(options):
    """Returns whether a GPU is available. A quick run also accepts the mock."""
    return options.device == "cuda" or bool(machine.describe()["gpu"] or (options.quick and machine.mock_plugin()))


def shared_out(options, what, measure, matrices):
    """Returns the jobs over which the matrices are distributed, and repeats of every n-th of them."""
    parts = 1 if options.quick else SHARES[what]
    found = [common.Job(f"{what}, {part}", measure(options, some)) for part, some in shares(matrices, parts)]
    again = found[::REPEATED[what]] if what in REPEATED and not options.quick else []
    return found + [common.repeat(job) for job in again]


def jobs(options):
    """Returns the jobs of the CPU, then of the GPU. Each has only some of the matrices, so that it is short."""
    matrices = suite.chosen(options)
    names = list(matrices)
    banded = dict.fromkeys([name for name in names if not is_twin(matrices[name])] + names[::BANDS])
    tuned = {name: matrices[name] for name in names[::TUNED]}
    found = []
    if options.device != "cuda":
        found += [common.Job("figure 2", figure_2(options))]
        found += [common.Job("bands", bands({name: matrices[name] for name in banded}))]
        found += shared_out(options, "table 1", table_1, matrices)
        found += shared_out(options, "cpu", on_cpu, matrices)
        sizes = [common.Job(f"sizes of {name}", sizes_on_cpu(options, {name: matrix}))
                 for name, matrix in tuned.items()]
        found += sizes + [common.repeat(job) for job in sizes]
        found += [common.Job(f"mesh {name}", on_mesh({name: matrix})) for name, matrix in mesh(options).items()]
        found += shared_out(options, "threads", by_threads, tuned)
    if options.device != "cpu" and has_gpu(options):
        found += shared_out(options, "gpu", on_gpu, matrices)
        found += [common.Job("sizes on the gpu", sizes_on_gpu(options)),
                  common.Job("inner products", inner_products(options))]
    return found
