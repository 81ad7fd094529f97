"""Whatever is wrong is said in one line, with exit code 2, before anything is lost."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pytest

from kitchensinks.cli import fit as fit_module
from tests.cli.conftest import environment, rows_of, write


@pytest.fixture
def refused(sinks):
    """Run the command, which must refuse: its one line of complaint."""

    def run(*arguments, code=2):
        found, _, said = sinks(*arguments)
        complaints = [line for line in said.splitlines() if line.startswith("Error:")]
        assert found == code, said
        assert len(complaints) == 1, said
        assert "Traceback" not in said
        return complaints[0]

    return run


@pytest.fixture
def train(tmp_path):
    return write(rows_of(60), tmp_path / "train.csv")


def fit(path, target, folder, *more):
    out = folder / "model.sinks"
    return ["fit", path, "--target", target, "--out", out, "--basis", "fourier", *more]


def test_a_missing_file(refused, tmp_path):
    said = refused(*fit(tmp_path / "none.csv", "kind", tmp_path))
    assert "none.csv does not exist" in said


def test_an_empty_file(refused, tmp_path):
    (tmp_path / "empty.csv").touch()
    assert "is empty" in refused(*fit(tmp_path / "empty.csv", "kind", tmp_path))


def test_a_header_without_rows(refused, tmp_path):
    (tmp_path / "header.csv").write_text("a,b\n")
    assert "header.csv" in refused(*fit(tmp_path / "header.csv", "a", tmp_path))


def test_a_folder_of_mixed_schemas(refused, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    write(rows_of(9), folder / "a.parquet")
    write(rows_of(9).drop_columns(["colour"]), folder / "b.parquet")
    said = refused(*fit(folder, "kind", tmp_path))
    assert "colour" in said
    assert "b.parquet" in said


@pytest.mark.parametrize(
    "line", [b"1,2,red\n", b"1,2,re\xffd,3,0.5,dear\n"], ids=["ragged", "byte"]
)
def test_a_row_that_cannot_be_read_is_named_or_skipped(line, refused, sinks, train, tmp_path):
    lines = train.read_bytes().splitlines(keepends=True)
    train.write_bytes(b"".join([*lines[:30], line, *lines[30:]]))
    said = refused(*fit(train, "kind", tmp_path))
    assert "line 31" in said
    assert "--skip-bad-rows" in said
    assert "skip_bad_rows" not in said
    arguments = fit(train, "kind", tmp_path, "--skip-bad-rows", "--components", "20")
    code, out, err = sinks(*arguments, "--json")
    assert code == 0, err
    assert json.loads(out)["bad_rows"] == 1
    assert "1 bad row skipped (line 31)" in err


def test_a_target_that_does_not_exist_gets_the_nearest_name(refused, train, tmp_path):
    assert "did you mean 'kind'?" in refused(*fit(train, "kid", tmp_path))
    assert "did you mean 'price'?" in refused(*fit(train, "PRICE", tmp_path))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["same"] * 40, "one value only, 'same'"),
        ([3.5] * 40, "one value only, 3.5"),
        ([None] * 40, "missing in every row"),
        ([float("inf")] + [0.5] * 39, "infinite"),
        ([f"name {k}" for k in range(1200)], "--target, or write numbers as 1234.5"),
        ([f"name {k}" for k in range(40)], "--target, or give --task classification"),
    ],
    ids=["one class", "one number", "missing", "infinite", "names", "few names"],
)
def test_a_target_with_nothing_to_learn(values, words, refused, tmp_path):
    kind = pyarrow.float64() if values[0] is None else None
    table = pyarrow.table(
        {"x": np.arange(float(len(values))), "y": pyarrow.array(values, type=kind)}
    )
    path = write(table, tmp_path / "table.parquet")
    assert words in refused(*fit(path, "y", tmp_path))


def test_dates_and_decimals_are_no_classes(refused, tmp_path):
    days = pd.date_range("2024-01-01", periods=30).strftime("%Y-%m-%d")
    rows = pd.DataFrame(
        {"x": np.arange(60.0) ** 2, "day": [*days, *days], "sum": np.arange(60) / 7}
    )
    path = tmp_path / "rows.csv"
    rows.to_csv(path, index=False)
    assert "'day' holds dates: write numbers" in refused(*fit(path, "day", tmp_path))
    said = refused(*fit(path, "sum", tmp_path, "--task", "classification"))
    assert "60 different values in 60 rows" in said
    assert "--task regression" in said


def test_one_stray_word_in_a_target_of_numbers_is_told(refused, sinks, tmp_path):
    """Among many numbers it is an error, among few a note: one line, and no Python warning."""
    rng = np.random.default_rng(0)
    for most, words in (
        (200, "holds numbers, and words: '?' (first in row 79,"),
        (3, "in 1 of 80"),
    ):
        values = [str(k % most) for k in range(79)] + ["?"]
        table = pyarrow.table({"x": rng.normal(size=80), "y": values})
        path = write(table, tmp_path / "table.csv")
        if most == 200:
            assert words in refused(*fit(path, "y", tmp_path))
        else:
            code, _, said = sinks(*fit(path, "y", tmp_path, "--components", "10"))
            assert code == 0, said
            (line,) = [line for line in said.splitlines() if words in line]
            assert line.startswith("Note: The target 'y' holds numbers, and words such as '?'")
            assert "Warning" not in said


def test_decimal_commas_and_identifiers_are_told_in_lines_of_their_own(sinks, tmp_path):
    rng, count = np.random.default_rng(0), 300
    commas = [f"{number:.2f}".replace(".", ",") for number in rng.normal(size=count)]
    columns = {"row": np.arange(count), "x": rng.normal(size=count), "width": commas}
    path = write(pyarrow.table({**columns, "y": rng.normal(size=count)}), tmp_path / "t.parquet")
    code, _, said = sinks(*fit(path, "y", tmp_path, "--components", "10"))
    assert code == 0, said
    notes = [line for line in said.splitlines() if line.startswith("Note: ")]
    assert sum("are taken as text, in 'width'" in line for line in notes) == 1
    (names,) = [line for line in notes if "as row identifiers: 'row'" in line]
    assert "with --drop" in names
    assert "the column of times with --time." in names
    assert "Warning" not in said
    assert ".py" not in said


def test_a_stray_word_among_the_numbers_of_a_column_is_told(sinks, tmp_path):
    """In one line, whose advice silences it."""
    rng, count = np.random.default_rng(0), 300
    sizes = rng.uniform(30, 150, count).round(0).astype(str).tolist()

    def notes(word, *more):
        columns = {"area": [*sizes[:-1], word], "y": rng.normal(size=count)}
        path = write(pyarrow.table(columns), tmp_path / "table.csv")
        code, _, said = sinks(*fit(path, "y", tmp_path, "--components", "10", *more))
        assert code == 0, said
        assert "pandas" not in said
        assert "Warning" not in said
        return [line for line in said.splitlines() if "nearly all values" in line]

    (line,) = notes("unknown")
    assert line.startswith("Note: Columns in which nearly all values are numbers are not taken as")
    assert "'area' (299 of 300 values looked at, 99.6 %, are numbers, but not 'unknown')" in line
    assert line.endswith(
        "make them missing: leave them empty in the file, or write NA. Columns that are "
        "categories: name them with --category."
    )
    assert notes("unknown", "--category", "area") == []
    assert notes("NA") == []
    assert notes("") == []


def test_a_note_comes_before_an_error():
    code = (
        "import warnings\nfrom kitchensinks.cli.terminal import run\n"
        "def work(terminal):\n    warnings.warn('first')\n    raise ValueError('then')\n"
        "run(work, False, False, False)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=False
    )
    assert (said.returncode, said.stderr) == (2, "Note: first\nError: then\n")


def test_a_target_of_text_is_no_number(refused, train, tmp_path):
    said = refused(*fit(train, "kind", tmp_path, "--task", "regression"))
    assert "regression needs numbers" in said


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--basis", "furrier"),
        ("--constraint", "ball:3"),
        ("--constraint", "sup:-1"),
        ("--components", "many"),
        ("--components", "-5"),
        ("--alpha", "small"),
        ("--effort", "heroic"),
        ("--validation", "1.5"),
        ("--task", "guess"),
        ("--loss", "cubic"),
        ("--memory", "plenty"),
        ("--memory", "500"),
        ("--memory", "2KB"),
        ("--tau", "0.9"),
        ("--time-limit", "9.0"),
        ("--threads", "0"),
        ("--seed", "-1"),
        ("--drop", "nothing"),
    ],
)
def test_an_option_that_makes_no_sense(option, value, refused, train, tmp_path, monkeypatch):
    # It is found out before any row is encoded or fitted.
    monkeypatch.setattr(fit_module, "encode", None)
    basis = ["--basis", "learned"] if option == "--effort" else []
    said = refused(*fit(train, "kind", tmp_path, "--drop", "price", *basis, option, value))
    assert value in said
    assert option in said or option == "--drop"


@pytest.mark.parametrize(
    ("option", "value"),
    [("--effort", "fast"), ("--alpha", "-1"), ("--threads", "0"), ("--seed", "-1")],
)
def test_options_are_refused_before_a_row_is_read(option, value, refused, tmp_path):
    given = ["--basis", "learned", option, value]
    assert option in refused(*fit(tmp_path / "none.csv", "kind", tmp_path, *given))


@pytest.mark.parametrize("verb", ["plan", "compare"])
def test_a_sample_has_some_rows(verb, refused, train):
    assert "--rows -5: need 50 or more" in refused(verb, train, "-t", "kind", "--rows", "-5")


@pytest.mark.parametrize("value", ["0", "-1"])
def test_a_time_limit_is_positive(value, refused, train, tmp_path):
    said = refused(*fit(train, "kind", tmp_path, "--basis", "learned", "--time-limit", value))
    assert f"--time-limit {float(value)}: need a positive" in said


def test_a_size_without_a_unit_is_told_what_it_is(refused, train, tmp_path):
    said = refused(*fit(train, "kind", tmp_path, "--memory", "500"))
    assert "is bytes, because it has no unit: need 16MB or more" in said


def test_a_share_of_the_targets_is_for_quantiles(refused, train, tmp_path):
    arguments = fit(train, "price", tmp_path, "--tau", "1.5")
    assert "give --loss quantile too" in refused(*arguments)
    assert "--tau 1.5: the quantile loss needs" in refused(*arguments, "--loss", "quantile")


def test_groups_and_times_are_two_ways(refused, train, tmp_path):
    for verb in (fit(train, "price", tmp_path), ["compare", train, "-t", "price"]):
        more = ["--basis", "learned"] if verb[0] == "fit" else []
        assert "give one of them" in refused(*verb, *more, "--time", "id", "--groups", "colour")


def test_the_target_cannot_be_dropped(refused, train, tmp_path):
    for verb in (fit(train, "price", tmp_path), ["compare", train, "-t", "price"]):
        assert "--drop price: this is the target" in refused(*verb, "--drop", "price")


def test_a_checkpoint_is_a_folder(refused, train, tmp_path):
    said = refused(*fit(train, "kind", tmp_path, "--checkpoint", train))
    assert "train.csv: --checkpoint needs a folder" in said
    assert train.is_file()


def test_an_effort_is_for_learning(refused, train, tmp_path):
    said = refused(*fit(train, "kind", tmp_path, "--effort", "quick"))
    assert "--effort 'quick' is for --basis learned" in said


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize("verb", ["predict", "score", "info", "export"])
@pytest.mark.parametrize("harm", ["cut", "bytes", "newer", "folder", "none"])
def test_a_model_file_that_cannot_be_read(verb, harm, refused, workshop, tmp_path):
    path = tmp_path / "model.sinks"
    whole = (workshop / "kind.sinks").read_bytes()
    if harm == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif harm == "bytes":
        with zipfile.ZipFile(workshop / "kind.sinks") as archive:
            place = archive.getinfo("model.json").header_offset + 60
        path.write_bytes(whole[:place] + b"\0\0" + whole[place + 2 :])
    elif harm == "newer":
        with zipfile.ZipFile(workshop / "kind.sinks") as old, zipfile.ZipFile(path, "w") as new:
            for name in old.namelist():
                data = old.read(name)
                if name == "model.json":
                    data = json.dumps({**json.loads(data), "format": 99}).encode()
                new.writestr(name, data)
    elif harm == "folder":
        path.mkdir()
    more = {
        "predict": [workshop / "test.csv", "--out", tmp_path / "out.csv"],
        "score": [workshop / "test.csv"],
        "info": [],
        "export": ["--out", tmp_path / "out.onnx"],
    }[verb]
    said = refused(verb, path, *more)
    assert "model.sinks" in said
    assert ("install a newer one" in said) == (harm == "newer")
    assert {found.name for found in tmp_path.iterdir()} <= {"model.sinks"}


@pytest.mark.parametrize("link", ["none", "symbolic", "hard"])
@pytest.mark.parametrize("verb", ["fit", "predict", "predict a folder", "compare"])
def test_the_data_are_never_overwritten(verb, link, refused, workshop, tmp_path):
    data = tmp_path / "data" / "s.png.csv"
    data.parent.mkdir()
    data.write_bytes((workshop / "train.csv").read_bytes())
    before, out = data.read_bytes(), data
    if link != "none":
        out = tmp_path / ("s.png" if verb == "compare" else "t.csv")
        (os.symlink if link == "symbolic" else os.link)(data, out)
    elif verb == "compare":
        pytest.skip("a picture has another name than data")
    given = {
        "fit": ["fit", data, "--target", "kind"],
        "predict": ["predict", workshop / "kind.sinks", data],
        "predict a folder": ["predict", workshop / "kind.sinks", data.parent],
        "compare": ["compare", data, "--target", "kind"],
    }[verb]
    assert "is the data that is read" in refused(*given, "--out", out)
    assert data.read_bytes() == before


def test_no_verb_replaces_the_model_that_it_reads_and_all_replace_other_files(
    refused, sinks, workshop, tmp_path
):
    model, page, data = tmp_path / "model.csv", tmp_path / "model.html", workshop / "test.csv"
    for path in (model, page):
        path.write_bytes((workshop / "kind.sinks").read_bytes())
    before, same = model.read_bytes(), "is the model that is read: write to another file"
    assert same in refused("export", model, "--out", model)
    assert same in refused("predict", model, data, "--out", model)
    assert same in refused("report", page, data, "--out", page)
    assert model.read_bytes() == page.read_bytes() == before
    code, _, said = sinks("predict", workshop / "kind.sinks", data, "--out", model)
    assert code == 0, said
    assert model.read_text().startswith('"prediction"')


def test_a_checkpoint_in_use_is_told(refused, workshop, tmp_path):
    from kitchensinks.files.checkpoint import Checkpoint

    other = Checkpoint(tmp_path / "work")
    other.begin({}, {})
    given = ["fit", workshop / "train.csv", "--target", "kind", "--out", tmp_path / "m.sinks"]
    with other.patience():
        assert "in use by another fit" in refused(*given, "--checkpoint", tmp_path / "work")


@pytest.mark.parametrize("verb", ["fit", "predict", "export", "compare"])
@pytest.mark.parametrize("place", ["missing", "folder", "forbidden"])
def test_an_output_path_is_checked_before_the_work(verb, place, refused, workshop, tmp_path):
    name = {"fit": "m.sinks", "predict": "out.csv", "export": "m.onnx", "compare": "a.png"}[verb]
    path = {"missing": tmp_path / "none" / name, "folder": tmp_path / name}.get(place)
    if place == "folder":
        path.mkdir()
    if path is None:
        # Not even the superuser writes here.
        path = Path("/proc") / name
        if not path.parent.is_dir():
            pytest.skip("no folder that cannot be written")
    # The data does not exist either: it is the path that is complained about.
    data, model = tmp_path / "no-data.csv", tmp_path / "no-model.sinks"
    arguments = {
        "fit": ["fit", data, "-t", "kind", "--out", path],
        "predict": ["predict", model, data, "--out", path],
        "export": ["export", model, "--out", path],
        "compare": ["compare", data, "-t", "kind", "--out", path],
    }[verb]
    said = refused(*arguments)
    assert str(path.parent) in said
    assert "no-" not in said


def test_columns_that_are_missing_or_of_another_kind(refused, workshop, tmp_path):
    table = rows_of(20)
    out = ["--out", tmp_path / "out.csv"]
    renamed = write(
        table.rename_columns(["id", "sise", "colour", "weight", "price", "kind"]),
        tmp_path / "a.csv",
    )
    said = refused("predict", workshop / "kind.sinks", renamed, *out)
    assert "no column 'size': rename 'sise' to 'size'" in said
    text = table.set_column(1, "size", pyarrow.array(["large"] * 20))
    other = write(text, tmp_path / "b.csv")
    said = refused("predict", workshop / "kind.sinks", other, *out)
    assert "'size'" in said
    assert "numbers when the model was fitted" in said
    assert "no column 'ID'" in refused(
        "predict", workshop / "kind.sinks", workshop / "test.csv", *out, "--id", "ID"
    )
    assert not (tmp_path / "out.csv").exists()


def test_an_ending_that_is_no_format(refused, workshop, tmp_path):
    test = workshop / "test.csv"
    said = refused("predict", workshop / "kind.sinks", test, "--out", tmp_path / "out.xlsx")
    assert ".parquet" in said


def test_a_model_of_arrays_has_no_columns(refused, workshop, tmp_path):
    import kitchensinks as ks

    model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=5).fit(
        [[0.0], [1.0], [2.0]], [0, 1, 2]
    )
    ks.save(model, tmp_path / "array.sinks")
    said = refused("score", tmp_path / "array.sinks", workshop / "test.csv")
    assert "ks.load" in said


def test_a_failure_of_ours_has_another_code_and_its_place_on_request(
    refused, sinks, train, tmp_path, monkeypatch
):
    def fail(*arguments, **options):
        raise RuntimeError("the sink\noverflowed")

    monkeypatch.setattr(fit_module, "save", fail)
    arguments = fit(train, "kind", tmp_path, "--components", "10")
    said = refused(*arguments, code=1)
    assert "RuntimeError: the sink overflowed" in said
    assert "--debug" in said
    _, _, said = sinks(*arguments, "--debug")
    assert "Traceback" in said
    assert "in fail\n" in said


def test_a_broken_write_leaves_the_old_file(refused, workshop, tmp_path, monkeypatch):
    from kitchensinks.cli import predict

    out = tmp_path / "answers.csv"
    out.write_text("what was there before")

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(predict.Answers, "of", fail)
    said = refused("predict", workshop / "kind.sinks", workshop / "test.csv", "--out", out, code=1)
    assert "No space left" in said
    assert out.read_text() == "what was there before"
    assert list(tmp_path.iterdir()) == [out]


def test_a_classifier_is_not_scored_by_a_column_of_something_else(refused, workshop):
    table = pd.read_csv(workshop / "test.csv")
    other = next(name for name in table.columns if table[name].dtype.kind == "f")
    said = refused("score", workshop / "kind.sinks", workshop / "test.csv", "--target", other)
    assert f"Column '{other}' holds values such as" in said
    assert "Name the column of the true values" in said


def test_text_under_a_loss_of_numbers_is_told_of_other_losses(refused, workshop, tmp_path):
    said = refused(
        "fit", workshop / "train.csv", "-t", "kind", "--loss", "poisson", "--out", tmp_path / "m"
    )
    assert "--loss poisson needs numbers" in said
    assert "another loss, such as logistic" in said
    assert "--task" not in said
