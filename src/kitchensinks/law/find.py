"""From rows and targets to a law, given or learned: `find_law`."""

import math
from dataclasses import replace

import numpy as np

from kitchensinks.features.bases import Basis, Fourier
from kitchensinks.features.frozen import Frozen, spread_of
from kitchensinks.fitting.growth import FIRST_COMPONENTS
from kitchensinks.law import constants
from kitchensinks.law.candidates import bytes_of_bins
from kitchensinks.law.choice import learn_law
from kitchensinks.law.ending import BinNumbers
from kitchensinks.law.learned import Learned
from kitchensinks.law.values import Law, Request
from kitchensinks.numerics.arrays import DType, Matrix
from kitchensinks.numerics.warned import warn
from kitchensinks.problem.targets import Batch


def find_law(
    basis: Basis | Learned | Law, batch: Batch, request: Request
) -> tuple[Law, BinNumbers]:
    """The law of a fit, and the bins of its rows (grids, n) where they are known already.

    A basis is resolved on a subsample of the rows, and nothing else happens. `Learned` learns on
    held-out rows; where it cannot, the basis has its own law, `Law.note` says why and a warning
    repeats it. A `Law` is taken as it is, with the bins that these rows occupy: learn once, fit
    twice.

    >>> rows = np.random.default_rng(0).normal(size=(50, 2))
    >>> law, _ = find_law(Fourier(), Batch(rows, rows[:, :1]), Request(seed=0, n_components=20))
    >>> law.features.n_components, law.record is None
    (20, True)
    >>> again, _ = find_law(law, Batch(rows[:40], rows[:40, :1]), Request(seed=0))
    >>> again.features.basis == law.features.basis
    True
    """
    if not request.stream:
        warn_one_row(batch.counted)
    if isinstance(basis, Law):
        return _again(basis, batch, request)
    if isinstance(basis, Basis):
        return _given(basis, batch, request), None
    if not isinstance(basis, Learned):
        raise TypeError(
            f"basis={basis!r}: need a basis such as ks.Fourier(), ks.Learned(...), or the law_ of "
            "a fitted model."
        )
    if request.working is not None:
        batch = batch._replace(targets=request.working(batch.targets))
    if request.stages and not request.classes:
        warn_few_decide(batch)
    found = learn_law(basis, batch, request)
    if not isinstance(found, str):
        return found
    own = Fourier() if basis.basis is None else basis.basis
    # Constant targets are fitted exactly by any law.
    if np.ptp(batch.counted_targets, axis=0).any():
        warn(
            f"{found}: the plain law of {own!r} is used. Pass basis=ks.{own!r} to silence this "
            "warning.",
        )
    if request.n_components is None:
        # The cost of dense features grows with K². Bases of so many functions have all of them.
        share = min(1.0, math.sqrt(basis.work.share))
        count = own.whole(batch.rows.shape[1]) or round(share * constants.PLAIN_COMPONENTS)
        request = replace(request, n_components=count)
    return replace(_given(own, batch, request), note=found), None


def warn_one_row(count: int, learns: bool = True) -> None:
    """Warn of a fit to one row; learns: whether a law could be learned from more."""
    if count == 1:
        more = f", and {constants.FEWEST_ROWS} to learn a law" if learns else ""
        warn(
            "There is one row, from which no dependence on the columns can be learned: need two "
            f"rows or more{more}.",
        )


def warn_few_decide(batch: Batch) -> None:
    """Warn of targets whose squared errors are those of a few rows, by which nothing is chosen."""
    targets, own = batch.counted_targets, batch.own_weights
    own = own[own > 0.0]
    squares = own[:, None] * (targets - np.average(targets, axis=0, weights=own)) ** 2
    largest = squares.max(axis=0)
    squares = squares[:, largest > 0.0] / largest[largest > 0.0]
    counts = squares.sum(axis=0) ** 2 / np.sum(squares**2, axis=0)
    least = min(constants.DECIDING, constants.DECIDING_SHARE * len(targets))
    if len(counts) and counts.min() < least:
        warn(
            f"The largest targets are so far off that {counts.min():.0f} of {len(targets):,} rows "
            "decide the squared error: predictions may be worse than the mean. Fit the logarithm "
            "(sklearn.compose.TransformedTargetRegressor), or use loss='huber', 'gamma' or "
            "'poisson'.",
        )


def components(basis: Basis, n_inputs: int, request: Request) -> int:
    """K of a given basis; with "auto", the first K of `grow`."""
    if request.n_components == "auto":
        return FIRST_COMPONENTS
    if request.n_components is None:
        return basis.whole(n_inputs) or constants.PLAIN_COMPONENTS
    return int(request.n_components)


def working_dtype(basis: Basis, rows: Matrix, request: Request) -> DType:
    """Dtype of a given basis's features: float64 where the fit is small, else float32.

    rows: anything with the shape and dtype of the rows.
    """
    if request.dtype is not None:
        given: DType = np.dtype(request.dtype)
        return given
    auto = request.n_components == "auto"
    count = constants.PLAIN_COMPONENTS if auto else components(basis, rows.shape[1], request)
    small = rows.shape[0] * count <= constants.SMALL_FIT and not request.stream
    return np.dtype(np.float64 if small and rows.dtype == np.float64 else np.float32)


def _given(basis: Basis, batch: Batch, request: Request) -> Law:
    """The papers' method: scaler from all rows, bandwidth from a subsample."""
    if basis.binned and not request.stream:
        count = components(basis, batch.rows.shape[1], request)
        _check_bins(batch.rows.shape[0], batch.targets.shape[1], count, request.memory)
    frozen = Frozen.learn(
        batch.rows,
        batch.weights,
        basis,
        request.seed,
        components(basis, batch.rows.shape[1], request),
        working_dtype(basis, batch.rows, request),
        request.standardize,
        unscaled=request.unscaled,
        sampled=True,
    )
    return Law(frozen)


def _check_bins(n_rows: int, n_outputs: int, grids: int, memory: float) -> None:
    """An error where the bins of the rows are more than the memory budget."""
    each = bytes_of_bins(n_rows, n_outputs)
    needed = each * grids
    if needed > memory:
        fitting = int(memory / each)
        raise ValueError(
            f"The bins of {n_rows:,} rows in {grids} grids take about {_size(needed)}, and the "
            f"memory budget is {_size(memory)}: give solver=ks.Solver(memory_budget="
            f"'{math.ceil(needed / 1e6)}MB') or more, at most {fitting} components, or a dense "
            "basis such as ks.Fourier()."
        )


def _size(count: float) -> str:
    return f"{count / 1e9:.3g} GB" if count >= 1e9 else f"{count / 1e6:.3g} MB"


def _again(law: Law, batch: Batch, request: Request) -> tuple[Law, BinNumbers]:
    """The same law for other rows: their bins are tabulated, and the range is extended to them."""
    features = law.features
    if batch.rows.shape[1] != features.n_given:
        raise ValueError(
            f"The rows have {batch.rows.shape[1]} columns, and the law is for {features.n_given}: "
            "give rows with the same columns."
        )
    asked = request.n_components
    if asked is not None and asked != features.n_components:
        raise ValueError(
            f"n_components={asked!r}, and the law has {features.n_components} components: leave "
            "n_components=None, or give a basis."
        )
    if request.dtype is not None:
        features = replace(features, dtype=np.dtype(request.dtype))
    spread = spread_of(batch.rows, batch.weights)
    features = features.covering(spread.low, spread.high)
    features, bins = features.with_bins(batch.rows, batch.weights, not math.isnan(law.second))
    # A line is subtracted from the targets, which not every loss allows.
    return replace(law, features=features, trend=law.trend if request.trend else None), bins
