"""Requirements of solvers, declared by each of them and checked here."""

from dataclasses import dataclass

from kitchensinks.problem.losses import Clipped, Kinked, Loss
from kitchensinks.problem.problem import Problem


@dataclass(frozen=True)
class Needs:
    """What a solver requires of the loss, the ridge and the ball of a problem.

    smooth: True for losses with a curvature, False for losses with a kink, None for both. clipped:
    `Clipped` losses alone. squared: the squared loss alone. ridge: α > 0. bounded: a ridge or a
    ball. ball: whether the solver can keep the weights inside a ball.

    >>> from kitchensinks.problem.losses import Hinge
    >>> problem = Problem(None, Hinge(), None, None, 0.0, None, True)
    >>> Needs("coordinate ascent", clipped=True, ridge=True, ball=False).missing(problem)
    ['alpha > 0, but alpha=0.0']
    """

    solver: str
    smooth: bool | None = None
    clipped: bool = False
    squared: bool = False
    ridge: bool = False
    bounded: bool = False
    ball: bool = True

    def missing(self, problem: Problem) -> list[str]:
        """The unmet requirements in words; empty if the solver applies."""
        loss, smooth = problem.loss, problem.loss.smooth
        kind = "is smooth (use solve_smooth)" if smooth else "has a kink (use solve_nonsmooth)"
        rules = [
            (
                self.smooth not in (None, smooth),
                "a smooth loss" if self.smooth else "a loss with a kink",
                f"loss={loss.name!r} {kind}",
            ),
            (
                self.clipped and not loss.clipped,
                "a loss whose slope is a clipped line (hinge, quantile, squared_hinge, huber)",
                f"loss={loss.name!r}",
            ),
            (self.squared and not loss.squared, "loss='squared'", f"loss={loss.name!r}"),
            (self.ridge and problem.alpha <= 0.0, "alpha > 0", f"alpha={problem.alpha!r}"),
            (self.bounded and not problem.bounded, "alpha > 0 or a constraint", "neither is given"),
            (
                not self.ball and problem.constraint is not None,
                "no constraint",
                f"constraint={problem.constraint!r}",
            ),
        ]
        return [f"{need}, but {fact}" for lacking, need, fact in rules if lacking]

    def check(self, problem: Problem) -> None:
        """Raise an error if the problem does not meet the requirements."""
        missing = self.missing(problem)
        if missing:
            raise ValueError(f"{self.solver} needs {'; and '.join(missing)}.")


def clipped(loss: Loss) -> Clipped:
    """A loss that has passed `Needs(clipped=True)`, as a `Clipped` one."""
    assert isinstance(loss, Clipped)
    return loss


def kinked(loss: Loss) -> Kinked:
    """A loss that has passed `Needs(smooth=False)`, as a `Kinked` one."""
    if not isinstance(loss, Kinked):
        raise TypeError(f"{loss!r}: a loss with smooth=False needs the slopes of a `Kinked` one.")
    return loss
