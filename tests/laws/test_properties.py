"""Any finite rows, with nothing chosen: answers are finite, and the same for the same seed."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

import kitchensinks as ks
from kitchensinks.tables.table import Table
from tests.catalogue import build

QUICK = ks.Learned(effort="quick", members=1)
# Denormal numbers, and numbers whose squares overflow, too.
SIZES = [1e-310, 1e-300, 1e-30, 1e-3, 1.0, 1e6, 1e30, 1e150, 1e300]
LAYOUTS = ["C", "F", "strided", "read-only", "float32", "float16", "int64", "bool", "csr", "csc"]
# Where rows come from: `given` turns an array into it.
SOURCES = ["lists", "frame", "Arrow table", "file"]


@st.composite
def tables(draw, most_rows):
    """Rows of any shape, size, dtype and layout, with constant and equal columns and rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.sampled_from([0, 1, 2, 3, 7, 29, 31, most_rows]))
    n_inputs = draw(st.sampled_from([1, 2, 5, 40]))
    rows = rng.normal(size=(n_rows, n_inputs)) * draw(st.sampled_from(SIZES))
    kind = draw(st.sampled_from(["plain", "constant", "copies", "few values", "one far"]))
    if kind == "constant":
        rows[:, rng.integers(0, n_inputs)] = rows[:1, :1].sum()
    elif kind == "copies":
        rows = rows[rng.integers(0, max(1, n_rows), n_rows)]
    elif kind == "few values":
        rows = np.sign(rows)
    elif kind == "one far":
        rows[:1] *= 1e6 if np.abs(rows).max(initial=0.0) < 1e140 else 1.0
    targets = rng.normal(size=n_rows) * draw(st.sampled_from([1e-100, 1.0, 1e100]))
    weights = rng.uniform(0.1, 3.0, n_rows) if draw(st.booleans()) else None
    return given_as(draw(st.sampled_from(LAYOUTS + SOURCES)), rows), targets, weights


def given_as(layout, rows):
    """An array in another layout, dtype or source."""
    if layout in ("float32", "float16", "int64"):
        most = 1e4 if layout == "float16" else 1e18
        rows = np.clip(rows, -most, most).astype(layout)
    elif layout == "bool":
        rows = rows > 0
    elif layout == "F":
        rows = np.asfortranarray(rows)
    elif layout == "strided":
        rows = np.repeat(np.repeat(rows, 2, axis=0), 2, axis=1)[::2, ::2]
    elif layout == "read-only":
        rows.setflags(write=False)
    elif layout in ("csr", "csc"):
        rows = sparse.csr_array(rows) if layout == "csr" else sparse.csc_array(rows)
    elif layout == "lists":
        rows = rows.tolist()
    elif layout in SOURCES:
        rows = pd.DataFrame(rows, columns=[f"x{k}" for k in range(rows.shape[1])])
        if layout == "Arrow table" and len(rows):
            rows = ks.open_table(pyarrow.Table.from_pandas(rows, preserve_index=False))
        elif layout == "file" and len(rows):
            rows.to_parquet(FILE)
            rows = ks.open_table(FILE)
    return rows


def finite_and_repeatable(model, rows, targets, weights, method):
    # A table takes arrays of targets with its rows in steps.
    if isinstance(rows, Table):
        rows = ks.Rows(rows, ks.Columns.learn(rows, identifiers=True))
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
    assert answers[0].shape[0] == len(targets)
    np.testing.assert_array_equal(answers[0], answers[1])


FOLDER = tempfile.TemporaryDirectory()
FILE = Path(FOLDER.name) / "rows.parquet"


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


def plain_ridge(features, targets, weights, alpha):
    """Predictions of the ridge regression with an intercept that is not penalised, by rows."""
    shares = weights / weights.sum()
    mean, level = shares @ features, shares @ targets
    centred = np.sqrt(shares)[:, None] * (features - mean)
    size = features.shape[1]
    stacked = np.vstack([centred, np.sqrt(alpha) * np.eye(size)])
    aims = np.append(np.sqrt(shares) * (targets - level), np.zeros(size))
    return (features - mean) @ np.linalg.lstsq(stacked, aims, rcond=None)[0] + level


def like_plain_ridge(table, basis, narrow):
    """Predictions are those of a plain reference on the features of the law, of any finite rows."""
    rows, targets, weights = table
    dtype, close = ("float32", 2e-3) if narrow else ("float64", 1e-6)
    model = build(ks.KitchenSinkRegressor, basis, n_components=20, alpha=1e-3, dtype=dtype)
    if isinstance(rows, Table):
        rows = ks.Rows(rows, ks.Columns.learn(rows, identifiers=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            got = model.set_params(random_state=0).fit(rows, targets, weights).predict(rows)
        except ValueError as refusal:
            assert len(str(refusal)) > 20  # noqa: PT017
            return False
    numbers = rows[:] if isinstance(rows, ks.Rows) else rows
    # As the fit has seen them: float32 rows are scaled in float32.
    numbers = numbers.toarray() if sparse.issparse(numbers) else np.asarray(numbers)
    numbers = numbers if numbers.dtype == np.float32 else numbers.astype(np.float64)
    features = model.law_.features.features(numbers)
    features = features.toarray() if sparse.issparse(features) else features
    unit = max(float(np.abs(targets).max()), 1e-300)
    shares = np.ones(len(targets)) if weights is None else weights
    plain = plain_ridge(np.asarray(features, np.float64), targets / unit, shares, 1e-3)
    assert np.abs(got / unit - plain).max() < close * np.abs(targets / unit).max()
    return True


@pytest.mark.parametrize("examples", [40, pytest.param(1500, marks=pytest.mark.slow)])
def test_any_table_is_fitted_as_by_a_plain_reference(examples):
    compared = []

    @settings(max_examples=examples, **OPTIONS)
    @given(tables(60), st.sampled_from(BASES), st.booleans())
    def check(table, basis, narrow):
        compared.append(like_plain_ridge(table, basis, narrow))

    check()
    # The others are refused in words: no rows, or entries whose squares overflow.
    assert np.mean(compared) > 0.5, np.mean(compared)


@pytest.mark.slow
@settings(max_examples=150, **OPTIONS)
@given(tables(900), st.booleans())
def test_many_tables_with_nothing_chosen(table, numbers):
    rows, targets, weights = table
    kind = ks.KitchenSinkRegressor if numbers else ks.KitchenSinkClassifier
    method = "predict" if numbers else "decision_function"
    model = kind(QUICK, random_state=0, n_jobs=1)
    finite_and_repeatable(model, rows, targets if numbers else targets > 0, weights, method)
