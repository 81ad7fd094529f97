"""Columns of every kind that skrub takes are read by `sinks fit`, from Parquet and from CSV."""

import decimal
import json
import warnings

import numpy as np
import pandas as pd
import pytest

ROWS = 300


def frame():
    rng = np.random.default_rng(0)
    days = pd.to_timedelta(rng.integers(0, 900, ROWS), unit="D")
    seconds = pd.to_timedelta(rng.integers(0, 90_000, ROWS), unit="s")
    return pd.DataFrame(
        {
            "number": rng.normal(size=ROWS),
            "whole": rng.integers(0, 9, ROWS),
            "truth": rng.random(ROWS) < 0.5,
            "truth or not known": pd.array(rng.choice([True, False, None], ROWS), "boolean"),
            "whole or not known": pd.array(rng.choice([1, 2, 3, None], ROWS), "Int64"),
            "category": pd.Categorical(rng.choice(list("abc"), ROWS)),
            "word": rng.choice(["x", "y", "z", None], ROWS),
            "date": pd.Timestamp("2024-01-01") + days,
            "time with a zone": pd.Timestamp("2024-01-01", tz="Europe/Berlin") + seconds,
            "duration": seconds,
            "written date": pd.Series(pd.Timestamp("2024-01-01") + days).dt.strftime("%Y-%m-%d"),
            "decimal": [decimal.Decimal(int(one)) / 10 for one in rng.integers(0, 99, ROWS)],
            "written number": rng.integers(0, 99, ROWS).astype(str),
            "nothing": np.nan,
        }
    )


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_every_column_of_skrub_is_used(ending, sinks, tmp_path):
    import kitchensinks as ks

    skrub = pytest.importorskip("skrub")
    table = frame()
    target = table.number + table.whole + (table.category == "a")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        vectorizer = skrub.TableVectorizer().fit(table)
    known = {name for name, made in vectorizer.input_to_outputs_.items() if made} - {"nothing"}
    assert known == set(table) - {"nothing"}
    data, model = tmp_path / f"all.{ending}", tmp_path / "model.sinks"
    whole = table.assign(target=target)
    if ending == "csv":
        whole.to_csv(data, index=False)
    else:
        whole.to_parquet(data)
    options = ["--basis", "fourier", "--components", "50", "--validation", "0", "--quiet"]
    code, _, said = sinks("fit", data, "--target", "target", "--out", model, *options)
    assert code == 0, said
    used = set(ks.load(model).columns_.inputs)
    assert known <= used
    code, out, _ = sinks("score", model, data, "--json")
    assert code == 0
    assert json.loads(out)["r2"] > 0.5


def test_a_loss_for_numbers_makes_counts_a_regression(sinks, tmp_path):
    """Five different whole numbers are classes otherwise."""
    table = frame()[["number", "whole"]].assign(count=np.arange(ROWS) % 5)
    data = tmp_path / "counts.csv"
    table.to_csv(data, index=False)
    given = ("fit", data, "--target", "count", "--basis", "fourier", "--components", 20, "--json")
    for loss, task in (("poisson", "regression"), ("squared", "classification")):
        status, out, error = sinks(*given, "--out", tmp_path / f"{loss}.sinks", "--loss", loss)
        assert status == 0, error
        assert json.loads(out)["task"] == task
