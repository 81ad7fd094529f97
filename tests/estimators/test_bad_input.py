"""Bad input: an error that names the argument and says what is needed."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import GridSearchCV

import kitchensinks as ks
from kitchensinks.problem.losses import Hinge, Huber
from tests.catalogue import build

X, Y = load_breast_cancer(return_X_y=True)
X, Y = X[:80], Y[:80]
XR, YR = load_diabetes(return_X_y=True)
XR, YR = XR[:80], YR[:80]


def spoiled(values, value):
    values = values.astype(float).copy()
    values[3] = value
    return values


PARAMETERS = [
    ({"alpha": -1.0}, ValueError, r"alpha=-1.0: need a finite number of 0 or more, or 'auto'"),
    ({"alpha": np.nan}, ValueError, r"alpha=nan: need a finite number"),
    ({"alpha": np.inf}, ValueError, r"alpha=inf: need a finite number"),
    ({"alpha": 10**400}, ValueError, r"need a finite number of 0 or more, or 'auto'"),
    ({"alpha": "x"}, ValueError, r"alpha='x': need a finite number of 0 or more, or 'auto'"),
    ({"alpha": None}, ValueError, r"alpha=None: need"),
    ({"alpha": True}, ValueError, r"alpha=True: need"),
    ({"constraint": "box"}, TypeError, r"constraint='box': need ks.SupBall\(C\), ks.L2Ball\(R\)"),
    ({"constraint": 3.0}, TypeError, r"constraint=3.0: need"),
    ({"n_components": 0}, ValueError, r"n_components=0: need a whole number of 1 or more"),
    ({"n_components": 2.5}, TypeError, r"n_components=2.5.*need a whole number"),
    ({"n_components": "many"}, ValueError, r"n_components='many'.*or 'auto'"),
    ({"memory_budget": "lots"}, ValueError, r"memory_budget='lots': need a number of bytes"),
    ({"memory_budget": -1}, ValueError, r"memory_budget=-1: need"),
    ({"memory_budget": "1.2.3GB"}, ValueError, r"memory_budget='1.2.3GB': need"),
    ({"tol": 0.0}, ValueError, r"tol=0.0: need a positive finite number"),
    ({"tol": "small"}, ValueError, r"tol='small': need a positive"),
    ({"max_iter": 0}, ValueError, r"max_iter=0: need"),
    ({"n_jobs": 0}, ValueError, r"n_jobs=0: need a whole number of threads"),
    ({"n_jobs": 1.5}, ValueError, r"n_jobs=1.5: need"),
    ({"solver": "newton"}, ValueError, r"solver='newton': need one of auto, direct"),
    ({"solver": "conjugate"}, ValueError, r"solver='conjugate' needs a number for alpha"),
    ({"solver": "stochastic", "n_components": "auto"}, ValueError, r"give n_components a number"),
    ({"solver": "stochastic", "basis": ks.Binning()}, ValueError, r"solver='stochastic' needs a b"),
    ({"dtype": "float16"}, ValueError, r"dtype='float16': need"),
    ({"basis": "fourier"}, TypeError, r"basis='fourier'.*need a basis"),
    ({"basis": ks.Fourier(gamma=-1.0)}, ValueError, r"gamma=-1.0: need"),
    ({"random_state": -1}, ValueError, r"random_state=-1: need"),
    ({"loss": "hubert"}, ValueError, r"loss='hubert': need one of squared,"),
    ({"loss": 3}, ValueError, r"loss=3: need one of"),
    ({"loss": "multinomial"}, ValueError, r"use loss='logistic'"),
]


@pytest.mark.parametrize(("options", "kind", "message"), PARAMETERS, ids=str)
def test_parameters(options, kind, message):
    for model, rows, targets in (
        (build(ks.KitchenSinkClassifier, **options), X, Y),
        (build(ks.KitchenSinkRegressor, **options), XR, YR),
    ):
        with pytest.raises(kind, match=message):
            model.fit(rows, targets)


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"effort": "quick"}, "ks.Learned(effort='quick')"),
        ({"time_limit": 3}, "ks.Learned(time_limit=3)"),
        ({"tol": 0.1}, "solver=ks.Solver(tol=0.1)"),
        ({"gamma": 2.0}, "ks.Fourier(gamma=2.0)"),
        ({"tau": 0.9}, "loss=ks.losses.Quantile(tau=0.9)"),
    ],
    ids=str,
)
def test_parameters_of_a_part_are_sent_there(given, where):
    """What the message says can be written so."""
    for kind in (ks.KitchenSinkClassifier, ks.KitchenSinkRegressor):
        with pytest.raises(TypeError) as error:
            kind(**given)
        (name,) = given
        written = f"{kind.__name__}({where})"
        assert str(error.value) == f"{kind.__name__} has no parameter {name!r}: give {written}."
        eval(f"ks.{written}")
    with pytest.raises(TypeError, match="no parameter 'n_estimators': its parameters are"):
        ks.KitchenSinkRegressor(n_estimators=3)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("effort", "basis__effort"),
        ("gamma", "basis__gamma"),
        ("tol", "solver__tol"),
        ("tau", "loss__tau"),
    ],
)
def test_a_search_over_a_parameter_of_a_part_is_told_its_name(name, meant):
    basis = ks.Learned() if name == "effort" else ks.Fourier()
    model = ks.KitchenSinkRegressor(basis, 5, loss="quantile")
    with pytest.raises(ValueError, match=f"no parameter '{name}': it is {meant}\\."):
        GridSearchCV(model, {name: [0.5]}, error_score="raise").fit(XR, YR)
    if meant != "basis__effort":
        assert model.set_params(**{meant: 0.5}).get_params()[meant] == 0.5


def test_progress_is_asked_of_a_fit():
    for kind in (ks.KitchenSinkClassifier, ks.KitchenSinkRegressor):
        with pytest.raises(TypeError, match=r"model\.fit\(X, y, verbose=True\)"):
            kind(verbose=True)


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e300], ids=str)
@pytest.mark.parametrize(
    "estimator", [ks.KitchenSinkRegressor(ks.Fourier(), 5), ks.RandomFeatures()]
)
def test_an_infinite_entry_is_named_by_its_column(estimator, value):
    frame = pd.DataFrame(XR, columns=[f"c{k}" for k in range(XR.shape[1])])
    fitted = clone(estimator).fit(frame, YR)
    spoilt = frame.copy()
    spoilt.loc[3, "c2"] = value
    used = fitted.predict if hasattr(fitted, "predict") else fitted.transform
    for make in (pd.DataFrame, pl.from_pandas):
        for call in (lambda rows: clone(estimator).fit(rows, YR), used):
            with pytest.raises(ValueError, match=r"Column 'c2' has -?(inf|1e\+300) in row 3 \("):
                call(make(spoilt))
    with pytest.raises(ValueError, match=r"X\[3, 2\] is -?(inf|1e\+300) \(counted from 0\)"):
        clone(estimator).fit(spoilt.to_numpy(), YR)


def test_an_infinite_target_is_named_by_its_row():
    spoilt = np.where(np.arange(len(YR)) == 5, -np.inf, YR)
    need = r"Need finite numbers: replace infinite targets, or leave their rows out\.$"
    for y, place in ((spoilt, r"5"), (pd.Series(spoilt), r"5"), (np.c_[YR, spoilt], r"5, 1")):
        with pytest.raises(ValueError, match=rf"y\[{place}\] is -inf \(counted from 0\)\. {need}"):
            ks.KitchenSinkRegressor(ks.Fourier(), 5).fit(XR, y)
    with pytest.raises(ValueError, match=rf"y\[5\] is -inf \(counted from 0\)\. {need}"):
        ks.KitchenSinkClassifier(ks.Fourier(), 5).fit(XR, np.where(spoilt < -1e9, -np.inf, 1.0))
    with pytest.raises(ValueError, match=rf" y is inf\. {need}"):
        ks.KitchenSinkRegressor(ks.Fourier(), 5).fit(XR, np.inf)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({3: "unknown"}, r"1 values of 80 that are no numbers, such as 'unknown'. Replace them"),
        ({3: "1.250,5", 5: "3,1"}, r"2 values of 80 .* '1.250,5'. Write decimal commas as points"),
        (dict.fromkeys(range(80), "high"), r"such as 'high'. Need numbers; for labels use"),
    ],
    ids=["stray", "commas", "labels"],
)
@pytest.mark.parametrize("make", [np.asarray, pd.Series, list])
def test_targets_that_are_no_numbers_are_counted_and_shown(words, said, make):
    targets = [words.get(place, str(value)) for place, value in enumerate(YR)]
    with pytest.raises(ValueError, match=said):
        ks.KitchenSinkRegressor(ks.Fourier(), 5).fit(XR, make(targets))


@pytest.mark.parametrize("basis", [None, ks.Fourier(), ks.Binning()], ids=repr)
@pytest.mark.parametrize("rows", [XR, pd.DataFrame({"a": ["x", "y", "z"]})], ids=["array", "frame"])
def test_one_row_is_not_fitted_without_a_word(basis, rows):
    model = ks.KitchenSinkRegressor(basis, 20, random_state=0)
    with pytest.warns(UserWarning, match="There is one row.*need two rows or more"):
        model.fit(rows[:1], YR[:1])
    with pytest.warns(UserWarning, match="There is one row"):
        model.fit(rows[:3], YR[:3], sample_weight=[0, 1, 0])


def missing_targets():
    numbers, words = np.arange(40.0), np.array(["a", "b"] * 20, dtype=object)
    for gone in (np.nan, None, pd.NA):
        some = words.copy()
        some[:3] = gone
        yield ks.KitchenSinkClassifier, some
        yield ks.KitchenSinkClassifier, pd.Series(some).astype("category")
        yield ks.KitchenSinkClassifier, pd.Series(some).astype("string")
    numbers[:3] = np.nan
    yield ks.KitchenSinkRegressor, numbers
    yield ks.KitchenSinkRegressor, np.column_stack([numbers, numbers[::-1]])[:40]
    yield ks.KitchenSinkRegressor, pd.Series(numbers).astype("Int64")
    yield ks.KitchenSinkClassifier, np.where(np.isnan(numbers), np.nan, numbers % 2)


def test_missing_targets_are_counted():
    for kind, targets in missing_targets():
        count = 6 if np.ndim(targets) == 2 else 3
        with pytest.raises(ValueError, match=f"contains NaN: .* missing in {count} of 40 rows"):
            kind(ks.Fourier(), n_components=5).fit(np.zeros((40, 2)), targets)


def test_one_row_as_a_dict_or_a_series():
    frame = pd.DataFrame({"a": np.arange(40.0), "b": ["x", "y"] * 20})
    for rows in (frame, frame[["a"]]):
        model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=5).fit(rows, frame["a"])
        one = rows.iloc[0]
        with pytest.raises(ValueError, match=r"X is dict .*pandas.DataFrame\(\[X\]\) for one row"):
            model.predict(one.to_dict())
        with pytest.raises(ValueError, match=r"X is list .*, pandas.DataFrame\(X\)"):
            model.predict([one.to_dict()])
        with pytest.raises(ValueError, match=r"X is Series .*frame.iloc\[\[0\]\] for one row"):
            model.predict(one)
        assert len(model.predict(pd.DataFrame([one.to_dict()]))) == 1
    with pytest.raises(ValueError, match=r"fit\(X.drop\(columns='a'\), X\['a'\]\)"):
        model.fit(frame, "a")


def test_solvers_are_never_changed_in_silence():
    for solver in ("direct", "conjugate"):
        model = ks.KitchenSinkClassifier(ks.Fourier(), loss="hinge", solver=solver, alpha=1e-3)
        with pytest.raises(ValueError, match=f"solver='{solver}' is for loss='squared'"):
            model.fit(X, Y)


def test_losses_of_another_task():
    for loss in ("huber", "quantile", Huber(1.0)):
        with pytest.raises(ValueError, match=r"does not fit classification: need one of squared"):
            ks.KitchenSinkClassifier(loss=loss).fit(X, Y)
    for loss in ("hinge", "logistic", "exponential", "squared_hinge", Hinge()):
        with pytest.raises(ValueError, match=r"does not fit regression: need one of squared, hub"):
            ks.KitchenSinkRegressor(loss=loss).fit(XR, YR)


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan, np.inf, "x", True])
def test_radius(radius):
    for ball in (ks.SupBall, ks.L2Ball):
        with pytest.raises(ValueError, match=r"radius=.*need a positive finite number"):
            ball(radius)


def test_targets():
    classifier, regressor = ks.KitchenSinkClassifier(), ks.KitchenSinkRegressor()
    with pytest.raises(ValueError, match=r"y has one class only.*needs two or more"):
        classifier.fit(X, np.ones(80))
    for value, words in ((np.nan, "NaN"), (np.inf, "infinity")):
        for model, rows, targets in ((classifier, X, Y), (regressor, XR, YR)):
            with pytest.raises(ValueError, match=f"(?i)y contains {words}"):
                model.fit(rows, spoiled(targets, value))
    for model, rows, targets in ((classifier, X, Y), (regressor, XR, YR)):
        with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[80, 79\]"):
            model.fit(rows, targets[:-1])
        with pytest.raises(ValueError, match="y"):
            model.fit(rows, None)
    with pytest.raises(ValueError, match=r"Unknown label type: continuous.* KitchenSinkRegressor"):
        classifier.fit(XR, YR + 0.5)
    with pytest.raises(ValueError, match=r"y has shape|dim"):
        regressor.fit(XR, np.zeros((80, 2, 2)))


ZEROS_AND_ONES = [0, 1] * 39


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([*ZEROS_AND_ONES, 1, "oops"], r"y holds numbers, and 1 of its 80 labels is text.*'oops'"),
        # The first label decides what scikit-learn does.
        (["oops", *ZEROS_AND_ONES, 1], r"y holds numbers, and 1 of its 80 .*'oops'.*astype\(int\)"),
        (["a", "b"] * 39 + [3, 4], r"y holds text, and 2 of its 80 labels are numbers, such as 3"),
        ([*ZEROS_AND_ONES, "a", (1,)], r"2 of its 80 labels are of other kinds, such as 'a'"),
        ([*ZEROS_AND_ONES, True, 0], r"y holds numbers as Python objects\. .*y\.astype\(int\)"),
        ([frozenset({1}), frozenset()] * 40, r"y holds values of type frozenset.*need text or"),
    ],
)
def test_labels_of_several_kinds_are_told_in_words(labels, message):
    y = np.empty(80, dtype=object)
    y[:] = labels
    for model in (
        ks.KitchenSinkClassifier(),
        ks.StreamingRidgeClassifierCV(),
        ks.StreamingRidgeClassifierCV(class_weight="balanced"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)
    with pytest.raises(ValueError, match=message):
        ks.KitchenSinkClassifier(ks.Fourier(), n_components=5).partial_fit(X, y)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full(80, -1.0), r"sample_weight has negative entries \(the least is -1\)"),
        (np.zeros(80), r"sample_weight is zero for every row"),
        (np.ones(79), r"sample_weight"),
        (np.full(80, np.nan), r"sample_weight contains NaN.*finite number for each row"),
        ([10**400, *[1] * 79], r"sample_weight has whole numbers beyond 1.8e\+308.*ratios"),
        (["heavy"] * 80, r"sample_weight: could not convert.*'heavy'.*number for each row"),
        (np.ones((80, 2)), r"1D array"),
    ],
)
def test_weights(weights, message):
    for model, rows, targets in (
        (ks.KitchenSinkClassifier(ks.Fourier(), n_components=5), X, Y),
        (ks.KitchenSinkRegressor(ks.Fourier(), n_components=5, loss="huber"), XR, YR),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(rows, targets, sample_weight=weights)
        with pytest.raises(ValueError, match=message):
            model.freeze(rows, targets, sample_weight=weights)


@pytest.mark.parametrize(
    ("weights", "message"),
    [([1.0], "sample_weight.shape == "), (["a"] * 80, "sample_weight: could not convert")],
)
def test_weights_of_a_table_whose_targets_are_missing_in_part(weights, message):
    table = ks.open_table(pd.DataFrame(XR).add_prefix("c").assign(y=spoiled(YR, np.nan)))
    with pytest.raises(ValueError, match=message):
        build(ks.KitchenSinkRegressor).fit(table, "y", weights)


def test_a_name_of_a_column_is_no_target_of_a_score():
    frame = pd.DataFrame(XR).add_prefix("c")
    model = ks.KitchenSinkRegressor(ks.Fourier(), 10, random_state=0).fit(frame, YR)
    with pytest.raises(ValueError, match=r"'c0' names a column.*score\(ks.open_table\(X\), 'c0'"):
        model.score(frame, "c0")


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("even", r"class_weight='even': need 'balanced', a dict or None"),
        ({0: -1.0}, r"need finite weights of 0 or more"),
        ({5: 1.0}, r"class_weight names \[5\], which are not classes of y: \[0, 1\]"),
        ([1.0, 2.0], r"need 'balanced', a dict or None"),
        ({0: 0.0, 1: 0.0}, r"class_weight leaves every row a weight of zero"),
    ],
)
def test_class_weights(class_weight, message):
    with pytest.raises(ValueError, match=message):
        ks.KitchenSinkClassifier(ks.Fourier(), n_components=5, class_weight=class_weight).fit(X, Y)


def test_rows():
    model = ks.KitchenSinkClassifier(ks.Fourier(), n_components=5)
    for wrap in (np.asarray, sparse.csr_array):
        with pytest.raises(ValueError, match=r"entry of size 1e\+200.*need finite numbers below"):
            model.fit(wrap(spoiled(X, 1e200)), Y)
    with pytest.raises(ValueError, match=r"NaN.*Fill in or drop.*data frame.*ks.open_table"):
        model.fit(sparse.csr_array(spoiled(X, np.nan)), Y)
    model.fit(X, Y)
    with pytest.raises(ValueError, match=r"29 features.*same columns"):
        model.predict(X[:, 1:])
    with pytest.raises(ValueError, match=r"infinity"):
        model.predict(spoiled(X, np.inf))
    narrow = ks.KitchenSinkClassifier(
        ks.Fourier(), n_components=5, standardize=False, solver=ks.Solver(dtype="float32")
    )
    with pytest.raises(ValueError, match=r"entry of size 1e\+30.*float32"):
        narrow.fit(spoiled(X, 1e30), Y)


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_no_minimiser(loss):
    """Rows that the features separate, with neither ridge nor ball."""
    rows = np.array([[-2.0], [-1.0], [1.0], [2.0]] * 5) + np.linspace(0, 0.1, 20)[:, None]
    targets = np.array([0, 0, 1, 1] * 5)
    for n_components in (10, 50):
        model = ks.KitchenSinkClassifier(
            ks.Fourier(), n_components=n_components, loss=loss, alpha=0.0
        )
        with pytest.raises(ValueError, match=r"alpha=0 and constraint=None.*no minimiser exists"):
            model.fit(rows, targets)
    three = np.arange(20) % 4
    with pytest.raises(ValueError, match=r"no minimiser exists"):
        ks.KitchenSinkClassifier(ks.Fourier(), n_components=50, loss=loss, alpha=0.0).fit(
            rows, three
        )
    for constraint in (ks.SupBall(1.0), ks.L2Ball(1.0)):
        ks.KitchenSinkClassifier(
            ks.Fourier(), n_components=10, loss=loss, constraint=constraint
        ).fit(rows, targets)


def test_before_fitting():
    from sklearn.exceptions import NotFittedError

    for model in (ks.KitchenSinkClassifier(), ks.KitchenSinkRegressor()):
        with pytest.raises(NotFittedError):
            model.predict(X)
    with pytest.raises(NotFittedError):
        ks.KitchenSinkClassifier().predict_proba(X)
    with pytest.raises(NotFittedError):
        ks.KitchenSinkClassifier().k_path(X, Y)


@pytest.mark.parametrize("words", [False, True], ids=["numbers", "words"])
@pytest.mark.parametrize(
    "wrong",
    [
        {"y": np.full(40, np.nan)},
        {"y": np.zeros(39)},
        {"y": -np.ones(40)},
        {"sample_weight": -np.ones(40)},
        {"groups": [1, 2]},
    ],
    ids=repr,
)
def test_a_refused_fit_to_other_columns_leaves_the_estimator_as_it_was(words, wrong):
    rng = np.random.default_rng(0)
    first = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"))
    other = pd.DataFrame(rng.normal(size=(40, 2)), columns=list("de"))
    if words:
        other["f"] = ["yes", "no"] * 20
    model = ks.KitchenSinkRegressor(ks.Fourier(), 10, loss="poisson", random_state=0)
    model.fit(first, np.ones(40))
    expected = model.predict(first)
    with pytest.raises(ValueError, match=r"."):
        model.fit(other, **{"y": np.ones(40), **wrong})
    assert (model.n_features_in_, list(model.feature_names_in_)) == (3, ["a", "b", "c"])
    np.testing.assert_array_equal(model.predict(first), expected)


def test_whole_numbers_beyond_float64_are_told_in_our_words():
    model, big = ks.KitchenSinkRegressor(ks.Fourier(), 10), [10**400, 1] * 20
    rows = np.arange(80.0).reshape(40, 2)
    with pytest.raises(ValueError, match=r"y has whole numbers beyond 1.8e\+308.*divide them"):
        model.fit(rows, big)
    with pytest.raises(ValueError, match=r"X has whole numbers beyond 1.8e\+308.*divide them"):
        model.fit(pd.DataFrame({"a": big}), np.arange(40.0))


def test_missing_values_of_pandas_in_an_array_are_missing_values():
    rows = np.random.default_rng(0).normal(size=(40, 2))
    rows[::4, 1] = np.nan
    objects = np.where(np.isnan(rows), pd.NA, rows.astype(object))
    model = ks.KitchenSinkRegressor(ks.Fourier(), 10, random_state=0)
    expected = model.fit(rows, rows[:, 0]).predict(rows)
    np.testing.assert_array_equal(model.predict(objects), expected)
    np.testing.assert_array_equal(model.predict(objects.tolist()), expected)
    np.testing.assert_array_equal(model.fit(objects, rows[:, 0]).predict(rows), expected)


@pytest.mark.parametrize("kind", [list, np.array, pd.Series])
def test_missing_values_of_pandas_among_targets_and_weights_are_counted(kind):
    rows, model = np.arange(80.0).reshape(40, 2), ks.KitchenSinkRegressor(ks.Fourier(), 10)
    values = kind([pd.NA, *np.arange(39.0)])
    with pytest.raises(ValueError, match="the target is missing in 1 of 40 rows"):
        model.fit(rows, values)
    with pytest.raises(ValueError, match="sample_weight contains NaN"):
        model.fit(rows, np.arange(40.0), sample_weight=values)


@pytest.mark.parametrize("weight", [1e6, 1e12, 1e20])
def test_one_row_with_nearly_all_of_the_weight_teaches_no_law(weight):
    rows = np.random.default_rng(0).normal(size=(700, 2))
    weights = np.where(np.arange(700) == 5, weight, 1.0)
    model = ks.KitchenSinkRegressor(ks.Learned(effort="quick"), random_state=0)
    with pytest.warns(UserWarning, match="The weights count as 1[.0-9]* rows.*on one: the plain"):
        model.fit(rows, rows[:, 0], sample_weight=weights)
    assert np.isfinite(model.predict(rows)).all()


def test_categories_that_are_tuples_are_told_in_our_words():
    frame = pd.DataFrame({"pair": pd.Categorical([(1, 2), (3, 4)] * 20)})
    with pytest.raises(ValueError, match=r"'pair' holds categories that are list.*astype\(str\)"):
        ks.KitchenSinkRegressor(ks.Fourier(), 10).fit(frame, np.arange(40.0))


def test_messages_do_not_repeat_all_rows():
    rows = [{"a": float(k)} for k in range(1000)]
    with pytest.raises(ValueError, match=r"pandas.DataFrame\(X\)") as caught:
        ks.KitchenSinkRegressor(ks.Fourier(), 10).fit(rows, np.arange(1000.0))
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("labels", [[1, "a"], [True, "a"], ["a", 2.5], ("a", 1)])
def test_lists_of_mixed_labels_are_refused(labels):
    """NumPy would make text of them without a word, and a class "nan" of a missing one."""
    y, kind = type(labels)([*labels] * 20), ks.KitchenSinkClassifier(ks.Fourier(), 5)
    with pytest.raises(ValueError, match=r"need labels of one kind.*numpy\.array"):
        kind.fit(XR[:40], y)
    with pytest.raises(ValueError, match="the target is missing in 20 of 40 rows"):
        kind.fit(XR[:40], ["a", float("nan")] * 20)
    assert kind.fit(XR[:40], ["a", "b"] * 20).classes_.tolist() == ["a", "b"]


def test_scores_say_which_targets_are_missing():
    for kind, targets in missing_targets():
        if np.ndim(targets) == 2:
            targets = targets[:, 0]
        known = np.where(np.arange(40) % 2, 1.0, 0.0)
        model = kind(ks.Fourier(), 5, random_state=0).fit(XR[:40], known)
        with pytest.raises(ValueError, match="the target is missing in"):
            model.score(XR[:40], targets)


def test_a_class_without_weight_is_told():
    y, model = np.array(["a", "b", "c", "c"] * 10), ks.KitchenSinkClassifier(ks.Fourier(), 5)
    with pytest.warns(UserWarning, match=r"All rows of the classes \['c'\] have a weight of zero"):
        model.fit(XR[:40], y, sample_weight=y != "c")
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict_proba(XR[:40])[:, 2].max() < 0.1


def test_several_labels_a_row_are_told_of_a_classifier_for_each():
    with pytest.raises(ValueError, match=r"got an array of shape \(40, 2\).*MultiOutputClassifier"):
        ks.KitchenSinkClassifier(ks.Fourier(), 5).fit(XR[:40], np.eye(2)[np.arange(40) % 2])


def test_classes_of_mixed_types_are_refused():
    with pytest.raises(ValueError, match="classes holds text, and 1 of its 3 labels is numbers"):
        ks.KitchenSinkClassifier(ks.Fourier(), 5).partial_fit(
            XR[:40], ["a", "b"] * 20, classes=["a", "b", 3]
        )


def test_missing_targets_of_streams_and_reports_are_counted():
    for y in (np.where(np.arange(40) < 3, np.nan, 1.0), [None] * 3 + [1.0] * 37):
        with pytest.raises(ValueError, match="the target is missing in 3 of 40 rows"):
            ks.StreamingRidgeCV().fit(XR[:40], y)
    words = np.array(["a", "b"] * 20, dtype=object)
    model = ks.KitchenSinkClassifier(ks.Fourier(), 5, random_state=0).fit(XR[:40], words)
    words[:3] = None
    with pytest.raises(ValueError, match="the target is missing in 3 of 40 rows"):
        model.report(XR[:40], words, compare=False)


@pytest.mark.parametrize(
    ("rows", "message"),
    [(None, "X is None: need rows"), ("a.csv", r"X is the path 'a.csv': .*ks.open_table\(X\)")],
)
def test_rows_that_are_nothing_or_a_path(rows, message):
    for y in (np.ones(3), "price"):
        with pytest.raises(ValueError, match=message):
            ks.KitchenSinkRegressor().fit(rows, y)


def test_a_checkpoint_that_is_a_path():
    model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=5)
    with pytest.raises(TypeError, match=r"checkpoint='work': need a ks.Checkpoint, such as"):
        model.fit(np.arange(6.0).reshape(3, 2), np.arange(3.0), checkpoint="work")


def test_an_unknown_parameter_is_answered_by_all_that_there_are():
    with pytest.raises(TypeError, match="'n_jobs', 'random_state', 'solver', 'standardize'"):
        ks.KitchenSinkClassifier(C=1.0)


@pytest.mark.parametrize("kind", [ks.RandomFeatures, ks.KitchenSinkPCA])
def test_a_transformer_does_not_advise_what_it_refuses(kind):
    rows = np.arange(12.0).reshape(4, 3)
    with pytest.raises(TypeError, match=r"a basis such as ks.Fourier\(\). .*n_components=2"):
        kind(2).fit(rows)
    with pytest.raises(TypeError, match=r"a basis such as ks.Fourier\(\).$"):
        kind(ks.Learned()).fit(rows)
