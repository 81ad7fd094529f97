"""Laws of the pitch: kernels by quadrature, by Monte Carlo, and back from the kernel."""

import pickle

import numpy as np
import pytest
from scipy import integrate, stats

import kitchensinks as ks
from kitchensinks.features.bases.binning import Binning
from kitchensinks.features.bases.pitch import _quantiles, pitch_kernel, sample_pitch
from kitchensinks.numerics.words import Words
from tests.catalogue import drawn

DISTANCES = np.array([0.0, 0.1, 0.7, 1.0, 1.3, 4.0])


def rational(distance):
    return 1.0 / (1.0 + distance)


def rational_density(pitch):
    """δ·k''(δ) of k(r) = 1/(1 + r)."""
    return 2.0 * pitch / (1.0 + pitch) ** 3


@pytest.mark.parametrize(
    ("pitch", "density"),
    [("gamma", lambda t: t * np.exp(-t)), (rational, rational_density)],
    ids=["gamma", "rational"],
)
def test_the_kernel_is_the_mean_of_hats(pitch, density):
    """Equations (14) and (15): ∫ max(0, 1 − r/δ)·p(δ) dδ, by quadrature."""
    for r, value in zip(DISTANCES, pitch_kernel(pitch, DISTANCES), strict=True):
        mean, _ = integrate.quad(lambda t, r=r: (1.0 - r / t) * density(t), max(r, 1e-300), np.inf)
        assert value == pytest.approx(mean, abs=1e-7)


def test_a_law_found_from_its_kernel():
    """F(t) = 1 − k(t) + t·k'(t); for 1/(1 + r) it is t²/(1 + t)², for exp(−r) that of Gamma(2)."""
    shares = np.linspace(0.001, 0.999, 50)
    root = np.sqrt(shares)
    np.testing.assert_allclose(_quantiles(rational, shares), root / (1.0 - root), rtol=1e-6)
    found = _quantiles(lambda r: np.exp(-r), shares)
    np.testing.assert_allclose(found, stats.gamma(2).ppf(shares), rtol=1e-6)


def test_a_function_with_a_kink_is_its_hat():
    """The second derivative of max(0, 1 − r/3) is a point mass at 3."""
    found = _quantiles(lambda r: np.maximum(0.0, 1.0 - r / 3.0), np.array([0.1, 0.5, 0.9]))
    np.testing.assert_allclose(found, 3.0, rtol=3e-5)


@pytest.mark.parametrize("pitch", ["gamma", "hat", [0.5, 2.0, 2.0], rational])
def test_rows_share_a_bin_as_often_as_the_kernel_says(pitch):
    """Monte Carlo over 20,000 grids, within five standard errors; "hat" beyond its pitch never."""
    rows = np.array([[0.0, 0.0], [0.3, 0.1], [0.9, -0.4], [3.0, 2.0]])
    basis = Binning(gamma=0.8, pitch=pitch)
    together = []
    for seed in range(20):
        draw = drawn(basis, rows, seed, 1000)
        features = draw.scaled_features(rows).toarray()
        together.append(features @ features.T)
    error = np.std(together, axis=0, ddof=1) / np.sqrt(20)
    kernel = basis.kernel(rows)
    assert (np.abs(np.mean(together, axis=0) - kernel) <= 5 * error + 1e-12).all()
    if pitch == "hat":
        assert kernel[0, 3] == 0.0
        assert kernel[0, 1] == pytest.approx((1 - 0.24) * (1 - 0.08))


def test_quantiles_in_a_list_are_any_law():
    quantiles = stats.gamma(2).ppf((np.arange(4000) + 0.5) / 4000)
    np.testing.assert_allclose(pitch_kernel(quantiles, DISTANCES), np.exp(-DISTANCES), atol=3e-4)


def test_the_default_draws_what_it_always_drew():
    words = Words(3, 0), Words(3, 0)
    np.testing.assert_array_equal(sample_pitch("gamma", words[0], 4, 2), words[1].gamma(2, 4, 2))


def test_models_with_a_pitch_are_fitted_and_kept(tmp_path):
    rows = np.random.default_rng(0).uniform(size=(200, 2))
    targets = np.sin(6 * rows[:, 0])
    for pitch in ("hat", [0.5, 1.0]):
        model = ks.KitchenSinkRegressor(Binning(pitch=pitch), 60, random_state=0).fit(rows, targets)
        assert model.score(rows, targets) > 0.8
        ks.save(model, tmp_path / "model.sinks")
        again = ks.load(tmp_path / "model.sinks")
        np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    model = ks.KitchenSinkRegressor(Binning(pitch=rational), 60, random_state=0).fit(rows, targets)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    with pytest.raises(ValueError, match="give a list of pitches"):
        ks.save(model, tmp_path / "function.sinks")


@pytest.mark.parametrize(
    ("pitch", "message"),
    [
        ("normal", r"pitch='normal': need 'gamma', 'hat', a list"),
        ([], r"pitch=\[\]: need"),
        ([1.0, -1.0], r"pitch=\[1.0, -1.0\]: need"),
        (2.0, r"pitch=2.0: need"),
        (lambda r: np.exp(-r * r), "not convex near"),
        (lambda r: 0.5 * np.exp(-r), "is 0.5 at 0"),
        (lambda r: 0.5 + 0.5 * np.exp(-r), "0.5 at 1e"),
        (lambda r: 1.0, "returned an array of shape"),
    ],
)
def test_pitches_that_are_no_law(pitch, message):
    with pytest.raises(ValueError, match=message):
        Binning(gamma=1.0, pitch=pitch).check()
