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
# Deviations, in frames, of the places that noisy labels give to the frames.
NOISES = (1.5, 3.0, 6.0)


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
    first, second = (abs(float(spearmanr(axis, frames).statistic)) for axis in embedded.T)
    return {"embedded": embedded, "first": first, "second": second}


def _labels(n_frames: int, noise: float, n_seeds: int) -> list[float]:
    """Rank correlation of noisy labels with the order of the camera, for each seed."""
    frames = np.arange(n_frames)
    drawn = (np.random.default_rng(seed).normal(size=n_frames) for seed in range(n_seeds))
    return [float(spearmanr(frames + noise * each, frames).statistic) for each in drawn]


def report(results: Results) -> Report:
    lines = [
        Line(f"{features}, {axis} component", results.values(axis, features=features))
        for features in ("maxout", "pixels")
        for axis in ("first", "second")
    ]
    first = results.values("first", features="maxout")
    (pixels,) = results.values("first", features="pixels")
    n_frames = len(results.rows[0]["embedded"])
    labels = {noise: _labels(n_frames, noise, len(first)) for noise in NOISES}
    lines += [Line(f"labels with noise of {noise:g} frames", own) for noise, own in labels.items()]
    claims = [
        Claim(
            "the views are ordered by their angle along the embedding",
            [near(first, 1.0, 0.1, label="rank correlation")],
        ),
        Claim(
            "it corrects noisy labels: the order along the embedding is closer to the true one",
            [
                below(own, first, f"noise of {noise:g} frames, rank correlation of labels and axis")
                for noise, own in labels.items()
            ],
            "The paper does not say how noisy its labels are. The embedding has errors of its own, "
            "as large as those of labels that are some four frames off: it corrects worse ones.",
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
that is a matter of the principal components, not of the maxout map."""
