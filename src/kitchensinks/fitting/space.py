"""The space in which a fit seeks the weights, its sums over the rows, and its result."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kitchensinks.features.blocks import BLOCK_ROWS, BlockFunction, FeatureBlocks
from kitchensinks.fitting.settings import Settings
from kitchensinks.fitting.sizes import SAMPLE_ROWS
from kitchensinks.numerics.arrays import Arrays, Block, DType, Matrix, Part
from kitchensinks.numerics.warned import warn
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.problem.design import Design
from kitchensinks.problem.losses import Array
from kitchensinks.problem.moments import BlockSums, Moments, NormalEquations
from kitchensinks.problem.problem import Problem, Solution
from kitchensinks.problem.targets import Batch
from kitchensinks.solvers.dual import Span
from kitchensinks.solvers.path import Leaving
from kitchensinks.tables.arrays import block_slices, densify

if TYPE_CHECKING:
    from kitchensinks.fitting.condense import Groups
    from kitchensinks.fitting.stochastic import Stochastic

Walk = Callable[..., Iterator[Block]]
# Places of rows that were held out, and their scores (rows, outputs).
HeldOutScores = tuple[np.ndarray, Array]
# Scores that rows of features get from the fit without each row itself:
# (features, targets, what leaves with a row) -> (n, outputs).
LeftOut = Callable[[Matrix, Array, Leaving | None], Array]

# Share of the rows held out to choose a ridge strength.
HELD_OUT = 0.2
# Held-out rows that calibrate probabilities: enough for the two numbers that are fitted.
CALIBRATION_ROWS = 2000


class Factored(NamedTuple):
    """The quadratic of a direct fit of squared loss, and r ↦ (G + αI)⁻¹·r by its factor."""

    equations: NormalEquations
    solve: Callable[[Array], Array]


@dataclass
class Fit:
    """Outer weights with their evidence.

    alphas, alpha_errors: the ridge path that alpha was chosen from; condition, freedom, noise: of
    the Gram; errors: for squared loss, Σw·r²/Σw of each output.
    """

    alpha: float
    solution: Solution
    moments: Moments | None = None
    alphas: Array | None = None
    alpha_errors: Array | None = None
    condition: float = math.nan
    freedom: float = math.nan
    noise: float = 0.0
    errors: Array | None = None
    # To calibrate probabilities: leave-one-out scores of any rows that were fitted, or scores of
    # rows that were held out.
    left_out: LeftOut | None = None
    held_out: HeldOutScores | None = None
    # Set by direct fits without a ball.
    factored: Factored | None = None
    # Set where the Gram is that of a sample of the rows: leverages and freedom are about it.
    sampled: NormalEquations | None = None
    # Set where features coincided: `moments` are then those of the different ones.
    groups: "Groups | None" = None
    # Set where the fit took place in the span of fewer rows than features.
    span: Span | None = None
    # Set where stochastic gradients made the weights, and could go on.
    stochastic: "Stochastic | None" = None


@dataclass
class Space:
    """Where the weights are sought: all features, or the span of the rows where it is smaller.

    `walk` yields blocks that may be kept between passes and must not be changed; `fresh` yields
    blocks that the caller may overwrite, from the row given on; with `work=` both yield what that
    makes of (rows, block), several blocks at a time. `pick` gives the features of the rows named.
    """

    walk: Walk
    fresh: Walk
    pick: Callable[[Part], Matrix]
    n_rows: int
    n_columns: int
    dtype: DType
    shift: Array
    span: Span | None = None
    # Whether `walk` keeps its blocks.
    cached: bool = True
    # Sums over all rows, of equal weight, where there is a faster way than by their features.
    sums: Callable[[Array], Moments | None] | None = None

    def design(self) -> Design:
        return Design(self.walk, self.n_rows, self.n_columns, self.dtype)

    def lift(self, solution: Solution) -> Solution:
        """The solution with weights of the features themselves."""
        if self.span is None:
            return solution
        lifted = self.span.lift(solution.weights)
        intercept = solution.intercept - self.span.mean @ lifted
        return solution._replace(weights=lifted, intercept=intercept)


def space_of(
    blocks: FeatureBlocks, weights: Array | None, settings: Settings, span: bool = False
) -> Space:
    """All features, as dense ones, or the span of the rows."""
    if span:
        settings.progress("fewer rows than features: working in the span of the rows")
        shares = shares_of(weights, blocks.n_rows)
        found = Span.of(gathered(blocks), shares, settings.fit_intercept)
        return array_space(found.coordinates, np.zeros(len(found.values)), BLOCK_ROWS, found)

    def pick(places: Part) -> Matrix:
        return densify(blocks.pick(places))

    n_rows, n_columns, dtype = blocks.n_rows, blocks.n_columns, blocks.frozen.dtype
    walk, fresh, cached = blocks.walk, blocks.fresh, blocks.cached
    if blocks.sparse:
        walk, fresh = _filled(blocks.walk), _filled(blocks.fresh)
        # Dense copies are made again in every walk unless all of them fit.
        cached = cached and dtype.itemsize * n_rows * n_columns <= 0.5 * blocks.memory_budget
    shift = blocks.pilot() if settings.fit_intercept else np.zeros(n_columns)
    summable = blocks.frozen.basis.fast_products and blocks.frozen.held
    sums = partial(_products, blocks) if summable else None
    return Space(walk, fresh, pick, n_rows, n_columns, dtype, shift, cached=cached, sums=sums)


def _filled(source: Walk) -> Walk:
    """A walk over the dense form of sparse blocks."""

    def walk(*start: int, work: BlockFunction | None = None) -> Iterator[Block]:
        def fill_in(rows: slice, block: Matrix) -> Any:
            return block.toarray() if work is None else work(rows, block.toarray())

        return source(*start, work=fill_in)

    return walk


def _products(blocks: FeatureBlocks, targets: Array) -> Moments | None:
    """Sums over all rows of equal weight, or None if they need the features."""
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


def array_space(features: Array, shift: Array, size: int, span: Span | None = None) -> Space:
    """Features that are in memory, in blocks of `size` rows."""

    def walk(work: BlockFunction | None = None, copied: bool = False) -> Iterator[Block]:
        for part in block_slices(len(features), size):
            block = features[part].copy() if copied else features[part]
            yield part, block if work is None else work(part, block)

    fresh, pick = partial(walk, copied=True), features.__getitem__
    n_rows, n_columns = features.shape
    return Space(walk, fresh, pick, n_rows, n_columns, features.dtype, shift, span)


def gathered(blocks: FeatureBlocks) -> Matrix:
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


@dataclass(frozen=True)
class TrainingSet:
    """Rows in a space, their targets (n, outputs) and weights (n,), and what to minimise."""

    space: Space
    targets: Array
    weights: Array | None
    settings: Settings

    @classmethod
    def of(
        cls, blocks: FeatureBlocks, batch: Batch, settings: Settings, span: bool = False
    ) -> "TrainingSet":
        space = space_of(blocks, batch.weights, settings, span)
        return cls(space, batch.targets, batch.weights, settings)

    @cached_property
    def shares(self) -> Array:
        """Weights of the rows that sum to one."""
        return shares_of(self.weights, self.space.n_rows)

    def part(self, rows: Part) -> tuple[Array, Array | None]:
        return self.targets[rows], None if self.weights is None else self.weights[rows]

    def problem(self, alpha: float, mean: Array | None = None) -> Problem:
        """The convex problem; mean: of the features, where it is known, zero without intercept."""
        given, design = self.settings, self.space.design()
        rows, ball = (self.targets, self.shares), given.constraint
        return Problem(design, given.loss, *rows, alpha, ball, given.fit_intercept, mean)

    def sums(self, keep: bool = False, phase: str = "sums") -> Moments:
        """All sums of one pass. keep: keep the features for further passes.

        phase: the name of the pass in a checkpoint. Few rows in their span need none.
        """
        space, settings = self.space, self.settings
        if space.sums is not None and self.weights is None and settings.checkpoint is None:
            summed = space.sums(self.targets)
            if summed is not None:
                return summed
        keep = keep and space.cached
        moments = Moments.zeros(space.shift, self.targets.shape[1])
        state, restore = moments.state, moments.restore
        walk = partial(self.blocks, phase=phase, state=state, restore=restore, keep=keep)
        told, rows = self._told("sums over the rows"), (self.targets, self.weights)
        moments.add_blocks(walk, *rows, settings.summed, copied=keep, told=told)
        return moments

    def _told(self, what: str) -> Callable[[slice], None]:
        """Progress over the blocks of a pass."""
        return lambda rows: self.settings.progress(what, rows.stop, self.space.n_rows)

    def blocks(
        self,
        work: BlockFunction,
        phase: str,
        state: Callable[[], Arrays],
        restore: Callable[[Arrays], None],
        keep: bool = False,
    ) -> Iterator[Block]:
        """The results of `work` for the blocks of a pass, which a checkpoint can resume."""
        checkpoint, space = self.settings.checkpoint, self.space
        if checkpoint is not None and space.span is None:
            source = partial(space.fresh, work=work)
            return checkpoint.over(phase, source, state, restore)
        return space.walk(work=work) if keep else space.fresh(work=work)

    @cached_property
    def sampled(self) -> NDArray[np.bool_]:
        """A mask (n,) of the sample whose Gram preconditions passes."""
        order = Words(self.settings.seed, 0, Stream.PRECONDITIONER).permutation(self.space.n_rows)
        if self.weights is not None:
            order = order[self.weights[order] > 0.0]
        chosen = np.zeros(self.space.n_rows, dtype=bool)
        chosen[order[: SAMPLE_ROWS * self.space.n_columns]] = True
        return chosen

    def add_others(self, moments: Moments) -> None:
        """Add the rows outside of the sample to its sums, which are then those of all rows."""

        def others(work: BlockFunction) -> Iterator[Block]:
            def of_block(rows: slice, features: Matrix) -> Any:
                own = np.flatnonzero(~self.sampled[rows])
                return work(rows.start + own, features[own])

            return self.space.walk(work=of_block)

        told = self._told("sums over the other rows")
        moments.add_blocks(others, self.targets, self.weights, told=told)

    def sample_sums(self) -> tuple[Moments, Array]:
        """Sums over a sample of the rows, and Z'·(shares, shares∘targets) over all of them.

        One walk: the features are kept if they can be.
        """
        space, chosen = self.space, self.sampled
        moments = Moments.zeros(space.shift, self.targets.shape[1])
        columns = np.column_stack([self.shares, self.shares[:, None] * self.targets])
        columns = columns.astype(space.dtype)

        def sums(rows: slice, features: Matrix) -> tuple[BlockSums, Array]:
            own = np.flatnonzero(chosen[rows])
            image = (features.T @ columns[rows]).astype(np.float64)
            part = rows.start + own, features[own]
            return moments.sums_of(*part, self.targets, self.weights), image

        image = np.zeros((space.n_columns, columns.shape[1]))
        for rows, (block, part) in space.walk(work=sums):
            moments.take(block)
            image += part
            self.settings.progress("sums over the rows", rows.stop, space.n_rows)
        moments.close()
        return moments, image


def warn_noise(alpha: float, noise: float) -> None:
    """Warn where the ridge is below the rounding error of the Gram."""
    if 0.0 < alpha < noise:
        warn(
            f"alpha={alpha:.2g} is below {noise:.2g}, the rounding error of the Gram matrix: the "
            "fit then follows rounding. Use solver=ks.Solver(dtype='float64') or a larger alpha.",
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


def solver_options(settings: Settings) -> dict[str, Any]:
    """Accuracy, limit of iterations and progress report of an iterative solver."""

    def report(iteration: int, objective: float, gap: float) -> None:
        settings.progress(f"iteration {iteration}: objective {objective:.6g}, gap {gap:.2g}")

    return {"tol": settings.tol, "max_iter": settings.max_iter, "callback": report}
