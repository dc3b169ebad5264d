"""Records: a JSON line a measurement, which tells its job, machine, date and command.

    {"seed": "000", "job": "grid5", "quick": false, "mock": false, "date": "2026-11-26", "machine": {"id": ...},
     "clocks": "1980, 2619, ...", "command": "spry bench ...", "record": {...}}

A line with "done": true in place of "record" ends a job: jobs without it are measured anew. `record` is one of `spry
bench` (bench/README.md), or of the study's own with the fields that it names.
"""
import json
import lzma
import sys


def _check(envelope, place):
    fields = ("seed", "job", "quick", "mock", "date", "machine", "command")
    missing = [field for field in fields if not isinstance(envelope, dict) or field not in envelope]
    if missing:
        sys.exit(f"{place}: no record of a study, which has {', '.join(fields)}; this one lacks {', '.join(missing)}")
    about, record = envelope["machine"], envelope.get("record", {})
    if not isinstance(about, dict) or not isinstance(record, dict) or not isinstance(envelope["job"], str) or \
            any(field not in about for field in ("id", "processor", "cores", "gpu", "library")):
        sys.exit(f"{place}: no record of a study: its machine or its record is none")


def read_lines(path):
    """Every line of a file (.jsonl, .jsonl.xz), also of jobs that did not end; a last one that was cut is left out."""
    try:
        with lzma.open(path, "rt", encoding="utf-8") if path.endswith(".xz") else open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
    except (OSError, UnicodeDecodeError, lzma.LZMAError, EOFError) as error:
        sys.exit(f"{path}: cannot be read: {error}")
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            envelope = json.loads(line)
        except ValueError as error:
            if number == len(lines):
                continue
            sys.exit(f"{path}:{number}: no JSON: {error}")
        _check(envelope, f"{path}:{number}")
        if "record" in envelope:
            envelope["record"] = with_names_of_now(envelope["record"])
        found.append(envelope)
    return found


def with_names_of_now(record):
    """The record with today's field names: before version 0.3, `columns` counted vectors and `cols` columns."""
    if "cols" not in record:
        return record
    names = {"columns": "count", "cols": "columns"}
    return {names.get(name, name): value for name, value in record.items()}


def finished(lines):
    """The jobs that ended: (name, machine)."""
    return {(line["job"], line["machine"]["id"]) for line in lines if line.get("done")}


def read(paths, seed):
    """
    The envelopes of the jobs that ended, of several files: each job from the first machine that ended it, so that what
    is compared within a job is always of one machine. Quick results and others do not mix.
    """
    found, taken, quick = [], set(), None
    for path in paths:
        waiting = {}
        for line in read_lines(path):
            quick = line["quick"] if quick is None else quick
            if line["quick"] != quick:
                sys.exit(f"{path}: quick results are no measurements, and are not merged with others")
            if line["seed"] != seed:
                sys.exit(f"{path}: records of study {line['seed']}, expected those of {seed}")
            own = waiting.setdefault((line["job"], line["machine"]["id"]), [])
            if "record" in line:
                own.append(line)
            elif line.get("done") and line["job"] not in taken:
                taken.add(line["job"])
                found += own
                own.clear()
    return found


class Results:
    """The records of a study: dictionaries with their job, machine, date and command beside."""

    def __init__(self, envelopes):
        self.envelopes = envelopes
        self.records = [{**line["record"], "job": line["job"], "machine": line["machine"]["id"], "date": line["date"]}
                        for line in envelopes]
        self.quick = any(line["quick"] for line in envelopes)
        self.mock = any(line["mock"] for line in envelopes)

    def where(self, **wanted):
        """Records whose fields have these values; a value may be a tuple or set of several."""
        def fits(record):
            return all(record.get(key) in value if isinstance(value, (tuple, set, frozenset)) else
                       record.get(key) == value for key, value in wanted.items())
        return [record for record in self.records if fits(record)]

    def timed(self, **wanted):
        """Of those the ones that ran and were right, with a time."""
        return [r for r in self.where(**wanted) if r.get("status") == "ok" and (r.get("mean_us") or 0) > 0]

    def machines(self, jobs=""):
        """
        {id: (description, dates, clocks)} of those that measured the jobs whose names begin so. Clocks are asked for
        when a job has ended: those of a job without the GPU are an idle one's, and are left out.
        """
        found = {}
        for line in self.envelopes:
            if not line["job"].startswith(jobs):
                continue
            found.setdefault(line["machine"]["id"], (line["machine"], set(), set()))
            found[line["machine"]["id"]][1].add(line["date"])
            if line.get("clocks") and line["record"].get("device") == "cuda":
                found[line["machine"]["id"]][2].add(line["clocks"])
        return found
