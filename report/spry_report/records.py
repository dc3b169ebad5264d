"""Records of `spry bench`: reads JSON lines of files, and reports other lines with file and line number."""
import json
import sys
from dataclasses import dataclass, fields
from typing import Optional


class Refused(Exception):
    """Input that cannot be used. The message names the place and what was expected."""


@dataclass
class Case:
    """The result of one kernel on one matrix. Fields are those of the JSON line; None is unknown."""
    op: Optional[str] = None
    count: Optional[float] = None
    layout: Optional[str] = None
    matrix: Optional[str] = None
    path: Optional[str] = None
    rows: Optional[float] = None
    columns: Optional[float] = None
    nnz: Optional[float] = None
    class_: Optional[str] = None
    type: Optional[str] = None
    index: Optional[str] = None
    device: Optional[str] = None
    threads: Optional[float] = None
    format: Optional[str] = None
    kernel: Optional[str] = None
    ordering: Optional[str] = None
    peer: Optional[bool] = None
    deterministic: Optional[bool] = None
    setup_us: Optional[float] = None
    upload_us: Optional[float] = None
    policy: Optional[str] = None
    disturbed: Optional[bool] = None
    first_us: Optional[float] = None
    time_us: Optional[float] = None
    min_us: Optional[float] = None
    spread_us: Optional[float] = None
    runs: Optional[float] = None
    state: Optional[str] = None
    gflops: Optional[float] = None
    gbps: Optional[float] = None
    copy_gbps: Optional[float] = None
    bytes: Optional[float] = None
    max_error: Optional[float] = None
    status: Optional[str] = None
    reason: Optional[str] = None
    source: int = 0  # index of the file

    @property
    def ran(self):
        """True if the case has a correct result and a time."""
        return self.status == "ok" and self.time_us is not None

    @property
    def is_rival(self):
        """True for another library's kernel. csr_plain is a peer module but is Spry's own textbook loop."""
        return bool(self.peer) and self.kernel != "csr_plain"

    @property
    def is_auto(self):
        return self.format == "auto" and not self.peer


STATUSES = ("ok", "wrong", "skipped", "failed")
_KINDS = {}
for _field in fields(Case):
    if _field.name != "source":
        _kind = str(_field.type)
        _KINDS[_field.name] = str if "str" in _kind else bool if "bool" in _kind else (int, float)
_WORDS = {str: "a text", bool: "true or false", (int, float): "a number"}


def _no_number(name):
    raise ValueError(f"{name} is no number of JSON")


def _parse(line, place, is_last):
    try:
        record = json.loads(line, parse_constant=_no_number)
    except ValueError as error:
        if is_last:
            raise Refused(f"{place}: the last line is cut off: the run was interrupted in it; "
                          "remove the line") from error
        raise Refused(f"{place}: no JSON object: expected lines that spry bench --json=FILE wrote") from error
    except RecursionError as error:
        raise Refused(f"{place}: no record of spry bench: too deeply nested") from error
    if not isinstance(record, dict):
        raise Refused(f"{place}: no record of spry bench: expected a JSON object")
    return record


def _check_kinds(record, place):
    for name, kind in _KINDS.items():
        value = record.get(name.rstrip("_"))
        if value is None:
            continue
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise Refused(
                f"{place}: \"{name.rstrip('_')}\" is {json.dumps(value)[:40]}: expected {_WORDS[kind]} or null")
        if kind == (int, float) and not abs(value) < 1e300:
            raise Refused(f"{place}: \"{name.rstrip('_')}\" is out of range")


def _with_names_of_now(record):
    """Returns the record with current field names. Before version 0.3, `columns` was the number of vectors, and `cols`
    the number of columns."""
    if "cols" not in record:
        return record
    names = {"columns": "count", "cols": "columns"}
    return {names.get(name, name): value for name, value in record.items()}


def make_case(record, place, source=0):
    """Creates a case from a line's JSON object."""
    record = _with_names_of_now(record)
    if "command" in record and "op" not in record and record.get("status") == "failed":
        raise Refused(f"{place}: this command failed and measured nothing: {record.get('reason')}")
    for name in ("op", "matrix", "kernel", "status"):
        if name not in record:
            raise Refused(f"{place}: no record of spry bench: it lacks \"{name}\"")
    _check_kinds(record, place)
    case = Case(source=source, **{name: record.get(name.rstrip("_")) for name in _KINDS})
    if case.status not in STATUSES:
        raise Refused(f"{place}: \"status\" is {json.dumps(case.status)}: expected one of {', '.join(STATUSES)}")
    if case.status == "ok":
        for name in ("op", "matrix", "device", "type"):
            if not getattr(case, name):
                raise Refused(f"{place}: \"{name}\" is not known, but the case is said to be ok")
        if case.time_us is not None and case.time_us <= 0:
            raise Refused(f"{place}: \"time_us\" is {case.time_us:g}: expected a number above 0")
    for name in ("setup_us", "upload_us", "spread_us", "copy_gbps", "runs"):
        if (getattr(case, name) or 0) < 0:
            raise Refused(f"{place}: \"{name}\" is {getattr(case, name):g}: expected no number below 0")
    return case


def _open(path):
    if path == "-":
        return sys.stdin.buffer.read()
    with open(path, "rb") as file:
        return file.read()


def read_file(path, source=0):
    """Returns the cases of a file. Skips auto's choices, which `spry bench --regret` also records."""
    name = "standard input" if path == "-" else path
    try:
        text = _open(path).decode("utf-8")
    except OSError as error:
        raise Refused(f"{name}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Refused(f"{name}: no JSON lines of spry bench: it is not in UTF-8") from error
    lines = text.split("\n")
    cases = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = f"{name}:{number}"
        record = _parse(line, place, number == len(lines))
        if not next(iter(record), "").startswith("regret"):
            cases.append(make_case(record, place, source))
    if not cases:
        raise Refused(f"{name}: there is no record in it; expected JSON lines of spry bench --json")
    return cases


def read_files(paths):
    """Returns the cases of all files."""
    return [case for source, path in enumerate(paths) for case in read_file(path, source)]
