"""Reports: report.md with definitions, tables, verdicts and figures, and each table as Markdown and CSV."""
import csv
import math
import os
import re
import statistics
from collections import namedtuple

from common import figures, machine, words
from common.figures import can_draw
from common.records import Results

__all__ = ["can_draw", "write", "Report", "runs_of", "verdict", "by_margin", "both", "beside",
           "CONFIRMED", "REFUTED", "NOT_COMPARABLE", "VARIANT"]

CONFIRMED, REFUTED, NOT_COMPARABLE, VARIANT = "confirmed", "refuted", "not comparable", "judged by a variant"


def verdict(holds):
    """Returns the verdict for a rule that holds or not."""
    return CONFIRMED if holds else REFUTED


def by_margin(ratios, margin):
    """Returns the verdict for ratios that should exceed 1: confirmed or refuted if all are beyond the margin on the
    same side, else not comparable."""
    if all(q > margin for q in ratios):
        return CONFIRMED
    return REFUTED if all(q < 1 / margin for q in ratios) else NOT_COMPARABLE


def both(*verdicts):
    """Returns the verdict of a claim with two or more parts."""
    return next((v for v in (REFUTED, NOT_COMPARABLE) if v in verdicts), CONFIRMED)


def beside(finding):
    """Returns the text of the column "ours" for a finding and its verdict; "-" for None."""
    return "{1}: {0}".format(*finding) if finding else "-"


# found: the finding with the document's kernels; ours: the finding with this library's kernels.
Claim = namedtuple("Claim", "item text found ours verdict why")


def cell(value):
    """Formats a value for a table cell: numbers with at least four digits, None and NaN as a dash."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return str(value).replace("|", "\\|")


def markdown(columns, rows):
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(cell(value) for value in row) + " |" for row in rows])


class Report:
    """Collects a study's tables, figures and verdicts."""

    def __init__(self, options, results, out):
        self.options, self.results, self.out = options, results, out
        self.parts, self.problems, self.claims = [], [], []
        self.names, self.files = [], []  # all tables and figures; paths of those written
        self.draws = not options.no_figures and can_draw()

    def measured_on(self, on="all", jobs=""):
        """Returns the machines and dates of the jobs whose names begin with `jobs`, as text."""
        def told_of(about):
            processor = f"{about['processor']}, {about['cores']} cores"
            return processor if on == "cpu" or not about["gpu"] else f"{about['gpu']}, host: {processor}"
        return "; ".join(dict.fromkeys(f"{told_of(about)} ({', '.join(sorted(dates))})"
                                       for about, dates, _ in self.results.machines(jobs).values()))

    def note(self, on="all", jobs=""):
        """Returns the line below every figure and table: machines, dates, and a warning for quick runs."""
        quick = "QUICK RUN, NO RESULT. " if self.results.quick else ""
        return quick + ("A MOCK REPLACES THE GPU. " if self.results.mock else "") + \
            f"study/run {self.options.seed}; {self.measured_on(on, jobs)}"

    def text(self, text):
        self.parts.append(text)

    def heading(self, text):
        self.parts.append("## " + text)

    def wants(self, name):
        """Returns whether this table or figure is written. Records its name for the message about unknown names."""
        self.names.append(name)
        return self.options.only in (None, name)

    def table(self, name, title, columns, rows, about="", on="all", jobs=""):
        """Adds a table and writes tables/NAME.md and .csv.

        Reports a problem for rows of wrong length, NaN, infinity and empty tables. jobs: prefix of the names of jobs
        that measured the table; their machines are listed above it.
        """
        rows = [list(row) for row in rows]
        for row in rows:
            if len(row) != len(columns):
                self.problem(f"table {name}: a row of {len(row)} cells under {len(columns)} columns")
            if any(isinstance(value, float) and (math.isnan(value) or math.isinf(value)) for value in row):
                self.problem(f"table {name}: {row[0]} has NaN or infinity")
        if not rows:
            self.problem(f"table {name} is empty")
        if not self.wants(name):
            return
        folder = os.path.join(self.out, "tables")
        os.makedirs(folder, exist_ok=True)
        about = " ".join(filter(None, (about, f"Measured on: {self.measured_on(on, jobs)}." if jobs else "")))
        text = f"### {title}\n\n" + (about + "\n\n" if about else "") + markdown(columns, rows)
        with open(os.path.join(folder, name + ".md"), "w", encoding="utf-8") as file:
            file.write(text + f"\n\n{self.note(on, jobs)}\n")
        with open(os.path.join(folder, name + ".csv"), "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(rows)
        self.files.append(os.path.join(folder, name + ".md"))
        self.parts.append(text)

    def figure(self, name, title, draw, rows=1, columns=1, size=(6, 3.6), on="all", jobs=""):
        """Adds a figure and writes figures/NAME.svg and .png.

        draw(axes, ...) draws into rows * columns axes. on: "cpu" omits the GPU from the note. jobs: prefix of the names
        of jobs that measured the figure. Their machines are listed below it.
        """
        if not self.wants(name):
            return
        self.parts.append(f"### {title}\n\n" + (f"![{title}](figures/{name}.png)" if self.draws else
                                               "(not drawn: Matplotlib is missing, or --no-figures was given)"))
        if not self.draws:
            return
        picture, axes = figures.pyplot().subplots(rows, columns, figsize=size, squeeze=False)
        draw(*axes.flat)
        figures.save(picture, os.path.join(self.out, "figures"), name, self.note(on, jobs))
        self.files.append(os.path.join(self.out, "figures", name + ".png"))

    def claim(self, item, text, found, verdict, why="", ours="-"):
        """Adds a claim of the document.

        found: the finding with the document's kernels, which gives the verdict; ours: the finding with this library's
        kernels. VARIANT: the document's kernel cannot run, `why` says why, and `ours` has the finding and its verdict.
        """
        if verdict not in (CONFIRMED, REFUTED, NOT_COMPARABLE, VARIANT):
            self.problem(f"claim {item}: verdict '{verdict}'")
        if verdict == VARIANT and not (why and ours.startswith((CONFIRMED, REFUTED, NOT_COMPARABLE))):
            self.problem(f"claim {item}: no reason, or no verdict of the variant")
        if self.results.quick:
            verdict, why = NOT_COMPARABLE, "a quick run measures nothing"
        self.claims.append(Claim(item, text, found, ours, verdict, why))

    def problem(self, text):
        """Adds a failed check. The run then ends with status 1."""
        self.problems.append(text)

    def check(self, holds, text):
        if not holds:
            self.problem(text)


def runs_of(results, cases):
    """Returns a sentence with the number of runs per case, from the commands, and the slow cases with fewer runs."""
    commands = {line["command"] for line in results.envelopes}
    asked = max((int(number) for text in commands for number in re.findall(r"--runs (\d+)", text)), default=0)
    fewer = [r for r in cases if 0 < (r.get("runs") or 0) < asked]
    told = ", ".join(f"{r['kernel']} on {r['matrix']} ({r['runs']})" for r in sorted(fewer, key=lambda r: r["runs"]))
    text = f"Median of {asked} runs; on a GPU a run is a batch of short products." if asked else "Median of the runs."
    return text + (f" Slow cases have fewer runs: {told}." if told else "")


def _machines(results):
    rows = []
    for key, (about, dates, clocks) in results.machines().items():
        rows.append([key, about["processor"], about["cores"], about["gpu"] or "-", about["library"],
                     ", ".join(sorted(dates)), "; ".join(sorted(clocks)[:2]) or "-"])
    return markdown(["machine", "processor", "cores", "GPU, driver", "library", "dates",
                     "clocks of the GPU after jobs that used it, MHz (multiprocessors, memory, maximum of each)"], rows)


def _spread(results):
    """Returns a sentence with the spread of all timed cases, and one command as an example."""
    shares = sorted(100 * r["spread_us"] / r["time_us"] for r in results.records
                    if r.get("status") == "ok" and (r.get("time_us") or 0) > 0 and r.get("spread_us") is not None)
    text = f"{len(results.records)} records."
    if shares:
        text += (f" The spread of a case is {statistics.median(shares):.1f} % of its time in the median, "
                 f"{shares[len(shares) * 95 // 100]:.1f} % at the 95th percentile.")
    commands = [line["command"] for line in results.envelopes if line["command"]]
    return text + (f" Each record has its command; the first is `{commands[0]}`." if commands else "")


def _claims(report):
    return "## Claims of the document\n\n" + markdown(
        ["item", "claim of the document", "as printed", "ours", "verdict", "rule and remarks"], report.claims)


def write(options, study, envelopes, out):
    """Writes OUT/report.md for these records; with --only, one table or figure. Returns the paths of the files and the
    failed checks."""
    results = Results(envelopes)
    report = Report(options, results, out)
    if not envelopes:
        return [], ["nothing was measured" + ("" if machine.describe()["gpu"] else ": this machine has no GPU")]
    study.report(results, report)
    text = [f"# {study.TITLE}"]
    if results.quick:
        text.append("**A quick run: it tests the study. Its times are no results.**")
    if results.mock:
        text.append("**A mock in host memory replaced the GPU.**")
    body = []
    if report.claims and report.wants("claims"):
        body.append(_claims(report))
    if options.only not in (None, *report.names):
        names = ", ".join(dict.fromkeys(report.names))
        return [], [f"no table or figure is named '{options.only}', expected one of {names}"]
    if options.only not in (None, "claims"):
        return report.files, report.problems if report.files else [f"{options.only} was not drawn"]
    head = [study.ABOUT]
    if options.only is None:
        body = [_machines(results), _spread(results), *body, *report.parts]
    told = words.section(study.WORDS, "\n".join(head + body))
    name = "report.md" if options.only is None else "claims.md"
    with open(os.path.join(out, name), "w", encoding="utf-8") as file:
        file.write("\n\n".join(text + head + [told] * bool(told) + body) + "\n")
    return [os.path.join(out, name)], report.problems
