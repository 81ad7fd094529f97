"""Targets of a fit, as the losses take them."""

from typing import Any, NamedTuple

from kitchensinks.problem.losses import Array


class Batch(NamedTuple):
    """Rows (n, d) with encoded targets (n, outputs).

    weights (n,), or None for ones; one (n,): the weight of one copy of a row where classes have
    weights, else None.
    """

    rows: Any
    targets: Array
    weights: Array | None = None
    one: Array | None = None
