"""Rows that come in batches, or to several workers: freeze, partial_fit, merge."""

import math
import warnings
from collections.abc import Iterator
from functools import partial
from threading import RLock
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from kitchensinks.estimators.adapting import LEARNED, no_law, plain_basis
from kitchensinks.estimators.base import Batch, KitchenSink
from kitchensinks.estimators.checks import check_parameters
from kitchensinks.features.blocks import BLOCK_ROWS
from kitchensinks.fitting import (
    Groups,
    Stochastic,
    effective_dimension,
    solve_moments,
    takes_stochastic,
)
from kitchensinks.numerics.threads import threads
from kitchensinks.problem.moments import BlockSums, Moments
from kitchensinks.tables import block_slices

# What is worked out from the sums when it is asked for, and is out of date when rows come in.
_SETTLED = (
    "model_",
    "solver_",
    "objective_",
    "gap_",
    "converged_",
    "n_iter_",
    "alpha_",
    "alphas_",
    "alpha_errors_",
    "alpha_sup_norm_",
    "condition_number_",
    "effective_dimension_",
    "gram_noise_",
    "calibration_",
)
# What takes time and few ask for: worked out from the sums on first sight.
_LATER = {
    "moments_": "_find_moments",
    "effective_dimension_": "_find_effective_dimension",
    "calibration_": "_find_calibration",
}
# The most sparse columns whose products are summed.
_MOST_SPARSE = 20_000


class Batches(KitchenSink):
    """Partial fits: exact sums for squared loss, stochastic gradients for the others."""

    moments_: Moments | None
    _pending = False

    def _freeze_stream(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> Batch:
        self._check_streams()
        batch = self._first_batch(X, y, sample_weight, classes, stream=True)
        try:
            with threads(self.n_jobs):
                self._freeze(batch, stream=True)
                self._start_stream(batch)
        except BaseException:
            self._forget()
            raise
        return batch

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> Any:
        if not hasattr(self, "frozen_"):
            batch = self._freeze_stream(X, y, sample_weight, classes)
            basis = plain_basis(self)
            if self.standardize or basis.sparse or basis.unresolved() is not None:
                warnings.warn(
                    "The first batch of partial_fit freezes the scaler, the law and the bins of "
                    "the features; later batches are measured by it. Call freeze(X, y) with "
                    "representative rows first to choose them yourself.",
                    stacklevel=3,
                )
        else:
            check_parameters(self, self.loss_)
            batch = self._encoded(*self._validate(X, y, sample_weight, reset=False))
            if not hasattr(self, "_stochastic") and self.moments_ is None:
                self._go_on_from_fit(batch)
        with threads(self.n_jobs):
            if hasattr(self, "_stochastic"):
                settings = self._settings(batch.rows)
                self._stochastic.add(batch.rows, batch.targets, batch.weights, settings)
                self._keep_stochastic(settings)
            else:
                self._add(batch)
        return self

    def _check_streams(self) -> None:
        if self.n_components == "auto":
            raise ValueError("n_components='auto' looks at all rows: give a number to stream.")
        if self.solver == "conjugate":
            raise ValueError("solver='conjugate' passes over the rows many times: use 'direct'.")

    def _start_stream(self, batch: Batch) -> None:
        blocks, settings = self._blocks(batch.rows), self._settings(batch.rows)
        n_outputs = batch.targets.shape[1]
        self.moments_ = None
        if self.loss_.name != "squared" or takes_stochastic(blocks, settings, stream=True):
            if blocks.sparse:
                raise ValueError(
                    f"partial_fit with loss={self.loss_.name!r} needs a basis with dense features."
                )
            self._stochastic = Stochastic.start(self.frozen_, n_outputs)
            return
        if blocks.sparse and blocks.n_columns > _MOST_SPARSE:
            raise ValueError(
                f"partial_fit sums a Gram matrix, and {self.basis_!r} has {blocks.n_columns} "
                f"columns here: at most {_MOST_SPARSE}. Use fewer components, or fit all rows at "
                "once."
            )
        shift = blocks.pilot() if self.fit_intercept else np.zeros(blocks.n_columns)
        self.moments_ = Moments.zeros(shift, n_outputs)

    def _go_on_from_fit(self, batch: Batch) -> None:
        """Sums or steps that stand for the rows of an earlier fit."""
        if self.loss_.name == "squared" and self._few is None:
            raise ValueError(
                f"partial_fit cannot go on from a fit by {self.solver_}, which keeps no sums. "
                "Use solver='direct', or freeze first."
            )
        self._start_stream(batch)
        if self.moments_ is None or self._few is None:
            weights, intercept = self.model_.weights, self.model_.intercept
            self._stochastic = Stochastic.after(
                self.frozen_,
                weights / self._unit,
                (intercept - self._centre) / self._unit,
                self._n_rows,
            )
        else:
            features, *rest = self._few

            def blocks(work: Any) -> Iterator[tuple[slice, Any]]:
                for part in block_slices(features.shape[0], BLOCK_ROWS):
                    yield part, work(part, features[part].copy())

            self._sum(blocks, *rest)

    def _sum(self, blocks: Any, targets: Any, weights: Any, one: Any) -> None:
        """Add `blocks(work)`: slices of rows with what `work` makes of their features.

        All or nothing: where a batch breaks off, none of its rows are in the sums.
        """
        assert self.moments_ is not None
        moments = self.moments_
        own = Moments.zeros(moments.shift, targets.shape[1])

        def sums(rows: slice, features: Any) -> BlockSums:
            return own.sums_of(
                features.toarray() if self.frozen_.basis.sparse else features,
                targets[rows],
                None if weights is None else weights[rows],
                None if one is None else one[rows],
            )

        for _, block in blocks(sums):
            own.take(block)
        moments.absorb(own)

    def _add(self, batch: Batch) -> None:
        blocks = self._blocks(batch.rows)
        source = partial(blocks.fresh, 0)
        self._sum(source, batch.targets, batch.weights, batch.one)
        self._outdate()
        self._note(batch)

    def _outdate(self) -> None:
        self._pending = True
        for name in _SETTLED:
            self.__dict__.pop(name, None)

    def _keep_moments(self, moments: Moments | None, groups: Groups | None) -> None:
        """Sums of features that coincided are spread out again when they are asked for."""
        self.__dict__.pop("moments_", None)
        self.__dict__.pop("_condensed", None)
        if moments is None or groups is None:
            self.moments_ = moments
        else:
            self._condensed = (moments, groups)

    def __getattr__(self, name: str) -> Any:
        """What a fit has not worked out yet, on first sight."""
        if name in _SETTLED or name in _LATER:
            with self._alone():
                if name in _SETTLED and self.__dict__.get("_pending"):
                    self._settle()
                if name not in self.__dict__ and name in _LATER and "model_" in self.__dict__:
                    self._find(name)
                if name in self.__dict__:
                    return self.__dict__[name]
        if name in LEARNED:
            raise AttributeError(no_law(self, name))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _find(self, name: str) -> None:
        with threads(self.n_jobs):
            found = getattr(self, _LATER[name])()
        setattr(self, name, found)
        if name == "moments_":
            self.__dict__.pop("_condensed", None)

    def _alone(self) -> Any:
        """A lock of this estimator: the threads that ask first wait for what one works out."""
        return self.__dict__.setdefault("_lock", RLock())

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        state.pop("_lock", None)
        return state

    def drop_sums(self) -> None:
        """Keep the model alone: without the sums there is less to hold, and no more to add to."""
        self._keep_moments(None, None)
        self._sampled = None
        self._few = None

    def _condensed_moments(self) -> tuple[Moments | None, Groups | None]:
        """The sums as the fit made them: over different features alone where some coincided."""
        condensed = self.__dict__.get("_condensed")
        return (self.moments_, None) if condensed is None else condensed

    def _find_moments(self) -> Moments | None:
        condensed = self.__dict__.get("_condensed")
        return None if condensed is None else condensed[1].expand_moments(condensed[0])

    def _find_effective_dimension(self) -> float:
        moments, _ = self._condensed_moments()
        sampled = self.__dict__.get("_sampled")
        if moments is not None:
            gram = moments.normal_equations(self._had_intercept).gram
        elif sampled is not None:
            gram = sampled.gram
        else:
            return math.nan
        return effective_dimension(gram, self.alpha_ * self._alpha_unit())

    def _note(self, batch: Batch) -> None:
        """Rows that have gone into the sums (a classifier remembers some of them)."""

    def merge(self, other: Any) -> Any:
        """Add what another estimator has summed; both must be frozen alike. Returns self."""
        if type(other) is not type(self):
            raise TypeError(
                f"merge needs another {type(self).__name__}, not {type(other).__name__}."
            )
        mine, theirs = getattr(self, "moments_", None), getattr(other, "moments_", None)
        if mine is None or theirs is None:
            raise ValueError(
                "merge adds sums of squared-loss fits: call freeze or partial_fit on both first, "
                "with loss='squared'."
            )
        difference = self._frozen_difference(other)
        if difference is not None:
            raise ValueError(
                f"The estimators differ in their {difference}, so their sums cannot be added. "
                "Freeze one estimator, copy it, and give the copies different rows."
            )
        self.moments_ = mine.merge(theirs)
        self._outdate()
        return self

    def _frozen_difference(self, other: Any) -> str | None:
        """What keeps two sums apart, or None."""
        if self.n_features_in_ != other.n_features_in_:
            return "number of columns"
        prints = [one.columns_ and one.columns_.fingerprint() for one in (self, other)]
        if prints[0] != prints[1]:
            return "recipe for the columns"
        if self.fit_intercept != other.fit_intercept:
            return "fit_intercept"
        return self.frozen_.difference(other.frozen_)

    def _settle(self) -> None:
        moments = self.__dict__.get("moments_")
        if moments is not None and moments.weight == 0.0:
            raise NotFittedError(
                f"This {type(self).__name__} is frozen, and has no rows of positive weight yet: "
                "call partial_fit."
            )
        if moments is None:
            return
        with self._alone(), threads(self.n_jobs):
            if not self._pending:
                return
            fit = solve_moments(moments, self._settings(None), self.frozen_.dtype)
            fit.moments = moments
            self._pending = False
            self._keep(fit, None)

    def __sklearn_is_fitted__(self) -> bool:
        return self._pending or hasattr(self, "model_")
