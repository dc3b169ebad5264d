"""Seed 004's decision tree: is each leaf's format the fastest on matrices for which the tree chooses it?

The tree is the library's policy "tree" (docs/formats.md has its thresholds). All leaves are timed in one run, by the
lecture's kernels as printed and by this library's, together with the tree's choice and cuSPARSE.
"""
import os

from common import matrices as real

LEAVES = ("ell", "hyb", "coo", "csr")
CHOSEN_FOR = {"ell": "uniform, max ~ avg", "hyb": "uniform, max > avg", "coo": "not uniform, very sparse",
           "csr": "not uniform, not very sparse"}
# The lecture's kernel of each leaf, on a GPU.
LISTED = {"ell": "ell_listing_cuda", "hyb": "hyb_atomic_cuda", "coo": "coo_atomic_cuda", "csr": "csr_scalar_cuda"}
# The listings of these kernels only add to y. They are timed as y = A*x + y, without a launch that clears y.
ADDING = ("coo_atomic_cuda", "hyb_one_launch_cuda")
OVERWRITING = tuple(kernel for kernel in LISTED.values() if kernel not in ADDING)
# cuSPARSE's algorithms. The first is the default for a matrix in CSR.
LIBRARY = ("cusparse_csr_alg1", "cusparse_csr_alg2", "cusparse_coo_alg1", "cusparse_coo_alg2", "cusparse_sell")

HERE = os.path.dirname(os.path.abspath(__file__))
LECTURE = os.path.join(HERE, "lecture.mtx")

FULL = {
    "grid, 5 points": "gen:grid5",
    "grid, 27 points": "gen:grid27",
    "diagonal": "gen:diagonal,rows=10000000",
    "uniform, 18 a row": "gen:uni18",
    "one dense row and column": "gen:arrow,rows=4000000",
    "circuit": "gen:circuit",
    "alike but for a few": "gen:twin,rows=1000000,entries=8000000,longest=60000,kind=citation,diagonal=0",
    "R-MAT, 1 a row": "gen:rmat,scale=22,edges=1",
    "random, 0.1 a row": "gen:random,rows=4000000,cols=4000000,density=0.000000025",
    "R-MAT, 16 a row": "gen:rmat20",
    "R-MAT, 16 a row, smaller": "gen:rmat18",
}
REAL = ("G3_circuit", "Andrews", "boyd1_kkt", "delaunay_n16", "p2p-Gnutella31", "cnr-2000", "soc-Slashdot0902")
QUICK = {
    "grid, 5 points": "gen:grid5,x=40,y=40",
    "one dense row and column": "gen:arrow,rows=3000",
    "R-MAT, 1 a row": "gen:rmat,scale=12,edges=1",
    "R-MAT, 16 a row": "gen:rmat16,scale=10",
}


def balance(quick):
    """Returns {name: source} with 8 entries per row on average: rows of equal length, and rows of up to `longest`
    entries."""
    rows, longest = (3000, 1500) if quick else (1_000_000, 60_000)
    return {"alike": f"gen:uniform,rows={rows},degree=8",
            "uneven": f"gen:twin,rows={rows},entries={8 * rows},longest={longest},kind=citation,diagonal=0"}


def sources(quick, folder=None):
    """Returns {name: source}: generated matrices for each leaf, then real matrices found in the folder."""
    found = dict(QUICK if quick else FULL)
    for name in () if quick else REAL:
        path = real.find(folder, name)
        if path:
            found[name] = path
    return found


class Timed:
    """Times of one run in microseconds, for one matrix, device and type."""

    def __init__(self, records):
        self.records = records
        self.good = [r for r in records if r["status"] == "ok"]
        self.tree = next((r for r in self.good if r["policy"] == "tree"), None)
        self.leaves = {r["format"]: r for r in self.good if r["format"] in LEAVES and r["asked"] == "format"}
        self.listed = {r["format"]: r for r in self.good
                       if LISTED.get(r["format"]) == r["kernel"] and r["asked"] == "kernel"}
        # Times of the leaves by this library's kernels, and by the lecture's.
        self.times = {form: r["time_us"] for form, r in self.leaves.items()}
        self.printed = {form: r["time_us"] for form, r in self.listed.items()}
        self.peers = {r["kernel"]: r["time_us"] for r in self.good if r["peer"]}

    @property
    def taken(self):
        """The leaf that the tree chose; csr if the padding guard refused it."""
        return self.tree["kernel"].split("_")[0] if self.tree else None

    def over(self, times):
        """Returns the time of the chosen leaf divided by that of the fastest leaf. times: self.times or self.printed.
        Returns None without a time of the leaf."""
        return times[self.taken] / min(times.values()) if self.taken in times else None

    def kernel(self, name):
        return next((r["time_us"] for r in self.good if r["kernel"] == name and r["asked"] == "kernel"), None)

    def library(self):
        """Returns cuSPARSE's fastest kernel and its time."""
        best = min(self.peers, key=self.peers.get, default=None)
        return best, self.peers.get(best)


def fastest(times):
    """Returns the leaf with the least time; None without times."""
    return min(times, key=times.get, default=None)
