"""Exported models of mixed tables take the columns of the table as they are."""

import json

import numpy as np
import pandas as pd
import pytest

import kitchensinks as ks
from kitchensinks.files.onnx.graph import LARGEST
from kitchensinks.files.onnx.recipe import table_inputs
from kitchensinks.law import constants
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.words import MISSING_WORDS

# No choice of a law matters here.
pytestmark = pytest.mark.usefixtures("little_work")

skl2onnx = pytest.importorskip("skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime")

COUNT = 600


def mixed(count=COUNT, seed=0):
    """A table with every kind of column, each with missing values, and names of all sorts."""
    rng = np.random.default_rng(seed)
    when = np.datetime64("1890-01-01T00:00:00") + rng.integers(0, 2 * 10**9, count // 2)
    late = np.datetime64("1999-12-31T23:59:59") + rng.integers(0, 10**8, count - count // 2)
    table = pd.DataFrame(
        {
            "size (m)": rng.normal(50.0, 20.0, count),
            "constant": rng.integers(0, 9, count).astype(float),
            "mul": rng.choice(["red", "green", "blåklocka", "?"], count),
            "many": pd.Categorical(rng.choice([f"town {k}" for k in range(60)], count)),
            "order": pd.Categorical(
                rng.choice(["low", "middle", "high"], count),
                ["low", "middle", "high"],
                ordered=True,
            ),
            "tall": rng.random(count) < 0.5,
            "when": np.concatenate([when, late]),
        }
    )
    for name in ("size (m)", "mul", "many", "when"):
        table.loc[rng.random(count) < 0.1, name] = None
    return table


def feeds(table, columns):
    """The inputs as docs/files.md says them."""
    found = {}
    for name, meaning in table_inputs(columns).items():
        values = table[name]
        if meaning == "text":
            own = values.astype(object).where(values.notna(), "").astype(str).to_numpy(object)
        elif meaning == "number":
            own = values.to_numpy(np.float64, na_value=np.nan)
        else:
            own = values.astype("datetime64[s]").astype("int64").to_numpy().astype(np.float64)
            own[values.isna().to_numpy()] = np.nan
        found[name] = own[:, None]
    return found


def target(table):
    colour = (table["mul"] == "red").to_numpy(float)
    size = table["size (m)"].fillna(50.0).to_numpy() / 20.0
    return np.sin(size) + colour + table["tall"].to_numpy() + 0.3 * table["when"].isna().to_numpy()


@pytest.mark.parametrize(
    "basis",
    [
        ks.Fourier(),
        ks.Binning(),
        ks.Union([ks.Fourier(), ks.Binning()]),
        ks.Learned(effort="quick"),
    ],
    ids=lambda basis: type(basis).__name__,
)
def test_a_file_serves_the_rows_of_the_table(basis, tmp_path):
    table = mixed()
    count = None if isinstance(basis, ks.Learned) else 100
    model = ks.KitchenSinkRegressor(basis, count, random_state=0).fit(table, target(table))
    ks.to_onnx(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    assert [one.name for one in session.get_inputs()] == model.columns_.inputs
    # Rows and words that the fit did not have.
    new = mixed(seed=1)
    new["mul"] = new["mul"].replace("green", "a new one")
    (found,) = session.run(None, feeds(new, model.columns_))
    np.testing.assert_allclose(found[:, 0], model.predict(new), atol=1e-4)


HOSTILE = [
    'q"uo,te',
    "two\nlines",
    "tab\there",
    "",
    "é😀",
    "<b>",
    "\\",
    "a\u202eb",
    "NULL\u2400",
]


def test_categories_of_any_letters_are_served(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({'na"me\n': rng.choice(HOSTILE, 400), "😀": rng.normal(size=400)})
    known = table.iloc[:, 0].map({word: k % 3 for k, word in enumerate(HOSTILE)}).to_numpy(float)
    labels = np.array(["", "two\nlines", '"'])[known.astype(int)]
    basis = ks.Learned(effort="quick", exportable=True)
    for kind, targets in ((ks.KitchenSinkRegressor, known), (ks.KitchenSinkClassifier, labels)):
        model = kind(basis, random_state=0).fit(table, targets)
        ks.to_onnx(model, tmp_path / "model.onnx")
        session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
        found = session.run(None, feeds(table, model.columns_))[0]
        if targets is labels:
            assert (found.ravel() == model.predict(table)).all()
        else:
            np.testing.assert_allclose(found[:, 0], model.predict(table), atol=1e-4)


def test_classes_of_a_table_and_what_the_inputs_mean(tmp_path):
    table = mixed()
    y = np.where(target(table) > 1.0, "much", "little")
    # The first input is text, and the classes are too.
    table = table[["mul", "when", "size (m)", "order"]]
    model = ks.KitchenSinkClassifier(ks.Fourier(), 100, random_state=0).fit(table, y)
    ks.to_onnx(model, tmp_path / "model.onnx", {"owner": "we"})
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    notes = session.get_modelmeta().custom_metadata_map
    assert json.loads(notes["columns"]) == {
        "mul": "text",
        "when": "seconds since 1970",
        "size (m)": "number",
        "order": "text",
    }
    assert notes["owner"] == "we"
    label, probabilities = session.run(None, feeds(table, model.columns_))
    assert label.tolist() == model.predict(table).tolist()
    np.testing.assert_allclose(probabilities, model.predict_proba(table), atol=1e-4)
    assert probabilities.dtype == np.float64


@pytest.mark.parametrize("span", [(-(10**10), 10**11), (-86400, 86400), (951_000_000, 952_000_000)])
def test_parts_of_dates_are_those_of_the_calendar(span):
    """Every part, compared with Arrow: leap years, turns of centuries and moments before 1970."""
    from onnx import TensorProto, helper

    from kitchensinks.files.onnx.recipe import table_numbers

    class Plain:
        """A graph without skl2onnx."""

        def __init__(self):
            self.nodes, self.constants = [], []

        def node(self, kind, *inputs, **attributes):
            names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
            self.nodes.append(helper.make_node(kind, names, [f"v{len(self.nodes)}"], **attributes))
            return self.nodes[-1].output[0]

        def constant(self, value):
            from onnx import numpy_helper

            name = f"c{len(self.constants)}"
            self.constants.append(numpy_helper.from_array(np.asarray(value), name))
            return name

        def cast(self, value, dtype):
            return self.node("Cast", value, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    seconds = np.linspace(*span, 9_973).astype(np.int64)
    frame = pd.DataFrame({"when": seconds.astype("datetime64[s]")})
    columns = Columns.learn(ks.open_table(frame))
    graph = Plain()
    result = table_numbers(graph, columns, ["when"])
    kind = TensorProto.DOUBLE
    made = helper.make_graph(
        graph.nodes,
        "dates",
        [helper.make_tensor_value_info("when", kind, [None, 1])],
        [helper.make_tensor_value_info(result, kind, None)],
        graph.constants,
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (found,) = session.run(None, {"when": seconds[:, None].astype(np.float64)})
    batch = next(ks.open_table(frame).batches(["when"]))
    assert columns.width >= 3
    np.testing.assert_array_equal(found, columns.apply(batch))


def test_missing_moments_of_every_unit_are_missing(tmp_path):
    table = mixed()[["size (m)", "when"]]
    model = ks.KitchenSinkRegressor(ks.Fourier(), 50, random_state=0).fit(table, target(mixed()))
    ks.to_onnx(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    least = np.iinfo(np.int64).min
    moments = [float(least), least / 1e3, least / 1e6, least / 1e9, float(least // 10**9), np.nan]
    new = table[: len(moments)].assign(when=pd.NaT)
    rows = {"size (m)": new[["size (m)"]].to_numpy(), "when": np.array(moments)[:, None]}
    (found,) = session.run(None, rows)
    np.testing.assert_allclose(found[:, 0], model.predict(new), atol=1e-4)


def test_words_for_missing_values_are_missing(tmp_path):
    table = mixed()
    model = ks.KitchenSinkRegressor(ks.Fourier(), 50, random_state=0).fit(table, target(table))
    ks.to_onnx(model, tmp_path / "model.onnx")
    new = table[: len(MISSING_WORDS)].assign(mul=list(MISSING_WORDS))
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    (found,) = session.run(None, feeds(new, model.columns_))
    np.testing.assert_allclose(found[:, 0], model.predict(new), atol=1e-4)


def test_spaces_around_categories_are_taken_off(tmp_path):
    """As `predict` does; spaces between words stay: 'New  York' is another town."""
    levels = ["New York", "New  York", "Ulm", "Rio de Janeiro", "a\tb", "New", "nan York"]
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"town": rng.choice(levels, 700), "size": rng.normal(size=700)})
    price = table["town"].map({one: 10.0 * k for k, one in enumerate(levels)}) + table["size"]
    model = ks.KitchenSinkRegressor(ks.Fourier(), 200, random_state=0).fit(table, price)
    ks.to_onnx(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    regular = [
        f"{left}{one}{right}"
        for one in levels[:1] + levels[2:4] + levels[5:]
        for left in ("", " ", "   ")
        for right in ("", " ", "  ")
    ]
    words = [
        *regular,
        *levels,
        "new york",
        "New York City",
        " New York City",
        "Rio  de Janeiro",
        " Rio de  Janeiro",
        "New\tYork",
        "",
        "  ",
        " ? ",
        "NA ",
        "York New",
        "Rio de Janeiro x",
    ]
    new = pd.DataFrame({"town": words, "size": 0.0})
    (found,) = session.run(None, feeds(new, model.columns_))
    np.testing.assert_allclose(found[:, 0], model.predict(new), atol=1e-3)
    # Alone, a row without a word has no words to split.
    (found,) = session.run(None, feeds(new[new["town"] == "  "], model.columns_))
    np.testing.assert_allclose(found[:, 0], model.predict(new[new["town"] == "  "]), atol=1e-3)


def test_free_text_and_names_of_outputs_are_refused(tmp_path):
    table = mixed()
    rng = np.random.default_rng(0)
    words = ["a long", "way", "to go", "from", "here", "and back", "again"]
    table["story"] = [" ".join(rng.choice(words, 9)) for _ in range(len(table))]
    model = ks.KitchenSinkRegressor(ks.Fourier(), 20, random_state=0).fit(table, target(table))
    with pytest.raises(ValueError, match=r"takes free text \('story'\).*Fit again without"):
        ks.to_onnx(model, tmp_path / "model.onnx")
    table = mixed().rename(columns={"mul": "prediction"})
    model = ks.KitchenSinkRegressor(ks.Fourier(), 20, random_state=0).fit(table, target(mixed()))
    with pytest.raises(ValueError, match="'prediction' has the name of an output"):
        ks.to_onnx(model, tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def with_words(count=COUNT):
    """Words of which each comes a few times, and stories that come once."""
    table = mixed(count)
    rng = np.random.default_rng(0)
    table["word"] = [f"word of {k}" for k in rng.integers(0, count // 5, count)]
    return table


def test_an_exportable_law_takes_words_as_categories(tmp_path):
    table = with_words(1500)
    basis = ks.Learned(effort="quick", exportable=True)
    model = ks.KitchenSinkRegressor(basis, random_state=0).fit(table, target(table))
    ks.to_onnx(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    (found,) = session.run(None, feeds(table, model.columns_))
    np.testing.assert_allclose(found[:, 0], model.predict(table), atol=1e-4)


def test_what_an_exportable_law_cannot_have_is_said_before_the_fit(monkeypatch):
    table = mixed()
    rng = np.random.default_rng(0)
    table["story"] = [" ".join(map(str, rng.integers(0, 999, 9))) + " x" for _ in range(COUNT)]
    monkeypatch.setattr("kitchensinks.estimators.base.find_law", None)
    with pytest.raises(ValueError, match="'story' is free text, which cannot be exported"):
        ks.KitchenSinkRegressor(ks.Learned(exportable=True)).fit(table, target(table))
    own = ks.Custom(
        lambda rng, d, n: rng.normal(size=(n, d)), lambda rows, theta: np.tanh(rows @ theta.T)
    )
    for basis in (own, ks.Union([ks.Fourier(), own]), ks.Reweighted(own)):
        assert not basis.exportable
        with pytest.raises(ValueError, match="has no form in ONNX"):
            ks.KitchenSinkRegressor(ks.Learned(basis, exportable=True)).fit([[1.0]], [1.0])


def test_bins_that_may_not_fit_into_a_file_are_not_chosen(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y = np.sign(X[:, 0]) + np.sign(X[:, 1])
    size = constants.EXPORTED_BIN_BYTES + 8

    def fitted(grids, basis=None, **given):
        monkeypatch.setattr(constants, "EXPORTED_BYTES", grids * size * len(X))
        learned = ks.Learned(basis, effort="quick", exportable=True)
        return ks.KitchenSinkRegressor(learned, random_state=0, **given).fit(X, y).law_.features

    assert fitted(1000).basis.sparse
    limited = fitted(20)
    assert not limited.basis.sparse or limited.n_components <= 20
    assert not fitted(15).basis.sparse
    assert fitted(30, ks.Binning(), n_components=30).n_components == 30
    with pytest.raises(ValueError, match="may be more than the 2 GB"):
        fitted(30, ks.Binning(), n_components=31)


def test_the_law_knows_the_limit_of_a_file():
    assert 0.99 * LARGEST < constants.EXPORTED_BYTES <= LARGEST
    # A number of an attribute takes up to eleven bytes, and the place of a bin up to five.
    assert constants.EXPORTED_BIN_BYTES == 11 + 5
