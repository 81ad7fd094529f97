"""Thesis, Figure 3.3: radial density and targets of the depth-separation data."""

from typing import Any

import numpy as np

import kitchensinks as ks
from kitchensinks.papers.experiments.claims import Claim, below
from kitchensinks.papers.experiments.study import Cell, Line, Report, Results, Table

LOW, HIGH = 10.4, 15.6


def cells(quick: bool) -> list[Cell]:
    return [{"seed": 0}]


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    """A histogram of the radius, and both targets by radius."""
    n_rows, n_bins = (5000, 60) if quick else (400_000, 520)
    rows, smooth, labels = ks.datasets.make_depth_separation(n_rows, random_state=cell["seed"])
    radius = np.linalg.norm(rows, axis=1)
    density, edges = np.histogram(radius, n_bins, (LOW, HIGH), density=True)
    among = np.argsort(radius)[:: max(1, n_rows // 2000)]
    bins = np.clip(np.digitize(radius, edges) - 1, 0, n_bins - 1)
    width = 2 * (n_bins // 60) + 1
    smoothed = np.convolve(density, np.ones(width) / width, "valid")
    return {
        "edges": edges,
        "density": density,
        "radius": radius[among],
        "smooth": smooth[among],
        "labels": labels[among],
        "dense_where_signed": float(density[bins[labels != 0]].mean()),
        "dense_where_zero": float(density[bins[labels == 0]].mean()),
        "zero_share": float(np.mean(labels == 0)),
        "turns": int(np.sum(np.diff(np.sign(np.diff(smoothed))) < 0)),
    }


def report(results: Results) -> Report:
    (row,) = results.rows
    names = {
        "dense_where_signed": "mean density where the target is ±1",
        "dense_where_zero": "mean density where the target is 0",
        "zero_share": "share of rows with target 0",
        "turns": "peaks of the density",
    }
    lines = [Line(told, [row[key]]) for key, told in names.items()]
    claims = [
        Claim(
            "the target is ±1 where the density is high, and 0 elsewhere",
            [below([row["dense_where_zero"]], [row["dense_where_signed"]], "mean density")],
            kind="construction",
        ),
        Claim(
            "the density oscillates rapidly",
            [below(5.0, [row["turns"]], "more than five peaks")],
            kind="construction",
        ),
    ]

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        left.stairs(row["density"], row["edges"])
        left.set(xlabel="radius", ylabel="density")
        right.plot(row["radius"], row["labels"], "r-", lw=0.8, label="g")
        right.plot(row["radius"], row["smooth"], "b-", lw=0.8, label="smoothed")
        right.set(xlabel="radius", ylabel="target")
        right.legend(fontsize=7)

    notes = "`ks.datasets.make_depth_separation` has the formulas; the thesis shows pictures only."
    return Report([Table("The data", lines, digits=3)], claims, draw, (9.0, 3.0), notes)
