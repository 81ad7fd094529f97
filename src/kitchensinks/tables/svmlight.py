"""svmlight and libsvm text: a label, then index:value pairs, on each line."""

import io
import re
from functools import cached_property
from pathlib import Path
from typing import Any

from kitchensinks.tables.arrow import pa
from kitchensinks.tables.lines import TextTable

# Wider rows belong in a sparse matrix, not in a table.
_MOST_COLUMNS = 20_000
# Bytes of a chunk times columns: bounds the memory of the rows with their zeros filled in. A row
# has two bytes at least, so that these are 128 MB.
_CHUNK_ENTRIES = 2**25
# Longer numbers are no indices: a line that has one is bad.
_DIGITS = rb"\d{1,18}"
_LINE = re.compile(rb"\s*([^\s:,#]+(\s+qid:%b)?(\s+%b:\S+)*\s*)?(#.*)?$" % (_DIGITS, _DIGITS))
_INDEX = re.compile(rb"\s(%b):" % _DIGITS)


class SvmlightTable(TextTable):
    """Columns "target", "1", "2", … (from "0" where an index 0 occurs); absent entries are 0."""

    def __init__(self, path: Path, skip_bad_rows: bool) -> None:
        super().__init__(path, skip_bad_rows)
        low, high = self._range
        if high - low + 1 > _MOST_COLUMNS:
            raise ValueError(
                f"{path} has indices up to {high}: more than {_MOST_COLUMNS} columns are too many "
                "for a table. Give fit the sparse matrix of sklearn.datasets.load_svmlight_file."
            )
        names = ["target", *map(str, range(low, high + 1))]
        self.schema = pa.schema([(name, pa.float64()) for name in names])

    def _chunk_bytes(self) -> int:
        # Text of sparse rows is much shorter than the rows filled in.
        width = len(self.names) if hasattr(self, "schema") else 1
        return max(2**10, min(super()._chunk_bytes(), _CHUNK_ENTRIES // width))

    @cached_property
    def _range(self) -> tuple[int, int]:
        """The lowest index, 0 or 1, and the highest one."""
        low, high = 1, 0
        for chunk in self._chunks(*self._start):
            found = list(map(int, _INDEX.findall(chunk.data)))
            low, high = min([low, *found]), max([high, *found])
        if high < low:
            raise ValueError(f"{self.label} has no index:value pairs: need svmlight text.")
        return int(low), int(high)

    def _parse(self, data: bytes, names: list[str]) -> Any:
        from sklearn.datasets import load_svmlight_file

        low, high = self._range
        # A line that is only a label is a row of zeros; the reader needs to see lines it knows.
        if not all(map(_LINE.match, data.splitlines())):
            return None
        try:
            rows, target = load_svmlight_file(
                io.BytesIO(data), n_features=high - low + 1, zero_based=low == 0
            )
        except ValueError:
            return None
        places = {name: int(name) - low for name in names if name != "target"}
        dense = rows.tocsc()[:, list(places.values())].toarray(order="F")
        columns = dict(zip(places, dense.T, strict=True)) | {"target": target}
        return pa.table([pa.array(columns[name]) for name in names], names=names)

    def _complaint(self, data: bytes) -> str:
        shown = data[:40].decode(errors="replace").strip()
        return f"{shown!r} is not a label and pairs index:value with rising indices"
