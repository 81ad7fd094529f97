"""The `sinks` application: every verb with the options that all verbs have, and the demo."""

import inspect
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kitchensinks.cli.terminal import Terminal, run
from kitchensinks.cli.verbs import VERBS

if TYPE_CHECKING:
    from kitchensinks.numerics.arrays import Facts

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


def _register(verb: type[Any]) -> None:
    """Add a class of options to the application as a command."""
    name = verb.__name__.lower()

    def command(
        *, as_json: Json = False, quiet: Quiet = False, debug: Debug = False, **own: Any
    ) -> None:
        def work(terminal: Terminal) -> "Facts":
            # Imported here, so that help is quick.
            module = import_module(f"kitchensinks.cli.{verb.module}")
            facts: Facts = getattr(module, name)(verb(**own), terminal)
            return facts

        run(work, as_json, quiet, debug)

    *shared, _ = inspect.signature(command).parameters.values()
    own = inspect.signature(verb).parameters.values()
    command.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
    app.command(name, help=verb.__doc__, epilog=f"Example: {verb.example}")(command)


for _verb in VERBS:
    _register(_verb)


@app.callback(invoke_without_command=True)
def front_door(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        import kitchensinks

        typer.echo(f"kitchensinks {kitchensinks.__version__}")
        raise typer.Exit


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

    run(work, as_json=False, quiet=False, debug=debug)
