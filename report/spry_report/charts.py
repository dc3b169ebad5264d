"""The charts of a group of cases. Each function returns an <svg>, or None if there is nothing to draw."""
import math

from . import svg, words
from .measures import profile_steps

PANEL = 360  # width of a panel in pixels, the width of a phone; wider pages have panels next to each other
ROW = 17     # height of a bar with its name in pixels
SERIES_DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)),
                 (0, (3, 1.5)), (0, (8, 2)), (0, (4, 1, 1, 1, 1, 1)))


def shorten(text, most):
    """Shortens a text to its beginning and end, where names of kernels differ."""
    if len(text) <= most:
        return text
    keep = most - 1
    return text[:keep - keep // 2] + "\u2026" + text[len(text) - keep // 2:]


def bars(rows, slug, title, description):
    """Draws bars of speed, longer for faster. Peers and the textbook loop are outlined, to differ in print.

    rows: [(name, kind, time divided by the best time or None, text at the end, is_disturbed)], the fastest first.
    """
    if not rows:
        return None
    left, right, height = 152, 92, len(rows) * ROW + 8
    figure, axes = svg.canvas(PANEL, height, left, right, 4, 4)
    axes.set_xlim(0, 1)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.axis("off")
    for y, (name, kind, factor, text, disturbed) in enumerate(rows):
        colour = svg.KIND_COLOURS[kind]
        is_best = factor is not None and factor <= 1
        weight = "bold" if is_best else "normal"
        axes.text(-0.04, y, shorten(name, 25), ha="right", va="center", fontsize=10, fontweight=weight, color=svg.INK)
        speed = 0 if factor is None else 1 / factor
        if factor is not None:
            style = {"facecolor": svg.PAPER, "edgecolor": colour, "linewidth": 1.4} if kind in ("peer", "loop") else \
                {"facecolor": colour, "edgecolor": colour, "linewidth": 1.4}
            axes.barh(y, max(speed, 0.004), 0.6, **style)
        mark = "\u2605 " if is_best else ""
        tail = mark + text + ("\u2020" if disturbed else "")
        axes.text(speed + 0.05, y, tail, ha="left", va="center", fontsize=10, fontweight=weight,
                  color=svg.MUTED if factor is None else svg.INK)
    for texts in axes.texts:
        texts.set_clip_on(False)
    return svg.render(figure, slug, title, description)


def _log_ticks(axis, label=lambda value: f"{value:g}"):
    from matplotlib import ticker
    low, high = axis.get_view_interval()
    ratio = high / low if low > 0 else math.inf
    subs = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8) if ratio < 4 else (1, 2, 5) if ratio < 40 else (1,)
    axis.set_major_locator(ticker.LogLocator(subs=subs, numticks=12))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: label(value)))
    axis.set_minor_locator(ticker.NullLocator())


def curves(named, others, slug, title, description, xlabel, ylabel, xmax):
    """Draws step functions over a logarithmic axis that begins at 1.

    named: [(label, points)], drawn in colours and dashes; others: [points], drawn pale behind them. points:
    [(x, y from x on), ...], increasing.
    """
    figure, axes = svg.canvas(PANEL + 60, 300, 60, 22, 10, 42)
    axes.set_xscale("log")
    axes.set_xlim(1, xmax)
    axes.set_ylim(0, 1.03)

    def steps(points):
        xs, ys = [1], [0.0]
        for x, y in points:
            if x > xmax:
                break
            xs += [max(x, 1), max(x, 1)]
            ys += [ys[-1], y]
        return xs + [xmax], ys + [ys[-1]]

    for points in others:
        axes.plot(*steps(points), color=svg.GRID, linewidth=1, zorder=1)
    for number, (_, points) in enumerate(named):
        axes.plot(*steps(points), color=svg.SERIES[number % len(svg.SERIES)],
                  linestyle=SERIES_DASHES[number % len(SERIES_DASHES)], zorder=3, drawstyle="default")
    _log_ticks(axes.xaxis, lambda value: f"{value:,.0f}".replace(",", "\u202f") if value >= 1000 else f"{value:g}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    return svg.render(figure, slug, title, description)


def profile(factors, others, slug, title, description):
    """Draws performance profiles. factors: [(label, times divided by the best time; None if it did not run)]."""
    known = [f for _, fs in factors for f in fs if f is not None]
    if not known:
        return None
    xmax = min(max(2.0, max(known) * 1.05), 16.0)
    return curves([(label, profile_steps(fs)) for label, fs in factors], [profile_steps(fs) for fs in others], slug,
                  title, description, "time over the fastest, at most", "matrices", xmax)


def paid(series, slug, title, description):
    """Draws break-even curves. series: [(label, calls after which set-up has paid; math.inf if never)]."""
    known = [c for _, cs in series for c in cs if c is not None and c != math.inf]
    if not known:
        return None
    xmax = 10 ** math.ceil(math.log10(max(10.0, max(known) * 1.01)))
    steps = [(label, profile_steps([None if c is None or c == math.inf else max(c, 1) for c in cs]))
             for label, cs in series]
    return curves(steps, [], slug, title, description, "calls", "matrices where it has paid", min(xmax, 1e7))


def bandwidth(rows, copies, slug, title, description):
    """Draws bandwidths, one line per matrix with a marker for each of "csr", "ours", "peer" and "auto".

    rows: [(matrix, {kind: GB/s})]; copies: the copy bandwidths of the runs.
    """
    values = [v for _, marks in rows for v in marks.values() if v]
    if not values:
        return None
    left, top = 128, 26 if copies else 8
    figure, axes = svg.canvas(PANEL + 60, top + len(rows) * ROW + 42, left, 14, top, 42)
    axes.set_xlim(0, 1.06 * max(values + list(copies)))
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)))
    axes.set_yticklabels([shorten(name, 22) for name, _ in rows])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    for copy in copies[:4]:
        axes.axvline(copy, color=svg.BAD, linestyle=(0, (4, 2)), linewidth=1.2, zorder=2)
    if copies:
        middle = axes.get_xlim()[1] * 0.75
        axes.annotate("copy bandwidth", (copies[-1], -0.5), (0, 5), textcoords="offset points", color=svg.BAD,
                      fontsize=10, va="bottom", ha="right" if copies[-1] > middle else "center", annotation_clip=False)
    for y, (_, marks) in enumerate(rows):
        found = [v for v in marks.values() if v]
        axes.plot([min(found), max(found)], [y, y], color=svg.GRID, linewidth=2, zorder=1)
        for kind, value in marks.items():
            if value:
                axes.plot([value], [y], linestyle="", zorder=4 if kind == "auto" else 3, **MARKS[kind])
    axes.set_xlabel("GB/s of plain CSR, x and y")
    return svg.render(figure, slug, title, description)


MARKS = {
    "csr": {"marker": "o", "markersize": 7, "markerfacecolor": svg.PAPER, "markeredgecolor": svg.OURS,
            "markeredgewidth": 1.6},
    "ours": {"marker": "o", "markersize": 7.5, "markerfacecolor": svg.OURS, "markeredgecolor": svg.OURS},
    "peer": {"marker": "^", "markersize": 8, "markerfacecolor": svg.PAPER, "markeredgecolor": svg.PEER,
             "markeredgewidth": 1.6},
    "auto": {"marker": "x", "markersize": 6.5, "markerfacecolor": svg.AUTO, "markeredgecolor": svg.AUTO,
             "markeredgewidth": 2},
}


def _number_points(axes, points):
    """Writes the number of the matrix next to each marker, unless it would overlap a marker or another number."""
    places = [axes.transData.transform((x, y)) for _, _, x, y in points]
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in places]
    for (number, _, x, y), (at_x, at_y) in zip(points, places):
        width = 6.2 * len(str(number))
        for dx, dy in ((6, -4), (-6 - width, -4), (-width / 2, 7), (-width / 2, -15), (5, 5), (5, -13), (-5 - width, 5),
                       (-5 - width, -13)):
            box = (at_x + dx, at_y + dy, at_x + dx + width, at_y + dy + 9)
            if all(box[2] < t[0] or box[0] > t[2] or box[3] < t[1] or box[1] > t[3] for t in taken):
                taken.append(box)
                axes.annotate(str(number), (x, y), (dx, dy), textcoords="offset points", fontsize=9, color=svg.INK)
                break


def roofline(points, copies, slug, title, description):
    """Draws the roofline. points: [(number, kind, flop/byte, GFLOP/s)]. The roof is intensity times copy bandwidth."""
    if not points:
        return None
    figure, axes = svg.canvas(PANEL + 60, 310, 52, 26, 10, 42)
    low, high = min(p[2] for p in points), max(p[2] for p in points)
    low, high = low / 1.25, high * 1.25
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(low, high)
    rates = [p[3] for p in points] + [copy * x for copy in copies for x in (low, high)]
    axes.set_ylim(min(rates) / 1.3, max(rates) * 1.3)
    for copy in copies[:4]:
        axes.plot([low, high], [low * copy, high * copy], color=svg.BAD, linestyle=(0, (4, 2)), linewidth=1.2)
    for number, kind, x, y in points:
        axes.plot([x], [y], linestyle="", zorder=3, **MARKS[kind])
    _number_points(axes, points)
    for axis in (axes.xaxis, axes.yaxis):
        _log_ticks(axis, lambda value: f"{value:.3g}")
    axes.set_xlabel("operations a byte of plain CSR")
    axes.set_ylabel("GFLOP/s")
    return svg.render(figure, slug, title, description)


def spy(picture, rows, columns, slug, title, description):
    """Draws the structure of a matrix. picture: rows of the numbers of entries in each part."""
    import numpy
    counts = numpy.array(picture, dtype=float)
    if counts.ndim != 2 or counts.size == 0:
        return None
    alpha = numpy.where(counts > 0, 0.25 + 0.75 * numpy.log1p(counts) / max(1e-9, numpy.log1p(counts.max())), 0)
    image = numpy.zeros(counts.shape + (4,), dtype=numpy.uint8)
    image[..., 2] = 0x72 + 0x40
    image[..., 1] = 0x72
    image[..., 3] = (255 * alpha).astype(numpy.uint8)
    side = 190
    width = side if columns >= rows else max(24, side * columns / rows)
    height = side if rows > columns else max(24, side * rows / columns)
    figure, axes = svg.canvas(round(width) + 64, round(height) + 34, 50, 14, 6, 28)
    axes.imshow(image, interpolation="none", extent=(0, columns, rows, 0), aspect="auto")
    axes.grid(False)
    for side_ in ("top", "right"):
        axes.spines[side_].set_visible(True)
    for axis, size in ((axes.xaxis, columns), (axes.yaxis, rows)):
        axis.set_ticks([0, size])
        axis.set_ticklabels(["1", words.count(size)])
    axes.xaxis.get_ticklabels()[0].set_ha("left")
    axes.xaxis.get_ticklabels()[-1].set_ha("right")
    return svg.render(figure, slug, title, description)


def histogram(buckets, slug, title, description):
    """Draws a histogram of row lengths. buckets: [{"from", "to", "rows"}]."""
    buckets = list(buckets)
    while buckets and not buckets[-1]["rows"]:
        buckets.pop()
    if not buckets:
        return None
    many = len(buckets) > 5  # their names are rotated and need more room
    figure, axes = svg.canvas(254, 210 if many else 190, 46, 8, 8, 72 if many else 52)
    axes.bar(range(len(buckets)), [b["rows"] for b in buckets], 0.8, color=svg.OURS)
    names = [f"{b['from']:g}" if b["from"] == b["to"]
        else f"{_short(b['from'])}\u2013{_short(b['to'])}" for b in buckets]
    axes.set_xticks(range(len(buckets)))
    axes.set_xticklabels(names, rotation=40 if many else 0, ha="right" if many else "center", fontsize=9,
                         rotation_mode="anchor")
    axes.set_yscale("symlog", linthresh=1)
    top = max(b["rows"] for b in buckets)
    axes.set_ylim(0, top * 1.6)
    decades = math.ceil(math.log10(top)) if top > 1 else 1
    axes.set_yticks([0] + [10 ** d for d in range(0, decades + 1, 2 if decades > 4 else 1)])
    axes.yaxis.set_major_formatter(lambda value, _: _short(value))
    axes.minorticks_off()
    axes.set_xlabel("entries of a row", labelpad=2)
    axes.set_ylabel("rows")
    axes.grid(axis="x", visible=False)
    return svg.render(figure, slug, title, description)


def _short(number):
    """Formats a number with a suffix: 1k, 20M."""
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= scale:
            return f"{number / scale:.3g}{unit}"
    return f"{number:g}"
