"""Laws of the estimators with nothing chosen: what must hold whichever law was learned."""

import functools
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.utils.estimator_checks import estimator_checks_generator

import kitchensinks as ks

# No choice of a law matters to these tests, but to those that are marked.
pytestmark = pytest.mark.usefixtures("little_work")

QUICK = ks.Learned(effort="quick", members=2)
KINDS = [ks.KitchenSinkClassifier, ks.KitchenSinkRegressor]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def table(kind, n_rows=600):
    """Five columns: two that matter together, one that matters alone, two that do not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 5))
    y = X[:, 0] * X[:, 1] + np.sin(2.0 * X[:, 2]) + 0.1 * rng.normal(size=n_rows)
    return X, (y > 0).astype(int) if kind is ks.KitchenSinkClassifier else y


def fitted(kind, X, y, weights=None, **options):
    model = kind(QUICK, random_state=0, **options).fit(X, y, weights)
    assert model.law_.record is not None, model.law_.note
    return model


@functools.cache
def plain(kind):
    """The model that other fits are compared with."""
    return fitted(kind, *table(kind))


@functools.cache
def weighted(kind):
    """The model of rows that count twice."""
    return fitted(kind, *table(kind), np.full(600, 2.0))


def answers(model, X):
    return model.decision_function(X) if is_classifier(model) else model.predict(X)


def same_law(one, other):
    """Map, basis, number of components, scales and ridge, up to the order of sums."""
    assert type(one.features.basis) is type(other.features.basis)
    assert one.features.n_components == other.features.n_components
    assert (one.record.map, one.record.kernel) == (other.record.map, other.record.kernel)
    np.testing.assert_allclose(one.record.scales, other.record.scales, rtol=0.02, atol=1e-4)
    assert one.ridge == pytest.approx(other.ridge, rel=1e-3)


def same_answers(one, other, X, rows=None):
    """The same law, and answers that differ by no more than solvers stop short of their optimum."""
    same_law(one.law_, other.law_)
    mine, theirs = answers(one, X), answers(other, X if rows is None else rows)
    assert np.abs(mine - theirs).mean() < 0.02 * mine.std()


@pytest.mark.usual_work
@every_kind
def test_default_is_a_learned_law(kind):
    X, y = table(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = kind(random_state=0).fit(X, y)
    assert model.law_.record is not None
    assert model.feature_importances_[:3].sum() > 0.6
    assert model.score(X, y) > 0.9


@every_kind
def test_a_seed_repeats_and_pickles_answer_the_same(kind):
    (X, y), model = table(kind), plain(kind)
    np.testing.assert_array_equal(answers(model, X), answers(clone(model).fit(X, y), X))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(answers(model, X), answers(again, X))


@every_kind
def test_units_of_the_columns_do_not_matter(kind):
    X, y = table(kind)
    units = 2.0 ** np.array([-20, 3, 11, 0, -7])
    same_answers(plain(kind), fitted(kind, X * units, y), X, X * units)


def test_units_of_the_targets_do_not_matter():
    X, y = table(ks.KitchenSinkRegressor)
    other = fitted(ks.KitchenSinkRegressor, X, 2.0**30 * y)
    expected = 2.0**30 * plain(ks.KitchenSinkRegressor).predict(X)
    np.testing.assert_allclose(expected, other.predict(X), rtol=1e-6)


def test_names_of_classes_do_not_matter():
    X, y = table(ks.KitchenSinkClassifier)
    names, model = np.array(["no", "yes"]), plain(ks.KitchenSinkClassifier)
    other = fitted(ks.KitchenSinkClassifier, X, names[y])
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    assert (other.predict(X) == names[model.predict(X)]).all()


@every_kind
def test_rows_of_no_weight_change_nothing(kind):
    X, y = table(kind)
    wild = y[:50] if kind is ks.KitchenSinkClassifier else 1e3 * y[:50]
    more = np.vstack([X, 100.0 + X[:50]]), np.append(y, wild)
    weights = np.append(np.ones(len(X)), np.zeros(50))
    same_answers(fitted(kind, X, y, np.ones(len(X))), fitted(kind, *more, weights), X)


@every_kind
def test_the_unit_of_the_weights_does_not_matter(kind):
    X, y = table(kind)
    weights = np.random.default_rng(1).random(len(X)) + 0.5
    one, other = (fitted(kind, X, y, unit * weights) for unit in (1.0, 4.0))
    same_law(one.law_, other.law_)
    held = np.random.default_rng(2).normal(size=(500, 5))
    gap = np.abs(answers(one, held) - answers(other, held)).mean()
    assert gap < 0.05 * answers(one, held).std()


@pytest.mark.usual_work
@every_kind
def test_the_order_of_rows_changes_little(kind):
    X, y = table(kind)
    order = np.random.default_rng(3).permutation(len(X))
    held, truth = table(kind, 1600)
    scores = [
        model.score(held[600:], truth[600:])
        for model in (plain(kind), fitted(kind, X[order], y[order]))
    ]
    assert abs(scores[0] - scores[1]) < 0.06


@pytest.mark.usual_work
@every_kind
@pytest.mark.parametrize("change", ["order of columns", "constant column"])
def test_columns_elsewhere_change_no_more_than_another_seed(kind, change):
    """A feature is drawn by the places of the columns, so that other places are another draw."""
    X, y = table(kind)
    held, truth = table(kind, 1600)
    held, truth = held[600:], truth[600:]

    def changed(rows):
        if change == "order of columns":
            return rows[:, [3, 0, 4, 2, 1]]
        return np.column_stack([rows, np.full(len(rows), 7.0)])

    score = fitted(kind, changed(X), y).score(changed(held), truth)
    assert abs(plain(kind).score(held, truth) - score) < 0.06


@every_kind
@pytest.mark.parametrize("way", ["neighbours", "stacked"])
def test_rows_twice_are_weights_of_two(kind, way):
    X, y = table(kind)
    twice = np.repeat(np.arange(600), 2) if way == "neighbours" else np.tile(np.arange(600), 2)
    with pytest.warns(UserWarning, match="50% of the rows are copies"):
        doubled = fitted(kind, X[twice], y[twice])
    held = np.random.default_rng(2).normal(size=(500, 5))
    mine, theirs = answers(weighted(kind), held), answers(doubled, held)
    off = np.sqrt(np.mean((mine - theirs) ** 2)) / mine.std()
    assert off < 0.03, off


@every_kind
def test_files_keep_the_law(kind, tmp_path):
    (X, _), model = table(kind), plain(kind)
    ks.save(model, tmp_path / "model.sinks")
    again = ks.load(tmp_path / "model.sinks")
    np.testing.assert_array_equal(answers(model, X), answers(again, X))
    assert repr(again.law_) == repr(model.law_)


def checks():
    """scikit-learn's checks.

    Those are slow that are another one with rows in another container, and those of any estimator
    for the regressor, but for the ones of weights: the classifier has more of the methods that they
    call.
    """
    seen = set()
    for kind in KINDS:
        model = kind(ks.Learned(effort="quick"), random_state=0)
        for estimator, check in estimator_checks_generator(model):
            name, options = check.func.__name__, check.keywords
            told = f"{name}-{'-'.join(map(str, options.values()))}"
            again = options.get("readonly_memmap") or name == "check_estimator_sparse_matrix"
            again = again or (told in seen and "weight_equivalence" not in name)
            seen.add(told)
            marks = [pytest.mark.slow] if again else []
            yield pytest.param(estimator, check, id=f"{kind.__name__}-{told}", marks=marks)


@pytest.mark.filterwarnings("ignore:.*the plain law of", "ignore:The first batch of partial_fit")
@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learn_checks(estimator, check):
    check(estimator)
