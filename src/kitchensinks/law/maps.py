"""Maps of the columns, and the scales that are learned on them for each kernel."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.base import clone

from kitchensinks.features.bases import Basis, Binning, Fourier, Linear
from kitchensinks.features.scaling import Warp, every, identity, warp
from kitchensinks.law import constants
from kitchensinks.law.scales import Batches, descend
from kitchensinks.law.task import LearningRows
from kitchensinks.numerics.arrays import Floats
from kitchensinks.numerics.warps import LINEAR, MIX, QUANTILE, SQUASH

_MAPS: dict[str, tuple[int, bool]] = {
    "standard": (LINEAR, False),
    "squash": (SQUASH, False),
    "quantile": (QUANTILE, False),
    "mix": (MIX, False),
    "common": (LINEAR, True),
}
# Maps that are tried for each kernel on wide tables (True) and on others.
_TRIED = {
    ("laplacian", False): ("squash", "mix", "standard", "quantile"),
    ("gaussian", False): ("squash", "standard"),
    ("laplacian", True): ("squash", "common", "mix"),
    ("gaussian", True): ("squash", "common"),
}
# The map of a plain law, which standardises columns of zeros and ones too.
EVERY = "every"
# The one map of columns that are not to be standardised.
_AS_IS = "as is"


@dataclass(frozen=True)
class Found:
    """A map of the columns, and the scales (members, d) that its members have learned on it.

    A column whose scale is zero for all members is dropped by the warp.

    errors : held-out error of every step of a descent, or of every round of directions.
    scaling : "learned", "equal" for all columns, or "half learned": half-way between.
    start : (d,) the scales that the descents of members begin with; None where there are none.
    """

    kernel: str
    map: str
    warp: Warp
    scales: Floats
    errors: Floats
    scaling: str = "learned"
    start: Floats | None = None

    def features(
        self, sparse: bool, factor: float, given: Basis | None = None
    ) -> tuple[Warp, Basis]:
        """Scaler and basis of features whose scales are the learned ones times a factor.

        One member's scales are those of the scaler. Of several, each draw takes one, so that the
        kernel is the mean of theirs. given: the basis of the user, whose gamma is replaced; where
        it has one gamma for all columns, the scaler has the mean of the members' scales.
        """
        gamma: float | list[list[float]] = 1.0
        if len(self.scales) > 1 and (given is None or given.gamma_by_column):
            scaler, gamma = self.warp, self.gammas(factor)
        else:
            scaler = self.warp.times(factor * self.mean_scales)
        if given is not None:
            return scaler, clone(given).set_params(gamma=gamma)
        if self.kernel == "linear":
            return self.warp, Linear()
        if sparse:
            return scaler, Binning(gamma=gamma)
        if self.kernel == "gaussian" and self.warp.width <= constants.MOST_TURNED:
            return scaler, Fourier(gamma=gamma, form="paired", projection="orthogonal")
        return scaler, Fourier(kernel=self.kernel, gamma=gamma)

    def gammas(self, factor: float) -> list[list[float]]:
        """γ of each member and column: a Gaussian kernel multiplies squared distances."""
        scales = factor * self.scales[:, self.scales.any(axis=0)]
        gammas: list[list[float]] = (scales**2 if self.kernel == "gaussian" else scales).tolist()
        return gammas

    @property
    def mean_scales(self) -> Floats:
        """The geometric mean of the members' scales, (d,)."""
        if len(self.scales) == 1:
            return np.asarray(self.scales[0])
        with np.errstate(divide="ignore"):
            return np.asarray(np.exp(np.log(self.scales).mean(axis=0)))

    @property
    def has_bandwidth(self) -> bool:
        """Whether a factor of the scales changes the features."""
        return self.kernel != "linear"

    @property
    def run_error(self) -> float:
        """The mean held-out error of the last steps or rounds; infinite where there were none."""
        last = self.errors[-constants.SHORT_COUNTED :]
        return float(np.mean(last)) if len(last) else math.inf

    @property
    def title(self) -> str:
        """Map and scales, as trials name them."""
        return self.map if self.scaling == "learned" else f"{self.map}, {self.scaling} scales"


def tried_maps(task: LearningRows, kernel: str) -> tuple[str, ...]:
    """The maps that are compared."""
    if not task.request.standardize:
        return (_AS_IS,)
    names = _TRIED[kernel, task.wide][: task.effort.maps]
    # Columns of 0 and 1 are not mapped: if there are no others, all maps are equal.
    return names[:1] if task.hot.all() else names


def allowed(task: LearningRows, *names: str) -> tuple[str, ...]:
    """These maps without repetitions, or the identity with standardize=False."""
    return tuple(dict.fromkeys(names)) if task.request.standardize else (_AS_IS,)


def mapped(task: LearningRows, name: str) -> Warp:
    """A map of the columns with equal scales."""
    if name == _AS_IS:
        return identity(task.n_inputs)
    if name == EVERY:
        return every(task.spread, task.request.unscaled)
    return warp(task.spread, task.sample, *_MAPS[name])


def _batches(task: LearningRows, plain: Warp, rows: int, member: int = 0) -> Batches:
    """Batches of mapped rows; `rows`: how many they use at most."""
    end = len(task.held) + max(2000, rows)
    return task.batches(plain.apply(task.pool[len(task.held) : end], np.float32), member)


def plain_map(task: LearningRows) -> str:
    """The map that an estimator has where its basis is given."""
    (name,) = allowed(task, EVERY if task.hot.any() else "standard")
    return name


def even(task: LearningRows, kernel: str, name: str) -> Found:
    """The plain law of a kernel: equal scales, one over the median distance; "linear": ones."""
    plain, scales = mapped(task, name), np.ones(task.n_inputs)
    if kernel != "linear":
        scales = _even_scales(task, kernel, plain)
    return Found(kernel, name, plain, scales[None, :], np.empty(0), "equal")


def _even_scales(task: LearningRows, kernel: str, plain: Warp) -> Floats:
    """One over the median distance of rows, for every column."""
    few = plain.apply(task.sample[: 300 if task.wide else 500], np.float32)
    distance = pdist(few, "cityblock" if kernel == "laplacian" else "euclidean")
    typical = float(np.median(distance[distance > 0])) if (distance > 0).any() else 1.0
    return np.full(task.n_inputs, 1.0 / typical)


def short_run(task: LearningRows, tried: tuple[str, str]) -> Found:
    """A (kernel, map) with the scales of a short run; all runs see the same batches."""
    kernel, name = tried
    batch, steps = min(constants.SHORT_BATCH, task.largest_batch), constants.SHORT_STEPS
    plain = mapped(task, name)
    start, batches = _even_scales(task, kernel, plain), _batches(task, plain, steps * batch)
    scales, errors = descend(kernel, start, batches, steps, batch, task.hot)
    found = Found(kernel, name, plain, scales[None, :], errors)
    task.note("map", f"{kernel}, {name}", batch, found.run_error)
    return found


def learn_scales(task: LearningRows, founds: list[Found]) -> list[Found]:
    """The scales of each map by a longer run on larger batches: the first member of the law.

    The runs begin half-way between equal scales and those of the short run, because small batches
    shrink the scales of columns that matter for few rows.
    """
    starts = [
        np.sqrt(_even_scales(task, found.kernel, found.warp) * found.scales[0]) for found in founds
    ]
    begun = [replace(found, start=start) for found, start in zip(founds, starts, strict=True)]
    runs = _descents(task, [(found, 0) for found in begun])
    return [replace(found, scales=run[None, :]) for found, run in zip(begun, runs, strict=True)]


def with_members(task: LearningRows, found: Found) -> Found:
    """The same law with the scales of all members, each learned from batches of its own."""
    more = range(1, task.effort.members)
    if found.start is None or not more:
        return found
    runs = _descents(task, [(found, member) for member in more])
    return replace(found, scales=np.stack([found.scales[0], *runs]))


def _descents(task: LearningRows, jobs: list[tuple[Found, int]]) -> list[Floats]:
    """The scales of each map and member; each descent has an equal share of the time left."""
    steps, last = task.effort.steps, constants.LATE_SCALES
    begun = min(task.used, last)

    def run(own: LearningRows, job: tuple[int, tuple[Found, int]]) -> Floats:
        place, (found, member) = job
        end = begun + (place + 1) / len(jobs) * (last - begun)
        if own.late(end):
            return np.asarray(found.scales[0])
        batch = own.batch_size(found.kernel)
        batches = _batches(own, found.warp, steps * batch, member)
        assert found.start is not None, "a descent begins somewhere"
        limits = own.hot, lambda: own.late(end)
        return descend(found.kernel, found.start, batches, steps, batch, *limits).scales

    return task.together(run, enumerate(jobs))
