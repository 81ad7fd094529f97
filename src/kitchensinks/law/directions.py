"""Directions of the law: along gradients of a fitted function, or along the spread of the rows.

    G = E ∇f(x)∇f(x)',      Σ = E (x − Ex)(x − Ex)'

The average gradient outer product G of a function fitted so far says how much each column, or each
direction, matters. A round fits, takes G, scales the columns by √G_jj (or turns the rows to the
eigenvectors of G, each times the root of its eigenvalue) and fits again. Rows turned by Σ have
features along columns that vary together (neighbouring pixels), and not along noise.
"""

import math
from dataclasses import replace

import numpy as np

from kitchensinks.features.bases import Basis, Draw, Fourier
from kitchensinks.features.frozen import Frozen
from kitchensinks.features.scaling import Warp
from kitchensinks.law import constants
from kitchensinks.law.maps import Found, mapped
from kitchensinks.law.searches import first_best
from kitchensinks.law.task import LearningRows
from kitchensinks.law.trials import dense_fit
from kitchensinks.numerics.arrays import Floats, Matrix
from kitchensinks.numerics.choices import lower
from kitchensinks.problem.losses import Array
from kitchensinks.tables.arrays import block_slices

# Entries of features that are held at a time.
_ENTRIES = 2**22


def gradient_products(
    frozen: Frozen, weights: Array, rows: Matrix, own: Array | None = None
) -> Floats:
    """Mean of ∇f∇f' summed over outputs, (d, d): f is scaled features times weights, rows (n, d)
    as the draw takes them, with weights `own` (n,).

    A basis of ridge functions φ(ω_k·x) has slopes S = φ' (n, K), and with directions Ω (K, d) and
    weights W (K, outputs) the sum is Ω'·(S'S ∘ WW')·Ω. Others have central differences of fewer
    rows, in float64, which give the slope across a point that has none.

    >>> frozen = Frozen(None, Fourier(gamma=1.0), 0, 2, 1, np.dtype(np.float64))
    >>> found = gradient_products(frozen, np.ones((1, 1)), np.zeros((1, 2)))
    >>> bool(np.linalg.matrix_rank(found, tol=1e-6 * np.trace(found)) == 1)  # one ridge function
    True
    """
    own = np.ones(len(rows)) if own is None else own
    ridge = frozen.draw.slopes(rows)
    if ridge is None:
        few = slice(max(constants.FEWEST_SHIFTED, constants.SHIFTED // rows.shape[1]))
        return _by_differences(frozen.draw, weights, rows[few], own[few])
    slopes, along = ridge
    slopes *= np.sqrt(own / own.sum()).astype(slopes.dtype)[:, None]
    weights = weights.astype(slopes.dtype)
    both = (slopes.T @ slopes) * (weights @ weights.T)
    return np.asarray(along.T @ (both @ along), dtype=np.float64)


def _by_differences(draw: Draw, weights: Array, rows: Matrix, own: Array) -> Floats:
    n_rows, n_inputs = rows.shape
    total = np.zeros((n_inputs, n_inputs))
    moves = constants.SLOPE_STEP * np.concatenate([np.eye(n_inputs), -np.eye(n_inputs)])
    exact = draw.astype(np.float64)
    for part in block_slices(n_rows, max(1, _ENTRIES // (2 * n_inputs * len(weights)))):
        shifted = rows[part, None, :].astype(np.float64) + moves
        scores = exact.scaled_features(shifted.reshape(-1, n_inputs)) @ weights
        scores = scores.reshape(-1, 2, n_inputs, weights.shape[1])
        slopes = (scores[:, 0] - scores[:, 1]) / (2.0 * constants.SLOPE_STEP)
        total += np.einsum("i,ijo,iko->jk", own[part], slopes, slopes, optimize=True)
    return np.asarray(total / own.sum())


def directions(products: Floats, rank: int | None) -> Floats:
    """√diag G as scales (d,), or the leading eigenvectors times the roots of their eigenvalues,
    (d, rank) or fewer; the largest is one."""
    if rank is None:
        scales = np.sqrt(np.maximum(np.diagonal(products), 0.0))
        largest = float(scales.max(initial=0.0))
        return (
            np.maximum(scales / largest, constants.LEAST_SCALE)
            if largest > 0
            else np.ones(len(scales))
        )
    values, vectors = np.linalg.eigh(products)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    if values[0] == 0.0:
        return np.eye(len(values), rank)
    left = 1.0 - np.cumsum(values) / values.sum()
    rank = min(rank, 1 + int(np.count_nonzero(left > constants.LEFT_OUT)))
    return np.asarray(vectors[:, :rank] * np.sqrt(values[:rank] / values[0]))


def by_gradients(task: LearningRows, short: Found) -> Found:
    """Scales or directions (`Learned.rank`) from the gradients of fitted functions of a basis."""
    own = Fourier(kernel=short.kernel) if task.basis is None else task.basis
    rounds = max(1, task.effort.steps // 7)
    return _along_slopes(task, short.kernel, short.map, own, rounds, task.learned.rank)


def turned(task: LearningRows, names: tuple[str, ...]) -> list[Found]:
    """Rows turned along gradients (by G^½), along their own spread (by Σ) and along both (by
    Σ^½·G^½), all from the map that suits gradients best."""
    basis = Fourier(form="paired", projection="orthogonal")
    width = task.n_inputs

    def along(own: LearningRows, name: str) -> Found:
        return _along_slopes(own, "gaussian", name, basis, constants.TURNS, width)

    found = zip(names, task.early(constants.LATE_TURNS, along, names), strict=True)
    runs = [(name, run) for name, run in found if run is not None]
    name, slopes = runs[first_best([float(run.errors.min()) for _, run in runs])]
    plain = mapped(task, name)
    places = task.data.fitted[: constants.SLOPE_FITTED]
    rows = plain.apply(task.pool[places], np.float32)
    own = task.data.weights_of(places)
    spread = np.cov(rows, rowvar=False, aweights=own, dtype=np.float32)
    roots = directions(spread.astype(np.float64), width)
    sizes = np.linalg.norm(roots, axis=0)
    laws = {"spread": roots * sizes}
    if slopes.warp.rotation.size:
        laws["spread and slopes"] = (roots / sizes) @ (roots.T @ slopes.warp.rotation)
    return [slopes] + [
        _found(task, "gaussian", f"{what}-turned {name}", plain.turned(turn), [])
        for what, turn in laws.items()
    ]


def _along_slopes(
    task: LearningRows, kernel: str, name: str, basis: Basis, rounds: int, rank: int | None
) -> Found:
    """The map of the round with the least held-out error.

    The basis is resolved anew in every round, so that its bandwidth follows the scales. The columns
    are scaled, or, where a rank is given, the rows turned, to so many directions in the last round.
    All directions are a law to choose or not: rounds end where the error hardly falls.
    """
    most, count = int(task.effort.share * constants.SLOPE_FITTED), constants.SLOPE_FEATURES
    data = replace(task.data, fitted=task.data.fitted[:most])
    plain = best = current = mapped(task, name)
    errors: list[float] = []
    least, width = math.inf, len(plain.factor)
    whole = rank is None or rank >= width
    places = data.fitted[: constants.SLOPE_ROWS]
    own, few = data.weights_of(places), data.weights_of(places[:2000])
    for step in range(rounds + 1):
        shown = current.apply(data.rows[places], np.float32)
        resolved = basis.resolve(shown[:2000].astype(np.float64), few)
        draws, kind = max(1, count // basis.features_per_draw), np.dtype(np.float32)
        frozen = Frozen(current, resolved, task.seed, current.width, draws, kind)
        fit = dense_fit(data, frozen)
        errors.append(fit.error)
        task.note("slopes", f"{name}, round {step}, {count} features", len(data.fitted), fit.error)
        falls = fit.error < constants.FALLING * least
        if lower(fit.error, least) or (step == rounds and not whole):
            best, least = current, fit.error
        if step == rounds or (whole and not falls) or task.late(constants.LATE_TURNS):
            break
        products = gradient_products(frozen, fit.weights, shown, own)
        # From slopes along what was drawn from to slopes along the columns of the map.
        if current.rotation.size:
            products = current.rotation @ products @ current.rotation.T
        else:
            products *= np.outer(current.factor, current.factor)
        found = directions(products, rank if rank is None or step == rounds - 1 else width)
        current = plain.times(found) if found.ndim == 1 else plain.turned(found)
    name = f"slopes-turned {name}" if best.rotation.size else name
    return _found(task, kernel, name, best, errors)


def _found(task: LearningRows, kernel: str, name: str, learned: Warp, errors: list[float]) -> Found:
    """The result, with the kernel's own γ in the scales, so that factors mean the same as after
    `learn_scales`."""
    resolved = Fourier(kernel=kernel).resolve(learned.apply(task.sample[:2000], np.float64))
    gamma = float(np.asarray(resolved.gamma))
    unit = gamma if kernel == "laplacian" else math.sqrt(gamma)
    ones = np.ones((1, len(learned.factor)))
    return Found(kernel, name, learned.times(unit), ones, np.array(errors))
