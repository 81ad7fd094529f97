"""`sinks plan`: how many features, which ridge, and which rate of the thesis."""

import numpy as np

from kitchensinks.cli.bases import BASES
from kitchensinks.cli.pipes import opened_table
from kitchensinks.cli.targets import read_target, sampled_places
from kitchensinks.cli.terminal import Terminal
from kitchensinks.cli.verbs import Plan
from kitchensinks.features.scaling import Scaler, Spread
from kitchensinks.numerics.arrays import Facts
from kitchensinks.papers import planning
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.view import Rows


def plan(options: Plan, terminal: Terminal) -> Facts:
    """Look at a sample of a table, and say what it suggests."""
    if options.basis not in BASES or BASES[options.basis]().sparse:
        dense = ", ".join(name for name, make in BASES.items() if not make().sparse)
        raise ValueError(f"--basis {options.basis}: need one of {dense}.")
    if options.rows < 50:
        raise ValueError(f"--rows {options.rows}: need 50 or more, to see a spectrum.")
    with opened_table(options.data, options.skip_bad_rows) as table:
        targets, weights, task = read_target(table, options.target, options.task)
        excluded = [options.target, *(options.drop or [])]
        rows = Rows(table, Columns.learn(table, exclude=excluded, seed=options.seed, categories=[]))
        places = sampled_places(rows, weights, options.rows, options.seed)
        X, y = rows[places], targets[places]
    X = Scaler.over(Spread.of(X), rows.unscaled).apply(X, np.float64)
    if task == "classification":
        coded = np.where(y[:, None] == np.unique(y), 1.0, -1.0)
    else:
        coded = y.astype(np.float64)[:, None]
    n_rows = len(rows) if weights is None else int((weights > 0).sum())
    found = planning.plan(BASES[options.basis](), X, coded, n_rows, options.seed)
    _tell(found, len(X), X.shape[1], options, terminal)
    return found._asdict() | {
        "decay": {law: rate._asdict() for law, rate in found.decay._asdict().items()},
        "sampled": len(X),
        "columns": X.shape[1],
        "basis": options.basis,
        "task": task,
    }


def _tell(
    found: planning.Planned, sampled: int, width: int, options: Plan, terminal: Terminal
) -> None:
    decay = found.decay
    laws = {
        "polynomial": f"λ_i ≈ i^(−{decay.polynomial.rate:.2f})",
        "subexponential": f"λ_i ≈ exp(−{decay.subexponential.rate:.2f}·i^(1/d))",
    }
    parts = {
        "polynomial": "Theorem II.6, first part",
        "subexponential": "Theorem II.6, second part",
        "none": "no part of Theorem II.6 (it needs a power above 1); the end of section 2.4",
    }
    lines = {
        "rows": f"{sampled:,} of {found.n_rows:,} looked at, {width} numbers each",
        "dimension": f"the rows fill {found.intrinsic:.1f} dimensions of {width}",
        "spectrum": f"{decay.better} decay, {laws[decay.better]}",
        "kernel": f"leave-one-out error {100 * found.error:.1f} % of the variance of the targets",
        "alpha": f"{found.alpha:.2g} for all rows ({found.sample_alpha:.2g} on the sample)",
        "freedom": f"effective dimension {found.dimension:.0f} at that alpha",
        "K": f"{found.components:,} suggested; {found.enough:,} reweighted ones by Theorem II.2",
        "rate": (
            f"{parts[found.law]}: excess risk m^(−{found.risk_exponent:.2f}) of optimised "
            f"features with the hinge loss, N of order {found.features}, up to logarithms"
        ),
    }
    for name, text in lines.items():
        terminal.show(f"{name:12s}{text}")
    terminal.note(
        f"sinks fit {options.data} --target {options.target} --basis {options.basis} "
        f"--components {found.components} --alpha {found.alpha:.2g} --out model.sinks"
    )
