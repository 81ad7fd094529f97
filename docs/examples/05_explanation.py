"""
Explaining one prediction, and the model
========================================

Contributions of the columns that sum to the prediction, and three tools of scikit-learn that work
as with any other estimator: permutation importance, partial dependence, decision boundaries.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.inspection import (
    DecisionBoundaryDisplay,
    PartialDependenceDisplay,
    permutation_importance,
)

import kitchensinks as ks

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = ks.KitchenSinkRegressor(ks.Fourier(), random_state=0).fit(X[:330], y[:330])

# %%
# Why is this patient's prediction above the mean of fitted rows? The bars sum to the difference.

found = ks.explain(model, X[330:331])
names, parts = zip(*reversed(found.largest(row=0, count=10)), strict=True)
figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
ax.barh(names, parts, color=np.where(np.array(parts) > 0, "C3", "C0"))
ax.axvline(0, color="k", lw=0.8)
ax.set_title(f"mean {found.base:.0f}, this patient {float(found.predictions[0]):.0f}")
print(f"sum of the parts: {found.base + found.contributions[0].sum():.3f}")

# %%
# Which columns would be missed? And how does the prediction depend on the first two?

lost = permutation_importance(model, X[330:], y[330:], n_repeats=10, random_state=0)
order = np.argsort(lost.importances_mean)
first, second = X.columns[order[-1]], X.columns[order[-2]]
figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
axes[0].barh(X.columns[order], lost.importances_mean[order], xerr=lost.importances_std[order])
axes[0].set_title("R² lost")
PartialDependenceDisplay.from_estimator(
    model, X[330:], [first, second], kind="both", subsample=30, random_state=0, ax=axes[1:]
)

# %%
# A classifier of two columns, and its boundary.

ill = (y > 150).to_numpy()
pair = X[[first, second]].to_numpy()
classifier = ks.KitchenSinkClassifier(ks.Fourier(), random_state=0).fit(pair, ill)
figure, ax = plt.subplots(figsize=(4.5, 3.6), layout="constrained")
DecisionBoundaryDisplay.from_estimator(
    classifier, pair, eps=0, response_method="predict_proba", xlabel=first, ylabel=second, ax=ax
)
ax.scatter(*pair.T, c=ill, s=8, cmap="coolwarm")
