"""Every bound has a figure, and the page shows it."""

import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import kitchensinks as ks

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "bounds.md").read_text("utf-8")


def load_script():
    spec = importlib.util.spec_from_file_location("plot_bounds", DOCS / "plot_bounds.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


script = load_script()


def test_every_public_function_has_a_figure():
    functions = {name for name in ks.theory.__all__ if inspect.isfunction(getattr(ks.theory, name))}
    drawn = {name for bound in script.FIGURES.values() for name in bound.functions}
    assert drawn == functions


@pytest.mark.parametrize("name", script.FIGURES)
def test_figure_calls_what_it_names(name):
    bound = script.FIGURES[name]
    code = inspect.getsource(bound.draw)
    if "network(" in code:  # a helper of several figures
        code += inspect.getsource(script.network)
    assert all(re.search(rf"\btheory\.{function}\b", code) for function in bound.functions)


def test_page_shows_every_figure_and_each_file_exists():
    shown = re.findall(r"!\[[^\]]+\]\(figures/(\w+)\.svg\)", PAGE)
    assert shown == list(script.FIGURES)
    assert {path.stem for path in (DOCS / "figures").iterdir()} == set(shown)


@pytest.mark.parametrize("name", script.FIGURES)
def test_sentence_under_the_figure_names_its_functions(name):
    sentence = PAGE.split(f"(figures/{name}.svg)")[1].split("![")[0]
    assert set(script.FIGURES[name].functions) <= set(re.findall(r"`(\w+)`", sentence))


def test_figures_are_small():
    assert sum(path.stat().st_size for path in (DOCS / "figures").iterdir()) < 600_000


def test_figure_renders_alike_twice(tmp_path):
    name = "sinks_lemma_4"
    first = script.save(name, tmp_path).read_bytes()
    assert script.save(name, tmp_path).read_bytes() == first
    svg = first.decode()
    assert script.FIGURES[name].title in svg
    assert "δ = 0.001" in svg  # only coordinates are rounded
    assert "date" not in svg
