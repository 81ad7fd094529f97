"""Maxout paper, Figure 1: distances of points of the unit circle before and after the map."""

from typing import Any

import numpy as np

import kitchensinks as ks
from kitchensinks.papers.experiments.claims import Claim, below, near
from kitchensinks.papers.experiments.study import Cell, Line, Report, Results, Table, grid

POOLS, UNITS = [8, 32], 1000
# Every 11th pair is stored and drawn.
SHOWN = slice(None, None, 11)


def cells(quick: bool) -> list[Cell]:
    return grid(seed=range(1 if quick else 10), q=POOLS)


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    """The curve over all pairs of 100 points: slope near zero, slope at the end, saturation."""
    n_units = 200 if quick else UNITS
    profile = ks.distance_profile(cell["q"], n_features=n_units, random_state=cell["seed"])
    before, after = profile.before, profile.after
    height = float(after[before > 1.9].mean())
    far = (before >= 1.5) & (before <= 2.0)
    return {
        "before": before[SHOWN],
        "after": after[SHOWN],
        "exact": profile.exact[SHOWN],
        "ratio": float(np.sum(after[before < 0.2]) / np.sum(before[before < 0.2])),
        "end": float(np.polyfit(before[far], after[far], 1)[0]),
        "reach": float(before[after >= 0.9 * height].min()),
        "off": float(np.abs(after - profile.exact).max()),
    }


def report(results: Results) -> Report:
    few, many = POOLS
    names = {
        "ratio": "distance after / before, below 0.2",
        "end": "slope from 1.5 to 2",
        "reach": "distance at which nine tenths of the height are reached",
        "off": "largest difference to infinitely many units",
    }
    lines = [
        Line(f"q = {q}: {told}", results.values(key, q=q))
        for key, told in names.items()
        for q in POOLS
    ]
    claims = [
        Claim(
            "small distances are kept: a linear regime",
            [near(results.values("ratio", q=q), 1.0, 0.1, label=f"q = {q}, slope") for q in POOLS],
        ),
        Claim(
            "large distances saturate",
            [
                below(results.values("end", q=q), 0.2, f"q = {q}, slope from 1.5 to 2")
                for q in POOLS
            ],
        ),
        Claim(
            "the saturation arises earlier for q = 32 than for q = 8",
            [below(results.values("reach", q=many), results.values("reach", q=few))],
        ),
    ]

    def draw(figure: Any) -> None:
        for axes, q in zip(figure.subplots(1, 2, sharey=True), POOLS, strict=True):
            row = results.where(q=q).rows[0]
            axes.plot(row["before"], row["after"], ".", ms=2, label=f"m = {UNITS}")
            axes.plot(row["before"], row["exact"], "k-", lw=1, label="infinitely many units")
            axes.set(xlabel="‖x − z‖", title=f"q = {q}", xlim=(0, 2), ylim=(0, None))
        axes.legend(fontsize=7)
        figure.axes[0].set_ylabel("‖Φ(x) − Φ(z)‖")

    notes = (
        "The line is the limit by the exact kernel; the kernel that the paper's Theorem 1 prints "
        "has no linear part (errata, 1)."
    )
    return Report([Table("The curve", lines, digits=3)], claims, draw, (8.0, 3.2), notes)
