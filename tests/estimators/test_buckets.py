"""Buckets of the maxout hash: chances by Monte Carlo, and a search against a plain one."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import kitchensinks as ks
from kitchensinks.estimators.buckets import Buckets, Shape
from kitchensinks.features.bases.maxout import same_argmax
from tests.numerics import twins

RNG = np.random.default_rng(0)
CENTRES = RNG.normal(size=(30, 12))
ROWS = np.repeat(CENTRES, 20, axis=0) + 0.25 * RNG.normal(size=(600, 12))
QUERIES = CENTRES + 0.25 * RNG.normal(size=(30, 12))


def pairs_of_cosine(cosine, count, width=12):
    first = RNG.normal(size=(count, width))
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    other = RNG.normal(size=(count, width))
    other -= (other * first).sum(axis=1, keepdims=True) * first
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    return first, cosine * first + np.sqrt(1 - cosine**2) * other


@pytest.mark.parametrize("cosine", [0.95, 0.8, 0.3])
def test_rows_meet_as_often_as_the_exact_kernel_says(cosine):
    """Over 40 seeds, within five standard errors; at the cosine `near` at least `recall`."""
    first, second = pairs_of_cosine(cosine, 100)
    met = []
    for seed in range(40):
        hash_ = ks.MaxoutHash(64, 4, random_state=seed, near=0.8, recall=0.9).fit(first)
        one, other = (hash_.tables_.keys(hash_.transform(rows)) for rows in (first, second))
        met.append((one == other).any(axis=0).mean())
    chance = float(hash_.tables_.chance(cosine))
    assert abs(np.mean(met) - chance) <= 5 * np.std(met, ddof=1) / np.sqrt(40) + 1e-3
    if cosine == 0.8:
        assert chance >= 0.9


def test_the_number_of_tables_by_brute_force():
    """No longer key fits into the units, and no fewer tables reach the recall."""
    for near, pool, units in ((0.9, 8, 256), (0.5, 2, 100), (0.7, 16, 1000)):
        shape = Shape.of(units, pool, near, 0.9)
        same = float(same_argmax(near, pool))
        options = [
            (letters, tables)
            for letters in range(1, 40)
            for tables in range(1, units // letters + 1)
            if 1 - (1 - same**letters) ** tables >= 0.9
        ]
        longest = max(letters for letters, _ in options)
        assert shape.n_letters == longest
        assert shape.n_tables == min(tables for letters, tables in options if letters == longest)


def plain_search(hash_, queries, count):
    """Every bucket by comparison of letters, candidates sorted by distance and place."""
    shape = hash_.tables_
    own, asked = hash_.transform(ROWS), hash_.transform(queries)
    used = shape.n_tables * shape.n_letters
    cut = (-1, shape.n_tables, shape.n_letters)
    own, asked = own[:, :used].reshape(cut), asked[:, :used].reshape(cut)
    distance = twins.different_letters(hash_._coded(queries)[0], hash_.codes_)
    found = []
    for i, query in enumerate(asked):
        together = np.flatnonzero((own == query).all(axis=2).any(axis=1))
        order = np.lexsort((together, distance[i, together]))
        found.append(together[order][:count])
    return found


def test_the_search_is_the_plain_one():
    hash_ = ks.MaxoutHash(96, 4, random_state=1, near=0.9, recall=0.8).fit(ROWS)
    keys = hash_.tables_.keys(hash_.transform(QUERIES))
    _, places, compared = hash_.buckets_.nearest(
        keys, hash_._coded(QUERIES)[0], hash_.codes_, 5, False
    )
    for own, expected in zip(places, plain_search(hash_, QUERIES, 5), strict=True):
        np.testing.assert_array_equal(own[own >= 0], expected)
    np.testing.assert_array_equal(compared, hash_.compared(QUERIES))
    assert compared.mean() < 200


def test_buckets_find_most_of_what_a_scan_finds():
    scan = ks.MaxoutHash(512, 8, random_state=0).fit(ROWS)
    tables = clone(scan).set_params(near=0.9).fit(ROWS)
    _, expected = scan.kneighbors(QUERIES, 5)
    distance, found = tables.kneighbors(QUERIES, 5)
    share = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(expected, found, strict=True)])
    assert share > 0.9
    assert (np.diff(distance, axis=1) >= 0).all()
    assert tables.compared(QUERIES).mean() < 0.3 * len(ROWS)
    again = pickle.loads(pickle.dumps(tables))
    np.testing.assert_array_equal(again.kneighbors(QUERIES, 5)[1], found)


def test_a_row_is_not_its_own_neighbour_and_lonely_ones_are_scanned():
    hash_ = ks.MaxoutHash(128, 8, random_state=0, near=0.95).fit(ROWS)
    _, places = hash_.kneighbors(n_neighbors=3)
    assert (places != np.arange(len(ROWS))[:, None]).all()
    far = -10 * CENTRES[:3]
    scan = ks.MaxoutHash(128, 8, random_state=0).fit(ROWS)
    few = hash_.compared(far) < 3
    assert few.any()
    np.testing.assert_array_equal(hash_.kneighbors(far, 3)[1][few], scan.kneighbors(far, 3)[1][few])


def test_empty_buckets():
    buckets = Buckets.of(np.array([[5, 3, 5]], dtype=np.uint64))
    low, high = buckets.ranges(np.array([[5, 4]], dtype=np.uint64))
    np.testing.assert_array_equal(high - low, [[2, 0]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"near": 1.0}, r"near=1.0: need a number above -1 and below 1"),
        ({"near": "0.9"}, r"near='0.9': need a number"),
        ({"near": 0.9, "recall": 1.0}, r"recall=1.0: need a number above 0 and below 1"),
        ({"near": -0.5, "n_units": 4}, r"need \d+ tables, and n_units=4.*Raise n_units"),
    ],
)
def test_bad_tables(given, message):
    with pytest.raises(ValueError, match=message):
        ks.MaxoutHash(random_state=0).set_params(**given).fit(ROWS)


def test_the_work_of_a_query_grows_slower_than_the_rows():
    """Eight times the rows, of the same law: far less than eight times the rows compared."""
    compared = []
    for count in (1000, 8000):
        rows = RNG.normal(size=(count, 20)) + 0.5
        hash_ = ks.MaxoutHash("auto", 8, random_state=0, near=0.9).fit(rows)
        assert hash_.n_units_ == hash_.tables_.n_tables * hash_.tables_.n_letters
        assert hash_.transform(rows[:2]).shape == (2, hash_.n_units_)
        compared.append(hash_.compared(rows[:100]).mean())
    assert compared[1] < 4 * compared[0]


def test_units_by_the_rows_need_a_cosine():
    with pytest.raises(ValueError, match="n_units='auto' follows from near: give a cosine"):
        ks.MaxoutHash("auto").fit(ROWS)
