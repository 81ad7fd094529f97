"""The `sinks` command: the library's own calls from a terminal."""

import sys


def main() -> None:
    """The entry point."""
    try:
        from kitchensinks.cli.app import app
    except ImportError as error:
        text = f'Error: {error.name} is missing: pip install "kitchensinks[cli]".'
        print(text, file=sys.stderr)
        raise SystemExit(2) from None
    app(prog_name="sinks")
