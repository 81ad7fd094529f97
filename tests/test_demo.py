"""The demo, as a user runs it."""

import re
import subprocess
import sys

import pytest

from kitchensinks import demo


def run_demo(*arguments):
    command = [sys.executable, "-W", "error::RuntimeWarning", "-m", "kitchensinks.demo"]
    return subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=600
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    pytest.importorskip("matplotlib")
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    return run_demo("--quick", "--out", folder), folder


def test_it_ends_well_and_says_what_it_is_doing_on_the_error_stream(finished):
    outcome, _ = finished
    assert outcome.returncode == 0, outcome.stderr
    said = [line for line in outcome.stderr.splitlines() if line.startswith("Fitting ")]
    assert [line.split(",")[0] for line in said] == [
        f"Fitting {name}" for name in (*demo.REAL, *demo.SYNTHETIC)
    ]
    others = [line for line in outcome.stderr.splitlines() if line not in said]
    assert others.pop() == "Drawing two pictures."
    assert all(line.startswith(("Compiling loops", "  ")) for line in others)


@pytest.mark.parametrize("kept", [False, True])
def test_it_says_what_it_compiles_where_nothing_is_kept(kept, monkeypatch, capsys):
    fitted = []
    monkeypatch.setattr(demo, "is_kept", lambda loop: kept)
    monkeypatch.setattr(demo, "fit_and_score", lambda *given: fitted.append(given[2]))
    demo.warm_up()
    out, said = capsys.readouterr()
    names = [*demo.bases_for(2), demo.NOTHING]
    assert out == ""
    assert len(fitted) == len(names)
    lines = said.splitlines()
    assert len(lines) == (0 if kept else 1 + len(names))
    if not kept:
        assert lines[0].startswith("Compiling loops: this happens once")
        told = zip(lines[1:], names, strict=True)
        assert all(f"what {name} needs" in line for line, name in told)


def test_the_table_has_a_line_for_every_set_and_basis_and_stars_the_lowest_error(finished):
    outcome, _ = finished
    line = re.compile(r"^(\S*) +(\S.*?) +(-|\d+) +(\d+\.\d)( \*)? +(\d+\.\d\d)$", re.MULTILINE)
    found: dict[str, dict[str, tuple[float, bool]]] = {}
    for name, basis, _, error, star, _ in line.findall(outcome.stdout):
        rows = found.setdefault(name or list(found)[-1], {})
        rows[basis] = (float(error), bool(star))
    assert list(found) == [*demo.REAL, *demo.SYNTHETIC]
    for name, rows in found.items():
        n_inputs = 2 if name in demo.SYNTHETIC else 10
        first = [demo.NOTHING, demo.TREES] if name in demo.REAL else []
        assert list(rows) == [*first, demo.LINEAR, *demo.bases_for(n_inputs)]
        lowest = min(error for error, _ in rows.values())
        assert [starred for _, starred in rows.values()] == [
            error == lowest for error, _ in rows.values()
        ]
    # Even the quick fits must have learned something.
    assert min(error for error, _ in found["digits"].values()) < 20
    assert min(error for error, _ in found["sine"].values()) < 5


def test_it_names_the_pictures_that_it_wrote(finished):
    outcome, folder = finished
    written = [folder / "boundaries.png", folder / "error_against_k.png"]
    assert sorted(folder.iterdir()) == written
    for path in written:
        assert str(path) in outcome.stdout
        content = path.read_bytes()
        assert content.startswith(b"\x89PNG\r\n\x1a\n")
        assert len(content) > 10_000


@pytest.mark.parametrize("below", ["", "deeper"])
def test_a_file_where_the_folder_should_be_is_one_line_and_exit_code_2(tmp_path, below, capsys):
    pytest.importorskip("matplotlib")
    (tmp_path / "taken").write_text("mine")
    assert demo.main(["--out", str(tmp_path / "taken" / below)]) == 2
    out, said = capsys.readouterr()
    assert out == ""
    assert said.count("\n") == 1
    assert "taken" in said
    assert "a file is in the way" in said
    assert (tmp_path / "taken").read_text() == "mine"


def test_without_matplotlib_it_names_the_extra(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert demo.main(["--out", str(tmp_path / "out")]) == 2
    assert 'pip install "kitchensinks[plot]"' in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
