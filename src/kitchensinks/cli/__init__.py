"""The `sinks` command: the library's own calls from a terminal."""

import io
import sys


def main() -> None:
    """The entry point."""
    for stream in (sys.stdout, sys.stderr):
        # Characters that the terminal's encoding lacks are replaced, in place of an error.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        from kitchensinks.cli.app import app
    except ImportError as error:
        text = f'Error: {error.name} is missing: pip install "kitchensinks[cli]".'
        print(text, file=sys.stderr)
        raise SystemExit(2) from None
    app(prog_name="sinks")
