"""Names that say a column only tells rows apart."""

import re

__all__ = ["names_identifier"]

# boundaries inside camelCase and before the last capital of an acronym: userId, IDNumber
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NOT_LETTERS = re.compile(r"[\W\d_]+")

_LAST_WORDS = frozenset({"id", "uuid", "guid", "identifier", "key", "rowid"})
_WHOLE_NAMES = frozenset(
    {"index", "idx", "row", "rownum", "rownumber", "rowindex", "unnamed"}
    | {f"id {word}" for word in ("number", "no", "num", "nr", "code")}
    | {
        f"{thing} {word}"
        for thing in ("row", "record", "line", "serial", "sequence")
        for word in ("number", "no", "num", "nr", "index", "idx")
    }
)


def names_identifier(name: str) -> bool:
    """Whether a column's name says that its values identify rows.

    Words count, not letters: ``patientId``, ``order_id`` and ``Unnamed: 0`` do, ``width``,
    ``acid`` and ``bid`` do not. ``index`` and ``row`` count only where they are the whole name,
    for a price index is a measurement.

    Examples
    --------
    >>> [name for name in ("ID", "userID", "Unnamed: 0", "bid", "idle", "price index")
    ...  if names_identifier(name)]
    ['ID', 'userID', 'Unnamed: 0']
    """
    words = [word.lower() for word in _NOT_LETTERS.split(_HUMPS.sub(" ", name)) if word]
    return bool(words) and (words[-1] in _LAST_WORDS or " ".join(words) in _WHOLE_NAMES)
