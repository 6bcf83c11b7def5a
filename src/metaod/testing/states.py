"""States of learners, taken apart and damaged on purpose."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from metaod.learners import State

__all__ = ["damaged_states", "leaves"]

Path = tuple[str, ...]

_GONE = object()


def leaves(state: State, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Everything in a state that holds no states itself, with the names that lead there.

    Examples
    --------
    >>> list(leaves({"forest": {"roots": 1}, "trees": [{"depth": 2}]}))
    [(('forest', 'roots'), 1), (('trees', '0', 'depth'), 2)]
    """
    for name, value in state.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, name))
        elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
            for place, item in enumerate(value):
                yield from leaves(item, (*path, name, str(place)))
        else:
            yield (*path, name), value


def damaged_states(state: State) -> Iterator[tuple[str, State]]:
    """Copies of a state, each damaged in one place, with what was done to it.

    Everything that has a name goes missing once and is once of another kind; arrays get a
    dimension more, become texts, or hold a NaN.

    Examples
    --------
    >>> [what for what, _ in damaged_states({"rank": 3})]
    ['rank is missing', 'rank is of another kind']
    """
    found = dict(leaves(state))
    parts = {path[:cut]: None for path in found for cut in range(1, len(path))}
    for path, value in [*found.items(), *parts.items()]:
        if path[-1].isdigit():
            # of a list of states any number may be right
            continue
        for what, changed in _damages(value):
            yield f"{'.'.join(path)} is {what}", _changed(state, path, changed)


def _damages(value: Any) -> Iterator[tuple[str, Any]]:
    yield "missing", _GONE
    yield "of another kind", {"no": "thing"}
    if isinstance(value, np.ndarray):
        yield "deeper", value[None]
        yield "texts", value.astype(str)
        if value.dtype.kind == "f" and value.size:
            holed = value.copy()
            holed.flat[0] = np.nan
            yield "holding NaN", holed


def _changed(state: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    if isinstance(state, list):
        items = list(state)
        items[int(path[0])] = _changed(items[int(path[0])], path[1:], value)
        return items
    changed = {**state, path[0]: _changed(state[path[0]], path[1:], value)}
    return {name: item for name, item in changed.items() if item is not _GONE}
