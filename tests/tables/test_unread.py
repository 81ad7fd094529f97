"""What a prediction tells of columns that hold what the fit did not know."""

import warnings

import numpy as np
import pytest

import kitchensinks as ks

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {"size": RNG.normal(size=300), "city": RNG.choice(["Bonn", "Kiel", "Ulm"], 300)}
)
TARGETS = FRAME["size"] + (FRAME["city"] == "Kiel")


@pytest.fixture(scope="module")
def model():
    return ks.KitchenSinkRegressor(ks.Fourier(), 50, random_state=0).fit(FRAME, TARGETS)


def told(model, frame):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.predict(frame)
    return [str(one.message) for one in caught]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"city": "Köln"}, ["300 of 300", "'city'", "'Köln'"]),
        ({"city": FRAME["city"].str.upper()}, ["300 of 300", "'city'"]),
        ({"city": None}, ["'city' is missing in 300 of 300"]),
        ({"size": np.nan}, ["'size' is missing in 300 of 300"]),
    ],
    ids=["unknown", "another spelling", "no categories", "no numbers"],
)
def test_columns_of_which_most_is_unknown_or_missing_are_told(model, changes, words):
    (text,) = told(model, FRAME.assign(**changes))
    assert all(word in text for word in words)


def test_files_are_told_once_for_all_their_blocks(model, tmp_path):
    path = tmp_path / "rows.parquet"
    pd.concat([FRAME.assign(city="Köln")] * 200).to_parquet(path, row_group_size=1000)
    (text,) = told(model, ks.open_table(path))
    assert "60,000 of 60,000" in text


@pytest.mark.parametrize(
    "frame",
    [
        FRAME,
        FRAME.head(5).assign(city="Köln"),
        FRAME.head(1).assign(size=np.nan),
        FRAME.assign(city=["Köln"] * 100 + ["Ulm"] * 200),
        FRAME.assign(size=FRAME["size"].where(FRAME.index > 100)),
    ],
    ids=["known", "few rows", "one row", "some unknown", "some missing"],
)
def test_what_is_usual_is_not_told(model, frame):
    assert told(model, frame) == []


def test_values_that_were_missing_in_the_fit_may_be_missing():
    frame = FRAME.assign(size=FRAME["size"].where(FRAME.index > 10))
    model = ks.KitchenSinkRegressor(ks.Fourier(), 50, random_state=0).fit(frame, TARGETS)
    assert told(model, FRAME.assign(size=np.nan)) == []


def test_a_category_of_two_values_says_nothing_of_others():
    """One indicator is for the second value: the first one and unknown ones have zero."""
    frame = FRAME.assign(city=FRAME["city"].replace("Ulm", "Bonn"))
    model = ks.KitchenSinkRegressor(
        ks.Fourier(), 50, categorical_features=["city"], random_state=0
    ).fit(frame, np.column_stack([TARGETS, TARGETS]))
    assert told(model, frame.assign(city="Bonn")) == []
