"""What a fit leaves: one value, pickled, saved, shipped, exported and forgotten by its fields."""

import math
import warnings
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from kitchensinks.fitting.calibration import Calibration
from kitchensinks.fitting.condense import Groups
from kitchensinks.fitting.growth import Growth
from kitchensinks.fitting.plan import Plan
from kitchensinks.fitting.posterior import Posterior
from kitchensinks.fitting.settings import Settings
from kitchensinks.fitting.space import Fit, LeftOut
from kitchensinks.fitting.squared import effective_dimension, left_out_of, solve_moments
from kitchensinks.fitting.stochastic import Stochastic
from kitchensinks.law import Law
from kitchensinks.problem.losses import Array, Loss
from kitchensinks.problem.moments import Moments, NormalEquations, copies_of
from kitchensinks.problem.targets import Batch, Classes, Targets
from kitchensinks.solvers.path import leaving_weights
from kitchensinks.state.model import Model
from kitchensinks.tables import block_slices
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.keys import RowSample, row_keys

# Rows that are remembered to calibrate probabilities.
_REMEMBERED = 2000
# Entries of the rows that are remembered.
_REMEMBERED_ENTRIES = 2**21
# Rows whose standard deviations are computed at a time.
_DEVIATION_ROWS = 2048


class Evidence(NamedTuple):
    """How well the weights solve the problem, in the units of the targets.

    The objective is at most `gap` above the least there is. alphas, alpha_errors: the ridge path
    that alpha was chosen from, or None; condition, freedom: of the Gram with its ridge, NaN where
    unknown; noise: the rounding error of the Gram.
    """

    solver: str
    objective: float
    gap: float
    converged: bool
    iterations: int
    alpha: float
    alphas: Array | None = None
    alpha_errors: Array | None = None
    condition: float = math.nan
    freedom: float = math.nan
    noise: float = 0.0


class Outer(NamedTuple):
    """The outer weights (columns, outputs) and intercept (outputs,) in the units of the targets."""

    weights: Array
    intercept: Array
    evidence: Evidence

    @classmethod
    def of(cls, fit: Fit, targets: Targets, degree: int) -> "Outer":
        unit, solution = targets.unit, fit.solution
        alpha_unit = unit if degree == 1 else 1.0

        def in_loss_units(value: Any) -> Any:
            # Unit by unit, so that no power of it overflows.
            with np.errstate(over="ignore"):
                for _ in range(degree):
                    value = value * unit
            return value

        errors = fit.alpha_errors
        evidence = Evidence(
            solution.solver,
            float(in_loss_units(solution.objective)),
            float(in_loss_units(solution.gap)),
            solution.converged,
            max(1, solution.iterations),
            fit.alpha / alpha_unit,
            None if fit.alphas is None else fit.alphas / alpha_unit,
            None if errors is None else in_loss_units(errors),
            fit.condition,
            fit.freedom,
            fit.noise,
        )
        return cls(fit.weights * unit, fit.intercept * unit + targets.centre, evidence)

    def in_own_units(self, targets: Targets) -> tuple[Array, Array]:
        """Weights and intercept in the units of the encoded targets."""
        return self.weights / targets.unit, (self.intercept - targets.centre) / targets.unit


class Condensed(NamedTuple):
    """Sums over the different features alone, where some coincided."""

    moments: Moments
    groups: Groups


class FewRows(NamedTuple):
    """Features of fewer rows than there are of them: sums are made of them if more rows come in."""

    features: Any
    targets: Array
    weights: Array | None


# What a later batch of rows, a calibration or a standard deviation goes on from.
Sums = Moments | Condensed | NormalEquations | FewRows | Stochastic | None


@dataclass(frozen=True, eq=False)
class State:
    """Everything that a fit leaves.

    columns: the recipe from the columns of a table to numbers, None for arrays; targets: how y
    was encoded; loss, settings: what was minimised; outer: the weights, None where they are to be
    solved from the sums; calibrated: from scores to probabilities, where that was found with the
    weights; sums: what more rows are added to; sample: rows remembered to calibrate with.
    """

    columns: Columns | None
    targets: Targets
    loss: Loss
    settings: Settings
    law: Law
    plan: Plan
    outer: Outer | None = None
    sums: Sums = None
    sample: RowSample | None = None
    calibrated: Calibration | None = None
    posterior_of_few: Posterior | None = None
    growth: Growth | None = None
    n_rows: int = 0

    @classmethod
    def of(
        cls,
        columns: Columns | None,
        targets: Targets,
        loss: Loss,
        law: Law,
        plan: Plan,
        settings: Settings,
        fit: Fit,
        batch: Batch,
        growth: Growth | None = None,
    ) -> "State":
        """What to keep of a fit to rows that came at once."""
        state = cls(
            columns,
            targets,
            loss,
            settings.bare(),
            law,
            plan,
            Outer.of(fit, targets, loss.degree),
            _kept_sums(fit, batch, loss),
            growth=growth,
            n_rows=len(batch.targets),
        )
        if fit.span is not None and fit.errors is not None and not isinstance(targets, Classes):
            copies = copies_of(len(batch.targets), batch.weights)
            posterior = Posterior.of_span(
                fit.span, fit.errors, fit.alpha, copies, settings.fit_intercept
            )
            state = replace(state, posterior_of_few=posterior)
        if fit.stochastic is None and not fit.solution.settled:
            warn_unconverged(state.fitted.evidence, settings.tol)
        return state.remembering(batch)._with_calibration(fit, batch)

    def __getstate__(self) -> dict[str, Any]:
        # What was derived from the fields is derived again.
        return {field.name: getattr(self, field.name) for field in fields(self)}

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
        fit = solve_moments(self.sums, self.settings, self.law.features.dtype)
        outer = Outer.of(fit, self.targets, self.loss.degree)
        warn_unconverged(outer.evidence, self.settings.tol)
        return outer

    @cached_property
    def model(self) -> Model:
        """Scaler, draw and weights."""
        return Model(self.law.features, self.fitted.weights, self.fitted.intercept)

    @property
    def sup_norm(self) -> float:
        """max |α_k| on features divided by their bound, as in the kitchen-sinks paper."""
        largest = float(np.abs(self.fitted.weights).max(initial=0.0))
        return largest * self.law.features.scale * self.law.features.bound

    @cached_property
    def freedom(self) -> float:
        """The effective dimension Σ s/(s + α), computed when it is first asked for."""
        evidence = self.fitted.evidence
        gram = self._equations
        if not math.isnan(evidence.freedom) or gram is None:
            return evidence.freedom
        unit = self.targets.unit if self.loss.degree == 1 else 1.0
        return effective_dimension(gram[0].gram, evidence.alpha * unit)

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

    def answer(self, method: str, scores: Array) -> NDArray[Any]:
        """What a method of the estimator makes of scores (n, outputs)."""
        if method == "predict_proba":
            return self.probabilities(scores)
        if method == "predict_log_proba":
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(self.probabilities(scores)))
        if not isinstance(self.targets, Classes):
            return self.targets.shaped(scores)
        if method == "predict":
            return np.asarray(self.targets.labels[self.targets.winners(scores)])
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def probabilities(self, scores: Array) -> Array:
        """The probability of every class, (n, classes)."""
        if self.loss.link == "softmax":
            return np.asarray(softmax(scores, axis=1))
        if self.loss.link == "logit":
            chance = expit(scores[:, 0])
            return np.column_stack([1.0 - chance, chance])
        if self.calibration is None:
            raise ValueError(
                "There were too few rows to calibrate probabilities: use decision_function, or "
                "loss='logistic'."
            )
        return self.calibration.probabilities(scores)

    def deviation(self, rows: Any) -> Array:
        """The standard deviation of the target of each row, noise included, (n, outputs)."""
        features, posterior = self.law.features.features, self.posterior
        parts = block_slices(rows.shape[0], _DEVIATION_ROWS)
        found = [posterior.deviation(features(rows[part])) for part in parts]
        return np.concatenate(found) * self.targets.unit

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
            raise ValueError(
                "return_std needs the Gram matrix, which solver "
                f"{self.fitted.evidence.solver!r} does not form (use solver='direct') and model "
                "files do not hold (fit again)."
            )
        intercept = self.settings.fit_intercept
        equations = self.moments.normal_equations(intercept)
        weights, _ = self.fitted.in_own_units(self.targets)
        return Posterior.of_equations(equations, weights, self.fitted.evidence.alpha, intercept)

    # -- calibration ---------------------------------------------------------------------

    @property
    def calibrates(self) -> bool:
        """Whether probabilities are a calibrated function of the scores."""
        return isinstance(self.targets, Classes) and self.loss.link is None

    @cached_property
    def calibration(self) -> Calibration | None:
        """From scores to probabilities; from the sums, it is found when it is first asked for."""
        if self.calibrated is not None or not self.calibrates:
            return self.calibrated
        if isinstance(self.sums, Stochastic):
            if not self.sums.recent:
                return None
            # Scores that the last rows had before the steps that used them.
            scores, targets, weights = self.sums.seen_before()
            return Calibration.fit(scores, targets > 0, weights)
        return self._calibrated_on_sample(self._left_out())

    def _left_out(self) -> LeftOut | None:
        """Leave-one-out scores by the sums of the fit, or None where there are none."""
        known = self._equations
        if known is None or self.settings.constraint is not None:
            return None
        equations, groups = known
        fitted = self.fitted.weights if isinstance(self.sums, NormalEquations) else None
        left_out = left_out_of(equations, self.fitted.evidence.alpha, self.settings, fitted)
        if groups is not None and left_out is not None:
            left_out = groups.expand_left_out(left_out)
        return left_out

    def _with_calibration(self, fit: Fit, batch: Batch) -> "State":
        """With the calibration that only the fit itself can give: later, its scores are gone."""
        if not self.calibrates or fit.stochastic is not None:
            return self
        if fit.held_out is not None:
            places, scores = fit.held_out
            held = batch.part(places)
            keys = row_keys(held.rows, self.law.features.seed)
            leaving = leaving_weights(keys, held.targets, held.weights)
            found = Calibration.fit(scores, held.targets > 0, held.weights, leaving)
            return replace(self, calibrated=found)
        if self._equations is None:
            return replace(self, calibrated=self._calibrated_on_sample(fit.left_out))
        return self

    def _calibrated_on_sample(self, left_out: LeftOut | None) -> Calibration | None:
        """By leave-one-out scores of the rows remembered; in a ball, which has none, by scores."""
        sample = self.sample
        if sample is None or not len(sample.rows):
            return None
        targets, leaving = sample.notes, self._leaving(sample)
        if left_out is None:
            scores = self.model.scores(sample.rows)
        else:
            features = self.law.features.features(sample.rows)
            scores = left_out(features, targets, leaving)
        return Calibration.fit(scores, targets > 0, sample.weights, leaving)

    def _leaving(self, sample: RowSample) -> Array:
        """The weight that leaves with each remembered row, as `leaving_weights` of all rows.

        An entry of the sample has the weight of all copies. Where content repeats with different
        targets each row leaves alone, and the mean weight of a row stands for its own.
        """
        different = len(np.unique(row_keys(sample.rows, sample.seed)))
        if different == len(sample.rows):
            return sample.weights
        known = self._equations
        if known is not None:
            mean = known[0].weight / known[0].count
        else:
            own = self.sums.weights if isinstance(self.sums, FewRows) else None
            mean = 1.0 if own is None else float(own[own > 0].mean())
        return np.asarray(np.minimum(sample.weights, mean))

    def remembering(self, batch: Batch) -> "State":
        """With some rows of a batch in the sample, whichever batches they come in."""
        if not (self.calibrates and self.loss.squared):
            return self
        sample = sample_of(batch, self.law.features.seed, self.sample)
        return replace(self, sample=sample)

    # -- what a state becomes ------------------------------------------------------------

    def with_sums(self, sums: Moments | Stochastic, batch: Batch | None) -> "State":
        """With more rows in the sums: weights, calibration and deviations are solved anew."""
        outer = None
        if isinstance(sums, Stochastic):
            outer = Outer.of(sums.as_fit(self.settings), self.targets, self.loss.degree)
        state = replace(self, sums=sums, outer=outer, calibrated=None, posterior_of_few=None)
        return state if batch is None else state.remembering(batch)

    def small(self) -> "State":
        """All that predicting needs: small enough to be sent around."""
        return replace(
            self,
            outer=self.fitted,
            calibrated=self.calibration,
            sums=None,
            sample=None,
            posterior_of_few=None,
        )

    def difference(self, other: "State") -> str | None:
        """What keeps the sums of two states apart, or None."""
        prints = [one.columns and one.columns.fingerprint() for one in (self, other)]
        if prints[0] != prints[1]:
            return "recipe for the columns"
        if self.settings.fit_intercept != other.settings.fit_intercept:
            return "fit_intercept"
        if type(self.targets) is not type(other.targets):
            return "kind of targets"
        found = self.law.features.difference(other.law.features)
        # Both are classes, or both are numbers.
        return found or self.targets.difference(other.targets)  # type: ignore[arg-type]


def _kept_sums(fit: Fit, batch: Batch, loss: Loss) -> Sums:
    """What a fit keeps to go on from."""
    if fit.stochastic is not None:
        stochastic: Stochastic = fit.stochastic
        return stochastic
    if fit.moments is not None:
        return fit.moments if fit.groups is None else Condensed(fit.moments, fit.groups)
    if fit.sampled is not None:
        return fit.sampled
    if fit.span is not None and loss.squared:
        return FewRows(fit.span.rows, batch.targets, batch.weights)
    return None


def sample_of(
    batch: Batch,
    seed: int,
    sample: RowSample | None = None,
    limit: int = _REMEMBERED,
    entries: int = _REMEMBERED_ENTRIES,
) -> RowSample:
    """A sample of rows, with targets as notes, added to `sample`."""
    n_inputs = batch.rows.shape[1]
    limit = min(limit, max(100, entries // n_inputs))
    for part in block_slices(len(batch.targets), max(1, entries // n_inputs)):
        own = batch.part(part)
        highest = None if sample is None else sample.highest
        found = RowSample.of(own.rows, own.weights, limit, seed, own.targets, highest)
        sample = found if sample is None else sample.merge(found)
    assert sample is not None
    return sample


def warn_unconverged(evidence: Evidence, tol: float) -> None:
    """Say so where a solver stopped before it was as near as it should be."""
    if not evidence.converged:
        share = evidence.gap / max(evidence.objective, 1e-300)
        warnings.warn(
            f"{evidence.solver} stopped after {evidence.iterations} iterations with a relative gap "
            f"of {share:.2g}, above tol={tol}. Raise max_iter or tol, or alpha.",
            ConvergenceWarning,
            stacklevel=4,
        )
