"""Consistency checks of the content of a model file, before any of it is used.

Compiled loops do not check indices, and a few numbers in the file determine the size of a draw.
Therefore the arrays are checked against each other, and declared sizes against a budget, before a
draw is made and before a loop runs.
"""

import math
from dataclasses import fields

import numpy as np

from kitchensinks.features.bases import Basis, Draw
from kitchensinks.features.blocks import drawn_entries, parts_of
from kitchensinks.features.frozen import Frozen
from kitchensinks.features.scaling import Scaler, Warp
from kitchensinks.features.trend import Trend
from kitchensinks.fitting.calibration import STEEPEST, Calibration, Residuals
from kitchensinks.law.values import Record
from kitchensinks.numerics.arrays import AnyArray, Arrays
from kitchensinks.numerics.warps import LINEAR, MIX
from kitchensinks.problem.targets import Classes, Targets
from kitchensinks.state import State
from kitchensinks.state.outer import Evidence, Outer
from kitchensinks.tables.columns import Columns

# Most numbers in one block of draws, which loading makes to verify the draw.
_BLOCK_ENTRIES = 2**25
# Most numbers of a draw that is kept in memory.
_HELD_ENTRIES = 2**28
# Most numbers of the pool of a selection, which is redrawn block by block.
_POOL_ENTRIES = 2**29
# Increase of these budgets for each byte of the arrays in the file.
_ENTRIES_A_BYTE = 64
# Types of the arrays that draws learn from rows, by name.
_LEARNED: dict[str, type] = {
    "names": np.uint64,
    "offsets": np.int64,
    "places": np.int64,
    "factors": np.float64,
}


def check_size(frozen: Frozen, held: int, learned: Arrays) -> None:
    """Raise an error if the draw would be far larger than the size of the file justifies.

    held: bytes of all arrays of the file. The budgets bound what a small file can cost; a model
    whose columns have a scaler stays below them whatever its width.
    """
    n_inputs, n_components, basis = frozen.n_inputs, frozen.n_components, frozen.basis
    if n_inputs < 1 or not 1 <= n_components <= max(held, 1):
        raise ValueError(f"{n_components} draws of {n_inputs} inputs in {held} bytes of arrays")
    basis.require_resolved()
    more, block = _ENTRIES_A_BYTE * held, drawn_entries(basis, n_inputs)
    _within("one block of draws", block, _BLOCK_ENTRIES + more)
    if frozen.held:
        whole = n_components * n_inputs * _planes(basis)
        _within("the draw", whole, _HELD_ENTRIES + more)
    if "places" in learned and learned["places"].size:
        pool = (int(learned["places"].max()) + 1) * n_inputs * _planes(basis)
        _within("the pool of draws", pool, _POOL_ENTRIES + more)


def _within(what: str, entries: int, budget: int) -> None:
    if entries > budget:
        raise ValueError(
            f"{what} takes {entries:.1e} numbers, and a file of this length may ask for "
            f"{budget:.1e}: keep such a model with pickle or joblib"
        )


def _planes(basis: Basis) -> int:
    """Most directions of one draw: several for units that pool them."""
    return max(one.directions_per_draw for one in parts_of(basis))


def check_scaler(scaler: Scaler | None, n_inputs: int) -> int:
    """The number of columns that a scaler takes, if its arrays are consistent.

    Each array has one entry, or one row, for each column; a rotation may be empty. A map may leave
    columns out.
    """
    if scaler is None:
        return n_inputs
    rotation = scaler.rotation if isinstance(scaler, Warp) else np.empty((0, 0))
    given = np.size(scaler.mean) if isinstance(scaler, Warp) else n_inputs
    if rotation.size and rotation.shape != (given, n_inputs):
        raise ValueError(f"a rotation of shape {rotation.shape} to {n_inputs} inputs")
    for field in fields(scaler):
        array = np.asarray(getattr(scaler, field.name))
        if array is rotation and not rotation.size:
            continue
        if array.ndim not in (1, 2) or len(array) != given:
            raise ValueError(f"{field.name} of shape {array.shape} for {given} columns")
        if (array.ndim == 2) != (field.name in ("knots", "rotation")) or np.isnan(array).any():
            raise ValueError(f"{field.name} of shape {array.shape} is not made of numbers")
    _check_maps(scaler)
    with np.errstate(all="ignore"):
        probe = np.vstack([scaler.mean, scaler.mean + scaler.scale])
        scaled = scaler.apply(probe, np.float64)
    if scaled.shape != (2, n_inputs) or not np.isfinite(scaled).all():
        raise ValueError("the scaler does not make finite numbers of rows")
    return given


def _check_maps(scaler: Scaler) -> None:
    """Raise an error where the values of a scaler do not define maps."""
    if not (scaler.scale > 0).all():
        raise ValueError("scale has entries that are not positive")
    if isinstance(scaler, Warp):
        if not ((scaler.kind >= LINEAR) & (scaler.kind <= MIX)).all():
            raise ValueError("there is no column map of such a kind")
        if scaler.knots.shape[1] < 2 or not (np.diff(scaler.knots, axis=1) >= 0).all():
            raise ValueError("knots are not two or more in rising order")


def check_learned(learned: object, n_components: int) -> None:
    """Raise an error unless arrays that a draw has learned from rows are what draws learn.

    names of bins in rising order grid by grid, with the offsets of the grids; places and factors
    of draws that were chosen. A union has them part by part, numbered.
    """
    if not isinstance(learned, dict):
        raise ValueError("what the draw has learned is of another kind")
    for name, array in learned.items():
        part, _, own = name.rpartition("-")
        if own not in _LEARNED or not isinstance(array, np.ndarray):
            raise ValueError(f"a draw learns no {name!r}")
        if array.dtype != _LEARNED[own] or array.ndim != 1:
            raise ValueError(f"{name} of shape {array.shape} and dtype {array.dtype}")
        if own in ("places", "factors") and len(array) != n_components:
            raise ValueError(f"{len(array)} {name} of {n_components} draws")
        if own == "factors" and not (np.isfinite(array) & (array > 0)).all():
            raise ValueError("factors are not positive numbers")
        if own == "offsets":
            _check_bins(learned[f"{part}-names" if part else "names"], array)


def _check_bins(names: AnyArray, offsets: AnyArray) -> None:
    """Raise an error unless the offsets cut the names into grids whose names rise."""
    rising = len(offsets) > 0 and (np.diff(offsets) >= 0).all()
    if not rising or offsets[0] != 0 or offsets[-1] != len(names):
        raise ValueError(f"offsets do not cut {len(names)} names of bins into grids")
    grid = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    if not ((names[1:] > names[:-1]) | (grid[1:] != grid[:-1])).all():
        raise ValueError("names of bins are not in rising order")


def check_draw(draw: Draw, n_components: int) -> None:
    """Raise an error unless a draw with what it has learned has columns for each of its draws."""
    if len(draw.offsets) != n_components + 1 or draw.n_components != n_components:
        raise ValueError(f"columns of {len(draw.offsets) - 1} draws where {n_components} are")


def _check_weights(frozen: Frozen, outer: Outer, outputs: int) -> None:
    """Raise an error unless there are finite weights for each column and output."""
    # Each draw has a column at least: the number of draws is checked before they are counted.
    if frozen.n_components > max(1, len(outer.weights)):
        raise ValueError(f"{len(outer.weights)} weights of {frozen.n_components} draws")
    _check_array("weights", outer.weights, (frozen.n_columns, outputs))
    _check_array("intercept", outer.intercept, (outputs,))
    with np.errstate(over="ignore"):
        if not np.isfinite(np.abs(outer.weights).sum()):
            raise ValueError("weights are so large that their sum overflows")


def check_state(state: State, classes: bool, n_features_in: int) -> None:
    """Raise an error unless weights, targets, calibration and columns belong to each other."""
    frozen, outer, targets = state.law.features, state.outer, state.targets
    if outer is None:
        raise ValueError("there are no weights")
    if isinstance(targets, Classes) != classes:
        raise ValueError("the targets are of another kind than the estimator")
    _check_targets(targets)
    outputs = targets.n_outputs
    _check_weights(frozen, outer, outputs)
    _check_records(state.law.record, outer.evidence)
    given = check_scaler(frozen.scaler, frozen.n_inputs)
    # A map may leave columns out, and a spread is of all.
    if check_scaler(frozen.spread, given) != given:
        raise ValueError(f"a spread of other columns than the {given} given")
    if state.law.trend is not None:
        _check_trend(state.law.trend, given, outputs)
    if (held := state.law.held) is not None:
        for name in ("scores", "targets"):
            _check_array(f"unseen {name}", getattr(held, name), (len(held.scores), outputs))
        if held.weights is not None:
            _check_array("unseen weights", held.weights, (len(held.scores),))
    _check_columns(state.columns, given, n_features_in)
    _check_answers(state, outputs)


def _check_records(record: Record | None, evidence: Evidence) -> None:
    """Raise an error where scales and importances, or ridges and their errors, are not as many."""
    if record is not None:
        for name in ("scales", "importances"):
            _check_array(f"{name} of the law", getattr(record, name), record.scales.shape)
        if not ((record.importances >= 0.0) & (record.importances <= 1.0 + 1e-6)).all():
            raise ValueError("importances of the law are no shares")
    path = [one for one in (evidence.alphas, evidence.alpha_errors) if one is not None]
    if len({len(one) for one in path}) > 1:
        raise ValueError("the ridge path has other errors than ridges")


def _check_columns(columns: Columns | None, given: int, n_features_in: int) -> None:
    """Raise an error unless the recipe makes as many numbers as the scaler takes."""
    if columns is not None and columns.width != given:
        raise ValueError(f"columns of {columns.width} numbers where {given} are needed")
    if columns is not None and columns.n_given not in (0, n_features_in):
        raise ValueError(f"n_features_in is {n_features_in} where {columns.n_given} is needed")
    if n_features_in < 1 or (columns is None and n_features_in != given):
        raise ValueError(f"n_features_in is {n_features_in} where {given} is needed")


def _check_trend(trend: Trend, n_inputs: int, outputs: int) -> None:
    """Raise an error unless a trend has slopes of some columns in a range."""
    places, size = trend.places, len(trend.places)
    for name in ("mean", "low", "high"):
        _check_array(f"trend {name}", getattr(trend, name), (size,))
    _check_array("trend slopes", trend.slopes, (size, outputs))
    whole = places.ndim == 1 and places.dtype.kind in "iu"
    if not (whole and size and (places >= 0).all() and (places < n_inputs).all()):
        raise ValueError("the trend is not of columns of the rows")
    if trend.names and len(trend.names) != size:
        raise ValueError(f"the trend has {len(trend.names)} names for {size} columns")
    if not (trend.low <= trend.high).all():
        raise ValueError("the trend has a range that ends before it begins")


def _check_array(name: str, array: AnyArray, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ValueError(f"{name} of shape {array.shape} where {shape} is needed")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} is not made of finite numbers")


def _check_targets(targets: Targets) -> None:
    """Raise an error unless classes are two or more different labels, or numbers have a unit."""
    if not isinstance(targets, Classes):
        _check_array("centre", targets.centre, (len(targets.centre),))
        one = len(targets.centre) == 1 or not targets.one_output
        if not (one and len(targets.centre) and 0 < targets.unit < math.inf):
            raise ValueError("the targets have no unit, or several outputs are one")
        return
    labels = targets.labels
    # Text that is no text fails here and not in a prediction.
    labels.tolist()
    if labels.ndim != 1 or len(labels) < 2 or not (labels[1:] > labels[:-1]).all():
        raise ValueError("labels are not two or more different ones in rising order")
    if targets.factors is not None:
        _check_array("factors", targets.factors, (len(labels),))


def _check_answers(state: State, outputs: int) -> None:
    """Raise an error where scores do not become predictions and probabilities."""
    scores = np.zeros((2, outputs))
    if len(state.answer("predict", scores)) != 2:
        raise ValueError("a prediction is not one for each row")
    found = state.calibrated
    if not isinstance(state.targets, Classes):
        if found is not None:
            _check_residuals(found, outputs)
        return
    if found is not None and not (
        isinstance(found, Calibration)
        and 0 < found.unit < math.inf
        and all(0 <= one <= STEEPEST for one in (found.slope, found.bend, found.tail))
    ):
        raise ValueError("the calibration is not of positive numbers that were fitted")
    if state.loss.link is not None or found is not None:
        chances = state.probabilities(scores)
        if chances.shape != (2, len(state.targets.labels)) or not np.isfinite(chances).all():
            raise ValueError("there is not a probability of each class")


def _check_residuals(found: Calibration | Residuals, outputs: int) -> None:
    """Raise an error unless there are residuals of each output, with positive weights."""
    if not isinstance(found, Residuals):
        raise ValueError("the intervals are not made of residuals")
    _check_array("residuals", found.values, (len(found.values), outputs))
    _check_array("weights of residuals", found.weights, (len(found.values),))
    # Copies of a row count as one residual: their number is no limit of the count.
    if not ((found.weights > 0).all() and 1 <= found.count < math.inf):
        raise ValueError("the residuals are not those of rows with positive weights")
