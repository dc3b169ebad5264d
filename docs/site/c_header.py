"""Reads a public header of include/spry: its headings, comments and declarations, in their order.

The headers keep to a few rules (CONTRIBUTING.md, and .clang-format, which lays them out), so that no C parser is
needed: a comment stands before what it is about or behind a member, and declarations that follow each other without
a blank line or a comment between them share the comment before the first. tests/install/site.sh compares what is
found here with the names that the library exports.
"""
import re
from dataclasses import dataclass, field

RULE = re.compile(r"^(/\*| \*) -{20,}")
SMALL_HEADING = re.compile(r"^/\* -{4} (.*?) -{4} \*/$")
NOISE = re.compile(r"\b(SPRY_API|SPRY_MUST_CHECK|static inline)\b\s*")


@dataclass
class Member:
    declaration: str
    comment: str


@dataclass
class Item:
    kind: str  # heading, small heading, text, function, struct, enum, type, macro
    names: list = field(default_factory=list)  # a declaration each: its name ...
    declarations: list = field(default_factory=list)  # ... and itself, without body
    comment: str = ""
    members: list = field(default_factory=list)


def comment_text(lines):
    """The text of a comment's lines, without its stars and its common indentation."""
    text = "\n".join(lines).strip()
    text = text.removeprefix("/*").removesuffix("*/")
    starred = re.search(r"\n\s*\* ", text)
    rows = []
    for row in text.split("\n"):
        # Without stars the lines that follow are indented as the code is.
        row = re.sub(r"^\s*\* ?", "", row) if starred else row.strip()
        rows.append(row.rstrip())
    rows[0] = rows[0].strip()
    return "\n".join(rows).strip("\n")


def without_trailing_comment(line):
    """A line of code, and the comment behind it."""
    match = re.match(r"^(.*?)/\*(.*)$", line)
    return (match[1], match[2]) if match else (line, None)


def split_declarators(declaration):
    """int64_t rows, cols -> int64_t rows; int64_t cols."""
    if "(" in declaration:
        return [declaration]
    parts = [part.strip() for part in declaration.split(",")]
    base = re.match(r"^(.*?)(\**\w+(\[\w+\])?)$", parts[0])[1].strip()
    return [parts[0]] + [f"{base} {part}" for part in parts[1:]]


def name_of(declaration):
    pointer = re.search(r"\(\*(\w+)\)", declaration)
    if pointer:
        return pointer[1]
    return re.search(r"(\w+)\s*(\[[^\]]*\])*\s*(\(|$)", declaration)[1]


def members_of(body, is_enum):
    """The members of a struct or an enum, of the lines between its braces."""
    members, before, code, last = [], [], "", []
    lines = iter(body)
    for line in lines:
        line = line.rstrip()
        if not line.strip():
            before, last = [], []
            continue
        if line.strip().startswith("/*") and not code:
            comment = [line]
            while "*/" not in comment[-1]:
                comment.append(next(lines))
            if last and len(line) - len(line.lstrip()) >= 16:  # the rest of the comment behind a member
                for member in last:
                    member.comment += " " + comment_text(comment)
            else:
                before = [*before, comment_text(comment)]
            continue
        text, behind = without_trailing_comment(line)
        code += " " + text.strip()
        if behind is not None:
            comment = ["/*" + behind]
            while "*/" not in comment[-1]:
                comment.append(next(lines))
            before = [*before, comment_text(comment)]
        if not is_enum and not code.rstrip().endswith(";"):
            continue
        last = []
        for statement in code.split("," if is_enum else ";"):
            statement = " ".join(statement.split())
            if statement:
                names = [statement] if is_enum else split_declarators(statement)
                last += [Member(name, "\n\n".join(before)) for name in names]
        members += last
        before, code = [], ""
    return members


def function_or_type(code):
    code = NOISE.sub("", " ".join(code.split())).rstrip("; ")
    opaque = re.match(r"^typedef struct (\w+) \1$", code)
    if opaque:
        return "opaque", opaque[1], opaque[1]
    if code.startswith("typedef"):
        code = code.removeprefix("typedef ")
        return "type", name_of(code), code
    return "function", name_of(code), code


class Reader:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.lines = file.read().split("\n")
        self.items = []
        self.comment = ""  # of the lines before, which what follows belongs to
        self.at = 0

    def add(self, kind, name, declaration, members=(), follows=False, comment=""):
        if follows and self.items and self.items[-1].kind == kind and not members and not comment:
            self.items[-1].names.append(name)
            self.items[-1].declarations.append(declaration)
            return
        text = "\n\n".join(part for part in (self.comment, comment) if part)
        self.items.append(Item(kind, [name], [declaration], text, list(members)))
        self.comment = ""

    def take_until(self, end):
        """Lines from here to the first that `end` is true of."""
        start = self.at
        while not end(self.lines[self.at]):
            self.at += 1
        self.at += 1
        return self.lines[start:self.at]

    def read_comment(self):
        lines = self.take_until(lambda line: "*/" in line)
        if RULE.match(lines[0]):
            self.items.append(Item("heading", comment=lines[1].strip(" *")))
        elif SMALL_HEADING.match(lines[0]):
            self.items.append(Item("small heading", comment=SMALL_HEADING.match(lines[0])[1]))
        else:
            self.comment = comment_text(lines)
        if self.comment and (not self.items or not self.lines[self.at].strip()):  # it is about nothing that follows
            self.items.append(Item("text", comment=self.comment))
            self.comment = ""

    def read_macro(self):
        start = self.at
        while self.lines[self.at].endswith("\\"):
            self.at += 1
        self.at += 1
        match = re.match(r"^#define (SPRY_\w+(\([^)]*\))?)", self.lines[start])
        if match and not match[1].endswith("_H") and match[1] not in ("SPRY_API", "SPRY_MUST_CHECK"):
            name = match[1].split("(")[0]
            if not any(name in item.names for item in self.items):
                follows = start > 0 and self.lines[start - 1].startswith("#define")
                self.add("macro", name, match[1], follows=follows)

    def read_declaration(self):
        follows = self.at > 0 and bool(self.lines[self.at - 1].strip()) and not self.comment
        first = self.lines[self.at]
        group = re.match(r"^(typedef )?(struct|enum)( \w+)? \{", first)
        if group:
            name, is_enum = (group[3] or "").strip(), group[2] == "enum"
            if first.rstrip().split("/*")[0].strip().endswith(";"):
                body = [re.search(r"\{(.*)\}", first)[1]]
                self.at += 1
            else:
                lines = self.take_until(lambda line: line.startswith("}"))
                body = lines[1:-1]
            self.add(group[2], name, name, members_of(body, is_enum))
            return
        code, comment, last_line = "", "", ""
        while True:
            last_line = self.lines[self.at]
            text, behind = without_trailing_comment(last_line)
            self.at += 1
            code += " " + text.strip()
            if behind is not None:
                comment = comment_text(["/*" + behind])
            if text.rstrip().endswith(")") and self.lines[self.at] == "{":  # a body
                self.take_until(lambda line: line == "}")
                break
            if text.rstrip().endswith(";"):
                break
        self.add(*function_or_type(code), follows=follows, comment=comment)

    def read(self):
        in_cplusplus = 0
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if re.match(r"^#if(def|ndef)? ?", line):
                in_cplusplus = in_cplusplus + 1 if in_cplusplus or "__cplusplus" in line else 0
            if in_cplusplus and re.match(r"^#else", line) and in_cplusplus == 1:
                in_cplusplus = -1
            if line.startswith("#endif"):
                in_cplusplus = max(0, in_cplusplus - 1) if in_cplusplus > 0 else 0
            if not line.strip() and in_cplusplus <= 0 and self.comment:
                self.comment = ""  # it was about a macro that is no one's but the header's
            if in_cplusplus > 0 or not line.strip() or (line.startswith("#") and not line.startswith("#define")):
                self.at += 1
            elif line.startswith("/*"):
                self.read_comment()
            elif line.startswith("#define"):
                self.read_macro()
            elif line.startswith("}"):
                self.at += 1
            else:
                self.read_declaration()
        return self.items


def read_header(path):
    """The items of a header, in their order. The first is the text at its head."""
    return Reader(path).read()
