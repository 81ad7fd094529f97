"""
Time series: ROCKET features with a streaming ridge
===================================================

ROCKET makes thousands of features from random convolutions of a series and fits a ridge to them.
``StreamingRidgeClassifierCV`` is that ridge for features that do not fit into memory: it takes them
in batches, and chooses the ridge by exact leave-one-out error. The features are those of MiniRocket
in the package aeon; where it is not installed, a few lines make random convolutions.
"""

import matplotlib.pyplot as plt
import numpy as np

import kitchensinks as ks

rng = np.random.default_rng(0)
LENGTH = 150


def series(count):
    """Waves of three shapes, with random phase and frequency, in noise."""
    shapes = rng.integers(0, 3, count)
    angle = rng.uniform(3, 6, (count, 1)) * np.linspace(0, 2 * np.pi, LENGTH)
    angle += rng.uniform(0, 2 * np.pi, (count, 1))
    waves = np.stack([np.sin(angle), np.sign(np.sin(angle)), 2 * (angle / (2 * np.pi) % 1) - 1])
    return waves[shapes, np.arange(count)] + rng.normal(0, 0.8, (count, LENGTH)), shapes


try:
    from aeon.transformations.collection.convolution_based import MiniRocket

    rocket = MiniRocket(n_kernels=2000, random_state=0).fit(series(200)[0].astype(np.float32))

    def features(rows):
        """MiniRocket: the share of positive values of 2000 dilated convolutions."""
        return rocket.transform(rows.astype(np.float32))

except ImportError:
    laws = rng.normal(size=(999, 9)), rng.integers(1, 9, 999), rng.uniform(-1, 1, 999)
    kernels = list(zip(*laws, strict=True))

    def features(rows):
        """Without aeon: share of positive values and maximum of random dilated convolutions."""
        columns = []
        for weights, dilation, bias in kernels:
            wide = LENGTH - 8 * dilation
            shifted = sum(w * rows[:, k * dilation :][:, :wide] for k, w in enumerate(weights))
            columns += [(shifted > bias).mean(axis=1), shifted.max(axis=1)]
        return np.stack(columns, axis=1)


# %%
# ``fit`` takes an iterable of blocks (features, labels). They are made, used and thrown away; what
# can be walked again gets the exact leave-one-out error. The answer is that of one fit to all rows.


class Blocks:
    batches = [series(250) for _ in range(4)]

    def __iter__(self):
        return ((features(rows), shapes) for rows, shapes in self.batches)


model = ks.StreamingRidgeClassifierCV(np.logspace(-2, 4, 7)).fit(Blocks())
rows, shapes = series(500)
guess = model.predict(features(rows))
print(features.__doc__)
print(f"ridge {model.alpha_:.3g}, accuracy {np.mean(guess == shapes):.3f} on 500 new series")

figure, axes = plt.subplots(3, 1, figsize=(6.5, 4), layout="constrained", sharex=True)
for shape, (ax, name) in enumerate(zip(axes, ("sine", "square", "saw"), strict=True)):
    ax.plot(rows[shapes == shape][0], color=f"C{shape}")
    ax.set_ylabel(name)
    ax.set_title(f"{np.mean(guess[shapes == shape] == shape):.0%} right", fontsize=9)
