"""Every loss but the squared one: iterations in the metric of the factored Gram."""

from dataclasses import replace
from typing import Any

import numpy as np

from kitchensinks.fitting.held_out import Split, held_out_scores, least_held_out, too_few
from kitchensinks.fitting.space import (
    Fit,
    Settings,
    Space,
    gram_noise,
    reporter,
    shares_of,
    spectrum_facts,
    sum_moments,
    warn_noise,
)
from kitchensinks.losses import Array
from kitchensinks.moments import Moments
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
    problem, factored, noise = _problem(space, targets, weights, settings, alpha, moments)
    warn_noise(alpha, noise)
    solution = _solve(problem, factored, settings)
    return Fit(
        *space.lift(solution.weights, solution.intercept),
        alpha,
        solution,
        alphas=alphas,
        alpha_errors=errors,
        noise=noise,
        held_out=held_out,
        **spectrum_facts(factored.values, alpha, factored.rounding),
    )


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
    design = Design(space.walk, space.n_rows, space.n_columns, space.dtype)
    shares = shares_of(weights, space.n_rows)
    return problem_of(moments, design, targets, shares, settings, alpha)


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
    problem, factored, _ = _problem(space, targets, weights, settings, float(settings.alpha))
    solution = _solve(problem, factored, settings)
    return solution.weights, solution.intercept


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
    problem, factored, noise = _problem(
        space, targets, split.fitted, settings, 0.0, phase="sums-without-held-out"
    )
    rough = roughly(settings)

    def scores_of(alpha: float) -> Array:
        solution = _solve(replace(problem, alpha=alpha), factored, rough)
        return problem.design.scores(solution.weights)[split.held] + solution.intercept

    return least_held_out(candidates(factored, noise), scores_of, targets, split, settings)


def roughly(settings: Settings) -> Settings:
    """As closely as is enough to compare ridge strengths."""
    return replace(settings, tol=max(settings.tol, _ROUGH), progress=lambda text: None)


def candidates(factored: FactoredGram, noise: float) -> list[float]:
    """Ridge strengths to try, from strong to weak, above the noise of the Gram."""
    trace = float(factored.values.sum()) or 1.0
    alphas = [trace * 10.0**power for power in _POWERS]
    return [alpha for alpha in alphas if alpha >= noise] or alphas[:1]
