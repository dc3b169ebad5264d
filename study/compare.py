#!/usr/bin/env python3
"""Compares two kernels, matrix by matrix, from the JSON lines of `spry bench`.

    build/spry bench --suite mesh --formats csr --peers --json=mesh.jsonl
    python3 study/compare.py mesh.jsonl --kernel csr_avx512_cpu --against mkl_csr_optimized

Prints a Markdown table. The ratio is the time of --against divided by the time of --kernel, both from the same run:
above 1, --kernel is faster. "roof" is the bytes of plain CSR divided by the time, as a share of the copy bandwidth
measured in that run. Either name may be a list separated by commas; the fastest kernel on each matrix counts.
`--against best` means all peers, `--kernel best` all kernels that are not peers. Each file is one run, and both times
of a ratio are from one file. Cases with another status than "ok" are always listed.
"""
import argparse
import json
import math
import sys

from common.records import with_names_of_now

FIELDS = ("op", "matrix", "type", "index", "format", "kernel", "peer", "time_us", "spread_us", "setup_us", "roof",
          "status", "reason")
FAILURE = ("command", "matrix", "status", "reason")  # fields of a line for a matrix without results


def geometric_mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else math.nan


def read(path):
    """Yields the records and failures of a file. Skips lines of regret reports. Exits at any other line."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = list(file)
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"{path}: cannot be read: {error}")
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
        except ValueError as error:
            sys.exit(f"{path}:{number}: not JSON: {error}")
        if isinstance(record, dict) and next(iter(record), "").startswith("regret"):
            continue
        if not isinstance(record, dict) or not any(record.keys() >= set(fields) for fields in (FIELDS, FAILURE)):
            sys.exit(f"{path}:{number}: not a record of spry bench, expected an object with {', '.join(FIELDS)}")
        yield with_names_of_now(record)


def operation(record):
    """Returns the operation's name, with the number and layout of vectors if there is more than one."""
    count = record.get("count")
    return f"{record['op']} of {count}, {record.get('layout')}-major" if count else record["op"]


def load(paths):
    """Returns {(file, operation, matrix, type, index): records that are ok}, and the other records and failures."""
    cases, bad = {}, []
    for path in paths:
        for record in read(path):
            if "op" not in record:
                bad.append(record)
                continue
            key = (path, operation(record), record["matrix"], record["type"], record["index"])
            if record["format"] == "plan":  # only spgemm's numeric phase, not comparable with a peer's whole product
                continue
            if record["status"] == "ok":
                cases.setdefault(key, []).append(record)
            else:
                bad.append(record)
    return cases, bad


def pick(records, names, peer):
    """Returns the fastest of the named kernels. If "auto" chose a kernel that was also measured by name, its record is
    ignored."""
    found = [r for r in records if (r["peer"] == peer if names == ["best"] else r["kernel"] in names)]
    own = {r["kernel"] for r in found if r["format"] != "auto"}
    found = [r for r in found if r["format"] != "auto" or r["kernel"] not in own]
    return min(found, key=lambda r: r["time_us"], default=None)


def share(number):
    return "-" if number is None else f"{100 * number:.0f} %"


def describe(record):
    case = " ".join(filter(None, (record["matrix"], record.get("type"), record.get("kernel"))))
    return f"{case}: {record['status']}, {record['reason']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE.jsonl")
    parser.add_argument("--kernel", default="csr_avx512_cpu")
    parser.add_argument("--against", default="mkl_csr_optimized")
    arguments = parser.parse_args()
    ours_names, other_names = arguments.kernel.split(","), arguments.against.split(",")
    cases, bad = load(arguments.files)

    print("| matrix | type | ours us | spread | other us | spread | ratio | roof | set-up, in products |")
    print("|---|---|---|---|---|---|---|---|---|")
    ratios, roofs, compared, missing = [], [], set(), []
    for key, records in cases.items():
        _, op, matrix, value_type, _ = key
        ours, other = pick(records, ours_names, False), pick(records, other_names, True)
        if not ours or not other:
            lacks = arguments.kernel if not ours else arguments.against
            missing.append((key[1:], f"{matrix} {value_type}: no result of {lacks}"))
            continue
        compared.add(key[1:])
        ratio = other["time_us"] / ours["time_us"]
        ratios.append(ratio)
        roofs += [ours["roof"]] if ours["roof"] else []
        spread = [f"{100 * r['spread_us'] / r['time_us']:.0f} %" for r in (ours, other)]
        mark = " (disturbed)" if "disturbed" in (ours["reason"] or "") + (other["reason"] or "") else ""
        label = matrix if op == "spmv" else f"{matrix} {op}"
        for names, record in ((ours_names, ours), (other_names, other)):
            label += f", {record['kernel']}" if names == ["best"] or len(names) > 1 else ""
        print(f"| {label} | {value_type} | {ours['time_us']:.0f} | {spread[0]} | {other['time_us']:.0f} | {spread[1]} "
              f"| {ratio:.2f}{mark} | {share(ours['roof'])} | {ours['setup_us'] / ours['time_us']:.1f} |")
    if ratios:
        roof = f"; roof {share(geometric_mean(roofs))}, lowest {share(min(roofs))}" if roofs else ""
        print(f"\nGeometric mean of the ratios {geometric_mean(ratios):.2f}, lowest {min(ratios):.2f}{roof}.")
    # A pair that is missing in one run is no gap if another run has it.
    gaps = [text for key, text in missing if key not in compared]
    # Skipped cases of other kernels, such as a format that does not suit a matrix, are listed but are no gaps.
    asked = set(ours_names + other_names)
    gaps += [describe(r) for r in bad if r["status"] != "skipped" or r["kernel"] in asked or not r["kernel"]]
    for line in gaps:
        print(f"\nNot compared: {line}")
    for record in bad:
        if record["status"] == "skipped" and record["kernel"] and record["kernel"] not in asked:
            print(f"\nAlso skipped: {describe(record)}")
    return 0 if ratios and not gaps else 1


if __name__ == "__main__":
    sys.exit(main())
