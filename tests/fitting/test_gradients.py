"""Values and gradients fitted together, against dense least squares on a numerical Jacobian."""

import numpy as np
import pytest

import kitchensinks as ks

BASES = [
    ks.Fourier(),
    ks.Fourier(kernel="matern", form="paired"),
    ks.Sigmoid("tanh"),
    ks.ReLU(),
    ks.Linear(),
    ks.Reweighted(ks.Fourier(), pool=4),
]


def data(n_rows=60, n_outputs=1, seed=0):
    """A smooth function of three columns of different units, and its gradient."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, -1.0]
    a, b, c = X.T
    y = np.sin(a) + 0.3 * np.cos(b / 10) * c + 7.0
    slopes = np.cos(a), -0.03 * np.sin(b / 10) * c, 0.3 * np.cos(b / 10)
    G = np.stack(slopes, axis=1)
    if n_outputs == 1:
        return X, y, G
    return X, np.stack([y, -3 * y], axis=1), np.stack([G, -3 * G], axis=1)


def twin(model, X, y, G, weights, alpha, new):
    """Stacked least squares: values, partial derivatives by central differences, and the ridge."""
    features = model.law_.features
    scale = np.ones(X.shape[1]) if model.scaler_ is None else model.scaler_.scale
    low = X if model.scaler_ is None else np.clip(X, model.scaler_.low, model.scaler_.high)
    values = features.features(low)
    step = 1e-5
    blocks, targets = [np.column_stack([values, np.ones(len(X))])], [y]
    for j in range(X.shape[1]):
        # On the scaled rows, where the edges of the fitted range do not cut anything off.
        inside = features.scaled(low)
        up, down = (inside.copy() for _ in range(2))
        up[:, j] += step
        down[:, j] -= step
        draw = features.draw
        change = (draw.scaled_features(up) - draw.scaled_features(down)) / (2 * step)
        blocks.append(np.column_stack([change, np.zeros(len(X))]))
        targets.append(G[..., j] * scale[j])
    known = ~np.isnan(G).reshape(len(G), -1).any(axis=1)
    shares = weights / weights.sum()
    roots = np.sqrt([shares, *[shares * known] * X.shape[1]]).ravel()
    design, aim = np.concatenate(blocks), np.nan_to_num(np.concatenate(targets))
    width = values.shape[1]
    ridge = np.sqrt(alpha) * np.eye(width, width + 1)
    shaped = aim.reshape(len(aim), -1) * roots[:, None]
    full = np.concatenate([design * roots[:, None], ridge])
    solved = np.linalg.lstsq(full, np.concatenate([shaped, np.zeros((width, shaped.shape[1]))]))[0]
    return (np.column_stack([features.features(new), np.ones(len(new))]) @ solved).squeeze()


@pytest.mark.parametrize("basis", BASES, ids=repr)
@pytest.mark.parametrize("standardize", [True, False])
def test_the_fit_is_dense_least_squares(basis, standardize):
    X, y, G = data()
    model = ks.KitchenSinkRegressor(
        basis, 40, alpha=1e-3, standardize=standardize, random_state=0, solver=ks.Solver(tol=1e-9)
    )
    model.fit(X, y, gradients=G)
    expected = twin(model, X, y, G, np.ones(len(X)), 1e-3, X)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-5, atol=1e-5)
    assert "gradients" in model.plan_.reason
    assert model.converged_


def test_weights_outputs_and_unknown_gradients():
    X, y, G = data(n_outputs=2)
    weights = np.random.default_rng(1).integers(0, 4, size=len(X)).astype(float)
    G[::3] = np.nan
    model = ks.KitchenSinkRegressor(ks.Fourier(), 50, alpha=1e-4, random_state=0)
    model.fit(X, y, weights, gradients=G)
    expected = twin(model, X, y, G, weights, 1e-4, X)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-5, atol=1e-5)
    # Weights count as copies of a row, and rows of weight zero as absent.
    copies = np.repeat(np.arange(len(X)), weights.astype(int))
    again = ks.KitchenSinkRegressor(ks.Fourier(), 50, alpha=1e-4, random_state=0)
    again.fit(X[copies], y[copies], gradients=G[copies])
    assert np.abs(again.predict(X) - model.predict(X)).max() < 1e-6


def test_unknown_gradients_alone_are_the_fit_to_values():
    X, y, G = data()
    model = ks.KitchenSinkRegressor(ks.Fourier(), 30, alpha=1e-3, random_state=0)
    plain = model.fit(X, y).predict(X)
    found = model.fit(X, y, gradients=np.full_like(G, np.nan)).predict(X)
    np.testing.assert_allclose(found, plain, atol=1e-8)


def test_gradients_help_where_rows_are_few():
    X, y, G = data(25)
    new, truth, _ = data(400, seed=1)
    inside = ((new >= X.min(axis=0)) & (new <= X.max(axis=0))).all(axis=1)
    model = ks.KitchenSinkRegressor(ks.Fourier(), 300, random_state=0)
    errors = []
    for given in (None, G):
        found = model.fit(X, y, gradients=given).predict(new[inside])
        errors.append(np.sqrt(np.mean((found - truth[inside]) ** 2)))
    assert errors[1] < 0.5 * errors[0]


def test_a_fit_to_gradients_is_saved_and_says_what_it_cannot_do(tmp_path):
    X, y, G = data()
    model = ks.KitchenSinkRegressor(ks.Fourier(), 40, random_state=0).fit(X, y, gradients=G)
    ks.save(model, tmp_path / "model.sinks")
    loaded = ks.load(tmp_path / "model.sinks")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    with pytest.raises(ValueError, match=r"return_std|sums"):
        model.predict(X, return_std=True)
    with pytest.raises(ValueError, match="predict_interval"):
        model.predict_interval(X)
    with pytest.raises(ValueError, match=r"partial_fit|sums"):
        model.partial_fit(X, y)


def test_what_cannot_be_fitted_says_why(tmp_path):
    X, y, G = data()

    def fit(model, gradients=G, **options):
        model.fit(X, y, gradients=gradients, **options)

    with pytest.raises(ValueError, match=r"gradients of shape \(60, 2\): need \(60, 3\)"):
        fit(ks.KitchenSinkRegressor(ks.Fourier(), 20), G[:, :2])
    broken = G.copy()
    broken[0, 0] = np.nan
    with pytest.raises(ValueError, match="infinite or missing"):
        fit(ks.KitchenSinkRegressor(ks.Fourier(), 20), broken)
    with pytest.raises(ValueError, match=r"Stumps.*does not say its slopes"):
        fit(ks.KitchenSinkRegressor(ks.Stumps(), 20))
    with pytest.raises(ValueError, match="need a basis"):
        fit(ks.KitchenSinkRegressor())
    with pytest.raises(ValueError, match="need loss='squared'"):
        fit(ks.KitchenSinkRegressor(ks.Fourier(), 20, loss="huber"))
    with pytest.raises(ValueError, match="need a number"):
        fit(ks.KitchenSinkRegressor(ks.Fourier(), "auto"))
    with pytest.raises(ValueError, match="solver='blocks' does not fit gradients"):
        fit(ks.KitchenSinkRegressor(ks.Fourier(), 20, alpha=1e-3, solver="blocks"))
    small = ks.Solver(memory_budget="1MB")
    with pytest.raises(ValueError, match="A fit to gradients forms the Gram matrix of 500"):
        fit(ks.KitchenSinkRegressor(ks.Fourier(), 500, solver=small))
    with pytest.raises(ValueError, match="checkpoint"):
        fit(ks.KitchenSinkRegressor(ks.Fourier(), 20), checkpoint=ks.Checkpoint(tmp_path))
