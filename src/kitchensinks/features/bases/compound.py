"""Bases that are made of several others."""

from collections.abc import Sequence

from kitchensinks.features.bases.base import Basis


class Compound(Basis):
    """A basis with a list of `bases`; `_example` is shown in errors."""

    bases: Sequence[Basis]
    _example: str

    @property
    def takes_sparse_rows(self) -> bool:  # type: ignore[override]
        return all(basis.takes_sparse_rows for basis in self.bases)

    @property
    def exportable(self) -> bool:
        return all(basis.exportable for basis in self.bases)

    def check(self) -> None:
        several = isinstance(self.bases, Sequence) and len(self.bases) > 0
        if not several or not all(isinstance(basis, Basis) for basis in self.bases):
            raise ValueError(
                f"bases={self.bases!r}: need a list of one or more bases, such as {self._example}."
            )
        for basis in self.bases:
            basis.check()

    def check_in(self, n_inputs: int) -> None:
        self.check()
        for basis in self.bases:
            basis.check_in(n_inputs)

    def unresolved(self) -> str | None:
        return next((p for basis in self.bases if (p := basis.unresolved())), None)
