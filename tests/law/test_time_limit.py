"""What a law leaves out when a share of its time limit is used up; the clock is made."""

from types import SimpleNamespace

import numpy as np
import pytest

import kitchensinks as ks
from kitchensinks.features.scaling import identity
from kitchensinks.law import Learned, Request, candidates, choice, find_law
from kitchensinks.law.candidates import Candidate, Limit, in_time, nominal_seconds
from kitchensinks.law.choice import _time_to_turn, candidates_of, tried_again
from kitchensinks.law.ending import _allows_stages, _allows_trees
from kitchensinks.law.maps import Found
from kitchensinks.law.task import LearningRows
from kitchensinks.law.trend import find_trend
from kitchensinks.law.trials import Score
from kitchensinks.problem.targets import Batch

ROWS = np.random.default_rng(0).normal(size=(700, 3))
BATCH = Batch(ROWS, ROWS[:, :1])
FOUND = Found("gaussian", "as is", identity(3), np.ones((1, 3)), np.zeros(1))


def task_at(monkeypatch, used, **request):
    """A task that has used up a share of its time limit, and uses no more."""
    monkeypatch.setattr(LearningRows, "used", used)
    return LearningRows(BATCH, Request(seed=0, **request), Learned(time_limit=1e6))


def candidate(error=1.0):
    score = Score(error, error, None, 1.0, 0.1, 100)
    return Candidate(FOUND, False, Limit(100, ""), score)


def early(own, tried):
    """What `tried` says of a share, just before it is used up and just after."""
    return [tried(own - 0.04), tried(own + 0.04)]


@pytest.mark.usefixtures("little_work")
def test_maps_are_compared_until_a_fifth_is_used_up(monkeypatch):
    """After it, the first kernel has its first map."""

    def maps(used):
        monkeypatch.setattr(LearningRows, "used", used)
        law, _ = find_law(Learned(), BATCH, Request(seed=0))
        return sum(trial.stage == "map" for trial in law.record.trials)

    assert early(0.2, maps) == [6, 1]


def test_lines_are_tried_until_a_third_is_used_up(monkeypatch):
    def tried(used):
        task = task_at(monkeypatch, used, trend=True)
        find_trend(task, FOUND)
        return any(trial.stage == "trend" for trial in task.trials)

    assert early(0.35, tried) == [True, False]


def test_trees_are_grown_until_a_third_is_used_up(monkeypatch):
    """They take as long as several candidates, and a fit before and after them."""
    assert early(0.3, lambda used: _allows_trees(task_at(monkeypatch, used, stages=True))) == [
        True,
        False,
    ]


def test_directions_are_turned_until_two_fifths_are_used_up(monkeypatch):
    assert early(0.4, lambda used: _time_to_turn(task_at(monkeypatch, used))) == [True, False]


def test_bandwidths_are_searched_until_half_is_nearly_used_up(monkeypatch):
    monkeypatch.setattr(choice, "_jobs", lambda task, founds: [1.0])
    monkeypatch.setattr(choice, "first_look", lambda task, error: candidate(error))
    monkeypatch.setattr(choice, "wider_look", lambda task, one: candidate(0.5))

    def error(used):
        return candidates_of(task_at(monkeypatch, used), [FOUND])[0].error

    assert early(0.45, error) == [0.5, 1.0]


def test_close_candidates_are_tried_again_until_half_is_used_up(monkeypatch):
    monkeypatch.setattr(choice, "in_reach", lambda task, one: True)
    monkeypatch.setattr(choice, "again", lambda task, one: candidate(0.5))

    def error(used):
        return tried_again(task_at(monkeypatch, used), [candidate(1.0)])[0].error

    assert early(0.5, error) == [0.5, 1.0]


def test_two_stages_are_tried_until_the_last_fit_needs_what_is_left(monkeypatch):
    assert early(0.6, lambda used: _allows_stages(task_at(monkeypatch, used, stages=True))) == [
        True,
        False,
    ]


def test_the_last_fit_may_take_three_fifths_of_the_time_that_is_left(monkeypatch):
    """As nominal seconds at the pace of the trials, here one; components fall by a tenth at a
    time. A second is used up by mapping a thousand rows, which says what all of them take."""
    now = [0.0]
    monkeypatch.setattr(candidates, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def apply(rows, dtype):
        now[0] += 1e-3 * len(rows)

    task = SimpleNamespace(
        asked=None,
        learned=ks.Learned(time_limit=100.0),
        request=SimpleNamespace(started=0.0),
        sample=np.empty((5000, 3)),
        source=np.empty((19_000, 3)),
    )
    own = Found("gaussian", "as is", SimpleNamespace(apply=apply), np.ones((1, 3)), np.zeros(1))
    given = Candidate(own, False, Limit(20_000, ""), candidate().score)
    spent = nominal_seconds(task, False, 19_000, in_time(task, given).components)
    assert now[0] == pytest.approx(1.0)
    assert 0.8 * 48.0 < spent < 48.0
