"""Maxout paper, Figure 2: the views of one face in two dimensions, by maxout units and PCA."""

from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.decomposition import PCA

import kitchensinks as ks
from kitchensinks.papers.experiments.claims import Claim, below, near
from kitchensinks.papers.experiments.data import load
from kitchensinks.papers.experiments.study import Cell, Line, Report, Results, Table

UNITS, POOL = 10_000, 12
SEEDS = 10
# Deviation, in frames, of the places that noisy labels give to the frames.
NOISE = 3.0


def cells(quick: bool) -> list[Cell]:
    seeds = range(1 if quick else SEEDS)
    return [*({"features": "maxout", "seed": seed} for seed in seeds), {"features": "pixels"}]


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    """The embedding, and the rank correlation of its axes with the order of the frames."""
    faces = load("umist_faces", full_size=True, test_share=0)
    views = faces.X_train[faces.y_train == 20]
    if cell["features"] == "pixels":
        pca: Any = PCA(2)
    else:
        # 120,000 Gaussian directions of 10,304 pixels would take 5 GB.
        basis, n_units = ks.Maxout(POOL, projection="hadamard"), 300 if quick else UNITS
        pca = ks.KitchenSinkPCA(basis, 2, n_units, standardize=False, random_state=cell["seed"])
    embedded = pca.fit_transform(views.astype(np.float32))
    frames = np.arange(len(views))
    # The order of the frames is that of the camera: noise is added to it here.
    places = frames + NOISE * np.random.default_rng(cell.get("seed", 0)).normal(size=len(frames))
    found = {"first": embedded[:, 0], "second": embedded[:, 1], "labels": places}
    ranks = {name: abs(float(spearmanr(axis, frames).statistic)) for name, axis in found.items()}
    return {"embedded": embedded, **ranks}


def report(results: Results) -> Report:
    lines = [
        Line(f"{features}, {axis} component", results.values(axis, features=features))
        for features in ("maxout", "pixels")
        for axis in ("first", "second")
    ]
    first, labels = (results.values(key, features="maxout") for key in ("first", "labels"))
    (pixels,) = results.values("first", features="pixels")
    lines.append(Line("noisy labels", labels))
    claims = [
        Claim(
            "the views are ordered by their angle along the embedding",
            [near(first, 1.0, 0.1, label="rank correlation")],
        ),
        Claim(
            f"it corrects noisy labels (of {NOISE:g} frames): the order along the embedding is "
            "closer to the true one",
            [below(labels, first, "rank correlation of noisy labels, and of the embedding")],
        ),
        Claim(
            "principal components of the pixels themselves order the views as well (within 0.02)",
            [near(first, pixels, 0.02, label="rank correlation", against="pixels")],
            kind="ours",
        ),
    ]

    def draw(figure: Any) -> None:
        panels = zip(figure.subplots(1, 2), ("maxout", "pixels"), strict=True)
        for axes, features in panels:
            embedded = np.array(results.values("embedded", features=features)[0])
            axes.plot(*embedded.T, "-", lw=0.5, color="0.8")
            axes.scatter(*embedded.T, c=np.arange(len(embedded)), s=8)
            for frame, place in enumerate(embedded):
                axes.annotate(str(frame + 1), place, fontsize=6)
            axes.set(title=features, xlabel="first component", ylabel="second component")

    table = Table("Rank correlation with the order of the frames", lines, digits=3)
    return Report([table], claims, draw, (9.0, 3.8), _NOTES)


_NOTES = """34 views of UMIST subject 20, 112 × 92 pixels of unit norm (the paper: 33 views of a set
that it does not name), 10,000 units of q = 12 with Hadamard projections. The paper shows a picture
and no number. UMIST's frames are in the order of the camera; noisy labels are made here, a normal
number added to the place of each frame. Linear components of the pixels order these views as well:
what corrects the labels is the principal component, not the maxout map."""
