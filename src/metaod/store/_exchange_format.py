"""The files of an exported store: what is in each, and the manifest that lists them.

========================================  =====================================================
``datasets.parquet``                      one row a dataset
``models.parquet``                        one row a model
``cells.parquet``                         one row a dataset, mode and model; no figure where the
                                          state is not ok
``evaluations.parquet``                   one row a dataset, mode, model and trial (if asked for)
``metafeatures-SCHEMA-VERSION.parquet``   one row a dataset, one column a feature
``manifest.json``                         format, version, and each file's rows and SHA-256
========================================  =====================================================

Rows are sorted by identity and nothing depends on when or where the files are written: the same
content gives the same bytes with the same version of pyarrow. Columns are dictionary-encoded and
compressed with zstd.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaod.errors import BadFile

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "FORMAT_VERSION",
    "MANIFEST",
    "TABLES",
    "metafeature_file",
    "read_manifest",
    "read_table",
    "schema_of",
    "write_manifest",
    "write_table",
]

FORMAT_VERSION = 1
MANIFEST = "manifest.json"
_FORMAT = "metaod-exchange"
# ten times what all models on all public datasets give; a file that promises more is refused
_MAX_ROWS = 20_000_000

_CELL_FIGURES = ("ap", "ap_std", "roc_auc", "roc_auc_std", "precision_at_n", "precision_at_n_std")

TABLES: Mapping[str, Mapping[str, str]] = {
    "datasets.parquet": {
        "fingerprint": "string",
        "name": "string",
        "collection": "string",
        "origin": "string",
        "n_rows": "int64",
        "n_columns": "int64",
        "n_outliers": "int64",
        "source": "string",
        "licence": "string",
    },
    "models.parquet": {
        "id": "string",
        "family": "string",
        "params": "string",
        "scaling": "string",
        "is_reference": "bool",
    },
    "cells.parquet": {
        "dataset": "string",
        "mode": "string",
        "model": "string",
        "n_trials": "int32",
        "state": "string",
        **dict.fromkeys((*_CELL_FIGURES, "seconds"), "double"),
        "reason": "string",
    },
    "evaluations.parquet": {
        "dataset": "string",
        "mode": "string",
        "model": "string",
        "trial": "int32",
        "seed": "int64",
        "state": "string",
        **dict.fromkeys(("ap", "roc_auc", "precision_at_n", "seconds"), "double"),
        "reason": "string",
        "engine_version": "string",
    },
}
"""Columns and types of each file, in this order."""

# figures are null where a state is not ok, and the seed of a model that is not random
_MAY_BE_NULL = {*_CELL_FIGURES, "seconds", "seed"}
_METAFEATURES = re.compile(r"metafeatures-([a-z][a-z0-9_]{0,63})-([0-9]{1,9})\.parquet")


def metafeature_file(schema: str, version: int) -> str:
    """Name of the file for one schema of meta-features.

    Examples
    --------
    >>> metafeature_file("paper", 1)
    'metafeatures-paper-1.parquet'
    """
    return f"metafeatures-{schema}-{version}.parquet"


def schema_of(file: str) -> tuple[str, int] | None:
    """The schema and version that a file's name tells; None where it is another file."""
    found = _METAFEATURES.fullmatch(file)
    return None if found is None else (found[1], int(found[2]))


def write_table(path: Path, table: "pa.Table") -> dict[str, Any]:
    """Write a table; return its entry in the manifest."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to import, and few need it

    new = path.with_name(path.name + ".new")
    pq.write_table(
        table,
        new,
        row_group_size=max(1, table.num_rows),
        compression="zstd",
        compression_level=19,
        use_dictionary=True,
        write_statistics=False,
        store_schema=False,
    )
    entry = {"rows": table.num_rows, "sha256": _sha256(new)}
    new.replace(path)
    return entry


def read_table(folder: Path, file: str, entry: Mapping[str, Any]) -> "pa.Table":
    """Read a table that the manifest lists; refuse anything but what it says."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import, and few need it
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    path = folder / file
    again = "export it again, or get another copy"
    if not path.is_file():
        raise BadFile(path, f"is missing, but {MANIFEST} lists it", remedy=again)
    if _sha256(path) != entry["sha256"]:
        raise BadFile(path, f"is not the file that {MANIFEST} lists", remedy=again)
    try:
        with pq.ParquetFile(path) as parquet:
            if parquet.metadata.num_rows != entry["rows"] or entry["rows"] > _MAX_ROWS:
                raise BadFile(
                    path, f"has {parquet.metadata.num_rows} rows, not {entry['rows']}", remedy=again
                )
            _check_columns(path, file, parquet.schema_arrow)
            table = parquet.read()
    except (pa.ArrowException, OSError) as error:
        raise BadFile(path, f"cannot be read as Parquet: {error}", remedy=again) from error
    for name in table.column_names:
        if file in TABLES and name not in _MAY_BE_NULL and table[name].null_count:
            raise BadFile(path, "has missing values", column=name, remedy=again)
    return table


def _check_columns(path: Path, file: str, found: "pa.Schema") -> None:
    columns = {field.name: str(field.type) for field in found}
    legal = TABLES.get(file)
    if legal is None:
        legal = {"dataset": "string"} | dict.fromkeys(found.names[1:], "double")
    if list(columns.items()) != list(legal.items()) or len(found.names) != len(columns):
        raise BadFile(
            path,
            f"has the columns {_listed(columns)}, not {_listed(legal)}",
            remedy="export it again with this version of metaod",
        )


def _listed(columns: Mapping[str, str]) -> str:
    items = [f"{name}: {kind}" for name, kind in columns.items()]
    return ", ".join(items[:20]) + (", ..." if len(items) > 20 else "")


def write_manifest(folder: Path, files: Mapping[str, Any], decimals: int | None) -> None:
    """Write the list of files, after them."""
    manifest = {
        "format": _FORMAT,
        "version": FORMAT_VERSION,
        "decimals": decimals,
        "files": dict(sorted(files.items())),
    }
    new = folder / f"{MANIFEST}.new"
    new.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    new.replace(folder / MANIFEST)


def read_manifest(folder: Path) -> dict[str, dict[str, Any]]:
    """Read the list of files; refuse one that is damaged or of a newer version."""
    path = folder / MANIFEST
    if not path.is_file():
        raise BadFile(
            folder, f"holds no {MANIFEST}", remedy="name a folder made with: metaod db export"
        )
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        if manifest["format"] != _FORMAT:
            raise ValueError(manifest["format"])
        version, files = int(manifest["version"]), dict(manifest["files"])
        entries = {
            str(file): {"rows": int(item["rows"]), "sha256": str(item["sha256"])}
            for file, item in files.items()
        }
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadFile(path, "is not the manifest of an export", remedy="export it again") from error
    if version != FORMAT_VERSION:
        raise BadFile(
            path,
            f"has format version {version}; this package reads version {FORMAT_VERSION}",
            remedy="upgrade metaod" if version > FORMAT_VERSION else "export it again",
        )
    for file in entries:
        if file not in TABLES and schema_of(file) is None:
            raise BadFile(path, f"lists {file!r}, which is no file of an export")
    return entries


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
