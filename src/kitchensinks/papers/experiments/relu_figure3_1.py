"""Thesis, Figure 3.1: the four synthetic sets in the plane."""

from typing import Any

import numpy as np

from kitchensinks.papers.experiments import bandwidths
from kitchensinks.papers.experiments.claims import Claim, near
from kitchensinks.papers.experiments.study import Cell, Line, Report, Results, Table


def cells(quick: bool) -> list[Cell]:
    return [{"data": name} for name in bandwidths.SYNTHETIC]


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    """Rows for the picture, and the share of the positive class."""
    rows, labels = bandwidths.synthetic(cell["data"], 1000 if quick else 100_000, 0)
    return {"rows": rows[:600], "labels": labels[:600], "positive": np.mean(labels == 1)}


def report(results: Results) -> Report:
    shares = {row["data"]: row["positive"] for row in results.rows}
    lines = [Line(name, [share]) for name, share in shares.items()]
    claim = Claim(
        "the two classes cover the pictures about equally",
        [near([share], 0.5, 0.05, label=name) for name, share in shares.items()],
        kind="construction",
    )

    def draw(figure: Any) -> None:
        for axes, row in zip(figure.subplots(1, 4), results.rows, strict=True):
            rows, labels = np.array(row["rows"])[:350], np.array(row["labels"])[:350]
            for label, style in ((-1, "bx"), (1, "r.")):
                axes.plot(*rows[labels == label].T, style, ms=3)
            axes.set_title(row["data"])

    notes = (
        "The thesis shows pictures only; the docstrings of `ks.datasets.make_*` have the formulas."
    )
    table = Table("Share of the positive class", lines, digits=3, case="set")
    return Report([table], [claim], draw, (11.0, 2.8), notes)
