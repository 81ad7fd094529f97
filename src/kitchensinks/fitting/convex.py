"""Every loss but the squared one: dual coordinates, or steps in the metric of the factored Gram."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from kitchensinks.fitting.held_out import Split, held_out_scores, least_held_out, too_few
from kitchensinks.fitting.plan import convex_plan
from kitchensinks.fitting.settings import Settings, silent
from kitchensinks.fitting.space import (
    Fit,
    Space,
    gram_noise,
    reporter,
    sample_moments,
    shares_of,
    spectrum_facts,
    sum_moments,
    warn_noise,
)
from kitchensinks.problem.losses import Array
from kitchensinks.problem.moments import Moments
from kitchensinks.solvers import (
    Design,
    FactoredGram,
    Problem,
    Solution,
    solve_coordinates,
    solve_nonsmooth,
    solve_smooth,
)

# The Gram of a subsample is no good metric where the ridge is below this share of its trace.
WEAK = 1e-6
# Ridge strengths tried, as powers of ten of the mean squared centred feature row.
_POWERS = range(-1, -8, -1)
# Relative gap that is close enough to compare ridge strengths.
_ROUGH = 1e-2


def fit_convex(
    space: Space,
    targets: Array,
    weights: Array | None,
    settings: Settings,
    calibrate: bool,
    moments: Moments | None = None,
) -> Fit:
    """Choose the ridge on held-out rows where that is asked for, then fit all rows."""
    alphas = errors = held_out = None
    if settings.alpha == "auto":
        alpha, alphas, errors, held_out = _choose_alpha(space, targets, weights, settings)
    else:
        alpha = float(settings.alpha)
        if calibrate:
            held_out = calibrated(space, targets, weights, settings, alpha)
    evidence: dict[str, Any] = {"alphas": alphas, "alpha_errors": errors, "held_out": held_out}
    found = None
    solver = "gram" if moments is not None else _solver(space, settings)
    if solver == "coordinates":
        found, _ = _by_coordinates(space, targets, weights, settings, alpha)
    elif solver == "sampled":
        found, facts = _by_sample(space, targets, weights, settings, alpha)
        evidence |= facts
    if found is None:
        problem, factored, noise = _problem(space, targets, weights, settings, alpha, moments)
        found = _solve(problem, factored, settings)
        evidence |= spectrum_facts(factored.values, alpha, factored.rounding) | {"noise": noise}
    warn_noise(alpha, evidence.get("noise", 0.0))
    return Fit(*space.lift(found.weights, found.intercept), alpha, found, **evidence)


def _solver(space: Space, settings: Settings) -> str:
    """The solver of the plan for the rows of a space, all of them or a part."""
    in_span = space.span is not None
    plan = convex_plan(space.n_rows, space.n_columns, space.cached, in_span, settings)
    return plan.solver


def _by_sample(
    space: Space, targets: Array, weights: Array | None, settings: Settings, alpha: float
) -> tuple[Solution | None, dict[str, Any]]:
    """The solution, by steps in the metric of the Gram of a sample, and what that says of the fit.

    None where the ridge is weak: what the sample does not show then makes for many steps.
    """
    shares = shares_of(weights, space.n_rows)
    sample, image = sample_moments(space, targets, weights, shares, settings)
    equations = sample.normal_equations(settings.fit_intercept)
    if alpha < WEAK * float(np.trace(equations.gram)):
        return None, {}
    mean = image[:, 0] * settings.fit_intercept
    problem = Problem(
        space.design(),
        settings.loss,
        targets,
        shares,
        alpha,
        None,
        settings.fit_intercept,
        mean,
        None,
    )
    noise = gram_noise(space.dtype, float(np.trace(equations.gram)), sample.count)
    # A metric need not be exact: its eigenvectors take less than half the time in float32.
    factored = FactoredGram(equations.gram.astype(np.float32))
    freedom = spectrum_facts(factored.values, alpha, factored.rounding)["freedom"]
    return _solve(problem, factored, settings), {"freedom": freedom, "noise": noise}


def _by_coordinates(
    space: Space,
    targets: Array,
    weights: Array | None,
    settings: Settings,
    alpha: float,
    dual: Array | None = None,
) -> tuple[Solution | None, Array | None]:
    """The solution with its dual variables, or None where the ridge is too weak for this."""
    if alpha <= 0.0:
        return None, None
    problem = Problem(
        space.design(),
        settings.loss,
        targets,
        shares_of(weights, space.n_rows),
        alpha,
        None,
        settings.fit_intercept,
        np.zeros(space.n_columns),
        None,
    )
    solution, dual = solve_coordinates(
        problem, tol=settings.tol, dual=dual, callback=reporter(settings)
    )
    return (solution, dual) if solution.converged else (None, None)


def calibrated(
    space: Space, targets: Array, weights: Array | None, settings: Settings, alpha: float
) -> tuple[np.ndarray, Array] | None:
    """(places, scores) of rows that were held out of a rough fit, to calibrate probabilities."""
    rough = replace(settings, alpha=alpha, tol=max(settings.tol, _ROUGH))
    return held_out_scores(space, targets, weights, rough, _weights_of)


def _problem(
    space: Space,
    targets: Array,
    weights: Array | None,
    settings: Settings,
    alpha: float,
    moments: Moments | None = None,
    phase: str = "sums",
) -> tuple[Problem, FactoredGram, float]:
    if moments is None:
        moments = sum_moments(space, targets, weights, settings, keep=True, phase=phase)
    shares = shares_of(weights, space.n_rows)
    return problem_of(moments, space.design(), targets, shares, settings, alpha)


def problem_of(
    moments: Moments, design: Design, targets: Any, shares: Any, settings: Settings, alpha: float
) -> tuple[Problem, FactoredGram, float]:
    """The problem of rows with these sums, its factored Gram, and the noise of that.

    targets and shares are row vectors of the design; the shares sum to one.
    """
    equations = moments.normal_equations(settings.fit_intercept)
    problem = Problem(
        design,
        settings.loss,
        targets,
        shares,
        alpha,
        settings.constraint,
        settings.fit_intercept,
        equations.mean,
        equations.gram,
    )
    noise = gram_noise(design.dtype, float(np.trace(equations.gram)), moments.count)
    return problem, FactoredGram(equations.gram), noise


def _weights_of(
    space: Space, targets: Array, weights: Array, settings: Settings
) -> tuple[Array, Array]:
    alpha, found = float(settings.alpha), None
    if _solver(space, settings) == "coordinates":
        found, _ = _by_coordinates(space, targets, weights, settings, alpha)
    if found is None:
        problem, factored, _ = _problem(space, targets, weights, settings, alpha)
        found = _solve(problem, factored, settings)
    return found.weights, found.intercept


def _solve(problem: Problem, factored: FactoredGram, settings: Settings) -> Solution:
    solve = solve_smooth if problem.loss.smooth else solve_nonsmooth
    return solve(
        problem,
        factored=factored,
        tol=settings.tol,
        max_iter=settings.max_iter,
        callback=reporter(settings),
    )


def _choose_alpha(
    space: Space, targets: Array, weights: Array | None, settings: Settings
) -> tuple[float, Array, Array, tuple[np.ndarray, Array]]:
    """The ridge strength with the least loss on held-out rows, and their scores there."""
    split = Split.of(settings, weights)
    if split is None:
        raise too_few(settings, space.n_rows)
    rough = roughly(settings)

    @cache
    def by_gram() -> tuple[Problem, FactoredGram, float]:
        phase = "sums-without-held-out"
        return _problem(space, targets, split.fitted, settings, 0.0, phase=phase)

    coordinates = _solver(space, settings) == "coordinates"
    if coordinates:
        trace = _trace(space, shares_of(split.fitted, space.n_rows), settings.fit_intercept)
        noise = gram_noise(space.dtype, trace, space.n_rows)
    else:
        trace, noise = by_gram()[1].trace, by_gram()[2]
    dual: Array | None = None

    def scores_of(alpha: float) -> Array:
        nonlocal coordinates, dual
        found = None
        if coordinates:
            found, dual = _by_coordinates(space, targets, split.fitted, rough, alpha, dual)
            coordinates = found is not None
        if found is None:
            problem, factored, _ = by_gram()
            found = _solve(replace(problem, alpha=alpha), factored, rough)
        scores = space.design().scores(found.weights)[split.held]
        return np.asarray(scores + found.intercept)

    return least_held_out(candidates(trace, noise), scores_of, targets, split, settings)


def _trace(space: Space, shares: Array, fit_intercept: bool) -> float:
    """Trace of the Gram, centred where there is an intercept, in one walk."""
    total, mean = 0.0, np.zeros(space.n_columns)
    for rows, block in space.walk():
        total += float(shares[rows] @ np.einsum("ij,ij->i", block, block))
        mean += shares[rows] @ block
    return max(0.0, total - float(mean @ mean)) if fit_intercept else total


def roughly(settings: Settings) -> Settings:
    """As closely as is enough to compare ridge strengths."""
    return replace(settings, tol=max(settings.tol, _ROUGH), progress=silent)


def candidates(trace: float, noise: float) -> list[float]:
    """Ridge strengths to try, from strong to weak, above the noise of a Gram of that trace."""
    alphas = [(trace or 1.0) * 10.0**power for power in _POWERS]
    return [alpha for alpha in alphas if alpha >= noise] or alphas[:1]
