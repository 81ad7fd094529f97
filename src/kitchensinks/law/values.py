"""The law of a fit, the request for it, and the record of how it was learned."""

import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kitchensinks.features.frozen import Frozen
from kitchensinks.features.trend import Trend
from kitchensinks.fitting.settings import Progress, Settings, silent
from kitchensinks.law.splits import NO_ORDER, Order
from kitchensinks.numerics.arrays import Floats
from kitchensinks.numerics.choices import first_least
from kitchensinks.problem.targets import Batch

# Maps of the columns in words.
_MAPS = {
    "standard": "standardised",
    "squash": "standardised and squashed",
    "quantile": "ranked",
    "mix": "squashed and ranked (the mean of both)",
    "every": "standardised, those of 0 and 1 too",
    "common": "centred, with one deviation for all",
    "as is": "taken as they come",
}


def what_of(kernel: str, sparse: bool, trees: bool) -> str:
    """The name of the components of a trial."""
    if trees:
        return "grids and trees"
    return "grids" if sparse else f"{kernel} features"


def short_name(basis: Any) -> str:
    """A basis on one line; a table of learned scales is named and not printed."""
    text = " ".join(basis.__repr__(N_CHAR_MAX=10**7).split())
    text = re.sub(r"\[\[.*?\]\]", "learned", text)
    return re.sub(r"array\(learned(, shape=\([^)]*\))?(, dtype=\w+)?\)", "learned", text)


@dataclass(frozen=True)
class Request:
    """What a fit asks of a law.

    n_components : the number of draws K; None lets the law decide (1000 for a given basis); with
        "auto", K is grown after a given basis is resolved, and a learned law decides itself.
    dtype : of the features; None: float64 for a given basis, float64 rows and n·K ≤ 2²³ where rows
        come at once, else float32.
    standardize : False takes the columns as they come.
    names : (d,) of the columns, or None.
    unscaled : (d,) True where a column must not be standardised (`Columns.unscaled`), or None.
    memory : bytes that a fit may use.
    stream : rows come in batches; then only dense features are tried.
    classes : the targets are class codes: positive in the column of the row's class.
    stages : a fit in two stages, or with trees, may be chosen: squared loss with alpha="auto", no
        constraint and solver="auto".
    alpha : the ridge strength of squared loss where it is given: trials have it too.
    trend : a line may go on outside of the range of the rows (numbers, and a loss of y − u alone).
    unit : that of the encoded targets, in units of the targets as they came.
    order : what is known of the groups and times of the rows.
    working : a function of the targets (`Loss.working`): the law is learned by the squared error of
        its result. None: of the targets.
    progress : called with a line of text after each trial, and with about how many percent of
        learning are done.
    started : when the fit began, by the monotonic clock.
    """

    seed: int
    n_components: int | str | None = None
    dtype: Any = None
    standardize: bool = True
    names: Sequence[str] | None = None
    unscaled: NDArray[np.bool_] | None = None
    memory: float = 2e9
    stream: bool = False
    classes: bool = False
    stages: bool = False
    alpha: float | None = None
    trend: bool = False
    unit: float = 1.0
    order: Order = NO_ORDER
    working: Callable[[Floats], Floats] | None = None
    progress: Progress = silent
    started: float = field(default_factory=lambda: time.monotonic())


@dataclass(frozen=True)
class Trial:
    """One trial: what was tried, on how many rows, and its error.

    error : squared error in units of the targets' variance: of rows that small batches hold out
        where maps are compared, of the pool's held-out rows in all other trials.
    """

    stage: str
    what: str
    rows: int
    error: float


@dataclass(frozen=True, eq=False)
class Record:
    """How a law was learned.

    map : of the columns ("squash", …).
    kernel : whose scales were learned, "laplacian" or "gaussian"; "linear" for a linear model.
    members : how many times, each time from other batches.
    factor : multiplies the learned scales.
    scales : (d,) learned by descent, the geometric mean of the members'; equal where rows are
        rotated.
    importances : (d,) each column's share of the distance between rows.
    trials : all trials, in order.
    reason : why there are not more components.
    scaling : "learned" scales, "equal" ones for all columns (the plain law, or a linear model), or
        "half learned": the geometric mean of both.
    trees : whether leaves of trees are among the bins.
    """

    map: str
    kernel: str
    members: int
    factor: float
    scales: Floats
    importances: Floats
    trials: tuple[Trial, ...]
    reason: str
    scaling: str = "learned"
    trees: bool = False

    @property
    def uniform(self) -> bool:
        """Whether the importances say nothing: standardised columns that all have one scale."""
        return self.scaling == "equal" and self.map in ("standard", "every")

    @property
    def map_in_words(self) -> str:
        turn, _, name = self.map.rpartition("-turned ")
        return _MAPS[name] + (f" and turned along their {turn}" if turn else "")


class UnseenScores(NamedTuple):
    """Scores and targets (n, outputs) of rows that the law had not seen, and weights (n,).

    In units of the targets as they came: another fit may encode them in another unit.
    """

    scores: Floats
    targets: Floats
    weights: Floats | None


@dataclass(frozen=True, eq=False, repr=False)
class Law:
    """The law of the features of a fit: scaler, basis, seed and K, given or learned.

    features : scaler, resolved basis, seed and K.
    ridge : λ = α·n of squared loss, where it was chosen with the law; n counts the rows of positive
        weight. NaN where the fit is to choose it.
    second : λ of the second stage of a fit in two stages, or NaN.
    record : how the law was learned, or None for a given one.
    note : why the basis was used with its own law although one was to be learned, or "".
    trend : the line that goes on outside of the range, in units of the targets as they came; the
        features fit what it leaves. Or None.
    held : what calibrates a fit whose features have seen the targets of its rows, or None.

    Examples
    --------
    >>> from kitchensinks.features.bases import Fourier
    >>> Law(Frozen(None, Fourier(gamma=0.5), 7, 3, 100, np.dtype(np.float32)))
    Law: Fourier(gamma=0.5), 100 components, seed 7
    columns are taken as they come
    """

    features: Frozen
    ridge: float = math.nan
    second: float = math.nan
    record: Record | None = None
    note: str = ""
    trend: Trend | None = None
    held: UnseenScores | None = None

    def left(self, batch: Batch, unit: float) -> Batch:
        """The rows with targets (encoded in a unit) minus the trend; the features fit these."""
        return batch if self.trend is None else batch.less(self.trend.in_units(unit).values)

    def unseen(self, settings: Settings) -> UnseenScores | None:
        """`held`, if it calibrates a fit with these settings: of the loss and the ridge that the
        trials had."""
        own = settings.loss.squared and settings.least_gain > 0.0
        return self.held if own else None

    def alphas(self, n_rows: int) -> tuple[float | None, float | None]:
        """α of the fit and of its second stage for `n_rows` rows of positive weight, or None.

        >>> from kitchensinks.features.bases import Fourier
        >>> frozen = Frozen(None, Fourier(gamma=0.5), 7, 3, 100, np.dtype(np.float32))
        >>> Law(frozen, ridge=0.1).alphas(1000)
        (0.0001, None)
        """
        first, second = (
            None if math.isnan(ridge) else ridge / n_rows for ridge in (self.ridge, self.second)
        )
        return first, second

    def __repr__(self) -> str:
        features = self.features
        basis = short_name(features.basis)
        pairs = " of two features" if features.basis.features_per_draw == 2 else ""
        count = f"{features.n_components} components{pairs}"
        if self.record is None:
            plain = _MAPS["as is" if features.scaler is None else "standard"]
            lines = [f"Law: {basis}, {count}, seed {features.seed}", f"columns are {plain}"]
            return "\n".join([*lines, self.note] if self.note else lines)
        return "\n".join([f"Law: learned {basis}, {count}", *self._learned(self.record)])

    def _learned(self, record: Record) -> list[str]:
        kept = self._kept(record)
        width = max([len(trial.what) for trial in record.trials], default=5)
        table = [
            f"{'*' if trial in kept else ' '} {trial.stage:6}  {trial.what:{width}}  "
            f"{trial.rows:7}  {trial.error:.4f}"
            for trial in record.trials
        ]
        lines = [f"map: {record.map}, columns are {record.map_in_words}"]
        # A basis with its own bandwidth has neither factor nor ridge.
        if not math.isnan(self.ridge):
            second = "" if math.isnan(self.second) else f", then {self.second:.3g}"
            members = f" of {record.members} members" if record.members > 1 else ""
            lines.append(
                f"{record.scaling} scales{members} times {record.factor:.3g}, "
                f"ridge {self.ridge:.3g}{second} (alpha times rows, for squared loss)"
            )
        lines += [
            "error: squared, in units of the targets' variance, of rows held out (of small batches",
            "where maps are compared). * was kept: the candidate with the least error expected",
            "with all the components it may have, or with a clearly lower log loss.",
            f"  {'stage':6}  {'tried':{width}}  {'rows':>7}  error",
        ]
        if self.trend is not None:
            where = self.trend.in_words()
            lines.insert(1, f"trend: a line goes on outside of the range of column {where}")
        return [*lines, *table, record.reason]

    def _kept(self, record: Record) -> list[Trial]:
        """The trials of the map that was kept, and the best of the last trials of the basis."""
        maps = [
            trial
            for trial in record.trials
            if trial.stage == "map" and trial.what.split(", ")[:2] == [record.kernel, record.map]
        ]
        if not math.isnan(self.second):
            return maps + [trial for trial in record.trials if trial.stage == "stages"]
        # A basis with a bandwidth of its own was not tried: others have compared the maps.
        if math.isnan(self.ridge):
            return maps
        own = self._own_trials(record)
        for stage in ("ridge", "trees", "again", "basis"):
            last = [one for one in own if one.stage == stage]
            if last:
                return [*maps, last[first_least([one.error for one in last])]]
        return maps

    def _own_trials(self, record: Record) -> list[Trial]:
        """The trials of the components, the map and the scaling that were kept."""
        name = what_of(record.kernel, self.features.basis.sparse, record.trees)
        scaling = "factor" if record.scaling == "learned" else f"{record.scaling} scales,"
        # Few rows compare exact kernels, whatever the features of the last fit are.
        names = [f" {name}", f"exact {record.kernel} features"]
        names = [f"{one}, {record.map}, {scaling}" for one in names]
        return [one for one in record.trials if any(name in one.what for name in names)]
