"""Zip archives, judged by their directory before anything is unpacked."""

import zipfile

from metaod.errors import BadFile
from metaod.tables.readers.content import gibibytes
from metaod.tables.readers.source import Source, too_large

__all__ = ["DEFLATE_RATIO", "check_archive"]

# deflate cannot shrink below one part in 1032
DEFLATE_RATIO = 1032


def check_archive(archive: zipfile.ZipFile, source: Source, max_bytes: int) -> None:
    """Refuse an archive that is locked, claims too much, or claims what it cannot hold."""
    members = archive.infolist()
    claimed = sum(member.file_size for member in members)
    if claimed > max_bytes:
        raise too_large(source.name, f"unpacks to {gibibytes(claimed)}", max_bytes)
    for member in members:
        if member.flag_bits & 1:
            raise BadFile(source.name, "is protected by a password", remedy="save it without one")
        if member.file_size > DEFLATE_RATIO * member.compress_size + 1024:
            raise BadFile(
                source.name,
                f"promises {gibibytes(member.file_size)} in {member.filename!r}, which holds "
                f"{gibibytes(member.compress_size)}",
                remedy="it is damaged or a trap: write or download it again",
            )
