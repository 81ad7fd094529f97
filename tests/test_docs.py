"""The examples in the documentation run, and its tables name what exists."""

import doctest
import re
from pathlib import Path

import pytest

import kitchensinks as ks

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize(
    "page", ["tutorial.md", "bases.md", "theory.md", "selection.md", "geometry.md", "depth.md"]
)
def test_examples_of_the_page_run(page):
    result = doctest.testfile(str(DOCS / page), module_relative=False, encoding="utf-8")
    assert result.attempted > 0
    assert result.failed == 0


def test_the_table_of_bases_names_every_basis():
    named = set(re.findall(r"^\| `(\w+)", (DOCS / "bases.md").read_text("utf-8"), re.MULTILINE))
    assert named == set(ks.bases.known_bases())


def test_the_page_on_theory_names_every_function():
    named = set(re.findall(r"`(\w+)`", (DOCS / "theory.md").read_text("utf-8")))
    functions = {name for name in ks.theory.__all__ if name.islower()}
    assert functions <= named


def test_the_page_on_the_command_names_every_verb():
    typer = pytest.importorskip("typer")
    from kitchensinks.cli.app import app

    page = (DOCS / "command.md").read_text("utf-8")
    for verb in typer.main.get_command(app).commands:
        assert f"sinks {verb}" in page


@pytest.mark.parametrize("page", ["fitting.md", "files.md", "cluster.md"])
def test_python_blocks_of_the_page_run(page):
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(block, {})


def test_every_picture_is_drawn_shown_and_small():
    script = (DOCS / "plot_pages.py").read_text("utf-8")
    drawn = set(re.findall(r"^@picture\ndef (\w+)", script, re.MULTILINE))
    drawn.add("growth")  # by benchmarks/report.py, from its results
    pages = "".join(path.read_text("utf-8") for path in DOCS.glob("*.md"))
    assert set(re.findall(r"\(pictures/(\w+)\.svg\)", pages)) == drawn
    files = list((DOCS / "pictures").iterdir())
    assert {path.stem for path in files} == drawn
    assert sum(path.stat().st_size for path in files) < 300_000
