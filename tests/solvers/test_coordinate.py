"""Dual coordinate ascent against a conic solver, and where it must stop."""

from dataclasses import replace

import numpy as np
import pytest

from kitchensinks.problem.constraints import L2Ball
from kitchensinks.problem.losses import Huber, get_loss
from kitchensinks.problem.problem import Problem
from kitchensinks.solvers.coordinate import solve_coordinates
from tests.problems import design_of, least_objective

ROWS, COLUMNS = 150, 20


def make_problem(loss, alpha=1e-3, fit_intercept=True, outputs=1, dtype=np.float64, weighted=False):
    rng = np.random.default_rng(0)
    features = np.maximum(rng.normal(size=(ROWS, COLUMNS)), 0.0) / np.sqrt(COLUMNS)
    features = features.astype(dtype)
    targets = 5.0 * features @ rng.normal(size=(COLUMNS, outputs)) + 0.3 * rng.normal(
        size=(ROWS, outputs)
    )
    if "classification" in loss.tasks:
        targets = np.where(targets > np.median(targets, axis=0), 1.0, -1.0)
    weights = rng.integers(0, 3, ROWS).astype(float) if weighted else np.ones(ROWS)
    shares = weights / weights.sum()
    return features, Problem(design_of(features), loss, targets, shares, alpha, None, fit_intercept)


def optimum(features, problem):
    given = features.astype(float), problem.loss, problem.targets, problem.row_weights
    return least_objective(*given, problem.alpha, fit_intercept=problem.fit_intercept)


@pytest.mark.parametrize(
    "loss",
    [get_loss("hinge"), get_loss("quantile", tau=0.3), get_loss("squared_hinge"), Huber(0.4)],
    ids=lambda loss: loss.name,
)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_gap_bounds_the_distance_to_the_optimum(loss, fit_intercept, outputs, weighted, dtype):
    features, problem = make_problem(loss, 1e-2, fit_intercept, outputs, dtype, weighted)
    least = optimum(features, problem)
    solution, coefficients = solve_coordinates(problem, tol=1e-3)
    assert solution.converged
    scores = features @ solution.weights + solution.intercept
    objective = float(problem.objective(solution.weights, scores).sum())
    np.testing.assert_allclose(solution.objective, objective, rtol=1e-5)
    assert -1e-6 <= objective - least <= solution.gap + 1e-6
    assert solution.gap <= 1e-3 * objective
    # The coefficients belong to dual variables that are in their interval.
    fitted = problem.row_weights > 0.0
    dual = -2.0 * problem.alpha * coefficients[fitted] / problem.row_weights[fitted, None]
    low, high = loss.slopes(problem.targets[fitted])
    assert ((dual >= low - 1e-12) & (dual <= high + 1e-12)).all()


def test_a_start_from_another_ridge_is_taken_up():
    _, strong = make_problem(get_loss("hinge"), 1e-2)
    _, weaker = make_problem(get_loss("hinge"), 8e-3)
    _, start = solve_coordinates(strong, tol=1e-4)
    cold, _ = solve_coordinates(weaker, tol=1e-2)
    warm, _ = solve_coordinates(weaker, tol=1e-2, start=start)
    assert warm.converged
    assert warm.iterations < cold.iterations


def test_a_ridge_that_is_too_weak_is_given_up_on():
    _, problem = make_problem(get_loss("hinge"), 1e-9)
    solution, _ = solve_coordinates(problem, tol=1e-9)
    assert not solution.converged
    assert solution.gap >= 0.0


def test_rows_of_zeros_and_weight_zero_do_no_harm():
    features, problem = make_problem(get_loss("hinge"), 1e-2, weighted=True)
    features[:10] = 0.0
    solution, _ = solve_coordinates(problem, tol=1e-3)
    assert solution.converged
    least = optimum(features, problem)
    assert solution.objective - least <= solution.gap + 1e-6


@pytest.mark.parametrize("broken", ["squared", "ball", "alpha"])
def test_other_problems_are_refused(broken):
    _, problem = make_problem(get_loss("hinge"))
    changed = {
        "squared": {"loss": get_loss("squared")},
        "ball": {"constraint": L2Ball(1.0)},
        "alpha": {"alpha": 0.0},
    }
    with pytest.raises(ValueError, match=r"coordinate ascent needs .*, but"):
        solve_coordinates(replace(problem, **changed[broken]))
