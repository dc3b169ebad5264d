"""Rates by kernel, numbering and matrix, and statistics of them."""
from common.numbers import geometric_mean, mean
from common.records import REPEAT
from seed001 import suite

NUMBERING = {"none": "as given", "rcm": "reordered", "bandk2": "reordered", "bandk3": "reordered"}
NUMBERINGS = ("as given", "reordered", "better")


def gflops(record):
    return 2e-3 * record["nnz"] / record["mean_us"]


def label(record):
    """Returns the label of a record: the kernel for peers and listings, else the format."""
    return record["kernel"] if record["peer"] or "_listing_" in record["kernel"] else record["format"]


def key(record):
    return label(record), NUMBERING[record["ordering"]], record["matrix"]


class Rates:
    """Rates of one type and device, by label, numbering and matrix. Uses only records with the largest number of
    threads.

    margin: ratio that counts as a difference on one matrix; margin_of_means: ratio for means over a class.
    """

    def __init__(self, results, kind, device):
        def mine(records, prefix):
            return [r for r in records if r["job"].startswith(prefix + device + ",") and r.get("type") == kind and
                    r.get("status") == "ok" and (r.get("mean_us") or 0) > 0 and r["ordering"] in NUMBERING]
        found = mine(results.records, "")
        self.kind, self.device = kind, device
        self.threads = max((r["threads"] for r in found), default=0)
        self.records = [r for r in found if r["threads"] == self.threads]
        self.labels, self.peers, self.by, self.matrices = [], set(), {}, {}
        for r in self.records:
            self._add(r)
        again = {key(r): gflops(r) for r in mine(results.repeats, REPEAT) if r["threads"] == self.threads}
        self.again = len({matrix for _, _, matrix in again})
        self.margin = results.margin(type=kind, device="cpu" if device == "cpu" else "cuda")
        self.margin_of_means = self._margin_of_means(again)

    def _add(self, r):
        name, numbering, matrix = key(r)
        if name not in self.labels:
            self.labels.append(name)
        if r["peer"]:
            self.peers.add(name)
        self.matrices.setdefault(matrix, r)
        for one in (numbering, "better"):
            self.by[name, one, matrix] = max(gflops(r), self.by.get((name, one, matrix), 0))

    def _margin_of_means(self, again):
        """Returns the ratio that 95 % of the classes' means stay below if they are measured again; at least 1.05."""
        means = {}
        for (name, numbering, matrix), rate in again.items():
            if self.of(name, matrix, numbering):
                pair = means.setdefault((name, numbering, suite.is_regular(matrix)), ([], []))
                pair[0].append(rate)
                pair[1].append(self.of(name, matrix, numbering))
        ratios = sorted(max(q, 1 / q) for q in (mean(one) / mean(other) for one, other in means.values()))
        return max(1.05, ratios[len(ratios) * 95 // 100]) if ratios else 1.05

    def of(self, name, matrix, numbering="better"):
        return self.by.get((name, numbering, matrix))

    def add_best(self, name, names):
        """Adds a label with the best rate of `names` on each matrix."""
        for numbering in NUMBERINGS:
            for matrix in self.matrices:
                found = [self.of(n, matrix, numbering) for n in names if self.of(n, matrix, numbering)]
                if found:
                    self.by[name, numbering, matrix] = max(found)
        if name not in self.labels and any((name, "better", m) in self.by for m in self.matrices):
            self.labels.append(name)

    def common(self, names, numbering="better"):
        """Returns the matrices on which all of `names` ran."""
        return [m for m in self.matrices if all(self.of(n, m, numbering) for n in names)]

    def ratios(self, one, other, numbering="better"):
        """Returns {matrix: speed-up of `one` over `other`}."""
        return {m: self.of(one, m, numbering) / self.of(other, m, numbering)
                for m in self.common((one, other), numbering)}

    def mean(self, name, matrices, numbering="better"):
        return mean(self.of(name, m, numbering) for m in matrices)

    def gains(self, name):
        """Returns {matrix: rate reordered / rate as given}."""
        return {m: self.of(name, m, "reordered") / self.of(name, m, "as given") for m in self.common([name], "as given")
                if self.of(name, m, "reordered")}

    def twins(self, names):
        return [m for m in names if self.matrices[m].get("twin")]

    def equal(self, sides, regular):
        """Returns two lists of labels of equal length for two lists of candidates, and the matrices on which all ran.

        The side with more candidates keeps those with the best geometric mean over the class, so that no side gains
        by the number of its tries. regular: the class; None: all matrices.
        """
        shared = [m for m in self.common([n for side in sides for n in side])
                  if regular in (None, suite.is_regular(m))]
        least = min(len(side) for side in sides)
        best = [sorted(side, key=lambda n: -geometric_mean(self.of(n, m) for m in shared))[:least] if shared else []
                for side in sides]
        return best, shared
