"""Any finite rows, with nothing chosen: answers are finite, and the same for the same seed."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

import kitchensinks as ks
from tests.catalogue import build

QUICK = ks.Learned(effort="quick", members=1)
SIZES = [1e-300, 1e-30, 1e-3, 1.0, 1e6, 1e30, 1e150]


@st.composite
def tables(draw, most_rows):
    """Rows of any shape, size, dtype and layout, with constant and equal columns and rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.sampled_from([1, 2, 3, 7, 29, 31, most_rows]))
    n_inputs = draw(st.sampled_from([1, 2, 5, 40]))
    rows = rng.normal(size=(n_rows, n_inputs)) * draw(st.sampled_from(SIZES))
    kind = draw(st.sampled_from(["plain", "constant", "copies", "few values", "one far"]))
    if kind == "constant":
        rows[:, rng.integers(0, n_inputs)] = rows[0, 0]
    elif kind == "copies":
        rows = rows[rng.integers(0, n_rows, n_rows)]
    elif kind == "few values":
        rows = np.sign(rows)
    elif kind == "one far":
        rows[0] *= 1e6 if np.abs(rows).max() < 1e140 else 1.0
    targets = rng.normal(size=n_rows) * draw(st.sampled_from([1e-100, 1.0, 1e100]))
    weights = rng.uniform(0.1, 3.0, n_rows) if draw(st.booleans()) else None
    layout = draw(st.sampled_from(["C", "F", "strided", "read-only", "float32", "csr", "csc"]))
    if layout == "float32":
        rows = np.clip(rows, -1e18, 1e18).astype(np.float32)
    elif layout == "F":
        rows = np.asfortranarray(rows)
    elif layout == "strided":
        rows = np.repeat(np.repeat(rows, 2, axis=0), 2, axis=1)[::2, ::2]
    elif layout == "read-only":
        rows.setflags(write=False)
    elif layout in ("csr", "csc"):
        rows = sparse.csr_array(rows) if layout == "csr" else sparse.csc_array(rows)
    return rows, targets, weights


def finite_and_repeatable(model, rows, targets, weights, method):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            answers = [
                getattr(model.fit(rows, targets, sample_weight=weights), method)(rows)
                for _ in range(2)
            ]
        except ValueError as refusal:
            # One row, one class, or entries whose squares overflow: refused in words.
            assert len(str(refusal)) > 20  # noqa: PT017
            return
    assert np.isfinite(answers[0]).all()
    assert answers[0].shape[0] == rows.shape[0]
    np.testing.assert_array_equal(answers[0], answers[1])


OPTIONS = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}


@settings(max_examples=4, **OPTIONS)
@given(tables(900))
def test_regression_with_nothing_chosen(table):
    model = ks.KitchenSinkRegressor(QUICK, random_state=0, n_jobs=1)
    finite_and_repeatable(model, *table, "predict")


@settings(max_examples=4, **OPTIONS)
@given(tables(900))
def test_classification_with_nothing_chosen(table):
    rows, targets, weights = table
    model = ks.KitchenSinkClassifier(QUICK, random_state=0, n_jobs=1)
    finite_and_repeatable(model, rows, targets > 0, weights, "decision_function")


BASES = [ks.Fourier(), ks.Stumps(), ks.Binning(), ks.ReLU(), ks.Maxout()]
CASES = [
    (ks.KitchenSinkRegressor, ["squared", "huber", "quantile"]),
    (ks.KitchenSinkClassifier, ["squared", "hinge", "squared_hinge", "logistic", "exponential"]),
]


@settings(max_examples=30, **OPTIONS)
@given(tables(60), st.sampled_from(BASES), st.sampled_from(CASES), st.integers(0, 4), st.data())
def test_bases_losses_and_balls(table, basis, case, place, data):
    rows, targets, weights = table
    kind, losses = case
    ball = data.draw(st.sampled_from([None, ks.SupBall(3.0), ks.L2Ball(2.0)]))
    alpha = "auto" if ball is None and data.draw(st.booleans()) else 1e-3
    model = build(
        kind, basis, n_components=20, loss=losses[place % len(losses)], constraint=ball, alpha=alpha
    )
    numbers = kind is ks.KitchenSinkRegressor
    finite_and_repeatable(
        model.set_params(random_state=0, n_jobs=1),
        rows,
        targets if numbers else targets > 0,
        weights,
        "predict" if numbers else "decision_function",
    )


@pytest.mark.slow
@settings(max_examples=150, **OPTIONS)
@given(tables(900), st.booleans())
def test_many_tables_with_nothing_chosen(table, numbers):
    rows, targets, weights = table
    kind = ks.KitchenSinkRegressor if numbers else ks.KitchenSinkClassifier
    method = "predict" if numbers else "decision_function"
    model = kind(QUICK, random_state=0, n_jobs=1)
    finite_and_repeatable(model, rows, targets if numbers else targets > 0, weights, method)
