"""Thesis, Figure 3.5: random ReLU features, two- and three-layer nets by their size."""

from typing import Any

import numpy as np

from kitchensinks.papers.experiments import nets
from kitchensinks.papers.experiments.claims import Claim, below
from kitchensinks.papers.experiments.study import Cell, Line, Report, Results, Stopwatch, Table

NODES = [20, 40, 80, 160, 320, 640, 1280, 2560, 5120]
SEEDS, EPOCHS = 3, 1600
TITLES = {"regression": "mean squared loss", "classification": "share of wrong labels"}


def cells(quick: bool) -> list[Cell]:
    sizes, seeds = ([20, 320], 1) if quick else (NODES, SEEDS)
    models = nets.MODELS if quick else (*nets.MODELS, *nets.BESIDE)
    return [
        {"task": task, "nodes": nodes, "model": model, "seed": seed}
        for nodes in sizes
        for seed in range(seeds)
        for task in nets.OUTPUTS
        for model in models
    ]


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    sizes, most = ((1000, 1000), 10) if quick else ((10_000, 5000), EPOCHS)
    data, task = nets.separation(*sizes, cell["seed"]), cell["task"]
    _, truth = data[task]
    with Stopwatch() as watch:
        model, found = nets.fitted(cell["model"], cell["nodes"], task, sizes, most, cell["seed"])
    return {
        "error": nets.error_of(model.predict(data["others"]), truth, task),
        "fit_seconds": watch.processor,
        "target_variance": float(truth.var()),
        **found,
    }


def report(results: Results) -> Report:
    sizes, models = results.unique("nodes"), results.unique("model")
    deep, shallow = nets.MODELS[2], nets.MODELS[:2]
    errors = results.by("task", "nodes", "model", of="error")
    tables = []
    for task, title in TITLES.items():
        lines = [
            Line(f"{nodes:,}", errors[task, nodes, model], note=_trained(own), column=model)
            for nodes in sizes
            for model in models
            for own in [results.where(task=task, nodes=nodes, model=model)]
        ]
        note = "training error, and epochs of nets"
        tables.append(Table(f"{task}, {title} on test rows", lines, "", 3, "nodes", note))
    claims = [
        Claim(
            f"three layers are clearly better than {other}: {task}",
            [below(errors[task, n, deep], errors[task, n, other], f"{n} nodes") for n in sizes],
            "With 20 nodes no model learns anything. With thousands, random ReLU features, which "
            "are fitted exactly, catch up in classification.",
        )
        for task in TITLES
        for other in shallow
    ]
    claims.append(
        Claim(
            "training the inner weights of two layers gains little over random ReLU features",
            [
                below(random, np.add(net, 0.05), f"{task}, {n} nodes: ReLU against net + 0.05")
                for task in TITLES
                for n in sizes
                for random, net in [[errors[task, n, model] for model in shallow]]
            ],
        )
    )

    def draw(figure: Any) -> None:
        for axes, (task, title) in zip(figure.subplots(1, 2), TITLES.items(), strict=True):
            for model in models:
                means = [np.mean(errors[task, nodes, model]) for nodes in sizes]
                style = "o-" if model in nets.MODELS else ".:"
                if task == "classification":
                    means = [1.0 - mean for mean in means]
                axes.semilogx(sizes, means, style, ms=3, lw=1, base=2, label=model)
            label = title if task == "regression" else "accuracy"
            axes.set(xlabel="nodes of the shallow models", ylabel=label, title=task)
        axes.legend(fontsize=7)

    return Report(tables, claims, draw, (9.0, 3.4), _NOTES)


def _trained(own: Results) -> str:
    """Training error, and for nets the epochs and whether they went below random features."""
    told = f"{own.mean('train_error'):.3f}"
    if own.rows[0]["epochs"] is None:
        return told
    short = sum(row["train_error"] >= row["limit"] for row in own.rows)
    missed = f", {short} not below random features" if short else ""
    return f"{told}, {own.mean('epochs'):.0f}{missed}"


_NOTES = """The thesis prints neither sizes nor numbers. 10,000 training and 5,000 test rows, three
seeds. Random ReLU features are fitted exactly, by ridge regression with alpha by leave-one-out (of
1280 nodes for more), where the thesis descends stochastic gradients; the nets are trained with Adam
(step 0.001, batches of 50 rows, doubled every 20 epochs up to 800) for 100 epochs, and on until
their training error is below that of random ReLU features with as many nodes (690 at most). Weights
of their first layer start as normal numbers, offsets as twice such numbers. A three-layer
net has two hidden layers of equal width and the parameters of the shallow nets. Stacked layers of
random features, each a convex fit, are added: they are ours, not the thesis's."""
