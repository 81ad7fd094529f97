"""From blocks of features to outer weights: which solver, which ridge, what evidence."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.fitting.blockwise import fit_blocks, takes_blocks
from kitchensinks.fitting.condense import Groups, condense, expand
from kitchensinks.fitting.conjugate import fit_conjugate, prefers_conjugate
from kitchensinks.fitting.convex import fit_convex
from kitchensinks.fitting.growth import FIRST_COMPONENTS, Growth, grow, prefix_errors
from kitchensinks.fitting.held_out import held_out_scores
from kitchensinks.fitting.space import (
    SPAN_ROWS,
    Fit,
    LeftOut,
    Settings,
    Space,
    bytes_needed,
    gram_bytes,
    many_sparse,
    space_of,
    sum_moments,
    takes_span,
)
from kitchensinks.fitting.sparse import SETTLED, fit_sparse
from kitchensinks.fitting.squared import (
    LookedPath,
    effective_dimension,
    fit_squared,
    left_out_of,
    solve_moments,
)
from kitchensinks.fitting.stages import FIRST_SHARE, fit_stages
from kitchensinks.fitting.stochastic import Stochastic
from kitchensinks.numerics.threads import single_blas
from kitchensinks.problem.constraints import Constraint
from kitchensinks.problem.losses import Array, Loss
from kitchensinks.problem.moments import Moments

__all__ = [
    "FIRST_COMPONENTS",
    "FIRST_SHARE",
    "SETTLED",
    "SPAN_ROWS",
    "Fit",
    "Groups",
    "Growth",
    "LeftOut",
    "LookedPath",
    "Settings",
    "Stochastic",
    "check_solver",
    "condense",
    "effective_dimension",
    "expand",
    "fit_weights",
    "grow",
    "left_out_of",
    "prefix_errors",
    "solve_moments",
    "takes_stochastic",
]

# Factorisations of up to so many columns use one thread.
FEW_COLUMNS = 512
SOLVERS = ("auto", "direct", "conjugate", "blocks", "stochastic")


def check_solver(
    solver: Any, loss: Loss, alpha: float | str, constraint: Constraint | None
) -> None:
    """An error where the solver asked for cannot do what is asked of it."""
    if solver not in SOLVERS:
        raise ValueError(f"solver={solver!r}: need one of {', '.join(SOLVERS)}.")
    if solver in ("direct", "conjugate", "blocks") and loss.name != "squared":
        raise ValueError(
            f"solver={solver!r} is for loss='squared', not {loss.name!r}: use solver='auto' or "
            "'stochastic'."
        )
    if solver in ("conjugate", "blocks") and (alpha == "auto" or constraint is not None):
        raise ValueError(
            f"solver={solver!r} needs a number for alpha and no constraint. Use solver='auto' "
            "for the others."
        )
    if solver == "blocks" and alpha == 0.0:
        raise ValueError("solver='blocks' needs an alpha above zero: blocks may be singular.")


def takes_stochastic(blocks: FeatureBlocks, settings: Settings, stream: bool = False) -> bool:
    """Whether the fit is by stochastic gradients: asked for, or nothing else fits into memory.

    `stream`: rows come in batches, so that only their sums could be kept.
    """
    if settings.solver == "stochastic" and blocks.sparse:
        raise ValueError("solver='stochastic' needs a basis with dense features.")
    if settings.solver != "auto" or blocks.sparse:
        return settings.solver == "stochastic"
    if not stream and _blockwise(blocks, settings):
        return False
    needed = gram_bytes(blocks.n_columns) if stream else bytes_needed(blocks, settings)
    return needed > blocks.memory_budget


def _blockwise(blocks: FeatureBlocks, settings: Settings) -> bool:
    asked = takes_blocks(blocks.n_columns, blocks.sparse, blocks.memory_budget, settings)
    return asked and (settings.solver == "blocks" or not takes_span(blocks, settings))


def fit_weights(
    blocks: FeatureBlocks,
    targets: Array,
    weights: Array | None,
    settings: Settings,
    calibrate: bool = False,
    moments: Moments | None = None,
) -> Fit:
    """Minimise Σw·loss(y, u)/Σw + α‖β‖² over the ball, u = Zβ + b.

    targets (n, outputs); weights (n,) or None for ones; moments: the sums, if they are there
    already. The rule for solver="auto", where what most solvers hold, six arrays of the size of the
    Gram, is within the memory budget (beyond it squared loss with a given α goes block by block,
    and the rest by stochastic gradients):

    0. a second ridge: `fit_stages`, on the dense basis of a union and then on its bins;
    1. fewer rows than features (up to 5000 rows for sparse ones), and no sup-norm ball: work in
       the span of the rows, then as below;
    2. more than 2000 sparse columns: the solvers of `fit_sparse`, without a Gram;
    3. squared loss: conjugate gradients where α is given and the rows are at least 30 for each
       of 1500 or more features that can be kept in memory; else direct;
    4. smooth losses: L-BFGS, in the metric of the Gram of a sample where there are six rows or more
       for each of 1000 or more features, or spectral projected gradients in a ball, in the metric
       of the Gram;
    5. hinge and quantile: dual coordinate ascent where there are 4000 rows or more, a ridge, no
       ball and memory for the features; else, and where that does not get there, the method of
       multipliers in the Gram's metric.
    """
    # Threads of a factorisation wait for each other at every step: small ones are faster alone.
    with single_blas() if blocks.n_columns <= FEW_COLUMNS else nullcontext():
        return _fit_weights(blocks, targets, weights, settings, calibrate, moments)


def _fit_weights(
    blocks: FeatureBlocks,
    targets: Array,
    weights: Array | None,
    settings: Settings,
    calibrate: bool,
    moments: Moments | None,
) -> Fit:
    squared = settings.loss.name == "squared"
    if settings.second is not None:
        return fit_stages(blocks, targets, weights, settings, settings.second, calibrate)
    if blocks.sparse and settings.solver in ("blocks", "conjugate") and not many_sparse(blocks):
        raise ValueError(
            f"solver={settings.solver!r} needs a basis with dense features, or more sparse columns "
            f"than {blocks.n_columns}: use solver='auto' or 'direct'."
        )
    if _blockwise(blocks, settings):
        return fit_blocks(blocks, targets, weights, settings)
    if not takes_span(blocks, settings):
        if many_sparse(blocks) and settings.solver != "direct":
            return fit_sparse(blocks, targets, weights, settings, calibrate)
        if squared and prefers_conjugate(blocks, settings):
            return fit_conjugate(blocks, targets, weights, settings)
    space = space_of(blocks, weights, settings)
    known = moments if space.span is None else None
    if not squared:
        return fit_convex(space, targets, weights, settings, calibrate, known)
    fit = fit_squared(space, targets, weights, settings, known)
    if calibrate and fit.left_out is None:
        fixed = replace(settings, alpha=fit.alpha)
        fit.held_out = held_out_scores(space, targets, weights, fixed, _squared_weights)
    return fit


def _squared_weights(
    space: Space, targets: Array, weights: Array, settings: Settings
) -> tuple[Array, Array]:
    fit = solve_moments(sum_moments(space, targets, weights, settings), settings, space.dtype)
    return fit.weights, fit.intercept
