"""Random bases, Figure 3: random stumps against AdaBoost stumps on adult.

Thresholds are uniform, as in the table of this paper; the kitchen-sinks paper draws them from a
normal law (rks-figure1).
"""

from typing import Any

import kitchensinks as ks
from kitchensinks.papers.experiments import curves
from kitchensinks.papers.experiments.claims import Claim
from kitchensinks.papers.experiments.study import Cell, Report, Results

_SETS = {"a9a": "adult, 123 binary", "adult-onehot": "adult, one-hot"}
_METHODS = {"stumps": "random stumps", "adaboost": "AdaBoost"}
_COUNTS = {"stumps": (25, 100, 400, 1600, 6400), "adaboost": (1, 5, 25, 50, 100, 200)}
_QUICK = {"stumps": (25, 400), "adaboost": (2, 10)}


def cells(quick: bool) -> list[Cell]:
    return curves.grid(_SETS, _QUICK if quick else _COUNTS, {} if quick else {"stumps": 5})


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    return curves.measure(cell, quick, curves.sinks(ks.Stumps("uniform", a=3.0), cell))


def report(results: Results) -> Report:
    found = curves.Curves(results, _SETS, _METHODS)
    label = "seconds of AdaBoost over ours"
    claims = [
        Claim(
            "random stumps achieve similar accuracy as AdaBoost (within 0.5 points)",
            [found.as_accurate(data, f"{title}, %", "stumps") for data, title in _SETS.items()],
        ),
        Claim(
            "for a given error, random stumps are an order of magnitude faster (to reach "
            "AdaBoost's best error + 0.5 points)",
            [found.faster(data, f"{title}, {label}", "stumps") for data, title in _SETS.items()],
        ),
    ]
    notes = "No ridge, no intercept; AdaBoost is scikit-learn's; processor seconds of one thread."
    return found.report(claims, 5.6, notes)
