"""Squared loss without a Gram: conjugate gradients over passes."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from kitchensinks.fitting.space import Fit, TrainingSet, gram_noise, solver_options, warn_noise
from kitchensinks.problem.moments import Moments
from kitchensinks.solvers.conjugate import factored_preconditioner, solve_ridge


class Slow(NamedTuple):
    """Sums over all rows, after passes that did not converge fast enough."""

    moments: Moments
    passes: int


def fit_conjugate(training: TrainingSet, worth: float = math.inf) -> Fit | Slow:
    """The Gram of a sample of the rows preconditions passes over all of them.

    worth: passes that the rest of the Gram would cost. Where more than these are still to come, the
    sums of all rows are returned in place of a fit.
    """
    space, settings = training.space, training.settings
    alpha, intercept = float(settings.alpha), settings.fit_intercept
    sample, image = training.sample_sums()
    mean, target = image[:, 0] * intercept, training.shares @ training.targets * intercept
    equations = sample.normal_equations(intercept)
    trace = float(np.trace(equations.gram))
    noise, sample_noise = (
        gram_noise(space.dtype, trace, count) for count in (space.n_rows, sample.count)
    )
    warn_noise(alpha, noise)
    precondition = factored_preconditioner(equations.gram, alpha, sample_noise)
    solution = solve_ridge(
        training.problem(alpha, mean),
        cross=image[:, 1:] - np.outer(mean, target),
        precondition=precondition,
        start=precondition(equations.cross),
        worth=worth,
        **solver_options(settings),
    )
    if math.isfinite(worth) and not solution.converged and solution.iterations < settings.max_iter:
        training.add_others(sample)
        return Slow(sample, solution.passes + 1)
    solution = solution._replace(passes=solution.passes + 1)
    # Leverages and freedom are those of the sample; the scores are those of the fit.
    total = float(space.n_rows if training.weights is None else training.weights.sum())
    sampled = replace(equations, weight=total, mean=mean, target=target)
    return Fit(alpha, solution, noise=noise, sampled=sampled)
