"""The learned law behind the estimators: when it runs, what it keeps, and what it refuses."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import kitchensinks as ks
from kitchensinks.law import constants
from tests.little import stages_at

QUICK = ks.Learned(steps=6, batch=64, seconds=0.05, members=2)
N_ROWS = 700


def rows_and_target(seed=0, n_rows=N_ROWS):
    """Two of five columns matter, and they matter together."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    return X, np.sin(2 * X[:, 0]) * X[:, 1] + 0.05 * rng.normal(size=n_rows)


X, Y = rows_and_target()
X_NEW, Y_NEW = rows_and_target(1)


def quick(basis, **options):
    """The law of a basis, learned with little work."""
    return clone(QUICK).set_params(basis=basis, **options)


@pytest.fixture(scope="module")
def learned():
    return ks.KitchenSinkRegressor(QUICK, random_state=0).fit(X, Y)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (ks.KitchenSinkRegressor, {"n_components": 20}),
        (ks.KitchenSinkClassifier, {"constraint": ks.L2Ball(1.0)}),
        (ks.KitchenSinkRegressor, {"standardize": False}),
        (ks.KitchenSinkClassifier, {"solver": "direct", "n_components": 20}),
        (ks.KitchenSinkRegressor, {"loss": "huber", "n_components": 30}),
        (ks.KitchenSinkClassifier, {"loss": "logistic", "n_components": 30}),
        (ks.KitchenSinkRegressor, {"alpha": 1e-3}),
    ],
    ids=lambda one: next(iter(one)) if isinstance(one, dict) else one.__name__,
)
def test_the_basis_alone_says_whether_a_law_is_learned(kind, options):
    """Other parameters hold for the law that is learned; none of them switches learning."""
    targets = Y > 0 if kind is ks.KitchenSinkClassifier else Y
    for basis in (QUICK, quick(ks.Sigmoid())):
        model = kind(basis, random_state=0, **options).fit(X, targets)
        assert model.law_.record is not None
        assert model.n_components_ == options.get("n_components", model.n_components_)
        if "standardize" in options:
            assert model.law_.record.map == "as is"
    plain = kind(ks.Sigmoid(), random_state=0, **options).fit(X, targets)
    assert plain.law_.record is None


def test_the_record_says_what_was_tried_and_kept(learned):
    record = learned.law_.record
    assert {trial.stage for trial in record.trials} >= {"map", "basis"}
    kept = min(trial.error for trial in record.trials if trial.stage == "again")
    text = repr(learned.law_)
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
    assert "learned scales of 2 members" in text
    importances = learned.feature_importances_
    assert importances.sum() == pytest.approx(1.0)
    assert importances[:2].min() > importances[2:].max()


def test_a_prediction_depends_on_its_row_alone(learned):
    """Ranks, scalers and bins are those of the rows of fit, whatever is predicted together."""
    alone = np.concatenate([learned.predict(X_NEW[k : k + 1]) for k in range(20)])
    beside = learned.predict(np.vstack([1e3 * X_NEW, X_NEW[:20]]))[-20:]
    np.testing.assert_allclose(beside, alone, rtol=1e-5, atol=1e-6)
    assert alone.std() > 0.1


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize("basis", [ks.Binning(), ks.Fourier("laplacian"), ks.Fourier(), ks.ReLU()])
def test_a_basis_given_keeps_its_kind(basis, tmp_path):
    model = ks.KitchenSinkRegressor(quick(basis), 60, random_state=0).fit(X, Y)
    assert type(model.basis_) is type(basis)
    assert model.n_components_ == 60
    assert model.feature_importances_[:2].sum() > 0.6
    ks.save(model, tmp_path / "model")
    again = ks.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X_NEW), model.predict(X_NEW))
    assert repr(again.law_) == repr(model.law_)
    np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)


UNION = ks.Union([ks.Fourier(), ks.ReLU()])
CUSTOM = ks.Custom(
    sample=lambda rng, d, count: rng.standard_normal((count, d + 1)),
    features=lambda rows, theta: np.cos(rows @ theta[:, 1:].T + 9 * theta[:, 0]),
)


@pytest.mark.parametrize(
    ("basis", "law"),
    [
        (UNION, {}),
        (UNION, {"law": "agop", "rank": 2}),
        (CUSTOM, {}),
        (CUSTOM, {"law": "agop"}),
    ],
    ids=["union ard", "union agop 2", "custom ard", "custom agop"],
)
def test_any_smooth_basis_is_given_a_law(basis, law):
    """Two of five columns matter, which a law of equal scales does not see."""
    scores = []
    for one in (basis, ks.Learned(basis, members=1, **law)):
        model = ks.KitchenSinkRegressor(one, 300, random_state=0).fit(X, Y)
        scores.append(model.score(X_NEW, Y_NEW))
    assert 1 - scores[1] < 0.5 * (1 - scores[0])


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_classes_probabilities_and_losses(loss):
    labels = np.array(["low", "middle", "high"])[np.digitize(Y, [-0.3, 0.3])]
    model = ks.KitchenSinkClassifier(
        QUICK,
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


def test_several_outputs_weights_and_sparse_rows(learned):
    both = np.column_stack([Y, X[:, 4]])
    weights = np.ones(N_ROWS)
    weights[:100] = 0.0
    spoiled = both.copy()
    spoiled[:100] = 1e3
    model = ks.KitchenSinkRegressor(QUICK, random_state=0).fit(X, spoiled, weights)
    assert model.score(X_NEW, np.column_stack([Y_NEW, X_NEW[:, 4]])) > 0.5
    few = ks.KitchenSinkRegressor(QUICK, random_state=0).fit(sparse.csr_array(X), Y)
    np.testing.assert_allclose(few.predict(X_NEW), learned.predict(X_NEW), rtol=1e-6)


@pytest.mark.parametrize("unit", [1.0, 1e-300])
def test_equal_weights_are_none(unit, learned):
    model = ks.KitchenSinkRegressor(QUICK, random_state=0).fit(X, Y, np.full(N_ROWS, unit))
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


@pytest.mark.usefixtures("little_work")
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


@pytest.mark.usefixtures("little_work")
def test_batches_are_fitted_together():
    model = ks.KitchenSinkRegressor(QUICK, random_state=0).partial_fit(X, Y)
    model.partial_fit(X_NEW[:300], Y_NEW[:300])
    assert model.state_.n_rows == len(X) + 300
    assert model.score(X_NEW[300:], Y_NEW[300:]) > 0.7


@pytest.mark.parametrize(("classes", "members"), [(False, 1), (True, 2)])
def test_two_stages_where_they_are_better(classes, members, monkeypatch, tmp_path):
    for name in ("HOPELESS_FIRST", "CLOSE", "CLEARLY"):
        monkeypatch.setattr(constants, name, 100.0)
    stages_at(monkeypatch, 0.01)
    targets, new = (Y > 0, Y_NEW > 0) if classes else (Y, Y_NEW)
    kind = ks.KitchenSinkClassifier if classes else ks.KitchenSinkRegressor
    estimator = kind(quick(None, members=members), random_state=0)
    # Between laws of nearly equal squared error log loss would decide, and two stages be skipped.
    monkeypatch.setattr(constants, "EVEN", 1.0)
    model = estimator.fit(X, targets)
    assert isinstance(model.basis_, ks.Union)
    assert "then" in model.law_.record.reason
    assert "* stages" in repr(model.law_)
    assert model.score(X_NEW, new) > 0.8
    ks.save(model, tmp_path / "model.sinks")
    again = ks.load(tmp_path / "model.sinks")
    np.testing.assert_array_equal(again.predict(X_NEW), model.predict(X_NEW))
    assert again.law_.second == model.law_.second
    if classes:
        np.testing.assert_array_equal(again.predict_proba(X_NEW), model.predict_proba(X_NEW))
    # Never kept where they are no better.
    stages_at(monkeypatch, 100.0)
    assert not isinstance(clone(estimator).fit(X, targets).basis_, ks.Union)


# -- what cannot be learned from ----------------------------------------------------------


def test_few_rows_are_fitted_plainly():
    fewest = ((None, "Fourier", 29), (QUICK, "Fourier", 29), (quick(ks.ReLU()), "ReLU", 399))
    for basis, name, count in fewest:
        with pytest.warns(
            UserWarning, match=rf"There are {count} rows.*plain law of {name}\(\).*Pass basis="
        ):
            model = ks.KitchenSinkRegressor(basis, random_state=0).fit(X[:count], Y[:count])
        assert type(model.basis_).__name__ == name
    # One target is constant: any law fits it exactly, and there is nothing to warn of.
    one = ks.KitchenSinkRegressor(alpha=1.0, random_state=0).fit(X[:1], Y[:1])
    assert "There are 1 rows" in one.law_.note


def test_constant_targets_and_columns():
    model = ks.KitchenSinkRegressor(random_state=0).fit(X, np.ones(N_ROWS))
    assert "targets are constant" in model.law_.note
    np.testing.assert_allclose(model.predict(X_NEW[:5]), 1.0)
    flat = X.copy()
    flat[:, 3] = 7.0
    model = ks.KitchenSinkRegressor(QUICK, random_state=0).fit(flat, Y)
    assert np.isfinite(model.predict(flat)).all()
    assert model.feature_importances_[3] == 0.0
    with pytest.warns(UserWarning, match="Nothing that was tried"):
        model = ks.KitchenSinkRegressor(QUICK, 100, random_state=0).fit(np.zeros((N_ROWS, 2)), Y)
    np.testing.assert_allclose(model.predict(np.zeros((3, 2))), Y.mean(), atol=0.05)


def test_a_basis_with_a_bandwidth_of_its_own_is_fitted_to_ten_thousand_columns_plainly():
    wide = sparse.eye_array(N_ROWS, 10_000, format="csr")
    with pytest.warns(UserWarning, match=r"10000 columns.*plain law"):
        model = ks.KitchenSinkRegressor(quick(ks.ReLU()), 10, random_state=0).fit(wide, Y)
    assert model.law_.record is None


def test_a_basis_without_scales_is_fitted_plainly():
    for basis in (ks.Stumps(), ks.Union([ks.Fourier(), ks.Stumps()])):
        with pytest.warns(UserWarning, match=r"law of .* cannot be learned.*Fourier.*plain law"):
            ks.KitchenSinkRegressor(ks.Learned(basis), 30, random_state=0).fit(X, Y)


def test_without_a_learned_law_the_model_says_why_and_has_importances(tmp_path):
    other = ks.KitchenSinkRegressor(ks.Learned(ks.Stumps()), 30, random_state=0)
    with pytest.raises(AttributeError, match="not fitted yet"):
        _ = other.feature_importances_
    with pytest.warns(UserWarning, match="cannot be learned"):
        other.fit(X, Y)
    assert "cannot be learned" in other.law_.note
    chosen = ks.KitchenSinkRegressor(ks.Fourier(), n_components=20, random_state=0).fit(X, Y)
    for model in (other, chosen):
        assert model.law_.record is None
        ks.save(model, tmp_path / "model.sinks")
        for copy in (pickle.loads(pickle.dumps(model)), ks.load(tmp_path / "model.sinks")):
            np.testing.assert_array_equal(copy.feature_importances_, model.feature_importances_)
    other.set_params(basis=QUICK).fit(X, Y)
    assert other.law_.note == ""
    assert other.feature_importances_.shape == (5,)


def test_a_basis_with_a_bandwidth_of_its_own_shows_no_ridge():
    model = ks.KitchenSinkRegressor(quick(ks.Maxout()), 30, random_state=0).fit(X, Y)
    text = repr(model.law_)
    assert "nan" not in text
    assert "learned scales" not in text
    # Trials of other bases compared the maps; none of them was kept.
    assert "* basis" not in text


@pytest.mark.parametrize(
    ("kind", "rare"), [(ks.KitchenSinkRegressor, 1), (ks.KitchenSinkClassifier, 2)]
)
def test_a_rare_target_is_not_learned_from(kind, rare):
    targets = np.zeros(N_ROWS)
    targets[N_ROWS // 2 :: 200][:rare] = 1.0
    # One may be held out and another not.
    reason = "Too few targets differ" if rare == 1 else "Nothing that was tried is clearly better"
    with pytest.warns(UserWarning, match=f"{reason}.*plain law"):
        model = kind(random_state=0).fit(X, targets)
    classes = kind is ks.KitchenSinkClassifier
    scores = model.predict_proba(X_NEW)[:, 1] if classes else model.predict(X_NEW)
    assert np.mean((scores - targets.mean()) ** 2) < 0.05 * targets.var()
    assert model.law_.record is None
    assert reason in model.law_.note


@pytest.mark.parametrize("seed", [0, 3])
def test_noise_is_predicted_by_its_mean(seed):
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=N_ROWS)
    with pytest.warns(UserWarning, match=r"Nothing that was tried.*140 held-out rows.*plain law"):
        model = ks.KitchenSinkRegressor(QUICK, random_state=seed).fit(X, noise)
    assert np.mean((model.predict(X_NEW) - noise.mean()) ** 2) < 0.005


def test_noise_of_unequal_weights_is_too():
    rng = np.random.default_rng(3)
    noise, weights = rng.normal(size=N_ROWS), rng.lognormal(sigma=1.5, size=N_ROWS)
    with pytest.warns(UserWarning, match=r"Nothing that was tried.*held-out rows.*plain law"):
        ks.KitchenSinkRegressor(QUICK, random_state=3).fit(X, noise, sample_weight=weights)


@pytest.mark.usefixtures("little_work")
def test_settings_can_be_searched(tmp_path):
    """Each setting reaches the law: the folds have the scores of fits with the setting given."""
    seconds, fitted, held = [1e-6, 0.1], np.arange(600), np.arange(600, 700)
    model = ks.KitchenSinkRegressor(clone(QUICK), random_state=0)
    search = GridSearchCV(model, {"basis__seconds": seconds}, cv=[(fitted, held)]).fit(X, Y)
    fits = [
        ks.KitchenSinkRegressor(quick(None, seconds=one), random_state=0).fit(X[fitted], Y[fitted])
        for one in seconds
    ]
    assert fits[0].n_components_ < fits[1].n_components_
    scores = [fit.score(X[held], Y[held]) for fit in fits]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], scores, rtol=1e-9)
    assert search.best_estimator_.basis.seconds == seconds[int(np.argmax(scores))]
    assert model.basis.seconds == QUICK.seconds
    ks.save(search.best_estimator_, tmp_path / "model")
    loaded = ks.load(tmp_path / "model")
    assert loaded.basis.get_params() == search.best_estimator_.basis.get_params()


def test_parameters_of_learning_are_set_where_nothing_was_chosen():
    model = ks.KitchenSinkRegressor(random_state=0).set_params(basis__members=1, basis__steps=3)
    assert (model.basis.members, model.basis.steps) == (1, 3)
    assert model.fit(X, Y).law_.record.members == 1


def test_weak_signals_are_learned():
    weak = 0.4 * X[:, 0] + np.random.default_rng(0).normal(size=N_ROWS)
    law = ks.Learned(effort="quick")
    model = ks.KitchenSinkRegressor(law, random_state=0).fit(X, weak)
    assert np.argmax(model.feature_importances_) == 0


@pytest.mark.parametrize(
    ("basis", "message"),
    [
        (ks.Learned(ks.Binning(), law="agop"), r"takes gradients, and Binning\(\) has none"),
        (ks.Learned(effort="much"), "effort='much': need one of 'quick'"),
        (ks.Learned(members=0), "members=0"),
        (ks.Learned(members=1001), "members=1001: need 1 to 1000"),
        ("auto", "basis='auto' is of type str: need a basis"),
        (3, "basis=3 is of type int: need a basis"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_an_error_before_anything_is_fitted(basis, message):
    for kind in (ks.KitchenSinkRegressor, ks.KitchenSinkClassifier):
        model = kind(basis)
        with pytest.raises((ValueError, TypeError), match=message):
            model.fit(X, Y > 0)
        assert not hasattr(model, "state_")
