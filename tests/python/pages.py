"""Runs the Python code of Markdown pages.

The blocks ```python of a page are one program. A comment at the end of a print's line must equal the printed text. The
line `<!-- run: no, REASON -->` before a block excludes the block, as in tests/install/doc_commands.sh.
"""

import ast
import contextlib
import io
import re
from pathlib import Path

COMMENT = re.compile(r"^print\(.*\)  +# (.+)$")


class WrongOutput(AssertionError):
    pass


def blocks_of(text):
    """Returns (number of the first line, code) of each block to run."""
    lines, begin, skip = text.split("\n"), None, False
    for number, line in enumerate(lines):
        if begin is None and line == "```python":
            begin, skip = number + 1, number > 0 and lines[number - 1].startswith("<!-- run: no, ")
        elif begin is not None and line == "```":
            if not skip:
                yield begin + 1, "\n".join(lines[begin:number])
            begin = None


def run_statement(node, code, name, names):
    """Runs one statement and compares its output with its comment. Returns the number of comments compared."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module([node], []), name, "exec"), names)
    told = COMMENT.match(code)
    if told and printed.getvalue() != told[1] + "\n":
        raise WrongOutput(f"{name}:{node.lineno}: prints {printed.getvalue()!r}, the page says {told[1]!r}")
    return 1 if told else 0


def run_page(page: Path, names=None):
    """Returns (blocks run, outputs compared). Errors name the page's line."""
    names = {"__name__": "__main__"} if names is None else names
    blocks = compared = 0
    for first, code in blocks_of(page.read_text(encoding="utf-8")):
        lines, blocks = code.split("\n"), blocks + 1
        for node in ast.parse(code, str(page)).body:
            last_line = lines[node.end_lineno - 1]
            ast.increment_lineno(node, first - 1)
            compared += run_statement(node, last_line, str(page), names)
    return blocks, compared
