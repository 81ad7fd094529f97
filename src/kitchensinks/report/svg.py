"""Small pictures as SVG text: bars, lines and points, in the colours of the page around them.

All text comes from data and is escaped. Colours are classes of the page's style sheet, so that
they follow its light and dark variants.
"""

import math
from collections.abc import Sequence
from html import escape

_WIDTH, _HEIGHT = 560, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 12, 10, 44
# Lines of a picture, from dark to light and with different dashes.
_KINDS = 4


def number(value: float) -> str:
    """A number to four digits, or all before the point; with an exponent where it is very large.

    >>> number(0.0123456), number(-35740.4), number(1.5e12)
    ('0.01235', '−35,740', '1.5e+12')
    """
    whole = 1e4 <= abs(value) < 1e9
    return (f"{value:,.0f}" if whole else f"{value:.4g}").replace("-", "−", value < 0)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from low to high, at most so many: multiples of 1, 2 or 5 times a power of ten.

    >>> ticks(78.8, 692.4), ticks(-0.03, 1.03)
    ([200.0, 400.0, 600.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    """
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(power * one for one in (1, 2, 5, 10, 20) if (high - low) / (power * one) < most)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [round(k * step, 12 - math.floor(math.log10(step))) for k in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers between the powers of ten of low and high, which are logarithms.

    >>> log_ticks(-1.9, -0.2), log_ticks(0.0, 4.2)
    ([0.02, 0.05, 0.1, 0.2, 0.5], [1.0, 10.0, 100.0, 1000.0, 10000.0])
    """
    powers = range(math.floor(low), math.ceil(high) + 1)
    for factors in ((1,), (1, 2, 5)):
        found = [float(f"{one}e{k}") for k in powers for one in factors]
        found = [value for value in found if low <= math.log10(value) <= high]
        if len(found) >= 3:
            return found
    return ticks(10.0**low, 10.0**high)


def shortened(text: str, length: int) -> str:
    """Text of at most so many characters."""
    return text if len(text) <= length else text[: length - 1] + "…"


def _drawn(label: str, width: int, height: int, parts: list[str]) -> str:
    body = "".join(parts)
    return (
        f'<svg role="img" viewBox="0 0 {width} {height}" style="max-width:{width}px" '
        f'xmlns="http://www.w3.org/2000/svg"><title>{escape(label)}</title>{body}</svg>'
    )


def _text(x: float, y: float, text: str, anchor: str = "middle", turn: bool = False) -> str:
    turned = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turn else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turned}>{escape(text)}</text>'


def _line(kind: str, *ends: float) -> str:
    x1, y1, x2, y2 = ends
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _path(kind: str, places: Sequence[tuple[float, float]]) -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return f'<polyline class="{kind}" points="{points}"/>'


def _dot(kind: str, x: float, y: float, radius: int) -> str:
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'


def bars(label: str, names: Sequence[str], values: Sequence[float], errors: Sequence[float]) -> str:
    """A horizontal bar for each name, with a line of one standard error to both sides."""
    low = min([0.0, *(v - e for v, e in zip(values, errors, strict=True))])
    high = max([0.0, *(v + e for v, e in zip(values, errors, strict=True))])
    room, left = (high - low) or 1.0, 190
    width = _WIDTH - left - 80

    def at(value: float) -> float:
        return left + width * (value - low) / room

    parts = []
    for place, (name, value, error) in enumerate(zip(names, values, errors, strict=True)):
        y = 6 + 24 * place
        start, stop = sorted([at(0.0), at(value)])
        parts.append(_text(left - 8, y + 13, shortened(name, 22), "end"))
        parts.append(
            f'<rect class="bar" x="{start:.1f}" y="{y}" width="{max(stop - start, 0.5):.1f}" '
            'height="17"/>'
        )
        if error:
            parts.append(_line("error", at(value - error), y + 8.5, at(value + error), y + 8.5))
        parts.append(_text(_WIDTH - 4, y + 13, number(value), "end"))
    return _drawn(label, _WIDTH, 24 * len(names) + 10, parts)


class _Axes:
    """Numbers to places, with the frame and the marks of both axes."""

    def __init__(self, xs: Sequence[float], ys: Sequence[float], log: bool = False) -> None:
        self.log = log and min(ys, default=0.0) > 0.0
        heights = [math.log10(y) for y in ys] if self.log else list(ys)
        self.x, self.y = _range(xs), _range(heights)

    def at(self, x: float, y: float) -> tuple[float, float]:
        y = math.log10(y) if self.log else y
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        up = (y - self.y[0]) / (self.y[1] - self.y[0])
        return (
            _LEFT + (_WIDTH - _LEFT - _RIGHT) * across,
            _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * up,
        )

    def parts(
        self, x_label: str, y_label: str, marks: Sequence[tuple[float, str]] | None = None
    ) -> list[str]:
        """Frame, marks and labels; marks: of the horizontal axis, None: round numbers."""
        bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
        found = [
            _line("axis", _LEFT, bottom, right, bottom),
            _line("axis", _LEFT, _TOP, _LEFT, bottom),
        ]
        for value in (log_ticks if self.log else ticks)(*self.y):
            _, y = self.at(self.x[0], value)
            found += [
                _line("grid", _LEFT, y, right, y),
                _text(_LEFT - 6, y + 4, number(value), "end"),
            ]
        if marks is None:
            marks = [(value, number(value)) for value in ticks(*self.x)]
        for place, text in marks:
            x, _ = self.at(place, 10.0 ** self.y[0] if self.log else self.y[0])
            # Seven pixels a letter: a long text ends at the edge of the picture.
            x = min(x, _WIDTH - 3.5 * len(text))
            found.append(_text(x, bottom + 16, text))
        found.append(_text((_LEFT + right) / 2, _HEIGHT - 8, shortened(x_label, 60)))
        return [*found, _text(14, (_TOP + bottom) / 2, shortened(y_label, 34), turn=True)]


def _range(values: Sequence[float]) -> tuple[float, float]:
    """The range of numbers, a little wider, and never empty."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if high <= low:
        low, high = low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
    return low - 0.03 * (high - low), high + 0.03 * (high - low)


def points(
    label: str,
    xs: Sequence[float],
    ys: Sequence[float],
    x_label: str,
    y_label: str,
    diagonal: bool = False,
    joined: bool = False,
    log: bool = False,
    best: int | None = None,
) -> str:
    """Points, joined by a line or not; diagonal: where both are equal; best: one point marked."""
    both = [*xs, *ys] if diagonal else None
    axes = _Axes(both or xs, both or ys, log)
    parts = axes.parts(x_label, y_label)
    if diagonal and both:
        low, high = min(both), max(both)
        parts.append(_line("ideal", *axes.at(low, low), *axes.at(high, high)))
    places = [axes.at(x, y) for x, y in zip(xs, ys, strict=True)]
    if joined:
        parts.append(_path("line0", places))
    for index, (x, y) in enumerate(places):
        parts.append(_dot("best", x, y, 6) if index == best else _dot("point", x, y, 3))
    return _drawn(label, _WIDTH, _HEIGHT, parts)


def lines(
    label: str,
    xs: Sequence[float | str],
    series: dict[str, list[float]],
    x_label: str,
    y_label: str,
    ordered: bool = False,
) -> str:
    """Lines over numbers, or points over words, with a legend where there are several.

    ordered: the words have an order, as dates do: lines join them, and three are named.
    """
    words = any(isinstance(x, str) for x in xs)
    across = [float(k) if words else float(x) for k, x in enumerate(xs)]
    marks = None
    if words:
        shown = sorted({0, len(xs) // 2, len(xs) - 1}) if ordered else list(range(len(xs)))
        length = max(3, 80 // max(1, len(shown)))
        marks = [(across[k], shortened(str(xs[k]), length)) for k in shown]
    axes = _Axes(across, [y for ys in series.values() for y in ys])
    parts = axes.parts(x_label, y_label, marks)
    ends = []
    for index, (name, ys) in enumerate(series.items()):
        places = [axes.at(x, y) for x, y in zip(across, ys, strict=True)]
        if ordered or not words:
            parts.append(_path(f"line{index % _KINDS}", places))
        parts += [_dot("point", x, y, 3) for x, y in places]
        ends.append((places[-1][1], name))
    return _drawn(label, _WIDTH, _HEIGHT, parts + (_at_ends(ends) if len(series) > 1 else []))


def _at_ends(ends: list[tuple[float, str]]) -> list[str]:
    """The names of lines where these end, at their heights but a line of text apart."""
    parts, lowest = [], 0.0
    for y, name in sorted(ends):
        lowest = max(y - 6, lowest + 14)
        parts.append(_text(_WIDTH - _RIGHT - 4, lowest, shortened(name, 30), "end"))
    return parts
