"""svmlight and libsvm text: a label, then index:value pairs, on each line."""

import io
import re
from functools import cached_property
from pathlib import Path

from kitchensinks.tables.arrow import ArrowTable, pa
from kitchensinks.tables.lines import TextTable

# Most columns of a table: wider rows belong in a sparse matrix.
_MOST_COLUMNS = 20_000
# Most bytes of a chunk times columns, which bounds the memory of the dense rows. A row has at least
# two bytes, so that this is 128 MB.
_CHUNK_ENTRIES = 2**25
# An index has at most 18 digits: a line with a longer one is bad.
_DIGITS = rb"\d{1,18}"
_LINE = re.compile(rb"\s*([^\s:,#]+(\s+qid:%b)?(\s+%b:\S+)*\s*)?(#.*)?$" % (_DIGITS, _DIGITS))
_COMMENT = re.compile(rb"#[^\r\n]*")
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
        # The text of sparse rows is much shorter than the dense rows.
        width = len(self.names) if hasattr(self, "schema") else 1
        return max(2**10, min(super()._chunk_bytes(), _CHUNK_ENTRIES // width))

    @cached_property
    def _range(self) -> tuple[int, int]:
        """The lowest index, 0 or 1, and the highest one."""
        low, high = 1, 0
        for chunk in self._chunks(*self._start):
            found = list(map(int, _INDEX.findall(_COMMENT.sub(b"", chunk.data))))
            low, high = min([low, *found]), max([high, *found])
        if high < low:
            raise ValueError(f"{self.label} has no index:value pairs: need svmlight text.")
        return int(low), int(high)

    def _parse(self, data: bytes, names: list[str]) -> ArrowTable:
        from sklearn.datasets import load_svmlight_file

        low, high = self._range
        # Only lines of this form are passed to the reader. A label alone is a row of zeros.
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
