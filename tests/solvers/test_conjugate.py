"""The loop of conjugate gradients: against numpy.linalg, with each of its rules to stop."""

import numpy as np
import pytest

from kitchensinks.solvers.conjugate import (
    Equations,
    Stop,
    conjugate_gradients,
    diagonal_preconditioner,
    factored_preconditioner,
)
from kitchensinks.solvers.implicit import ImplicitGram

RNG = np.random.default_rng(0)
SIZE, ALPHA = 30, 1e-3
FEATURES = RNG.normal(size=(200, SIZE)) * np.logspace(0, -2, SIZE)
GRAM = FEATURES.T @ FEATURES / 200
TARGETS = FEATURES @ RNG.normal(size=(SIZE, 3)) * [1.0, 10.0, 0.0] + RNG.normal(size=(200, 3))
CROSS = FEATURES.T @ TARGETS / 200
SQUARES = np.mean(TARGETS**2, axis=0)
EXACT = np.linalg.solve(GRAM + ALPHA * np.eye(SIZE), CROSS)
LEAST = SQUARES - np.sum(EXACT * CROSS, axis=0)


def system(precondition=None, start=None, product=None):
    precondition = precondition or diagonal_preconditioner(np.diag(GRAM), ALPHA)
    product = product or (lambda vector: GRAM @ vector + ALPHA * vector)
    return Equations(product, CROSS, precondition, SQUARES, ALPHA, start)


@pytest.mark.parametrize("verified", [True, False])
@pytest.mark.parametrize("tol", [1e-2, 1e-6, 1e-10])
def test_the_gap_bounds_the_distance_from_the_optimum(tol, verified):
    equations = system()
    outcome = conjugate_gradients(equations, Stop(tol, verified=verified, max_iter=1000))
    assert outcome.converged
    assert outcome.gap <= tol * outcome.objective
    assert -1e-12 <= outcome.objective - LEAST.sum() <= outcome.gap + 1e-12
    if tol < 1e-8:
        np.testing.assert_allclose(equations.weights, EXACT, atol=1e-4)


def test_outputs_stop_each_for_itself():
    together, stop = system(), Stop(1e-4, max_iter=1000)
    conjugate_gradients(together, stop)
    for output in range(3):
        column = slice(output, output + 1)
        alone = system()
        alone.cross, alone.squares = CROSS[:, column], SQUARES[column]
        alone.weights = np.zeros((SIZE, 1))
        conjugate_gradients(alone, stop)
        np.testing.assert_allclose(together.weights[:, column], alone.weights, atol=1e-12)


def test_a_rise_by_rounding_stops_nothing_that_was_not_asked_to_settle():
    """It stopped the loop as settled, without convergence and without a warning."""
    equations = system()
    sums = equations.begin()
    for least_gain in (0.0, 0.05):
        found = Stop(1e-10, least_gain).look(equations, sums, SQUARES * (1.0 - 1e-15))
        assert found.done.all() == (least_gain > 0.0)
        assert not found.converged.any()


def test_a_preconditioner_close_to_the_inverse_needs_few_iterations():
    alpha, sample = 1e-8, FEATURES[:150]
    close = factored_preconditioner(sample.T @ sample / 150, alpha)
    outcomes = []
    for precondition in (close, diagonal_preconditioner(np.diag(GRAM), alpha)):
        equations = Equations(
            lambda vector: GRAM @ vector + alpha * vector, CROSS, precondition, SQUARES, alpha
        )
        outcomes.append(conjugate_gradients(equations, Stop(1e-6)))
    assert outcomes[0].iterations < outcomes[1].iterations
    for outcome in outcomes:
        assert outcome.converged
        assert outcome.gap <= 1e-6 * outcome.objective


def test_a_start_that_is_the_solution_ends_at_once():
    assert conjugate_gradients(system(start=EXACT), Stop(1e-6)).iterations == 0


def test_steps_that_lower_the_objective_by_little_end():
    full, early = system(), system()
    exact = conjugate_gradients(full, Stop(1e-10, max_iter=1000))
    settled = conjugate_gradients(early, Stop(1e-10, least_gain=0.05))
    assert settled.settled
    assert not settled.converged
    assert settled.gap > 1e-10 * settled.objective
    assert settled.iterations < exact.iterations
    assert settled.objective - exact.objective <= settled.gap


def test_too_few_iterations_are_not_called_converged():
    seen = []
    outcome = conjugate_gradients(
        system(), Stop(1e-10, max_iter=2), lambda *numbers: seen.append(numbers)
    )
    assert not outcome.converged
    assert outcome.iterations == 2
    assert [number for number, _, _ in seen] == [0, 1, 2]


def test_restarts_end_where_products_are_only_so_exact():
    noise = np.random.default_rng(1)

    def rounded(vector):
        exact = GRAM @ vector + ALPHA * vector
        return exact * (1.0 + 1e-3 * noise.normal(size=exact.shape))

    outcome = conjugate_gradients(
        system(product=rounded), Stop(1e-14, verified=True, max_iter=10_000)
    )
    assert not outcome.converged
    assert outcome.iterations < 10_000


def test_without_a_ridge_the_gap_is_the_objective():
    equations = Equations(
        lambda vector: (GRAM + np.eye(SIZE)) @ vector, CROSS, np.copy, SQUARES, alpha=0.0
    )
    outcome = conjugate_gradients(equations, Stop(1e-3, max_iter=50))
    assert outcome.gap == outcome.objective
    assert outcome.settled
    assert not outcome.converged
    empty = Equations(lambda vector: vector, np.zeros((4, 2)), np.copy)
    assert conjugate_gradients(empty, Stop()) == (0.0, 0.0, 0, True, False)


def test_an_implicit_gram_solves_as_the_factored_one():
    metric = ImplicitGram(lambda vector: GRAM @ vector, np.diag(GRAM))
    curvature, alphas = np.array([1.0, 0.5, 2.0]), np.array([0.1, 0.2, 0.3])
    for linear in (CROSS, 1.1 * CROSS):
        found = metric.solve(curvature, linear, alphas)
        for output in range(3):
            matrix = curvature[output] * GRAM + 2.0 * alphas[output] * np.eye(SIZE)
            expected = np.linalg.solve(matrix, linear[:, output])
            np.testing.assert_allclose(found[:, output], expected, rtol=1e-3, atol=1e-4)
