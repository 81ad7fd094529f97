"""Maps of the columns and the scales learned on them: the law of one kernel."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import pdist

from kitchensinks.features.bases import Basis, Binning, Fourier
from kitchensinks.features.scaling import Warp, identity, warp
from kitchensinks.law.scales import Scales, learn_scales
from kitchensinks.law.task import Task
from kitchensinks.numerics.threads import in_order, single_blas
from kitchensinks.numerics.warps import LINEAR, MIX, QUANTILE, SQUASH

# Short runs that compare maps.
_SHORT_STEPS, SHORT_BATCH = 16, 256
# Directions are learned and made orthogonal in spaces of at most so many: that takes d³.
MOST_TURNED = 1000
_MAPS: dict[str, tuple[int, bool]] = {
    "standard": (LINEAR, False),
    "squash": (SQUASH, False),
    "quantile": (QUANTILE, False),
    "mix": (MIX, False),
    "common": (LINEAR, True),
}
# Maps that are tried on wide tables (True) and on others.
_TRIED = {False: ("squash", "standard", "mix", "quantile"), True: ("squash", "common", "mix")}
# The one map of columns that are not to be standardised.
_AS_IS = "as is"


@dataclass(frozen=True)
class Found:
    """A map with learned scales in its factors, and what made it."""

    kernel: str
    map: str
    warp: Warp
    law: Scales

    def basis(self, sparse: bool) -> Basis:
        if sparse:
            return Binning(gamma=1.0)
        if self.kernel == "gaussian" and self.warp.width <= MOST_TURNED:
            return Fourier(gamma=1.0, form="paired", projection="orthogonal")
        return Fourier(kernel=self.kernel, gamma=1.0)


def tried_maps(task: Task) -> tuple[str, ...]:
    """The maps that are compared."""
    return _TRIED[task.wide] if task.request.standardize else (_AS_IS,)


def allowed(task: Task, *names: str) -> tuple[str, ...]:
    """These maps, each once, or the columns as they come where they must stay so."""
    return tuple(dict.fromkeys(names)) if task.request.standardize else (_AS_IS,)


def mapped(task: Task, name: str) -> Warp:
    """A map of the columns with equal scales."""
    if name == _AS_IS:
        return identity(task.n_inputs)
    return warp(task.spread, task.sample, *_MAPS[name])


def learn(
    task: Task, kernel: str, name: str, steps: int, batch: int, near: Scales | None = None
) -> Found:
    """Scales of one kernel on one map of the columns, from equal ones or from half-way to `near`.

    Half-way, because small batches let columns go that few rows speak for.
    """
    plain = mapped(task, name)
    # As many rows as the batches can use.
    end = len(task.held) + max(2000, steps * batch)
    rows = plain.apply(task.pool[len(task.held) : end], np.float32)
    few = plain.apply(task.sample[: 300 if task.wide else 500], np.float32)
    distance = pdist(few, "cityblock" if kernel == "laplacian" else "euclidean")
    typical = float(np.median(distance[distance > 0])) if (distance > 0).any() else 1.0
    start = np.full(task.n_inputs, 1.0 / typical)
    if near is not None:
        start = np.sqrt(start * near.scales)
    with single_blas():
        law = learn_scales(task.batches(rows), start, [batch] * steps, kernel, task.hot)
    return Found(kernel, name, plain.times(law.scales), law)


def short_runs(task: Task, kernel: str, names: tuple[str, ...]) -> list[tuple[float, Found]]:
    """Each map with the scales of a short run, over the same batches, and its leave-one-out error;
    the least error first."""

    batch = min(SHORT_BATCH, task.largest_batch)

    def short(name: str) -> Found:
        return learn(task, kernel, name, _SHORT_STEPS, batch)

    scores = []
    runs = list(in_order(short, names))
    for name, found in zip(names, runs, strict=True):
        error = float(np.mean(found.law.errors[-_SHORT_STEPS // 3 :]))
        task.note("map", f"{kernel}, {name}", batch, error)
        scores.append((error, found))
    return sorted(scores, key=lambda score: score[0])


def settled(task: Task, found: Found) -> Found:
    """The scales of a map by a longer run on larger batches."""
    batch = task.batch_size(found.kernel)
    return learn(task, found.kernel, found.map, task.work.steps, batch, found.law)
