"""Figures by Matplotlib. Colours suit colour-blind readers; markers and dashes suit black-and-white print."""
import math
import os
import statistics
import textwrap

# Okabe and Ito's colours without yellow, which is hard to see on paper.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#7f7f7f")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":")
HATCHES = ("", "//", "..", "\\\\", "xx", "--", "++", "oo")


def can_draw():
    try:
        import matplotlib  # noqa: F401
    except (ImportError, AttributeError):  # missing, or not usable with this NumPy
        return False
    return True


def pyplot():
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot as plot
    matplotlib.rcParams.update({
        "figure.constrained_layout.use": True, "figure.dpi": 120, "savefig.dpi": 120, "svg.hashsalt": "spry",
        "svg.fonttype": "none", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "axes.axisbelow": True,
        "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False, "legend.fontsize": 8,
    })
    return plot


def style(index):
    """Returns colour, marker and dashes of the line with this index."""
    return {"color": COLOURS[index % len(COLOURS)], "marker": MARKS[index % len(MARKS)],
            "linestyle": DASHES[index // len(COLOURS) % len(DASHES)], "markersize": 4, "linewidth": 1.2}


def save(figure, folder, name, note):
    """Writes NAME.svg and NAME.png, with the note (machine, date, command) below the figure."""
    figure.supxlabel(textwrap.fill(note, int(20 * figure.get_figwidth())), fontsize=6, color="#555555")
    os.makedirs(folder, exist_ok=True)
    figure.savefig(os.path.join(folder, name + ".svg"), metadata={"Date": None})
    figure.savefig(os.path.join(folder, name + ".png"), metadata={"Software": None})
    pyplot().close(figure)


def plain_ticks(axis):
    """Sets ticks at 1, 2 and 5 of each decade of a logarithmic axis, or only at decades if there are many."""
    from matplotlib import ticker
    low, high = axis.get_view_interval()
    few = low > 0 and high / low < 300
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if few else (1,)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def _label(axes, series, xlabel, ylabel, logs):
    """Sets labels, scales and the legend. If no series has points, writes that nothing was measured."""
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    if not any(series.values()):
        axes.text(0.5, 0.5, "nothing was measured", ha="center", transform=axes.transAxes)
        return
    if "x" in logs:
        axes.set_xscale("log")
        plain_ticks(axes.xaxis)
    if "y" in logs:
        axes.set_yscale("log")
        plain_ticks(axes.yaxis)
    axes.legend()


def name_places(axes):
    """Labels the axes of a small picture of a matrix, with few and short ticks such as 500k and 1M."""
    from matplotlib import ticker
    for axis, name in ((axes.xaxis, "column"), (axes.yaxis, "row")):
        axis.set_major_locator(ticker.MaxNLocator(4, steps=[1, 2, 5, 10]))
        axis.set_major_formatter(ticker.EngFormatter(sep=""))
        axis.set_label_text(name, fontsize=8)
    axes.tick_params(labelsize=7)


def lines(axes, series, xlabel, ylabel, logs="xy"):
    """Draws lines. series: {label: [(x, y), ...]}; logs: names of the logarithmic axes."""
    for index, (label, points) in enumerate(series.items()):
        if points:
            points = sorted(points)
            axes.plot([x for x, _ in points], [y for _, y in points], label=label, **style(index))
    _label(axes, series, xlabel, ylabel, logs)


def scatter(axes, series, xlabel, ylabel, logs="xy"):
    """Draws points. series: {label: [(x, y), ...]}."""
    for index, (label, points) in enumerate(series.items()):
        kind = style(index)
        axes.scatter([x for x, _ in points], [y for _, y in points], s=12, label=label, color=kind["color"],
                     marker=kind["marker"], alpha=0.7, linewidths=0)
    _label(axes, series, xlabel, ylabel, logs)


def distribution(axes, values, xlabel, ylabel="matrices"):
    """Draws a histogram with a logarithmic axis, and the mean and the median as lines."""
    if not values:
        axes.text(0.5, 0.5, "no matrix", ha="center", transform=axes.transAxes)
        return
    low, high = math.floor(math.log2(min(values)) * 2), math.ceil(math.log2(max(values)) * 2) + 1
    axes.hist(values, bins=[2 ** (b / 2) for b in range(low, high + 1)], color=COLOURS[0], edgecolor="white")
    axes.axvline(sum(values) / len(values), color=COLOURS[1], linestyle="--", label="mean")
    axes.axvline(statistics.median(values), color=COLOURS[6], linestyle=":", label="median")
    axes.set_xscale("log")
    plain_ticks(axes.xaxis)
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.legend()


def bars(axes, groups, series, ylabel, log=False):
    """Draws bars. groups: names along the axis; series: {label: values}, one value per group. None is drawn as n/a."""
    width = 0.8 / max(len(series), 1)
    for index, (label, values) in enumerate(series.items()):
        at = [g + (index - (len(series) - 1) / 2) * width for g in range(len(groups))]
        axes.bar(at, [value or 0 for value in values], width, label=label, color=COLOURS[index % len(COLOURS)],
                 hatch=HATCHES[index % len(HATCHES)], edgecolor="white", linewidth=0.3)
        for x in (x for x, value in zip(at, values) if value is None):
            axes.text(x, 0.01, "n/a", rotation=90, fontsize=5, ha="center", va="bottom",
                      transform=axes.get_xaxis_transform())
    axes.set_xticks(range(len(groups)))
    axes.set_xticklabels(groups, rotation=45 if len(groups) > 4 else 0, ha="right" if len(groups) > 4 else "center",
                         fontsize=7)
    axes.set_ylabel(ylabel)
    if log and any(value for values in series.values() for value in values):
        axes.set_yscale("log")
        plain_ticks(axes.yaxis)
    axes.grid(axis="x", visible=False)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=4)
