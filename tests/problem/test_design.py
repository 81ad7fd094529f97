"""Designs: every form of the features gives the products of the same matrix."""

import numpy as np
import pytest
from scipy import sparse

from kitchensinks.problem.bins import Bins
from kitchensinks.problem.design import Design, SparseFeatures
from kitchensinks.problem.losses import get_loss
from kitchensinks.problem.problem import Problem
from tests.problems import design_of

SHAPES = [(1, 1, 1), (1, 3, 4), (7, 2, 3), (1500, 4, 6)]


def binned(n_rows, n_grids, n_bins):
    rng = np.random.default_rng(0)
    columns = rng.integers(0, n_bins, size=(n_grids, n_rows)) + n_bins * np.arange(n_grids)[:, None]
    columns[rng.random(columns.shape) < 0.1] = -1
    return Bins(columns.astype(np.int32), np.arange(n_grids + 1) * n_bins, 0.4)


def matrix_of(bins):
    out = np.zeros((bins.n_rows, bins.n_columns))
    for own in bins.columns:
        rows = np.flatnonzero(own >= 0)
        out[rows, own[rows]] = bins.scale
    return out


def designs(bins):
    matrix = matrix_of(bins)
    return {
        "blocks": design_of(matrix, 640),
        "csr": SparseFeatures(sparse.csr_array(matrix)),
        "bins": bins,
    }


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", ["blocks", "csr", "bins"])
def test_products_are_those_of_the_matrix(kind, shape):
    bins = binned(*shape)
    matrix, design = matrix_of(bins), designs(bins)[kind]
    rng = np.random.default_rng(1)
    weights, dual = rng.normal(size=(bins.n_columns, 2)), rng.normal(size=(bins.n_rows, 2))
    shares = rng.random(bins.n_rows)
    close = {"atol": 1e-10}
    np.testing.assert_allclose(design.scores(weights), matrix @ weights, **close)
    np.testing.assert_allclose(design.adjoint(dual), matrix.T @ dual, **close)
    np.testing.assert_allclose(design.squares(shares), shares @ matrix**2, **close)
    image = design.sweep(weights, lambda rows, scores: shares[rows, None] * scores)
    np.testing.assert_allclose(image, matrix.T @ (shares[:, None] * (matrix @ weights)), **close)
    passes = design.passes
    stacked = np.vstack([block for _, block in design.blocks()])
    np.testing.assert_array_equal(stacked, matrix)
    centre = matrix.mean(axis=0)
    curvature = np.where(shares > 0.5, shares, 0.0)[:, None]
    gram, image = design.band(curvature, centre, dual)
    np.testing.assert_allclose(gram, (matrix - centre).T @ (curvature * (matrix - centre)), **close)
    np.testing.assert_allclose(image, matrix.T @ dual, **close)
    assert design.passes == passes + 1


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", ["blocks", "csr", "bins"])
def test_a_problem_without_a_gram_has_its_products_and_diagonal(kind, fit_intercept):
    bins = binned(300, 3, 5)
    matrix = matrix_of(bins)
    shares = np.random.default_rng(2).random(300)
    shares /= shares.sum()
    targets = np.ones((300, 1))
    problem = Problem(
        designs(bins)[kind], get_loss("squared"), targets, shares, 0.1, None, fit_intercept
    )
    centred = matrix - shares @ matrix * fit_intercept
    gram = centred.T @ (shares[:, None] * centred)
    vector = np.random.default_rng(3).normal(size=(bins.n_columns, 2))
    np.testing.assert_allclose(problem.gram_times(vector), gram @ vector, atol=1e-12)
    np.testing.assert_allclose(problem.diagonal, np.diag(gram), atol=1e-12)


def test_the_first_grids_are_bins_of_their_own():
    bins = binned(50, 4, 3)
    np.testing.assert_allclose(matrix_of(bins.first(2, 0.8)), 2.0 * matrix_of(bins)[:, :6])


def test_shared_bins_are_kept_for_the_same_rows():
    bins = binned(60, 3, 8)
    fitted = np.arange(60) % 3 > 0
    assert bins.shared(fitted) is bins.shared(fitted.copy())
    assert len(bins.shared(np.ones(60, dtype=bool)).order) == 60


@pytest.mark.parametrize("answers", [1, 2], ids="{} for each output".format)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_of_many_features_and_few_columns(dtype, answers):
    """Loops of our own make these products, some rows at a time. An answer may have more columns
    than the weights, as those of certificates have."""
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(1303, 300)).astype(dtype)
    weights, shares = rng.normal(size=(300, 6)), rng.random((1303, 6 * answers))

    def blocks(work):
        yield slice(0, 1303), work(slice(0, 1303), matrix)

    found = Design(blocks, *matrix.shape, dtype).sweep(
        weights, lambda rows, raw: shares[rows] * np.tile(raw, answers)
    )
    raw = np.tile(matrix.astype(float) @ weights, answers)
    known = matrix.astype(float).T @ (shares * raw)
    np.testing.assert_allclose(found, known, atol=100 * np.finfo(dtype).eps * np.abs(known).max())
