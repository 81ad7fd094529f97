"""A model beside a linear one and boosted trees, on one split of the same rows."""

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array
from threadpoolctl import threadpool_limits

from kitchensinks.features.bases import Linear
from kitchensinks.numerics.arrays import AnyArray, Bools
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.problem.losses import Kinked
from kitchensinks.report.rows import Sample, constant_loss, names_columns
from kitchensinks.tables.arrays import with_nan
from kitchensinks.tables.table import open_table
from kitchensinks.tables.view import Rows

# Most rows that are split.
_ROWS = 10_000
# Share of them that is held out.
_HELD_OUT = 0.25
# Fewer rows than this are not split.
_FEWEST = 40


@dataclass(frozen=True)
class Compared:
    """The share of wrong held-out rows, 1 − R² on them, or their quantile loss over that of the
    constant quantile; seconds of the fit on one thread."""

    name: str
    error: float
    standard_error: float
    seconds: float


def compared(sample: Sample) -> list[Compared]:
    """Fits to three quarters of the rows, the same numbers for all, scored on the others.

    The law of the model is kept and fitted anew; it may have been learned from some of these rows.
    """
    sample = sample.some(_ROWS)
    held = Words(0, 1, Stream.REPORT).uniform(len(sample.y)) < _HELD_OUT
    fitted = sample.y[~held]
    if len(sample.y) < _FEWEST or not held.any() or len(np.unique(fitted)) < 2:
        return []
    numbers = _numbers(sample)
    classes = sample.classes is not None
    # The recipe of the columns has been applied, and the law has its own K.
    own = clone(sample.model).set_params(basis=sample.model.state_.law, n_components=None, n_jobs=1)
    peers = {"kitchensinks, this law": own} | _others(own, classes, sample.quantile)
    split = numbers, sample.y, held, classes, sample.quantile
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [tried(name, one, *split) for name, one in peers.items()]


def _others(own: Any, classes: bool, quantile: Kinked | None) -> dict[str, Any]:
    """A linear model and boosted trees, of the same quantile where the model has one."""
    alphas, trees = np.logspace(-3, 4, 15), HistGradientBoostingRegressor(random_state=0)
    linear: Any = RidgeCV(alphas)
    if classes:
        linear, trees = RidgeClassifierCV(alphas), HistGradientBoostingClassifier(random_state=0)
    elif quantile is not None:
        level = -float(quantile.slopes(np.zeros(1))[0][0])
        trees.set_params(loss="quantile", quantile=level)
        # The linear program of QuantileRegressor may take minutes.
        linear = clone(own).set_params(basis=Linear())
    return {
        "linear (ridge)": make_pipeline(StandardScaler(), linear),
        "gradient boosting (HistGradientBoosting)": trees,
    }


def one_thread() -> Any:
    """One thread for all libraries: their times compare, and trees do not wait for a busy core."""
    return threadpool_limits(limits=1)


def _numbers(sample: Sample) -> AnyArray:
    """The rows as the numbers that the model has made of them."""
    state = sample.model.state_
    columns = state.columns
    if columns is None or not sample.frame or not names_columns(columns):
        checked = check_array(with_nan(sample.X), dtype=np.float64, ensure_all_finite="allow-nan")
        return np.asarray(state.numbers(checked))
    return Rows(open_table(sample.X[columns.inputs]), columns)[:]


def tried(
    name: str,
    model: Any,
    X: AnyArray,
    y: AnyArray,
    held: Bools,
    classes: bool,
    quantile: Kinked | None = None,
) -> Compared:
    """A model fitted to the rows that are not held out, and scored on the others."""
    start = time.monotonic()
    answers = model.fit(X[~held], y[~held]).predict(X[held])
    seconds = time.monotonic() - start
    if classes:
        losses = np.asarray(answers != y[held], dtype=np.float64)
    elif quantile is not None:
        truths = y[held].astype(np.float64)
        losses = quantile.value(truths, answers) / (constant_loss(quantile, truths) or 1.0)
    else:
        losses = (answers - y[held]) ** 2 / (float(np.var(y[held])) or 1.0)
    error = float(losses.std() / np.sqrt(len(losses)))
    return Compared(name, float(losses.mean()), error, seconds)
