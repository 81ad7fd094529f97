"""The page of promises names tests that exist, and figures that `make soak` has written."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "promises.md").read_text()
NAMED = sorted(set(re.findall(r"`((?:tests|benchmarks)/[\w/]+\.py)(?:::(\w+))?`", PAGE)))


def test_tests_are_named():
    assert len(NAMED) > 20


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_a_test_that_is_named_exists(path, name):
    text = (ROOT / path).read_text()
    assert not name or f"def {name}(" in text


def test_figures_of_the_soak_are_there():
    found = json.loads((ROOT / "results" / "soak.json").read_text())
    named = {"save", "predict", "fit", "full_disk", "concurrent_commands", "threads"}
    assert named <= set(found)
    for part in ("save", "predict", "fit"):
        assert all(found[part][one] > 0 for one in ("SIGKILL", "SIGTERM", "SIGINT"))
    assert found["full_disk"]["refused"] == found["full_disk"]["sizes"]
