#!/usr/bin/env python3
"""Checks the sentences of comments and pages against the limits of words.txt, for each folder.

usage: check_words.py ROOT [--list] [PATH...]

Reads comments of C, C++, CUDA and Python files, and the text of pages, of all tracked files or of PATH. A folder with
fewer than 250 sentences counts with the folder above. --list prints every sentence that a limit counts. The status
is 1 if a folder is over a limit or an example of words.txt is not recognised, and 77 outside of a Git checkout.
"""

import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

C_FILES = {".c", ".h", ".cu", ".cuh", ".cpp", ".hpp"}
LEAST_SENTENCES = 250


class Rules:
    """The limits and patterns of words.txt."""

    def __init__(self, path):
        self.limits, self.patterns, self.examples, self.counted, self.longest = {}, {}, [], None, 0
        for line in path.read_text().splitlines():
            key, _, rest = line.partition(":")
            if not line.strip() or line.startswith("#") or not rest:
                continue
            if key == "limit":
                kind, most = rest.split()
                self.limits[kind] = int(most)
            elif key == "example":
                self.examples.append(rest.split(maxsplit=1))
            elif key == "long":
                self.longest = int(rest)
            elif key == "pronoun":
                self.counted = re.compile(rf"\b({'|'.join(rest.split())})\b", re.I)
            else:
                self.patterns.setdefault(key, []).append(rest.split("->")[0].strip())
        self.patterns = {k: re.compile("|".join(v), 0 if k == "fragment" else re.I) for k, v in self.patterns.items()}

    def kinds(self, sentence):
        found = [k for k, p in self.patterns.items()
                 if (p.match(sentence) if k == "fragment" else p.search(sentence))]
        if len(self.counted.findall(sentence)) >= 4:
            found.append("pronouns")
        if len(sentence.split()) > self.longest:
            found.append("long")
        return found


def c_comments(text):
    pattern = r"/\*(.*?)\*/|((?:^|[ \t])//[^\n]*(?:\n[ \t]*//[^\n]*)*)"
    for m in re.finditer(pattern, text, re.S | re.M):
        body = m.group(1) or re.sub(r"^\s*//+", "", m.group(2), flags=re.M)
        yield text.count("\n", 0, m.start()) + 1, re.sub(r"^\s*\*+ ?", "", body, flags=re.M)


def python_comments(text):
    for m in re.finditer(r'"""(.*?)"""|((?:^[ \t]*#[^\n]*\n)+)', text, re.S | re.M):
        body = m.group(1) or re.sub(r"^\s*#+ ?", "", m.group(2) or "", flags=re.M)
        yield text.count("\n", 0, m.start()) + 1, body


def page_text(text):
    text = re.sub(r"```.*?```", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)
    line = 1
    for block in text.split("\n\n"):
        lines = [part for part in block.split("\n") if not re.match(r"\s*(\||#|    |<)", part)]
        yield line, "\n".join(re.sub(r"^\s*[-*] ", "", part) for part in lines)
        line += block.count("\n") + 2


def sentences(body):
    body = re.sub(r"-{4,}|={4,}|`[^`]*`", " X ", body)
    for block in re.split(r"\n\s*\n|\n\s*[-*] ", body):
        for sentence in re.split(r"(?<=[.!?;:])\s+(?=[A-Z0-9(])", " ".join(block.split())):
            if len(sentence.split()) >= 4:
                yield sentence


def read(path):
    """Yields the line and the text of every sentence of a file."""
    text = path.read_text(errors="replace")
    blocks = c_comments if path.suffix in C_FILES else python_comments if path.suffix == ".py" else page_text
    for line, body in blocks(text):
        for sentence in sentences(body):
            yield line, sentence


def merge_small(counts):
    """Adds the counts of each folder with few sentences to the folder above, the deepest folder first."""
    while small := [f for f, c in counts.items() if c["sentences"] < LEAST_SENTENCES and f.parts]:
        folder = max(small, key=lambda f: len(f.parts))
        counts[folder.parent] += counts.pop(folder)


def main():
    root = Path(sys.argv[1])
    arguments = sys.argv[2:]
    listed = "--list" in arguments
    paths = [a for a in arguments if a != "--list"]
    rules = Rules(root / "tests/install/words.txt")
    status = 0
    for kind, sentence in rules.examples:
        if kind not in rules.kinds(sentence):
            print(f"tests/install/words.txt: {kind} is not recognised in the example: {sentence}")
            status = 1
    tracked = subprocess.run(["git", "ls-files", "--", *paths], cwd=root, capture_output=True, text=True)
    if tracked.returncode != 0:
        print("not a Git checkout: not tested")
        return status or 77
    counts = defaultdict(Counter)
    for name in tracked.stdout.splitlines():
        path = Path(name)
        if path.suffix not in C_FILES | {".py", ".md"} or not (root / path).is_file():
            continue
        folder = counts[path.parent]
        for line, sentence in read(root / path):
            folder["sentences"] += 1
            for kind in rules.kinds(sentence):
                folder[kind] += 1
                if listed:
                    print(f"{name}:{line}: {kind}: {sentence[:200]}")
    merge_small(counts)
    for folder, found in sorted(counts.items()):
        for kind, most in rules.limits.items():
            rate = 1000 * found[kind] / max(1, found["sentences"])
            if rate > most:
                print(f"{folder}: {kind}: {found[kind]} of {found['sentences']} sentences, {rate:.1f} per 1000, "
                      f"expected at most {most} (tests/install/words.txt)")
                status = 1
    return status


sys.exit(main())
