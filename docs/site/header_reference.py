"""A Sphinx extension: the directive `header-reference` shows a public header as its reference, in the header's order.

    .. header-reference:: include/spry/io.h

Comments of the header are plain text. Paragraphs, lists and indented lines become what they look like; names of the
interface become links, and everything else stays as it is written.
"""
import re
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.util.nodes import nested_parse_with_titles

from c_header import read_header

HEADERS = ("spry", "matrix", "spgemm", "solve", "io", "cuda", "tune", "study")
WORD = re.compile(r"(?P<name>\b(?:spry_\w+(?:\.\w+)?|SPRY_[A-Z0-9_]+)\b)|(?P<code>`[^`]+`)")


def known_names(root):
    """Every name of the interface, and its role of Sphinx's C domain."""
    roles = {}
    for header in HEADERS:
        for item in read_header(root / "include" / "spry" / f"{header}.h"):
            role = {"function": "func", "macro": "macro", "struct": "struct", "enum": "enum", "type": "type",
                    "opaque": "type"}.get(item.kind)
            for name in item.names:
                if role and name:
                    roles[name] = role
            for member in item.members:
                name = member_name(member.declaration, item.kind)
                if item.kind == "enum":
                    roles[name] = "enumerator"
                else:
                    roles[f"{item.names[0]}.{name}"] = "member"
    return roles


def member_name(declaration, kind):
    if kind == "enum":
        return declaration.split("=")[0].strip()
    pointer = re.search(r"\(\*(\w+)\)", declaration)
    return pointer[1] if pointer else re.search(r"(\w+)(\[\w+\])?$", declaration)[1]


class Text:
    """Plain text of a comment as reStructuredText."""

    def __init__(self, roles):
        self.roles = roles

    def escape(self, text):
        return re.sub(r"([\\*`|_<>\[\]])", r"\\\1", text)

    def line(self, text):
        out, at = "", 0
        for match in WORD.finditer(text):
            out += self.escape(text[at:match.start()])
            at = match.end()
            if match["code"]:
                out += f"\\ ``{match['code'][1:-1]}``\\ "
            elif match["name"] in self.roles:
                out += f"\\ :c:{self.roles[match['name']]}:`{match['name']}`\\ "
            else:
                out += f"\\ ``{match['name']}``\\ "
        return out + self.escape(text[at:])

    def render(self, comment):
        """Blocks, separated by blank lines."""
        out, state = [], ""
        for row in comment.split("\n"):
            indent = len(row) - len(row.lstrip())
            item = re.match(r"^ {0,3}- (.*)", row)
            if not row.strip():
                out.append("")
                state = ""
            elif item:
                out += ([] if state == "list" else [""]) + ["- " + self.line(item[1])]
                state = "list"
            elif state == "list" and indent:
                out.append("  " + self.line(row.strip()))
            elif indent >= 3:
                out += ([] if state == "verbatim" else ["", "::", ""]) + ["    " + row]
                state = "verbatim"
            else:
                out += ([""] if state in ("list", "verbatim") else []) + [self.line(row.strip())]
                state = "text"
        return out


def indented(lines, by):
    return [" " * by + line if line else "" for line in lines]


class HeaderReference(Directive):
    required_arguments = 1

    def run(self):
        env = self.state.document.settings.env
        root = Path(env.srcdir)
        path = root / self.arguments[0]
        env.note_dependency(str(path))
        if not hasattr(env, "spry_roles"):
            env.spry_roles = known_names(root)
        self.text = Text(env.spry_roles)

        lines = []
        for item in read_header(path):
            lines += ["", *self.item_lines(item), ""]
        page = nodes.section()
        page.document = self.state.document
        nested_parse_with_titles(self.state, StringList(lines, str(path)), page)
        return page.children

    def item_lines(self, item):
        text = self.text
        if item.kind in ("heading", "small heading"):
            return [item.comment, ("-" if item.kind == "heading" else "~") * len(item.comment)]
        if item.kind == "text":
            return text.render(re.sub(r"^Spry: .*\n|^SPDX-.*\n", "", item.comment, flags=re.M))
        kind = "type" if item.kind == "opaque" else item.kind
        name = item.declarations[0] or f"@{nodes.make_id(item.members[0].declaration)}".replace("-", "_")
        lines = [f".. c:{kind}:: " + (name if kind in ("struct", "enum") else item.declarations[0])]
        lines += [" " * 12 + more for more in item.declarations[1:]]
        lines += ["", *indented(text.render(item.comment), 3), ""]
        for member in item.members:
            role = "enumerator" if kind == "enum" else "member"
            lines += [f"   .. c:{role}:: {member.declaration}", ""]
            lines += [*indented(text.render(member.comment), 6), ""]
        return lines


def setup(app):
    app.add_directive("header-reference", HeaderReference)
    return {"parallel_read_safe": True}
