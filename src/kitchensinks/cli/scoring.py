"""How good the predictions of a model are, with standard errors."""

import math
from collections.abc import Iterable

import numpy as np

from kitchensinks.numerics.arrays import AnyArray, Facts
from kitchensinks.problem.targets import Classes
from kitchensinks.state import State

# Smallest probability in the log loss, which keeps it finite.
_LEAST_CHANCE = 1e-15


def score_blocks(state: State, blocks: Iterable[tuple[AnyArray, AnyArray]]) -> tuple[str, Facts]:
    """The score of a model on blocks of rows (n, d) and truths (n,), in words and in numbers."""
    truths, answers, chances = [], [], []
    classes = state.targets if isinstance(state.targets, Classes) else None
    for rows, truth in blocks:
        if not len(truth):
            continue
        scores = state.model.scores(rows)
        truths.append(truth)
        answers.append(state.answer("predict", scores))
        if classes is not None:
            chances.append(classes.own_chances(truth, state.probabilities(scores)))
    truth, answer = np.concatenate(truths), np.concatenate(answers)
    if classes is None and state.loss.shares_below:
        return quantile_score(truth, answer, float(state.loss.value(truth, answer).mean()))
    if classes is None:
        return number_score(truth, answer)
    return class_score(truth != answer, np.concatenate(chances))


def class_score(wrong: AnyArray, chance: AnyArray) -> tuple[str, Facts]:
    """Which rows were wrong (n,), and the probabilities that their true classes had (n,).

    >>> text, facts = class_score(np.array([False, True]), np.array([0.9, 0.4]))
    >>> text
    'error 50.00 ± 35.36 %, log loss 0.5108, on 2 rows'
    """
    n_rows, error = len(wrong), float(wrong.mean())
    facts = {
        "rows": n_rows,
        "error": error,
        "error_standard_error": math.sqrt(error * (1.0 - error) / n_rows),
        "accuracy": 1.0 - error,
        "log_loss": -float(np.log(np.maximum(chance, _LEAST_CHANCE)).mean()),
    }
    text = f"error {100 * error:.2f} ± {100 * facts['error_standard_error']:.2f} %"
    return f"{text}, log loss {facts['log_loss']:.4f}, on {n_rows:,} rows", facts


def quantile_score(truth: AnyArray, predicted: AnyArray, loss: float) -> tuple[str, Facts]:
    """True numbers and predicted quantiles (n,), and their mean quantile loss.

    >>> quantile_score(np.array([0.0, 2.0, 4.0]), np.array([1.0, 3.0, 3.0]), 0.5)[0]
    'quantile loss 0.5, 66.67 ± 27.22 % of the targets below, on 3 rows'
    """
    below, n_rows = float((truth <= predicted).mean()), len(truth)
    facts = {
        "rows": n_rows,
        "quantile_loss": loss,
        "share_below": below,
        "share_below_standard_error": math.sqrt(below * (1.0 - below) / n_rows),
    }
    spread = 100 * facts["share_below_standard_error"]
    text = f"{100 * below:.2f} ± {spread:.2f} % of the targets below"
    return f"quantile loss {loss:.5g}, {text}, on {n_rows:,} rows", facts


def number_score(truth: AnyArray, predicted: AnyArray) -> tuple[str, Facts]:
    """True and predicted numbers (n,).

    >>> text, facts = number_score(np.array([0.0, 2.0, 4.0]), np.array([0.0, 1.0, 3.0]))
    >>> text, facts["r2"]
    ('RMSE 0.8165 ± 0.17, R² 0.7500, on 3 rows', 0.75)
    """
    squares, spread = (truth - predicted) ** 2, float(np.sum((truth - truth.mean()) ** 2))
    rmse = math.sqrt(squares.mean())
    deviation = float(squares.std()) / math.sqrt(len(truth))
    facts = {
        "rows": len(truth),
        "rmse": rmse,
        "rmse_standard_error": 0.5 * deviation / rmse if rmse > 0 else 0.0,
        "mean_absolute_error": float(np.abs(truth - predicted).mean()),
        "r2": 1.0 - float(squares.sum()) / spread if spread > 0 else None,
    }
    share = "" if facts["r2"] is None else f", R² {facts['r2']:.4f}"
    text = f"RMSE {rmse:.5g} ± {facts['rmse_standard_error']:.2g}"
    return f"{text}{share}, on {len(truth):,} rows", facts
