"""Maxout paper, Tables 2 and 3, on frames of your own licensed copy of TIMIT."""

from kitchensinks.papers.experiments import phones
from kitchensinks.papers.experiments.phones import run as run
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
# Units of q = 4 from shared projections; the larger ones of the paper are left out.
SHARED = {(15_000, 15_000): 23.1, (60_000, 15_000): 22.7, (60_000, 60_000): 22.8}


def cells(quick: bool) -> list[Cell]:
    counts, shared, seeds = list(PAPER), list(SHARED), 5
    if quick:
        counts, shared, seeds = [20, 40], [(40, 20)], 1
    own: list[Cell] = [{"m": m, "q": q, "projections": None} for m in counts for q in phones.POOLS]
    own += [{"m": m, "q": 4, "projections": p} for m, p in shared]
    raw = {"m": None, "q": None, "projections": None, "seed": 0}
    return [raw, *({**each, "seed": seed} for seed in range(seeds) for each in own)]


def report(results: Results) -> Report:
    plain = results.where(projections=None)
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
    return Report([Table("Frame error", lines, "%")], phones.claims(errors, raw), notes=_NOTES)


_NOTES = """The paper's rates are of phones, after Viterbi decoding to 39 of them; ours are of
frames, so compare orders and not numbers. Averaged stochastic gradients, as there; inputs
standardised."""
