"""The record of constants: each belongs to a section that says what shows it.

Constants that no error and no time shows are shown here: a test fails where one of them is changed.
"""

import ast
import math
import subprocess
import sys
import tracemalloc
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import kitchensinks as ks
from benchmarks import constants as shown
from benchmarks.store import read
from kitchensinks.law import constants, encodings, few
from kitchensinks.law.candidates import affordable, bytes_of_bins
from kitchensinks.law.choice import _refusal
from kitchensinks.law.copies import by_chance, many, one_of_each
from kitchensinks.law.directions import gradient_products
from kitchensinks.law.find import warn_few_decide
from kitchensinks.law.task import LearningRows, in_effect
from kitchensinks.law.values import Request
from kitchensinks.problem.targets import Batch
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.encoders import Category, Means
from kitchensinks.tables.keys import find_copies, row_keys
from kitchensinks.tables.table import open_table
from kitchensinks.tables.view import Rows

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(500, 3))
BATCH = Batch(ROWS, ROWS[:, :1] ** 2)


# -- the record ----------------------------------------------------------------------------


def test_every_constant_belongs_to_a_section_that_names_what_shows_it():
    names = [
        node.targets[0].id for node in ast.parse(source()).body if isinstance(node, ast.Assign)
    ]
    listed = [name for _, _, own in shown.sections() for name in own]
    assert listed == names
    for title, by, own in shown.sections():
        assert own, title
        assert by == shown.HERE or (ROOT / by).is_file(), title


def test_every_constant_has_its_reason():
    lines = source().splitlines()
    for place, line in enumerate(lines):
        if line[:1].isupper() and " = " in line:
            assert lines[place - 1].startswith("# "), line
            assert not lines[place - 1].startswith(("# --", "# Shown by")), line


def test_every_number_that_the_benchmark_shows_is_among_its_results():
    results = read(shown.RESULTS)
    for title, by, own in shown.sections():
        for name in own if by == shown.HERE else ():
            if shown.changed(name) is not None:
                assert set(shown.cases_of(title, name)) <= set(results[name]), name


def test_every_number_that_the_benchmark_shows_changes_an_error():
    """Those that change none have a test, or go."""
    results = read(shown.RESULTS)
    for title, by, own in shown.sections():
        for name in own if by == shown.HERE else ():
            if shown.changed(name) is not None:
                assert {shown.ratio(results, title, name, k, 0) for k in (0, 2)} != {"1"}, name


@pytest.mark.slow
def test_every_number_that_a_test_shows_makes_it_fail():
    """Where it is halved, and where it is doubled."""
    command = [sys.executable, "-m", "benchmarks.constants", "--tests"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == ""


def source():
    return Path(constants.__file__).read_text("utf-8")


# -- when a law is learned -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_rows", "spikes", "told"),
    [(5000, 8, True), (5000, 12, False), (200, 3, True), (200, 6, False)],
)
def test_few_rows_that_decide_the_squared_error_are_told(n_rows, spikes, told):
    targets = np.zeros((n_rows, 1))
    targets[:spikes] = 1.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_few_decide(Batch(np.zeros((n_rows, 2)), targets))
    assert len(caught) == told
    assert all(f"that {spikes} of {n_rows:,} rows decide" in str(one.message) for one in caught)


@pytest.mark.parametrize(("basis", "fewest"), [(None, 30), (ks.ReLU(), 400)], ids=repr)
def test_the_fewest_rows_that_a_law_is_learned_from(basis, fewest):
    refused = [_refusal(ks.Learned(basis), batch_of(count)) for count in (fewest - 1, fewest)]
    assert f"from {fewest} or more" in refused[0]
    assert refused[1] is None


def test_the_most_columns_that_scales_are_learned_for_without_a_choice_of_columns():
    refused = []
    for width in (5000, 5001):
        batch = Batch(sparse.eye_array(500, width, format="csr"), BATCH.targets)
        refused.append(_refusal(ks.Learned(ks.ReLU()), batch))
    assert refused[0] is None
    assert "at most 5000" in refused[1]


def test_weights_that_are_nearly_all_on_one_row_are_refused():
    """With shares p and 1 − p the two rows count as 1/(p² + (1 − p)²)."""
    for share, learned in ((0.7, True), (0.85, False)):
        weights = np.full(500, 1e-9)
        weights[:2] = share, 1.0 - share
        refused = _refusal(ks.Learned(), BATCH._replace(weights=weights))
        assert (refused is None) == learned


def batch_of(count):
    return Batch(BATCH.rows[:count], BATCH.targets[:count])


# -- copies --------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "warns"), [(6, False), (14, True)])
def test_copies_count_as_weights_from_two_percent_on(count, warns):
    places = np.append(np.arange(500), np.arange(count))
    _, copies = one_of_each(Batch(BATCH.rows[places], BATCH.targets[places]), 0)
    assert many(copies) == warns


@pytest.mark.parametrize(("same", "chance"), [(0.125, True), (0.27, False)])
def test_pairs_of_equal_rows_are_chance_where_independent_columns_have_a_tenth_of_them(
    same, chance
):
    """Of two columns of 50 values, the second repeats the first with probability √same: columns
    that do not depend on each other would have 1/(50·same + 1 − same) of the equal pairs."""
    rng = np.random.default_rng(0)
    first, other = rng.integers(0, 50, (2, 6000))
    rows = np.column_stack([first, np.where(rng.random(6000) < math.sqrt(same), first, other)])
    rows = rows.astype(float)
    copies = find_copies(row_keys(rows, 0), rows[:, :1], None)
    assert by_chance(rows, np.arange(6000), copies, 0) == chance


def test_a_thousand_rows_held_out_are_enough_where_copies_are_unequal():
    rows = RNG.uniform(size=(15_000, 2))
    numbers = np.where(np.arange(15_000) % 75 == 0, 5000.0, 1.0)
    task = LearningRows(Batch(rows, rows[:, :1], numbers), Request(seed=0), ks.Learned())
    assert len(task.data.held) == 3000
    task.temper(numbers)
    assert in_effect(task.data.scored_of(task.data.held)) == pytest.approx(1000, rel=0.01)


# -- quantiles -----------------------------------------------------------------------------


def test_quantiles_of_columns_are_exact_to_a_hundredth():
    """The largest error of the quantiles of n rows is 0.87/√n on average (Kolmogorov)."""
    rows = np.random.default_rng(0).uniform(size=(26_000, 30))
    task = LearningRows(Batch(rows, rows[:, :1]), Request(seed=0), ks.Learned())
    ordered = np.sort(task.sample, axis=0)
    exact = np.linspace(0.0, 1.0, len(ordered))[:, None]
    assert 0.0075 < np.abs(ordered - exact).max(axis=0).mean() < 0.01


# -- memory --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_rows", "width", "grids", "classes"),
    [(60_000, 2, 40, 0), (30_000, 6, 40, 0), (10_000, 6, 100, 0), (30_000, 6, 40, 5)],
)
def test_the_memory_of_bins_is_that_of_a_fit(n_rows, width, grids, classes):
    """What a fit allocates for each row and grid is no more, and not much less."""
    rows = np.random.default_rng(0).normal(size=(n_rows, width))
    given = {"alpha": 1e-3, "n_jobs": 1, "random_state": 0}
    model = ks.KitchenSinkRegressor(ks.Binning(gamma=1.0), grids, **given)
    targets = rows[:, 0]
    if classes:
        model = ks.KitchenSinkClassifier(ks.Binning(gamma=1.0), grids, **given)
        targets = np.digitize(targets, np.linspace(-1.0, 1.0, classes - 1))
    model.fit(rows[:500], targets[:500])
    tracemalloc.start()
    model.fit(rows, targets)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.5 < most / grids / bytes_of_bins(n_rows, classes or 1) < 1.0


def test_the_pool_of_a_wide_table_takes_128_megabytes():
    batch = Batch(sparse.eye_array(4000, 4900, format="csr"), RNG.normal(size=(4000, 1)))
    task = LearningRows(batch, Request(seed=0), ks.Learned())
    assert 0.99 * 2**27 < task.pool.nbytes <= 2**27


@pytest.mark.parametrize(("width", "megabytes"), [(6000, 92), (20_000, 256), (60_000, 256)])
def test_rows_of_very_many_columns_are_few(width, megabytes, monkeypatch):
    """At most 2000, and 256 MB where they are dense."""
    taken = []
    monkeypatch.setattr(few, "LearningRows", lambda batch, *_, **__: taken.append(batch) or 1 / 0)
    batch = Batch(sparse.eye_array(2500, width, format="csr"), RNG.normal(size=(2500, 1)))
    with pytest.raises(ZeroDivisionError):
        few.best_of_few(ks.Learned(), batch, Request(seed=0))
    size = 8 * taken[0].rows.shape[0] * width / 2**20
    assert 0.94 * megabytes < size <= megabytes


def test_the_gram_of_the_last_fit_takes_half_a_gigabyte_at_most():
    rows = RNG.normal(size=(20_000, 2))
    request = Request(seed=0, memory=1e12)
    task = LearningRows(Batch(rows, rows[:, :1]), request, ks.Learned(seconds=1e6))
    assert 0.9 * 2**29 < 8 * affordable(task, sparse=False).components ** 2 < 2**29


# -- slopes by differences -----------------------------------------------------------------


@pytest.mark.parametrize("level", [0.0, 3e8], ids=["curvature", "rounding"])
def test_slopes_by_differences_are_exact_to_three_millionths(level):
    """f(x) = sin(x·w) + c: curvature is h²/6 of the slope, and rounding is c·1e-16/h."""
    rows, along = ROWS[:40], np.array([1.0, -2.0, 0.5])
    slopes = np.cos(rows @ along)[:, None] * along
    exact = slopes.T @ slopes / len(rows)
    found = by_differences(lambda moved: np.sin(moved @ along)[:, None] + level, rows)
    assert np.abs(found - exact).max() < 3e-6 * np.abs(exact).max()


@pytest.mark.parametrize(("width", "rows"), [(10, 5000), (500, 100), (1100, 50)])
def test_differences_of_wide_rows_are_few_and_never_fewer_than_fifty(width, rows):
    moved = []

    def count(shifted):
        moved.append(len(shifted))
        return np.zeros((len(shifted), 1))

    by_differences(count, np.zeros((6000, width), np.float32))
    assert sum(moved) == 2 * width * rows


def by_differences(function, rows):
    draw = SimpleNamespace(
        slopes=lambda _: None, astype=lambda _: SimpleNamespace(scaled_features=function)
    )
    return gradient_products(SimpleNamespace(draw=draw), np.ones((1, 1)), rows)


# -- categories ----------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "tried"), [(7, True), (9, False)])
def test_indicators_of_very_many_categories_are_not_tried(count, tried):
    """A column of words has at most 64 of them."""
    ways = encodings._ways(batch_of_words(80, count), ("mean",), None)
    assert any(isinstance(way.columns.encoders[0], Category) for way in ways) == tried


@pytest.mark.parametrize(("error", "kind"), [(1.02, Means), (1.04, Category)])
def test_means_are_kept_where_another_encoding_is_hardly_better(error, kind, monkeypatch):
    def run(task, _):
        return SimpleNamespace(run_error=1.0 if task.n_inputs > 1 else error)

    monkeypatch.setattr(encodings, "short_run", run)
    batch = batch_of_words(30)
    found = encodings.encode(batch.rows, batch.targets[:, 0], None, "regression")
    assert isinstance(found.columns.encoders[0], kind)


def batch_of_words(levels, count=1):
    level = np.arange(20 * levels) % levels
    words = pd.Categorical([f"w{k}" for k in level])
    frame = pd.DataFrame({f"word {k}": words for k in range(count)})
    table = open_table(frame)
    return Batch(Rows(table, Columns.learn(table)), level[:, None] % 7.0, None)
