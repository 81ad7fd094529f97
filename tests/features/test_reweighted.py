"""Reweighted feature selection: scores, the kernel it keeps, what it is worth, and diagnostics."""

import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import kitchensinks as ks
from kitchensinks import Reweighted
from kitchensinks import inspect as selection
from kitchensinks.features.bases import leverage as leverage_module
from kitchensinks.features.bases.leverage import KernelOperator, Pool
from kitchensinks.features.bases.reweighted import probabilities, resample
from kitchensinks.features.scaling import Scaler, Spread
from tests.catalogue import BASES, extreme_and_random_rows, name_of

DENSE = [basis for basis in BASES if not basis.learns_draw]
FEW = [
    ks.Fourier(gamma=0.3),
    ks.Fourier(gamma=0.3, form="paired"),
    ks.Fourier(gamma=0.3, projection="hadamard"),
    ks.ReLU(gamma=0.8, projection="hadamard"),
    ks.Stumps(),
    ks.Maxout(3, projections=30),
    ks.Union([ks.Fourier(gamma=0.3, form="paired"), ks.Maxout(3)], shares=[3, 1]),
]
every_dense_basis = pytest.mark.parametrize("basis", DENSE, ids=name_of)
few_bases = pytest.mark.parametrize("basis", FEW, ids=name_of)
ROWS = np.random.default_rng(0).normal(size=(60, 4))


def direct_scores(draw, rows, mu, weights):
    """diag(ΦΦᵀ(ΦΦᵀ + μI)⁻¹) with an inverse, summed over the columns of each draw."""
    matrix = (draw.scaled_features(rows) * np.sqrt(weights / weights.sum())[:, None]).T
    gram = matrix @ matrix.T
    each = np.diag(gram @ np.linalg.inv(gram + mu * np.eye(len(gram))))
    return np.array([each[a:b].sum() for a, b in zip(draw.offsets, draw.offsets[1:], strict=False)])


def chosen_draw(basis, seed, n_components, rows, weights=None, dtype=np.float64, scaler=None):
    draw = basis.draw(seed, rows.shape[1], n_components, dtype)
    return basis.learn_draw(draw, rows, weights, scaler)


# Choosing draws.


@every_dense_basis
def test_chosen_draws_are_columns_times_factors(basis):
    rows = extreme_and_random_rows()
    draw = basis.draw(4, 4, 400)
    indices = np.array([399, 0, 7, 7, 256, 300, 1])
    factors = np.linspace(0.5, 2.0, len(indices))
    chosen = Pool(basis, 4, 4, 400).choose(indices, factors, np.float64)
    columns = [np.arange(draw.offsets[k], draw.offsets[k + 1]) for k in indices]
    wide = np.repeat(factors, [len(part) for part in columns])
    expected = draw.features(rows)[:, np.concatenate(columns)] * wide
    np.testing.assert_allclose(chosen.features(rows), expected, rtol=1e-9, atol=1e-9)
    assert chosen.n_components == len(indices)
    assert chosen.n_columns == expected.shape[1] == chosen.offsets[-1]
    np.testing.assert_allclose(
        chosen.scaled_features(rows), expected * chosen.scale, rtol=1e-9, atol=1e-9
    )
    assert np.abs(expected).max() <= chosen.bound * (1 + 1e-12)
    part = chosen.part(2, 5)
    low, high = chosen.offsets[2], chosen.offsets[5]
    assert part.n_columns == high - low
    np.testing.assert_allclose(part.features(rows), expected[:, low:high], rtol=1e-9, atol=1e-9)
    again = chosen.choose(np.array([6, 0]), np.array([2.0, 3.0]))
    np.testing.assert_allclose(again.factors, [2 * factors[6], 3 * factors[0]])
    narrow = chosen.astype(np.float32).features(rows[:5].astype(np.float32))
    assert narrow.dtype == np.float32
    assert np.mean(np.abs(narrow - expected[:5]) > 1e-2 * (1 + np.abs(expected[:5]))) < 0.02


# Scores.


@few_bases
@pytest.mark.parametrize("n_components", [12, 150])
@pytest.mark.parametrize("held", [1, 2000, 2**24])
def test_scores_agree_with_a_direct_computation_in_both_forms(
    basis, n_components, held, monkeypatch
):
    monkeypatch.setattr(leverage_module, "HELD_ENTRIES", held)
    weights = np.random.default_rng(1).random(len(ROWS))
    draw = basis.draw(1, 4, n_components)
    operator = KernelOperator(draw, ROWS, weights)
    assert operator.by_rows == (n_components > 100)
    for mu in (1e-4, 0.1):
        scores = selection.leverage_scores(draw, ROWS, mu, weights)
        direct = direct_scores(draw, ROWS, mu, weights)
        np.testing.assert_allclose(scores, direct, rtol=1e-7, atol=1e-12)
        dimension = selection.effective_dimension(operator.eigenvalues, mu)
        assert scores.sum() == pytest.approx(dimension)
    redrawn = KernelOperator(Pool(basis, 1, 4, n_components), ROWS, weights)
    np.testing.assert_allclose(redrawn.scores(0.1), scores, rtol=1e-7, atol=1e-12)


def test_cosine_and_sine_are_scored_together():
    draw = ks.Fourier(gamma=0.3, form="paired").draw(0, 4, 50)
    scores = selection.leverage_scores(draw, ROWS, 1e-3)
    assert scores.shape == (50,)
    chosen = chosen_draw(Reweighted(draw.basis, pool=5), 0, 10, ROWS)
    pairs = chosen.features(ROWS).reshape(len(ROWS), 10, 2)
    length = np.square(pairs).sum(axis=2)
    np.testing.assert_allclose(length, np.tile(2 * chosen.factors**2, (len(ROWS), 1)))


def test_auto_mu_makes_the_effective_dimension_the_number_of_columns():
    basis = ks.Fourier(gamma=0.3)
    operator = KernelOperator(Pool(basis, 0, 4, 1000), ROWS)
    found = selection.mu_of_dimension(operator.eigenvalues, 10)
    automatic = chosen_draw(Reweighted(basis, rows=1.0), 0, 10, ROWS)
    given = chosen_draw(Reweighted(basis, rows=1.0, mu=found), 0, 10, ROWS)
    np.testing.assert_allclose(automatic.factors, given.factors, rtol=1e-6)
    # More columns than directions, one row, and rows that say nothing.
    for rows, count in ((ROWS, 400), (ROWS[:1], 5), (np.zeros((5, 4)), 3)):
        chosen = chosen_draw(Reweighted(ks.Maxout(2), pool=3), 0, count, rows)
        assert np.isfinite(chosen.factors).all()


def test_resampling_has_the_chances_given_and_never_takes_the_impossible():
    chances = probabilities(np.array([0.0, 3.0, 1.0, 0.0]))
    uniform = np.r_[0.0, np.random.default_rng(0).random(40_000), np.nextafter(1.0, 0.0)]
    counts = np.bincount(resample(chances, uniform), minlength=4) / len(uniform)
    np.testing.assert_allclose(counts, [0.0, 0.75, 0.25, 0.0], atol=0.01)


# The kernel that is kept.

REPLICATES = 32


def mean_and_error(basis, rows, **options):
    """Mean of the Gram matrices of independent selections, and its standard error."""
    reweighted = Reweighted(basis, pool=6, rows=1.0, **options)
    grams = []
    for seed in range(REPLICATES):
        features = chosen_draw(reweighted, seed, 64, rows).scaled_features(rows)
        grams.append(features @ features.T)
    return np.mean(grams, axis=0), np.std(grams, axis=0, ddof=1) / np.sqrt(REPLICATES)


@every_dense_basis
def test_the_corrected_reweighting_keeps_the_kernel(basis):
    rows = extreme_and_random_rows()
    mean, error = mean_and_error(basis, rows)
    kernel = basis.kernel(rows)
    size = np.sqrt(np.outer(kernel.diagonal(), kernel.diagonal()))
    allowed = 5 * error + 25 * size / 64 / REPLICATES + 1e-12
    if isinstance(basis, ks.Custom):
        allowed += 5 * basis.kernel_error(rows)
    assert (np.abs(mean - kernel) <= allowed).all()


@pytest.mark.parametrize("basis", [FEW[0], FEW[1], ks.Sigmoid(gamma=0.7)], ids=name_of)
def test_the_plain_reweighting_does_not_keep_the_kernel(basis):
    """In standard errors: the same selections, as printed and with their factors."""
    gaps = []
    for correction in (False, True):
        mean, error = mean_and_error(basis, ROWS, mu=1e-3, correction=correction)
        gap = np.abs(mean - basis.kernel(ROWS)) / (error + 1e-6)
        gaps.append(gap[np.triu_indices(len(ROWS), 1)])
    plain, corrected = gaps
    assert np.median(plain) > 2
    assert plain.max() > 8
    assert np.median(corrected) < 1
    assert corrected.max() < 5


@pytest.mark.parametrize("correction", [True, False])
def test_a_file_keeps_places_and_factors_alone(correction):
    basis = Reweighted(ks.Fourier(gamma=0.3), pool=5, correction=correction)
    chosen = chosen_draw(basis, 0, 20, ROWS, dtype=np.float32)
    packed = basis.pack(chosen)
    assert set(packed) == ({"places", "factors"} if correction else {"places"})
    again = basis.unpack(basis.draw(0, 4, 20, np.float32), packed)
    np.testing.assert_array_equal(again.features(ROWS), chosen.features(ROWS))
    for wrong in (packed["places"][:-1], packed["places"] - 100, packed["places"] + 100):
        with pytest.raises(ValueError, match="need 20 below 100"):
            basis.unpack(basis.draw(0, 4, 20), {**packed, "places": wrong})


# Rows.


def test_the_selection_does_not_depend_on_order_copies_or_rows_of_no_weight():
    weights = np.random.default_rng(1).integers(0, 4, 60)
    basis = Reweighted(ks.Fourier(gamma=0.3), pool=10, rows=0.5)
    first = chosen_draw(basis, 0, 20, ROWS, weights.astype(float))
    copies = np.repeat(ROWS, weights, axis=0)[::-1]
    again = chosen_draw(basis, 0, 20, copies)
    np.testing.assert_allclose(first.features(ROWS), again.features(ROWS), rtol=1e-8, atol=1e-8)
    filled = chosen_draw(basis, 0, 20, sparse.csr_array(copies))
    np.testing.assert_allclose(again.features(ROWS), filled.features(ROWS), rtol=1e-8, atol=1e-8)
    other = chosen_draw(basis, 1, 20, copies)
    assert np.abs(other.features(ROWS) - again.features(ROWS)).max() > 0.1


def test_how_many_rows_are_looked_at():
    wide = np.random.default_rng(0).normal(size=(9000, 2))
    counts = [(0.3, 2000), (1.0, 2000), (0.1, 900), (5000, 5000), (20_000, 9000), (1, 1)]
    for rows, count in counts:
        sample, weights = Reweighted(rows=rows).scored_rows(wide, None, 0)
        assert len(sample) == len(weights) == count
    assert len(Reweighted(rows=0.001).scored_rows(ROWS, None, 0)[0]) == 1


def test_rows_go_through_the_scaler():
    scaler = Scaler.over(Spread.of(5 * ROWS + 3))
    basis = Reweighted(ks.Fourier(gamma=0.3), pool=10, rows=1.0)
    outside = chosen_draw(basis, 0, 20, scaler.apply(5 * ROWS + 3, np.float64))
    inside = chosen_draw(basis, 0, 20, 5 * ROWS + 3, scaler=scaler)
    np.testing.assert_allclose(
        np.sort(outside.factors), np.sort(inside.factors), rtol=1e-6, atol=1e-6
    )


def test_memory_is_bounded(monkeypatch):
    """M = 100,000 candidates for N = 1000 on 100 rows: 80 MB of features, never held."""
    monkeypatch.setattr(leverage_module, "HELD_ENTRIES", 2**19)
    rows = np.random.default_rng(0).normal(size=(100, 5))
    tracemalloc.start()
    try:
        chosen = chosen_draw(
            Reweighted(ks.Fourier(gamma=0.1), rows=1.0), 0, 1000, rows, dtype=np.float32
        )
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert chosen.features(rows.astype(np.float32)).shape == (100, 1000)
    assert peak < 30e6


def test_features_of_few_draws_are_not_kept():
    rows = np.random.default_rng(0).normal(size=(20_000, 3))
    tracemalloc.start()
    try:
        operator = KernelOperator(ks.Fourier(gamma=0.1).draw(0, 3, 200), rows)
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert operator.scores(0.01).shape == (200,)
    assert kept < 5e6
    assert peak < 100e6


# The transformer.


@parametrize_with_checks(
    [ks.RandomFeatures(Reweighted(ks.Maxout(3, projections=9), pool=4), n_components=8)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize("basis", [None, ks.Fourier(form="paired")], ids=repr)
def test_scikit_learn_checks_of_more(basis):
    check_estimator(ks.RandomFeatures(Reweighted(basis, pool=4), n_components=8))


@few_bases
def test_transformer(basis):
    features = ks.RandomFeatures(Reweighted(basis, pool=10), 12, random_state=0)
    Z = features.fit_transform(ROWS)
    assert Z.shape == (60, len(features.get_feature_names_out()))
    np.testing.assert_array_equal(clone(features).fit_transform(ROWS), Z)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(features)).transform(ROWS), Z)
    narrow = features.transform(ROWS.astype(np.float32))
    assert narrow.dtype == np.float32
    uniform = clone(features).set_params(basis=basis).fit_transform(ROWS)
    assert np.abs(uniform @ uniform.T - Z @ Z.T).max() > 0.01


def test_search_over_the_selection():
    X, y = ks.datasets.make_annulus(200, random_state=0)
    features = ks.RandomFeatures(Reweighted(pool=5), n_components=20, random_state=0)
    grid = {
        "randomfeatures__basis__mu": ["auto", 0.1],
        "randomfeatures__basis__correction": [True, False],
    }
    search = GridSearchCV(make_pipeline(features, RidgeClassifier()), grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.7


# What it is worth.


@pytest.mark.parametrize("n_components", [10, 20])
def test_reweighted_beats_uniform_selection_on_the_annulus(n_components):
    """Thesis 2.5: 1000 rows, 10 % of the labels flipped, M = 100·N, L = 0.3·m, hinge loss."""
    far, truth = ks.datasets.make_annulus(20_000, noise=0.0, random_state=999)
    accuracy = np.empty((2, 10))
    for run in range(10):
        X, y = ks.datasets.make_annulus(1000, random_state=run)
        spread = np.linalg.norm(X[:300, None] - X[None, :300], axis=2).mean()
        basis = ks.Fourier(gamma=0.5 / spread**2, form="paired")
        for i, drawn_from in enumerate([basis, Reweighted(basis)]):
            features = ks.RandomFeatures(drawn_from, n_components, run)
            machine = LinearSVC(loss="hinge", C=10.0, max_iter=20_000, tol=1e-3, random_state=0)
            machine.fit(features.fit_transform(X), y)
            accuracy[i, run] = machine.score(features.transform(far), truth)
    assert accuracy[1].mean() > accuracy[0].mean()
    assert stats.ttest_rel(accuracy[1], accuracy[0], alternative="greater").pvalue < 0.05


# Bad input.


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pool": 1}, "pool=1 .* too few"),
        ({"pool": 0}, "pool=0"),
        ({"pool": 0.5}, "pool=0.5: need a whole number"),
        ({"pool": True}, "pool=True"),
        ({"rows": 0}, "rows=0: need a share"),
        ({"rows": 1.5}, r"rows=1.5: need a share of the rows in \(0, 1\]"),
        ({"rows": -3}, "rows=-3"),
        ({"rows": np.nan}, "rows=nan"),
        ({"rows": "all"}, "rows='all'"),
        ({"mu": 0}, "mu=0: need a positive"),
        ({"mu": -1.0}, "mu=-1.0"),
        ({"mu": np.inf}, "mu=inf"),
        ({"mu": "small"}, "mu='small': need a positive finite number or 'auto'"),
        ({"correction": "yes"}, "correction='yes'"),
    ],
)
def test_parameters_that_make_no_sense(options, words):
    features = ks.RandomFeatures(Reweighted(**options), n_components=5)
    with pytest.raises((ValueError, TypeError), match=words):
        features.fit(ROWS)


def test_errors_say_what_to_do():
    for basis in (ks.Binning(), ks.Union([ks.Fourier(), ks.Binning()])):
        with pytest.raises(ValueError, match=r"sparse features.*ks.Fourier"):
            ks.RandomFeatures(Reweighted(basis), 5).fit(ROWS)
    with pytest.raises(ValueError, match="sparse features"):
        ks.Binning(gamma=1.0).draw(0, 4, 5).choose(np.array([0]))
    for wrong in ("leverage", ks.Fourier, 5):
        with pytest.raises(TypeError, match=r"need a basis such as ks\.Fourier"):
            ks.RandomFeatures(Reweighted(wrong), n_components=5).fit(ROWS)
    with pytest.raises(ValueError, match="selects already"):
        Reweighted(Reweighted()).check()
    with pytest.raises(ValueError, match=r"Use ks.Reweighted\(ks.Union"):
        ks.Union([ks.Fourier(), Reweighted()]).check()
    with pytest.raises(ValueError, match="not resolved"):
        Reweighted().draw(0, 4, 5)
    draw = ks.Fourier(gamma=0.3).draw(0, 4, 20)
    for function in (selection.leverage_scores, selection.leverages, selection.maximal_leverage):
        with pytest.raises(ValueError, match=r"mu=0\.0: need a positive"):
            function(draw, ROWS, 0.0)
        with pytest.raises(ValueError, match="one number for each row"):
            function(draw, ROWS, 0.1, np.ones(3))
    with pytest.raises(ValueError, match="delta=1"):
        selection.suggested_components(draw, ROWS, 0.1, delta=1)
    with pytest.raises(ValueError, match="none below zero"):
        selection.effective_dimension([1.0, -0.5], 0.1)
    indefinite = ks.Custom(lambda *_: 0, lambda *_: 0, kernel=lambda x, z: -(x @ z.T))
    with pytest.raises(ValueError, match="Check the kernel function"):
        selection.spectrum(indefinite, ROWS)
    with pytest.raises(ValueError, match="dimension=3: need a number above 0 and below 2"):
        selection.mu_of_dimension([1.0, 1.0, 0.0], 3)
    with pytest.raises(ValueError, match="need 3 or more to fit"):
        selection.decay_rates([1.0, 0.5, 0.0, 0.0], 1)
