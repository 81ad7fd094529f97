"""Reweighted features behind the estimators."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import kitchensinks as ks

X, Y = ks.datasets.make_annulus(400, random_state=0)


def reweighted(basis=None, **options):
    return ks.Reweighted(ks.Fourier() if basis is None else basis, **{"pool": 10, **options})


@pytest.mark.parametrize("basis", [ks.Fourier(), ks.Fourier(form="paired"), ks.ReLU(), ks.Stumps()])
def test_a_fit_on_selected_features_is_ridge_on_them(basis):
    options = {"basis": reweighted(basis), "n_components": 20, "random_state": 3}
    features = ks.RandomFeatures(**options).fit_transform(X)
    y = X[:, 0] * X[:, 1]
    model = ks.KitchenSinkRegressor(
        alpha=1e-3, standardize=False, solver=ks.Solver(dtype="float64"), **options
    ).fit(X, y)
    peer = Ridge(1e-3 * len(X)).fit(features, y)
    np.testing.assert_allclose(model.predict(X), peer.predict(features), rtol=1e-6, atol=1e-8)


def test_a_sup_ball_knows_the_factors():
    model = ks.KitchenSinkClassifier(
        reweighted(), n_components=20, constraint=ks.SupBall(8.0), random_state=0
    ).fit(X, Y)
    assert model.alpha_sup_norm_ <= 8.0 / 20 * (1 + 1e-9)
    features = model.law_.features
    assert features.bound == pytest.approx(np.sqrt(2) * features.draw.factors.max())


def test_files_and_batches_keep_the_selection(tmp_path):
    model = ks.KitchenSinkClassifier(reweighted(), n_components=20, random_state=0)
    model.freeze(X, Y)
    for part in (slice(0, 150), slice(150, 400)):
        model.partial_fit(X[part], Y[part])
    whole = ks.KitchenSinkClassifier(reweighted(), n_components=20, random_state=0)
    whole.set_params(solver__dtype="float32", alpha=model.alpha_).fit(X, Y)
    np.testing.assert_allclose(
        model.decision_function(X), whole.decision_function(X), rtol=1e-3, atol=1e-3
    )
    ks.save(whole, tmp_path / "model.sinks")
    again = ks.load(tmp_path / "model.sinks")
    np.testing.assert_array_equal(again.decision_function(X), whole.decision_function(X))
    assert again.basis.pool == 10
    assert (tmp_path / "model.sinks").stat().st_size < 10_000


def test_other_selections_do_not_merge():
    def frozen(rows, basis):
        model = ks.KitchenSinkClassifier(basis, 20, standardize=False, random_state=0)
        return model.freeze(rows, Y[: len(rows)])

    chooser = reweighted(ks.Fourier(gamma=1.0))
    frozen(X, chooser).merge(frozen(X, chooser))
    with pytest.raises(ValueError, match="differ in their"):
        frozen(X, chooser).merge(frozen(X[:100], chooser))
    with pytest.raises(ValueError, match="differ in their basis"):
        frozen(X, chooser).merge(frozen(X, ks.Fourier(gamma=1.0)))


def test_what_cannot_be_selected_says_so():
    with pytest.raises(ValueError, match="Binning has sparse features"):
        ks.KitchenSinkClassifier(reweighted(ks.Binning())).fit(X, Y)
    with pytest.raises(ValueError, match="give n_components a number"):
        ks.KitchenSinkClassifier(reweighted(), n_components="auto").fit(X, Y)
    with pytest.raises(ValueError, match="pool=1"):
        ks.KitchenSinkClassifier(reweighted(pool=1)).fit(X, Y)
