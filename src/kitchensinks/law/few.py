"""Few rows, or very many columns: laws are compared by cross-validation.

A single hold-out of few rows is too small to compare laws. The contenders are

- the linear model, k(x, z) = x·z, on standardised columns;
- the plain laws: equal scales on standardised columns, or on columns with one deviation for all;
- learned laws: in every fold, scales are learned from the rows that are fitted there, for those
  columns most correlated with their targets; also half-way between equal and learned scales.

They are compared with exact kernels, which few rows allow: with K the centred kernel matrix of the
fitted rows, the scores are k(x)'·(K + λI)⁻¹·(y − ȳ) + ȳ. Factor and ridge are those of the least
error over all folds. The scales that the folds have learned become the members of the law.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from kitchensinks.features.bases import Basis
from kitchensinks.fitting.settings import silent
from kitchensinks.law import constants
from kitchensinks.law.candidates import Limit, affordable
from kitchensinks.law.ending import BinNumbers, of_few
from kitchensinks.law.learned import Learned
from kitchensinks.law.maps import (
    Found,
    allowed,
    even,
    learn_scales,
    mapped,
    plain_map,
    short_run,
    tried_maps,
)
from kitchensinks.law.searches import best_ridge, climb, first_best, search_ridges
from kitchensinks.law.splits import Places, folds_of, some_of
from kitchensinks.law.task import LearningRows
from kitchensinks.law.trend import find_trend
from kitchensinks.law.trials import TrialRows
from kitchensinks.law.values import Law, Request
from kitchensinks.numerics.arrays import Floats
from kitchensinks.numerics.distances import cityblock, squared_euclidean
from kitchensinks.numerics.threads import in_order
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.problem.losses import Array
from kitchensinks.problem.targets import Batch
from kitchensinks.solvers.cholesky import ridge_solve


class _Score(NamedTuple):
    """Error of a contender over all folds at its factor and ridge λ = α·n; `shares` (n,): those of
    the rows in the squared error, or in the log loss of the classes."""

    error: float
    shares: Array
    factor: float
    ridge: float


def best_of_few(learned: Learned, batch: Batch, request: Request) -> tuple[Law, BinNumbers] | str:
    """The law that cross-validation prefers and the bins, or why nothing can be compared."""
    most = max(constants.FEWEST_ROWS, constants.FEW_ENTRIES // batch.rows.shape[1])
    words = Words(request.seed, 0, Stream.LAW_HOLD_OUT)
    sampled = some_of(batch.counted_places, min(most, constants.FEW_SAMPLED), words)
    request = replace(request, order=request.order.part(sampled))
    nothing = np.empty(0, dtype=np.intp)
    task = LearningRows(batch.part(sampled), request, learned, hold=nothing)
    size = len(task.places)
    given = folds_of(learned, request.order, task.labels, _n_folds(size), request.seed)
    folds, used = given or (_folds(size, request.seed), np.arange(size))
    targets = task.targets[task.places]
    if not all(np.ptp(targets[np.setdiff1d(used, fold)], axis=0).any() for fold in folds):
        return "Too few targets differ from the others to fit some of them and hold others out"
    if not (task.spread.low < task.spread.high).any():
        return "The rows are all the same, so that nothing can be learned from them"
    task.data = replace(task.data, fitted=used, held=np.concatenate(folds))
    task.mean_error()
    founds = _plain(task) + _learned(task, folds)
    found, score = _best(task, folds, founds)
    # Lines of very many columns would be fitted to fewer rows than there are columns.
    trend = find_trend(task, found) if task.n_inputs <= constants.SCREENED else None
    if trend is not None:
        # Its factor and ridge are those of what the line leaves, where a plain law may be as good.
        plain = [one for one in founds if one is not found and _simple(one, task.basis)]
        found, score = _best(task.without(trend), folds, [*plain, found])
    members, limit = _members(found, learned), _limit(task, found)
    law, bins = of_few(task, batch, members, limit, score.factor, score.ridge)
    return replace(law, trend=trend), bins


def _best(task: LearningRows, folds: list[Places], founds: list[Found]) -> tuple[Found, _Score]:
    """The plain law or the linear model, unless another law is clearly better."""
    first = task.together(_search, [(found, folds, None) for found in founds])
    least = constants.CLOSE * min(score.error for score in first)
    close = [k for k, score in enumerate(first) if score.error <= least]
    wider = task.together(_search, [(founds[k], folds, first[k]) for k in close])
    plain = [k for k, found in enumerate(founds) if _simple(found, task.basis)]
    base = plain[first_best([float(first[k].shares.sum()) for k in plain])]
    kept = _clearly(first[base], wider)
    place, score = (base, first[base]) if kept is None else (close[kept], wider[kept])
    return founds[place], score


def _simple(found: Found, basis: Basis | None) -> bool:
    """Whether others must be clearly better than this law: the linear model, and the plain law of
    the given basis (of Fourier without one)."""
    own = basis is not None or found.kernel != "laplacian"
    return own and found.scaling == "equal" and found.map != "common"


def _clearly(base: _Score, others: list[_Score]) -> int | None:
    """The index of the least error among those below the base by several standard errors of the
    difference; None if there is none."""
    totals = np.full(len(others), np.inf)
    needed = constants.CLEARLY * math.sqrt(max(1.0, constants.TWICE / len(base.shares)))
    for k, other in enumerate(others):
        gaps = base.shares - other.shares
        noise = math.sqrt(len(gaps)) * float(gaps.std())
        if gaps.sum() > needed * noise:
            totals[k] = other.shares.sum()
    return first_best(totals) if np.isfinite(totals).any() else None


def _n_folds(n_rows: int) -> int:
    many = n_rows >= constants.FEWER_FOLDS_FROM
    return constants.FEWER_FOLDS if many else constants.FOLDS


def _folds(n_rows: int, seed: int) -> list[Places]:
    """Rows to hold out in each fold, in runs of neighbours; very few rows are folded twice."""
    count = _n_folds(n_rows)
    run = max(1, n_rows // (constants.RUNS * count))
    runs = np.array_split(np.arange(n_rows), -(-n_rows // run))
    folds = []
    for repeat in range(2 if n_rows < constants.TWICE else 1):
        order = Words(seed, 1 + repeat, Stream.LAW_HOLD_OUT).permutation(len(runs))
        dealt = [order[k::count] for k in range(count)]
        folds += [np.concatenate([runs[j] for j in own]) for own in dealt]
    return folds


def _plain(task: LearningRows) -> list[Found]:
    """The linear model and the laws with equal scales, or that of the basis given."""
    founds = [
        even(task, kernel, name)
        for kernel in task.kernels
        for name in allowed(task, plain_map(task), "common")
    ]
    if task.basis is None and task.linear:
        founds += [
            even(task, "linear", name) for name in allowed(task, plain_map(task), "standard")
        ]
    return founds


def _learned(task: LearningRows, folds: list[Places]) -> list[Found]:
    """The laws whose scales each fold has learned from its fitted rows, on the map of each kernel
    with the least held-out error."""
    standard = mapped(task, plain_map(task)).apply(task.pool, np.float32)
    own = [_fold(task, standard, fold) for fold in folds]
    return [found for kernel in task.kernels for found in _of_kernel(task, own, kernel)]


def _of_kernel(
    task: LearningRows, own: list[tuple[LearningRows, Places]], kernel: str
) -> list[Found]:
    """The learned law of one kernel, and that half-way between equal and learned scales."""

    names = tried_maps(task, kernel)
    jobs = [(part, (kernel, name)) for name in names for part, _ in own]
    runs = list(in_order(lambda job: short_run(*job), jobs, ahead=len(jobs)))
    errors = np.reshape([run.run_error for run in runs], (len(names), len(own))).mean(axis=1)
    for name, error in zip(names, errors.tolist(), strict=True):
        task.note("map", f"{kernel}, {name}", len(task.places), error)
    best = first_best(errors)
    starts = zip(own, runs[best * len(own) : (best + 1) * len(own)], strict=True)
    begun = [(part, [start]) for (part, _), start in starts]
    ends = list(in_order(lambda job: learn_scales(*job)[0], begun, ahead=len(own)))
    scales, half = np.zeros((2, len(own), task.n_inputs))
    for k, (part, columns) in enumerate(own):
        equal = even(part, kernel, names[best])
        scales[k, columns] = ends[k].scales[0]
        half[k, columns] = np.sqrt(ends[k].scales[0] * equal.scales[0])
    warp = mapped(task, names[best])
    return [
        Found(kernel, names[best], warp, scales, errors),
        Found(kernel, names[best], warp, half, errors, "half learned"),
    ]


def _fold(
    task: LearningRows, standard: NDArray[np.float32], fold: Places
) -> tuple[LearningRows, Places]:
    """The rows with one fold held out, and the columns whose scales are learned there: those most
    correlated with the targets of the fitted rows, by Σ_outputs r²."""
    columns, used = np.arange(task.n_inputs), task.data.fitted
    if task.n_inputs > constants.SCREENED:
        fitted = np.setdiff1d(used, fold)
        rows, targets = standard[fitted], task.data.targets[fitted]
        rows = rows - rows.mean(axis=0)
        spread = np.maximum(np.einsum("ij,ij->j", rows, rows), np.finfo(np.float32).tiny)
        cross = rows.T @ (targets - targets.mean(axis=0)).astype(np.float32)
        strength = np.sum(cross**2, axis=1) / spread
        columns = np.sort(np.argsort(-strength, kind="stable")[: constants.SCREENED])
    rows, targets = task.pool[np.ix_(used, columns)], task.targets[task.places[used]]
    batch = Batch(rows, targets, task.data.weights_of(used))
    learned = clone(task.learned).set_params(members=1, basis=None)
    # Trials of single folds are not reported.
    request, hold = replace(task.request, progress=silent), np.searchsorted(used, fold)
    return LearningRows(batch, request, learned, hold), columns


def _exponent(data: TrialRows, found: Found, scales: Floats) -> Floats:
    """Σ_j s_j·|Δ_j|, Σ_j s_j²·Δ_j², or x·z for the linear model, (n, n)."""
    rows = found.warp.times(scales).apply(data.rows, np.float64)
    if found.kernel == "linear":
        return np.asarray(rows @ rows.T)
    distances = cityblock if found.kernel == "laplacian" else squared_euclidean
    return distances(rows, rows)


class _Centred:
    """The kernel matrix of the rows fitted in a fold about its mean, and that with held-out rows.

    Weights w with a mean of one enter as √w·K·√w and √w·y.
    """

    def __init__(self, kernel: Floats, data: TrialRows, fold: Places) -> None:
        fitted = np.setdiff1d(data.fitted, fold)
        own = data.weights_of(fitted)
        own = np.ones(len(fitted)) if own is None else own / own.mean()
        self.root, shares = np.sqrt(own), own / len(own)
        # Two steps take a fifth of the time of np.ix_.
        inner = kernel.take(fitted, axis=0).take(fitted, axis=1)
        outer = kernel.take(fold, axis=0).take(fitted, axis=1)
        mean = inner @ shares
        centre = mean @ shares - mean
        self.held = outer - (outer @ shares)[:, None] + centre
        inner -= mean[:, None]
        inner += centre
        self.level = shares @ data.targets[fitted]
        self.left = self.root[:, None] * (data.targets[fitted] - self.level)
        self.unit = float(np.mean(np.diagonal(inner)))
        self.inner = inner * self.root
        self.inner *= self.root[:, None]

    def scores(self, ridge: float) -> Array:
        """Of the held-out rows."""
        dual = ridge_solve(self.inner, ridge, self.left)
        return np.asarray(self.held @ (self.root[:, None] * dual) + self.level)


def _search(task: LearningRows, job: tuple[Found, list[Places], _Score | None]) -> _Score:
    """The least error of a contender over ridges, and from a known score on over factors too."""
    found, folds, known = job
    data = task.data
    exponents: list[Floats] = []
    first, near, tries = 1.0, None, 1
    if known is not None:
        first, near = known.factor, known.ridge
        tries = constants.TRIES if found.has_bandwidth else 1

    def one(factor: float) -> tuple[float, _Score]:
        nonlocal near
        if known is not None and factor == known.factor:
            return known.error, known
        if not exponents:
            exponents.extend(_exponent(data, found, scales) for scales in found.scales)
        power = {"linear": 0.0, "laplacian": factor, "gaussian": factor**2}[found.kernel]
        kernels = [np.exp(-power * own) if power else own for own in exponents]
        kernels = kernels if len(kernels) > 1 else kernels * len(folds)
        centred = [_Centred(own, data, fold) for own, fold in zip(kernels, folds, strict=True)]
        fixed = task.fixed_ridge(len(data.fitted) - len(folds[0]))
        score = _ridges(data, centred, factor, near, fixed)
        near = score.ridge
        what = f"exact {found.kernel} features, {found.title}, factor {factor:.3g}"
        task.note("basis", f"{what}, ridge {score.ridge:.2g}", len(data.fitted), score.error)
        return score.error, score

    factor, best = climb(one, first, constants.DENSE_STEP, tries)
    return best._replace(factor=factor)


def _ridges(
    data: TrialRows,
    centred: "Sequence[_Centred]",
    factor: float,
    near: float | None,
    fixed: float | None,
) -> _Score:
    """The ridge of the least error: a few at first, or `near`, and others while the error falls."""
    # The features of a contender may be constant: its kernel matrix is then zero about its mean.
    unit = float(np.mean([own.unit for own in centred])) or 1.0
    weakest = constants.WEAKEST if data.labels is None else constants.WEAKEST_OF_CLASSES
    weakest *= min(unit, 1.0)

    def attempt(ridge: float) -> tuple[float, Array]:
        scores = np.concatenate([own.scores(ridge) for own in centred])
        return data.error(scores), scores

    if fixed is not None:
        best = max(fixed, weakest)
        error, scores = attempt(best)
    else:
        first = [unit * ridge for ridge in constants.DENSE_RIDGES] if near is None else [near]
        strongest = constants.STRONGEST * unit * len(data.fitted)
        tried = search_ridges(attempt, first, weakest, strongest)
        best = best_ridge(tried)
        error, scores = tried[best]
    return _Score(error, _shares(data, scores), factor, best)


def _shares(data: TrialRows, scores: Array) -> Array:
    """Each row's share in the log loss of the classes, or in the squared error, (n,); rows that are
    held out twice have the sum of both."""
    losses = data.losses(scores)
    if losses is None:
        losses = np.asarray(np.sum((data.targets[data.held] - scores) ** 2, axis=1))
        own = data.weights_of(data.held)
        losses *= 1.0 / len(losses) if own is None else own / own.sum()
    return np.asarray(np.bincount(data.held, weights=losses)[np.unique(data.held)])


def _members(found: Found, learned: Learned) -> Found:
    """The law with the scales of the folds as members, and the columns that none has left out."""
    scales = found.scales[: learned.members or len(found.scales)]
    taken = scales.any(axis=0)
    if taken.all() and (scales > 0.0).all():
        return replace(found, scales=scales)
    least = constants.LEAST_SCALE * scales.max(axis=1, keepdims=True)
    scales = np.where(taken, np.maximum(scales, least), 0.0)
    return replace(found, scales=scales, warp=found.warp.times(taken.astype(np.float64)))


def _limit(task: LearningRows, found: Found) -> Limit:
    """Components of the last fit: so many that they hardly differ from the exact kernel."""
    if task.asked is not None or (task.basis is not None and task.basis.sparse):
        return affordable(task, sparse=True)
    if found.kernel == "linear":
        return Limit(task.n_inputs, "one component for each column")
    count = constants.FEW_FEATURES
    return Limit(count, f"stopped at {count} features: the kernel is nearly exact")
