"""Records: one JSON line for each measurement, with its job, machine, date and command.

    {"seed": "000", "job": "grid5", "quick": false, "mock": false, "date": "2026-11-26", "machine": {"id": ...},
     "clocks": "1980, 2619, ...", "command": "spry bench ...", "record": {...}}

A line with "done": true instead of "record" ends a job. A job without this line is measured again. `record` is a record
of `spry bench` (bench/README.md), or has fields that the study defines.
"""
import json
import lzma
import sys


def _check(envelope, place):
    fields = ("seed", "job", "quick", "mock", "date", "machine", "command")
    missing = [field for field in fields if not isinstance(envelope, dict) or field not in envelope]
    if missing:
        sys.exit(f"{place}: a record of a study has {', '.join(fields)}; {', '.join(missing)} is missing")
    about, record = envelope["machine"], envelope.get("record", {})
    if not isinstance(about, dict) or not isinstance(record, dict) or not isinstance(envelope["job"], str) or \
            any(field not in about for field in ("id", "processor", "cores", "gpu", "library")):
        sys.exit(f"{place}: not a record of a study: wrong job, machine or record")


def read_lines(path):
    """Returns all lines of a file (.jsonl, .jsonl.xz), also of incomplete jobs. Omits an incomplete last line."""
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
    """Returns the record with current field names. Before version 0.3, `columns` was the number of vectors, and `cols`
    the number of columns."""
    if "cols" not in record:
        return record
    names = {"columns": "count", "cols": "columns"}
    return {names.get(name, name): value for name, value in record.items()}


def finished(lines):
    """Returns the complete jobs: {(name, machine id)}."""
    return {(line["job"], line["machine"]["id"]) for line in lines if line.get("done")}


def read(paths, seed):
    """Returns the lines of complete jobs of several files.

    Each job is taken from the first machine that completed it, so a job never mixes machines. Exits if quick results
    and others are mixed.
    """
    found, taken, quick = [], set(), None
    for path in paths:
        waiting = {}
        for line in read_lines(path):
            quick = line["quick"] if quick is None else quick
            if line["quick"] != quick:
                sys.exit(f"{path}: quick results cannot be merged with other results")
            if line["seed"] != seed:
                sys.exit(f"{path}: records of study {line['seed']}, expected study {seed}")
            own = waiting.setdefault((line["job"], line["machine"]["id"]), [])
            if "record" in line:
                own.append(line)
            elif line.get("done") and line["job"] not in taken:
                taken.add(line["job"])
                found += own
                own.clear()
    return found


REPEAT = "repeat of "  # prefix of the names of jobs that measure another job's cases a second time
# Fields that identify a case.
CASE = ("kind", "matrix", "kernel", "format", "asked", "policy", "type", "device", "threads", "count", "ordering")


class Results:
    """The records of a study, as dictionaries that also have job, machine and date. where() omits records of
    repeats."""

    def __init__(self, envelopes):
        self.envelopes = envelopes
        records = [{**line["record"], "job": line["job"], "machine": line["machine"]["id"], "date": line["date"]}
                   for line in envelopes]
        self.kinds = {line["machine"]["id"]: {**line["machine"], "id": None} for line in envelopes}
        self.records = [r for r in records if not r["job"].startswith(REPEAT)]
        self.repeats = [r for r in records if r["job"].startswith(REPEAT)]
        self.quick = any(line["quick"] for line in envelopes)
        self.mock = any(line["mock"] for line in envelopes)

    def where(self, **wanted):
        """Returns the records whose fields have these values. A tuple or set matches any of its elements."""
        def fits(record):
            return all(record.get(key) in value if isinstance(value, (tuple, set, frozenset)) else
                       record.get(key) == value for key, value in wanted.items())
        return [record for record in self.records if fits(record)]

    def timed(self, **wanted):
        """Returns the records of where() that have a correct result and a time."""
        return [r for r in self.where(**wanted) if r.get("status") == "ok" and (r.get("mean_us") or 0) > 0]

    def repeated(self, field="mean_us", **wanted):
        """Returns larger time / smaller time of each case that two jobs measured on machines with the same
        description, in ascending order. field: a name, or a function of a record. wanted: as in where()."""
        def value(r):
            return field(r) if callable(field) else r[field]

        def key(r):
            return (str(self.kinds[r["machine"]]), r["job"].removeprefix(REPEAT), *(r.get(name) for name in CASE))
        first = {key(r): value(r) for r in self.timed(**wanted)}
        second = {key(r): value(r) for r in self.repeats if r.get("status") == "ok" and (r.get("mean_us") or 0) > 0}
        return sorted(max(first[case], time) / min(first[case], time) for case, time in second.items() if case in first)

    def margin(self, least=1.05, **wanted):
        """Returns the ratio of times that counts as a difference: at least `least`, and at least the ratio that 95 % of
        the repeated cases stay below."""
        ratios = self.repeated(**wanted)
        return max(least, ratios[len(ratios) * 95 // 100]) if ratios else least

    def machines(self, jobs=""):
        """Returns the machines {id: (description, dates, clocks)} of jobs whose names begin with `jobs`.

        Clocks are read when a job ends. Clocks of jobs that do not use the GPU are omitted, because the GPU is idle
        then.
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
