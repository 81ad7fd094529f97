"""Thesis, Figure 2.1: accuracy of random Fourier and kernel support vector machines against λ."""

import itertools
from typing import Any

import numpy as np

from kitchensinks.papers.experiments import rfsvm
from kitchensinks.papers.experiments.claims import Claim, below
from kitchensinks.papers.experiments.study import Cell, Line, Report, Results, Table

COUNTS = [1, 3, 5, 10, 20]
ROWS, RUNS = 1000, 10


def cells(quick: bool) -> list[Cell]:
    counts, runs = ([1, 20], 1) if quick else (COUNTS, RUNS)
    machines = [(n, method) for n in counts for method in rfsvm.METHODS]
    return [
        {"N": n, "method": method, "run": run}
        for run in range(runs)
        for n, method in [*machines, (None, "ksvm")]
    ]


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    m, n_test = (200, 2000) if quick else (ROWS, 100_000)
    lambdas = rfsvm.LAMBDAS[::4] if quick else rfsvm.LAMBDAS
    if cell["method"] != "ksvm":
        found = rfsvm.scores("annulus", m, cell["N"], cell["method"], lambdas, cell["run"], n_test)
    else:
        rows, labels = rfsvm.training("annulus", m, cell["run"])
        others, truth = rfsvm.testing("annulus", n_test)
        machines = (rfsvm.kernel_machine(rows, lam).fit(rows, labels) for lam in lambdas)
        found = [float(machine.score(others, truth)) for machine in machines]
    accuracies = [1.0 - rfsvm.NOISE - rfsvm.excess_risk(score) for score in found]
    return {"lambdas": lambdas, "accuracies": accuracies}


def report(results: Results) -> Report:
    counts = [n for n in results.unique("N") if n is not None]
    lambdas = results.rows[0]["lambdas"]
    keys = [*((n, method) for n in counts for method in rfsvm.METHODS), (None, "ksvm")]
    # Each method at the λ with the best mean accuracy.
    best, lines = {}, []
    for n, method in keys:
        lam, values = rfsvm.best(results, "accuracies", np.argmax, N=n, method=method)
        label = "kernel SVM" if n is None else f"N = {n}, {method}"
        lines.append(Line(label, values, note=f"λ = {lam:g}"))
        best[n, method] = values
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
                for method in rfsvm.METHODS
            ],
        ),
        Claim(
            "reweighted features do better than uniform ones",
            [below(best[n, "unif"], best[n, "opt"], f"N = {n}") for n in counts],
            "At small N runs differ more than methods do.",
        ),
    ]

    def draw(figure: Any) -> None:
        curves = results.by("N", "method", of="accuracies")
        axes = figure.subplots(1, len(counts), sharey=True)
        for axis, n in zip(axes, counts, strict=True):
            for key in ((None, "ksvm"), (n, "unif"), (n, "opt")):
                curve = np.array(curves[key])
                deviation = curve.std(axis=0, ddof=1) if len(curve) > 1 else None
                style = {"lw": 1, "capsize": 2, "label": key[1]}
                axis.errorbar(np.log10(lambdas), curve.mean(axis=0), deviation, **style)
            axis.set(title=f"N = {n}", xlabel="log λ")
        axes[0].set_ylabel("accuracy")
        axes[0].legend(fontsize=7)

    table = Table("Accuracy at the best λ", lines, digits=4)
    return Report([table], claims, draw, (11, 2.8), _NOTES)


_NOTES = """1000 training rows of the annulus, new ones in every run, and 100,000 test rows; the
Gaussian kernel's bandwidth is the mean distance of the training rows. Accuracy is that on labels of
which a tenth is flipped (0.9 is the Bayes classifier), computed from the labels before they were
flipped: the mean is the same, and the noise of the test labels is gone. The thesis does not say how
it chooses the μ of its Algorithm 1: ours is the one at which the effective dimension is the number
of columns."""
