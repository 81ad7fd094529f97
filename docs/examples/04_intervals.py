"""
Intervals and quantiles
=======================

Between which two numbers will a new target be? ``predict_interval`` answers from residuals of rows
that the weights had not seen. Where the noise differs from row to row, quantiles are fitted.
"""

import matplotlib.pyplot as plt
import numpy as np

import kitchensinks as ks

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0, 6, size=(800, 1)), axis=0)
calm = np.sin(X[:, 0]) + rng.normal(0, 0.2, 800)
wild = np.sin(X[:, 0]) + rng.normal(0, 1, 800) * (0.05 + 0.1 * X[:, 0])
fitted = np.arange(800) % 2 == 0

# %%
# One width for all rows, and nested intervals for several coverages at once:

model = ks.KitchenSinkRegressor(random_state=0).fit(X[fitted], calm[fitted])
lower, upper = model.predict_interval(X, coverage=[0.5, 0.9])
inside = (lower <= calm[:, None]) & (calm[:, None] <= upper)
print("coverage of new rows:", inside[~fitted].mean(axis=0).round(3))

# %%
# Quantiles that depend on the row:

quantiles = [
    ks.KitchenSinkRegressor(
        ks.Fourier(), n_components=100, loss=ks.losses.Quantile(tau), random_state=0
    )
    .fit(X[fitted], wild[fitted])
    .predict(X)
    for tau in (0.05, 0.5, 0.95)
]
share = np.mean((quantiles[0] <= wild) & (wild <= quantiles[2]), where=~fitted)
print(f"coverage of new rows: {share:.3f}")

figure, (above, below) = plt.subplots(2, 1, figsize=(6, 4.8), layout="constrained", sharex=True)
for k, shade in ((1, 0.2), (0, 0.4)):
    above.fill_between(X[:, 0], lower[:, k], upper[:, k], color="C0", alpha=shade, lw=0)
above.plot(X[~fitted], calm[~fitted], "k.", ms=3)
above.set_title("predict_interval: 50 % and 90 %")
below.fill_between(X[:, 0], quantiles[0], quantiles[2], color="C1", alpha=0.3, lw=0)
below.plot(X[:, 0], quantiles[1], color="C1")
below.plot(X[~fitted], wild[~fitted], "k.", ms=3)
below.set_title("quantile loss: 5, 50 and 95 %")
