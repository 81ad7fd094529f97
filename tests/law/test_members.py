"""Committees: the scales of several members, shared out among the draws of one basis."""

import functools
import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

import kitchensinks as ks
from kitchensinks.features.scaling import identity
from kitchensinks.law import Learned, Request, find_law
from kitchensinks.law.maps import Found
from kitchensinks.law.task import LearningRows
from kitchensinks.numerics.threads import threads
from kitchensinks.problem.targets import Batch
from tests.catalogue import MEMBERS, extreme_and_random_rows

# No choice of a law matters here.
pytestmark = pytest.mark.usefixtures("little_work")

ROWS = np.random.default_rng(0).normal(size=(600, 4))
TARGETS = np.sin(2 * ROWS[:, 0]) * ROWS[:, 1]
NEW = np.random.default_rng(1).normal(size=(300, 4))
BATCH = Batch(ROWS, TARGETS[:, None])
BASES = [ks.Binning(), ks.Fourier(), ks.Fourier("laplacian"), ks.Fourier(form="paired")]
every_basis = pytest.mark.parametrize("place", range(len(BASES)), ids=map(repr, BASES))


def committee(basis=None, members=3, **options):
    return Learned(basis, steps=4, batch=64, seconds=0.05, members=members, **options)


@functools.cache
def fitted(place):
    """The committee of one of the bases, which several tests look at."""
    return ks.KitchenSinkRegressor(committee(BASES[place]), 40, random_state=0, n_jobs=1).fit(
        ROWS, TARGETS
    )


def found_with(scales, kernel="laplacian"):
    scales = np.asarray(scales)
    return Found(kernel, "as is", identity(scales.shape[1]), scales, np.empty(0))


# -- the basis of a committee -------------------------------------------------------------


@pytest.mark.parametrize(
    "basis",
    [
        ks.Binning(),
        ks.Fourier("laplacian"),
        ks.Fourier("gaussian", form="paired", projection="orthogonal"),
        ks.Fourier("cauchy"),
        ks.Fourier("exponential"),
        ks.Fourier("matern"),
    ],
    ids=repr,
)
def test_the_kernel_is_the_mean_of_the_kernels_of_the_members(basis):
    """Each of them that of one γ on columns that were scaled by hand."""
    rows = extreme_and_random_rows()
    squared = isinstance(basis, ks.Fourier) and basis.spectrum == "gaussian"
    alone = type(basis)(**{**basis.get_params(), "gamma": 1.0})
    kernels = [alone.kernel(rows * (np.sqrt(own) if squared else np.array(own))) for own in MEMBERS]
    together = type(basis)(**{**basis.get_params(), "gamma": MEMBERS})
    np.testing.assert_allclose(together.kernel(rows), np.mean(kernels, axis=0), rtol=1e-7)


def test_every_member_has_its_share_of_the_draws():
    """A grid of a member that takes one column alone has the same bin for all other values."""
    only = (1e3 * np.eye(4) + 1e-9).tolist()
    rows = np.random.default_rng(2).normal(size=(8, 4))
    for basis in (ks.Binning(gamma=only), ks.Fourier("laplacian", gamma=only)):
        draws = 2000
        theta = basis.draw(0, 4, draws).theta
        sizes = theta["rate"] if basis.sparse else np.abs(theta["directions"])
        assert sizes.shape == (draws, 4)
        own = sizes.argmax(axis=1)
        shares = np.bincount(own, minlength=4) / draws
        # Five standard errors of a share of a quarter.
        assert np.abs(shares - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / draws)
    assert np.isfinite(ks.Binning(gamma=only).kernel(rows)).all()


@pytest.mark.parametrize(
    ("kernel", "sparse"), [("laplacian", False), ("laplacian", True), ("gaussian", False)]
)
def test_one_member_has_its_scales_in_the_scaler_and_several_in_gamma(kernel, sparse):
    """Either way the kernel is the mean over members of that of the scaled columns."""
    rows, factor = extreme_and_random_rows(), 1.7

    def kernel_of(found):
        scaler, basis = found.features(sparse, factor)
        return scaler, basis, basis.kernel(scaler.apply(rows, np.float64))

    alone = [found_with([own], kernel) for own in MEMBERS]
    for found, own in zip(alone, MEMBERS, strict=True):
        scaler, basis, _ = kernel_of(found)
        assert basis.gamma == 1.0
        np.testing.assert_allclose(scaler.factor, factor * np.array(own))
    scaler, basis, together = kernel_of(found_with(MEMBERS, kernel))
    np.testing.assert_array_equal(scaler.factor, 1.0)
    assert np.shape(basis.gamma) == (3, 4)
    expected = np.mean([kernel_of(found)[2] for found in alone], axis=0)
    np.testing.assert_allclose(together, expected, rtol=1e-6, atol=1e-12)


def test_a_basis_with_one_gamma_for_all_columns_has_the_mean_of_the_scales():
    found = found_with(MEMBERS, "gaussian")
    scaler, basis = found.features(False, 2.0, ks.Fourier(projection="hadamard"))
    assert basis.gamma == 1.0
    np.testing.assert_allclose(scaler.factor, 2.0 * np.prod(MEMBERS, axis=0) ** (1 / 3))
    learned = committee(ks.Fourier(projection="hadamard"))
    model = ks.KitchenSinkRegressor(learned, 60, random_state=0).fit(ROWS, TARGETS)
    assert model.basis_.projection == "hadamard"
    assert model.law_.record.members == 3


# -- a law of several members -------------------------------------------------------------


def test_members_learn_from_batches_of_their_own():
    law, _ = find_law(committee(ks.Fourier("laplacian")), BATCH, Request(seed=0, n_components=40))
    gammas = np.array(law.features.basis.gamma)
    assert gammas.shape == (3, 4)
    assert len(np.unique(gammas[:, 0])) == 3
    record = law.record
    assert record.members == 3
    mean = np.exp(np.log(gammas).mean(axis=0))
    np.testing.assert_allclose(record.scales, mean / record.factor, rtol=1e-9)
    assert "learned scales of 3 members times" in repr(law)
    assert "gamma=learned" in repr(law)
    assert record.importances.sum() == pytest.approx(1.0)
    assert record.importances[:2].min() > record.importances[2:].max()


def test_the_first_member_is_the_one_that_learns_alone():
    """More members add to it: the scales of those before them stay."""
    request = Request(seed=0, n_components=40)
    laws = {
        members: find_law(committee(ks.Fourier("laplacian"), members), BATCH, request)[0]
        for members in (1, 2, 3)
    }
    assert laws[1].features.basis.gamma == 1.0
    assert "members" not in repr(laws[1])
    scales = {
        members: np.array(laws[members].features.basis.gamma) / laws[members].record.factor
        for members in (2, 3)
    }
    np.testing.assert_allclose(scales[3][:2], scales[2], rtol=1e-9)
    np.testing.assert_allclose(laws[1].record.scales, scales[2][0], rtol=1e-9)


@every_basis
def test_every_number_of_threads_gives_the_same_bits(place):
    alone = fitted(place)
    # Two threads for every other basis, three for the rest.
    model = clone(alone).set_params(n_jobs=2 + place % 2).fit(ROWS, TARGETS)
    assert repr(model.law_) == repr(alone.law_)
    np.testing.assert_array_equal(model.basis_.gamma, alone.basis_.gamma)
    np.testing.assert_array_equal(model.predict(NEW), alone.predict(NEW))


def test_the_choice_of_everything_does_not_depend_on_threads_either():
    labels = np.digitize(TARGETS, [-0.2, 0.2])
    models = [
        ks.KitchenSinkClassifier(committee(), random_state=0, n_jobs=n_jobs).fit(ROWS, labels)
        for n_jobs in (1, 3)
    ]
    assert models[1].law_.record.trials == models[0].law_.record.trials
    np.testing.assert_array_equal(models[1].predict_proba(NEW), models[0].predict_proba(NEW))


@every_basis
def test_files_and_pickles_keep_the_committee(place, tmp_path):
    model = fitted(place)
    ks.save(model, tmp_path / "model.sinks")
    for again in (ks.load(tmp_path / "model.sinks"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))
        assert again.basis_.gamma == model.basis_.gamma
        assert repr(again.law_) == repr(model.law_)
        assert again.basis.members == 3


@pytest.mark.parametrize("place", [k for k, one in enumerate(BASES) if not one.sparse])
def test_an_exported_committee_answers_the_same(place, tmp_path):
    pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    model = fitted(place)
    ks.to_onnx(model, tmp_path / "model.onnx")
    (found,) = runtime.InferenceSession(tmp_path / "model.onnx").run(None, {"rows": NEW})
    np.testing.assert_allclose(found.ravel(), model.predict(NEW), atol=1e-3)


def test_batches_go_on_with_the_committee_of_the_first():
    options = {"alpha": 1e-3, "random_state": 0}
    model = ks.KitchenSinkRegressor(committee(), **options).freeze(ROWS, TARGETS)
    law = model.law_
    assert not law.features.basis.sparse
    assert np.shape(law.features.basis.gamma) == (3, 4)
    for part in (slice(0, 250), slice(250, 600)):
        model.partial_fit(ROWS[part], TARGETS[part])
    assert model.law_.features.difference(law.features) is None
    assert repr(model.law_) == repr(law)
    whole = ks.KitchenSinkRegressor(law, **options).fit(ROWS, TARGETS)
    np.testing.assert_allclose(model.predict(NEW), whole.predict(NEW), rtol=1e-3, atol=1e-3)
    # Two parts that were frozen alike add up to the whole.
    halves = [ks.KitchenSinkRegressor(law, **options).freeze(ROWS, TARGETS) for _ in range(2)]
    halves[0].partial_fit(ROWS[:250], TARGETS[:250])
    halves[1].partial_fit(ROWS[250:], TARGETS[250:])
    merged = halves[0].merge(halves[1])
    np.testing.assert_allclose(merged.predict(NEW), model.predict(NEW), rtol=1e-3, atol=1e-3)


# -- work side by side --------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_what_runs_side_by_side_is_recorded_in_its_order(n_jobs):
    """Whichever ends first; work inside of work stands where it was called."""
    said = []
    request = replace(Request(seed=0), progress=lambda text, *_: said.append(text))
    task = LearningRows(BATCH, request, Learned())
    task.note("mean", "before", 1, 1.0)

    def inner(own, number):
        # The later items take less work.
        np.linalg.svd(np.ones((10 * (4 - number % 4), 40)))
        own.note("inner", str(number), number, 0.0)
        return number**2

    def outer(own, number):
        squares = own.together(inner, range(4 * number, 4 * number + 4))
        own.note("outer", str(number), number, 0.0)
        return squares

    with threads(n_jobs):
        results = task.together(outer, range(5))
    assert results == [[n**2 for n in range(4 * k, 4 * k + 4)] for k in range(5)]
    expected = ["before"]
    for k in range(5):
        expected += [str(n) for n in range(4 * k, 4 * k + 4)] + [str(k)]
    assert [trial.what for trial in task.trials] == expected
    assert len(said) == len(expected)


def test_an_error_of_one_of_them_is_raised():
    task = LearningRows(BATCH, Request(seed=0), Learned())

    def fails(_, number):
        if number == 2:
            raise ArithmeticError("the third of them")
        return number

    with threads(2), pytest.raises(ArithmeticError, match="the third of them"):
        task.together(fails, range(4))
