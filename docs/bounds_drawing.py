"""How docs/plot_bounds.py draws: curves of the bounds, rings, dots, and a short SVG file."""

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from kitchensinks.papers import theory

COLOURS = ["#0068a8", "#c9510c", "#2a8c5f", "#8a4fa3"]
STYLE = {
    "svg.hashsalt": "kitchensinks",  # the same names inside the file at every run
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial"],
    "font.size": 8.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.5,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "legend.handlelength": 1.5,
    "legend.columnspacing": 1.4,
}


class Curve:
    """A bound against its argument `main`: one line for each value of the argument that is a list.

    `bound` is the name of a function of `theory`, or a function of the same arguments; `read` takes
    the number that is drawn out of what it returns.
    """

    def __init__(
        self,
        bound: str | Callable[..., Any],
        main: str,
        places: list[Any],
        symbol: str,
        *,
        read: Callable[[Any], float] = float,
        style: str = "-",
        **law: Any,
    ) -> None:
        self.bound, self.main, self.places, self.symbol = bound, main, places, symbol
        self.read, self.style, self.law = read, style, law
        ((self.varied, self.choices),) = [(k, v) for k, v in law.items() if isinstance(v, list)]

    def at(self, **arguments: Any) -> float:
        bound = getattr(theory, self.bound) if isinstance(self.bound, str) else self.bound
        return self.read(bound(**arguments))

    def draw(self, panel: Axes) -> None:
        for colour, choice in zip(COLOURS, self.choices, strict=False):
            law = self.law | {self.varied: choice}
            values = [self.at(**law, **{self.main: place}) for place in self.places]
            label = f"{self.symbol} = {power(choice)}" if self.style == "-" else None
            panel.plot(self.places, values, self.style, color=colour, label=label)

    def solve(self, value: float, choice: Any, *between: float) -> float:
        """Where the line of one choice has the value."""
        law = self.law | {self.varied: choice} | ({"between": between} if between else {})
        return theory.solve(self.main, self.at, value=value, **law)


class Plot(NamedTuple):
    """One figure: its words, its curves, what is drawn below and beside them, and its ring.

    `ring` is (value, choice), and the two ends of an interval for a real argument: the place where
    the first curve, at that choice, has the value.
    """

    title: str
    source: str
    across: str
    up: str
    curves: tuple[Curve, ...] = ()
    ring: tuple[Any, ...] = ()
    observed: Callable[[Axes], None] | None = None
    beside: Callable[[Axes], None] | None = None
    axes: dict[str, Any] = {}

    def draw(self, panel: Axes, observed: bool = True) -> None:
        panel.set(xscale="log", yscale="log", xlabel=self.across)
        if self.observed and observed:
            self.observed(panel)
        for curve in self.curves:
            curve.draw(panel)
        panel.set(**self.axes)
        if self.beside:
            self.beside(panel)
        if self.ring:
            curve = self.curves[0]
            ring(panel, curve.solve(*self.ring), self.ring[0], f"solve: {curve.main}")


def save(plot: Plot, path: Path) -> Path:
    """Draw one figure, 420 pixels wide; equal bytes at every run of one Matplotlib."""
    with rc_context(STYLE):
        picture = Figure(figsize=(4.375, 3.5))
        panel = picture.add_axes((0.15, 0.27, 0.83, 0.58))
        plot.draw(panel)
        picture.text(0.01, 0.945, plot.title, fontsize=9.5, fontweight="bold")
        picture.text(0.01, 0.885, plot.source, fontsize=8, color="#555555")
        picture.text(0.012, 0.56, plot.up, rotation=90, ha="left", va="center")
        for axis in (panel.xaxis, panel.yaxis):
            plain_ticks(axis)
        keys = [line for line in panel.get_lines() if not line.get_label().startswith("_")]
        marks = [line for line in keys if line.get_linestyle() == "None"]
        lines = [line for line in keys if line not in marks]
        for height, row in ((0.06, lines), (0.0, marks)):
            picture.legend(handles=row, loc="lower left", bbox_to_anchor=(0.13, height), ncols=4)
        picture.savefig(path, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    path.write_text(shorten(path.read_text("utf-8")), "utf-8")
    return path


def shorten(svg: str) -> str:
    """Half the length: hundredths of a point are enough, and one rule gives the font."""
    font = re.search(r"font-family: [^;\"]*", svg)[0]
    svg = svg.replace(f"; {font}", "").replace("<style", f"<style>*{{{font}}}</style><style", 1)
    svg = re.sub(r' transform="rotate\(-0 [^"]*"', "", svg)
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r"\d+\.\d{3,}", rounded, tag[0]), svg)
    return re.sub(r"\s*\n\s*", "\n", re.sub(r" \n(?=[LMQCz])", " ", svg))


def rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}"


def plain_ticks(axis: Axis) -> None:
    """Powers of ten in letters of the font; 2 and 5 between them on a short axis."""
    if axis.get_scale() != "log":
        return
    low, high = axis.get_view_interval()
    subs = (1.0, 2.0, 5.0) if high / low < 60 else (1.0,)
    axis.set_major_locator(LogLocator(subs=subs, numticks=8))
    axis.set_major_formatter(FuncFormatter(power))
    axis.set_minor_locator(NullLocator())


def power(value: float, _=None) -> str:
    """1000 as 10³; numbers near 1 as they are."""
    if 0.0009 < value < 1001:
        return f"{value:g}"
    exponent = math.floor(math.log10(value) + 1e-9)
    factor = value / 10**exponent
    lead = "" if abs(factor - 1) < 1e-6 else f"{factor:g}·"
    return f"{lead}10{str(exponent).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def counts(low: float, high: float) -> list[int]:
    """Whole numbers, evenly spread on a log axis."""
    return sorted({round(value) for value in np.geomspace(low, high, 30)})


def steps(low: float, high: float) -> list[float]:
    return np.geomspace(low, high, 30).tolist()


def ring(panel: Axes, across: float, up: float, label: str) -> None:
    """Mark the place that an inverse found. Comes last: it keeps the limits."""
    limits = panel.get_xlim(), panel.get_ylim()
    left, low = limits[0][0], limits[1][0]
    panel.plot([left, across, across], [up, up, low], ":", color="#333333", linewidth=0.9)
    panel.plot(across, up, "o", mfc="white", mec="#222222", ms=5, ls="", label=label)
    panel.set(xlim=limits[0], ylim=limits[1])


def dots(panel, across, values, colour="#444444", label="observed") -> None:
    """Observed values, at one place or each at its own: a path of round caps, short in the file."""
    places, values = (array.ravel() for array in np.broadcast_arrays(across, values))
    segments = np.stack([0.998 * places, 1.002 * places, places * np.nan], axis=1).ravel()
    style = {"alpha": 0.5, "linewidth": 2.4, "solid_capstyle": "round", "snap": False}
    panel.plot(segments, np.repeat(values, 3), color=colour, **style)
    if label not in panel.get_legend_handles_labels()[1]:
        panel.plot([], [], "o", color="#444444", alpha=0.6, ms=3, mew=0, label=label)


def coloured(choices: list[Any]) -> Iterator[tuple[str, Any]]:
    return zip(COLOURS, choices, strict=False)
