"""The README says what the code does and what the results file holds."""

import re
from pathlib import Path

from tests.pages import blocks_of, run_page

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_tables_are_those_of_the_results_files():
    from benchmarks import report

    assert report.readme(README) == README
    for path, fill in ((report.PAGE, report.page), (report.LAW, report.law)):
        text = path.read_text()
        assert fill(text) == text


def test_the_examples_run(tmp_path, monkeypatch):
    examples = [block for block in blocks_of(ROOT / "README.md") if block.language == "python"]
    assert len(examples) == 2
    assert all(len(block.text.strip().splitlines()) <= 10 for block in examples)
    monkeypatch.chdir(tmp_path)
    names = run_page(ROOT / "README.md")
    for model in (names["model"], names["plain"]):
        assert model.score(names["X_test"], names["y_test"]) > 0.96
    assert names["model"].law_.record is not None
    assert names["plain"].law_.record is None


def test_links_lead_somewhere():
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / link).exists(), link
