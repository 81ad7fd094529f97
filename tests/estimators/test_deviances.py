"""Poisson, gamma and Tweedie deviance with a log link, beside scikit-learn's linear models."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor
from sklearn.metrics import mean_tweedie_deviance

import kitchensinks as ks

LOSSES = ["poisson", "gamma", "tweedie"]
POWERS = {"poisson": 1.0, "gamma": 2.0, "tweedie": 1.5}
PEERS = {
    "poisson": PoissonRegressor,
    "gamma": GammaRegressor,
    "tweedie": lambda **given: TweedieRegressor(power=1.5, link="log", **given),
}
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(900, 4))
MEANS = 5.0 * np.exp(np.sin(2.0 * ROWS[:, 0]) + 0.4 * ROWS[:, 1] * ROWS[:, 2] - 1.0)
COUNTS = RNG.poisson(MEANS)
TARGETS = {
    "poisson": COUNTS.astype(float),
    "gamma": RNG.gamma(2.0, MEANS / 2.0),
    "tweedie": np.array([RNG.gamma(1.0, size=count).sum() for count in COUNTS // 2]),
}
EXPOSURE = RNG.uniform(0.1, 3.0, len(ROWS))
EVERY = pytest.mark.parametrize("loss", LOSSES)


def regressor(loss, **given):
    given = {"basis": ks.Fourier(), "n_components": 40, "random_state": 0, "n_jobs": 1, **given}
    return ks.KitchenSinkRegressor(loss=loss, **given)


def deviance(loss, model, rows, targets):
    return mean_tweedie_deviance(targets, model.predict(rows), power=POWERS[loss])


@EVERY
@pytest.mark.parametrize("weights", [None, EXPOSURE], ids=["equal", "exposure"])
def test_the_weights_are_those_of_scikit_learn(loss, weights):
    alpha, y = 1e-2, TARGETS[loss]
    solver = ks.Solver(tol=1e-9, dtype="float64")
    model = regressor(loss, alpha=alpha, solver=solver).fit(ROWS, y, sample_weight=weights)
    features = model.law_.features.features(ROWS)
    peer = PEERS[loss](alpha=2.0 * alpha, tol=1e-9, max_iter=10_000)
    peer.fit(features, y, sample_weight=weights)
    size = np.abs(peer.coef_).max()
    np.testing.assert_allclose(model.model_.weights[:, 0], peer.coef_, atol=1e-3 * size)
    np.testing.assert_allclose(model.predict(ROWS), peer.predict(features), rtol=1e-3)
    objective = 0.5 * mean_tweedie_deviance(
        y, peer.predict(features), power=POWERS[loss], sample_weight=weights
    )
    objective += alpha * np.sum(peer.coef_**2)
    assert model.objective_ == pytest.approx(objective, rel=1e-6)
    # A rough fit is certified by its own gap.
    rough = regressor(loss, alpha=alpha, solver=ks.Solver(tol=0.1)).fit(ROWS, y, weights)
    assert rough.objective_ - objective <= rough.gap_ + 1e-6 * objective
    assert rough.gap_ > 0.0


@pytest.mark.parametrize(
    ("loss", "basis"),
    [*((loss, None) for loss in LOSSES), ("tweedie", ks.Learned(ks.Binning(), effort="quick"))],
    ids=str,
)
def test_the_law_is_learned_for_them(loss, basis):
    y, given = TARGETS[loss], {"basis": basis, "n_components": None}
    model = regressor(loss, **given).fit(ROWS[:600], y[:600], EXPOSURE[:600])
    assert model.law_.record is not None
    assert model.converged_
    linear = PEERS[loss](alpha=1e-3, max_iter=1000).fit(ROWS[:600], y[:600], EXPOSURE[:600])
    ours, theirs = (deviance(loss, one, ROWS[600:], y[600:]) for one in (model, linear))
    assert ours < 0.9 * theirs


@EVERY
def test_files_and_pickles_predict_the_same(loss, tmp_path):
    model = regressor(loss, alpha=1e-3).fit(ROWS, np.column_stack([TARGETS[loss]] * 2))
    expected = model.predict(ROWS)
    assert expected.shape == (len(ROWS), 2)
    np.testing.assert_allclose(expected, np.exp(model.model_.scores(ROWS)))
    ks.save(model, tmp_path / "model.sinks")
    np.testing.assert_array_equal(ks.load(tmp_path / "model.sinks").predict(ROWS), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(ROWS), expected)


@EVERY
def test_the_onnx_form_predicts_means(loss, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    model = regressor(loss, alpha=1e-3).fit(ROWS, TARGETS[loss])
    ks.to_onnx(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    (found,) = session.run(None, {session.get_inputs()[0].name: ROWS})
    np.testing.assert_allclose(np.ravel(found), model.predict(ROWS), rtol=1e-4)


@EVERY
def test_batches_come_near_one_fit(loss):
    y = TARGETS[loss]
    whole = regressor(loss, alpha=1e-3).fit(ROWS, y)
    model = regressor(loss, alpha=1e-3).freeze(ROWS, y)
    for _ in range(6):
        for part in np.array_split(np.arange(len(ROWS)), 3):
            model.partial_fit(ROWS[part], y[part])
    assert deviance(loss, model, ROWS, y) < 1.2 * deviance(loss, whole, ROWS, y)


def test_targets_that_a_deviance_is_not_for():
    y = TARGETS["poisson"].copy()
    y[3] = 0.0
    message = r"values outside of the domain of loss='gamma', such as 0: need numbers above 0"
    with pytest.raises(ValueError, match=message):
        regressor("gamma").fit(ROWS, y)
    y[[5, 8]] = -2.5
    for loss in ("poisson", "tweedie"):
        message = (
            rf"2 values outside of the domain of loss='{loss}', such as -2\.5: need numbers of 0"
        )
        with pytest.raises(ValueError, match=message):
            regressor(loss).fit(ROWS, y)
    with pytest.raises(ValueError, match="loss='poisson' does not fit classification"):
        ks.KitchenSinkClassifier(loss="poisson").fit(ROWS, y > 1)


def test_means_of_any_score_are_finite():
    """As a crafted file may have them: exp overflowed."""
    targets = regressor("poisson", alpha=1e-3).fit(ROWS, TARGETS["poisson"]).state_.targets
    assert np.isfinite(targets.predictions(np.array([[0.0], [800.0], [1e300], [-1e300]]))).all()


def test_counts_that_are_all_zero():
    model = regressor("poisson", alpha=1e-3).fit(ROWS, np.zeros(len(ROWS)))
    np.testing.assert_allclose(model.predict(ROWS), 0.0, atol=1e-12)


EXTREME = {
    "of 300 powers of ten": 10.0 ** RNG.uniform(-150, 150, 150),
    "large": 1e200 * np.exp(ROWS[:150, 0]),
    "small": 1e-200 * np.exp(ROWS[:150, 0]),
    "constant": np.full(150, 1e250),
    "one far": np.append(1e30, np.ones(149)),
}
FEW = {"n_components": 15, "solver": ks.Solver(max_iter=10)}


@pytest.mark.usefixtures("little_work")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", EXTREME)
@EVERY
def test_extreme_targets_and_weights_predict_finite_means(loss, name):
    for basis in (ks.Fourier(), ks.Binning()):
        model = regressor(loss, basis=basis, **FEW).fit(ROWS[:150], EXTREME[name])
        assert np.isfinite(model.predict(ROWS)).all()
        assert (model.predict(ROWS) >= 0.0).all()
    if name == "constant":
        np.testing.assert_allclose(model.predict(ROWS), 1e250, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@EVERY
def test_extreme_weights_of_plain_targets_predict_finite_means(loss):
    weights = 10.0 ** RNG.uniform(-100, 100, 150)
    model = regressor(loss, **FEW).fit(ROWS[:150], TARGETS[loss][:150] + 1.0, weights)
    assert np.isfinite(model.predict(ROWS)).all()
