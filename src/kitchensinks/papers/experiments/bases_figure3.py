"""Random bases, Figure 3: random stumps against AdaBoost stumps on adult.

Thresholds are uniform, as in the table of this paper; the kitchen-sinks paper draws them from a
normal law (rks-figure1).
"""

from __future__ import annotations

from typing import Any

import kitchensinks as ks
from kitchensinks.papers.experiments import curves
from kitchensinks.papers.experiments.claims import Claim, Near, Ratio
from kitchensinks.papers.experiments.data import load, part
from kitchensinks.papers.experiments.study import Cell, Report, Results, Study

_SETS = {"a9a": "adult, 123 binary", "adult-onehot": "adult, one-hot"}
_METHODS = {"stumps": "random stumps", "adaboost": "AdaBoost"}
_COUNTS = {"stumps": (25, 100, 400, 1600, 6400), "adaboost": (1, 5, 25, 50, 100, 200)}
_QUICK = {"stumps": (25, 400), "adaboost": (2, 10)}
# Test errors that differ by no more are called equal, in percent of the test rows.
_EQUAL = 0.5


def cells(quick: bool) -> list[Cell]:
    return [
        {"data": data, "method": method, "K": count, "seed": seed}
        for data in _SETS
        for method in _METHODS
        for count in (_QUICK if quick else _COUNTS)[method]
        for seed in range(5 if method == "stumps" and not quick else 1)
    ]


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    data = part(load(cell["data"]), 500 if quick else None, 500 if quick else None)
    if cell["method"] == "adaboost":
        return curves.fit_and_test(curves.adaboost(cell["K"]), data)
    basis = ks.Stumps("uniform", a=3.0)
    curves.warm("squared", ks.Stumps())
    return curves.fit_and_test(curves.sinks(basis, cell["K"], cell["seed"]), data)


def report(results: Results) -> Report:
    accurate, faster = [], []
    for data, title in _SETS.items():
        (boosted,) = curves.best_error(results, data, "adaboost")
        ours = curves.best_error(results, data, "stumps")
        label = f"{title}, %"
        accurate.append(Near(ours, boosted, _EQUAL, "lower", label=label, against="AdaBoost"))
        seconds = {m: curves.seconds_to_reach(results, data, m, boosted + _EQUAL) for m in _METHODS}
        label = f"{title}, seconds of AdaBoost over ours"
        faster.append(Ratio([seconds["adaboost"]], [seconds["stumps"]], 10, label=label))
    claims = [
        Claim("random stumps achieve similar accuracy as AdaBoost (within 0.5 points)", accurate),
        Claim(
            "for a given error, random stumps are an order of magnitude faster (to reach "
            "AdaBoost's best error + 0.5 points)",
            faster,
        ),
    ]

    def draw(figure: Any) -> None:
        curves.draw(figure, results, _SETS, _METHODS)

    tables = [curves.table(results, data, title, _METHODS) for data, title in _SETS.items()]
    notes = "No ridge, no intercept; AdaBoost is scikit-learn's; processor seconds of one thread."
    return Report(tables, claims, draw, (9.0, 5.6), notes)


STUDY = Study(
    name="bases-figure3",
    source="Rahimi & Recht 2008 (random bases), Figure 3",
    what="Random stumps against AdaBoost on adult: error and time against K, time against error",
    minutes=2,
    cells=cells,
    run=run,
    report=report,
    needs=tuple(_SETS),
)
