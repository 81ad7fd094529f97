"""Models that were saved from Python, in the command."""

import numpy as np
import pytest

import kitchensinks as ks
from kitchensinks.state.outer import why_stopped

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with a model of a frame, one of an array, and a table with true values."""
    folder = tmp_path_factory.mktemp("saved")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=80), "kind": rng.choice(["a", "b"], 80)})
    price = 2 * frame["size"] + (frame["kind"] == "a")
    model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=50, random_state=0)
    ks.save(model.fit(frame, price), folder / "frame.sinks")
    ks.save(model.fit(frame[["size"]].to_numpy(), price), folder / "array.sinks")
    frame.assign(price=price).to_csv(folder / "table.csv", index=False)
    return folder


def test_a_model_of_a_frame_predicts_and_scores_tables(files, tmp_path, sinks):
    model, table, out = files / "frame.sinks", files / "table.csv", tmp_path / "out.csv"
    assert sinks("predict", model, table, "--out", out)[0] == 0
    expected = ks.load(model).predict(ks.open_table(table))
    np.testing.assert_allclose(pd.read_csv(out)["prediction"], expected)
    assert sinks("score", model, table, "--target", "price")[0] == 0
    code, _, said = sinks("score", model, table)
    assert code != 0
    assert "give --target COLUMN" in " ".join(said.split())


def test_predictions_have_intervals_where_a_coverage_is_given(files, tmp_path, sinks):
    model, table, out = files / "frame.sinks", files / "table.csv", tmp_path / "out.csv"
    assert sinks("predict", model, table, "--out", out, "--id", "size", "--coverage", "0.8")[0] == 0
    found = pd.read_csv(out)
    assert list(found) == ["size", "prediction", "lower", "upper"]
    lower, upper = ks.load(model).predict_interval(ks.open_table(table), coverage=0.8)
    np.testing.assert_allclose(found["lower"], lower)
    np.testing.assert_allclose(found["upper"], upper)
    for wrong, told in (("1.5", "coverage=1.5"), ("0.99", "needs the residuals of 199 rows")):
        code, _, said = sinks("predict", model, table, "--out", out, "--coverage", wrong)
        assert code != 0
        assert told in " ".join(said.split())


def test_classes_have_no_intervals(tmp_path, sinks):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=80), "kind": rng.choice(["a", "b"], 80)})
    model = ks.KitchenSinkClassifier(ks.Fourier(), n_components=20).fit(frame, frame["kind"])
    ks.save(model, tmp_path / "m.sinks")
    frame.to_csv(tmp_path / "t.csv", index=False)
    given = ("--out", tmp_path / "o.csv", "--coverage", "0.9")
    code, _, said = sinks("predict", tmp_path / "m.sinks", tmp_path / "t.csv", *given)
    assert code != 0
    assert "is for models of numbers" in " ".join(said.split())
    assert not (tmp_path / "o.csv").exists()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"loss": "poisson"}, "--coverage 0.9 is not for models with the poisson loss"),
        ({"solver": "blocks", "alpha": 0.1}, "fitted by block coordinate descent, has none: leave"),
    ],
    ids=["deviance", "no residuals"],
)
def test_models_without_intervals_are_told_in_words_of_the_command(given, told, tmp_path, sinks):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=80), "kind": rng.choice(["a", "b"], 80)})
    model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=20, random_state=0, **given)
    ks.save(model.fit(frame, np.exp(frame["size"])), tmp_path / "m.sinks")
    frame.to_csv(tmp_path / "t.csv", index=False)
    options = ("--out", tmp_path / "o.csv", "--coverage", "0.9")
    code, _, said = sinks("predict", tmp_path / "m.sinks", tmp_path / "t.csv", *options)
    assert code == 2
    said = " ".join(said.split())
    assert told in said
    assert "--coverage" in said
    assert "predict_interval" not in said
    assert not (tmp_path / "o.csv").exists()
    if given.get("loss"):
        with pytest.raises(ValueError, match="predict_interval is not for loss='poisson'"):
            model.predict_interval(frame)


@pytest.mark.parametrize("verb", ["predict", "score", "report"])
def test_models_of_several_numbers_are_for_python(verb, tmp_path, sinks):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=80), "kind": rng.choice(["a", "b"], 80)})
    model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=20, random_state=0)
    ks.save(model.fit(frame, np.c_[frame["size"], frame["size"]]), tmp_path / "m.sinks")
    frame.to_csv(tmp_path / "t.csv", index=False)
    out, target = ["--out", tmp_path / "o.html"], ["--target", "size"]
    more = {"predict": ["--out", tmp_path / "o.csv"], "score": target, "report": [*out, *target]}
    code, _, said = sinks(verb, tmp_path / "m.sinks", tmp_path / "t.csv", *more[verb])
    assert code == 2
    assert "predicts 2 numbers for each row, and the command handles one" in " ".join(said.split())


def test_a_model_of_an_array_is_for_python(files, tmp_path, sinks):
    code, _, said = sinks(
        "predict", files / "array.sinks", files / "table.csv", "--out", tmp_path / "out.csv"
    )
    assert code != 0
    assert "ks.load" in said


@pytest.mark.parametrize(
    ("basis", "said"), [(ks.Learned(ks.Binning(), steps=2, members=1), "on purpose"), (None, None)]
)
def test_info_says_why_a_fit_stopped(basis, said, sinks, tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = ks.KitchenSinkRegressor(basis or ks.Fourier(), random_state=0).fit(X, np.sign(X[:, 0]))
    ks.save(model, tmp_path / "m.sinks")
    assert model.converged_ == (said is None)
    code, out, _ = sinks("info", tmp_path / "m.sinks")
    stopped = [line for line in out.splitlines() if line.startswith("stopped ")]
    assert code == 0
    assert len(stopped) == (said is not None)
    assert all(said in line for line in stopped)


@pytest.mark.parametrize(("settled", "said"), [(True, "on purpose"), (False, "before"), (None, "")])
def test_a_reason_that_a_file_does_not_have_is_not_made_up(settled, said):
    told = why_stopped(False, settled)
    assert said in told
    assert bool(told) == bool(said)
    assert "law" not in told
    assert why_stopped(True, settled) == ""


def test_info_prints_counts_of_rows_with_all_digits(sinks, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=5, random_state=0).fit(X, X[:, 0])
    scores = {"rows": 60_001, "fitted": 1_240_004, "r2": 0.987654321}
    ks.save(model, tmp_path / "m.sinks", notes={"validation": scores})
    code, out, _ = sinks("info", tmp_path / "m.sinks")
    assert code == 0
    assert "rows 60001, fitted 1240004, r2 0.98765" in " ".join(out.split())
