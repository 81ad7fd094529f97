"""
On a cluster
============

Dask collections are fitted where their partitions are. Two workers of this machine stand in for a
cluster; ``connected("tcp://host:8786")`` would be a real one.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

import kitchensinks as ks
from kitchensinks.execution.cluster import connected

rng = np.random.default_rng(0)
rows = rng.normal(size=(20_000, 4))
values = np.sin(2 * rows[:, 0]) + rows[:, 1] * rows[:, 2] + rng.normal(0, 0.1, 20_000)
model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=300, alpha=1e-6, random_state=0)


def main():
    """Fit and predict on two workers; workers import this file, so that work starts in here."""
    with connected("local:2"):
        X = da.from_array(rows, chunks=(2500, 4))
        y = da.from_array(values, chunks=2500)
        model.fit(X, y)
        return model.predict(X).compute()


if __name__ == "__main__":
    answers = main()
    alone = ks.KitchenSinkRegressor(ks.Fourier(), n_components=300, alpha=1e-6, random_state=0)
    alone.fit(rows, values)
    print(model.plan_)
    print(
        f"largest difference to a fit in memory: {np.abs(alone.predict(rows) - answers).max():.1e}"
    )

    figure, ax = plt.subplots(figsize=(4, 3.6), layout="constrained")
    ax.hexbin(values, answers, bins="log", gridsize=50, cmap="Blues")
    ax.axline((0, 0), slope=1, color="k", lw=0.8)
    ax.set(xlabel="true", ylabel="predicted by two workers")
