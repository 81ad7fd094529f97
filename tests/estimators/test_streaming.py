"""The outer solver alone against scikit-learn's, from arrays and from blocks."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.linear_model import Ridge, RidgeClassifierCV, RidgeCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import kitchensinks as ks
from kitchensinks.estimators import streaming

ALPHAS = np.logspace(-2, 3, 6)


@parametrize_with_checks([ks.StreamingRidgeCV(), ks.StreamingRidgeClassifierCV()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def split(X, y, sizes):
    ends = np.cumsum(sizes)[:-1]
    return list(zip(np.split(X, ends), np.split(y, ends), strict=True))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("rows", [30, 442])  # fewer and more rows than the 60 columns
def test_regressor_agrees_with_scikit_learn(fit_intercept, rows):
    X, y = load_diabetes(return_X_y=True)
    X = np.tanh(30 * X @ np.random.default_rng(0).normal(size=(10, 60)))[:rows]
    y = y[:rows]
    ours = ks.StreamingRidgeCV(ALPHAS, fit_intercept=fit_intercept).fit(X, y)
    theirs = RidgeCV(ALPHAS, fit_intercept=fit_intercept).fit(X, y)
    assert ours.alpha_ == theirs.alpha_
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-6)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8)
    assert ours.criterion_ == "leave-one-out"


def test_many_rows_of_a_wide_array_are_solved_in_their_span(monkeypatch):
    seen, of = [], streaming.Span.of
    monkeypatch.setattr(streaming, "_KEPT_ROWS", 10)
    monkeypatch.setattr(
        streaming.Span, "of", lambda rows, *more: seen.append(rows.shape) or of(rows, *more)
    )
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 60)), rng.normal(size=30)
    ours, theirs = ks.StreamingRidgeCV(ALPHAS).fit(X, y), RidgeCV(ALPHAS).fit(X, y)
    assert seen == [(30, 60)]
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-8)
    # Blocks are summed: all of their rows need not fit into memory.
    ks.StreamingRidgeCV(ALPHAS).fit(split(X, y, [10, 20]))
    assert len(seen) == 1


@pytest.mark.parametrize("load", [load_breast_cancer, load_digits])
def test_classifier_agrees_with_scikit_learn(load):
    X, y = load(return_X_y=True)
    X = X / (1 + X.max(axis=0))
    ours = ks.StreamingRidgeClassifierCV(ALPHAS).fit(X, y)
    theirs = RidgeClassifierCV(ALPHAS).fit(X, y)
    assert ours.alpha_ == theirs.alpha_
    np.testing.assert_allclose(ours.coef_, theirs.coef_.squeeze(), rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("sizes", [[1797], [900, 897], [10, 700, 1, 1086]])
def test_blocks_give_the_answer_of_the_array(sizes):
    X, y = load_digits(return_X_y=True)
    names = np.array([f"digit {k}" for k in y])
    whole = ks.StreamingRidgeClassifierCV(ALPHAS).fit(X, names)
    parts = ks.StreamingRidgeClassifierCV(ALPHAS).fit(split(X, names, sizes))
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-6, atol=1e-9)
    assert parts.alpha_ == whole.alpha_
    assert parts.classes_.tolist() == whole.classes_.tolist()


def test_one_shot_iterator_uses_generalised_cross_validation():
    X, y = load_digits(return_X_y=True)
    blocks = split(X, y, [900, 897])
    model = ks.StreamingRidgeClassifierCV(ALPHAS).fit(iter(blocks))
    assert model.criterion_ == "generalised cross-validation"
    again = ks.StreamingRidgeClassifierCV(ALPHAS).fit(blocks)
    assert model.score(X, y) == pytest.approx(again.score(X, y), abs=0.01)


def test_classes_may_turn_up_late_and_blocks_may_hold_one_class():
    X, y = load_digits(return_X_y=True)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    whole = ks.StreamingRidgeClassifierCV([1.0]).fit(X, y)
    parts = ks.StreamingRidgeClassifierCV([1.0]).fit(iter(split(X, y, [200] * 8 + [197])))
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-6, atol=1e-9)


def test_memmap_and_sparse_matrices(tmp_path):
    X, y = load_digits(return_X_y=True)
    np.save(tmp_path / "features.npy", X)
    mapped = np.load(tmp_path / "features.npy", mmap_mode="r")
    whole = ks.StreamingRidgeClassifierCV(ALPHAS).fit(X, y)
    for other in (mapped, sparse.csr_matrix(X), sparse.csr_array(X)):
        model = ks.StreamingRidgeClassifierCV(ALPHAS).fit(other, y)
        np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-6, atol=1e-9)


def test_several_targets_and_alpha_per_target():
    X, y = load_diabetes(return_X_y=True)
    both = np.column_stack([y, np.random.default_rng(0).normal(size=len(y))])
    ours = ks.StreamingRidgeCV(ALPHAS, alpha_per_target=True).fit(X, both)
    theirs = RidgeCV(ALPHAS, alpha_per_target=True).fit(X, both)
    np.testing.assert_array_equal(ours.alpha_, theirs.alpha_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-8)


def test_weights_count_as_copies():
    X, y = load_diabetes(return_X_y=True)
    weights = np.random.default_rng(0).integers(0, 4, size=len(y)).astype(float)
    weighted = ks.StreamingRidgeCV(ALPHAS).fit(X, y, sample_weight=weights)
    times = weights.astype(int)
    repeated = ks.StreamingRidgeCV(ALPHAS).fit(np.repeat(X, times, 0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6)
    np.testing.assert_allclose(weighted.cv_errors_, repeated.cv_errors_, rtol=1e-8)
    plain = Ridge(weighted.alpha_).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(weighted.coef_, plain.coef_, rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": []}, "no blocks"),
        ({"X": [np.zeros((3, 2))]}, r"need \(X, y"),
        ({"X": 3.0}, "iterable of blocks"),
        ({"X": np.zeros((3, 2))}, "y"),
        ({"X": [(np.zeros((3, 2)), np.zeros(2))]}, "inconsistent"),
        ({"X": [(np.eye(3), np.arange(3.0)), (np.eye(2), np.arange(2.0))]}, "2 columns"),
        ({"X": np.eye(3), "y": np.arange(3.0), "sample_weight": -np.ones(3)}, "negative"),
        ({"X": np.eye(3), "y": np.arange(3.0), "sample_weight": np.zeros(3)}, "zero"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        ks.StreamingRidgeCV().fit(**arguments)


@pytest.mark.parametrize("alphas", [[], [0.0], [-1.0], [np.nan], ["a"]])
def test_bad_alphas(alphas):
    with pytest.raises(ValueError, match=r"alphas|could not convert"):
        ks.StreamingRidgeCV(alphas).fit(np.eye(3), np.arange(3.0))


def test_one_class_is_an_error():
    with pytest.raises(ValueError, match="one class"):
        ks.StreamingRidgeClassifierCV().fit(np.random.default_rng(0).normal(size=(9, 2)), [1] * 9)


@pytest.mark.parametrize("rows", [40, 569])  # fewer and more rows than the 60 columns
@pytest.mark.parametrize("class_weight", [{0: 5.0, 1: 1.0}, "balanced"])
def test_class_weights_leave_out_whole_rows(class_weight, rows):
    X, y = load_breast_cancer(return_X_y=True)
    X = np.tanh((X / X.max(axis=0)) @ np.random.default_rng(0).normal(size=(30, 60)))[:rows]
    y = y[:rows]
    ours = ks.StreamingRidgeClassifierCV(ALPHAS, class_weight=class_weight).fit(X, y)
    theirs = RidgeClassifierCV(ALPHAS, class_weight=class_weight, store_cv_results=True).fit(X, y)
    assert ours.alpha_ == theirs.alpha_
    np.testing.assert_allclose(ours.coef_, theirs.coef_.squeeze(), rtol=1e-5, atol=1e-7)
    factors = np.ones(rows)
    if isinstance(class_weight, dict):
        factors[y == 0] = 5.0
    else:
        factors = (rows / (2 * np.bincount(y)))[y]
    # scikit-learn stores errors times the weight.
    by_hand = theirs.cv_results_[:, 0].sum(axis=0) / factors.sum()
    np.testing.assert_allclose(ours.cv_errors_[:, 0], by_hand, rtol=1e-5)


def test_blocks_with_targets_apart_are_refused():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match=r"pass blocks \(X, y\) alone"):
        ks.StreamingRidgeCV().fit([X[:200], X[200:]], y)


@pytest.mark.parametrize("shift", [0.0, 1e6, 1e8])
def test_float32_rows_with_targets_far_from_zero(shift):
    X, y = load_diabetes(return_X_y=True)
    X = (30 * X).astype(np.float32)
    ours = ks.StreamingRidgeCV(ALPHAS).fit(X, y + shift)
    theirs = RidgeCV(ALPHAS).fit(X.astype(float), y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=2e-2, atol=0.05)
    large = ks.StreamingRidgeCV(ALPHAS).fit(X, 1e50 * y)
    np.testing.assert_allclose(1e-50 * large.coef_, theirs.coef_, rtol=2e-2, atol=0.05)
    with pytest.raises(ValueError, match="squares overflow"):
        ks.StreamingRidgeCV(ALPHAS).fit(X, 1e200 * y)


def test_blocks_must_agree():
    X, y = load_diabetes(return_X_y=True)
    two = np.column_stack([y, y])
    for blocks in ([(X, two), (X, y)], [(X, y), (X, two)]):
        with pytest.raises(ValueError, match="need the same in every block"):
            ks.StreamingRidgeCV().fit(blocks)
    few = slice(0, 4)
    mixed = [(X[few], y[few]), (sparse.csr_array(X[4:8]), y[4:8])]
    assert ks.StreamingRidgeCV().fit(mixed).coef_.shape == (10,)
    named = np.where(y > 100, "high", "low")
    with pytest.raises(ValueError, match="labels of one kind"):
        ks.StreamingRidgeClassifierCV().fit([(X, named), (X, (y > 100).astype(int))])


@pytest.mark.parametrize("second", [[1, 0], [0], [0, 1, 1]], ids=["shuffled", "short", "long"])
def test_a_second_walk_over_other_rows_is_an_error(second):
    X, y = load_diabetes(return_X_y=True)
    parts = slice(0, 200), slice(200, 442)
    walks = iter([[0, 1], second])

    class Loader:
        def __iter__(self):
            # The walk begins with the first block: `iter` alone asks whether there can be two.
            yield from ((X[parts[k]], y[parts[k]]) for k in next(walks))

    with pytest.raises(ValueError, match="gave other rows than the first"):
        ks.StreamingRidgeCV(ALPHAS).fit(Loader())


def test_weights_of_blocks_and_classes():
    X, y = load_breast_cancer(return_X_y=True)
    plain = ks.StreamingRidgeClassifierCV().fit(X[:300], y[:300])
    blocks = [(X[:300], y[:300], np.ones(300)), (X[300:], y[300:], np.zeros(269))]
    np.testing.assert_allclose(ks.StreamingRidgeClassifierCV().fit(blocks).coef_, plain.coef_)
    for wrong, text in (({0: -1.0}, "0 or more"), ({"a": 2.0}, "not classes"), ([1, 2], "a dict")):
        with pytest.raises(ValueError, match=text):
            ks.StreamingRidgeClassifierCV(class_weight=wrong).fit(X, y)


def test_one_row_is_warned_of():
    for given in (([[1.0, 2.0]], [3.0]), ([([[1.0, 2.0]], [3.0])],)):
        with pytest.warns(UserWarning, match=r"There is one row.*need two rows or more\.") as told:
            ks.StreamingRidgeCV().fit(*given)
        assert told[0].filename == __file__
