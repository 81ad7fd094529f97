"""How good predictions are: sums over blocks of rows, and what they come to."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitchensinks.estimators.base import KitchenSink
from kitchensinks.problem.targets import Classes
from kitchensinks.state import State

Array = NDArray[Any]

# The least probability in the log loss, so that a wrong certainty stays finite.
_LEAST_CHANCE = 1e-15


class ClassScore:
    """Wrong classes and log loss.

    >>> score = ClassScore(np.array(["a", "b"]))
    >>> score.add(np.array(["a", "b"]), np.array(["a", "a"]), np.array([[0.9, 0.1], [0.6, 0.4]]))
    >>> facts = score.facts()
    >>> facts["rows"], facts["error"], round(facts["log_loss"], 4)
    (2, 0.5, 0.5108)
    """

    def __init__(self, classes: Array) -> None:
        self.classes = classes
        self.rows = self.wrong = 0
        self.loss = 0.0

    def add(self, truth: Array, labels: Array, chances: Array) -> None:
        """A block: true and predicted labels (n,), probabilities (n, classes)."""
        self.rows += len(truth)
        self.wrong += int((truth != labels).sum())
        place = np.searchsorted(self.classes, truth).clip(max=len(self.classes) - 1)
        own = np.where(self.classes[place] == truth, chances[np.arange(len(truth)), place], 0.0)
        self.loss -= float(np.log(np.maximum(own, _LEAST_CHANCE)).sum())

    def facts(self) -> dict[str, Any]:
        error = self.wrong / self.rows
        return {
            "rows": self.rows,
            "error": error,
            "error_standard_error": math.sqrt(error * (1.0 - error) / self.rows),
            "accuracy": 1.0 - error,
            "log_loss": self.loss / self.rows,
        }

    def text(self) -> str:
        facts = self.facts()
        return (
            f"error {100 * facts['error']:.2f} ± {100 * facts['error_standard_error']:.2f} %, "
            f"log loss {facts['log_loss']:.4f}, on {self.rows:,} rows"
        )


class NumberScore:
    """Root mean squared error and R².

    >>> score = NumberScore()
    >>> score.add(np.array([0.0, 2.0]), np.array([0.0, 1.0]))
    >>> score.add(np.array([4.0]), np.array([3.0]))
    >>> facts = score.facts()
    >>> round(facts["rmse"], 4), facts["r2"]
    (0.8165, 0.75)
    """

    def __init__(self) -> None:
        self.rows = 0
        self.squares = self.fourths = self.sizes = 0.0
        self.mean = self.spread = 0.0

    def add(self, truth: Array, predicted: Array) -> None:
        """A block: true and predicted numbers (n,)."""
        if not len(truth):
            return
        residual = truth - predicted
        self.squares += float(np.sum(residual**2))
        self.fourths += float(np.sum(residual**4))
        self.sizes += float(np.abs(residual).sum())
        # Chan, Golub and LeVeque: the spread of two parts together.
        rows, step = self.rows + len(truth), float(truth.mean()) - self.mean
        self.spread += float(np.sum((truth - truth.mean()) ** 2))
        self.spread += step**2 * self.rows * len(truth) / rows
        self.mean += step * len(truth) / rows
        self.rows = rows

    def facts(self) -> dict[str, Any]:
        mean = self.squares / self.rows
        rmse = math.sqrt(mean)
        deviation = math.sqrt(max(0.0, self.fourths / self.rows - mean**2) / self.rows)
        return {
            "rows": self.rows,
            "rmse": rmse,
            "rmse_standard_error": 0.5 * deviation / rmse if rmse > 0 else 0.0,
            "mean_absolute_error": self.sizes / self.rows,
            "r2": 1.0 - self.squares / self.spread if self.spread > 0 else None,
        }

    def text(self) -> str:
        facts = self.facts()
        share = "" if facts["r2"] is None else f", R² {facts['r2']:.4f}"
        return (
            f"RMSE {facts['rmse']:.5g} ± {facts['rmse_standard_error']:.2g}{share}, on "
            f"{self.rows:,} rows"
        )


def scorer(model: KitchenSink) -> tuple[ClassScore | NumberScore, Callable[[Array, Array], None]]:
    """A score of the model's kind, and what adds a block of rows (n, d) and truths (n,) to it."""
    state: State = model.state_
    if isinstance(state.targets, Classes):
        classes = ClassScore(state.targets.labels)

        def add_classes(rows: Array, truth: Array) -> None:
            scores = state.model.scores(rows)
            labels, chances = state.answer("predict", scores), state.probabilities(scores)
            classes.add(truth, labels, chances)

        return classes, add_classes
    numbers = NumberScore()

    def add_numbers(rows: Array, truth: Array) -> None:
        numbers.add(truth, state.model.scores(rows)[:, 0])

    return numbers, add_numbers
