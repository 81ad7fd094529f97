"""Learning the law of the features from the rows, between convex fits."""

from kitchensinks.law.encodings import encode
from kitchensinks.law.law import adaptable, choose
from kitchensinks.law.record import Adapt, Adaptation, Trial, check_adapt
from kitchensinks.law.task import Task

__all__ = [
    "Adapt",
    "Adaptation",
    "Task",
    "Trial",
    "adaptable",
    "check_adapt",
    "choose",
    "encode",
]
