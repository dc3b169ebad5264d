"""
Charts as SVG for use inside a page. Matplotlib draws them in placeholder colours, which are replaced by the page's
variables, so the charts follow the page's light or dark theme. Ids are unique to each chart.
"""
import html
import io
import re

import matplotlib

matplotlib.use("svg")
from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

# Placeholder colours, and the variables of style.css that replace them.
INK, MUTED, GRID, PAPER = "#010101", "#020202", "#030303", "#040404"
OURS, PEER, AUTO, BAD = "#050505", "#060606", "#070707", "#080808"
SERIES = ("#110000", "#120000", "#130000", "#140000", "#150000", "#160000", "#170000")
_VARIABLES = {INK: "ink", MUTED: "muted", GRID: "grid", PAPER: "paper", OURS: "ours", PEER: "peer", AUTO: "auto",
              BAD: "bad", **{colour: f"series{number}" for number, colour in enumerate(SERIES, 1)}}
KIND_COLOURS = {"ours": OURS, "peer": PEER, "loop": MUTED, "auto": AUTO}
FONT = 11.0  # in pixels, as all lengths in this file

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
    """Creates a figure and its axes, with margins in pixels."""
    figure = Figure(figsize=(width / 72, height / 72))
    FigureCanvasSVG(figure)
    axes = figure.add_axes([left / width, bottom / height, (width - left - right) / width,
                            (height - top - bottom) / height])
    return figure, axes


def _round(match):
    return f"{float(match.group()):.2f}".rstrip("0").rstrip(".")


def _clean(text):
    """Removes the prolog, metadata and global styles, and shortens numbers."""
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
    """Replaces placeholder colours by variables. Attributes become styles, since attributes cannot use variables."""
    text = re.sub(r"\b(fill|stroke)=\"(#[0-9a-f]{6})\"",
                  lambda m: f"style=\"{m[1]}: {m[2]}\"" if m[2] in _VARIABLES else m[0], text)
    return re.sub(r"#[0-9a-f]{6}\b", lambda m: f"var(--{_VARIABLES[m[0]]})" if m[0] in _VARIABLES else m[0], text)


def _own_ids(text, slug):
    """Adds the chart's name to ids that are referenced, and removes the other ids."""
    used = set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", text))
    text = re.sub(r" id=\"([^\"]*)\"", lambda m: f" id=\"{slug}-{m[1]}\"" if m[1] in used else "", text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{slug}-\1)", text)
    return re.sub(r"xlink:href=\"#([^\"]+)\"", rf'href="#{slug}-\1"', text).replace("xlink:href=", "href=")


def _without_groups(text):
    """Removes groups without attributes, if all groups are without attributes."""
    return text if "<g " in text else re.sub(r"</?g>\n?", "", text)


def render(figure, slug, title, description):
    """Returns the figure as <svg>, with a title and description for screen readers."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = _without_groups(_own_ids(_colour(_clean(out.getvalue())), slug))
    width, height = (round(size * 72) for size in figure.get_size_inches())
    about = f"<title>{html.escape(title)}</title><desc>{html.escape(description)}</desc>"
    head = (f"<svg role=\"img\" aria-label=\"{html.escape(title + '. ' + description)}\" "
            f"viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" "
            f"xmlns=\"http://www.w3.org/2000/svg\">{about}")
    return re.sub(r"<svg [^>]*>", lambda _: head, text, count=1).strip()
