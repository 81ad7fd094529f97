"""The verbs of `sinks`: the fields of a class are the options of its verb, its docstring the help.

Nothing heavy is imported here. `module` of this room has a function with the verb's name, which is
called with the options and a terminal, and returns the facts for --json.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

if TYPE_CHECKING:
    from kitchensinks.numerics.arrays import Facts


def _option(text: str, *names: str) -> Any:
    """An option with its help; its names, if they are not that of the field."""
    return typer.Option(*names, help=text)


Data = Annotated[
    str, typer.Argument(help="Parquet, CSV, TSV (also .gz), .npy or svmlight: file or folder.")
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that `sinks fit` wrote.")]
Threads = Annotated[int | None, _option("Threads to use; all if not given.")]
Force = Annotated[
    bool, _option("Write even where the model that is read would be replaced.", "--force")
]
SkipBad = Annotated[
    bool, _option("Leave out rows that cannot be read; count them.", "--skip-bad-rows")
]
Truth = Annotated[
    str | None, _option("The column of true values, if not that of the fit.", "--target", "-t")
]


class Verb:
    """What the classes of all verbs have."""

    module: ClassVar[str]
    example: ClassVar[str]


@dataclass(frozen=True, kw_only=True)
class Training(Verb):
    """Options of the verbs that learn from a table."""

    data: Data
    target: Annotated[str, _option("The column to predict.", "--target", "-t")]
    task: Annotated[str, _option("auto, classification or regression.")] = "auto"
    drop: Annotated[list[str] | None, _option("A column to leave out; repeat for more.")] = None
    category: Annotated[
        list[str] | None,
        _option("A column whose numbers are names of categories; repeat for more."),
    ] = None
    skip_bad_rows: SkipBad = False
    seed: Annotated[int, _option("Names the draw, and the rows held out.")] = 0
    effort: Annotated[str, _option("Of learning: quick, default or thorough.")] = "default"
    time_limit: Annotated[
        float | None,
        _option(
            "Seconds that learning and fitting may take; reading comes on top. [default: none]",
            "--time-limit",
        ),
    ] = None
    time: Annotated[
        str | None,
        _option(
            "A column of dates or numbers: the latest rows are held out, to learn and to score."
        ),
    ] = None
    groups: Annotated[
        str | None, _option("A column: whole groups are held out, to learn and to score.")
    ] = None

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


@dataclass(frozen=True, kw_only=True)
class Fit(Training):
    """Fit a model to a file or folder of rows, and write it."""

    module = "fit"
    example = "sinks fit train.parquet --target income --out model.sinks"

    out: Annotated[Path, _option("The model file to write.", "--out", "-o")]
    basis: Annotated[
        str,
        _option(
            "learned (basis, scales of the columns, K and ridge from held-out rows), or the "
            "papers' method with fourier, laplacian, stumps, binning, sigmoid, relu or maxout."
        ),
    ] = "learned"
    components: Annotated[
        str | None,
        _option(
            "K, the number of random features, or auto. [default: as learned; else 2000, or 250 "
            "grids of binning]"
        ),
    ] = None
    loss: Annotated[
        str,
        _option(
            "squared, hinge, squared_hinge, logistic or exponential; for numbers squared, huber, "
            "quantile, poisson, gamma or tweedie."
        ),
    ] = "squared"
    tau: Annotated[
        float | None,
        _option("Of --loss quantile: the share of the targets below it. [default: 0.5]"),
    ] = None
    alpha: Annotated[str, _option("Ridge strength, or auto.")] = "auto"
    constraint: Annotated[str | None, _option("sup:C or l2:R, a ball for the weights.")] = None
    validation: Annotated[float, _option("Share of the rows held out for the score; 0: none.")] = (
        0.2
    )
    memory: Annotated[
        str | None, _option("Such as 2GB. [default: a quarter of the free memory]")
    ] = None
    threads: Threads = None
    checkpoint: Annotated[
        Path | None, _option("A folder to save the work in, to go on from there.")
    ] = None
    scheduler: Annotated[
        str | None, _option("Fit on the Dask cluster of this scheduler, tcp://host:8786.")
    ] = None
    dask: Annotated[str | None, _option("local:N: fit on N Dask workers of this machine.")] = None


@dataclass(frozen=True, kw_only=True)
class OnRows(Verb):
    """What the verbs share that take a model and a file of rows."""

    model: Model
    data: Data
    threads: Threads = None
    skip_bad_rows: SkipBad = False


@dataclass(frozen=True, kw_only=True)
class Predict(OnRows):
    """Predict every row of a file.

    Labels come with their probabilities, and numbers with an interval where --coverage is given.
    """

    module = "predict"
    example = "sinks predict model.sinks new.csv --id customer --out scores.csv"

    out: Annotated[Path, _option("What to write: .csv, .csv.gz or .parquet.", "--out", "-o")]
    id_column: Annotated[
        str | None, _option("A column of the data to keep beside the answers.", "--id")
    ] = None
    coverage: Annotated[
        float | None,
        _option("Numbers: add the ends of intervals that hold this share of targets, such as 0.9."),
    ] = None
    force: Force = False


@dataclass(frozen=True, kw_only=True)
class Score(OnRows):
    """Score a model on a file of rows.

    Error and log loss of a classifier, RMSE and R² of a regressor.
    """

    module = "predict"
    example = "sinks score model.sinks test.csv"

    target: Truth = None


@dataclass(frozen=True, kw_only=True)
class Report(OnRows):
    """Write a page about a model and its scores on new rows.

    Scores, effects of the columns and single rows, from a file that the model has not seen.
    """

    module = "report"
    example = "sinks report model.sinks test.csv --out report.html"

    out: Annotated[
        Path, _option("What to write: .html, or .json for the facts alone.", "--out", "-o")
    ]
    target: Truth = None
    compare: Annotated[
        bool, _option("Fit a linear model and boosted trees beside it.", "--compare/--no-compare")
    ] = True
    force: Force = False


@dataclass(frozen=True, kw_only=True)
class Info(Verb):
    """Show what a model file holds, without loading its weights."""

    module = "describe"
    example = "sinks info model.sinks"

    model: Model


@dataclass(frozen=True, kw_only=True)
class Export(Verb):
    """Write a model as ONNX. The file is checked against the model before it is kept."""

    module = "describe"
    example = "sinks export model.sinks --onnx model.onnx"

    model: Model
    onnx: Annotated[Path, _option("The ONNX file to write.")]
    force: Force = False


@dataclass(frozen=True, kw_only=True)
class Compare(Training):
    """Compare our models with linear, kernel and boosted ones.

    The learned law and every basis are fitted and scored on the same rows as the others.
    """

    module = "compare"
    example = "sinks compare train.csv --target income --out compare.png"

    out: Annotated[
        Path | None, _option("A picture of the table: .png, .svg, .pdf.", "--out", "-o")
    ] = None
    components: Annotated[str, _option("The K to try, with commas between them.")] = "100,300,1000"
    rows: Annotated[int, _option("Take a sample of at most so many rows.")] = 20_000
    validation: Annotated[float, _option("Share of the rows held out.")] = 0.25


@dataclass(frozen=True, kw_only=True)
class Plan(Verb):
    """Suggest a number of features and a ridge.

    They come from the spectrum of a sample of the rows, with the rate to expect.
    """

    module = "plan"
    example = "sinks plan train.csv --target income"

    data: Data
    target: Annotated[str, _option("The column to predict.", "--target", "-t")]
    task: Annotated[str, _option("auto, classification or regression.")] = "auto"
    basis: Annotated[str, _option("fourier, laplacian, stumps, relu, sigmoid or maxout.")] = (
        "fourier"
    )
    rows: Annotated[int, _option("Look at a sample of at most so many rows: time n³.")] = 1000
    drop: Annotated[list[str] | None, _option("A column to leave out; repeat for more.")] = None
    skip_bad_rows: SkipBad = False
    seed: Annotated[int, _option("Names the draw, and the sample.")] = 0


@dataclass(frozen=True, kw_only=True)
class Explore(Verb):
    """Serve a local page that shows what basis, K and ridge do.

    It shows two columns of a table, or built-in sets.
    """

    module = "explore"
    example = "sinks explore train.csv --target income"

    data: Annotated[
        str | None, typer.Argument(help="A table to look at beside the built-in sets.")
    ] = None
    target: Annotated[
        str | None, _option("The column of the table to predict.", "--target", "-t")
    ] = None
    task: Annotated[str, _option("auto, classification or regression.")] = "auto"
    port: Annotated[int, _option("Where to serve the page; 0: any free port.")] = 0
    skip_bad_rows: SkipBad = False


@dataclass(frozen=True, kw_only=True)
class Datasets(Verb):
    """List the data sets known by name, or write one as CSV files."""

    module = "describe"
    example = "sinks datasets wine --out wine, then sinks fit wine/train.csv …"

    name: Annotated[str | None, typer.Argument(help="A set to write; none lists them all.")] = None
    out: Annotated[Path | None, _option("A folder for train.csv and test.csv.", "--out", "-o")] = (
        None
    )
    make: Annotated[
        Path | None,
        _option(
            "A folder with the publisher's files: make of them, or of what scikit-learn downloads, "
            "the files of the set in the folder named by KITCHENSINKS_DATA, and check them."
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Reproduce(Verb):
    """Run tables and figures of the papers again.

    The printed numbers stand beside ours.
    """

    module = "reproduce"
    example = "sinks reproduce rks-figure2 --quick"

    name: Annotated[
        str | None, typer.Argument(help="A table or figure of the papers; none lists them all.")
    ] = None
    every: Annotated[bool, _option("All of them, one after the other.", "--all")] = False
    quick: Annotated[
        bool, _option("Few rows and seeds: does it run, not does it hold.", "--quick")
    ] = False
    out: Annotated[Path, _option("A folder for the results.", "--out", "-o")] = Path("results")
    page: Annotated[
        Path | None, _option("Run nothing: write the results as a page to this file.")
    ] = None


VERBS = (Fit, Predict, Score, Report, Info, Export, Compare, Plan, Explore, Datasets, Reproduce)
