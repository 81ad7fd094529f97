"""What adaptation is asked to do, and what it has tried, kept and why it stopped."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from kitchensinks.features.bases.base import check_count, check_positive
from kitchensinks.law.values import Law, Trial

Floats = NDArray[np.float64]

# Maps of the columns in words.
_MAPS = {
    "standard": "standardised",
    "squash": "standardised and squashed",
    "quantile": "ranked",
    "mix": "squashed and ranked (their mean)",
    "common": "centred (one deviation for all)",
}

LAWS = ("ard", "agop")


class Adapt(BaseEstimator):
    """Settings of the learning of the law, for ``adapt=``.

    Parameters
    ----------
    law : "ard": a scale for each column, by descent on leave-one-out error, and directions beside
        them in wide tables; "agop": scales (or directions, see `rank`) from the average gradient
        outer product of a fitted function.
    steps : steps of "ard", each on a batch of its own; rounds of fit and gradient of "agop" are
        a seventh of it.
    batch : rows of a batch, at most (half of it for smooth kernels and wide tables); a quarter of
        the table where that is less, but 300.
    seconds : what the last fit may cost, on a machine that makes 10⁸ features a second, or None
        for 1.5 and 0.3 for each million entries of the table. It limits the number of components,
        and so no clock has a part in the result.
    rank : "agop" only: the number of learned directions that the rows are turned to (fewer where
        the others matter to nothing), or None to scale the columns as they are.

    Examples
    --------
    >>> import kitchensinks as ks
    >>> ks.Adapt(seconds=10)
    Adapt(seconds=10)
    """

    def __init__(
        self,
        law: str = "ard",
        steps: int = 20,
        batch: int = 1000,
        seconds: float | None = None,
        rank: int | None = None,
    ) -> None:
        self.law = law
        self.steps = steps
        self.batch = batch
        self.seconds = seconds
        self.rank = rank

    def check(self) -> None:
        """An error that names the setting that makes no sense."""
        if self.law not in LAWS:
            raise ValueError(f"law={self.law!r}: need one of {', '.join(map(repr, LAWS))}.")
        check_count("steps", self.steps)
        if self.steps > 1000:
            raise ValueError(
                f"steps={self.steps}: need 1 to 1000. The scales settle within about 20; raise "
                "batch for more exact ones."
            )
        check_count("batch", self.batch)
        if not 16 <= self.batch <= 5000:
            raise ValueError(
                f"batch={self.batch}: need 16 to 5000 rows, because each step inverts a matrix of "
                "that size."
            )
        if self.seconds is not None:
            check_positive("seconds", self.seconds)
        if self.rank is not None:
            check_count("rank", self.rank)
            if self.law != "agop":
                raise ValueError(f"rank={self.rank} is for law='agop': need that, or no rank.")


def check_adapt(adapt: Any) -> Adapt | None:
    """The settings named by ``adapt=``, or None where it names none."""
    if adapt is None or adapt is False:
        return None
    if isinstance(adapt, str):
        if adapt not in LAWS:
            raise ValueError(f"adapt={adapt!r}: need 'ard', 'agop', ks.Adapt(...), None or False.")
        return Adapt(law=adapt)
    if not isinstance(adapt, Adapt):
        raise TypeError(f"adapt={adapt!r}: need 'ard', 'agop', ks.Adapt(...), None or False.")
    adapt.check()
    return adapt


@dataclass(frozen=True, eq=False)
class Adaptation:
    """What was learned, from what, and why it stopped.

    map: of the columns ("squash", …); basis, n_components, factor (of the learned scales) and
    ridge (of the kernel, α times the rows) are what the trials chose; scales (d,) the law, equal
    ones where rows are turned; importances (d,) each column's share of the distance between rows;
    trials all that was tried; second the ridge of a second stage on bins, fitted to what the first
    leaves, or NaN.
    """

    map: str
    basis: str
    n_components: int
    factor: float
    ridge: float
    scales: Floats
    importances: Floats
    trials: tuple[Trial, ...]
    reason: str
    second: float = math.nan

    @classmethod
    def of(cls, law: Law) -> "Adaptation":
        record, features = law.record, law.features
        assert record is not None, "the law was learned"
        return cls(
            record.map,
            repr(features.basis),
            features.n_components,
            record.factor,
            law.ridge,
            record.scales,
            record.importances,
            record.trials,
            record.reason,
            law.second,
        )

    def __repr__(self) -> str:
        kept = self._kept()
        basis = " ".join(self.basis.split())
        pairs = " of two features" if "paired" in basis else ""
        width = max([len(trial.what) for trial in self.trials], default=5)
        table = [
            f"{'*' if trial in kept else ' '} {trial.stage:6}  {trial.what:{width}}  "
            f"{trial.rows:7}  {trial.error:.4f}"
            for trial in self.trials
        ]
        lines = [
            f"Adaptation: kept {basis}, {self.n_components} components{pairs}",
            f"map: {self.map}, columns are {self._map_in_words()}",
        ]
        # A basis with a bandwidth of its own has neither.
        if not math.isnan(self.ridge):
            second = "" if math.isnan(self.second) else f", then {self.second:.3g}"
            lines.append(
                f"learned scales times {self.factor:.3g}, ridge {self.ridge:.3g}{second} "
                "(alpha times rows, for squared loss)"
            )
        lines += [
            "error: squared, in units of the targets' variance; leave-one-out in short runs that",
            "compare maps, held-out elsewhere. * was kept; bases are compared by what they would",
            "reach with all the components they may have, or by a log loss that is clearly lower.",
            f"  {'stage':6}  {'tried':{width}}  {'rows':>7}  error",
        ]
        return "\n".join([*lines, *table, self.reason])

    def _map_in_words(self) -> str:
        turn, _, name = self.map.rpartition("-turned ")
        return _MAPS[name] + (f" and turned along their {turn}" if turn else "")

    def _kept(self) -> list[Trial]:
        """The trials of the map that was kept, and the best of the last ones of the basis."""
        by_columns = any(name in self.basis for name in ("Binning", "laplacian", "cauchy"))
        kernel = "laplacian" if by_columns else "gaussian"
        maps = [
            trial
            for trial in self.trials
            if trial.stage == "map" and trial.what.split(", ")[:2] == [kernel, self.map]
        ]
        if self.basis.startswith("Union"):
            return maps + [trial for trial in self.trials if trial.stage == "stages"]
        name = "grids" if self.basis.startswith("Binning") else f"{kernel} features"
        name = f" {name}, {self.map},"
        for stage in ("ridge", "again", "basis"):
            last = [one for one in self.trials if one.stage == stage and name in one.what]
            if last:
                return [*maps, min(last, key=lambda trial: trial.error)]
        return maps
