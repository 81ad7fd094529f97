"""Error against K, time against K, time against error: the three columns of the papers' figures.

Cells have the entries data, method, K and seed, and measure `error` (percent of the test rows) and
`seconds` (training and testing, of the processor) and `wall` (of the clock).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

import kitchensinks as ks
from kitchensinks.papers.datasets import Dataset
from kitchensinks.papers.experiments.data import percent_wrong
from kitchensinks.papers.experiments.study import Line, Results, Stopwatch, Table


def adaboost(count: int, seed: int = 0) -> Any:
    """scikit-learn's AdaBoost of decision stumps, which looks through every threshold."""
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
    """Compile what the method `kind` of a study compiles, so that no cell pays for it."""
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
    return np.array(
        [
            results.mean(key, data=data, method=method, K=count)
            for count in counts(results, data, method)
        ]
    )


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
