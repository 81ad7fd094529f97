"""`sinks reproduce`: what it lists, what it writes, and what it says where something is wrong."""

import json

import pytest

pytest.importorskip("matplotlib")

from kitchensinks.papers import experiments


def test_without_a_name_it_lists_every_table_and_figure(sinks):
    code, out, _ = sinks("reproduce")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == experiments.names()
    code, out, _ = sinks("reproduce", "--json")
    listed = json.loads(out)["experiments"]
    assert [one["name"] for one in listed] == experiments.names()
    assert all(one["what"] and one["source"] and one["minutes"] > 0 for one in listed)


def test_a_run_writes_its_folder_and_a_second_one_has_nothing_to_do(sinks, tmp_path):
    asked = ("reproduce", "theory-rates", "--quick", "--out", tmp_path)
    code, out, err = sinks(*asked)
    assert code == 0
    assert "one thread" in err
    assert "holds" in out
    assert "needs" not in err
    folder = tmp_path / "quick" / "theory-rates"
    first = json.loads((folder / "results.json").read_text("utf-8"))
    assert (folder / "figure.svg").exists()
    assert sinks(*asked)[:2] == (code, out)
    assert json.loads((folder / "results.json").read_text("utf-8")) == first


def test_a_stopped_run_says_how_to_go_on(sinks, tmp_path, monkeypatch):
    def interrupted(cell, quick):
        raise KeyboardInterrupt

    monkeypatch.setattr("kitchensinks.papers.experiments.theory_rates.run", interrupted)
    code, _, err = sinks("reproduce", "theory-rates", "--quick", "--out", tmp_path)
    assert code == 1
    assert "cell 1 of theory-rates" in err
    assert "resumes" in err


def test_an_unknown_name_lists_the_names(sinks):
    code, _, err = sinks("reproduce", "rks-figur2")
    assert code == 2
    assert "nearest: rks-figure2" in err
    assert all(name in err for name in experiments.names())


def test_a_name_and_all_is_an_error(sinks):
    code, _, err = sinks("reproduce", "theory-rates", "--all")
    assert code == 2
    assert "give one of them" in err


def test_missing_data_are_named_with_their_source(sinks, tmp_path, monkeypatch):
    from kitchensinks.papers.experiments import data

    monkeypatch.setenv("KITCHENSINKS_DATA", str(tmp_path))
    data.load.cache_clear()
    code, _, err = sinks("reproduce", "rks-figure2", "--quick", "--out", tmp_path)
    data.load.cache_clear()
    assert code == 2
    assert "cannot start without adult/a9a.npz" in err
    assert "To get it" in err


def test_the_page_needs_a_folder_of_results(sinks, tmp_path):
    page = tmp_path / "holds.md"
    code, _, err = sinks("reproduce", "--page", page, "--out", tmp_path / "nothing")
    assert code == 2
    assert "--out" in err
    code, out, _ = sinks("reproduce", "--page", page, "--out", tmp_path)
    assert code == 0
    assert str(page) in out
    assert page.read_text("utf-8").startswith("# Does it hold?")
