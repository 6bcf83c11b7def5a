"""Headers of MATLAB 4 files, checked by hand.

Version 4 has no magic bytes, and a damaged header sends scipy's reader in circles; so headers
are judged here before scipy sees the file.
"""

import struct
from dataclasses import dataclass
from typing import BinaryIO

__all__ = ["HEADER_BYTES", "Matlab4Header", "parse_header", "walk_headers"]

HEADER_BYTES = 20
_ITEM_BYTES = (8, 4, 4, 2, 2, 1)


@dataclass(frozen=True)
class Matlab4Header:
    """One matrix of a MATLAB 4 file, as its header describes it."""

    rows: int
    columns: int
    n_bytes: int
    name_bytes: int


def parse_header(head: bytes) -> Matlab4Header | None:
    """Return the header in the first 20 bytes, or None where they are none."""
    if len(head) < HEADER_BYTES:
        return None
    for order, machine in (("<", 0), (">", 1)):
        mopt, rows, columns, imaginary, name_bytes = struct.unpack(
            f"{order}5i", head[:HEADER_BYTES]
        )
        precision, matrix_type = mopt // 10 % 10, mopt % 10
        if (
            mopt // 1000 == machine
            and mopt // 100 % 10 == 0
            and precision < len(_ITEM_BYTES)
            and matrix_type <= 2
            and min(rows, columns) >= 0
            and imaginary in (0, 1)
            and 1 < name_bytes <= 4096
        ):
            n_bytes = rows * columns * _ITEM_BYTES[precision] * (1 + imaginary)
            return Matlab4Header(rows, columns, n_bytes, name_bytes)
    return None


def walk_headers(stream: BinaryIO, size: int) -> None:
    """Raise ValueError unless every matrix of the file lies inside it."""
    position = 0
    while position < size:
        stream.seek(position)
        header = parse_header(stream.read(HEADER_BYTES))
        if header is None:
            raise ValueError(f"no matrix header at byte {position:,}")
        position += HEADER_BYTES + header.name_bytes + header.n_bytes
        if position > size:
            raise ValueError(
                f"a matrix of {header.rows:,} × {header.columns:,} is promised, "
                f"but the file ends before it"
            )
