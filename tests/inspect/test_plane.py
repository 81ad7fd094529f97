"""What is drawn of a fit to two columns is what the estimators say."""

import numpy as np
import pytest

import kitchensinks as ks
from kitchensinks.inspect.plane import MOST_ROWS, SHOWN, SIDE, SMALL, Plane, view

X, SIGNS = ks.datasets.make_sine(300, random_state=0)
BASES = [ks.Fourier(), ks.Stumps(), ks.Binning(), ks.ReLU()]


def plane(targets=SIGNS, classes=True):
    return Plane(X, targets, ("a", "b"), classes)


def fitted(kind, basis, targets):
    """The same fit by the public estimators, to rows that `some` has put in order."""
    model = kind(basis, n_components=60, alpha=1e-4, random_state=1)
    return model.fit(*_kept(targets))


@pytest.mark.filterwarnings("ignore:.*outside of the range")
@pytest.mark.parametrize("basis", BASES, ids=lambda basis: type(basis).__name__)
def test_the_picture_is_that_of_the_estimator(basis):
    found = view(plane(), basis, 60, 1e-4, seed=1)
    model = fitted(ks.KitchenSinkClassifier, basis, SIGNS)
    expected = model.decision_function(plane().some().grid(SIDE))
    np.testing.assert_allclose(found["scores"], expected, rtol=1e-3, atol=1e-3)
    assert found["components"] == 60
    assert found["fitted"] == pytest.approx(model.score(*_kept(SIGNS)))


def _kept(targets):
    some = plane(targets).some()
    kept = np.arange(len(X)) % 4 != 3
    return some.rows[kept], some.targets[kept]


@pytest.mark.parametrize("basis", BASES, ids=lambda basis: type(basis).__name__)
def test_products_tend_to_the_kernel_that_is_drawn_beside_them(basis):
    """Their difference falls with K, at the Monte-Carlo rate: a hundredfold K for a tenth."""
    errors = []
    for count in (30, 3000):
        found = view(plane(), basis, count, 1e-2, at=(0.5, 0.5))
        assert len(found["kernel"]) == len(found["product"]) == SMALL**2
        size = np.abs(found["kernel"]).max()
        errors.append(np.sqrt(np.mean(np.subtract(found["kernel"], found["product"]) ** 2)) / size)
    assert errors[1] < 0.05
    assert errors[1] < 0.4 * errors[0]


def test_the_kernel_is_largest_at_its_place():
    found = view(plane(), ks.Fourier(), 50, "auto", at=(0.5, -0.5))
    top = plane().grid(SMALL)[int(np.argmax(found["kernel"]))]
    room = np.subtract(*reversed(plane().corners())) / (SMALL - 1)
    assert (np.abs(top - [0.5, -0.5]) <= room).all()


def test_numbers_and_many_classes():
    wave = np.sin(2 * X[:, 0])
    found = view(plane(wave, classes=False), ks.Fourier(), 60, "auto")
    assert found["labels"] == []
    assert found["tested"] > 0.8
    assert np.ptp(found["scores"]) > 1.0
    thirds = np.array(["low", "mid", "top"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    found = view(plane(thirds), ks.Fourier(), 60, "auto")
    assert found["labels"] == ["low", "mid", "top"]
    assert set(found["scores"]) == {0.0, 1.0, 2.0}
    assert {point[2] for point in found["points"]} == {0.0, 1.0, 2.0}


def test_large_tables_are_sampled():
    rows = np.random.default_rng(0).normal(size=(MOST_ROWS + 500, 2))
    found = Plane(rows, rows[:, 0] > 0, ("a", "b"), True).some()
    assert len(found.rows) == MOST_ROWS
    assert len(view(found, ks.Fourier(), 20, 1e-3)["points"]) == SHOWN
