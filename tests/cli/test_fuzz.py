"""Whatever is typed: an answer, or one line that says what is wrong; no traceback, no hang."""

import contextlib
import faulthandler
import io
import math
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kitchensinks.cli import options as parsers
from kitchensinks.cli.app import app
from tests.cli.conftest import rows_of, write

# Seconds after which a command counts as one that hangs: the process ends with a traceback.
LONGEST = 120
OPTIONS = {
    "deadline": None,
    "derandomize": True,
    "suppress_health_check": list(HealthCheck),
    "database": None,
}
MANY = pytest.param(1500, marks=pytest.mark.slow)
NASTY = [
    "",
    " ",
    "-",
    "--",
    "-1",
    "0",
    "1",
    "7",
    "0.5",
    "1e5",
    "1e-320",
    "1e308",
    "1e999",
    "nan",
    "inf",
]
NASTY += [
    "-inf",
    "9" * 30,
    "9" * 400,
    "9" * 5000,
    "0x10",
    "1_000",
    "½",
    "٣",
    "auto",
    "None",
    "\x00",
]
NASTY += [
    "a\nb",
    "[red]",
    "é" * 200,
    "sup:",
    "sup:nan",
    "l2:inf",
    "l2:1e999",
    "sup:9e307",
    "local:0",
]
NASTY += ["10,20,,", "1,1e9", "9" * 400 + "GB", "16MB", "1e3MB", ".MB", "-1GB", "../../x", "/", "~"]
NASTY += [
    "quick",
    "kind",
    "price",
    "size",
    "colour",
    "fourier",
    "hinge",
    "quantile",
    "{}",
    "%s",
    "$HOME",
]
texts = st.sampled_from(NASTY) | st.text(max_size=12)


@settings(max_examples=100, **OPTIONS)
@given(texts)
def test_parsers_take_any_text(text):
    def tried(parse, *given):
        try:
            return parse(*given)
        except ValueError as error:
            assert type(error) is ValueError  # noqa: PT017
            return None

    size = tried(parsers.memory, text)
    assert size is None or size == text
    for number in tried(parsers.whole_numbers, "--components", text) or [1]:
        assert number >= 1
    for kind in (int, float):
        found = tried(parsers.number_or_auto, "--alpha", text, kind)
        assert found is None or found == "auto" or isinstance(found, kind)
    ball = tried(parsers.constraint, text)
    assert ball is None or 0.0 < ball.radius < math.inf
    tried(parsers.cluster, None, text)


def run(*arguments):
    """Exit code and error stream of a command in this process."""
    faulthandler.dump_traceback_later(LONGEST, exit=True, file=sys.__stderr__)
    out, err = io.StringIO(), io.StringIO()
    code = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            app([str(one) for one in arguments])
        except SystemExit as stop:
            code = stop.code or 0
    faulthandler.cancel_dump_traceback_later()
    return code, err.getvalue()


def check(*arguments):
    code, said = run(*arguments)
    told = f"{arguments}: {code}, {said[-600:]}"
    assert code in (0, 2), told
    assert "Traceback" not in said, told
    if code == 2:
        # Of typer, which knows the kinds of the options, or ours.
        complaints = [line for line in said.splitlines() if line.startswith("Error:")]
        assert len(complaints) == 1 or "Usage:" in said, told


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("typed")
    write(rows_of(40), folder / "train.csv")
    return folder


FIT = ["--task", "--drop", "--category", "--seed", "--components", "--loss", "--tau", "--alpha"]
FIT += [
    "--constraint",
    "--validation",
    "--memory",
    "--threads",
    "--basis",
    "--target",
    "--time-limit",
]
FIT += ["--effort", "--time", "--groups"]
# Nothing is learned, so that a fit takes a moment.
PLAIN = ["--basis", "fourier", "--components", "5", "--quiet"]


@pytest.mark.parametrize("examples", [15, MANY])
def test_fit_with_any_values_of_its_options(examples, folder):
    @settings(max_examples=examples, **OPTIONS)
    @given(st.sampled_from(FIT), texts, st.sampled_from(["kind", "price"]))
    def typed(option, text, target):
        out = folder / "model.sinks"
        given = ["fit", folder / "train.csv", "--target", target, "--out", out, *PLAIN]
        if (option, text) in (("--components", "1e5"), ("--basis", "learned")):
            return
        check(*given, f"{option}={text}")

    typed()


@pytest.mark.parametrize("examples", [15, MANY])
def test_other_verbs_with_any_words(examples, workshop, tmp_path):
    model, test = str(workshop / "kind.sinks"), str(workshop / "test.csv")
    out = str(tmp_path / "out.csv")
    verbs = [
        ["predict", model, test, "--out", out, "--id={}"],
        ["predict", "{}", test, "--out", out],
        ["predict", model, "{}", "--out", out],
        ["predict", model, test, f"--out={tmp_path}/{{}}"],
        ["score", model, test, "--target={}"],
        ["score", model, test, "--threads={}"],
        ["info", "{}"],
        ["export", "{}", "--out", str(tmp_path / "m.onnx")],
        ["datasets", "{}"],
        ["reproduce", "{}"],
        ["{}", test],
    ]

    @settings(max_examples=examples, **OPTIONS)
    @given(st.sampled_from(verbs), texts)
    def typed(words, text):
        # A dash reads from the standard input, which is none here.
        if text != "-":
            check(*(word.replace("{}", text) for word in words))

    typed()
