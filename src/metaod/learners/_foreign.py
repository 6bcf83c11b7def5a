"""Parts of a learner that may be anybody's: how they are copied and why they are not saved."""

from copy import deepcopy
from typing import Any

from metaod.errors import UserError
from metaod.learners._state import State

__all__ = ["fresh_copy", "own_state"]


def fresh_copy(given: Any) -> Any:
    """A copy to be fitted: the caller's own object stays as it was."""
    if hasattr(given, "get_params"):
        # late: prediction does without scikit-learn, which is slow to import
        from sklearn.base import clone  # noqa: PLC0415

        return clone(given)
    return deepcopy(given)


def own_state(part: Any, kind: type[Any], name: str, *, owner: str) -> State:
    """The state of a part that is ours; somebody else's cannot be put into a file."""
    if type(part) is not kind:
        raise UserError(
            f"{name} is a {type(part).__name__}, which cannot be saved without pickle",
            where=owner,
            remedy=f"leave {name} at its default to save the learner, or fit it where it is used",
        )
    state: State = part.state()
    return state
