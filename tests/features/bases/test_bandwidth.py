"""Gamma by heuristic: from distances, weights and the odd cases."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import pdist

import kitchensinks as ks
from kitchensinks.features.bases.bandwidth import positive_median

ROWS = np.random.default_rng(0).normal(size=(60, 5)) * [1, 2, 3, 4, 5]

MEDIANS = [
    (ks.Fourier(), 1 / np.median(pdist(ROWS)) ** 2),
    (ks.Fourier("laplacian"), 1 / np.median(pdist(ROWS, "cityblock"))),
    (ks.Binning(), 1 / np.median(pdist(ROWS, "cityblock"))),
    (ks.Fourier("exponential"), 1 / np.median(pdist(ROWS))),
    (ks.Fourier("cauchy"), 1 / np.median(pdist(ROWS))),
    (ks.Fourier("matern"), 1 / np.median(pdist(ROWS))),
    (ks.ReLU(), 1 / np.median(np.linalg.norm(ROWS, axis=1))),
    (ks.Sigmoid(), 1 / np.median(np.linalg.norm(ROWS, axis=1))),
]
SCALES = [
    (ks.Fourier(gamma="scale"), 1 / (5 * ROWS.var())),
    (ks.Binning(gamma="scale"), 1 / (5 * ROWS.std())),
    (ks.Fourier("matern", gamma="scale"), 1 / (math.sqrt(5) * ROWS.std())),
    (ks.ReLU(gamma="scale"), 1 / (math.sqrt(5) * ROWS.std())),
]
HEURISTICS = [basis for basis, _ in MEDIANS + SCALES]


@pytest.mark.parametrize(("basis", "expected"), MEDIANS + SCALES)
def test_value(basis, expected):
    assert basis.resolve(ROWS).gamma == pytest.approx(expected)


@pytest.mark.parametrize("basis", HEURISTICS)
def test_weights_are_repeated_rows(basis):
    weights = np.random.default_rng(1).integers(0, 4, len(ROWS))
    repeated = basis.resolve(np.repeat(ROWS, weights, axis=0)).gamma
    assert basis.resolve(ROWS, weights).gamma == pytest.approx(repeated, rel=1e-12)
    assert basis.resolve(ROWS, 0.5 * weights).gamma == pytest.approx(repeated, rel=1e-12)
    assert basis.resolve(ROWS, np.ones(60)).gamma == pytest.approx(basis.resolve(ROWS).gamma)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 4)), min_size=1, max_size=12))
def test_weighted_median_is_that_of_repeated_values(pairs):
    values, weights = np.array(pairs, dtype=float).T
    repeated = np.repeat(values, weights.astype(int))
    expected = np.median(repeated) if len(repeated) else 0.0
    assert positive_median(values, weights) == expected


@pytest.mark.parametrize("basis", HEURISTICS)
@pytest.mark.parametrize("rows", [np.zeros((5, 3)), np.full((5, 3), 0.1), np.ones((1, 3))])
def test_rows_without_any_distance(basis, rows):
    """Constant columns and single rows do not divide by zero."""
    gamma = basis.resolve(rows).gamma
    assert gamma > 0
    assert np.isfinite(gamma)
    if not isinstance(basis, ks.ReLU | ks.Sigmoid) or not rows.any():
        assert gamma == 1.0


def test_equal_rows_do_not_count():
    rows = np.array([[0.0], [0.0], [0.0], [0.0], [3.0]])
    assert ks.Fourier("laplacian").resolve(rows).gamma == pytest.approx(1 / 3)


@pytest.mark.parametrize("basis", HEURISTICS)
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array])
def test_sparse_rows(basis, kind):
    rows = np.where(ROWS > 1, ROWS, 0)
    assert basis.resolve(kind(rows)).gamma == pytest.approx(basis.resolve(rows).gamma)


def test_work_on_many_or_wide_rows_is_bounded():
    many = np.random.default_rng(0).normal(size=(20_000, 2))
    exact = 1 / np.median(pdist(many[:4000])) ** 2
    assert ks.Fourier().resolve(many).gamma == pytest.approx(exact, rel=0.1)
    wide = np.random.default_rng(0).normal(size=(300, 20_000))
    assert ks.Fourier().resolve(wide).gamma == pytest.approx(1 / 40_000, rel=0.05)


@pytest.mark.parametrize("size", [1e-160, 1e200])
def test_rows_too_near_or_too_far(size):
    with pytest.raises(ValueError, match=r"gamma='median' overflows.*Standardise.*a number"):
        ks.Fourier().resolve(size * ROWS)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), "need one number for each row"),
        (-np.ones(60), "0 or more"),
        (np.zeros(60), "at least one of them positive"),
        (np.full(60, np.nan), "finite"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        ks.Fourier().resolve(ROWS, weights)


@pytest.mark.parametrize("basis", [ks.Fourier(gamma=2.0), ks.Stumps(), ks.Maxout(2)])
def test_a_basis_that_depends_on_no_data_is_its_own_resolution(basis):
    assert basis.resolve(ROWS) is basis


@pytest.mark.parametrize("basis", [ks.Fourier(), ks.Stumps("quantile"), ks.Union([ks.ReLU()])])
def test_resolution_leaves_the_basis_alone(basis):
    before = repr(basis)
    resolved = basis.resolve(ROWS)
    assert repr(basis) == before
    assert basis.unresolved() is not None
    assert resolved.unresolved() is None
    assert resolved.resolve(2 * ROWS) is resolved
    for call in (lambda: basis.kernel(ROWS), lambda: basis.draw(0, 5, 3)):
        with pytest.raises(ValueError, match=r"depends on the data.*resolve\(rows\)"):
            call()


def test_quantile_thresholds_are_the_columns_own():
    resolved = ks.Stumps("quantile").resolve(ROWS)
    assert np.isin(resolved.threshold, ROWS).all()
    weights = np.random.default_rng(1).integers(0, 4, len(ROWS))
    repeated = ks.Stumps("quantile").resolve(np.repeat(ROWS, weights, axis=0))
    np.testing.assert_array_equal(
        ks.Stumps("quantile").resolve(ROWS, weights).threshold, repeated.threshold
    )
    # Half of the thresholds lie on either side of the median.
    share = (resolved.threshold <= np.median(ROWS, axis=0)[:, None]).mean(axis=1)
    np.testing.assert_allclose(share, 0.5, atol=0.02)
