"""Leaves of trees among the bins of a learned law."""

import math
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

import kitchensinks as ks
from kitchensinks.features.bases.trees import _depth
from kitchensinks.fitting.calibration import calibrate
from kitchensinks.law import choice, constants
from kitchensinks.law.ending import _is_clearly_worse
from kitchensinks.law.trials import GridFits
from tests.catalogue import TREES
from tests.little import stages_at

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(2600, 6))
# Which column matters depends on where a row is, with a jump: what no product kernel has.
CLASSES = np.where(
    ROWS[:, 0] > 0.3, ROWS[:, 1] > 0.5, np.where(ROWS[:, 2] > -0.2, ROWS[:, 3] > 0, ROWS[:, 4] > 0)
).astype(int)


NUMBERS = np.where(CLASSES, 2.0, -1.0) + 0.1 * RNG.normal(size=len(ROWS))


@pytest.fixture(scope="module")
def model():
    return ks.KitchenSinkClassifier(random_state=0).fit(ROWS[:2000], CLASSES[:2000])


@pytest.fixture(scope="module")
def regressor():
    return ks.KitchenSinkRegressor(random_state=0).fit(ROWS[:2000], NUMBERS[:2000])


def test_trees_are_taken_where_they_are_better(model):
    union = model.law_.features.basis
    assert isinstance(union, ks.Union)
    assert isinstance(union.bases[1], ks.Trees)
    kept = [trial for trial in model.law_.record.trials if trial.stage == "trees"]
    others = [trial for trial in model.law_.record.trials if trial.stage in ("basis", "again")]
    assert min(trial.error for trial in kept) < 0.98 * min(trial.error for trial in others)
    assert "grids and trees" in repr(model.law_)


def test_they_are_tried_where_dense_features_of_the_kernel_of_bins_win(monkeypatch):
    """Then no bins are close, and those of the first round become bins with trees."""

    def dense(task, candidates):
        return [one for one in candidates if not one.sparse and one.found.kernel == "laplacian"]

    monkeypatch.setattr(choice, "_near", dense)
    model = ks.KitchenSinkClassifier(random_state=0).fit(ROWS[:2000], CLASSES[:2000])
    assert isinstance(model.law_.features.basis.bases[1], ks.Trees)


def test_a_number_of_components_is_shared_out_between_grids_and_trees():
    model = ks.KitchenSinkClassifier(n_components=50, random_state=0)
    model.fit(ROWS[:2000], CLASSES[:2000])
    assert model.n_components_ == 50
    grids, trees = model.basis_.shares
    assert grids + trees == 50
    assert trees in [round(share * 50) for share in constants.TREES_SHARES]
    assert model.law_.record.trees


@pytest.mark.parametrize("count", [2, 3])
def test_few_components_are_grids_and_trees(count):
    model = ks.KitchenSinkClassifier(n_components=count, random_state=0)
    model.fit(ROWS[:700], CLASSES[:700])
    assert model.n_components_ == count
    if isinstance(model.basis_, ks.Union):
        assert min(model.basis_.shares) >= 1


def test_the_share_of_least_held_out_error_is_kept(model):
    tried = [one for one in model.law_.record.trials if one.stage == "trees"]
    assert len(tried) == len(constants.TREES_SHARES)
    best = tried[int(np.argmin([one.error for one in tried]))]
    grids, trees = model.basis_.shares
    assert f"{trees / (grids + trees):.0%} of them trees" in best.what


@pytest.mark.parametrize(("shift", "worse"), [(-0.02, False), (0.01, False), (0.02, True)])
def test_they_are_left_out_only_if_they_are_worse_by_more_than_chance(shift, worse):
    """The differences of 100 rows have a standard error of 0.01, and 1.5 of them are chance."""
    base = np.full(100, 1.0)
    differences = np.resize([0.1, -0.1], 100) + shift
    leaves, bins = (_tried(rows / 100) for rows in (base + differences, base))
    assert _is_clearly_worse(leaves, bins) is worse


def _tried(squares):
    """A candidate whose held-out rows have these shares in its error."""
    fits = object.__new__(GridFits)
    fits.squares = lambda ridge: squares
    return SimpleNamespace(fits=fits, score=SimpleNamespace(error=squares.sum(), ridge=0.1))


def test_they_are_not_taken_for_smooth_targets():
    targets = np.sin(ROWS[:, 0]) + 0.3 * ROWS[:, 1] * ROWS[:, 2]
    smooth = ks.KitchenSinkRegressor(random_state=0).fit(ROWS, targets)
    assert not isinstance(smooth.law_.features.basis, ks.Union) or not any(
        isinstance(basis, ks.Trees) for basis in smooth.law_.features.basis.bases
    )


def test_probabilities_are_of_rows_that_no_tree_has_seen(model):
    """ks.Trees have seen the fitted rows: calibrated on those, probabilities would be too sure."""
    chances, truth = model.predict_proba(ROWS[2000:]), CLASSES[2000:]
    sure = chances.max(axis=1)
    right = chances.argmax(axis=1) == truth
    noise = np.sqrt(np.mean(sure * (1 - sure)) / len(truth))
    assert abs(np.mean(sure) - np.mean(right)) < 3 * noise
    # The scores that calibrate are of held-out rows, about as good as those of new rows.
    held = model.law_.held
    wrong = np.mean((held.scores > 0) != (held.targets > 0))
    assert abs(wrong - np.mean(~right)) < 3 * np.sqrt(wrong / len(held.scores)) + 0.01


def test_intervals_cover(regressor):
    assert isinstance(regressor.law_.features.basis, ks.Union)
    interval = regressor.predict_interval(ROWS[2000:], coverage=0.9)
    inside = (interval.lower <= NUMBERS[2000:]) & (NUMBERS[2000:] <= interval.upper)
    # The residuals are of a trial with fewer rows and bins, and so rather too large.
    assert 0.87 < inside.mean() < 0.98


@pytest.fixture(scope="module", params=[ks.KitchenSinkClassifier, ks.KitchenSinkRegressor])
def staged(request):
    """Dense features, then bins with trees, whatever the trials say; and the targets."""
    targets = CLASSES if request.param is ks.KitchenSinkClassifier else NUMBERS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "CLEARLY", math.inf)
        patch.setattr(constants, "CLOSE", 10.0)
        stages_at(patch, 0.01)
        return request.param(random_state=0).fit(ROWS[:2000], targets[:2000]), targets


def test_they_may_follow_dense_features(staged, tmp_path):
    model, targets = staged
    first, second = model.basis_.bases
    assert isinstance(first, ks.Fourier)
    assert [type(basis) for basis in second.bases] == [ks.Binning, ks.Trees]
    assert model.plan_.solver == "stages"
    assert "grids and trees" in model.law_.record.reason
    assert model.score(ROWS[2000:], targets[2000:]) > 0.9
    expected = model.predict(ROWS[2000:])
    ks.save(model, tmp_path / "model.sinks")
    for other in (pickle.loads(pickle.dumps(model)), ks.load(tmp_path / "model.sinks")):
        np.testing.assert_array_equal(other.predict(ROWS[2000:]), expected)
    again = type(model)(model.law_, random_state=0).fit(ROWS[:2000], targets[:2000])
    np.testing.assert_array_equal(again.predict(ROWS[2000:]), expected)


def test_scores_that_calibrate_two_stages_are_those_of_both(staged):
    """They are of the trial's held-out rows, as good as those of new rows."""
    model, _ = staged
    scores, held, _ = model.law_.held
    assert np.mean((scores - held) ** 2) < 0.3 * np.var(held)
    if isinstance(model, ks.KitchenSinkRegressor):
        interval = model.predict_interval(ROWS[2000:], coverage=0.9)
        inside = (interval.lower <= NUMBERS[2000:]) & (NUMBERS[2000:] <= interval.upper)
        assert 0.85 < inside.mean() < 0.98
    else:
        sure = model.predict_proba(ROWS[2000:]).max(axis=1)
        right = model.predict(ROWS[2000:]) == CLASSES[2000:]
        noise = np.sqrt(np.mean(sure * (1 - sure)) / len(right))
        assert abs(np.mean(sure) - np.mean(right)) < 3 * noise


def test_the_law_is_fitted_again_as_it_is(model):
    again = ks.KitchenSinkClassifier(model.law_, random_state=0).fit(ROWS[:2000], CLASSES[:2000])
    np.testing.assert_array_equal(
        again.predict_proba(ROWS[2000:]), model.predict_proba(ROWS[2000:])
    )


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize("loss", ["logistic", pytest.param("hinge", marks=pytest.mark.slow)])
def test_other_losses_have_none(loss):
    """They choose their ridge on rows that the trees have seen."""
    other = ks.KitchenSinkClassifier(loss=loss, random_state=0).fit(ROWS[:600], CLASSES[:600])
    assert not isinstance(other.law_.features.basis, ks.Union)


def test_leaves_are_those_of_scikit_learn():
    tree = DecisionTreeRegressor(max_leaf_nodes=20, random_state=0)
    rows = ROWS.astype(np.float32)
    nodes = tree.fit(rows, CLASSES).tree_
    inner = nodes.children_left >= 0
    own = np.arange(nodes.node_count)
    basis = ks.Trees(
        np.where(inner, nodes.feature, -1)[None],
        np.where(inner, nodes.threshold, 0.0)[None],
        np.where(inner, nodes.children_left, own)[None],
        np.where(inner, nodes.children_right, own)[None],
    )
    draw = basis.draw(0, 6, 1, np.float32)
    np.testing.assert_array_equal(basis.bin_names(draw.theta, rows)[0], tree.apply(rows))
    column, _, below, above = basis.nodes()
    assert _depth(column, below, above) == tree.get_depth()


def test_every_tree_comes_once_before_any_comes_again():
    count = len(TREES.column)
    draw = TREES.draw(3, 4, 3 * count)
    for trees in draw.theta["tree"].reshape(3, count):
        np.testing.assert_array_equal(np.sort(trees), np.arange(count))


@pytest.mark.parametrize("draws", [3, 5, 13])
def test_scores_of_trees_that_come_again_are_those_of_their_features(draws):
    rng = np.random.default_rng(0)
    rows, new = rng.normal(size=(40, 4)), rng.normal(size=(9, 4))
    draw = TREES.draw(3, 4, draws, np.float64).tabulate([rows])
    weights = rng.normal(size=(draw.n_columns, 2))
    expected = draw.scale * (draw.features(new) @ weights)
    np.testing.assert_allclose(draw.scorer(weights)(new), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"below": [[0, 1, 2]]}, "child of node 0 of tree 0 is 0"),
        ({"above": [[7, 1, 2]]}, "child of node 0 of tree 0 is 7"),
        ({"cut": [[np.nan, 0.0, 0.0]]}, "not finite"),
        ({"cut": [[0.5]]}, "need one shape"),
    ],
)
def test_trees_that_are_none(change, message):
    stump = {
        "column": [[0, -1, -1]],
        "cut": [[0.5, 0.0, 0.0]],
        "below": [[1, 1, 2]],
        "above": [[2, 1, 2]],
    }
    with pytest.raises(ValueError, match=message):
        ks.Trees(**stump | change).draw(0, 1, 1)
    with pytest.raises(ValueError, match="n_inputs"):
        ks.Trees(**stump).draw(0, 0, 1)


def test_a_tree_that_is_drawn_again_has_the_same_leaves():
    children = [[1, 1, 2]] * 2, [[2, 1, 2]] * 2
    trees = ks.Trees([[0, -1, -1], [1, -1, -1]], [[0.5, 0.0, 0.0], [0.1, 0.0, 0.0]], *children)
    rows = np.random.default_rng(0).normal(size=(40, 2))
    draw = trees.draw(0, 2, 5)
    apart = [trees.bin_names(draw.part(k, k + 1).theta, rows)[0] for k in range(5)]
    np.testing.assert_array_equal(trees.bin_names(draw.theta, rows), apart)
    assert len(np.unique(apart, axis=0)) == 2


@pytest.mark.usefixtures("little_work")
def test_a_law_from_a_file_calibrates_as_the_one_that_was_learned(model, tmp_path):
    ks.save(model, tmp_path / "model.sinks")
    stored = ks.load(tmp_path / "model.sinks").law_
    again, first = (
        ks.KitchenSinkClassifier(law, random_state=0).fit(ROWS[:2000], CLASSES[:2000])
        for law in (stored, model.law_)
    )
    np.testing.assert_array_equal(again.predict_proba(ROWS), first.predict_proba(ROWS))


def test_the_unit_of_the_targets_does_not_reach_intervals_of_another_fit(regressor):
    far = NUMBERS[:2000].copy()
    far[0] *= 100.0  # the targets are encoded in another unit
    again = ks.KitchenSinkRegressor(regressor.law_, random_state=0).fit(ROWS[:2000], far)
    widths = [np.diff(one.predict_interval(ROWS[:5], 0.9), axis=0) for one in (regressor, again)]
    np.testing.assert_allclose(widths[1], widths[0], rtol=1e-9)


@pytest.mark.usefixtures("little_work")
def test_another_loss_or_ridge_is_not_calibrated_on_scores_of_the_trial(model):
    scores, targets, _ = model.law_.held
    trial = calibrate(model.state_.targets, scores, targets, None)
    for options, same in (({}, True), ({"loss": "hinge"}, False), ({"alpha": 1.0}, False)):
        again = ks.KitchenSinkClassifier(model.law_, random_state=0, **options)
        again.fit(ROWS[:2000], CLASSES[:2000])
        assert (again.state_.calibration == trial) is same


@pytest.mark.usefixtures("little_work")
def test_one_grid_has_no_tree():
    column = np.random.default_rng(0).uniform(size=2000)
    model = ks.KitchenSinkRegressor(n_components=1, random_state=0)
    model.fit(column[:, None], np.sign(np.sin(20 * column)))
    assert model.n_components_ == 1
