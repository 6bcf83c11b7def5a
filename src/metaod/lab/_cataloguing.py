"""The catalogue of named public benchmark sets: where they are and how to know them again."""

import difflib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from metaod.errors import BadParameter

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Catalogue", "CatalogueEntry", "Source", "catalogue"]


@dataclass(frozen=True)
class Source:
    """An address from which a set can be downloaded.

    Parameters
    ----------
    address : str
        An http or https address.
    kind : str
        What is behind it: ``"npz"``, ``"mat"``, ``"arff"``, ``"tar.gz"``, …
    status : str
        ``"untested"`` until somebody has downloaded the set from there and its fingerprint agreed.
    member : str, optional
        In an archive: a pattern of file names. Of several that match, the fingerprint decides.
    """

    address: str
    kind: str
    status: str = "untested"
    member: str | None = None


@dataclass(frozen=True)
class CatalogueEntry:
    """One named benchmark set.

    Parameters
    ----------
    name : str
        ``collection/name``, unique in the catalogue.
    collection : str
        ``"odds"``, ``"dami"``, ``"adbench"``, ``"adbench-cv"`` or ``"adbench-nlp"``.
    rows, columns, outliers : int
        The shape, and how many rows are labelled outliers.
    origin : str
        Sets that come from one source share it; a fair split keeps them on one side.
    in_st : bool
        Whether the set belongs to the paper's ST testbed.
    fingerprint : str or None
        Of X and y as read; see :func:`~metaod.history.fingerprint`.
    sources : tuple of Source
        Addresses, in the order in which they are tried.
    homepage : str
        Where a person finds the set.
    citation : str
        What to cite when using it.
    licence : str
        The terms as far as they are known, or ``"unknown"``.
    folders : tuple of str
        Folders in which the set's own distribution keeps its file.
    label_columns : tuple of str
        In a file of columns (ARFF, CSV, …): the first of these that is there is the label. Where
        a file holds variables (NPZ, MATLAB), they are X and y.
    drop_columns : tuple of str
        Columns of such a file that are no part of X.
    note : str
        What else there is to know.
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
    def outlier_share(self) -> float:
        """The share of outliers among the rows, from 0 to 1."""
        return self.outliers / self.rows


class Catalogue:
    """Entries in their order; ``catalogue[name]`` finds one.

    A name is ``collection/name``, or the short name where only one collection has it. Upper and
    lower case are not told apart: ODDS has a ``pima`` and DAMI a ``Pima``.

    Parameters
    ----------
    entries : iterable of CatalogueEntry
        With unique names.
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
            remedy = self._suggestion(name)
        raise BadParameter("the catalogue", "name", "the name of one set", name, remedy=remedy)

    def _suggestion(self, name: str) -> str:
        name = name.casefold()
        close = difflib.get_close_matches(name, list(self._by_name), n=5, cutoff=0.5)
        # the same set of another collection comes first
        keys = [name.rpartition("/")[2], *close]
        found = (entry for key in keys for entry in self._by_name.get(key, ()))
        names = list(dict.fromkeys(entry.name for entry in found))
        if names:
            return "Names close to it: " + ", ".join(names[:3])
        return "List the names with: metaod datasets list"

    def __repr__(self) -> str:
        return f"Catalogue({len(self)} sets of {', '.join(self.collections)})"

    @property
    def names(self) -> tuple[str, ...]:
        """The full names, in order."""
        return tuple(entry.name for entry in self._entries)

    @property
    def collections(self) -> tuple[str, ...]:
        """The collections, in order of appearance."""
        return tuple(dict.fromkeys(entry.collection for entry in self._entries))

    def filter(self, *, collection: str | None = None, in_st: bool | None = None) -> "Catalogue":
        """Keep the entries of one collection, of the ST testbed, or both.

        Parameters
        ----------
        collection : str, optional
            Keep this collection alone.
        in_st : bool, optional
            Keep what is, or what is not, in the paper's ST testbed.

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

    def to_frame(self) -> "pd.DataFrame":
        """Give the catalogue as a frame, one row a set, indexed by name."""
        import pandas as pd  # noqa: PLC0415 - listing the catalogue must not need pandas

        records = [
            {
                "name": entry.name,
                "collection": entry.collection,
                "rows": entry.rows,
                "columns": entry.columns,
                "outliers": entry.outliers,
                "outlier_share": entry.outlier_share,
                "origin": entry.origin,
                "in_st": entry.in_st,
                "licence": entry.licence,
                "homepage": entry.homepage,
                "fingerprint": entry.fingerprint,
            }
            for entry in self._entries
        ]
        return pd.DataFrame.from_records(records, index="name")


@cache
def catalogue() -> Catalogue:
    """Give the catalogue that comes with MetaOD.

    Examples
    --------
    >>> entry = catalogue()["odds/annthyroid"]
    >>> entry.rows, entry.columns, f"{entry.outlier_share:.4%}"
    (7200, 6, '7.4167%')
    """
    text = resources.files("metaod.lab").joinpath("catalogue.json").read_text("utf-8")
    return parse_catalogue(json.loads(text))


def parse_catalogue(document: dict[str, Any]) -> Catalogue:
    """Make a catalogue of the parsed JSON: what a collection says holds for each of its sets."""
    collections = document["collections"]
    return Catalogue(
        _parse_entry({**collections[record["collection"]], **record})
        for record in document["datasets"]
    )


def _parse_entry(record: dict[str, Any]) -> CatalogueEntry:
    values = {
        field.name: record[field.name] for field in fields(CatalogueEntry) if field.name in record
    }
    short_name = record["name"]
    values["name"] = f"{record['collection']}/{short_name}"
    values["sources"] = tuple(Source(**source) for source in record.get("sources", ()))
    values["folders"] = tuple(
        folder.format(name=short_name) for folder in record.get("folders", ())
    )
    return CatalogueEntry(**values)
