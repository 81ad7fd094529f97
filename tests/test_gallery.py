"""The examples of the gallery run, draw something, and need no data but their own."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "docs" / "examples").glob("*.py"))


def marked(path):
    """That of a cluster takes long, because workers start."""
    slow = [pytest.mark.slow] if "cluster" in path.stem else []
    return pytest.param(path, marks=slow, id=path.stem)


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize("path", list(map(marked, EXAMPLES)))
def test_example_runs_and_draws(path, tmp_path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KITCHENSINKS_DATA", raising=False)
    try:
        runpy.run_path(str(path), run_name="__main__")
        drawn = [axes for number in pyplot.get_fignums() for axes in pyplot.figure(number).axes]
        assert any(axes.has_data() for axes in drawn)
    finally:
        pyplot.close("all")
    assert not list(tmp_path.iterdir()), "an example leaves no files"


def test_every_example_has_a_title_and_is_not_long():
    assert len(EXAMPLES) >= 11
    for path in EXAMPLES:
        lines = path.read_text("utf-8").splitlines()
        assert lines[0] == '"""', path.name
        assert lines[2] == "=" * len(lines[1]), path.name
        assert len(lines) < 80, path.name
