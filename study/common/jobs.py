"""Jobs: short, independent parts of a study's measurements, which may run on different machines."""
import fcntl
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections import namedtuple

from common import machine, records

# name: unique and constant over runs; measure(run): yields the job's records.
Job = namedtuple("Job", "name measure")


class Run:
    """Runs the program for a job."""

    def __init__(self, options):
        self.options = options
        self.command = ""
        self.environment = dict(os.environ)
        if options.quick:
            self.environment["SPRY_BENCH_COPY_BYTES"] = str(1 << 20)
        self.mock = options.quick and options.device != "cpu" and not machine.describe()["gpu"]
        if self.mock:
            self.environment["SPRY_CUDA_PLUGIN"] = machine.mock_plugin()
            self.environment["SPRY_CUDA_POOL"] = "off"

    def call(self, *arguments):
        """Runs `spry ARGUMENTS`. Returns its output and exit status. Sets self.command to the command line, with names
        of files without their folders."""
        self.command = shlex.join(["spry", *(os.path.basename(a) if os.path.isfile(a) else a for a in arguments)])
        try:
            process = subprocess.run([machine.program(), *arguments], stdout=subprocess.PIPE, encoding="utf-8",
                                     stderr=subprocess.PIPE if self.options.quick else None, env=self.environment,
                                     check=False)
        except OSError as error:
            sys.exit(f"{machine.program()}: cannot be run: {error.strerror}; set SPRY to the program's path")
        for line in (process.stderr or "").splitlines():
            if ": note: " not in line:  # a quick run omits notes, such as on other running programs
                print(line, file=sys.stderr)
        return process.stdout, process.returncode

    def lines(self, *arguments):
        """Returns the JSON lines of `spry ARGUMENTS --json`. Exits if its status is neither 0 nor 1, or if it
        prints no line."""
        text, status = self.call(*arguments, "--json")
        if status not in (0, 1) or not text.strip():
            sys.exit(f"study/run: {machine.program()}: {self.command} ended with status {status}" +
                     ("" if text.strip() else " and printed no JSON; set SPRY to the program's path"))
        return [json.loads(line) for line in text.splitlines()]


def bench(name, matrix, *arguments, label=None):
    """Creates a job that runs `spry bench` once for a matrix. label: the matrix's name in the records."""
    def measure(run):
        for record in run.lines("bench", matrix, *arguments):
            if label:
                record["matrix"] = label
            yield record
    return Job(name, measure)


def repeat(job):
    """Creates a job that measures the job's cases again, for the margin of verdicts (records.Results.margin)."""
    return Job(records.REPEAT + job.name, job.measure)


def output_folder(options):
    """Returns the folder of the results and creates it if it is missing."""
    out = options.out
    if not out and options.quick:
        out = tempfile.mkdtemp(prefix=f"study-{options.seed}-")
    out = out or f"study-{options.seed}"
    try:
        os.makedirs(out, exist_ok=True)
    except OSError as error:
        sys.exit(f"study/run: {out}: {error.strerror}")
    return out


def _envelope(options, run, job):
    return {"seed": options.seed, "job": job.name, "quick": bool(options.quick), "mock": run.mock,
            "device": options.device, "real": bool(options.matrices), "date": machine.today(),
            "machine": machine.describe(), "clocks": machine.clocks()}


def _measure(options, run, job, file):
    """Measures a job and writes its records, each with the command that printed it. A job without records remains to
    be done."""
    found = [(run.command, record) for record in job.measure(run)]
    if not found:
        print(f"study/run: note: {job.name}: no records with --device {options.device} on this machine",
              file=sys.stderr)
        return
    envelope = _envelope(options, run, job)
    lines = [{**envelope, "command": command, "record": record} for command, record in found]
    lines.append({**envelope, "command": found[-1][0], "done": True})
    file.write("".join(json.dumps(line) + "\n" for line in lines))
    file.flush()


def _finished(options, path):
    """Returns the names of the complete jobs of an interrupted run, and removes the lines of incomplete jobs."""
    lines = records.read_lines(path)
    wanted = {"seed": options.seed, "quick": bool(options.quick), "device": options.device,
              "real": bool(options.matrices)}
    for line in lines:
        other = [name for name, value in wanted.items() if line.get(name, value) != value]
        if other:
            sys.exit(f"study/run: {path} has results of another run: its {other[0]} is {line[other[0]]}, now it is "
                     f"{wanted[other[0]]}: use another folder")
    done = records.finished(lines)
    kept = [line for line in lines if (line["job"], line["machine"]["id"]) in done]
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write("".join(json.dumps(line) + "\n" for line in kept))
    os.replace(path + ".part", path)
    return {job for job, _ in done}


def _lock(out):
    """Opens a file of the folder that one process at a time may hold, until it is closed. Exits if another holds it."""
    lock = open(os.path.join(out, ".lock"), "w", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"study/run: another run writes to {out}: wait for its end, or use another folder")
    return lock


def _run_missing(options, all_jobs, path):
    done = _finished(options, path) if os.path.exists(path) else set()
    first, parts = options.part
    began = time.monotonic()
    wanted = [job for job in all_jobs[first - 1::parts] if job.name not in done]
    with open(path, "a", encoding="utf-8") as file:
        for number, job in enumerate(wanted):
            if options.time_limit is not None and time.monotonic() - began > options.time_limit:
                return len(wanted) - number
            print(f"[{number + 1}/{len(wanted)}] {job.name}", file=sys.stderr)
            _measure(options, Run(options), job, file)
    return 0


def run(options, all_jobs, out):
    """Runs the part's jobs that are missing in OUT/records.jsonl. Returns the number of jobs that the time limit
    prevented."""
    names = [job.name for job in all_jobs]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        sys.exit(f"study/run: more than one job has the name {', '.join(sorted(twice))}")
    with _lock(out):
        return _run_missing(options, all_jobs, os.path.join(out, "records.jsonl"))
