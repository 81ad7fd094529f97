"""`sinks report`: what is known of a model and of a table with known targets, as one page."""

import warnings

from kitchensinks.cli.fit import oddities
from kitchensinks.cli.options import keeps_inputs, writable
from kitchensinks.cli.pipes import opened_table
from kitchensinks.cli.predict import table_model, target_name
from kitchensinks.cli.targets import comparable
from kitchensinks.cli.terminal import Terminal
from kitchensinks.cli.verbs import Report
from kitchensinks.numerics.arrays import Facts
from kitchensinks.report.rows import framed

ENDINGS = (".html", ".json")


def report(options: Report, terminal: Terminal) -> Facts:
    """Write the page, or the facts; returns them in part."""
    out = writable(options.out, ENDINGS)
    keeps_inputs(out, options.data, options.model, options.force)
    saved = table_model(options.model)
    model, name = saved.estimator, target_name(saved, options.target)
    model.set_params(n_jobs=options.threads)
    with opened_table(options.data, options.skip_bad_rows) as table:
        rows, truths = framed(table, name, model.columns_.inputs)
    terminal.note(f"{len(truths):,} of {table.n_rows:,} rows with a known {name!r} are looked at.")
    with warnings.catch_warnings(), terminal.progress("Reporting"):
        # The page tells of rows outside of the fitted range.
        warnings.simplefilter("ignore")
        found = model.report(rows, comparable(truths, model.state_.targets, name), options.compare)
    found.save(out)
    for note in oddities(table, None):
        terminal.note(note)
    scores = {one.name: one.value for one in found.score}
    told = ", ".join(f"{key} {value:.4g}" for key, value in scores.items() if value is not None)
    terminal.show(f"{out}: {told}, on {found.rows:,} rows.")
    return {
        "out": str(out),
        "bytes": out.stat().st_size,
        "rows": found.rows,
        "target": name,
        "score": scores,
    }
