"""The default and every basis on small data sets: a table on the screen, two figures in a folder.

Run ``python -m kitchensinks.demo --out demo``; ``--quick`` takes fewer rows and features.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import kitchensinks as ks
from kitchensinks.features.bases import Basis
from kitchensinks.features.bases.orthonormal import degrees_by_total
from kitchensinks.law import Learned
from kitchensinks.numerics.bins import hash_tiles
from kitchensinks.numerics.threads import is_kept
from kitchensinks.papers import datasets
from kitchensinks.papers.datasets import Dataset

REAL = ("breast_cancer", "digits", "wine", "diabetes")
SYNTHETIC = ("annulus", "sine", "strips", "square", "checkboard")
CURVES = ("digits", "diabetes", "strips", "checkboard")
NOTHING = "nothing chosen"
TREES = "boosted trees"
LINEAR = "none (linear)"

SEED = 0
# A basis, a law that is learned, or None for a baseline.
Choice: TypeAlias = Basis | Learned | None


class Size(NamedTuple):
    """How much work the demo does."""

    n_components: int = 300
    curve: tuple[int, ...] = (10, 30, 100, 300, 1000)
    n_train: int = 600
    n_test: int = 2000
    n_real: int = 2000
    grid: int = 90


QUICK = Size(n_components=60, curve=(15, 60), n_train=200, n_test=300, n_real=150, grid=20)


class Fit(NamedTuple):
    """One fitted model, its test error in percent to one decimal, seconds of fit and predict."""

    data: Dataset
    basis: str
    n_components: int | None
    error: float
    seconds: float
    model: Any


def bases_for(n_inputs: int) -> dict[str, Basis]:
    """Every basis that suits the number of columns, by the name that the table prints."""
    bases: dict[str, Basis] = {
        "Fourier gaussian": ks.Fourier(),
        "Fourier laplacian": ks.Fourier("laplacian"),
        "Stumps normal": ks.Stumps("normal"),
        "Stumps quantile": ks.Stumps("quantile"),
        "Binning": ks.Binning(),
        "Sigmoid": ks.Sigmoid(),
        "ReLU": ks.ReLU(),
        "Maxout": ks.Maxout(),
    }
    if n_inputs == 2:
        # All products of cosines up to total degree 10, on a box that holds the standardised rows.
        eigenvalues = [1.0 / (1 + sum(degree)) ** 2 for degree in degrees_by_total(2, 66)]
        bases["Orthonormal"] = ks.Orthonormal(eigenvalues, box=(-2.5, 2.5))
    bases["Union"] = ks.Union([ks.Fourier(), ks.ReLU(), ks.Stumps("quantile")])
    return bases


def load_set(name: str, size: Size) -> Dataset:
    """A bundled set by name, or a synthetic one with rows of its own for training and test."""
    if name in REAL:
        data = datasets.load(name)
        rows, targets = data.X_train[: size.n_real], data.y_train[: size.n_real]
        return replace(data, X_train=rows, y_train=targets)
    make = getattr(datasets, f"make_{name}")
    X_train, y_train = make(size.n_train, random_state=SEED)
    X_test, y_test = make(size.n_test, random_state=SEED + 1)
    return Dataset(name, X_train, y_train, X_test, y_test, ("x1", "x2"), "classification", "")


def fit_and_score(data: Dataset, label: str, basis: Choice, n_components: int) -> Fit:
    """Fit a model of a basis, of a learned law or a baseline, and score the test rows.

    The error is the percentage of wrong classes; in regression it is the root mean square error in
    percent of the standard deviation of the targets.
    """
    model = unfitted(data.task, label, basis, n_components)
    start = time.perf_counter()
    predicted = model.fit(data.X_train, data.y_train).predict(data.X_test)
    seconds = time.perf_counter() - start
    if data.task == "regression":
        error = np.sqrt(np.mean((predicted - data.y_test) ** 2)) / data.y_test.std()
    else:
        error = np.mean(predicted != data.y_test)
    count = n_components if isinstance(basis, Basis) else None
    return Fit(data, label, count, round(100 * float(error), 1), seconds, model)


def unfitted(task: str, label: str, basis: Choice, n_components: int) -> Any:
    """The default, Algorithm 1 with a basis, boosted trees, or a ridge on the columns.

    Algorithm 1 and the ridge choose their strength by leave-one-out error.
    """
    regression = task == "regression"
    if label == TREES:
        trees = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
        return trees(random_state=SEED)
    if basis is None:
        strengths = 10.0 ** np.arange(-3, 4)
        ridge = RidgeCV(strengths) if regression else RidgeClassifierCV(strengths)
        return make_pipeline(StandardScaler(), ridge)
    kind = ks.KitchenSinkRegressor if regression else ks.KitchenSinkClassifier
    if isinstance(basis, Learned):
        return kind(basis, random_state=SEED)
    # float64, because sets without noise need a smaller ridge than float32 features allow.
    return kind(basis, n_components, solver=ks.Solver(dtype="float64"), random_state=SEED)


def table(fits: Sequence[Fit]) -> Iterator[str]:
    """Lines of the table, one for each fit; the lowest error of each set carries a star."""
    header = f"{'set':<14} {'basis':<18} {'K':>4}  {'test error %':>12}   {'seconds':>7}"
    rule = "-" * len(header)
    yield header
    for name, own in by_set(fits).items():
        yield rule
        lowest = min(fit.error for fit in own)
        for number, fit in enumerate(own):
            star = "*" if fit.error == lowest else " "
            yield (
                f"{'' if number else name:<14} {fit.basis:<18} {fit.n_components or '-':>4}  "
                f"{fit.error:>12.1f} {star} {fit.seconds:>7.2f}"
            )
    yield rule


def by_set(fits: Sequence[Fit]) -> dict[str, list[Fit]]:
    groups: dict[str, list[Fit]] = {}
    for fit in fits:
        groups.setdefault(fit.data.name, []).append(fit)
    return groups


NOTES = """\
* lowest error of the set. Classes: % wrong. diabetes: root mean square error in % of the
  targets' standard deviation. annulus flips 10 % of its labels, so about 10 is the best possible.
  Stumps are sums of functions of single columns, so they cannot see a checkboard. Maxout has no
  offset: along a ray from the centre of the rows its score is a straight line.
  seconds: fit and predict, choice of the ridge strength by leave-one-out included."""


def save_boundaries(fits: Sequence[Fit], size: Size, path: Path) -> None:
    """One panel for each synthetic set (rows) and basis (columns)."""
    from matplotlib.figure import Figure

    groups, labels = by_set(fits), list(bases_for(2))
    figure = Figure(figsize=(1.55 * len(labels) + 0.4, 1.72 * len(groups) + 0.7))
    axes = figure.subplots(len(groups), len(labels), squeeze=False)
    for row, (name, own) in zip(axes, groups.items(), strict=True):
        lowest = min(fit.error for fit in own)
        row[0].set_ylabel(name, fontsize=11)
        for panel, fit in zip(row, own, strict=True):
            draw_boundary(fit, size.grid, panel)
            weight = "bold" if fit.error == lowest else "normal"
            panel.set_title(f"{fit.error:.1f} %", fontsize=9.5, pad=3, fontweight=weight)
    for panel, label in zip(axes[0], labels, strict=True):
        panel.annotate(label, (0.5, 1.2), xycoords="axes fraction", ha="center", fontsize=10)
    figure.suptitle(
        f"What each basis learns from {size.n_train} rows with K = {size.n_components}: red +1, "
        "blue -1, black line between. Above each panel: % of test rows wrong, bold where lowest",
        fontsize=12,
    )
    figure.tight_layout(rect=(0, 0, 1, 0.99), h_pad=0.6, w_pad=0.4)
    figure.savefig(path, dpi=110)


def draw_boundary(fit: Fit, grid: int, panel: Any) -> None:
    """The score over the plane, its zero line, and some training rows."""
    rows, labels = fit.data.X_train[:250], fit.data.y_train[:250]
    low, high = fit.data.X_train.min(axis=0), fit.data.X_train.max(axis=0)
    margin = 0.03 * (high - low)
    across, up = np.linspace(low - margin, high + margin, grid).T
    places = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    score = fit.model.decision_function(places).reshape(grid, grid)
    # Labels are -1 and +1: a score beyond 1.6 says no more than "sure". Limits of twice that keep
    # the colours pale, so that the training rows show.
    shown = np.clip(score, -1.6, 1.6)
    panel.pcolormesh(across, up, shown, cmap="RdBu_r", vmin=-3.2, vmax=3.2, rasterized=True)
    if score.min() < 0 < score.max():
        panel.contour(across, up, score, [0.0], colors="black", linewidths=0.9)
    colours = np.where(labels > 0, "#8c1020", "#123f7a")
    panel.scatter(rows[:, 0], rows[:, 1], c=colours, s=3, alpha=0.4, linewidths=0)
    panel.set(xticks=[], yticks=[])


def save_curves(fits: Sequence[Fit], path: Path) -> None:
    """Test error against K, one panel for each set and one line for each basis."""
    from matplotlib.figure import Figure

    groups = by_set(fits)
    figure = Figure(figsize=(3.4 * len(groups), 4.4))
    axes = figure.subplots(1, len(groups), squeeze=False)[0]
    for own, panel in zip(groups.values(), axes, strict=True):
        draw_errors(own, panel)
    labels = [*bases_for(2), LINEAR]
    figure.legend(axes[0].get_lines(), labels, ncols=6, loc="lower center", frameon=False)
    figure.tight_layout(rect=(0, 0.12, 1, 1))
    figure.savefig(path, dpi=110)


def draw_errors(fits: Sequence[Fit], panel: Any) -> None:
    """The errors of one set against K; the linear ridge, which has no K, is a dashed line."""
    for number, label in enumerate(bases_for(2)):
        curve = sorted((fit.n_components, fit.error) for fit in fits if fit.basis == label)
        panel.plot(*(np.array(curve).T if curve else ((), ())), "o-", color=f"C{number}", ms=3.5)
    (linear,) = (fit for fit in fits if fit.basis == LINEAR)
    panel.axhline(linear.error, color="grey", ls="--", lw=1)
    unit = "RMSE, % of spread" if linear.data.task == "regression" else "% wrong"
    panel.set(xscale="log", title=linear.data.name, ylabel=f"test {unit}")
    panel.set_xlabel("K, number of features")
    counts = sorted({fit.n_components for fit in fits if fit.n_components})
    panel.set_xticks(counts, [str(count) for count in counts])
    panel.minorticks_off()
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)


def run(out: Path, size: Size) -> list[Path]:
    """Fit, print and draw; returns the files written."""
    warm_up()
    fits, names = [], (*REAL, *SYNTHETIC)
    for number, name in enumerate(names, start=1):
        say(f"Fitting {name}, set {number} of {len(names)}, with every basis.")
        data = load_set(name, size)
        choices: dict[str, Choice] = {NOTHING: Learned(), TREES: None} if name in REAL else {}
        choices |= {LINEAR: None, **bases_for(data.X_train.shape[1])}
        for label, basis in choices.items():
            fits.append(fit_and_score(data, label, basis, size.n_components))
    print(*table(fits), NOTES, sep="\n", flush=True)
    say("Drawing two pictures.")
    boundaries, curves = out / "boundaries.png", out / "error_against_k.png"
    flat = [fit for fit in fits if fit.data.name in SYNTHETIC and fit.n_components]
    save_boundaries(flat, size, boundaries)
    drawn = [fit for fit in fits if fit.data.name in CURVES and fit.basis not in (NOTHING, TREES)]
    save_curves(with_curves(drawn, size), curves)
    return [boundaries, curves]


def warm_up() -> None:
    """Import and compile before the first timed fit, and say what is compiled."""
    first = not is_kept(hash_tiles)
    if first:
        say("Compiling loops: this happens once, they are kept on disk.")
    start, tiny = time.perf_counter(), QUICK._replace(n_train=20, n_test=20)
    data, more = (load_set("annulus", tiny._replace(n_train=count)) for count in (20, 700))
    choices: dict[str, Choice] = {**bases_for(2), NOTHING: Learned(effort="quick")}
    for number, (label, basis) in enumerate(choices.items(), start=1):
        if first:
            seconds = time.perf_counter() - start
            say(f"  {number} of {len(choices)}: what {label} needs ({seconds:.0f} s so far)")
        fit_and_score(more if label == NOTHING else data, "", basis, 4)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def with_curves(fits: list[Fit], size: Size) -> list[Fit]:
    """These fits, and those with other numbers of components."""
    # A sparse basis has many columns per draw, so its curve ends at the K of the table.
    return fits + [
        fit_and_score(fit.data, fit.basis, fit.model.basis, count)
        for fit in fits
        for count in (size.curve if fit.n_components else ())
        if count < size.n_components or (count > size.n_components and not fit.model.basis.sparse)
    ]


def trouble(out: Path) -> str | None:
    """Why the demo cannot start, in one line, or None; makes the folder."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return 'the pictures need matplotlib: pip install "kitchensinks[plot]"'
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        taken = isinstance(error, FileExistsError | NotADirectoryError)
        reason = "a file is in the way" if taken else f"cannot make this folder ({error.strerror})"
        return f"--out {out}: {reason}. Name another folder."
    if not os.access(out, os.W_OK):
        return f"--out {out}: cannot write into this folder. Name another."
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m kitchensinks.demo",
        description="Fit every basis on small data sets: a table here, two figures in a folder.",
    )
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the figures")
    parser.add_argument("--quick", action="store_true", help="fewer rows and features")
    options = parser.parse_args(arguments)
    if problem := trouble(options.out):
        print(f"kitchensinks.demo: {problem}", file=sys.stderr)
        return 2
    start = time.perf_counter()
    # The matrices are small: one BLAS thread is as fast as two, and does not wait for busy cores.
    with threadpool_limits(limits=1):
        written = run(options.out, QUICK if options.quick else Size())
    print(f"\n{time.perf_counter() - start:.0f} seconds in all. Wrote:")
    for path in written:
        print(f"  {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
