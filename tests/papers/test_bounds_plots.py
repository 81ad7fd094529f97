"""Every bound has a figure, and the page shows it."""

import inspect
import re
import sys
from pathlib import Path

import pytest

import kitchensinks as ks

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "bounds.md").read_text("utf-8")

sys.path.insert(0, str(DOCS))
try:
    import bounds_drawing
    import plot_bounds
finally:
    sys.path.remove(str(DOCS))

BOUNDS = [name for name in ks.theory.__all__ if inspect.isfunction(getattr(ks.theory, name))]


def sentence_under(name):
    return PAGE.split(f"(figures/{name}.svg)")[1].split("![")[0]


def panel_of(name):
    panel = Figure().add_subplot()
    plot_bounds.FIGURES[name].draw(panel, observed=False)
    return panel


@pytest.fixture(scope="module")
def called():
    """The functions of `ks.theory` that each figure calls for its curves and its ring."""
    calls = {}

    def recorded(name, function):
        def call(*args, **kwargs):
            calls[figure].add(name)
            return function(*args, **kwargs)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in BOUNDS:
            patch.setattr(ks.theory, name, recorded(name, getattr(ks.theory, name)))
        for figure in plot_bounds.FIGURES:
            calls[figure] = set()
            panel_of(figure)
    return calls


def test_every_public_function_is_drawn(called):
    assert set().union(*called.values()) == set(BOUNDS)


@pytest.mark.parametrize("name", plot_bounds.FIGURES)
def test_sentence_under_the_figure_names_its_functions(name, called):
    assert called[name]
    assert called[name] <= set(re.findall(r"`(\w+)`", sentence_under(name)))


@pytest.mark.parametrize(
    "name", [name for name, plot in plot_bounds.FIGURES.items() if plot.ring], ids=str
)
def test_ring_lies_on_its_curve(name):
    panel, plot = panel_of(name), plot_bounds.FIGURES[name]
    curve, (value, choice, *_) = plot.curves[0], plot.ring
    (ring,) = [line for line in panel.get_lines() if line.get_label() == f"solve: {curve.main}"]
    (line,) = [
        line
        for line in panel.get_lines()
        if line.get_label() == f"{curve.symbol} = {bounds_drawing.power(choice)}"
    ]
    across, up = line.get_data()
    assert min(across) <= ring.get_xdata()[0] <= max(across)
    assert ring.get_ydata()[0] == value
    assert min(up) <= value <= max(up)
    at = curve.at(**curve.law | {curve.varied: choice, curve.main: ring.get_xdata()[0]})
    assert at == pytest.approx(value, rel=0.01)


def test_page_shows_every_figure_and_each_file_exists():
    shown = re.findall(r"!\[([^\]]+)\]\(figures/(\w+)\.svg\)", PAGE)
    assert shown == [(plot.title, name) for name, plot in plot_bounds.FIGURES.items()]
    assert {path.stem for path in (DOCS / "figures").iterdir()} == {name for _, name in shown}


@pytest.mark.parametrize("name", plot_bounds.FIGURES)
def test_saved_figure_has_the_words_of_its_table(name):
    svg = (DOCS / "figures" / f"{name}.svg").read_text("utf-8")
    plot = plot_bounds.FIGURES[name]
    for words in (plot.title, plot.source, plot.across, plot.up):
        assert words.replace("<", "&lt;") in svg
    assert ("solve: " in svg) == (
        "`solve`" in PAGE.split(f"(figures/{name}.svg)")[1].split("![")[0]
    )


def test_figures_are_small():
    assert sum(path.stat().st_size for path in (DOCS / "figures").iterdir()) < 700_000


def test_figure_renders_alike_twice(tmp_path):
    plot = plot_bounds.FIGURES["sinks_lemma_4"]
    first = plot_bounds.save(plot, tmp_path / "one.svg").read_bytes()
    assert plot_bounds.save(plot, tmp_path / "two.svg").read_bytes() == first
    svg = first.decode()
    assert plot.title in svg
    assert "δ = 0.001" in svg  # only coordinates are rounded
    assert "date" not in svg
