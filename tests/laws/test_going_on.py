"""Rows that come after a fit, or in a stream with nothing chosen: any cut is the same model."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import kitchensinks as ks
from kitchensinks.problem.targets import Batch
from kitchensinks.state import remembered
from kitchensinks.state.remembered import Kept
from kitchensinks.state.streams import Waiting, learned_from

# No choice of a law matters to these tests, but to those that are marked.
pytestmark = pytest.mark.usefixtures("little_work")

KINDS = [ks.KitchenSinkRegressor, ks.KitchenSinkClassifier]
BASES = [None, ks.Fourier(), ks.Binning()]
# Each kind with nothing chosen, and with one of the bases.
PAIRS = [*((kind, None) for kind in KINDS), (KINDS[0], BASES[2]), (KINDS[1], BASES[1])]
every_pair = pytest.mark.parametrize(
    ("kind", "basis"), PAIRS, ids=[f"{kind.__name__}-{basis!r}" for kind, basis in PAIRS]
)


def made(n_rows=1000, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, 3))
    steps = np.sign(rows[:, 0]) + np.floor(2.0 * rows[:, 1])
    return rows, steps + 0.2 * rng.normal(size=n_rows)


ROWS, VALUES = made()
NEW, TRUTH = made(500, seed=1)


def targets_of(kind, values=VALUES):
    return values if kind is ks.KitchenSinkRegressor else np.digitize(values, [-1.5, 0.5])


def make(kind=ks.KitchenSinkRegressor, basis=None, **options):
    return kind(ks.Learned(basis, effort="quick"), random_state=0, **options)


def in_batches(model, parts, rows=ROWS, values=VALUES, ask=False):
    """A stream, asked for a prediction after each batch or at its end."""
    for part in parts:
        more = {} if isinstance(model, ks.KitchenSinkRegressor) else {"classes": [0, 1, 2]}
        model.partial_fit(rows[part], values[part], **more)
        if ask:
            model.predict(NEW[:2])
    return model


def cuts(n_rows, count, first=0):
    return np.array_split(np.arange(first, n_rows), count)


@every_pair
def test_a_stream_does_not_depend_on_how_it_is_cut(kind, basis):
    """The law is that of the first rows, the weights are those of all rows.

    The first batch settles the recipe of the columns and the encoding of the targets.
    """
    values, first = targets_of(kind), cuts(100, 1)
    one = in_batches(make(kind, basis), [*first, *cuts(1000, 1, first=100)], values=values)
    more = [*first, *cuts(1000, 2, first=100)]
    other = in_batches(make(kind, basis), more, values=values, ask=True)
    np.testing.assert_array_equal(one.model_.scores(NEW), other.model_.scores(NEW))


@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_a_stream_that_has_reached_a_step_is_one_fit(basis):
    assert learned_from(900) == 900
    stream = in_batches(make(basis=basis), [slice(0, 900)])
    whole = make(basis=basis).fit(ROWS[:900], VALUES[:900])
    np.testing.assert_array_equal(stream.predict(NEW), whole.predict(NEW))


@pytest.mark.usual_work
@every_pair
def test_rows_after_a_fit_are_fitted_under_its_law(kind, basis):
    values, truth = targets_of(kind), targets_of(kind, TRUTH)
    model = make(kind, basis).fit(ROWS[:700], values[:700])
    record, before = model.law_.record, model.score(NEW, truth)
    model.partial_fit(ROWS[700:800], values[700:800]).partial_fit(ROWS[800:], values[800:])
    assert model.law_.record is record
    whole = kind(model.law_, random_state=0).fit(ROWS, values)
    apart = model.model_.scores(NEW) - whole.model_.scores(NEW)
    assert np.sqrt(np.mean(apart**2)) < 0.1 * np.std(whole.model_.scores(NEW))
    assert model.score(NEW, truth) > before - 0.01


@pytest.mark.parametrize(
    ("kind", "loss"),
    [(ks.KitchenSinkClassifier, "logistic"), (ks.KitchenSinkRegressor, "quantile")],
)
def test_other_losses_are_fitted_to_all_rows(kind, loss):
    values = VALUES if kind is ks.KitchenSinkRegressor else VALUES > 0.0
    model = make(kind, ks.Binning(), loss=loss, n_components=20).fit(ROWS[:500], values[:500])
    other = pickle.loads(pickle.dumps(model))
    for one, count in ((model, 1), (other, 3)):
        for part in cuts(1000, count, first=500):
            one.partial_fit(ROWS[part], values[part])
    np.testing.assert_array_equal(other.predict(NEW), model.predict(NEW))
    whole = kind(model.law_, loss=loss, random_state=0).fit(ROWS, values)
    apart = model.model_.scores(NEW) - whole.model_.scores(NEW)
    assert np.sqrt(np.mean(apart**2)) < 0.1 * np.std(whole.model_.scores(NEW))


@pytest.mark.usual_work
def test_weights_count_as_copies_and_sparse_rows_stay_sparse():
    weights = np.random.default_rng(0).integers(0, 3, 1000).astype(float)
    rows = sparse.csr_array(np.maximum(ROWS, 0.0))
    model = make(loss="huber").fit(rows[:600], VALUES[:600], sample_weight=weights[:600])
    model.partial_fit(rows[600:], VALUES[600:], sample_weight=weights[600:])
    batch = model.state_.kept.batch
    assert sparse.issparse(batch.rows)
    np.testing.assert_array_equal(batch.weights, weights)
    other = make(loss="huber").fit(rows[:600], VALUES[:600], sample_weight=weights[:600])
    counted = weights[600:] > 0
    some = {"sample_weight": weights[600:][counted]}
    other.partial_fit(rows[600:][counted], VALUES[600:][counted], **some)
    np.testing.assert_allclose(other.predict(rows), model.predict(rows), atol=1e-6)


def test_rows_that_wait_survive_pickles_files_and_onnx(tmp_path):
    stream = in_batches(make(), cuts(700, 2))
    assert isinstance(stream._held, Waiting)
    again = pickle.loads(pickle.dumps(stream))
    ks.save(stream, tmp_path / "model.sinks")
    expected = ks.load(tmp_path / "model.sinks").predict(NEW)
    np.testing.assert_array_equal(again.predict(NEW), expected)
    np.testing.assert_array_equal(stream.predict(NEW), expected)
    assert isinstance(stream.state_.kept, Kept)
    waiting = in_batches(again, cuts(1000, 1, first=700))
    ks.to_onnx(waiting, tmp_path / "model.onnx")
    waiting = in_batches(pickle.loads(pickle.dumps(stream)), cuts(1000, 1, first=700))
    assert waiting.report(NEW, TRUTH, compare=False).score[0].value == waiting.score(NEW, TRUTH)


def test_a_model_without_its_rows_is_small_and_says_what_is_missing(tmp_path):
    model = make(basis=ks.Binning()).fit(ROWS, VALUES)
    size = len(pickle.dumps(model))
    expected = model.predict(NEW)
    many = ks.KitchenSinkRegressor(ks.Binning(gamma=10.0), 60, random_state=0).fit(ROWS, VALUES)
    ks.save(many, tmp_path / "model.sinks")
    # The basis has more columns than sums may have, which is not what is missing.
    with pytest.raises(ValueError, match=r"model files and drop_sums\(\) leave them out"):
        ks.load(tmp_path / "model.sinks").partial_fit(ROWS, VALUES)
    model.drop_sums()
    assert len(pickle.dumps(model)) < size - ROWS.nbytes
    np.testing.assert_array_equal(model.predict(NEW), expected)
    with pytest.raises(ValueError, match=r"model files and drop_sums\(\) leave them out"):
        model.partial_fit(ROWS, VALUES)


@pytest.mark.usual_work
def test_rows_of_the_caller_are_copied():
    rows, values = ROWS.copy(), VALUES.copy()
    model = make(basis=ks.Binning()).fit(rows, values)
    rows[:], values[:] = 0.0, 0.0
    np.testing.assert_array_equal(model.state_.kept.batch.rows, ROWS)
    model.partial_fit(NEW, TRUTH)
    assert model.score(ROWS, VALUES) > 0.9


def test_frames_with_categories_and_missing_values_come_in_batches():
    words = np.array(["a", "b", "c"])[np.digitize(ROWS[:, 0], [-0.5, 0.5])]
    frame = pd.DataFrame(ROWS, columns=["x", "y", "z"]).assign(word=words)
    frame.loc[::9, "y"] = np.nan
    stream = make()
    for part in cuts(1000, 4):
        stream.partial_fit(frame.iloc[part], VALUES[part])
    assert stream.score(frame, VALUES) > 0.7
    fitted = make().fit(frame[:500], VALUES[:500]).partial_fit(frame[500:], VALUES[500:])
    assert fitted.score(frame, VALUES) > 0.7
    table = ks.open_table(frame.assign(t=VALUES))
    assert make().partial_fit(table, "t").score(frame, VALUES) > 0.7


def test_a_value_that_is_missing_for_the_first_time_is_the_mean():
    holes = ROWS.copy()
    holes[700:, 2] = np.nan
    filled = ROWS.copy()
    filled[700:, 2] = ROWS[:700].mean(axis=0)[2]
    one, other = (in_batches(make(), cuts(700, 1) + cuts(1000, 1, 700), x) for x in (holes, filled))
    np.testing.assert_array_equal(one.predict(NEW), other.predict(NEW))


@pytest.mark.usual_work
def test_more_rows_than_are_kept_are_summed(monkeypatch):
    monkeypatch.setattr(remembered, "KEPT_ENTRIES", 3 * 800)
    stream = in_batches(make(), cuts(600, 2))
    assert isinstance(stream._held, Waiting)
    stream = in_batches(stream, cuts(1000, 2, first=600))
    assert stream.plan_.solver == "sums"
    assert not stream.law_.features.basis.sparse
    assert stream.state_.kept is None
    assert stream.moments_.weight == 1000
    at_once = in_batches(make(), cuts(1000, 1))
    assert at_once.moments_.weight == 1000
    model = make(basis=ks.Binning()).fit(ROWS[:700], VALUES[:700])
    expected = model.predict(NEW)
    with pytest.raises(
        ValueError, match=r"at most 16,777,216 entries are kept.*Learned\(ks.Fourier"
    ):
        model.partial_fit(ROWS[700:], VALUES[700:])
    np.testing.assert_array_equal(model.predict(NEW), expected)
    large = make(basis=ks.Binning()).fit(ROWS, VALUES)
    with pytest.raises(ValueError, match=r"model files and drop_sums\(\) leave them out"):
        large.partial_fit(ROWS, VALUES)


def test_a_stream_is_refused_as_a_fit_is():
    stream = in_batches(make(), cuts(600, 1))
    with pytest.raises(ValueError, match="2 features"):
        stream.partial_fit(ROWS[:, :2], VALUES)
    with pytest.raises(ValueError, match="y has 2 outputs"):
        stream.partial_fit(ROWS, np.column_stack([VALUES, VALUES]))
    assert len(stream._held.batch.targets) == 600
    classes = make(ks.KitchenSinkClassifier)
    classes.partial_fit(ROWS, targets_of(ks.KitchenSinkClassifier), classes=[0, 1, 2])
    with pytest.raises(ValueError, match="classes are given once"):
        classes.partial_fit(ROWS, targets_of(ks.KitchenSinkClassifier), classes=[0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make().partial_fit(ROWS, VALUES)
    assert not hasattr(make(), "state_")


@pytest.mark.parametrize("fitted", [False, True])
def test_rows_that_wait_are_joined_once_and_are_copies(fitted, monkeypatch):
    """A stream of many small batches would copy all its rows at each of them."""
    joins, joined = [], Batch.joined
    monkeypatch.setattr(Batch, "joined", lambda batches: joins.append(1) or joined(batches))
    # Other losses leave no sums.
    stream, start = make(loss="huber"), 200 if fitted else 0
    if fitted:
        stream.fit(ROWS[:200], VALUES[:200])
    buffer = np.empty((100, 3))
    for part in cuts(600, (600 - start) // 100, first=start):
        buffer[:] = ROWS[part]
        stream.partial_fit(buffer, VALUES[part])
    assert not joins
    np.testing.assert_array_equal(stream.state_.kept.batch.rows, ROWS[:600])
    assert len(joins) == 1
