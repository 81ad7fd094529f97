"""Maxout paper, Table 2: phone errors by multinomial logistic regression on maxout features."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import kitchensinks as ks
from kitchensinks.papers.experiments import phones
from kitchensinks.papers.experiments.claims import Below, Claim
from kitchensinks.papers.experiments.study import Cell, Line, Report, Results, Study, Table

POOLS = [2, 4, 8, 16]
COUNTS = [250, 500, 1000, 2000]


def cells(quick: bool) -> list[Cell]:
    found: list[Cell] = []
    for name in phones.sets(quick):
        counts = [30, 60] if quick else COUNTS
        found.append({"data": name, "q": None, "m": None, "seed": 0})
        found += [
            {"data": name, "q": q, "m": m, "seed": seed}
            for seed in range(1 if quick else phones.SEEDS[name])
            for m in counts
            for q in POOLS
        ]
    return found


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    if cell["q"] is None:
        return {"error": phones.raw_error(cell["data"], quick)}
    basis = ks.Maxout(cell["q"])
    return {"error": phones.error(cell["data"], basis, cell["m"], cell["seed"], quick)}


def report(results: Results) -> Report:
    tables, claims = [], []
    for name in results.unique("data"):
        own = results.where(data=name)
        counts = [m for m in own.unique("m") if m is not None]
        raw = own.values("error", q=None)
        errors = {(q, m): own.values("error", q=q, m=m) for m in counts for q in POOLS}
        most = counts[-1]
        lines = [Line(f"m = {m:,}, q = {q}", values) for (q, m), values in errors.items()]
        lines.append(Line("the inputs themselves", raw))
        tables.append(Table(f"Test error on {phones.NAMES[name]}", lines, "%"))
        claims += [
            Claim(
                f"{phones.NAMES[name]}: q = 4 is best at m = {most:,}",
                [
                    Below(errors[4, most], errors[q, most], f"q = 4 and {q}")
                    for q in POOLS
                    if q != 4
                ],
            ),
            Claim(
                f"{phones.NAMES[name]}: the error falls with m",
                [
                    Below(errors[q, more], errors[q, less], f"q = {q}, m = {more:,}")
                    for q in POOLS
                    for less, more in itertools.pairwise(counts)
                ],
            ),
            Claim(
                f"{phones.NAMES[name]}: far below logistic regression on the inputs",
                [Below(errors[4, most], [0.8 * raw[0]], "q = 4, against four fifths of it")],
            ),
        ]

    def draw(figure: Any) -> None:
        names = results.unique("data")
        for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
            own = results.where(data=name)
            counts = [m for m in own.unique("m") if m is not None]
            for q in POOLS:
                means = [np.mean(own.values("error", q=q, m=m)) for m in counts]
                axes.semilogx(counts, means, ".-", label=f"q = {q}")
            axes.axhline(own.values("error", q=None)[0], color="k", lw=0.8, ls=":", label="inputs")
            axes.set(title=phones.NAMES[name], xlabel="m", ylabel="test error, %")
        axes.legend(fontsize=7)

    return Report(tables, claims, draw, (8.0, 3.2), _NOTES)


_NOTES = """TIMIT is licensed: `maxout-timit` runs the paper's own grid on frames of your own. Here
the same study runs on five phonemes of TIMIT (3340 frames) and on the 26 spoken letters of ISOLET
(6238), with smaller m; inputs are standardised, one ridge for all m and q of a set; five seeds of
the phonemes, one of ISOLET. The paper's phone error rates, of q = 2, 4, 8, 16: 24.7, 24.4, 25.6,
26.0 % at m = 1250 and 23.1, 22.3, 24.3, 24.5 % at m = 20,000; 33.1 % on the inputs themselves."""

STUDY = Study(
    name="maxout-table2",
    source="Mroueh, Rennie & Goel 2015 (maxout), Table 2",
    what="Errors on speech frames of logistic regression on maxout features, by m and q",
    minutes=5,
    cells=cells,
    run=run,
    report=report,
    needs=("phoneme", "isolet"),
)
