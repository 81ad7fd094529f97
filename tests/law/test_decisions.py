"""Where the search for a law draws its lines: what is made here is on either side of each.

With half or twice a constant that is named by these tests, another candidate, column, line, ridge
or number of rounds is taken.
"""

from types import SimpleNamespace

import numpy as np
import pytest

import kitchensinks as ks
from kitchensinks.features.frozen import Frozen
from kitchensinks.features.scaling import identity
from kitchensinks.law import choice, constants, directions, scales, trend
from kitchensinks.law.candidates import Candidate, Limit
from kitchensinks.law.choice import _near, best_maps, candidates_of, tried_again
from kitchensinks.law.ending import _is_matched
from kitchensinks.law.few import _members
from kitchensinks.law.maps import Found
from kitchensinks.law.scales import descend, gradient
from kitchensinks.law.searches import best_ridge, first_best, preferred
from kitchensinks.law.task import LearningRows
from kitchensinks.law.trials import Score, TrialRows, _DensePath
from kitchensinks.law.values import Request
from kitchensinks.problem.targets import Batch


def found(kernel="gaussian", errors=(), scaling="learned"):
    ones = np.ones((1, 2))
    return Found(kernel, "standard", identity(2), ones, np.array(errors, dtype=float), scaling)


def candidate(error, kernel="gaussian", *, sparse=False, scaling="learned"):
    """A candidate that expects this error with all its components."""
    score = Score(error, error, None, 1.0, 0.1, 100)
    return Candidate(found(kernel, scaling=scaling), sparse, Limit(100, ""), score)


def given(wide=False, **more):
    """A task that tries what it is given, without a limit of time."""

    def early(share, work, items, last=None):
        return [work(None, one) for one in items]

    return SimpleNamespace(wide=wide, early=early, late=lambda share: False, **more)


# -- scales and directions -----------------------------------------------------------------


@pytest.mark.parametrize(("noise", "bound"), [(0.0, 1e-3), (1.0, 3.0)])
def test_the_ridge_of_a_descent_stays_between_singular_matrices_and_nothing(
    noise, bound, monkeypatch
):
    """Targets without noise drive it to its lower bound, and noise alone to its upper one."""
    ridges = []

    def spied(rows, targets, scales, ridge, *given):
        ridges.append(ridge)
        return gradient(rows, targets, scales, ridge, *given)

    def batches(step, size):
        rng = np.random.default_rng(step)
        rows, chance = rng.normal(size=(size, 2)), rng.normal(size=(size, 1))
        targets = (1.0 - noise) * np.sin(0.5 * rows[:, :1]) + noise * chance
        return rows.astype(np.float32), targets.astype(np.float32)

    monkeypatch.setattr(scales, "gradient", spied)
    descend("gaussian", np.full(2, 0.5), batches, 60, 200)
    assert (max if noise else min)(ridges) == pytest.approx(bound)


def test_columns_without_a_slope_keep_a_scale_that_is_nothing():
    """Over a thousand units of the column with the largest scale, a kernel falls by a thousandth.

    Either no slope is found along the column, or one fold of three has left it out.
    """
    learned = directions.directions(np.diag([4.0, 1.0, 0.0]), None)
    folds = Found(
        "laplacian", "as is", identity(2), np.array([[2.0, 0.0], [2.0, 1.0]]), np.zeros(1)
    )
    for own in (learned, _members(folds, ks.Learned()).scales[0]):
        assert 1.0 - np.exp(-1000.0 * own[-1] / own[0]) == pytest.approx(1e-3, rel=0.01)


@pytest.mark.parametrize(("falls", "fits"), [(0.96, 6), (0.98, 2)])
def test_rounds_end_where_the_error_hardly_falls_and_after_five(falls, fits, monkeypatch):
    """A round takes as long as a fit of 1000 features, and the eigenvectors of all columns."""
    errors = iter(falls ** np.arange(50.0))

    def fit(data, frozen):
        return SimpleNamespace(error=next(errors), weights=np.zeros((frozen.n_columns, 1)))

    monkeypatch.setattr(directions, "dense_fit", fit)
    rows = np.random.default_rng(0).normal(size=(700, 4))
    task = LearningRows(Batch(rows, rows[:, :1]), Request(seed=0), ks.Learned())
    assert len(directions.turned(task, ("common",))[0].errors) == fits


# -- candidates ----------------------------------------------------------------------------


def test_errors_of_short_runs_are_those_of_their_last_third():
    """Batches of a run differ by more than its end and the steps before: with three steps chance
    decides, and with twelve the way on which the scales were learned."""
    noise = 0.06 * np.array([-1.0, 1.0, -1.0, 1.0, -1.0, 1.0])
    better = found(errors=[*np.linspace(1.0, 0.6, 10), *(0.40 + noise)])
    worse = found(errors=[*np.linspace(0.8, 0.5, 10), *(0.41 - noise)])
    assert best_maps([worse, better]) == [better]


def test_kernels_of_nearly_the_least_error_have_candidates():
    for error, kept in ((1.12, 2), (1.18, 1)):
        runs = [found("laplacian", [1.0] * 6), found("gaussian", [error] * 6)]
        assert len(best_maps(runs)) == kept


def test_bandwidths_are_searched_where_the_first_is_not_hopeless(monkeypatch):
    """An error that is lower by a quarter with a better bandwidth is common, by more it is rare."""
    errors = [1.0, 1.25, 1.35, 2.0]
    monkeypatch.setattr(choice, "_jobs", lambda task, founds: errors)
    monkeypatch.setattr(choice, "_note_runs", lambda *given: None)
    monkeypatch.setattr(choice, "first_look", lambda task, error: candidate(error))
    monkeypatch.setattr(choice, "wider_look", lambda task, one: one)
    assert [one.error for one in candidates_of(given(), [found()])] == errors[:2]


def test_close_candidates_are_tried_again():
    close = _near(given(), [candidate(error) for error in (1.12, 1.0, 1.18)])
    assert [one.error for one in close] == [1.12, 1.0]


@pytest.mark.parametrize(("error", "count"), [(1.45, 2), (1.55, 1)])
def test_equal_scales_are_tried_again_from_further_away_on_wide_tables(error, count):
    """They gain more from further features than rotations do, but not by half of the error."""
    both = [candidate(1.0), candidate(error, scaling="equal")]
    assert len(_near(given(wide=True), both)) == count
    assert len(_near(given(), both)) == 1


@pytest.mark.parametrize(("n_rows", "again"), [(1400, False), (1600, True)])
def test_a_second_look_needs_half_as_many_rows_again(n_rows, again, monkeypatch):
    """With fewer, and an effort that tries nothing twice, the first look stands."""
    monkeypatch.setattr(choice, "in_reach", lambda task, one: True)
    monkeypatch.setattr(choice, "again", lambda task, one: candidate(0.5))
    data, few = SimpleNamespace(fitted=np.empty(n_rows)), SimpleNamespace(fitted=np.empty(1000))
    task = given(data=data, few=few, effort=SimpleNamespace(twice=False))
    (kept,) = tried_again(task, [candidate(1.0)])
    assert kept.error == (0.5 if again else 1.0)


@pytest.mark.parametrize(("error", "matched"), [(1.08, True), (1.12, False)])
def test_trees_are_not_tried_where_a_smooth_kernel_nearly_has_the_error_of_bins(error, matched):
    """Targets are smooth there, and the gain of trees in a trial does not last."""
    bins = candidate(1.0, "laplacian", sparse=True)
    assert _is_matched(bins, [bins, candidate(error)]) is matched
    # Dense features of the kernel of the bins say nothing of that.
    assert not _is_matched(bins, [bins, candidate(error, "laplacian")])


@pytest.mark.parametrize(("error", "matched"), [(1.008, False), (1.012, True)])
def test_trees_are_not_tried_where_a_linear_model_is_better_than_bins(error, matched):
    bins = candidate(error, "laplacian", sparse=True)
    assert _is_matched(bins, [bins, candidate(1.0, "linear")]) is matched


# -- errors and ridges of trials -----------------------------------------------------------


def test_errors_that_rounding_in_float32_makes_differ_are_equal():
    """It was measured as 1.1e-4 of them; the first of equal ones wins."""
    assert first_best([1.0, 1.0 - 1.5e-4]) == 0
    assert first_best([1.0, 1.0 - 2.5e-4]) == 1


def test_log_loss_decides_among_classes_of_nearly_the_least_squared_error():
    high, low = np.full(50, 0.02), np.full(50, 0.01)
    assert preferred([0.2, 1.08 * 0.2], [high, low]) == 1
    assert preferred([0.2, 1.12 * 0.2], [high, low]) == 0


def path_of(targets, labels=None):
    """Ridge fits of 60 features to 300 rows, for targets that are functions of the features."""
    rows = np.random.default_rng(0).normal(size=(400, 3))
    frozen = Frozen(identity(3), ks.Fourier(gamma=0.1), 0, 3, 60, np.dtype(np.float64))
    own = targets(frozen.features(rows))
    own -= own.mean()
    unit, fitted = float(np.mean(own**2)), np.arange(100, 400)
    given = rows, own, None, fitted, np.arange(100), unit, np.zeros(1), labels
    return _DensePath(TrialRows(*given), frozen)


@pytest.mark.parametrize(("classes", "weakest"), [(False, 1e-4), (True, 1e-5)])
def test_the_search_for_a_ridge_ends_at_the_weakest(classes, weakest):
    """Although targets without noise, in the span of the features, ask for a weaker one."""
    weights = np.random.default_rng(0).normal(size=(60, 1))
    labels = np.zeros(400, np.int64) if classes else None
    path = path_of(lambda features: features @ weights, labels)
    tried = path.search(constants.DENSE_RIDGES)
    assert best_ridge(tried) == pytest.approx(weakest)
    assert path.tried(weakest / 2)[0] < 0.9 * tried[best_ridge(tried)][0]


def test_the_search_for_a_ridge_ends_where_nothing_of_the_features_is_left():
    """With λ = 1000·n, what is left of a function is a thousandth of it, or less."""
    noise = np.random.default_rng(0).normal(size=(400, 1))
    path = path_of(lambda features: noise)
    tried = path.search((200.0 * 300,))
    assert max(tried) == best_ridge(tried) == pytest.approx(600.0 * 300)
    assert np.std(path.scores(tried[best_ridge(tried)][1])) < 1e-3 * np.std(noise)


# -- lines that go on outside of the range -------------------------------------------------


def columns(count, n_rows=600):
    """Columns of mean zero and deviation one that are uncorrelated."""
    own = np.random.default_rng(0).normal(size=(n_rows, count))
    return np.linalg.qr(own - own.mean(axis=0))[0] * np.sqrt(n_rows)


def task_of(rows, targets):
    return LearningRows(Batch(rows, targets[:, None]), Request(seed=0), ks.Learned())


def promising(rows, targets):
    task = task_of(rows, targets)
    return trend._promising(task, task.pool, np.arange(len(task.pool)))


def test_the_three_columns_with_the_largest_slopes_are_tried():
    """Each takes two fits."""
    rows = columns(7)
    assert promising(rows, rows @ [0.1, 0.5, 0.2, 0.7, 0.3, 0.4, 0.15]) == [3, 1, 5]


def test_columns_without_effect_are_not_tried():
    rows = columns(3)
    assert promising(rows, rows @ [0.035, 1.0, 0.07]) == [1, 2]


def test_columns_of_few_values_have_no_ends():
    """Of four values, the outer sixths of the rows are two of them."""
    counted = np.arange(600.0)
    rows = np.column_stack([counted % 4, counted % 6, columns(1)])
    assert sorted(promising(rows, rows @ [1.0, 1.0, 1.0])) == [1, 2]


@pytest.mark.parametrize(("slope", "first"), [(13.0, 0), (9.0, 2)])
def test_small_differences_of_columns_count_less_than_their_slopes(slope, first):
    """With copies that differ by e = √0.002 of noise, a linear fit has 1/e = 22 as the slope of
    that noise, and with 0.001 on the diagonal e/(2·0.001 + e²) = 11."""
    rows = columns(3)
    targets = rows @ [slope, 0.0, 1.0]
    rows[:, 2] = rows[:, 1] + np.sqrt(0.002) * rows[:, 2]
    assert promising(rows, targets)[0] == first


@pytest.mark.parametrize(("count", "tried"), [(80, False), (150, True)])
def test_a_line_of_few_rows_would_be_chance(count, tried):
    rows = columns(2)
    task = task_of(rows, rows[:, 0])
    inner, outer = trend._ends(task.pool[:, 0], np.arange(600))
    assert trend._helps(task, found(), task.pool, (inner[:count], outer), [0]) == tried
    assert any(one.stage == "trend" for one in task.trials) == tried


def kept(monkeypatch, gain, within=1.0, noise=0.0):
    """Whether a line is kept that lowers the squared error of 100 rows from 1.5 + gain, on which
    they differ by `noise`, to 1.5, and multiplies the error within the range."""
    rows = columns(2)
    task = task_of(rows, rows[:, 0])

    def fits(found, part, lines, outer, beyond):
        chance = np.tile([noise, -noise], 50)
        losses = task.unit * np.array([1.5 + gain + chance, np.full(100, 1.5)])
        return [
            trend.Line(own, outer.targets - np.sqrt(loss)[:, None], np.zeros(1))
            for own, loss in zip((1.0, within), losses, strict=True)
        ]

    monkeypatch.setattr(trend, "_fits", fits)
    return trend._helps(task, found(), task.pool, (np.arange(300), np.arange(300, 400)), [0])


@pytest.mark.parametrize(("gain", "clear"), [(0.25, False), (0.35, True)])
def test_a_line_lowers_the_error_by_three_standard_errors(gain, clear, monkeypatch):
    """Here 0.1; three columns are tried, each on rows that are neighbours."""
    assert kept(monkeypatch, gain, noise=1.0) == clear


@pytest.mark.parametrize(
    ("later", "within", "taken"),
    [(False, 1.0015, True), (False, 1.0025, False), (True, 1.015, True), (True, 1.025, False)],
)
def test_a_line_may_hardly_raise_the_error_within_the_range(later, within, taken, monkeypatch):
    """By more where the rows held out are the latest, which resemble the rows to come."""
    monkeypatch.setattr(LearningRows, "later", later)
    assert kept(monkeypatch, 1.0, within=within) == taken
