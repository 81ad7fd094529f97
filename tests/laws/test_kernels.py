"""Laws that hold for every basis and projection."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kitchensinks as ks
from tests.catalogue import BASES, MORE_BASES, drawn, extreme_and_random_rows, name_of

REPLICATES = 32
N_COMPONENTS = 1024

every_basis = pytest.mark.parametrize(
    "basis",
    [*BASES, *(pytest.param(basis, marks=pytest.mark.slow) for basis in MORE_BASES)],
    ids=name_of,
)


def features_of(basis, rows, seed, n_components, dtype=np.float64, start=0):
    draw = drawn(basis, rows, seed, n_components, dtype, start)
    features = draw.features(rows)
    return draw, features.toarray() if basis.sparse else features


def mean_product(basis, rows, seed, n_components=N_COMPONENTS):
    draw = drawn(basis, rows, seed, n_components)
    features = draw.scaled_features(rows)
    gram = features @ features.T
    return gram.toarray() if basis.sparse else gram


@every_basis
def test_mean_product_of_features_is_the_kernel(basis):
    """Within five standard errors over independent draws, with a floor for constant products."""
    rows = extreme_and_random_rows()
    grams = np.stack([mean_product(basis, rows, seed) for seed in range(REPLICATES)])
    kernel = basis.kernel(rows)
    size = np.sqrt(np.outer(kernel.diagonal(), kernel.diagonal()))
    allowed = 5 * grams.std(0, ddof=1) / np.sqrt(REPLICATES)
    allowed += 25 * size / N_COMPONENTS / REPLICATES + 1e-12
    if isinstance(basis, ks.Custom):
        allowed += 5 * basis.kernel_error(rows)
    assert (np.abs(grams.mean(0) - kernel) <= allowed).all()


@every_basis
def test_kernel_is_symmetric_positive_and_agrees_with_itself(basis):
    rows = extreme_and_random_rows()
    kernel = basis.kernel(rows)
    np.testing.assert_allclose(kernel, kernel.T, atol=1e-12 * np.abs(kernel).max())
    eigenvalues = np.linalg.eigvalsh(kernel)
    assert eigenvalues.min() >= -1e-9 * eigenvalues.max()
    part = basis.kernel(rows[:2], rows[3:])
    np.testing.assert_allclose(part, kernel[:2, 3:], rtol=1e-9, atol=1e-12)


@every_basis
def test_features_stay_within_the_bound(basis):
    rows = extreme_and_random_rows()
    draw, features = features_of(basis, rows, 0, 300)
    assert np.abs(features).max() <= draw.bound * (1 + 1e-12)
    assert np.isfinite(features).all()


@pytest.mark.parametrize("basis", [one for one in BASES if not one.selects], ids=name_of)
@settings(max_examples=5)
@given(
    few=st.integers(1, 40),
    more=st.integers(0, 600),
    start=st.integers(0, 39),
    seed=st.sampled_from([0, 1, 2**64 - 1]),
)
def test_a_prefix_of_a_draw_is_a_smaller_draw(basis, few, more, start, seed):
    rows = extreme_and_random_rows()
    small, first = features_of(basis, rows, seed, few)
    large, both = features_of(basis, rows, seed, few + more)
    np.testing.assert_allclose(both[:, : first.shape[1]], first, rtol=1e-10, atol=1e-10)
    sliced = large.part(0, few)
    assert sliced.n_columns == small.n_columns
    np.testing.assert_array_equal(sliced.offsets, small.offsets)
    start = min(start, few + more - 1)
    share, last = features_of(basis, rows, seed, few + more, start=start)
    np.testing.assert_allclose(both[:, both.shape[1] - last.shape[1] :], last, atol=1e-10)
    assert share.n_components == few + more - start


@every_basis
def test_features_do_not_depend_on_row_blocks_or_dtype(basis):
    rows = extreme_and_random_rows()[:10].astype(np.float32)
    draw, whole = features_of(basis, rows.astype(np.float64), 5, 200)
    single = [draw.features(rows[i : i + 1].astype(np.float64)) for i in range(len(rows))]
    single = np.vstack([s.toarray() if basis.sparse else s for s in single])
    np.testing.assert_allclose(single, whole, rtol=1e-9, atol=1e-9)
    _, narrow = features_of(basis, rows, 5, 200, dtype=np.float32)
    assert narrow.dtype == np.float32
    difference = np.abs(narrow - whole)
    # A threshold within rounding of a value may flip one feature; the rest agree.
    assert np.mean(difference > 1e-3 * (1 + np.abs(whole))) < 0.003


@every_basis
def test_seeds_differ_and_repeat(basis):
    rows = extreme_and_random_rows()
    _, first = features_of(basis, rows, 1, 50)
    _, again = features_of(basis, rows, 1, 50)
    np.testing.assert_array_equal(first, again)
    _, other = features_of(basis, rows, 2, 50)
    assert first.shape != other.shape or np.abs(first - other).max() > 0


@pytest.mark.parametrize(
    "basis",
    [ks.Fourier(gamma=0.2), ks.Stumps(), ks.ReLU(gamma=1.0), ks.Maxout(3), ks.Binning(gamma=0.2)],
    ids=name_of,
)
def test_error_of_the_gram_matrix_falls_as_one_over_root_k(basis):
    rows = np.random.default_rng(0).normal(size=(60, 5))
    kernel = basis.kernel(rows)
    counts = np.array([64, 256, 1024, 4096])
    errors = np.empty((len(counts), 6))
    for i, count in enumerate(counts):
        for seed in range(errors.shape[1]):
            errors[i, seed] = np.linalg.norm(mean_product(basis, rows, seed, int(count)) - kernel)
    slope = np.polyfit(np.log(counts), np.log(errors.mean(axis=1)), 1)[0]
    assert -0.6 <= slope <= -0.4


def test_orthogonal_directions_beat_independent_ones_for_the_gaussian_kernel():
    rows = np.random.default_rng(0).normal(size=(80, 16))
    errors = {}
    for kind in ("gaussian", "orthogonal"):
        basis = ks.Fourier(gamma=1 / 32, projection=kind, form="paired")
        kernel = basis.kernel(rows)
        errors[kind] = np.mean(
            [np.linalg.norm(mean_product(basis, rows, seed) - kernel) for seed in range(8)]
        )
    assert errors["orthogonal"] < 0.8 * errors["gaussian"]


@every_basis
@pytest.mark.parametrize("n_rows", [1, 20])
def test_scores_are_features_times_weights(basis, n_rows):
    rows = np.random.default_rng(1).normal(size=(n_rows, 4))
    draw = drawn(basis, rows, 3, 70)
    weights = np.random.default_rng(2).normal(size=(draw.n_columns, 2))
    expected = draw.scaled_features(rows) @ weights
    scale = np.abs(expected).max() + 1e-3
    np.testing.assert_allclose(draw.scorer(weights)(rows), expected, atol=1e-10 * scale)


ROUNDED = np.round(np.random.default_rng(1).normal(size=(150, 4)), 1)
ROUNDED[:, 3] = ROUNDED[:, 3] > 0
TARGETS = np.random.default_rng(2).normal(size=(150, 2))
FAST = [basis for basis in BASES if basis.fast_products]


@every_basis
def test_products_and_groups_are_there_where_the_basis_says_so(basis):
    draw = drawn(basis, ROUNDED, 3, 200)
    assert (draw.products(ROUNDED, TARGETS) is not None) == basis.fast_products
    assert (draw.groups([ROUNDED]) is not None) == basis.fast_products


@pytest.mark.parametrize("basis", [*FAST, ks.Reweighted(ks.Stumps(), pool=2)], ids=name_of)
def test_faster_sums_are_the_sums_of_the_features(basis):
    draw = drawn(basis, ROUNDED, 3, 200)
    features = draw.scaled_features(ROUNDED)
    products = draw.products(ROUNDED, TARGETS)
    expected = np.tril(features.T @ features)
    np.testing.assert_allclose(np.tril(products.gram), expected, atol=1e-12)
    np.testing.assert_allclose(products.first, features.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(products.cross, features.T @ TARGETS, atol=1e-12)


@pytest.mark.parametrize("basis", FAST, ids=name_of)
def test_features_of_a_group_are_the_same_on_all_rows(basis):
    draw = drawn(basis, ROUNDED, 3, 200)
    features = draw.features(ROUNDED)
    groups = draw.groups([ROUNDED[:70], ROUNDED[70:]])
    same = (features[:, :, None] == features[:, None, :]).all(axis=0)
    # Different columns may hold the same values: those are not looked for.
    column = draw.theta["column"]
    constant = np.ptp(features, axis=0) == 0.0
    alike = (column[:, None] == column) | (constant[:, None] & constant)
    np.testing.assert_array_equal(groups[:, None] == groups, same & alike)
