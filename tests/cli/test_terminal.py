"""Where a verb writes, and how it tells how far it is."""

import json
import sys

import numpy as np
import pytest

from kitchensinks.cli import main
from kitchensinks.cli.terminal import Terminal, run


def test_a_bar_in_a_terminal(monkeypatch, capsys):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Terminal().progress("Counting") as meter:
        meter.phase("up")
        for done in (0, 50, 100, 0, 100):
            meter.seen(done, 100)
    assert "Counting" in capsys.readouterr().err


def test_a_missing_package_is_named_with_its_extra(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "kitchensinks.cli.app", raising=False)
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert 'pip install "kitchensinks[cli]"' in capsys.readouterr().err


def test_quiet_and_json_say_nothing_else(capsys):
    terminal = Terminal(as_json=True, quiet=True)
    terminal.note("a note")
    terminal.show("a line")
    terminal.table("a table", ["name"], [["value"]])
    with terminal.progress("work") as meter:
        meter.phase("some")
        meter.seen(1, 2)
    terminal.result({"answer": 42})
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out == '{\n "answer": 42\n}\n'


def test_brackets_in_names_are_text(capsys):
    Terminal().table("speed [km/h] of a[/b].csv", ["name"], [["[red]"]])
    said = capsys.readouterr().out
    assert "speed [km/h] of a[/b].csv" in " ".join(said.split())
    assert "[red]" in said


def test_numbers_that_json_does_not_have_are_null(capsys):
    Terminal(as_json=True).result({"a": [np.float64(np.inf), np.int64(2)], "b": np.zeros(2)})
    assert json.loads(capsys.readouterr().out) == {"a": [None, 2], "b": [0.0, 0.0]}


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (ValueError("a\nb"), 2, "Error: a b"),
        (OSError(28, "No space left"), 1, "Error: No space left."),
        (PermissionError(13, "Not allowed", "a.csv"), 2, "Error: a.csv: Not allowed."),
        (KeyboardInterrupt("Stopped early."), 1, "Stopped early."),
        (KeyError("x"), 1, "Error: KeyError: 'x' Run again with --debug to see where."),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_have_a_code_and_one_line(error, code, text, capsys):
    def fail(terminal):
        raise error

    with pytest.raises(SystemExit) as stop:
        run(fail, as_json=False, quiet=True, debug=False)
    assert stop.value.code == code
    assert capsys.readouterr().err == f"{text}\n"
