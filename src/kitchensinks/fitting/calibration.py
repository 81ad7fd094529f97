"""From scores to probabilities, or to intervals of numbers."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, softmax

from kitchensinks.problem.losses import Array
from kitchensinks.problem.targets import Classes, Targets

# The largest slope, bend and tail: probabilities of any score are then finite.
STEEPEST = 1e6
# Levels that differ by less than this share of a row are the same.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Calibration:
    """P(class) ∝ exp(g(score)), g(s) = slope·s + bend·s³ + tail·t(s) with slope, bend, tail ≥ 0.

    Temperature scaling (Guo et al. 2017) with more terms: g is rising, so the most probable class
    is always the one with the largest score, and for squared loss, whose score is 2p − 1, the first
    two terms are those of logit p = 2s + ⅔s³ + …. The last, t(s) = log(log(1 + exp(15(1 + s)))/30),
    is log p = log((1 + s)/2) down to s = −1, and a line below: it tells classes apart that are
    unlikely and very unlikely, and is there for three or more classes. Fitted by likelihood to
    scores of rows that the weights had not seen. A single output means two classes,
    1/(1 + exp(−g)).
    """

    slope: float
    bend: float
    unit: float
    tail: float = 0.0

    @classmethod
    def fit(
        cls,
        scores: Array,
        positive: NDArray[np.bool_],
        weights: Array | None,
        leaving: Array | None = None,
    ) -> "Calibration":
        """scores and positive (n, outputs): does the row belong to the output's class?

        leaving (n,): the weight of a row with its copies, where weights (n,) are sums over rows or
        rows have copies.
        """
        weights = np.ones(len(scores)) if weights is None else weights
        total = float(weights.sum())
        unit = float(np.sqrt(weights @ np.square(scores).mean(axis=1) / max(total, 1e-300))) or 1.0
        scaled = np.clip(scores / unit, -20.0, 20.0)
        # Platt's softened targets: no finite number of rows makes anything certain. Rows without
        # their copies are counted, so that a factor common to all weights does not matter.
        own, counted = weights if leaving is None else leaving, weights > 0
        soft = 1.0 / (float(np.sum(weights[counted] / own[counted])) + 2.0)

        terms = [scaled, scaled**3]
        if scaled.shape[1] > 1:
            terms.append(_unlikely(scores))

        def loss(point: Array) -> tuple[float, Array]:
            logits = sum(share * term for share, term in zip(point, terms, strict=True))
            if scaled.shape[1] == 1:
                wanted = np.where(positive, 1.0 - soft, soft)
                value = np.logaddexp(0.0, logits) - wanted * logits
                pull = expit(logits) - wanted
            else:
                wanted = np.where(positive, 1.0 - soft, soft / (scaled.shape[1] - 1))
                value = logsumexp(logits, axis=1, keepdims=True) - np.sum(
                    wanted * logits, axis=1, keepdims=True
                )
                pull = softmax(logits, axis=1) - wanted
            weighted = weights[:, None] * pull / total
            gradient = np.array([np.sum(weighted * term) for term in terms])
            return float(weights @ value[:, 0]) / total, gradient

        bounds = [(1.0 / STEEPEST, STEEPEST), (0.0, STEEPEST), (0.0, STEEPEST)][: len(terms)]
        start = np.array([1.0, 0.0, 0.0])[: len(terms)]
        found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B")
        slope, bend, *rest = found.x.tolist()
        return cls(slope, bend, unit, *rest)

    def probabilities(self, scores: Array) -> Array:
        """Shape (n, classes); two columns for a single output."""
        scaled = np.clip(scores / self.unit, -1e3, 1e3)
        logits = self.slope * scaled + self.bend * scaled**3
        if self.tail > 0.0:
            logits = logits + self.tail * _unlikely(scores)
        if logits.shape[1] == 1:
            chance = expit(logits[:, 0])
            return np.column_stack([1.0 - chance, chance])
        return np.asarray(softmax(logits, axis=1))


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals y − f₋(x) of rows, f₋ being a fit that had not seen the row.

    The interval of coverage c about a prediction is [f(x) + q⁻, f(x) + q⁺], with q⁺ the
    ⌈(1 + c)/2·(m + 1)⌉-th smallest of m residuals and q⁻ the one at the same place from below.
    Where f₋ is f itself (split conformal prediction, Lei et al. 2018, Theorem 2.2) and rows are
    exchangeable, a new target lies inside with probability c at least. Where f₋ leaves one row out
    and f none, this is the jackknife, whose coverage tends to c for fits that one row hardly
    changes (Steinberger and Leeb 2023), as the ridge makes them.

    values (m, outputs), in the units of the targets; weights (m,); count: the rows without copies.
    """

    values: Array
    weights: Array
    count: float

    @classmethod
    def of(cls, values: Array, weights: Array | None, leaving: Array | None = None) -> "Residuals":
        """leaving (m,): the weight of a row with its copies, where weights (m,) are sums of them.

        >>> Residuals.of(np.arange(-2.0, 3.0)[:, None], None).count
        5.0
        """
        weights = np.ones(len(values)) if weights is None else weights
        counted = weights > 0
        own = weights if leaving is None else leaving
        count = float(np.sum(weights[counted] / own[counted]))
        return cls(values[counted], weights[counted], count)

    def offsets(self, coverage: float) -> tuple[Array, Array]:
        """q⁻ and q⁺ of each output, (outputs,).

        >>> low, high = Residuals.of(np.arange(-9.0, 10.0)[:, None], None).offsets(0.9)
        >>> low.tolist(), high.tolist()
        ([-9.0], [9.0])
        """
        level = 0.5 * (1.0 + coverage)
        share = level * (self.count + 1.0) / self.count
        if share > 1.0 + _ROUNDING:
            most = max((self.count - 1.0) / (self.count + 1.0), 0.0)
            raise ValueError(
                f"coverage={coverage:g} needs the residuals of {math.ceil(level / (1.0 - level))} "
                f"rows, and this fit has those of {self.count:.0f}: ask for "
                f"{math.floor(1e4 * most) / 1e4:g} at most, or fit more rows (many fits keep the "
                "residuals of 2000 at most)."
            )
        return -self._reached(-self.values, share), self._reached(self.values, share)

    def _reached(self, values: Array, share: float) -> Array:
        """The smallest value of each column that so large a share of the weight does not exceed."""
        order = np.argsort(values, axis=0, kind="stable")
        held = np.cumsum(self.weights[order], axis=0) / self.weights.sum()
        place = np.minimum((held < share - _ROUNDING / self.count).sum(axis=0), len(values) - 1)
        columns = np.arange(values.shape[1])
        return np.asarray(values[order[place, columns], columns])


def check_coverage(coverage: Any) -> float:
    if not (isinstance(coverage, float | int | np.number) and 0.0 < coverage < 1.0):
        came = repr(str(coverage)) if isinstance(coverage, str) else coverage
        raise ValueError(f"coverage={came}: need a number between 0 and 1, such as 0.9.")
    return float(coverage)


def calibrate(
    targets: Targets,
    scores: Array,
    coded: Array,
    weights: Array | None,
    leaving: Array | None = None,
) -> Calibration | Residuals:
    """What scores of rows that the weights had not seen say of those to come.

    scores and coded targets (n, outputs); weights (n,) and leaving (n,) as `Calibration.fit` has
    them. Classes get probabilities, and numbers the residuals that intervals are made of.
    """
    if isinstance(targets, Classes):
        return Calibration.fit(scores, coded > 0, weights, leaving)
    return Residuals.of((coded - scores) * targets.unit, weights, leaving)


def _unlikely(scores: Array) -> Array:
    """t(s), between −20 and 20."""
    within = np.clip(scores, -20.0, 20.0)
    return np.asarray(np.log(np.logaddexp(0.0, 15.0 * (1.0 + within)) / 30.0))
