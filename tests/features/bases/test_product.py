"""Products of bases: kernels, columns, and models that are kept."""

import numpy as np
import pytest

import kitchensinks as ks
from kitchensinks.features.bases.product import _all_pairs
from tests.catalogue import drawn

ROWS = np.random.default_rng(0).normal(size=(30, 3))


def test_the_kernel_is_the_product():
    parts = [ks.Linear(), ks.Fourier(gamma=0.4)]
    expected = parts[0].kernel(ROWS) * parts[1].kernel(ROWS)
    np.testing.assert_allclose(ks.Product(parts).kernel(ROWS), expected, atol=1e-12)
    apart = ks.Product([ks.Fourier(gamma=0.4), ks.Stumps()], places=[[0, 1], [2]])
    expected = ks.Fourier(gamma=0.4).kernel(ROWS[:, :2]) * ks.Stumps().kernel(ROWS[:, 2:])
    np.testing.assert_allclose(apart.kernel(ROWS), expected, atol=1e-12)


def test_a_feature_is_a_product_of_draws():
    basis = ks.Product([ks.Fourier(gamma=0.4, form="paired"), ks.Stumps(), ks.ReLU(gamma=1.0)])
    draw = basis.draw(5, 3, 7)
    cosines, stumps, ramps = (part.features(ROWS) for part in draw.theta["parts"].parts)
    features = draw.features(ROWS)
    assert features.shape == (30, 14)
    for k in range(7):
        both = cosines[:, 2 * k : 2 * k + 2] * (stumps * ramps)[:, k : k + 1]
        np.testing.assert_allclose(features[:, 2 * k : 2 * k + 2], both, rtol=1e-12)


def test_pairs_of_columns_by_brute_force():
    left, right = np.array([2, 1, 3]), np.array([1, 3, 2])
    expected, low, high = [], 0, 0
    for a, b in zip(left, right, strict=True):
        expected += [(low + i, high + j) for i in range(a) for j in range(b)]
        low, high = low + a, high + b
    np.testing.assert_array_equal(np.transpose(_all_pairs(left, right)), expected)
    assert _all_pairs(np.ones(4), np.ones(4)) == (None, None)


def test_columns_of_many_draws_are_counted_at_once():
    """One by one, 20,000 draws would take minutes."""
    mixed = ks.Union([ks.Fourier(gamma=1.0, form="paired"), ks.ReLU(gamma=1.0)])
    assert ks.Product([ks.Linear(), mixed]).n_columns(20_000) == 30_000


def test_parts_are_drawn_apart():
    """The same basis twice has two draws: cos² would have the mean ½ and not the product."""
    basis = ks.Product([ks.Fourier(gamma=0.4)] * 2)
    one, other = (part.features(ROWS) for part in basis.draw(0, 3, 50).theta["parts"].parts)
    assert np.abs(one - other).max() > 0.5


def test_it_fits_a_slope_that_changes_with_time(tmp_path):
    """y = x·sin(t): linear in place, any function of time. The same seed, other features fail."""
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.normal(size=600), rng.uniform(0, 6, 600)])
    targets = rows[:, 0] * np.sin(rows[:, 1])
    basis = ks.Product([ks.Linear(), ks.Fourier()], places=[[0], [1]])
    model = ks.KitchenSinkRegressor(basis, 60, random_state=0).fit(rows[:400], targets[:400])
    assert model.score(rows[400:], targets[400:]) > 0.98
    ks.save(model, tmp_path / "model.sinks")
    again = ks.load(tmp_path / "model.sinks")
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))


def test_draws_of_a_product_can_be_reweighted():
    basis = ks.Reweighted(ks.Product([ks.Linear(), ks.Fourier(gamma=0.4)]), pool=3, rows=1.0)
    assert drawn(basis, ROWS, 0, 20).features(ROWS).shape == (30, 20)


@pytest.mark.parametrize(
    ("basis", "message"),
    [
        (ks.Product(), r"bases=\(\): need a list of one or more bases"),
        (ks.Product([ks.Fourier]), r"need a list of one or more bases"),
        (ks.Product([ks.Maxout(0)]), r"pool=0: need"),
        (ks.Product([ks.Binning()]), r"inside a Product: need bases whose features are dense"),
        (ks.Product([ks.Reweighted(ks.Fourier())]), r"inside a Product: need bases"),
        (ks.Product([ks.Linear()], places=[0]), r"places=\[0\]: need for each of the 1 bases"),
        (ks.Product([ks.Linear()], places=[[]]), r"places=\[\[\]\]: need"),
        (ks.Product([ks.Linear()], places=[[-1]]), r"places=\[\[-1\]\]: need"),
        (ks.Product([ks.Linear()], places=[["x"]]), r"need for each"),
        (ks.Product([ks.Linear()], places=[[0], [1]]), r"need for each of the 1 bases"),
    ],
    ids=repr,
)
def test_bad_products(basis, message):
    with pytest.raises(ValueError, match=message):
        basis.check()


def test_a_column_that_is_not_there():
    with pytest.raises(ValueError, match="names column 3, and the rows have 3"):
        ks.Product([ks.Linear()], places=[[3]]).kernel(ROWS)
