"""The README says what the code does and what the results file holds."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_table_is_that_of_the_results_file():
    from benchmarks.__main__ import RESULTS, into_readme

    assert into_readme(README, json.loads(RESULTS.read_text())) == README


def test_the_example_runs():
    example = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]
    assert len(example.strip().splitlines()) <= 11
    names: dict = {}
    exec(example, names)
    assert names["model"].score(names["X_test"], names["y_test"]) > 0.96


def test_links_lead_somewhere():
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / link).exists(), link
