"""The examples in the documentation run, and its tables name what exists."""

import json
import re
from pathlib import Path

import pytest

import kitchensinks as ks
from kitchensinks.law import constants
from kitchensinks.law.learned import EFFORTS
from tests.pages import blocks_of, run_page

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(DOCS.glob("*.md"))
WITH_EXAMPLES = [page for page in PAGES if any(b.language == "python" for b in blocks_of(page))]


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.name)
def test_examples_of_the_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_example_escapes(page):
    """Python is fenced as ```python, so that the test above sees it."""
    outside = page.read_text("utf-8")
    for block in blocks_of(page):
        assert block.language not in {"py", "python3", "pycon", "ipython", "Python"}, block.line
        if block.language == "python":
            outside = outside.replace(block.text, "")
    assert ">>>" not in outside
    indented = re.findall(r"^(?: {4}|\t).*\bks\..*", outside, re.MULTILINE)
    assert not indented, f"fence this as ```python: {indented}"
    assert "Not run by the tests" not in outside or any(b.reason for b in blocks_of(page))


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.name)
def test_examples_show_results_and_not_that_they_are_true(page):
    for block in blocks_of(page):
        shown = re.findall(r"^\(?(?:True|False)\b.*", block.text, re.MULTILINE)
        assert block.language != "python" or not shown, f"{page.name}:{block.line}: {shown}"


def test_a_wrong_example_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n```\n\n```python\n>>> x + 1\n3\n```\n", "utf-8")
    with pytest.raises(AssertionError, match=r"Expected:\s+3\s+Got:\s+2"):
        run_page(page)
    page.write_text("```python\nraise KeyError\n```\n", "utf-8")
    with pytest.raises(KeyError):
        run_page(page)
    reason = "*Not run by the tests: there is no such file.*\n\n"
    page.write_text(reason + page.read_text("utf-8"), "utf-8")
    run_page(page)


def test_the_table_of_bases_names_every_basis():
    named = set(re.findall(r"^\| `(\w+)", (DOCS / "bases.md").read_text("utf-8"), re.MULTILINE))
    assert named == set(ks.bases.known_bases())


def test_the_table_of_efforts_is_that_of_the_code():
    """And the nominal seconds beside it."""
    page = (DOCS / "law.md").read_text("utf-8")
    for name, work in EFFORTS.items():
        share = {1 / 5: "1/5", 1.0: "1", 3.0: "3"}[work.share]
        assert (
            f"| {name} | {work.members} | {work.steps} | {work.batch} | {work.few} | {share} |"
            in page
        )
    entries = constants.SECONDS_AN_ENTRY * 1e6
    said = f"they are {constants.SECONDS:g} and {entries:g} for each million entries"
    assert said in " ".join(page.split())


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


def test_the_coverage_of_intervals_is_that_of_the_results():
    """With nothing chosen, within two points of 90 % on ten tables."""
    from benchmarks import intervals

    results = json.loads(intervals.RESULTS.read_text("utf-8"))
    table, _ = intervals.report(results).split("\n\n")
    page = (DOCS / "intervals.md").read_text("utf-8")
    assert f"<!-- intervals -->\n{table}\n<!-- end of intervals -->" in page
    chosen = [line.split(" | ") for line in table.splitlines() if "| nothing chosen |" in line]
    assert len(chosen) == len(intervals.TABLES) == 10
    assert all(abs(float(line[3].rstrip("%")) - 90) < 2 for line in chosen)


def test_every_picture_is_drawn_shown_and_small():
    script = (DOCS / "plot_pages.py").read_text("utf-8")
    drawn = set(re.findall(r"^@picture\ndef (\w+)", script, re.MULTILINE))
    drawn |= {"growth", "sizes"}  # by benchmarks/report.py, from its results
    pages = "".join(path.read_text("utf-8") for path in DOCS.glob("*.md"))
    assert set(re.findall(r"\(pictures/(\w+)\.svg\)", pages)) == drawn
    files = list((DOCS / "pictures").iterdir())
    assert {path.stem for path in files} == drawn
    assert sum(path.stat().st_size for path in files) < 300_000


def test_pictures_are_small_and_shown_with_a_text_in_their_place():
    pages = [*PAGES, *(DOCS.parent / name for name in ("CONTRIBUTING.md", "README.md"))]
    text = "".join(path.read_text("utf-8") for path in pages)
    shown = re.findall(r"!\[([^\]]+)\]\((?:docs/)?screens/(\w+\.(?:webp|svg))\)", text)
    files = {path.name: path.stat().st_size for path in (DOCS / "screens").iterdir()}
    assert {name for _, name in shown} == set(files)
    assert all(len(said) > 20 for said, _ in shown)
    assert max(files.values()) < 100_000


def test_every_yes_of_ours_links_to_tests_that_exist():
    """And no other cell of ours does, so that the column says what is checked."""
    page = DOCS / "compared.md"
    rows = [line.strip("| ").split(" | ") for line in page.read_text("utf-8").splitlines()]
    rows = [row for row in rows if len(row) == 5][1:]
    assert len(rows) > 25
    for feature, *_, ours in rows:
        links = re.findall(r'\[yes\]\((\.\./tests/[\w/]+\.py) "(\w+)"\)', ours)
        assert ours == "no" or ours.startswith("[yes]"), feature
        assert bool(links) == (ours != "no"), feature
        for path, test in links:
            assert f"def {test}(" in (page.parent / path).read_text("utf-8"), feature


def test_the_sidebar_has_at_most_seven_entries_and_every_page_is_reached():
    """Pages are in the contents of exactly one other page."""
    contents = {}
    for page in PAGES:
        for block in blocks_of(page):
            if block.language == "{toctree}":
                lines = [line for line in block.text.split("\n") if line and line[0] != ":"]
                contents[page.stem] = [re.sub(r".*<(.*)>", r"\1", line) for line in lines]
    assert len(contents["index"]) <= 7
    listed = [name for names in contents.values() for name in names]
    assert sorted([*listed, "index"]) == sorted(["gallery/index", *(page.stem for page in PAGES)])


def test_links_between_pages_lead_somewhere():
    for page in [*PAGES, DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md"]:
        text = page.read_text("utf-8")
        for block in blocks_of(page):
            text = text.replace(block.text, "")
        for link, place in re.findall(r"\]\((?!http)([^)#\s]*)(?:#([^)\s]*))?\)", text):
            target = (page.parent / link) if link else page
            assert target.exists(), f"{page.name}: {link}"
            assert not place or place in _anchors(target), f"{page.name}: {link}#{place}"


def _anchors(page):
    """The places of a page that a link may name: its headings in small letters, with hyphens."""
    headings = re.findall(r"^#+ (.*)", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", one).lower().strip().replace(" ", "-") for one in headings}
