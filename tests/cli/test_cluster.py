"""`sinks fit` on Dask: the model of a fit without it, and errors that say what to do."""

import json
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import kitchensinks as ks
from kitchensinks.cli.cluster import ClusterSource
from tests.cli.conftest import rows_of, write

distributed = pytest.importorskip("distributed")


@pytest.fixture
def folder(tmp_path):
    """A mixed table in three files."""
    for number in range(3):
        write(rows_of(300, seed=number), tmp_path / f"part-{number}.parquet")
    return tmp_path


def fit(sinks, data, out, *options):
    given = ["--drop", "price", "--drop", "id", "--basis", "fourier", "--components", "60"]
    return sinks("fit", data, "--target", "kind", "--out", out, "--json", *given, *options)


@pytest.mark.parametrize("processes", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_folder_of_parquet_on_two_workers(sinks, folder, tmp_path, monkeypatch, processes):
    """The law that was scored, fitted to all rows as without a cluster; the model takes tables.

    The workers are threads, because processes take long to start: `tests/execution` has some.
    """
    start = distributed.LocalCluster
    monkeypatch.setattr(distributed, "LocalCluster", partial(start, processes=processes))
    out = tmp_path / "dask.sinks"
    code, said, notes = fit(sinks, folder / "*.parquet", out, "--dask", "local:2")
    assert code == 0, notes
    assert "dashboard: http" in notes
    facts = json.loads(said)
    assert facts["rows"] == 900
    assert facts["validation"]["accuracy"] > 0.8
    table, model = ks.open_table(folder / "*.parquet"), ks.load(out)
    assert isinstance(model.basis, ks.Fourier)
    assert model.n_components == 60
    rows = ks.Rows(table, model.columns_)[:]
    here = ks.KitchenSinkClassifier(model.law_, random_state=0).fit(rows, ks.targets(table, "kind"))
    scores = here.decision_function(rows)
    np.testing.assert_allclose(model.decision_function(table), scores, atol=0.02 * scores.std())


@pytest.mark.parametrize(
    ("name", "separator"),
    [("a.csv", ","), ("a.csv", ";"), ("a.tsv", "\t"), ("a.tsv.gz", "\t"), ("a.CSV.gz", ";")],
)
def test_separators_and_endings_are_those_of_tables(name, separator, tmp_path):
    frame = pd.DataFrame({"a": [1.5, 2.5, 3.5], "kind": ["x", "y", "x"]})
    frame.to_csv(tmp_path / name, sep=separator, index=False)
    given = {"data": str(tmp_path / name), "seed": 0, "task": "auto", "loss": "squared"}
    source = ClusterSource.read(SimpleNamespace(target="kind", excluded=["kind"], **given), "")
    assert list(source.table.columns) == ["a", "kind"]
    assert source.n_rows == 3
    with pytest.raises(ValueError, match="There is no column 'kin'"):
        ClusterSource.read(SimpleNamespace(target="kin", excluded=["kin"], **given), "")


def test_a_scheduler_that_does_not_answer(sinks, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("kitchensinks.execution.cluster.ANSWER", 1)
    out = tmp_path / "m.sinks"
    code, _, notes = fit(sinks, folder / "*.parquet", out, "--scheduler", "tcp://127.0.0.1:9")
    assert code == 2
    assert "Error: No scheduler answers at tcp://127.0.0.1:9 within 1 s" in notes
    assert "--debug" not in notes


def test_clusters_that_make_no_sense(sinks, folder, tmp_path):
    data, out = folder / "*.parquet", tmp_path / "m.sinks"
    code, _, notes = fit(sinks, data, out, "--scheduler", "tcp://h:1", "--dask", "local:2")
    assert code == 2
    assert "give one of them" in notes
    code, _, notes = fit(sinks, data, out, "--dask", "locale")
    assert code == 2
    assert "local:N" in notes
    code, _, notes = fit(sinks, data, out, "--dask", "local", "--skip-bad-rows")
    assert code == 2
    assert "--skip-bad-rows is not supported with Dask" in notes
