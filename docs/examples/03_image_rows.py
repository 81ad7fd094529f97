"""
Rows that are small images
==========================

1797 handwritten digits of 8 × 8 pixels. A row is a vector of 64 numbers; which pixels matter is
learned with the law.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import kitchensinks as ks

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = ks.KitchenSinkClassifier(random_state=0).fit(X_train, y_train)
chances = model.predict_proba(X_test)
print(f"accuracy {model.score(X_test, y_test):.3f} on {len(X_test)} new digits")

# %%
# The digits that the model is least sure of, with its first and second guess.

unsure = np.argsort(chances.max(axis=1))[:10]
figure, axes = plt.subplots(2, 5, figsize=(6.5, 3.6), layout="constrained")
for ax, row in zip(axes.ravel(), unsure, strict=True):
    second, first = np.argsort(chances[row])[-2:]
    ax.imshow(X_test[row].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"is {y_test[row]}: {first} or {second}?", fontsize=9)
    ax.axis("off")

# %%
# The share of each pixel in the learned distance between digits: the corners say nothing.

figure, ax = plt.subplots(figsize=(3.5, 3), layout="constrained")
picture = ax.imshow(model.feature_importances_.reshape(8, 8), cmap="viridis")
figure.colorbar(picture, label="importance")
ax.set_axis_off()
