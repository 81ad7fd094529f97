"""From blocks of features to outer weights: which solver, which ridge, what evidence."""

from kitchensinks.features import FeatureBlocks
from kitchensinks.fitting.convex import fit_convex
from kitchensinks.fitting.growth import Growth, grow, prefix_errors
from kitchensinks.fitting.iterative import fit_conjugate, fit_sparse, prefers_conjugate
from kitchensinks.fitting.space import (
    DENSE_COLUMNS,
    SPAN_ROWS,
    Fit,
    Settings,
    space_of,
    takes_span,
)
from kitchensinks.fitting.squared import fit_squared, solve_moments
from kitchensinks.losses import Array
from kitchensinks.moments import Moments

__all__ = [
    "SPAN_ROWS",
    "Fit",
    "Growth",
    "Settings",
    "fit_weights",
    "grow",
    "prefix_errors",
    "solve_moments",
]


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
    already. The rule:

    1. fewer rows than features (up to 5000 rows for sparse ones), and no sup-norm ball: work in
       the span of the rows, then as below;
    2. more than 2000 sparse columns: conjugate gradients (squared loss with a ridge);
    3. squared loss: conjugate gradients where α is given and the rows are at least 30 for each
       of 1500 or more features that can be kept in memory; else direct;
    4. smooth losses: L-BFGS, or spectral projected gradients in a ball, in the Gram's metric;
    5. hinge and quantile: the method of multipliers in the Gram's metric.
    """
    squared = settings.loss.name == "squared"
    if not takes_span(blocks, settings.constraint):
        if blocks.draw.basis.sparse and blocks.n_columns > DENSE_COLUMNS:
            return fit_sparse(blocks, targets, weights, settings, calibrate)
        if squared and prefers_conjugate(blocks, settings):
            return fit_conjugate(blocks, targets, weights, settings, calibrate)
    space = space_of(blocks, weights, settings)
    if squared:
        known = moments if space.span is None else None
        return fit_squared(space, targets, weights, settings, calibrate, known)
    return fit_convex(space, targets, weights, settings, calibrate)
