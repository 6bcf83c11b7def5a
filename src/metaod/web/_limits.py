"""Limits of the server."""

from dataclasses import asdict, dataclass

MEBIBYTE = 2**20


@dataclass(frozen=True)
class Limits:
    """How much a client may use.

    Parameters
    ----------
    upload_bytes, rows, columns : int
        Of one table.
    seconds : float
        Of one job; a job that takes longer is ended.
    jobs : int
        Running at the same time.
    tables : int
        Held at the same time, each with a process of its own.
    idle_seconds : float
        After which a table that nobody asks for is deleted.
    memory_bytes : int
        Of one process.
    pause_seconds : float
        The longest pause of a client that sends a request.
    """

    upload_bytes: int = 200 * MEBIBYTE
    rows: int = 1_000_000
    columns: int = 2_000
    seconds: float = 1_800.0
    jobs: int = 2
    tables: int = 8
    idle_seconds: float = 3_600.0
    memory_bytes: int = 8 * 1024 * MEBIBYTE
    pause_seconds: float = 30.0

    def to_dict(self) -> dict[str, float]:
        """Return the limits as plain data."""
        return asdict(self)
