"""Times and speed-ups of one type, and statistics of them."""
from collections import namedtuple

from common.numbers import AVERAGES, geometric_mean
from seed000 import measure

LIMITS = (10000, 100000)
TYPES = (("f32", "float"), ("f64", "double"))
Kernels = namedtuple("Kernels", "scalar vector adaptive ell coo scoo hyb cusparse")
PRINTED = Kernels(*measure.KERNELS)
# This library's kernels of the same formats. COO is by segmented sums, without atomics.
OURS = Kernels("csr_scalar_cuda", "csr_vector_cuda", "csr_adaptive_cuda", "ell_slots_cuda", "coo_segmented_cuda",
               "scoo_shared_cuda", "hyb_segmented_cuda", "cusparse_csr_alg1")
# CSR-Adaptive with the block sizes that the document does not state; PRINTED has 64.
BLOCKS = {size: PRINTED._replace(adaptive=f"csr_adaptive_listing_cuda:nnz_per_wg={size}") for size in (256, 1024)}
# Numbers that the document does not state: text, field of Kernels, and kernels with other numbers than PRINTED.
UNSTATED = tuple((f"Blocks of {size}", "adaptive", kernels) for size, kernels in BLOCKS.items()) + (
    ("HYB with the mean row length as its width", "hyb", PRINTED._replace(hyb="hyb_one_launch_cuda")),)
SHARED = "csr_vector_shared_cuda"
TITLES = Kernels("CSR-Scalar", "CSR-Vector", "CSR-Adaptive", "ELL", "COO", "SCOO", "HYB", "cuSPARSE")
TABLES = tuple(enumerate(("scalar", "cusparse", "vector", "adaptive", "ell", "coo", "scoo", "hyb"), 1))
NAMES = dict(zip(PRINTED, TITLES))


def short(kernel):
    return NAMES.get(kernel, kernel.replace("_cuda", ""))


def own(kernels):
    """Returns the document's kernels among these: all but cuSPARSE."""
    return kernels[:-1]


class Speedups:
    """Times and speed-ups of one type, by kernel and matrix."""

    def __init__(self, results, kind):
        self.kind = kind
        timed = results.timed(type=kind)
        base = {r["matrix"]: r for r in timed if r["kernel"] == measure.BASELINE}
        self.matrices = {m: r for m, r in base.items() if r["nnz"] >= LIMITS[0]}
        self.timed = [r for r in timed if r["matrix"] in self.matrices]
        self.times = {(r["kernel"], r["matrix"]): r["mean_us"] for r in self.timed}
        self.kernels = list(dict.fromkeys(k for k, _ in self.times if k != measure.BASELINE))
        self.margin = results.margin(type=kind, device="cuda")
        self.margin_of_means = self._margin_of_means(results, kind)
        # ELL's bytes give the longest row: ELL stores that number of slots (value and column) and about 4.1 bytes per
        # row.
        slot = 4 + (4 if kind == "f32" else 8)
        self.bytes = {(r["kernel"], r["matrix"]): r["bytes"] for r in self.timed if r.get("bytes")}
        self.longest = {r["matrix"]: r["bytes"] // (r["rows"] * slot) for r in self.timed if r["kernel"] == PRINTED.ell}

    def _margin_of_means(self, results, kind):
        """Returns the ratio that 95 % of the kernels' averages over the repeated matrices stay below if they are
        measured again; at least 1.05. More matrices have steadier averages."""
        times = {}
        for r in results.repeats:
            if r.get("status") == "ok" and r.get("type") == kind and (r["kernel"], r["matrix"]) in self.times:
                times.setdefault(r["kernel"], []).append((self.times[r["kernel"], r["matrix"]], r["mean_us"]))
        ratios = [average(1 / first for first, _ in pairs) / average(1 / again for _, again in pairs)
                  for pairs in times.values() for average in AVERAGES]
        ratios = sorted(max(q, 1 / q) for q in ratios)
        return max(1.05, ratios[len(ratios) * 95 // 100]) if ratios else 1.05

    def has(self, kernel, matrix):
        return (kernel, matrix) in self.times

    def of(self, kernel, matrix):
        return self.times[measure.BASELINE, matrix] / self.times[kernel, matrix]

    def mean_row(self, matrix):
        return self.matrices[matrix]["nnz"] / max(self.matrices[matrix]["rows"], 1)

    def set_of(self, kernel, limit, among=None):
        return [m for m, r in self.matrices.items() if r["nnz"] >= limit and self.has(kernel, m) and
                (among is None or m in among)]

    def values(self, kernel, matrices):
        return [self.of(kernel, m) for m in matrices]

    def common(self, kernels, limit):
        return [m for m, r in self.matrices.items() if r["nnz"] >= limit and all(self.has(k, m) for k in kernels)]

    def both(self, one, other, limit=LIMITS[0]):
        return self.common((one, other), limit)

    def ratio(self, one, other, matrices):
        """Returns the geometric mean of the speed-up of `one` over `other`; None without matrices."""
        return geometric_mean(self.times[other, m] / self.times[one, m] for m in matrices)

    def ratios(self, one, other, limit=LIMITS[0]):
        """Returns by how much `one` has higher speed-ups than `other`, on matrices where both ran: ratio of the
        arithmetic means, geometric mean of the ratios, and ratio of the medians. Returns None without such matrices."""
        both = self.both(one, other, limit)
        if not both:
            return None
        return [average(self.values(one, both)) / average(self.values(other, both)) for average in AVERAGES]

    def ahead(self, one, other, matrices, margin=1.0):
        """Returns the matrices on which `one` is faster than `other` by more than the margin."""
        return [m for m in matrices if self.of(one, m) > margin * self.of(other, m)]

    def beaten(self, limit, kernels=PRINTED):
        """Returns the matrices on which CSR-Scalar is faster than CSR-Vector."""
        return self.ahead(kernels.scalar, kernels.vector, self.both(kernels.scalar, kernels.vector, limit))

    def leader(self, matrix, kernels):
        return max((k for k in kernels if self.has(k, matrix)), key=lambda k: self.of(k, matrix), default=None)

    def most_leads(self, kernels):
        """Returns the kernel that leads on most matrices, and the number of these matrices."""
        leaders = [self.leader(m, kernels) for m in self.matrices]
        most = max(kernels, key=leaders.count)
        return most, leaders.count(most)


def changed(types, matrix, kernels):
    """Returns whether, in each type, the type's own leader is faster than the other type's leader by more than the
    margin; None if a type has no leader."""
    leaders = [s.leader(matrix, kernels) if matrix in s.matrices else None for s in types]
    if not all(leaders):
        return None
    return all(s.of(mine, matrix) > s.margin * s.of(other, matrix)
               for s, mine, other in zip(types, leaders, reversed(leaders)) if s.has(other, matrix))


def changes(types, kernels):
    """Returns the number of matrices whose leader changes with the type, and the number of all matrices."""
    found = [changed(types, m, kernels) for m in types[0].matrices]
    return found.count(True), len(found) - found.count(None)
