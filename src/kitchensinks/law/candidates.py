"""Candidates: a basis with learned scales, its error in small fits, and its expected error."""

import math
import time
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from kitchensinks.features.bases import Basis
from kitchensinks.features.frozen import Frozen
from kitchensinks.features.scaling import Warp
from kitchensinks.fitting.stages import FIRST_SHARE
from kitchensinks.law import constants
from kitchensinks.law.forest import among_leaves, grown_trees
from kitchensinks.law.maps import Found
from kitchensinks.law.searches import climb, first_best
from kitchensinks.law.task import LearningRows
from kitchensinks.law.trials import DenseFit, GridFits, Score, TrialRows, dense_fit
from kitchensinks.law.values import what_of
from kitchensinks.problem.losses import Array


class Limit(NamedTuple):
    """How many components a fit may have, and why not more."""

    components: int
    reason: str


@dataclass(frozen=True)
class Candidate:
    """A basis with learned scales, its last trial, and the components that it may have.

    score : of the last trial.
    fits : the bins of a sparse basis, hashed, or the fit of a dense one; None before any trial.
    leaves : the share of the bins that are leaves of trees.
    pace : wall-clock seconds of the last trial per nominal second.
    """

    found: Found
    sparse: bool
    limit: Limit
    score: Score
    fits: GridFits | DenseFit | None = None
    leaves: float = 0.0
    pace: float = 1.0

    @property
    def error(self) -> float:
        """The error expected with as many components as the limit allows."""
        return self.score.at(self.limit.components)

    def frozen(self, task: LearningRows, factor: float, count: int) -> Frozen:
        """Scaler and draw of `count` dense features."""
        scaler, basis = self.found.features(False, factor, task.basis)
        draws = max(1, count // basis.features_per_draw)
        return Frozen(scaler, basis, task.seed, scaler.width, draws, np.dtype(np.float32))


def with_copies(task: LearningRows, candidate: Candidate) -> float:
    """The expected error if new rows repeat fitted rows as often as the fitted rows repeat each
    other."""
    data, places, fits = task.data, task.few.fitted, candidate.fits
    assert task.copied is not None, "there are copies"
    own = np.flatnonzero(task.copied[task.places[places]])
    if not len(own):
        return candidate.error
    if isinstance(fits, GridFits):
        seen = fits.of_fitted(own).error(candidate.score.ridge)
    else:
        assert fits is not None, "it was tried"
        seen = replace(data, held=places[own]).error(fits.scores(data.rows[places[own]]))
    weights = np.ones(len(data.targets)) if data.weights is None else data.weights
    share = float(weights[places[own]].sum() / weights[places].sum())
    return (1.0 - share) * candidate.error + share * seen


def first_look(task: LearningRows, law: tuple[Found, bool]) -> Candidate:
    """A law as a candidate, after one trial with one bandwidth factor on few rows."""
    found, sparse = law
    limit = affordable(task, sparse)
    if task.asked is None and found.kernel == "linear":
        limit = Limit(task.n_inputs, "one component for each column")
    elif task.asked is not None and not sparse:
        basis = found.features(False, 1.0, task.basis)[1]
        limit = limit._replace(components=task.asked * basis.features_per_draw)
    start = Score(math.inf, math.inf, None, 1.0, math.nan, 1)
    candidate = Candidate(found, sparse, limit, start)
    # Other first factors (1.2 for dense features, and for bins a power of the rows) were no better.
    return search(task, "basis", candidate, 1.0)


def wider_look(task: LearningRows, candidate: Candidate) -> Candidate:
    """The candidate with the factor of the least held-out error on few rows."""
    tries = constants.TRIES if candidate.found.has_bandwidth else 1
    return halved(search(task, "basis", candidate, candidate.score.factor, tries))


def halved(candidate: Candidate) -> Candidate:
    """The candidate with the error of half its grids; only the kept factor needs that fit."""
    score, fits = candidate.score, candidate.fits
    if not (isinstance(fits, GridFits) and math.isnan(score.half)):
        return candidate
    half = fits.first(max(1, score.components // 2)).error(score.ridge)
    return replace(candidate, score=score._replace(half=half))


def again(task: LearningRows, candidate: Candidate) -> Candidate:
    """Try the candidate again with more rows and components, and more factors of bins."""
    if not candidate.sparse:
        return search(task, "again", candidate, candidate.score.factor)
    few, many = len(task.few.fitted), len(task.data.fitted)
    factor, _ = grown(candidate.score, few, many)
    tries = 3 if many > constants.MANY_MORE * few else 1
    return halved(search(task, "again", candidate, factor, tries))


def in_reach(task: LearningRows, candidate: Candidate) -> bool:
    """Whether `again` would finish in time, at the pace of the last trial."""
    rows = len(task.data.fitted)
    count = _components(task, "again", candidate, rows)
    return task.reaches(candidate.pace * nominal_seconds(task, candidate.sparse, rows, count))


def at_last(task: LearningRows, candidate: Candidate) -> Candidate:
    """Try the candidate with nearly as many features as the last fit."""
    return search(task, "last", candidate, candidate.score.factor)


def search(
    task: LearningRows, stage: str, candidate: Candidate, first: float, tries: int = 1
) -> Candidate:
    """The factor of the least held-out error, by `climb` from `first` on, and its ridge."""
    data = task.few if stage == "basis" else task.data
    count = _components(task, stage, candidate, len(data.fitted))
    known, trials = candidate.score, 0
    near = None if math.isnan(known.ridge) else known.ridge

    def one(factor: float) -> tuple[float, tuple[Score, GridFits | DenseFit | None]]:
        nonlocal near, trials
        if stage == "basis" and factor == known.factor and math.isfinite(known.error):
            return known.error, (known, candidate.fits)
        score, fits = _trial(task, data, candidate, factor, count, near)
        near, trials = score.ridge, trials + 1
        task.note(stage, in_words(candidate, score), len(data.fitted), score.error)
        return score.error, (score, fits)

    step = constants.SPARSE_STEP if candidate.sparse and stage == "basis" else constants.DENSE_STEP
    begun, late = time.monotonic(), lambda: task.late(constants.LATE_AGAIN)
    factor, (score, fits) = climb(one, first, step, tries, late)
    cost = trials * nominal_seconds(task, candidate.sparse, len(data.fitted), count)
    pace = (time.monotonic() - begun) / cost if trials else candidate.pace
    return replace(candidate, score=score._replace(factor=factor), fits=fits, pace=pace)


def _trial(
    task: LearningRows,
    data: TrialRows,
    candidate: Candidate,
    factor: float,
    count: int,
    near: float | None,
) -> tuple[Score, GridFits | DenseFit]:
    """What `count` components reach with one factor, from the ridge `near` on."""
    fixed = task.fixed_ridge(len(data.fitted))
    if candidate.sparse:
        bins = candidate.found.features(True, factor, task.basis)
        return _bins_trial(task, data, bins, factor, count, near)
    fit = dense_fit(data, candidate.frozen(task, factor, count), near, fixed=fixed)
    # A linear model has one component for each column, so half of them predict nothing.
    half = fit.error if candidate.found.kernel == "linear" else fit.half
    return Score(fit.error, half, fit.losses, factor, fit.ridge, count), fit


def _bins_trial(
    task: LearningRows,
    data: TrialRows,
    bins: tuple[Warp, Basis],
    factor: float,
    count: int,
    near: float | None,
) -> tuple[Score, GridFits]:
    """What `count` bins of a scaler and basis reach, from the ridge `near` on."""
    fits = GridFits(data, *bins, count, task.seed)
    fixed = task.fixed_ridge(len(data.fitted))
    error, ridge, losses = fits.best(near or constants.FIRST_BINS_RIDGE, fixed=fixed)
    return Score(error, math.nan, losses, factor, ridge, count), fits


def with_trees(task: LearningRows, grids: Candidate) -> Candidate:
    """The same number of bins, some of them the leaves of trees, on the same rows.

    The trees are grown once, and each share of them is tried.
    """
    assert isinstance(grids.fits, GridFits), "bins were tried"
    known, data = grids.score, grids.fits.data
    most = max(known.components, constants.TREES_BINS)
    limit = Limit(most, f"stopped at {most} grids and trees, the most that are tried")
    limit = limit if most < grids.limit.components else grids.limit
    scaler, own = grids.found.features(True, known.factor, task.basis)
    count = known.components
    trees = grown_trees(task, data.fitted, scaler, round(max(constants.TREES_SHARES) * count))
    tried: list[Candidate] = []
    for share in constants.TREES_SHARES:
        if tried and task.late(constants.LATE_AGAIN):
            break
        one = replace(grids, limit=limit, leaves=share)
        bins = scaler, among_leaves(own, trees, share, count)
        score, fits = _bins_trial(task, data, bins, known.factor, count, known.ridge)
        task.note("trees", in_words(one, score), len(data.fitted), score.error)
        tried.append(replace(one, score=score, fits=fits))
    return tried[first_best([one.score.error for one in tried])]


def _components(task: LearningRows, stage: str, candidate: Candidate, rows: int) -> int:
    """Components of a trial: no more than the last fit may have."""
    share, outputs = task.effort.share, task.targets.shape[1]
    if not candidate.found.has_bandwidth:
        return candidate.limit.components
    if candidate.sparse and stage == "basis":
        grids = share * constants.TRIAL_BINS / (rows * outputs)
        count = int(np.clip(grids, 8, constants.TRIAL_GRIDS))
    elif candidate.sparse:
        grids = share * constants.TRIAL_BINS / (rows * outputs)
        few = constants.FEWEST_GRIDS / constants.AGAIN
        count = int(constants.AGAIN * np.clip(grids, few, constants.TRIAL_GRIDS))
    elif stage != "basis":
        products = constants.WIDE_PRODUCTS if task.wide else constants.AGAIN_PRODUCTS
        products = constants.LAST_PRODUCTS if stage == "last" else products
        count = max(int(math.sqrt(share * products / rows)), candidate.score.components)
    else:
        most = constants.WIDE_FEATURES if task.wide else constants.TRIAL_FEATURES
        features = rows // 4 if task.wide else share * constants.TRIAL_ENTRIES / rows
        count = int(np.clip(features, constants.FEWEST_FEATURES, most))
    count = min(count, candidate.limit.components)
    # Cosine and sine come together.
    return count if candidate.sparse else max(2, count - count % 2)


def in_words(candidate: Candidate, score: Score) -> str:
    """What was tried."""
    what = what_of(candidate.found.kernel, candidate.sparse, candidate.leaves > 0.0)
    share = f", {candidate.leaves:.0%} of them trees" if candidate.leaves else ""
    return (
        f"{score.components} {what}, {candidate.found.title}, factor {score.factor:.3g}, "
        f"ridge {score.ridge:.2g}{share}"
    )


def grown(score: Score, tried: int, rows: int) -> tuple[float, float]:
    """Factor and ridge λ = α·n of bins for `rows` rows, from those chosen with `tried` rows."""
    more = (rows / tried) ** constants.GROWTH
    return score.factor * more, score.ridge * more


def bytes_of_bins(n_rows: int, n_outputs: int) -> float:
    """Bytes that a fit on bins takes for each grid."""
    return n_rows * (constants.BIN_BYTES + constants.BIN_OUTPUT_BYTES * n_outputs)


def affordable(task: LearningRows, sparse: bool, share: float = 1.0) -> Limit:
    """The components that the last fit may have, with `share` of its nominal seconds."""
    if task.asked is not None:
        return Limit(task.asked, f"{task.asked} components were asked for")
    entry = constants.WIDE_SECONDS_AN_ENTRY if task.wide else constants.SECONDS_AN_ENTRY
    table = constants.SECONDS + entry * task.counted * task.n_inputs
    seconds = share * (task.learned.seconds or task.effort.share * table)
    entries = seconds * constants.SPEED
    if sparse:
        # Many classes need as many grids as one output, and each grid costs more.
        seconds *= task.targets.shape[1] ** constants.OUTPUTS_POWER
        grids = seconds / nominal_seconds(task, sparse, task.counted, 1)
        held = task.request.memory / bytes_of_bins(task.source.shape[0], task.targets.shape[1])
        held = max(constants.FEWEST_GRIDS, int(held))
        count, most = int(grids), int(min(constants.MOST_GRIDS, held, most_exported(task)))
    else:
        # n·K entries and n·K²/300 for their Gram.
        half = 1.0 / (2.0 * constants.GRAM_COST)
        count = int(math.sqrt(half**2 + entries / (task.counted * constants.GRAM_COST)) - half)
        most = min(constants.MOST_FEATURES, task.counted // 2, _most_by_memory(task))
        # Cosine and sine come together.
        count, most = count - count % 2, most - most % 2
    what = "grids" if sparse else "features"
    if count >= most:
        return Limit(most, f"stopped at {most} {what}, the most that are tried")
    count = max(count, _fewest(sparse))
    return Limit(count, f"stopped at {count} {what}, for a last fit of about {seconds:.2g} s")


def nominal_seconds(task: LearningRows, sparse: bool, rows: int, count: int) -> float:
    """Nominal seconds of a fit."""
    if sparse:
        bin_cost = constants.BIN_COST * 0.5 * (task.targets.shape[1] + 1) + task.n_inputs / 8
        return float(rows * count * bin_cost / constants.SPEED)
    return rows * count * (1.0 + constants.GRAM_COST * count) / constants.SPEED


def in_time(task: LearningRows, candidate: Candidate, share: float = 1.0) -> Limit:
    """`affordable`, limited by the remaining time at the pace of the last trial."""
    limit = candidate.limit if share == 1.0 else affordable(task, candidate.sparse, share)
    whole = task.learned.time_limit
    if whole is None or task.asked is not None:
        return limit
    # All rows are mapped, whatever the number of components: some of them tell how long it takes.
    rows, begun = task.sample[: constants.MAPPED], time.monotonic()
    candidate.found.warp.apply(rows, np.float32)
    mapping = (time.monotonic() - begun) * task.source.shape[0] / len(rows)
    left = whole - (time.monotonic() - task.request.started) - mapping
    seconds = max(0.0, share * constants.LAST_SHARE * left / candidate.pace)
    count = limit.components
    while count > _fewest(candidate.sparse):
        # Copies and rows without weight take time too.
        if nominal_seconds(task, candidate.sparse, task.source.shape[0], count) <= seconds:
            break
        count = max(_fewest(candidate.sparse), int(0.9 * count))
    if count == limit.components:
        return limit
    return Limit(count - count % 2, f"stopped at {count - count % 2} components, by the time limit")


def _most_by_memory(task: LearningRows) -> int:
    """Features whose Gram fits: a fit holds about six arrays of its size."""
    return int(math.sqrt(task.request.memory / 50.0))


def most_exported(task: LearningRows) -> float:
    """Grids that fit into an exported file if every row has bins of its own."""
    if not task.learned.exportable:
        return math.inf
    size = constants.EXPORTED_BIN_BYTES + 8.0 * task.targets.shape[1]
    return float(constants.EXPORTED_BYTES // (size * task.source.shape[0]))


def enough(limit: Limit, score: Score, sparse: bool) -> Limit:
    """Limit the components where more would hardly lower the held-out error."""
    least = constants.ENOUGH if sparse else constants.ENOUGH_DENSE
    wanted = 2 * math.ceil(score.enough(least) / 2)
    count = max(wanted, score.components, _fewest(sparse))
    if count >= limit.components:
        return limit
    what = "grids" if sparse else "features"
    reason = f"more would lower the held-out error by less than {least:.1%} of it"
    return Limit(count, f"stopped at {count} {what}: {reason}")


def _fewest(sparse: bool) -> int:
    return constants.FEWEST_GRIDS if sparse else constants.FEWEST_FEATURES


def ridge_for(task: LearningRows, candidate: Candidate, count: int) -> float:
    """Re-tune the ridge with `count` dense features on the pool.

    More features than fit into that trial need a stronger ridge (`DenseFit.ridge_of_more`).
    Classes are best told apart with a weaker one (MNIST: 1e-4 with 3000 features, and 4e-5 with
    8000), because extreme scores do no harm.
    """
    score = candidate.score
    count = min(count, _most_by_memory(task))
    most = constants.WIDE_RIDGE_FEATURES if task.wide else constants.RIDGE_FEATURES
    tried = min(count, most)
    near = count <= constants.MORE * score.components or not task.effort.twice
    # A part of the columns says nothing of a linear model, and its trial had all of them.
    part = count > most and not candidate.found.has_bandwidth
    known = part or task.request.alpha is not None or (near and not task.classes)
    if known or task.late(constants.LATE_LAST):
        return score.ridge
    frozen = candidate.frozen(task, score.factor, tried)
    more = None if task.classes else count
    fit = dense_fit(task.data, frozen, score.ridge, task.classes, more=more)
    last = score._replace(ridge=fit.ridge, components=tried)
    task.note("ridge", in_words(candidate, last), len(task.data.fitted), fit.error)
    return fit.ridge * tried / count if task.classes else fit.ridge_of_more


def try_stages(task: LearningRows, first: Candidate, last: Candidate) -> tuple[float, float]:
    """Held-out error and second ridge of dense features, then bins for what they leave.

    On the pool, each with the factor and components of its last trial.
    """
    assert isinstance(last.fits, GridFits), "bins were tried again"
    error, ridge, _ = last.fits.best(last.score.ridge, targets=left_by(task, first))
    bins = what_of(last.found.kernel, True, last.leaves > 0.0)
    counts = f"{first.score.components} features, then {last.score.components} {bins}"
    task.note("stages", f"{counts}, ridge {ridge:.2g}", len(task.data.fitted), error)
    return error, ridge


def left_by(task: LearningRows, first: Candidate) -> Array:
    """The targets of the second stage: what the dense features of a trial leave."""
    assert isinstance(first.fits, DenseFit), "dense features were tried again"
    return np.asarray(task.data.targets - FIRST_SHARE * first.fits.scores(task.data.rows))
