"""Maxout paper, Table 3: maxout units that share their projections, and Fourier features."""

from typing import Any

import numpy as np

from kitchensinks.papers.experiments import phones
from kitchensinks.papers.experiments.claims import Claim, below, spread
from kitchensinks.papers.experiments.phones import run as run
from kitchensinks.papers.experiments.study import Cell, Line, Report, Results, Table

# Columns of a set; there are three times as many shared projections, as the paper has 34 times.
INPUTS = {"phoneme": 256, "isolet": 617}
PER_INPUT, MOST = 3, 8000
POOL = 4
# Seeds that are more than those of the other features: five leave the claim on them open.
MORE = {("isolet", "few"): 20, ("isolet", "thin"): 20}
# A loss below this many per cent of the rows counts as little.
LITTLE = 1.0
# The paper's rates on TIMIT, of the pairs that ours stand for.
PRINTED = {
    "few": "15K units, 15K shared: 23.1 % on TIMIT",
    "thin": "400K units, 15K shared: 22.4 % on TIMIT",
    "many": "300K units, 300K shared: 22.1 % on TIMIT",
    "own": "",
    "Fourier": "400K: 21.3 % on TIMIT",
}


def cells(quick: bool) -> list[Cell]:
    return [
        {"data": name, **each, "seed": seed}
        for name, seeds in phones.sets(quick).items()
        for seed in range(max(seeds, *MORE.values()))
        for each in _grid(30 if quick else PER_INPUT * INPUTS[name], 60 if quick else MOST)
        if seed < seeds or (not quick and seed < MORE.get((name, each["kind"]), 0))
    ]


def _grid(few: int, many: int) -> list[Cell]:
    """Units and shared projections: as many of both, more units, more of both; then each unit with
    projections of its own, and Fourier features."""
    return [
        {"kind": "few", "features": "maxout", "m": few, "projections": few},
        {"kind": "thin", "features": "maxout", "m": many, "projections": few},
        {"kind": "many", "features": "maxout", "m": many, "projections": many},
        {"kind": "own", "features": "maxout", "m": many, "projections": None},
        {"kind": "Fourier", "features": "Fourier", "m": many, "projections": None},
    ]


def report(results: Results) -> Report:
    tables, claims = [], []
    for name in results.unique("data"):
        own, title = results.where(data=name), phones.NAMES[name]
        errors = own.by("kind", of="error")
        sizes = {row["kind"]: (row["m"], row["projections"]) for row in own.rows}
        lines = [
            Line(_told(kind, *sizes[kind]), values, note=PRINTED[kind])
            for kind, values in errors.items()
        ]
        heads = f"Test error on {title}", lines, "%", 2, "features", "the paper's"
        tables.append(Table(*heads))
        (most, few), (least, _) = sizes["thin"], sizes["few"]
        # Of the seeds that both have.
        same = errors["thin"][: len(errors["many"])]
        claims += [
            Claim(
                f"{title}: sharing projections loses little (less than {LITTLE:g} %)",
                [
                    below(same, np.add(errors["many"], LITTLE), f"m = {most:,}, P = {few:,}"),
                    below(
                        errors["many"], np.add(errors["own"], LITTLE), f"P = {most:,}, and unshared"
                    ),
                ],
            ),
            Claim(
                f"{title}: more units from the same projections lower the error",
                [below(errors["thin"], errors["few"], f"m = {most:,} and {least:,}")],
            ),
            Claim(
                f"{title}: maxout features do about as well as Fourier features",
                [
                    below(errors["own"], np.add(errors["Fourier"], LITTLE), "maxout"),
                    below(errors["Fourier"], np.add(errors["own"], LITTLE), "Fourier"),
                ],
            ),
        ]

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(tables), squeeze=False)[0]
        for axes, table in zip(panels, tables, strict=True):
            means, deviations = zip(*(spread(line.ours) for line in table.lines), strict=True)
            labels = [line.label for line in table.lines]
            axes.barh(labels, means, xerr=deviations, color="0.7")
            axes.invert_yaxis()
            axes.set(title=table.title, xlabel="%")

    return Report(tables, claims, draw, (10.0, 3.2), _NOTES)


def _told(kind: str, m: int, projections: int | None) -> str:
    if kind == "Fourier":
        return f"Fourier, m = {m:,}"
    of = f"{POOL * m:,} of its own" if projections is None else f"{projections:,} shared"
    return f"maxout, m = {m:,}, {of}"


_NOTES = """q = 4; the paper's sizes are 8 to 50 times ours, on two million frames of TIMIT, and its
rates (in the last column) are phone error rates after decoding: compare the order of the lines.
Settings as in Table 2; Fourier features have a ridge and a bandwidth of their own, chosen in the
same way. The paper's nets (22.7 and 19.7 %) are not run here: see maxout-timit."""
