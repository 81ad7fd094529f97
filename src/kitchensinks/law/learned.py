"""``ks.Learned``: what an estimator is given in place of a basis to have its law learned."""

import reprlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kitchensinks.features.bases import Basis
from kitchensinks.features.links import Linked
from kitchensinks.numerics.checks import check_bool, check_count, check_positive

LAWS = ("ard", "agop")


class Effort(NamedTuple):
    """Counted work of learning: no clock has a part in it, so a busy machine gets the same law.

    members : how many times the descent on held-out error is run, each time on batches of its
        own; the features are shared out among the scales that are found.
    steps, batch : of the descent of each member.
    few : rows of the first trials.
    share : factor of the sizes of trials and of the nominal seconds of the last fit.
    maps : most maps of the columns that are tried for a kernel.
    twice : whether candidates are tried again with more components even without many more rows.
    """

    members: int
    steps: int
    batch: int
    few: int
    share: float
    maps: int
    twice: bool


EFFORTS = {
    "quick": Effort(1, 8, 900, 3000, 1 / 5, maps=2, twice=False),
    "default": Effort(3, 14, 1800, 8000, 1.0, maps=4, twice=True),
    "thorough": Effort(5, 30, 2600, 16_000, 3.0, maps=4, twice=True),
}


@dataclass(eq=False, repr=False)
class Learned(Linked):
    """Learn the law of the features on held-out rows: the default of the estimators.

    Parameters
    ----------
    basis : the basis whose law is learned, such as ``ks.Fourier()``; None compares Fourier features
        and Binning, because neither is the better one on all tables.
    effort : "quick", "default" or "thorough": more members, steps, trials and components. The last
        fit may cost a fifth of the default, or three times as much; learning a tenth, or eight
        times. From "default" on more work lowers errors by little (docs/law.md).
    members : how many times the scales are learned, each time from batches of its own. Each
        component belongs to one of them at random, and one convex fit has all components. None: by
        effort (1, 3 and 5), because each one takes a descent of its own.
    law : "ard" (the default, because its errors were lower): a scale for each column by descent on
        held-out error, and directions beside them in wide tables; "agop": scales (or directions,
        see `rank`) from the average gradient outer product of a fitted function.
    steps : steps of "ard", each on a batch of its own ("agop" has a seventh as many rounds of fit
        and gradient); None: by effort (14 by default), because each one takes a factorisation.
    batch : most rows of a batch, which is about a third of the table if that is smaller, and at
        least 420; smooth kernels and wide tables take half of it. None: by effort (1800 by
        default), because the time of a step grows with the cube of it.
    seconds : nominal seconds of the last fit, at 10⁸ features a second: they limit the number of
        components, so that the last fit takes a time that grows with the table. None: by effort
        (by default 1.5, and 0.3 for each million entries, 3 in wide tables).
    time_limit : wall-clock seconds that the whole fit may take, or None, so that the result does
        not depend on the machine. Rounds that would come too late are left out, and the last fit
        has as many components as the time allows. A limit that leaves nothing out changes nothing.
    rank : for "agop": the number of learned directions that the rows are turned to (fewer where
        the others do not matter). None scales the columns.
    split : a splitter of scikit-learn, such as ``TimeSeriesSplit()``: the last of its splits says
        which rows are held out while the law is learned. None: a fifth of the rows, in runs of
        consecutive rows, because neighbours are often alike; or as `groups` and `time` say.
    groups : None, or a column by name, or by place for arrays: whole groups are held out, because
        rows to be predicted are of other groups. A splitter gets them as its `groups`.
    time : None, or a column of dates or numbers by name or place: the latest rows are held out,
        because rows to be predicted come later. With a splitter, it gets the rows in this order.
        A table whose rows are sorted by a date column is treated so by default.
    trend : True, because values outside of the fitted range follow a line where held-out rows say
        that it helps (regressions alone). False: they are always predicted as at the edge.
    exportable : False, because most models stay in Python. True chooses nothing that `ks.to_onnx`
        refuses. Free text that is no category is an error before the fit, and so is a basis without
        a form in ONNX. The bins of all rows fit into a file of 2 GB, or there are fewer grids or
        none.

    Examples
    --------
    >>> import kitchensinks as ks
    >>> ks.Learned(ks.Fourier(), effort="quick")
    Learned(basis=Fourier(), effort='quick')
    """

    basis: Basis | None = None
    effort: str = "default"
    members: int | None = None
    law: str = "ard"
    steps: int | None = None
    batch: int | None = None
    seconds: float | None = None
    time_limit: float | None = None
    rank: int | None = None
    split: Any = None
    groups: str | int | None = None
    time: str | int | None = None
    trend: bool = True
    exportable: bool = False

    def check(self) -> None:
        """Raise an error that names the parameter where one makes no sense."""
        if self.effort not in EFFORTS:
            names = ", ".join(map(repr, EFFORTS))
            raise ValueError(f"effort={self.effort!r}: need one of {names}.")
        if self.law not in LAWS:
            raise ValueError(f"law={self.law!r}: need one of {', '.join(map(repr, LAWS))}.")
        check_bool("trend", self.trend)
        check_bool("exportable", self.exportable)
        self._check_basis()
        self._check_work()
        self._check_split()

    def _check_split(self) -> None:
        # Strings have a method `split` too.
        splits = callable(getattr(self.split, "split", None)) and not isinstance(self.split, str)
        if self.split is not None and not splits:
            raise TypeError(
                f"split={self.split!r}: need a splitter of scikit-learn such as TimeSeriesSplit(), "
                "or None."
            )
        for name in ("groups", "time"):
            column = getattr(self, name)
            whole = isinstance(column, int | np.integer) and not isinstance(column, bool)
            if not (column is None or isinstance(column, str) or whole):
                how = " The group of each row is given to fit: fit(X, y, groups=...)."
                raise TypeError(
                    f"{name}={reprlib.repr(column)}: need a column of X, by its name or its "
                    f"place, or None.{how if name == 'groups' else ''}"
                )

    def _check_basis(self) -> None:
        if self.basis is None:
            return
        if not isinstance(self.basis, Basis):
            hint = (
                f" For an effort: effort={self.basis!r}."
                if isinstance(self.basis, str) and self.basis in EFFORTS
                else ""
            )
            raise TypeError(
                f"basis={self.basis!r}: need a basis such as ks.Fourier(), or None to compare "
                f"Fourier features and Binning.{hint}"
            )
        self.basis.check()
        if self.exportable and not self.basis.exportable:
            raise ValueError(
                f"exportable=True, and {self.basis!r} has no form in ONNX: use another basis, or "
                "leave exportable=False."
            )
        if self.law == "agop" and self.basis.sparse:
            raise ValueError(
                f"law='agop' takes gradients, and {self.basis!r} has none: use law='ard', or a "
                "basis without bins."
            )

    def _check_work(self) -> None:
        counts = dict.fromkeys(("members", "steps", "batch", "rank"), check_count)
        times = dict.fromkeys(("seconds", "time_limit"), check_positive)
        for name, check in (counts | times).items():
            if getattr(self, name) is not None:
                check(name, getattr(self, name))
        if self.members is not None and self.members > 1000:
            raise ValueError(
                f"members={self.members}: need 1 to 1000, because each one takes a descent. "
                "Members beyond the default of 3 lower the error only a little; raise batch for "
                "more accurate scales."
            )
        if self.steps is not None and self.steps > 1000:
            raise ValueError(
                f"steps={self.steps}: need 1 to 1000. The scales settle within about 20; raise "
                "batch for more accurate ones."
            )
        if self.batch is not None and not 16 <= self.batch <= 5000:
            raise ValueError(
                f"batch={self.batch}: need 16 to 5000 rows, because each step inverts a matrix of "
                "that size."
            )
        if self.rank is not None and self.law != "agop":
            raise ValueError(f"rank={self.rank} is for law='agop': need that, or no rank.")

    @property
    def work(self) -> Effort:
        """The work of the effort, with the numbers that were given in place of its own."""
        work = EFFORTS[self.effort]
        return work._replace(
            members=self.members or work.members,
            steps=self.steps or work.steps,
            batch=self.batch or work.batch,
        )
