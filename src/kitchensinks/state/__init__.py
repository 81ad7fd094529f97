"""What a fit is asked for, and what it leaves."""

from kitchensinks.state.model import Model
from kitchensinks.state.spec import Spec, check_basis, check_loss, seed_of
from kitchensinks.state.state import Evidence, Outer, State

__all__ = ["Evidence", "Model", "Outer", "Spec", "State", "check_basis", "check_loss", "seed_of"]
