"""Learning the law of the features from the rows, between convex fits."""

from kitchensinks.adapt.encodings import encode
from kitchensinks.adapt.law import adaptable, choose
from kitchensinks.adapt.record import Adapt, Adaptation, Trial, check_adapt
from kitchensinks.adapt.task import Task

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
