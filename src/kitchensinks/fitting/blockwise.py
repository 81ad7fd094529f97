"""Squared loss for more features than a Gram can have: block coordinate descent.

With blocks β = (β₁, …, β_B) of the weights and r = y − u the residuals of the rows, a step solves

    (G_b + αI)·δ = Z_b'(w∘r) − α·β_b,   β_b ← β_b + δ,   r ← r − Z_b·δ,

which is the exact minimiser in block b with the others as they are (features about their means
where there is an intercept). A G_b has K_b² entries and not K²; features are drawn block by block
from the seed and never held together. So the kernel machines of Tu, Roelofs, Venkataraman and
Recht (2016, Large scale kernel learning using block coordinate descent) were trained on TIMIT.
After each round over all blocks the residuals are computed anew from the weights, and the
gradient g of all blocks gives the Fenchel gap ‖g‖²/(4α).
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.features.frozen import Frozen
from kitchensinks.fitting.pieces import RowPieces
from kitchensinks.fitting.settings import Settings
from kitchensinks.fitting.sizes import gram_bytes
from kitchensinks.fitting.space import Fit, shares_of, solver_options
from kitchensinks.problem.design import Design, RowVector
from kitchensinks.problem.losses import Array
from kitchensinks.problem.moments import Moments
from kitchensinks.problem.problem import NEGLIGIBLE, Solution
from kitchensinks.problem.targets import Batch
from kitchensinks.tables.arrays import block_slices

# Most columns of a block.
_WIDEST = 4096
# Fewest columns of a block, whatever the memory.
_NARROWEST = 64
# The solver has diverged if the objective exceeds this many times that of zero weights.
_DIVERGED = 2.0
# Rows of a task that give a rough mean of its features: sums about it keep their digits.
_PILOT = 256


def fit_blocks(blocks: FeatureBlocks, batch: Batch, settings: Settings) -> Fit:
    """Rows of this process."""
    frozen, memory = blocks.frozen, blocks.memory_budget
    held = RowPieces([blocks.rows], frozen, memory, keep=False)
    shares = shares_of(batch.weights, blocks.n_rows)
    return BlockDescent(held.design, held, batch.targets, shares, frozen, settings, memory).fit()


@dataclass
class BlockDescent:
    """Rounds over the blocks; `rows` is a row vector of `RowPieces`, the shares sum to one."""

    design: Design
    rows: RowVector
    targets: RowVector
    shares: RowVector
    frozen: Frozen
    settings: Settings
    memory: float
    _factors: dict[int, Any] = field(default_factory=dict)

    def fit(self) -> Fit:
        """Rounds until the gap is below the tolerance, or as many as max_iter."""
        settings, design = self.settings, self.design
        alpha, tell = float(settings.alpha), solver_options(settings)["callback"]
        draws = self._draws()
        level, squares = design.reduce(_target_sums, self.targets, self.shares)
        if settings.fit_intercept:
            squares = squares - level**2
        else:
            level = np.zeros_like(level)
        mean = np.zeros(self.frozen.n_columns)
        weights = np.zeros((self.frozen.n_columns, len(level)))
        residual = design.each(_below, self.targets, level=level)
        converged, done = False, 0
        while not converged and done < settings.max_iter:
            place = 0
            for number, part in enumerate(draws):
                centre, factor, cross = self._solvable(number, part, residual, mean[place:])
                columns = slice(place, place + len(centre))
                mean[columns] = centre
                step = cho_solve(factor, cross - alpha * weights[columns], check_finite=False)
                weights[columns] += step
                given = {"draws": part, "step": step, "shift": centre @ step}
                residual = design.each(_advanced, self.rows, residual, **given)
                place = columns.stop
                settings.progress(f"round {done + 1}: {place} of {len(mean)} features")
            done += 1
            # Computed from the weights, so that rounding errors do not accumulate.
            intercept = level - mean @ weights
            given = {"weights": weights, "intercept": intercept}
            residual = design.each(_residual, self.rows, self.targets, **given)
            rest, errors = design.reduce(_target_sums, residual, self.shares)
            image = design.reduce(_image, self.rows, residual, self.shares)
            rest = rest * settings.fit_intercept
            gradient = 2.0 * (image - np.outer(mean, rest) - alpha * weights)
            objective = float(np.sum(errors + alpha * np.sum(weights**2, axis=0)))
            gap = float(np.sum(gradient**2)) / (4.0 * alpha)
            tell(done, objective, gap)
            if not objective <= _DIVERGED * float(squares.sum()):
                # Exact steps never raise the objective.
                raise self._too_weak()
            converged = gap <= settings.tol * max(objective, NEGLIGIBLE * float(squares.sum()))
        counts = done, 4 * done, bool(converged), "block coordinate descent"
        return Fit(alpha, Solution(weights, intercept, objective, gap, *counts), errors=errors)

    def _draws(self) -> list[slice]:
        """Blocks whose Gram, with its copies, fits into half of the memory."""
        widest = np.clip(np.sqrt(0.5 * self.memory / gram_bytes(1)), _NARROWEST, _WIDEST)
        size = max(1, int(widest) // self.frozen.basis.features_per_draw)
        return list(block_slices(self.frozen.n_components, size))

    def _too_weak(self) -> ValueError:
        return ValueError(
            f"alpha={float(self.settings.alpha):.2g} is below the rounding error of the Gram "
            f"matrix in {self.frozen.dtype}: solver='blocks' needs a larger alpha or "
            "dtype='float64'."
        )

    def _solvable(
        self, number: int, draws: slice, residual: RowVector, mean: Array
    ) -> tuple[Array, Any, Array]:
        """Means, factored G_b + αI and Z_b'(w∘r) of a block; factors are kept where they fit."""
        intercept = self.settings.fit_intercept
        rows = self.rows, residual, self.shares
        if number in self._factors:
            cross = self.design.reduce(_cross, *rows, draws=draws)
            centre = mean[: len(cross)]
            rest = self.design.reduce(_target_sums, residual, self.shares)[0] * intercept
            return centre, self._factors[number], cross - np.outer(centre, rest)
        moments = self.design.reduce(
            _moments, *rows, merge=Moments.merge, draws=draws, intercept=intercept
        )
        equations = moments.normal_equations(intercept)
        gram = equations.gram
        gram[np.diag_indices_from(gram)] += float(self.settings.alpha)
        try:
            factor = cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            raise self._too_weak() from None
        if 8.0 * len(gram) * self.frozen.n_columns <= 0.25 * self.memory:
            self._factors[number] = factor
        return equations.mean, factor, equations.cross


# -- functions of rows -------------------------------------------------------------------


def _target_sums(targets: Array, shares: Array) -> Array:
    """Σ w y and Σ w y² of each output."""
    return np.stack([shares @ targets, shares @ targets**2])


def _below(targets: Array, level: Array) -> Array:
    return targets - level


def _moments(
    rows: RowPieces, residual: Array, shares: Array, draws: slice, intercept: bool
) -> Moments:
    """The sums of a block of features with the residuals."""
    moments: Moments | None = None
    for part, features in rows.some(draws):
        if moments is None:
            shift = features[:_PILOT].mean(axis=0, dtype=np.float64) * float(intercept)
            moments = Moments.zeros(shift, residual.shape[1])
        moments.add(features, residual[part], shares[part])
    assert moments is not None
    moments.close()
    return moments


def _cross(rows: RowPieces, residual: Array, shares: Array, draws: slice) -> Array:
    weighted = (shares[:, None] * residual).astype(rows.frozen.dtype)
    products = (features.T @ weighted[part] for part, features in rows.some(draws))
    return np.asarray(sum(product.astype(np.float64) for product in products))


def _advanced(rows: RowPieces, residual: Array, draws: slice, step: Array, shift: Array) -> Array:
    moved, narrow = residual + shift, step.astype(rows.frozen.dtype)
    for part, features in rows.some(draws):
        moved[part] -= features @ narrow
    return moved


def _residual(rows: RowPieces, targets: Array, weights: Array, intercept: Array) -> Array:
    left, narrow = targets - intercept, weights.astype(rows.frozen.dtype)
    for part, columns, features in rows.pieces():
        left[part] -= features @ narrow[columns]
    return left


def _image(rows: RowPieces, residual: Array, shares: Array) -> Array:
    """Z'(w∘r) of all features."""
    weighted = (shares[:, None] * residual).astype(rows.frozen.dtype)
    image = np.zeros((rows.frozen.n_columns, residual.shape[1]))
    for part, columns, features in rows.pieces():
        image[columns] += features.T @ weighted[part]
    return image
