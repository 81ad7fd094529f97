"""Raw words and our own transforms: the same numbers for good, from the right laws."""

import numpy as np
import pytest
from scipy import stats

from kitchensinks.numerics.words import Stream, Words, check_seed

# A saved model holds a seed, not its draw: none of these numbers may ever change.
GOLDEN = {
    "raw": ((3,), [8893702929424106994, 13357943582879616415, 927023405073346982]),
    "uniform": ((3,), [0.4821286018761156, 0.7241355726248441, 0.05025403948627172]),
    "normal": ((3,), [1.1482100272536455, 0.37510334123858735, -0.32430664107725166]),
    "cauchy": ((3,), [-0.05620372100604033, 0.8493949013137204, -6.281302357439968]),
    "laplace": ((3,), [-0.036397211087139426, 0.594698558548297, -2.2975171669274297]),
    "sign": ((6,), [-1, 1, -1, -1, 1, -1]),
    "permutation": ((6,), [2, 5, 3, 0, 4, 1]),
    "integers": ((10, 6), [4, 7, 0, 3, 6, 1]),
}
GOLDEN_GAMMA = {
    2: [1.8811560428150194, 0.7073389577059601, 4.623791113246778],
    0.5: [0.20906521738999675, 0.59367578566716, 0.00198612567070584],
    7.5: [7.050578481067967, 8.876585034275186, 3.634576497743923],
}
GOLDEN_CHI = {
    1: [0.6466300602199015, 1.0896566300143913, 0.06302579901446455],
    4: [1.9396680349044366, 1.189402335381901, 3.0409837596563314],
    16.0: [3.884911951671255, 4.3430838781706775, 2.8231700403827005],
}


@pytest.mark.parametrize("name", GOLDEN)
def test_numbers_of_a_seed_never_change(name):
    arguments, expected = GOLDEN[name]
    values = getattr(Words(7, 3), name)(*arguments)
    if values.dtype.kind == "f":
        np.testing.assert_allclose(values, expected, rtol=1e-13)
    else:
        np.testing.assert_array_equal(values, np.array(expected, dtype=values.dtype))


@pytest.mark.parametrize("order", GOLDEN_GAMMA)
def test_gamma_numbers_of_a_seed_never_change(order):
    np.testing.assert_allclose(Words(7, 3).gamma(order, 3), GOLDEN_GAMMA[order], rtol=1e-10)


@pytest.mark.parametrize("freedom", GOLDEN_CHI)
def test_chi_numbers_of_a_seed_never_change(freedom):
    np.testing.assert_allclose(Words(7, 3).chi(freedom, 3), GOLDEN_CHI[freedom], rtol=1e-10)


def test_streams_and_the_largest_seed_have_words_of_their_own():
    assert Words(7, 3, Stream.MAXOUT_PLANES).raw(2).tolist() == [
        6626441875418973127,
        4298078626401097108,
    ]
    assert Words(2**64 - 1, 0).raw(2).tolist() == [4333907348786404347, 13232047798055274199]


LAWS = {
    "uniform": (lambda words: words.uniform(20000), stats.uniform),
    "normal": (lambda words: words.normal(20001), stats.norm),
    "cauchy": (lambda words: words.cauchy(20000), stats.cauchy),
    "laplace": (lambda words: words.laplace(20000), stats.laplace),
    "gamma 2": (lambda words: words.gamma(2, 20000), stats.gamma(2)),
    "gamma 3.5": (lambda words: words.gamma(3.5, 20000), stats.gamma(3.5)),
    "gamma 0.3": (lambda words: words.gamma(0.3, 20000), stats.gamma(0.3)),
    "chi 1": (lambda words: words.chi(1, 20000), stats.chi(1)),
    "chi 7": (lambda words: words.chi(7, 20000), stats.chi(7)),
    "chi 1024": (lambda words: words.chi(1024, 20000), stats.chi(1024)),
}


@pytest.mark.parametrize("name", LAWS)
def test_laws(name):
    """Kolmogorov and Smirnov, with a fixed seed: the p-value is a number, not chance."""
    draw, law = LAWS[name]
    assert stats.kstest(draw(Words(11, 0)), law.cdf).pvalue > 0.01


def test_neighbours_are_independent():
    """Pairs of one Box-Muller step, and numbers of neighbouring blocks, are uncorrelated."""
    values = Words(1, 0).normal(20000, 2)
    other = Words(1, 1).normal(20000, 2)
    together = np.corrcoef(np.hstack([values, other, values**2, other**2]).T)
    assert np.abs(together - np.eye(8)).max() < 5 / np.sqrt(20000)


def test_uniform_never_reaches_its_ends():
    """The largest and smallest words stay inside (0, 1), and so no law gives infinity."""

    class Fixed(Words):
        def __init__(self, word):
            self.word = word

        def raw(self, count):
            return np.full(count, self.word, dtype=np.uint64)

    for word in (0, 2**64 - 1):
        assert 0 < Fixed(word).uniform(1)[0] < 1
        for law in ("normal", "cauchy", "laplace"):
            assert np.isfinite(getattr(Fixed(word), law)(2)).all()
        assert np.isfinite(Fixed(word).gamma(2.5, 1)).all()
        for below in (1, 2, 3, 5, 7, 10**6, 10**9 + 7):
            assert 0 <= Fixed(word).integers(below, 1)[0] < below


def test_integers_signs_and_orders_are_uniform():
    counts = np.bincount(Words(5, 0).integers(7, 21000), minlength=7)
    assert stats.chisquare(counts).pvalue > 0.01
    assert abs(Words(5, 0).sign(20000).mean()) < 5 / np.sqrt(20000)
    places = np.array([Words(5, block).permutation(5) for block in range(2000)])
    assert (np.sort(places, axis=1) == np.arange(5)).all()
    for column in places.T:
        assert stats.chisquare(np.bincount(column, minlength=5)).pvalue > 0.001


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0), (3, 5)])
def test_shapes(shape):
    for law in ("uniform", "normal", "cauchy", "laplace", "sign"):
        assert getattr(Words(0, 0), law)(*shape).shape == shape
    assert Words(0, 0).gamma(2, *shape).shape == shape
    assert Words(0, 0).gamma(0.7, *shape).shape == shape


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seed_out_of_range(seed):
    with pytest.raises(ValueError, match=r"need a whole number from 0 to 2\*\*64 - 1"):
        check_seed(seed)


@pytest.mark.parametrize("seed", [True, 1.0, "1", None])
def test_seed_of_the_wrong_type(seed):
    with pytest.raises(TypeError, match="need a whole number"):
        check_seed(seed)
