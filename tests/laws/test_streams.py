"""The law of streams: batches, workers and one fit agree, whatever the basis, ball or weights."""

import copy
import itertools
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes

import kitchensinks as ks
from tests.catalogue import build

X, Y = load_diabetes(return_X_y=True)
X = 20.0 * X
BASES = [(ks.Fourier(), 30), (ks.Fourier(), 100), (ks.Stumps("quantile"), 30), (ks.Binning(), 5)]
BALLS = [None, ks.SupBall(10_000.0), ks.SupBall(100.0), ks.L2Ball(50.0)]
CASES = list(itertools.product(["dense", "sparse"], BALLS, ["none", "any"]))
SIZES = [
    ("float32", 60),
    pytest.param("float32", 300, marks=pytest.mark.slow),
    pytest.param("float64", 60, marks=pytest.mark.slow),
]


def inputs(n_rows, kind, weighted):
    rng = np.random.default_rng(n_rows)
    rows = X[:n_rows]
    if kind == "sparse":
        rows = sparse.csr_array(rows * (rng.random(rows.shape) < 0.3))
    weights = rng.integers(0, 4, n_rows).astype(float) if weighted == "any" else None
    return rows, Y[:n_rows], weights


def part_of(weights, places):
    return None if weights is None else weights[places]


@pytest.mark.parametrize(("dtype", "n_rows"), SIZES)
@pytest.mark.parametrize(("basis", "count"), BASES, ids=repr)
@pytest.mark.parametrize(("kind", "ball", "weighted"), CASES)
def test_batches_and_workers_are_one_fit(dtype, kind, ball, weighted, basis, count, n_rows):
    rows, targets, weights = inputs(n_rows, kind, weighted)
    model = build(
        ks.KitchenSinkRegressor,
        basis,
        n_components=count,
        constraint=ball,
        dtype=dtype,
        standardize=kind == "dense",
        random_state=0,
    )
    stream = copy.deepcopy(model).freeze(rows, targets, sample_weight=weights)
    workers = [copy.deepcopy(stream) for _ in range(2)]
    for k, places in enumerate(np.array_split(np.arange(n_rows), 3)):
        given = rows[places], targets[places], part_of(weights, places)
        stream.partial_fit(*given)
        workers[k % 2].partial_fit(*given)
    with warnings.catch_warnings():
        # A ball without a ridge may leave a weak direction, which is told.
        warnings.simplefilter("ignore")
        whole = model.fit(rows, targets, sample_weight=weights)
    merged = workers[0].merge(workers[1])
    counted = slice(None) if weights is None else weights > 0
    expected = whole.predict(rows)[counted]
    for one in (stream, merged):
        assert one.alpha_ == pytest.approx(whole.alpha_, rel=1e-5)
        off = np.abs(one.predict(rows)[counted] - expected).max() / targets.std()
        assert off < (2e-3 if dtype == "float32" else 1e-4), off


def test_sums_of_batches_are_float64_and_do_not_depend_on_the_split():
    """Features are float32; their products are not."""
    model = build(ks.KitchenSinkRegressor, n_components=40, dtype="float32", random_state=0)
    model.freeze(X, Y)
    grams = []
    for batches in (1, 7, 300):
        one = copy.deepcopy(model)
        for places in np.array_split(np.arange(len(X)), batches):
            one.partial_fit(X[places], Y[places])
        grams.append(np.tril(one.moments_.gram))
    features = np.asarray(model.law_.features.features(X), dtype=np.float64) - model.moments_.shift
    exact = np.tril(features.T @ features)
    size = np.abs(exact).max()
    np.testing.assert_allclose(grams[0], exact, atol=1e-12 * size, rtol=0)
    # A row alone has other roundings of its features, which are float32.
    for gram in grams[1:]:
        np.testing.assert_allclose(gram, exact, atol=1e-6 * size, rtol=0)


def test_a_stream_of_many_rows_predicts_nearly_as_one_fit():
    """More rows than are remembered: leave-one-out of a part of them chooses."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6000, 4))
    targets = np.sin(2.0 * rows[:, 0]) + rng.normal(size=6000)
    options = {"n_components": 60, "random_state": 0}
    whole = build(ks.KitchenSinkRegressor, **options).fit(rows, targets)
    stream = build(ks.KitchenSinkRegressor, **options).freeze(rows, targets)
    for places in np.array_split(np.arange(6000), 4):
        stream.partial_fit(rows[places], targets[places])
    assert len(stream.state_.sample.rows) == 2000
    # Of ridges that hardly matter another may be chosen: the predictions are nearly the same.
    off = np.sqrt(np.mean((stream.predict(rows) - whole.predict(rows)) ** 2))
    assert off < 0.1
