"""Many sparse columns (Binning): every loss and ball without a Gram, by products with the rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.fitting.held_out import Split, least_held_out, too_few
from kitchensinks.fitting.settings import Settings
from kitchensinks.fitting.space import HELD_OUT, Fit, gathered, reporter, shares_of
from kitchensinks.numerics.bins import sum_into_bins, sum_of_bins
from kitchensinks.problem.losses import Array
from kitchensinks.solvers import Design, Problem, Solution, solve_nonsmooth, solve_smooth
from kitchensinks.solvers.binned import Bins, Shared, binned_ridge, share_bins
from kitchensinks.solvers.conjugate import conjugate_gradients, diagonal_preconditioner
from kitchensinks.solvers.implicit import DiagonalGram, ImplicitGram
from kitchensinks.tables import block_slices

# Ridge strengths tried: a row of features has length one.
_ALPHAS = 10.0 ** np.arange(-1.0, -7.0, -0.5)
# Bins that are looked up at a time.
_FOUND = 2**24
# Relative gap that is close enough to compare ridge strengths.
_ROUGH = 1e-2
# Fits on bins whose law is learned stop where a step lowers the objective by less than this share:
# the held-out error then no longer changes (measured on census, house prices and forest cover).
SETTLED = 2e-3
# Rows that calibrate probabilities where the ridge is given.
CALIBRATED = 10_000
# A share of the rows that the weights can do without.
_NEGLIGIBLE = 0.05


@dataclass(frozen=True)
class SparseFeatures:
    """Any sparse features, as a CSR matrix."""

    matrix: Any

    def times(self, vector: Array) -> Array:
        return np.asarray(self.matrix @ vector)

    def transposed(self, vector: Array) -> Array:
        return np.asarray(self.matrix.T @ vector)

    def squares(self, shares: Array) -> Array:
        """Σ_i share_i·z_i² of each column."""
        return np.asarray(self.matrix.multiply(self.matrix).T @ shares)


@dataclass(frozen=True)
class BinnedFeatures:
    """Features of Binning alone: which column each row has in each grid, (grids, n), times a scale.

    A quarter of the memory of a CSR matrix, and products that both cores share.
    """

    columns: np.ndarray
    offsets: np.ndarray
    scale: float

    @property
    def n_columns(self) -> int:
        return int(self.offsets[-1])

    def times(self, vector: Array) -> Array:
        out = np.empty((self.columns.shape[1], vector.shape[1]))
        sum_of_bins(self.columns, self.scale * vector, out)
        return out

    def transposed(self, vector: Array) -> Array:
        out = np.empty((self.n_columns, vector.shape[1]))
        sum_into_bins(self.columns, self.scale * vector, out)
        return out

    def squares(self, shares: Array) -> Array:
        """Σ_i share_i·z_i² of each column."""
        return self.scale * self.transposed(shares[:, None])[:, 0]


def sparse_features(blocks: FeatureBlocks) -> SparseFeatures | BinnedFeatures:
    """All features of the rows, in the form with the fastest products."""
    draw = blocks.frozen.draw
    if not draw.basis.binned:
        return SparseFeatures(gathered(blocks))
    if blocks.columns is not None:
        return BinnedFeatures(blocks.columns, draw.offsets, draw.scale)
    kind = np.int32 if draw.n_columns < 2**31 else np.int64
    columns = np.empty((draw.n_components, blocks.n_rows), dtype=kind)
    for part in block_slices(blocks.n_rows, max(blocks.block_rows, _FOUND // draw.n_components)):
        columns[:, part] = draw.bins(blocks.frozen.scaled(blocks.rows[part]))
    return BinnedFeatures(columns, draw.offsets, draw.scale)


class SparseDesign(Design):
    """Sparse features as the solvers see them: all rows in one product."""

    def __init__(self, features: SparseFeatures | BinnedFeatures, n_rows: int, n_columns: int):
        super().__init__(lambda: iter(()), n_rows, n_columns)
        self.features = features
        self._shared: tuple[np.ndarray, Shared] | None = None

    def shared(self, fitted: np.ndarray) -> Shared:
        """The bins without those of one fitted row; the last answer is kept."""
        if self._shared is None or not np.array_equal(self._shared[0], fitted):
            assert isinstance(self.features, BinnedFeatures)
            bins = Bins(self.features.columns, self.features.offsets, self.features.scale)
            self._shared = fitted, share_bins(bins, fitted)
        return self._shared[1]

    def sweep(self, weights: Array, respond: Callable[[slice, Array], Array]) -> Array:
        self.passes += 1
        answer = respond(slice(0, self.n_rows), self.features.times(weights))
        return self.features.transposed(answer)

    def scores(self, weights: Array) -> Array:
        self.passes += 1
        return self.features.times(weights)

    def adjoint(self, dual: Array) -> Array:
        self.passes += 1
        return self.features.transposed(dual)


def fit_sparse(
    blocks: FeatureBlocks,
    targets: Array,
    weights: Array | None,
    settings: Settings,
    calibrate: bool,
) -> Fit:
    """Ridge regression by conjugate gradients; other smooth losses, and balls, by quasi-Newton or
    projected-gradient steps in the metric of the Gram's diagonal; kinked losses by ADMM whose
    ridge steps are conjugate gradients. All are certified as their dense counterparts are.

    The ridge is chosen on a held-out fifth of the rows, and probabilities are calibrated there, or
    on 10,000 rows where the ridge is given. The last fit starts from the weights found without
    them; where they are less than a twentieth of all rows, those weights are the last ones.
    """
    facts: dict[str, Any] = {}
    alpha = settings.alpha
    design = SparseDesign(sparse_features(blocks), blocks.n_rows, blocks.n_columns)
    last: list[Array | None] = [None]
    kept: Solution | None = None
    if alpha == "auto" or calibrate:
        # To calibrate takes fewer rows than to choose.
        share = HELD_OUT if alpha == "auto" else min(HELD_OUT, CALIBRATED / blocks.n_rows)
        split = Split.of(settings, weights, share=share)
        if split is not None:
            candidates = _ALPHAS if alpha == "auto" else [float(alpha)]
            # Where next to no rows are held out, the fit without them is the last one.
            final = alpha != "auto" and share <= _NEGLIGIBLE
            rough = settings if final else replace(settings, tol=max(_ROUGH, settings.tol))

            def scores_of(candidate: float) -> Array:
                solution = solve_sparse(design, targets, split.fitted, rough, candidate, last[0])
                last[0] = solution.weights
                if final:
                    nonlocal kept
                    kept = solution
                return design.scores(solution.weights)[split.held] + solution.intercept

            alpha, tried, errors, held_out = least_held_out(
                candidates, scores_of, targets, split, settings
            )
            facts = {"alphas": tried, "alpha_errors": errors, "held_out": held_out}
        elif alpha == "auto":
            raise too_few(settings, blocks.n_rows)
    if kept is None:
        kept = solve_sparse(design, targets, weights, settings, float(alpha), last[0])
    return Fit(kept.weights, kept.intercept, float(alpha), kept, **facts)


def solve_sparse(
    design: SparseDesign,
    targets: Array,
    weights: Array | None,
    settings: Settings,
    alpha: float,
    start: Array | None,
) -> Solution:
    """One fit with a given ridge; weights (n,) or None for ones."""
    shares = shares_of(weights, design.n_rows)
    ridge = settings.loss.squared and settings.constraint is None
    if ridge and alpha > 0.0 and isinstance(design.features, BinnedFeatures):
        solution = binned_ridge(
            design.shared(shares > 0.0),
            design.n_columns,
            targets,
            shares,
            alpha,
            fit_intercept=settings.fit_intercept,
            start=start,
            tol=settings.tol,
            settled=settings.settled,
            max_iter=settings.max_iter,
            callback=reporter(settings),
        )
        return solution._replace(solver="conjugate gradients (sparse)")
    mean = design.adjoint(shares[:, None])[:, 0] * settings.fit_intercept
    diagonal = np.maximum(design.features.squares(shares) - mean**2, 0.0)

    def gram(vector: Array) -> Array:
        image = design.sweep(vector, lambda rows, scores: shares[rows, None] * scores)
        return np.asarray(image - np.outer(mean, mean @ vector))

    options: dict[str, Any] = {
        "tol": settings.tol,
        "max_iter": settings.max_iter,
        "callback": reporter(settings),
    }
    if ridge:
        target = shares @ targets * settings.fit_intercept
        solution = conjugate_gradients(
            gram,
            design.adjoint(shares[:, None] * targets) - np.outer(mean, target),
            shares @ (targets - target) ** 2,
            alpha,
            diagonal_preconditioner(diagonal, alpha),
            start=start,
            **options,
        )
        solution = solution._replace(intercept=target - mean @ solution.weights)
    else:
        problem = Problem(
            design,
            settings.loss,
            targets,
            shares,
            alpha,
            settings.constraint,
            settings.fit_intercept,
            mean,
            None,
        )
        if settings.loss.smooth:
            solution = solve_smooth(problem, factored=DiagonalGram(diagonal), **options)
        else:
            solution = solve_nonsmooth(problem, factored=ImplicitGram(gram, diagonal), **options)
    return solution._replace(solver=f"{solution.solver} (sparse)", passes=design.passes)
