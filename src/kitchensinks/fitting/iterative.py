"""Squared loss without a Gram: conjugate gradients over passes."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from kitchensinks.features import FeatureBlocks
from kitchensinks.fitting.space import (
    DENSE_COLUMNS,
    HELD_OUT,
    Fit,
    Settings,
    gram_noise,
    shares_of,
    space_of,
)
from kitchensinks.fitting.squared import CholeskyFit, left_out_sample
from kitchensinks.losses import Array
from kitchensinks.moments import Moments
from kitchensinks.numerics.words import Words
from kitchensinks.rows import block_slices
from kitchensinks.rows.keys import hold_out
from kitchensinks.solvers import Design, Solution
from kitchensinks.solvers.conjugate import (
    conjugate_gradients,
    diagonal_preconditioner,
    factored_preconditioner,
)

# Rows for each feature in the sample that preconditions conjugate gradients.
PRECONDITIONER_ROWS = 6
# Conjugate gradients pay where there are this many rows for each feature, and enough features.
CONJUGATE_ROWS, CONJUGATE_COLUMNS = 30, 1500


def prefers_conjugate(blocks: FeatureBlocks, settings: Settings) -> bool:
    """Many rows, a given ridge, features that can be kept: passes cost less than the Gram."""
    possible = settings.alpha != "auto" and settings.constraint is None
    if settings.solver == "conjugate":
        if not possible:
            raise ValueError(
                "solver='conjugate' needs a number for alpha and no constraint. "
                "Use solver='auto' for the others."
            )
        return True
    return (
        settings.solver == "auto"
        and possible
        and float(settings.alpha) > 0.0
        and blocks.cached
        and blocks.n_columns >= CONJUGATE_COLUMNS
        and blocks.n_rows >= CONJUGATE_ROWS * blocks.n_columns
    )


def fit_conjugate(
    blocks: FeatureBlocks,
    targets: Array,
    weights: Array | None,
    settings: Settings,
    calibrate: bool,
) -> Fit:
    """The Gram of a sample of the rows preconditions passes over all of them."""
    n_rows, alpha = blocks.n_rows, float(settings.alpha)
    shares = shares_of(weights, n_rows)
    design = Design(blocks.walk, n_rows, blocks.n_columns, blocks.draw.dtype)
    rough = _sample_moments(blocks, targets, weights, settings)
    both = design.adjoint(np.column_stack([shares, shares[:, None] * targets]))
    mean = both[:, 0] * settings.fit_intercept
    target = shares @ targets * settings.fit_intercept
    cross = both[:, 1:] - np.outer(mean, target)

    def gram(vector: Array) -> Array:
        image = design.sweep(vector, lambda rows, scores: shares[rows, None] * scores)
        return np.asarray(image - np.outer(mean, mean @ vector))

    equations = rough.normal_equations(settings.fit_intercept)
    solution = conjugate_gradients(
        gram,
        cross,
        shares @ (targets - target) ** 2,
        alpha,
        factored_preconditioner(equations.gram, alpha),
        tol=settings.tol,
        max_iter=settings.max_iter,
        callback=_reporter(settings),
    )
    solution = solution._replace(intercept=target - mean @ solution.weights, passes=design.passes)
    fit = Fit(solution.weights, solution.intercept, alpha, solution)
    fit.noise = gram_noise(blocks.draw.dtype, float(np.trace(equations.gram)), n_rows)
    total = float(n_rows) if weights is None else float(weights.sum())
    equations = replace(equations, weight=total, mean=mean, target=target)
    solved = CholeskyFit.solve(equations, alpha, settings)
    if solved is not None:
        # Leverages, condition and freedom from the sample's Gram; scores from the fit itself.
        fit.condition, fit.freedom = solved.fit.condition, solved.fit.freedom
        solved.fit.weights = solution.weights
        if calibrate:
            space = space_of(blocks, weights, settings)
            fit.unseen = left_out_sample(space, solved, targets, weights, alpha, settings.keys)
    return fit


def _sample_moments(
    blocks: FeatureBlocks, targets: Array, weights: Array | None, settings: Settings
) -> Moments:
    order = Words(settings.seed, 0, stream=5).permutation(blocks.n_rows)
    sample = np.sort(order[: PRECONDITIONER_ROWS * blocks.n_columns])
    moments = Moments.zeros(settings.shift, targets.shape[1])
    for part in block_slices(len(sample), blocks.block_rows):
        rows = sample[part]
        own = None if weights is None else weights[rows]
        moments.add(blocks.of(blocks.rows[rows]), targets[rows], own)
    return moments


def _reporter(settings: Settings) -> Any:
    return lambda iteration, objective, gap: settings.progress(
        f"iteration {iteration}: objective {objective:.6g}, gap {gap:.2g}"
    )


def fit_sparse(
    blocks: FeatureBlocks,
    targets: Array,
    weights: Array | None,
    settings: Settings,
    calibrate: bool,
) -> Fit:
    """Many sparse columns: conjugate gradients with the diagonal of the Gram as preconditioner.

    The ridge is chosen, and probabilities are calibrated, on a held-out fifth of the rows.
    """
    if settings.loss.name != "squared" or settings.constraint is not None:
        raise ValueError(
            f"loss={settings.loss.name!r} and constraint={settings.constraint!r} with "
            f"{blocks.n_columns} columns of {blocks.draw.basis!r}: more than {DENSE_COLUMNS} "
            "sparse columns of many rows are fitted with loss='squared' and a ridge alone. Use "
            "fewer components, a smaller gamma or loss='squared'."
        )
    features = sparse.vstack([block for _, block in blocks.fresh()], format="csr")
    fit: dict[str, Any] = {}
    if settings.alpha != "auto":
        alpha = float(settings.alpha)
    if settings.alpha == "auto" or calibrate:
        held = hold_out(settings.keys(), weights, HELD_OUT)
        fitted = np.where(held, 0.0, 1.0 if weights is None else weights)
        if not held.any() or not fitted.any():
            raise ValueError(
                "Choosing alpha and calibrating probabilities hold out a fifth of the rows, and "
                f"there are too few different ones among these {blocks.n_rows}."
            )
        own = shares_of(None if weights is None else weights[held], int(held.sum()))
        grid = 10.0 ** np.arange(-1.0, -7.0, -0.5) if settings.alpha == "auto" else [alpha]
        alphas, errors, scores, start = [], [], [], None
        for candidate in grid:
            solution = _solve_sparse(features, targets, fitted, candidate, settings, start)
            start = solution.weights
            scores.append(features[held] @ solution.weights + solution.intercept)
            errors.append(float(np.sum(own @ (targets[held] - scores[-1]) ** 2)))
            alphas.append(float(candidate))
            settings.progress(f"alpha {candidate:.2g}: held-out squared error {errors[-1]:.5g}")
            if len(errors) - 1 - int(np.argmin(errors)) >= 2:
                break
        best = int(np.argmin(errors))
        alpha = alphas[best]
        fit = {
            "unseen": (np.flatnonzero(held), scores[best]),
            "alphas": np.array(alphas),
            "alpha_errors": np.array(errors)[:, None],
        }
    solution = _solve_sparse(features, targets, weights, alpha, settings, None)
    return Fit(solution.weights, solution.intercept, alpha, solution, **fit)


def _solve_sparse(
    features: Any,
    targets: Array,
    weights: Array | None,
    alpha: float,
    settings: Settings,
    start: Array | None,
) -> Solution:
    shares = shares_of(weights, features.shape[0])
    mean = features.T @ shares * settings.fit_intercept
    target = shares @ targets * settings.fit_intercept
    diagonal = features.multiply(features).T @ shares - mean**2

    def gram(vector: Array) -> Array:
        image = features.T @ (shares[:, None] * (features @ vector))
        return np.asarray(image - np.outer(mean, mean @ vector))

    solution = conjugate_gradients(
        gram,
        features.T @ (shares[:, None] * targets) - np.outer(mean, target),
        shares @ (targets - target) ** 2,
        alpha,
        diagonal_preconditioner(np.maximum(diagonal, 0.0), alpha),
        start=start,
        tol=settings.tol,
        max_iter=settings.max_iter,
        callback=_reporter(settings),
        solver="conjugate gradients (sparse)",
    )
    return solution._replace(intercept=target - mean @ solution.weights)
