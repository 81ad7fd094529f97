"""Squared loss without a Gram: conjugate gradients over passes."""

from dataclasses import replace

import numpy as np

from kitchensinks.fitting.space import Fit, TrainingSet, gram_noise, solver_options, warn_noise
from kitchensinks.solvers.conjugate import factored_preconditioner, solve_ridge


def fit_conjugate(training: TrainingSet) -> Fit:
    """The Gram of a sample of the rows preconditions passes over all of them."""
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
        **solver_options(settings),
    )
    solution = solution._replace(passes=solution.passes + 1)
    # Leverages and freedom are those of the sample; the scores are those of the fit.
    total = float(space.n_rows if training.weights is None else training.weights.sum())
    sampled = replace(equations, weight=total, mean=mean, target=target)
    return Fit(alpha, solution, noise=noise, sampled=sampled)
