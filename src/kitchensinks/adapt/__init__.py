"""Learning the law of the features from the rows, between convex fits."""

from kitchensinks.adapt.choose import adaptable, choose
from kitchensinks.adapt.frames import Frames, is_mixed, learn_table
from kitchensinks.adapt.record import Adapt, Adaptation, Trial, check_adapt
from kitchensinks.adapt.task import Task

__all__ = [
    "Adapt",
    "Adaptation",
    "Frames",
    "Task",
    "Trial",
    "adaptable",
    "check_adapt",
    "choose",
    "is_mixed",
    "learn_table",
]
