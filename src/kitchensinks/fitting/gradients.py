"""Squared loss on values and gradients together (random bases, section IV).

Where gradients g_i of the target are known beside its values,

    Σ_i w_i·[(y_i − f(x_i))² + ‖g_i − ∇f(x_i)‖²]/Σ w_i + α‖β‖²

is still a quadratic in the outer weights, which no representer theorem over the rows is needed for.
Rows and gradients are those that the features see: of standardised columns, unless these are left
as they come. A feature φ(ω_k·x) has the gradient φ'(ω_k·x)·ω_k, so that the sum over all d partial
derivatives is one product of matrices, with S = φ'(ω_k·x_i):

    Σ_j ∂_jZ'·W·∂_jZ = (S'·W·S) ∘ (Ω·Ω').

Gradients do not see the intercept: their sums join those of the values after the values' means are
taken off, which `Moments` does by itself if they are added to its second moments alone.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.fitting.plan import Plan, make_plan
from kitchensinks.fitting.settings import Settings
from kitchensinks.fitting.sizes import Sizes
from kitchensinks.fitting.space import Fit, TrainingSet
from kitchensinks.fitting.squared import solve_moments
from kitchensinks.problem.losses import Array
from kitchensinks.problem.moments import Moments
from kitchensinks.problem.targets import Batch
from kitchensinks.tables.arrays import block_slices

# Entries of slopes that are held at a time.
_BLOCK_ENTRIES = 2**22


class Gradients(NamedTuple):
    """values (n, outputs, d), of the targets by the scaled columns; known (n,): rows that have one.

    Rows without one hold zeros.
    """

    values: Array
    known: NDArray[np.bool_]

    @classmethod
    def of(cls, given: object, n_rows: int, n_outputs: int, n_inputs: int) -> "Gradients":
        """Of an array (n, d) or (n, outputs, d), in which a row of NaN is not known."""
        values = np.asarray(given, dtype=np.float64)
        shape = values.shape
        if values.ndim == 2 and n_outputs == 1:
            values = values[:, None, :]
        if values.shape != (n_rows, n_outputs, n_inputs):
            need = (n_rows, n_inputs) if n_outputs == 1 else (n_rows, n_outputs, n_inputs)
            raise ValueError(f"gradients of shape {shape}: need {need}, one for each row.")
        unknown = np.asarray(np.isnan(values).all(axis=(1, 2)))
        if not np.isfinite(values[~unknown]).all():
            raise ValueError(
                "gradients hold infinite or missing numbers: need finite ones, or NaN in all of a "
                "row whose gradient is not known."
            )
        return cls(np.where(unknown[:, None, None], 0.0, values), ~unknown)


def fit_gradients(
    blocks: FeatureBlocks, batch: Batch, settings: Settings, gradients: Gradients
) -> tuple[Plan, Fit]:
    """The weights of least squared error of values and gradients, by one Gram matrix.

    alpha="auto" is chosen by generalised cross-validation over all numbers, n values and d partial
    derivatives of each row that has them.
    """
    plan = make_plan(Sizes.of(blocks, gradients=int(gradients.known.sum())), settings)
    training = TrainingSet.of(blocks, batch, settings)
    moments = training.sums()
    add_gradients(moments, blocks, batch.weights, gradients)
    fit = solve_moments(moments, settings, training.space.dtype)
    # A row left out would take its gradient with it, which these formulas do not know.
    fit.left_out = None
    return plan, fit


def add_gradients(
    moments: Moments, blocks: FeatureBlocks, weights: Array | None, gradients: Gradients
) -> None:
    """Add the squares and products of partial derivatives to the second moments of the values."""
    frozen, (values, known) = blocks.frozen, gradients
    shares = known.astype(float) if weights is None else known * weights
    for part in block_slices(blocks.n_rows, max(1, _BLOCK_ENTRIES // blocks.n_columns)):
        found = frozen.draw.slopes(frozen.scaled(blocks.rows[part]))
        if found is None:
            raise ValueError(
                f"gradients need a basis of functions of ω·x, and {frozen.basis!r} does not say "
                "its slopes: use ks.Fourier(), ks.Sigmoid('tanh'), ks.ReLU() or ks.Linear(), with "
                "dense directions."
            )
        slopes, directions = (each.astype(np.float64) for each in found)
        own = shares[part, None] * slopes
        moments.gram += np.tril((slopes.T @ own) * (directions @ directions.T))
        for output, given in enumerate(np.moveaxis(values[part], 1, 0)):
            moments.cross[:, output] += np.einsum("nk,nk->k", own, given @ directions.T)
        moments.squares = moments.squares + np.einsum("n,nod->o", shares[part], values[part] ** 2)
    moments.count += int(np.count_nonzero(shares)) * values.shape[2]
