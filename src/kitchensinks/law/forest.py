"""Trees that are grown on the targets: their leaves are bins like those of grids."""

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.tree import DecisionTreeRegressor

from kitchensinks.features.bases import Basis, Trees, Union
from kitchensinks.features.scaling import Warp
from kitchensinks.law import constants
from kitchensinks.law.task import LearningRows
from kitchensinks.numerics.threads import in_order
from kitchensinks.numerics.words import Stream, Words


def among_leaves(grids: Basis, trees: Trees, share: float, count: int) -> Union:
    """`count` bins, two or more, a share of them leaves of these trees."""
    of_trees = min(max(1, round(share * count)), count - 1)
    return Union([grids, trees], shares=[count - of_trees, of_trees])


def grown_trees(task: LearningRows, places: NDArray[np.intp], scaler: Warp, count: int) -> Trees:
    """At most `count` trees on these rows of the pool. Their leaves divide the targets.

    Each tree takes a subsample of the rows, and each node the best cut of a random part of the
    columns, by the squared error of all outputs. Only the cuts are kept: the weights of the leaves
    are fitted together.
    """
    data = task.data
    rows = np.asarray(scaler.apply(data.rows[places], np.float32))
    targets, own = data.targets[places], data.weights_of(places)
    size = max(2, min(int(constants.TREE_SHARE * len(rows)), constants.TREE_ROWS))
    most = constants.GROWN_ENTRIES // (size * rows.shape[1])
    count = max(1, min(count, max(constants.TREES // 2, min(constants.TREES, most))))

    def one(tree: int) -> DecisionTreeRegressor:
        random = Words(task.seed, tree, Stream.TREES).generator()
        taken = random.choice(len(rows), size, replace=False)
        model = DecisionTreeRegressor(
            max_features=constants.TREE_COLUMNS,
            max_leaf_nodes=constants.TREE_LEAVES,
            random_state=int(random.integers(2**31)),
        )
        weights = None if own is None else own[taken]
        # The parameters are ours: to check them takes a quarter of the time of a small tree.
        with config_context(skip_parameter_validation=True):
            return model.fit(rows[taken], targets[taken], sample_weight=weights, check_input=False)

    trees = [model.tree_ for model in in_order(one, range(count))]
    most = max(tree.node_count for tree in trees)
    column = np.full((count, most), -1, np.int32)
    cut = np.zeros((count, most))
    below, above = (np.tile(np.arange(most, dtype=np.int32), (count, 1)) for _ in range(2))
    for k, tree in enumerate(trees):
        inner = np.flatnonzero(tree.children_left >= 0)
        column[k, inner], cut[k, inner] = tree.feature[inner], tree.threshold[inner]
        below[k, inner], above[k, inner] = tree.children_left[inner], tree.children_right[inner]
    return Trees(column, cut, below, above)
