"""Rahimi & Recht 2008, Figure 1: random stumps against AdaBoost stumps on three problems.

Setting of the paper: standardised columns, thresholds from a normal law, squared loss, no ridge, no
intercept, time of training and testing. Beside it our own: intercept, ridge by leave-one-out. The
paper bounds the weights in place of a ridge and does not say by how much, so that claims on
accuracy are put to the curve with a ridge, and claims on time at a given K to the other one.
"""

from typing import Any

import kitchensinks as ks
from kitchensinks.papers.experiments import curves
from kitchensinks.papers.experiments.claims import Claim, below, near, ratio
from kitchensinks.papers.experiments.study import Cell, Report, Results

_SETS = {
    "a9a": "adult, 123 binary",
    "adult-onehot": "adult, one-hot",
    "uci_har": "activity (UCI HAR)",
    "kddcup99": "KDD Cup 99",
}
_METHODS = {
    "squared": "random stumps, as in the paper",
    "squared, auto": "random stumps, ridge by leave-one-out",
    "hinge": "random stumps, hinge loss",
    "adaboost": "AdaBoost",
}
_COUNTS = {
    "squared": (25, 100, 400, 1600, 6400),
    "squared, auto": (25, 100, 400, 1600, 6400),
    "hinge": (400, 1600),
    "adaboost": (1, 5, 25, 50, 100, 200),
}
_QUICK = {"squared": (25, 100), "squared, auto": (25, 100), "hinge": (100,), "adaboost": (5, 25)}
_SEEDS = {"squared": 10, "squared, auto": 10, "hinge": 10, "adaboost": 1}
# The largest K on UCI HAR, whose 761 columns take AdaBoost a second a round. It has some 5000 rows:
# 6400 stumps interpolate, with an error of 41 % without a ridge, so that they have one there.
_MOST = {("uci_har", "adaboost"): 100, ("uci_har", "squared"): 1600}
# Ten seeds leave the comparison of losses open, and KDD, some draws of which are far off.
_MORE = {(data, method, 1600): 30 for data in _SETS for method in _SEEDS if method != "adaboost"}
_MORE |= {("kddcup99", "squared, auto", count): 30 for count in (25, 6400)}

_OPTIONS: dict[str, dict[str, Any]] = {
    "squared, auto": curves.OURS,
    "hinge": {"loss": "hinge", "alpha": 1e-5, "fit_intercept": True},
}
_RIDGE, _SECONDS = "squared, auto", "seconds of AdaBoost over ours"


def cells(quick: bool) -> list[Cell]:
    if quick:
        return curves.grid(_SETS, _QUICK, {}, _MOST)
    return curves.grid(_SETS, _COUNTS, _SEEDS, _MOST, _MORE)


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    options = _OPTIONS.get(cell["method"], {})
    return curves.measure(cell, quick, curves.sinks(ks.Stumps(), cell, **options))


def report(results: Results) -> Report:
    found = curves.Curves(results, _SETS, _METHODS)
    grows, same_count, same_error, slower = [], [], [], []
    for data, title in _SETS.items():
        errors, seconds = (
            {method: found.values(key, data, method) for method in _METHODS}
            for key in ("error", "seconds")
        )
        few, *_, many = errors[_RIDGE]
        label = f"{title}, K = {many} against K = {few}, %"
        grows.append(below(errors[_RIDGE][many], errors[_RIDGE][few], label))
        ours, theirs = seconds["squared"], seconds["adaboost"]
        same_count += [
            ratio(theirs[count][0], ours[count], 100, label=f"{title}, K = {count}, {_SECONDS}")
            for count in sorted(ours.keys() & theirs.keys())
        ]
        count = list(errors["hinge"])[-1]
        pair, label = (errors["hinge"][count], errors[_RIDGE][count]), f"{title}, K = {count}"
        same_error.append(near(*pair, curves.EQUAL, label=label, against="squared loss"))
        slower.append(ratio(seconds["hinge"][count], ours[count], 2, 10, f"{label}, seconds"))
    claims = [
        Claim(
            "random stumps are as accurate as AdaBoost (best K of each, within 0.5 points of "
            "error)",
            [found.as_accurate(data, f"{title}, %", _RIDGE) for data, title in _SETS.items()],
        ),
        Claim("the accuracy of random stumps catches up as K grows", grows),
        Claim(
            "for a given K, random stumps are between two and three orders of magnitude faster",
            same_count,
            "AdaBoost costs a fixed time a round, random stumps hardly more for many than for few: "
            "the ratio grows with K. scikit-learn's AdaBoost is compiled, the paper's was MATLAB "
            "code.",
        ),
        Claim(
            "for a given error, random stumps are one to three orders of magnitude faster (to "
            "reach AdaBoost's best error + 0.5 points)",
            [found.faster(data, f"{title}, {_SECONDS}", _RIDGE) for data, title in _SETS.items()],
        ),
        Claim(
            "no substantial differences in quality under the hinge loss",
            same_error,
            "On KDD the squared loss is worse: some draws put a whole attack, nearly equal rows by "
            "the thousand, on the wrong side. On UCI HAR the hinge loss is worse: its ridge is "
            "fixed (alpha = 1e-5), where that of the squared loss is chosen by leave-one-out.",
        ),
        Claim(
            "the hinge loss is slower by a factor of 2 to 10",
            slower,
            "On KDD most of the time does not depend on the loss: 25 stumps take most of the time "
            "that 1600 take.",
        ),
    ]
    notes = (
        "AdaBoost is scikit-learn's, compiled; the paper's was MATLAB. The paper's activity set is "
        "private: here UCI HAR, sitting or not, split by person, with 200 shuffled columns added. "
        "KDD Cup 99 is trained on a sample of the 10 % file and tested on the 'corrected' file, "
        "which has attacks that the first lacks; they are most of the errors of random stumps. "
        "Without a ridge some draws put a fifth of one attack (smurf) on the wrong side: test rows "
        "are nearly equal by the thousand. "
        "Seconds are of the processor, one thread; results.json has those of the clock too. "
        "AdaBoost has no seed: one run, counted as a number."
    )
    return found.report(claims, 10.5, notes)
