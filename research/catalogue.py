"""The catalogue of public benchmark sets: their addresses, shapes and fingerprints."""

import difflib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from typing import Any

import pandas as pd

from metaod.errors import BadParameter


@dataclass(frozen=True)
class Source:
    """An address from which a set can be downloaded."""

    address: str
    kind: str  # of the file: "npz", "mat", "arff", "tar.gz", …
    status: str = "untested"  # until a download from there has had the right fingerprint
    member: str | None = None  # pattern of names in an archive; the fingerprint decides among them


@dataclass(frozen=True)
class CatalogueEntry:
    """One named benchmark set.

    ``fingerprint`` is that of X and y as read, and ``sources`` are the addresses in the order in
    which they are tried. Sets with the same ``origin`` come from one source; a fair split keeps
    them on one side. ``folders`` are those in which the set's own distribution keeps its file. In a
    file of columns (ARFF, CSV, …) the first existing one of ``label_columns`` is the label, and
    ``drop_columns`` do not belong to X; files of variables (NPZ, MATLAB) hold X and y.
    """

    name: str
    collection: str
    rows: int
    columns: int
    outliers: int
    origin: str
    in_st: bool = False
    fingerprint: str | None = None
    sources: tuple[Source, ...] = ()
    homepage: str = ""
    citation: str = ""
    licence: str = "unknown"
    folders: tuple[str, ...] = ()
    label_columns: tuple[str, ...] = ("outlier", "Outlier", "y")
    drop_columns: tuple[str, ...] = ("id",)
    note: str = ""

    @property
    def short_name(self) -> str:
        """The name without its collection."""
        return self.name.rpartition("/")[2]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, columns and outliers."""
        return self.rows, self.columns, self.outliers

    @property
    def outlier_share(self) -> float:
        """The share of outliers among the rows, from 0 to 1."""
        return self.outliers / self.rows


def shape_text(rows: int, columns: int, outliers: int) -> str:
    return f"{rows} rows × {columns} columns with {outliers} outliers"


class Catalogue:
    """Benchmark sets in order; ``catalogue[name]`` finds one.

    A name is ``collection/name``, or the short name if only one collection has it. Names are
    compared without case: ODDS has a ``pima`` and DAMI a ``Pima``.
    """

    def __init__(self, entries: Iterable[CatalogueEntry]) -> None:
        self._entries = tuple(entries)
        self._by_name: dict[str, list[CatalogueEntry]] = {}
        for entry in self._entries:
            for name in (entry.name, entry.short_name):
                self._by_name.setdefault(name.casefold(), []).append(entry)

    def __iter__(self) -> Iterator[CatalogueEntry]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and len(self._by_name.get(name.casefold(), ())) == 1

    def __getitem__(self, name: str) -> CatalogueEntry:
        if not isinstance(name, str):
            raise BadParameter("the catalogue", "name", "a str", name)
        found = self._by_name.get(name.casefold(), [])
        if len(found) == 1:
            return found[0]
        if found:
            remedy = "Several sets have this name: " + " and ".join(entry.name for entry in found)
        else:
            remedy = self._suggestion(name.casefold())
        raise BadParameter("the catalogue", "name", "the name of one set", name, remedy=remedy)

    def _suggestion(self, name: str) -> str:
        close = difflib.get_close_matches(name, list(self._by_name), n=5, cutoff=0.5)
        # the same short name in another collection comes first
        keys = [name.rpartition("/")[2], *close]
        found = (entry for key in keys for entry in self._by_name.get(key, ()))
        names = list(dict.fromkeys(entry.name for entry in found))
        if names:
            return "Similar names: " + ", ".join(names[:3])
        return "List the names with: python -m research datasets list"

    def __repr__(self) -> str:
        return f"Catalogue({len(self)} sets of {', '.join(self.collections)})"

    @property
    def names(self) -> tuple[str, ...]:
        """The full names, in order."""
        return tuple(entry.name for entry in self._entries)

    @property
    def collections(self) -> tuple[str, ...]:
        """The collections, in order of first occurrence."""
        return tuple(dict.fromkeys(entry.collection for entry in self._entries))

    def filter(self, *, collection: str | None = None, in_st: bool | None = None) -> "Catalogue":
        """Keep the entries of one collection, or those in (or not in) the paper's ST testbed.

        Examples
        --------
        >>> len(catalogue().filter(in_st=True))
        42
        """
        if collection is not None and collection not in self.collections:
            raise BadParameter("Catalogue.filter", "collection", self.collections, collection)
        return Catalogue(
            entry
            for entry in self._entries
            if collection in (None, entry.collection) and in_st in (None, entry.in_st)
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the catalogue as a frame, one row per set, indexed by name."""
        columns = ("name", "collection", "rows", "columns", "outliers", "outlier_share", "origin",
                   "in_st", "licence", "homepage", "fingerprint")  # fmt: skip
        records = [{name: getattr(entry, name) for name in columns} for entry in self._entries]
        return pd.DataFrame.from_records(records, index="name")


@cache
def catalogue() -> Catalogue:
    """Return the catalogue that comes with MetaOD.

    Examples
    --------
    >>> entry = catalogue()["odds/annthyroid"]
    >>> entry.rows, entry.columns, f"{entry.outlier_share:.4%}"
    (7200, 6, '7.4167%')
    """
    file = resources.files("research").joinpath("catalogue.json")
    document = json.loads(file.read_text("utf-8"))
    # a set inherits the values of its collection
    return Catalogue(
        _parse_entry({**document["collections"][record["collection"]], **record})
        for record in document["datasets"]
    )


def _parse_entry(record: dict[str, Any]) -> CatalogueEntry:
    values = {
        item.name: record[item.name] for item in fields(CatalogueEntry) if item.name in record
    }
    name = record["name"]
    values["name"] = f"{record['collection']}/{name}"
    values["sources"] = tuple(Source(**source) for source in record.get("sources", ()))
    values["folders"] = tuple(folder.format(name=name) for folder in record.get("folders", ()))
    return CatalogueEntry(**values)
