"""Times and speed-ups of one type, and statistics of them."""
from common.numbers import geometric_mean, mean
from seed000 import measure

LIMITS = (10000, 100000)
TYPES = (("f32", "float"), ("f64", "double"))
SCALAR, VECTOR, ADAPTIVE, ELL, COO, SCOO, HYB, CUSPARSE = measure.KERNELS
LARGER = "csr_adaptive_atomic_cuda:nnz_per_wg=1024:vector=64"  # CSR-Adaptive with larger blocks than in table 4
OWN = "csr_adaptive_cuda"  # CSR-Adaptive with this library's row blocks
SHARED, SEGMENTED = "csr_vector_shared_cuda", "coo_segmented_cuda"
TABLES = ((1, "CSR-Scalar", SCALAR), (2, "CSR (cuSPARSE)", CUSPARSE), (3, "CSR-Vector", VECTOR),
          (4, "CSR-Adaptive", ADAPTIVE), (5, "ELL", ELL), (6, "COO", COO), (7, "SCOO", SCOO), (8, "HYB", HYB))
NAMES = {**{kernel: title for _, title, kernel in TABLES}, CUSPARSE: "cuSPARSE", LARGER: "CSR-Adaptive"}
MARGIN = 1.05  # smaller ratios of times count as equal


def short(kernel):
    return NAMES.get(kernel, kernel.replace("_cuda", ""))


def leading(adaptive=ADAPTIVE):
    """Returns the document's own kernels, with the given variant of CSR-Adaptive."""
    return [adaptive if k == ADAPTIVE else k for k in measure.KERNELS if k != CUSPARSE]


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
        # ELL's bytes give the longest row: ELL stores that number of slots (value and column) and about 4.1 bytes per
        # row.
        slot = 4 + (4 if kind == "f32" else 8)
        self.longest = {r["matrix"]: r["bytes"] // (r["rows"] * slot) for r in self.timed if r["kernel"] == ELL}

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

    def of_means(self, one, other, limit=LIMITS[0]):
        """Returns the mean speed-up of `one` divided by that of `other`, on matrices where both ran; None without such
        matrices."""
        both = self.both(one, other, limit)
        return mean(self.values(one, both)) / mean(self.values(other, both)) if both else None

    def ahead(self, one, other, matrices, margin=1.0):
        """Returns the matrices on which `one` is faster than `other` by more than the margin."""
        return [m for m in matrices if self.of(one, m) > margin * self.of(other, m)]

    def beaten(self, limit):
        """Returns the matrices on which CSR-Scalar is faster than CSR-Vector."""
        return self.ahead(SCALAR, VECTOR, self.both(SCALAR, VECTOR, limit))

    def leader(self, matrix, kernels):
        return max((k for k in kernels if self.has(k, matrix)), key=lambda k: self.of(k, matrix), default=None)

    def most_leads(self, kernels):
        """Returns the kernel that leads on most matrices, and the number of these matrices."""
        leaders = [self.leader(m, kernels) for m in self.matrices]
        most = max(kernels, key=leaders.count)
        return most, leaders.count(most)


def changed(types, matrix, kernels):
    """Returns whether, in each type, the type's own leader is over 5 % faster than the other type's leader; None if
    a type has no leader."""
    leaders = [s.leader(matrix, kernels) if matrix in s.matrices else None for s in types]
    if not all(leaders):
        return None
    return all(s.of(own, matrix) > MARGIN * s.of(other, matrix)
               for s, own, other in zip(types, leaders, reversed(leaders)) if s.has(other, matrix))


def changes(types, kernels):
    """Returns the number of matrices whose leader changes with the type, and the number of all matrices."""
    found = [changed(types, m, kernels) for m in types[0].matrices]
    return found.count(True), len(found) - found.count(None)
