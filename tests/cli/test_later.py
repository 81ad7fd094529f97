"""`sinks fit --time` and `--groups`: which rows are held out to learn and to score."""

import json

import numpy as np
import pyarrow
import pytest

import kitchensinks as ks
from kitchensinks.cli import compare
from kitchensinks.cli.compare import Entry
from tests.cli.conftest import write

# No choice of a law matters to these tests, but to those that are marked.
pytestmark = pytest.mark.usefixtures("little_work")

QUICK = ["--effort", "quick"]


@pytest.fixture(scope="module")
def sales(tmp_path_factory):
    """Sales that grow, of shops that differ, in no order."""
    rng = np.random.default_rng(0)
    day, shop = rng.permutation(1200), rng.integers(0, 12, 1200)
    amount = day / 100 + rng.normal(0.0, 3.0, 12)[shop] + 0.2 * rng.normal(size=1200)
    date = np.datetime64("2020-01-01") + day.astype("timedelta64[D]")
    columns = {"date": date, "shop": [f"s{k}" for k in shop], "size": rng.normal(size=1200)}
    path = tmp_path_factory.mktemp("later") / "sales.csv"
    return write(pyarrow.table({**columns, "amount": amount}), path)


def fitted(sinks, sales, tmp_path, *options):
    out = tmp_path / "model.sinks"
    code, said, _ = sinks("fit", sales, "-t", "amount", "--out", out, *QUICK, "--json", *options)
    assert code == 0
    return json.loads(said), ks.load(out)


def test_the_latest_rows_are_held_out_to_learn_and_to_score(sinks, sales, tmp_path):
    facts, model = fitted(sinks, sales, tmp_path, "--time", "date")
    assert model.basis.time == "date"
    held = [one.what for one in model.law_.record.trials if one.stage == "split"]
    # A fifth of the rows is scored, and a fifth of the others is held out to learn.
    assert held == ["held out: the last 192 rows in the order of time"]
    # Days that come later are outside of the range: without a line their sales are far off.
    assert model.law_.trend is not None
    assert facts["validation"]["r2"] > 0.5


@pytest.mark.usual_work
def test_whole_groups_are_held_out(sinks, sales, tmp_path):
    facts, model = fitted(sinks, sales, tmp_path, "--groups", "shop", "--drop", "shop")
    held = [one.what for one in model.law_.record.trials if one.stage == "split"]
    assert held[0].endswith("groups")
    assert "shop" not in model.columns_.inputs
    # Nothing says how much shops sell that were never seen.
    assert facts["validation"]["r2"] < 0.8


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--time", "date", "--groups", "shop"], "give one of them"),
        (["--time", "date", "--basis", "fourier", "--effort", "default"], "--basis learned"),
        (["--time", "dat"], "date"),
        (["--time", "shop"], "need a column of dates or numbers"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(sinks, sales, tmp_path, options, words):
    start = ["fit", sales, "-t", "amount", "--out", tmp_path / "m.sinks", *QUICK]
    code, _, said = sinks(*start, *options)
    assert code != 0
    assert words in said


@pytest.mark.parametrize("task", [[], ["--task", "classification"]], ids=["auto", "asked"])
def test_numbers_that_are_taken_as_classes_are_told(task, sinks, tmp_path):
    table = tmp_path / "counts.csv"
    table.write_text("\n".join(["a,y", *(f"{k % 17},{k % 5}" for k in range(200))]))
    start = ["fit", table, "-t", "y", "--basis", "fourier", "--components", "10", *task]
    code, said, notes = sinks(*start, "--out", tmp_path / "m.sinks")
    assert code == 0
    assert "m.sinks: classification, fourier, K = 10" in said
    assert ("--task regression fits them as numbers" in notes) == (not task)


def test_two_groups_are_too_few_to_score_and_to_learn(sinks, tmp_path):
    table = tmp_path / "halves.csv"
    rows = [f"{k % 7},{'NS'[k % 2]},{k % 11}" for k in range(200)]
    table.write_text("\n".join(["a,half,y", *rows]))
    start = ["fit", table, "-t", "y", "--task", "regression", "--groups", "half"]
    code, _, said = sinks(*start, "--out", tmp_path / "m.sinks", *QUICK)
    assert code == 2
    assert "--groups half: there are two groups" in said
    assert "--validation 0" in said


@pytest.mark.parametrize("order", ["--time", "--groups"])
def test_models_are_compared_on_rows_that_come_later_or_on_other_groups(
    order, sinks, sales, monkeypatch
):
    tried = []

    def look(name, model, X, y, held, task):
        tried.append((name, model, X, held))
        return Entry(name, 0.0, 0.0, 0.0)

    monkeypatch.setattr(compare, "_try", look)
    column = {"--time": "date", "--groups": "shop"}[order]
    given = ["compare", sales, "-t", "amount", order, column, "--rows", "600", "--json"]
    code, _, notes = sinks(*given, *QUICK, "--components", "20", "--time-limit", "60")
    assert code == 0, notes
    name, model, X, held = tried[0]
    assert (name, model.basis.effort, model.basis.time_limit) == ("learned", "quick", 60.0)
    rows, (fold,) = X[~held], [test for _, test in model.basis.split.split()]
    inner = np.isin(np.arange(len(rows)), fold)
    for own, side in ((X, held), (rows, inner)):
        assert 0.1 < side.mean() < 0.4
        if order == "--time":
            assert (own[side].min(axis=0) >= own[~side].max(axis=0)).any()
        else:
            shops = [
                set(map(tuple, part[:, np.ptp(X, axis=0) == 1])) for part in (own[side], own[~side])
            ]
            assert not shops[0] & shops[1]
            assert len(shops[0] | shops[1]) > 5


def test_rows_without_a_group_or_a_time_are_fitted(sinks, sales, tmp_path):
    lines = sales.read_text().splitlines()
    gaps = [line if k % 9 else ",," + line.split(",", 2)[2] for k, line in enumerate(lines[1:])]
    path = tmp_path / "gaps.csv"
    path.write_text("\n".join([lines[0], *gaps]) + "\n")
    for option, column, what in (("--time", "date", "the last"), ("--groups", "shop", "groups")):
        _, model = fitted(sinks, path, tmp_path, option, column)
        held = [one.what for one in model.law_.record.trials if one.stage == "split"]
        assert what in held[0]
