"""
Pictures as SVG that stands within a page: drawn by Matplotlib in marker colours, which become the page's own, so that
they follow its light or dark colours; ids are the picture's alone.
"""
import html
import io
import re

import matplotlib

matplotlib.use("svg")
from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

# Marker colours and the variables of style.css that take their place.
INK, MUTED, GRID, PAPER = "#010101", "#020202", "#030303", "#040404"
OURS, PEER, AUTO, BAD = "#050505", "#060606", "#070707", "#080808"
SERIES = ("#110000", "#120000", "#130000", "#140000", "#150000", "#160000", "#170000")
_VARIABLES = {INK: "ink", MUTED: "muted", GRID: "grid", PAPER: "paper", OURS: "ours", PEER: "peer", AUTO: "auto",
              BAD: "bad", **{colour: f"series{number}" for number, colour in enumerate(SERIES, 1)}}
KIND_COLOURS = {"ours": OURS, "peer": PEER, "loop": MUTED, "auto": AUTO}
FONT = 11.0  # pixels, as is every length here

_STYLE = {
    "svg.hashsalt": "spry", "svg.fonttype": "none", "font.size": FONT, "font.family": ["DejaVu Sans", "sans-serif"],
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": MUTED, "xtick.color": MUTED, "ytick.color": MUTED,
    "xtick.labelcolor": INK, "ytick.labelcolor": INK, "grid.color": GRID, "axes.facecolor": "none",
    "figure.facecolor": "none", "savefig.facecolor": "none", "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True, "axes.axisbelow": True, "grid.linewidth": 0.8, "axes.linewidth": 0.8, "figure.dpi": 72,
    "savefig.dpi": 72, "legend.frameon": False, "axes.labelsize": FONT, "xtick.labelsize": FONT - 1,
    "ytick.labelsize": FONT - 1, "lines.linewidth": 1.8, "image.composite_image": False, "text.parse_math": False,
    "axes.unicode_minus": False,
}
matplotlib.rcParams.update({name: value for name, value in _STYLE.items() if name in matplotlib.rcParams})


def canvas(width, height, left=44, right=12, top=10, bottom=38):
    """A figure and its axes, with margins in pixels."""
    figure = Figure(figsize=(width / 72, height / 72))
    FigureCanvasSVG(figure)
    axes = figure.add_axes([left / width, bottom / height, (width - left - right) / width,
                            (height - top - bottom) / height])
    return figure, axes


def _round(match):
    return f"{float(match.group()):.2f}".rstrip("0").rstrip(".")


def _clean(text):
    """Leaves what a page needs: no prolog, no metadata, no style for all of the page, short numbers."""
    text = text[text.index("<svg"):]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r"<defs>\s*<style type=\"text/css\">.*?</style>\s*</defs>", "", text, flags=re.S)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"font: (?:[a-z]+ )*(?:(\d{3}) )?([\d.]+)px [^;\"]*",
                  lambda m: f"font-size: {m[2]}px" + (f"; font-weight: {m[1]}" if m[1] else ""), text)
    text = re.sub(r"\s*\n\s*", "\n", text)
    text = re.sub(r" transform=\"rotate\(-?0 [^)]*\)\"", "", text)
    text = re.sub(r"<path d=\"[^\"]*\" style=\"fill: none\"/>\n?", "", text)
    head, *parts = re.split(r"(<image [^>]*>)", text, flags=re.S)
    parts = [head] + parts
    return "".join(part.replace("\n", "") if part.startswith("<image") else re.sub(r"-?\d+\.\d{3,}", _round, part)
                   for part in parts)


def _colour(text):
    """Marker colours as variables; in attributes, which cannot have them, as styles."""
    text = re.sub(r"\b(fill|stroke)=\"(#[0-9a-f]{6})\"",
                  lambda m: f"style=\"{m[1]}: {m[2]}\"" if m[2] in _VARIABLES else m[0], text)
    return re.sub(r"#[0-9a-f]{6}\b", lambda m: f"var(--{_VARIABLES[m[0]]})" if m[0] in _VARIABLES else m[0], text)


def _own_ids(text, slug):
    """Ids that something refers to get the picture's name; the others go."""
    used = set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", text))
    text = re.sub(r" id=\"([^\"]*)\"", lambda m: f" id=\"{slug}-{m[1]}\"" if m[1] in used else "", text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{slug}-\1)", text)
    return re.sub(r"xlink:href=\"#([^\"]+)\"", rf'href="#{slug}-\1"', text).replace("xlink:href=", "href=")


def _without_groups(text):
    """Groups that say nothing are left out, where there are no others."""
    return text if "<g " in text else re.sub(r"</?g>\n?", "", text)


def render(figure, slug, title, description):
    """The figure as <svg>, which screen readers read as its title and description."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = _without_groups(_own_ids(_colour(_clean(out.getvalue())), slug))
    width, height = (round(size * 72) for size in figure.get_size_inches())
    about = f"<title>{html.escape(title)}</title><desc>{html.escape(description)}</desc>"
    head = (f"<svg role=\"img\" aria-label=\"{html.escape(title + '. ' + description)}\" "
            f"viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" "
            f"xmlns=\"http://www.w3.org/2000/svg\">{about}")
    return re.sub(r"<svg [^>]*>", lambda _: head, text, count=1).strip()
