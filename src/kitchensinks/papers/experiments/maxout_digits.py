"""The path of maxout-timit on spoken digits: states, Viterbi decoding, error rates of units."""

from typing import Any

import numpy as np

from kitchensinks.papers.experiments import speech
from kitchensinks.papers.experiments.claims import Claim, below
from kitchensinks.papers.experiments.study import Cell, Line, Report, Results, Table, grid

COUNTS, POOLS, SEEDS = (250, 1000), (2, 4), 3


def cells(quick: bool) -> list[Cell]:
    counts, seeds = ((20, 40), 1) if quick else (COUNTS, SEEDS)
    plain: Cell = {"m": None, "q": None, "seed": 0}
    beside = [plain, plain | {"layers": speech.LAYERS}]
    return [*beside, *grid(m=counts, q=POOLS, seed=range(seeds))]


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    return speech.measure("fsdd", cell, quick)


def report(results: Results) -> Report:
    names = {(None, None): "the inputs themselves"}
    nets, others = (results.where(layers=layers) for layers in (speech.LAYERS, None))
    errors, frames = (others.by("m", "q", of=key) for key in ("error", "frame_error"))
    lines = [
        Line(names.get(key, f"m = {key[0]}, q = {key[1]}"), own, note=_frames(frames[key]))
        for key, own in errors.items()
    ]
    note = _frames(nets.values("frame_error"))
    lines.append(Line("a ReLU net of four layers", nets.values("error"), note=note))
    (raw,) = errors.pop((None, None))
    few, many = min(m for m, _ in errors), max(m for m, _ in errors)
    claims = [
        Claim(
            "maxout features are below the inputs themselves",
            [below(errors[many, q], raw, f"q = {q}, m = {many}") for q in POOLS],
            kind="ours",
        ),
        Claim(
            "more units lower the error",
            [
                below(errors[many, q], errors[few, q], f"q = {q}, m = {few} and {many}")
                for q in POOLS
            ],
            kind="ours",
        ),
    ]
    table = Table("Digit error rate", lines, "%", case="features", note="wrong frames, %")
    return Report([table], claims, notes=_NOTES)


def _frames(errors: list[float]) -> str:
    return f"{np.mean(errors):.1f}"


_NOTES = """This proves the way from frames to error rates that a licensee of TIMIT needs, on sound
that is free: no paper has these numbers. Utterances are five recordings of one of six speakers;
20 log band energies every 20 ms, centred in the utterance and spliced with five frames on either
side; five states a digit, cut at equal steps; a bigram of digits. The net has four layers of 256
nodes."""
