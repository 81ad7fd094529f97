"""From predictions to prediction intervals: residuals of rows that the weights had not seen."""

import math
from dataclasses import dataclass

import numpy as np

from kitchensinks.problem.losses import Array

# Levels that differ by less than this share of a row are the same.
_ROUNDING = 1e-9


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
            most = (self.count - 1.0) / (self.count + 1.0)
            raise ValueError(
                f"coverage={coverage:g} needs the residuals of {math.ceil(level / (1.0 - level))} "
                f"rows, and this fit has those of {self.count:.0f}: ask for {max(most, 0.0):.3g} "
                "at most, or fit more rows."
            )
        return -self._reached(-self.values, share), self._reached(self.values, share)

    def _reached(self, values: Array, share: float) -> Array:
        """The smallest value of each column that so large a share of the weight does not exceed."""
        order = np.argsort(values, axis=0, kind="stable")
        held = np.cumsum(self.weights[order], axis=0) / self.weights.sum()
        place = np.minimum((held < share - _ROUNDING / self.count).sum(axis=0), len(values) - 1)
        columns = np.arange(values.shape[1])
        return np.asarray(values[order[place, columns], columns])


def check_coverage(coverage: float) -> float:
    """A number between zero and one, or an error."""
    if not 0.0 < coverage < 1.0:
        raise ValueError(
            f"coverage={float(coverage):g}: need a number between 0 and 1, such as 0.9."
        )
    return float(coverage)
