"""Error against K, time against K, time against error: the three columns of the papers' figures.

Cells have the entries data, method, K and seed, and measure `error` (percent of the test rows) and
`seconds` (training and testing, of the processor) and `wall` (of the clock).
"""

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

import kitchensinks as ks
from kitchensinks.papers.datasets import Dataset
from kitchensinks.papers.experiments.claims import Check, near, ratio
from kitchensinks.papers.experiments.data import load, part, percent_wrong
from kitchensinks.papers.experiments.study import Cell, Line, Results, Stopwatch, Table

# Test errors that differ by no more count as equal, in percent of the test rows.
EQUAL = 0.5
_OPTIONS: dict[str, dict[str, Any]] = {"uci_har": {"walking": True, "n_irrelevant": 200}}


def grid(
    sets: Collection[str],
    counts: Mapping[str, Collection[int]],
    seeds: Mapping[str, int],
    most: Mapping[tuple[str, str], int] | None = None,
) -> list[Cell]:
    """A cell for every set, method, K of the method and seed; `most` limits K on some sets."""
    limits = most or {}
    return [
        {"data": data, "method": method, "K": count, "seed": seed}
        for data in sets
        for method in counts
        for count in counts[method]
        if count <= limits.get((data, method), 10_000)
        for seed in range(seeds.get(method, 1))
    ]


def rows_of(name: str, quick: bool) -> Dataset:
    """The set with the papers' options; 500 of its rows for a quick run."""
    few = 500 if quick else None
    return part(load(name, **_OPTIONS.get(name, {})), few, few)


def adaboost(count: int, seed: int = 0) -> Any:
    """scikit-learn's AdaBoost of decision stumps, which searches all thresholds."""
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.tree import DecisionTreeClassifier

    return AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=1), n_estimators=count, random_state=seed
    )


def sinks(basis: Any, count: int, seed: int, **options: Any) -> ks.KitchenSinkClassifier:
    """Algorithm 1; as in the papers (no ridge, no intercept) unless the options say otherwise."""
    papers = {"alpha": 0.0, "fit_intercept": False}
    return ks.KitchenSinkClassifier(basis, count, random_state=seed, **(papers | options))


def fit_and_test(model: Any, data: Dataset) -> dict[str, float]:
    """Test error in percent, and seconds of training and testing together."""
    with Stopwatch() as watch:
        predicted = model.fit(data.X_train, data.y_train).predict(data.X_test)
    return {
        "error": percent_wrong(predicted, data.y_test),
        "seconds": watch.processor,
        "wall": watch.wall,
    }


@lru_cache(maxsize=8)
def warm(kind: str, *bases: Any) -> None:
    """Compile the loops that the method `kind` uses, so that no timed cell includes compilation."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(6000, 5)).astype(np.float32), rng.choice([-1, 1], 6000)
    for basis in bases:
        loss = "hinge" if "hinge" in kind else "squared"
        alpha = "auto" if "auto" in kind else 1e-5 if loss == "hinge" else 0.0
        sinks(basis, 50, 0, loss=loss, alpha=alpha).fit(rows, labels).predict(rows)


def counts(results: Results, data: str, method: str) -> list[int]:
    """The K of a method's curve."""
    return results.unique("K", data=data, method=method)


def curve(results: Results, key: str, data: str, method: str) -> np.ndarray:
    """Means over seeds for every K."""
    own = results.where(data=data, method=method)
    return np.array([np.mean(values) for values in own.by("K", of=key).values()])


def best_error(results: Results, data: str, method: str) -> list[float]:
    """The errors of all seeds at the K with the least mean error."""
    place = int(np.argmin(curve(results, "error", data, method)))
    count = counts(results, data, method)[place]
    return results.values("error", data=data, method=method, K=count)


def seconds_to_reach(results: Results, data: str, method: str, error: float) -> float:
    """The least time of a K whose mean error is at most `error`; infinite where there is none."""
    reached = curve(results, "error", data, method) <= error
    seconds = curve(results, "seconds", data, method)
    return float(seconds[reached].min()) if reached.any() else np.inf


def as_accurate(
    results: Results,
    data: str,
    label: str,
    ours: str,
    theirs: str = "adaboost",
    against: str = "AdaBoost",
) -> Check:
    """The check that our best error is theirs, or below it."""
    (rival,) = best_error(results, data, theirs)
    mine = best_error(results, data, ours)
    return near(mine, rival, EQUAL, "lower", label=label, against=against)


def faster(
    results: Results, data: str, label: str, ours: str, theirs: str = "adaboost", least: float = 10
) -> Check:
    """The check on their seconds over ours, to reach their best error + 0.5 points."""
    (rival,) = best_error(results, data, theirs)
    slow, fast = (seconds_to_reach(results, data, m, rival + EQUAL) for m in (theirs, ours))
    return ratio([slow], [fast], least, label=label)


def table(results: Results, data: str, title: str, labels: dict[str, str]) -> Table:
    """Errors at every K of every method; the note has the seconds."""
    lines = [
        Line(
            f"{label}, K = {count}",
            results.values("error", data=data, method=method, K=count),
            note=f"{results.mean('seconds', data=data, method=method, K=count):.2f} s",
        )
        for method, label in labels.items()
        for count in counts(results, data, method)
    ]
    return Table(title, lines, "test error, %; seconds of training and testing")


def draw(figure: Any, results: Results, sets: dict[str, str], labels: dict[str, str]) -> None:
    """A row for each data set, with the papers' three columns."""
    panels = figure.subplots(len(sets), 3, squeeze=False)
    for axes, (data, title) in zip(panels, sets.items(), strict=True):
        for method, label in labels.items():
            known = counts(results, data, method)
            if not known:
                continue
            error, seconds = (curve(results, key, data, method) for key in ("error", "seconds"))
            style = "s--" if "adaboost" in method else "o-"
            axes[0].plot(known, error, style, ms=3, label=label)
            axes[1].plot(known, seconds, style, ms=3)
            axes[2].plot(error, seconds, style, ms=3)
        axes[0].set(xscale="log", xlabel="K", ylabel=f"{title}\ntest error, %")
        axes[1].set(xscale="log", yscale="log", xlabel="K", ylabel="train + test, s")
        axes[2].set(yscale="log", xlabel="test error, %", ylabel="train + test, s")
        for axis in axes:
            axis.minorticks_off()
    figure.legend(
        *panels[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=2, fontsize=8
    )
