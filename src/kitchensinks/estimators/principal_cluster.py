"""Principal components of Dask collections: sums where the partitions are, solved here."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from kitchensinks.execution.cluster import check_versions, delayed, tree, versions
from kitchensinks.execution.lazily import lazily
from kitchensinks.execution.partitions import (
    Part,
    Partitions,
    Schema,
    naming,
    pilot_rows,
    whole_rows,
)
from kitchensinks.features.bases.base import check_count
from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.features.frozen import Frozen, Look
from kitchensinks.fitting.settings import check_dtype
from kitchensinks.problem.moments import Moments
from kitchensinks.state import Model, seed_of
from kitchensinks.tables import advice, check_size, numeric_weights
from kitchensinks.tables.memory import memory_budget


@dataclass(frozen=True)
class Recipe:
    """What every task needs: the columns, the seed, and once it is known the scaler and law."""

    schema: Schema
    dtype: Any
    seed: int
    standardize: bool
    memory: Any
    frozen: Frozen | None = None
    pilot: Any = None
    versions: dict[str, str] = field(default_factory=versions)

    def read(self, part: Part) -> tuple[Any, Any]:
        check_versions(self.versions)
        rows = self.schema.array(part.rows)
        with np.errstate(over="ignore"), advice():
            rows = check_array(rows, accept_sparse="csr", dtype=self.dtype, ensure_min_samples=0)
        rows = check_size(rows, self.dtype) if rows.shape[0] else rows
        weights = None if part.weights is None else np.asarray(part.weights)
        if weights is not None and len(weights):
            # All weights of one partition may be zero.
            numeric_weights(np.append(weights, 1.0), rows.shape[0] + 1)
        return rows, weights

    def look(self, part: Part) -> Look:
        with naming(part.number):
            rows, weights = self.read(part)
            if rows.shape[0] == 0:
                return Look(None, None)
            return Look.of(rows, weights, self.seed, self.standardize, True)

    def shift(self) -> Any:
        assert self.frozen is not None
        return self.frozen.features(self.pilot).mean(axis=0, dtype=np.float64)

    def sums(self, part: Part, shift: Any) -> Moments:
        assert self.frozen is not None
        moments = Moments.zeros(shift, 0)
        with naming(part.number):
            rows, weights = self.read(part)
            blocks = FeatureBlocks(rows, self.frozen, memory_budget(self.memory)).fresh()
            for place, features in blocks:
                own = None if weights is None else weights[place]
                moments.add(features, np.zeros((len(features), 0)), own)
        moments.close()
        return moments


def fit_partitions(pca: Any, X: Any, sample_weight: Any) -> Any:
    """Scaler and law from one walk over the partitions, sums from another."""
    check_count("n_components", pca.n_components)
    check_count("n_features", pca.n_features)
    basis = pca._dense_basis()
    partitions = Partitions.of(X, None, sample_weight)
    schema = partitions.schema
    shown = X._meta if hasattr(X, "columns") else np.empty((0, schema.n_inputs))
    validate_data(pca, shown, reset=True, skip_check_array=True)
    dtype = np.dtype(schema.dtype if pca.dtype is None else check_dtype(pca.dtype))
    seed = seed_of(pca.random_state)
    recipe = Recipe(schema, dtype, seed, bool(pca.standardize), pca.memory_budget)
    sent = delayed(recipe)
    nodes = [delayed(Recipe.look)(sent, part) for part in partitions.parts]
    (look,) = partitions.compute(tree(nodes, Look.merge))
    if look.sample is None or not len(look.sample.rows):
        raise ValueError("There are no rows of positive weight in any partition: need some.")
    frozen = Frozen.of_look(look, basis, seed, schema.n_inputs, pca.n_features, dtype)
    pilot = pilot_rows(look.sample).astype(dtype)
    pca._set_features(frozen, pilot)
    sent = delayed(replace(recipe, frozen=frozen, pilot=pilot))
    shift = delayed(Recipe.shift)(sent)
    nodes = [delayed(Recipe.sums)(sent, part, shift) for part in partitions.parts]
    (moments,) = partitions.compute(tree(nodes, Moments.merge))
    if moments.count < max(2, pca.n_components):
        raise ValueError(
            f"X has {moments.count} sample(s) for n_components={pca.n_components}: need as many "
            "rows as components, and at least 2. Give more rows or ask for fewer components."
        )
    pca._moments, pca._principal = moments, None
    pca._solved()
    return pca


@dataclass(frozen=True)
class _Scores:
    """What a worker needs to transform rows."""

    model: Model

    def transform(self, rows: Any) -> Any:
        dtype = self.model.frozen.dtype
        with np.errstate(over="ignore"), advice():
            rows = check_array(rows, accept_sparse="csr", dtype=dtype)
        return self.model.scores(check_size(rows, dtype))


def transform_partitions(pca: Any, X: Any) -> Any:
    """The lazy Dask array of the components of all rows."""
    rows = whole_rows(X)
    schema = Schema.of(rows)
    shown = X._meta if hasattr(X, "columns") else np.empty((0, schema.n_inputs))
    validate_data(pca, shown, reset=False, skip_check_array=True)
    dtype = pca._features.dtype
    return lazily(_Scores(pca._model()), "transform", rows, pca.n_components, dtype)
