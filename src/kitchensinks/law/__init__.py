"""The law of the features: given, or learned from the rows between convex fits."""

from kitchensinks.law.encodings import encode as encode
from kitchensinks.law.find import components as components
from kitchensinks.law.find import find_law as find_law
from kitchensinks.law.find import working_dtype as working_dtype
from kitchensinks.law.learned import Learned as Learned
from kitchensinks.law.values import Law as Law
from kitchensinks.law.values import Record as Record
from kitchensinks.law.values import Request as Request
from kitchensinks.law.values import Trial as Trial
