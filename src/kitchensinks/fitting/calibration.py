"""From scores to probabilities, or to intervals of numbers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, softmax

from kitchensinks.fitting.residuals import Residuals
from kitchensinks.problem.targets import Classes, Targets

Array = NDArray[np.float64]

# The largest slope, bend and tail: probabilities of any score are then finite.
STEEPEST = 1e6


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
