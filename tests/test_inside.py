"""The page on the path of three fits names files, functions and classes that exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "inside.md").read_text("utf-8")
# The notation of the page: `path.py: name`, with a dot between a class and its method.
NAMED = re.compile(r"`([\w/]+\.py): ([\w.]+)`")
# The line that explains the notation.
NOTATION = "`path.py: name`"


def mentions(text):
    """Pairs (path, name) in the order of the page."""
    return NAMED.findall(text.replace(NOTATION, ""))


def defined_in(path):
    """Functions, classes and methods of a file, as `function`, `Class` and `Class.method`."""
    found = set()

    def visit(node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                found.add(prefix + child.name)
            if isinstance(child, ast.ClassDef):
                visit(child, f"{prefix}{child.name}.")

    visit(ast.parse(path.read_text("utf-8")), "")
    return found


@pytest.mark.parametrize(("path", "name"), sorted(set(mentions(PAGE))))
def test_the_page_inside_names_what_exists(path, name):
    file = ROOT / "src" / "kitchensinks" / path
    assert file.is_file(), f"docs/inside.md names {path}, which is gone."
    assert name in defined_in(file), f"docs/inside.md names {name} of {path}, which is gone."


def test_the_page_inside_has_one_notation():
    """Every file that the page names is followed by a name, so that the test above sees it."""
    assert PAGE.count(NOTATION) == 1
    assert len(mentions(PAGE)) == PAGE.count(".py") - 1
    assert "FileSource.held" in defined_in(ROOT / "src" / "kitchensinks" / "cli" / "fit.py")
    assert "FileSource.gone" not in defined_in(ROOT / "src" / "kitchensinks" / "cli" / "fit.py")
