"""Maxout paper, Table 2: phone errors by multinomial logistic regression on maxout features."""

from typing import Any

import numpy as np

from kitchensinks.papers.experiments import phones
from kitchensinks.papers.experiments.phones import run as run
from kitchensinks.papers.experiments.study import Cell, Line, Report, Results, Table, grid

COUNTS = [500, 2000, 8000]


def cells(quick: bool) -> list[Cell]:
    counts = [30, 60] if quick else COUNTS
    return [
        cell
        for name, seeds in phones.sets(quick).items()
        for cell in (
            {"data": name, "q": None, "m": None, "seed": 0},
            *grid(data=[name], seed=range(seeds), m=counts, q=phones.POOLS),
        )
    ]


def report(results: Results) -> Report:
    tables, claims, errors, raw = [], [], {}, {}
    for name in results.unique("data"):
        own, title = results.where(data=name), phones.NAMES[name]
        (inputs,) = raw[name] = own.values("error", q=None)
        errors[name] = own.by("m", "q", of="error")
        del errors[name][None, None]
        lines = [Line(f"{m:,}", own, column=f"q = {q}") for (m, q), own in errors[name].items()]
        told = f"%; {inputs:.2f} % on the inputs themselves"
        tables.append(Table(f"Test error on {title}", lines, told, case="m"))
        claims += phones.claims(errors[name], [inputs], f"{title}: ")

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(errors), squeeze=False)[0]
        for axes, (name, groups) in zip(panels, errors.items(), strict=True):
            for q in phones.POOLS:
                means = {m: np.mean(values) for (m, pool), values in groups.items() if pool == q}
                axes.semilogx(means.keys(), means.values(), ".-", label=f"q = {q}")
            axes.axhline(raw[name][0], color="k", lw=0.8, ls=":", label="inputs")
            axes.set(title=phones.NAMES[name], xlabel="m", ylabel="test error, %")
        axes.legend(fontsize=7)

    return Report(tables, claims, draw, (8.0, 3.2), _NOTES)


_NOTES = """TIMIT is licensed: `maxout-timit` runs the paper's own grid on frames of your own. Here
the same study runs on 2000 training frames of five phonemes of TIMIT and on as many of the 26
spoken letters of ISOLET, with smaller m; inputs are standardised; five seeds. Every q has a ridge
of its own, of powers of ten, by the error of 1000 units on a quarter of the training rows; none is
at an end of those tried. The paper's phone error rates, of q = 2, 4, 8, 16: 24.7, 24.4, 25.6,
26.0 % at m = 1250 and 23.1, 22.3, 24.3, 24.5 % at m = 20,000; 33.1 % on the inputs themselves."""
