"""Random bases, Figure 1: the table of φ, θ, p(θ) and k, each kernel against the mean product.

The mean of φ(x; θ)·φ(y; θ) over many draws is held against the printed kernel and against the
library's. Where these differ, docs/errata.md derives the second.
"""

import math
from typing import Any

import numpy as np

import kitchensinks as ks
from kitchensinks.papers.experiments.claims import Claim, near
from kitchensinks.papers.experiments.study import Cell, Line, Report, Results, Table, grid
from kitchensinks.tables.arrays import densify

_INPUTS, _GAMMA, _HALF = 5, 0.3, 1.0
_AWAY = "largest difference between mean product and kernel"
# The basis, the factor from its products to those of the printed φ, the printed kernel and ours.
_ROWS: dict[str, tuple[Any, float, str, str]] = {
    "fourier": (ks.Fourier(gamma=_GAMMA), 0.5, "exp(−γ‖x−y‖²)", "½exp(−γ‖x−y‖²)"),
    "stump": (ks.Stumps("uniform", a=_HALF), 1.0, "1 − ‖x−y‖₁/a", "1 − ‖x−y‖₁/(a·d)"),
    "bins": (ks.Binning(gamma=_GAMMA), 1.0, "exp(−γ‖x−y‖₁)", "exp(−γ‖x−y‖₁)"),
}


def cells(quick: bool) -> list[Cell]:
    return grid(basis=_ROWS, seed=range(2 if quick else 10))


def run(cell: Cell, quick: bool) -> dict[str, Any]:
    basis, scale, *_ = _ROWS[cell["basis"]]
    # Ten rows in the cube, and all their pairs.
    rows = np.random.default_rng(0).uniform(-_HALF, _HALF, size=(10, _INPUTS))
    places = np.triu_indices(len(rows), 1)
    transform = ks.RandomFeatures(basis, 2000 if quick else 20_000, random_state=cell["seed"])
    features = transform.fit_transform(rows)
    return {
        "simulated": scale * densify(features @ features.T)[places],
        "draws": transform.n_components,
        "printed": _printed(cell["basis"], rows)[places],
        "ours": scale * basis.kernel(rows)[places],
    }


def report(results: Results) -> Report:
    tables, claims, curves = [], [], {}
    # Products are at most 1 in size, so a mean of n has a standard error of at most 1/√n.
    four_errors = 4 / math.sqrt(results.rows[0]["draws"])
    for basis, (_, _, printed, corrected) in _ROWS.items():
        simulated = np.array(results.values("simulated", basis=basis))
        paper, ours = (np.array(results.values(key, basis=basis)[0]) for key in ("printed", "ours"))
        curves[basis] = simulated.mean(axis=0), paper, ours
        lines = [
            Line(f"pair {i + 1}", simulated[:, i], float(paper[i]), None, f"{ours[i]:.3f}")
            for i in range(0, len(paper), 6)
        ]
        title = f"{basis}: mean product against {printed}"
        tables.append(Table(title, lines, "", 3, "rows", corrected))
        why = f"The kernel is {corrected}: docs/errata.md."
        kernels = [(f"{basis}: the kernel is {printed}", paper, why)]
        if corrected != printed:
            kernels.append((f"{basis}, corrected: the kernel is {corrected}", ours, ""))
        for text, kernel, why in kernels:
            away = np.abs(simulated - kernel).max(axis=1)
            check = near(away, 0.0, four_errors, label=_AWAY, against="expected")
            kind = "ours" if "corrected" in text else "paper"
            claims.append(Claim(text, [check], why, kind))

    def draw(figure: Any) -> None:
        for axis, (basis, parts) in zip(figure.subplots(1, 3), curves.items(), strict=True):
            (simulated, paper, ours), (*_, printed, corrected) = parts, _ROWS[basis]
            axis.plot(simulated, paper, "x", ms=4, label=f"printed: {printed}")
            axis.plot(simulated, ours, "o", ms=4, mfc="none", label=f"ours: {corrected}")
            axis.plot(simulated, simulated, "k:", lw=0.8)
            axis.set(title=basis, xlabel="mean of φ(x; θ)φ(y; θ)", ylabel="k(x, y)")
            axis.legend(fontsize=7)

    notes = (
        f"Pairs of rows in [−{_HALF:g}, {_HALF:g}]^{_INPUTS}, γ = {_GAMMA:g}, a = {_HALF:g}; "
        "20,000 draws for each of ten seeds. A difference of four standard errors is allowed."
    )
    return Report(tables, claims, draw, (9.5, 3.4), notes)


def _printed(basis: str, rows: np.ndarray) -> np.ndarray:
    """The kernels as the figure prints them."""
    differences = rows[:, None, :] - rows[None, :, :]
    near = np.abs(differences).sum(axis=2)
    if basis == "stump":
        return np.asarray(1 - near / _HALF)
    square = (differences**2).sum(axis=2)
    return np.asarray(np.exp(-_GAMMA * (square if basis == "fourier" else near)))
