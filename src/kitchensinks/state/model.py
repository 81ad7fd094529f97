"""A fitted model: its predictions, rows outside of the fitted range, and its linear pieces."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kitchensinks.features.bases import Draw
from kitchensinks.features.bases.draw import Scorer
from kitchensinks.features.frozen import Frozen
from kitchensinks.features.scaling import Scaler
from kitchensinks.features.trend import Trend
from kitchensinks.numerics.arrays import AnyArray, Block, Bools, Floats, Matrix
from kitchensinks.numerics.threads import in_order
from kitchensinks.tables.arrays import block_slices, densify
from kitchensinks.tables.columns import Columns

# Entries of the features of one block of rows.
_BLOCK_ENTRIES = 2**21
# Rows of a block where the draw is too large to hold and is made anew for each block.
_REDRAWN_ROWS = 1024
# A prediction warns if this share of its rows is far outside in the same column: a few rows of
# any new sample are outside.
_TOLD = 0.05
# Fewer rows outside may be chance after a fit to few rows, unless all are outside.
_FEW = 10
# Far outside is further from the range than this share of it.
_FAR = 0.1
# Columns that are named where a value prints.
_NAMED = 5


class Outside(NamedTuple):
    """Which rows (n,) are outside of the fitted range, and how many of them in which columns.

    It prints as one short line, for logs.

    >>> found = Outside(np.array([True, False]), {"age": 1})
    >>> found, found.rows.tolist(), found.columns
    (Outside(1 of 2 rows; 'age': 1), [True, False], {'age': 1})
    """

    rows: NDArray[np.bool_]
    columns: dict[Any, int]

    def __repr__(self) -> str:
        told = [f"{name!r}: {count}" for name, count in self.columns.items()]
        if len(told) > _NAMED:
            told[_NAMED:] = [f"{len(told) - _NAMED} more columns"]
        where = f"; {', '.join(told)}" if told else ""
        return f"Outside({np.count_nonzero(self.rows)} of {len(self.rows)} rows{where})"

    @property
    def share(self) -> float:
        """The share of the rows that are outside."""
        return float(self.rows.mean()) if len(self.rows) else 0.0


class Watch:
    """Counts rows outside of the range of a scaler, block by block."""

    def __init__(self, scaler: Scaler | None, n_rows: int) -> None:
        self.scaler = scaler
        self.rows = np.zeros(n_rows, dtype=bool)
        self.counts = np.zeros(0 if scaler is None else len(scaler.low), dtype=np.int64)
        self.far = np.zeros_like(self.counts)
        self._lock = threading.Lock()

    def look(self, part: slice, rows: Matrix) -> None:
        if self.scaler is None:
            return
        outside = self.scaler.outside(rows)
        self.rows[part] = outside.any(axis=1)
        if not self.rows[part].any():
            return
        far = self.scaler.outside(rows, _FAR)
        with self._lock:
            self.counts += outside.sum(axis=0)
            self.far += far.sum(axis=0)

    @property
    def many(self) -> Bools:
        """The columns (d,) in which so many rows are far outside that a warning is due."""
        count = len(self.rows)
        return np.asarray(self.far >= max(1, min(max(_FEW, _TOLD * count), count)))

    def found(
        self, columns: Columns | None, names: Sequence[Any] | None, many: bool = False
    ) -> Outside:
        """The counts by the original columns: names of a frame, or indices.

        many: of the columns alone that a warning is due for.
        """
        own = np.where(self.many, self.counts, 0) if many else self.counts
        if columns is not None:
            counts = [int(own[part].max(initial=0)) for part in columns.groups]
            if columns.n_given:
                names = [place if names is None else names[place] for place in columns.given]
            else:
                names = columns.inputs
        else:
            counts = own.tolist()
            names = range(len(counts)) if names is None else names
        # Without a scaler nothing was counted.
        pairs = zip(names, counts, strict=self.scaler is not None)
        found = {name: count for name, count in pairs if count}
        return Outside(self.rows, dict(sorted(found.items(), key=lambda item: -item[1])))


def in_words(outside: Outside, trend: bool) -> str:
    """The warning about rows outside of the range; trend: whether the law extrapolates a line."""
    first = list(outside.columns.items())[:3]
    named = ", ".join(f"{name!r} ({count} row{'s' * (count != 1)})" for name, count in first)
    more = len(outside.columns) - len(first)
    count = len(outside.rows)
    who = "The row is" if count == 1 else f"{outside.share:.0%} of {count} rows are"
    return (
        f"{who} outside of the range of the fitted rows, in "
        f"{named}{f' and {more} more columns' if more else ''}. Such rows are predicted as at "
        f"the edge of the range{', but for the trend of the law' if trend else ''}; "
        "model.outside(X) names them."
    )


@dataclass(frozen=True, eq=False)
class Model:
    """f(x) = b + Σ_k β_k·φ(x; θ_k)·scale on standardised rows, and t(x) where there is a trend.

    weights (columns, outputs), intercept (outputs,). Files hold the weights, the
    seed and what was learned from rows (`Frozen`), but not the draw.
    """

    frozen: Frozen
    weights: Floats
    intercept: Floats
    trend: Trend | None = None

    @property
    def draw(self) -> Draw:
        return self.frozen.draw

    @property
    def scaler(self) -> Scaler | None:
        return self.frozen.scaler

    def scores(self, rows: Matrix, watch: Watch | None = None) -> Floats:
        """f(x) for every row and output, shape (n, outputs), in blocks: no n × K array.

        watch: shown every block of rows.
        """
        frozen, (unit, weights) = self.frozen, self._narrow
        parts = list(block_slices(rows.shape[0], self._block_rows))
        out = np.empty((rows.shape[0], len(self.intercept)))
        scorer = self._scorer if frozen.held else None

        def score(block: Block) -> None:
            part, own = block
            if watch is not None:
                watch.look(part, own)
            if scorer is not None:
                scores = scorer(frozen.scaled(own))
            else:
                scores = np.zeros((own.shape[0], len(self.intercept)))
                for columns, features in frozen.walk(own):
                    scores += features @ weights[columns]
            out[part] = scores * unit + self.intercept
            if self.trend is not None:
                out[part] += self.trend.values(own)

        blocks = ((part, rows[part]) for part in parts)
        for _ in in_order(score, blocks):
            pass
        return out

    @cached_property
    def _block_rows(self) -> int:
        """Rows that are scored at a time."""
        width, frozen = _BLOCK_ENTRIES // _REDRAWN_ROWS, self.frozen
        if frozen.held:
            width = frozen.basis.scored_entries(frozen.n_components)
        return max(64, _BLOCK_ENTRIES // max(1, width))

    @cached_property
    def _narrow(self) -> tuple[Floats, AnyArray]:
        """Units of the outputs, and weights in them, so that large weights fit into float32."""
        unit = np.abs(self.weights).max(axis=0, initial=0.0)
        unit = np.where(unit > 0.0, unit, 1.0)
        return unit, (self.weights / unit).astype(self.frozen.dtype)

    @cached_property
    def _scorer(self) -> Scorer:
        return self.frozen.draw.scorer(self._narrow[1])

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name[0] != "_"}


class LocalModels(NamedTuple):
    """f(x) = coefficients·x + intercepts on the piece of each row.

    coefficients (n, d) and intercepts (n,) for one output, (n, outputs, d) and (n, outputs) for
    several. f is `decision_function` of a classifier and `predict` of a regressor (its logarithm
    where the loss has a log link). Columns are the numbers that the model sees: those given, or
    those that ``columns_`` makes of them. A value outside of the fitted range does not change f,
    and has the coefficient zero.
    """

    coefficients: Floats
    intercepts: Floats


def local_models(model: Model, rows: Matrix) -> LocalModels:
    """The linear models of rows (n, d), or a ValueError where the function has no linear pieces."""
    frozen = model.frozen
    outputs, n_rows = len(model.intercept), rows.shape[0]
    coefficients = np.empty((n_rows, outputs, rows.shape[1]))
    intercepts = np.empty((n_rows, outputs))
    unit, weights = model._narrow
    for part in block_slices(n_rows, max(1, _BLOCK_ENTRIES // frozen.n_components)):
        own = densify(rows[part])
        own = own if model.scaler is None else model.scaler.filled(own)
        pieces = frozen.draw.linear_pieces(frozen.scaled(own), weights)
        if pieces is None:
            raise ValueError(
                f"{type(frozen.basis).__name__} has no linear pieces: need a basis of piecewise "
                "linear functions, such as ks.ReLU(), ks.Maxout(), ks.Linear() or a ks.Union of "
                "these. ks.explain shows what moves the predictions of any model."
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
