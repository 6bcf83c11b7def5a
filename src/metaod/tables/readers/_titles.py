"""Lines of a title above the header of a text or sheet."""

from collections.abc import Collection, Sequence

from metaod.tables._text_values import shorten
from metaod.tables.readers._names import has_header

_MOST_TITLES = 20
_RECORDS_TO_CHECK = 200


def count_titles(records: Sequence[Sequence[object]], missing: Collection[str]) -> int:
    """Return how many of the first records are a title.

    They have fewer fields than the first full record, or at most half as many filled cells, and
    the full record holds names.

    >>> count_titles([["Sales"], ["day", "price"], ["2024-01-02", "1.5"]], missing=[""])
    1
    """
    first = records[: _MOST_TITLES + 10]
    n_cells = [sum(map(_is_filled, record)) for record in first]
    full = max(n_cells, default=0)
    for place, record in enumerate(first[:-1]):
        lacks_first = n_cells[place] == full - 1 and not _is_filled(record[0])  # the row index
        if full >= 2 and (n_cells[place] == full or lacks_first):
            # one line of all names but one is the header, above rows with names of their own
            is_header = place == 1 and full > 2 and len(first[0]) == n_cells[0] == full - 1
            are_short = not is_header and all(
                len(above) < full or count <= max(1, full // 2)
                for above, count in zip(first[:place], n_cells, strict=False)
            )
            below = records[place + 1 : place + 1 + _RECORDS_TO_CHECK]
            if 0 < place <= _MOST_TITLES and are_short:
                return place if has_header(record, below, missing) == (True, None) else 0
            return 0
    return 0


def title_warning(titles: Sequence[Sequence[object]], n_lines: int) -> str:
    cell = next((str(cell) for record in titles for cell in record if _is_filled(cell)), "")
    lines = "the first line was" if n_lines == 1 else f"the first {n_lines} lines were"
    return (
        f"{lines} passed over as a title, {shorten(cell.strip())!r}: skip_rows=0 (--skip-rows 0) "
        "reads them"
    )


def _is_filled(cell: object) -> bool:
    return cell is not None and str(cell).strip() != ""
