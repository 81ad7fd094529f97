"""
Hinge loss in a ball
====================

The papers bound every weight: :math:`|\\alpha_k| \\le C/K`. With hinge loss the model is a support
vector machine whose kernel is drawn at random, and the radius C takes the place of a ridge.
"""

import matplotlib.pyplot as plt
from sklearn.inspection import DecisionBoundaryDisplay

import kitchensinks as ks

X, y = ks.datasets.make_sine(600, random_state=0)
X_test, y_test = ks.datasets.make_sine(2000, random_state=1)

figure, axes = plt.subplots(1, 3, figsize=(7.5, 3.8), layout="constrained", sharey=True)
models = []
for ax, radius in zip(axes, (1.0, 5.0, 25.0), strict=True):
    model = ks.KitchenSinkClassifier(
        ks.Fourier(), n_components=200, loss="hinge", constraint=ks.SupBall(radius), random_state=0
    ).fit(X, y)
    models.append(model)
    DecisionBoundaryDisplay.from_estimator(
        model, X, eps=0, response_method="predict", alpha=0.3, ax=ax
    )
    ax.scatter(*X.T, c=y, s=5)
    ax.set_title(f"C = {radius:g}\n{100 * (1 - model.score(X_test, y_test)):.1f} % wrong")

# %%
# The certificate: no weights in the ball have an objective that is lower by more than the gap.

for model in models:
    print(f"{model.constraint!r:16} gap {model.gap_:.1e}, converged {model.converged_}")
