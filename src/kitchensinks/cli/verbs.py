"""The verbs of `sinks`: the fields of a class are the options of its verb, its docstring the help.

Nothing heavy is imported here. `module` of this room has a function with the verb's name, which is
called with the options and a terminal, and returns the facts for --json.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

import typer

if TYPE_CHECKING:
    from kitchensinks.numerics.arrays import Facts


def _option(default: object, text: str, *names: str) -> Any:
    """An option with its default (... for none) and help; its names, if not that of the field."""
    return typer.Option(default, *names, help=text)


_DATA: Any = typer.Argument(
    ..., help="Parquet, CSV, TSV (also .gz), .npy or svmlight: file or folder."
)
_MODEL: Any = typer.Argument(..., metavar="MODEL", help="A file that `sinks fit` wrote.")
_TARGET = _option(..., "The column to predict.", "--target", "-t")
_TASK = _option("auto", "auto, classification or regression.")
_DROP = _option(None, "A column to leave out; repeat for more.")
_THREADS = _option(None, "Threads to use; all if not given.")
_SKIP_BAD = _option(False, "Leave out rows that cannot be read; count them.", "--skip-bad-rows")
_TRUTH = _option(None, "The column of true values, if not that of the fit.", "--target", "-t")


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Verb:
    """What the classes of all verbs have."""

    module: ClassVar[str]
    example: ClassVar[str]

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True)(cls)


class Training(Verb):
    """Options of the verbs that learn from a table."""

    data: str = _DATA
    target: str = _TARGET
    task: str = _TASK
    drop: list[str] | None = _DROP
    category: list[str] | None = _option(
        None, "A column of numbers or text whose values are categories; repeat for more."
    )
    skip_bad_rows: bool = _SKIP_BAD
    seed: int = _option(0, "Random seed of the draw and of the rows held out.")
    effort: str = _option("default", "Of learning: quick, default or thorough.")
    time_limit: float | None = _option(
        None,
        "Seconds that learning and fitting may take; reading comes on top. [default: none]",
        "--time-limit",
    )
    time: str | None = _option(
        None, "A column of dates or numbers: the latest rows are held out, to learn and to score."
    )
    groups: str | None = _option(
        None, "A column: whole groups are held out, to learn and to score."
    )

    @property
    def excluded(self) -> list[str]:
        """Columns of the table that are not inputs."""
        return [self.target, *(self.drop or [])]

    @property
    def recipe(self) -> "Facts":
        """What the recipe of the columns is learned with."""
        return {
            "exclude": self.excluded,
            "seed": self.seed,
            "identifiers": self.time or False,
            "categories": self.category or [],
        }


class Fit(Training):
    """Fit a model to a file or folder of rows, and write it."""

    module = "fit"
    example = "sinks fit train.parquet --target income --out model.sinks"

    out: Path = _option(..., "The model file to write.", "--out", "-o")
    basis: str = _option(
        "learned",
        "learned (basis, scales of the columns, K and ridge from held-out rows), or the "
        "papers' method with fourier, laplacian, stumps, binning, sigmoid, relu or maxout.",
    )
    components: str | None = _option(
        None,
        "K, the number of random features, or auto. [default: as learned; else 2000, or 250 "
        "grids of binning]",
    )
    loss: str = _option(
        "squared",
        "squared, hinge, squared_hinge, logistic or exponential; for numbers squared, huber, "
        "quantile, poisson, gamma or tweedie.",
    )
    tau: float | None = _option(
        None, "Of --loss quantile: the share of the targets below it. [default: 0.5]"
    )
    alpha: str = _option("auto", "Ridge strength, or auto.")
    constraint: str | None = _option(None, "sup:C or l2:R, a ball for the weights.")
    validation: float = _option(0.2, "Share of the rows held out for the score; 0: none.")
    memory: str | None = _option(None, "Such as 2GB. [default: a quarter of the free memory]")
    threads: int | None = _THREADS
    checkpoint: Path | None = _option(None, "A folder to save the work in, to go on from there.")
    scheduler: str | None = _option(
        None, "Fit on the Dask cluster of this scheduler, tcp://host:8786."
    )
    dask: str | None = _option(None, "local:N: fit on N Dask workers of this machine.")


class OnRows(Verb):
    """What the verbs share that take a model and a file of rows."""

    model: Path = _MODEL
    data: str = _DATA
    threads: int | None = _THREADS
    skip_bad_rows: bool = _SKIP_BAD


class Predict(OnRows):
    """Predict every row of a file.

    Labels come with their probabilities, and numbers with an interval where --coverage is given.
    """

    module = "predict"
    example = "sinks predict model.sinks new.csv --id customer --out scores.csv"

    out: Path = _option(..., "What to write: .csv, .csv.gz or .parquet.", "--out", "-o")
    id_column: list[str] | None = _option(
        None, "A column of the data to keep beside the answers; repeat for more.", "--id"
    )
    coverage: float | None = _option(
        None, "Numbers: add the ends of intervals that hold this share of targets, such as 0.9."
    )


class Score(OnRows):
    """Score a model on a file of rows.

    Error and log loss of a classifier, RMSE and R² of a regressor.
    """

    module = "predict"
    example = "sinks score model.sinks test.csv"

    target: str | None = _TRUTH


class Report(OnRows):
    """Write a page about a model and its scores on new rows.

    Scores, effects of the columns and single rows, from a file that the model has not seen.
    """

    module = "predict"
    example = "sinks report model.sinks test.csv --out report.html"

    out: Path = _option(..., "What to write: .html, or .json for the facts alone.", "--out", "-o")
    target: str | None = _TRUTH
    compare: bool = _option(
        True, "Fit a linear model and boosted trees beside it.", "--compare/--no-compare"
    )


class Info(Verb):
    """Show what a model file holds, without loading its weights."""

    module = "describe"
    example = "sinks info model.sinks"

    model: Path = _MODEL


class Export(Verb):
    """Write a model as ONNX. The file is checked against the model before it is kept."""

    module = "describe"
    example = "sinks export model.sinks --out model.onnx"

    model: Path = _MODEL
    out: Path = _option(..., "The ONNX file to write.", "--out", "-o")


class Compare(Training):
    """Compare our models with linear, kernel and boosted ones.

    The learned law and every basis are fitted and scored on the same rows as the others.
    """

    module = "compare"
    example = "sinks compare train.csv --target income --out compare.png"

    out: Path | None = _option(None, "A picture of the table: .png, .svg, .pdf.", "--out", "-o")
    components: str = _option("100,300,1000", "The K to try, with commas between them.")
    rows: int = _option(20_000, "Take a sample of at most so many rows.")
    validation: float = _option(0.25, "Share of the rows held out.")


class Plan(Verb):
    """Suggest a number of features and a ridge.

    They come from the spectrum of a sample of the rows, with the rate to expect.
    """

    module = "plan"
    example = "sinks plan train.csv --target income"

    data: str = _DATA
    target: str = _TARGET
    task: str = _TASK
    basis: str = _option("fourier", "fourier, laplacian, stumps, relu, sigmoid or maxout.")
    rows: int = _option(1000, "Look at a sample of at most so many rows: time n³.")
    drop: list[str] | None = _DROP
    skip_bad_rows: bool = _SKIP_BAD
    seed: int = _option(0, "Random seed of the draw and of the sample.")


class Explore(Verb):
    """Serve a local page that shows what basis, K and ridge do.

    It shows two columns of a table, or built-in sets.
    """

    module = "explore"
    example = "sinks explore train.csv --target income"

    data: str | None = typer.Argument(None, help="A table to look at beside the built-in sets.")
    target: str | None = _option(None, "The column of the table to predict.", "--target", "-t")
    task: str = _TASK
    port: int = _option(0, "Where to serve the page; 0: any free port.")
    skip_bad_rows: bool = _SKIP_BAD


class Datasets(Verb):
    """List the data sets known by name, or write one as CSV files."""

    module = "describe"
    example = "sinks datasets wine --out wine, then sinks fit wine/train.csv …"

    name: str | None = typer.Argument(None, help="A set to write; none lists them all.")
    out: Path | None = _option(None, "A folder for train.csv and test.csv.", "--out", "-o")
    make: Path | None = _option(
        None,
        "A folder with the publisher's files: make of them, or of what scikit-learn downloads, "
        "the files of the set in the folder named by KITCHENSINKS_DATA, and check them.",
    )


class Reproduce(Verb):
    """Run tables and figures of the papers again.

    The printed numbers stand beside ours.
    """

    module = "reproduce"
    example = "sinks reproduce rks-figure2 --quick"

    name: str | None = typer.Argument(
        None, help="A table or figure of the papers; none lists them all."
    )
    every: bool = _option(False, "All of them, one after the other.", "--all")
    quick: bool = _option(False, "Few rows and seeds: does it run, not does it hold.", "--quick")
    out: Path = _option(Path("results"), "A folder for the results.", "--out", "-o")
    page: Path | None = _option(None, "Run nothing: write the results as a page to this file.")


VERBS = (Fit, Predict, Score, Report, Info, Export, Compare, Plan, Explore, Datasets, Reproduce)
