#!/usr/bin/env python3
"""Puts one kernel beside another, matrix by matrix, from the JSON lines of `spry bench`.

    build/spry bench --suite mesh --formats csr --peers --json=mesh.jsonl
    python3 bench/compare.py mesh.jsonl --kernel csr_avx512_cpu --against mkl_csr_optimized

Prints a Markdown table: the ratio is the other's time over ours, from the same run, so above 1 ours is
faster. "roof" is bytes of plain CSR over time as a share of the copy bandwidth measured in that run.
`--against best` takes the fastest peer of each matrix. Cases that are not "ok" are listed, never dropped.
"""
import argparse
import json
import math
import sys


def geometric_mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else float("nan")


def load(paths):
    """Records by matrix, type and indices; and in words what is not ok."""
    cases, failed = {}, []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for line in file:
                record = json.loads(line)
                key = (record["matrix"], record["type"], record["index"])
                if record["status"] == "ok":
                    cases.setdefault(key, []).append(record)
                else:
                    failed.append(f"{record['matrix']} {record['kernel']}: {record['status']}, {record['reason']}")
    return cases, failed


def pick(records, name):
    """One kernel's record; "auto" may have picked the same kernel, then the format's own record counts."""
    if name == "best":
        return min((r for r in records if r["peer"]), key=lambda r: r["time_us"], default=None)
    found = [r for r in records if r["kernel"] == name]
    return next((r for r in found if r["format"] != "auto"), found[0] if found else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE.jsonl")
    parser.add_argument("--kernel", default="csr_avx512_cpu")
    parser.add_argument("--against", default="mkl_csr_optimized")
    arguments = parser.parse_args()

    print("| matrix | type | ours us | spread | other us | spread | ratio | roof | set-up, in products |")
    print("|---|---|---|---|---|---|---|---|---|")
    ratios, roofs = [], []
    cases, missing = load(arguments.files)
    for (matrix, value_type, _), records in cases.items():
        ours, other = pick(records, arguments.kernel), pick(records, arguments.against)
        if not ours or not other:
            missing.append(f"{matrix} {value_type}: no result of {arguments.kernel if not ours else arguments.against}")
            continue
        ratio = other["time_us"] / ours["time_us"]
        ratios.append(ratio)
        roofs.append(ours["roof"])
        spread = [f"{100 * r['spread_us'] / r['time_us']:.0f} %" for r in (ours, other)]
        mark = " (disturbed)" if "disturbed" in (ours["reason"] or "") + (other["reason"] or "") else ""
        print(f"| {matrix} | {value_type} | {ours['time_us']:.0f} | {spread[0]} | {other['time_us']:.0f} | {spread[1]} "
              f"| {ratio:.2f}{mark} | {100 * ours['roof']:.0f} % | {ours['setup_us'] / ours['time_us']:.1f} |")
    if ratios:
        print(f"\nGeometric mean of the ratios {geometric_mean(ratios):.2f}, lowest {min(ratios):.2f}; "
              f"roof {100 * geometric_mean(roofs):.0f} %, lowest {100 * min(roofs):.0f} %.")
    for line in missing:
        print(f"\nNot compared: {line}")
    return 0 if ratios and not missing else 1


if __name__ == "__main__":
    sys.exit(main())
