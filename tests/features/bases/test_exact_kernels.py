"""Exact kernels against independent implementations."""

import math

import numpy as np
import pytest
from scipy.special import erf, expit
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.gaussian_process.kernels import Matern
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import kitchensinks as ks
from kitchensinks.features.bases.fourier import matern

RNG = np.random.default_rng(0)
ROWS, OTHERS = RNG.normal(size=(7, 3)), RNG.normal(size=(4, 3))


def test_gaussian():
    expected = rbf_kernel(ROWS, OTHERS, gamma=0.7)
    np.testing.assert_allclose(ks.Fourier(gamma=0.7).kernel(ROWS, OTHERS), expected, rtol=1e-10)


@pytest.mark.parametrize("basis", [ks.Fourier("laplacian", gamma=0.7), ks.Binning(gamma=0.7)])
def test_laplacian(basis):
    expected = laplacian_kernel(ROWS, OTHERS, gamma=0.7)
    np.testing.assert_allclose(basis.kernel(ROWS, OTHERS), expected, rtol=1e-12)


@pytest.mark.parametrize("nu", [0.5, 0.8, 1.5, 2.5, 7.0, 30.0])
def test_matern(nu):
    expected = Matern(length_scale=1 / 0.7, nu=nu)(ROWS, OTHERS)
    basis = ks.Fourier("matern", gamma=0.7, nu=nu)
    np.testing.assert_allclose(basis.kernel(ROWS, OTHERS), expected, rtol=1e-8)


def test_matern_of_order_one_half_is_the_exponential_kernel():
    half = ks.Fourier("matern", gamma=0.7, nu=0.5).kernel(ROWS, OTHERS)
    exponential = ks.Fourier("exponential", gamma=0.7).kernel(ROWS, OTHERS)
    np.testing.assert_allclose(half, exponential, rtol=1e-12)
    distance = np.linalg.norm(ROWS[:, None] - OTHERS, axis=2)
    np.testing.assert_allclose(exponential, np.exp(-0.7 * distance), rtol=1e-12)


@pytest.mark.parametrize("nu", [0.02, 0.5, 3.0, 50.0])
def test_matern_near_and_far(nu):
    value = matern(np.array([0.0, 1e-300, 1e-12, 1e3, 1e300, math.inf]), nu)
    assert value[0] == 1
    assert (np.diff(value) <= 0).all()
    assert (value >= 0).all()
    assert value[-1] == 0


def test_matern_of_great_smoothness_is_nearly_gaussian():
    smooth = ks.Fourier("matern", gamma=0.7, nu=50.0).kernel(ROWS, OTHERS)
    gaussian = ks.Fourier(gamma=0.7**2 / 2).kernel(ROWS, OTHERS)
    np.testing.assert_allclose(smooth, gaussian, atol=0.01)
    with pytest.raises(ValueError, match=r"nu=80.*at most 50.*kernel='gaussian'"):
        ks.Fourier("matern", gamma=0.7, nu=80).kernel(ROWS)


def test_cauchy():
    expected = np.prod(1 / (1 + 0.49 * (ROWS[:, None] - OTHERS) ** 2), axis=2)
    basis = ks.Fourier("cauchy", gamma=0.7)
    np.testing.assert_allclose(basis.kernel(ROWS, OTHERS), expected, rtol=1e-12)


def test_gaussian_far_from_the_origin():
    """Rows a millimetre apart at a kilometre: no digits are lost."""
    far = ks.Fourier(gamma=1e6).kernel(1e3 + 1e-3 * ROWS)
    near = ks.Fourier(gamma=1e6).kernel((1e3 + 1e-3 * ROWS) - 1e3)
    np.testing.assert_allclose(far, near, rtol=1e-9)


def bivariate_mean(function, x, z, gamma):
    """E f(s)·f(t) for the normal pair of the arguments at x and z, by a fine trapezoid rule."""
    own, other = gamma**2 * (x @ x) + 1, gamma**2 * (z @ z) + 1
    cross = gamma**2 * (x @ z) + 1
    grid = np.linspace(-8.5, 8.5, 2001)
    weight = (grid[1] - grid[0]) * np.exp(-(grid**2) / 2) / math.sqrt(2 * math.pi)
    first = math.sqrt(own) * grid
    slope, rest = cross / math.sqrt(own), math.sqrt(max(0.0, other - cross**2 / own))
    second = function(slope * grid[:, None] + rest * grid)
    return (weight * function(first)) @ (second @ weight)


@pytest.mark.parametrize(
    ("activation", "function"), [("logistic", expit), ("tanh", np.tanh), ("erf", erf)]
)
@pytest.mark.parametrize("size", [0.0, 0.3, 1.0, 5.0, 30.0])
def test_sigmoids_by_integration(activation, function, size):
    """From short rows to rows so long that the sigmoid is nearly a step."""
    x, z = size * ROWS[0], size * OTHERS[0]
    kernel = ks.Sigmoid(activation, gamma=0.9).kernel([x, z])
    for value, pair in ((kernel[0, 1], (x, z)), (kernel[0, 0], (x, x))):
        assert value == pytest.approx(bivariate_mean(function, *pair, 0.9), abs=1e-9)


@pytest.mark.parametrize("activation", ["logistic", "tanh", "erf"])
def test_very_long_rows_make_a_step(activation):
    long = 1e6 * ROWS
    step = ks.Sigmoid("step", gamma=1.0).kernel(long)
    kernel = ks.Sigmoid(activation, gamma=1.0).kernel(long)
    if activation != "logistic":
        step = 4 * step - 1
    np.testing.assert_allclose(kernel, step, atol=1e-2)
    off = ~np.eye(len(ROWS), dtype=bool)
    np.testing.assert_allclose(kernel[off], step[off], atol=1e-5)


def test_step_is_half_the_arc_cosine_kernel_of_order_zero():
    first, second = (np.hstack([0.6 * rows, np.ones((len(rows), 1))]) for rows in (ROWS, OTHERS))
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    second /= np.linalg.norm(second, axis=1, keepdims=True)
    expected = 0.5 * (1 - np.arccos(first @ second.T) / math.pi)
    kernel = ks.Sigmoid("step", gamma=0.6).kernel(ROWS, OTHERS)
    np.testing.assert_allclose(kernel, expected, rtol=1e-12)


@pytest.mark.parametrize("law", ["sphere", "gaussian"])
def test_relu_is_half_the_arc_cosine_kernel_of_order_one(law):
    """Cho and Saul's formula for rows with the added coordinate, over d + 1 on the sphere."""
    first, second = (np.hstack([rows, np.full((len(rows), 1), 2.0)]) for rows in (ROWS, OTHERS))
    sizes = np.outer(np.linalg.norm(first, axis=1), np.linalg.norm(second, axis=1))
    angle = np.arccos(first @ second.T / sizes)
    expected = sizes * (np.sin(angle) + (math.pi - angle) * np.cos(angle)) / math.pi / 2
    kernel = ks.ReLU(gamma=0.5, law=law).kernel(ROWS, OTHERS)
    np.testing.assert_allclose(kernel, expected / (4 if law == "sphere" else 1), rtol=1e-12)


@pytest.mark.parametrize("q", [1, 2, 3, 6])
def test_maxout_of_very_different_lengths(q):
    kernel = ks.Maxout(q).kernel(1e-8 * ROWS, 1e8 * OTHERS)
    np.testing.assert_allclose(kernel, ks.Maxout(q).kernel(ROWS, OTHERS), rtol=1e-9)
    zero = ks.Maxout(q).kernel(np.zeros((1, 3)), OTHERS)
    np.testing.assert_array_equal(zero, 0)


def test_maxout_of_one_is_linear():
    np.testing.assert_allclose(ks.Maxout(1).kernel(ROWS, OTHERS), ROWS @ OTHERS.T, rtol=1e-12)


@pytest.mark.parametrize("system", ["cosine", "legendre"])
def test_orthonormal_systems_are_orthonormal(system):
    """For the uniform law on a box in two dimensions, by a product Gauss rule."""
    nodes, weights = np.polynomial.legendre.leggauss(30)
    x, y = np.meshgrid(nodes, nodes)
    rows = 1.0 + 2.0 * np.stack([x.ravel(), y.ravel()], axis=1)
    basis = ks.Orthonormal(np.ones(10), system=system, box=(-1.0, 3.0))
    values = basis.functions(rows)
    gram = (values * np.outer(weights, weights).reshape(-1, 1) / 4).T @ values
    np.testing.assert_allclose(gram, np.eye(10), atol=1e-10)


def test_orthonormal_bound_depends_on_the_number_of_columns():
    basis = ks.Orthonormal([1.0, 0.0, 0.0, 0.0, 4.0], system="legendre")
    assert basis.bound == math.inf
    assert basis.bound_in(1) == pytest.approx(1 + 2 * 9)  # degree 4
    assert basis.bound_in(2) == pytest.approx(1 + 2 * 9)  # degrees (1, 1): 3·3
    assert basis.draw(0, 2, 3).bound == basis.bound_in(2)
    cosine = ks.Orthonormal([1.0, 1.0, 1.0])
    assert [cosine.bound_in(d) for d in (1, 2)] == pytest.approx([5.0, 5.0])


def test_orthonormal_of_many_columns():
    assert ks.Orthonormal([1.0, 0.5]).kernel(np.zeros((1, 3000))).shape == (1, 1)


def test_stumps_of_a_table_of_thresholds():
    table = np.array([[0.0, 1.0, 2.0, 3.0], [5.0, 5.0, 5.0, 6.0]])
    kernel = ks.Stumps(table).kernel([[0.5, 5.0]], [[2.5, 4.9]])
    assert kernel[0, 0] == pytest.approx(1 - (2 / 2) * (2 / 4 + 3 / 4))


def test_union_is_the_weighted_sum():
    parts = [ks.Fourier(gamma=0.5), ks.Stumps(), ks.Maxout(2)]
    kernel = ks.Union(parts, shares=[1, 2, 5]).kernel(ROWS, OTHERS)
    expected = sum(
        share / 8 * basis.kernel(ROWS, OTHERS)
        for share, basis in zip((1, 2, 5), parts, strict=True)
    )
    np.testing.assert_allclose(kernel, expected, rtol=1e-12)


def test_custom_kernel_by_monte_carlo_states_its_error():
    basis = ks.Custom(
        sample=lambda rng, n_inputs, count: rng.standard_normal((count, n_inputs)),
        features=lambda rows, theta: rows @ theta.T,
        monte_carlo=20_000,
    )
    kernel, error = basis.kernel(ROWS, OTHERS), basis.kernel_error(ROWS, OTHERS)
    assert (error > 0).all()
    assert (np.abs(kernel - ROWS @ OTHERS.T) < 5 * error).all()
    expected = np.sqrt(
        (np.outer((ROWS**2).sum(1), (OTHERS**2).sum(1)) + (ROWS @ OTHERS.T) ** 2) / 20_000
    )
    np.testing.assert_allclose(error, expected, rtol=0.1)
    np.testing.assert_array_equal(basis.kernel(ROWS, OTHERS), kernel)


IRIS = load_iris(return_X_y=True)


@pytest.mark.parametrize("basis", [ks.Fourier(gamma=0.5), ks.Binning(gamma=0.2), ks.Maxout(3)])
def test_kernels_inside_svc(basis):
    """As a function, also cloned and cross-validated."""
    X, y = IRIS
    machine = make_pipeline(StandardScaler(), SVC(kernel=basis.kernel))
    assert cross_val_score(clone(machine), X, y, cv=3).mean() > 0.9


def test_kernels_inside_kernel_ridge():
    """It asks for one pair of rows at a time, and gets a number."""
    basis = ks.Fourier(gamma=0.5)
    X, y = (part[::5] for part in IRIS)
    assert basis.kernel(X[0], X[1]).shape == ()
    ridge = clone(KernelRidge(kernel=basis.kernel, alpha=0.1))
    scores = cross_val_score(ridge, X, y, cv=3, scoring="neg_mean_squared_error")
    expected = cross_val_score(
        KernelRidge(kernel="rbf", gamma=0.5, alpha=0.1),
        X,
        y,
        cv=3,
        scoring="neg_mean_squared_error",
    )
    np.testing.assert_allclose(scores, expected, rtol=1e-9)
    whole = KernelRidge(kernel="precomputed", alpha=0.1).fit(basis.kernel(X), y)
    np.testing.assert_allclose(whole.dual_coef_, ridge.fit(X, y).dual_coef_, rtol=1e-8)


def test_kernel_as_a_parameter_of_a_search():
    X, y = IRIS
    kernels = [ks.Fourier(gamma=gamma).kernel for gamma in (1e-4, 0.5)]
    search = GridSearchCV(SVC(), {"kernel": kernels}, cv=3).fit(X, y)
    assert search.best_params_["kernel"].__self__.gamma == 0.5
    expected = GridSearchCV(SVC(kernel="rbf"), {"gamma": [1e-4, 0.5]}, cv=3).fit(X, y)
    assert search.best_score_ == pytest.approx(expected.best_score_)
