"""Error against K, time against K, time against error: the three columns of the papers' figures.

Cells have the entries data, method, K and seed, and measure `error` (percent of the test rows) and
`seconds` (training and testing, of the processor) and `wall` (of the clock).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

import kitchensinks as ks
from kitchensinks.papers.experiments.claims import Check, Claim, Measured, near, ratio
from kitchensinks.papers.experiments.data import evidence, load, part, percent_wrong
from kitchensinks.papers.experiments.study import Cell, Line, Report, Results, Stopwatch, Table

# Test errors that differ by no more count as equal, in percent of the test rows.
EQUAL = 0.5
# A ridge by leave-one-out and an intercept, where the papers have neither.
OURS: dict[str, Any] = {"alpha": "auto", "fit_intercept": True}
# Sitting, or one of the five other activities: no single column decides it.
_OPTIONS: dict[str, dict[str, Any]] = {"uci_har": {"positive": (4,), "n_irrelevant": 200}}


def grid(
    sets: Collection[str],
    counts: Mapping[str, Collection[int]],
    seeds: Mapping[str, int],
    most: Mapping[tuple[str, str], int] | None = None,
    more: Mapping[tuple[str, str, int], int] | None = None,
) -> list[Cell]:
    """A cell for every set, method, K of the method and seed.

    `most` limits K on some sets; `more` has the number of seeds of some sets, methods and K where
    it is another one.
    """
    limits, runs = most or {}, more or {}
    return [
        {"data": data, "method": method, "K": count, "seed": seed}
        for data in sets
        for method in counts
        for count in counts[method]
        if count <= limits.get((data, method), 10_000)
        for seed in range(runs.get((data, method, count), seeds.get(method, 1)))
    ]


def sinks(basis: Any, cell: Cell, **options: Any) -> ks.KitchenSinkClassifier:
    """Algorithm 1; as in the papers (no ridge, no intercept) unless the options say otherwise."""
    papers = {"alpha": 0.0, "fit_intercept": False}
    return ks.KitchenSinkClassifier(
        basis, cell["K"], random_state=cell["seed"], **(papers | options)
    )


def measure(cell: Cell, quick: bool, model: Any) -> dict[str, Any]:
    """Fit the model, or AdaBoost in the cells of that method, and score it on the test rows.

    AdaBoost is scikit-learn's, over decision stumps with a search of all thresholds.
    """
    few = 500 if quick else None
    data = part(load(cell["data"], **_OPTIONS.get(cell["data"], {})), few, few)
    if cell["method"] == "adaboost":
        stump = DecisionTreeClassifier(max_depth=1)
        model = AdaBoostClassifier(stump, n_estimators=cell["K"], random_state=0)
    if isinstance(model, ks.KitchenSinkClassifier):
        _compile_loops(model)
    with Stopwatch() as watch:
        predicted = model.fit(data.X_train, data.y_train).predict(data.X_test)
    error = percent_wrong(predicted, data.y_test)
    measured = {"error": error, "seconds": watch.processor, "wall": watch.wall}
    return measured | evidence(model)


def _compile_loops(model: Any) -> None:
    """Fit a small copy of the model, so that no timed cell includes compilation."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(6000, 5)).astype(np.float32), rng.choice([-1, 1], 6000)
    clone(model).set_params(n_components=50).fit(rows, labels).predict(rows)


def _one(values: list[float]) -> Measured:
    """A single run, of a method without a seed, counts as a number."""
    return values[0] if len(values) == 1 else values


class Curves:
    """Results as curves over K, for `sets` and `methods` with their titles."""

    def __init__(self, results: Results, sets: dict[str, str], methods: dict[str, str]) -> None:
        self.results, self.sets, self.methods = results, sets, methods

    def values(self, key: str, data: str, method: str) -> dict[int, list[float]]:
        return self.results.where(data=data, method=method).by("K", of=key)

    def best(self, data: str, method: str) -> list[float]:
        """The errors of all seeds at the K with the least mean."""
        return min(self.values("error", data, method).values(), key=np.mean)

    def best_counts(self, data: str, method: str) -> list[int]:
        """The K of least error of each seed that every K has."""
        errors = self.values("error", data, method)
        common = min(map(len, errors.values()))
        places = np.argmin([values[:common] for values in errors.values()], axis=0)
        return [list(errors)[place] for place in places]

    def as_accurate(
        self, data: str, label: str, ours: str, theirs: str = "adaboost", against: str = "AdaBoost"
    ) -> Check:
        """The check that our best error is theirs, or below it."""
        mine, rival = (self.best(data, method) for method in (ours, theirs))
        return near(mine, _one(rival), EQUAL, "lower", label=label, against=against)

    def faster(
        self, data: str, label: str, ours: str, theirs: str = "adaboost", least: float = 10
    ) -> Check:
        """The check on their seconds over ours, to reach their best error + 0.5 points.

        At the first K that has this error on average over seeds.
        """
        limit = np.mean(self.best(data, theirs)) + EQUAL

        def seconds(method: str) -> Measured:
            errors = self.values("error", data, method)
            reached = [count for count, own in errors.items() if np.mean(own) <= limit]
            times = self.values("seconds", data, method)
            return _one(times[min(reached)]) if reached else np.inf

        return ratio(seconds(theirs), seconds(ours), least, label=label)

    def report(self, claims: Sequence[Claim], height: float, notes: str) -> Report:
        """The claims with the tables and the figure that all of these studies have."""
        tables = [self._table(data, title) for data, title in self.sets.items()]
        return Report(tables, claims, self._draw, (9.0, height), notes)

    def _table(self, data: str, title: str) -> Table:
        """Errors at every K of every method; the note has the seconds."""
        lines = []
        for method, label in self.methods.items():
            seconds = self.values("seconds", data, method)
            for count, errors in self.values("error", data, method).items():
                note = f"{np.mean(seconds[count]):.2f} s"
                lines.append(Line(f"{count:,}", errors, note=note, column=label))
        note = "seconds of training and testing"
        return Table(title, lines, "test error, %", case="K", note=note)

    def _draw(self, figure: Any) -> None:
        """A row for each data set, with the papers' three columns."""
        panels = figure.subplots(len(self.sets), 3, squeeze=False)
        for axes, (data, title) in zip(panels, self.sets.items(), strict=True):
            for method, label in self.methods.items():
                both = [self.values(key, data, method) for key in ("error", "seconds")]
                known = list(both[0])
                error, seconds = ([np.mean(own) for own in values.values()] for values in both)
                style = "s--" if "adaboost" in method else "o-"
                axes[0].plot(known, error, style, ms=3, label=label)
                axes[1].plot(known, seconds, style, ms=3)
                axes[2].plot(error, seconds, style, ms=3)
            axes[0].set(xscale="log", xlabel="K", ylabel=f"{title}\ntest error, %")
            axes[1].set(xscale="log", yscale="log", xlabel="K", ylabel="train + test, s")
            axes[2].set(yscale="log", xlabel="test error, %", ylabel="train + test, s")
            for axis in axes:
                axis.minorticks_off()
        handles = panels[0][0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside upper center", ncols=2, fontsize=8)
