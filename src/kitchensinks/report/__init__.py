"""Reports on fitted models: facts first, rendering after."""

from kitchensinks.report.facts import Report, report

__all__ = ["Report", "report"]
