"""Learning the law of the features from the rows, between convex fits."""

from kitchensinks.adapt.choose import Task, adaptable, choose
from kitchensinks.adapt.record import Adapt, Adaptation, Trial, check_adapt

__all__ = ["Adapt", "Adaptation", "Task", "Trial", "adaptable", "check_adapt", "choose"]
