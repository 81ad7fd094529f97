"""pyarrow, an optional dependency, imported on first use."""

from importlib import import_module
from typing import Any


class _Arrow:
    """The module pyarrow with its submodules, or an error that says how to install it."""

    def __getattr__(self, name: str) -> Any:
        try:
            pyarrow = import_module("pyarrow")
            submodule = name in ("compute", "csv", "parquet")
            found = import_module(f"pyarrow.{name}") if submodule else getattr(pyarrow, name)
        except ImportError as error:
            raise ImportError('Tables need pyarrow: pip install "kitchensinks[tables]".') from error
        # Stored, so that the next access does not call this method.
        setattr(self, name, found)
        return found


pa: Any = _Arrow()
# pyarrow has no annotations. These names say what a value is; a table may be a record batch.
ArrowArray = Any
ArrowSchema = Any
ArrowTable = Any
ArrowType = Any
