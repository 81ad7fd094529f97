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


def plain(text):
    """Text without line breaks, quotes of prose and comment signs."""
    return " ".join(text.replace("#", " ").split())


SENTENCES = re.findall(r"^\| ([\w./]+\.(?:md|py)) \| (.+?) \| (`tests/.+`) \|$", PAGE, re.M)


def test_sentences_are_listed():
    assert {path for path, _, _ in SENTENCES} >= {"README.md", "CHANGELOG.md", "docs/fitting.md"}
    assert len(SENTENCES) > 8


@pytest.mark.parametrize(("path", "sentence", "test"), SENTENCES)
def test_a_sentence_that_is_promised_stands_where_it_is_said_to_stand(path, sentence, test):
    assert plain(sentence) in plain((ROOT / path).read_text())


def test_figures_of_the_soak_are_quoted():
    """The page has the counts that `make soak` has written last."""
    from benchmarks import soak

    assert soak.page(PAGE) == PAGE


def test_figures_of_the_soak_are_there():
    found = json.loads((ROOT / "results" / "soak.json").read_text())
    named = {"save", "predict", "fit", "full_disk", "concurrent_commands", "threads"}
    assert named <= set(found)
    for part in ("save", "predict", "fit"):
        assert all(found[part][one] > 0 for one in ("SIGKILL", "SIGTERM", "SIGINT"))
    assert found["full_disk"]["refused"] == found["full_disk"]["sizes"]
