"""The learned law behind the estimators: when it runs, what it keeps, and what it refuses."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV

import kitchensinks as ks
from kitchensinks.law import choice

QUICK = ks.Adapt(steps=6, batch=64, seconds=0.05)
N_ROWS = 700


def rows_and_target(seed=0, n_rows=N_ROWS):
    """Two of five columns matter, and they matter together."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    return X, np.sin(2 * X[:, 0]) * X[:, 1] + 0.05 * rng.normal(size=n_rows)


X, Y = rows_and_target()
X_NEW, Y_NEW = rows_and_target(1)


@pytest.fixture(scope="module")
def learned():
    return ks.KitchenSinkRegressor(ks.Learned(law=QUICK), random_state=0).fit(X, Y)


def test_no_choice_is_the_learned_law_and_beats_the_plain_one():
    free = ks.KitchenSinkRegressor(random_state=0).fit(X, Y)
    plain = ks.KitchenSinkRegressor(basis=ks.Fourier(), random_state=0).fit(X, Y)
    assert plain.law_.record is None
    assert not hasattr(plain, "feature_importances_")
    assert 1 - free.score(X_NEW, Y_NEW) < 0.5 * (1 - plain.score(X_NEW, Y_NEW))


def test_rows_that_are_only_predicted_have_no_part_in_the_law_or_the_fit():
    """Test rows with wild targets, among the others but without weight, change nothing."""
    rows, target = np.vstack([X, 50.0 * X_NEW]), np.append(Y, 1e3 * Y_NEW)
    weights = np.repeat([1.0, 0.0], N_ROWS)
    alone = ks.KitchenSinkRegressor(random_state=0).fit(X, Y, np.ones(N_ROWS))
    beside = ks.KitchenSinkRegressor(random_state=0).fit(rows, target, weights)
    # But for the order of sums, which moves a row or two to the next bin.
    np.testing.assert_allclose(
        beside.law_.record.scales, alone.law_.record.scales, rtol=1e-3, atol=1e-6
    )
    assert beside.alpha_ == pytest.approx(alone.alpha_)
    assert np.abs(beside.predict(X_NEW) - alone.predict(X_NEW)).mean() < 1e-3


@pytest.mark.parametrize(
    "choice",
    [
        {"n_components": 20},
        {"basis": ks.Sigmoid(), "n_components": 20},
        {"constraint": ks.L2Ball(1.0)},
        {"standardize": False},
    ],
    ids=str,
)
def test_any_choice_about_the_features_is_the_plain_path(choice):
    model = ks.KitchenSinkRegressor(alpha=1e-3, random_state=0, **choice).fit(X, Y)
    assert model.law_.record is None


def test_the_record_says_what_was_tried_and_kept(learned):
    record = learned.law_.record
    assert {trial.stage for trial in record.trials} >= {"map", "basis"}
    kept = min(trial.error for trial in record.trials if trial.stage == "basis")
    text = repr(record)
    assert f"{kept:.4f}" in text
    assert text.splitlines()[-1] == record.reason
    assert str(learned.n_components_) in text
    assert "squared, in units of the targets' variance" in text
    assert record.trials[0].stage == "mean"
    assert record.trials[0].error == pytest.approx(1.0, abs=0.2)
    stars = [line for line in text.splitlines() if line.startswith("*")]
    assert any(f"{kept:.4f}" in line for line in stars)
    assert any(record.map in line for line in stars)
    assert len(stars) < len(record.trials) / 2
    importances = learned.feature_importances_
    assert importances.sum() == pytest.approx(1.0)
    assert importances[:2].min() > importances[2:].max()


def test_the_same_seed_gives_the_same_model(learned):
    again = ks.KitchenSinkRegressor(ks.Learned(law=QUICK), random_state=0).fit(X, Y)
    np.testing.assert_array_equal(again.predict(X_NEW), learned.predict(X_NEW))


def test_a_prediction_depends_on_its_row_alone(learned):
    """Ranks, scalers and bins are those of the rows of fit, whatever is predicted together."""
    alone = np.concatenate([learned.predict(X_NEW[k : k + 1]) for k in range(20)])
    beside = learned.predict(np.vstack([1e3 * X_NEW, X_NEW[:20]]))[-20:]
    np.testing.assert_allclose(beside, alone, rtol=1e-5, atol=1e-6)
    assert alone.std() > 0.1


@pytest.mark.parametrize("basis", [ks.Binning(), ks.Fourier("laplacian"), ks.Fourier(), ks.ReLU()])
def test_a_basis_given_keeps_its_kind(basis, tmp_path):
    model = ks.KitchenSinkRegressor(ks.Learned(basis, law=QUICK), 60, random_state=0).fit(X, Y)
    assert type(model.basis_) is type(basis)
    assert model.n_components_ == 60
    assert model.feature_importances_[:2].sum() > 0.6
    ks.save(model, tmp_path / "model")
    again = ks.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X_NEW), model.predict(X_NEW))
    assert repr(again.law_.record) == repr(model.law_.record)
    np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)


@pytest.mark.parametrize(
    "adapt", ["ard", "agop", ks.Adapt(law="agop", rank=2)], ids=["ard", "agop", "agop 2"]
)
@pytest.mark.parametrize(
    "basis",
    [
        ks.Union([ks.Fourier(), ks.ReLU()]),
        ks.Custom(
            sample=lambda rng, d, count: rng.standard_normal((count, d + 1)),
            features=lambda rows, theta: np.cos(rows @ theta[:, 1:].T + 9 * theta[:, 0]),
        ),
    ],
    ids=["union", "custom"],
)
def test_any_smooth_basis_is_given_a_law(basis, adapt):
    """Two of five columns matter, which a law of equal scales does not see."""
    scores = []
    for one in (None, adapt):
        model = ks.KitchenSinkRegressor(ks.Learned(basis, law=one), 300, random_state=0).fit(X, Y)
        scores.append(model.score(X_NEW, Y_NEW))
    assert 1 - scores[1] < 0.5 * (1 - scores[0])


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_classes_probabilities_and_losses(loss):
    labels = np.array(["low", "middle", "high"])[np.digitize(Y, [-0.3, 0.3])]
    model = ks.KitchenSinkClassifier(
        ks.Learned(law=QUICK),
        n_components=60,
        loss=loss,
        solver=ks.Solver(tol=0.05),
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Some losses are slow to certify.
        model.fit(X, labels)
    new = np.array(["low", "middle", "high"])[np.digitize(Y_NEW, [-0.3, 0.3])]
    assert model.score(X_NEW, new) > 0.6
    if loss != "hinge":
        chance = model.predict_proba(X_NEW)
        np.testing.assert_allclose(chance.sum(axis=1), 1.0)


def test_several_outputs_weights_and_sparse_rows():
    both = np.column_stack([Y, X[:, 4]])
    weights = np.ones(N_ROWS)
    weights[:100] = 0.0
    spoiled = both.copy()
    spoiled[:100] = 1e3
    model = ks.KitchenSinkRegressor(ks.Learned(law=QUICK), random_state=0).fit(X, spoiled, weights)
    assert model.score(X_NEW, np.column_stack([Y_NEW, X_NEW[:, 4]])) > 0.5
    few = ks.KitchenSinkRegressor(ks.Learned(law=QUICK), random_state=0).fit(sparse.csr_array(X), Y)
    dense = ks.KitchenSinkRegressor(ks.Learned(law=QUICK), random_state=0).fit(X, Y)
    np.testing.assert_allclose(few.predict(X_NEW), dense.predict(X_NEW), rtol=1e-6)


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e-300])
def test_equal_weights_are_none(unit, learned):
    model = ks.KitchenSinkRegressor(ks.Learned(law=QUICK), random_state=0).fit(
        X, Y, np.full(N_ROWS, unit)
    )
    np.testing.assert_array_equal(model.law_.record.scales, learned.law_.record.scales)


def test_a_row_is_never_predicted_by_its_copy():
    """Weights hardly change what is learned: no row comes twice into a batch."""
    rng = np.random.default_rng(3)
    noisy = Y + rng.normal(size=N_ROWS)
    scores = []
    for weights in (None, rng.uniform(0.9, 1.1, N_ROWS)):
        model = ks.KitchenSinkRegressor(random_state=0).fit(X, noisy, weights)
        scores.append(model.score(X_NEW, Y_NEW))
    assert scores[1] > scores[0] - 0.03


@pytest.mark.parametrize("unit", [1.0, 1e6])
def test_outputs_count_the_same_whatever_their_units(unit):
    both = np.column_stack([Y, unit * X[:, 3]])
    model = ks.KitchenSinkRegressor(random_state=0).fit(X, both)
    wrong = model.predict(X_NEW)[:, 0] - Y_NEW
    assert np.mean(wrong**2) < 0.05 * np.var(Y_NEW)


@pytest.mark.parametrize("columns", [5, 120])
def test_heavy_tails_and_outliers_do_no_harm(columns):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(900, columns))
    target = rows[:, 0] + rows[:, 1]
    heavy = np.exp(6.0 * rows) if columns == 5 else rows.copy()
    heavy[3] = 1e7
    heavy[rng.random(heavy.shape) < 0.02] = 1e6
    model = ks.KitchenSinkRegressor(random_state=0).fit(heavy[:600], target[:600])
    assert model.score(heavy[600:], target[600:]) > 0.7


def test_batches_are_measured_by_the_law_of_the_first():
    model = ks.KitchenSinkRegressor(ks.Learned(law=QUICK), random_state=0)
    with pytest.warns(UserWarning, match="freezes"):
        model.partial_fit(X, Y)
    model.partial_fit(X_NEW[:300], Y_NEW[:300])
    assert not model.basis_.sparse
    assert model.score(X_NEW[300:], Y_NEW[300:]) > 0.7


@pytest.mark.parametrize("classes", [False, True])
def test_two_stages_where_they_are_better(classes, monkeypatch, tmp_path):
    monkeypatch.setattr(choice, "_CLOSE", 100.0)
    monkeypatch.setattr(choice, "_BETTER", 100.0)
    targets, new = (Y > 0, Y_NEW > 0) if classes else (Y, Y_NEW)
    kind = ks.KitchenSinkClassifier if classes else ks.KitchenSinkRegressor
    model = kind(adapt=QUICK, random_state=0).fit(X, targets)
    assert isinstance(model.basis_, ks.Union)
    assert "then" in model.law_.record.reason
    assert "* stages" in repr(model.law_.record)
    assert model.score(X_NEW, new) > 0.8
    ks.save(model, tmp_path / "model.sinks")
    again = ks.load(tmp_path / "model.sinks")
    np.testing.assert_array_equal(again.predict(X_NEW), model.predict(X_NEW))
    assert again.law_.record.second == model.law_.record.second
    if classes:
        np.testing.assert_array_equal(again.predict_proba(X_NEW), model.predict_proba(X_NEW))
    # Never kept where they are no better.
    monkeypatch.setattr(choice, "_BETTER", 0.0)
    assert not isinstance(kind(adapt=QUICK, random_state=0).fit(X, targets).basis_, ks.Union)


# -- what cannot be learned from ----------------------------------------------------------


def test_few_rows_are_fitted_plainly():
    for adapt in (None, "ard"):
        with pytest.warns(UserWarning, match=r"There are 399 rows.*plain fit"):
            model = ks.KitchenSinkRegressor(ks.Learned(law=adapt), random_state=0).fit(
                X[:399], Y[:399]
            )
        assert model.basis_.__class__ is ks.Fourier
    with pytest.warns(UserWarning, match=r"There are 1 rows.*plain fit"):
        ks.KitchenSinkRegressor(ks.Learned(), alpha=1.0, random_state=0).fit(X[:1], Y[:1])


def test_constant_targets_and_columns():
    with pytest.warns(UserWarning, match="targets are constant"):
        model = ks.KitchenSinkRegressor(ks.Learned(), random_state=0).fit(X, np.ones(N_ROWS))
    np.testing.assert_allclose(model.predict(X_NEW[:5]), 1.0)
    flat = X.copy()
    flat[:, 3] = 7.0
    model = ks.KitchenSinkRegressor(ks.Learned(law=QUICK), random_state=0).fit(flat, Y)
    assert np.isfinite(model.predict(flat)).all()
    assert model.feature_importances_[3] == 0.0
    with pytest.warns(UserWarning, match="Nothing that was tried"):
        model = ks.KitchenSinkRegressor(ks.Learned(law=QUICK), random_state=0).fit(
            np.zeros((N_ROWS, 2)), Y
        )
    np.testing.assert_allclose(model.predict(np.zeros((3, 2))), Y.mean(), atol=0.05)


def test_ten_thousand_columns_are_fitted_plainly():
    wide = sparse.random_array((N_ROWS, 10_000), density=1e-3, rng=0, format="csr")
    with pytest.warns(UserWarning, match=r"10000 columns.*plain fit"):
        model = ks.KitchenSinkRegressor(ks.Learned(), 10, random_state=0).fit(wide, Y)
    assert model.law_.record is None


def test_a_basis_without_scales_is_fitted_plainly():
    for basis in (ks.Stumps(), ks.Union([ks.Fourier(), ks.Stumps()])):
        with pytest.warns(UserWarning, match=r"law of .* cannot be learned.*Fourier.*plain fit"):
            ks.KitchenSinkRegressor(ks.Learned(basis), 30, random_state=0).fit(X, Y)


def test_without_a_learned_law_the_model_says_why(tmp_path):
    few = ks.KitchenSinkRegressor(random_state=0)
    with pytest.warns(UserWarning, match="There are 100 rows"):
        few.fit(X[:100], Y[:100])
    chosen = ks.KitchenSinkRegressor(ks.Fourier(), n_components=20, random_state=0).fit(X, Y)
    reasons = {
        ks.KitchenSinkRegressor(): "not fitted. Call fit",
        few: "There are 100 rows, and a law is learned from 400 or more",
        chosen: r"chosen \(n_components=20\): leave it out, or give adapt='ard'",
    }
    for k, (model, reason) in enumerate(reasons.items()):
        copies = [model, pickle.loads(pickle.dumps(model))]
        if hasattr(model, "model_"):
            ks.save(model, tmp_path / f"{k}.sinks")
            copies.append(ks.load(tmp_path / f"{k}.sinks"))
        for copy in copies:
            for name in ("law_.record", "feature_importances_"):
                assert not hasattr(copy, name)
                with pytest.raises(AttributeError, match=f"no {name}.*{reason}"):
                    getattr(copy, name)
    few.set_params(adapt=QUICK).fit(X, Y)
    assert "_plain" not in vars(few)


def test_a_basis_with_a_bandwidth_of_its_own_shows_no_ridge():
    model = ks.KitchenSinkRegressor(ks.Learned(ks.Maxout(), law=QUICK), 30, random_state=0).fit(
        X, Y
    )
    text = repr(model.law_.record)
    assert "nan" not in text
    assert "ridge" not in text


@pytest.mark.parametrize("rare", [1, 2])
@pytest.mark.parametrize("kind", [ks.KitchenSinkRegressor, ks.KitchenSinkClassifier])
def test_a_rare_target_is_not_learned_from(kind, rare):
    targets = np.zeros(N_ROWS)
    targets[N_ROWS // 2 :: 200][:rare] = 1.0
    # One may be held out and another not.
    reason = "Too few targets differ" if rare == 1 else "Nothing that was tried is clearly better"
    with pytest.warns(UserWarning, match=f"{reason}.*plain fit"):
        model = kind(random_state=0).fit(X, targets)
    classes = kind is ks.KitchenSinkClassifier
    scores = model.predict_proba(X_NEW)[:, 1] if classes else model.predict(X_NEW)
    assert np.mean((scores - targets.mean()) ** 2) < 0.05 * targets.var()
    with pytest.raises(AttributeError, match=reason):
        _ = model.law_.record


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_noise_is_predicted_by_its_mean(seed):
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=N_ROWS)
    with pytest.warns(UserWarning, match=r"Nothing that was tried.*140 held-out rows.*plain fit"):
        model = ks.KitchenSinkRegressor(ks.Learned(law=QUICK), random_state=seed).fit(X, noise)
    assert np.mean((model.predict(X_NEW) - noise.mean()) ** 2) < 0.005


def test_noise_of_unequal_weights_is_too():
    rng = np.random.default_rng(3)
    noise, weights = rng.normal(size=N_ROWS), rng.lognormal(sigma=1.5, size=N_ROWS)
    with pytest.warns(UserWarning, match=r"Nothing that was tried.*held-out rows.*plain fit"):
        ks.KitchenSinkRegressor(ks.Learned(law=QUICK), random_state=3).fit(
            X, noise, sample_weight=weights
        )


def test_settings_can_be_searched(tmp_path):
    model = ks.KitchenSinkRegressor(ks.Learned(steps=6, batch=64), random_state=0)
    search = GridSearchCV(
        model, {"basis__seconds": [1e-6, 0.1]}, cv=[(np.arange(600), np.arange(600, 700))]
    )
    search.fit(X, Y)
    # The larger budget reaches the law: it learns more than what no budget leaves.
    none, some = search.cv_results_["mean_test_score"]
    assert some > none
    assert search.best_estimator_.basis.seconds == 0.1
    assert model.basis.seconds is None
    ks.save(search.best_estimator_, tmp_path / "model")
    loaded = ks.load(tmp_path / "model")
    assert loaded.basis.get_params() == search.best_estimator_.basis.get_params()


def test_adaptation_can_be_turned_off():
    plain = ks.KitchenSinkRegressor(ks.Fourier(), random_state=0).fit(X, Y)
    assert repr(plain.basis_) == repr(ks.KitchenSinkRegressor(ks.Fourier()).fit(X, Y).basis_)
    with pytest.raises(AttributeError, match=r"adapt=False"):
        plain.law_.record  # noqa: B018
    with pytest.raises(TypeError, match="None or False"):
        ks.KitchenSinkRegressor(ks.Learned(law=True)).fit(X, Y)


def test_weak_signals_are_learned():
    weak = 0.4 * X[:, 0] + np.random.default_rng(0).normal(size=N_ROWS)
    model = ks.KitchenSinkRegressor(ks.Learned(law=QUICK), random_state=0).fit(X, weak)
    assert np.argmax(model.feature_importances_) == 0


def test_bins_have_no_gradients():
    for adapt in ("agop", ks.Adapt(law="agop")):
        with pytest.raises(ValueError, match=r"takes gradients, and Binning\(\) has none"):
            ks.KitchenSinkRegressor(ks.Learned(ks.Binning(), law=adapt)).fit(X, Y)


@pytest.mark.parametrize(
    ("adapt", "message"),
    [
        ("bard", "need 'ard'"),
        (3, "need 'ard'"),
        (ks.Adapt(law="x"), "law='x'"),
        (ks.Adapt(steps=10**6), "1 to 1000"),
        (ks.Adapt(steps=0), "steps=0"),
        (ks.Adapt(batch=10**5), "16 to 5000"),
        (ks.Adapt(seconds=-1), "seconds=-1"),
        (ks.Adapt(rank=2), "rank=2 is for law='agop'"),
    ],
    ids=str,
)
def test_settings_that_make_no_sense(adapt, message):
    with pytest.raises((ValueError, TypeError), match=message):
        ks.KitchenSinkRegressor(ks.Learned(law=adapt)).fit(X, Y)
