"""
The command line of the renderer, for `spry report` and `spry bench --report`. Writes HTML to standard output and one
JSON line with the result to a file descriptor. From this line the program gets its exit status, messages and own JSON.
"""
import argparse
import json
import os
import sys

from . import compare, records


def _arguments(argv):
    parser = argparse.ArgumentParser(prog="report", description=__doc__)
    parser.add_argument("records", nargs="+", help="JSON lines of spry bench; - is standard input")
    parser.add_argument("--name", action="append", default=[], help="name of a file of records, in their order")
    parser.add_argument("--no-page", action="store_true", help="no HTML, only the verdict of --compare")
    parser.add_argument("--compare", metavar="OLD", help="an earlier run's records")
    parser.add_argument("--matrices", metavar="DIR", help="folder with files of matrices")
    parser.add_argument("--program", help="path of spry, which draws pictures of matrices")
    parser.add_argument("--here", action="store_true", help="the records are of this machine, today")
    parser.add_argument("--result", type=int, metavar="FD", help="file descriptor for the result's line")
    return parser.parse_args(argv)


def _source_names(paths):
    """Returns the names of files without folder and ending. Equal names get a number."""
    names = []
    for path in paths:
        name = "standard input" if path == "-" else os.path.splitext(os.path.basename(path))[0]
        names.append(name if name not in names else f"{name} {len(names) + 1}")
    return names


def _result(arguments):
    """Writes the page to standard output. Returns the result as a dictionary."""
    cases = records.read_files(arguments.records)
    comparison = None
    if arguments.compare is not None:
        old = records.read_file(arguments.compare)
        comparison = compare.compare(old, cases)
    if not arguments.no_page:
        from . import page  # needs Matplotlib; a verdict does not
        names = arguments.name or _source_names(arguments.records)
        text = page.make(cases, names, comparison, arguments)
        sys.stdout.buffer.write(text.encode("utf-8"))
        sys.stdout.buffer.flush()
    bad = sum(case.status in ("wrong", "failed") for case in cases)
    result = {"exit": 0, "message": None, "text": None, "cases": len(cases),
              "matrices": len({case.matrix for case in cases if case.matrix}),
              "ok": sum(case.status == "ok" for case in cases), "skipped": sum(c.status == "skipped" for c in cases),
              "bad": bad, "disturbed": sum(bool(case.disturbed) for case in cases), "verdict": None, "reason": None,
              "slower": None, "faster": None, "same": None, "not_judged": None, "new": None, "vanished": None}
    if comparison:
        result.update(verdict=comparison.status, reason=comparison.reason, text=compare.text(comparison),
                      exit=1 if comparison.status == "regression" else 0, slower=len(comparison.of("slower")),
                      faster=len(comparison.of("faster")), same=len(comparison.of("same", "mended")),
                      not_judged=len(comparison.of("not judged")), new=len(comparison.new),
                      vanished=len(comparison.vanished))
    return result


def main(argv=None):
    arguments = _arguments(argv)
    try:
        result = _result(arguments)
    except records.Refused as refused:
        result = {"exit": 2, "message": str(refused)}
    except BrokenPipeError:
        return 2
    except OSError as error:
        result = {"exit": 2, "message": f"the report cannot be written: {error.strerror}"}
    line = json.dumps(result) + "\n"
    if arguments.result is not None:
        with os.fdopen(arguments.result, "w", encoding="utf-8") as out:
            out.write(line)
    else:
        sys.stderr.write(result["message"] + "\n" if result.get("message") else result.get("text") or "")
    return result["exit"]
