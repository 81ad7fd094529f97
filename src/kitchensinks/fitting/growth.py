"""The choice of K: held-out error for every prefix of the draw."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dsymm

from kitchensinks.features.bases import Basis
from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.fitting.settings import Settings
from kitchensinks.fitting.sizes import GRAM_COPIES
from kitchensinks.fitting.space import HELD_OUT
from kitchensinks.numerics.arrays import Arrays, Matrix, Part
from kitchensinks.numerics.choices import first_least, strongest_least
from kitchensinks.numerics.pairs import mirror
from kitchensinks.problem.losses import Array
from kitchensinks.problem.moments import Moments, NormalEquations
from kitchensinks.problem.targets import Batch
from kitchensinks.solvers.cholesky import lower_factor
from kitchensinks.solvers.path import RidgePath, alpha_grid
from kitchensinks.tables.arrays import densify
from kitchensinks.tables.keys import hold_out

# The first K that n_components="auto" tries.
FIRST_COMPONENTS = 256
# The largest K that it tries.
MOST_COMPONENTS = 8192
# K is doubled again while that lowers the held-out error by at least this share.
WORTH_DOUBLING = 0.01


@dataclass(frozen=True)
class Growth:
    """Held-out error against K.

    counts (m,) is every K from 1 to the largest tried; squared_errors (m,): mean over outputs
    of Σw(y − u)²/Σw; class_errors (m,): share of rows in the wrong class, or None. tried: the K
    that n_components="auto" has tried; n_components, reason: the chosen K, and why.
    """

    counts: np.ndarray
    squared_errors: Array
    class_errors: Array | None = None
    tried: tuple[int, ...] = ()
    n_components: int = 0
    reason: str = ""

    def in_units(self, unit: float) -> "Growth":
        """The same for targets in units of `unit`."""
        return replace(self, squared_errors=self.squared_errors * unit * unit)

    def __repr__(self) -> str:
        error = float(self.squared_errors[(self.n_components or len(self.counts)) - 1])
        text = f"K = 1 to {len(self.counts)}, squared error {error:.4g}"
        if self.tried:
            text += f", tried {self.tried}: K = {self.n_components}, {self.reason}"
        return f"Growth({text})"


class Prefixes:
    """The ridge fits on every prefix of the features, from one factorisation.

    With G + αI = LL' and t = L⁻¹·cross, the fit on the first k features predicts
    Σ_{j ≤ k} q_j·t_j, q = L⁻¹(z − z̄): prefixes share everything. In the units of the raw
    coefficients the ridge is α·K for every prefix; as an α of its own, the prefix of k features
    has α·K/k.
    """

    def __init__(self, equations: NormalEquations, alpha: float) -> None:
        gram = equations.gram
        floor = max(alpha, len(gram) * np.finfo(float).eps * float(np.trace(gram)))
        self.equations, self.alpha = equations, alpha
        self.factor = lower_factor(gram, max(floor, np.finfo(float).tiny))
        self.half = self._whiten(equations.cross)

    def _whiten(self, columns: Array) -> Array:
        return np.asarray(solve_triangular(self.factor, columns, lower=True, check_finite=False))

    def weights(self, count: int) -> Array:
        """β of the fit on the first `count` columns, L_k'⁻¹·t_k: shape (count, outputs)."""
        corner = self.factor[:count, :count]
        solved = solve_triangular(
            corner, self.half[:count], lower=True, trans="T", check_finite=False
        )
        return np.asarray(solved)

    def certified(self, weights: Array) -> tuple[float, float]:
        """Objective and gap of weights of the first features, summed over the outputs.

        The gap is ‖∇‖²/(4α), the Fenchel gap of the ridge problem at the slopes of the loss.
        """
        part = slice(len(weights))
        gram, cross = self.equations.gram[part, part], self.equations.cross[part]
        # SciPy's BLAS, as the factorisation: two BLAS libraries would compete.
        image = np.asarray(dsymm(1.0, gram, weights, lower=1))
        ridge = self.alpha * weights
        gradient = 2.0 * (cross - image - ridge)
        errors = self.equations.squares.sum() - np.sum(weights * (2.0 * cross - image - ridge))
        return float(errors), float(np.sum(gradient**2)) / (4.0 * self.alpha)

    def squared_errors(self, held: Moments) -> Array:
        """Σw(y − u)²/Σw of every number of columns and output, from the sums over other rows."""
        gram, cross, squares = _apart(held, self.equations)
        inner = self._whiten(self._whiten(gram).T)
        cross = self._whiten(cross)
        errors = np.empty_like(cross)
        for output, t in enumerate(self.half.T):
            weighted = np.tril(inner) * t * t[:, None]
            steps = 2.0 * weighted.sum(axis=1) - np.diag(weighted)
            errors[:, output] = squares[output] + np.cumsum(steps - 2.0 * t * cross[:, output])
        return np.maximum(errors, 0.0)

    def class_errors(
        self, blocks: Iterable[tuple[Part, Matrix]], labels: np.ndarray, weights: Array
    ) -> Array:
        """Share of wrong classes for every number of columns, in one pass over other rows."""
        size, n_outputs = self.half.shape
        wrong = np.zeros(size)
        step = max(1, 2**22 // (size * n_outputs))
        for rows, features in blocks:
            centred = (features - self.equations.mean).T
            inner = self._whiten(centred).T
            own, weight = labels[rows], weights[rows]
            for start in range(0, len(inner), step):
                part = slice(start, start + step)
                scores = np.cumsum(inner[part, :, None] * self.half, axis=1)
                scores += self.equations.target
                chosen = scores[:, :, 0] > 0 if n_outputs == 1 else scores.argmax(axis=2)
                wrong += weight[part] @ (chosen != own[part, None])
        return np.asarray(wrong / weights.sum())


def _apart(held: Moments, equations: NormalEquations) -> tuple[Array, Array, Array]:
    """Σw(y − u)²/Σw over held-out rows as squares − 2β'cross + β'·gram·β: gram, cross, squares.

    The scores u = ȳ + (z − z̄)'β have the means of the rows that the equations are of.
    """
    apart, level = held.about(equations.mean), equations.target
    gram = apart.gram / apart.weight
    mirror(gram.T)
    cross = (apart.cross - np.outer(apart.first, level)) / apart.weight
    squares = (apart.squares - 2.0 * level * apart.targets) / apart.weight + level**2
    return gram, cross, squares


def prefix_errors(
    blocks: FeatureBlocks,
    targets: Array,
    moments: Moments,
    alpha: float,
    fit_intercept: bool,
    labels: np.ndarray | None = None,
) -> Growth:
    """Error on the rows of `blocks` of the fits on every prefix of the features.

    One pass over the rows, and one more for the share of wrong classes.
    """
    prefixes = Prefixes(moments.normal_equations(fit_intercept), alpha)
    held = Moments.zeros(prefixes.equations.mean, targets.shape[1])
    held.add_blocks(blocks.fresh, targets, None)
    ends = blocks.frozen.draw.offsets[1:] - 1
    class_errors = None
    if labels is not None:
        filled = ((rows, densify(features)) for rows, features in blocks.fresh())
        class_errors = prefixes.class_errors(filled, labels, np.ones(len(labels)))[ends]
    errors = prefixes.squared_errors(held).mean(axis=1)[ends]
    return Growth(np.arange(1, len(ends) + 1), errors, class_errors, n_components=len(ends))


def grow(
    blocks: FeatureBlocks, batch: Batch, settings: Settings, labels: np.ndarray | None = None
) -> tuple[Growth, Moments]:
    """Double K until the held-out squared error stops falling, reusing the sums of smaller K.

    A fifth of the rows is held out; the ridge strength at each K is the one with the least error
    on them. Doubling adds the products of the new features with all others; those among the old
    ones stay. The K with the least held-out error is kept, and the sums over all rows for it; the
    curve has every K up to the largest tried, with its ridge.
    """
    basis = blocks.frozen.basis
    if basis.sparse:
        raise ValueError(
            f"n_components='auto' needs dense features, and {basis!r} has sparse ones."
        )
    held, own = hold_out(settings.row_keys(), batch.weights, HELD_OUT), batch.own_weights
    if not (own[held].any() and own[~held].any()):
        raise ValueError(
            "n_components='auto' holds out a fifth of the rows, and there are too few different "
            f"ones among these {blocks.n_rows}. Give n_components a number."
        )
    tried: list[int] = []
    errors: list[float] = []
    best: dict[bool, Moments] = {}
    parts: dict[bool, Moments] = {}
    count, reason = FIRST_COMPONENTS, ""
    while not reason:
        wider = replace(blocks, frozen=replace(blocks.frozen, n_components=count), _kept=None)
        parts = _extend(wider, batch, held, settings, parts)
        alpha, error = _held_out_error(parts, settings)
        tried.append(count)
        errors.append(error)
        if first_least(errors) == len(errors) - 1:
            best = parts
        settings.progress(f"K = {count}: held-out squared error {error:.5g}")
        columns = wider.n_columns
        if len(errors) > 1 and errors[-1] > (1.0 - WORTH_DOUBLING) * min(errors[:-1]):
            reason = f"doubling to {count} lowered the held-out error by less than 1 % of it"
        elif 2 * count > min(MOST_COMPONENTS, max(FIRST_COMPONENTS, 4 * blocks.n_rows)):
            reason = f"{count} is the most that the rows or the limit of {MOST_COMPONENTS} allow"
        elif (GRAM_COPIES + 2) * 8 * (2 * columns) ** 2 > blocks.memory_budget:
            reason = f"{count} is the most that the memory budget allows"
        else:
            count *= 2
    chosen = tried[first_least(errors)]
    prefixes = Prefixes(parts[False].normal_equations(settings.fit_intercept), alpha)
    ends = wider.frozen.draw.offsets[1:] - 1
    class_errors = None
    if labels is not None:
        raw, apart = _raw_blocks(wider, held), np.where(held, own, 0.0)
        class_errors = prefixes.class_errors(raw, labels, apart)[ends]
    curve = prefixes.squared_errors(parts[True]).mean(axis=1)[ends]
    growth = Growth(np.arange(1, len(ends) + 1), curve, class_errors, tuple(tried), chosen, reason)
    return growth, _scaled(best[False].merge(best[True]), chosen, basis)


def _raw_blocks(blocks: FeatureBlocks, held: np.ndarray) -> Iterable[tuple[Part, Matrix]]:
    """Raw features of the rows held out, with their places."""
    for rows, features in blocks.fresh():
        mine = np.flatnonzero(held[rows])
        if len(mine):
            yield mine + rows.start, features[mine] / features.dtype.type(blocks.frozen.scale)


def _extend(
    blocks: FeatureBlocks,
    batch: Batch,
    held: np.ndarray,
    settings: Settings,
    before: dict[bool, Moments],
) -> dict[bool, Moments]:
    """Sums of raw features over fitted and held-out rows, for more columns than before."""
    _, targets, weights = batch
    done = len(before[False].shift) if before else 0
    shift = blocks.pilot() / blocks.frozen.scale
    sums = {}
    for part in (False, True):
        new = sums[part] = Moments.zeros(shift.copy(), targets.shape[1])
        if before:
            old = before[part]
            new.gram[:done, :done] = old.gram
            new.cross[:done] = old.cross
            new.first[:done] = old.first
            new.shift[:done] = old.shift
            new.weight, new.count, new.copies = old.weight, old.count, old.copies
            new.targets, new.squares = old.targets, old.squares
    source = blocks.fresh()
    if settings.checkpoint is not None:
        source = settings.checkpoint.over(
            f"growth-{blocks.frozen.n_components}", blocks.fresh, *_saved(sums)
        )
    for rows, features in source:
        features /= features.dtype.type(blocks.frozen.scale)
        for part in (False, True):
            mine = held[rows] == part
            if mine.any():
                own = None if weights is None else weights[rows][mine]
                sums[part].add(features[mine], targets[rows][mine], own, done)
    return sums


def _saved(sums: dict[bool, Moments]) -> tuple[Callable[[], Arrays], Callable[[Arrays], None]]:
    """How the sums of both parts are put into a checkpoint, and taken from it."""

    def state() -> Arrays:
        states = {part: moments.state() for part, moments in sums.items()}
        return {f"{int(part)} {name}": a for part, own in states.items() for name, a in own.items()}

    def restore(saved: Arrays) -> None:
        for part, moments in sums.items():
            own = {name[2:]: array for name, array in saved.items() if name[0] == str(int(part))}
            moments.restore(own)

    return state, restore


def _held_out_error(parts: dict[bool, Moments], settings: Settings) -> tuple[float, float]:
    """The ridge on the fitted rows with the least error on the held-out ones, from sums alone."""
    equations = parts[False].normal_equations(settings.fit_intercept)
    path = RidgePath(equations, settings.fit_intercept)
    gram, cross, squares = _apart(parts[True], equations)
    alphas = alpha_grid(float(np.trace(equations.gram)))
    errors = []
    for alpha in alphas:
        weights = path.weights(float(alpha))
        explained = np.sum(weights * (2.0 * cross - gram @ weights), axis=0)
        errors.append(float(np.mean(squares - explained)))
    place = strongest_least(errors, alphas)
    return float(alphas[place]), errors[place]


def _scaled(moments: Moments, count: int, basis: Basis) -> Moments:
    """Sums of features divided by √K from sums of raw ones."""
    scale = 1.0 / np.sqrt(count * basis.features_per_draw)
    return replace(
        moments,
        shift=moments.shift * scale,
        first=moments.first * scale,
        gram=moments.gram * scale**2,
        cross=moments.cross * scale,
    )
