"""Figure 2: a small matrix in the four stages of Band-k, from its entries, its ordering and its groups."""


def group_of(ptr):
    """Returns the index of the group of each member. ptr: first member of each group, and the end."""
    return [g for g in range(len(ptr) - 1) for _ in range(ptr[g], ptr[g + 1])]


def coarsened(entries, number):
    """Returns the distinct positions of the entries, with the number of a row's group in place of the row."""
    return sorted({(number[i], number[j]) for i, j in entries})


def numbers_by_first(group, order):
    """Numbers the groups by their first row in the given order: the coarse graph before it is reordered."""
    first = {}
    for position, row in enumerate(order):
        first[group[position]] = min(first.get(group[position], row), row)
    return {g: n for n, g in enumerate(sorted(first, key=first.get))}


def stages(record):
    """Returns [(title, size, positions)] of the stages original, coarsened, coarsened and reordered, reordered."""
    order, entries = record["order"], [tuple(e) for e in record["entries"]]
    position = {row: p for p, row in enumerate(order)}
    group = group_of(record["sr_ptr"])
    groups = len(record["sr_ptr"]) - 1
    before = numbers_by_first(group, order)
    of_row = {row: group[p] for p, row in enumerate(order)}
    return [("(a) original", record["rows"], sorted(entries)),
            ("(b) coarsened", groups, coarsened(entries, {row: before[g] for row, g in of_row.items()})),
            ("(c) coarsened, reordered", groups, coarsened(entries, of_row)),
            ("(d) all reordered", record["rows"], sorted((position[i], position[j]) for i, j in entries))]


def bandwidth(positions):
    return max((abs(i - j) for i, j in positions), default=0)


def borders(record):
    """Returns the first rows of the super-rows, and the first super-rows of the super-super-rows, without 0."""
    return record["sr_ptr"][1:-1], record["ssr_ptr"][1:-1]


def draw(record, axes):
    """Draws the four stages. Lines separate super-rows (thin) and super-super-rows (thick)."""
    super_rows, thick = borders(record)
    lines = {"c": ((), thick), "d": (super_rows, [record["sr_ptr"][s] for s in thick])}
    for (title, size, positions), one in zip(stages(record), axes):
        one.plot([j for _, j in positions], [i for i, _ in positions], linestyle="", marker="s", color="#0072b2",
                 markersize=1.5 if size > 100 else 4)
        one.set_xlim(-0.5, size - 0.5)
        one.set_ylim(size - 0.5, -0.5)
        one.set_aspect("equal")
        one.set_title(f"{title}: {size} rows, bandwidth {bandwidth(positions)}", fontsize=9)
        one.set_xlabel("column")
        one.set_ylabel("row")
        one.grid(False)
        for borders_of_groups, width in zip(lines.get(title[1], ()), (0.3, 1)):
            for b in borders_of_groups:
                one.axhline(b - 0.5, color="#d55e00", linewidth=width)
