"""Tables that were scored, kept in memory with the answers about their rows."""

import secrets
from collections import OrderedDict

from metaod.detection import Detection, ReviewSession
from metaod.errors import UserError

MOST_SESSIONS = 8


class Session(ReviewSession):
    """A scored table under a name.

    Parameters
    ----------
    name : str
        What a client calls it.
    path : str
        The file, as the client named it.
    first : Detection
        The result without answers.
    id_columns : list of str
        Columns that name the rows.
    """

    def __init__(self, name: str, path: str, first: Detection, id_columns: list[str]) -> None:
        super().__init__(first)
        self.name = name
        self.path = path
        self.id_columns = id_columns


class Sessions:
    """The sessions of one server, the last used last.

    Parameters
    ----------
    most : int
        How many are kept. A further one replaces the one that was not used for the longest time
        and has no answers.
    """

    def __init__(self, most: int = MOST_SESSIONS) -> None:
        self._most = most
        self._kept: OrderedDict[str, Session] = OrderedDict()

    def make_room(self) -> None:
        """Close a session if there are too many; raise an error if all have answers."""
        while len(self._kept) >= self._most:
            idle = next((name for name, own in self._kept.items() if not own.answers), None)
            if idle is None:
                what = f"there are {self._most} sessions already, and all have answers"
                raise UserError(what, remedy="close one with close_session")
            del self._kept[idle]

    def add(self, path: str, found: Detection, id_columns: list[str]) -> Session:
        """Keep a result."""
        self.make_room()
        name = f"s-{secrets.token_hex(4)}"
        self._kept[name] = Session(name, path, found, id_columns)
        return self._kept[name]

    def __getitem__(self, name: str) -> Session:
        if name not in self._kept:
            what = "there is no such session, or it was closed"
            raise UserError(what, where=repr(name), remedy="begin one with detect_outliers")
        self._kept.move_to_end(name)
        return self._kept[name]

    def close(self, name: str) -> None:
        """Forget a session."""
        self[name]
        del self._kept[name]
