"""Limits of the server, which are options of ``metaod serve``."""

from dataclasses import dataclass

from metaod.options import Options, option


@dataclass(frozen=True, kw_only=True)
class Limits(Options):
    """How much a client may use."""

    max_mb: int = option(200, "Largest upload in MB.", minimum=1)
    max_rows: int = option(1_000_000, "Most rows of a table.", minimum=1)
    max_columns: int = option(2_000, "Most columns of a table.", minimum=1)
    max_minutes: float = option(30.0, "Longest time of a job.", minimum=0.01)
    max_jobs: int = option(2, "Most jobs at the same time.", minimum=1)
    max_tables: int = option(8, "Most tables at the same time, a process each.", minimum=1)
    keep_minutes: float = option(60.0, "Delete a table that is unused for so long.", minimum=0.01)
    delete_minutes: float | None = option(
        None, "Delete a table so long after its upload, used or not.", minimum=0.01
    )
    max_uploads: int = option(3, "Most uploads of one client at the same time.", minimum=1)
    memory_bytes: int = option(2**33, "Most memory of one process.", only_python=True)
    pause_seconds: float = option(30.0, "Longest pause of a client that sends.", only_python=True)
    least_rate: int = option(
        10_000, "Fewest bytes a second of an upload after the longest pause.", only_python=True
    )
