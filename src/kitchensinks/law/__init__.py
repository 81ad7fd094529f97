"""The law of the features: given, or learned from the rows between convex fits."""

from kitchensinks.law.encodings import encode
from kitchensinks.law.find import components, find_law, working_dtype
from kitchensinks.law.learned import Learned
from kitchensinks.law.values import Law, Record, Request, Trial

__all__ = [
    "Law",
    "Learned",
    "Record",
    "Request",
    "Trial",
    "components",
    "encode",
    "find_law",
    "working_dtype",
]
