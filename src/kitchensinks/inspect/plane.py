"""A fit to two columns as data for plots: boundary, single features, kernel."""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from kitchensinks.estimators import KitchenSinkClassifier, KitchenSinkRegressor
from kitchensinks.features.frozen import Frozen
from kitchensinks.law.values import short_name
from kitchensinks.numerics.arrays import AnyArray, Floats
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.tables.arrays import densify

# Grid points along each side of the picture of the model.
SIDE = 64
# Grid points along each side of the smaller pictures.
SMALL = 32
# Random functions that are drawn.
FUNCTIONS = 4
# Rows that are drawn.
SHOWN = 600
# Most rows that are fitted, so that an answer takes seconds; of more a sample is taken.
MOST_ROWS = 3000
# Margin around the rows, as a share of each side.
_MARGIN = 0.05
# One row of this many is held out.
_HELD_OUT = 4
# The golden section: its multiples modulo one give neighbouring bins different shades.
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


@dataclass(frozen=True)
class Plane:
    """Rows of two columns (n, 2) with targets (n,), which are numbers or labels of classes."""

    rows: Floats
    targets: AnyArray
    names: tuple[str, str]
    classes: bool

    def some(self) -> "Plane":
        """In random order, and at most 3000 rows of it."""
        order = Words(0, 0, Stream.PLANE).permutation(len(self.rows))[:MOST_ROWS]
        return Plane(self.rows[order], self.targets[order], self.names, self.classes)

    def grid(self, side: int) -> Floats:
        """Places in lines from top to bottom, (side², 2)."""
        (left, low), (right, high) = self.corners()
        across, up = np.linspace(left, right, side), np.linspace(high, low, side)
        return np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)

    def corners(self) -> tuple[Floats, Floats]:
        """What is drawn: the range of the rows, and a little more."""
        low, high = self.rows.min(axis=0), self.rows.max(axis=0)
        room = _MARGIN * np.where(high > low, high - low, 1.0)
        return low - room, high + room


def view(
    plane: Plane,
    basis: object,
    n_components: int | None,
    alpha: float | str,
    seed: int = 0,
    at: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """Fit three quarters of the rows; what to draw, as values that JSON has.

    `at` is the place whose kernel k(at, ·) is drawn, beside the product of the features that
    stands for it; None takes the first row.
    """
    plane = plane.some()
    labels, codes = np.empty(0), None
    if plane.classes:
        labels, codes = np.unique(plane.targets, return_inverse=True)
    held = np.arange(len(plane.rows)) % _HELD_OUT == _HELD_OUT - 1
    kind = KitchenSinkClassifier if plane.classes else KitchenSinkRegressor
    model = kind(basis, n_components=n_components, alpha=alpha, random_state=seed)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(plane.rows[~held], plane.targets[~held])
    notes = [str(one.message) for one in said]
    with warnings.catch_warnings():
        # The picture goes beyond the rows.
        warnings.simplefilter("ignore")
        scores = _scores(model, plane.grid(SIDE))
        fitted = model.score(plane.rows[~held], plane.targets[~held])
        tested = model.score(plane.rows[held], plane.targets[held])
    frozen = model.law_.features
    place = plane.rows[:1] if at is None else np.array([at], dtype=np.float64)
    exact, product = _kernels(frozen, place, plane.grid(SMALL))
    low, high = plane.corners()
    values = codes if codes is not None else plane.targets.astype(np.float64)
    points = np.column_stack([plane.rows, values])[:SHOWN]
    return {
        "names": list(plane.names),
        "labels": [str(label) for label in labels],
        "low": _numbers(low),
        "high": _numbers(high),
        "points": [_numbers(point) for point in points],
        "scores": _numbers(scores),
        "fitted": float(fitted),
        "tested": float(tested),
        "functions": [_numbers(one) for one in _functions(frozen, plane.grid(SMALL))],
        "at": _numbers(place[0]),
        "kernel": exact if exact is None else _numbers(exact),
        "product": _numbers(product),
        "basis": short_name(model.basis_),
        "components": int(model.n_components_),
        "alpha": float(np.max(model.alpha_)),
        "plan": str(model.plan_),
        "notes": notes,
    }


def _scores(model: Any, grid: Floats) -> Floats:
    """Score of the second of two classes, the number of the likeliest of more, or a prediction."""
    if not hasattr(model, "classes_"):
        return np.asarray(model.predict(grid), dtype=np.float64)
    scores = np.asarray(model.decision_function(grid), dtype=np.float64)
    return scores if scores.ndim == 1 else scores.argmax(axis=1).astype(np.float64)


def _functions(frozen: Frozen, grid: Floats) -> list[Floats]:
    """φ(·; θ_k) of the first draws; of bins a shade of each."""
    shown, found = frozen.scaled(grid.astype(frozen.dtype)), []
    for k in range(min(FUNCTIONS, frozen.n_components)):
        features = frozen.draw.part(k, k + 1).features(shown)
        if sparse.issparse(features):
            bins = np.asarray(features.argmax(axis=1)).ravel()
            found.append(bins * _GOLDEN % 1.0)
        else:
            found.append(np.asarray(features[:, 0], dtype=np.float64))
    return found


def _kernels(frozen: Frozen, place: Floats, grid: Floats) -> tuple[Floats | None, Floats]:
    """The exact kernel at a place, None where it is not known, and the product of features."""
    rows = frozen.scaled(np.vstack([place, grid]).astype(frozen.dtype))
    features = frozen.draw.scaled_features(rows)
    product = densify(features[1:] @ features[:1].T)
    try:
        exact = np.asarray(frozen.basis.kernel(rows[:1], rows[1:]), dtype=np.float64).ravel()
    except (NotImplementedError, ValueError):
        exact = None
    return exact, np.asarray(product, dtype=np.float64).ravel()


def _numbers(values: object) -> list[float]:
    """Numbers rounded to four digits, enough for a picture."""
    return [float(f"{value:.4g}") for value in np.nan_to_num(np.asarray(values)).tolist()]
