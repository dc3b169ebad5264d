"""Seed 004's table of storage: words of each format, by formula, as the library predicts them, and of built plans.

M rows, N columns, K entries in the longest row. A word is a value or an index; bytes are 4 times the words only with
f32 and 32-bit indices, so that is how plans are measured.
"""

FORMATS = ("csr", "ell", "coo", "hyb")
WORD = 4


def formulas(info):
    """What the table prints; of HYB it has bounds alone."""
    m, nnz, k = info["rows"], info["nnz"], info["max_row"]
    return {"dense": m * info["columns"], "csr": 2 * nnz + m + 1, "ell": 2 * m * k, "coo": 3 * nnz}


def bounds_of_hyb(info):
    """Printed: over the first, under the second."""
    return 3 * info["nnz"], 2 * info["rows"] * info["max_row"]


def hyb_is_within(info):
    low, high = bounds_of_hyb(info)
    return low < predicted(info, "hyb")["words"] < high


def predicted(info, name):
    return next(s for s in info["storage"] if s["format"] == name)


def exact_hyb(info):
    """2 M W + 3 overflow, W the mean row length, halves rounded up; the overflow follows from words and W."""
    width = int(predicted(info, "hyb")["parameters"].partition("=")[2])
    overflow = (predicted(info, "hyb")["words"] - 2 * info["rows"] * width) / 3
    return width, overflow


def problems(info):
    """Where the library's figures are not those of the formulas."""
    printed = formulas(info)
    found = [f"{info['matrix']}: {name} takes {predicted(info, name)['words']} words, by the formula {printed[name]}"
             for name in ("csr", "ell", "coo") if predicted(info, name)["words"] != printed[name]]
    if predicted(info, "coo")["bytes"] != (WORD + 2 * 4) * info["nnz"]:  # "nnz (val) + 2 nnz (int)"
        found.append(f"{info['matrix']}: coo takes {predicted(info, 'coo')['bytes']} bytes")
    width, overflow = exact_hyb(info)
    if width != int(info["mean_row"] + 0.5) or overflow != int(overflow) or not 0 <= overflow <= info["nnz"]:
        found.append(f"{info['matrix']}: hyb has width {width} and overflow {overflow}, a mean row {info['mean_row']}")
    return found
