"""A testbed's datasets with their performance and meta-features, read from a store."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from metaod.errors import BadParameter, UserError
from metaod.metafeatures import schema
from metaod.models import model_space
from research.methods import REFERENCE_MODELS, Testbed
from research.testbeds.folder import Manifest, Member

if TYPE_CHECKING:
    from metaod.store import Store

_SCHEMAS = ("paper", "scores")


@dataclass(frozen=True, eq=False)
class TestbedData:
    """The input of an evaluation.

    Parameters
    ----------
    testbed : {"poc", "st"}
        The testbed.
    datasets : DataFrame
        By fingerprint, in the testbed's order: name, origin, motherset ('' if none), fold (0 if
        none), n_rows, n_columns and outlier_share.
    P : DataFrame of shape (n_datasets, n_models)
        Average precision of the models that can be picked.
    references : DataFrame
        Average precision of the reference models.
    metafeatures : dict of str to DataFrame
        The features that learning may use, by schema.
    files : dict of str to Path
        Files of the datasets that are in the testbed's folder, by fingerprint.
    space : str
        Name of the model space that P's columns are.
    duplicates : tuple of (str, str)
        Names of members with the same content as an earlier one, and the earlier one's name. They
        are counted once: a copy on the training side would reveal the answer.
    """

    __test__ = False  # pytest collects classes named Test...

    testbed: Testbed
    datasets: pd.DataFrame
    P: pd.DataFrame
    references: pd.DataFrame
    metafeatures: dict[str, pd.DataFrame]
    files: dict[str, Path]
    space: str = "paper"
    duplicates: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_store(cls, store: "Store", manifest: Manifest, folder: Path) -> "TestbedData":
        """Read the testbed's rows from a store that ``metaod build`` filled.

        Only the models of the manifest's space are read, whatever else the store holds.
        """
        if manifest.testbed == "childsets":
            raise UserError(
                "a folder of your own childsets is not a testbed",
                where=str(folder),
                remedy="make one with: python -m research testbed poc|st",
            )
        members: dict[str, Member] = {}
        duplicates: list[tuple[str, str]] = []
        for member in manifest.members:
            first = members.setdefault(member.fingerprint, member)
            if first is not member:
                duplicates.append((member.name, first.name))
        # sorted: the columns' order, which random learners depend on, is the same in every store
        space = [spec.id for spec in sorted(model_space(manifest.space))]
        stored = {model.id for model in store.models()}
        for kind, names in (("reference model", REFERENCE_MODELS), ("model", space)):
            missing = [name for name in names if name not in stored]
            if missing:
                raise UserError(
                    f"the store has no {kind} {missing[0]}",
                    where=str(folder),
                    remedy=f"build it with all detectors: {_build(folder)}",
                )
        P = _rows(store.performance_matrix(models=space), "performance", members, folder)
        references = store.performance_matrix(models=list(REFERENCE_MODELS))
        return cls(
            manifest.testbed,
            _describe(members),
            P,
            _rows(references, "reference models", members, folder),
            {name: _metafeatures(store, name, members, folder) for name in _SCHEMAS},
            {name: folder / member.file for name, member in members.items() if member.file},
            manifest.space,
            tuple(duplicates),
        )


def _describe(members: Mapping[str, Member]) -> pd.DataFrame:
    records = [
        {
            "name": member.name,
            "origin": member.origin,
            "motherset": member.motherset or "",
            "fold": member.fold or 0,
            "n_rows": member.shape[0],
            "n_columns": member.shape[1],
            "outlier_share": member.outlier_share,
        }
        for member in members.values()
    ]
    return pd.DataFrame(records, index=pd.Index(members, name="dataset"))


def _metafeatures(
    store: "Store", name: str, members: Mapping[str, Member], folder: Path
) -> pd.DataFrame:
    try:
        found = store.metafeature_matrix(name)
    except BadParameter:  # the store has none of this schema
        found = pd.DataFrame()
    rows = _rows(found, f"{name} meta-features", members, folder)
    return rows[list(schema(name).of_columns(rows.columns).learned)]


def _rows(
    frame: pd.DataFrame, what: str, members: Mapping[str, Member], folder: Path
) -> pd.DataFrame:
    """Return the members' rows, in order; a missing one is an error."""
    missing = [name for name in members if name not in frame.index]
    if missing:
        first, more = members[missing[0]], len(missing) - 1
        remedy = f"run: {_build(folder)}"
        if first.file is None:
            # the testbed's folder does not hold the catalogue's sets
            remedy = "start with: metaod db init --store STORE --shipped, "
            remedy += "or build from their folder"
        raise UserError(
            f"the store has no {what} of {first.name}" + (f" and {more} more" if more else ""),
            where=str(folder),
            remedy=remedy,
        )
    return frame.loc[list(members)]


def _build(folder: Path) -> str:
    return f"metaod build --store STORE --data {folder}"
