"""Rows in the order of a date: what it changes that the last of them are held out."""

from dataclasses import replace

from kitchensinks.features.bases import Basis
from kitchensinks.fitting.settings import silent
from kitchensinks.law.candidates import Candidate, first_look, in_words
from kitchensinks.law.maps import Found
from kitchensinks.law.splits import NO_ORDER
from kitchensinks.law.task import LearningRows
from kitchensinks.law.trials import first_best


def note_runs(
    task: LearningRows, jobs: list[tuple[Found, bool, Basis | None]], looks: list[Candidate]
) -> None:
    """Put into the record which candidate is first by runs of rows, and which by the last rows.

    Only where the last rows were held out without being asked for. looks: the candidates of the
    jobs by the last rows.
    """
    if not task.request.order.dated:
        return
    request = replace(task.request, order=NO_ORDER, progress=silent)
    by_runs = LearningRows.of(task.given, request, task.learned).without(task.trend)
    theirs = by_runs.together(first_look, jobs)
    for words, found in (("runs of rows", theirs), ("the last rows", looks)):
        first = found[first_best([one.score.error for one in found])]
        text = f"first by {words}: {in_words(first, first.score)}"
        task.note("split", text, len(by_runs.few.fitted), first.score.error)
