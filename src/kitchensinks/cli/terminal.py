"""Output of the verbs: results on the standard output, progress and notes on the error stream."""

import errno
import json
import math
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kitchensinks.cli.options import in_options

if TYPE_CHECKING:
    from kitchensinks.estimators.progress import Meter
    from kitchensinks.numerics.arrays import Facts

# Seconds between two lines of progress where the error stream is no terminal.
_LINE_EVERY = 10.0
# Errors caused by the input; all others are failures of the library or of the machine.
_BAD_INPUT = (
    ValueError,
    TypeError,
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
    ImportError,
)
# System errors caused by the name of a file.
_BAD_NAME = (errno.ENAMETOOLONG, errno.ELOOP)
BAD_INPUT, FAILURE = 2, 1


class Terminal:
    """Where a verb writes.

    `as_json`: the standard output has one JSON object and nothing else; `quiet`: no notes and no
    progress, errors alone on the error stream; `piped`: the standard output has what the verb
    writes to -, and lines of the result are notes.
    """

    def __init__(self, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.piped = False

    def leave_output(self) -> None:
        """Leave the standard output to what is written to -."""
        if self.as_json:
            raise ValueError(
                "--json and --out - both write to the standard output: leave out one of them."
            )
        self.piped = True

    def note(self, text: str) -> None:
        """One line on the error stream."""
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)

    def show(self, text: str = "") -> None:
        if self.piped:
            self.note(text)
        elif not self.as_json:
            print(text, flush=True)

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table of the result: the first column is text, the others are numbers."""
        if self.as_json:
            return
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        # Names of columns and files are text, whatever brackets they have.
        table = Table(title=Text(title, "table.title"), title_justify="left", header_style="bold")
        for number, column in enumerate(columns):
            table.add_column(column, justify="right" if number else "left", no_wrap=True)
        for row in rows:
            table.add_row(*map(Text, row))
        # Wide enough for the table where the output is no terminal, which has no width.
        console = Console() if sys.stdout.isatty() else Console(width=200)
        console.print(table)

    def result(self, facts: "Facts") -> None:
        """The facts of the verb, for machines."""
        if self.as_json:
            print(json.dumps(_plain(facts), indent=1, allow_nan=False), flush=True)

    @contextmanager
    def progress(self, title: str) -> Iterator["Meter"]:
        """A bar with the time left; lines of text where the error stream is no terminal."""
        from kitchensinks.estimators.progress import Meter, meter

        if self.quiet:
            yield Meter(title)
            return
        with meter(title, after=0.0, every=_LINE_EVERY) as found:
            yield found


def _plain(value: Any) -> Any:
    """A value as JSON has it: lists for arrays, numbers for NumPy's, None for what is not finite.

    >>> _plain({"decay": (1.5, float("inf"))})
    {'decay': [1.5, None]}
    """
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def run(
    work: Callable[[Terminal], "Facts | None"], as_json: bool, quiet: bool, debug: bool
) -> None:
    """Do the work of a verb; an error becomes one line on the error stream and an exit code."""
    terminal = Terminal(as_json, quiet)

    def tell(message: Warning | str, *_where: Any, **_line: Any) -> None:
        terminal.note(f"Note: {_one_line(message)}")

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("once")
            warnings.simplefilter("ignore", DeprecationWarning)
            # A warning is a line among the notes, when it comes.
            warnings.showwarning = tell
            facts = work(terminal)
        if facts is not None:
            terminal.result(facts)
    except KeyboardInterrupt as error:
        _stop(str(error) or "Stopped. Nothing was written.", FAILURE, debug)
    except BrokenPipeError:
        # The reader of a pipe, such as `head`, has closed it.
        sys.stderr.close()
        raise SystemExit(FAILURE) from None
    except _BAD_INPUT as error:
        _stop(f"Error: {_one_line(error)}", BAD_INPUT, debug)
    except OSError as error:
        _stop(
            f"Error: {_one_line(error)}", BAD_INPUT if error.errno in _BAD_NAME else FAILURE, debug
        )
    except Exception as error:
        text = f"Error: {type(error).__name__}: {_one_line(error)}"
        _stop(f"{text} Run again with --debug to see where.", FAILURE, debug)


def _stop(text: str, code: int, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    print(text, file=sys.stderr, flush=True)
    raise SystemExit(code)


def _one_line(error: object) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return in_options(" ".join(str(error).split()))
