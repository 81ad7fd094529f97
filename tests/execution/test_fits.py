"""Fits on Dask: the answer of one machine whatever the partitions, and clear errors."""

import warnings

import cloudpickle
import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import kitchensinks as ks
from kitchensinks.execution import is_dask
from kitchensinks.execution.fits import fit_collections
from kitchensinks.execution.job import Job
from kitchensinks.execution.partitions import PartitionError, Partitions
from kitchensinks.execution.recipe import Recipe, Seen
from kitchensinks.features.frozen import Frozen
from tests.execution.conftest import (
    CHUNKS,
    N_ROWS,
    assert_same_fit,
    classifier,
    regressor,
    spread_out,
)

# -- the same answer, on Dask's own scheduler ------------------------------------------


@pytest.mark.parametrize("chunks", [CHUNKS, (N_ROWS,), (1,) * 20 + (N_ROWS - 20,)])
@pytest.mark.parametrize("alpha", ["auto", 1e-3])
def test_partitions_do_not_change_the_weights(rows, values, chunks, alpha):
    memory = regressor(alpha=alpha).fit(rows, values)
    X, y = spread_out(rows, values, chunks=chunks)
    assert_same_fit(regressor(alpha=alpha).fit(X, y), memory)


@pytest.mark.parametrize("checkpoint", [False, True])
def test_copies_in_other_partitions_leave_together(rows, values, checkpoint, tmp_path):
    """The copies of a row gave its target away, and the weakest ridge of all was chosen."""
    few = slice(0, 240)
    once = regressor(n_components=100).fit(rows[few], values[few])
    X, y = spread_out(np.tile(rows[few], (5, 1)), np.tile(values[few], 5))
    folder = ks.Checkpoint(tmp_path) if checkpoint else None
    model = regressor(n_components=100).fit(X, y, checkpoint=folder)
    assert model.alpha_ == pytest.approx(once.alpha_)
    np.testing.assert_allclose(model.predict(rows), once.predict(rows), rtol=1e-5)


def test_rounding_of_sums_is_taken_away_as_in_memory():
    rng = np.random.default_rng(111)
    rows = rng.normal(size=(1475, 2))
    values = np.sin(2.0 * rows[:, 0]) + rng.normal(size=1475)
    options = {"alpha": 4e-9, "dtype": "float32", "n_components": 218}
    X, y = spread_out(rows, values, chunks=(0, 700, 775))
    memory = regressor(basis=ks.Fourier(gamma=0.01), **options).fit(rows, values)
    model = regressor(basis=ks.Fourier(gamma=0.01), **options).fit(X, y)
    assert (model.solver_, model.converged_) == (memory.solver_, True)
    assert "refined" in model.solver_
    off = model.predict(rows) - memory.predict(rows)
    assert np.sqrt(np.mean(off**2)) < 1e-2


@pytest.mark.usefixtures("little_work")
def test_a_learned_law_warns_of_no_rounding():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 2))
    X, y = spread_out(rows, np.sin(rows[:, 0]) * rows[:, 1], chunks=(1500, 1500))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ks.KitchenSinkRegressor(ks.Learned(effort="quick"), random_state=0).fit(X, y)
    assert model.alphas_ is not None
    assert model.solver_ == "direct (refined)"
    assert model.converged_


def test_one_row_with_weight_is_told_as_in_memory(rows, values):
    weights = np.zeros(len(rows))
    weights[7] = 2.0
    for X, y, own in ((rows, values, weights), spread_out(rows, values, weights)):
        with pytest.warns(UserWarning, match="There is one row"):
            regressor(n_components=20).fit(X, y, sample_weight=own)


@pytest.mark.usefixtures("little_work")
def test_many_copies_are_said_where_a_law_is_learned(rows, values):
    few = slice(0, 240)
    X, y = spread_out(np.tile(rows[few], (5, 1)), np.tile(values[few], 5))
    model = ks.KitchenSinkRegressor(ks.Learned(effort="quick"), random_state=0)
    with pytest.warns(UserWarning, match="80% of the rows are copies of others"):
        model.fit(X, y)
    assert model.score(rows[300:], values[300:]) > 0.3


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "settings",
    [{}, {"alpha": 1e-6}, {"constraint": ks.SupBall(1e4)}, {"constraint": ks.L2Ball(50.0)}],
    ids=str,
)
def test_float32_predictions_are_those_of_one_machine(rows, values, settings):
    # With noise: where there is hardly any, the ridge is so weak that float32 in memory is itself
    # 1.3e-3 away from float64.
    noisy = values + np.random.default_rng(3).normal(size=N_ROWS)
    memory = regressor(dtype="float32", **settings).fit(rows, noisy)
    X, y = spread_out(rows, noisy)
    model = regressor(dtype="float32", **settings).fit(X, y)
    difference = np.abs(model.predict(X).compute() - memory.predict(rows)).max()
    assert difference < 1e-3 * noisy.std()


@pytest.mark.parametrize(
    "basis", [ks.Stumps(), ks.ReLU(), ks.Maxout(3), ks.Sigmoid()], ids=lambda b: type(b).__name__
)
def test_every_dense_basis(rows, values, basis):
    settings = {"basis": basis, "alpha": 1e-3, "n_components": 40}
    memory = regressor(**settings).fit(rows, values)
    assert_same_fit(regressor(**settings).fit(*spread_out(rows, values)), memory)


@pytest.mark.parametrize("class_weight", [None, "balanced", {"a": 3.0}])
def test_classes_with_their_weights_and_those_of_rows(rows, labels, class_weight):
    weights = np.random.default_rng(2).integers(0, 3, N_ROWS).astype(float)
    settings = {"n_components": 60, "class_weight": class_weight}
    memory = classifier(**settings).fit(rows, labels, weights)
    X, y, w = spread_out(rows, labels, weights)
    model = classifier(**settings).fit(X, y, w)
    assert_same_fit(model, memory)
    assert (model.predict(X).compute() == memory.predict(rows)).all()
    chances = model.predict_proba(X).compute()
    np.testing.assert_allclose(chances, memory.predict_proba(rows), atol=1e-7)
    assert model.score(X, y, w) == pytest.approx(memory.score(rows, labels, weights))


def test_several_outputs_a_ball_and_no_intercept(rows, values):
    both = np.column_stack([values, rows[:, 3]])
    settings = {"constraint": ks.L2Ball(50.0), "fit_intercept": False}
    memory = regressor(**settings).fit(rows, both)
    X, y = spread_out(rows, both)
    model = regressor(**settings).fit(X, y)
    assert_same_fit(model, memory, tol=1e-6)
    assert model.predict(X).shape == both.shape
    assert model.score(X, y) == pytest.approx(memory.score(rows, both))


def test_sparse_partitions(rows, values):
    few = np.where(np.abs(rows) > 1.0, rows, 0.0)
    X, y = spread_out(few, values)
    model = regressor().fit(X.map_blocks(sparse.csr_matrix), y)
    assert_same_fit(model, regressor().fit(few, values))


def test_frames_keep_their_names(rows, values):
    frame = pd.DataFrame(rows, columns=list("pqrs")).assign(price=values)
    table = dd.from_pandas(frame, npartitions=3)
    model = regressor().fit(table[list("pqrs")], table["price"])
    memory = regressor().fit(frame[list("pqrs")], frame["price"])
    assert_same_fit(model, memory)
    assert model.feature_names_in_.tolist() == list("pqrs")
    found = model.predict(table[list("pqrs")])
    np.testing.assert_allclose(found.compute(), memory.predict(frame[list("pqrs")]), rtol=1e-8)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[list("qprs")])


def test_principal_components(rows):
    settings = {"n_components": 3, "n_features": 100, "random_state": 0}
    memory = ks.KitchenSinkPCA(ks.Fourier(gamma=0.3), **settings).fit(rows)
    (X,) = spread_out(rows)
    model = ks.KitchenSinkPCA(ks.Fourier(gamma=0.3), **settings).fit(X)
    found = model.transform(X)
    assert is_dask(found)
    np.testing.assert_allclose(found.compute(), memory.transform(rows), atol=1e-10)


def test_a_bandwidth_is_resolved_on_the_same_rows():
    """More rows than a bandwidth is resolved on: the sample goes by content, not by place."""
    rows = np.random.default_rng(0).normal(size=(4000, 3))
    (X,) = spread_out(rows, chunks=(1500, 2500))
    settings = {"n_features": 20, "random_state": 0}
    memory, model = ks.KitchenSinkPCA(**settings).fit(rows), ks.KitchenSinkPCA(**settings).fit(X)
    assert model.basis_.gamma == pytest.approx(memory.basis_.gamma, rel=1e-12)


def test_components_need_as_many_rows(rows):
    (X,) = spread_out(rows)
    with pytest.raises(ValueError, match=r"2 sample\(s\) for n_components=3"):
        ks.KitchenSinkPCA(n_components=3, n_features=20, random_state=0).fit(X[:2])
    with pytest.raises(ValueError, match="no rows of positive weight"):
        ks.KitchenSinkPCA(n_features=20, random_state=0).fit(X, None, da.zeros_like(X[:, 0]))


def test_the_plan_says_where_it_ran(rows, values):
    plan = regressor().fit(*spread_out(rows, values)).plan_
    assert (plan.solver, plan.place) == ("direct", "dask")
    assert "on Dask" in str(plan)


def test_tasks_are_counted(rows, values):
    told = []
    X, y = spread_out(rows, values)
    regressor().fit(X, y, verbose=lambda *heard: told.append(heard))
    counted = [heard for heard in told if heard[1] is not None]
    assert any(text.startswith("looking at 4 partitions") for text, _, _ in counted)
    assert all(0 <= done <= total for _, done, total in counted)
    told.clear()
    regressor().fit(
        *spread_out(rows, values, chunks=(N_ROWS,)), verbose=lambda *one: told.append(one)
    )
    assert any(one[0].startswith("looking at 1 partition") for one in told)
    assert not any("1 partitions" in one[0] for one in told)


# -- lazy --------------------------------------------------------------------------------


def test_nothing_computes_early(rows, values, labels):
    def refuse(graph, keys, **settings):
        raise AssertionError("computed early")

    regression = regressor().fit(rows, values)
    classes = classifier().fit(rows, labels)
    features = ks.RandomFeatures(n_components=30, random_state=0).fit(rows)
    components = ks.KitchenSinkPCA(n_features=50, random_state=0).fit(rows)
    (X,) = spread_out(rows)
    calls = [
        regression.predict,
        classes.predict,
        classes.predict_proba,
        classes.decision_function,
        features.transform,
        components.transform,
    ]
    with dask.config.set(scheduler=refuse):
        lazy = [call(X) for call in calls]
    for call, found in zip(calls, lazy, strict=True):
        expected = call(rows)
        assert found.shape == expected.shape
        assert found.dtype == expected.dtype
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(found.compute(), expected, atol=1e-12)
        else:
            assert (found.compute() == expected).all()


def tasks_of(width, **settings):
    """The sizes of all tasks of a fit, pickled as they are sent, by the names of functions."""
    sizes, made = {}, set()

    def watch(graph, keys, **given):
        graph = dict(getattr(graph, "__dask_graph__", lambda: graph)())
        # What was made before is kept by workers, and not sent.
        for key, task in ((key, graph[key]) for key in graph.keys() - made):
            name = str(key[0] if isinstance(key, tuple) else key).rsplit("-", 5)[0]
            sizes[name] = max(sizes.get(name, 0), len(cloudpickle.dumps(task)))
        made.update(dask.core.flatten([keys]))
        return dask.get(graph, keys, **given)

    # Rows that each partition makes for itself: none of them are in the graph.
    X = da.map_blocks(
        lambda block_id: np.random.default_rng(block_id[0]).normal(size=(150, width)),
        chunks=((150,) * 4, (width,)),
        dtype="f8",
    )
    with dask.config.set(scheduler=watch):
        if "n_features" in settings:
            ks.KitchenSinkPCA(random_state=0, **settings).fit(X)
        else:
            regressor(**settings).fit(X, X[:, 0])
    return sizes


@pytest.mark.parametrize(
    "settings",
    [
        {"n_components": 900},
        {"n_components": 900, "loss": "huber", "alpha": 1e-2, "max_iter": 2},
        {"n_components": 900, "solver": "blocks", "alpha": 1e-2, "max_iter": 1},
        {"n_features": 900, "n_components": 2},
    ],
    ids=["direct", "iterative", "blocks", "components"],
)
def test_tasks_are_small(settings):
    """The draw, 900 × 900 numbers, is made from the seed: what is sent does not hold it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        sizes = tasks_of(900, **settings)
    assert sizes, "no task was seen"
    assert max(sizes.values()) < 100_000, sizes


def test_neighbours_are_summed_together_where_a_gram_is_large(rows, values):
    X, y = spread_out(rows, values, chunks=(12,) * 100)
    for n_components, fewer in ((1000, True), (1, False)):
        partitions = Partitions.of(X, y)
        frozen = Frozen(None, ks.Fourier(gamma=1.0), 0, 4, n_components, np.dtype("f8"))
        recipe = Recipe(partitions.schema, 0, True, None, frozen=frozen)
        seen = Seen(None, None, dict.fromkeys(range(100), 12), 1200.0, 1e9)
        bundles = Job(recipe, partitions, seen=seen).bundles()
        assert (len(bundles) < 100) == fewer
        assert [part.number for bundle in bundles for part in bundle] == list(range(100))


# -- bad input ---------------------------------------------------------------------------


def test_column_chunks_are_put_together_with_a_warning(rows, values):
    X, y = spread_out(rows, values)
    with pytest.warns(UserWarning, match="chunked along its columns"):
        model = regressor().fit(X.rechunk({1: 2}), y)
    assert_same_fit(model, regressor().fit(rows, values))


def test_unknown_lengths_are_computed(rows, values):
    X, y = spread_out(rows, values)
    kept = rows[:, 0] > -1
    memory = regressor().fit(rows[kept], values[kept])
    mask = X[:, 0] > -1
    assert_same_fit(regressor().fit(X[mask], y[mask]), memory)
    other = da.from_array(values[kept], chunks=100)
    assert_same_fit(regressor().fit(X[mask], other), memory)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"basis": ks.Binning()}, "dense features"),
        ({"n_components": "auto"}, "need a number"),
        ({"basis": ks.Reweighted()}, "dense features"),
        ({"solver": "stochastic"}, "solver='stochastic'"),
        ({"solver": "conjugate"}, "solver='conjugate' is not supported for Dask.*solver='auto'"),
    ],
)
def test_what_a_cluster_cannot_do_is_said(rows, values, settings, message):
    X, y = spread_out(rows, values)
    model = regressor().fit(X, y)
    before = model.state_
    changed = regressor(**settings).get_params(deep=False)
    with pytest.raises(ValueError, match=message):
        model.set_params(**changed).fit(X[:, :3], y)
    assert model.state_ is before
    assert model.n_features_in_ == 4
    with pytest.raises(ValueError, match=message):
        fit_collections(model.set_params(alpha=0.1)._spec(), X, y)


@pytest.mark.parametrize("basis", [ks.Fourier(), None], ids=["given", "learned"])
def test_one_row_is_warned_of_as_in_memory(rows, values, basis):
    X, y = spread_out(rows[:1], values[:1], chunks=(1,))
    with pytest.warns(UserWarning, match=r"There is one row.*need two rows or more, and"):
        ks.KitchenSinkRegressor(basis, 20, random_state=0).fit(X, y)


def test_what_does_not_fit_together_is_said(rows, values):
    X, y = spread_out(rows, values)
    with pytest.raises(ValueError, match=r"y is a ndarray.*from_array"):
        regressor().fit(X, values)
    with pytest.raises(ValueError, match="1200 rows and y has 1199"):
        regressor().fit(X, y[:-1])
    with pytest.raises(ValueError, match="zero"):
        regressor().fit(X, y, da.zeros_like(y))
    with pytest.raises(ValueError, match="single column"):
        regressor().fit(X[:, 0], y)
    with pytest.raises(ValueError, match="empty"):
        regressor().fit(X[:0], y[:0])
    with pytest.raises(ValueError, match="4 features"):
        regressor().fit(X, y).predict(X[:, :3])


def test_a_bad_partition_is_named(rows, values):
    wrong = rows.copy()
    wrong[N_ROWS - 1, 2] = np.nan
    X, y = spread_out(wrong, values)
    with pytest.raises(PartitionError, match=r"Partition 3: .*NaN.*X.fillna\(X.mean\(\)\)"):
        regressor().fit(X, y)
    wrong[N_ROWS - 1, 2] = np.inf
    within = r"Partition 3: .*X\[349, 2\] is inf \(counted from 0 in this partition\)"
    with pytest.raises(PartitionError, match=within):
        regressor().fit(*spread_out(wrong, values))
    with pytest.raises(PartitionError, match=r"Partition 3: .*y\[349\] is inf \(counted from 0 in"):
        regressor().fit(*spread_out(rows, np.where(np.isinf(wrong[:, 2]), np.inf, values)))
    X, _ = spread_out(rows, values)
    short = da.concatenate(
        [X[:850].rechunk(850), X[850:].map_blocks(lambda block: block[:, :3], dtype=X.dtype)]
    )
    with pytest.raises(PartitionError, match=r"Partition 1: has the shape \(350, 3\)"):
        regressor().fit(short, y)
    narrow = X.map_blocks(
        lambda block, block_id=None: block.astype("f4") if block_id[0] == 2 else block,
        dtype=X.dtype,
    )
    with pytest.raises(PartitionError, match="Partition 2: has X as float32"):
        regressor().fit(narrow, y)
    weights = np.where(np.arange(N_ROWS) == N_ROWS - 1, -1.0, 1.0)
    with pytest.raises(PartitionError, match="Partition 3: sample_weight has negative entries"):
        regressor().fit(*spread_out(rows, values, weights))


def test_frames_of_different_columns_are_named(rows, values):
    frames = [pd.DataFrame(rows[:600], columns=list("pqrs"))]
    frames.append(pd.DataFrame(rows[600:], columns=list("pqsr")))
    table = dd.from_map(lambda i: frames[i], [0, 1], meta=frames[0].iloc[:0])
    y = da.from_array(values, chunks=600)
    with pytest.raises(PartitionError, match="Partition 1: has the columns p, q, s, r"):
        regressor().fit(table, y)
    words = pd.DataFrame({"p": rows[:, 0], "q": ["x"] * N_ROWS})
    with pytest.raises(ValueError, match="columns q hold no numbers"):
        regressor().fit(dd.from_pandas(words, npartitions=2), y)


def test_a_corrupt_file_is_named_with_its_partition(tmp_path, rows, values):
    frame = pd.DataFrame(rows, columns=list("pqrs")).assign(price=values)
    for number in range(3):
        frame.iloc[400 * number : 400 * (number + 1)].to_parquet(
            tmp_path / f"part-{number}.parquet"
        )
    table = dd.read_parquet(str(tmp_path / "part-*.parquet"))
    assert regressor().fit(table[list("pqrs")], table["price"]).n_features_in_ == 4
    (tmp_path / "part-1.parquet").write_bytes(b"not a table at all")
    table = dd.read_parquet(str(tmp_path / "part-*.parquet"))
    with pytest.raises(PartitionError, match=r"Partition 1 \(.*part-1.parquet.*cannot be read"):
        regressor().fit(table[list("pqrs")], table["price"])
