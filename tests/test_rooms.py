"""The rooms of the package: who may import from whom, how large files and functions may be, and how
light the front door is."""

import ast
import re
import sys
from pathlib import Path

import pytest
from radon.complexity import cc_visit
from radon.visitors import Function

import kitchensinks as ks
from tests.jobs import python

ROOT = Path(__file__).parents[1]
PACKAGE = Path(ks.__file__).parent

# Each room imports only from itself and from the rooms before it, so this list is the flow. It is
# the table of CONTRIBUTING.md: folders end in a slash.
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
TABLE = CONTRIBUTING.read_text("utf-8").split("## The rooms")[1].split("\n## ")[0]
FILES = re.findall(r"^\| `(\w+(?:/|\.py))` \| \S.* \|$", TABLE, re.MULTILINE)
ROOMS = [file.removesuffix("/").removesuffix(".py") for file in FILES]
MOST_LINES = 450
MOST_COMPLEX = 15
MOST_CALLS = 8


# Names that two modules of the library proper define, each with its reason.
TWICE = {
    "Checkpoint": "the protocol that a fit asks for (fitting/), and the class that users give it",
}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def room_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_modules(path):
    """Full names of all that a file imports, wherever in the file it does."""
    names = set()
    inside = path.relative_to(PACKAGE.parent).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = list(inside[: len(inside) - node.level + 1]) if node.level else []
            base += node.module.split(".") if node.module else []
            names.update(".".join([*base, alias.name]) for alias in node.names)
    return names


def imported_rooms(path):
    parts = (name.split(".") for name in imported_modules(path))
    return {part[1] for part in parts if part[0] == "kitchensinks" and len(part) > 1}


def test_a_room_imports_only_from_rooms_above_it():
    assert len(MODULES) > 200
    for path in MODULES:
        room = room_of(path)
        assert room in ROOMS, (
            f"{path.name} stands in the room {room!r}, which is not in the table of "
            f"{CONTRIBUTING}: add it there, after every room that it imports from."
        )
        above = set(ROOMS[: ROOMS.index(room) + 1])
        below = imported_rooms(path) - above
        assert not below, (
            f"{path.relative_to(PACKAGE)} imports from {sorted(below)}, which are not above "
            f"{room!r}: move what is shared up, or the importer down."
        )


def test_the_table_of_rooms_is_the_package():
    assert len(set(ROOMS)) == len(ROOMS)
    there = {f"{path.name}/" for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    there |= {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py"}
    assert set(FILES) == there


def test_a_room_below_is_noticed(tmp_path, monkeypatch):
    """The checker itself, on a file that breaks the rule in every way."""
    room = tmp_path / "kitchensinks" / "tables"
    room.mkdir(parents=True)
    file = room / "wrong.py"
    file.write_text(
        "import kitchensinks.cli\nfrom kitchensinks import papers\n"
        "def later():\n    from ..solvers import problem\n    from . import arrays\n"
    )
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path / "kitchensinks")
    assert imported_rooms(file) == {"cli", "papers", "solvers", "tables"}


def test_no_file_is_long():
    long = {path: len(path.read_text("utf-8").splitlines()) for path in MODULES}
    long = {str(path.relative_to(PACKAGE)): n for path, n in long.items() if n > MOST_LINES}
    assert not long, f"over {MOST_LINES} lines: {long}. Divide them by what they are about."


def test_no_function_is_complex():
    """Branches, loops, conditions and their parts, as radon counts them; ruff counts fewer."""
    found = {}
    for path in MODULES:
        for block in cc_visit(path.read_text("utf-8")):
            if isinstance(block, Function) and block.complexity > MOST_COMPLEX:
                found[f"{path.relative_to(PACKAGE)}: {block.fullname}"] = block.complexity
    assert not found, f"complexity over {MOST_COMPLEX}: {found}. Give each idea a function."


def test_a_class_has_a_name_of_its_own():
    """In the library proper, which ends where the papers begin: a name means one thing."""
    proper = ROOMS[: ROOMS.index("papers")]
    found = {}
    for path in MODULES:
        if room_of(path) in proper:
            for node in ast.parse(path.read_text("utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    found.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    twice = {name: files for name, files in found.items() if len(files) > 1}
    assert twice.keys() == TWICE.keys(), (
        f"classes of one name: {twice}. Give the more local one a longer name, or remove from "
        "TWICE what is defined once."
    )


def test_the_front_door_is_light():
    """`import kitchensinks` loads no library, and takes far less than a second."""
    seconds, *loaded = python(
        "-c",
        "import sys, time; start = time.perf_counter(); import kitchensinks\n"
        "print(time.perf_counter() - start)\n"
        "print(*{'numpy', 'scipy', 'sklearn', 'numba', 'pandas', 'dask'} & set(sys.modules))",
    ).split()
    assert float(seconds) < 1
    assert loaded == []


def test_every_public_name_resolves():
    assert len(set(ks.__all__)) == len(ks.__all__)
    for name in ks.__all__:
        assert getattr(ks, name) is not None
    assert dir(ks) == sorted(ks.__all__)
    for module in (ks.plot, ks.losses):
        assert dir(module) == sorted(module.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Furrier'"):
        ks.Furrier  # noqa: B018


def test_few_calls_lie_between_a_fit_and_its_work():
    from benchmarks.house import frames

    for path in frames(PACKAGE).values():
        assert len(path) <= MOST_CALLS, f"{len(path)} calls: {' > '.join(path)}"
