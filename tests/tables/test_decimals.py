"""Numbers with a decimal comma in text files, as spreadsheets write them between semicolons."""

import numpy as np
import pandas as pd
import pytest

from kitchensinks.tables.table import open_table


def types_of(path, text):
    path.write_text(text, newline="")
    return [str(kind) for kind in open_table(path).schema.types]


def test_decimal_commas_between_semicolons_are_read(tmp_path):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.normal(size=300), "b": random.normal(size=300) * 1e4})
    frame["c"], frame["d"] = random.integers(0, 9, 300), random.choice(["x, 1", "y"], 300)
    frame.to_csv(tmp_path / "a.csv", sep=";", decimal=",", index=False)
    table = open_table(tmp_path / "a.csv")
    found = pd.concat([batch.to_pandas() for batch in table.batches()], ignore_index=True)
    pd.testing.assert_frame_equal(found, frame, check_dtype=False)


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("a;b\r\n1,5;2\r\n3;4\r\n", ["double", "int64"]),
        ("a;b\n1;-2,25", ["int64", "double"]),
        # Three digits may be thousands.
        ("a;b\n1,500;2\n2,300;4\n", ["string", "int64"]),
        # The file has decimal points.
        ("a;b\n1,5;2.5\n3,5;1.5\n", ["string", "double"]),
        ("a\tb\n1,5\t2\n", ["string", "int64"]),
        ('a,b\n"1,5",2\n', ["string", "int64"]),
    ],
)
def test_a_comma_is_taken_for_a_point_only_where_it_can_be_nothing_else(text, types, tmp_path):
    assert types_of(tmp_path / "a.csv", text) == types
