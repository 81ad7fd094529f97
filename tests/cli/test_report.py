"""`sinks report`."""

import json

import pytest


@pytest.mark.parametrize("target", ["kind", "price"])
def test_a_page_and_its_facts(target, workshop, tmp_path, sinks):
    model, data = workshop / f"{target}.sinks", workshop / "test.csv"
    page, facts = tmp_path / "report.html", tmp_path / "report.json"
    code, told, _ = sinks("report", model, data, "--out", page, "--json")
    assert code == 0
    found = json.loads(told)
    assert found["rows"] == 150
    assert page.stat().st_size == found["bytes"] < 2_000_000
    assert sinks("report", model, data, "--out", facts, "--no-compare")[0] == 0
    own = json.loads(facts.read_text("utf-8"))
    assert {one["column"] for one in own["importances"]} == {"size", "colour", "weight"}
    assert own["importances"][0]["column"] in ("size", "colour")
    assert {one["name"]: one["value"] for one in own["score"]} == pytest.approx(found["score"])
