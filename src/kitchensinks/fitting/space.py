"""What a fit is asked to do, where it looks for the weights, and what it returns."""

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from kitchensinks.features.blocks import BLOCK_ROWS, FeatureBlocks
from kitchensinks.fitting.plan import SAMPLE_ROWS
from kitchensinks.fitting.settings import Settings
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.problem.losses import Array
from kitchensinks.problem.moments import BlockSums, Moments, NormalEquations
from kitchensinks.solvers import Design, Solution
from kitchensinks.solvers.dual import Span
from kitchensinks.tables import block_slices, densify

Walk = Callable[..., Iterator[tuple[slice, Any]]]

# Share of the rows held out to choose a ridge strength.
HELD_OUT = 0.2
# Rows, out of sight of the weights, that calibrate probabilities (two numbers are fitted).
CALIBRATION_ROWS = 2000
# Scores that rows of features get from the fit without one copy of each row itself:
# (features, targets, weights, weight of one copy) -> (n, outputs).
LeftOut = Callable[[Any, Array, Array | None, Array | None], Array]


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
    # To calibrate probabilities: leave-one-out scores of any rows that were fitted, or scores of
    # rows that were held out, (places, scores).
    left_out: LeftOut | None = None
    held_out: tuple[np.ndarray, Array] | None = None
    # Set where the Gram is that of a sample of the rows: leverages and freedom are about it.
    sampled: NormalEquations | None = None
    # Set where features coincided: `moments` are then those of the different ones.
    groups: Any = None
    # Set where the fit took place in the span of fewer rows than features.
    span: Span | None = None
    # Set where stochastic gradients made the weights, and could go on.
    stochastic: Any = None


@dataclass
class Space:
    """Where the weights are sought: all features, or the span of the rows where it is smaller.

    `walk` yields blocks that may be kept between passes and must not be changed; `fresh` yields
    blocks that the caller may overwrite, from the row given on; with `work=` both yield what that
    makes of (rows, block), several blocks at a time. `pick` gives the features of the rows named.
    """

    walk: Walk
    fresh: Walk
    pick: Callable[[Any], Any]
    n_rows: int
    n_columns: int
    dtype: np.dtype[Any]
    shift: Array
    span: Span | None = None
    # Whether `walk` keeps its blocks.
    cached: bool = True
    # Sums over all rows, of equal weight, where there is a faster way than by their features.
    sums: Callable[[Array], Moments | None] | None = None

    def design(self) -> Design:
        """The features as solvers see them."""
        return Design(self.walk, self.n_rows, self.n_columns, self.dtype)

    def lift(self, weights: Array, intercept: Array) -> tuple[Array, Array]:
        """Weights of the features themselves."""
        if self.span is None:
            return weights, intercept
        lifted = self.span.lift(weights)
        return lifted, intercept - self.span.mean @ lifted


def space_of(
    blocks: FeatureBlocks, weights: Array | None, settings: Settings, span: bool = False
) -> Space:
    """All features (filled in where they are sparse), or the span of the rows."""
    if span:
        return _span_space(blocks, weights, settings)
    walk, fresh = blocks.walk, blocks.fresh
    if blocks.sparse:

        def fill(source: Walk) -> Walk:
            def filled(*start: int, work: Any = None) -> Iterator[tuple[slice, Any]]:
                def fill_in(rows: slice, block: Any) -> Any:
                    return block.toarray() if work is None else work(rows, block.toarray())

                return source(*start, work=fill_in)

            return filled

        walk, fresh = fill(blocks.walk), fill(blocks.fresh)

    def pick(places: Any) -> Any:
        return densify(blocks.pick(places))

    shift = blocks.pilot() if settings.fit_intercept else np.zeros(blocks.n_columns)
    n_rows, n_columns, dtype = blocks.n_rows, blocks.n_columns, blocks.frozen.dtype
    sums = partial(_products, blocks) if blocks.summable else None
    cached = blocks.cached
    if blocks.sparse:
        # Filled in, they are made anew for every walk unless all of them fit.
        cached = cached and dtype.itemsize * n_rows * n_columns <= 0.5 * blocks.memory_budget
    return Space(walk, fresh, pick, n_rows, n_columns, dtype, shift, cached=cached, sums=sums)


def _products(blocks: FeatureBlocks, targets: Array) -> Moments | None:
    """Sums over all rows, of equal weight, or None where they need the features after all."""
    moments = Moments.zeros(np.zeros(blocks.n_columns), targets.shape[1])
    done = 0
    for rows in blocks.scaled():
        own = targets[done : done + rows.shape[0]]
        products = blocks.frozen.draw.products(rows, own)
        if products is None:
            return None
        moments.add_products(*products, own)
        done += rows.shape[0]
    return moments


def _span_space(blocks: FeatureBlocks, weights: Array | None, settings: Settings) -> Space:
    settings.progress("fewer rows than features: working in the span of the rows")
    shares = shares_of(weights, blocks.n_rows)
    span = Span.of(gathered(blocks), shares, settings.fit_intercept)

    def walk(work: Any = None) -> Iterator[tuple[slice, Array]]:
        for part in block_slices(blocks.n_rows, BLOCK_ROWS):
            block = span.coordinates[part]
            yield part, block if work is None else work(part, block)

    def fresh(work: Any = None) -> Iterator[tuple[slice, Array]]:
        for part, block in walk():
            yield part, block.copy() if work is None else work(part, block.copy())

    rank = len(span.values)
    double = np.dtype(np.float64)
    pick = span.coordinates.__getitem__
    return Space(walk, fresh, pick, blocks.n_rows, rank, double, np.zeros(rank), span)


def gathered(blocks: FeatureBlocks) -> Any:
    """All features in one matrix."""
    if blocks.sparse:
        return sparse.vstack([block for _, block in blocks.fresh()], format="csr")
    out = np.empty((blocks.n_rows, blocks.n_columns), dtype=blocks.frozen.dtype)
    for rows, block in blocks.fresh():
        out[rows] = block
    return out


def shares_of(weights: Array | None, n_rows: int) -> Array:
    """Weights of the rows, normalised to sum to one."""
    if weights is None:
        return np.full(n_rows, 1.0 / n_rows)
    return np.asarray(weights / weights.sum())


def sum_moments(
    space: Space,
    targets: Array,
    weights: Array | None,
    settings: Settings,
    keep: bool = False,
    phase: str = "sums",
) -> Moments:
    """All the sums of one pass. `keep`: passes follow, so let the features be kept if they can.

    `phase`: the name of the pass in a checkpoint. Few rows in their span need none.
    """
    if space.sums is not None and weights is None and settings.checkpoint is None:
        summed = space.sums(targets)
        if summed is not None:
            return summed
    keep = keep and space.cached
    moments = Moments.zeros(space.shift, targets.shape[1])

    def sums(rows: slice, features: Any) -> BlockSums:
        return moments.sums_of(
            features.copy() if keep else features,
            targets[rows],
            None if weights is None else weights[rows],
            None if settings.one is None else settings.one[rows],
        )

    blocks: Any = space.walk(work=sums) if keep else space.fresh(work=sums)
    if settings.checkpoint is not None and space.span is None:
        keep, source = False, partial(space.fresh, work=sums)
        blocks = settings.checkpoint.over(phase, source, moments.state, moments.restore)
    with closing(blocks):
        for rows, block in blocks:
            moments.take(block)
            settings.progress(f"summed {rows.stop} of {len(targets)} rows")
    moments.close()
    return moments


def sample_moments(
    space: Space, targets: Array, weights: Array | None, shares: Array, settings: Settings
) -> tuple[Moments, Array]:
    """Sums over a sample of the rows, and Z'·(shares, shares∘targets) over all of them.

    One walk: the features are kept if they can be.
    """
    order = Words(settings.seed, 0, Stream.PRECONDITIONER).permutation(space.n_rows)
    if weights is not None:
        order = order[weights[order] > 0.0]
    chosen = np.zeros(space.n_rows, dtype=bool)
    chosen[order[: SAMPLE_ROWS * space.n_columns]] = True
    moments = Moments.zeros(space.shift, targets.shape[1])
    columns = np.column_stack([shares, shares[:, None] * targets]).astype(space.dtype)

    def sums(rows: slice, features: Any) -> tuple[BlockSums, Array]:
        own = np.flatnonzero(chosen[rows])
        places = rows.start + own
        part = None if weights is None else weights[places]
        image = (features.T @ columns[rows]).astype(np.float64)
        return moments.sums_of(features[own], targets[places], part), image

    image = np.zeros((space.n_columns, columns.shape[1]))
    for rows, (block, part) in space.walk(work=sums):
        moments.take(block)
        image += part
        settings.progress(f"summed {rows.stop} of {len(targets)} rows")
    moments.close()
    return moments, image


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


def spectrum_facts(values: Array, alpha: float, rounding: float) -> dict[str, Any]:
    """Condition number and effective dimension Σ s/(s + α) from the eigenvalues of the Gram."""
    values = np.where(values > rounding, values, 0.0)
    spectrum = values + alpha
    kept = spectrum > 0.0
    if not kept.any():
        return {"condition": 1.0, "freedom": 0.0}
    return {
        "condition": float(spectrum[kept].max() / spectrum[kept].min()),
        "freedom": float(np.sum(values[kept] / spectrum[kept])),
    }


def reporter(settings: Settings) -> Any:
    """What tells the progress of a solver."""
    return lambda iteration, objective, gap: settings.progress(
        f"iteration {iteration}: objective {objective:.6g}, gap {gap:.2g}"
    )
