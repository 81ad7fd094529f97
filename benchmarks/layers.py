"""`python -m benchmarks.layers`: stacked sinks with 1, 2 and 3 layers, and other rules for them.

Writes results/layers.json, in about three minutes of one core. R² or accuracy on test rows. Other
rules than that of ``ks.StackedSinksRegressor``, with two layers:

- out-of-fold: the second layer sees out-of-fold scores of all rows, in place of scores on a share
  that the first layer has not seen;
- random mixing: the second layer sees d random mixtures of the first layer's features, with no fit
  between them.
"""

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.random_projection import GaussianRandomProjection

import kitchensinks as ks
from benchmarks.__main__ import machine
from benchmarks.store import FOLDER, read, write

RESULTS = FOLDER / "layers.json"
Data = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class OutOfFold(RegressorMixin, BaseEstimator):
    """Two layers: the second sees the rows and out-of-fold scores, and fits the residual."""

    def __init__(self, layer: Any) -> None:
        self.layer = layer

    def fit(self, X: Any, y: Any) -> "OutOfFold":
        self.rows_ = StandardScaler().fit(X)
        rows = self.rows_.transform(X)
        scores = cross_val_predict(self.layer, rows, y, cv=5)
        self.first_ = clone(self.layer).fit(rows, y)
        self.centre_, self.spread_ = scores.mean(), scores.std()
        self.second_ = clone(self.layer).set_params(random_state=1)
        self.second_.fit(self._beside(rows, scores), y - scores)
        return self

    def predict(self, X: Any) -> np.ndarray:
        rows = self.rows_.transform(X)
        scores = self.first_.predict(rows)
        return scores + self.second_.predict(self._beside(rows, scores))

    def _beside(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """The score weighs as much as all columns of the rows."""
        factor = np.sqrt(rows.shape[1]) / self.spread_
        return np.column_stack([rows, factor * (scores - self.centre_)])


def models(regression: bool, n_components: int, n_inputs: int, seed: int) -> dict[str, Any]:
    """Every contestant, by name."""
    Stacked = ks.StackedSinksRegressor if regression else ks.StackedSinksClassifier
    Sinks = ks.KitchenSinkRegressor if regression else ks.KitchenSinkClassifier
    own = {"n_components": n_components, "random_state": seed}
    numbers = {"one layer": 1, "two": 2, "three": 3}
    found = {name: Stacked(n_layers=n, **own) for name, n in numbers.items()}
    # Two layers in two chains have 4K weights.
    found["one with 4K"] = Stacked(n_layers=1, **{**own, "n_components": 4 * n_components})
    found["random mixing"] = make_pipeline(
        StandardScaler(),
        ks.RandomFeatures(**own),
        GaussianRandomProjection(n_inputs, random_state=seed),
        Sinks(ks.Fourier(), **own),
    )
    if regression:
        found["out-of-fold"] = OutOfFold(
            ks.KitchenSinkRegressor(ks.Fourier(), standardize=False, **own)
        )
    return found


def halves(load: Callable[..., Any]) -> Callable[[int], Data]:
    """A bundled set, half of its rows for testing."""
    X, y = load(return_X_y=True)

    def split(seed: int) -> Data:
        return tuple(train_test_split(X, y, test_size=0.5, random_state=seed))

    return split


def separation(n_rows: int, column: int) -> Callable[[int], Data]:
    """The depth-separation data: column 1 is the smooth target, 2 the three classes."""

    def make(seed: int) -> Data:
        train = ks.datasets.make_depth_separation(n_rows, random_state=2 * seed)
        test = ks.datasets.make_depth_separation(5000, random_state=2 * seed + 1)
        return train[0], test[0], train[column], test[column]

    return make


# name: data of a seed, whether it is regression, K, number of seeds
WORK: dict[str, tuple[Callable[[int], Data], bool, int, int]] = {
    "diabetes, R²": (halves(datasets.load_diabetes), True, 500, 10),
    "breast cancer": (halves(datasets.load_breast_cancer), False, 500, 10),
    "wine": (halves(datasets.load_wine), False, 500, 10),
    "digits": (halves(datasets.load_digits), False, 500, 3),
    "depth separation, 4,000 rows, R²": (separation(4000, 1), True, 500, 3),
    "4,000 rows, three classes": (separation(4000, 2), False, 500, 3),
    "depth separation, 20,000 rows, R²": (separation(20_000, 1), True, 500, 3),
    "20,000 rows, three classes": (separation(20_000, 2), False, 500, 3),
}


def run() -> Iterator[dict[str, Any]]:
    for name, (make, regression, n_components, seeds) in WORK.items():
        scores: dict[str, list[float]] = {}
        for seed in range(seeds):
            X, X_test, y, y_test = make(seed)
            for model, each in models(regression, n_components, X.shape[1], seed).items():
                scores.setdefault(model, []).append(float(each.fit(X, y).score(X_test, y_test)))
        for model, own in scores.items():
            yield {"data": name, "K": n_components, "model": model, "scores": own}


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: mean ± standard error over seeds, and the lowest in brackets."""
    names = list(dict.fromkeys(row["model"] for row in rows))
    lines = [f"| data | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for data in dict.fromkeys(row["data"] for row in rows):
        own = {row["model"]: np.array(row["scores"]) for row in rows if row["data"] == data}
        cells = [cell(own[name]) if name in own else "" for name in names]
        lines.append(f"| {data} | {' | '.join(cells)} |")
    return "\n".join(lines)


def cell(scores: np.ndarray) -> str:
    deviation = scores.std(ddof=1) / np.sqrt(len(scores))
    return f"{scores.mean():.3f} ± {deviation:.3f} ({scores.min():.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true", help="only print the saved results")
    if parser.parse_args().table:
        rows = read(RESULTS)["rows"]
    else:
        rows = []
        for row in run():
            print(row, flush=True)
            rows.append(row)
        write(RESULTS, {"machine": machine(), "rows": rows})
    print(table(rows))


if __name__ == "__main__":
    main()
