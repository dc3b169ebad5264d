"""Records by density, size, type and method."""
from seed002 import measure

TYPES = (("f32", "float"), ("f64", "double"))
STAGES = ("convert", "count", "scan", "fill", "sort")
# Keys of methods and their names in figures.
NAMES = {
    "printed": "seed's kernels as printed", "repaired": "seed's kernels repaired",
    "reset": "resetting what was touched", "together": "all improvements", "older": "older method",
    "smmp": "SMMP", "scipy": "SciPy", "octave": "Octave (double)", "dense": "array of all columns",
    "dot": "rows times columns, CPU", "gpu": "Spry, GPU", "cpu": "Spry, CPU", "cusparse": "cuSPARSE",
}
KERNELS = {measure.PRINTED: "printed", measure.REPAIRED: "repaired", measure.RESET: "reset",
           measure.TOGETHER: "together", measure.OLDER: "older", measure.SMMP: "smmp", "scipy_smmp": "scipy",
           "octave": "octave", measure.DENSE: "dense", measure.DOT: "dot", "cusparse_spgemm_alg1": "cusparse"}


def who(record):
    """Returns the method of a record, a key of NAMES; None if it is not shown, such as a product that includes
    transfers to the GPU."""
    if record["format"] != "csr" or not record["kernel"]:
        return None
    if record["kernel"].startswith("spgemm_rows_"):
        return "cpu" if record["device"] == "cpu" else "gpu"
    return KERNELS.get(record["kernel"])


def whole(record):
    """Returns the time of a product in ms; None if it did not run."""
    if not record or record["status"] != "ok" or not record["time_us"]:
        return None
    return record["time_us"] / 1e3


def stage(record, name):
    """Returns the time of a stage in ms; None if it was not measured."""
    us = record["stages"][name] if record else None
    return None if us is None else us / 1e3


def without_sort(record):
    """Returns the time of a product without SortCols in ms, or the whole time if that stage was not measured."""
    all_of_it, sort = whole(record), stage(record, "sort")
    return None if all_of_it is None else max(all_of_it - (sort or 0), 1e-6)


def has_entries(record):
    """Returns whether A*A has an entry. Points without entries do not vote in verdicts."""
    return bool(record and record["products"])


def outliers(line, margin):
    """Returns the sizes whose time exceeds the time at the next larger size by over the margin. They are marked in
    figures and do not vote. line: [(size, ms)], in ascending order."""
    return {size for (size, ms), (_, after) in zip(line, line[1:]) if ms > margin * after}


def kernels_only(record):
    """Returns the time of counting, scan and values in ms, without allocations and transfers."""
    return stage_sum(record, "convert", "sort")


def stage_sum(record, *left_out):
    """Returns the sum of the measured stages in ms, except those left out; None without measured stages."""
    told = [stage(record, name) for name in STAGES if name not in left_out]
    told = [ms for ms in told if ms is not None]
    return sum(told) if told and whole(record) else None


class Points:
    """Records of matrices whose names are `prefix`, a density and a size."""

    def __init__(self, results, prefix=""):
        self.found = {}
        for record in results.records:
            words = record["matrix"].removeprefix(prefix).split()
            if not record["matrix"].startswith(prefix) or len(words) != 2:
                continue
            try:
                key = float(words[0]), int(words[1])
            except ValueError:
                continue
            self.found.setdefault(key, {}).setdefault(record["type"], {})[who(record)] = record

    def at(self, density, size, kind, name):
        """Returns the record of a method. Octave multiplies only in double, which is compared with both types."""
        types = self.found.get((density, size), {})
        return types.get("f64" if name == "octave" else kind, {}).get(name)

    def densities(self):
        return sorted({density for density, _ in self.found}, reverse=True)

    def sizes(self, density):
        return sorted(size for at, size in self.found if at == density)

    def keys(self):
        """Returns all (density, size), sorted by density."""
        return sorted(self.found, key=lambda key: (-key[0], key[1]))

    def line(self, density, kind, name, value):
        """Returns [(size, value(record))] for existing records."""
        line = [(size, value(self.at(density, size, kind, name))) for size in self.sizes(density)]
        return [(size, ms) for size, ms in line if ms]

    def ratios(self, density, kind, above, below):
        """Returns [(size, above / below)] of sizes at which A*A has entries. above, below: pairs of a method and a
        function of its record, from one job."""
        found = []
        for size in self.sizes(density):
            record = self.at(density, size, kind, below[0])
            top, bottom = above[1](self.at(density, size, kind, above[0])), below[1](record)
            if top and bottom and has_entries(record):
                found.append((size, top / bottom))
        return found
