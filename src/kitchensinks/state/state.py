"""The state of a fitted estimator: one value, pickled, saved, sent and exported by its fields."""

import math
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.exceptions import NotFittedError

from kitchensinks.fitting.calibration import Calibration, Residuals, calibrate
from kitchensinks.fitting.condense import Groups
from kitchensinks.fitting.growth import Growth
from kitchensinks.fitting.plan import Plan
from kitchensinks.fitting.posterior import Posterior
from kitchensinks.fitting.settings import Settings
from kitchensinks.fitting.space import Fit, LeftOut
from kitchensinks.fitting.squared import (
    RidgeCandidates,
    effective_dimension,
    left_out_of,
    solve_moments,
)
from kitchensinks.fitting.stochastic import Stochastic
from kitchensinks.law import Law
from kitchensinks.numerics.arrays import AnyArray, DType, Matrix
from kitchensinks.problem.losses import Array, Loss
from kitchensinks.problem.moments import Moments, NormalEquations, copies_of
from kitchensinks.problem.targets import Batch, Classes, Numbers, Targets
from kitchensinks.solvers.path import Leaving
from kitchensinks.state.model import Model, Watch
from kitchensinks.state.outer import Outer, warn_unconverged
from kitchensinks.state.remembered import Kept, batch_of, leaving_of, left_out_errors, remembered
from kitchensinks.state.spec import Spec, alpha_unit
from kitchensinks.tables.arrays import block_slices, densify
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.keys import RowSample, row_keys

# Dtype of the sums over batches, whatever the dtype of the features.
SUMMED: DType = np.dtype(np.float64)
# Fields that predictions do not need and files do not hold.
_OF_ROWS = {"stored": False}
# Rows whose standard deviations are computed at a time.
_DEVIATION_ROWS = 2048


class Condensed(NamedTuple):
    """Sums over the distinct features, where some coincide on all rows."""

    moments: Moments
    groups: Groups


class FewRows(NamedTuple):
    """The features (as `rows`) of fewer rows than features; they are summed if more rows come."""

    batch: Batch


# What later batches, calibration and standard deviations are computed from.
Sums = Moments | Condensed | NormalEquations | FewRows | Stochastic | None


@dataclass(frozen=True, eq=False)
class State:
    """Everything that a fit leaves.

    columns: the recipe from the columns of a table to numbers, None for arrays; targets: how y
    was encoded; loss, settings: what was minimised; outer: the weights, None before they are
    solved from the sums; calibrated: the calibration, where the fit itself computes it; sums: to
    which more rows are added; sample: rows that calibrate, choose the ridge and explain; n_rows:
    the number of rows fitted or summed; kept: all rows, where the fit leaves no sums.
    """

    columns: Columns | None
    targets: Targets
    loss: Loss
    settings: Settings
    law: Law
    plan: Plan
    outer: Outer | None = None
    sums: Sums = field(default=None, metadata=_OF_ROWS)
    sample: RowSample | None = field(default=None, metadata=_OF_ROWS)
    calibrated: Calibration | Residuals | None = None
    posterior_of_few: Posterior | None = field(default=None, metadata=_OF_ROWS)
    growth: Growth | None = field(default=None, metadata=_OF_ROWS)
    n_rows: int = 0
    kept: Kept | None = field(default=None, metadata=_OF_ROWS)

    @classmethod
    def of(
        cls,
        spec: Spec,
        law: Law,
        plan: Plan,
        settings: Settings,
        fit: Fit,
        n_rows: int,
        batch: Batch | None = None,
        growth: Growth | None = None,
    ) -> "State":
        """The state of a fit; batch: all of its rows, where they are in this process."""
        state = cls(
            spec.columns,
            spec.encoding,
            spec.loss,
            settings.bare(),
            law,
            plan,
            Outer.of(fit, spec.encoding, spec.loss),
            fit.moments,
            growth=growth,
            n_rows=n_rows,
        )
        if fit.stochastic is None and not fit.solution.settled:
            warn_unconverged(state.fitted.evidence, settings.tol, settings.max_iter)
        return state if batch is None else state._of_rows(fit, batch)

    def _of_rows(self, fit: Fit, batch: Batch) -> "State":
        """Add what is computed from the rows: sums, posterior, sample and calibration."""
        state = replace(self, sums=_kept_sums(fit, batch, self.loss))
        if fit.span is not None and fit.errors is not None and isinstance(self.targets, Numbers):
            copies = copies_of(len(batch.targets), batch.weights)
            posterior = Posterior.of_span(
                fit.span, fit.errors, fit.alpha, copies, self.settings.fit_intercept
            )
            state = replace(state, posterior_of_few=posterior)
        return state.remembering(batch)._with_calibration(fit, batch)

    def __getstate__(self) -> dict[str, Any]:
        # Cached properties are computed again.
        return {one.name: getattr(self, one.name) for one in fields(self)}

    # -- weights -------------------------------------------------------------------------

    @property
    def has_rows(self) -> bool:
        """Whether any row has been fitted or summed: a frozen state has none."""
        return self.outer is not None or (isinstance(self.sums, Moments) and self.sums.weight > 0)

    @cached_property
    def fitted(self) -> Outer:
        """The weights with their evidence; solved from the sums where rows came in batches."""
        if self.outer is not None:
            return self.outer
        if not isinstance(self.sums, Moments) or not self.has_rows:
            raise NotFittedError(
                "This estimator is frozen, and has no rows of positive weight yet: call "
                "partial_fit."
            )
        errors = None if self.sample is None else self._errors_on_sample
        fit = solve_moments(self.sums, self.settings, self.law.features.dtype, errors, SUMMED)
        outer = Outer.of(fit, self.targets, self.loss)
        warn_unconverged(outer.evidence, self.settings.tol, self.settings.max_iter)
        return outer

    def _errors_on_sample(self, candidates: RidgeCandidates) -> Array:
        """Leave-one-out errors of a ridge path, as a fit has them, on the rows remembered."""
        assert self.sample is not None, "rows were remembered"
        features = densify(self.law.features.features(self.sample.rows))
        return left_out_errors(self.sample, features, candidates)

    @cached_property
    def model(self) -> Model:
        """Scaler, draw and weights."""
        law, outer = self.law, self.fitted
        return Model(law.features, outer.weights, outer.intercept, law.trend)

    @property
    def sup_norm(self) -> float:
        """max |α_k| on features divided by their bound, as in the kitchen-sinks paper."""
        largest = float(np.abs(self.fitted.weights).max(initial=0.0))
        return largest * self.law.features.scale * self.law.features.bound

    @cached_property
    def freedom(self) -> float:
        """The effective dimension Σ s/(s + α), computed lazily, on first access."""
        evidence, known = self.fitted.evidence, self._equations
        if not math.isnan(evidence.freedom) or known is None:
            return evidence.freedom
        alpha = evidence.alpha * alpha_unit(self.targets, self.loss)
        return effective_dimension(known[0].gram, alpha)

    @cached_property
    def moments(self) -> Moments | None:
        """The sums over the rows, of all features; None where the fit kept none."""
        if isinstance(self.sums, Condensed):
            return self.sums.groups.expand_moments(self.sums.moments)
        return self.sums if isinstance(self.sums, Moments) else None

    @property
    def _equations(self) -> tuple[NormalEquations, Groups | None] | None:
        """The normal equations of the fit, and the groups of features that coincided."""
        sums, intercept = self.sums, self.settings.fit_intercept
        if isinstance(sums, Condensed):
            return sums.moments.normal_equations(intercept), sums.groups
        if isinstance(sums, Moments):
            return sums.normal_equations(intercept), None
        return (sums, None) if isinstance(sums, NormalEquations) else None

    # -- answers -------------------------------------------------------------------------

    def answer(self, method: str, scores: Array) -> AnyArray:
        """The result of a prediction method for scores (n, outputs)."""
        if method == "predict_proba":
            return self.probabilities(scores)
        if method == "predict_log_proba":
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(self.probabilities(scores)))
        if not isinstance(self.targets, Classes):
            return self.targets.predictions(scores)
        if method == "predict":
            return np.asarray(self.targets.labels[self.targets.winners(scores)])
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def numbers(self, rows: Matrix) -> Matrix:
        """Checked rows of arrays as the law takes them, in which NaN is a missing value.

        By the recipe where there were missing values in the fit; else as the middle of the column.
        """
        if self.columns is not None and self.columns.n_given:
            return self.columns.of_rows(densify(rows))
        measured = self.law.features.measured
        if measured is not None:
            return measured.filled(rows)
        values = rows.data if sparse.issparse(rows) else rows
        if values.size and np.isnan(values.min()):
            raise ValueError(
                "X contains NaN, and this model does not know the means of its columns: it comes "
                "from a file of an earlier version, or from a Dask collection with "
                "standardize=False. Fill missing values in first (sklearn.impute.SimpleImputer), "
                "or fit again."
            )
        return rows

    def answer_rows(self, method: str, rows: Matrix, watch: Watch | None = None) -> AnyArray:
        """The result of a prediction method for checked rows; watch: is shown every block."""
        return self.answer(method, self.model.scores(rows, watch))

    def probabilities(self, scores: Array) -> Array:
        """The probability of every class, (n, classes)."""
        if self.loss.link == "softmax":
            return np.asarray(softmax(scores, axis=1))
        if self.loss.link == "logit":
            chance = expit(scores[:, 0])
            return np.column_stack([1.0 - chance, chance])
        if not isinstance(self.calibration, Calibration):
            raise ValueError(
                "There were too few rows to calibrate probabilities: use decision_function, or "
                "loss='logistic'."
            )
        return self.calibration.probabilities(scores)

    def deviation(self, rows: Matrix) -> Array:
        """The standard deviation of the target of each row, noise included, (n, outputs)."""
        features, posterior = self.law.features.features, self.posterior
        parts = block_slices(rows.shape[0], _DEVIATION_ROWS)
        found = [posterior.deviation(features(rows[part])) for part in parts]
        return np.concatenate(found) * self.targets.unit

    @property
    def residuals(self) -> Residuals:
        """Residuals of rows that the weights had not seen, which intervals are made of."""
        found = self.calibration
        if self.loss.link is not None:
            raise ValueError(
                f"predict_interval is not for loss={self.loss.name!r}, whose targets vary more "
                "where predictions are larger: its intervals have one width for all rows. Fit two "
                "quantiles instead, with loss=ks.losses.Quantile(0.05) and 0.95."
            )
        if not isinstance(found, Residuals):
            raise ValueError(
                "predict_interval needs residuals of rows that the weights have not seen, and a "
                f"fit by {self.fitted.evidence.solver} (constraint={self.settings.constraint!r}) "
                "has none: use solver='auto' or 'direct' without a constraint and without "
                "partial_fit, and at least two different rows."
            )
        return found

    @cached_property
    def posterior(self) -> Posterior:
        """The Bayesian reading of a squared-loss fit."""
        if not self.loss.squared or self.settings.constraint is not None:
            raise ValueError(
                "return_std needs loss='squared' without a constraint; this fit had "
                f"loss={self.loss.name!r}, constraint={self.settings.constraint!r}."
            )
        if self.posterior_of_few is not None:
            return self.posterior_of_few
        if self.moments is None:
            if self.plan.solver in ("direct", "sums"):
                raise ValueError(
                    "return_std needs the Gram matrix, which model files do not hold and "
                    "drop_sums() lets go of: fit again, or use a pickle of the fitted object."
                )
            given = "Learned(ks.Fourier())" if self.law.record else "Fourier()"
            raise ValueError(
                f"return_std needs the Gram matrix, which a fit by {self.fitted.evidence.solver} "
                f"does not form: give the basis ks.{given} with solver='direct', which forms it; "
                "the model is another one, so compare its score too."
            )
        intercept = self.settings.fit_intercept
        equations = self.moments.normal_equations(intercept)
        weights, _ = self.fitted.in_own_units(self.targets)
        return Posterior.of_equations(equations, weights, self.fitted.evidence.alpha, intercept)

    # -- calibration ---------------------------------------------------------------------

    @property
    def calibrates(self) -> bool:
        """Whether probabilities or intervals are calibrated on scores of rows not fitted."""
        return self.loss.link is None

    @cached_property
    def calibration(self) -> Calibration | Residuals | None:
        """From scores to probabilities or intervals; from sums it is computed on first access."""
        if self.calibrated is not None or not self.calibrates:
            return self.calibrated
        if isinstance(self.sums, Stochastic):
            if not self.sums.recent:
                return None
            # Scores that the last rows had before the steps that used them.
            scores, targets, weights = self.sums.seen_before()
            return calibrate(self.targets, scores, targets, weights)
        return self._calibrated_on_sample(self._left_out())

    def _left_out(self) -> LeftOut | None:
        """Leave-one-out scores by the sums of the fit, or None where there are none."""
        known = self._equations
        if known is None or self.settings.constraint is not None:
            return None
        equations, groups = known
        own = isinstance(self.sums, NormalEquations)
        fitted = self.fitted.in_own_units(self.targets)[0] if own else None
        left_out = left_out_of(equations, self.fitted.evidence.alpha, self.settings, fitted)
        if groups is not None and left_out is not None:
            left_out = groups.expand_left_out(left_out)
        return left_out

    def _with_calibration(self, fit: Fit, batch: Batch) -> "State":
        """Add the calibration if it needs scores that only the fit itself has."""
        if not self.calibrates or fit.stochastic is not None:
            return self
        unseen = self.law.unseen(self.settings)
        if unseen is not None:
            scores, targets, weights = unseen
            unit = self.targets.unit
            found = calibrate(self.targets, scores / unit, targets / unit, weights)
            return replace(self, calibrated=found)
        if fit.held_out is not None:
            places, scores = fit.held_out
            held = batch.part(places)
            keys = row_keys(held.rows, self.law.features.seed)
            leaving = Leaving.of(keys, held.targets, held.weights)
            own = None if leaving is None else leaving.weights
            found = calibrate(self.targets, scores, held.targets, held.weights, own)
            return replace(self, calibrated=found)
        if not isinstance(self.sums, Condensed | Moments | NormalEquations):
            return replace(self, calibrated=self._calibrated_on_sample(fit.left_out))
        return self

    def _calibrated_on_sample(self, left_out: LeftOut | None) -> Calibration | Residuals | None:
        """Calibrate on leave-one-out scores of the sample.

        A stream in a ball and a fit by blocks have no such scores: their probabilities are
        calibrated on fitted rows. The residuals of fitted rows would make intervals too narrow, so
        that these fits have none.
        """
        sample = self.sample
        if sample is None or not len(sample.rows) or not self.loss.squared:
            return None
        if left_out is None and not isinstance(self.targets, Classes):
            return None
        rows, targets, weights = batch_of(sample)
        leaving = leaving_of(sample)
        if left_out is None:
            scores = self.model.scores(rows)
        else:
            scores = left_out(self.law.features.features(rows), targets, leaving)
        return calibrate(self.targets, scores, targets, weights, leaving.weights)

    def remembering(self, batch: Batch) -> "State":
        """Add rows of a batch to the sample, which does not depend on how rows are batched.

        The sample calibrates squared-loss fits and chooses the ridge of rows that come in batches.
        Predictions of all fits are explained by comparison with it.
        """
        sample = remembered(batch, self.law.features.seed, self.loss.squared, self.sample)
        return replace(self, sample=sample)

    # -- what a state becomes ------------------------------------------------------------

    def with_sums(self, sums: Moments | Stochastic, batch: Batch | None) -> "State":
        """The state of larger sums: weights, calibration and deviations are computed again."""
        outer = None
        if isinstance(sums, Stochastic):
            outer = Outer.of(sums.as_fit(self.settings), self.targets, self.loss)
        state = replace(
            self,
            sums=sums,
            outer=outer,
            calibrated=None,
            posterior_of_few=None,
            kept=None,
            n_rows=self.n_rows + (0 if batch is None else len(batch.targets)),
        )
        return state if batch is None else state.remembering(batch)

    def small(self) -> "State":
        """The part that predictions need, small enough to be sent to workers."""
        return replace(
            self,
            outer=self.fitted,
            calibrated=self.calibration,
            sums=None,
            sample=None,
            posterior_of_few=None,
            kept=None,
        )

    def difference(self, other: "State") -> str | None:
        """Why the sums of two states cannot be added, or None."""
        prints = [one.columns and one.columns.fingerprint() for one in (self, other)]
        if prints[0] != prints[1]:
            return "recipe for the columns"
        if self.settings.fit_intercept != other.settings.fit_intercept:
            return "fit_intercept"
        if type(self.targets) is not type(other.targets):
            return "kind of targets"
        # Both are classes, or both are numbers.
        coded = self.targets.difference(other.targets)  # type: ignore[arg-type]
        drawn = self.law.features.difference(other.law.features)
        # Name the cause first: class weights also change the scaler, regression targets do not.
        return coded or drawn if isinstance(self.targets, Classes) else drawn or coded


def _kept_sums(fit: Fit, batch: Batch, loss: Loss) -> Sums:
    """What a fit keeps for later batches."""
    if fit.stochastic is not None:
        steps: Stochastic = fit.stochastic
        return steps
    if fit.moments is not None:
        return fit.moments if fit.groups is None else Condensed(fit.moments, fit.groups)
    if fit.sampled is not None:
        return fit.sampled
    if fit.span is not None and loss.squared:
        return FewRows(batch._replace(rows=fit.span.rows))
    return None
