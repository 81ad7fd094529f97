"""When a claim of a paper holds: one rule for all of them.

A claim is put to one or more checks, and each check scores 1, ½ or 0:

- `Near`, a number: 1 where |ours − paper| ≤ max(2·sd, tolerance), or where ours is on the better
  side; ½ within three times that; else 0. sd is the deviation over seeds, the paper's included.
- `Below`, an order: 1 where mean(low) < mean(high); ½ where it is not, but the difference is within
  two standard errors of the seeds; else 0.
- `Ratio`, a factor: 1 where mean(high)/mean(low) is at least `least`, and at most `most` where that
  is given; ½ where it is still above 1; else 0.

All checks at 1: the claim holds. A mean score of ½ or more: it holds in part. Less: it does not
hold.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# One number per seed.
Values = Sequence[float] | np.ndarray

HOLDS, IN_PART, FAILS = "holds", "holds in part", "does not hold"


def spread(values: Values) -> tuple[float, float]:
    """Mean, and standard deviation (of a sample; 0 for one value)."""
    if not len(values):
        raise ValueError("no values: the report asks for cells that the grid does not have.")
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    return mean, math.sqrt(squares / (len(values) - 1)) if len(values) > 1 else 0.0


class Check(ABC):
    """Something that can be read off the results."""

    label: str

    @abstractmethod
    def score(self) -> float:
        """1, ½ or 0."""

    @abstractmethod
    def ours_in_words(self) -> str:
        """What was measured."""

    def better(self) -> bool:
        """Whether ours is clearly better than the paper's number."""
        return False

    def told(self) -> str:
        """What was measured, after the label."""
        return f"{self.label}: {self.ours_in_words()}" if self.label else self.ours_in_words()


@dataclass(frozen=True)
class Near(Check):
    """Ours is the paper's number, or better than it.

    `side` names the better one, "lower" or "higher"; None: a difference counts both ways.
    """

    ours: Values
    paper: float
    tolerance: float
    side: str | None = None
    paper_spread: float = 0.0
    label: str = ""
    against: str = "paper"

    def score(self) -> float:
        excess = self._excess()
        return 1.0 if excess <= 1 else 0.5 if excess <= 3 else 0.0

    def ours_in_words(self) -> str:
        mean, deviation = spread(self.ours)
        shown = f"{mean:.4g} ± {deviation:.2g}" if len(self.ours) > 1 else f"{mean:.4g}"
        return f"{shown} ({self.against} {self.paper:.4g})"

    def better(self) -> bool:
        return self._excess() < -1

    def _excess(self) -> float:
        """ours − paper in units of what is allowed; below 0 on the better side."""
        mean, deviation = spread(self.ours)
        allowed = max(2 * math.hypot(deviation, self.paper_spread), self.tolerance)
        away = (mean - self.paper) / allowed
        return {"lower": away, "higher": -away, None: abs(away)}[self.side]


@dataclass(frozen=True)
class Below(Check):
    """One quantity of ours lies below another: mean(low) < mean(high)."""

    low: Values
    high: Values
    label: str = ""

    def score(self) -> float:
        (low, low_sd), (high, high_sd) = spread(self.low), spread(self.high)
        if low < high:
            return 1.0
        error = math.sqrt(low_sd**2 / len(self.low) + high_sd**2 / len(self.high))
        return 0.5 if low - high <= 2 * error else 0.0

    def ours_in_words(self) -> str:
        return f"{spread(self.low)[0]:.4g} against {spread(self.high)[0]:.4g}"


@dataclass(frozen=True)
class Ratio(Check):
    """The factor between two quantities of ours: mean(high)/mean(low)."""

    high: Values
    low: Values
    least: float
    most: float = math.inf
    label: str = ""

    def score(self) -> float:
        ratio = self._ratio()
        return 1.0 if self.least <= ratio <= self.most else 0.5 if ratio > 1 else 0.0

    def ours_in_words(self) -> str:
        return f"{self._ratio():.3g} times"

    def _ratio(self) -> float:
        return spread(self.high)[0] / spread(self.low)[0]


@dataclass(frozen=True)
class Claim:
    """What a paper says, the checks that it is put to, and why where it does not hold."""

    text: str
    checks: Sequence[Check]
    why: str = ""

    def verdict(self) -> str:
        """By the rule above."""
        scores = [check.score() for check in self.checks]
        if not scores:
            raise ValueError(f"the claim {self.text!r} has no checks.")
        if min(scores) == 1.0:
            return HOLDS
        return IN_PART if sum(scores) >= len(scores) / 2 else FAILS

    def facts(self) -> dict[str, Any]:
        """The claim as plain text and numbers."""
        verdict = self.verdict()
        return {
            "claim": self.text,
            "verdict": verdict,
            "better": any(check.better() for check in self.checks),
            "checks": [{"ours": check.told(), "score": check.score()} for check in self.checks],
            "why": self.why if verdict != HOLDS else "",
        }
