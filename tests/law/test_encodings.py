"""Encodings of categories run on the threads that the caller allows."""

import threading

import numpy as np
import pandas as pd
import pytest

import kitchensinks as ks
from kitchensinks.law.encodings import encode
from kitchensinks.numerics.threads import threads
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.encoders import Category, Means, Text
from kitchensinks.tables.table import open_table
from kitchensinks.tables.view import Rows

pa = pytest.importorskip("pyarrow")


def mixed_rows(n_rows=600):
    rng = np.random.default_rng(0)
    level = rng.integers(0, 5, n_rows)
    words = np.array(["oslo", "rome", "paris", "bonn", "bern"])[level]
    table = open_table(pa.table({"city": words, "size": rng.normal(size=n_rows)}))
    return Rows(table, Columns.learn(table)), level.astype(float)


def test_one_thread_is_one_thread(monkeypatch):
    started = []
    start = threading.Thread.start

    def noted(thread):
        started.append(thread)
        start(thread)

    rows, targets = mixed_rows()
    monkeypatch.setattr(threading.Thread, "start", noted)
    with threads(1):
        found = encode(rows, targets, None, "regression")
    assert not started
    assert found.folded is not None


def test_the_encoding_of_an_earlier_fit_is_taken_again():
    rows, targets = mixed_rows()
    first = encode(rows, targets, None, "regression")
    again = encode(rows, targets, None, "regression", like=first.columns)
    kinds = [[type(one) for one in fit.columns.encoders] for fit in (first, again)]
    assert kinds[0] == kinds[1]
    plain = encode(rows, targets, None, "regression", like=rows.columns)
    assert isinstance(plain.columns.encoders[0], Category)


@pytest.mark.usefixtures("little_work")
def test_text_that_repeats_in_one_fit_alone_is_encoded_as_in_the_first_one():
    """50 words of 10 rows each are categories; without some of the rows they are free text."""
    words = np.array([f"word {k} of many" for k in range(50)])[np.arange(510) % 50]
    table = open_table(pa.table({"text": words}))
    rows, targets = Rows(table, Columns.learn(table)), np.arange(510.0) % 7
    few = (np.arange(510) < 350).astype(float)
    for weights, others, kind in ((None, few, Means), (few, None, Text)):
        first = encode(rows, targets, weights, "regression")
        assert isinstance(first.columns.encoders[0], kind)
        again = encode(rows, targets, others, "regression", like=first.columns)
        assert isinstance(again.columns.encoders[0], kind)
        assert again.shape == first.shape


def test_few_rows_or_a_constant_target_take_means_without_a_trial(monkeypatch):
    monkeypatch.setattr("kitchensinks.law.encodings.short_run", None)
    rows, targets = mixed_rows(100)
    assert isinstance(encode(rows, targets, None, "regression").columns.encoders[0], Means)
    rows, targets = mixed_rows()
    constant = encode(rows, np.ones_like(targets), None, "regression")
    assert isinstance(constant.columns.encoders[0], Means)


def test_several_outputs_have_indicators():
    rows, targets = mixed_rows()
    found = encode(rows, np.column_stack([targets, targets]), None, "regression")
    assert isinstance(found.columns.encoders[0], Category)
    assert encode(found, targets, None, "regression") is found


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize("levels", [30, 200, 1500])
def test_text_and_categories_of_the_same_values_give_the_same_model(levels):
    """Whether each value has two hundred rows or four."""
    rng = np.random.default_rng(0)
    level, x = rng.integers(0, levels, 6000), rng.normal(size=6000)
    y = rng.normal(size=levels)[level] + np.sin(2 * x)
    words = np.array([f"w{code:06x}" for code in rng.integers(0, 16**6, levels)])[level]
    answers = []
    for column in (words, pd.Categorical(words)):
        frame = pd.DataFrame({"x": x, "word": column})
        model = ks.KitchenSinkRegressor(ks.Fourier(), 60, random_state=0).fit(frame, y)
        assert isinstance(model.columns_.encoders[1], Means | Category)
        answers.append(model.predict(frame))
    np.testing.assert_array_equal(*answers)
