"""What a fit is asked to do, where it looks for the weights, and what it returns."""

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from kitchensinks.constraints import Constraint, SupBall
from kitchensinks.features import BLOCK_ROWS, FeatureBlocks
from kitchensinks.losses import Array, Loss
from kitchensinks.moments import Moments
from kitchensinks.rows import block_slices
from kitchensinks.solvers import Solution
from kitchensinks.solvers.dual import Span

Walk = Callable[[], Iterator[tuple[slice, Any]]]

# Sparse features with no more columns than this are filled in and solved as dense ones.
DENSE_COLUMNS = 2000
# Fewer rows than features go through an n × n matrix up to this many rows.
SPAN_ROWS = 5000
# Share of the rows held out to choose a ridge strength.
HELD_OUT = 0.2
# Rows, out of sight of the weights, that calibrate probabilities (two numbers are fitted).
CALIBRATION_ROWS = 2000


@dataclass(frozen=True)
class Settings:
    """What to minimise, and how closely."""

    loss: Loss
    alpha: float | str
    constraint: Constraint | None
    fit_intercept: bool
    tol: float
    max_iter: int
    solver: str
    seed: int
    # Near the mean of the features; frozen, so that sums about it merge.
    shift: Array
    # Keys of the rows by their content, made when they are needed.
    keys: Callable[[], np.ndarray]
    progress: Callable[[str], None] = field(default=lambda text: None)


@dataclass
class Fit:
    """Outer weights with their evidence."""

    weights: Array
    intercept: Array
    alpha: float
    solution: Solution
    moments: Moments | None = None
    alphas: Array | None = None
    alpha_errors: Array | None = None
    condition: float = math.nan
    freedom: float = math.nan
    noise: float = 0.0
    # Squared loss: Σw·r²/Σw of each output.
    errors: Array | None = None
    # Scores of rows that the fit did not see, to calibrate probabilities: (rows, scores).
    unseen: tuple[np.ndarray, Array] | None = None
    # Set where the fit took place in the span of fewer rows than features.
    span: Span | None = None


@dataclass
class Space:
    """Where the weights are sought: all features, or the span of the rows where it is smaller.

    `walk` yields blocks that may be kept between passes and must not be changed; `fresh` yields
    blocks that the caller may overwrite; `pick` gives the features of the rows named.
    """

    walk: Walk
    fresh: Walk
    pick: Callable[[np.ndarray], Any]
    n_rows: int
    n_columns: int
    dtype: np.dtype[Any]
    shift: Array
    span: Span | None = None

    def lift(self, weights: Array, intercept: Array) -> tuple[Array, Array]:
        """Weights of the features themselves."""
        if self.span is None:
            return weights, intercept
        lifted = self.span.lift(weights)
        return lifted, intercept - self.span.mean @ lifted


def takes_span(blocks: FeatureBlocks, constraint: Constraint | None) -> bool:
    """Whether the n × n form is the smaller one: sup-norm balls do not turn with the axes."""
    few = blocks.n_rows < blocks.n_columns
    if blocks.draw.basis.sparse:
        few = few and blocks.n_rows <= SPAN_ROWS
    return few and not isinstance(constraint, SupBall)


def space_of(blocks: FeatureBlocks, weights: Array | None, settings: Settings) -> Space:
    """All features (filled in where they are sparse), or the span of the rows."""
    if takes_span(blocks, settings.constraint):
        return _span_space(blocks, weights, settings)
    walk, fresh, pick = blocks.walk, blocks.fresh, blocks.pick
    if blocks.draw.basis.sparse:

        def fill(source: Walk) -> Walk:
            return lambda: ((rows, block.toarray()) for rows, block in source())

        walk, fresh = fill(blocks.walk), fill(blocks.fresh)

        def pick(rows: np.ndarray) -> Any:
            return blocks.pick(rows).toarray()

    dtype = blocks.draw.dtype
    return Space(walk, fresh, pick, blocks.n_rows, blocks.n_columns, dtype, settings.shift)


def _span_space(blocks: FeatureBlocks, weights: Array | None, settings: Settings) -> Space:
    settings.progress("fewer rows than features: working in the span of the rows")
    parts = [block for _, block in blocks.fresh()]
    stacked = sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)
    shares = shares_of(weights, blocks.n_rows)
    span = Span.of(stacked, shares, settings.fit_intercept)

    def walk() -> Iterator[tuple[slice, Array]]:
        for part in block_slices(blocks.n_rows, BLOCK_ROWS):
            yield part, span.coordinates[part]

    def fresh() -> Iterator[tuple[slice, Array]]:
        for part, block in walk():
            yield part, block.copy()

    rank = len(span.values)
    double = np.dtype(np.float64)
    pick = span.coordinates.__getitem__
    return Space(walk, fresh, pick, blocks.n_rows, rank, double, np.zeros(rank), span)


def shares_of(weights: Array | None, n_rows: int) -> Array:
    """Weights of the rows, normalised to sum to one."""
    if weights is None:
        return np.full(n_rows, 1.0 / n_rows)
    return np.asarray(weights / weights.sum())


def sum_moments(
    fresh: Walk, targets: Array, weights: Array | None, shift: Array, settings: Settings
) -> Moments:
    """All the sums of one pass over fresh blocks."""
    moments = Moments.zeros(shift, targets.shape[1])
    for rows, features in fresh():
        moments.add(features, targets[rows], None if weights is None else weights[rows])
        settings.progress(f"summed {rows.stop} of {len(targets)} rows")
    return moments


def gram_noise(dtype: np.dtype[Any], trace: float, count: int) -> float:
    """Rounding error of a Gram of centred features, measured to be about eps/2·trace/√n."""
    return 0.5 * float(np.finfo(dtype).eps) * trace / math.sqrt(max(1, count))


def warn_noise(alpha: float, noise: float) -> None:
    """Say so where the ridge is lost in the rounding of the Gram."""
    if 0.0 < alpha < noise:
        warnings.warn(
            f"alpha={alpha:.2g} is below {noise:.2g}, the rounding error of the Gram matrix: the "
            "fit then follows rounding. Use a larger alpha, alpha='auto' or dtype='float64'.",
            stacklevel=6,
        )


def spectrum_facts(values: Array, alpha: float, rounding: float) -> dict[str, float]:
    """Condition number and effective dimension Σ s/(s + α) from the eigenvalues of the Gram."""
    spectrum = values + alpha
    kept = spectrum > (rounding if alpha == 0.0 else 0.0)
    if not kept.any():
        return {"condition": 1.0, "freedom": 0.0}
    return {
        "condition": float(spectrum[kept].max() / spectrum[kept].min()),
        "freedom": float(np.sum(values[kept] / spectrum[kept])),
    }
