"""The path from frames to error rates of phones, against enumeration and recursion."""

import itertools
from functools import cache

import numpy as np
import pytest

from kitchensinks.papers.experiments import speech
from kitchensinks.papers.experiments.speech import Decoder, Spoken


def test_forty_eight_phones_are_scored_as_thirty_nine():
    assert len(set(speech.PHONES)) == 48
    assert set(speech.SCORED_AS) < set(speech.PHONES)
    assert len({speech.SCORED_AS.get(phone, phone) for phone in speech.PHONES}) == 39


def decoder(rng, n_units, n_states):
    count = n_units * n_states
    leave = rng.uniform(0.2, 0.8, count)
    pairs = rng.uniform(size=(n_units + 1, n_units + 1))
    return Decoder(
        np.log(rng.dirichlet(np.ones(count))),
        np.log1p(-leave),
        np.log(leave),
        np.log(pairs / pairs.sum(axis=1, keepdims=True)),
        n_states,
    )


def best_by_enumeration(model, posteriors, weight):
    """The units of the best of all paths; a step within a state may stay or, with one state, begin
    the same unit again."""
    n_all, s = posteriors.shape[1], model.n_states
    found = {}
    for path in itertools.product(range(n_all), repeat=len(posteriors)):
        if path[0] % s or (path[-1] + 1) % s:
            continue
        score = weight * model.bigram[-1, path[0] // s] + (posteriors[0] - model.prior)[path[0]]
        ways = [(score, [path[0] // s])]
        for t, (old, new) in enumerate(itertools.pairwise(path), 1):
            own, further = (posteriors[t] - model.prior)[new], []
            for value, units in ways:
                if new == old:
                    further.append((value + model.stay[old] + own, units))
                if new == old + 1 and new % s:
                    further.append((value + model.leave[old] + own, units))
                if (old + 1) % s == 0 and new % s == 0:
                    jump = model.leave[old] + weight * model.bigram[old // s, new // s]
                    further.append((value + jump + own, [*units, new // s]))
            ways = further
        for value, units in ways:
            end = value + model.leave[path[-1]] + weight * model.bigram[path[-1] // s, -1]
            found[end] = units
    return found[max(found)]


@pytest.mark.parametrize(("n_units", "n_states"), [(3, 1), (2, 2), (1, 3)])
def test_viterbi_finds_the_best_of_all_paths(n_units, n_states):
    rng = np.random.default_rng(0)
    for length in (3, 5, 6):
        for weight in (0.5, 1.0):
            model = decoder(rng, n_units, n_states)
            posteriors = np.log(rng.dirichlet(np.ones(n_units * n_states), size=length))
            expected = best_by_enumeration(model, posteriors, weight)
            assert model.units(posteriors, weight) == expected


def test_the_decoder_counts():
    states = np.array([0, 0, 1, 2, 3, 3, 0, 1])
    model = Decoder.of(Spoken(np.zeros((8, 1)), states, np.array([6, 2])), 2, 2)
    # Begun with one: state 0 has 1 + 3 frames in 1 + 2 visits.
    assert np.exp(model.prior)[0] == pytest.approx(4 / 12)
    assert np.exp(model.leave)[0] == pytest.approx(3 / 5)
    np.testing.assert_allclose(np.exp(model.stay) + np.exp(model.leave), 1.0)
    # Utterances of units 0, 1 and 0: both begin with 0, one goes from 0 to 1, one ends after each.
    np.testing.assert_allclose(
        np.exp(model.bigram), [[1 / 5, 2 / 5, 2 / 5], [1 / 4, 1 / 4, 2 / 4], [3 / 5, 1 / 5, 1 / 5]]
    )


def test_distance_is_that_of_the_recursion():
    @cache
    def plain(one, other):
        if not one or not other:
            return len(one) + len(other)
        same = plain(one[1:], other[1:]) + (one[0] != other[0])
        return min(same, plain(one[1:], other) + 1, plain(one, other[1:]) + 1)

    rng = np.random.default_rng(0)
    for _ in range(30):
        one, other = (tuple(rng.integers(3, size=rng.integers(0, 7)).tolist()) for _ in range(2))
        assert speech.distance(one, other) == plain(one, other)


def test_error_rate_maps_before_it_counts():
    pairs = [(["ix", "n"], ["ih", "en"]), (["sil"], ["cl", "aa"])]
    assert speech.error_rate(iter(pairs)) == pytest.approx(100 * 1 / 4)


def test_states_beyond_the_phones_need_a_list_of_them(tmp_path, monkeypatch):
    """The 147 states of the paper: with phones.txt of 49 lines they are scored, else refused."""
    (tmp_path / "timit").mkdir()
    monkeypatch.setenv("KITCHENSINKS_DATA", str(tmp_path))
    states = np.arange(147)
    spoken = Spoken(np.zeros((147, 1)), states, np.array([147]))
    with pytest.raises(ValueError, match=r"hold the state 146, and 48 phones .*phones\.txt"):
        speech._phones(spoken, spoken)
    (tmp_path / "timit" / "phones.txt").write_text("\n".join([*speech.PHONES, "sil"]))
    names = speech._phones(spoken, spoken)
    assert len(names) == 49
    model = Decoder.of(spoken, len(names), 3)
    posteriors = np.where(np.eye(147) > 0, 0.0, -30.0)
    found = model.units(posteriors)
    assert found == speech.units_of(states, 3) == list(range(49))
    assert speech.error_rate([([names[u] for u in found], names)]) == 0.0
