"""Principal components and hashing in feature space."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, KernelPCA
from sklearn.utils.estimator_checks import parametrize_with_checks

import kitchensinks as ks
from kitchensinks.bases.maxout import same_argmax

DIGITS = load_digits().data[:300] / 16


@parametrize_with_checks([ks.KitchenSinkPCA(n_features=20), ks.MaxoutHash(n_units=16)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_components_are_those_of_the_features():
    model = ks.KitchenSinkPCA(ks.Fourier(), 3, n_features=80, random_state=0, dtype="float64")
    ours = model.fit_transform(DIGITS)
    scaled = (DIGITS - DIGITS.mean(0)) / np.where(DIGITS.std(0) > 0, DIGITS.std(0), 1.0)
    features = ks.RandomFeatures(model.basis_, 80, random_state=0).fit_transform(scaled)
    theirs = PCA(3).fit(features)
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs.transform(features)), atol=1e-8)
    shares = model.explained_variance_ratio_
    np.testing.assert_allclose(shares, theirs.explained_variance_ratio_, rtol=1e-8)


def test_many_features_approach_kernel_pca():
    basis = ks.Fourier(gamma=1 / 128)
    exact = KernelPCA(2, kernel="precomputed").fit_transform(basis.kernel(DIGITS))
    agreement = []
    for count in (50, 5000):
        model = ks.KitchenSinkPCA(basis, 2, n_features=count, standardize=False, random_state=0)
        ours = model.fit_transform(DIGITS)
        # Cosine of the largest angle between the two planes.
        planes = np.linalg.qr(ours)[0].T @ np.linalg.qr(exact)[0]
        agreement.append(np.linalg.svd(planes, compute_uv=False).min())
    assert agreement[1] > 0.95
    assert agreement[1] > agreement[0]


def test_share_of_different_codes_is_one_minus_the_chance_of_the_same_arg_max():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6, 5))
    hashed = ks.MaxoutHash(n_units=20_000, pool=4, random_state=0).fit(rows)
    distance, place = hashed.kneighbors(rows, n_neighbors=6)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    expected = 1 - same_argmax(unit @ unit.T, 4)
    np.testing.assert_allclose(distance, np.take_along_axis(expected, place, 1), atol=0.02)
