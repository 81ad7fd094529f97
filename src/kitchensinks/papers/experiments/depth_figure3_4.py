"""Thesis, Figure 3.4: what the deep and the shallow models predict, against the radius."""

from typing import Any

import numpy as np

from kitchensinks.papers.experiments import nets
from kitchensinks.papers.experiments.claims import Claim, below
from kitchensinks.papers.experiments.study import Cell, Line, Report, Results, Table, grid

NODES, SEEDS, EPOCHS = 1280, 3, 1600
SHOWN = 600
# A quarter of the stored points is drawn, which keeps the SVG small.
DRAWN = slice(None, None, 4)


def cells(quick: bool) -> list[Cell]:
    models = (*nets.MODELS, "stacked Fourier")
    # Models within a seed: the nets of a seed are measured by its random features.
    return grid(seed=range(1 if quick else SEEDS), model=models)


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    """Predictions on test rows in order of their radius, and how much they vary with it."""
    sizes, nodes, most = ((1000, 800), 40, 10) if quick else ((10_000, 5000), NODES, EPOCHS)
    data = nets.separation(*sizes, cell["seed"])
    _, truth = data["regression"]
    model, found = nets.fitted(cell["model"], nodes, "regression", sizes, most, cell["seed"])
    predicted = model.predict(data["others"])
    order = np.argsort(data["radius"])[:: max(1, len(truth) // SHOWN)]
    return {
        "radius": data["radius"][order],
        "truth": truth[order],
        "predicted": predicted[order],
        "loss": float(np.mean((predicted - truth) ** 2)),
        "variance": float(np.var(predicted)),
        "target_variance": float(np.var(truth)),
        "train_loss": found.pop("train_error"),
        **found,
    }


def report(results: Results) -> Report:
    rows = {row["model"]: row for row in results.where(seed=0).rows}
    columns = {
        "train_loss": "loss on training rows",
        "loss": "mean squared loss",
        "variance": "variance of the prediction",
    }
    found = {key: results.by("model", of=key) for key in columns}
    loss, variance = found["loss"], found["variance"]
    lines = [
        Line(name, found[key][name], column=told) for name in rows for key, told in columns.items()
    ]
    target = results.values("target_variance", model=nets.MODELS[0])
    lines.append(Line("the target", target, column=columns["variance"]))
    *others, deep = nets.MODELS
    claims = [
        Claim(
            "three layers learn a function closer to the true one",
            [below(loss[deep], loss[other], f"loss, against {other}") for other in others],
        ),
        Claim(
            "random ReLU features learn a more regular function, and two layers a similar one",
            [below(variance[one], variance[deep], f"variance of {one}") for one in others],
        ),
    ]

    def draw(figure: Any) -> None:
        for axes, (name, row) in zip(figure.subplots(1, 4, sharey=True), rows.items(), strict=True):
            for key, style in (("truth", "b."), ("predicted", "r.")):
                axes.plot(row["radius"][DRAWN], row[key][DRAWN], style, ms=1.5)
            axes.set(title=name, xlabel="radius")

    table = Table("Regression", lines, digits=3, case="model")
    return Report([table], claims, draw, (11.0, 2.8), _NOTES)


_NOTES = """1280 nodes, or as many parameters; 10,000 training rows, three seeds of rows and models;
settings as in Figure 3.5. The picture is of the first seed. Blue: the target; red: predictions on
test rows. Stacked Fourier features, ours, stand beside them."""
