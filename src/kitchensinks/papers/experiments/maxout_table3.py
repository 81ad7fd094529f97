"""Maxout paper, Table 3: maxout units that share their projections, and Fourier features."""

from typing import Any

from kitchensinks.papers.experiments import phones
from kitchensinks.papers.experiments.claims import Claim, below
from kitchensinks.papers.experiments.phones import run as run
from kitchensinks.papers.experiments.study import Cell, Line, Report, Results, Table

# (units, shared projections): the paper's pair that it stands for, and the paper's error.
MAXOUT: dict[tuple[int, int | None], tuple[str, float]] = {
    (250, 250): ("15K, 15K", 23.1),
    (1000, 250): ("60K, 15K", 22.7),
    (1000, 1000): ("60K, 60K", 22.8),
    (2000, 250): ("400K, 15K", 22.4),
    (2000, 2000): ("300K, 300K", 22.1),
}
FOURIER = (2000, "400K", 21.3)
POOL = 4
# A loss below this many per cent of the rows counts as little.
LITTLE = 1.0


def cells(quick: bool) -> list[Cell]:
    pairs = [(30, 30), (60, 30), (60, 60)] if quick else list(MAXOUT)
    grid: list[Cell] = [
        *({"features": "maxout", "m": m, "projections": p} for m, p in pairs),
        {"features": "maxout", "m": pairs[-1][0], "projections": None},
        {"features": "Fourier", "m": 60 if quick else FOURIER[0], "projections": None},
    ]
    return [
        {"data": name, **each, "seed": seed}
        for name, seeds in phones.sets(quick).items()
        for seed in range(seeds)
        for each in grid
    ]


def report(results: Results) -> Report:
    tables, claims = [], []
    for name in results.unique("data"):
        own, title = results.where(data=name), phones.NAMES[name]
        errors = own.where(features="maxout").by("m", "projections", of="error")
        fourier = own.values("error", features="Fourier")
        lines = [
            Line(f"maxout, m = {m:,}, {_told(m, p)}", values, note=_note(m, p))
            for (m, p), values in errors.items()
        ]
        _, printed, value = FOURIER
        (count,) = own.unique("m", features="Fourier")
        note = f"{printed}: {value} % on TIMIT"
        lines.append(Line(f"Fourier, m = {count:,}", fourier, note=note))
        tables.append(Table(f"Test error on {title}", lines, "%"))
        *shared, (most, _) = errors
        many, few = max(shared), min(shared)
        thin = (many[0], few[1]) if (many[0], few[1]) in errors else few
        unshared = errors[most, None]
        claims += [
            Claim(
                f"{title}: sharing projections loses little (less than {LITTLE:g} %)",
                [
                    below(errors[thin], _plus(errors[many]), f"m = {many[0]:,}, P = {thin[1]:,}"),
                    below(errors[many], _plus(unshared), f"P = {many[1]:,}, and unshared"),
                ],
            ),
            Claim(
                f"{title}: more units from the same projections lower the error",
                [below(errors[thin], errors[few], f"m = {thin[0]:,} and {few[0]:,}")],
            ),
            Claim(
                f"{title}: maxout features do about as well as Fourier features",
                [
                    below(unshared, _plus(fourier), "maxout"),
                    below(fourier, _plus(unshared), "Fourier"),
                ],
            ),
        ]

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(tables), squeeze=False)[0]
        for axes, table in zip(panels, tables, strict=True):
            facts = [line.facts() for line in table.lines]
            axes.barh(
                [line["label"] for line in facts],
                [line["ours"] for line in facts],
                xerr=[line["deviation"] for line in facts],
                color="0.7",
            )
            axes.invert_yaxis()
            axes.set(title=table.title, xlabel="%")

    return Report(tables, claims, draw, (10.0, 3.2), _NOTES)


def _plus(errors: list[float]) -> list[float]:
    return [error + LITTLE for error in errors]


def _told(m: int, projections: int | None) -> str:
    return f"{POOL * m:,} of its own" if projections is None else f"{projections:,} shared"


def _note(m: int, projections: int | None) -> str:
    if (m, projections) not in MAXOUT:
        return ""
    printed, value = MAXOUT[m, projections]
    return f"{printed}: {value} % on TIMIT"


_NOTES = """q = 4; the paper's sizes are 60 to 200 times ours, on two million frames of TIMIT, and
its rates (in the last column) are phone error rates after decoding: compare the order of the lines.
Settings as in Table 2. The paper's nets (22.7 and 19.7 %) are not run here."""
