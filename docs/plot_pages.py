"""Draw the pictures of the pages on selection and geometry: `python docs/plot_pages.py`.

One function draws one picture, saved under its name in docs/pictures.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bounds_drawing import COLOURS, STYLE, shorten
from matplotlib import rc_context
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

import kitchensinks as ks
from kitchensinks import inspect as selection

FOLDER = Path(__file__).parent / "pictures"

PICTURES: dict[str, Callable[[Figure], None]] = {}


def picture(draw: Callable[[Figure], None]) -> Callable[[Figure], None]:
    PICTURES[draw.__name__] = draw
    return draw


def annulus() -> tuple[Any, Any]:
    """300 rows of the annulus and 2000 draws of a Gaussian Fourier basis."""
    rows, _ = ks.datasets.make_annulus(300, random_state=0)
    return rows, ks.Fourier(gamma=0.5).draw(seed=0, n_inputs=2, n_components=2000)


@picture
def selection_spectrum(figure: Figure) -> None:
    rows, draw = annulus()
    left, right = figure.subplots(1, 2)
    values = selection.spectrum(draw.basis, rows)
    ks.plot.SpectrumDisplay(values[values > 1e-12 * values.max()], n_inputs=2).plot(left)
    ks.plot.DimensionDisplay(values).plot(right)


@picture
def selection_leverages(figure: Figure) -> None:
    rows, draw = annulus()
    left, right = figure.subplots(1, 2)
    mu = selection.mu_of_dimension(selection.spectrum(draw.basis, rows), 20)
    ks.plot.LeverageDisplay.from_draw(draw, rows, mu, ax=left)
    ks.plot.SuggestionDisplay.from_draw(draw, rows, ax=right)


@picture
def geometry_distances(figure: Figure) -> None:
    axes = figure.subplots()
    for pool, colour in zip((8, 32), COLOURS, strict=False):
        profile = ks.distance_profile(pool)
        before, after, exact = (part[::15] for part in profile)  # enough to see
        axes.plot(before, after, ".", ms=2, color=colour, alpha=0.5)
        axes.plot(before, exact, color=colour, label=f"q = {pool}")
    axes.axline((0, 0), slope=1, color="k", lw=0.8, ls=":", label="equal")
    axes.set(xlabel="distance before", ylabel="distance after", xlim=(0, 2), ylim=(0, 1.1))
    axes.legend()


def save(name: str, folder: Path) -> Path:
    """Equal bytes at every run of one Matplotlib."""
    path = folder / f"{name}.svg"
    with rc_context(STYLE):
        figure = Figure(figsize=(7.5, 3.0), layout="constrained")
        PICTURES[name](figure)
        figure.savefig(path, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    path.write_text(shorten(path.read_text("utf-8")), "utf-8")
    return path


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with threadpool_limits(1):  # the matrices are small
        for name in sys.argv[1:] or PICTURES:
            print(save(name, FOLDER).relative_to(FOLDER.parent))


if __name__ == "__main__":
    main()
