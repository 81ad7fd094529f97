"""Every table and figure runs on few rows; the committed results say what the page says."""

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from kitchensinks.papers import datasets, experiments
from kitchensinks.papers.experiments import tables
from kitchensinks.papers.experiments.harness import conclusions, reproduce, results_of

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "results"
COMMITTED = sorted(path.parent.name for path in RESULTS.glob("*/results.json"))


# One study of each paper, and of each chapter of the thesis, runs with `make test`; all of them run
# with `make test-slow`.
FAST = {
    "rks-figure2",
    "bases-figure1",
    "maxout-figure1",
    "maxout-table3",
    "rfsvm-figure2.2",
    "relu-figure3.1",
    "depth-figure3.3",
}
STUDIES = [
    pytest.param(name, marks=() if name in FAST else pytest.mark.slow)
    for name in experiments.names()
]


def test_fast_studies_are_studies():
    assert set(experiments.names()) > FAST


@pytest.mark.parametrize("name", experiments.names())
def test_cells_of_a_study_differ(name):
    study = experiments.study(name)
    assert study.name == name
    for quick in (False, True):
        keys = [json.dumps(cell, sort_keys=True) for cell in study.cells(quick)]
        assert keys
        assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("name", STUDIES)
def test_the_study_runs(name, tmp_path):
    study = experiments.study(name)
    missing = set(study.needs) - set(datasets.available())
    if missing:
        pytest.skip(f"needs the data sets {', '.join(sorted(missing))}")
    facts = reproduce(study, tmp_path, quick=True)
    assert facts["complete"]
    assert facts["cells"]
    assert facts["claims"]


def assert_same(said, committed):
    """Equal words and verdicts; numbers may differ by the rounding of another processor."""
    if isinstance(committed, dict):
        assert said.keys() == committed.keys()
        for key in committed:
            assert_same(said[key], committed[key])
    elif isinstance(committed, list):
        for one, other in zip(said, committed, strict=True):
            assert_same(one, other)
    elif isinstance(committed, float):
        assert said == pytest.approx(committed, rel=1e-9, abs=1e-12)
    else:
        assert said == committed


@pytest.mark.parametrize("name", COMMITTED)
def test_committed_verdicts_follow_from_the_committed_numbers(name):
    study = experiments.study(name)
    facts = json.loads((RESULTS / name / "results.json").read_text("utf-8"))
    assert not facts["quick"]
    if facts["version"] != study.version:
        assert facts["version"] < study.version
        assert "earlier form of the study" in tables.markdown(facts)
        return
    missing = facts["missing"]
    assert [record["cell"] for record in facts["cells"]] == [
        cell for cell in study.cells(False) if cell not in missing
    ]
    said = json.loads(json.dumps(conclusions(study.report(results_of(facts)))))
    assert_same(said, {key: facts[key] for key in said})
    assert (RESULTS / name / "table.md").read_text("utf-8") == tables.markdown(facts)
    for picture in (RESULTS / name).glob("figure.*"):
        assert picture.stat().st_size < 200_000


@pytest.mark.parametrize("name", COMMITTED)
def test_every_cell_stores_its_evidence_and_its_time(name):
    facts = json.loads((RESULTS / name / "results.json").read_text("utf-8"))
    for record in facts["cells"]:
        assert record["processor_seconds"] >= 0
        assert {"gap", "converged"} <= record["measured"].keys()


def test_the_page_agrees_with_the_results():
    page = ROOT / "docs" / "holds.md"
    assert page.read_text("utf-8") == tables.page(RESULTS, page.parent)


def test_every_file_of_a_study_is_in_the_catalogue():
    folder = Path(experiments.__file__).parent
    files = {path.stem for path in folder.glob("*_*.py") if not path.stem.startswith("_")}
    assert files == {re.sub("[-.]", "_", name) for name in experiments.names()}
    for name in experiments.names():
        assert set(experiments.study(name).needs) <= set(datasets.names())


def test_an_unknown_name_lists_the_names():
    with pytest.raises(ValueError, match=r"rks-figure9.*rks-figure2"):
        experiments.study("rks-figure9")
