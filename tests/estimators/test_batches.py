"""partial_fit and merge: any split of the rows into batches or workers is one fit."""

import copy
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, make_regression
from sklearn.exceptions import NotFittedError

import kitchensinks as ks
from kitchensinks.estimators import base, inputs
from kitchensinks.numerics.threads import thread_count
from tests.catalogue import build

CANCER = load_breast_cancer(return_X_y=True)
ROWS, VALUES = make_regression(150, 4, noise=5.0, random_state=0)
BASES = [ks.Fourier(), ks.Stumps("quantile"), ks.Binning(gamma=0.02), ks.ReLU()]


def close(model, peer, rel):
    size = np.abs(peer.model_.weights).max()
    np.testing.assert_allclose(model.model_.weights, peer.model_.weights, atol=rel * size, rtol=0)
    np.testing.assert_allclose(model.model_.intercept, peer.model_.intercept, atol=rel * size)


@st.composite
def partitions(draw, n_rows=150):
    """Which of up to four workers gets each row, and in how many batches each works."""
    workers = draw(st.integers(1, 4))
    seed = draw(st.integers(0, 2**32 - 1))
    batches = draw(st.lists(st.integers(1, 5), min_size=workers, max_size=workers))
    owner = np.random.default_rng(seed).integers(0, workers, n_rows)
    return [
        [part for part in np.array_split(np.flatnonzero(owner == k), batches[k]) if len(part)]
        for k in range(workers)
    ]


def spread_over(model, parts, X, y, weights):
    """Copies of a frozen model, each with rows of its own, merged."""
    workers = [pickle.loads(pickle.dumps(model)) for _ in parts]
    for worker, batches in zip(workers, parts, strict=True):
        for rows in batches:
            worker.partial_fit(X[rows], y[rows], sample_weight=weights[rows])
    total = workers[0]
    for worker in workers[1:]:
        total.merge(worker)
    return total


@settings(max_examples=12)
@given(partitions(), st.sampled_from(BASES), st.sampled_from([1e-3, "auto"]), st.booleans())
def test_any_partition_gives_the_weights_of_one_fit(parts, basis, alpha, intercept):
    weights = np.random.default_rng(0).integers(0, 3, 150).astype(float)
    options = {
        "basis": basis,
        "n_components": 25,
        "alpha": alpha,
        "fit_intercept": intercept,
        "dtype": "float64",
        "random_state": 0,
    }
    frozen = build(ks.KitchenSinkRegressor, **options).freeze(ROWS, VALUES, sample_weight=weights)
    total = spread_over(frozen, parts, ROWS, VALUES, weights)
    prediction = total.predict(ROWS)
    whole = build(ks.KitchenSinkRegressor, **options).fit(ROWS, VALUES, sample_weight=weights)
    assert total.alpha_ == pytest.approx(whole.alpha_, rel=1e-9)
    if not isinstance(basis, ks.Binning):  # whose columns always sum to one: many solutions
        close(total, whole, 1e-8)
    np.testing.assert_allclose(prediction, whole.predict(ROWS), rtol=1e-7, atol=1e-7)


@settings(max_examples=6)
@given(partitions())
def test_float32_predictions_to_a_thousandth_of_the_spread(parts):
    options = {"n_components": 60, "alpha": 1e-5, "dtype": "float32", "random_state": 0}
    frozen = build(ks.KitchenSinkRegressor, **options).freeze(ROWS, VALUES)
    total = spread_over(frozen, parts, ROWS, VALUES, np.ones(150))
    whole = build(ks.KitchenSinkRegressor, **options).fit(ROWS, VALUES)
    assert np.abs(total.predict(ROWS) - whole.predict(ROWS)).max() < 1e-3 * VALUES.std()


@settings(max_examples=6)
@given(partitions(569))
def test_probabilities_do_not_depend_on_the_partition(parts):
    X, y = CANCER
    options = {"n_components": 30, "alpha": 1e-3, "dtype": "float64", "random_state": 0}
    for class_weight in ("balanced", {0: 2.0}):
        model = build(ks.KitchenSinkClassifier, class_weight=class_weight, **options).freeze(X, y)
        total = spread_over(model, parts, X, y, np.ones(569))
        whole = build(ks.KitchenSinkClassifier, class_weight=class_weight, **options).fit(X, y)
        chance = total.predict_proba(X)
        close(total, whole, 1e-8)
        np.testing.assert_allclose(chance, whole.predict_proba(X), atol=1e-6)


def test_classes_that_a_batch_lacks():
    X, y = load_digits(return_X_y=True)
    order = np.argsort(y, kind="stable")
    options = {"n_components": 40, "alpha": 1e-4, "dtype": "float64", "random_state": 0}
    model = build(ks.KitchenSinkClassifier, **options).freeze(X, y)
    for rows in np.array_split(order, 9):
        model.partial_fit(X[rows], y[rows])
    whole = build(ks.KitchenSinkClassifier, **options).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-8)

    model = build(
        ks.KitchenSinkClassifier, standardize=False, basis=ks.Fourier(gamma=1e-3), **options
    )
    model.partial_fit(X[order[:20]], y[order[:20]], classes=np.arange(10))
    model.partial_fit(X, y)
    assert model.score(X, y) > 0.8


def test_batches_of_one_row_and_of_no_weight():
    model = ks.KitchenSinkRegressor(
        ks.Fourier(), n_components=20, alpha=1e-3, solver=ks.Solver(dtype="float64"), random_state=0
    )
    model.freeze(ROWS, VALUES)
    one_by_one = copy.deepcopy(model)
    for k in range(150):
        one_by_one.partial_fit(ROWS[k : k + 1], VALUES[k : k + 1])
    model.partial_fit(ROWS[:5], 1e6 * VALUES[:5], sample_weight=np.zeros(5))
    model.partial_fit(ROWS, VALUES)
    np.testing.assert_allclose(model.predict(ROWS), one_by_one.predict(ROWS), rtol=1e-7)


@pytest.mark.parametrize("n_components", [20, 400])
def test_partial_fit_goes_on_from_a_fit(n_components):
    options = {
        "n_components": n_components,
        "alpha": 1e-3,
        "dtype": "float64",
        "standardize": False,
        "basis": ks.Fourier(gamma=0.2),
        "random_state": 0,
    }
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 150)
    whole = build(ks.KitchenSinkRegressor, **options).fit(ROWS, VALUES, sample_weight=weights)
    model = build(ks.KitchenSinkRegressor, **options)
    model.fit(ROWS[:70], VALUES[:70], sample_weight=weights[:70])
    model.partial_fit(ROWS[70:], VALUES[70:], sample_weight=weights[70:])
    np.testing.assert_allclose(model.predict(ROWS), whole.predict(ROWS), rtol=1e-6, atol=1e-6)
    _, deviation = model.predict(ROWS, return_std=True)
    np.testing.assert_allclose(deviation, whole.predict(ROWS, return_std=True)[1], rtol=1e-5)
    # ... and a fit starts anew.
    model.fit(ROWS[:70], VALUES[:70], sample_weight=weights[:70])
    fresh = build(ks.KitchenSinkRegressor, **options)
    fresh.fit(ROWS[:70], VALUES[:70], sample_weight=weights[:70])
    np.testing.assert_array_equal(model.predict(ROWS), fresh.predict(ROWS))


def test_a_fit_by_conjugate_gradients_cannot_be_continued():
    model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=20, alpha=1e-3, solver="conjugate")
    model.fit(ROWS, VALUES)
    with pytest.raises(ValueError, match=r"conjugate gradients.* has neither: .*only direct fits"):
        model.partial_fit(ROWS, VALUES)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "exponential"])
def test_other_losses_learn_from_batches(loss):
    X, y = CANCER
    model = ks.KitchenSinkClassifier(
        ks.Fourier(), n_components=200, loss=loss, random_state=0
    ).freeze(X, y)
    scores = []
    for _ in range(30):
        model.partial_fit(X[::2], y[::2])
        scores.append(model.score(X[1::2], y[1::2]))
    assert scores[-1] > 0.92
    assert scores[-1] >= scores[0]
    assert model.solver_ == "stochastic gradients"
    chance = model.predict_proba(X)
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    assert (model.classes_[chance.argmax(axis=1)] == model.predict(X)).all()


@pytest.mark.parametrize("loss", ["huber", "quantile"])
def test_other_regressions_learn_from_batches_and_go_on_from_a_fit(loss):
    model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=100, loss=loss, random_state=0)
    model.freeze(ROWS, VALUES)
    for _ in range(30):
        model.partial_fit(ROWS, VALUES)
    assert model.score(ROWS, VALUES) > 0.3
    model.fit(ROWS, VALUES)
    fitted = model.score(ROWS, VALUES)
    model.partial_fit(ROWS[:50], VALUES[:50])
    assert model.score(ROWS, VALUES) > fitted - 0.1


def test_a_generator_gives_one_seed_to_a_fit_and_none_to_what_follows():
    generator, once = np.random.RandomState(0), np.random.RandomState(0)
    once.randint(2**32, dtype=np.uint64)
    model = build(ks.KitchenSinkRegressor, n_components=10, random_state=generator)
    with pytest.warns(UserWarning, match="freezes"):
        model.partial_fit(ROWS, VALUES)
    model.partial_fit(ROWS, VALUES).predict(ROWS)
    da = pytest.importorskip("dask.array")
    model.score(da.from_array(ROWS), da.from_array(VALUES))
    np.testing.assert_array_equal(generator.get_state()[1], once.get_state()[1])
    assert generator.get_state()[2] == once.get_state()[2]


def test_the_first_batch_warns_that_it_freezes():
    with pytest.warns(UserWarning, match=r"first batch.*freezes.*freeze\(X, y\)"):
        ks.KitchenSinkRegressor(ks.Fourier(), n_components=5).partial_fit(ROWS, VALUES)
    for model in (
        ks.KitchenSinkRegressor(ks.Fourier(gamma=0.1), 5, standardize=False),
        ks.KitchenSinkRegressor(ks.Fourier(), n_components=5).freeze(ROWS, VALUES),
        ks.KitchenSinkRegressor(ks.Fourier(), n_components=5).fit(ROWS, VALUES),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.partial_fit(ROWS, VALUES)


def frozen(rows=ROWS, values=VALUES, **options):
    options = {"n_components": 10, "random_state": 0, "alpha": 1e-3, **options}
    return build(ks.KitchenSinkRegressor, **options).freeze(rows, values)


@pytest.mark.parametrize(
    ("other", "part"),
    [
        (frozen(2.0 * ROWS), "scaler"),
        (frozen(standardize=False), "scaler"),
        (frozen(random_state=1), "draw"),
        (frozen(n_components=11), "draw"),
        (frozen(basis=ks.ReLU()), "basis"),
        (frozen(basis=ks.Fourier(gamma=0.1)), "basis"),
        (frozen(dtype="float64"), "dtype"),
        (frozen(fit_intercept=False), "fit_intercept"),
        (frozen(values=np.column_stack([VALUES, VALUES])), "number of the targets"),
        (frozen(ROWS[:, :2]), "number of columns"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_merge_refuses_what_is_frozen_differently(other, part):
    with pytest.raises(ValueError, match=f"differ in their .*{part}.*Freeze one estimator"):
        frozen().merge(other)


def test_merge_refuses_other_bins_classes_and_class_weights():
    one, two = (
        frozen(ROWS[rows], VALUES[rows], basis=ks.Binning(gamma=0.1), standardize=False)
        for rows in (slice(0, 80), slice(80, 150))
    )
    with pytest.raises(ValueError, match="differ in their bins"):
        one.merge(two)
    X, y = CANCER
    options = {"n_components": 10, "random_state": 0}
    model = build(ks.KitchenSinkClassifier, **options).freeze(X, y)
    with pytest.raises(ValueError, match="differ in their classes"):
        model.merge(build(ks.KitchenSinkClassifier, **options).freeze(X, y + 1))
    with pytest.raises(ValueError, match="differ in their class weights"):
        model.merge(
            build(ks.KitchenSinkClassifier, class_weight="balanced", **options).freeze(X, y)
        )


def test_merge_refuses_what_has_no_sums():
    X, y = CANCER
    model = ks.KitchenSinkClassifier(ks.Fourier(), n_components=10, random_state=0).freeze(X, y)
    with pytest.raises(TypeError, match="merge needs another KitchenSinkClassifier"):
        model.merge(frozen())
    with pytest.raises(ValueError, match="merge adds sums"):
        model.merge(ks.KitchenSinkClassifier())
    with pytest.raises(ValueError, match="merge adds sums"):
        model.merge(
            ks.KitchenSinkClassifier(ks.Fourier(), n_components=10, loss="hinge").freeze(X, y)
        )
    with pytest.raises(NotFittedError, match="call partial_fit"):
        model.predict(X)


@pytest.mark.filterwarnings("ignore:The first batch of partial_fit freezes")
def test_balanced_classes_go_by_the_first_batch_and_say_so():
    X, y = CANCER
    first, rest = slice(0, 100), slice(100, None)
    model = ks.KitchenSinkClassifier(
        ks.Fourier(), class_weight="balanced", n_components=10, random_state=0
    )
    frozen = clone(model).freeze(X[first], y[first])
    with pytest.warns(UserWarning, match=r"class_weight='balanced'.*freeze\(X, y\)"):
        model.partial_fit(X[first], y[first])
    model.partial_fit(X[rest], y[rest])
    frozen.partial_fit(X[first], y[first]).partial_fit(X[rest], y[rest])
    np.testing.assert_array_equal(model.decision_function(X), frozen.decision_function(X))
    lacking = clone(model)
    with (
        pytest.warns(UserWarning, match="class_weight='balanced'"),
        pytest.raises(ValueError, match=r"classes \[2\] have none here: give rows of every class"),
    ):
        lacking.partial_fit(X, y, classes=[0, 1, 2])


def test_new_columns_classes_and_outputs_are_refused():
    X, y = CANCER
    model = ks.KitchenSinkClassifier(ks.Fourier(), n_components=10).freeze(X, y)
    with pytest.raises(ValueError, match="29 features"):
        model.partial_fit(X[:, 1:], y)
    with pytest.raises(ValueError, match=r"y contains classes \[2, 3\].*Pass classes="):
        model.partial_fit(X[:4], [0, 1, 2, 3])
    with pytest.raises(ValueError, match="y has 2 outputs; the first rows had 1"):
        frozen().partial_fit(ROWS, np.column_stack([VALUES, VALUES]))
    with pytest.raises(ValueError, match="n_components='auto'"):
        ks.KitchenSinkClassifier(ks.Fourier(), n_components="auto").partial_fit(X, y)
    with pytest.raises(ValueError, match=r"one class only.*classes="):
        ks.KitchenSinkClassifier(ks.Fourier(), n_components=10).partial_fit(X[y == 0], y[y == 0])


def test_what_a_fit_reports_follows_the_batches():
    X, y = CANCER
    model = ks.KitchenSinkClassifier(ks.Fourier(), n_components=30, random_state=0).freeze(X, y)
    first = model.partial_fit(X[:300], y[:300]).alpha_
    bound = model.alpha_sup_norm_
    model.partial_fit(X[300:], y[300:])
    assert (model.alpha_, model.alpha_sup_norm_) != (first, bound)
    assert model.calibration_ is not None
    with pytest.raises(AttributeError, match="no attribute 'beta_'"):
        _ = model.beta_


def test_weights_count_between_batches_of_other_losses():
    """Batches of weight zero change nothing, and light ones little."""
    X, y = CANCER
    options = {"n_components": 30, "loss": "hinge", "alpha": 1e-4, "random_state": 0}

    def after(weight):
        model = build(ks.KitchenSinkClassifier, **options).freeze(X, y)
        model.partial_fit(X[:400], y[:400])
        model.partial_fit(X[:400], 1 - y[:400], sample_weight=np.full(400, weight))
        return model.decision_function(X)

    alone = build(ks.KitchenSinkClassifier, **options).freeze(X, y)
    alone = alone.partial_fit(X[:400], y[:400]).decision_function(X)
    moved = [np.abs(after(weight) - alone).mean() for weight in (0.0, 0.01, 1.0)]
    assert moved[0] == 0.0
    assert 0.0 < 2 * moved[1] < moved[2]


def test_functions_merge_by_what_they_hold():
    def basis(scale):
        return ks.Custom(
            sample=lambda rng, n_inputs, count: {"w": rng.normal(size=(count, n_inputs))},
            features=lambda rows, theta: np.tanh(scale * rows @ theta["w"].T),
        )

    X, y = CANCER

    def frozen_with(scale):
        return ks.KitchenSinkClassifier(basis(scale), 10, random_state=0).freeze(X, y)

    frozen_with(1.0).merge(frozen_with(1.0))
    with pytest.raises(ValueError, match="differ in their basis"):
        frozen_with(1.0).merge(frozen_with(2.0))


def test_few_rows_then_many_with_too_little_memory():
    X, y = CANCER
    model = ks.KitchenSinkClassifier(
        ks.Fourier(), n_components=600, solver=ks.Solver(memory_budget="3MB"), random_state=0
    )
    model.fit(X[:40], y[:40])
    model.partial_fit(X, y)
    assert model.solver_ == "stochastic gradients"
    assert model.score(X, y) > 0.75


def test_a_first_batch_that_fails_leaves_nothing_behind():
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(int)
    model = ks.KitchenSinkClassifier(ks.Binning(), 5, loss="hinge", random_state=0)
    with pytest.raises(ValueError, match="dense"):
        model.partial_fit(X, y, classes=[0, 1])
    model.set_params(loss="squared").partial_fit(X, y, classes=[0, 1])
    assert model.score(X, y) > 0.8


def test_threads_that_ask_at_once_get_the_same_answers():
    """Weights are solved when they are first asked for, by whoever asks."""
    model = ks.KitchenSinkRegressor(ks.Fourier(gamma=0.1), 20, random_state=0)
    model.freeze(ROWS, VALUES).partial_fit(ROWS, VALUES)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: model.predict(ROWS), range(8)))
    for again in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        for answer in answers:
            np.testing.assert_array_equal(again.predict(ROWS), answer)


def test_rows_are_encoded_on_the_threads_of_the_model(monkeypatch):
    seen = []

    def known_rows(*given):
        seen.append(thread_count())
        return inputs.known_rows(*given)

    def more_rows(*given):
        seen.append(thread_count())
        return inputs.more_rows(*given)

    monkeypatch.setattr("kitchensinks.numerics.threads.cores", lambda: 2)
    monkeypatch.setattr(base, "known_rows", known_rows)
    monkeypatch.setattr(base, "more_rows", more_rows)
    model = ks.KitchenSinkRegressor(ks.Fourier(gamma=0.1), 20, n_jobs=2, random_state=0)
    model.freeze(ROWS, VALUES).partial_fit(ROWS, VALUES)
    model.predict(ROWS)
    model.predict(ROWS[:1])
    model.outside(ROWS)
    assert seen == [2, 2, 1, 2]


def test_a_stream_that_shows_its_progress_by_a_function_can_be_pickled():
    told = []
    model = ks.KitchenSinkRegressor(random_state=0)
    model.partial_fit(ROWS, VALUES, verbose=lambda *step: told.append(step))
    again = pickle.loads(pickle.dumps(model))
    assert type(again._held) is type(model._held)
    assert len(again._held.batch.targets) == len(ROWS)


def test_estimators_with_and_without_a_list_of_bandwidths_differ():
    pair = [
        ks.KitchenSinkRegressor(ks.Fourier(gamma=gamma), 20, random_state=0).freeze(ROWS, VALUES)
        for gamma in ([0.1, 1.0], 0.1)
    ]
    for one, other in (pair, pair[::-1]):
        with pytest.raises(ValueError, match="differ in their"):
            one.merge(other)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.filterwarnings("ignore:The first batch of partial_fit freezes")
def test_rows_are_counted_over_fits_batches_and_workers(loss):
    X = np.random.default_rng(0).normal(size=(90, 3))
    y = X[:, 0] > 0
    model = build(ks.KitchenSinkClassifier, n_components=10, loss=loss, random_state=0)
    model.fit(X, y).partial_fit(X[:20], y[:20])
    assert model.state_.n_rows == 110
    frozen = build(ks.KitchenSinkClassifier, n_components=10, random_state=0).freeze(X, y)
    assert frozen.state_.n_rows == 0
    parts = [copy.deepcopy(frozen).partial_fit(X[k::2][:40], y[k::2][:40]) for k in range(2)]
    assert parts[0].merge(parts[1]).state_.n_rows == 80


@pytest.mark.parametrize("classes", [False, True])
def test_batches_after_a_learned_fit_keep_the_ridge_of_its_law(classes):
    """λ = α·n is part of the law: the weights are those of one fit to all rows under it."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1200, 3))
    values = np.sin(rows[:, 0]) + 0.1 * rng.normal(size=1200)
    kind = ks.KitchenSinkClassifier if classes else ks.KitchenSinkRegressor
    targets = values > 0.0 if classes else values
    learned = ks.Learned(ks.Fourier(), effort="quick")
    model = kind(learned, random_state=0).fit(rows[:900], targets[:900])
    first = model.alpha_
    for part in (slice(900, 1000), slice(1000, 1200)):
        model.partial_fit(rows[part], targets[part])
    whole = kind(model.law_, random_state=0).fit(rows, targets)
    np.testing.assert_allclose(model.alpha_, whole.alpha_, rtol=1e-12)
    np.testing.assert_allclose(model.alpha_, 900 / 1200 * first, rtol=1e-12)
    answers = (one.model_.scores(rows) for one in (model, whole))
    np.testing.assert_allclose(*answers, atol=1e-3)


def test_the_plan_of_batches_after_a_fit_is_that_of_batches():
    rows = np.random.default_rng(0).normal(size=(300, 3))
    model = ks.KitchenSinkRegressor(ks.Fourier(), 40, random_state=0).fit(rows[:200], rows[:200, 0])
    assert model.plan_.solver == "direct"
    assert model.partial_fit(rows[200:], rows[200:, 0]).plan_.solver == "sums"


@pytest.mark.parametrize("counted", [100, 900])
def test_rows_without_weight_do_not_count_in_the_ridge_of_later_batches(counted):
    """Sums and few rows count alike: a hundred rows are fewer than there are features."""
    rng = np.random.default_rng(0)
    rows, weights = rng.normal(size=(1200, 3)), np.arange(1200) < counted
    targets = np.sin(rows[:, 0]) + 0.1 * rng.normal(size=1200)
    learned = ks.Learned(ks.Fourier(), effort="quick")
    model = ks.KitchenSinkRegressor(learned, random_state=0).fit(rows, targets, weights)
    model.partial_fit(rows[:10], targets[:10])
    np.testing.assert_allclose(model.alpha_, model.law_.ridge / (counted + 10), rtol=1e-12)


def test_the_plan_after_more_rows_is_that_of_sums():
    """Its reason no longer counts the rows of the fit."""
    one = ks.KitchenSinkRegressor(ks.Fourier(), 10, random_state=0).fit(np.eye(30), np.arange(30.0))
    other = copy.deepcopy(one)
    assert "n = 30" in str(one.plan_)
    assert one.merge(other).plan_.solver == other.partial_fit(np.eye(30), np.ones(30)).plan_.solver
    assert "n = " not in str(one.plan_)
