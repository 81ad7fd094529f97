"""Laws of few rows and of very many columns."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_friedman1
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kitchensinks as ks
from kitchensinks.features.frozen import Frozen, spread_of
from kitchensinks.features.scaling import identity, warp
from kitchensinks.law import Law, few
from kitchensinks.law.candidates import affordable, first_look, ridge_for
from kitchensinks.law.ending import importances, with_basis
from kitchensinks.law.maps import Found, even, plain_map
from kitchensinks.law.task import LearningRows
from kitchensinks.law.trials import TrialRows
from kitchensinks.law.values import Request
from kitchensinks.problem.targets import Batch

RNG = np.random.default_rng(0)
X, Y = make_friedman1(600, noise=1.0, random_state=0)
# Twelve of many columns decide.
WIDE = RNG.normal(size=(260, 5100))
CODES = (WIDE[:, :12].sum(axis=1) > 0).astype(int)


def held_out(rows, targets, weights=None):
    places = np.arange(len(rows))
    centred = targets - np.average(targets, axis=0, weights=weights)
    return TrialRows(rows, centred, weights, places, places, 1.0, np.zeros(1), None)


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_of_a_fold_are_those_of_a_ridge_regression(weighted):
    rows, targets = RNG.normal(size=(40, 3)), RNG.normal(size=(40, 2))
    weights = RNG.uniform(0.1, 1.0, size=40) if weighted else None
    data, fold = held_out(rows, targets, weights), np.arange(5, 15)
    fitted = np.delete(np.arange(40), fold)
    own = np.ones(30) if weights is None else weights[fitted]
    ridge = Ridge(alpha=0.7).fit(rows[fitted], data.targets[fitted], own / own.mean())
    found = few._Centred(rows @ rows.T, data, fold).scores(0.7)
    np.testing.assert_allclose(found, ridge.predict(rows[fold]), rtol=1e-9)


@pytest.mark.parametrize("n_rows", [29, 30, 150, 401, 799])
def test_every_row_is_held_out_as_often_as_any_other(n_rows):
    folds = few._folds(n_rows, seed=3)
    counts = np.bincount(np.concatenate(folds), minlength=n_rows)
    assert (counts == counts[0]).all()
    assert max(map(len, folds)) - min(map(len, folds)) <= 1 + n_rows // 60
    assert len(folds) == (10 if n_rows < 100 else 5 if n_rows < 400 else 3)


def test_every_form_of_a_given_bandwidth_has_the_features_that_are_affordable():
    """A number of features was taken for a number of draws."""
    task = LearningRows(Batch(X, Y[:, None]), Request(seed=0), ks.Learned())
    found = Found("gaussian", "as is", identity(10), np.ones((1, 10)), np.zeros(1))
    for form in ("phase", "paired"):
        law, _ = with_basis(task, ks.Fourier(gamma=0.5, form=form), found)
        assert law.features.n_columns == affordable(task, sparse=False).components


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_of_one_class_are_not_fitted(n_classes):
    """The columns of three classes differ within each row, and that counted as targets that do."""
    labels = np.where(np.arange(40) < 32, 0, np.arange(40) % (n_classes - 1) + 1)
    codes = 2.0 * np.eye(n_classes)[labels][:, -n_classes if n_classes > 2 else 1 :] - 1.0
    learned = ks.Learned(split=PredefinedSplit(np.where(labels > 0, 0, -1)))
    found = few.best_of_few(learned, Batch(X[:40], codes), Request(seed=0, classes=True))
    assert isinstance(found, str)
    assert "Too few targets differ" in found


@pytest.mark.parametrize("n_rows", [40, 100, pytest.param(450, marks=pytest.mark.slow)])
def test_nothing_chosen_is_no_worse_than_the_plain_law_and_a_linear_model(n_rows):
    rows, targets, rest = X[:n_rows], Y[:n_rows], slice(450, 600)
    model = ks.KitchenSinkRegressor(random_state=0).fit(rows, targets)
    plain = ks.KitchenSinkRegressor(ks.Fourier(), random_state=0).fit(rows, targets)
    linear = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))).fit(rows, targets)
    best = max(peer.score(X[rest], Y[rest]) for peer in (plain, linear))
    assert model.score(X[rest], Y[rest]) > best - 0.02
    names = [trial.what for trial in model.law_.record.trials]
    for name in ("linear features, standard, equal", "gaussian features, standard, equal"):
        assert any(name in one for one in names)


def test_a_linear_target_has_a_linear_model():
    rows = RNG.normal(size=(60, 5))
    targets = rows @ np.arange(5.0) + 0.5 * RNG.normal(size=60)
    model = ks.KitchenSinkRegressor(random_state=0).fit(rows, targets)
    assert repr(model.basis_) == "Linear()"
    assert (model.law_.record.kernel, model.law_.record.scaling) == ("linear", "equal")
    assert "* basis   exact linear features" in repr(model.law_)


def test_more_columns_than_scales_are_learned_for():
    rows, codes = WIDE[:200], CODES[:200]
    dense = ks.KitchenSinkClassifier(random_state=0).fit(rows, codes)
    assert dense.score(WIDE[200:], CODES[200:]) > 0.65
    again = ks.KitchenSinkClassifier(random_state=0).fit(sparse.csr_array(rows), codes)
    np.testing.assert_array_equal(
        again.decision_function(sparse.csr_array(WIDE[200:])), dense.decision_function(WIDE[200:])
    )
    # Columns that no fold goes by have no part in the law, whatever they hold.
    shares = dense.feature_importances_
    left_out = shares == 0.0
    assert left_out.sum() > 2000
    assert shares[:12].sum() > 100 * shares.mean()
    assert dense.law_.features.n_inputs == np.count_nonzero(~left_out)
    changed = np.where(left_out, 7.0, WIDE[200:])
    np.testing.assert_array_equal(
        dense.decision_function(changed), dense.decision_function(WIDE[200:])
    )


def test_a_law_that_leaves_columns_out_is_kept_and_exported(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    rows = RNG.normal(size=(150, 700))
    codes = (rows[:, 0] * rows[:, 1] + rows[:, 2] > 0).astype(int)
    found = few.Found("gaussian", "standard", *_of_columns([0, 1, 2]), np.empty(0))
    found = few._members(found, ks.Learned())
    scaler, basis = found.features(False, 1.0)
    law = Law(Frozen(scaler, basis, 3, scaler.width, 50, np.dtype(np.float64)))
    own = ks.KitchenSinkClassifier(law).fit(rows, codes)
    scores = own.decision_function(rows)
    ks.save(own, tmp_path / "model.sinks")
    for other in (ks.load(tmp_path / "model.sinks"), pickle.loads(pickle.dumps(own))):
        np.testing.assert_array_equal(other.decision_function(rows), scores)
    ks.to_onnx(own, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    chances = session.run(None, {"rows": rows})[1]
    np.testing.assert_allclose(chances, own.predict_proba(rows), atol=1e-6)


def _of_columns(columns):
    """The standard map, and scales of two members that have these columns alone."""
    rows = RNG.normal(size=(150, 700))
    scales = np.zeros((2, 700))
    scales[0, columns], scales[1, columns[:2]] = 0.5, 0.4
    return warp(spread_of(rows, None), rows, 0), scales


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize("basis", [ks.Fourier(), ks.Fourier("laplacian"), ks.Binning()], ids=repr)
def test_what_is_asked_for_is_obeyed(basis):
    model = ks.KitchenSinkRegressor(ks.Learned(basis), 40, random_state=0).fit(X[:120], Y[:120])
    assert type(model.basis_) is type(basis)
    assert model.basis_.get_params().get("kernel") == basis.get_params().get("kernel")
    assert model.n_components_ == 40
    assert {trial.what.split(" ")[1] for trial in model.law_.record.trials[1:]} <= {
        basis.metric,
        *("standard", "squash", "mix", "quantile"),
    }


@pytest.mark.usefixtures("little_work")
def test_members_and_alpha_are_obeyed():
    learned = ks.Learned(members=2)
    model = ks.KitchenSinkRegressor(learned, random_state=0, alpha=1e-3).fit(X[:400], Y[:400])
    assert model.law_.record.members == 2
    assert model.alpha_ == pytest.approx(1e-3)


@pytest.mark.usefixtures("little_work")
def test_fewer_draws_than_columns_are_no_linear_model():
    rows = RNG.normal(size=(80, 20))
    model = ks.KitchenSinkRegressor(n_components=10, random_state=0).fit(rows, rows.sum(axis=1))
    assert model.n_components_ == 10
    assert not any("linear" in trial.what for trial in model.law_.record.trials)


@pytest.mark.usefixtures("little_work")
def test_threads_change_nothing():
    fits = [
        ks.KitchenSinkRegressor(random_state=0, n_jobs=jobs).fit(X[:90], Y[:90]) for jobs in (1, 2)
    ]
    np.testing.assert_array_equal(fits[0].predict(X), fits[1].predict(X))


def test_columns_of_factor_zero_are_left_out():
    scaler, scales = _of_columns([4, 9])
    taken = scaler.times((scales[0] > 0).astype(float))
    rows = RNG.normal(size=(5, 700))
    assert taken.width == 2
    expected = scaler.apply(rows, np.float64)[:, [4, 9]]
    np.testing.assert_array_equal(taken.apply(rows, np.float64), expected)
    np.testing.assert_array_equal(taken.apply(sparse.csr_array(rows), np.float64), expected)
    assert taken.outside(np.full((1, 700), 1e6)).sum() == 2


def test_importances_do_not_depend_on_the_order_of_the_rows():
    """They are distances between rows, and neighbours of a sorted table are close."""
    rows = np.random.default_rng(1).normal(size=(400, 2))
    targets = np.sin(3 * rows[:, 0]) + 0.1 * rows[:, 1]
    order = np.argsort(rows[:, 0])
    batches = [Batch(rows[own], targets[own, None]) for own in (np.arange(400), order)]
    hold = np.arange(0)
    shares = []
    for batch in batches:
        task = LearningRows(batch, Request(seed=0), ks.Learned(), hold=hold)
        found = Found("gaussian", "as is", identity(2), np.array([[3.0, 1.0]]), np.zeros(1))
        shares.append(importances(task, found))
    np.testing.assert_allclose(shares[1], shares[0], atol=0.1)


def test_a_linear_basis_has_each_column_once():
    batch = Batch(X[:600], Y[:600, None])
    task = LearningRows(batch, Request(seed=0), ks.Learned(ks.Linear()))
    found = Found("gaussian", "as is", identity(10), np.ones((1, 10)), np.zeros(1))
    law, _ = with_basis(task, ks.Linear(), found)
    assert law.features.n_components == 10


def test_the_ridge_of_a_linear_classifier_is_that_of_all_its_columns():
    rows = np.random.default_rng(0).integers(0, 2, size=(700, 1200)).astype(float)
    batch = Batch(rows, np.where(rows[:, :9].sum(axis=1) > 4.5, 1.0, -1.0)[:, None])
    task = LearningRows(batch, Request(seed=0, classes=True), ks.Learned())
    candidate = first_look(task, (even(task, "linear", plain_map(task)), False))
    assert candidate.score.components == 1200
    assert ridge_for(task, candidate, 1200) == candidate.score.ridge


@pytest.mark.usefixtures("little_work")
def test_the_record_of_bins_of_few_rows_stars_what_was_kept():
    model = ks.KitchenSinkRegressor(ks.Learned(ks.Binning()), random_state=0).fit(X[:200], Y[:200])
    assert "* basis   exact laplacian features" in repr(model.law_)
