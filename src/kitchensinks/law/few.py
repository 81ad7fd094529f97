"""Few rows, or more columns than scales are learned for: laws compared by cross-validation.

Of few rows, too few can be held out to tell laws apart: each of them is held out in turn, in folds.
The contenders are

- the linear model, k(x, z) = x·z, on standardised columns;
- the plain laws: equal scales on standardised columns, or on columns with one deviation for all;
- learned laws: in every fold, scales are learned from the rows that are fitted there, for those
  columns that go with the targets of these rows best; also half-way between equal and learned.

They are compared with exact kernels, which few rows allow: fitted rows with the kernel matrix K about
its mean have the scores k(x)'·(K + λI)⁻¹·(y − ȳ) + ȳ. Factor and ridge are those of the least error
over all folds. The scales that the folds have learned are the members of the law that is kept.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import clone

from kitchensinks.features.bases import Basis
from kitchensinks.features.trend import Trend
from kitchensinks.law import constants
from kitchensinks.law.candidates import Limit, affordable
from kitchensinks.law.learned import Learned
from kitchensinks.law.maps import Found, allowed, even, mapped, settled, short_run, tried_maps
from kitchensinks.law.splits import folds_of
from kitchensinks.law.task import Task
from kitchensinks.law.trend import find_trend
from kitchensinks.law.trials import HeldOut, climb, preferred
from kitchensinks.law.values import Request
from kitchensinks.numerics.distances import cityblock, squared_euclidean
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.problem.losses import Array
from kitchensinks.problem.targets import Batch

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


class Kept(NamedTuple):
    """What won: its law, factor and ridge λ = α·n, the components of a fit, and all trials.

    trend: the line that goes on outside of the range, or None.
    """

    task: Task
    found: Found
    factor: float
    ridge: float
    limit: Limit
    trend: Trend | None


class _Score(NamedTuple):
    """Error of a contender over all folds at its factor and ridge; losses as `HeldOut.losses`."""

    error: float
    losses: Array | None
    factor: float
    ridge: float


def best_of_few(learned: Learned, batch: Batch, request: Request) -> Kept | str:
    """The contender of the least error over all folds, or why nothing can be compared."""
    sampled = _sampled(batch, request.seed)
    request = replace(request, order=request.order.part(sampled))
    nothing = np.empty(0, dtype=np.intp)
    task = Task.of(batch.part(sampled), request, learned, hold=nothing)
    folds = folds_of(learned, request.order, task.labels, constants.FOLDS, request.seed)
    folds = folds or _folds(len(task.places), request.seed)
    places = np.arange(len(task.places))
    if not all(np.ptp(np.delete(task.targets[task.places], fold, axis=0)) > 0 for fold in folds):
        return "Too few targets differ from the others to fit some of them and hold others out"
    task.data = replace(task.data, fitted=places, held=np.concatenate(folds))
    task.mean_error()
    founds = _plain(task, learned.basis) + _learned(task, folds, learned.basis)
    jobs = [(found, folds, 1, _first_factor(found)) for found in founds]
    first = task.together(_score, jobs)
    least = min(score.error for score in first)
    near = [
        (found, folds, constants.DENSE_TRIES, score.factor)
        for found, score in zip(founds, first, strict=True)
        if score.error <= constants.CLOSE * least
    ]
    scores = task.together(_score, near)
    best = preferred([score.error for score in scores], [score.losses for score in scores])
    trend = find_trend(task, near[best][0])
    if trend is not None:
        scores = task.without(trend).together(_score, near)
        best = int(np.argmin([score.error for score in scores]))
    found, score, limit = near[best][0], scores[best], _limit(task, near[best][0])
    return Kept(task, _members(found, learned), score.factor, score.ridge, limit, trend)


def _first_factor(found: Found) -> float:
    return 1.0 if found.scaling == "equal" else constants.FIRST_DENSE


def _sampled(batch: Batch, seed: int) -> Places:
    """The rows that count, or as many of them as fit into memory when they are dense."""
    places = batch.counted_places
    most = max(constants.FEWEST_ROWS, constants.FEW_ENTRIES // batch.rows.shape[1])
    most = min(most, constants.FEW_SAMPLED)
    if len(places) > most:
        words = Words(seed, 0, Stream.LAW_HOLD_OUT)
        places = np.sort(places[words.permutation(len(places))[:most]])
    return places


def _folds(n_rows: int, seed: int) -> list[Places]:
    """Places to hold out, fold by fold, in runs of neighbours; the fewest rows twice over."""
    run = max(1, n_rows // (constants.RUNS * constants.FOLDS))
    runs = np.array_split(np.arange(n_rows), -(-n_rows // run))
    folds = []
    for repeat in range(2 if n_rows < constants.TWICE else 1):
        order = Words(seed, 1 + repeat, Stream.LAW_HOLD_OUT).permutation(len(runs))
        dealt = [order[k :: constants.FOLDS] for k in range(constants.FOLDS)]
        folds += [np.concatenate([runs[j] for j in own]) for own in dealt]
    return folds


def _plain(task: Task, basis: Basis | None) -> list[Found]:
    """The linear model and the laws with equal scales, or that of the basis given."""
    kernels = ("laplacian", "gaussian") if basis is None else (basis.metric,)
    founds = [
        even(task, kernel, name)
        for kernel in kernels
        for name in allowed(task, "standard", "common")
    ]
    if basis is None and task.linear:
        founds.append(even(task, "linear", *allowed(task, "standard")))
    return founds


def _learned(task: Task, folds: list[Places], basis: Basis | None) -> list[Found]:
    """The laws whose scales each fold has learned from its fitted rows, on the map of each kernel
    with the least leave-one-out error."""
    kernels = ("laplacian", "gaussian") if basis is None else (basis.metric,)
    standard = mapped(task, *allowed(task, "standard")).apply(task.pool, np.float32)
    own = [_fold(task, standard, fold) for fold in folds]
    founds = []
    for kernel in kernels:
        names = tried_maps(task, kernel)
        jobs = [(part, name) for name in names for part, _ in own]
        runs = task.together(lambda job: short_run((job[1][0], (kernel, job[1][1]))), jobs)
        errors = np.reshape([error for error, _ in runs], (len(names), len(own))).mean(axis=1)
        for name, error in zip(names, errors.tolist(), strict=True):
            task.note("map", f"{kernel}, {name}", len(task.places), error)
        best = int(np.argmin(errors))
        starts = [run[1] for run in runs[best * len(own) : (best + 1) * len(own)]]
        jobs_of = [(part, start) for (part, _), start in zip(own, starts, strict=True)]
        ends = task.together(lambda job: settled(job[1][0], [job[1][1]])[0], jobs_of)
        equal = [even(part, kernel, names[best]) for part, _ in own]
        scales, half = np.zeros((2, len(own), task.n_inputs))
        for k, (_, columns) in enumerate(own):
            scales[k, columns] = ends[k].scales[0]
            half[k, columns] = np.sqrt(ends[k].scales[0] * equal[k].scales[0])
        warp = mapped(task, names[best])
        founds += [
            Found(kernel, names[best], warp, scales, errors),
            Found(kernel, names[best], warp, half, errors, "half learned"),
        ]
    return founds


def _fold(task: Task, standard: NDArray[np.float32], fold: Places) -> tuple[Task, Places]:
    """The rows with one fold held out, and the columns that its fitted rows go by: those whose
    correlations with the targets are the largest, Σ_outputs r²."""
    columns = np.arange(task.n_inputs)
    if task.n_inputs > constants.SCREENED:
        rows = np.delete(standard, fold, axis=0)
        targets = np.delete(task.data.targets, fold, axis=0)
        rows = rows - rows.mean(axis=0)
        spread = np.maximum(np.einsum("ij,ij->j", rows, rows), np.finfo(np.float32).tiny)
        cross = rows.T @ (targets - targets.mean(axis=0)).astype(np.float32)
        strength = np.sum(cross**2, axis=1) / spread
        columns = np.sort(np.argsort(-strength, kind="stable")[: constants.SCREENED])
    batch = Batch(task.pool[:, columns], task.targets[task.places], task.own)
    learned = clone(task.learned).set_params(members=1, basis=None)
    return Task.of(batch, replace(task.request, progress=_silent), learned, hold=fold), columns


def _silent(text: str) -> None:
    """Trials of single folds are not reported."""


class _Folds:
    """Ridge fits with the exact kernel of a contender in every fold."""

    def __init__(self, data: HeldOut, found: Found, folds: list[Places]) -> None:
        self.data, self.found, self.folds = data, found, folds
        self.exponents = [self._exponent(scales) for scales in found.scales]

    def _exponent(self, scales: Floats) -> Floats:
        """Σ_j s_j·|Δ_j|, Σ_j s_j²·Δ_j², or x·z for the linear model, (n, n)."""
        rows = self.found.warp.times(scales).apply(self.data.rows, np.float64)
        if self.found.kernel == "linear":
            return np.asarray(rows @ rows.T)
        distances = cityblock if self.found.kernel == "laplacian" else squared_euclidean
        return distances(rows, rows)

    def at(self, factor: float) -> "list[_Centred]":
        """The centred kernel matrices of all folds with scales times a factor."""
        power = {"linear": 0.0, "laplacian": factor, "gaussian": factor**2}[self.found.kernel]
        kernels = [np.exp(-power * own) if power else own for own in self.exponents]
        several = len(kernels) > 1
        return [
            _Centred(kernels[k if several else 0], self.data, fold)
            for k, fold in enumerate(self.folds)
        ]


class _Centred:
    """The kernel matrix of the rows fitted in a fold about its mean, and that with held-out rows.

    Weights w with a mean of one enter as √w·K·√w and √w·y.
    """

    def __init__(self, kernel: Floats, data: HeldOut, fold: Places) -> None:
        fitted = np.delete(np.arange(len(kernel)), fold)
        own = data.weights_of(fitted)
        own = np.ones(len(fitted)) if own is None else own / own.mean()
        self.root, shares = np.sqrt(own), own / len(own)
        inner, outer = kernel[np.ix_(fitted, fitted)], kernel[np.ix_(fold, fitted)]
        mean = inner @ shares
        centre = mean @ shares - mean
        self.held = outer - (outer @ shares)[:, None] + centre
        inner = inner - mean[:, None] + centre
        self.inner = self.root[:, None] * inner * self.root
        self.level = shares @ data.targets[fitted]
        self.left = self.root[:, None] * (data.targets[fitted] - self.level)
        self.unit = float(np.mean(np.diagonal(inner)))

    def scores(self, ridge: float) -> Array:
        """Of the held-out rows."""
        shifted = self.inner.copy()
        shifted[np.diag_indices_from(shifted)] += ridge
        factor = cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
        dual = cho_solve(factor, self.left, check_finite=False)
        return np.asarray(self.held @ (self.root[:, None] * dual) + self.level)


def _score(job: tuple[Task, tuple[Found, list[Places], int, float]]) -> _Score:
    """The least error of a contender over factors, from `first` on, and ridges."""
    task, (found, folds, tries, first) = job
    fits, data = _Folds(task.data, found, folds), task.data
    tried: dict[float, _Score] = {}
    near: float | None = None

    def one(factor: float) -> tuple[float, float]:
        nonlocal near
        centred = fits.at(factor)
        fixed = task.fixed_ridge(len(data.fitted) - len(folds[0]))
        score = _ridges(data, centred, factor, near, fixed)
        near, tried[factor] = score.ridge, score
        what = f"exact {found.kernel} features, {found.title}, factor {factor:.3g}"
        what = f"{what}, ridge {score.ridge:.2g}"
        task.note("basis" if tries == 1 else "again", what, len(data.fitted), score.error)
        return score.error, factor

    _, factor, best = climb(
        one, first, constants.DENSE_STEP, 1 if found.kernel == "linear" else tries
    )
    return tried[best]._replace(factor=factor)


def _ridges(
    data: HeldOut,
    centred: "Sequence[_Centred]",
    factor: float,
    near: float | None,
    fixed: float | None,
) -> _Score:
    """The ridge of the least error: a few at first, or `near`, and others while the error falls."""
    unit = float(np.mean([own.unit for own in centred]))
    weakest = constants.WEAKEST if data.labels is None else constants.WEAKEST_OF_CLASSES
    weakest *= min(unit, 1.0)
    tried: dict[float, tuple[float, Array]] = {}

    def attempt(*ridges: float) -> float:
        for ridge in [max(ridge, weakest) for ridge in ridges]:
            if ridge not in tried:
                scores = np.concatenate([own.scores(ridge) for own in centred])
                tried[ridge] = data.error(scores), scores
        return min(tried, key=lambda ridge: tried[ridge][0])

    if fixed is not None:
        best = attempt(fixed)
    else:
        first = [unit * ridge for ridge in constants.DENSE_RIDGES] if near is None else [near]
        best, before = attempt(*first), np.nan
        while best != before and best < constants.STRONGEST * unit * len(data.fitted):
            before = best
            best = attempt(constants.RIDGE_STEP * best, best / constants.RIDGE_STEP)
    error, scores = tried[best]
    return _Score(error, data.losses(scores), factor, best)


def _members(found: Found, learned: Learned) -> Found:
    """The law with the scales of the folds as members, and the columns that none has left out."""
    scales = found.scales[: learned.members or len(found.scales)]
    taken = scales.any(axis=0)
    if taken.all() and (scales > 0.0).all():
        return replace(found, scales=scales)
    least = constants.LEAST_SCALE * scales.max(axis=1, keepdims=True)
    scales = np.where(taken, np.maximum(scales, least), 0.0)
    return replace(found, scales=scales, warp=found.warp.times(taken.astype(np.float64)))


def _limit(task: Task, found: Found) -> Limit:
    """Components of the last fit: so many that they hardly differ from the exact kernel."""
    if task.asked is not None:
        return Limit(task.asked, f"{task.asked} components were asked for")
    if found.kernel == "linear":
        return Limit(task.n_inputs, "one component for each column")
    basis = task.learned.basis
    if basis is not None and basis.sparse:
        return affordable(task, sparse=True)
    count = constants.FEW_FEATURES
    return Limit(count, f"stopped at {count} features: the kernel is nearly exact")
