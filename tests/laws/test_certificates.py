"""The gap that a fit reports is never below its true distance to the optimum, at any tolerance."""

import warnings

import cvxpy as cp
import numpy as np
import pytest

import kitchensinks as ks
from tests.estimators.test_optimum import CLASSIFIERS, REGRESSORS, optimum, reached

BASES = [ks.Fourier(gamma=0.1), ks.Sigmoid(gamma=0.5), ks.Stumps("normal"), ks.Fourier(gamma=2.0)]
DEVIANCES = ["poisson", "gamma", "tweedie"]
SWEPT = [*range(12), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(12, 300))]


@pytest.mark.parametrize("seed", SWEPT)
def test_the_gap_of_a_random_problem_bounds_the_distance_to_the_optimum(seed):
    rng = np.random.default_rng(seed)
    n_rows, n_inputs, count = rng.integers(10, 80), rng.integers(1, 6), int(rng.integers(3, 40))
    rows = rng.normal(size=(n_rows, n_inputs)) * 10.0 ** rng.uniform(-2, 2)
    weights = rng.uniform(0.1, 3.0, n_rows)
    score = np.sin(rows[:, 0] / rows[:, 0].std()) + 0.5 * rng.normal(size=n_rows)
    numbers = bool(rng.integers(0, 2))
    loss = rng.choice(list(REGRESSORS)) if numbers else rng.choice(CLASSIFIERS)
    ball = [None, ks.SupBall(10.0 ** rng.uniform(0, 2)), ks.L2Ball(10.0 ** rng.uniform(-1, 1))][
        rng.integers(0, 3)
    ]
    alpha = 10.0 ** rng.uniform(-6, 0) if ball is None or rng.integers(0, 2) else 0.0
    kind = ks.KitchenSinkRegressor if numbers else ks.KitchenSinkClassifier
    model = kind(
        BASES[rng.integers(0, len(BASES))],
        count,
        REGRESSORS[loss] if numbers else str(loss),
        alpha=alpha,
        constraint=ball,
        fit_intercept=bool(rng.integers(0, 2)),
        random_state=seed,
        solver=ks.Solver(tol=10.0 ** rng.uniform(-5, -1), max_iter=int(rng.integers(1, 500))),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        targets = score[:, None] if numbers else np.sign(score)[:, None]
        model.fit(rows, targets[:, 0], sample_weight=weights)
        try:
            least = optimum(model, rows, targets, weights)
        except cp.SolverError:
            pytest.skip("the conic solver has no answer")
    got = reached(model, rows, targets, weights)
    # Up to what the conic solver itself is off by.
    assert got - least <= model.gap_ + 1e-6 * abs(least) + 1e-8
    assert not model.converged_ or model.gap_ <= model.solver.tol * max(got, 1e-4) * (1 + 1e-6)


@pytest.mark.parametrize("seed", SWEPT[:60])
def test_the_gap_of_a_deviance_bounds_the_distance_to_the_optimum(seed):
    rng = np.random.default_rng(seed)
    n_rows, count = int(rng.integers(10, 80)), int(rng.integers(3, 30))
    rows = rng.normal(size=(n_rows, 2))
    weights = rng.uniform(0.1, 3.0, n_rows)
    targets = np.exp(np.sin(rows[:, 0]) + 0.5 * rng.normal(size=n_rows)) * 10 ** rng.uniform(-2, 2)
    ball = [None, ks.SupBall(10.0 ** rng.uniform(0, 2)), ks.L2Ball(10.0 ** rng.uniform(-1, 1))][
        seed % 3
    ]
    model = ks.KitchenSinkRegressor(
        BASES[rng.integers(0, len(BASES))],
        count,
        DEVIANCES[rng.integers(0, 3)],
        alpha=10.0 ** rng.uniform(-5, 0) if ball is None or rng.integers(0, 2) else 0.0,
        constraint=ball,
        random_state=seed,
        solver=ks.Solver(tol=10.0 ** rng.uniform(-5, -1), max_iter=int(rng.integers(1, 500))),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows, targets, sample_weight=weights)
        try:
            least = optimum(model, rows, targets[:, None], weights)
        except cp.SolverError:
            pytest.skip("the conic solver has no answer")
    got = reached(model, rows, targets[:, None], weights)
    # Up to what the conic solver itself is off by.
    assert got - least <= model.gap_ + 1e-6 * abs(least) + 1e-7 * targets.mean()
