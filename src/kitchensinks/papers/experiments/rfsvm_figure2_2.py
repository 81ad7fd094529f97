"""Thesis, Figure 2.2: training rows of the annulus, and the circle that is a Bayes boundary."""

from typing import Any

import numpy as np

import kitchensinks as ks
from kitchensinks.papers.experiments.claims import Claim, near
from kitchensinks.papers.experiments.study import Cell, Line, Report, Results, Table


def cells(quick: bool) -> list[Cell]:
    return [{"seed": seed} for seed in range(2 if quick else 10)]


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    """Fifty rows for the picture, and the accuracy of the unit circle on many rows."""
    rows, labels = ks.datasets.make_annulus(1000 if quick else 100_000, random_state=cell["seed"])
    circle = np.where(np.linalg.norm(rows, axis=1) < 1.0, -1, 1)
    return {"rows": rows[:50], "labels": labels[:50], "accuracy": np.mean(circle == labels)}


def report(results: Results) -> Report:
    accuracy = results.values("accuracy")
    rows, labels = (np.array(results.rows[0][key]) for key in ("rows", "labels"))

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for label, style in ((-1, "bx"), (1, "ro")):
            axes.plot(*rows[labels == label].T, style, mfc="none", ms=4)
        angle = np.linspace(0.0, 2.0 * np.pi, 200)
        axes.plot(np.cos(angle), np.sin(angle), "g-", lw=1)
        axes.set_aspect("equal")

    claim = Claim(
        "the unit circle is a best classifier, of 90 % accuracy",
        [near(accuracy, 0.9, 0.005, label="accuracy of the unit circle")],
        kind="construction",
    )
    table = Table(
        "The Bayes classifier", [Line("accuracy of the unit circle", accuracy, 0.9)], "", 4
    )
    return Report([table], [claim], draw, (3.6, 3.6))
