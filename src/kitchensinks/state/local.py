"""The linear model that a piecewise linear one is around each row."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kitchensinks.state.model import Model
from kitchensinks.tables import block_slices, densify

# Entries of rows × draws that are looked at together.
_BLOCK_ENTRIES = 2**21


class LocalModels(NamedTuple):
    """f(x) = coefficients·x + intercepts on the piece of each row.

    coefficients (n, d) and intercepts (n,) for one output, (n, outputs, d) and (n, outputs) for
    several. f is `decision_function` of a classifier and `predict` of a regressor (its logarithm
    where the loss has a log link). Columns are the numbers that the model sees: those given, or
    those that ``columns_`` makes of them. A value outside of the fitted range does not change f,
    and has the coefficient zero.
    """

    coefficients: NDArray[np.float64]
    intercepts: NDArray[np.float64]


def local_models(model: Model, rows: Any) -> LocalModels:
    """The linear models of rows (n, d), or a ValueError where the function has no linear pieces."""
    frozen = model.frozen
    outputs, n_rows = len(model.intercept), rows.shape[0]
    coefficients = np.empty((n_rows, outputs, rows.shape[1]))
    intercepts = np.empty((n_rows, outputs))
    unit = np.abs(model.weights).max(axis=0, initial=np.finfo(float).tiny)
    weights = (model.weights / unit).astype(frozen.dtype)
    for part in block_slices(n_rows, max(1, _BLOCK_ENTRIES // frozen.n_components)):
        own = densify(rows[part])
        own = own if model.scaler is None else model.scaler.filled(own)
        pieces = frozen.draw.linear_pieces(frozen.scaled(own), weights)
        if pieces is None:
            raise ValueError(
                f"{frozen.basis!r} has no linear pieces: need a basis of piecewise linear "
                "functions, such as ks.ReLU(), ks.Maxout(), ks.Linear() or a ks.Union of these. "
                "ks.explain shows what moves the predictions of any model."
            )
        gradients = unit[:, None] * pieces.astype(np.float64)
        back = gradients if model.scaler is None else model.scaler.pulled_back(own, gradients)
        if back is None:
            raise ValueError(
                "The learned law bends some columns before the features see them, so that the "
                "model is not linear in them: give the basis itself, such as "
                "basis=ks.ReLU() in place of ks.Learned(ks.ReLU())."
            )
        if model.trend is not None:
            back[..., model.trend.places] += model.trend.gradients(own)
        coefficients[part] = back
        intercepts[part] = model.scores(own) - np.einsum("nod,nd->no", back, own)
    if outputs == 1:
        return LocalModels(coefficients[:, 0], intercepts[:, 0])
    return LocalModels(coefficients, intercepts)
