"""Steps that bring an older store to the present layout."""

from collections.abc import Callable
from typing import Final

from sqlalchemy import Connection, update

from metaod.errors import UserError
from metaod.store import _schema as schema

__all__ = ["MIGRATIONS", "Migration", "migrate", "refuse_version"]

Migration = Callable[[Connection], None]

MIGRATIONS: Final[dict[int, Migration]] = {}
"""The step from each older version to the next; there has been no older version yet.

A step alters tables and rows through the connection it gets. All steps run in one transaction,
which also writes the new version: an interrupted migration leaves the store as it was.
"""


def refuse_version(version: int, where: str, *, read_only: bool) -> None:
    """Refuse a store of a version that cannot be brought to the present one here."""
    if version > schema.SCHEMA_VERSION:
        raise UserError(
            f"the store has schema version {version}, newer than version "
            f"{schema.SCHEMA_VERSION} of this package",
            where=where,
            remedy="upgrade metaod",
        )
    if any(step not in MIGRATIONS for step in range(version, schema.SCHEMA_VERSION)):
        raise UserError(
            f"the store has schema version {version}, from which there is no way to version "
            f"{schema.SCHEMA_VERSION} of this package",
            where=where,
            remedy="export it with the version of metaod that made it, and import that",
        )
    if read_only and version < schema.SCHEMA_VERSION:
        raise UserError(
            f"the store has schema version {version} and must be brought to version "
            f"{schema.SCHEMA_VERSION}, but it is opened for reading only",
            where=where,
            remedy="open it once for writing, or a copy of it",
        )


def migrate(connection: Connection, version: int) -> None:
    """Run the steps from a version to the present one, inside the caller's transaction."""
    for step in range(version, schema.SCHEMA_VERSION):
        MIGRATIONS[step](connection)
    connection.execute(
        update(schema.meta)
        .where(schema.meta.c.key == "schema_version")
        .values(value=str(schema.SCHEMA_VERSION))
    )
