"""
First fit: nothing chosen
=========================

A real table of 569 tumours with 30 measurements each. Nothing is scaled and nothing is chosen: the
law of the random features, their number and the ridge are learned from the training rows.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import RocCurveDisplay, log_loss
from sklearn.model_selection import train_test_split

import kitchensinks as ks

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=1)

model = ks.KitchenSinkClassifier(random_state=0).fit(X_train, y_train)
trees = HistGradientBoostingClassifier(random_state=0).fit(X_train, y_train)

# %%
# Both on the rows that neither has seen:

for name, one in {"kitchensinks": model, "boosted trees": trees}.items():
    loss = log_loss(y_test, one.predict_proba(X_test))
    print(f"{name:14} accuracy {one.score(X_test, y_test):.3f}, log loss {loss:.3f}")

# %%
# The receiver operating characteristic, which scikit-learn draws for any classifier:

figure, ax = plt.subplots(figsize=(5.5, 3.85), layout="constrained")
for name, one in {"kitchensinks": model, "boosted trees": trees}.items():
    RocCurveDisplay.from_estimator(one, X_test, y_test, name=name, ax=ax)
ax.set(title="on new rows", xlim=(-0.02, 0.3), ylim=(0.7, 1.01))

# %%
# What was tried to find the law. Each point is a fit to some training rows, scored on others:

figure, ax = plt.subplots(figsize=(5.5, 3.85), layout="constrained")
ks.plot.TrialsDisplay.from_estimator(model, ax=ax)
ax.set_title("trials of the law")

# %%
# The law in words, and the solver that found the weights.

print(f"{model.n_components_} features of {model.basis_}")
print(model.plan_)
