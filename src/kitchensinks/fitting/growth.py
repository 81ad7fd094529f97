"""How many features are enough: held-out error for every prefix of the draw."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from kitchensinks.features import FeatureBlocks
from kitchensinks.fitting.space import HELD_OUT, Settings
from kitchensinks.losses import Array
from kitchensinks.moments import Moments
from kitchensinks.rows.keys import hold_out
from kitchensinks.solvers.path import RidgePath, alpha_grid

FIRST_COMPONENTS, MOST_COMPONENTS = 256, 8192
# Doubling the features must lower the held-out error by this share to go on.
WORTH_DOUBLING = 0.01


@dataclass(frozen=True)
class Growth:
    """Held-out error against K.

    counts (m,), squared_errors (m,): mean over outputs of Σw(y − u)²/Σw; class_errors (m,)
    share of rows in the wrong class, or None; n_components the K chosen, and why.
    """

    counts: np.ndarray
    squared_errors: Array
    class_errors: Array | None = None
    n_components: int = 0
    reason: str = ""
    moments: Moments | None = None


def prefix_errors(
    blocks: FeatureBlocks,
    targets: Array,
    moments: Moments,
    alpha: float,
    fit_intercept: bool,
    labels: np.ndarray | None = None,
) -> Growth:
    """Error on the rows of `blocks` of the fits on every prefix of the features.

    With G + αI = LL' and t = L⁻¹·cross, the fit on the first k features predicts
    Σ_{j ≤ k} q_j·t_j, q = L⁻¹(z − z̄): prefixes share everything. So the squared errors follow
    from the sums over the new rows, and class errors from one more pass over them. In the units
    of the raw coefficients the ridge is α·K for every prefix; as an α of its own, the prefix of k
    features has α·K/k.
    """
    equations = moments.normal_equations(fit_intercept)
    shifted = equations.gram.copy()
    floor = max(alpha, len(shifted) * np.finfo(float).eps * float(np.trace(shifted)))
    shifted[np.diag_indices_from(shifted)] += floor
    factor = cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
    half = solve_triangular(factor, equations.cross, lower=True, check_finite=False)
    held = Moments.zeros(equations.mean, targets.shape[1])
    for rows, features in blocks.fresh():
        held.add(features, targets[rows] - equations.target, None)
    gram = np.tril(held.gram) / held.weight
    gram = gram + np.tril(gram, -1).T
    inner = solve_triangular(factor, gram, lower=True, check_finite=False)
    inner = solve_triangular(factor, inner.T, lower=True, check_finite=False)
    cross = solve_triangular(factor, held.cross / held.weight, lower=True, check_finite=False)
    errors = np.zeros(len(factor))
    for output in range(targets.shape[1]):
        t = half[:, output]
        weighted = np.tril(inner) * t * t[:, None]
        steps = 2.0 * weighted.sum(axis=1) - np.diag(weighted)
        errors += held.squares[output] / held.weight + np.cumsum(steps - 2.0 * t * cross[:, output])
    ends = blocks.draw.offsets[1:]
    class_errors = None
    if labels is not None:
        class_errors = _class_errors(blocks, factor, half, equations, labels)[ends - 1]
    counts = np.arange(1, blocks.draw.n_components + 1)
    return Growth(
        counts, np.maximum(errors[ends - 1] / targets.shape[1], 0.0), class_errors, int(counts[-1])
    )


def _class_errors(
    blocks: FeatureBlocks, factor: Array, half: Array, equations: Any, labels: np.ndarray
) -> Array:
    """Share of wrong classes for every number of columns."""
    size, n_outputs = half.shape
    wrong = np.zeros(size)
    step = max(1, 2**22 // (size * n_outputs))
    for rows, features in blocks.fresh():
        centred = (features - equations.mean).T
        inner = solve_triangular(factor, centred, lower=True, check_finite=False).T
        for start in range(0, len(inner), step):
            part = inner[start : start + step, :, None] * half
            scores = np.cumsum(part, axis=1) + equations.target
            chosen = scores[:, :, 0] > 0 if n_outputs == 1 else scores.argmax(axis=2)
            own = labels[rows][start : start + step]
            wrong += (chosen != own[:, None]).sum(axis=0)
    return wrong / len(labels)


def grow(
    blocks: FeatureBlocks,
    targets: Array,
    weights: Array | None,
    settings: Settings,
) -> Growth:
    """Double K until the held-out squared error stops falling, reusing the sums of smaller K.

    A fifth of the rows is held out; the ridge strength at each K is chosen on the others by
    generalised cross-validation. Doubling adds the products of the new features with all
    others; those among the old ones stay. The K with the least held-out error is kept, and the
    sums over all rows for it.
    """
    basis = blocks.draw.basis
    if basis.sparse:
        raise ValueError(
            f"n_components='auto' needs dense features, and {basis!r} has sparse ones."
        )
    n_rows = blocks.n_rows
    held = hold_out(settings.keys(), weights, HELD_OUT)
    parts: dict[bool, Moments] | None = None
    counts: list[int] = []
    errors: list[float] = []
    kept: list[dict[bool, Moments]] = []
    count, reason = FIRST_COMPONENTS, ""
    while True:
        draw = basis.draw(blocks.draw.seed, blocks.draw.n_inputs, count, blocks.draw.dtype)
        wider = replace(blocks, draw=draw, _kept=None)
        parts = _extend(wider, targets, weights, held, parts)
        error = _held_out_error(parts, settings)
        counts.append(count)
        errors.append(error)
        kept.append(parts)
        settings.progress(f"K = {count}: held-out squared error {error:.5g}")
        if len(errors) > 1 and errors[-1] > (1.0 - WORTH_DOUBLING) * min(errors[:-1]):
            reason = f"doubling to {count} lowered the held-out error by less than 1 %"
            break
        if (
            2 * count > min(MOST_COMPONENTS, 4 * n_rows)
            or 5 * 8 * (2 * count * basis.features_per_draw) ** 2 > blocks.memory_budget
        ):
            reason = f"{count} is the most that rows, memory or the limit allow"
            break
        count *= 2
    best = int(np.argmin(errors))
    total = kept[best][False].merge(kept[best][True])
    return Growth(
        np.array(counts),
        np.array(errors),
        None,
        counts[best],
        reason,
        _scaled(total, counts[best], basis),
    )


def _extend(
    blocks: FeatureBlocks,
    targets: Array,
    weights: Array | None,
    held: np.ndarray,
    before: dict[bool, Moments] | None,
) -> dict[bool, Moments]:
    """Sums of raw features over fitted and held-out rows, for more columns than before."""
    size = blocks.draw.n_columns
    done = 0 if before is None else len(before[False].shift)
    sums = {}
    for part in (False, True):
        sums[part] = Moments.zeros(np.zeros(size), targets.shape[1])
        if before is not None:
            old, new = before[part], sums[part]
            new.gram[:done, :done] = old.gram
            new.cross[:done] = old.cross
            new.first[:done] = old.first
            new.shift[:done] = old.shift
            new.weight, new.count = old.weight, old.count
            new.targets, new.squares = old.targets, old.squares
    shift = sums[False].shift
    for number, (rows, features) in enumerate(blocks.fresh()):
        features /= features.dtype.type(blocks.draw.scale)
        if number == 0:
            shift[done:] = features[:, done:].mean(axis=0)
            sums[True].shift[done:] = shift[done:]
        for part in (False, True):
            mine = held[rows] == part
            if mine.any():
                own = None if weights is None else weights[rows][mine]
                sums[part].add_columns(features[mine], targets[rows][mine], own, done)
    return sums


def _held_out_error(parts: dict[bool, Moments], settings: Settings) -> float:
    """Error of the best ridge fit on the fitted rows, on the held-out ones, from sums alone."""
    equations = parts[False].normal_equations(settings.fit_intercept)
    path = RidgePath(equations, settings.fit_intercept)
    alphas = alpha_grid(float(np.trace(equations.gram)))
    best = float(alphas[np.argmin(path.generalised_error(alphas).mean(axis=1))])
    weights = path.weights(best)
    held = parts[True].normal_equations(False)
    # Without an intercept the sums are about zero, and the squares are Σwy²/Σw.
    intercept = equations.intercept(weights)
    mean = parts[True].shift + parts[True].first / parts[True].weight
    level = parts[True].targets / parts[True].weight
    error = held.squares - 2.0 * np.sum(weights * held.cross, axis=0)
    error += np.sum(weights * (held.gram @ weights), axis=0)
    error += intercept**2 - 2.0 * intercept * (level - mean @ weights)
    return float(np.mean(error))


def _scaled(moments: Moments, count: int, basis: Any) -> Moments:
    """Sums of features divided by √K from sums of raw ones."""
    scale = 1.0 / np.sqrt(count * basis.features_per_draw)
    return replace(
        moments,
        shift=moments.shift * scale,
        first=moments.first * scale,
        gram=moments.gram * scale**2,
        cross=moments.cross * scale,
    )
