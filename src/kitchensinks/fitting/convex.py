"""Every loss but the squared one: iterations in the metric of the factored Gram."""

from dataclasses import replace

import numpy as np

from kitchensinks.fitting.space import (
    CALIBRATION_ROWS,
    HELD_OUT,
    Fit,
    Settings,
    Space,
    gram_noise,
    shares_of,
    spectrum_facts,
    sum_moments,
    warn_noise,
)
from kitchensinks.losses import Array
from kitchensinks.rows.keys import hold_out, lowest_keys
from kitchensinks.solvers import (
    Design,
    FactoredGram,
    Problem,
    Solution,
    solve_nonsmooth,
    solve_smooth,
)

# Ridge strengths tried, as powers of ten of the mean squared centred feature row.
_POWERS = range(-1, -8, -1)
# Relative gap that is close enough to compare ridge strengths.
_ROUGH = 1e-2


def fit_convex(
    space: Space, targets: Array, weights: Array | None, settings: Settings, calibrate: bool
) -> Fit:
    """Choose the ridge on held-out rows where that is asked for, then fit all rows."""
    alphas = errors = unseen = None
    if settings.alpha == "auto":
        alpha, alphas, errors, unseen = _choose_alpha(space, targets, weights, settings)
    else:
        alpha = float(settings.alpha)
        if calibrate:
            unseen = _held_out_scores(space, targets, weights, settings, alpha)
    problem, factored, noise = _problem(space, targets, weights, settings, alpha)
    warn_noise(alpha, noise)
    solution = _solve(problem, factored, settings)
    return Fit(
        *space.lift(solution.weights, solution.intercept),
        alpha,
        solution,
        alphas=alphas,
        alpha_errors=errors,
        noise=noise,
        unseen=unseen,
        **spectrum_facts(factored.values, alpha, factored.rounding),
    )


def _problem(
    space: Space, targets: Array, weights: Array | None, settings: Settings, alpha: float
) -> tuple[Problem, FactoredGram, float]:
    def copies():  # type: ignore[no-untyped-def]
        # Passes follow: let the features be kept, and sum over copies of them.
        return ((rows, block.copy()) for rows, block in space.walk())

    moments = sum_moments(copies, targets, weights, space.shift, settings)
    equations = moments.normal_equations(settings.fit_intercept)
    problem = Problem(
        Design(space.walk, space.n_rows, space.n_columns, space.dtype),
        settings.loss,
        targets,
        shares_of(weights, space.n_rows),
        alpha,
        settings.constraint,
        settings.fit_intercept,
        equations.mean,
        equations.gram,
    )
    noise = gram_noise(space.dtype, float(np.trace(equations.gram)), moments.count)
    return problem, FactoredGram(equations.gram), noise


def _solve(problem: Problem, factored: FactoredGram, settings: Settings) -> Solution:
    def report(iteration: int, objective: float, gap: float) -> None:
        settings.progress(f"iteration {iteration}: objective {objective:.6g}, gap {gap:.2g}")

    solve = solve_smooth if problem.loss.smooth else solve_nonsmooth
    return solve(
        problem,
        factored=factored,
        tol=settings.tol,
        max_iter=settings.max_iter,
        callback=report,
    )


def _without(weights: Array | None, held: np.ndarray) -> Array:
    """The weights of the rows with those held out set to zero."""
    return np.where(held, 0.0, 1.0 if weights is None else weights)


def _choose_alpha(
    space: Space, targets: Array, weights: Array | None, settings: Settings
) -> tuple[float, Array, Array, tuple[np.ndarray, Array]]:
    """The ridge strength with the least loss on held-out rows, and their scores there."""
    held = hold_out(settings.keys(), weights, HELD_OUT)
    fitted = _without(weights, held)
    if not held.any() or not fitted.any():
        raise ValueError(
            f"alpha='auto' with loss={settings.loss.name!r} holds out a fifth of the rows, and "
            f"there are too few different ones among these {space.n_rows}. Give alpha a number."
        )
    problem, factored, noise = _problem(space, targets, fitted, settings, 0.0)
    rough = replace(settings, tol=max(settings.tol, _ROUGH), progress=lambda text: None)
    own = shares_of(None if weights is None else weights[held], int(held.sum()))
    trace = float(factored.values.sum()) or 1.0
    alphas: list[float] = []
    errors: list[float] = []
    best_scores = np.zeros((0, targets.shape[1]))
    for power in _POWERS:
        alpha = trace * 10.0**power
        if alpha < noise and alphas:
            break
        solution = _solve(replace(problem, alpha=alpha), factored, rough)
        scores = problem.design.scores(solution.weights)[held] + solution.intercept
        error = float(np.sum(own @ settings.loss.value(targets[held], scores)))
        settings.progress(f"alpha {alpha:.2g}: held-out loss {error:.5g}")
        if not errors or error < min(errors):
            best_scores = scores
        alphas.append(alpha)
        errors.append(error)
        if len(errors) - 1 - int(np.argmin(errors)) >= 2:
            break
    best = alphas[int(np.argmin(errors))]
    return best, np.array(alphas), np.array(errors)[:, None], (np.flatnonzero(held), best_scores)


def _held_out_scores(
    space: Space, targets: Array, weights: Array | None, settings: Settings, alpha: float
) -> tuple[np.ndarray, Array] | None:
    """Scores of rows that a fit on a bounded number of other rows gives them."""
    keys = settings.keys()
    used = lowest_keys(keys, weights, 5 * CALIBRATION_ROWS)
    own = None if weights is None else weights[used]
    held = hold_out(keys[used], own, HELD_OUT)
    fitted = _without(own, held)
    if not held.any() or not fitted.any():
        return None
    features = space.pick(np.flatnonzero(used))
    everything = slice(0, len(features))
    small = replace(
        space,
        walk=lambda: iter([(everything, features)]),
        fresh=lambda: iter([(everything, features.copy())]),
        n_rows=len(features),
    )
    rough = replace(settings, tol=max(settings.tol, _ROUGH), progress=lambda text: None)
    problem, factored, _ = _problem(small, targets[used], fitted, rough, alpha)
    solution = _solve(problem, factored, rough)
    scores = problem.design.scores(solution.weights)[held] + solution.intercept
    return np.flatnonzero(used)[held], scores
