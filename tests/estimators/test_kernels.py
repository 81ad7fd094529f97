"""Kernel machines with the exact kernel of a basis: what fits with more features come nearer to."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

import kitchensinks as ks

BASES = [ks.Fourier(gamma=0.02), ks.ReLU(gamma=0.2), ks.Binning(gamma=0.05), ks.Stumps()]


def standardised(load, n_rows):
    X, y = load(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X[:n_rows], y[:n_rows], X[n_rows : n_rows + 40], y[n_rows : n_rows + 40]


@pytest.mark.parametrize("basis", BASES, ids=lambda b: type(b).__name__)
def test_kernel_ridge_is_the_limit(basis):
    X, y, Xt, _ = standardised(load_diabetes, 60)
    y = y - y.mean()
    alpha = 1e-2
    machine = KernelRidge(alpha=alpha * len(y), kernel="precomputed").fit(basis.kernel(X), y)
    exact = machine.predict(basis.kernel(Xt, X))
    errors = []
    for count in (30, 3000):
        model = ks.KitchenSinkRegressor(
            basis, count, alpha=alpha, fit_intercept=False, standardize=False, random_state=0
        ).fit(X, y)
        errors.append(np.sqrt(np.mean((model.predict(Xt) - exact) ** 2)))
    assert errors[1] < 0.1 * exact.std()
    assert errors[1] < 0.4 * errors[0]


@pytest.mark.parametrize("basis", BASES, ids=lambda b: type(b).__name__)
def test_a_support_vector_machine_is_the_limit(basis):
    X, y, Xt, _ = standardised(load_breast_cancer, 120)
    alpha = 1e-2
    exact = SVC(C=1.0 / (2.0 * alpha * len(y)), kernel=basis.kernel, tol=1e-6).fit(X, y)
    exact = exact.decision_function(Xt)
    errors = []
    for count in (30, 3000):
        model = ks.KitchenSinkClassifier(
            basis,
            count,
            "hinge",
            alpha,
            standardize=False,
            random_state=0,
            solver=ks.Solver(tol=1e-4, max_iter=2000),
        ).fit(X, y)
        errors.append(np.sqrt(np.mean((model.decision_function(Xt) - exact) ** 2)))
    assert errors[1] < 0.15 * exact.std()
    assert errors[1] < 0.6 * errors[0]
