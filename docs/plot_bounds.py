"""Draw every bound of kitchensinks.papers.theory for docs/bounds.md: `python docs/plot_bounds.py`.

One function draws one figure, saved under its name in docs/figures. FIGURES tells which bounds each
shows; an inverse is a ring on the curve of its bound. Dots are errors observed with fixed seeds, of
the weights that the proofs construct.
"""

import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from scipy.special import chndtr, gammaincc, ndtri
from threadpoolctl import threadpool_limits

from kitchensinks.papers import theory

FOLDER = Path(__file__).parent / "figures"
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


class Bound(NamedTuple):
    """One figure: the functions it shows, its words, and what draws it."""

    functions: tuple[str, ...]
    title: str
    source: str
    across: str
    up: str
    draw: Callable[[Axes], None]


FIGURES: dict[str, Bound] = {}


def figure(*functions: str, title: str, source: str, across: str, up: str):
    """Enter the decorated function into FIGURES."""

    def enter(draw):
        FIGURES[draw.__name__] = Bound(functions, title, source, across, up, draw)
        return draw

    return enter


def save(name: str, folder: Path) -> Path:
    """Draw one figure, 420 pixels wide; equal bytes at every run of one Matplotlib."""
    bound, path = FIGURES[name], folder / f"{name}.svg"
    with rc_context(STYLE):
        picture = Figure(figsize=(4.375, 3.5))
        panel = picture.add_axes((0.15, 0.27, 0.83, 0.58))
        panel.set(xscale="log", yscale="log", xlabel=bound.across)
        bound.draw(panel)
        picture.text(0.01, 0.945, bound.title, fontsize=9.5, fontweight="bold")
        picture.text(0.01, 0.885, bound.source, fontsize=8, color="#555555")
        picture.text(0.012, 0.56, bound.up, rotation=90, ha="left", va="center")
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


def plain_ticks(axis) -> None:
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


def curves(panel, bound, main, places, symbol, style="-", **arguments) -> None:
    """`bound` against its argument `main`: a curve for each value of the one that is a list."""
    ((name, choices),) = [item for item in arguments.items() if isinstance(item[1], list)]
    for colour, choice in zip(COLOURS, choices, strict=False):
        values = [bound(**(arguments | {name: choice, main: place})) for place in places]
        label = f"{symbol} = {power(choice)}" if style == "-" else None
        panel.plot(places, values, style, color=colour, label=label)


def ring(panel, across, up, label) -> None:
    """Where an inverse says that the bound has this value. Comes last: it keeps the limits."""
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


# What the proofs construct. Each draw has a row of `SEEDS`; inputs lie in a disc or on a sphere.

SEEDS = 20
COLUMNS = [10, 30, 100, 300, 1000, 3000]


def ball(rng, count, dimension, radius=1.0):
    """Points uniform in a ball."""
    return radius * sphere(rng, count, dimension) * rng.random((count, 1)) ** (1 / dimension)


def sphere(rng, count, dimension):
    points = rng.standard_normal((count, dimension))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def root_mean_square(values, axis=-1):
    return np.sqrt(np.square(values).mean(axis=axis))


def cosine_sums(n_features, weight_bound, rows):
    """For f(x) = (C/2)·exp(-x²/2): the weight C·cos(b)/K on cos(wx + b)."""
    rng = np.random.default_rng(n_features)
    frequencies = rng.standard_normal((SEEDS, n_features, 1))
    shifts = rng.uniform(-np.pi, np.pi, (SEEDS, n_features, 1))
    return weight_bound * (np.cos(shifts) * np.cos(frequencies * rows + shifts)).mean(axis=1)


def sine_distances(n_features, radius):
    """|f̂ - f| for ½(k(x - a) - k(x + a)), k Gaussian: the weight sin(θ'a)/K on sin(θ'x)."""
    rng = np.random.default_rng(n_features)
    rows, anchor = ball(rng, 100, 2, radius), np.array([0.6, 0.8])
    near, far = (np.exp(-((rows - side * anchor) ** 2).sum(axis=1) / 2) for side in (1, -1))
    draws = (rng.standard_normal((2, n_features)) for _ in range(SEEDS))
    sums = [np.sin(rows @ theta) @ np.sin(anchor @ theta) / n_features for theta in draws]
    return np.abs(sums - (near - far) / 2)


def shifted_cosine_distances(n_features, radius):
    """|f̂ - f| for ½k(x): the weight cos(b)/K on cos(ω'x + b)."""
    rng = np.random.default_rng(n_features)
    rows, sums = ball(rng, 100, 2, radius), []
    for _ in range(SEEDS):
        omega, shift = rng.standard_normal((2, n_features)), rng.uniform(-np.pi, np.pi, n_features)
        sums.append(np.cos(rows @ omega + shift) @ np.cos(shift) / n_features)
    return np.abs(sums - np.exp(-(rows**2).sum(axis=1) / 2) / 2)


def maxout_units(rng, rows, n_units, pool):
    vectors = rng.standard_normal((rows.shape[1], n_units * pool))
    return (rows @ vectors).reshape(len(rows), n_units, pool).max(axis=2)


def largest_normals(rng, pool, count):
    """The largest of `pool` normals, drawn from its distribution Φ^q."""
    return -ndtri(-np.expm1(np.log(rng.random(count)) / pool))


def worst_distances(kernel, features, mu, runs=10):
    """Largest distance from the unit ball of the kernel's space to ridge fits on drawn features.

    `features()` draws a matrix (rows, N); the largest over the ball is an operator norm.
    """
    n_rows = len(kernel)
    values, vectors = np.linalg.eigh(kernel / n_rows)
    unit_ball = vectors * np.sqrt(np.maximum(values, 0))
    for _ in range(runs):
        drawn = features()
        gram = drawn @ drawn.T / (n_rows * drawn.shape[1])
        yield mu * np.linalg.norm(np.linalg.solve(gram + mu * np.eye(n_rows), unit_ball), 2)


def relu_kernel(rows):
    """E ReLU(ω·x)ReLU(ω·x') for ω uniform on the sphere; the rows end in 1."""
    lengths = np.linalg.norm(rows, axis=1)
    cosine = np.clip(rows @ rows.T / np.outer(lengths, lengths), -1, 1)
    angle = np.arccos(cosine)
    shape = np.sin(angle) + (np.pi - angle) * cosine
    return np.outer(lengths, lengths) * shape / (2 * rows.shape[1] * np.pi)


def relu_sum(outer, inner, rows):
    return np.maximum(0, rows @ inner[:, :-1].T + inner[:, -1]) @ outer


def drawn_sum(rng, outer, inner, n_units, rows):
    """A sum of units drawn from |ω| d|μ|(ω), with the weights ±R/N."""
    lengths = np.linalg.norm(inner, axis=1)
    shares = np.abs(outer) * lengths
    drawn = rng.choice(len(outer), n_units, p=shares / shares.sum())
    weights = np.sign(outer[drawn]) * shares.sum() / n_units
    return relu_sum(weights, inner[drawn] / lengths[drawn, None], rows)


def relu_function(rng, variation):
    """Weights of 40 units in the plane, in Λ_R for R = variation."""
    outer, inner = rng.standard_normal(40), rng.standard_normal((40, 3))
    return outer * variation / theory.relu_variation(outer=outer, inner=inner), inner


def exact_freedom(eigenvalues, mus):
    return [(eigenvalues / (eigenvalues + mu)).sum() for mu in mus]


def interval_eigenvalues(bandwidth):
    """Of the Gaussian kernel, for inputs uniform on [-1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(80)
    root = np.sqrt(weights / 2)
    kernel = np.exp(-((nodes[:, None] - nodes) ** 2) / (2 * bandwidth**2))
    return np.maximum(np.linalg.eigvalsh(root[:, None] * kernel * root)[::-1], 0)


# Weighted Sums of Random Kitchen Sinks


@figure(
    "ball_mean_error",
    "ball_mean_draws",
    title="Mean of K vectors of a ball: near its expectation",
    source="kitchen sinks, Lemma 4; radius M = 1",
    across="vectors averaged, K",
    up="distance to the expectation",
)
def sinks_lemma_4(panel):
    for n_draws in COLUMNS:
        vectors = sphere(np.random.default_rng(n_draws), SEEDS * n_draws, 10)
        means = vectors.reshape(SEEDS, n_draws, 10).mean(axis=1)
        dots(panel, n_draws, np.linalg.norm(means, axis=1))
    law, places = {"radius": 1.0, "delta": [0.5, 0.05, 0.001]}, counts(10, 3000)
    curves(panel, theory.ball_mean_error, "n_draws", places, "δ", **law)
    n_draws = theory.ball_mean_draws(radius=1.0, error=0.2, delta=0.05)
    ring(panel, n_draws, 0.2, "ball_mean_draws")


@figure(
    "sinks_l2_error",
    "sinks_l2_features",
    title="Distance to a sum of K random features",
    source="kitchen sinks, Lemma 1; δ = 0.05",
    across="features, K",
    up="mean-square distance ‖f̂ − f*‖",
)
def sinks_lemma_1(panel):
    rows, bounds = np.random.default_rng(0).standard_normal(40), [0.1, 1.0, 10.0]
    for colour, weight_bound in zip(COLOURS, bounds, strict=False):
        target = weight_bound / 2 * np.exp(-(rows**2) / 2)
        for n_features in COLUMNS:
            sums = cosine_sums(n_features, weight_bound, rows)
            dots(panel, n_features, root_mean_square(sums - target), colour)
    law, places = {"weight_bound": bounds, "delta": 0.05}, counts(10, 3000)
    curves(panel, theory.sinks_l2_error, "n_features", places, "C", **law)
    n_features = theory.sinks_l2_features(weight_bound=1.0, error=0.1, delta=0.05)
    ring(panel, n_features, 0.1, "sinks_l2_features")


@figure(
    "sinks_approximation_risk",
    "sinks_approximation_features",
    title="Risk that a sum of K random features adds",
    source="kitchen sinks, Lemma 2; C = 3, δ = 0.05; observed at L = 1",
    across="features, K",
    up="added risk |R[f̂] − R[f*]|",
)
def sinks_lemma_2(panel):
    rows = np.random.default_rng(1).standard_normal(40)
    labels, target = np.sign(rows + 0.3), 1.5 * np.exp(-(rows**2) / 2)

    def risk(scores):
        return np.logaddexp(0, -labels * scores).mean(axis=-1)

    for n_features in COLUMNS:
        added = np.abs(risk(cosine_sums(n_features, 3.0, rows)) - risk(target))
        dots(panel, n_features, added, COLOURS[1])
    law, places = {"lipschitz": [0.25, 1.0, 4.0], "weight_bound": 3.0}, counts(10, 3000)
    curves(panel, theory.sinks_approximation_risk, "n_features", places, "L", delta=0.05, **law)
    n_features = theory.sinks_approximation_features(
        **law | {"lipschitz": 1.0}, error=0.5, delta=0.05
    )
    ring(panel, n_features, 0.5, "sinks_approximation_features")


@figure(
    "sinks_estimation_error",
    "sinks_estimation_rows",
    title="Gap between true and empirical risk, all sums at once",
    source="kitchen sinks, Lemma 3; L = 1, c(0) = 0, δ = 0.05",
    across="rows, m",
    up="largest gap |R[f] − R_emp[f]|",
)
def sinks_lemma_3(panel):
    bounds = [0.1, 1.0, 10.0]
    for n_rows in COLUMNS:
        rng = np.random.default_rng(n_rows)
        products = rng.choice([-1.0, 1.0], (SEEDS, n_rows, 5))  # label times feature
        gap = np.abs(products.mean(axis=1)).mean(axis=1)
        for colour, weight_bound in zip(COLOURS, bounds, strict=False):
            dots(panel, n_rows, weight_bound * gap, colour)
    law, places = {"lipschitz": 1.0, "loss_at_zero": 0.0, "delta": 0.05}, counts(10, 3000)
    curves(panel, theory.sinks_estimation_error, "n_rows", places, "C", weight_bound=bounds, **law)
    n_rows = theory.sinks_estimation_rows(weight_bound=1.0, error=0.2, **law)
    ring(panel, n_rows, 0.2, "sinks_estimation_rows")


SINKS = {"lipschitz": 1.0, "weight_bound": 1.0, "loss_at_zero": 1.0, "delta": 0.05}


@figure(
    "sinks_excess_risk",
    "sinks_excess_risk_features",
    title="Excess risk of Algorithm 1: rows set the floor",
    source="kitchen sinks, Theorem 1; L = C = c(0) = 1, δ = 0.05",
    across="features, K",
    up="excess risk R[f̂] − min R[f]",
)
def sinks_theorem_1_features(panel):
    law, places = {"n_rows": [10**3, 10**5, 10**7]}, counts(10, 10**7)
    curves(panel, theory.sinks_excess_risk, "n_features", places, "m", **law, **SINKS)
    n_features = theory.sinks_excess_risk_features(n_rows=10**5, error=0.1, **SINKS)
    ring(panel, n_features, 0.1, "sinks_excess_risk_features")


@figure(
    "sinks_excess_risk",
    "sinks_excess_risk_rows",
    title="Excess risk of Algorithm 1: features set the floor",
    source="kitchen sinks, Theorem 1; L = C = c(0) = 1, δ = 0.05",
    across="rows, m",
    up="excess risk R[f̂] − min R[f]",
)
def sinks_theorem_1_rows(panel):
    law, places = {"n_features": [10**2, 10**4, 10**6]}, counts(10**3, 10**9)
    curves(panel, theory.sinks_excess_risk, "n_rows", places, "K", **law, **SINKS)
    n_rows = theory.sinks_excess_risk_rows(n_features=10**4, error=0.05, **SINKS)
    ring(panel, n_rows, 0.05, "sinks_excess_risk_rows")


# Uniform Approximation of Functions with Random Bases


@figure(
    "bases_l2_error",
    "bases_l2_features",
    title="Mean-square distance to a sum of K random features",
    source="random bases, Theorem 3.1; ‖f‖ₚ = 1",
    across="features, K",
    up="mean-square distance ‖f̂ − f‖",
)
def bases_theorem_3_1(panel):
    for n_features in COLUMNS:
        dots(panel, n_features, root_mean_square(sine_distances(n_features, 1.0)))
    law, places = {"norm": 1.0, "delta": [0.5, 0.05, 0.001]}, counts(10, 3000)
    curves(panel, theory.bases_l2_error, "n_features", places, "δ", **law)
    n_features = theory.bases_l2_features(norm=1.0, error=0.2, delta=0.05)
    ring(panel, n_features, 0.2, "bases_l2_features")


PLANE = {"norm": 1.0, "second_moment": 2.0, "delta": 0.05}


@figure(
    "bases_uniform_error",
    "bases_uniform_features",
    title="Largest distance to a sum of K random features",
    source="random bases, Theorem 3.2; ‖f‖ₚ = L = 1, E θ'θ = 2, δ = 0.05",
    across="features, K",
    up="largest distance sup |f̂ − f|",
)
def bases_theorem_3_2(panel):
    for colour, radius in zip(COLOURS, [0.5, 2.0, 8.0], strict=False):
        for n_features in COLUMNS:
            dots(panel, n_features, sine_distances(n_features, radius).max(axis=1), colour)
    law, places = {"lipschitz": 1.0, "radius": [0.5, 2.0, 8.0]}, counts(10, 3000)
    curves(panel, theory.bases_uniform_error, "n_features", places, "B", **law, **PLANE)
    n_features = theory.bases_uniform_features(lipschitz=1.0, radius=2.0, error=0.5, **PLANE)
    ring(panel, n_features, 0.5, "bases_uniform_features")


@figure(
    "bases_cosine_error",
    "bases_cosine_features",
    title="Largest distance to a sum of K cosines",
    source="random bases, Example a; ‖f‖ₚ = 1, E‖ω‖² = 2, δ = 0.05",
    across="cosines, K",
    up="largest distance sup |f̂ − f|",
)
def bases_example_a(panel):
    for colour, radius in zip(COLOURS, [0.5, 2.0, 8.0], strict=False):
        for n_features in COLUMNS:
            largest = shifted_cosine_distances(n_features, radius).max(axis=1)
            dots(panel, n_features, largest, colour)
    law, places = {"radius": [0.5, 2.0, 8.0]}, counts(10, 3000)
    curves(panel, theory.bases_cosine_error, "n_features", places, "B", **law, **PLANE)
    n_features = theory.bases_cosine_features(radius=2.0, error=0.5, **PLANE)
    ring(panel, n_features, 0.5, "bases_cosine_features")


# Random Maxout Features


@figure(
    "max_second_moment",
    title="Mean square of the largest of q normals",
    source="maxout, Theorem 1; the paper prints log q",
    across="projections in a unit, q",
    up="mean square σ²(q)",
)
def maxout_theorem_1(panel):
    places = counts(1, 10**6)
    for pool in [10**exponent for exponent in range(7)]:
        draws = largest_normals(np.random.default_rng(pool), pool, (SEEDS, 500))
        dots(panel, pool, (draws**2).mean(axis=1), label="observed")
    panel.plot(
        places, [theory.max_second_moment(pool=q) for q in places], color=COLOURS[0], label="σ²(q)"
    )
    panel.plot(places, 2 * np.log(places), "--", color=COLOURS[1], label="2 log q")
    panel.plot(places, np.log(places), "--", color=COLOURS[2], label="log q")
    panel.set(yscale="linear")


@figure(
    "maxout_sup_bound",
    "maxout_sup_bound_explicit",
    title="Largest value of a maxout unit over all inputs",
    source="maxout, Lemma 2; d = 200, diam(M) = 2, δ = 0.05; dashed: C₁ = 1",
    across="Assouad dimension of the inputs, d_M",
    up="largest value sup |φ(x, W)|",
)
def maxout_lemma_2(panel):
    pools = [2, 16, 256]
    for colour, pool in zip(COLOURS, pools, strict=False):
        for dimension in range(1, 8):  # 2^k points have dimension k at most
            rng = np.random.default_rng(dimension)
            units = maxout_units(rng, sphere(rng, 2**dimension, 200), 12, pool)
            dots(panel, dimension, np.abs(units).max(axis=0), colour)
    law = {"pool": pools, "n_inputs": 200, "diameter": 2.0, "delta": 0.05}
    main, places = "intrinsic_dimension", np.linspace(0.5, 8, 50).tolist()
    curves(panel, theory.maxout_sup_bound_explicit, main, places, "q", **law)
    curves(panel, theory.maxout_sup_bound, main, places, "q", "--", constant=1.0, **law)
    panel.set(xscale="linear", yscale="linear", ylim=(0, None))


@figure(
    "maxout_sup_tail",
    title="Chance that a unit exceeds the bound of Lemma 2",
    source="maxout, Lemma 2; δ = 0.01",
    across="dimension of the inputs, d",
    up="chance of failure δ + q·exp(−d/8)",
)
def maxout_lemma_2_tail(panel):
    law, places = {"pool": [2, 16, 256], "delta": 0.01}, list(range(1, 121, 2))
    curves(panel, theory.maxout_sup_tail, "n_inputs", places, "q", **law)
    panel.axhline(1, color="#888888", linewidth=0.8, linestyle="--", label="no promise")
    panel.set(xscale="linear")


@figure(
    "maxout_norm_bound",
    title="Mean-square size that a maxout unit rarely exceeds",
    source="in place of maxout, Lemma 2; observed: 20,000 units",
    across="chance to exceed it, tail",
    up="mean-square size ‖φ(·, W)‖",
)
def maxout_size(panel):
    pools = [2, 16, 256]
    for colour, pool in zip(COLOURS, pools, strict=False):
        sizes = np.abs(largest_normals(np.random.default_rng(pool), pool, 20_000))
        tails = np.array([0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001])
        dots(panel, tails, np.quantile(sizes, 1 - tails), colour)
    curves(panel, theory.maxout_norm_bound, "tail", steps(1e-6, 0.6), "q", pool=pools)
    panel.set(yscale="linear", ylim=(0, None))


def maxout_law(tail):
    size = theory.maxout_norm_bound(pool=4, tail=tail)
    return {"pool": 4, "unit_bound": size, "tail": tail, "delta": 0.05}


@figure(
    "maxout_l2_error",
    "maxout_l2_units",
    title="Distance to a sum of m maxout units",
    source="maxout, Lemma 3; C = 1, q = 4, δ = 0.05",
    across="units, m",
    up="mean-square distance ‖f̂ − f‖",
)
def maxout_lemma_3(panel):
    rows = sphere(np.random.default_rng(0), 12, 3)
    for n_units in COLUMNS:  # the weight 1/m stands for the constant E max of 4 normals
        rng, size, errors = (
            np.random.default_rng(n_units),
            maxout_law(1 / n_units)["unit_bound"],
            [],
        )
        for _ in range(SEEDS):
            units = maxout_units(rng, rows, n_units, 4)
            units[:, root_mean_square(units, axis=0) > size] = 0
            errors.append(root_mean_square(units.mean(axis=1) - 1.0293753730039641))
        dots(panel, n_units, errors, COLOURS[2])
    places = counts(10, 10**6)
    chances = {
        "tail 0.01": lambda m: 0.01,
        "tail 10⁻⁴": lambda m: 1e-4,
        "tail 1/m": lambda m: 1 / m,
    }
    for colour, (label, tail) in zip(COLOURS, chances.items(), strict=False):
        laws = [{"n_units": m, "weight_bound": 1.0, **maxout_law(tail(m))} for m in places]
        panel.plot(
            places, [theory.maxout_l2_error(**law) for law in laws], color=colour, label=label
        )
    n_units = theory.maxout_l2_units(weight_bound=1.0, error=0.1, **maxout_law(1e-4))
    ring(panel, n_units, 0.1, "maxout_l2_units")


@figure(
    "maxout_approximation_risk",
    title="Risk that a sum of m maxout units adds",
    source="maxout, Lemma 4; C = 1, q = 4, δ = 0.05, tail = 10⁻⁶",
    across="units, m",
    up="added risk R[f̂] − R[f]",
)
def maxout_lemma_4(panel):
    law = {"lipschitz": [0.25, 1.0, 4.0], "weight_bound": 1.0, **maxout_law(1e-6)}
    curves(panel, theory.maxout_approximation_risk, "n_units", counts(10, 10**6), "L", **law)


@figure(
    "maxout_approximation_units",
    title="Units for a relative size ε of the approximation term",
    source="maxout, Theorem 2; M from maxout_norm_bound, tail = 0.001",
    across="relative size, ε",
    up="units, m",
)
def maxout_theorem_2(panel):
    def units(error, pool):
        size = theory.maxout_norm_bound(pool=pool, tail=0.001)
        return theory.maxout_approximation_units(unit_bound=size, error=error)

    curves(panel, units, "error", steps(0.01, 1), "q", pool=[2, 16, 256])


MAXOUT = {"lipschitz": 1.0, "weight_bound": 1.0, "loss_at_zero": 0.5, **maxout_law(1e-6)}


@figure(
    "maxout_excess_risk",
    "maxout_excess_risk_units",
    title="Excess risk of m maxout units: rows set the floor",
    source="maxout, Theorem 2; L = C = 1, q = 4, δ = 0.05, tail = 10⁻⁶",
    across="units, m",
    up="excess risk R[f̂] − min R[f]",
)
def maxout_theorem_2_units(panel):
    law, places = {"n_rows": [10**3, 10**5, 10**7]}, counts(10, 10**7)
    curves(panel, theory.maxout_excess_risk, "n_units", places, "N", **law, **MAXOUT)
    n_units = theory.maxout_excess_risk_units(n_rows=10**5, error=0.1, **MAXOUT)
    ring(panel, n_units, 0.1, "maxout_excess_risk_units")


@figure(
    "maxout_excess_risk",
    "maxout_excess_risk_rows",
    title="Excess risk of m maxout units: units set the floor",
    source="maxout, Theorem 2; L = C = 1, q = 4, δ = 0.05, tail = 10⁻⁶",
    across="rows, N",
    up="excess risk R[f̂] − min R[f]",
)
def maxout_theorem_2_rows(panel):
    law, places = {"n_units": [10**2, 10**4, 10**6]}, counts(100, 10**8)
    curves(panel, theory.maxout_excess_risk, "n_rows", places, "m", **law, **MAXOUT)
    n_rows = theory.maxout_excess_risk_rows(n_units=10**6, error=0.1, **MAXOUT)
    ring(panel, n_rows, 0.1, "maxout_excess_risk_rows")


# The thesis: how many features a kernel needs


@figure(
    "leverage_features",
    "leverage_of_features",
    title="Features that hold a kernel's unit ball to 2√μ",
    source="thesis, Theorem II.2",
    across="largest leverage, d_max(1, μ)",
    up="features, N",
)
def thesis_theorem_ii_2_features(panel):
    law, places = {"delta": [0.5, 0.05, 1e-6]}, steps(1, 10**4)
    curves(panel, theory.leverage_features, "leverage", places, "δ", **law)
    leverage = theory.leverage_of_features(n_features=10_000, delta=0.05)
    ring(panel, leverage, 10_000, "leverage_of_features")


@figure(
    "leverage_error",
    title="Distance to a target that those features guarantee",
    source="thesis, Theorem II.2; observed for N of leverage_features",
    across="regularisation, μ",
    up="distance ‖f − β·φ_N‖",
)
def thesis_theorem_ii_2_error(panel):
    rng = np.random.default_rng(0)
    rows, frequencies = rng.standard_normal((30, 1)), 2 * rng.standard_normal(300)
    listed = math.sqrt(2) * np.cos(rows * frequencies + rng.uniform(0, 2 * np.pi, 300))
    kernel = listed @ listed.T / 300  # drawn from a list, so that kernel and leverage are exact
    for mu in (0.3, 0.1, 0.03, 0.01, 0.003, 0.001):
        solved = np.linalg.solve(kernel / 30 + mu * np.eye(30), listed / 30)
        leverage = (listed * solved).sum(axis=0).max()
        n_features = theory.leverage_features(leverage=leverage, delta=0.05)

        def features(n_features=n_features):
            return listed[:, rng.integers(0, 300, n_features)]

        worst = np.array(list(worst_distances(kernel, features, mu)))
        for colour, norm in zip(COLOURS, [0.1, 1.0, 10.0], strict=False):
            dots(panel, mu, norm * worst, colour)
    law, places = {"norm": [0.1, 1.0, 10.0]}, steps(5e-4, 0.5)
    curves(panel, theory.leverage_error, "mu", places, "‖f‖", **law)


@figure(
    "bounded_features_error",
    "bounded_features_count",
    title="Distance that N bounded features guarantee",
    source="thesis, Theorem II.2, Corollary III.9; ‖f‖ = 1, δ = 0.05",
    across="features, N",
    up="distance ‖f − f_N‖",
)
def thesis_bounded_features(panel):
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((30, 1))
    kernel = np.exp(-((rows - rows.T) ** 2) / 2) / 2
    for n_features in (100, 300, 1000, 3000, 10_000):

        def features(n_features=n_features):
            shifts = rng.uniform(0, 2 * np.pi, n_features)
            return np.cos(rows * rng.standard_normal(n_features) + shifts)

        mu = 1 / theory.leverage_of_features(n_features=n_features, delta=0.05)
        dots(panel, n_features, list(worst_distances(kernel, features, mu)), COLOURS[1])
    law, places = {"norm": 1.0, "delta": 0.05}, counts(100, 10**6)
    bounds = {"feature_bound": [0.1, 1.0, 10.0]}
    curves(panel, theory.bounded_features_error, "n_features", places, "κ", **law, **bounds)
    n_features = theory.bounded_features_count(error=0.1, feature_bound=1.0, **law)
    ring(panel, n_features, 0.1, "bounded_features_count")


@figure(
    "polynomial_freedom",
    "polynomial_mu",
    title="Degrees of freedom: eigenvalues like a power",
    source="thesis, Lemma II.5; c₁ = 1",
    across="regularisation, μ",
    up="degrees of freedom, d(μ)",
)
def thesis_lemma_ii_5_polynomial(panel):
    for colour, exponent in zip(COLOURS, [2.0, 3.0, 6.0], strict=False):
        eigenvalues = np.arange(1.0, 300_001) ** -exponent
        mus = [0.3, 0.1, 1e-2, 1e-3, 1e-4]
        dots(panel, mus, exact_freedom(eigenvalues, mus), colour, "exact")
    law, places = {"scale": 1.0, "exponent": [2.0, 3.0, 6.0]}, steps(1e-5, 0.5)
    curves(panel, theory.polynomial_freedom, "mu", places, "c₂", **law)
    mu = theory.polynomial_mu(freedom=100.0, scale=1.0, exponent=2.0)
    ring(panel, mu, 100, "polynomial_mu")


@figure(
    "subexponential_freedom",
    "subexponential_mu",
    title="Degrees of freedom: eigenvalues like exp(−i^(1/d))",
    source="thesis, Lemma II.5; c₃ = c₄ = 1",
    across="regularisation, μ",
    up="degrees of freedom, d(μ)",
)
def thesis_lemma_ii_5_subexponential(panel):
    for colour, d in zip(COLOURS, [1, 2, 3], strict=False):
        law, largest = {"scale": 1.0, "rate": 1.0, "n_inputs": d}, 0.99 * math.exp(-(d**2))
        eigenvalues = np.exp(-(np.arange(1.0, 80.0**d) ** (1 / d)))
        mus = np.geomspace(1e-10, largest, 6)
        dots(panel, mus, exact_freedom(eigenvalues, mus), colour, "exact")
        places = steps(1e-10, largest)
        values = [theory.subexponential_freedom(mu=mu, **law) for mu in places]
        panel.plot(places, values, color=colour, label=f"d = {d}")
    mu = theory.subexponential_mu(freedom=1000.0, scale=1.0, rate=1.0, n_inputs=2)
    ring(panel, mu, 1000, "subexponential_mu")


@figure(
    "gaussian_eigenvalue",
    "widom_eigenvalue",
    title="Eigenvalues of the Gaussian kernel",
    source="in place of thesis, Lemma II.17 (dashed: no bound, C = 1)",
    across="rank, i",
    up="eigenvalue, λᵢ",
)
def thesis_lemma_ii_17(panel):
    bandwidths, places = [0.25, 0.5, 1.0], list(range(1, 31))

    def widom(index, bandwidth):
        height, decay = math.sqrt(2 * math.pi) * bandwidth, bandwidth**2 / 2
        law = {"density_bound": 0.5, "radius": 1.0, "n_inputs": 1, "constant": 1.0}
        return theory.widom_eigenvalue(index=index, height=height, decay=decay, **law)

    for colour, bandwidth in zip(COLOURS, bandwidths, strict=False):
        eigenvalues = interval_eigenvalues(bandwidth)[:30]
        shown = eigenvalues > 1e-14  # below it rounding decides
        dots(panel, np.array(places)[shown], eigenvalues[shown], colour, "exact")
    law = {"radius": 1.0, "n_inputs": 1, "bandwidth": bandwidths}
    curves(panel, theory.gaussian_eigenvalue, "index", places, "γ", **law)
    curves(panel, widom, "index", places, "γ", "--", bandwidth=bandwidths)
    panel.set(xscale="linear", ylim=(1e-15, 3))


@figure(
    "gaussian_freedom",
    title="Degrees of freedom of the Gaussian kernel in a ball",
    source="in place of thesis, Lemmas II.5 and II.17; ρ = γ = 1",
    across="regularisation, μ",
    up="degrees of freedom, d(μ)",
)
def thesis_gaussian_freedom(panel):
    for colour, d in zip(COLOURS, [1, 2, 3], strict=False):
        rows = sphere(np.random.default_rng(d), 300, d) * np.linspace(0.5, 1, 300)[:, None]
        squares = ((rows[:, None] - rows) ** 2).sum(axis=2)
        eigenvalues = np.maximum(np.linalg.eigvalsh(np.exp(-squares / 2) / 300), 0)
        mus = 10.0 ** -np.arange(1, 9)
        dots(panel, mus, exact_freedom(eigenvalues, mus), colour, "exact")
    law, places = {"radius": 1.0, "bandwidth": 1.0, "n_inputs": [1, 2, 3]}, steps(1e-8, 0.3)
    curves(panel, theory.gaussian_freedom, "mu", places, "d", **law)


# The thesis: support vector machines on random features

TARGET = {"norm": 1.0, "gap": 0.0, "delta": 0.05}


@figure(
    "polynomial_plan",
    title="Features for m rows: eigenvalues like a power",
    source="thesis, Theorem II.6; c₁ = 1, δ = 0.05",
    across="rows, m",
    up="optimised features, N",
)
def thesis_theorem_ii_6_polynomial(panel):
    def features(n_rows, exponent):
        plan = theory.polynomial_plan(n_rows=n_rows, scale=1.0, exponent=exponent, **TARGET)
        return plan.n_features

    curves(panel, features, "n_rows", counts(10**3, 10**9), "c₂", exponent=[2.0, 3.0, 6.0])


@figure(
    "subexponential_plan",
    title="Features for m rows: eigenvalues like exp(−i^(1/d))",
    source="thesis, Theorem II.6; c₃ = c₄ = 1, δ = 0.05",
    across="rows, m",
    up="optimised features, N",
)
def thesis_theorem_ii_6_subexponential(panel):
    def features(n_rows, n_inputs):
        law = {"scale": 1.0, "rate": 1.0, "n_inputs": n_inputs}
        return theory.subexponential_plan(n_rows=n_rows, **law, **TARGET).n_features

    curves(panel, features, "n_rows", counts(10**3, 10**9), "d", n_inputs=[1, 2, 3])


@figure(
    "plain_plan",
    title="Features for m rows: not optimised",
    source="thesis, end of section 2.4; δ = 0.05",
    across="rows, m",
    up="bounded features, N",
)
def thesis_section_2_4(panel):
    def features(n_rows, feature_bound):
        plan = theory.plain_plan(n_rows=n_rows, feature_bound=feature_bound, **TARGET)
        return plan.n_features

    curves(panel, features, "n_rows", counts(10**3, 10**9), "κ", feature_bound=[0.5, 1.0, 2.0])


@figure(
    "separated_plan",
    title="Features for m rows: two separated classes",
    source="thesis, Theorem II.15; τ = ρ = 1, δ = 0.05",
    across="rows, m",
    up="optimised features, N",
)
def thesis_theorem_ii_15(panel):
    def features(n_rows, n_inputs):
        law = {"margin": 1.0, "radius": 1.0, "n_inputs": n_inputs, "delta": 0.05}
        return theory.separated_plan(n_rows=n_rows, **law).n_features

    curves(panel, features, "n_rows", counts(10**3, 10**9), "d", n_inputs=[1, 2, 3])


@figure(
    "svm_excess_risk",
    "svm_rows",
    title="Excess risk of the plans: how fast, not how much",
    source="thesis, Theorems II.6 and II.15; unnamed C₁ = C₂ = 1",
    across="rows, m",
    up="excess error rate",
)
def thesis_svm_risk(panel):
    constants = {"noise": 2.0, "c_root": 1.0, "c_linear": 1.0}

    def power_law(n_rows):
        return theory.polynomial_plan(n_rows=n_rows, scale=1.0, exponent=3.0, **TARGET)

    def exponential(n_rows):
        law = {"scale": 1.0, "rate": 1.0, "n_inputs": 2}
        return theory.subexponential_plan(n_rows=n_rows, **law, **TARGET)

    def plain(n_rows):
        return theory.plain_plan(n_rows=n_rows, feature_bound=1.0, **TARGET)

    def separated(n_rows):
        law = {"margin": 1.0, "radius": 1.0, "n_inputs": 2, "delta": 0.05}
        return theory.separated_plan(n_rows=n_rows, **law)

    places = counts(10**4, 10**18)
    plans = {
        "plain": plain,
        "power": power_law,
        "exp": exponential,
        "separated": separated,
    }
    for colour, (label, plan) in zip(COLOURS, plans.items(), strict=True):
        values = [theory.svm_excess_risk(plan(n_rows), **constants) for n_rows in places]
        panel.plot(places, values, color=colour, label=label)
    panel.axhline(1, color="#888888", linewidth=0.8, linestyle="--")
    ring(panel, theory.svm_rows(power_law, error=0.1, **constants), 0.1, "svm_rows")


@figure(
    "separated_risk",
    "separated_risk_integral",
    "separated_bandwidth",
    title="Excess hinge risk of smoothed labels",
    source="thesis, Lemma II.16; τ = 1; dashed: closed form",
    across="bandwidth, γ",
    up="excess hinge risk, ε",
)
def thesis_lemma_ii_16_risk(panel):
    inputs, places = [1, 3, 9], steps(0.1, 1)
    for colour, d in zip(COLOURS, inputs, strict=False):
        bandwidths = np.geomspace(0.12, 0.9, 9)
        square = 2 * (0.5 / bandwidths) ** 2  # labels reach half the margin around each point
        missed, taken = gammaincc(d / 2, square / 2), chndtr(square, d, 4 * square)
        dots(panel, bandwidths, missed + taken, colour, "exact")
        valid = steps(0.1, 0.999 * min(1, 1 / (2 * math.sqrt(max(d - 1, 1e-9)))))
        closed = [theory.separated_risk(margin=1.0, bandwidth=g, n_inputs=d) for g in valid]
        panel.plot(valid, closed, "--", color=colour)
    law = {"margin": 1.0, "n_inputs": inputs}
    curves(panel, theory.separated_risk_integral, "bandwidth", places, "d", **law)
    panel.set(ylim=(1e-8, 10))
    bandwidth = theory.separated_bandwidth(margin=1.0, error=1e-3, n_inputs=3)
    ring(panel, bandwidth, 1e-3, "separated_bandwidth")


@figure(
    "separated_norm",
    title="Norm of smoothed labels",
    source="thesis, Lemma II.16; τ = 0.4, ρ = 1",
    across="bandwidth, γ",
    up="norm ‖f‖",
)
def thesis_lemma_ii_16_norm(panel):
    bandwidths = np.geomspace(0.05, 1, 8)
    length = 2 * 1.2  # the intervals [0, 1.2] and [-1.2, 0], with the labels 1 and -1
    exact = np.sqrt(length / (math.sqrt(2 * math.pi) * bandwidths))
    dots(panel, bandwidths, exact, COLOURS[0], "exact")
    law, places = {"margin": 0.4, "radius": 1.0, "n_inputs": [1, 3, 9]}, steps(0.05, 1)
    curves(panel, theory.separated_norm, "bandwidth", places, "d", **law)


# The thesis: ReLU features and networks


@figure(
    "relu_features_error",
    "relu_features",
    title="Distance that N random ReLU features guarantee",
    source="thesis, Proposition III.10; r = 1, δ = 0.05",
    across="features, N",
    up="distance, ε",
)
def thesis_proposition_iii_10_features(panel):
    rng = np.random.default_rng(0)
    rows = np.column_stack([ball(rng, 40, 2), np.ones(40)])
    norms = [0.1, 1.0, 10.0]
    for n_features in (100, 300, 1000, 3000, 10_000):

        def features(n_features=n_features):
            return np.maximum(0, rows @ sphere(rng, n_features, 3).T)

        mu = 2 / theory.leverage_of_features(n_features=n_features, delta=0.05)
        worst = np.array(list(worst_distances(relu_kernel(rows), features, mu)))
        for colour, norm in zip(COLOURS, norms, strict=False):
            dots(panel, n_features, norm * worst, colour)
    law, places = {"radius": 1.0, "delta": 0.05}, counts(100, 10**6)
    curves(panel, theory.relu_features_error, "n_features", places, "‖f‖", norm=norms, **law)
    ring(panel, theory.relu_features(error=0.2, norm=1.0, **law), 0.2, "relu_features")


@figure(
    "relu_rows_error",
    "relu_rows",
    title="What m rows allow: a risk within 3ε of the target's",
    source="thesis, Proposition III.10; r = 1, δ = 0.05",
    across="rows, m",
    up="a third of the excess risk, ε",
)
def thesis_proposition_iii_10_rows(panel):
    law, places = {"radius": 1.0, "delta": 0.05}, counts(100, 10**7)
    norms = [0.25, 1.0, 4.0]
    curves(panel, theory.relu_rows_error, "n_rows", places, "‖f‖", norm=norms, **law)
    ring(panel, theory.relu_rows(error=0.1, norm=1.0, **law), 0.1, "relu_rows")


@figure(
    "relu_variation",
    title="The variation R bounds the slope of a sum of ReLUs",
    source="thesis, (3.11) and Proposition III.12",
    across="variation, R = Σ|cᵢ||ωᵢ|",
    up="slope",
)
def thesis_variation(panel):
    rng = np.random.default_rng(1)
    one, two = ball(rng, 3000, 2), ball(rng, 3000, 2)
    gaps = np.linalg.norm(one - two, axis=1)
    variations, steepest = [], []
    for n_units in np.repeat([1, 3, 10, 30], SEEDS):
        outer = rng.standard_normal(n_units)
        inner = rng.standard_normal((n_units, 3))
        slopes = np.abs(relu_sum(outer, inner, one) - relu_sum(outer, inner, two)) / gaps
        steepest.append(slopes.max())
        variations.append(theory.relu_variation(outer=outer, inner=inner))
    dots(panel, variations, steepest, COLOURS[0])
    panel.plot([0.1, 100], [0.1, 100], color=COLOURS[0], label="slope ≤ R")
    panel.set(xlim=(0.08, 130), ylim=(0.02, 130))


@figure(
    "relu_variation_of_norm",
    "relu_norm_of_variation",
    title="A ball of the random-feature space lies in Λ_R",
    source="thesis, Proposition III.12",
    across="norm ‖f‖",
    up="variation, R",
)
def thesis_proposition_iii_12(panel):
    moments = [0.1, 1.0, 10.0]
    for colour, moment in zip(COLOURS, moments, strict=False):
        rng, norms, variations = np.random.default_rng(2), [], []
        for _ in range(40):
            inner = math.sqrt(moment) * sphere(rng, 100, 3)
            outer = rng.standard_normal(100) * rng.exponential(size=100) ** rng.uniform(0, 4)
            outer *= np.exp(rng.uniform(-2, 2)) / root_mean_square(outer)
            norms.append(root_mean_square(outer))
            variations.append(theory.relu_variation(outer=outer / 100, inner=inner))
        dots(panel, norms, variations, colour)
    places = steps(0.1, 10)
    law = {"second_moment": moments}
    curves(panel, theory.relu_variation_of_norm, "norm", places, "M₂", **law)
    norm = theory.relu_norm_of_variation(variation=3.0, second_moment=1.0)
    ring(panel, norm, 3.0, "relu_norm_of_variation")


@figure(
    "maurey_error",
    "maurey_units",
    title="Distance that some network of N units reaches",
    source="thesis, Theorem III.13; r = 1",
    across="units, N",
    up="mean-square distance ‖f − g‖",
)
def thesis_theorem_iii_13(panel):
    variations = [0.1, 1.0, 10.0]
    for colour, variation in zip(COLOURS, variations, strict=False):
        rng = np.random.default_rng(3)
        rows, (outer, inner) = ball(rng, 100, 2), relu_function(rng, variation)
        target = relu_sum(outer, inner, rows)
        for n_units in COLUMNS:
            sums = [drawn_sum(rng, outer, inner, n_units, rows) for _ in range(SEEDS)]
            dots(panel, n_units, root_mean_square(sums - target), colour)
    law, places = {"radius": 1.0, "variation": variations}, counts(10, 3000)
    curves(panel, theory.maurey_error, "n_units", places, "R", **law)
    n_units = theory.maurey_units(variation=1.0, error=0.1, radius=1.0)
    ring(panel, n_units, 0.1, "maurey_units")


def network(accuracy, depth, size=1.0):
    law = {"variations": [size] * depth, "radius": 1.0, "slack": 0.5}
    return theory.relu_network(accuracy=accuracy, widths=[1] * depth, **law)


@figure(
    "relu_network",
    "relu_network_accuracy",
    title="Units of the first layer of a deep network",
    source="thesis, Proposition III.15; L layers, Rᵢ = 2, r = 1, s = 0.5",
    across="accuracy, ε",
    up="units for each output, N₁",
)
def thesis_proposition_iii_15_units(panel):
    def units(accuracy, depth):
        return network(accuracy, depth, 2.0).n_units[0]

    curves(panel, units, "accuracy", steps(0.01, 1), "L", depth=[1, 2, 3])
    law = {"variations": [2.0, 2.0], "radius": 1.0, "slack": 0.5}
    accuracy = theory.relu_network_accuracy(n_units=[5000, 5000], **law)
    ring(panel, accuracy, 5000, "relu_network_accuracy")


@figure(
    "relu_network",
    title="Error of a deep network for L composed functions",
    source="thesis, Proposition III.15; r = 1, s = 0.5; observed at L = 2",
    across="accuracy, ε",
    up="mean-square distance, Lε",
)
def thesis_proposition_iii_15_error(panel):
    rng = np.random.default_rng(4)
    rows = ball(rng, 200, 2)
    first, second = [relu_function(rng, 0.6), relu_function(rng, 0.4)], relu_function(rng, 1.5)
    middle = np.column_stack([relu_sum(*part, rows) for part in first])
    law = {"variations": [math.hypot(0.6, 0.4), 1.5], "radius": 1.0, "slack": 0.5}
    for accuracy in (0.03, 0.1, 0.3, 1.0):
        units = theory.relu_network(accuracy=accuracy, widths=[2, 1], **law).n_units
        errors = []
        for _ in range(SEEDS):
            hidden = np.column_stack([drawn_sum(rng, *part, units[0], rows) for part in first])
            near = np.linalg.norm(hidden - middle, axis=1) <= 0.5
            distance = drawn_sum(rng, *second, units[1], hidden) - relu_sum(*second, middle)
            errors.append(root_mean_square(distance * near))
        dots(panel, accuracy, errors, COLOURS[1])

    def error(accuracy, depth):
        return network(accuracy, depth).error

    curves(panel, error, "accuracy", steps(0.02, 1), "L", depth=[1, 2, 3])


@figure(
    "relu_network",
    title="Chance of the inputs that this error leaves out",
    source="thesis, Proposition III.15; L layers, Rᵢ = 1, s = 0.5",
    across="accuracy, ε",
    up="chance of inputs left out",
)
def thesis_proposition_iii_15_chance(panel):
    def left_out(accuracy, depth):
        return 1 - network(accuracy, depth).probability

    curves(panel, left_out, "accuracy", steps(0.003, 1), "L", depth=[2, 3, 4])


@figure(
    "relu_network",
    title="Norm of the input weights of a deep network",
    source="thesis, Proposition III.15; ε = 0.05, m₂ = 1, r = 1, s = 0.5",
    across="layers of units, L",
    up="Frobenius norm",
)
def thesis_proposition_iii_15_norms(panel):
    def norm(depth, size):
        return network(0.05, depth, size).weight_norms[0]

    curves(panel, norm, "depth", list(range(1, 9)), "Rᵢ", size=[0.8, 1.0, 1.25])
    panel.set(xscale="linear")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with threadpool_limits(1):  # the matrices are small
        for name in sys.argv[1:] or FIGURES:
            print(save(name, FOLDER).relative_to(FOLDER.parent))


if __name__ == "__main__":
    main()
