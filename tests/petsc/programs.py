#!/usr/bin/env python3
"""programs.py PLUGIN EXAMPLES WORK [FILE.c...]: runs PETSc's own programs with aij and with the plug-in, and compares.

PLUGIN    libspry-petsc.so of the PETSc that pkg-config calls PETSc (--module NAME: another one)
EXAMPLES  the folder src of PETSc's examples (Debian: libpetsc3.18-dev-examples)
WORK      a folder for compiled programs
FILE.c    below EXAMPLES; none: all of mat/tests, ksp/ksp/tests and ksp/ksp/tutorials

A program describes its runs in a comment TEST at its end. Each run that passes with aij is repeated. Every sequential
aij matrix is then a seqaijspry, in csr from the first product on. The run has to end and to print the same lines.
Numbers may differ by 1e-5 of their size and by 1e-9 of the largest number in their line. If the run fails, runs with
PETSc's type seqaijperm and with aij show whether PETSc is the cause. Runs that agreed are compared with programs.txt,
which lists the runs that must agree. --write updates the list. The status is 1 if a run differs that seqaijperm and aij
pass, or if a listed run is missing.
"""
import argparse
import concurrent.futures
import itertools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

FOLDERS = ("mat/tests", "ksp/ksp/tests", "ksp/ksp/tutorials")
LIST = Path(__file__).with_name("programs.txt")
OURS = "-mat_seqaij_type seqaijspry -mat_spry_format csr -mat_spry_calls 100"
CONTROL = "-mat_seqaij_type seqaijperm"
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")
# Requirements that exclude a run: data files and packages that a PETSc build may lack.
NEEDS = re.compile(r"datafilespath|cuda|kokkos|mkl|hypre|superlu|mumps|metis|complex|viennacl|hip|elemental|strumpack|"
                   r"single|quad|__float128|matlab|umfpack|suitesparse|zoltan|scalapack|pastix|hdf5|\bml\b|ptscotch|"
                   r"chaco|triangle|ctetgen|exodus|p4est|moab|raja|cholmod|klu|lusol|htool|h2opus|openmp|spai|64bit|"
                   r"fortran|f90|define|\bx\b", re.I)
NOT_COMPARED = re.compile(r"-dll_prepend|type: (seq|mpi)?aij|WARNING! There are options|[Oo]ption left|unused database|"
                          r"Spry: ")
MOST_RANKS, MOST_COMBINATIONS, SECONDS = 4, 6, 60


def entries(text):
    """Returns the tests of a comment TEST, each a dictionary of its lines. The lines of the build come first."""
    body = re.search(r"/\*TEST(.*?)TEST\*/", text, re.S)
    if not body:
        return None, []
    build = re.search(r"^ *build:\n((?: {5,}.*\n|\n)*)", body.group(1), re.M)
    found = []
    for part in re.split(r"^ *(?:test|testset):\s*$", body.group(1), flags=re.M)[1:]:
        entry = {}
        for key, value in re.findall(r"^ *(suffix|nsize|args|requires|TODO): *(.*)$", part, re.M):
            entry[key] = f"{entry.get(key, '')} {value}".strip()
        found.append(entry)
    return (build.group(1) if build else ""), found


def argument_lists(text):
    """Expands `-a {{1 2}} -b {{3 4}}` to four lists of arguments."""
    loop = re.compile(r"\{\{(.*?)\}\}(?:separate output|shared output)?")
    choices = [shlex.split(words) or [""] for words in loop.findall(text)]
    for combination in itertools.islice(itertools.product(*choices), MOST_COMBINATIONS):
        arguments = text
        for choice in combination:
            arguments = loop.sub(lambda _, choice=choice: choice, arguments, count=1)
        yield arguments


def lines(output):
    output = re.sub(r"0x[0-9a-f]+", "ADDRESS", output.replace("aijspry", "aij"))
    return [line for line in output.split("\n") if not NOT_COMPARED.search(line)]


def same(expected, found):
    if len(expected) != len(found):
        return False
    for a, b in zip(expected, found):
        if a != b and NUMBER.sub("#", a) != NUMBER.sub("#", b):
            return False
        pairs = list(zip(map(float, NUMBER.findall(a)), map(float, NUMBER.findall(b))))
        small = 1e-9 * max([1.0, *(abs(p) for p, _ in pairs)])  # rounding errors after cancellation of larger numbers
        if any(abs(p - q) > 1e-5 * max(abs(p), abs(q)) + small for p, q in pairs):
            return False
    return True


class Runner:
    def __init__(self, options):
        self.options = options
        self.environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                OMPI_MCA_mpi_yield_when_idle="1")
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", options.module], check=True, text=True,
                               capture_output=True).stdout
        self.flags = [*flags.split(), "-lm"]

    def compile(self, source, program):
        done = subprocess.run(["mpicc", "-O1", "-w", "-o", program, source, *self.flags], capture_output=True)
        return done.returncode == 0

    def run(self, program, ranks, arguments, more):
        launch = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)] if ranks > 1 else []
        environment = dict(self.environment, PETSC_OPTIONS=f"-dll_prepend {self.options.plugin} {more}")
        try:
            done = subprocess.run([*launch, program, *shlex.split(arguments)], env=environment, text=True,
                                  errors="replace", capture_output=True, timeout=SECONDS, cwd=self.options.work,
                                  stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return None
        return lines(done.stdout) if done.returncode == 0 else None

    def judge(self, program, ranks, arguments):
        """Returns 'same', 'differs', 'petsc too', or 'no' if the program does not run with aij."""
        expected = self.run(program, ranks, arguments, "")
        if expected is None:
            return "no"
        found = self.run(program, ranks, arguments, OURS)
        if found is not None and same(expected, found):
            return "same"
        for control in (CONTROL, "", "", ""):
            found = self.run(program, ranks, arguments, control)
            if found is None or not same(expected, found):
                return "petsc too"
        return "differs"

    def file(self, name):
        """Returns the verdict of each run of a file, by the run's name."""
        verdicts = {}
        build, tests = entries((self.options.examples / name).read_text(errors="replace"))
        program = self.options.work / name.replace("/", "_")[:-2]
        if build is None or NEEDS.search(build):
            return verdicts
        if not program.exists() and not self.compile(self.options.examples / name, program):
            return verdicts
        for test in tests:
            needs = re.sub(r"!\w+|\bdouble\b", "", test.get("requires", ""))
            arguments = test.get("args", "")
            ranks = test.get("nsize", "1").split()[0]
            if "TODO" in test or NEEDS.search(needs) or NEEDS.search(re.sub(r"-\w+", "", arguments)):
                continue
            ranks = int(ranks) if ranks.isdigit() else 2
            if ranks > MOST_RANKS or "${" in arguments:
                continue
            for words in argument_lists(arguments):
                verdicts.setdefault(" ".join(f"{name} {ranks} {words}".split()), self.judge(program, ranks, words))
        return verdicts


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("plugin", type=Path)
    parser.add_argument("examples", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--module", default="PETSc")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    for name in ("plugin", "examples", "work"):
        setattr(options, name, getattr(options, name).resolve())
    options.work.mkdir(parents=True, exist_ok=True)
    files = options.files or sorted(str(path.relative_to(options.examples)) for folder in FOLDERS
                                    for path in (options.examples / folder).glob("*.c"))
    runner, verdicts = Runner(options), {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(runner.file, files):
            verdicts.update(found)
            for run, verdict in found.items():
                if verdict in ("differs", "petsc too"):
                    print(f"{verdict}: {run}", flush=True)
    agreed = sorted(run for run, verdict in verdicts.items() if verdict == "same")
    if options.write:
        LIST.write_text("".join(f"{run}\n" for run in agreed))
    listed = LIST.read_text().splitlines() if LIST.exists() else []
    missing = [run for run in listed if run.split()[0] in files and run not in agreed]
    for run in missing:
        print(f"listed, but not the same: {run}")
    counts = {verdict: list(verdicts.values()).count(verdict) for verdict in ("same", "differs", "petsc too", "no")}
    print(f"{counts['same']} runs print the same, {counts['differs']} differ, {counts['petsc too']} fail with PETSc's "
          f"seqaijperm, or aij again, as well, {counts['no']} do not run with aij")
    return 1 if counts["differs"] or missing else 0


sys.exit(main())
