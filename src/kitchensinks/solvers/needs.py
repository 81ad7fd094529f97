"""What solvers need of a problem: stated by each of them, checked here."""

from dataclasses import dataclass

from kitchensinks.problem.losses import Kinked, Loss
from kitchensinks.problem.problem import Problem


@dataclass(frozen=True)
class Needs:
    """What a solver needs of the loss, the ridge and the ball of a problem.

    smooth: True for losses with a curvature, False for losses with a kink, None for both. squared:
    the squared loss alone. ridge: α > 0. bounded: a ridge or a ball. ball: whether the solver can
    keep the weights inside a ball.

    >>> Needs("coordinate ascent", smooth=False, ridge=True, ball=False).words
    'a loss with a kink, alpha > 0 and no constraint'
    """

    solver: str
    smooth: bool | None = None
    squared: bool = False
    ridge: bool = False
    bounded: bool = False
    ball: bool = True

    @property
    def words(self) -> str:
        """All that the solver needs, in words."""
        words = {
            "a smooth loss": self.smooth is True,
            "a loss with a kink": self.smooth is False,
            "loss='squared'": self.squared,
            "alpha > 0": self.ridge,
            "alpha > 0 or a constraint": self.bounded and not self.ridge,
            "no constraint": not self.ball,
        }
        needed = [word for word, asked in words.items() if asked]
        return " and ".join([*([", ".join(needed[:-1])] if needed[1:] else []), needed[-1]])

    def missing(self, problem: Problem) -> list[str]:
        """What a problem has in place of what the solver needs; nothing where it applies."""
        loss, smooth = problem.loss, problem.loss.smooth
        kind = "is smooth (use solve_smooth)" if smooth else "has a kink (use solve_nonsmooth)"
        facts = {
            f"loss={loss.name!r} {kind}": self.smooth not in (None, smooth),
            f"loss={loss.name!r} is not squared": self.squared and not loss.squared,
            f"alpha={problem.alpha!r}": self.ridge and problem.alpha <= 0.0,
            "neither a ridge nor a constraint is given": self.bounded and not problem.bounded,
            f"constraint={problem.constraint!r}": not self.ball and problem.constraint is not None,
        }
        return [fact for fact, lacking in facts.items() if lacking]

    def check(self, problem: Problem) -> None:
        """Raise where the problem is not one for this solver."""
        missing = self.missing(problem)
        if missing:
            raise ValueError(f"{self.solver} needs {self.words}, but {' and '.join(missing)}.")


def kinked(loss: Loss) -> Kinked:
    """A loss that `Needs(smooth=False)` has let through, as the type that it has."""
    if not isinstance(loss, Kinked):
        raise TypeError(f"{loss!r}: a loss with smooth=False needs the slopes of a `Kinked` one.")
    return loss
