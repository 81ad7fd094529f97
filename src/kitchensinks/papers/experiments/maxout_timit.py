"""Maxout paper, Tables 2 and 3, on frames of your own licensed copy of TIMIT."""

from typing import Any

from kitchensinks.papers.experiments import phones, speech
from kitchensinks.papers.experiments.study import Cell, Line, Report, Results, Table

# Phone error rates in per cent and their deviations, by m, of q = 2, 4, 8 and 16.
PAPER = {
    1250: [(24.7, 0.2), (24.4, 0.2), (25.6, 0.2), (26.0, 0.2)],
    2500: [(24.0, 0.2), (23.3, 0.3), (24.7, 0.3), (25.3, 0.3)],
    5000: [(23.5, 0.1), (22.9, 0.2), (24.7, 0.2), (24.7, 0.4)],
    10_000: [(23.2, 0.1), (22.5, 0.2), (24.5, 0.2), (24.7, 0.4)],
    20_000: [(23.1, 0.1), (22.3, 0.2), (24.3, 0.2), (24.5, 0.2)],
}
RAW = (33.1, 0.1)
# The net without dropout.
NET = 22.7
# Units of q = 4 from shared projections; the larger ones of the paper are left out.
SHARED = {(15_000, 15_000): 23.1, (60_000, 15_000): 22.7, (60_000, 60_000): 22.8}


def cells(quick: bool) -> list[Cell]:
    counts, shared, seeds = list(PAPER), list(SHARED), 5
    if quick:
        counts, shared, seeds = [20, 40], [(40, 20)], 1
    own: list[Cell] = [{"m": m, "q": q, "projections": None} for m in counts for q in phones.POOLS]
    own += [{"m": m, "q": 4, "projections": p} for m, p in shared]
    plain: Cell = {"m": None, "q": None, "projections": None, "seed": 0}
    beside = [plain, plain | {"layers": speech.LAYERS}]
    return [*beside, *({**each, "seed": seed} for seed in range(seeds) for each in own)]


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    return speech.measure("timit", cell, quick)


def report(results: Results) -> Report:
    plain = results.where(layers=None, projections=None)
    errors, lines = plain.by("m", "q", of="error"), []
    raw = errors.pop((None, None))
    for (m, q), values in errors.items():
        printed = PAPER[m][phones.POOLS.index(q)] if m in PAPER else ()
        lines.append(Line(f"m = {m:,}, q = {q}", values, *printed))
    shared = Results(row for row in results.rows if row["projections"] is not None)
    for (m, projections), values in sorted(shared.by("m", "projections", of="error").items()):
        label = f"m = {m:,}, q = 4, {projections:,} shared projections"
        lines.append(Line(label, values, SHARED.get((m, projections))))
    lines.append(Line("the inputs themselves", raw, *RAW))
    net = results.values("error", layers=speech.LAYERS)
    lines.append(Line("a ReLU net of four layers", net, NET))
    table = Table("Phone error rate", lines, "%", case="features")
    return Report([table], phones.claims(errors, raw), notes=_NOTES)


_NOTES = """Frames are spliced with five on either side; states are decoded by the Viterbi algorithm
with a bigram of phones, and 48 phones are scored as 39. Averaged stochastic gradients, as in the
paper; inputs standardised. The net has four layers of 4000 nodes and no dropout."""
