"""How many features or grids a trial and the last fit have, by what they cost."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from kitchensinks import Learned
from kitchensinks.features.scaling import identity
from kitchensinks.law import candidates
from kitchensinks.law.candidates import (
    Candidate,
    Limit,
    _components,
    affordable,
    enough,
    nominal_seconds,
    ridge_for,
)
from kitchensinks.law.learned import EFFORTS
from kitchensinks.law.maps import Found
from kitchensinks.law.task import LearningRows
from kitchensinks.law.trials import Score
from kitchensinks.law.values import Request
from kitchensinks.problem.targets import Batch

SCORE = Score(0.5, 0.55, None, 1.0, 0.1, 256)


def table(n_rows, width, outputs=1, *, seconds=None, memory=1e12):
    """What the sizes of a fit to a table depend on."""
    return SimpleNamespace(
        asked=None,
        wide=width > 100,
        counted=n_rows,
        n_inputs=width,
        source=np.empty((n_rows, 0)),
        targets=np.empty((0, outputs)),
        learned=Learned(seconds=seconds),
        effort=EFFORTS["default"],
        request=Request(seed=0, memory=memory),
    )


def candidate(sparse=False, most=10**6, width=2):
    found = Found("gaussian", "as is", identity(width), np.ones((1, width)), np.zeros(1))
    return Candidate(found, sparse, Limit(most, ""), SCORE)


# -- the last fit --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_rows", "width", "seconds"),
    [(20_000, 10, 1.56), (300_000, 80, 8.7), (20_000, 600, 37.5)],
    ids=["short", "long", "wide"],
)
def test_the_last_fit_of_features_takes_seconds_and_more_for_large_tables(n_rows, width, seconds):
    """1.5 s and 0.3 s for each million entries, or 3 s where the table is wide. Of n·K features,
    1e8 are made in a second, and n·K²/300 is what their Gram takes."""
    count = affordable(table(n_rows, width), sparse=False).components
    assert n_rows * count * (1.0 + count / 300) == pytest.approx(1e8 * seconds, rel=0.01)
    spent = nominal_seconds(table(n_rows, width), False, n_rows, count)
    assert spent == pytest.approx(seconds, rel=0.01)


@pytest.mark.parametrize(("n_rows", "width", "seconds"), [(20_000, 8, 1.548), (100_000, 80, 3.9)])
@pytest.mark.parametrize("outputs", [1, 4])
def test_the_last_fit_of_bins_takes_the_same_seconds(n_rows, width, seconds, outputs):
    """A bin takes as long as 8 features of one output, half as long for each further output, and
    longer by a feature for each 8 columns."""
    count = affordable(table(n_rows, width, outputs), sparse=True).components
    spent = n_rows * count * (4.0 + 4.0 * outputs + width / 8)
    assert spent == pytest.approx(1e8 * seconds * outputs**0.25, rel=0.02)


def test_no_fit_has_more_than_a_thousand_grids_or_fewer_than_sixteen():
    """Beyond a thousand grids, their number is no noise to speak of: errors fall as 1/√K."""
    assert affordable(table(1000, 8), sparse=True).components == 1000
    for n_rows, memory in ((10**7, 1e12), (10**6, 1e6)):
        assert affordable(table(n_rows, 1, memory=memory), sparse=True).components == 16


def test_fits_to_very_many_rows_have_features_enough_for_a_kernel():
    """The kernel of 256 features is exact to 1/√256 = 6 %, whatever they cost."""
    found = affordable(table(10**8, 8), sparse=False)
    assert 1.0 / math.sqrt(found.components) == 0.0625
    rough = enough(Limit(8000, ""), SCORE._replace(half=SCORE.error, components=2), sparse=False)
    assert rough.components == found.components


@pytest.mark.parametrize(("sparse", "share"), [(True, 0.002), (False, 0.005)])
def test_components_end_where_the_error_would_fall_by_half_a_percent_at_most(sparse, share):
    """Of grids by a fifth of a percent: their fits take less for each of them."""
    limit = enough(Limit(10**6, ""), SCORE, sparse)
    at_end = SCORE.at(10**9)
    assert SCORE.at(limit.components) / at_end - 1.0 == pytest.approx(share, rel=0.01)
    assert enough(Limit(1000, ""), SCORE, sparse).components == 1000


# -- trials --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_rows", [6400, 8000])
def test_features_of_a_trial_take_ten_megabytes(n_rows):
    count = _components(table(n_rows, 8), "basis", candidate(), n_rows)
    assert 4 * n_rows * count == pytest.approx(1e7, rel=0.01)


def test_trials_of_wide_tables_have_a_feature_for_four_rows_up_to_a_thousand():
    """A kernel of directions is told from one of columns by as many features as it has directions:
    with 1000, it is exact to 1/√1000 = 3 %."""
    wide = table(8000, 600)
    counts = [_components(wide, "basis", candidate(), n_rows) for n_rows in (3000, 4000, 8000)]
    assert counts == [750, 1000, 1000]


@pytest.mark.parametrize(("stage", "seconds"), [("again", 2.46), ("last", 14.5)])
def test_further_looks_at_wide_tables_take_seconds(stage, seconds):
    """As nominal seconds, of which the Gram takes the most: rows × features² are 6e10 or 4e11."""
    wide = table(36_000, 600)
    count = _components(wide, stage, candidate(), 36_000)
    assert nominal_seconds(wide, False, 36_000, count) == pytest.approx(seconds, rel=0.02)


def test_a_second_look_at_bins_has_more_than_twice_the_work():
    """Two and a half times the grids at as many rows, and not fewer than the last fit has."""
    few, many = table(4000, 8), table(90_000, 8)
    first, second = (
        _components(few, stage, candidate(sparse=True), 4000) for stage in ("basis", "again")
    )
    assert (first, second) == (100, 250)
    assert _components(many, "again", candidate(sparse=True), 90_000) == 16


# -- the ridge of more features ------------------------------------------------------------


@pytest.mark.parametrize(("width", "most"), [(4, 1000), (120, 3000)])
def test_the_ridge_is_searched_again_with_many_features(width, most, monkeypatch):
    """1000 of them, or 3000 where the table is wide, if the last fit has half as many again."""
    tried = []

    def fit(data, frozen, *given, **options):
        tried.append(frozen.n_columns)
        return SimpleNamespace(ridge=0.3, ridge_of_more=0.7, error=0.4)

    monkeypatch.setattr(candidates, "dense_fit", fit)
    rows = np.random.default_rng(0).normal(size=(700, width))
    task = LearningRows(Batch(rows, rows[:, :1]), Request(seed=0), Learned())
    assert task.wide == (width > 100)
    known = replace(candidate(width=width), score=SCORE._replace(components=400))
    assert ridge_for(task, known, 560) == known.score.ridge
    assert ridge_for(task, known, 640) == 0.7
    assert ridge_for(task, known, 8000) == 0.7
    assert tried == [640, most]
