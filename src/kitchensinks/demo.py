"""Every basis on small data sets: a table on the screen, two figures in a folder.

Run ``python -m kitchensinks.demo --out demo``; ``--quick`` takes fewer rows and features.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from kitchensinks.estimators import KitchenSinkClassifier, KitchenSinkRegressor
from kitchensinks.features.bases import (
    Basis,
    Binning,
    Fourier,
    Maxout,
    Orthonormal,
    ReLU,
    Sigmoid,
    Stumps,
    Union,
)
from kitchensinks.features.bases.orthonormal import degrees_by_total
from kitchensinks.fitting.settings import Solver
from kitchensinks.papers import datasets
from kitchensinks.papers.datasets import Dataset

REAL = ("breast_cancer", "digits", "wine", "diabetes")
SYNTHETIC = ("annulus", "sine", "strips", "square", "checkboard")
CURVES = ("digits", "diabetes", "strips", "checkboard")
LINEAR = "none (linear)"

SEED = 0


@dataclass(frozen=True)
class Size:
    """How much work the demo does."""

    n_components: int
    curve: tuple[int, ...]
    n_train: int
    n_test: int
    n_real: int
    grid: int


FULL = Size(
    n_components=300, curve=(10, 30, 100, 300, 1000), n_train=600, n_test=2000, n_real=2000, grid=90
)
QUICK = Size(n_components=60, curve=(15, 60), n_train=200, n_test=500, n_real=400, grid=40)


@dataclass(frozen=True)
class Fit:
    """One fitted model and how it did on the test rows."""

    data: Dataset
    basis: str
    n_components: int | None
    error: float
    seconds: float
    model: Any


def bases_for(n_inputs: int) -> dict[str, Basis]:
    """Every basis that suits the number of columns, by the name that the table prints."""
    bases: dict[str, Basis] = {
        "Fourier gaussian": Fourier(),
        "Fourier laplacian": Fourier("laplacian"),
        "Stumps normal": Stumps("normal"),
        "Stumps quantile": Stumps("quantile"),
        "Binning": Binning(),
        "Sigmoid": Sigmoid(),
        "ReLU": ReLU(),
        "Maxout": Maxout(),
    }
    if n_inputs == 2:
        # All products of cosines up to total degree 10, on a box that holds the standardised rows.
        degrees = degrees_by_total(2, 66)
        eigenvalues = [1.0 / (1 + sum(degree)) ** 2 for degree in degrees]
        bases["Orthonormal"] = Orthonormal(eigenvalues, box=(-2.5, 2.5))
    bases["Union"] = Union([Fourier(), ReLU(), Stumps("quantile")])
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


def fit_and_score(data: Dataset, label: str, basis: Basis | None, n_components: int) -> Fit:
    """Fit a ridge to the features of a basis, or to the plain columns, and score the test rows."""
    model = (
        linear_model(data.task) if basis is None else sinks_model(data.task, basis, n_components)
    )
    start = time.perf_counter()
    predicted = model.fit(data.X_train, data.y_train).predict(data.X_test)
    seconds = time.perf_counter() - start
    drawn = None if basis is None else n_components
    return Fit(data, label, drawn, percent_error(data, predicted), seconds, model)


def sinks_model(task: str, basis: Basis, n_components: int) -> Any:
    """Algorithm 1 with squared loss; the ridge strength is chosen by leave-one-out error."""
    kind = KitchenSinkRegressor if task == "regression" else KitchenSinkClassifier
    # float64, because sets without noise need a smaller ridge than float32 features allow.
    return kind(basis, n_components, solver=Solver(dtype="float64"), random_state=SEED)


def linear_model(task: str) -> Any:
    """The baseline: scikit-learn's ridge on the standardised columns."""
    strengths = 10.0 ** np.arange(-3, 4)
    ridge = RidgeCV(strengths) if task == "regression" else RidgeClassifierCV(strengths)
    return make_pipeline(StandardScaler(), ridge)


def percent_error(data: Dataset, predicted: np.ndarray) -> float:
    """Percent of wrong classes; in regression the RMSE in % of the targets' deviation."""
    if data.task == "regression":
        return float(100 * np.sqrt(np.mean((predicted - data.y_test) ** 2)) / data.y_test.std())
    return float(100 * np.mean(predicted != data.y_test))


def fit_all(data: Dataset, n_components: int) -> list[Fit]:
    """The linear ridge and every basis on one set."""
    choices: dict[str, Basis | None] = {LINEAR: None, **bases_for(data.X_train.shape[1])}
    return [fit_and_score(data, label, basis, n_components) for label, basis in choices.items()]


def table(fits: Sequence[Fit]) -> Iterator[str]:
    """Lines of the table, one for each fit; the lowest error of each set carries a star."""
    header = f"{'set':<14} {'basis':<18} {'K':>4}  {'test error %':>12}   {'seconds':>7}"
    rule = "-" * len(header)
    yield header
    best = lowest_errors(fits)
    before = ""
    for fit in fits:
        if fit.data.name != before:
            yield rule
        name = fit.data.name if fit.data.name != before else ""
        star = "*" if round(fit.error, 1) == best[fit.data.name] else " "
        count = "-" if fit.n_components is None else str(fit.n_components)
        yield (
            f"{name:<14} {fit.basis:<18} {count:>4}  {fit.error:>12.1f} {star} {fit.seconds:>7.2f}"
        )
        before = fit.data.name
    yield rule


def lowest_errors(fits: Sequence[Fit]) -> dict[str, float]:
    """The lowest error of each set, as printed: to one decimal."""
    best: dict[str, float] = {}
    for fit in fits:
        best[fit.data.name] = min(best.get(fit.data.name, np.inf), round(fit.error, 1))
    return best


NOTES = """\
* lowest error of the set. Classes: % wrong. diabetes: root mean square error in % of the
  targets' standard deviation. annulus flips 10 % of its labels, so about 10 is the best possible.
  Stumps are sums of functions of single columns, so they cannot see a checkboard. Maxout has no
  offset: along a ray from the centre of the rows its score is a straight line.
  seconds: fit and predict, choice of the ridge strength by leave-one-out included."""


def save_boundaries(fits: Sequence[Fit], size: Size, path: Path) -> None:
    """One panel for each synthetic set (rows) and basis (columns)."""
    from matplotlib.figure import Figure

    sets = list(dict.fromkeys(fit.data.name for fit in fits))
    labels = list(dict.fromkeys(fit.basis for fit in fits))
    best = lowest_errors(fits)
    figure = Figure(figsize=(1.55 * len(labels) + 0.4, 1.72 * len(sets) + 0.7))
    axes = figure.subplots(len(sets), len(labels), squeeze=False)
    for fit in fits:
        i, j = sets.index(fit.data.name), labels.index(fit.basis)
        panel = axes[i, j]
        draw_boundary(fit, size.grid, panel)
        weight = "bold" if round(fit.error, 1) == best[fit.data.name] else "normal"
        panel.set_title(f"{fit.error:.1f} %", fontsize=9.5, pad=3, fontweight=weight)
        if i == 0:
            panel.annotate(
                fit.basis, (0.5, 1.2), xycoords="axes fraction", ha="center", fontsize=10
            )
        if j == 0:
            panel.set_ylabel(fit.data.name, fontsize=11)
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
    panel.imshow(
        np.clip(score, -1.6, 1.6),
        extent=(across[0], across[-1], up[0], up[-1]),
        origin="lower",
        aspect="auto",
        cmap="RdBu_r",
        vmin=-3.2,
        vmax=3.2,
        interpolation="nearest",
    )
    if score.min() < 0 < score.max():
        panel.contour(across, up, score, [0.0], colors="black", linewidths=0.9)
    colours = np.where(labels > 0, "#8c1020", "#123f7a")
    panel.scatter(rows[:, 0], rows[:, 1], c=colours, s=3, alpha=0.4, linewidths=0)
    panel.set(xticks=[], yticks=[])


def save_curves(fits: Sequence[Fit], path: Path) -> None:
    """Test error against K, one panel for each set and one line for each basis."""
    from matplotlib.figure import Figure

    sets = list(dict.fromkeys(fit.data.name for fit in fits))
    figure = Figure(figsize=(3.4 * len(sets), 4.4))
    axes = figure.subplots(1, len(sets), squeeze=False)[0]
    for name, panel in zip(sets, axes, strict=True):
        draw_errors([fit for fit in fits if fit.data.name == name], panel)
    labels = [*bases_for(2), LINEAR]
    figure.legend(axes[0].get_lines(), labels, ncols=6, loc="lower center", frameon=False)
    figure.tight_layout(rect=(0, 0.12, 1, 1))
    figure.savefig(path, dpi=110)


def draw_errors(fits: Sequence[Fit], panel: Any) -> None:
    """The errors of one set against K; the linear ridge, which has no K, is a dashed line."""
    points = {(fit.basis, fit.n_components): fit.error for fit in fits if fit.n_components}
    for number, label in enumerate(bases_for(2)):
        curve = sorted((count, error) for (basis, count), error in points.items() if basis == label)
        across, up = zip(*curve, strict=True) if curve else ((), ())
        panel.plot(across, up, "o-", color=f"C{number}", ms=3.5)
    (linear,) = (fit for fit in fits if fit.n_components is None)
    panel.axhline(linear.error, color="grey", ls="--", lw=1)
    unit = "RMSE, % of spread" if linear.data.task == "regression" else "% wrong"
    panel.set(xscale="log", title=linear.data.name, ylabel=f"test {unit}")
    panel.set_xlabel("K, number of features")
    counts = sorted({count for _, count in points})
    panel.set_xticks(counts, [str(count) for count in counts])
    panel.minorticks_off()
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)


def run(out: Path, size: Size) -> list[Path]:
    """Fit, print and draw; returns the files written."""
    warm_up()
    sets = {name: load_set(name, size) for name in (*REAL, *SYNTHETIC)}
    fits = [fit for data in sets.values() for fit in fit_all(data, size.n_components)]
    print(*table(fits), NOTES, sep="\n", flush=True)
    boundaries, curves = out / "boundaries.png", out / "error_against_k.png"
    flat = [fit for fit in fits if fit.data.name in SYNTHETIC and fit.n_components]
    save_boundaries(flat, size, boundaries)
    growing = [fit for fit in fits if fit.data.name in CURVES]
    for name in CURVES:
        for label, basis in bases_for(sets[name].X_train.shape[1]).items():
            for count in size.curve:
                # A sparse basis has many columns per draw, so its curve ends at the K of the table.
                more = count > size.n_components and basis.sparse
                if count != size.n_components and not more:
                    growing.append(fit_and_score(sets[name], label, basis, count))
    save_curves(growing, curves)
    return [boundaries, curves]


def warm_up() -> None:
    """Import and compile before the first timed fit."""
    tiny = replace(QUICK, n_components=4, n_train=20, n_test=20)
    fit_and_score(load_set("annulus", tiny), "", Binning(), tiny.n_components)


def trouble(out: Path) -> str | None:
    """Why the demo cannot start, in one line, or None; makes the folder."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return 'the pictures need matplotlib: pip install "kitchensinks[plot]"'
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        return f"--out {out}: a file is in the way. Name a folder, new or existing."
    except OSError as error:
        return f"--out {out}: cannot make this folder ({error.strerror}). Name another."
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
        written = run(options.out, QUICK if options.quick else FULL)
    print(f"\n{time.perf_counter() - start:.0f} seconds in all. Wrote:")
    for path in written:
        print(f"  {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
