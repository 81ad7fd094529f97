"""Principal components of features, q-ary codes, and distances before and after the map."""

import copy
import pickle

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, KernelPCA
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_fit_score_takes_y, parametrize_with_checks

import kitchensinks as ks
from kitchensinks.estimators.hashing import different_letters, pack
from kitchensinks.features.bases.maxout import maxout_kernel, same_argmax
from kitchensinks.features.frozen import Frozen
from kitchensinks.problem.moments import Moments
from tests.numerics import twins


@parametrize_with_checks(
    [
        ks.KitchenSinkPCA(n_features=30, random_state=0),
        ks.KitchenSinkPCA(ks.Maxout(), n_features=5, random_state=0),
        ks.MaxoutHash(64, random_state=0),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -- principal components ------------------------------------------------------------------


def rows_of(n_rows, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, 5)) * [3.0, 2.0, 1.0, 0.5, 0.2]


@pytest.mark.parametrize("n_rows", [40, 300], ids=["fewer rows", "more rows"])
@pytest.mark.parametrize("basis", [ks.Fourier(gamma=0.1), ks.Maxout(3), ks.ReLU(), ks.Stumps()])
def test_components_are_those_of_the_feature_matrix(basis, n_rows):
    rows = rows_of(n_rows)
    pca = ks.KitchenSinkPCA(basis, 3, 100, standardize=False, random_state=0).fit(rows)
    features = ks.RandomFeatures(basis, 100, random_state=0).fit_transform(rows)
    plain = PCA(3, svd_solver="full").fit(features)
    signs = np.sign((pca.components_ * plain.components_).sum(axis=1))
    np.testing.assert_allclose(pca.components_, signs[:, None] * plain.components_, atol=1e-9)
    np.testing.assert_allclose(pca.transform(rows), signs * plain.transform(features), atol=1e-9)
    np.testing.assert_allclose(
        pca.explained_variance_, plain.explained_variance_ * (n_rows - 1) / n_rows
    )
    np.testing.assert_allclose(pca.explained_variance_ratio_, plain.explained_variance_ratio_)
    np.testing.assert_allclose(pca.mean_, plain.mean_, atol=1e-12)
    assert ((pca.components_**3).sum(axis=1) > 0).all()


def test_any_batches_give_the_same_components():
    rows = rows_of(700)
    fitted = ks.KitchenSinkPCA(ks.Fourier(), 4, 120, random_state=0).fit(rows)
    frozen = ks.KitchenSinkPCA(ks.Fourier(), 4, 120, random_state=0).freeze(rows)
    first, second = copy.deepcopy(frozen), copy.deepcopy(frozen)
    for part in (slice(0, 1), slice(1, 90), slice(90, 400)):
        first.partial_fit(rows[part])
    second.partial_fit(rows[400:])
    merged = first.merge(second)
    np.testing.assert_allclose(merged.transform(rows), fitted.transform(rows), atol=1e-10)
    np.testing.assert_allclose(merged.explained_variance_, fitted.explained_variance_)
    # more rows than fit saw: fit goes on where its sums are
    fitted.partial_fit(rows[:50])
    again = frozen.partial_fit(rows).partial_fit(rows[:50])
    np.testing.assert_allclose(again.transform(rows), fitted.transform(rows), atol=1e-10)


def test_first_batch_freezes_with_a_warning():
    with pytest.warns(UserWarning, match="freezes the scaler"):
        ks.KitchenSinkPCA(random_state=0, n_features=10).partial_fit(rows_of(20))


@pytest.mark.parametrize("n_rows", [30, 200])
def test_weights_count_as_copies(n_rows):
    rows, weights = rows_of(n_rows), np.random.default_rng(1).integers(0, 4, n_rows)
    pca = ks.KitchenSinkPCA(ks.Fourier(gamma=0.1), 2, 60, random_state=0)
    weighted = copy.deepcopy(pca).fit(rows, sample_weight=weights)
    repeated = pca.fit(np.repeat(rows, weights, axis=0))
    np.testing.assert_allclose(weighted.transform(rows), repeated.transform(rows), atol=1e-9)


def test_blocks_bounded_by_the_budget_change_nothing():
    rows = rows_of(3000)
    wide = ks.KitchenSinkPCA(ks.Fourier(), 2, 50, random_state=0).fit(rows)
    tight = ks.KitchenSinkPCA(ks.Fourier(), 2, 50, memory_budget="1MB", random_state=0).fit(rows)
    assert tight._blocks(rows).block_rows < 3000
    np.testing.assert_allclose(wide.transform(rows), tight.transform(rows), atol=1e-10)


def test_fewer_rows_than_features_are_never_held_as_features(monkeypatch):
    """A few columns at a time: the widest block is far narrower than the features, and exact."""
    rows = StandardScaler().fit_transform(rows_of(60))
    features = ks.RandomFeatures(ks.Fourier(gamma=0.1), 2000, random_state=0).fit_transform(rows)
    exact = PCA(3).fit(features).components_
    widths, walk = [], Frozen.walk

    def watched(self, *given):
        for columns, part in walk(self, *given):
            widths.append(part.shape[1])
            yield columns, part

    monkeypatch.setattr(Frozen, "walk", watched)
    monkeypatch.setattr(Frozen, "features", None)
    pca = ks.KitchenSinkPCA(
        ks.Fourier(gamma=0.1), 3, 2000, standardize=False, memory_budget="1MB", random_state=0
    )
    pca.fit(rows)
    assert max(widths) < 300
    np.testing.assert_allclose(np.abs(pca.components_ @ exact.T), np.eye(3), atol=1e-6)


@pytest.mark.filterwarnings("ignore:The first batch")
def test_a_budget_that_is_too_small_is_an_error():
    """Sums of 800 columns take 31 MB, and inner products of 300 rows 4 MB."""
    rows = rows_of(1000)
    pca = ks.KitchenSinkPCA(ks.Fourier(), 2, 800, memory_budget="20MB", random_state=0)
    message = r"n_features=800 needs matrices of 800 × 800, 31 MB .* budget is 20 MB: raise"
    for method in (pca.fit, pca.freeze, pca.partial_fit):
        with pytest.raises(ValueError, match=message):
            method(rows)
    pca.fit(rows[:300])
    with pytest.raises(ValueError, match="matrices of 300 × 300"):
        pca.set_params(memory_budget="2MB").fit(rows[:300])


def test_float32_rows_stay_float32():
    rows = rows_of(500).astype(np.float32)
    pca = ks.KitchenSinkPCA(ks.Fourier(), 2, 80, random_state=0).fit(rows)
    assert pca.transform(rows).dtype == np.float32
    exact = ks.KitchenSinkPCA(ks.Fourier(), 2, 80, dtype="float64", random_state=0).fit(rows)
    np.testing.assert_allclose(pca.transform(rows), exact.transform(rows), atol=1e-4)


def test_directions_that_no_row_has_are_zero():
    rows = np.repeat(rows_of(2), 10, axis=0)
    pca = ks.KitchenSinkPCA(ks.Fourier(gamma=0.1), 3, 40, random_state=0).fit(rows)
    assert pca.transform(rows).shape == (20, 3)
    np.testing.assert_allclose(pca.explained_variance_ratio_, [1, 0, 0], atol=1e-12)
    assert (pca.components_[1:] == 0).all()


def test_fourier_meets_exact_kernel_pca_as_features_grow():
    rows = load_digits().data[:400]
    scaled = StandardScaler().fit_transform(rows)
    basis = ks.Fourier().resolve(scaled)
    exact = KernelPCA(4, kernel="precomputed").fit_transform(basis.kernel(scaled))
    errors = []
    for n_features in (200, 1800):
        embedded = ks.KitchenSinkPCA(basis, 4, n_features, random_state=0).fit_transform(rows)
        turn, _ = orthogonal_procrustes(embedded, exact)
        errors.append(np.linalg.norm(embedded @ turn - exact) / np.linalg.norm(exact))
    # nine times the features, a third of the error (measured 0.37 and 0.12)
    assert errors[1] < 0.15
    assert errors[1] < errors[0] / 2


def rank_correlation_with_order(views, pool, n_features, projection):
    basis = ks.Maxout(pool, projection=projection)
    pca = ks.KitchenSinkPCA(basis, 2, n_features, standardize=False, random_state=0)
    embedded = pca.fit_transform(views.astype(np.float32))
    order = np.arange(len(views))
    return [abs(spearmanr(component, order).statistic) for component in embedded.T]


@pytest.mark.slow
def test_maxout_components_order_the_views_of_a_face(data_folder):
    """Maxout paper, Figure 2: the first component follows the angle (0.945 to 0.949, 5 seeds)."""
    faces = ks.datasets.load("umist_faces", full_size=True, test_share=0)
    views = faces.X_train[faces.y_train == 20]
    assert len(views) == 34
    first, second = rank_correlation_with_order(views, 12, 10_000, "hadamard")
    assert first > 0.94
    assert second < 0.3


def turning_ball(n_views, n_spots=40):
    """Pictures of a ball with bright spots that turns by 60 degrees, 24 × 24 pixels, unit norm."""
    spots = np.random.default_rng(0).normal(size=(n_spots, 3))
    spots /= np.linalg.norm(spots, axis=1, keepdims=True)
    angles = np.linspace(-np.pi / 6, np.pi / 6, n_views)[:, None]
    across = np.cos(angles) * spots[:, 0] + np.sin(angles) * spots[:, 2]
    toward = np.cos(angles) * spots[:, 2] - np.sin(angles) * spots[:, 0]
    grid = np.linspace(-1.2, 1.2, 24)
    wide = np.exp(-((grid - across[..., None]) ** 2) / 0.2)
    high = np.exp(-((grid - spots[:, 1, None]) ** 2) / 0.2)
    seen = np.maximum(toward, 0.0)
    views = np.einsum("vs,vsa,sb->vba", seen, wide, high).reshape(n_views, -1)
    return views / np.linalg.norm(views, axis=1, keepdims=True)


@pytest.mark.parametrize("projection", ["gaussian", "hadamard"])
def test_maxout_components_order_the_views_of_a_turning_ball(projection):
    """The same without the faces (0.981 with Gaussian directions)."""
    first, second = rank_correlation_with_order(turning_ball(33), 12, 1000, projection)
    assert first > 0.96
    assert second < 0.3


@pytest.mark.parametrize("n_rows", [40, 300], ids=["fewer rows", "more rows"])
def test_signs_do_not_depend_on_the_order_of_rows(n_rows):
    rows = rows_of(n_rows)
    pca = ks.KitchenSinkPCA(ks.Fourier(gamma=0.1), 4, 100, random_state=0)
    components = pca.fit(rows).components_
    for seed in range(3):
        shuffled = np.random.default_rng(seed).permutation(rows)
        np.testing.assert_allclose(pca.fit(shuffled).components_, components, atol=1e-8)


@pytest.mark.parametrize(
    ("parameters", "n_rows", "message"),
    [
        ({"n_components": 11, "n_features": 10}, 30, "11 of 10 columns: there are no more"),
        ({"n_components": 0}, 30, "n_components=0: need a whole number"),
        ({"n_features": 0}, 30, "n_features=0: need a whole number"),
        ({"n_components": 5}, 4, "4 sample.s. for n_components=5: need as many rows"),
        ({"n_components": 1}, 1, "at least 2"),
        ({"basis": ks.Binning(gamma=1.0)}, 30, "sparse features: principal components need"),
        ({"dtype": "int8"}, 30, "need 'float32', 'float64' or None"),
    ],
)
def test_bad_parameters_are_named(parameters, n_rows, message):
    pca = ks.KitchenSinkPCA(random_state=0).set_params(**parameters)
    with pytest.raises(ValueError, match=message):
        pca.fit(rows_of(n_rows))


def test_a_refused_fit_leaves_the_components_of_the_last_one():
    rows = np.random.default_rng(0).normal(size=(60, 3))
    model = ks.KitchenSinkPCA(n_components=2, n_features=20, random_state=0).fit(rows)
    expected = model.transform(rows)
    with pytest.raises(ValueError, match="no more components than columns"):
        model.set_params(n_components=30, n_features=25).fit(rows + 1.0)
    np.testing.assert_array_equal(model.transform(rows), expected)


def test_sums_that_do_not_belong_together_are_refused():
    pca = ks.KitchenSinkPCA(ks.Fourier(gamma=1.0), 2, 10, standardize=False, random_state=0)
    with pytest.raises(ValueError, match="call freeze or partial_fit on both"):
        pca.merge(pca)
    other = ks.KitchenSinkPCA(ks.Fourier(gamma=2.0), 2, 10, standardize=False, random_state=0)
    with pytest.raises(ValueError, match="differ in scaler, basis or draw"):
        pca.partial_fit(rows_of(9)).merge(other.partial_fit(rows_of(9)))
    with pytest.raises(NotFittedError, match="1 rows so far"):
        ks.KitchenSinkPCA(random_state=0).freeze(rows_of(9)).partial_fit(rows_of(1)).transform(
            rows_of(1)
        )
    with pytest.raises(NotFittedError, match="call fit or partial_fit"):
        _ = ks.KitchenSinkPCA().components_


# -- hashing -------------------------------------------------------------------------------


def circle(*angles):
    return np.column_stack([np.cos(angles), np.sin(angles)])


@pytest.mark.parametrize(
    ("pool", "projection"),
    [(2, "gaussian"), (2, "orthogonal"), (3, "orthogonal"), (8, "gaussian"), (300, "orthogonal")],
)
def test_mean_distance_of_codes_is_one_minus_the_chance_of_the_same_argmax(pool, projection):
    angles = np.array([0.0, 0.1, 0.5, 1.0, np.pi / 2, 2.5, np.pi])
    rows = circle(*angles) * np.arange(1, 8)[:, None]
    n_units = 4000
    codes = ks.MaxoutHash(n_units, pool, projection, random_state=1).fit(rows)
    chance = same_argmax(np.cos(angles), pool)
    # arg-maxima of different units are independent but for directions made orthogonal
    allowed = 5 * np.sqrt(chance * (1 - chance) / n_units) + 1e-12
    assert (np.abs(codes.distances(rows[:1])[0] - (1 - chance)) <= allowed).all()


@pytest.mark.parametrize("pool", [2, 3, 8, 256, 257])
@pytest.mark.parametrize("n_units", [1, 63, 64, 65, 200])
@pytest.mark.parametrize(("n_rows", "n_others"), [(0, 3), (1, 1), (5, 0), (4, 7)])
def test_packed_codes_count_different_letters(pool, n_units, n_rows, n_others):
    rng = np.random.default_rng(0)
    letters = rng.integers(0, pool, (n_rows, n_units))
    others = rng.integers(0, pool, (n_others, n_units))
    others[: min(n_rows, n_others)] = letters[: min(n_rows, n_others)]
    expected = (letters[:, None] != others[None]).sum(axis=2)
    packed, packed_others = pack(letters, pool), pack(others, pool)
    assert packed.shape == (n_rows, (pool - 1).bit_length(), -(-n_units // 64))
    np.testing.assert_array_equal(different_letters(packed, packed_others), expected)
    np.testing.assert_array_equal(twins.different_letters(packed, packed_others), expected)


def test_letters_name_the_largest_direction_of_the_maxout_units():
    rows = rows_of(20)
    codes = ks.MaxoutHash(50, 5, random_state=3).fit(rows)
    letters = codes.transform(rows)
    draw = ks.Maxout(5).draw(3, 5, 50)
    products = np.stack([rows @ draw.theta[f"plane{j}"].T for j in range(5)])
    np.testing.assert_array_equal(letters, products.argmax(axis=0))
    np.testing.assert_array_equal(products.max(axis=0), draw.features(rows))
    np.testing.assert_array_equal(letters, codes.transform(7.0 * rows))
    assert letters.dtype == np.uint8


def test_neighbours_come_nearest_first_and_ties_by_place():
    rows = np.vstack([rows_of(30), rows_of(30)[:5]])
    codes = ks.MaxoutHash(100, 4, random_state=0).fit(rows)
    distance, places = codes.kneighbors(rows, 35)
    expected = codes.distances(rows)
    np.testing.assert_array_equal(places, np.argsort(expected, axis=1, kind="stable"))
    np.testing.assert_allclose(distance, np.take_along_axis(expected, places, axis=1))
    own = codes.kneighbors(n_neighbors=1, return_distance=False)[:, 0]
    assert own[:5].tolist() == [30, 31, 32, 33, 34]
    assert own[30:].tolist() == [0, 1, 2, 3, 4]


def test_codes_recall_the_neighbours_by_angle():
    """Digits, 10 nearest of 1597 by angle: q = 8 and 1024 units find 0.854 to 0.859, 3 seeds."""
    rows = load_digits().data
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    exact = np.argsort(-units[:200] @ units[200:].T, axis=1)[:, :10]

    def recall(pool, n_units, count=10):
        codes = ks.MaxoutHash(n_units, pool, random_state=0).fit(rows[200:])
        found = codes.kneighbors(rows[:200], count, return_distance=False)
        return np.mean([len(set(a) & set(b)) / 10 for a, b in zip(exact, found, strict=True)])

    assert recall(8, 1024) > 0.83
    assert recall(8, 256) < recall(8, 1024)
    assert recall(2, 1024) < recall(8, 1024)
    assert recall(8, 1024, count=100) > 0.99


def test_bad_hashes_are_refused():
    with pytest.raises(ValueError, match="pool=1: a unit of one direction"):
        ks.MaxoutHash(pool=1).fit(rows_of(3))
    with pytest.raises(ValueError, match="n_units=0"):
        ks.MaxoutHash(n_units=0).fit(rows_of(3))
    with pytest.raises(ValueError, match="need one of 'gaussian'"):
        ks.MaxoutHash(projection="sparse").fit(rows_of(3))
    codes = ks.MaxoutHash(10, random_state=0).fit(rows_of(3))
    with pytest.raises(ValueError, match="fit has seen 3 rows, so there are at most 2"):
        codes.kneighbors(n_neighbors=3)
    with pytest.raises(NotFittedError):
        ks.MaxoutHash().kneighbors(rows_of(3))


# -- distances -----------------------------------------------------------------------------


@pytest.mark.parametrize("pool", [8, 32])
def test_distances_after_the_map_meet_the_kernel(pool):
    profile = ks.distance_profile(pool)
    assert profile.before.shape == (4950,)
    assert (np.diff(profile.before) >= 0).all()
    cosine = 1 - profile.before**2 / 2
    exact = np.sqrt(2 * maxout_kernel(1.0, pool) - 2 * maxout_kernel(cosine, pool))
    np.testing.assert_allclose(profile.exact, exact, atol=1e-6)
    assert np.abs(profile.after - profile.exact).max() < 0.1
    near = profile.before < 0.02
    np.testing.assert_allclose(profile.exact[near], profile.before[near], rtol=0.06)


def test_larger_pools_saturate_earlier():
    """The distance at which the map reaches 90 % of its range shrinks with q (Figure 1)."""

    def radius(pool):
        profile = ks.distance_profile(pool)
        return profile.before[np.searchsorted(profile.exact, 0.9 * profile.exact.max())]

    assert radius(32) < radius(8) < radius(2)


def test_any_basis_and_rows_have_a_profile():
    rows = rows_of(20)
    profile = ks.distance_profile(ks.Fourier(gamma=0.1), rows, n_features=4000, random_state=1)
    np.testing.assert_allclose(profile.exact, np.sqrt(2 - 2 * np.exp(-0.1 * profile.before**2)))
    assert np.abs(profile.after - profile.exact).max() < 0.1
    with pytest.raises(ValueError, match="sparse features"):
        ks.distance_profile(ks.Binning(gamma=1.0))
    with pytest.raises(ValueError, match="need two or more"):
        ks.distance_profile(4, rows[:1])
    with pytest.raises(ValueError, match="pool=0"):
        ks.distance_profile(0)


def test_partial_fit_goes_on_from_a_fit_of_fewer_rows_than_features():
    rows = np.random.default_rng(0).normal(size=(40, 3))
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 40)
    pca = ks.KitchenSinkPCA(ks.Fourier(gamma=1.0), 2, 100, standardize=False, random_state=0)
    going_on = clone(pca).fit(rows[:25], sample_weight=weights[:25])
    going_on = pickle.loads(pickle.dumps(going_on))
    going_on.partial_fit(rows[25:], sample_weight=weights[25:])
    whole = pca.fit(rows, sample_weight=weights)
    np.testing.assert_allclose(going_on.explained_variance_, whole.explained_variance_, rtol=1e-6)
    np.testing.assert_allclose(
        np.abs(going_on.transform(rows)), np.abs(whole.transform(rows)), atol=1e-5
    )


def test_a_batch_that_fails_adds_none_of_its_rows(monkeypatch):
    rows = rows_of(60)
    pca = ks.KitchenSinkPCA(ks.Fourier(gamma=1.0), 2, 20, random_state=0).fit(rows)
    expected = pca.explained_variance_.copy()

    add_blocks = Moments.add_blocks

    def interrupted(*given):
        add_blocks(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(Moments, "add_blocks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pca.partial_fit(3.0 * rows)
    pca.merge(copy.deepcopy(pca).freeze(rows))
    np.testing.assert_allclose(pca.explained_variance_, expected)


def test_rows_that_nothing_goes_on_from_are_not_kept():
    rows = rows_of(60)
    pca = ks.KitchenSinkPCA(ks.Fourier(gamma=1.0), 2, 20, random_state=0)
    few = len(pickle.dumps(clone(pca).freeze(rows)))
    assert len(pickle.dumps(pca.fit(rows[:10]).freeze(rows))) <= few


def test_the_default_transformer_passes_the_check_of_y():
    check_fit_score_takes_y("KitchenSinkPCA", ks.KitchenSinkPCA())
