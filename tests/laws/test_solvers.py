"""One law of all solvers: each that applies to a problem reaches its optimum within its own gap.

The problem is a loss, a penalty with or without a ball, and a design: dense blocks, a CSR matrix or
bins. `Needs` says which solvers apply; the others refuse, naming what is missing.
"""

from collections import deque
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import sparse

from kitchensinks.problem.bins import Bins
from kitchensinks.problem.constraints import L2Ball, SupBall
from kitchensinks.problem.design import SparseFeatures
from kitchensinks.problem.losses import LOSSES
from kitchensinks.problem.moments import NormalEquations
from kitchensinks.problem.problem import Problem, certificate
from kitchensinks.solvers import conjugate, coordinate, nonsmooth, rows, smooth, smoothed
from kitchensinks.solvers.binned import binned_ridge
from kitchensinks.solvers.implicit import DiagonalGram, ImplicitGram
from kitchensinks.solvers.intercept import best_shift
from kitchensinks.solvers.needs import Needs
from kitchensinks.solvers.quadratic import FactoredGram, solve_squared
from tests.problems import design_of, least_objective

N_ROWS, N_GRIDS, N_BINS, TOL = 120, 4, 4, 1e-4
PENALTIES = {
    "ridge": (1e-2, None),
    "box": (0.0, SupBall(0.6)),
    "ball": (0.0, L2Ball(1.0)),
    "ridge+box": (1e-2, SupBall(0.6)),
}
RNG = np.random.default_rng(0)
COLUMNS = RNG.integers(0, N_BINS, size=(N_GRIDS, N_ROWS)) + N_BINS * np.arange(N_GRIDS)[:, None]
COLUMNS[RNG.random(COLUMNS.shape) < 0.1] = -1
SHARES = RNG.random(N_ROWS) * (RNG.random(N_ROWS) < 0.9)
SHARES /= SHARES.sum()
BINS = Bins(COLUMNS.astype(np.int32), np.arange(N_GRIDS + 1) * N_BINS, 0.5)
MATRIX = BINS.dense(slice(0, N_ROWS))
SCORES = MATRIX @ RNG.normal(size=(BINS.n_columns, 3)) + RNG.normal(size=(N_ROWS, 3))


DESIGNS = {
    "blocks": lambda: design_of(MATRIX, 50),
    "csr": lambda: SparseFeatures(sparse.csr_array(MATRIX)),
    "bins": lambda: Bins(BINS.columns, BINS.offsets, BINS.scale),
}


def factored(problem):
    centred = MATRIX - problem.mean
    return FactoredGram(centred.T @ (SHARES[:, None] * centred))


def by_squares(problem):
    """Squared loss from its sums alone."""
    gram = factored(problem).gram
    target = SHARES @ problem.targets
    equations = NormalEquations(
        weight=1.0,
        mean=problem.mean,
        gram=gram,
        target=target,
        cross=problem.target_image - np.outer(problem.mean, target),
        squares=SHARES @ (problem.targets - target) ** 2,
        copies=1.0,
        count=1,
    )
    return solve_squared(equations, alpha=problem.alpha, constraint=problem.constraint)


def on_bins(problem):
    return binned_ridge(problem.design, problem.targets, SHARES, problem.alpha, tol=TOL)


# The needs of each way to solve, the way itself, and the designs that it is for.
OPTIONS = {"tol": TOL, "max_iter": 3000}
SOLVERS = {
    "direct": (Needs("direct", squared=True), by_squares, DESIGNS),
    "conjugate": (conjugate.NEEDS, lambda p: conjugate.solve_ridge(p, **OPTIONS), DESIGNS),
    "binned": (Needs("binned", squared=True, ridge=True, ball=False), on_bins, ["bins"]),
    "smooth": (
        smooth.NEEDS,
        lambda p: smooth.solve_smooth(p, factored=factored(p), **OPTIONS),
        DESIGNS,
    ),
    "smooth, diagonal": (
        smooth.NEEDS,
        lambda p: smooth.solve_smooth(p, factored=DiagonalGram(p.diagonal), **OPTIONS),
        DESIGNS,
    ),
    "nonsmooth": (
        nonsmooth.NEEDS,
        lambda p: nonsmooth.solve_nonsmooth(p, factored=factored(p), **OPTIONS),
        DESIGNS,
    ),
    "nonsmooth, implicit": (
        nonsmooth.NEEDS,
        lambda p: nonsmooth.solve_nonsmooth(
            p, factored=ImplicitGram(p.gram_times, p.diagonal), tol=1e-2, max_iter=3000
        ),
        DESIGNS,
    ),
    "smoothed": (
        smoothed.NEEDS,
        lambda p: smoothed.solve_smoothed(p, factored=factored(p), **OPTIONS),
        DESIGNS,
    ),
    "rows": (rows.NEEDS, lambda p: rows.solve_by_rows(p, **OPTIONS)[0], ["csr", "bins"]),
    "coordinates": (
        coordinate.NEEDS,
        lambda p: coordinate.solve_coordinates(p, tol=TOL, most=2000)[0],
        DESIGNS,
    ),
}


def targets_for(loss):
    if not loss.separable:
        return np.eye(3)[SCORES.argmax(axis=1)]
    if loss.link == "log":
        return np.exp(0.5 * SCORES[:, :2]) * (loss.name == "gamma" or SCORES[:, 2:] > -0.5)
    return np.sign(SCORES[:, :2]) if "regression" not in loss.tasks else SCORES[:, :2]


def problem_of(name, penalty, design):
    loss, (alpha, ball) = LOSSES[name], PENALTIES[penalty]
    return Problem(DESIGNS[design](), loss, targets_for(loss), SHARES, alpha, ball, True)


@cache
def optimum(name, penalty):
    """The least objective by a conic solver."""
    loss = LOSSES[name]
    return least_objective(MATRIX, loss, targets_for(loss), SHARES, *PENALTIES[penalty])


# Every penalty on dense blocks; without and with a ball on the others.
PAIRS = [("blocks", penalty) for penalty in PENALTIES]
PAIRS += [("csr", "ridge"), ("csr", "ball"), ("bins", "ridge"), ("bins", "box")]


@pytest.mark.parametrize(("design", "penalty"), PAIRS)
@pytest.mark.parametrize("name", LOSSES)
def test_every_solver_that_applies_reaches_the_optimum(name, penalty, design):
    least, applied = optimum(name, penalty), []
    for solver, (needs, solve, fits) in SOLVERS.items():
        problem = problem_of(name, penalty, design)
        if needs.missing(problem):
            with pytest.raises(ValueError, match=f"{needs.solver} needs .*, but "):
                needs.check(problem)
            continue
        if design not in fits:
            continue
        solution = solve(problem)
        assert solution.converged, solver
        assert solution.objective >= least - 1e-6, solver
        assert solution.objective - least <= solution.gap + 1e-6, solver
        objective, _ = certificate(problem, solution.weights, solution.intercept)
        assert objective == pytest.approx(solution.objective, rel=1e-6), solver
        if problem.constraint is not None:
            inside = problem.constraint.project(solution.weights)
            np.testing.assert_allclose(inside, solution.weights, atol=1e-9, err_msg=solver)
        applied.append(solver)
    assert len(applied) >= 2, "each problem is solved in two ways at least"


def test_many_rows_leave_few_pairs_in_memory(monkeypatch):
    """As many columns do: each vector has coefficients and an image."""
    made, problem = [], problem_of("logistic", "ridge", "bins")
    monkeypatch.setattr(rows, "deque", lambda maxlen: made.append(deque(maxlen=maxlen)) or made[-1])
    for limit in (2 * N_ROWS, 2 * N_ROWS - 1):
        monkeypatch.setattr(rows, "MANY_COLUMNS", limit)
        assert rows.solve_by_rows(problem, tol=1e-6, max_iter=200)[0].converged
    assert [pairs.maxlen for pairs in made] == [smooth.MEMORY, smooth.SHORT]


def test_coefficients_of_rows_start_the_fit_to_other_rows_where_the_last_one_ended():
    """They are the same weights, Z'γ, whatever the mean of the rows that are fitted."""
    problem = problem_of("poisson", "ridge", "bins")
    found, own = rows.solve_by_rows(replace(problem, alpha=1e-6), tol=1e-9, max_iter=30)
    assert np.allclose(MATRIX.T @ own, found.weights)
    shares, seen = SHARES**2, []
    other = replace(problem, row_weights=shares / shares.sum(), alpha=1e-6)
    rows.solve_by_rows(other, start=own, callback=lambda *step: seen.append(step[1]))
    scores = MATRIX @ found.weights
    loss = other.mean_loss(scores + best_shift(other, scores)).sum()
    assert np.isclose(seen[0], loss + other.alpha * np.sum(found.weights**2))


@pytest.mark.parametrize("name", LOSSES)
def test_a_solver_refuses_a_problem_that_it_is_not_for(name):
    problem = problem_of(name, "box", "bins")
    refused = {
        "conjugate": lambda: conjugate.solve_ridge(problem),
        "coordinates": lambda: coordinate.solve_coordinates(problem),
        "rows": lambda: rows.solve_by_rows(problem),
    }
    if problem.loss.smooth:
        refused["nonsmooth"] = lambda: nonsmooth.solve_nonsmooth(problem, factored=None)
    else:
        refused["smooth"] = lambda: smooth.solve_smooth(problem, factored=None)
    for solve in refused.values():
        with pytest.raises(ValueError, match=r"needs .*, but "):
            solve()
