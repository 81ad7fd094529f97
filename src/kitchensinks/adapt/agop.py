"""The average gradient outer product: which directions a fitted function changes along.

    G = E ∇f(x)∇f(x)'

of the function fitted so far says how much each column, or each direction, matters. A round fits,
takes G, scales the columns by √G_jj (or turns the rows to the leading eigenvectors of G, each times
the root of its eigenvalue) and fits again.
"""

import math

import numpy as np
from numpy.typing import NDArray

from kitchensinks.adapt.trials import Rows, dense_fit
from kitchensinks.bases import Basis
from kitchensinks.features import Frozen
from kitchensinks.losses import Array
from kitchensinks.standardise import Warp

Floats = NDArray[np.float64]

# Rows that gradients are averaged over, and the step of their central differences.
_ROWS, _STEP = 1000, 1e-3
# Entries of the shifted rows that are looked at together.
_ENTRIES = 2**21
# Columns keep at least this share of the largest scale, so that a round can bring them back.
_LEAST = 1e-4


def gradient_products(frozen: Frozen, weights: Array, rows: Floats) -> Floats:
    """Mean of ∇f∇f' summed over outputs, (d, d): f is scaled features times weights, rows (n, d)
    as the draw takes them.

    Central differences in float64, so that any basis will do; where one has no derivative (the
    kinks of ReLU) they give the slope across it.

    >>> from kitchensinks.bases import Fourier
    >>> frozen = Frozen(None, Fourier(gamma=1.0), 0, 2, 1, np.dtype(np.float64))
    >>> found = gradient_products(frozen, np.ones((1, 1)), np.zeros((1, 2)))
    >>> bool(np.linalg.matrix_rank(found, tol=1e-6 * np.trace(found)) == 1)  # one ridge function
    True
    """
    n_rows, n_inputs = rows.shape
    total = np.zeros((n_inputs, n_inputs))
    size = max(1, _ENTRIES // (2 * n_inputs * max(n_inputs, len(weights))))
    moves = _STEP * np.concatenate([np.eye(n_inputs), -np.eye(n_inputs)])
    for first in range(0, n_rows, size):
        part = rows[first : first + size]
        shifted = (part[:, None, :] + moves).reshape(-1, n_inputs)
        scores = (frozen.draw.scaled_features(shifted) @ weights).reshape(
            len(part), 2, n_inputs, -1
        )
        slopes = (scores[:, 0] - scores[:, 1]) / (2.0 * _STEP)
        total += np.einsum("ijo,iko->jk", slopes, slopes)
    return total / n_rows


def directions(products: Floats, rank: int | None) -> Floats:
    """√diag G as scales (d,), or the leading eigenvectors times the roots of their eigenvalues,
    (d, rank); the largest is one."""
    if rank is None:
        scales = np.sqrt(np.maximum(np.diagonal(products), 0.0))
        largest = float(scales.max(initial=0.0))
        return np.maximum(scales / largest, _LEAST) if largest > 0 else np.ones(len(scales))
    values, vectors = np.linalg.eigh(products)
    rank = min(rank, len(values))
    roots = np.sqrt(np.maximum(values[::-1][:rank], 0.0))
    largest = float(roots.max(initial=0.0))
    if largest == 0.0:
        return np.eye(len(values), rank)
    return vectors[:, ::-1][:, :rank] * np.maximum(roots / largest, _LEAST)


def learn_directions(
    data: Rows, warp: Warp, basis: Basis, count: int, seed: int, rounds: int, rank: int | None
) -> tuple[Warp, list[float]]:
    """The map of the round with the least held-out error, and the errors of all rounds.

    warp: a map without factors; basis: resolved anew in every round, so that its bandwidth follows
    the scales. The columns are scaled in all rounds but the last, which turns the rows where a
    rank is given.
    """
    best, least = warp, math.inf
    errors: list[float] = []
    current = warp
    for step in range(rounds + 1):
        shown = current.apply(data.rows[data.fitted[:2000]], np.float64)
        resolved = basis.resolve(shown)
        width = shown.shape[1]
        frozen = Frozen(current, resolved, seed, width, count, np.dtype(np.float64))
        fit = dense_fit(data, frozen)
        error, weights = fit.error, fit.weights
        errors.append(error)
        if error < least or (rank is not None and step == rounds):
            best, least = current, error
        if step == rounds:
            break
        products = gradient_products(frozen, weights, shown[:_ROWS])
        # From slopes along scaled columns to slopes along the columns of the map.
        products *= np.outer(current.factor, current.factor)
        turned = directions(products, rank if step == rounds - 1 else None)
        if turned.ndim == 1:
            current = warp.times(turned)
        else:
            current = warp.turned(turned)
    return best, errors
