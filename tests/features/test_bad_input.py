"""Bad input: an error that says what came, what is needed and what to do, or the right result."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import kitchensinks as ks
from kitchensinks import RandomFeatures
from tests.catalogue import BASES, extreme_and_random_rows, name_of

ROWS = np.random.default_rng(0).normal(size=(10, 3))
DRAW = ks.Fourier(gamma=1.0).draw(0, 3, 5)


@pytest.fixture(autouse=True)
def _warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def spoiled(value):
    rows = ROWS.copy()
    rows[2, 1] = value
    return rows


def fit(basis=None, **options):
    return RandomFeatures(basis, **{"n_components": 5, "random_state": 0, **options}).fit


# Entries.

ENTRIES = [
    (np.nan, r"contains NaN.*Fill in or drop missing values"),
    (np.inf, r"contains infinity.*Need finite numbers: replace infinite entries"),
    (-np.inf, r"contains infinity.*Need finite numbers"),
]


@pytest.mark.parametrize(("value", "message"), ENTRIES)
def test_missing_and_infinite_entries(value, message):
    rows = spoiled(value)
    calls = [
        lambda: fit()(rows),
        lambda: fit()(sparse.csr_array(rows)),
        lambda: fit()(pd.DataFrame(rows)),
        lambda: fit()(ROWS).transform(rows),
        lambda: ks.Fourier(gamma=1.0).kernel(rows),
        lambda: ks.Fourier(gamma=1.0).kernel(ROWS, rows),
        lambda: ks.Fourier().resolve(rows),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=f"(?s){message}"):
            call()
    with pytest.raises(ValueError, match=r"entry of size (nan|inf): need finite numbers.*Fill in"):
        DRAW.features(rows)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_entries_that_overflow_float32(kind):
    rows = kind(spoiled(1e300))
    message = r"too large for dtype\('float32'\).*scale large columns, or give float64"
    with pytest.raises(ValueError, match=message):
        fit(dtype="float32")(rows)
    with pytest.raises(ValueError, match=message):
        fit(dtype="float32")(ROWS).transform(rows)
    narrow = ks.Fourier(gamma=1.0).draw(0, 3, 5, np.float32)
    with pytest.raises(ValueError, match=r"size 1e\+300: need finite numbers below 2e\+19 in floa"):
        narrow.features(rows)


@pytest.mark.parametrize(("dtype", "value"), [(np.float32, 1e30), (np.float64, 1e300)])
def test_entries_whose_squares_overflow(dtype, value):
    rows = spoiled(value).astype(dtype)
    for call in (lambda: fit()(rows), lambda: fit()(ROWS.astype(dtype)).transform(rows)):
        with pytest.raises(ValueError, match=r"entry of size 1e\+30.*need.*standardise large"):
            call()


@pytest.mark.parametrize("basis", BASES, ids=name_of)
def test_large_entries_that_fit_give_finite_features(basis):
    """A thousand below the limit of each dtype, beside small ones."""
    for dtype, size in ((np.float32, 1e16), (np.float64, 1e151)):
        rows = extreme_and_random_rows().astype(dtype)
        rows[0] *= dtype(size)
        draw = basis.draw(0, 4, 600, dtype).tabulate([rows])
        features = draw.features(rows)
        assert np.isfinite(features.data if basis.sparse else features).all()


@pytest.mark.parametrize("basis", BASES, ids=name_of)
def test_kernels_of_rows_too_long_for_squares(basis):
    """An error, or the values of the limit: never NaN, and never a silent zero for a cosine."""
    for size in (1e100, 1e152, 1e160, 1e300):
        rows = extreme_and_random_rows()[:5]
        rows[0] *= size
        try:
            kernel = basis.kernel(rows)
        except ValueError as error:
            advice = ("Standardise the columns", "standardise large columns", "need finite numbers")
            if size > 1e100 and any(text in str(error) for text in advice):
                continue
            raise
        assert np.isfinite(kernel).all(), size
        if isinstance(basis, ks.Sigmoid):
            moderate = np.vstack([rows[0] / size * 1e30, rows[1:]])
            np.testing.assert_allclose(
                kernel, basis.kernel(moderate), atol=1e-9, err_msg=f"{size=}"
            )


# Columns and shapes.


def test_wrong_number_of_columns():
    with pytest.raises(ValueError, match=r"X has 2 features.*expecting 3.*same columns"):
        fit()(ROWS).transform(ROWS[:, :2])
    with pytest.raises(
        ValueError, match=r"shape \(10, 2\).*made for 3 columns: need shape \(n, 3\)"
    ):
        DRAW.features(ROWS[:, :2])
    with pytest.raises(ValueError, match=r"X has 3 columns and Y has 2.*same columns"):
        ks.Fourier(gamma=1.0).kernel(ROWS, ROWS[:, :2])
    with pytest.raises(ValueError, match=r"threshold has 2 rows and the data 3 columns.*needs one"):
        ks.Stumps(np.zeros((2, 4))).kernel(ROWS)


def test_empty_arrays():
    for call in (fit(), ks.Fourier(gamma=1.0).kernel, ks.Fourier().resolve):
        with pytest.raises(ValueError, match=r"0 sample\(s\).*Need at least one row"):
            call(np.empty((0, 3)))
        with pytest.raises(ValueError, match=r"0 feature\(s\).*Need at least one column"):
            call(np.empty((3, 0)))


@pytest.mark.parametrize("rows", [ROWS[0], 3.0])
def test_not_a_table(rows):
    with pytest.raises(ValueError, match=r"(?s)Expected 2D array.*Reshape your data"):
        fit()(rows)
    with pytest.raises(ValueError, match=r"need shape \(n, 3\)"):
        DRAW.features(rows)


def test_no_rows_at_all():
    with pytest.raises(ValueError, match="X is None: need rows and columns"):
        fit()(None)
    with pytest.raises(ValueError, match=r"need shape \(n, 3\)"):
        DRAW.features(None)


def test_three_dimensions():
    with pytest.raises(ValueError, match="dim 3"):
        fit()(ROWS[None])


@pytest.mark.parametrize("basis", BASES, ids=name_of)
def test_one_row(basis):
    rows = extreme_and_random_rows()[:1]
    fitted = fit(basis)(rows)
    assert fitted.transform(rows).shape[0] == 1
    assert np.isfinite(basis.kernel(rows)).all()


@pytest.mark.parametrize(
    "basis",
    [ks.Fourier(), ks.ReLU(), ks.Binning(), ks.Stumps("quantile"), ks.Fourier(gamma="scale")],
    ids=repr,
)
@pytest.mark.parametrize("value", [0.0, 0.1, -1e9])
def test_constant_columns_do_not_divide_by_zero(basis, value):
    rows = np.full((8, 3), value)
    fitted = fit(basis)(rows)
    features = fitted.transform(rows)
    assert np.isfinite(features.data if sparse.issparse(features) else features).all()
    assert np.isfinite(fitted.basis_.kernel(rows)).all()


# Types of entries.


@pytest.mark.parametrize(
    "rows",
    [
        (9 * ROWS).astype(int),
        (9 * ROWS).astype(np.int8),
        ROWS > 0,
        ROWS.astype(object),
        ROWS.astype(str),
        ROWS.tolist(),
        ROWS.astype(np.float16),
        ROWS.astype(np.longdouble),
        pd.DataFrame(ROWS > 0),
        pd.DataFrame({"a": [1, 2], "b": [True, False], "c": [0.5, 1.5]}),
        pd.DataFrame(ROWS).astype(object),
    ],
    ids=str,
)
def test_numbers_of_any_type_are_float64(rows):
    expected = np.asarray(rows).astype(np.float64)
    features = fit()(rows).transform(rows)
    assert features.dtype == np.float64
    assert features.tolist() == fit()(expected).transform(expected).tolist()
    kernel = ks.Fourier(gamma=1.0).kernel(rows)
    np.testing.assert_array_equal(kernel, ks.Fourier(gamma=1.0).kernel(expected))


@pytest.mark.parametrize(
    "rows",
    [
        [["red", "blue"], ["blue", "red"]],
        np.array([[1, "x"], [2, "y"]], dtype=object),
        pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}),
        pd.DataFrame({"a": pd.Categorical(["x", "y"])}),
    ],
    ids=str,
)
def test_text(rows):
    for call in (fit(), ks.Fourier(gamma=1.0).kernel):
        with pytest.raises(ValueError, match=r"could not convert.*Need numbers: encode text"):
            call(rows)


@pytest.mark.parametrize("kind", [ks.StackedSinksRegressor, ks.StreamingRidgeCV])
def test_text_in_other_estimators(kind):
    """Stacks and streams had the words of scikit-learn alone, which do not say what to do."""
    rows = np.random.default_rng(0).normal(size=(60, 2))
    text = pd.DataFrame(rows).astype(object)
    text.iloc[0, 0] = "x"
    model = kind().fit(rows, rows[:, 0])
    for call in (lambda: kind().fit(text, rows[:, 0]), lambda: model.predict(text)):
        with pytest.raises(ValueError, match=r"could not convert.*Need numbers: encode text"):
            call()


def test_missing_values_of_pandas_are_told_as_others():
    rows = pd.DataFrame(ROWS).astype(object)
    rows.iloc[0, 0] = pd.NA
    with pytest.raises(ValueError, match=r"contains NaN.*Fill in or drop"):
        fit()(rows)


def test_complex_numbers():
    with pytest.raises(ValueError, match=r"(?s)Complex data not supported.*Need real numbers"):
        fit()(ROWS + 1j)


# Parameters.


@pytest.mark.parametrize("count", [0, -3, np.int64(0)])
def test_counts_below_one(count):
    for name, call in (
        ("n_components", lambda: fit(n_components=count)(ROWS)),
        ("n_components", lambda: ks.Stumps().draw(0, 3, count)),
        ("n_inputs", lambda: ks.Stumps().draw(0, count, 3)),
        ("pool", lambda: fit(ks.Maxout(count))(ROWS)),
        ("projections", lambda: fit(ks.Maxout(2, projections=count))(ROWS)),
    ):
        with pytest.raises(ValueError, match=f"{name}=.*need a whole number of 1 or more"):
            call()


@pytest.mark.parametrize("count", [2.5, 10.0, True, np.True_, "10", None, np.nan, [5]])
def test_counts_that_are_no_whole_numbers(count):
    for name, call in (
        ("n_components", lambda: fit(n_components=count)(ROWS)),
        ("n_components", lambda: ks.Union([ks.Stumps()]).draw(0, 3, count)),
        ("pool", lambda: fit(ks.Maxout(count))(ROWS)),
    ):
        with pytest.raises(TypeError, match=f"{name}=.* is of type .*need a whole number"):
            call()


@pytest.mark.parametrize(
    "gamma", [0, -1, -0.0, np.nan, np.inf, "auto", "1.0", None, True, {1.0}, np.array(0.5)]
)
@pytest.mark.parametrize("family", [ks.Fourier, ks.Binning, ks.Sigmoid, ks.ReLU])
def test_gamma(family, gamma):
    basis = family(gamma=gamma)
    for call in (lambda: fit(basis)(ROWS), lambda: basis.resolve(ROWS), lambda: basis.kernel(ROWS)):
        with pytest.raises(ValueError, match=r"gamma=.*need a positive.*'median' or 'scale'"):
            call()


@pytest.mark.parametrize("gamma", [[], [1.0, 0.0], [1.0, "median"], (np.nan,), [[-1.0]]], ids=str)
@pytest.mark.parametrize("family", [ks.Fourier, ks.Binning])
def test_gammas(family, gamma):
    with pytest.raises((ValueError, TypeError), match=r"gamma=.*need .*positive"):
        fit(family(gamma=gamma))(ROWS)


@pytest.mark.parametrize("family", [ks.Fourier, ks.Binning])
def test_gammas_of_columns(family):
    width = ROWS.shape[1]
    for gamma in ([[1.0] * (width + 1)], [[1.0] * width, [1.0]], [[1.0] * width, 1.0]):
        with pytest.raises(ValueError, match=r"gamma.*need .*a number for each column"):
            fit(family(gamma=gamma))(ROWS)
    with pytest.raises(ValueError, match="'hadamard' takes one for all"):
        fit(ks.Fourier(gamma=[[1.0] * width], projection="hadamard"))(ROWS)


CHOICES = [
    (ks.Fourier("rbf"), r"kernel='rbf': need one of 'gaussian', 'laplacian', 'exponential'"),
    (ks.Fourier(None), r"kernel=None: need one of 'gaussian'"),
    (ks.Fourier(form="both"), r"form='both': need one of 'phase', 'paired'"),
    (ks.Sigmoid("relu"), r"activation='relu': need one of 'logistic', 'tanh', 'erf', 'step'"),
    (ks.ReLU(law="cube"), r"law='cube': need one of 'sphere', 'gaussian'"),
    (ks.Stumps("median"), r"threshold='median': need one of 'normal', 'uniform', 'quantile'"),
    (ks.Stumps(None), r"threshold=None: need one of 'normal'"),
    (ks.Orthonormal(system="sine"), r"system='sine': need one of 'cosine', 'legendre'"),
    *(
        (family(projection="qr"), r"projection='qr': need one of 'gaussian', 'orthogonal', 'hada")
        for family in (ks.Fourier, ks.Sigmoid, ks.ReLU, ks.Maxout)
    ),
]


@pytest.mark.parametrize(("basis", "message"), CHOICES, ids=[m for _, m in CHOICES])
def test_unknown_names(basis, message):
    with pytest.raises(ValueError, match=message):
        fit(basis)(ROWS)


OTHERS = [
    (ks.Fourier("matern", nu=0), r"nu=0: need a positive"),
    (ks.Fourier("matern", nu="1"), r"nu='1': need a positive"),
    (ks.Stumps("uniform", a=-1), r"a=-1: need a positive"),
    (ks.Stumps(np.ones(4)), r"threshold of shape \(4,\): need 'normal'.*or a table of shape"),
    (ks.Stumps(np.array([[2.0, 1.0]] * 3)), r"not sorted: need.*rising order.*Use np.sort"),
    (ks.Stumps(np.full((3, 2), np.nan)), r"holds NaN or infinity.*need finite"),
    (ks.Maxout(3, projections=2), r"projections=2: a unit takes pool=3.*at least that many"),
    (ks.Orthonormal([-1.0, 1.0]), r"eigenvalues=.*need numbers of 0 or more"),
    (ks.Orthonormal([0.0]), r"eigenvalues=.*at least one of them positive"),
    (ks.Orthonormal([]), r"eigenvalues=\[\]: need a list of finite numbers"),
    (ks.Orthonormal(["a"]), r"eigenvalues=\['a'\]: need a list of finite numbers"),
    (ks.Orthonormal([np.nan]), r"eigenvalues=\[nan\]: need a list of finite numbers"),
    (ks.Orthonormal(5.0), r"eigenvalues=5.0: need a list of finite numbers"),
    (ks.Orthonormal(box=(1, 0)), r"box=\(1, 0\): need \(low, high\)"),
    (ks.Orthonormal(box=None), r"box=None: need \(low, high\)"),
    (ks.Union(), r"bases=\(\): need a list of one or more bases, such as"),
    (ks.Union([ks.Fourier]), r"need a list of one or more bases, such as \[Fourier\(\)"),
    (ks.Union(ks.Fourier()), r"bases=Fourier\(\): need a list"),
    (ks.Union([ks.Maxout(0)]), r"pool=0: need"),
    (ks.Union([ks.Stumps()], shares=[1, 2]), r"shares=\[1, 2\]: need 1 positive numbers"),
    (ks.Union([ks.Stumps()], shares=[-1]), r"shares=-1: need a positive finite number"),
    (ks.Union([ks.Stumps()], shares=3), r"shares=3: need 1 positive numbers"),
]


@pytest.mark.parametrize(("basis", "message"), OTHERS, ids=[m for _, m in OTHERS])
def test_parameters_that_make_no_sense(basis, message):
    with pytest.raises(ValueError, match=message):
        fit(basis)(ROWS)


def test_not_a_basis():
    with pytest.raises(TypeError, match=r"basis=Fourier: need an instance, such as Fourier\(\)"):
        fit(ks.Fourier)(ROWS)
    with pytest.raises(TypeError, match=r"basis='fourier' is of type str: need a basis such as"):
        fit("fourier")(ROWS)


@pytest.mark.parametrize("state", [-1, 2**64, 1.5, "a", True, np.random.default_rng(0)])
def test_random_state(state):
    with pytest.raises(ValueError, match=r"random_state=.*need a whole number from 0 to 2\*\*64"):
        fit(random_state=state)(ROWS)


@pytest.mark.parametrize("dtype", ["int32", "float16", "x", 5, bool, np.complex128])
def test_dtype(dtype):
    with pytest.raises(ValueError, match=r"dtype=.*: need 'float32', 'float64' or None"):
        fit(dtype=dtype)(ROWS)


# Functions of the user's own.


def sample(rng, n_inputs, count):
    return rng.standard_normal((count, n_inputs))


def features(rows, theta):
    return rows @ theta.T


FUNCTIONS = [
    (ks.Custom(), r"sample=None: Custom needs a function"),
    (ks.Custom(sample, "cos"), r"features='cos': Custom needs a function"),
    (ks.Custom(sample, features, kernel="rbf"), r"kernel='rbf': need a function or None"),
    (ks.Custom(sample, features, bound=-1), r"bound=-1: need a positive.*or math.inf"),
    (ks.Custom(sample, features, monte_carlo=0), r"monte_carlo=0: need a whole number"),
    (
        ks.Custom(lambda rng, d, n: np.ones((3, d)), features),
        r"sample\(rng, n_inputs=3, count=64\) returned ndarray of shape \(3, 3\).*need.*64 entries",
    ),
    (ks.Custom(lambda rng, d, n: 1.0, features), r"returned float 1.0: need an array.*64"),
    (ks.Custom(lambda rng, d, n: None, features), r"returned NoneType None: need an array"),
    (ks.Custom(lambda rng, d, n: {}, features), r"empty dict: need at least one array"),
    (
        ks.Custom(lambda rng, d, n: {"w": np.ones((n, d)), "b": np.ones(2)}, features),
        r"shape \(2,\) and dtype float64 for 'b': need an array",
    ),
    (
        ks.Custom(sample, lambda rows, theta: (rows @ theta.T).T),
        r"features\(rows, theta\) returned ndarray of shape \(5, 10\).*need shape \(10, 5\)",
    ),
    (ks.Custom(sample, lambda rows, theta: 1.0), r"returned float 1.0.*need shape \(10, 5\)"),
    (ks.Custom(sample, lambda rows, theta: rows @ theta.T / 0.0), r"NaN or infinity: need finite"),
    (
        ks.Custom(sample, lambda rows, theta: 1j * (rows @ theta.T)),
        r"complex128: need real numbers",
    ),
    (
        ks.Custom(sample, lambda rows, theta: np.full((len(rows), len(theta)), "x")),
        r"dtype <U1: need real numbers",
    ),
]


@pytest.mark.parametrize(("basis", "message"), FUNCTIONS, ids=[m for _, m in FUNCTIONS])
def test_custom_functions(basis, message):
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=message):
        fit(basis)(ROWS).transform(ROWS)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda a, b: np.ones(3), r"shape \(3,\).*need shape \(10, 10\)"),
        (lambda a, b: np.full((len(a), len(b)), np.nan), r"NaN or infinity: need finite"),
        (lambda a, b: np.full((len(a), len(b)), "x"), r"need real numbers"),
    ],
)
def test_custom_kernels(kernel, message):
    with pytest.raises(ValueError, match=rf"kernel\(rows, others\) returned.*{message}"):
        ks.Custom(sample, features, kernel=kernel).kernel(ROWS)
