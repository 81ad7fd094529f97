"""
A basis of your own
===================

A basis is a law and a function: how to draw the parameters θ, and φ(x; θ). Thirty lines make one
that all estimators take. Here are random ridges of a wavelet, which suit targets with short bumps.
"""

import matplotlib.pyplot as plt
import numpy as np

import kitchensinks as ks


def sample(rng, n_inputs, count):
    """Directions on a sphere, shifts and widths: one line for each function."""
    directions = rng.standard_normal((count, n_inputs))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    shifts = rng.uniform(-3, 3, (count, 1))
    widths = np.exp(rng.uniform(np.log(0.1), np.log(1.0), (count, 1)))
    return np.hstack([directions, shifts, widths])


def features(rows, theta):
    """The Mexican hat (1 − t²)·exp(−t²/2) of t = (ω·x − b)/s."""
    directions, shifts, widths = theta[:, :-2], theta[:, -2], theta[:, -1]
    t = (rows @ directions.T - shifts) / widths
    return (1 - t**2) * np.exp(-(t**2) / 2)


wavelets = ks.Custom(sample=sample, features=features, bound=1.0)

# %%
# A flat target with one bump, from 300 noisy rows:

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(-3, 3, (300, 1)), axis=0)
truth = np.exp(-0.5 * ((X[:, 0] - 1) / 0.08) ** 2)
y = truth + rng.normal(0, 0.1, 300)

figure, (above, below) = plt.subplots(2, 1, figsize=(6, 4.8), layout="constrained", sharex=True)
draw = ks.RandomFeatures(wavelets, n_components=8, random_state=0).fit(X)
above.plot(X, draw.transform(X))
above.set_title("eight random functions")
below.plot(X, y, ".", color="0.7", ms=4)
for name, basis in {"wavelets": wavelets, "Fourier": ks.Fourier()}.items():
    model = ks.KitchenSinkRegressor(basis, n_components=1000, random_state=0).fit(X, y)
    error = np.sqrt(np.mean((model.predict(X) - truth) ** 2))
    below.plot(X, model.predict(X), label=f"{name}: RMSE {error:.3f}")
below.legend()

# %%
# How far is the mean product of features from the kernel that it tends to? A standard error:

print(wavelets.kernel_error(X[:5]).max().round(4))
