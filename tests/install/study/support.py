"""Helpers of the studies' tests: invented records, and a report of records in a temporary folder."""
import argparse
import os
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "study"))

from common import report as reports  # noqa: E402 (the path comes first)

MACHINE = {"id": "1", "processor": "p", "cores": 1, "gpu": "g", "library": "l"}


def product(matrix, kernel, us, kind="product", **others):
    """Returns a record of spry bench in the form that a study stores."""
    return {"kind": kind, "matrix": matrix, "kernel": kernel, "format": kernel.split("_")[0], "type": "f32",
            "device": "cuda", "policy": None, "peer": False, "nnz": 1000, "time_us": us, "mean_us": us, "status": "ok",
            "reason": "", "asked": "kernel", "max_error": 0.1, "bytes": 4000, "roof": 0.5, **others}


def envelopes_of(records, seed):
    return [{"seed": seed, "job": "j", "quick": False, "mock": False, "date": "2026-01-01", "machine": MACHINE,
             "clocks": "", "command": "c", "record": record} for record in records]


def words_of(study, records, seed):
    """Returns the words that report.md explains before its first table."""
    with tempfile.TemporaryDirectory() as out:
        options = argparse.Namespace(seed=seed, no_figures=True, quick=False, only=None)
        reports.write(options, study, envelopes_of(records, seed), out)
        with open(os.path.join(out, "report.md"), encoding="utf-8") as file:
            head = file.read().partition("\n| ")[0]
    return [line.split("**")[1] for line in head.partition("## Words\n")[2].splitlines() if line.startswith("- **")]


def report_of(study, records, seed):
    """Returns {item and text: claim}, and the problems, of a study's report of these records."""
    envelopes = envelopes_of(records, seed)
    with tempfile.TemporaryDirectory() as out:
        options = argparse.Namespace(seed=seed, no_figures=True, quick=False, only=None)
        results = reports.Results(envelopes)
        made = reports.Report(options, results, out)
        study.report(results, made)
        return {(claim.item, claim.text): claim for claim in made.claims}, made.problems
