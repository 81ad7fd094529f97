"""Files are written whole or not at all, with the permissions of any other file."""

import os
from pathlib import Path

import pytest

from kitchensinks.tables.disk import atomic, remove_unfinished
from tests.jobs import python


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("sync", [False, True])
def test_a_file_takes_its_name_when_it_is_whole(tmp_path, sync):
    path = tmp_path / "model.sinks"
    for text in ("first", "second"):
        with atomic(path, sync) as file:
            file.write_text(text)
            assert path.exists() == (text == "second")
        assert path.read_text() == text
    assert names(tmp_path) == ["model.sinks"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "model.sinks"
    path.write_text("old")

    def fail():
        with atomic(path) as file:
            file.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["model.sinks"]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("mask", ["022", "077", "002"])
def test_permissions_are_those_of_any_new_file(tmp_path, mask):
    code = (
        f"import os, pathlib, sys; os.umask(0o{mask})\n"
        "from kitchensinks.tables.disk import atomic\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "with atomic(folder / 'ours') as file: file.write_text('')\n"
        "(folder / 'plain').write_text('')\n"
    )
    python("-c", code, tmp_path)
    ours, plain = ((tmp_path / name).stat().st_mode for name in ("ours", "plain"))
    assert ours == plain


def test_a_folder_that_is_not_there(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match=r"is not a folder: .* cannot be written there"),
        atomic(tmp_path / "none" / "model.sinks"),
    ):
        pass


def test_what_a_killed_process_left_is_removed(tmp_path):
    (tmp_path / "kept.sums").write_text("good")
    with atomic(tmp_path / "kept.sums") as file:
        os.link(file, tmp_path / ".kept.sums.0123.part")
        file.write_text("new")
    remove_unfinished(tmp_path)
    assert names(tmp_path) == ["kept.sums"]


def test_only_one_function_renames_files():
    import kitchensinks as ks

    package = os.path.dirname(ks.__file__)
    users = []
    for folder, _, files in os.walk(package):
        for name in files:
            path = os.path.join(folder, name)
            if name.endswith(".py"):
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                if "os.replace(" in text or "mkstemp(" in text:
                    users.append(os.path.relpath(path, package))
    assert users == [os.path.join("tables", "disk.py")]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a folder that takes no files")
def test_an_error_names_the_file_that_was_asked_for():
    with pytest.raises(OSError, match=r"'/proc/model.sinks'"), atomic("/proc/model.sinks"):
        pass
