"""When a claim of a paper holds: one rule for all of them.

A claim is put to one or more checks, and each check scores 1, ½ or 0:

- `near`, a number: 1 where |ours − paper| ≤ max(2·sd, tolerance), or where ours is on the better
  side; ½ within three times that; else 0. sd is the deviation over seeds, the paper's included.
- `below`, an order: 1 where mean(low) < mean(high); ½ where it is not, but the difference is within
  two standard errors of the seeds; else 0.
- `ratio`, a factor: 1 where mean(high)/mean(low) is at least `least`, and at most `most` where that
  is given; ½ where it is still above 1; else 0.

All checks at 1: the claim holds. A mean score of ½ or more: it holds in part. Less: it does not
hold.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

# One number per seed.
Values = Sequence[float] | np.ndarray

HOLDS, IN_PART, FAILS = "holds", "holds in part", "does not hold"


def spread(values: Values) -> tuple[float, float]:
    """Mean and sample standard deviation (0 for one value)."""
    if not len(values):
        raise ValueError("no values: the report asks for cells that the grid does not have.")
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    return mean, math.sqrt(squares / (len(values) - 1)) if len(values) > 1 else 0.0


def log_slope(across: Values, up: Values) -> float:
    """The slope of log `up` against log `across`, by least squares."""
    return float(np.polyfit(np.log(across), np.log(up), 1)[0])


class Check(NamedTuple):
    """One comparison: what was measured, in words; its score; whether ours is clearly better."""

    ours: str
    score: float
    better: bool = False


def near(
    ours: Values,
    paper: float,
    tolerance: float,
    side: str | None = None,
    paper_spread: float = 0.0,
    label: str = "",
    against: str = "paper",
) -> Check:
    """Ours is the paper's number, or better than it.

    `side` names the better one, "lower" or "higher"; None: a difference counts both ways.
    """
    mean, deviation = spread(ours)
    shown = f"{mean:.4g} ± {deviation:.2g}" if len(ours) > 1 else f"{mean:.4g}"
    # The difference in units of what is allowed; below 0 on the better side.
    away = (mean - paper) / max(2 * math.hypot(deviation, paper_spread), tolerance)
    excess = {"lower": away, "higher": -away, None: abs(away)}[side]
    score = 1.0 if excess <= 1 else 0.5 if excess <= 3 else 0.0
    return Check(_labelled(label, f"{shown} ({against} {paper:.4g})"), score, excess < -1)


def below(low: Values, high: Values, label: str = "") -> Check:
    """One quantity of ours lies below another: mean(low) < mean(high)."""
    (least, low_sd), (most, high_sd) = spread(low), spread(high)
    error = math.sqrt(low_sd**2 / len(low) + high_sd**2 / len(high))
    score = 1.0 if least < most else 0.5 if least - most <= 2 * error else 0.0
    return Check(_labelled(label, f"{least:.4g} against {most:.4g}"), score)


def ratio(
    high: Values, low: Values, least: float, most: float = math.inf, label: str = ""
) -> Check:
    """The factor between two quantities of ours: mean(high)/mean(low)."""
    factor = spread(high)[0] / spread(low)[0]
    score = 1.0 if least <= factor <= most else 0.5 if factor > 1 else 0.0
    return Check(_labelled(label, f"{factor:.3g} times"), score)


def _labelled(label: str, text: str) -> str:
    return f"{label}: {text}" if label else text


@dataclass(frozen=True)
class Claim:
    """What a paper says, the checks that decide it, and the reason where it does not hold."""

    text: str
    checks: Sequence[Check]
    why: str = ""

    def verdict(self) -> str:
        """The verdict by the rule of this module."""
        scores = [check.score for check in self.checks]
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
            "better": any(check.better for check in self.checks),
            "checks": [{"ours": check.ours, "score": check.score} for check in self.checks],
            "why": self.why if verdict != HOLDS else "",
        }
