"""Seed 004's table of storage. Words of each format: by formula, as the library predicts, and of built plans.

M rows, N columns, K entries in the longest row. A word is a value or an index. Plans are measured with f32 and 32-bit
indices, where a word has 4 bytes.
"""

FORMATS = ("csr", "ell", "coo", "hyb")
WORD = 4


def formulas(info):
    """Returns the words by the printed formulas. HYB has only bounds."""
    m, nnz, k = info["rows"], info["nnz"], info["max_row"]
    return {"dense": m * info["columns"], "csr": 2 * nnz + m + 1, "ell": 2 * m * k, "coo": 3 * nnz}


def bounds_of_hyb(info):
    """Returns the printed lower and upper bound of HYB's words."""
    return 3 * info["nnz"], 2 * info["rows"] * info["max_row"]


def counted(info):
    """Returns the words of the four leaves without row lengths: by the printed formulas, HYB's as predicted."""
    words = formulas(info)
    return {"csr": words["csr"], "ell": words["ell"], "coo": words["coo"], "hyb": predicted(info, "hyb")["words"]}


def hyb_is_within(info):
    low, high = bounds_of_hyb(info)
    return low < predicted(info, "hyb")["words"] < high


def predicted(info, name):
    return next(s for s in info["storage"] if s["format"] == name)


def exact_hyb(info):
    """Returns HYB's width W, which is the rounded mean row, and its overflow, the number of entries in the COO part.
    Uses words = 2 M W + 3 overflow."""
    width = int(predicted(info, "hyb")["parameters"].partition("=")[2])
    overflow = (predicted(info, "hyb")["words"] - 2 * info["rows"] * width) / 3
    return width, overflow


def problems(info):
    """Returns messages for predictions of the library that differ from the formulas."""
    printed = formulas(info)
    found = [f"{info['matrix']}: {name} takes {predicted(info, name)['words']} words, by the formula {printed[name]}"
             for name in ("csr", "ell", "coo") if predicted(info, name)["words"] != printed[name]]
    if predicted(info, "coo")["bytes"] != (WORD + 2 * 4) * info["nnz"]:  # "nnz (val) + 2 nnz (int)"
        found.append(f"{info['matrix']}: coo takes {predicted(info, 'coo')['bytes']} bytes")
    width, overflow = exact_hyb(info)
    if width != int(info["mean_row"] + 0.5) or overflow != int(overflow) or not 0 <= overflow <= info["nnz"]:
        found.append(f"{info['matrix']}: hyb has width {width} and overflow {overflow}, a mean row {info['mean_row']}")
    return found
