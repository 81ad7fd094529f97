"""`sinks reproduce`: the papers' tables and figures."""

from collections.abc import Iterable
from pathlib import Path

from kitchensinks.cli.terminal import Terminal
from kitchensinks.cli.verbs import Reproduce
from kitchensinks.numerics.arrays import Facts
from kitchensinks.papers import datasets, experiments
from kitchensinks.papers.experiments import harness, tables
from kitchensinks.papers.experiments.study import Study
from kitchensinks.tables.disk import atomic


def reproduce(options: Reproduce, terminal: Terminal) -> Facts:
    """List the studies, run one or all of them, or write the page on their results."""
    if options.page is not None:
        return _write_page(options.out, options.page, terminal)
    if options.name is not None and options.every:
        raise ValueError(f"{options.name!r} and --all: give one of them.")
    if options.name is None and not options.every:
        return _list_studies(terminal)
    names = experiments.names() if options.name is None else [options.name]
    return _run_all([experiments.study(name) for name in names], options, terminal)


def _list_studies(terminal: Terminal) -> Facts:
    studies = [experiments.study(name) for name in experiments.names()]
    for study in studies:
        needs = f" (needs {', '.join(_files(study.needs))})" if study.needs else ""
        told = f"{study.minutes:4.0f} min  {study.source}: {study.what}{needs}"
        terminal.show(f"{study.name:20s} {told}")
    terminal.note(
        "Run one with `sinks reproduce NAME`, or all with --all; --quick takes subsamples."
    )
    keys = ("name", "source", "what", "minutes", "needs")
    return {"experiments": [{key: getattr(study, key) for key in keys} for study in studies]}


def _files(sets: Iterable[str]) -> list[str]:
    """The files of data sets, each once."""
    return list(dict.fromkeys(file for name in sets for file in datasets.source(name).files))


def _tell_files(study: Study, terminal: Terminal) -> None:
    """Say which files a study reads; an error, before it starts, where some are missing that
    scikit-learn does not download."""
    if not study.needs:
        return
    terminal.note(
        f"{study.name} needs {', '.join(_files(study.needs))} in the folder named by "
        f"{datasets.FOLDER_VARIABLE}."
    )
    here = datasets.available()
    missing = [name for name in study.needs if name not in here]
    lost = [name for name in missing if not datasets.source(name).fetched]
    if lost:
        raise FileNotFoundError(
            f"{study.name} cannot start without {', '.join(_files(lost))}. "
            + " ".join(f"To get it: {datasets.source(name).told}." for name in lost)
        )
    if missing:
        terminal.note(f"scikit-learn downloads {', '.join(missing)}, if it has a network.")


def _run_all(studies: list[Study], options: Reproduce, terminal: Terminal) -> Facts:
    """Run the studies one after the other; a study whose data are missing is skipped."""
    minutes = sum(study.minutes for study in studies if not study.licensed or len(studies) == 1)
    expected = "some seconds each" if options.quick else f"about {minutes:.0f} min in all"
    count = f"{len(studies)} experiment{'s' if len(studies) > 1 else ''}"
    terminal.note(f"{count}, {expected} on one thread. Ctrl-C stops; the same command resumes.")
    written, missing = [], []
    for study in studies:
        try:
            _tell_files(study, terminal)
            facts = _run(study, options.quick, options.out, terminal)
        except FileNotFoundError as error:
            if len(studies) == 1:
                raise
            terminal.note(f"{study.name} was not run: {error}")
            if not study.licensed:
                missing.append(study.name)
            continue
        folder = harness.folder_of(study.name, options.out, options.quick)
        written.append({"name": study.name, "folder": str(folder), "claims": facts["claims"]})
        few = " (a quick run on few rows: not conclusive)" if options.quick else ""
        terminal.show(f"{study.name}: {study.source}{few}")
        for claim in facts["claims"]:
            terminal.show(f"  {claim['verdict']:14s} {claim['claim']}")
        terminal.show(f"  {folder}/table.md")
    if missing:
        raise FileNotFoundError(f"not run, because their data are missing: {', '.join(missing)}.")
    return {"quick": options.quick, "written": written}


def _run(study: Study, quick: bool, out: Path, terminal: Terminal) -> Facts:
    at = 0
    with terminal.progress(study.name) as meter:

        def told(done: int, total: int, cell: Facts) -> None:
            nonlocal at
            at = done
            meter.phase(", ".join(f"{key} {value}" for key, value in cell.items()))
            meter.seen(done, total)

        try:
            return harness.reproduce(study, out, quick, told)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"Stopped in cell {at + 1} of {study.name}. The same command resumes there."
            ) from None


def _write_page(out: Path, page: Path, terminal: Terminal) -> Facts:
    """Write the page on all results in the folder `out`, judged by the present rule."""
    if not out.is_dir():
        raise FileNotFoundError(f"{out} is not a folder: pass that of the results with --out.")
    for name in experiments.names():
        harness.conclude(experiments.study(name), harness.folder_of(name, out, quick=False))
    with atomic(page) as file:
        file.write_text(tables.page(out, page.parent), encoding="utf-8")
    terminal.show(f"Wrote {page}.")
    return {"page": str(page)}
