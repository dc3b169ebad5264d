"""Jobs: short, independent parts of a study's measurements, which may run on different machines."""
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
        """Returns the JSON lines of `spry ARGUMENTS --json`. Exits if its status is neither 0 nor 1."""
        text, status = self.call(*arguments, "--json")
        if status not in (0, 1):
            sys.exit(f"study/run: {self.command} ended with status {status}")
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
            "date": machine.today(), "machine": machine.describe(), "clocks": machine.clocks(),
            "command": run.command}


def _measure(options, run, job, file):
    found = list(job.measure(run))
    envelope = _envelope(options, run, job)
    lines = [{**envelope, "record": record} for record in found] + [{**envelope, "done": True}]
    file.write("".join(json.dumps(line) + "\n" for line in lines))
    file.flush()


def _cut_last_line(path):
    """Removes an incomplete last line, which an interrupted run leaves."""
    if not os.path.exists(path):
        return
    with open(path, "rb+") as file:
        text = file.read()
        file.truncate(text.rfind(b"\n") + 1)


def run(options, all_jobs, out):
    """Runs the part's jobs that are missing in OUT/records.jsonl. Returns the number of jobs that the time limit
    prevented."""
    names = [job.name for job in all_jobs]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        sys.exit(f"study/run: more than one job has the name {', '.join(sorted(twice))}")
    path = os.path.join(out, "records.jsonl")
    lines = records.read_lines(path) if os.path.exists(path) else []
    if any(line["quick"] != bool(options.quick) or line["seed"] != options.seed for line in lines):
        sys.exit(f"study/run: {path} has results of another study, or of another kind (quick or not): use another "
                 "folder")
    _cut_last_line(path)
    done = {job for job, _ in records.finished(lines)}
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
