"""From blocks of features to outer weights: which solver, which ridge strength, what evidence."""

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dpocon, dpotrs, dtrtri

from kitchensinks.constraints import Constraint, SupBall
from kitchensinks.features import BLOCK_ROWS, FeatureBlocks
from kitchensinks.losses import Array, Loss
from kitchensinks.moments import Moments, NormalEquations
from kitchensinks.numerics.words import Words
from kitchensinks.rows.keys import hold_out, lowest_keys
from kitchensinks.solvers import (
    Design,
    FactoredGram,
    Problem,
    Solution,
    solve_nonsmooth,
    solve_smooth,
    solve_squared,
)
from kitchensinks.solvers.conjugate import (
    conjugate_gradients,
    diagonal_preconditioner,
    factored_preconditioner,
)
from kitchensinks.solvers.dual import Span, span_of_rows
from kitchensinks.solvers.path import RidgePath, alpha_grid

Walk = Callable[[], Iterator[tuple[slice, Any]]]

# Sparse features with no more columns than this are filled in and solved as dense ones.
DENSE_COLUMNS = 2000
# Rows for each feature in the sample that preconditions conjugate gradients.
PRECONDITIONER_ROWS = 6
# Conjugate gradients pay where there are this many rows for each feature, and enough features.
CONJUGATE_ROWS, CONJUGATE_COLUMNS = 30, 1500
# Share of the rows held out to choose a ridge strength, and rows that calibrate probabilities.
HELD_OUT = 0.2
CALIBRATION_ROWS = 10_000


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
    jitter: float = 0.0
    noise: float = 0.0
    # Scores of rows that the fit did not see, to calibrate probabilities: (rows, scores).
    unseen: tuple[np.ndarray, Array] | None = None
    # Set where the fit took place in the span of fewer rows than features.
    span: Span | None = None


@dataclass
class Space:
    """Where the weights are sought: all features, or the span of the rows where it is smaller."""

    walk: Walk
    fresh: Walk
    n_rows: int
    n_columns: int
    dtype: np.dtype[Any]
    shift: Array
    span: Span | None = None

    def lift(self, weights: Array, intercept: Array) -> tuple[Array, Array]:
        """Weights of the features themselves."""
        if self.span is None:
            return weights, intercept
        lifted = self.span.directions @ weights
        return lifted, intercept - self.span.mean @ lifted


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

    - sparse features with many columns: conjugate gradients (squared loss);
    - fewer rows than features: the span of the rows, then as below;
    - squared loss: conjugate gradients where rows are many and α is given, else direct;
    - smooth losses: L-BFGS, or spectral projected gradients inside a ball, in the Gram's metric;
    - hinge and quantile: the method of multipliers in the Gram's metric.
    """
    squared = settings.loss.name == "squared"
    if blocks.draw.basis.sparse and blocks.n_columns > DENSE_COLUMNS:
        return _fit_sparse(blocks, targets, weights, settings, calibrate)
    if squared and _conjugate(blocks, settings):
        return _fit_conjugate(blocks, targets, weights, settings, calibrate)
    space = _space(blocks, weights, settings)
    if squared:
        known = moments if space.span is None else None
        return _fit_squared(space, targets, weights, settings, calibrate, known)
    return _fit_convex(space, targets, weights, settings, calibrate)


def _conjugate(blocks: FeatureBlocks, settings: Settings) -> bool:
    if settings.solver == "conjugate":
        if settings.alpha == "auto" or settings.constraint is not None:
            raise ValueError(
                "solver='conjugate' needs a number for alpha and no constraint. "
                "Use solver='auto' for the others."
            )
        return True
    return (
        settings.solver == "auto"
        and settings.alpha != "auto"
        and settings.alpha > 0  # type: ignore[operator]
        and settings.constraint is None
        and blocks.cached
        and blocks.n_columns >= CONJUGATE_COLUMNS
        and blocks.n_rows >= CONJUGATE_ROWS * blocks.n_columns
    )


def _space(blocks: FeatureBlocks, weights: Array | None, settings: Settings) -> Space:
    """The features, filled in where they are sparse; their span where rows are fewer."""
    walk, fresh = blocks.walk, blocks.fresh
    if blocks.draw.basis.sparse:

        def fill(source: Walk) -> Walk:
            return lambda: ((rows, block.toarray()) for rows, block in source())

        walk, fresh = fill(blocks.walk), fill(blocks.fresh)
    whole = Space(walk, fresh, blocks.n_rows, blocks.n_columns, blocks.draw.dtype, settings.shift)
    if blocks.n_rows >= blocks.n_columns or isinstance(settings.constraint, SupBall):
        return whole
    settings.progress("fewer rows than features: working in the span of the rows")
    features = np.vstack([block for _, block in walk()])
    span = span_of_rows(features, _shares(weights, blocks.n_rows), settings.fit_intercept)

    def once() -> Iterator[tuple[slice, Array]]:
        for start in range(0, blocks.n_rows, BLOCK_ROWS):
            part = slice(start, min(start + BLOCK_ROWS, blocks.n_rows))
            yield part, span.features[part]

    def copies() -> Iterator[tuple[slice, Array]]:
        for part, block in once():
            yield part, block.copy()

    rank = span.features.shape[1]
    return Space(once, copies, blocks.n_rows, rank, np.dtype(np.float64), np.zeros(rank), span)


def _shares(weights: Array | None, n_rows: int) -> Array:
    if weights is None:
        return np.full(n_rows, 1.0 / n_rows)
    return weights / weights.sum()


def sum_moments(
    fresh: Walk,
    targets: Array,
    weights: Array | None,
    shift: Array,
    progress: Callable[[str], None] = lambda text: None,
) -> Moments:
    """All the sums of one pass over fresh blocks."""
    moments = Moments.zeros(shift, targets.shape[1])
    for rows, features in fresh():
        moments.add(features, targets[rows], None if weights is None else weights[rows])
        progress(f"summed {rows.stop} of {len(targets)} rows")
    return moments


def _fit_squared(
    space: Space,
    targets: Array,
    weights: Array | None,
    settings: Settings,
    calibrate: bool,
    moments: Moments | None,
) -> Fit:
    if moments is None:
        moments = sum_moments(space.fresh, targets, weights, space.shift, settings.progress)
    fit, path = solve_moments(moments, settings, space, targets, weights)
    if calibrate:
        fit.unseen = _left_out_sample(space, path, targets, weights, fit.alpha, settings.keys)
    fit.moments = moments if space.span is None else None
    fit.span = space.span
    fit.weights, fit.intercept = space.lift(fit.weights, fit.intercept)
    return fit


def solve_moments(
    moments: Moments,
    settings: Settings,
    space: Space | None = None,
    targets: Array | None = None,
    weights: Array | None = None,
) -> tuple[Fit, "RidgePath | CholeskyFit"]:
    """Squared loss from sums. With the rows at hand α="auto" is leave-one-out, else generalised."""
    equations = moments.normal_equations(settings.fit_intercept)
    trace = float(np.trace(equations.gram))
    noise = gram_noise(space.dtype if space is not None else np.dtype(np.float32), trace, moments)
    if settings.alpha == "auto":
        path = RidgePath(equations, settings.fit_intercept)
        alphas = alpha_grid(trace)
        alphas = alphas[alphas >= noise]
        if space is not None and targets is not None:
            settings.progress("leave-one-out over the ridge path")
            errors = path.leave_one_out(space.walk(), targets, weights, alphas)
        else:
            errors = path.generalised_error(alphas)
        spread = np.where(equations.squares > 0, equations.squares, 1.0)
        best = int(np.argmin((errors / spread).mean(axis=1)))
        fit = _direct(equations, float(alphas[best]), None, settings, path.factored)
        fit.alphas, fit.alpha_errors = alphas, errors
        fit.noise = noise
        return fit, path
    alpha = float(settings.alpha)
    if settings.constraint is None and alpha > 0.0:
        solved = CholeskyFit.solve(equations, alpha, settings)
        if solved is not None:
            solved.fit.noise = noise
            _warn_noise(alpha, noise)
            return solved.fit, solved
    path = RidgePath(equations, settings.fit_intercept)
    fit = _direct(equations, alpha, settings.constraint, settings, path.factored)
    fit.noise = noise
    if alpha > 0.0:
        _warn_noise(alpha, noise)
    return fit, path


def gram_noise(dtype: np.dtype[Any], trace: float, moments: Moments) -> float:
    """Size of the rounding error of a Gram of centred features: eps/2·trace/√n, by measurement."""
    eps = float(np.finfo(dtype).eps)
    return 0.5 * eps * trace / math.sqrt(max(1, moments.count))


def _warn_noise(alpha: float, noise: float) -> None:
    if alpha < noise:
        warnings.warn(
            f"alpha={alpha:.2g} is below {noise:.2g}, the rounding error of the Gram matrix: the "
            "fit then follows rounding. Use a larger alpha, alpha='auto' or dtype='float64'.",
            stacklevel=5,
        )


def _direct(
    equations: NormalEquations,
    alpha: float,
    constraint: Constraint | None,
    settings: Settings,
    factored: FactoredGram,
) -> Fit:
    solution = solve_squared(
        gram=equations.gram,
        cross=equations.cross,
        mean=equations.mean,
        target_mean=equations.target,
        target_variance=equations.squares,
        alpha=alpha,
        constraint=constraint,
        factored=factored,
        tol=settings.tol,
    )
    values = factored.values
    kept = values > factored.rounding
    smallest = float(values.min()) + alpha
    if smallest <= factored.rounding:
        smallest = float(values[kept].min()) if kept.any() else 1.0
    spectrum = values + alpha
    return Fit(
        solution.weights,
        solution.intercept,
        alpha,
        solution._replace(solver="direct (eigen-decomposition)"),
        condition=(float(values.max()) + alpha) / smallest if smallest > 0 else math.inf,
        freedom=float(np.sum(values[spectrum > 0] / spectrum[spectrum > 0])),
    )


@dataclass
class CholeskyFit:
    """Squared loss with a given ridge, by one Cholesky factorisation."""

    fit: Fit
    factor: Array
    equations: NormalEquations
    fit_intercept: bool

    @classmethod
    def solve(
        cls, equations: NormalEquations, alpha: float, settings: Settings
    ) -> "CholeskyFit | None":
        """None where G + αI is not positive definite to rounding."""
        shifted = np.asfortranarray(equations.gram)
        shifted = shifted.copy(order="F") if shifted is equations.gram else shifted
        diagonal = np.diag_indices_from(shifted)
        largest = float(shifted[diagonal].max())
        shifted[diagonal] += alpha
        one_norm = float(np.abs(shifted).sum(axis=0).max())
        if alpha <= len(shifted) * np.finfo(float).eps * largest:
            return None
        try:
            factor = cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return None
        weights = np.asarray(dpotrs(factor, equations.cross, lower=1)[0])
        gradient = 2.0 * (equations.cross - equations.gram @ weights - alpha * weights)
        loss = equations.squares - np.sum(
            weights * (2.0 * equations.cross - equations.gram @ weights), axis=0
        )
        objective = float(np.sum(np.maximum(loss, 0.0) + alpha * np.sum(weights**2, axis=0)))
        gap = float(np.sum(gradient**2)) / (4.0 * alpha)
        limit = settings.tol * max(objective, 1e-12 * float(equations.squares.sum()))
        solution = Solution(
            weights,
            equations.intercept(weights),
            objective,
            gap,
            1,
            1,
            gap <= limit,
            "direct (Cholesky)",
        )
        reciprocal, _ = dpocon(factor, one_norm, uplo="L")
        inverse, _ = dtrtri(factor, lower=1)
        # Σ s/(s + α) = K − α·tr (G + αI)⁻¹, and that trace is ‖L⁻¹‖².
        freedom = len(factor) - alpha * float(np.sum(np.tril(inverse) ** 2))
        fit = Fit(
            weights,
            solution.intercept,
            alpha,
            solution,
            condition=1.0 / reciprocal if reciprocal > 0 else math.inf,
            freedom=freedom,
        )
        return cls(fit, factor, equations, settings.fit_intercept)

    def left_out(
        self, features: Any, targets: Array, weights: Array | None, alphas: Array
    ) -> Array:
        """As RidgePath.left_out, for the one α of this fit."""
        centred = (features - self.equations.mean).astype(np.float64)
        half = solve_triangular(self.factor, centred.T, lower=True, check_finite=False)
        leverage = np.einsum("ij,ij->j", half, half) + self.fit_intercept
        copy = 1.0 if weights is None else np.minimum(weights, 1.0)
        left = np.maximum(1.0 - leverage * copy / self.equations.weight, 1e-7)[:, None]
        scores = centred @ self.fit.weights + self.equations.target
        return np.asarray((targets - (targets - scores) / left)[:, None, :])


def _left_out_sample(
    space: Space,
    path: "RidgePath | CholeskyFit",
    targets: Array,
    weights: Array | None,
    alpha: float,
    keys: Callable[[], np.ndarray],
) -> tuple[np.ndarray, Array]:
    """Leave-one-out scores of a bounded sample of rows: (which rows, scores)."""
    chosen = np.ones(space.n_rows, dtype=bool)
    if space.n_rows > CALIBRATION_ROWS:
        chosen = lowest_keys(keys(), weights, CALIBRATION_ROWS)
    scores = []
    for rows, features in space.walk():
        mine = np.flatnonzero(chosen[rows])
        if len(mine):
            picked = mine + rows.start
            own = None if weights is None else weights[picked]
            left = path.left_out(features[mine], targets[picked], own, np.array([alpha]))
            scores.append(left[:, 0, :])
    return np.flatnonzero(chosen), np.concatenate(scores)


def _fit_convex(
    space: Space, targets: Array, weights: Array | None, settings: Settings, calibrate: bool
) -> Fit:
    """Every loss but the squared one, on the factored Gram."""
    unseen = None
    alphas = errors = None
    alpha = settings.alpha
    if alpha == "auto":
        alpha, alphas, errors, unseen = _held_out_alpha(space, targets, weights, settings)
    elif calibrate:
        unseen = _held_out_scores(space, targets, weights, settings, float(alpha))
    problem, factored, noise = _problem(space, targets, weights, settings, float(alpha))
    solution = _solve(problem, factored, settings)
    if float(alpha) > 0:
        _warn_noise(float(alpha), noise)
    values = factored.values
    lifted = space.lift(solution.weights, solution.intercept)
    smallest = float(values.min()) + float(alpha)
    spectrum = values + float(alpha)
    return Fit(
        *lifted,
        float(alpha),
        solution,
        alphas=alphas,
        alpha_errors=errors,
        condition=(float(values.max()) + float(alpha)) / smallest if smallest > 0 else math.inf,
        freedom=float(np.sum(values[spectrum > 0] / spectrum[spectrum > 0])),
        noise=noise,
        unseen=unseen,
    )


def _problem(
    space: Space,
    targets: Array,
    weights: Array | None,
    settings: Settings,
    alpha: float,
) -> tuple[Problem, FactoredGram, float]:
    moments = sum_moments(space.fresh, targets, weights, space.shift, settings.progress)
    equations = moments.normal_equations(settings.fit_intercept)
    factored = FactoredGram(equations.gram)
    noise = gram_noise(space.dtype, float(np.trace(equations.gram)), moments)
    design = Design(space.walk, space.n_rows, space.n_columns, space.dtype)
    problem = Problem(
        design,
        settings.loss,
        targets,
        _shares(weights, space.n_rows),
        alpha,
        settings.constraint,
        settings.fit_intercept,
        equations.mean,
        equations.gram,
    )
    return problem, factored, noise


def _solve(problem: Problem, factored: FactoredGram, settings: Settings) -> Solution:
    solve = solve_smooth if problem.loss.smooth else solve_nonsmooth

    def callback(iteration: int, objective: float, gap: float) -> None:
        settings.progress(f"iteration {iteration}: objective {objective:.6g}, gap {gap:.2g}")

    return solve(
        problem,
        factored=factored,
        tol=settings.tol,
        max_iter=settings.max_iter,
        callback=callback,
    )


def _without(weights: Array | None, held: np.ndarray) -> Array:
    """The weights of the rows with those held out set to zero."""
    return np.where(held, 0.0, 1.0 if weights is None else weights)


def _held_out_alpha(
    space: Space, targets: Array, weights: Array | None, settings: Settings
) -> tuple[float, Array, Array, tuple[np.ndarray, Array]]:
    """The ridge strength with the least loss on held-out rows, and their scores there."""
    mask = hold_out(settings.keys(), weights, HELD_OUT)
    masked, held = _without(weights, mask), np.flatnonzero(mask)
    if not masked.any() or not len(held):
        raise ValueError(
            f"alpha='auto' with loss={settings.loss.name!r} holds out a fifth of the rows, and "
            f"there are too few different ones among these {space.n_rows}. Give alpha a number."
        )
    problem, factored, noise = _problem(space, targets, masked, settings, 0.0)
    trace = float(factored.values.sum()) or 1.0
    loose = replace(settings, tol=max(settings.tol, 1e-2), progress=lambda text: None)
    own = np.ones(len(held)) if weights is None else weights[held]
    own = own / own.sum() if own.sum() > 0 else np.full(len(held), 1.0 / len(held))
    alphas, errors = [], []
    best: tuple[float, float, Array] | None = None
    for power in range(-1, -8, -1):
        alpha = trace * 10.0**power
        if alpha < noise:
            break
        solution = _solve(replace(problem, alpha=alpha), factored, loose)
        scores = problem.design.scores(solution.weights)[held] + solution.intercept
        error = float(np.sum(own @ settings.loss.value(targets[held], scores)))
        settings.progress(f"alpha {alpha:.2g}: held-out loss {error:.5g}")
        alphas.append(alpha)
        errors.append(error)
        if best is None or error < best[0]:
            best = (error, alpha, scores)
        elif error > best[0] and alpha < 0.05 * best[1]:
            break
    assert best is not None
    return best[1], np.array(alphas), np.array(errors)[:, None], (held, best[2])


def _held_out_scores(
    space: Space, targets: Array, weights: Array | None, settings: Settings, alpha: float
) -> tuple[np.ndarray, Array] | None:
    """Scores of rows that a fit on a bounded number of other rows gives them."""
    keys = settings.keys()
    used = lowest_keys(keys, weights, 2 * CALIBRATION_ROWS)
    mask = hold_out(keys[used], None if weights is None else weights[used], HELD_OUT)
    masked = _without(None if weights is None else weights[used], mask)
    if not masked.any() or not mask.any():
        return None
    features = np.concatenate([block[used[rows]] for rows, block in space.walk()])
    small = Space(
        lambda: iter([(slice(0, len(features)), features)]),
        lambda: iter([(slice(0, len(features)), features.copy())]),
        len(features),
        space.n_columns,
        space.dtype,
        space.shift,
    )
    loose = replace(settings, tol=max(settings.tol, 1e-2), progress=lambda text: None)
    problem, factored, _ = _problem(small, targets[used], masked, loose, alpha)
    solution = _solve(problem, factored, loose)
    scores = problem.design.scores(solution.weights)[mask] + solution.intercept
    return np.flatnonzero(used)[mask], scores


def _fit_conjugate(
    blocks: FeatureBlocks,
    targets: Array,
    weights: Array | None,
    settings: Settings,
    calibrate: bool,
) -> Fit:
    """Many rows: the Gram of a sample of them preconditions passes over all."""
    n_rows, alpha = blocks.n_rows, float(settings.alpha)
    shares = _shares(weights, n_rows)
    design = Design(blocks.walk, n_rows, blocks.n_columns, blocks.draw.dtype)
    order = Words(settings.seed, 0, stream=5).permutation(n_rows)
    sample = np.sort(order[: PRECONDITIONER_ROWS * blocks.n_columns])
    moments = Moments.zeros(settings.shift, targets.shape[1])
    for start in range(0, len(sample), blocks.block_rows):
        part = sample[start : start + blocks.block_rows]
        own = None if weights is None else weights[part]
        moments.add(blocks.of(blocks.rows[part]), targets[part], own)
    rough = moments.normal_equations(settings.fit_intercept)
    both = design.adjoint(np.column_stack([shares, shares[:, None] * targets]))
    mean = both[:, 0] * settings.fit_intercept
    target = shares @ targets * settings.fit_intercept
    cross = both[:, 1:] - np.outer(mean, target)
    squares = shares @ (targets - target) ** 2

    def gram(vector: Array) -> Array:
        image = design.sweep(vector, lambda rows, scores: shares[rows, None] * scores)
        return np.asarray(image - np.outer(mean, mean @ vector))

    solution = conjugate_gradients(
        gram,
        cross,
        squares,
        alpha,
        factored_preconditioner(rough.gram, alpha),
        tol=settings.tol,
        max_iter=settings.max_iter,
        callback=lambda i, objective, gap: settings.progress(
            f"iteration {i}: objective {objective:.6g}, gap {gap:.2g}"
        ),
    )
    solution = solution._replace(intercept=target - mean @ solution.weights, passes=design.passes)
    fit = Fit(solution.weights, solution.intercept, alpha, solution)
    fit.noise = (
        0.5
        * float(np.finfo(blocks.draw.dtype).eps)
        * float(np.trace(rough.gram))
        / (math.sqrt(n_rows))
    )
    solved = CholeskyFit.solve(
        replace(rough, weight=_total(weights, n_rows), mean=mean, target=target), alpha, settings
    )
    if solved is not None:
        fit.condition, fit.freedom = solved.fit.condition, solved.fit.freedom
        if calibrate:
            # Leverages from the sample's Gram, scores from the fit itself.
            solved.fit.weights = solution.weights
            space = Space(
                blocks.walk,
                blocks.fresh,
                n_rows,
                blocks.n_columns,
                blocks.draw.dtype,
                settings.shift,
            )
            fit.unseen = _left_out_sample(space, solved, targets, weights, alpha, settings.keys)
    return fit


def _total(weights: Array | None, n_rows: int) -> float:
    return float(n_rows) if weights is None else float(weights.sum())


def _fit_sparse(
    blocks: FeatureBlocks,
    targets: Array,
    weights: Array | None,
    settings: Settings,
    calibrate: bool,
) -> Fit:
    """Squared loss on sparse features: conjugate gradients with the diagonal as preconditioner."""
    if settings.loss.name != "squared" or settings.constraint is not None:
        raise ValueError(
            f"loss={settings.loss.name!r} and constraint={settings.constraint!r} with "
            f"{blocks.n_columns} columns of {blocks.draw.basis!r}: more than {DENSE_COLUMNS} "
            "sparse columns are fitted with loss='squared' and a ridge alone. Use fewer "
            "components, a smaller gamma or loss='squared'."
        )
    features = sparse.vstack([block for _, block in blocks.fresh()], format="csr")
    n_rows = blocks.n_rows
    shares = _shares(weights, n_rows)

    def solve(shares: Array, alpha: float, start: Array | None) -> Solution:
        mean = features.T @ shares * settings.fit_intercept
        target = shares @ targets * settings.fit_intercept
        cross = features.T @ (shares[:, None] * targets) - np.outer(mean, target)
        squares = shares @ (targets - target) ** 2
        diagonal = (features.multiply(features)).T @ shares - mean**2

        def gram(vector: Array) -> Array:
            image = features.T @ (shares[:, None] * (features @ vector))
            return np.asarray(image - np.outer(mean, mean @ vector))

        solution = conjugate_gradients(
            gram,
            cross,
            squares,
            alpha,
            diagonal_preconditioner(np.maximum(diagonal, 0.0), alpha),
            start=start,
            tol=settings.tol,
            max_iter=settings.max_iter,
            solver="conjugate gradients (sparse)",
        )
        return solution._replace(intercept=target - mean @ solution.weights)

    alphas = errors = unseen = None
    alpha = settings.alpha
    if alpha == "auto" or calibrate:
        mask = hold_out(settings.keys(), weights, HELD_OUT)
        part, held = _without(weights, mask), np.flatnonzero(mask)
        if not part.any() or not len(held):
            raise ValueError(
                f"alpha='auto' holds out a fifth of the rows, and there are too few different "
                f"ones among these {n_rows}. Give alpha a number."
            )
        part /= part.sum()
        own = np.ones(len(held)) if weights is None else weights[held]
        tried = [float(alpha)] if alpha != "auto" else list(10.0 ** np.arange(-1.0, -7.0, -0.5))
        alphas, found, best = [], [], None
        solution = None
        for candidate in tried:
            solution = solve(part, candidate, None if solution is None else solution.weights)
            scores = features[held] @ solution.weights + solution.intercept
            error = float(np.sum(own @ (targets[held] - scores) ** 2) / max(own.sum(), 1e-300))
            settings.progress(f"alpha {candidate:.2g}: held-out squared error {error:.5g}")
            alphas.append(candidate)
            found.append(error)
            if best is None or error < best[0]:
                best = (error, candidate, scores)
            elif candidate < 0.2 * best[1]:
                break
        assert best is not None
        alpha, unseen = best[1], (held, best[2])
        alphas, errors = np.array(alphas), np.array(found)[:, None]
    solution = solve(shares, float(alpha), None)
    return Fit(
        solution.weights,
        solution.intercept,
        float(alpha),
        solution,
        alphas=alphas,
        alpha_errors=errors,
        unseen=unseen,
    )
