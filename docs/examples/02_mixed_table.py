"""
A mixed table
=============

Dates, categories, numbers and missing values, as they come from a database. A data frame goes into
``fit`` as it is.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.inspection import PartialDependenceDisplay

import kitchensinks as ks

rng = np.random.default_rng(0)
n = 2000
hires = pd.DataFrame(
    {
        "day": pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 365, n), unit="D"),
        "hour": rng.integers(6, 23, n),
        "weather": rng.choice(["sun", "cloud", "rain"], n, p=[0.5, 0.3, 0.2]),
        "degrees": rng.normal(12, 8, n).round(1),
    }
)
weekend = hires.day.dt.day_of_week >= 5
bikes = 40 + 20 * np.sin(hires.hour / 2.5) * np.where(weekend, 0.3, 1.0) + 1.5 * hires.degrees
bikes += -25 * (hires.weather == "rain") + rng.normal(0, 5, n)
hires.loc[::10, "degrees"] = np.nan  # the thermometer fails now and then
print(hires.head())

# %%
# Categories and dates become columns of numbers, by a recipe that the model keeps:

train, test = hires[:1500], hires[1500:]
model = ks.KitchenSinkRegressor(random_state=0).fit(train, bikes[:1500])
print(f"R² on new rows: {model.score(test, bikes[1500:]):.3f}")
print(model.columns_.outputs)

# %%
# How the prediction depends on three of the columns, drawn by scikit-learn:

figure, axes = plt.subplots(1, 3, figsize=(6.5, 4.5), layout="constrained", sharey=True)
PartialDependenceDisplay.from_estimator(
    model,
    test[:300].dropna().astype({"hour": float}),
    ["hour", "weather", "degrees"],
    categorical_features=["weather"],
    ax=axes,
)

# %%
# A missing temperature is no error, nor is a kind of weather that the fit never saw:

strange = test[:3].assign(degrees=np.nan, weather="hail")
print(model.predict(strange).round())
