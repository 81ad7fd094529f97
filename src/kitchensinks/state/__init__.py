"""What a fit is asked for, and what it leaves."""

from kitchensinks.state.model import Model
from kitchensinks.state.outer import Evidence, Outer
from kitchensinks.state.spec import Spec, check_basis, check_loss, seed_of
from kitchensinks.state.state import State

__all__ = ["Evidence", "Model", "Outer", "Spec", "State", "check_basis", "check_loss", "seed_of"]
