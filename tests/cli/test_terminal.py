"""Where a verb writes, and how it tells how far it is."""

import sys

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
