"""Pictures and row lengths of matrices, from `spry info`."""
import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

PICTURE = 64  # parts per side of a picture
SECONDS = 60  # time limit per matrix
ENDINGS = ("", *(ending + packed for packed in ("", ".gz") for ending in
                 (".mtx", ".npz", ".spry", ".csv", ".tsv", ".txt", ".edges", ".el")))


def _run(program, *arguments):
    """Returns the JSON objects that the program prints. Raises LookupError with the reason if the program fails."""
    try:
        done = subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise LookupError(f"spry {arguments[0]} took longer than {SECONDS} seconds") from error
    except (OSError, UnicodeDecodeError) as error:
        raise LookupError(f"spry {arguments[0]} could not be run: {error}") from error
    try:
        return [json.loads(line) for line in done.stdout.splitlines() if line.strip()]
    except ValueError as error:
        raise LookupError(f"spry {arguments[0]} did not print JSON") from error


def generators(program):
    """Returns the names of the generators; an empty set if the program fails."""
    try:
        return {line.get("name") for line in _run(program, "gen", "--list", "--json")}
    except LookupError:
        return set()


def devices(program):
    """Returns the machine's devices from `spry devices`; an empty list if it fails."""
    try:
        return [line for line in _run(program, "devices", "--json") if line.get("name")]
    except LookupError:
        return []


def find(subject, folder, generated):
    """Returns the source of a matrix: that of the benchmark, else a file of its name in the folder, else None."""
    name, path = subject.matrix, subject.path
    if path and (path.startswith("gen:") or os.path.isfile(path)):
        return path
    if name.split(",")[0] in generated:
        return "gen:" + name
    if not folder:
        return None
    groups = [""] + sorted(entry.name for entry in os.scandir(folder) if entry.is_dir()) if os.path.isdir(folder) else []
    for group in groups:  # spry fetch stores GROUP/NAME.mtx.gz
        for ending in ENDINGS:
            place = os.path.join(folder, group, name + ending)
            if os.path.isfile(place):
                return place
    return None


def describe(program, subject, folder, generated):
    """Returns (information from spry info, None), or (None, reason why there is none)."""
    place = find(subject, folder, generated)
    if place is None:
        if folder:
            folder = os.path.basename(os.path.abspath(folder))
            return None, f"There is no picture: no file of that name is in the folder {folder}."
        return None, "There is no picture: its file is missing; use --matrices with the folder that has it."
    try:
        lines = _run(program, "info", place, "--json", "--picture", str(PICTURE))
    except LookupError as error:
        return None, f"There is no picture: {error}."
    if not lines or not isinstance(lines[0].get("picture"), list):
        reason = lines[0].get("reason") if lines else None
        return None, f"There is no picture: {reason or 'spry info gave no reason'}."
    about = lines[0]
    for size in ("rows", "columns", "nnz"):
        expected = getattr(subject, size)
        if expected is not None and about.get(size) != expected:
            return None, (f"A different matrix of this name was found: {size} is {about.get(size)}, the record has "
                          f"{expected:g}.")
    return about, None


def start(program, subjects, folder):
    """Starts describing each matrix, two at a time.

    Returns a function that waits for the results: {identity of a subject: result of describe}.
    """
    first = {}
    for subject in subjects:
        first.setdefault(subject.identity, subject)
    if not program:
        none = (None, "There is no picture: the program spry was not given.")
        return lambda: {name: none for name in first}
    generated = generators(program)
    pool = ThreadPoolExecutor(2)
    found = [pool.submit(describe, program, subject, folder, generated) for subject in first.values()]
    pool.shutdown(wait=False)
    return lambda: {name: answer.result() for name, answer in zip(first, found)}
