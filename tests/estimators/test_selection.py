"""Reweighted features behind the estimators."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import kitchensinks as ks
from kitchensinks.features.frozen import Frozen

X, Y = ks.datasets.make_annulus(400, random_state=0)
FOURIER = ks.Reweighted(ks.Fourier(), pool=10)


@pytest.mark.parametrize("basis", [ks.Fourier(), ks.Fourier(form="paired"), ks.ReLU(), ks.Stumps()])
def test_a_fit_on_selected_features_is_ridge_on_them(basis):
    basis = ks.Reweighted(basis, pool=10)
    options = {"basis": basis, "n_components": 20, "random_state": 3}
    features = ks.RandomFeatures(**options).fit_transform(X)
    y = X[:, 0] * X[:, 1]
    model = ks.KitchenSinkRegressor(alpha=1e-3, standardize=False, dtype="float64", **options).fit(
        X, y
    )
    peer = Ridge(1e-3 * len(X)).fit(features, y)
    np.testing.assert_allclose(model.predict(X), peer.predict(features), rtol=1e-6, atol=1e-8)


def test_a_sup_ball_knows_the_factors():
    model = ks.KitchenSinkClassifier(
        FOURIER, n_components=20, constraint=ks.SupBall(8.0), random_state=0
    ).fit(X, Y)
    assert model.alpha_sup_norm_ <= 8.0 / 20 * (1 + 1e-9)
    assert model.frozen_.bound == pytest.approx(np.sqrt(2) * model.frozen_.learned.factors.max())


def test_files_and_batches_keep_the_selection(tmp_path):
    model = ks.KitchenSinkClassifier(FOURIER, n_components=20, random_state=0)
    model.freeze(X, Y)
    for part in (slice(0, 150), slice(150, 400)):
        model.partial_fit(X[part], Y[part])
    whole = ks.KitchenSinkClassifier(FOURIER, n_components=20, random_state=0)
    whole.set_params(dtype="float32", alpha=model.alpha_).fit(X, Y)
    np.testing.assert_allclose(
        model.decision_function(X), whole.decision_function(X), rtol=1e-3, atol=1e-3
    )
    ks.save(whole, tmp_path / "model.sinks")
    again = ks.load(tmp_path / "model.sinks")
    np.testing.assert_array_equal(again.decision_function(X), whole.decision_function(X))
    assert again.basis.pool == 10
    assert (tmp_path / "model.sinks").stat().st_size < 10_000


def test_other_selections_do_not_merge():
    def learn(rows):
        basis = ks.Reweighted(ks.Fourier(gamma=1.0), pool=10)
        return Frozen.learn(rows, None, basis, 0, 20, "f8", False)

    one, same, other = learn(X), learn(X[::-1]), learn(X[:100])
    plain = Frozen.learn(X, None, ks.Fourier(gamma=1.0), 0, 20, "f8", False)
    assert one.difference(same) is None
    assert one.difference(other) == "selection"
    assert one.difference(plain) == plain.difference(one) == "basis"


def test_what_cannot_be_selected_says_so():
    with pytest.raises(TypeError, match=r"basis=3: need a basis"):
        ks.KitchenSinkClassifier(ks.Reweighted(3)).fit(X, Y)
    with pytest.raises(ValueError, match="Binning has sparse features"):
        ks.KitchenSinkClassifier(ks.Reweighted(ks.Binning())).fit(X, Y)
    with pytest.raises(ValueError, match="give n_components a number"):
        ks.KitchenSinkClassifier(FOURIER, n_components="auto").fit(X, Y)
    with pytest.raises(ValueError, match="pool=1"):
        ks.KitchenSinkClassifier(ks.Reweighted(pool=1)).fit(X, Y)
    unlearned = Frozen(None, FOURIER.resolve(X), 0, 2, 20, np.dtype("f8"))
    with pytest.raises(ValueError, match="has been shown no rows"):
        unlearned.features(X)
