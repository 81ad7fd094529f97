"""The verbs of `sinks` and their options. Nothing heavy is imported before a verb runs."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from kitchensinks.cli.terminal import Terminal, run

app = typer.Typer(
    name="sinks",
    help="Learning with random features, from a terminal: fit, predict, score, compare.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Json = Annotated[bool, typer.Option("--json", help="One JSON object on the standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no progress.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Data = Annotated[
    str, typer.Argument(help="Parquet, CSV, TSV (also .gz), .npy or svmlight: file or folder.")
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that `sinks fit` wrote.")]
Target = Annotated[str, typer.Option("--target", "-t", help="The column to predict.")]
Task = Annotated[str, typer.Option(help="auto, classification or regression.")]
Seed = Annotated[int, typer.Option(help="Names the draw, and the rows held out.")]
Threads = Annotated[int | None, typer.Option(help="Threads to use; all if not given.")]
Drop = Annotated[list[str] | None, typer.Option(help="A column to leave out; repeat for more.")]
SkipBad = Annotated[
    bool, typer.Option("--skip-bad-rows", help="Leave out rows that cannot be read; count them.")
]


Facts = dict[str, Any]


def verb(example: str) -> Callable[[Callable[..., Facts]], None]:
    """Register a function as a verb, with the options that all verbs have.

    The function is called with a terminal and its own options, and returns the facts for --json.
    """

    def register(work: Callable[..., Facts]) -> None:
        @functools.wraps(work, ("__name__", "__doc__"))
        def command(
            as_json: Json = False, quiet: Quiet = False, debug: Debug = False, **own: Any
        ) -> None:
            run(lambda terminal: work(terminal, **own), as_json, quiet, debug)

        _, *own = inspect.signature(work).parameters.values()
        *shared, _ = inspect.signature(command, follow_wrapped=False).parameters.values()
        command.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
        app.command(epilog=f"Example: {example}")(command)

    return register


@app.callback(invoke_without_command=True)
def front_door(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        import kitchensinks

        typer.echo(f"kitchensinks {kitchensinks.__version__}")
        raise typer.Exit


@verb("sinks fit train.parquet --target income --out model.sinks")
def fit(
    terminal: Terminal,
    data: Data,
    target: Target,
    out: Annotated[Path, typer.Option("--out", "-o", help="The model file to write.")],
    task: Task = "auto",
    basis: Annotated[
        str,
        typer.Option(
            help="learned (basis, scales of the columns, K and ridge from held-out rows), or the "
            "papers' method with fourier, laplacian, stumps, binning, sigmoid, relu or maxout."
        ),
    ] = "learned",
    effort: Annotated[
        str, typer.Option(help="Of learning: quick, default or thorough.")
    ] = "default",
    components: Annotated[
        str | None,
        typer.Option(
            help="K, the number of random features, or auto. [default: as learned; else 2000, or "
            "250 grids of binning]"
        ),
    ] = None,
    loss: Annotated[
        str,
        typer.Option(
            help="squared, hinge, squared_hinge, logistic or exponential; for numbers squared, "
            "huber or quantile."
        ),
    ] = "squared",
    alpha: Annotated[str, typer.Option(help="Ridge strength, or auto.")] = "auto",
    constraint: Annotated[
        str | None, typer.Option(help="sup:C or l2:R, a ball for the weights.")
    ] = None,
    validation: Annotated[
        float, typer.Option(help="Share of the rows held out for the score; 0: none.")
    ] = 0.2,
    memory: Annotated[
        str | None, typer.Option(help="Such as 2GB. [default: a quarter of the free memory]")
    ] = None,
    threads: Threads = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="A folder to save the work in, to go on from there.")
    ] = None,
    seed: Seed = 0,
    drop: Drop = None,
    skip_bad_rows: SkipBad = False,
    scheduler: Annotated[
        str | None, typer.Option(help="Fit on the Dask cluster of this scheduler, tcp://host:8786.")
    ] = None,
    dask: Annotated[
        str | None, typer.Option(help="local:N: fit on N Dask workers of this machine.")
    ] = None,
) -> Facts:
    """Fit a model to a file or folder of rows, and write it."""
    from kitchensinks.cli import options
    from kitchensinks.cli.fit import FitOptions
    from kitchensinks.cli.fit import fit as fit_file

    return fit_file(
        FitOptions(
            data=data,
            target=target,
            out=out,
            task=task,
            basis=basis,
            effort=effort,
            components=options.components(components),
            loss=loss,
            alpha=options.number_or_auto("--alpha", alpha),
            constraint=options.constraint(constraint),
            validation=validation,
            memory=memory,
            threads=threads,
            checkpoint=checkpoint,
            seed=seed,
            drop=drop or [],
            skip_bad_rows=skip_bad_rows,
            dask=options.cluster(scheduler, dask),
        ),
        terminal,
    )


@verb("sinks predict model.sinks new.csv --id customer --out scores.csv")
def predict(
    terminal: Terminal,
    model: ModelFile,
    data: Data,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="What to write: .csv, .csv.gz or .parquet.")
    ],
    id_column: Annotated[
        str | None, typer.Option("--id", help="A column of the data to keep beside the answers.")
    ] = None,
    threads: Threads = None,
    skip_bad_rows: SkipBad = False,
) -> Facts:
    """Predict every row of a file; labels come with their probabilities."""
    from kitchensinks.cli.predict import predict as predict_file

    return predict_file(model, data, out, id_column, threads, skip_bad_rows, terminal)


@verb("sinks score model.sinks test.csv")
def score(
    terminal: Terminal,
    model: ModelFile,
    data: Data,
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", help="The column of truths, if not that of the fit."),
    ] = None,
    threads: Threads = None,
    skip_bad_rows: SkipBad = False,
) -> Facts:
    """Error and log loss of a classifier, RMSE and R² of a regressor, on a file of rows."""
    from kitchensinks.cli.predict import score as score_file

    return score_file(model, data, target, threads, skip_bad_rows, terminal)


@verb("sinks info model.sinks")
def info(terminal: Terminal, model: ModelFile) -> Facts:
    """What a model file holds, without loading its weights."""
    from kitchensinks.cli.describe import info as describe_file

    return describe_file(model, terminal)


@verb("sinks export model.sinks --onnx model.onnx")
def export(
    terminal: Terminal,
    model: ModelFile,
    onnx: Annotated[Path, typer.Option("--onnx", help="The ONNX file to write.")],
) -> Facts:
    """Write a model as ONNX, checked against the model before it is kept."""
    from kitchensinks.cli.describe import export as export_file

    return export_file(model, onnx, terminal)


@verb("sinks compare train.csv --target income --out compare.png")
def compare(
    terminal: Terminal,
    data: Data,
    target: Target,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A picture of the table: .png, .svg, .pdf.")
    ] = None,
    task: Task = "auto",
    components: Annotated[
        str, typer.Option(help="The K to try, with commas between them.")
    ] = "100,300,1000",
    rows: Annotated[int, typer.Option(help="Take a sample of at most so many rows.")] = 20_000,
    validation: Annotated[float, typer.Option(help="Share of the rows held out.")] = 0.25,
    seed: Seed = 0,
    drop: Drop = None,
    skip_bad_rows: SkipBad = False,
) -> Facts:
    """The learned law and every basis beside linear, kernel and boosted models."""
    from kitchensinks.cli.compare import CompareOptions
    from kitchensinks.cli.compare import compare as compare_models
    from kitchensinks.cli.options import whole_numbers

    asked = CompareOptions(
        data=data,
        target=target,
        out=out,
        task=task,
        components=whole_numbers("--components", components),
        rows=rows,
        validation=validation,
        seed=seed,
        drop=drop or [],
        skip_bad_rows=skip_bad_rows,
    )
    return compare_models(asked, terminal)


@verb("sinks datasets wine --out wine, then sinks fit wine/train.csv …")
def datasets(
    terminal: Terminal,
    name: Annotated[str | None, typer.Argument(help="A set to write; none lists them all.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A folder for train.csv and test.csv.")
    ] = None,
) -> Facts:
    """List the data sets known by name, or write one as CSV files."""
    from kitchensinks.cli.describe import list_datasets, write_dataset

    if name is None:
        return list_datasets(terminal)
    return write_dataset(name, out, terminal)


@verb("sinks reproduce rks-figure2 --quick")
def reproduce(
    terminal: Terminal,
    name: Annotated[
        str | None, typer.Argument(help="A table or figure of the papers; none lists them all.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All of them, one after the other.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few rows and seeds: does it run, not does it hold.")
    ] = False,
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder for the results.")] = Path(
        "results"
    ),
    page: Annotated[
        Path | None, typer.Option(help="Run nothing: write the results as a page to this file.")
    ] = None,
) -> Facts:
    """Tables and figures of the papers: the printed numbers beside ours."""
    from kitchensinks.cli.reproduce import list_studies, write_page
    from kitchensinks.cli.reproduce import reproduce as run_studies
    from kitchensinks.papers import experiments

    if page is not None:
        return write_page(out, page, terminal)
    if name is None:
        if not every:
            return list_studies(terminal)
        return run_studies(experiments.names(), quick, out, terminal)
    if every:
        raise ValueError(f"{name!r} and --all: give one of them.")
    return run_studies([name], quick, out, terminal)


@app.command(epilog="Example: sinks demo --quick --out demo")
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder for the pictures.")] = Path(
        "demo"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rows and features.")] = False,
    debug: Debug = False,
) -> None:
    """Fit every basis on small data sets: a table, and two pictures."""

    def work(terminal: Terminal) -> None:
        from kitchensinks.demo import main as show

        code = show(["--out", str(out), *(["--quick"] if quick else [])])
        if code:
            raise SystemExit(code)

    run(work, False, False, debug)
