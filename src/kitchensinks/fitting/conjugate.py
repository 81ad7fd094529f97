"""Squared loss without a Gram: conjugate gradients over passes."""

from dataclasses import replace

import numpy as np

from kitchensinks.features import FeatureBlocks
from kitchensinks.fitting.space import Fit, Settings, gram_noise, reporter, shares_of, warn_noise
from kitchensinks.fitting.squared import cholesky_fit, effective_dimension
from kitchensinks.losses import Array
from kitchensinks.moments import Moments
from kitchensinks.numerics.words import Words
from kitchensinks.rows import block_slices
from kitchensinks.solvers import Design
from kitchensinks.solvers.conjugate import conjugate_gradients, factored_preconditioner

# Rows for each feature in the sample that preconditions conjugate gradients.
PRECONDITIONER_ROWS = 6
# Conjugate gradients pay where there are this many rows for each feature, and enough features.
CONJUGATE_ROWS, CONJUGATE_COLUMNS = 30, 1500


def prefers_conjugate(blocks: FeatureBlocks, settings: Settings) -> bool:
    """Many rows, a given ridge, features that can be kept: passes cost less than the Gram."""
    if settings.solver == "conjugate":
        return True
    return (
        settings.solver == "auto"
        and settings.constraint is None
        and settings.alpha != "auto"
        and float(settings.alpha) > 0.0
        and blocks.cached
        and blocks.n_columns >= CONJUGATE_COLUMNS
        and blocks.n_rows >= CONJUGATE_ROWS * blocks.n_columns
    )


def fit_conjugate(
    blocks: FeatureBlocks, targets: Array, weights: Array | None, settings: Settings
) -> Fit:
    """The Gram of a sample of the rows preconditions passes over all of them."""
    n_rows, alpha = blocks.n_rows, float(settings.alpha)
    shares = shares_of(weights, n_rows)
    design = Design(blocks.walk, n_rows, blocks.n_columns, blocks.frozen.dtype)
    both = design.adjoint(np.column_stack([shares, shares[:, None] * targets]))
    mean = both[:, 0] * settings.fit_intercept
    target = shares @ targets * settings.fit_intercept
    cross = both[:, 1:] - np.outer(mean, target)

    def gram(vector: Array) -> Array:
        image = design.sweep(vector, lambda rows, scores: shares[rows, None] * scores)
        return np.asarray(image - np.outer(mean, mean @ vector))

    sample = _sample_moments(blocks, targets, weights, settings)
    equations = sample.normal_equations(settings.fit_intercept)
    noise = gram_noise(blocks.frozen.dtype, float(np.trace(equations.gram)), n_rows)
    warn_noise(alpha, noise)
    solution = conjugate_gradients(
        gram,
        cross,
        shares @ (targets - target) ** 2,
        alpha,
        factored_preconditioner(equations.gram, alpha),
        close=True,
        tol=settings.tol,
        max_iter=settings.max_iter,
        callback=reporter(settings),
    )
    solution = solution._replace(intercept=target - mean @ solution.weights, passes=design.passes)
    fit = Fit(solution.weights, solution.intercept, alpha, solution, noise=noise)
    # Leverages, condition and freedom are those of the sample; the scores are those of the fit.
    total = float(n_rows) if weights is None else float(weights.sum())
    equations = replace(equations, weight=total, mean=mean, target=target)
    rough = cholesky_fit(equations, alpha, settings, solution.weights)
    if rough is not None:
        fit.condition, fit.left_out = rough.condition, rough.left_out
        fit.freedom = effective_dimension(equations.gram, alpha)
    return fit


def _sample_moments(
    blocks: FeatureBlocks, targets: Array, weights: Array | None, settings: Settings
) -> Moments:
    order = Words(settings.seed, 0, stream=5).permutation(blocks.n_rows)
    if weights is not None:
        order = order[weights[order] > 0.0]
    sample = np.sort(order[: PRECONDITIONER_ROWS * blocks.n_columns])
    moments = Moments.zeros(blocks.pilot() * settings.fit_intercept, targets.shape[1])
    for part in block_slices(len(sample), blocks.block_rows):
        rows = sample[part]
        own = None if weights is None else weights[rows]
        moments.add(blocks.pick(rows), targets[rows], own)
    return moments
