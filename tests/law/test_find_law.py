"""Rows and targets to a law, given or learned, without an estimator."""

import json
import pickle
import time
import warnings
from dataclasses import asdict, replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import kitchensinks as ks
from kitchensinks.fitting.growth import FIRST_COMPONENTS
from kitchensinks.law import Law, Learned, Request, constants, find_law
from kitchensinks.law.copies import numbers, one_of_each
from kitchensinks.law.learned import EFFORTS
from kitchensinks.law.task import LearningRows, in_effect
from kitchensinks.problem.targets import Batch
from tests.little import stages_at

QUICK = Learned(steps=6, batch=64, seconds=0.05, members=2)
N_ROWS = 700


def batch_of(seed=0, n_rows=N_ROWS):
    """Two of five columns matter, and they matter together."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, 5))
    target = np.sin(2 * rows[:, 0]) * rows[:, 1] + 0.05 * rng.normal(size=n_rows)
    return Batch(rows, target[:, None])


BATCH, OTHER = batch_of(), batch_of(1)
REQUEST = Request(seed=0)


@pytest.fixture(scope="module")
def learned():
    return find_law(QUICK, BATCH, REQUEST)


def held_out_error(law):
    """Squared error on other rows of a ridge fit with the law, in units of their variance."""
    alpha = law.alphas(N_ROWS)[0]
    features = law.features.features(BATCH.rows)
    new = law.features.features(OTHER.rows)
    if law.features.basis.sparse:
        features, new = features.toarray(), new.toarray()
    gram = features.T @ features / N_ROWS + (alpha or 1e-4) * np.eye(features.shape[1])
    weights = np.linalg.solve(gram, features.T @ BATCH.targets / N_ROWS)
    return np.mean((new @ weights - OTHER.targets) ** 2) / np.var(OTHER.targets)


# -- a basis: the papers' method ----------------------------------------------------------


def test_a_basis_is_resolved_and_nothing_else():
    law, bins = find_law(ks.Fourier(), BATCH, REQUEST)
    assert law.record is None
    assert law.note == ""
    assert bins is None
    assert law.alphas(N_ROWS) == (None, None)
    features = law.features
    assert (features.n_components, features.seed) == (1000, 0)
    np.testing.assert_allclose(features.scaler.mean, BATCH.rows.mean(axis=0))
    scaled = features.scaler.apply(BATCH.rows, np.float64)
    assert features.basis.gamma == pytest.approx(ks.Fourier().resolve(scaled).gamma)


def test_a_basis_takes_what_the_request_says():
    unscaled = np.array([True, False, False, False, False])
    law, _ = find_law(ks.Fourier(), BATCH, replace(REQUEST, n_components=7, unscaled=unscaled))
    assert law.features.n_components == 7
    assert law.features.scaler.scale[0] == 1.0
    assert (law.features.scaler.scale[1:] != 1.0).all()
    raw, _ = find_law(ks.Fourier(), BATCH, replace(REQUEST, standardize=False))
    assert raw.features.scaler is None
    auto, _ = find_law(ks.Fourier(), BATCH, replace(REQUEST, n_components="auto"))
    assert auto.features.n_components == FIRST_COMPONENTS


@pytest.mark.parametrize(
    ("n_rows", "kind", "changes", "expected"),
    [
        (8388, np.float64, {}, np.float64),
        (8389, np.float64, {}, np.float32),
        (8389, np.float64, {"n_components": 999}, np.float64),
        (8388, np.float64, {"n_components": "auto"}, np.float64),
        (100, np.float32, {}, np.float32),
        (100, np.float64, {"stream": True}, np.float32),
        (10, np.float32, {"dtype": "float64"}, np.float64),
    ],
)
def test_the_dtype_is_wide_where_the_fit_is_small(n_rows, kind, changes, expected):
    rows = np.random.default_rng(0).normal(size=(n_rows, 2)).astype(kind)
    law, _ = find_law(ks.Fourier(), Batch(rows, rows[:, :1]), replace(REQUEST, **changes))
    assert law.features.dtype == expected


# -- learned ------------------------------------------------------------------------------


def test_a_learned_law_beats_that_of_the_basis(learned):
    law, _ = learned
    plain, _ = find_law(ks.Fourier(), BATCH, replace(REQUEST, n_components=400))
    assert held_out_error(law) < 0.5 * held_out_error(plain)
    record = law.record
    assert record.trials[0].stage == "mean"
    assert record.importances.sum() == pytest.approx(1.0)
    assert record.importances[:2].min() > record.importances[2:].max()
    assert law.alphas(1000)[0] == pytest.approx(law.ridge / 1000)
    assert law.features.dtype == np.float32


def test_the_same_rows_and_seed_give_the_same_law(learned):
    again, _ = find_law(QUICK, BATCH, REQUEST)
    assert repr(again) == repr(learned[0])
    assert again.features.scaler.same(learned[0].features.scaler)


@pytest.mark.parametrize(
    "basis", [ks.Binning(), ks.Fourier("laplacian"), ks.Fourier(), ks.ReLU()], ids=repr
)
def test_the_law_of_a_basis_is_learned(basis):
    law, bins = find_law(
        Learned(basis, steps=6, batch=64), BATCH, replace(REQUEST, n_components=60)
    )
    assert type(law.features.basis) is type(basis)
    assert law.features.n_components == 60
    assert law.record.importances[:2].sum() > 0.6
    assert (bins is not None) == basis.sparse
    if bins is not None:
        assert bins.shape == (60, N_ROWS)


def test_rows_in_batches_get_dense_features():
    law, bins = find_law(QUICK, BATCH, replace(REQUEST, stream=True))
    assert not law.features.basis.sparse
    assert bins is None


def test_columns_that_are_not_to_be_standardised_are_taken_as_they_come():
    rows = BATCH.rows * np.array([1.0, 10.0, 1.0, 0.1, 5.0]) + 3.0
    own = Batch(rows, BATCH.targets)
    law, _ = find_law(QUICK, own, replace(REQUEST, standardize=False))
    assert law.record.map == "as is"
    assert "taken as they come" in repr(law)
    scaler = law.features.scaler
    np.testing.assert_array_equal(scaler.mean, 0.0)
    np.testing.assert_array_equal(scaler.scale, 1.0)
    assert law.record.importances[:2].sum() > 0.6


def test_wide_tables_may_be_taken_as_they_come():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 110))
    own = Batch(rows, np.sin(rows[:, :1] + rows[:, 1:2]))
    law, _ = find_law(QUICK, own, replace(REQUEST, standardize=False))
    assert law.record.map.endswith("as is")


NOT_ASKED = [{}, {"stages": True, "stream": True}, {"stages": True, "n_components": 50}]


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize(
    ("classes", "others"),
    [(False, NOT_ASKED[:1]), (True, NOT_ASKED[1:])],
    ids=["numbers", "classes"],
)
def test_two_stages_only_where_they_were_asked_for(classes, others, monkeypatch):
    for name in ("HOPELESS_FIRST", "CLOSE", "CLEARLY"):
        monkeypatch.setattr(constants, name, 100.0)
    stages_at(monkeypatch, 0.01)
    # Between laws of nearly equal squared error log loss would decide, and two stages be skipped.
    monkeypatch.setattr(constants, "EVEN", 1.0)
    own = Batch(BATCH.rows, np.sign(BATCH.targets)) if classes else BATCH
    request = replace(REQUEST, classes=classes)
    both, _ = find_law(QUICK, own, replace(request, stages=True))
    assert isinstance(both.features.basis, ks.Union)
    assert all(alpha > 0 for alpha in both.alphas(N_ROWS))
    assert "* stages" in repr(both)
    for changes in others:
        one, _ = find_law(QUICK, own, replace(request, **changes))
        assert np.isnan(one.second)


def test_effort_is_counted_work():
    laws = {
        effort: find_law(Learned(effort=effort), BATCH, REQUEST)[0]
        for effort in ("quick", "default", "thorough")
    }
    errors = {effort: held_out_error(law) for effort, law in laws.items()}
    assert max(errors.values()) < 0.05
    quick, default, thorough = (EFFORTS[effort] for effort in laws)
    for less, more in ((quick, default), (default, thorough)):
        assert all(a <= b for a, b in zip(less, more, strict=True))
        assert more.share > less.share
    members, steps, batch = EFFORTS["default"][:3]
    same, _ = find_law(Learned(None, "default", members, steps=steps, batch=batch), BATCH, REQUEST)
    assert repr(same) == repr(laws["default"])


@pytest.mark.usefixtures("little_work")
def test_columns_of_zeros_and_ones_have_one_map():
    """Every map leaves them as they are; one column of numbers beside them brings the others."""
    rows = (BATCH.rows > 0.0).astype(float)
    parity = 2.0 * (rows[:, :1] == rows[:, 1:2]) - 1.0
    law, _ = find_law(QUICK, Batch(rows, parity), REQUEST)
    tried = [trial.what for trial in law.record.trials if trial.stage == "map"]
    assert tried == ["laplacian, squash", "gaussian, squash"]
    mixed = np.hstack([rows, BATCH.rows[:, :1]])
    law, _ = find_law(QUICK, Batch(mixed, parity), REQUEST)
    assert sum(trial.stage == "map" for trial in law.record.trials) > 2


def test_a_time_limit_leaves_out_rounds_and_components(learned):
    """None of the rounds is begun late; what there is, is fitted with the fewest components."""
    request = replace(REQUEST, started=0.0)  # long ago
    law, _ = find_law(clone(QUICK).set_params(time_limit=1e-3, seconds=10.0), BATCH, request)
    stages = {trial.stage for trial in law.record.trials}
    assert stages == {"mean", "map", "basis"}
    assert law.record.reason.endswith("components, by the time limit")
    fewest = constants.FEWEST_GRIDS if law.features.basis.sparse else constants.FEWEST_FEATURES
    draws = law.features.n_components * law.features.basis.features_per_draw
    assert fewest <= draws < 1.2 * fewest
    now = replace(REQUEST, started=time.monotonic())
    enough, _ = find_law(clone(QUICK).set_params(time_limit=1e3), BATCH, now)
    assert repr(enough) == repr(learned[0])


def test_a_time_limit_that_is_not_reached_does_not_change_the_law_of_a_wide_table():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(700, constants.WIDE + 1))
    batch = Batch(rows, rows[:, :1] + rows[:, 1:2] ** 2)
    now = replace(REQUEST, started=time.monotonic())
    enough, _ = find_law(clone(QUICK).set_params(time_limit=1e3), batch, now)
    without, _ = find_law(QUICK, batch, REQUEST)
    assert [trial.what for trial in enough.record.trials] == [
        trial.what for trial in without.record.trials
    ]
    assert repr(enough) == repr(without)


@pytest.mark.slow
@pytest.mark.parametrize("effort", ["default", "thorough"])
@pytest.mark.parametrize("width", [12, 150])
def test_a_time_limit_is_kept_to_a_tenth_from_two_seconds_on(effort, width, monkeypatch):
    """By the processor's time of the one thread, which other processes do not lengthen."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, width)).astype(np.float32)
    y = np.sin(2 * X[:, 0]) * X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=len(X))

    def seconds(limit):
        model = ks.KitchenSinkRegressor(
            ks.Learned(effort=effort, time_limit=limit), n_jobs=1, random_state=0
        )
        begun = time.process_time()
        model.fit(X, y)
        return time.process_time() - begun

    seconds(2.0)  # compiles
    monkeypatch.setattr(time, "monotonic", time.process_time)
    for limit in (2.0, 4.0):
        assert seconds(limit) < 1.1 * limit


def test_what_would_begin_late_is_left_out():
    """The first item is done whatever the time; without a limit, all are."""
    for limit, started, expected in ((None, 0.0, [0, 1, 2]), (1.0, 0.0, [0, None, None])):
        request = replace(REQUEST, started=started)
        task = LearningRows(BATCH, request, clone(QUICK).set_params(time_limit=limit))
        assert task.early(0.5, lambda _, item: item, range(3)) == expected
        last = [0, 1, 2] if limit is None else [None, 1, None]
        assert task.early(0.5, lambda _, item: item, range(3), lambda item: item == 0) == last
        assert (task.used == 0.0) == (limit is None)


# -- a law: learn once, fit twice ---------------------------------------------------------


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize("basis", [ks.Binning(), ks.Fourier()], ids=repr)
def test_a_law_is_taken_for_other_rows(basis):
    request = replace(REQUEST, n_components=40)
    few = Batch(BATCH.rows[:500], BATCH.targets[:500])
    law, _ = find_law(Learned(basis, steps=6, batch=64), few, request)
    again, bins = find_law(law, BATCH, REQUEST)
    assert again.features.scaler.same(law.features.scaler)
    assert not again.features.scaler.outside(BATCH.rows).any()
    assert again.ridge == law.ridge
    assert again.record is law.record
    assert again.alphas(700)[0] == pytest.approx(law.alphas(500)[0] * 500 / 700)
    if not basis.sparse:
        assert bins is None
        return
    assert bins.shape == (40, N_ROWS)
    assert again.features.n_columns > law.features.n_columns
    # Every row has a bin in each grid of the law tabulated anew.
    np.testing.assert_allclose(again.features.features(BATCH.rows).sum(axis=1), 40**0.5, rtol=1e-5)


def test_a_law_is_for_its_own_columns_and_components(learned):
    law, _ = learned
    with pytest.raises(ValueError, match="3 columns, and the law is for 5"):
        find_law(law, Batch(BATCH.rows[:, :3], BATCH.targets), REQUEST)
    with pytest.raises(ValueError, match="n_components=3, and the law has"):
        find_law(law, BATCH, replace(REQUEST, n_components=3))
    wide, _ = find_law(law, BATCH, replace(REQUEST, dtype=np.float64))
    assert wide.features.dtype == np.float64


# -- what cannot be learned from ----------------------------------------------------------


def noise(seed=0):
    return np.random.default_rng(seed).normal(size=(N_ROWS, 1))


@pytest.mark.parametrize(
    ("basis", "batch", "reason"),
    [
        (QUICK, Batch(BATCH.rows[:29], BATCH.targets[:29]), "There are 29 rows"),
        (
            Learned(ks.ReLU()),
            Batch(BATCH.rows[:399], BATCH.targets[:399]),
            "There are 399 rows",
        ),
        (
            Learned(ks.ReLU()),
            Batch(sparse.eye_array(N_ROWS, 5001, format="csr"), BATCH.targets),
            "There are 5001 columns",
        ),
        (Learned(ks.Stumps()), BATCH, r"The law of Stumps\(\) cannot be learned"),
        (QUICK, Batch(BATCH.rows, noise()), "Nothing that was tried is clearly better"),
        (
            QUICK,
            Batch(BATCH.rows, (np.arange(N_ROWS) == 350)[:, None].astype(float)),
            "Too few targets differ",
        ),
    ],
    ids=["rows", "rows of ReLU", "columns of ReLU", "basis", "noise", "rare"],
)
def test_what_cannot_be_learned_from_has_the_plain_law(basis, batch, reason):
    with pytest.warns(UserWarning, match=f"{reason}.*Pass basis=ks\\..* to silence"):
        law, bins = find_law(basis, batch, replace(REQUEST, n_components=30))
    assert law.record is None
    assert bins is None
    assert law.features.n_components == 30
    assert law.note in repr(law)
    own = ks.Fourier() if basis.basis is None else basis.basis
    plain, _ = find_law(own, batch, replace(REQUEST, n_components=30))
    assert law.features.difference(plain.features) is None


@pytest.mark.parametrize(
    ("effort", "count"), [("quick", 447), ("default", 1000), ("thorough", 1000)]
)
def test_the_plain_law_takes_no_more_work_than_the_effort(effort, count):
    few = Batch(BATCH.rows[:20], BATCH.targets[:20])
    with pytest.warns(UserWarning, match="There are 20 rows"):
        law, _ = find_law(Learned(effort=effort), few, replace(REQUEST, n_components=None))
    assert law.features.n_components == count


def repeated(seed, most):
    """A task of 1500 distinct rows, of which one in 75 is there `most` times."""
    rng = np.random.default_rng(seed)
    rows, count = rng.uniform(size=(1500, 2)), np.where(np.arange(1500) % 75 == 0, most, 1)
    rows = np.repeat(rows, count, axis=0)
    batch, copies = one_of_each(Batch(rows, rows[:, :1].copy()), seed)
    task = LearningRows(batch, Request(seed=seed), QUICK)
    task.temper(numbers(batch, copies))
    return task


@pytest.mark.parametrize("seed", [0, 1])
def test_a_few_rows_with_very_many_copies_do_not_decide(seed):
    task = repeated(seed, 500)
    held = task.data.held
    assert in_effect(task.data.weights_of(held)) < 10
    assert len(held) // 2 <= in_effect(task.data.scored_of(held)) < 0.6 * len(held)
    # More copies count for more, and fits have all of them.
    order = np.argsort(task.own[held], kind="stable")
    assert (np.diff(task.data.scored_of(held)[order]) >= 0.0).all()
    assert task.data.weights is task.own
    assert task.few.scored is task.data.scored


def test_a_few_copies_and_weights_that_were_given_count_as_they_are():
    assert repeated(0, 2).data.scored is None
    weights = np.where(np.arange(N_ROWS) % 75 == 0, 500.0, 1.0)
    batch, copies = one_of_each(BATCH._replace(weights=weights), 0)
    task = LearningRows(batch, Request(seed=0), QUICK)
    task.temper(numbers(batch, copies))
    held = task.data.held
    np.testing.assert_array_equal(task.data.scored_of(held), task.own[held])


def test_constant_targets_need_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        law, _ = find_law(QUICK, Batch(BATCH.rows, np.ones((N_ROWS, 1))), REQUEST)
    assert "targets are constant" in law.note


def test_rows_without_weight_do_not_count():
    weights = (np.arange(N_ROWS) < 29).astype(float)
    with pytest.warns(UserWarning, match="There are 29 rows"):
        find_law(QUICK, BATCH._replace(weights=weights), REQUEST)


# -- values -------------------------------------------------------------------------------


def test_a_law_prints_what_it_is(learned):
    law, _ = learned
    lines = repr(law).splitlines()
    assert lines[0].startswith("Law: learned ")
    assert lines[-1] == law.record.reason
    stars = [line for line in lines if line.startswith("*")]
    kept = min(trial.error for trial in law.record.trials if trial.stage == "again")
    assert any(f"{kept:.4f}" in line for line in stars)
    assert any(law.record.map in line for line in stars)
    assert len(stars) < len(law.record.trials) / 2
    given, _ = find_law(ks.Fourier(gamma=0.5), BATCH, replace(REQUEST, n_components=9))
    assert repr(given) == (
        "Law: Fourier(gamma=0.5), 9 components, seed 0\ncolumns are standardised"
    )


def test_a_record_is_arrays_and_json(learned):
    law, _ = learned
    fields = asdict(law.record)
    arrays = {name: fields.pop(name) for name in ("scales", "importances")}
    assert all(array.shape == (5,) for array in arrays.values())
    assert json.loads(json.dumps(fields))["reason"] == law.record.reason


def test_a_law_is_pickled(learned):
    law, _ = learned
    again = pickle.loads(pickle.dumps(law))
    assert isinstance(again, Law)
    assert repr(again) == repr(law)
    assert again.features.difference(law.features) is None


def test_learned_is_an_estimator():
    own = Learned(ks.Fourier(gamma=2.0), effort="quick")
    assert clone(own).get_params()["basis__gamma"] == 2.0
    own.set_params(basis__gamma=3.0, effort="thorough")
    assert repr(own) == "Learned(basis=Fourier(gamma=3.0), effort='thorough')"
    model = ks.RandomFeatures(Learned(ks.Fourier()))
    model.set_params(basis__effort="quick", basis__basis__gamma=1.0)
    assert model.basis.basis.gamma == 1.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"law": "x"}, "law='x'"),
        ({"effort": "much"}, "effort='much': need one of 'quick', 'default', 'thorough'"),
        ({"steps": 10**6}, "1 to 1000"),
        ({"steps": 0}, "steps=0"),
        ({"batch": 10**5}, "16 to 5000"),
        ({"seconds": -1}, "seconds=-1"),
        ({"time_limit": 0}, "time_limit=0"),
        ({"members": 0}, "members=0"),
        ({"rank": 2}, "rank=2 is for law='agop'"),
        ({"basis": 3}, "basis=3: need a basis"),
        ({"basis": ks.Fourier(gamma=-1.0)}, "gamma=-1.0"),
        ({"basis": ks.Binning(), "law": "agop"}, r"takes gradients, and Binning\(\) has none"),
    ],
    ids=str,
)
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        find_law(Learned(**settings), BATCH, REQUEST)


def test_what_is_no_basis():
    with pytest.raises(TypeError, match="basis='auto': need a basis such as"):
        find_law("auto", BATCH, REQUEST)


def test_bins_of_rows_in_batches_are_not_learned():
    with pytest.raises(
        ValueError, match=r"Binning\(\) is learned for rows that are fitted at once"
    ):
        find_law(Learned(ks.Binning()), BATCH, replace(REQUEST, stream=True))
