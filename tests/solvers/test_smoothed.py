"""Kinked losses by smoothing: the optimum of the method of multipliers, with a certificate."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from kitchensinks.problem.constraints import L2Ball, SupBall
from kitchensinks.problem.losses import Hinge, Quantile
from kitchensinks.solvers.nonsmooth import solve_nonsmooth
from kitchensinks.solvers.smooth import solve_smooth
from kitchensinks.solvers.smoothed import Smoothed, solve_smoothed
from tests.solvers.test_nonquadratic import cosines, factored, make_problem

X, LABELS = load_breast_cancer(return_X_y=True)
SIGNS = np.where(LABELS[:300] > 0, 1.0, -1.0)
FEATURES = cosines(X[:300])
NUMBERS = load_diabetes(return_X_y=True)[1][:300] / 100.0
CASES = [(Hinge(), np.column_stack([SIGNS, SIGNS[::-1]])), (Quantile(0.2), NUMBERS)]


@pytest.mark.parametrize(("loss", "targets"), CASES, ids=["hinge", "quantile"])
@pytest.mark.parametrize("width", [1e-3, 0.5])
def test_envelope_and_conjugate_obey_fenchel_and_young(loss, targets, width):
    """Equality at the slope, so that slopes certify; the envelope is at most the loss."""
    smooth = Smoothed(loss, width)
    targets = targets.reshape(300, -1)
    scores = targets + np.random.default_rng(0).normal(size=targets.shape)
    slope = smooth.slope(targets, scores)
    value = smooth.value(targets, scores)
    np.testing.assert_allclose(value + smooth.conjugate(targets, slope), slope * scores, atol=1e-12)
    assert (value <= loss.value(targets, scores) + 1e-12).all()
    assert (loss.value(targets, scores) - value <= 0.5 * width + 1e-12).all()
    ahead = smooth.value(targets, scores + 1e-6) - smooth.value(targets, scores - 1e-6)
    np.testing.assert_allclose(ahead / 2e-6, slope, atol=1e-3)


@pytest.mark.parametrize(("loss", "targets"), CASES, ids=["hinge", "quantile"])
@pytest.mark.parametrize(
    ("alpha", "constraint"),
    [(1e-3, None), (0.0, L2Ball(3.0)), (1e-3, SupBall(0.8))],
    ids=["ridge", "ball", "ridge+box"],
)
def test_the_gap_holds_against_the_method_of_multipliers(loss, targets, alpha, constraint):
    problem = make_problem(FEATURES, targets, loss, alpha, constraint)
    metric = factored(problem)
    exact = solve_nonsmooth(problem, factored=metric, tol=1e-7, max_iter=5000)
    found = solve_smoothed(problem, factored=metric, tol=1e-4, max_iter=2000)
    assert found.converged
    assert found.gap <= 1e-4 * found.objective
    assert -exact.gap - 1e-12 <= found.objective - exact.objective <= found.gap + 1e-12


def test_a_start_that_is_the_optimum_ends_at_once():
    """What a checkpoint gives back is worth the iterations that it took."""
    problem = make_problem(FEATURES, SIGNS, "logistic", 1e-3)
    kept = []
    options = {"factored": factored(problem), "tol": 1e-6}
    first = solve_smooth(problem, keep=lambda *state: kept.append(state), **options)
    again = solve_smooth(problem, start=kept[-1], **options)
    assert first.iterations > 3
    assert again.iterations == 0
    assert again.objective == pytest.approx(first.objective, rel=1e-9)


def test_smooth_losses_and_missing_penalties_are_refused():
    problem = make_problem(FEATURES, SIGNS, "logistic", 1e-3)
    with pytest.raises(ValueError, match="use solve_smooth"):
        solve_smoothed(problem, factored=factored(problem))
    problem = make_problem(FEATURES, SIGNS, "hinge")
    with pytest.raises(ValueError, match="needs alpha > 0 or a constraint, but neither is given"):
        solve_smoothed(problem, factored=factored(problem))
