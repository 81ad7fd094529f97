"""How far a fit is: from the third second on, on the error stream, with the time left."""

import io
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from time import sleep

import numpy as np
import pytest

import kitchensinks as ks
from kitchensinks.estimators import progress as module
from kitchensinks.estimators.progress import Bar, Lines, meter
from kitchensinks.law import Request, constants

X = np.random.default_rng(0).normal(size=(700, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1]


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def ticking(monkeypatch):
    """A clock that goes on by so many seconds whenever it is read."""

    def start(step):
        now = [0.0]

        def read():
            now[0] += step
            return now[0]

        monkeypatch.setattr(module.time, "monotonic", read)

    return start


def regressor(**given):
    return ks.KitchenSinkRegressor(ks.Fourier(), 50, alpha=1e-3, random_state=0, **given)


def test_a_line_now_and_then_with_the_time_left(clock, capsys):
    meter = Lines("Summing", 10.0)
    for done in range(0, 1001, 50):
        clock[0] = done / 10
        meter.seen(done, 1000)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "Summing: 10 %"  # too early to tell
    assert said[-1] == "Summing: 90 %, 10 s left"
    assert len(said) == 9


def test_a_new_pass_is_measured_anew(clock, capsys):
    meter = Lines("Summing", 10.0)
    clock[0] = 5.0
    meter.seen(900, 1000)
    clock[0] = 100.0
    meter.seen(0, 1000)
    clock[0] = 130.0
    meter.phase("solving")
    meter.seen(100, 1000)
    assert capsys.readouterr().err == "Summing, solving\n"
    clock[0] = 140.0
    meter.seen(200, 1000)
    assert capsys.readouterr().err == "Summing, solving: 20 %, 160 s left\n"
    clock[0] = 150.0
    meter.told("adding", 3, 4)  # of another total
    clock[0] = 160.0
    meter.told("adding", 2, 4)  # read ahead: not a pass of its own
    assert capsys.readouterr().err.splitlines()[-1] == "Summing, adding: 50 %, 10 s left"


def test_a_fit_of_less_than_two_seconds_shows_nothing(clock, capfd):
    regressor().fit(X, Y, verbose=True)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("basis", [ks.Fourier(), ks.Learned(ks.Fourier(), "quick")], ids=repr)
def test_a_longer_fit_tells_the_time_left_on_the_error_stream(basis, ticking, capfd):
    ticking(2.5)
    model = ks.KitchenSinkRegressor(basis, 50, random_state=0).fit(X, Y, verbose=True)
    out, said = capfd.readouterr()
    assert out == ""
    assert all(line.startswith("[kitchensinks] fit, ") for line in said.splitlines())
    learned = isinstance(basis, ks.Learned)
    assert ("basis: " in said and "% of the variance: 40 %, " in said) == learned
    assert ("s left" in said) == learned  # one block of rows is no pass to wait for
    assert len(said.splitlines()) >= 1 + 2 * learned
    model.fit(X, Y)
    assert capfd.readouterr() == ("", "")


def test_batches_tell_it_too(ticking, capfd):
    ticking(2.5)
    model = regressor().freeze(X, Y, verbose=True)
    capfd.readouterr()
    model.partial_fit(X, Y, verbose=True)
    assert capfd.readouterr().out == ""


def test_rows_that_wait_tell_it_when_they_are_fitted():
    told = []
    model = ks.KitchenSinkRegressor(ks.Learned(ks.Fourier(), "quick"), random_state=0)
    model.partial_fit(X, Y, verbose=lambda *heard: told.append(heard))
    assert not told
    model.predict(X)
    heard = len(told)
    assert heard
    model.partial_fit(X + 0.1, Y).predict(X)
    assert len(told) == heard


def test_a_bar_in_a_terminal_from_the_third_second_on(clock, monkeypatch):
    pytest.importorskip("rich")
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(screen, "isatty", lambda: True, raising=False)
    with meter("Counting", 2.0, 2.0) as found:
        assert isinstance(found, Bar)
        found.told("up", 10, 100)
        clock[0] = 1.9
        found.told("up", 20, 100)
        assert screen.getvalue() == ""
        standard = sys.stdout
        clock[0] = 2.1
        found.told("up", 30, 100)
        assert sys.stdout is standard
        found.told("down", 0, 100)
    assert "Counting" in screen.getvalue()


def test_a_long_step_leaves_room_for_the_bar(clock):
    """It took the room of the title, the bar, the share and the time left."""
    console = pytest.importorskip("rich.console")
    said = io.StringIO()
    bar = Bar("[name] fit", console.Console(file=said, force_terminal=True, width=80), 2.0)
    clock[0] = 3.0
    bar.told("ridge: 914 features, factor 1.07, squared error 0.7% of " + "what " * 20, 30, 100)
    bar.close()
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", said.getvalue())
    assert re.search(r"\[name\] fit ━{6}.*  30% -:--:-- left  ridge: 914.*…", plain), plain


def test_a_bar_ends_where_a_fit_fails(monkeypatch):
    closed = []
    monkeypatch.setattr(module.Lines, "close", lambda meter: closed.append(meter))
    model = regressor(loss="poisson")
    with pytest.raises(ValueError, match="poisson"):
        model.fit(X, -np.ones(700), verbose=True)
    monkeypatch.setattr("kitchensinks.estimators.base.find_law", None)
    with pytest.raises(TypeError):
        regressor().fit(X, Y, verbose=True)
    assert len(closed) == 1


def test_a_notebook_has_a_bar_and_no_rich_has_lines(monkeypatch):
    rich = pytest.importorskip("rich.console")
    monkeypatch.setattr(rich.Console, "is_jupyter", True, raising=False)
    monkeypatch.setattr(rich, "_is_jupyter", lambda: True)
    with meter("Counting", 2.0, 2.0) as found:
        assert isinstance(found, Bar)
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with meter("Counting", 2.0, 2.0) as found:
        assert isinstance(found, Lines)


def test_a_function_hears_it_all():
    told = []
    learned = ks.Learned(ks.Fourier(), "quick")
    model = ks.KitchenSinkRegressor(learned, random_state=0)
    model.fit(X, Y, verbose=lambda *heard: told.append(heard))
    counted = [heard for heard in told if heard[1] is not None]
    assert all(len(heard) == 3 for heard in told)
    assert all(0 <= done <= total for _, done, total in counted)
    stages = {trial.stage for trial in model.law_.record.trials}
    assert stages <= set(constants.DONE)
    # In the order of the stages, which never goes back.
    assert list(constants.DONE.values()) == sorted(constants.DONE.values())
    assert {text.split(":")[0] for text, _, _ in told} >= stages


@pytest.mark.parametrize("kind", ["meter", "function"])
def test_threads_tell_one_after_another(kind):
    """Laws that are tried in parallel tell of their trials."""
    inside, most = [], []

    def heard(*_):
        inside.append(1)
        most.append(len(inside))
        sleep(0.01)
        inside.pop()

    with ThreadPoolExecutor(4) as pool:
        if kind == "meter":
            found = module.Meter("Counting")
            found.seen = heard
            list(pool.map(lambda done: found.told("step", done, 8), range(8)))
        else:
            with module.shown(Request(seed=0), heard) as spec:
                list(pool.map(lambda done: spec.progress("step", done, 8), range(8)))
    assert most == [1] * 8
