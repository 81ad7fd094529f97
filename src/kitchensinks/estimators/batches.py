"""Rows that come in batches, or to several workers: freeze, partial_fit, merge."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from kitchensinks.estimators.adapting import plain_basis
from kitchensinks.estimators.base import Batch, KitchenSink
from kitchensinks.estimators.checks import threads
from kitchensinks.features import BLOCK_ROWS
from kitchensinks.fitting import Stochastic, solve_moments, takes_stochastic
from kitchensinks.moments import Moments
from kitchensinks.rows import block_slices

# The most sparse columns whose products are summed.
_MOST_SPARSE = 20_000


class Batches(KitchenSink):
    """Partial fits: exact sums for squared loss, stochastic gradients for the others."""

    moments_: Moments | None
    _pending = False

    def _freeze_stream(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> Batch:
        self._check_streams()
        batch = self._first_batch(X, y, sample_weight, classes)
        with threads(self.n_jobs):
            self._freeze(batch, stream=True)
            self._start_stream(batch)
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
        if self.loss_.name != "squared":
            weights, intercept = self.model_.weights, self.model_.intercept
            self._stochastic = Stochastic.after(
                self.frozen_,
                weights / self._unit,
                (intercept - self._centre) / self._unit,
                self._n_rows,
            )
        elif self._few is not None:
            features, *rest = self._few
            self._start_stream(batch)
            parts = block_slices(features.shape[0], BLOCK_ROWS)
            self._sum(((part, features[part].copy()) for part in parts), *rest)
        else:
            raise ValueError(
                f"partial_fit cannot go on from a fit by {self.solver_}, which keeps no sums. "
                "Use solver='direct', or freeze first."
            )

    def _sum(self, blocks: Any, targets: Any, weights: Any, one: Any) -> None:
        """Add pairs of a slice of the rows and their features, which may be overwritten."""
        assert self.moments_ is not None
        for rows, features in blocks:
            self.moments_.add(
                features.toarray() if self.frozen_.basis.sparse else features,
                targets[rows],
                None if weights is None else weights[rows],
                None if one is None else one[rows],
            )

    def _add(self, batch: Batch) -> None:
        blocks = self._blocks(batch.rows).fresh()
        self._sum(blocks, batch.targets, batch.weights, batch.one)
        self._note(batch)
        self._pending = True

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
        self._pending = True
        return self

    def _frozen_difference(self, other: Any) -> str | None:
        """What keeps two sums apart, or None."""
        if self.n_features_in_ != other.n_features_in_:
            return "number of columns"
        if self.fit_intercept != other.fit_intercept:
            return "fit_intercept"
        return self.frozen_.difference(other.frozen_)

    def _settle(self) -> None:
        if not self._pending or self.moments_ is None:
            return
        if self.moments_.weight == 0.0:
            raise NotFittedError("No rows yet: call partial_fit.")
        with threads(self.n_jobs):
            fit = solve_moments(self.moments_, self._settings(None), self.frozen_.dtype)
            fit.moments = self.moments_
            self._keep(fit, None)
        self._pending = False

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_") or self._pending
