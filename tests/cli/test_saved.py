"""Models that were saved from Python, in the command."""

import numpy as np
import pytest

import kitchensinks as ks

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
