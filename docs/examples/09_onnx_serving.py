"""
Serving with ONNX
=================

A model as an ONNX file runs wherever onnxruntime does, without Python and without this library. The
recipe of the columns goes with it: the file takes raw rows of a mixed table.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
import pandas as pd

import kitchensinks as ks

rng = np.random.default_rng(0)
houses = pd.DataFrame(
    {
        "area": rng.uniform(40, 200, 1200).round(),
        "town": rng.choice(["Ulm", "Bonn", "Kiel"], 1200),
        "year": rng.integers(1900, 2025, 1200).astype(float),
    }
)
price = 3 * houses.area + 60 * (houses.town == "Bonn") + 0.5 * (houses.year - 1900)
price += rng.normal(0, 20, 1200)
houses.loc[::20, "year"] = np.nan
model = ks.KitchenSinkRegressor(random_state=0).fit(houses[:900], price[:900])

# %%
# The file is run and compared with the model before it is kept.

folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "houses.onnx"
ks.to_onnx(model, path)
session = onnxruntime.InferenceSession(path)
for given in session.get_inputs():
    print(given.name, given.type, given.shape)
print(f"{path.stat().st_size / 1e3:.0f} kB")

# %%
# Raw rows go in by the names of their columns.

new = houses[900:]
words = {"tensor(string)": object, "tensor(double)": np.float64, "tensor(float)": np.float32}
served = session.run(
    None,
    {given.name: new[[given.name]].to_numpy(words[given.type]) for given in session.get_inputs()},
)[0].ravel()
print(f"largest difference: {np.abs(served - model.predict(new)).max():.1e}")

figure, ax = plt.subplots(figsize=(4, 3.6), layout="constrained")
ax.plot(model.predict(new), served, ".")
ax.set(xlabel="predicted by Python", ylabel="served by onnxruntime")
folder.cleanup()
