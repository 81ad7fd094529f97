"""Runs that are stopped go on; results of another kind are not mixed in."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

pytest.importorskip("matplotlib")

import kitchensinks as ks
from kitchensinks.papers.depth.stacked import StackedSinksRegressor
from kitchensinks.papers.experiments.claims import Claim, below
from kitchensinks.papers.experiments.data import certified, evidence, fit_quietly
from kitchensinks.papers.experiments.harness import conclude, conclusions, folder_of, reproduce
from kitchensinks.papers.experiments.study import Line, Report, Study, Table
from kitchensinks.papers.experiments.tables import _table, markdown


def toy(log, stop_at=None, **changes):
    """Four cells that note that they ran."""

    def run(cell, quick):
        if cell["K"] == stop_at:
            raise KeyboardInterrupt
        log.append(cell["K"])
        return {"error": 1.0 / cell["K"], "seconds": cell["K"]}

    def report(results):
        lines = [Line(f"K = {k}", results.values("error", K=k), paper=1.0) for k in (1, 2, 3, 4)]
        claim = Claim("falls", [below(results.values("error", K=4), results.values("error", K=1))])

        def draw(figure):
            figure.subplots().plot(results.values("K"), results.values("error"))

        return Report([Table("errors", lines)], [claim], draw)

    fields = {
        "name": "toy-figure1",
        "source": "nowhere",
        "what": "a toy",
        "minutes": 0.1,
        "cells": lambda quick: [{"K": k} for k in (1, 2, 3, 4)],
        "run": run,
        "report": report,
    }
    return Study(**(fields | changes))


def test_a_stopped_run_goes_on_at_the_next_cell(tmp_path):
    whole, parts = [], []
    expected = reproduce(toy(whole), tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        reproduce(toy(parts, stop_at=3), tmp_path / "parts")
    half = json.loads((tmp_path / "parts" / "toy-figure1" / "results.json").read_text())
    assert not half["complete"]
    assert [record["cell"]["K"] for record in half["cells"]] == [1, 2]
    facts = reproduce(toy(parts), tmp_path / "parts")
    assert parts == whole == [1, 2, 3, 4]
    for key in ("tables", "claims", "complete"):
        assert facts[key] == expected[key]
    assert reproduce(toy(parts), tmp_path / "parts")["cells"] == facts["cells"]
    assert parts == whole


def test_a_grid_that_grows_keeps_what_was_measured(tmp_path):
    log = []
    reproduce(toy(log), tmp_path)
    more = [{"K": k} for k in (5, 1, 2, 3, 4)]
    facts = reproduce(toy(log, cells=lambda quick: more), tmp_path)
    assert log == [1, 2, 3, 4, 5]
    assert [record["cell"] for record in facts["cells"]] == more


@pytest.mark.parametrize("change", ["quick", "version"])
def test_other_runs_are_not_mixed_in(tmp_path, change):
    log = []
    reproduce(toy(log), tmp_path)
    if change == "quick":
        reproduce(toy(log), tmp_path, quick=True)
    else:
        reproduce(replace(toy(log), version=2), tmp_path)
    assert log == [1, 2, 3, 4] * 2


def test_the_folder_has_numbers_table_and_figure(tmp_path):
    facts = reproduce(toy([]), tmp_path)
    folder = folder_of("toy-figure1", tmp_path, False)
    names = {path.name for path in folder.iterdir()}
    assert names == {"results.json", "table.md", "figure.png", "figure.svg"}
    assert json.loads((folder / "results.json").read_text("utf-8")) == facts
    assert {"processor", "versions", "python"} <= set(facts["machine"])
    assert all(record["processor_seconds"] >= 0 for record in facts["cells"])
    table = (folder / "table.md").read_text("utf-8")
    assert "| K = 4 | 1.00 | 0.25 | -0.75 |" in table
    assert "**undecided**" in table  # one seed


def test_lines_with_columns_are_a_table_of_two_ways():
    lines = [
        Line("1,000", [2.0, 4.0], 5.0, 0.5, "1 s", column="ridge"),
        Line("20", [1.0], column="ridge"),
        Line("20", [7.0], note="3 s", column="none"),
    ]
    facts = conclusions(Report([Table("Errors", lines, "%", 1, "K", "seconds")], []))
    assert list(_table(facts["tables"][0])) == [
        "**Errors, %: ours ± deviation over 2 seeds, (the paper's); seconds**",
        "",
        "| K | ridge | none |",
        "|---|---|---|",
        "| 20 | 1.0 | 7.0; 3 s |",
        "| 1,000 | 3.0 ± 1.4 (5.0 ± 0.5); 1 s |  |",
    ]


def test_columns_without_entries_are_left_out():
    lines = [Line("20", [1.0]), Line("30", [2.0], note="slow")]
    facts = conclusions(Report([Table("Errors", lines)], []))
    assert list(_table(facts["tables"][0]))[2:] == [
        "| case | ours | note |",
        "|---|---|---|",
        "| 20 | 1.00 |  |",
        "| 30 | 2.00 | slow |",
    ]


def test_numbers_that_are_none_are_refused(tmp_path):
    study = toy([], run=lambda cell, quick: {"error": float("nan")})
    with pytest.raises(ValueError, match="JSON"):
        reproduce(study, tmp_path)


def test_cells_keep_the_evidence_of_their_fits():
    rows = np.random.default_rng(0).normal(size=(60, 2))
    one = ks.KitchenSinkClassifier(ks.Fourier(), 10, loss="hinge", random_state=0)
    one.fit(rows, rows[:, 0] > 0)
    assert evidence(one) == {"gap": one.gap_, "converged": one.converged_}
    stack = StackedSinksRegressor(n_components=10, random_state=0).fit(rows, rows[:, 0])
    gaps = [layer.gap_ for chain in stack.chains_ for layer in chain.layers]
    assert evidence(stack) == {"gap": max(gaps), "converged": True}
    unknown = {"gap": None, "converged": None}
    assert evidence(one, object()) == evidence(object()) == unknown


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_stochastic_fit_is_certified_afterwards(n_classes, intercept):
    rows = np.random.default_rng(0).normal(size=(300, 3)) * [1, 5, 1] + 1
    labels = (rows[:, 0] > 1).astype(int) + (rows[:, 2] > 2) * (n_classes - 2)

    def fitted(solver, **options):
        model = ks.KitchenSinkClassifier(
            ks.Fourier(gamma=0.3),
            30,
            loss="logistic",
            fit_intercept=intercept,
            solver=solver,
            random_state=0,
            **options,
        )
        return fit_quietly(model, rows, labels)

    best = fitted(ks.Solver(tol=1e-8), alpha=1e-3)
    solved = certified(best, rows, labels)
    assert solved["objective"] == pytest.approx(best.objective_, rel=1e-6)
    assert solved["gap"] < 1e-6
    rough = fitted(ks.Solver("stochastic", step=1.0, batch_size=20, epochs=3), alpha=1e-3)
    found = certified(rough, rows, labels)
    excess = found["objective"] - best.objective_
    assert 1e-4 < excess <= found["gap"] < 1.0


@pytest.mark.parametrize(("steps", "enough"), [(1, False), (-1, True)])
def test_other_libraries_say_whether_they_converged(steps, enough):
    rows = np.random.default_rng(0).normal(size=(60, 2))
    model = make_pipeline(StandardScaler(), SVC(max_iter=steps))
    fit_quietly(model, rows, rows[:, 0] > 0)
    assert evidence(model) == {"gap": None, "converged": enough}


def test_cells_without_a_solver_say_so(tmp_path):
    facts = reproduce(toy([]), tmp_path)
    assert all(record["measured"]["gap"] is None for record in facts["cells"])


def test_cells_by_which_a_grid_has_grown_are_named(tmp_path):
    reproduce(toy([]), tmp_path)
    grown = toy([], cells=lambda quick: [{"K": k} for k in (1, 2, 3, 4, 5, 6)])
    facts = conclude(grown, folder_of("toy-figure1", tmp_path, False))
    assert facts["missing"] == [{"K": 5}, {"K": 6}]
    assert "2 cells of the present grid were not run: K 5, 6." in markdown(facts)


def test_a_finished_run_is_judged_again_without_its_cells(tmp_path):
    ran = []
    study = toy(ran)
    reproduce(study, tmp_path)
    folder, done = folder_of("toy-figure1", tmp_path, False), list(ran)
    before = json.loads((folder / "results.json").read_text("utf-8"))
    facts = conclude(study, folder)
    assert ran == done
    assert facts == before
    assert conclude(study, tmp_path / "nothing") is None
