"""Thesis, Figure 2.1: accuracy of random Fourier and kernel support vector machines against λ."""

import itertools
from typing import Any

import numpy as np

from kitchensinks.papers.experiments import rfsvm
from kitchensinks.papers.experiments.claims import Claim, below
from kitchensinks.papers.experiments.study import Cell, Line, Report, Results, Table

COUNTS = [1, 3, 5, 10, 20]
ROWS, RUNS, TESTED = 1000, 100, 10_000


def cells(quick: bool) -> list[Cell]:
    counts, runs = ([1, 20], 1) if quick else (COUNTS, RUNS)
    machines = [(n, method) for n in counts for method in rfsvm.METHODS]
    return [
        {"N": n, "method": method, "run": run}
        for run in range(runs)
        for n, method in [*machines, (None, "ksvm")]
    ]


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    m, n_test = (200, 2000) if quick else (ROWS, TESTED)
    lambdas = rfsvm.LAMBDAS[::4] if quick else rfsvm.LAMBDAS
    found, fits = rfsvm.scores(cell, m, lambdas, n_test)
    accuracies = [1.0 - rfsvm.NOISE - rfsvm.excess_risk(score) for score in found]
    return {"lambdas": lambdas, "accuracies": accuracies, **fits}


def report(results: Results) -> Report:
    counts = [n for n in results.unique("N") if n is not None]
    found = rfsvm.best(results, "accuracies", np.argmax, "N", "method")
    best = {key: each.values for key, each in found.items()}
    columns = rfsvm.METHODS | {"ksvm": "kernel SVM"}
    lines = [
        Line(f"{n or 'all'}", each.values, note=f"{each.lam:g}", column=columns[method])
        for (n, method), each in found.items()
    ]
    kernel, most = best[None, "ksvm"], counts[-1]
    claims = [
        Claim(
            "random features do slightly worse than the kernel machine",
            [
                *(below(best[n, "unif"], kernel, f"N = {n}") for n in counts),
                below(kernel - 0.01, best[most, "unif"], f"N = {most}, by less than 0.01"),
            ],
        ),
        Claim(
            "they improve with N",
            [
                below(best[few, method], best[more, method], f"{method}, N = {few} and {more}")
                for few, more in itertools.pairwise(counts)
                for method in ("unif", "printed")
            ],
        ),
        *rfsvm.better_than_uniform(
            lambda method: [below(best[n, "unif"], best[n, method], f"N = {n}") for n in counts]
        ),
    ]

    def draw(figure: Any) -> None:
        curves = results.by("N", "method", of="accuracies")
        powers = np.log10(results.rows[0]["lambdas"])
        axes = figure.subplots(1, len(counts), sharey=True)
        for axis, n in zip(axes, counts, strict=True):
            for key in ((None, "ksvm"), *((n, method) for method in rfsvm.METHODS)):
                curve = np.array(curves[key])
                deviation = curve.std(axis=0, ddof=1) if len(curve) > 1 else None
                style = {"lw": 1, "capsize": 2, "label": key[1]}
                axis.errorbar(powers, curve.mean(axis=0), deviation, **style)
            axis.set(title=f"N = {n}", xlabel="log λ")
        axes[0].set_ylabel("accuracy")
        axes[0].legend(fontsize=7)

    table = Table("Accuracy at the best λ", lines, digits=4, case="N", note="λ")
    return Report([table], claims, draw, (11, 2.8), _NOTES)


_NOTES = """100 runs with 1000 training and 10,000 test rows of the annulus, new ones in every run;
the Gaussian kernel's bandwidth is the mean distance of the training rows; both sides have an
intercept without penalty. Accuracy is that on labels of
which a tenth is flipped (0.9 is the Bayes classifier), computed from the labels before they were
flipped: the mean is the same, and the noise of the test labels is gone. The thesis does not say how
it chooses the μ of its Algorithm 1: ours is the one at which the effective dimension is the number
of columns."""
