"""Every verb in a terminal and without one."""

import io
import os
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

from kitchensinks.cli import main
from tests.cli.conftest import COMMAND, environment, rows_of, run_in_terminal, run_plain, write
from tests.jobs import python

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")


def arguments_of(verb, workshop, folder):
    train, test, model = workshop / "train.csv", workshop / "test.csv", workshop / "kind.sinks"
    fit = ["fit", train, "--target", "kind", "--drop", "price", "--effort", "quick"]
    return {
        "fit": [*fit, "--components", "50", "--out", folder / "new.sinks"],
        "predict": ["predict", model, test, "--out", folder / "answers.csv", "--id", "id"],
        "score": ["score", model, test],
        "info": ["info", model],
        "report": ["report", model, test, "--out", folder / "report.html"],
        "export": ["export", model, "--out", folder / "model.onnx"],
        "compare": [
            *("compare", train, "-t", "kind", "--drop", "price", "--rows", "120"),
            *("--components", "20", "--out", folder / "a.png"),
        ],
        "plan": ["plan", train, "-t", "kind", "--drop", "price", "--rows", "120"],
        "datasets": ["datasets"],
    }[verb]


WORDS = {
    "fit": [
        "rows/s",
        "K = 50",
        "Held out: error",
        "were fitted.",
        "Law: ",
        "row identifiers: 'id'",
    ],
    "predict": ["150 rows", "rows/s"],
    "score": ["error", "log loss", "150 rows"],
    "info": ["KitchenSinkClassifier", "colour", "Fourier(", "kind"],
    "report": ["accuracy", "log loss", "150 rows", "report.html"],
    "export": ["columns by name"],
    "compare": [
        "learned",
        "gradient boosting",
        "AdaBoost stumps",
        "linear ridge",
        "kernel SVM",
        "binning",
    ],
    "plan": ["decay", "effective dimension", "suggested", "Theorem II.6", "sinks fit"],
    "datasets": ["adult", "wine", "here", "sha256", "https://"],
}
WRITES = {
    "fit": "new.sinks",
    "predict": "answers.csv",
    "report": "report.html",
    "export": "model.onnx",
    "compare": "a.png",
}

# Verbs that draw a bar, or a table with bold words, in a terminal.
DRAWS = {"fit", "predict", "score", "compare"}


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize("verb", WORDS)
def test_a_verb_in_a_terminal_and_without_one(verb, workshop, tmp_path, sinks, terminal):
    if verb == "export":
        pytest.importorskip("skl2onnx")
    if verb == "compare":
        pytest.importorskip("matplotlib")
    folders = [tmp_path / "plain", tmp_path / "terminal"]
    for folder in folders:
        folder.mkdir()
    code, output, notes = sinks(*arguments_of(verb, workshop, folders[0]))
    assert code == 0, notes
    assert "\x1b" not in output + notes
    code, screen = terminal(*arguments_of(verb, workshop, folders[1]))
    assert code == 0, screen
    assert ("\x1b[" in screen) == (verb in DRAWS)
    for word in WORDS[verb]:
        assert word in output + notes
        assert word in screen
    names = [WRITES[verb]] if verb in WRITES else []
    for folder in folders:
        assert [path.name for path in folder.iterdir()] == names


def test_the_demo_refuses_a_folder_in_a_terminal_and_without_one(tmp_path, sinks):
    """The one in a terminal is a process of its own."""
    pytest.importorskip("matplotlib")
    (tmp_path / "file").touch()
    plain, _, notes = sinks("demo", "--out", tmp_path / "file")
    code, screen = run_in_terminal("demo", "--out", tmp_path / "file")
    assert plain == code == 2
    for said in (notes, screen):
        assert "file" in said
        assert "Traceback" not in said


@pytest.mark.slow
@pytest.mark.parametrize("run", [run_plain, run_in_terminal])
def test_the_whole_demo(run, tmp_path):
    pytest.importorskip("matplotlib")
    said = str(run("demo", "--quick", "--out", tmp_path / "demo"))
    assert "Fourier gaussian" in said
    assert "seconds in all" in said
    assert len(list((tmp_path / "demo").iterdir())) == 2


def test_help_loads_nothing_heavy_and_every_verb_shows_an_example():
    code = (
        "import sys\nfrom kitchensinks.cli.app import app\n"
        "try: app(sys.argv[1:])\nexcept SystemExit: pass\n"
        "print({'numpy', 'scipy', 'sklearn', 'numba', 'pandas', 'pyarrow'} & set(sys.modules))"
    )
    said = python("-c", code, "--help", COLUMNS="80")
    assert said.rstrip().endswith("set()")
    assert "..." not in said.partition("Commands:")[2], "a description is cut off"
    for verb in [*WORDS, "demo"]:
        assert verb in said


@pytest.mark.parametrize("verb", [*WORDS, "demo"])
def test_help_of_a_verb_shows_an_example(verb, sinks):
    code, said, _ = sinks(verb, "--help")
    assert code == 0
    assert f"Example: sinks {verb}" in said


def test_ctrl_c_leaves_a_checkpoint_and_says_how_to_go_on(tmp_path):
    path = write(rows_of(300_000), tmp_path / "many.parquet")
    command = ["fit", path, "-t", "price", "--drop", "kind", "-o", tmp_path / "m.sinks"]
    command += ["--basis", "fourier", "--components", "700", "--validation", "0"]
    command += ["--checkpoint", tmp_path / "work"]
    process = subprocess.Popen(
        [*COMMAND, *map(str, command)],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        # A test that runs in the background would hand down that interrupts are ignored.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    # The column that numbers the rows is told first.
    assert "row identifiers: 'id'" in process.stderr.readline()
    assert "300,000 rows" in process.stderr.readline()
    deadline = time.monotonic() + 60
    while not (tmp_path / "work" / "all-rows").is_dir():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.4)  # the folder is there a moment before the pass over the rows begins
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 1
    assert "Run the same" in said
    assert "Traceback" not in said
    assert (tmp_path / "work").is_dir()
    assert not (tmp_path / "m.sinks").exists()


def test_an_output_that_has_no_such_letters_gets_others(monkeypatch):
    """Descriptions have signs that ASCII lacks."""
    ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", ascii_only)
    monkeypatch.setattr(sys, "argv", ["sinks", "datasets"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    ascii_only.flush()
    assert b"28 ? 28 pixels" in ascii_only.buffer.getvalue()
