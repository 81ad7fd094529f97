"""`sinks explore`: a page on this machine that shows what basis, K, gamma and ridge do.

The standard library serves it, to this machine alone: the socket is bound to 127.0.0.1, and a
request whose Host is another one, or which another site's page has sent, is refused. There are
three answers: the page, which is a constant; what there is to choose from; and a fit as numbers.
No answer depends on a file other than the table that was named at the start.
"""

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np

from kitchensinks.cli.bases import LEARNED, NAMES, basis_named
from kitchensinks.cli.pipes import opened_table
from kitchensinks.cli.targets import task_of
from kitchensinks.cli.terminal import Terminal
from kitchensinks.cli.verbs import Explore
from kitchensinks.inspect.plane import Plane, view
from kitchensinks.numerics.arrays import AnyArray, Facts
from kitchensinks.papers import datasets
from kitchensinks.report.rows import framed

# Sets of two columns, by their names.
SETS = {
    "sine": datasets.make_sine,
    "strips": datasets.make_strips,
    "square": datasets.make_square,
    "checkboard": datasets.make_checkboard,
    "annulus": datasets.make_annulus,
}
TABLE = "table"
_ROWS = 1000
# K that a page may ask for, so that an answer takes seconds.
_MOST = 5000
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@cache
def page() -> bytes:
    """The page: a constant, into which nothing is written."""
    return Path(__file__).with_suffix(".html").read_bytes()


@dataclass(frozen=True)
class OwnTable:
    """Columns of numbers of one's own table, by their names, and the target."""

    columns: dict[str, AnyArray]
    targets: AnyArray
    classes: bool

    @classmethod
    def read(cls, options: Explore) -> "OwnTable | None":
        """The table that the command names, if any."""
        if options.data is None:
            return None
        if options.target is None:
            raise ValueError("--target is missing: name the column of the table to predict.")
        with opened_table(options.data, options.skip_bad_rows) as table:
            names = [name for name in table.names if name != options.target]
            frame, targets = framed(table, options.target, names)
        task = task_of(targets, options.task, options.target)
        numbers = frame.select_dtypes("number")
        # Whole numbers that differ in every row may only name the rows: they are offered last.
        last = {name: one.dtype.kind == "i" and one.is_unique for name, one in numbers.items()}
        order = sorted(numbers, key=last.__getitem__)
        columns = {str(name): numbers[name].to_numpy(np.float64) for name in order}
        if len(columns) < 2:
            raise ValueError(
                f"{options.data} has {len(columns)} columns of numbers beside the target: the "
                "page needs two. Leave out --target and the file for the built-in sets."
            )
        return cls(columns, targets, task == "classification")

    def plane(self, first: str, second: str) -> Plane:
        """Rows in which both columns are known."""
        for name in (first, second):
            if name not in self.columns:
                raise ValueError(f"Column {name!r}: need one of {', '.join(self.columns)}.")
        rows = np.column_stack([self.columns[first], self.columns[second]])
        known = np.isfinite(rows).all(axis=1)
        if known.sum() < 40:
            raise ValueError(f"{first!r} and {second!r} are both known in fewer than 40 rows.")
        return Plane(rows[known], self.targets[known], (first, second), self.classes)


@dataclass
class Explorer:
    """What the page asks for: the choices, and a fit at a time."""

    table: OwnTable | None = None
    lock: Lock = field(default_factory=Lock)

    def choices(self) -> Facts:
        own = self.table
        return {
            "sets": [*([TABLE] if own else []), *SETS],
            "bases": [*NAMES[1:], LEARNED],
            "columns": list(own.columns) if own else [],
        }

    def fit(self, asked: Mapping[str, str]) -> Facts:
        """A fit with the parameters of a query, all of which are checked."""
        name = asked.get("basis", "fourier")
        if name not in NAMES:
            raise ValueError(f"basis={name!r}: need one of {', '.join(NAMES)}.")
        basis = basis_named(name, "quick")
        count: int | None = None
        alpha: float | str = "auto"
        if name != LEARNED:
            if "gamma" in basis.get_params() and asked.get("gamma", "median") != "median":
                basis.set_params(gamma=_number(asked, "gamma", 1e-9, 1e9))
            count = int(_number(asked, "components", 1, _MOST, "300"))
            if asked.get("alpha", "auto") != "auto":
                alpha = _number(asked, "alpha", 0.0, 1e9)
        seed = int(_number(asked, "seed", 0, 2**31, "0"))
        at = None
        if "x" in asked:
            at = (_number(asked, "x", -1e30, 1e30), _number(asked, "y", -1e30, 1e30))
        with self.lock:
            return view(self._plane(asked), basis, count, alpha, seed, at)

    def _plane(self, asked: Mapping[str, str]) -> Plane:
        name = asked.get("set", "sine")
        if name == TABLE and self.table is not None:
            return self.table.plane(asked.get("first", ""), asked.get("second", ""))
        if name not in SETS:
            raise ValueError(f"set={name!r}: need one of {', '.join(SETS)}.")
        rows, targets = SETS[name](_ROWS, random_state=0)
        return Plane(rows, targets, ("first", "second"), True)


def _number(asked: Mapping[str, str], name: str, low: float, high: float, given: str = "") -> float:
    text = asked.get(name, given)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise ValueError(f"{name}={text!r}: need a number from {low:g} to {high:g}.")
    return value


def server(explorer: Explorer, port: int = 0) -> ThreadingHTTPServer:
    """A server on 127.0.0.1; port 0 takes a free one."""

    class Handler(BaseHTTPRequestHandler):
        server_version, sys_version = "sinks", ""

        def do_GET(self) -> None:
            here = self.connection.getsockname()[1]
            other_site = self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin")
            if self.headers.get("Host") not in (f"127.0.0.1:{here}", f"localhost:{here}"):
                self._json(403, {"error": "This page is for this machine alone."})
            elif other_site:
                self._json(403, {"error": "Another site's page may not ask."})
            else:
                self._answer()

        def _answer(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/":
                self._send(200, "text/html; charset=utf-8", page())
            elif parts.path == "/choices":
                self._json(200, explorer.choices())
            elif parts.path == "/fit":
                try:
                    asked = dict(parse_qsl(parts.query, keep_blank_values=True, max_num_fields=20))
                    self._json(200, explorer.fit(asked))
                except ValueError as error:
                    self._json(400, {"error": str(error)})
                except Exception as error:
                    self._json(500, {"error": f"{type(error).__name__}: {error}"})
            else:
                self._json(404, {"error": "There is no such page."})

        def _json(self, status: int, facts: Facts) -> None:
            self._send(status, "application/json", json.dumps(facts, allow_nan=False).encode())

        def _send(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            for name, value in _HEADERS.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is said of single requests."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A page that is closed while it waits is no error; all else is told as usual."""
            if not isinstance(sys.exception(), ConnectionError):
                super().handle_error(request, client_address)

    return Server(("127.0.0.1", port), Handler)


def explore(options: Explore, terminal: Terminal) -> Facts:
    """Serve the page until Ctrl-C."""
    if not 0 <= options.port < 2**16:
        raise ValueError(f"--port {options.port}: need a number from 0 (any free port) to 65535.")
    explorer = Explorer(OwnTable.read(options))
    with server(explorer, options.port) as found:
        address = f"http://127.0.0.1:{found.server_address[1]}/"
        terminal.note(f"Open {address} in a browser on this machine. Ctrl-C ends it.")
        try:
            found.serve_forever()
        except KeyboardInterrupt:
            terminal.note("Ended.")
    return {"address": address}
