"""Pieces of HTML: escaped texts, tables, figures, legends, sections."""
import html
import re


class Html(str):
    """Text that is already HTML and is not escaped."""


def text(value):
    """Escapes a value for use in an element."""
    return value if isinstance(value, Html) else Html(html.escape(str(value), quote=True))


def join(pieces, between=""):
    return Html(between.join(text(piece) for piece in pieces if piece is not None))


def element(tag, *content, **attributes):
    """Creates <tag class="..." ...>content</tag>. class_ becomes class, aria_label becomes aria-label."""
    words = "".join(f' {name.rstrip("_").replace("_", "-")}="{html.escape(str(value), quote=True)}"'
                    for name, value in attributes.items() if value is not None)
    return Html(f"<{tag}{words}>{join(content)}</{tag}>")


def paragraph(*content, **attributes):
    return element("p", *content, **attributes)


def code(name):
    """Formats a name as code, with possible line breaks after underscores and commas."""
    return Html("<code>" + re.sub(r"([_,:])", r"\1<wbr>", html.escape(str(name))) + "</code>")


def slug(name):
    """Converts a name for use in an id."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "x"


def table(caption, heads, rows, classes=None, about=None):
    """Creates a table that scrolls in its own box.

    heads: [(text, "n" for numbers or "t" for texts, title or None)]. The first cell of a row is its head. classes:
    class of each row. about: a sentence next to the caption.
    """
    cells = [element("th", head, scope="col", class_=kind, title=title) for head, kind, title in heads]
    body = []
    for number, row in enumerate(rows):
        first = element("th", row[0], scope="row", class_=heads[0][1])
        rest = [element("td", cell, class_=kind) for cell, (_, kind, _) in zip(row[1:], heads[1:])]
        body.append(element("tr", first, *rest, class_=(classes[number] or None) if classes else None))
    said = [element("span", words) for words in (caption, about) if words]
    inner = element("table", element("caption", join(said, " ")),
                    element("thead", element("tr", *cells)), Html("<tbody>\n" + "\n".join(body) + "\n</tbody>"))
    class_ = "box wide" if len(heads) > 10 else "box"
    return Html(str(element("div", inner, class_=class_, tabindex="0", role="region", aria_label=caption)) + "\n")


def figure(picture, caption, class_=None):
    """Creates a figure with a caption."""
    return Html(str(element("figure", Html(picture), element("figcaption", caption), class_=class_)) + "\n")


def section(id_, title, *content):
    return Html(str(element("section", element("h2", title, id=f"{id_}-title"), *content, id=id_,
                            aria_labelledby=f"{id_}-title")) + "\n")


def facts(pairs):
    """Creates a list of facts [(name, value)], without values that are None."""
    return element("dl", *[join([element("dt", name), element("dd", value)])
                           for name, value in pairs if value is not None])


# ---- legends ----------------------------------------------------------------------------------------

_KEYS = {
    "ours": '<rect class="ours" x="1" y="2" width="18" height="8"/>',
    "peer": '<rect class="peer" x="2" y="2.7" width="16.5" height="6.6"/>',
    "loop": '<rect class="loop" x="2" y="2.7" width="16.5" height="6.6"/>',
    "auto": '<rect class="auto" x="1" y="2" width="18" height="8"/>',
    "mark-csr": '<circle class="open" cx="10" cy="6" r="3.6"/>',
    "mark-ours": '<circle class="ours" cx="10" cy="6" r="4"/>',
    "mark-peer": '<path class="peer" d="M10 1.6 14.2 10H5.8z"/>',
    "mark-auto": '<path class="cross" d="M6.5 2.5l7 7m0-7l-7 7"/>',
    "roof": '<path class="roof" d="M0 6H20"/>',
}
_DASHES = ("", "9 4", "2 3", "10 4 2 4", "5 3", "14 4", "7 2 2 2 2 2")


def _key(drawing):
    return Html(f'<svg class="key" viewBox="0 0 20 12" width="20" height="12" aria-hidden="true">{drawing}</svg>')


def legend(entries):
    """Creates a legend. entries: [(name of a key, text)]."""
    return element("ul", *[element("li", _key(_KEYS[name]), " ", words) for name, words in entries], class_="legend")


def line_legend(labels, others=None):
    """Creates the legend of a chart's lines, in their order. others: text for the pale lines."""
    items = []
    for number, label in enumerate(labels):
        line = (f'<path d="M0 6H20" fill="none" stroke-width="2" stroke-dasharray="{_DASHES[number % len(_DASHES)]}" '
                f'style="stroke: var(--series{number % len(_DASHES) + 1})"/>')
        items.append(element("li", _key(line), " ", label))
    if others:
        items.append(element("li", _key('<path class="pale" d="M0 6H20"/>'), " ", others))
    return element("ul", *items, class_="legend")


BAR_LEGEND = legend([("ours", "Spry"), ("auto", "Spry, format chosen by auto"), ("peer", "another library"), ("loop", "Spry\u2019s textbook loop")])
