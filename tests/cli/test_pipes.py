"""`-` in place of a file: rows from a pipe, answers and models to one."""

import gzip
import io
import subprocess
import sys

import pytest

from tests.cli.conftest import COMMAND, environment, rows_of, write


@pytest.fixture
def given(monkeypatch):
    """Set the bytes that the standard input holds."""

    def give(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return give


def plain_fit(data, out):
    arguments = ["fit", data, "--target", "kind", "--drop", "id", "--drop", "price"]
    return [*arguments, "--out", out, "--basis", "fourier", "--components", "60"]


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_answers_to_rows_of_a_pipe_are_those_of_a_file(packed, sinks, given, workshop, tmp_path):
    data, out = (workshop / "test.csv").read_bytes(), tmp_path / "answers.csv"
    assert sinks("predict", workshop / "kind.sinks", workshop / "test.csv", "--out", out)[0] == 0
    given(gzip.compress(data) if packed else data)
    code, said, notes = sinks("predict", workshop / "kind.sinks", "-", "--out", "-")
    assert code == 0, notes
    assert said == out.read_text()
    assert "standard output: 150 rows" in notes


def test_parquet_in_a_pipe_is_known_by_its_first_bytes(sinks, given, workshop, tmp_path):
    path = write(rows_of(50, seed=1), tmp_path / "rows.parquet")
    expected = sinks("predict", workshop / "price.sinks", path, "--out", "-")
    given(path.read_bytes())
    assert sinks("predict", workshop / "price.sinks", "-", "--out", "-")[1] == expected[1]
    assert expected[1].startswith('"prediction"\n')
    assert expected[1].count("\n") == 51


def test_a_model_fitted_to_a_pipe_is_that_of_the_file(sinks, given, workshop, tmp_path):
    given((workshop / "train.csv").read_bytes())
    code, said, notes = sinks(*plain_fit("-", tmp_path / "piped.sinks"))
    assert code == 0, notes
    assert "standard input: 300 rows" in notes
    assert "piped.sinks" in said
    answers = [
        sinks("predict", folder / name, workshop / "test.csv", "--out", "-")[1]
        for folder, name in ((tmp_path, "piped.sinks"), (workshop, "kind.sinks"))
    ]
    assert answers[0] == answers[1]


def test_a_score_of_rows_of_a_pipe(sinks, given, workshop):
    given((workshop / "test.csv").read_bytes())
    code, said, notes = sinks("score", workshop / "kind.sinks", "-")
    assert code == 0, notes
    assert "on standard input: error" in said


def test_two_commands_and_a_pipe_between_them(workshop, tmp_path):
    """A model goes to the standard output as bytes; a reader that closes early is no traceback."""
    options = {"env": environment(), "check": False, "capture_output": True, "timeout": 120}
    fitted = subprocess.run(
        [*COMMAND, *map(str, plain_fit("-", "-"))],
        input=(workshop / "train.csv").read_bytes(),
        **options,
    )
    assert fitted.returncode == 0, fitted.stderr
    assert b"standard output: classification, fourier" in fitted.stderr
    model = tmp_path / "model.sinks"
    model.write_bytes(fitted.stdout)
    line = f"{sys.executable} -m kitchensinks predict {model} - --out - | head -2"
    shown = subprocess.run(
        ["sh", "-c", line], input=(workshop / "test.csv").read_bytes(), **options
    )
    assert shown.stdout.startswith(b'"prediction","probability_cheap","probability_dear"\n')
    assert shown.stdout.count(b"\n") == 2
    assert b"Traceback" not in shown.stderr


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "standard input is empty"),
        (b"1,2\n3,4\n", "standard input, line 1: '1,2' looks like data"),
        (b"a,b\n1,2\n", "standard input has no column 'kind'"),
    ],
    ids=["empty", "no names", "other columns"],
)
def test_what_is_wrong_with_the_standard_input_is_said_of_it(data, words, sinks, given, tmp_path):
    given(data)
    code, _, said = sinks(*plain_fit("-", tmp_path / "m.sinks"))
    assert code == 2
    assert words in said
    assert not list(tmp_path.iterdir())


def test_the_standard_output_holds_one_thing(sinks, workshop, tmp_path, monkeypatch):
    test, model = workshop / "test.csv", workshop / "kind.sinks"
    code, out, said = sinks("predict", model, test, "--out", "-", "--json")
    assert (code, out) == (2, "")
    assert "--json and --out -" in said
    for verb in (["export", model, "--out", "-"], ["report", model, test, "--out", "-"]):
        code, _, said = sinks(*verb)
        assert code == 2
        assert "need the name of a file" in said


def test_a_terminal_gets_no_bytes_and_is_not_waited_for(sinks, workshop, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    code, _, said = sinks("predict", workshop / "kind.sinks", "-", "--out", "-")
    assert code == 2
    assert "which is a terminal here" in said
