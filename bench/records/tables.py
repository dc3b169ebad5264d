#!/usr/bin/env python3
"""Writes the tables of docs/performance.md from the records in this folder: tables.py [--check]

A record is bench/records/MACHINE-DATE/QUESTION.tsv. Lines that begin with # describe the measurement and its table:

    question, title, machine, details, date, command, unit, spread
    rows, columns   fields whose values label the rows and columns of the table
    label           title of the column with the row labels
    where           FIELD=VALUE, FIELD!=VALUE or FIELD>=NUMBER: the lines that the table shows
    mean            label of a last row with the means of all lines
    show            range: a cell also has the least and the largest ratio; loss: a cell has the mean, the 95th
                    percentile and the worst loss; count: a column has the number of cases; all, least: a column has the
                    mean or the least ratio of a row
    goal            ROW: NUMBER, QUANTITY NUMBER, ...: the least value that the row's means, or another quantity, should
                    have. If show is loss, it is the largest value that they should have. ROW is the beginning of a
                    row's label, and * stands for all other rows. NUMBER COLUMN NUMBER COLUMN gives one number for each
                    column. A value that misses its goal is bold
    missed          QUANTITY: VALUE (goal NUMBER), a missed goal whose value is not in the record
    missed_on       date of these values if it is not the date of the record

A cell is the geometric mean of peer_time / time, or of the field ratio if it has a value. --check compares the page
with the records and writes nothing.
"""
import csv
import math
import re
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/performance.md"
MARK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->\n)", re.S)


class Record:
    def __init__(self, path):
        self.path, self.head, lines = path, {"goal": [], "missed": []}, []
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("# "):
                name, _, value = line[2:].partition(": ")
                self.head[name] = self.head[name] + [value] if name in ("goal", "missed") else value
            else:
                lines.append(line)
        self.shows = self.words("show")
        self.lines = [line for line in csv.DictReader(lines, delimiter="\t") if self.shown(line)]

    def words(self, name):
        return [word for word in self.head.get(name, "").split(", ") if word]

    def shown(self, line):
        field, how, value = re.fullmatch(r"(\w*)(!=|>=|=)(.*)", self.head.get("where", "=")).groups()
        if how == ">=":
            return float(line[field]) >= float(value)
        return not field or (line[field] == value) == (how == "=")

    def goals(self, label):
        """Returns the goals {quantity: {column: number}} of the row with this label. Column "" stands for any
        column."""
        texts = [text.rpartition(": ") for text in self.head["goal"]]
        found = [goal for name, _, goal in texts if label.startswith(name)] or [g for n, _, g in texts if n == "*"]
        goals = {}
        for words in (part.split() for goal in found for part in goal.split(", ")):
            quantity = "mean" if words[0][0].isdigit() else words.pop(0)
            goals[quantity] = dict(zip(words[1::2] or [""], map(float, words[::2])))
        return goals

    def text(self, value, label, quantity, column="", digits=2):
        """Returns the value as text, in bold if it misses the row's goal."""
        goals = self.goals(label).get(quantity, {})
        goal, value = goals.get(column, goals.get("")), round(value, digits)
        missed = goal is not None and (value > goal if "loss" in self.shows else value < goal)
        return f"**{value:.{digits}f}**" if missed else f"{value:.{digits}f}"


def ratio(line):
    return float(line["ratio"]) if line.get("ratio") else float(line["peer_time"]) / float(line["time"])


def mean(lines):
    return math.exp(sum(math.log(ratio(line)) for line in lines) / len(lines))


def unique(values):
    return list(dict.fromkeys(values))


def cell(record, lines, label, column):
    if not lines:
        return ""
    line = lines[0]
    if "loss" in record.shows:
        values = [(name, line[name]) for name in ("mean", "p95", "worst") if line[name]]
        return ", ".join(record.text(float(value), label, name, digits=len(value.partition(".")[2]))
                         for name, value in values)
    text = record.text(mean(lines), label, "" if "all" in record.shows else "mean", column)
    if any(line.get("missed") == "yes" for line in lines) and not text.startswith("**"):
        text = f"**{text}**"
    if "range" in record.shows:
        return f"{text} ({line['least']} to {line['most']})"
    return text


def table(record):
    rows, columns = record.words("rows"), record.words("columns")
    row_of = {id(line): ", ".join(line[name] for name in rows) for line in record.lines}
    column_of = {id(line): " ".join(line[name] for name in columns) or "mean" for line in record.lines}
    names, heads = unique(row_of.values()), unique(column_of.values())
    extra = [name for name in ("count", "all", "least") if name in record.shows]
    titles = [{"all": "mean"}.get(name, name) for name in extra if name != "count"]
    out = [[record.head.get("label", "")] + ["cases"] * ("count" in extra) + heads + titles]
    for name in names + record.words("mean"):
        lines = [line for line in record.lines if name not in names or row_of[id(line)] == name]
        cells = [str(len(unique(line["case"] for line in lines)))] if "count" in extra else []
        cells += [cell(record, [line for line in lines if column_of[id(line)] == head], name, head) for head in heads]
        if "all" in extra:
            cells.append(record.text(mean(lines), name, "mean"))
        if "least" in extra:
            least = min(lines, key=ratio)
            cells.append(f"{record.text(ratio(least), name, 'least')} ({least['case']})")
        out.append([name] + cells)
    return "".join("| " + " | ".join(row) + " |\n" + ("|" + "---|" * len(row) + "\n" if row is out[0] else "")
                   for row in out)


def fill(text, **indents):
    """Breaks the text into lines of 120 columns. A number and its per cent sign stay together."""
    return textwrap.fill(text.replace(" %", "\0%"), 120, **indents).replace("\0", " ")


def goal_text(goal):
    """Returns a goal of a record as the page states it: "block: 1.55 (f64), 1.75 (f32)"."""
    row, _, parts = goal.rpartition(": ")
    texts = []
    for words in (part.split() for part in parts.split(", ")):
        quantity = "" if words[0][0].isdigit() else {"p95": "95th percentile"}.get(words[0], words[0]) + " "
        numbers = words[1:] if quantity else words
        columns = [f"{number} ({column})" for number, column in zip(numbers[::2], numbers[1::2])]
        if not quantity and ", " in parts:
            quantity = "mean "
        texts.append(quantity + (", ".join(columns) or numbers[0]))
    name = {"*": "other rows"}.get(row, row)
    return f"{name}: {', '.join(texts)}"


def section(question):
    paths = sorted(HERE.glob("*/*.tsv"), key=lambda path: (not path.parent.name.startswith("h"), path.parent.name))
    parts = []
    for record in (record for record in map(Record, paths) if record.head["question"] == question):
        head = record.head
        about = f"**{head['title']}.** {head['machine']}, {head['date']}. Spread: {head['spread']}."
        text = f"{fill(about)}\n\n    {head['command']}\n\n{table(record)}"
        if head["goal"]:
            bound = "at most" if "loss" in record.shows else "at least"
            goals = "; ".join(map(goal_text, head["goal"]))
            if len(head["goal"]) == 1:
                goals = goals.removeprefix("other rows: ")
            text += "\n" + fill(f"Goals, {bound}: {goals}.") + "\n"
        if head["missed"]:
            on = f" on {head['missed_on']}" if "missed_on" in head else ""
            text += f"\nAlso missed{on}:\n\n" + "".join(
                fill(item, initial_indent="- ", subsequent_indent="  ") + "\n" for item in head["missed"])
        parts.append(text)
    if not parts:
        sys.exit(f"{PAGE}: no record answers the question {question}")
    return "\n" + "\n".join(parts) + "\n"


def main():
    page = PAGE.read_text(encoding="utf-8")
    made = MARK.sub(lambda mark: mark[1] + section(mark[2]) + mark[3], page)
    if sys.argv[1:] == ["--check"]:
        if made != page:
            sys.exit(f"{PAGE.name} and the records differ: bench/records/tables.py writes the tables")
        return
    PAGE.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
