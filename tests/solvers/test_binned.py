"""Ridge regression on bins: against the normal equations, with and without lonely bins."""

import tracemalloc

import numpy as np
import pytest

from kitchensinks.problem.bins import Bins
from kitchensinks.solvers.binned import _BinnedEquations, binned_ridge

SCALE = 0.4


def problem(n_rows, n_grids, n_bins, n_outputs, seed=0):
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, n_bins, size=(n_grids, n_rows))
    columns = (columns + n_bins * np.arange(n_grids)[:, None]).astype(np.int32)
    columns[rng.random(columns.shape) < 0.1] = -1
    bins = Bins(columns, np.arange(n_grids + 1) * n_bins, SCALE)
    shares = rng.random(n_rows) * (rng.random(n_rows) < 0.8)
    return bins, rng.normal(size=(n_rows, n_outputs)), shares / shares.sum()


def dense(bins):
    features = np.zeros((bins.columns.shape[1], bins.n_columns))
    for own in bins.columns:
        rows = np.flatnonzero(own >= 0)
        features[rows, own[rows]] += bins.scale
    return features


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    ("n_rows", "n_grids", "n_bins", "n_outputs"),
    [(40, 3, 5, 1), (40, 4, 60, 1), (50, 3, 30, 3), (6, 1, 1, 2), (200, 5, 150, 1), (400, 6, 3, 2)],
)
def test_weights_solve_the_normal_equations(n_rows, n_grids, n_bins, n_outputs, fit_intercept):
    bins, targets, shares = problem(n_rows, n_grids, n_bins, n_outputs)
    features, alpha = dense(bins), 0.01
    mean = shares @ features * fit_intercept
    level = shares @ targets * fit_intercept
    centred = features - mean
    gram = centred.T @ (shares[:, None] * centred) + alpha * np.eye(bins.n_columns)
    expected = np.linalg.solve(gram, centred.T @ (shares[:, None] * (targets - level)))
    solution = binned_ridge(
        bins,
        targets,
        shares,
        alpha,
        fit_intercept=fit_intercept,
        tol=1e-12,
        max_iter=500,
    )
    assert solution.converged
    np.testing.assert_allclose(solution.weights, expected, atol=1e-5)
    np.testing.assert_allclose(solution.intercept, level - mean @ expected, atol=1e-5)
    error = targets - solution.intercept - features @ solution.weights
    objective = np.sum(shares @ error**2) + alpha * np.sum(solution.weights**2)
    assert solution.objective == pytest.approx(objective, rel=1e-6)


def test_combinations_stand_for_the_bins_of_their_rows():
    bins, _, shares = problem(400, 6, 3, 1)
    shared = bins.shared(shares > 0)
    nodes, links, _ = shared.combinations
    assert len(nodes) < len(bins.columns)

    def bins_of(node):
        if node < shared.n_columns:
            return [node]
        return [bin for part in links[node - shared.n_columns] for bin in bins_of(part)]

    number = dict(zip(shared.places, shared.kept, strict=True))
    rest = shared.offsets[1:] - 1
    for place, row in enumerate(shared.order):
        expected = [number.get(c, rest[g]) for g, c in enumerate(bins.columns[:, row])]
        assert sorted(bin for own in nodes[:, place] for bin in bins_of(own)) == sorted(expected)


def test_a_start_and_an_early_stop():
    bins, targets, shares = problem(300, 6, 80, 1)
    exact = binned_ridge(bins, targets, shares, 1e-3, tol=1e-10)
    again = binned_ridge(bins, targets, shares, 1e-3, tol=1e-6, start=exact.weights)
    assert again.iterations <= 1
    early = binned_ridge(bins, targets, shares, 1e-3, tol=1e-10, least_gain=0.05)
    assert early.settled
    assert not early.converged
    assert early.iterations < exact.iterations
    # The gap that is reported is a bound all the same.
    assert early.objective - exact.objective <= early.gap
    cut = binned_ridge(bins, targets, shares, 1e-3, tol=1e-10, max_iter=2)
    assert not cut.converged
    assert not cut.settled


def test_a_ridge_for_each_output_is_as_many_fits():
    bins, targets, shares = problem(120, 5, 40, 2)
    alphas = np.array([1e-3, 1e-1, 1e-2])
    options = {"tol": 1e-10, "max_iter": 500}
    path = binned_ridge(bins, np.tile(targets, 3), shares, np.repeat(alphas, 2), **options)
    for k, alpha in enumerate(alphas):
        alone = binned_ridge(bins, targets, shares, alpha, **options)
        np.testing.assert_allclose(path.weights[:, 2 * k : 2 * k + 2], alone.weights, atol=1e-5)
        np.testing.assert_allclose(path.intercept[2 * k : 2 * k + 2], alone.intercept, atol=1e-5)


def peak_of(work):
    """The most memory in bytes that a call takes, after one that has loaded what is compiled."""
    work()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_products_with_bins_take_the_memory_of_one_vector():
    bins, targets, _ = problem(n_rows=1000, n_grids=20, n_bins=10_000, n_outputs=3)
    vector = np.ones((bins.n_columns, 3))
    assert peak_of(lambda: bins.times(vector)) < 1.3 * vector.nbytes
    assert peak_of(lambda: bins.transposed(targets)) < 1.3 * vector.nbytes


def test_weights_of_bins_are_put_into_their_places_without_a_copy_of_all():
    # Nearly every bin has a single row.
    bins, targets, shares = problem(n_rows=20_000, n_grids=20, n_bins=200_000, n_outputs=2)
    equations = _BinnedEquations(bins, targets, shares, np.array([0.1]), True, None)
    lonely = len(equations.shared.alone)
    assert lonely > 0.8 * np.count_nonzero(bins.columns[:, shares > 0] >= 0)
    weights = bins.n_columns * 2 * 8
    assert peak_of(equations.solution) < weights + 0.7 * lonely * 2 * 8
