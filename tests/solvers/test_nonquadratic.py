"""Every loss with every penalty and ball against a conic solver, and the cases that break solvers.

The features are random cosines of data sets that scikit-learn ships.
"""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.linear_model import LogisticRegression

from kitchensinks.problem.constraints import L2Ball, SupBall
from kitchensinks.problem.losses import LOSSES, get_loss
from kitchensinks.problem.moments import NormalEquations
from kitchensinks.problem.problem import Problem, certificate
from kitchensinks.solvers.intercept import best_shift
from kitchensinks.solvers.nonsmooth import _Multipliers, solve_nonsmooth
from kitchensinks.solvers.quadratic import FactoredGram, solve_squared
from kitchensinks.solvers.smooth import solve_smooth
from tests.problems import design_of, least_objective

N_ROWS, N_FEATURES = 200, 40
PENALTIES = {
    "ridge": (1e-3, None),
    "box": (0.0, SupBall(0.8)),
    "ball": (0.0, L2Ball(3.0)),
    "ridge+box": (1e-3, SupBall(0.8)),
    "ridge+ball": (1e-3, L2Ball(3.0)),
}


def cosines(rows, n_features=N_FEATURES, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    rows = (rows - rows.mean(0)) / np.maximum(rows.std(0), 1e-9)
    frequencies = rng.normal(size=(rows.shape[1], n_features)) * 0.3 / np.sqrt(rows.shape[1])
    phases = rng.uniform(0, 2 * np.pi, n_features)
    return (np.cos(rows @ frequencies * 3 + phases) * np.sqrt(2 / n_features)).astype(dtype)


def make_problem(
    features, targets, loss, alpha=0.0, constraint=None, fit_intercept=True, row_weights=None
):
    n_rows, n_columns = features.shape
    row_weights = np.ones(n_rows) if row_weights is None else row_weights
    row_weights = row_weights / row_weights.sum()
    targets = targets.reshape(n_rows, -1).astype(float)
    mean = row_weights @ features if fit_intercept else np.zeros(n_columns)
    design = design_of(features)
    loss = get_loss(loss) if isinstance(loss, str) else loss
    return Problem(design, loss, targets, row_weights, alpha, constraint, fit_intercept, mean)


def features_of(problem):
    return problem.design.scores(np.eye(problem.design.n_columns))


def factored(problem):
    centred = features_of(problem) - problem.mean
    return FactoredGram((centred * problem.row_weights[:, None]).T @ centred)


def squared_solution(problem, tol=1e-6):
    features = features_of(problem)
    row_weights, targets = problem.row_weights, problem.targets
    target_mean = row_weights @ targets * problem.fit_intercept
    centred = targets - target_mean
    equations = NormalEquations(
        weight=1.0,
        mean=problem.mean,
        gram=factored(problem).gram,
        target=target_mean,
        cross=(features - problem.mean).T @ (row_weights[:, None] * centred),
        squares=row_weights @ centred**2,
        copies=1.0,
        count=1,
    )
    return solve_squared(equations, alpha=problem.alpha, constraint=problem.constraint, tol=tol)


def solve(problem, tol, **options):
    solver = solve_smooth if problem.loss.smooth else solve_nonsmooth
    return solver(problem, factored=factored(problem), tol=tol, **options)


def data(loss_name, n_rows=N_ROWS):
    if loss_name == "multinomial":
        rows, labels = load_digits(n_class=3, return_X_y=True)
        return cosines(rows[:n_rows], 30), np.eye(3)[labels[:n_rows]]
    if "classification" in LOSSES[loss_name].tasks and loss_name != "squared":
        rows, labels = load_breast_cancer(return_X_y=True)
        return cosines(rows[:n_rows]), 2.0 * labels[:n_rows] - 1.0
    rows, values = load_diabetes(return_X_y=True)
    if LOSSES[loss_name].link == "log":
        least = 30.0 if loss_name == "gamma" else 0.0
        return cosines(rows[:n_rows]), np.maximum(values[:n_rows] - 60.0, least) / 100.0
    return cosines(rows[:n_rows]), (values[:n_rows] - values.mean()) / values.std()


def conic_optimum(problem, features):
    given = features, problem.loss, problem.targets, problem.row_weights, problem.alpha
    return least_objective(*given, problem.constraint, problem.fit_intercept)


def check_solution(problem, solution, tol):
    """The numbers that a solution reports are those of its weights."""
    assert solution.converged
    assert solution.gap <= tol * solution.objective
    objective, _ = certificate(problem, solution.weights, solution.intercept)
    assert objective == pytest.approx(solution.objective, rel=1e-9)
    if problem.constraint is not None:
        projected = problem.constraint.project(solution.weights)
        np.testing.assert_allclose(projected, solution.weights, rtol=1e-12)
    if not problem.fit_intercept:
        np.testing.assert_array_equal(solution.intercept, 0.0)


# the conic solver now and then warns that it stopped short of its own tolerance
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize(
    ("penalty", "fit_intercept"),
    [
        *((name, intercept) for name in ("ridge", "box", "ball") for intercept in (True, False)),
        ("ridge+box", True),
        ("ridge+ball", False),
    ],
)
@pytest.mark.parametrize("name", LOSSES)
def test_agrees_with_a_conic_solver(name, penalty, fit_intercept):
    features, targets = data(name)
    row_weights = np.random.default_rng(1).uniform(0.1, 2.0, len(features))
    problem = make_problem(features, targets, name, *PENALTIES[penalty], fit_intercept, row_weights)
    tol = 5e-5
    optimum = conic_optimum(problem, features)
    solutions = [solve(problem, tol)]
    if name == "squared":
        solutions.append(squared_solution(problem))
    for solution in solutions:
        check_solution(problem, solution, tol)
        assert solution.objective == pytest.approx(optimum, rel=1e-4)
        # the conic optimum itself is good to about 1e-8
        assert solution.gap >= solution.objective - optimum - 1e-7 * optimum


@pytest.mark.parametrize("name", ["hinge", "quantile", "logistic", "huber"])
def test_gap_bounds_the_distance_along_the_way(name):
    features, targets = data(name)
    problem = make_problem(features, targets, name, alpha=1e-3)
    optimum = solve(problem, 1e-7, max_iter=5000).objective
    history = []
    solve(problem, 1e-4, callback=lambda *facts: history.append(facts))
    assert len(history) > 2
    for _, objective, gap in history:
        assert gap >= objective - optimum - 1e-9


def test_any_dual_vector_certifies():
    features, targets = data("hinge")
    rng = np.random.default_rng(0)
    problem = make_problem(features, targets, "hinge", alpha=1e-3)
    optimum = solve(problem, 1e-6, max_iter=5000).objective
    for _ in range(20):
        weights, intercept = rng.normal(size=(N_FEATURES, 1)), rng.normal(size=1)
        dual = -problem.targets * rng.uniform(size=problem.targets.shape)
        objective, _ = certificate(problem, weights, intercept)
        columns = problem.design.adjoint(problem.dual_columns(slice(None), dual))
        assert problem.dual_bound(dual, columns).sum() <= min(objective, optimum + 1e-9)


def test_logistic_agrees_with_scikit_learn():
    features, targets = data("logistic")
    alpha = 1e-3
    solution = solve(make_problem(features, targets, "logistic", alpha=alpha), 1e-8)
    model = LogisticRegression(C=1 / (2 * alpha * len(features)), tol=1e-8, max_iter=10_000)
    model.fit(features, targets)
    np.testing.assert_allclose(solution.weights[:, 0], model.coef_[0], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(solution.intercept, model.intercept_, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("penalty", ["ridge", "box"])
def test_stacked_rows_are_doubled_weights(name, penalty):
    features, targets = data(name, 80)
    counts = np.random.default_rng(0).integers(0, 3, len(features))
    weighted = make_problem(features, targets, name, *PENALTIES[penalty], True, counts * 1.0)
    rows = np.repeat(np.arange(len(features)), counts)
    stacked = make_problem(features[rows], targets[rows], name, *PENALTIES[penalty])
    tol = 1e-4
    first, second = solve(weighted, tol).objective, solve(stacked, tol).objective
    assert first == pytest.approx(second, rel=2 * tol)


@pytest.mark.parametrize("name", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("penalty", ["ridge", "box", "ball"])
def test_outputs_are_solved_side_by_side(name, penalty):
    features, targets = data(name)
    several = np.stack([targets, -targets, np.sign(features[:, 0])], axis=1)
    together = solve(make_problem(features, several, name, *PENALTIES[penalty]), 1e-5)
    apart = [
        solve(make_problem(features, column, name, *PENALTIES[penalty]), 1e-5).objective
        for column in several.T
    ]
    assert together.objective == pytest.approx(sum(apart), rel=2e-5)


@pytest.mark.parametrize("name", ["quantile", "hinge"])
def test_targets_in_other_units(name):
    # quantile loss scales with its targets; hinge stays as it is under a change of sign
    features, targets = data(name)
    factor = 1e6 if name == "quantile" else -1.0
    size = abs(factor)
    one = solve(make_problem(features, targets, name, alpha=1e-3), 1e-4)
    other = solve(make_problem(features, factor * targets, name, alpha=1e-3 / size), 1e-4)
    assert other.objective == pytest.approx(one.objective * size, rel=2e-4)


@pytest.mark.parametrize("name", LOSSES)
def test_best_shift_beats_its_neighbours(name):
    features, targets = data(name)
    row_weights = np.random.default_rng(2).uniform(0.1, 1, len(features))
    problem = make_problem(features, targets, name, 1e-3, None, True, row_weights)
    rng = np.random.default_rng(0)
    scores = 3 * rng.normal(size=problem.targets.shape)
    shift = best_shift(problem, scores)
    least = problem.mean_loss(scores + shift).sum()
    for size in (1e-3, 0.1, 3.0):
        for _ in range(5):
            moved = scores + shift + size * rng.normal(size=shift.shape)
            assert problem.mean_loss(moved).sum() >= least - 1e-14
    # a shift already made is not made again
    again = problem.mean_loss(scores + shift + best_shift(problem, scores + shift)).sum()
    assert again == pytest.approx(least, rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["hinge", "logistic", "multinomial", "huber"])
def test_float32_features_reach_the_same_objective(name, dtype):
    features, targets = data(name)
    exact = solve(make_problem(features, targets, name, alpha=1e-3), 1e-5)
    narrow = solve(make_problem(features.astype(dtype), targets, name, alpha=1e-3), 1e-4)
    assert narrow.converged
    assert narrow.objective == pytest.approx(exact.objective, rel=2e-4)


HARD = {
    "duplicated columns": lambda z: np.hstack([z, z]),
    "constant columns": lambda z: np.hstack([z, np.ones((len(z), 3))]),
    "zero columns": lambda z: np.zeros_like(z),
    "more columns than rows": lambda z: z[:20],
    "one row": lambda z: z[:1],
}


@pytest.mark.parametrize("case", HARD)
@pytest.mark.parametrize("penalty", ["ridge", "box", "ball"])
@pytest.mark.parametrize("name", LOSSES)
def test_hard_cases_converge_without_nan(name, penalty, case):
    features, targets = data(name, 60)
    features = HARD[case](features)
    targets = targets[: len(features)]
    alpha, constraint = PENALTIES[penalty]
    problem = make_problem(features, targets, name, alpha, constraint)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solutions = [solve(problem, 1e-3)]
        if name == "squared":
            solutions.append(squared_solution(problem))
    for solution in solutions:
        assert solution.converged
        for value in solution[:4]:
            assert np.isfinite(value).all()


@pytest.mark.parametrize("name", LOSSES)
def test_equal_targets_and_idle_rows(name):
    features, targets = data(name, 60)
    same = np.repeat(targets[:1], len(targets), axis=0)
    row_weights = np.ones(len(features))
    row_weights[::3] = 0.0
    same[::3] = targets[::3]
    problem = make_problem(features, same, name, 1e-3, None, True, row_weights)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = solve(problem, 1e-3)
    assert solution.converged
    assert solution.objective == pytest.approx(0.0, abs=1e-12)
    assert np.isfinite(solution.weights).all()
    assert np.isfinite(solution.intercept).all()


@pytest.mark.parametrize("name", ["squared", "huber", "squared_hinge", "hinge", "quantile"])
def test_neither_penalty_nor_ball(name):
    features, targets = data(name)
    features = features[:, :8]
    problem = make_problem(features, targets, name)
    solution = solve(problem, 1e-5, max_iter=5000)
    assert solution.converged
    assert solution.gap == pytest.approx(solution.objective)
    assert solution.objective == pytest.approx(conic_optimum(problem, features), rel=1e-3)


def test_squared_without_penalty_has_its_exact_gap():
    features, targets = data("squared")
    solution = squared_solution(make_problem(np.hstack([features, features]), targets, "squared"))
    assert solution.converged
    assert solution.gap <= 1e-12
    exact = np.linalg.lstsq(np.c_[features, np.ones(N_ROWS)], targets, rcond=None)[1][0] / N_ROWS
    assert solution.objective == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize("name", ["logistic", "exponential", "multinomial"])
def test_separable_classes_have_no_minimiser(name):
    features, targets = data(name, 25)
    problem = make_problem(features, targets, name)
    with pytest.raises(ValueError, match=r"no minimiser exists\. Give alpha a positive value"):
        solve(problem, 1e-4)


def test_too_few_iterations_are_not_called_converged():
    for name in ("hinge", "logistic"):
        features, targets = data(name)
        solution = solve(make_problem(features, targets, name, alpha=1e-4), 1e-6, max_iter=2)
        assert not solution.converged
        assert solution.gap > 1e-6 * solution.objective


def test_a_search_without_a_descent_ends():
    """Rounding may make the slope positive at all lengths: bisection halved a thousand times."""
    asked = []

    def slope(scores):
        asked.append(scores)
        return np.ones((2, 1))

    state = SimpleNamespace(
        weights=np.zeros((1, 1)),
        scores=np.zeros((2, 1)),
        problem=SimpleNamespace(row_weights=np.full(2, 0.5), alpha=0.0),
        _score_slope=slope,
        _weight_slope=np.zeros_like,
    )
    assert _Multipliers._exact_length(state, np.ones((1, 1)), np.ones((2, 1))) < 1e-11
    assert len(asked) < 50


def test_solvers_refuse_the_other_kind_of_loss():
    features, targets = data("hinge")
    with pytest.raises(ValueError, match="use solve_nonsmooth"):
        solve_smooth(make_problem(features, targets, "hinge", 1e-3), factored=None)
    with pytest.raises(ValueError, match="use solve_smooth"):
        solve_nonsmooth(make_problem(features, targets, "logistic", 1e-3), factored=None)


@pytest.mark.parametrize("constraint", [None, SupBall(0.3), L2Ball(1.0)], ids=repr)
@pytest.mark.parametrize("alpha", [0.0, 1e-2])
def test_quadratic_step_is_optimal(constraint, alpha):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 12)) * np.logspace(0, -3, 12)
    gram, linear = rows.T @ rows / 30, rng.normal(size=(12, 3))
    curvature = np.array([0.5, 1.0, 4.0])
    weights = FactoredGram(gram).solve(curvature, linear, alpha, constraint)

    def objective(point):
        bend = 0.5 * curvature * np.sum(point * (gram @ point), axis=0)
        return bend - np.sum(linear * point, axis=0) + alpha * np.sum(point**2, axis=0)

    for size in (1e-4, 1e-2, 1.0):
        moved = weights + size * rng.normal(size=weights.shape)
        moved = moved if constraint is None else constraint.project(moved)
        assert (objective(moved) >= objective(weights) - 1e-8).all()


def test_a_gram_that_is_diagonal_to_rounding_needs_no_decomposition():
    """Its steps are those of the decomposed one, in every ball."""
    rng = np.random.default_rng(0)
    noise = 1e-13 * rng.normal(size=(30, 30))
    gram = np.diag(rng.uniform(0.1, 1.0, size=30)) + noise + noise.T
    given = np.array([0.5, 2.0]), rng.normal(size=(30, 2)), 1e-3
    plain, exact = FactoredGram(gram, 1e-10), FactoredGram(gram)
    assert sparse.issparse(plain.vectors)
    assert not sparse.issparse(exact.vectors)
    assert not sparse.issparse(FactoredGram(gram + 1e-8, 1e-10).vectors)
    np.testing.assert_allclose(plain.values, exact.values, rtol=1e-10)
    for ball in (None, L2Ball(0.3), SupBall(0.1)):
        np.testing.assert_allclose(plain.solve(*given, ball), exact.solve(*given, ball), atol=1e-9)
