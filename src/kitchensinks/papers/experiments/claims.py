"""When a claim of a paper holds: one rule for all of them, stated before the runs.

A claim is put to one or more checks. A check is one or two statements "this mean is positive", its
edges, each put to a t-test with the standard error of the mean over seeds:

- `below`, an order: mean(high − low) > 0, paired by seed where both have the same seeds, else by
  Welch's test.
- `near`, a number: ours − (paper − tolerance) > 0 and (paper + tolerance) − ours > 0; with a better
  side, the other edge alone. The tolerance is stated, and does not widen with our spread.
- `ratio`, a factor: the mean of log(high/low) lies above log(least), and below log(most) where that
  is given; paired in the same way.

A check holds where every edge is positive at the two-sided level of 5 %, does not hold where one is
negative at that level, and is undecided otherwise. A claim holds where all of its checks hold. It
does not hold where one of its c checks fails at the level of 5 %/c. What is neither is undecided,
with the number of seeds that would decide it if mean and deviation stayed as they are; where the
error of a printed number is too large for that, none would. With one seed nothing is decided. A
number that is given as such, and not as a list, has no error.

Claims of our own, and those that are true by construction of our own data, are shown and not
counted.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

# One number per seed, or a number that is stated.
Values = Sequence[float] | np.ndarray
Measured = Values | float

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"
LEVEL = 0.05
# Seeds of a printed deviation: the maxout paper and the thesis have five.
PAPER_SEEDS = 5
# Nobody will run more seeds than this.
_MOST_SEEDS = 10_000


def spread(values: Values) -> tuple[float, float]:
    """Mean and sample standard deviation (0 for one value)."""
    if not len(values):
        raise ValueError("no values: the report asks for cells that the grid does not have.")
    return fmean(values), stdev(values) if len(values) > 1 else 0.0


def log_slope(across: Values, up: Values) -> float:
    """The slope of log `up` against log `across`, by least squares."""
    return float(np.polyfit(np.log(across), np.log(up), 1)[0])


class Edge(NamedTuple):
    """A mean that should be positive, its standard error (None for one seed), degrees of freedom,
    and the number of seeds (0: nothing was measured). `printed` is the part of the error that is
    the paper's own."""

    mean: float
    error: float | None
    freedom: float
    seeds: int
    printed: float = 0.0

    @property
    def chance(self) -> float:
        """The two-sided p-value of a mean this far from zero."""
        if self.error is None:
            return 1.0
        if self.error == 0.0:
            return 1.0 if self.mean == 0.0 else 0.0
        return float(2 * stats.t.sf(abs(self.mean) / self.error, self.freedom))

    def enough(self, level: float = LEVEL) -> int | None:
        """The seeds at which the same mean and deviation are significant; None: no number known.

        More seeds lower our own part of the error alone.
        """
        if self.error is None or self.mean == 0.0:
            return None
        deviation = math.sqrt(max(0.0, self.error**2 - self.printed**2) * self.seeds)
        count = max(2, self.seeds)
        while count <= _MOST_SEEDS:
            error = math.hypot(deviation / math.sqrt(count), self.printed)
            if abs(self.mean) >= error * stats.t.ppf(1 - level / 2, count - 1):
                return count
            count += max(1, count // 50)
        return None


class Check(NamedTuple):
    """One comparison: what was measured, in words; its edges; whether ours is clearly better."""

    ours: str
    edges: tuple[Edge, ...]
    better: bool = False

    @property
    def positive(self) -> bool:
        return all(edge.mean > 0 for edge in self.edges)

    def verdict(self, level: float = LEVEL) -> str:
        """What the edges say; `level` is that of a failure."""
        if any(edge.mean < 0 and edge.chance < level for edge in self.edges):
            return FAILS
        sure = self.positive and all(edge.chance < LEVEL for edge in self.edges)
        return HOLDS if sure else UNDECIDED

    @property
    def seeds(self) -> int | None:
        """Seeds that would decide it, of the edges that are open; None: no number known."""
        counts = [edge.enough() for edge in self.edges if edge.chance >= LEVEL]
        return None if None in counts else max(filter(None, counts), default=None)

    def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = {"ours": self.ours, "verdict": self.verdict()}
        if found["verdict"] == UNDECIDED:
            found |= {"seeds": self.seeds, "open": self.why_open}
        return found

    def refuting(self, share: int) -> dict[str, Any]:
        """The seeds at which a check that fails at 5 % refutes a claim of `share` checks."""
        counts = [edge.enough(LEVEL / share) for edge in self.edges if edge.mean < 0]
        seeds = min(filter(None, counts), default=None)
        told = f"{seeds} seeds would refute the claim" if seeds else "no number of seeds is known"
        return {"seeds": seeds, "open": f"at 5 %, but not at 5 %/{share}: {told}"}

    @property
    def why_open(self) -> str:
        """What an undecided check lacks, in words."""
        found = [edge for edge in self.edges if edge.chance >= LEVEL]
        if any(edge.seeds == 0 for edge in found):
            return "seeds do not decide what is not reached"
        if any(edge.error and edge.printed > 0.0 and edge.enough() is None for edge in found):
            return "the paper's own error is too large for any number of seeds"
        if any(edge.error == edge.mean == 0.0 for edge in found):
            return "equal in every run"
        if any(edge.error is None for edge in found):
            return "the spread of one seed is not known: two or more are needed"
        if self.seeds is None:
            return f"more than {_MOST_SEEDS:,} seeds would be needed"
        return f"{self.seeds} seeds would decide"


def near(
    ours: Values,
    paper: Measured,
    tolerance: float,
    side: str | None = None,
    paper_spread: float = 0.0,
    label: str = "",
    against: str = "paper",
) -> Check:
    """Ours is the paper's number, or better than it.

    `side` names the better one, "lower" or "higher"; None: a difference counts both ways. In place
    of the paper's number, another quantity of ours may stand, one number per seed.
    """
    away = _edge(ours, paper)
    if away.error is not None:
        printed = paper_spread / math.sqrt(PAPER_SEEDS)
        away = away._replace(error=math.hypot(away.error, printed), printed=printed)
    under = away._replace(mean=tolerance - away.mean)
    over = away._replace(mean=tolerance + away.mean)
    edges = {"lower": (under,), "higher": (over,), None: (under, over)}[side]
    other = {"lower": over, "higher": under, None: None}[side]
    better = other is not None and other.mean < 0 and other.chance < LEVEL
    text = f"{_mean(ours):.4g} ({against} {_mean(paper):.4g}){_of(away)}"
    return Check(_labelled(label, text), edges, better)


def below(low: Measured, high: Measured, label: str = "") -> Check:
    """One quantity of ours lies below another: mean(high − low) > 0."""
    edge = _edge(high, low)
    means = [_mean(part) for part in (low, high)]
    return Check(_labelled(label, f"{means[0]:.4g} against {means[1]:.4g}{_of(edge)}"), (edge,))


def ratio(
    high: Measured, low: Measured, least: float, most: float = math.inf, label: str = ""
) -> Check:
    """The factor between two quantities of ours, as the mean of log(high/low) over seeds."""
    if not (np.isfinite(high).all() and np.isfinite(low).all()):
        # One of them was never reached, whatever the seed.
        return Check(_labelled(label, "not reached by both"), (Edge(-1.0, None, 1.0, 0),))
    edge = _edge(*(float(np.log(x)) if np.ndim(x) == 0 else np.log(x) for x in (high, low)))
    edges = [edge._replace(mean=edge.mean - math.log(least))]
    if math.isfinite(most):
        edges.append(edge._replace(mean=math.log(most) - edge.mean))
    text = f"{math.exp(edge.mean):.3g} times{_of(edge, 'log ')}"
    return Check(_labelled(label, text), tuple(edges))


def _mean(values: Measured) -> float:
    return spread(np.atleast_1d(np.asarray(values, dtype=float)))[0]


def _edge(high: Measured, low: Measured) -> Edge:
    """mean(high − low): paired where there are as many of both, or one is a stated number."""
    high, low = np.asarray(high, float), np.asarray(low, float)
    if high.ndim and low.ndim and len(high) != len(low):
        return _welch(high, low)
    differences = np.atleast_1d(high - low)
    (mean, deviation), count = spread(differences), len(differences)
    if count == 1:
        return Edge(mean, None, 1.0, 1)
    return Edge(mean, deviation / math.sqrt(count), count - 1.0, count)


def _welch(high: np.ndarray, low: np.ndarray) -> Edge:
    """mean(high) − mean(low) of unequal numbers of seeds, by Welch's test."""
    mean, fewest = spread(high)[0] - spread(low)[0], min(len(high), len(low))
    if fewest == 1:
        return Edge(mean, None, 1.0, 1)
    squares = [spread(own)[1] ** 2 / len(own) for own in (high, low)]
    parts = sum(s**2 / (len(own) - 1) for s, own in zip(squares, (high, low), strict=True))
    freedom = sum(squares) ** 2 / parts if parts else fewest - 1.0
    return Edge(mean, math.sqrt(sum(squares)), freedom, fewest)


def _of(edge: Edge, kind: str = "") -> str:
    if edge.error is None:
        return " (one seed)"
    return f" ({kind}difference ± {edge.error:.2g}, {edge.seeds} seeds)"


def _labelled(label: str, text: str) -> str:
    return f"{label}: {text}" if label else text


@dataclass(frozen=True)
class Claim:
    """What a paper says, the checks that decide it, and the reason where it does not hold.

    kind: "paper"; "ours", of an extension that no paper claims; or "construction", true because
    of how our own data are made. Those of a paper alone are counted.
    """

    text: str
    checks: Sequence[Check]
    why: str = ""
    kind: str = "paper"

    def verdict(self) -> str:
        """The verdict by the rule of this module."""
        if not self.checks:
            raise ValueError(f"the claim {self.text!r} has no checks.")
        if self.kind == "construction":
            # Our own data make it so: there is nothing to be sampled.
            return HOLDS if all(check.positive for check in self.checks) else FAILS
        if any(check.verdict(LEVEL / len(self.checks)) == FAILS for check in self.checks):
            return FAILS
        return HOLDS if all(check.verdict() == HOLDS for check in self.checks) else UNDECIDED

    def facts(self) -> dict[str, Any]:
        verdict = self.verdict()
        if self.kind == "construction":
            signs = {True: HOLDS, False: FAILS}
            checks = [{"ours": c.ours, "verdict": signs[c.positive]} for c in self.checks]
        else:
            checks = [check.facts() for check in self.checks]
        if verdict == UNDECIDED:
            for check, found in zip(self.checks, checks, strict=True):
                if found["verdict"] == FAILS:
                    found |= check.refuting(len(self.checks))
        return {
            "claim": self.text,
            "kind": self.kind,
            "verdict": verdict,
            "better": any(check.better for check in self.checks),
            "checks": checks,
            "why": self.why if verdict != HOLDS else "",
        }
