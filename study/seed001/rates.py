"""Rates by kernel, numbering and matrix, and statistics of them."""
from common.numbers import mean

NUMBERING = {"none": "as given", "rcm": "reordered", "bandk2": "reordered", "bandk3": "reordered",
             "bandk4": "reordered"}
NUMBERINGS = ("as given", "reordered", "better")


def gflops(record):
    return 2e-3 * record["nnz"] / record["mean_us"]


def is_listing(record):
    return "_listing_" in record["kernel"]


def label(record):
    """Returns the label of a record: the kernel for peers and listings, else the format."""
    return record["kernel"] if record["peer"] or is_listing(record) else record["format"]


class Rates:
    """Rates of one type and device, by label, numbering and matrix. Uses only records with the largest number of
    threads."""

    def __init__(self, results, kind, device):
        mine = [r for r in results.timed(type=kind) if r["job"].startswith(device + ",") and "ordering" in r]
        most = max((r["threads"] for r in mine), default=0)
        self.kind, self.device, self.threads = kind, device, most
        self.records = [r for r in mine if r["threads"] == most]
        self.labels, self.peers, self.by, self.matrices = [], set(), {}, {}
        for r in self.records:
            if r["ordering"] in NUMBERING:
                self._add(r)

    def _add(self, r):
        name = label(r)
        if name not in self.labels:
            self.labels.append(name)
        if r["peer"]:
            self.peers.add(name)
        self.matrices.setdefault(r["matrix"], r)
        for numbering in (NUMBERING[r["ordering"]], "better"):
            key = (name, numbering, r["matrix"])
            self.by[key] = max(gflops(r), self.by.get(key, 0))

    def of(self, name, matrix, numbering="better"):
        return self.by.get((name, numbering, matrix))

    def add_best(self, name, names):
        """Adds a label with the best rate of `names` on each matrix."""
        for numbering in NUMBERINGS:
            for matrix in self.matrices:
                found = [self.of(n, matrix, numbering) for n in names if self.of(n, matrix, numbering)]
                if found:
                    self.by[name, numbering, matrix] = max(found)
        if any((name, "better", m) in self.by for m in self.matrices):
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
