"""Models of mixed frames and Dask frames: an error of their own, and partition by partition."""

import warnings

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import kitchensinks as ks

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"size": RNG.normal(100.0, 1.0, 200), "kind": RNG.choice(["a", "b"], 200)})
Y = FRAME["size"] + (FRAME["kind"] == "a")


def fitted(kind, frame, y):
    return kind(ks.Fourier(), n_components=20, random_state=0).fit(frame, y)


@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_the_error_shows_a_call_that_works(method):
    model = fitted(ks.KitchenSinkClassifier, FRAME, (FRAME["kind"] == "a").astype(int))
    X = dd.from_pandas(FRAME, npartitions=3)
    with pytest.raises(ValueError, match=rf"X\.map_partitions\(model\.{method}, meta=") as told:
        getattr(model, method)(X)
    assert "get_dummies" not in str(told.value)
    call = str(told.value).rpartition(": ")[2].rstrip(".")
    lazy = eval(call, {"X": X, "model": model, "numpy": np})
    expected = getattr(model, method)(FRAME)
    np.testing.assert_allclose(lazy.compute(), expected, rtol=1e-5)
    assert lazy.dtype == expected.dtype
    with pytest.raises(ValueError, match=r"X\.map_partitions\(model\.predict, meta="):
        model.score(X, X["kind"])


def test_a_model_of_numbers_with_a_gap_predicts_collections():
    frame = FRAME[["size"]].copy()
    frame.loc[3, "size"] = np.nan
    model = fitted(ks.KitchenSinkRegressor, frame, Y)
    lazy = model.predict(dd.from_pandas(frame, npartitions=2))
    np.testing.assert_allclose(lazy.compute(), model.predict(frame), rtol=1e-5)


def test_a_model_of_numbers_refuses_text_without_the_advice_for_fits():
    numbers = FRAME[["size"]].assign(kind=1.0)
    model = fitted(ks.KitchenSinkRegressor, numbers, Y)
    with pytest.raises(ValueError, match="columns kind hold no numbers, and the model was fitted"):
        model.predict(dd.from_pandas(FRAME, npartitions=2))


@pytest.mark.parametrize(
    "index", [range(200), [f"r{k}" for k in range(200)]], ids=["place", "name"]
)
@pytest.mark.parametrize("names", [["size", "kind"], ["size"]], ids=["mixed", "numbers"])
def test_rows_that_dask_makes_up_are_not_outside(index, names):
    frame = FRAME[names].set_index(pd.Index(index))
    model = fitted(ks.KitchenSinkRegressor, frame, Y.to_numpy())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lazy = dd.from_pandas(frame, npartitions=3).map_partitions(model.predict)
    far = frame[:2].assign(size=2.0)
    with pytest.warns(UserWarning, match="100% of 2 rows are outside"):
        model.predict(far)
    assert len(lazy.compute()) == 200


@pytest.mark.parametrize("where", ["index", "column"])
def test_rows_that_dask_cannot_make_up_are_predicted(where):
    spans = pd.interval_range(0, len(FRAME))
    frame = FRAME.set_index(spans) if where == "index" else FRAME.assign(span=spans)
    model = fitted(ks.KitchenSinkRegressor, frame, Y.to_numpy())
    with pytest.warns(UserWarning, match="100% of 2 rows are outside"):
        assert model.predict(frame[:2].assign(size=2.0)).shape == (2,)
