"""
A file that is larger than memory
=================================

``ks.open_table`` reads Parquet, CSV, svmlight and NumPy files block by block. The matrix of
features (rows × K) never exists: only its K × K products are kept.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import kitchensinks as ks

# %%
# A Parquet file of 100,000 rows stands in for a large one. Its features would take 200 MB.

rng = np.random.default_rng(0)
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "rows.parquet"
frame = pd.DataFrame(rng.normal(size=(100_000, 3)).astype("float32"), columns=list("abc"))
frame["target"] = np.sin(2 * frame.a) * frame.b + 0.5 * frame.c**2 + rng.normal(0, 0.2, len(frame))
frame.to_parquet(path)
print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")

# %%
# ``memory_budget`` says how much a fit may use beside the block that is read.

table = ks.open_table(path)
model = ks.KitchenSinkRegressor(
    ks.Fourier(),
    n_components=500,
    solver=ks.Solver(memory_budget=100_000_000),
    random_state=0,
).fit(table, "target")
print(model.plan_)
answers = model.predict(table)
print(f"standard deviation of the errors: {np.std(answers - frame.target):.3f}, of the noise: 0.2")

# %%
# The sums of the fit serve every ridge: the exact leave-one-out error along the path costs one more
# pass over the file.

figure, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
ks.plot.RidgePathDisplay.from_estimator(model, ax=ax)
folder.cleanup()
