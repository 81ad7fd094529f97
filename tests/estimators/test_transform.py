"""RandomFeatures: a scikit-learn transformer like any other."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_estimator,
    check_get_feature_names_out_error,
    check_set_output_transform_pandas,
    check_set_output_transform_polars,
    check_transformer_get_feature_names_out,
    check_transformer_get_feature_names_out_pandas,
    parametrize_with_checks,
)

import kitchensinks as ks
import kitchensinks.estimators.transform as transform_module
from kitchensinks import RandomFeatures
from tests.catalogue import _custom_features, _custom_sample

FAMILIES = [
    None,
    ks.Fourier(form="paired"),
    ks.Fourier("laplacian"),
    ks.Fourier("matern", projection="orthogonal"),
    ks.Fourier("exponential", projection="hadamard"),
    ks.Stumps(),
    ks.Stumps("quantile"),
    ks.Binning(),
    ks.Sigmoid(),
    ks.ReLU(),
    ks.Maxout(3),
    ks.Maxout(3, projections=9),
    ks.Orthonormal(),
    ks.Custom(_custom_sample, _custom_features),
    ks.Union([ks.Fourier(), ks.Stumps("quantile")]),
    ks.Union([ks.Fourier(), ks.Binning()]),
]
every_family = pytest.mark.parametrize(
    "basis", FAMILIES, ids=[str(n) + type(basis).__name__ for n, basis in enumerate(FAMILIES)]
)
ROWS = np.random.default_rng(0).normal(size=(30, 4))


def transformer(basis, **options):
    return RandomFeatures(basis, **{"n_components": 12, "random_state": 0, **options})


def dense(features):
    return features.toarray() if sparse.issparse(features) else np.asarray(features)


def named(families):
    """Those whose representation is the same in every process: names of tests are made of it."""
    return [basis for basis in families if "function" not in repr(basis)]


# What the checks look at (shapes, dtypes, sparse output, what is learned from the rows) differs
# between these; the laws of tests/laws run over every basis.
CHECKED = [
    None,
    ks.Stumps("quantile"),
    ks.Maxout(3, projections=9),
    ks.Binning(),
    ks.Union([ks.Fourier("exponential", projection="hadamard"), ks.Binning()]),
]


@parametrize_with_checks([RandomFeatures(basis, n_components=20) for basis in CHECKED])
def test_scikit_learn_checks(estimator, check):
    """Every check of scikit-learn's, none of them expected to fail."""
    check(estimator)


MORE = [basis for basis in named(FAMILIES) if repr(basis) not in map(repr, CHECKED)]
MORE += [ks.Fourier("exponential", projection="hadamard"), ks.Union([ks.Fourier(), ks.Binning()])]


# One test for each of them: names of their checks would be made whenever tests are collected.
@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(MORE)))
def test_scikit_learn_checks_of_more(place):
    check_estimator(RandomFeatures(MORE[place], n_components=20))


def test_scikit_learn_checks_of_functions():
    custom = [basis for basis in FAMILIES if basis not in named(FAMILIES)]
    assert custom
    for basis in custom:
        check_estimator(RandomFeatures(basis, n_components=20))


@pytest.mark.parametrize("basis", [None, ks.Fourier(form="paired"), ks.Stumps(), ks.Maxout(2)])
@pytest.mark.parametrize(
    "check",
    [
        check_dataframe_column_names_consistency,
        check_get_feature_names_out_error,
        check_set_output_transform_pandas,
        check_set_output_transform_polars,
        check_transformer_get_feature_names_out,
        check_transformer_get_feature_names_out_pandas,
    ],
)
def test_checks_of_names_and_containers(check, basis):
    check("RandomFeatures", transformer(basis))


@every_family
def test_products_of_features_approximate_the_kernel(basis):
    if isinstance(basis, ks.Maxout) and basis.projections:
        basis = ks.Maxout(3, projections=900)
    features = transformer(basis, n_components=3000).fit(ROWS)
    Z = features.transform(ROWS)
    kernel = features.basis_.kernel(ROWS)
    assert np.abs(dense(Z @ Z.T) - kernel).max() < 0.25 * kernel.max()


@every_family
def test_dtype_in_is_dtype_out(basis):
    wide = transformer(basis).fit(ROWS.astype(np.float32).astype(np.float64))
    narrow = transformer(basis).fit(ROWS.astype(np.float32))
    expected = wide.transform(ROWS.astype(np.float32).astype(np.float64))
    for fitted in (wide, narrow):
        for dtype in (np.float32, np.float64):
            # Quantile thresholds are values of the rows: give both the same values.
            features = fitted.transform(ROWS.astype(np.float32).astype(dtype))
            assert features.dtype == dtype
            np.testing.assert_allclose(dense(features), dense(expected), atol=1e-4)
    assert narrow.draw_.dtype == np.float32
    assert wide.draw_.dtype == np.float64


@pytest.mark.parametrize("dtype", ["float32", np.float64])
def test_a_dtype_can_be_forced(dtype):
    for rows in (ROWS, ROWS.astype(np.float32), (10 * ROWS).astype(int), ROWS > 0):
        assert transformer(None, dtype=dtype).fit_transform(rows).dtype == np.dtype(dtype)


@every_family
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array])
def test_sparse_input(basis, kind):
    rows = np.where(ROWS > 0, ROWS, 0)
    expected = transformer(basis).fit_transform(rows)
    features = transformer(basis).fit(kind(rows)).transform(kind(rows))
    np.testing.assert_allclose(dense(features), dense(expected), atol=1e-12)
    assert sparse.issparse(features) == sparse.issparse(expected)


def test_a_wide_sparse_table_is_never_filled_in():
    rows = sparse.random_array((100, 50_000), density=1e-4, format="csr", random_state=0)
    for basis in (ks.Fourier(), ks.ReLU()):
        features = transformer(basis, n_components=8).fit(rows).transform(rows)
        assert features.shape == (100, 8)


@every_family
def test_names(basis):
    fitted = transformer(basis).fit(ROWS)
    names = fitted.get_feature_names_out()
    assert names.dtype == object
    assert len(set(names)) == len(names) == fitted.transform(ROWS).shape[1]


def test_names_of_the_paired_form():
    fitted = transformer(ks.Fourier(form="paired"), n_components=2).fit(ROWS)
    assert fitted.get_feature_names_out().tolist() == ["cos0", "sin0", "cos1", "sin1"]


@pytest.mark.parametrize(
    ("container", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)]
)
def test_data_frames_in_and_out(container, frame):
    table = frame({name: ROWS[:, j] for j, name in enumerate("abcd")})
    fitted = transformer(ks.ReLU()).set_output(transform=container).fit(table)
    assert fitted.feature_names_in_.tolist() == list("abcd")
    features = fitted.transform(table)
    assert isinstance(features, frame)
    assert list(features.columns) == fitted.get_feature_names_out().tolist()
    np.testing.assert_allclose(features.to_numpy(), transformer(ks.ReLU()).fit_transform(ROWS))
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(frame({name: ROWS[:, j] for j, name in enumerate("abce")}))


def test_one_column_of_a_table():
    table = pd.DataFrame(ROWS, columns=list("abcd"))
    parts = make_column_transformer((transformer(None), ["a", "b"]), remainder="passthrough")
    assert parts.fit_transform(table).shape == (30, 14)
    assert parts.get_feature_names_out()[0] == "randomfeatures__fourier0"
    both = make_union(transformer(ks.Stumps()), transformer(ks.Binning()))
    assert both.fit_transform(ROWS).shape[0] == 30


@every_family
def test_clone_and_pickle(basis):
    fitted = transformer(basis).fit(ROWS)
    expected = dense(fitted.transform(ROWS))
    copied = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(dense(copied.transform(ROWS)), expected)
    again = clone(fitted).fit(ROWS)
    np.testing.assert_array_equal(dense(again.transform(ROWS)), expected)
    assert not hasattr(clone(fitted), "draw_")


def test_search_over_gamma_in_a_pipeline():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), transformer(ks.Fourier(), n_components=60))
    pipeline = make_pipeline(*pipeline, RidgeClassifier())
    grid = {
        "randomfeatures__basis__gamma": ["median", 1e-6, 0.1],
        "randomfeatures__basis__kernel": ["gaussian", "laplacian"],
    }
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_params_["randomfeatures__basis__gamma"] in ("median", 0.1)
    assert search.best_score_ > 0.9
    bases = {"randomfeatures__basis": [ks.Fourier(), ks.Stumps("quantile"), ks.Maxout(3)]}
    assert GridSearchCV(pipeline, bases, cv=3).fit(X, y).best_score_ > 0.8


@every_family
def test_representations(basis):
    features = transformer(basis)
    assert "n_components=12" in repr(features)
    page = features._repr_html_()
    assert "RandomFeatures" in page
    assert "n_components" in page
    fitted = features.fit(ROWS)
    assert "RandomFeatures" in fitted._repr_html_()
    assert repr(fitted.basis_)


def test_the_representation_of_a_basis_names_its_kernel():
    assert repr(ks.Fourier("matern", gamma=2.0)) == "Fourier(gamma=2.0, kernel='matern')"
    assert "matern" in RandomFeatures(ks.Fourier("matern"))._repr_html_()


@every_family
def test_no_rows_give_no_rows(basis):
    fitted = transformer(basis).fit(ROWS)
    nothing = fitted.transform(ROWS[:0])
    assert nothing.shape == (0, len(fitted.get_feature_names_out()))
    assert nothing.dtype == np.float64


@every_family
def test_targets_are_ignored(basis):
    plain = transformer(basis).fit(ROWS)
    with_targets = transformer(basis).fit(ROWS, np.arange(30))
    np.testing.assert_array_equal(dense(plain.transform(ROWS)), dense(with_targets.transform(ROWS)))


@every_family
@pytest.mark.parametrize("entries", [1, 500, 2**30])
def test_row_blocks_do_not_matter(basis, entries, monkeypatch):
    rows = np.vstack([ROWS] * 3)
    expected = dense(transformer(basis).fit_transform(rows))
    monkeypatch.setattr(transform_module, "_BLOCK_ENTRIES", entries)
    np.testing.assert_allclose(
        dense(transformer(basis).fit_transform(rows)), expected, rtol=1e-12, atol=1e-12
    )


def test_prefix_of_a_seed():
    few = transformer(None, n_components=10).fit_transform(ROWS)
    many = transformer(None, n_components=1000).fit_transform(ROWS)
    np.testing.assert_allclose(few * np.sqrt(10), many[:, :10] * np.sqrt(1000), rtol=1e-9)


def test_random_states():
    numbers = [
        transformer(None, random_state=state).fit(ROWS).seed_
        for state in (5, np.int64(5), np.random.RandomState(0), np.random.RandomState(0))
    ]
    assert numbers[0] == numbers[1] == 5
    assert numbers[2] == numbers[3]
    assert transformer(None, random_state=2**64 - 1).fit(ROWS).seed_ == 2**64 - 1
    first, second = (transformer(None, random_state=None).fit(ROWS).seed_ for _ in range(2))
    assert first != second


def test_rows_of_no_weight_leave_no_trace():
    weights = np.r_[np.zeros(10), np.ones(20)]
    for basis in (ks.Fourier(), ks.Binning(), ks.Stumps("quantile")):
        weighted = transformer(basis).fit(ROWS, sample_weight=weights)
        without = transformer(basis).fit(ROWS[10:])
        np.testing.assert_array_equal(
            dense(weighted.transform(ROWS)), dense(without.transform(ROWS))
        )
    with pytest.raises(ValueError, match="zero for every row"):
        transformer(None).fit(ROWS, sample_weight=np.zeros(30))


@pytest.mark.parametrize("estimator", [ks.RandomFeatures(), ks.MaxoutHash()])
def test_dask_collections_are_not_computed_in_silence(estimator):
    rows = pytest.importorskip("dask.array").ones((20, 3), chunks=(10, 3))
    with pytest.raises(ValueError, match=rf"{type(estimator).__name__} takes rows in memory here"):
        estimator.fit(rows)


def test_union_of_dense_and_sparse_features():
    basis = ks.Union([ks.Fourier(), ks.Binning()], shares=[1, 2])
    features = transformer(basis, n_components=30).fit_transform(ROWS)
    assert isinstance(features, sparse.csr_array)
    owners = basis.owners(30)
    assert (owners == 0).sum() == 10


def test_constant_columns():
    rows = np.hstack([ROWS, np.ones((30, 1)), np.zeros((30, 1))])
    for basis in FAMILIES:
        assert np.isfinite(dense(transformer(basis).fit_transform(rows))).all()
        assert np.isfinite(dense(transformer(basis).fit_transform(rows[:, 4:]))).all()
