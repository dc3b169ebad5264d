"""What the studies share: running `spry bench` for its JSON lines, and reading them."""
import argparse
import json
import math
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def geometric_mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else math.nan


def program():
    return os.environ.get("SPRY") or os.path.join(ROOT, "build", "spry")


def read(path, fields=()):
    """Records of a file, each with these fields, but for lines of a regret report; ends the script at other lines."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = list(file)
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"{path}: cannot be read: {error}")
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
        except ValueError as error:
            sys.exit(f"{path}:{number}: no JSON: {error}")
        if isinstance(record, dict) and next(iter(record), "").startswith("regret"):
            continue
        if not isinstance(record, dict) or any(field not in record for field in fields):
            sys.exit(f"{path}:{number}: no record of spry bench, which has {', '.join(fields)}")
        yield record


def run(arguments, path, names=None):
    """Records of `spry bench ARGUMENTS`, written to path as they come, and its exit status; names: for matrices."""
    records = []
    out = open(path, "w", encoding="utf-8") if path else None
    command = [program(), "bench", *arguments, "--json"]
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8")
    except OSError as error:
        sys.exit(f"{command[0]}: cannot be run: {error.strerror}; the variable SPRY names the program")
    for line in process.stdout:
        record = json.loads(line)
        if next(iter(record)).startswith("regret"):
            continue
        record["matrix"] = (names or {}).get(record["matrix"], record["matrix"])
        records.append(record)
        if out:
            print(json.dumps(record), file=out, flush=True)
    if out:
        out.close()
    return records, process.wait()


def find_matrix(folder, name):
    """Where the collections put a matrix: NAME.mtx.gz, or in a folder of its own; None: nowhere."""
    places = [os.path.join(folder, own, name + ending) for own in ("", name) for ending in (".mtx.gz", ".mtx")]
    return next((place for place in places if os.path.isfile(place)), None)


def has_option(arguments, *names):
    return any(a == f"--{n}" or a.startswith(f"--{n}=") for a in arguments for n in names)


def main(study, about, add_options=lambda run, tables: None):
    """Of a study: list its matrices; run it and print its tables; or print those of records that are there."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the matrices")
    run_parser = commands.add_parser("run", help="measure them, and print the tables; other options: spry bench's")
    run_parser.add_argument("--matrices", metavar="DIR", default=os.environ.get("SPRY_MATRIX_DIR"))
    run_parser.add_argument("--json", metavar="FILE", help="write the records there as they come")
    tables_parser = commands.add_parser("tables", help="the tables of records, JSON lines")
    tables_parser.add_argument("files", nargs="*", metavar="FILE.jsonl")
    add_options(run_parser, tables_parser)
    arguments, rest = parser.parse_known_args()
    if rest and arguments.command != "run":
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if arguments.command == "run" and arguments.matrices and not os.path.isdir(arguments.matrices):
        parser.error(f"--matrices is '{arguments.matrices}', expected a folder that exists")
    return study(arguments, rest)
