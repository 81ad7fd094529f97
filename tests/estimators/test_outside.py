"""Rows outside of the range of the fitted rows: predicted as at its edge, counted and told."""

import itertools
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import kitchensinks as ks
from tests.catalogue import BASES, name_of

N_ROWS = 300
RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, size=(N_ROWS, 4))
Y = 5.0 * X[:, 0] + X[:, 1] ** 2
LEARNED = ks.Learned(effort="quick", steps=3, batch=64, seconds=0.05)


@pytest.mark.parametrize("basis", BASES, ids=name_of)
def test_a_column_sent_far_away_is_at_the_edge(basis):
    model = ks.KitchenSinkRegressor(basis, n_components=20, random_state=0).fit(X, Y)
    for column, far in itertools.product((0, 2), (-1e6, 1e6)):
        away, edge = X[:20].copy(), X[:20].copy()
        away[:, column] = far
        edge[:, column] = X[:, column].max() if far > 0 else X[:, column].min()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            np.testing.assert_array_equal(
                model.predict(away), model.predict(edge), err_msg=f"{column=}, {far=}"
            )


@pytest.mark.parametrize("members", [1, 2])
def test_a_learned_law_is_safe_too(members):
    rows = np.vstack([X] * 2) + 1e-3 * RNG.normal(size=(2 * N_ROWS, 4))
    learned = LEARNED.set_params(members=members)
    model = ks.KitchenSinkRegressor(learned, random_state=0).fit(rows, np.tile(Y, 2))
    away, edge = rows[:20].copy(), rows[:20].copy()
    away[:, 0], edge[:, 0] = 1e6, rows[:, 0].max()
    trend = model.law_.trend
    if trend is not None and 0 in trend.places:
        # A line ends one width of the range beyond its edge.
        edge[:, 0] += np.ptp(rows[:, 0])
    with pytest.warns(UserWarning, match="100% of 20 rows"):
        np.testing.assert_array_equal(model.predict(away), model.predict(edge))


def test_rows_outside_are_named_and_told_once():
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=20, random_state=0).fit(frame, Y)
    new = frame[:40].copy()
    new.loc[:9, "b"] = 7.0
    new.loc[:2, "c"] = -7.0
    found = model.outside(new)
    assert found.columns == {"b": 10, "c": 3}
    assert found.rows.tolist() == [True] * 10 + [False] * 30
    assert found.share == 0.25
    assert repr(found) == str(found) == "Outside(10 of 40 rows; 'b': 10, 'c': 3)"
    assert repr(model.outside(frame)) == f"Outside(0 of {N_ROWS} rows)"
    with pytest.warns(UserWarning, match=r"25% of 40 rows .* 'b' \(10 rows\)\. Such"):
        model.predict(new)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(new)
        model.fit(frame, Y).predict(frame)
    with pytest.warns(UserWarning, match="25% of 40 rows"):
        model.predict(new)


def test_columns_of_a_mixed_frame_have_their_own_names():
    frame = pd.DataFrame({"kind": np.where(X[:, 2] > 0, "x", "y"), "size": X[:, 0]})
    model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=20, random_state=0).fit(frame, Y)
    new = frame[:10].copy()
    new["size"] = 9.0
    assert model.outside(new).columns == {"size": 10}


def test_few_rows_outside_are_not_told_and_rows_taken_as_they_come_have_no_range():
    model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=20, random_state=0).fit(X, Y)
    new = X[:100].copy()
    new[0] = 9.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(new)
    assert model.outside(new).columns == {0: 1, 1: 1, 2: 1, 3: 1}
    plain = ks.KitchenSinkRegressor(
        ks.ReLU(), n_components=20, standardize=False, random_state=0
    ).fit(X, Y)
    assert plain.outside(new).columns == {}
    assert plain.predict(100.0 * X[:5]).max() > 50.0


def test_the_range_grows_with_batches_and_merges():
    """The same predictions as one fit, outside of the range too."""
    whole = ks.KitchenSinkRegressor(ks.Fourier(), n_components=20, random_state=0).fit(X, Y)
    one = ks.KitchenSinkRegressor(ks.Fourier(), n_components=20, random_state=0)
    one.set_params(alpha=whole.alpha_).freeze(X, Y)
    whole.set_params(alpha=whole.alpha_).fit(X, Y)
    two = pickle.loads(pickle.dumps(one))
    one.partial_fit(X[:100], Y[:100]).partial_fit(X[100:200], Y[100:200])
    one.merge(two.partial_fit(X[200:], Y[200:]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(one.predict(3.0 * X), whole.predict(3.0 * X), rtol=1e-3)
        few = ks.KitchenSinkRegressor(ks.Fourier(), n_components=20, random_state=0)
        few.partial_fit(X[:50], Y[:50])
        assert few.outside(X).rows.any()
        assert not few.partial_fit(X[50:], Y[50:]).outside(X).rows.any()
