"""Squared loss without a Gram: conjugate gradients over passes."""

from dataclasses import replace

import numpy as np

from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.fitting.settings import Settings
from kitchensinks.fitting.space import (
    Fit,
    gram_noise,
    reporter,
    sample_moments,
    shares_of,
    space_of,
    warn_noise,
)
from kitchensinks.problem.losses import Array
from kitchensinks.problem.problem import Problem
from kitchensinks.solvers.conjugate import factored_preconditioner, solve_ridge


def fit_conjugate(
    blocks: FeatureBlocks, targets: Array, weights: Array | None, settings: Settings
) -> Fit:
    """The Gram of a sample of the rows preconditions passes over all of them."""
    n_rows, alpha = blocks.n_rows, float(settings.alpha)
    shares = shares_of(weights, n_rows)
    space = space_of(blocks, weights, settings)
    sample, image = sample_moments(space, targets, weights, shares, settings)
    mean = image[:, 0] * settings.fit_intercept
    target = shares @ targets * settings.fit_intercept
    equations = sample.normal_equations(settings.fit_intercept)
    dtype, trace = blocks.frozen.dtype, float(np.trace(equations.gram))
    noise, sample_noise = (gram_noise(dtype, trace, count) for count in (n_rows, sample.count))
    warn_noise(alpha, noise)
    precondition = factored_preconditioner(equations.gram, alpha, sample_noise)
    design, loss, fit_intercept = space.design(), settings.loss, settings.fit_intercept
    problem = Problem(design, loss, targets, shares, alpha, None, fit_intercept, mean, None)
    solution = solve_ridge(
        problem,
        cross=image[:, 1:] - np.outer(mean, target),
        precondition=precondition,
        start=precondition(equations.cross),
        tol=settings.tol,
        max_iter=settings.max_iter,
        callback=reporter(settings),
    )
    solution = solution._replace(passes=solution.passes + 1)
    # Leverages and freedom are those of the sample; the scores are those of the fit.
    total = float(n_rows) if weights is None else float(weights.sum())
    sampled = replace(equations, weight=total, mean=mean, target=target)
    return Fit(solution.weights, solution.intercept, alpha, solution, noise=noise, sampled=sampled)
