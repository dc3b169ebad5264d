#!/usr/bin/env python3
"""Prints what the choice of "auto" costs, from FILEs that `spry bench --regret --json=FILE` wrote.

    cost(N) = set-up - upload + N * time of a product                (many calls: the time of a product)
    loss(N) = cost(N) of auto's plan / least cost(N) of all deterministic kernels, csr's default plan and auto's plan

Every matrix and type is judged only by the records of the same run. Files may be compressed (.gz, .xz).
"""
import gzip
import json
import lzma
import math
import sys

BEHIND, NEAR, FAR, GAIN, EVEN = 1.05, 1.15, 2, 1.1, 1.5
NEEDED = ("op", "matrix", "type", "device", "ordering", "kernel", "format", "time_us", "setup_us")


def read(path):
    """Returns a list of (records, choices), one for each matrix and type of a file."""
    opened = {"gz": gzip.open, "xz": lzma.open}.get(path.rsplit(".", 1)[-1], open)
    blocks, last = [], None
    with opened(path, "rt", encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                record = json.loads(line)
                choice = record.get("regret")
                if choice is None and next(iter(record), "").startswith("regret_"):
                    continue
                key = [(choice or record)[name] for name in NEEDED][:3]
            except (ValueError, AttributeError, KeyError) as error:
                sys.exit(f"{path}:{number}: no record of spry bench ({error}): expected lines that "
                         "spry bench --regret --json=FILE wrote")
            if not choice and (key != last or blocks[-1][1]):
                blocks.append(([], []))
            if not blocks:
                sys.exit(f"{path}:{number}: a choice of auto without records before it")
            blocks[-1][1 if choice else 0].append(choice or record)
            last = key
    if not any(choices for _, choices in blocks):
        sys.exit(f"{path}: no choice of auto: expected lines that spry bench --regret --json=FILE wrote")
    return blocks


def cost(plan, calls, prefix=""):
    """Returns microseconds of `calls` products with set-up, or of one product if calls is 0."""
    time, setup, upload = (plan.get(prefix + name) for name in ("time_us", "setup_us", "upload_us"))
    if not time:
        return math.nan
    return setup - (upload or 0) + calls * time if calls else time


def judge(choice, records):
    """Adds to a choice: loss, over_csr (auto's cost divided by csr's), the plan of least cost, and each peer's ratio.

    A loss is NaN if auto's plan was not measured.
    """
    calls = choice["calls"] = choice["calls"] or 0
    ran = [r for r in records if r["status"] == "ok" and r["time_us"] and r["device"] == choice["device"]
           and r["ordering"] == choice["ordering"]]
    ours = cost(choice, calls)
    csr = cost(choice, calls, "csr_")
    plans = [(ours, choice["format"], choice["kernel"]), (csr, "csr", choice["csr_kernel"])]
    plans += [(cost(r, calls), r["format"], r["kernel"]) for r in ran if not r["peer"] and r["deterministic"]]
    best = min((p for p in plans if not math.isnan(p[0])), key=lambda p: p[0], default=plans[0])
    choice.update(loss=ours / best[0], over_csr=ours / csr, best=best)
    choice["peers"] = [compare(choice, r) for r in ran if r["peer"]]
    return choice


def compare(choice, peer):
    """Returns a peer's name, the peer's cost divided by auto's cost, and whether auto costs over 5 % more and the
    difference exceeds the spread."""
    ours, theirs = cost(choice, choice["calls"]), cost(peer, choice["calls"])
    spread = (choice["calls"] or 1) * max(choice["spread_us"] or 0, peer["spread_us"] or 0)
    return peer["kernel"], theirs / ours, ours > BEHIND * theirs and ours - theirs > spread


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def percentile(values, share):
    """Interpolates linearly between the two nearest values."""
    values = sorted(values)
    below, part = divmod(share * (len(values) - 1), 1)
    return values[int(below)] + part * (values[min(int(below) + 1, len(values) - 1)] - values[int(below)])


def prediction_error(choice):
    """Returns the predicted time divided by the measured time; on a CPU both are relative to csr's. NaN: not known."""
    if not choice["predicted_us"] or not choice["time_us"]:
        return math.nan
    if choice["device"] != "cpu":
        return choice["predicted_us"] / choice["time_us"]
    return choice["predicted_us"] / choice["baseline_us"] / (choice["time_us"] / choice["csr_time_us"])


def break_even_is_right(choice):
    """Returns whether the predicted break-even is near the measured one. None: auto is not 1.1 times as fast as csr."""
    if not choice["time_us"] or not (choice["csr_time_us"] or 0) >= GAIN * choice["time_us"]:
        return None
    measured = max(1, math.ceil(choice["setup_us"] / (choice["csr_time_us"] - choice["time_us"])))
    return choice["break_even"] is not None and within(max(1, choice["break_even"]) / measured, EVEN)


def within(ratio, factor):
    return 1 / factor <= ratio <= factor


def grouped(pairs):
    """Returns the values of each key, in the order of first appearance."""
    groups = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups.items()


def kind(choice):
    return choice["op"], choice["device"], choice["type"], choice["policy"]


def calls_text(calls):
    return str(calls) if calls else "many"


def name_of(form, kernel):
    """Returns the kernel's name, after its format if the format has parameters."""
    return f"{form} {kernel or ''}" if ":" in form else kernel or form


# ---- tables -----------------------------------------------------------------------------------------

def print_table(title, heads, rows):
    """Prints columns: numbers to the right, other cells to the left."""
    rows = [[f"{c:.3f}" if isinstance(c, float) else str(c) for c in row] for row in rows]
    widths = [max(len(row[c]) for row in [heads, *rows]) for c in range(len(heads))]
    print(title)
    for row in [heads, *rows]:
        right = [heads[c] in ("calls", "cases") or all(r[c][:1].isdigit() for r in rows) for c in range(len(heads))]
        cells = [cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(row, widths, right)]
        print("  " + "  ".join(cells).rstrip())
    print()


def print_choices(choices):
    for (matrix, op, value_type, device), cases in grouped(
            ((c["matrix"], c["op"], c["type"], c["device"]), c) for c in choices):
        rows = []
        for c in cases:
            best, itself = c["best"], c["best"][1:] == (c["format"], c["kernel"])
            rows.append([calls_text(c["calls"]), c["policy"], name_of(c["format"], c["kernel"]),
                         round(c["setup_us"] - (c["upload_us"] or 0)) if c["setup_us"] is not None else "not planned",
                         *("not measured" if math.isnan(v) else v for v in (cost(c, 0), c["loss"], c["over_csr"])),
                         "" if math.isnan(c["loss"]) else "itself" if c["loss"] <= 1 else
                         name_of(*best[1:]) + (", planned otherwise" if itself else "")])
        print_table(f"{matrix}: {op}, {value_type} on {device}",
                    ["calls", "policy", "auto takes", "set-up us", "time us", "loss", "over csr", "least cost"], rows)


def print_losses(choices):
    rows = []
    for key, cases in grouped(((*kind(c), calls_text(c["calls"])), c) for c in choices):
        worst, behind = (max(cases, key=lambda c, of=of: c[of]) for of in ("loss", "over_csr"))
        losses, over_csr = [c["loss"] for c in cases], [c["over_csr"] for c in cases]
        rows.append([*key, len(cases), geometric_mean(losses), percentile(losses, 0.95), worst["loss"],
                     worst["matrix"], geometric_mean(over_csr), behind["over_csr"], behind["matrix"],
                     sum(value > BEHIND for value in over_csr)])
    print_table("Loss of auto: set-up without upload and all products, over the least of all deterministic kernels",
                ["op", "device", "type", "policy", "calls", "cases", "mean", "95 %", "worst", "of", "over csr",
                 "worst", "of", "over 5 % behind csr"], rows)


def print_peers(choices):
    rows, slower = [], []
    for key, pairs in grouped(((*kind(c), name, calls_text(c["calls"])), (ratio, c["matrix"], is_slower))
                              for c in choices for name, ratio, is_slower in c["peers"]):
        mean = geometric_mean([ratio for ratio, _, _ in pairs])
        rows.append([*key, len(pairs), mean, *min(pairs)[:2], sum(is_slower for _, _, is_slower in pairs)])
        slower += [[matrix, *key[:5], ratio] for ratio, matrix, is_slower in pairs if is_slower and key[5] == "many"]
    if rows:
        print_table("A peer's cost over auto's: above 1 auto is ahead",
                    ["op", "device", "type", "policy", "peer", "calls", "cases", "mean", "least", "of", "auto slower"],
                    rows)
        print_table("Products of auto that are slower than a peer's by over 5 % and the spread",
                    ["matrix", "op", "device", "type", "policy", "peer", "peer's time over auto's"], slower)


def print_predictions(choices):
    rows = []
    for key, cases in grouped((kind(c), c) for c in choices if c["policy"].split(":")[0] != "tree" and not c["calls"]):
        errors = [(prediction_error(c), c["format"] != "csr") for c in cases]
        errors = [e for e in errors if not math.isnan(e[0])]
        even = [right for right in map(break_even_is_right, cases) if right is not None]
        rows.append([*key, *(f"{sum(within(e, f) for e, _ in some)} of {len(some)}" for f in (NEAR, FAR)
                             for some in (errors, [e for e in errors if e[1]])), f"{sum(even)} of {len(even)}"])
    print_table("Predicted over measured time, many calls, on a CPU both as a share of csr's",
                ["op", "device", "type", "policy", "within 15 %", "if not csr", "within 2", "if not csr",
                 "break-even within 1.5"], rows)


def main(paths):
    if not paths or paths[0].startswith("-"):
        sys.exit(__doc__ + "\nusage: python3 bench/regret.py FILE...")
    choices = []
    for path in paths:
        for records, chosen in read(path):
            choices += [judge(c, records) for c in chosen]
            for choice in chosen:
                if choice["policy"] != chosen[0]["policy"]:
                    choice["peers"] = []
    print_choices(choices)
    measured = [c for c in choices if not math.isnan(c["over_csr"])]
    print_losses(measured)
    print_peers(measured)
    print_predictions(choices)


if __name__ == "__main__":
    main(sys.argv[1:])
