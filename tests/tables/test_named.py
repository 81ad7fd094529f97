"""Columns named as categories: by name, place or mask, whatever their type."""

import numpy as np
import pyarrow as pa
import pytest

from kitchensinks.tables.columns import Columns, array_table
from kitchensinks.tables.encoders import Category, Number
from kitchensinks.tables.named import columns_named
from kitchensinks.tables.table import open_table
from kitchensinks.tables.words import words_of

NAMES = ["age", "height", "city"]


@pytest.mark.parametrize(
    "given",
    [
        ["city", "age"],
        ("age", "city"),
        [0, 2],
        np.array([2, 0]),
        [True, False, True],
        {"age", "city"},
    ],
    ids=lambda given: repr(sorted(given) if isinstance(given, set) else given),
)
def test_names_places_and_masks_say_the_same(given):
    assert columns_named(given, NAMES) == ["age", "city"]


@pytest.mark.parametrize("given", ["from_dtype", None, [], [False, False, False]], ids=repr)
def test_nothing_is_named(given):
    assert columns_named(given, NAMES) == []


@pytest.mark.parametrize("given", ["age", 3, [1.5], [0, "age"], [True, 1, 0], [[0, 1]]])
def test_what_cannot_name_columns_is_refused(given):
    with pytest.raises(TypeError, match="need 'from_dtype', None, or a list"):
        columns_named(given, NAMES)


@pytest.mark.parametrize(
    ("given", "named", "text"),
    [
        ([3], True, "indices from 0 to 2"),
        ([-1], True, "indices from 0 to 2"),
        ([True], True, "3 columns: need one entry for each"),
        (["City"], True, "did you mean 'city'"),
        (["city"], False, "give indices, or a data frame"),
    ],
)
def test_columns_that_are_not_there_are_named(given, named, text):
    with pytest.raises(ValueError, match=text):
        columns_named(given, NAMES, named)


def test_a_number_is_the_same_word_in_every_type():
    values = [3, 0, -2, 2**40, None]
    expected = ["3", "0", "-2", str(2**40), None]
    for kind in (pa.int64(), pa.float64(), pa.string()):
        given = pa.array([None if one is None else str(one) for one in values]).cast(kind)
        assert words_of(given).to_pylist() == expected
    odd = words_of(pa.array([-0.0, 2.5, 1e16, float("nan")]))
    assert odd.to_pylist() == ["0", "2.5", "1e+16", None]


def test_numbers_of_a_table_become_categories_where_they_are_named():
    table = open_table(pa.table({"code": [7, 9, 7, None], "size": [1.0, 2.0, 3.0, 4.0]}))
    recipe = Columns.learn(table, categories=["code"])
    assert [type(one) for one in recipe.encoders] == [Category, Number]
    assert recipe.encoders[0].levels == ("9",)
    numbers = recipe.apply(next(table.batches()))
    np.testing.assert_array_equal(numbers, [[0, 0, 1], [1, 0, 2], [0, 0, 3], [0, 1, 4]])


def test_a_column_that_names_rows_stays_where_it_is_named():
    table = open_table(pa.table({"id": list(range(500)), "size": np.arange(500.0) % 7}))
    with pytest.warns(UserWarning, match="'id'"):
        assert Columns.learn(table).inputs == ["size"]
    assert Columns.learn(table, categories=["id"]).inputs == ["id", "size"]


def test_dates_are_no_categories():
    table = open_table(pa.table({"when": np.array(["2020-01-01"], dtype="datetime64[s]")}))
    with pytest.raises(ValueError, match=r"'when'.*need text, numbers or booleans"):
        Columns.learn(table, categories=[0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_recipe_of_an_array_is_that_of_its_table(dtype):
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.choice([0.1, 2.0, np.nan], 50), rng.normal(size=50)]).astype(dtype)
    table = open_table(array_table(rows))
    recipe = Columns.learn(table, categories=["x0"])
    own = recipe.of_places(2)
    assert own.coded
    assert not recipe.coded
    np.testing.assert_array_equal(own.of_rows(rows), recipe.apply(next(table.batches())))
    again = Columns.restore(*own.describe())
    np.testing.assert_array_equal(again.of_rows(rows), own.of_rows(rows))
    assert again.fingerprint() == own.fingerprint()
