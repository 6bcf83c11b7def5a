"""A testbed's datasets with their performance and meta-features, read from a store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from metaod.errors import BadParameter, UserError
from metaod.lab._methods import METHODS, Testbed
from metaod.lab.testbeds.manifest import Manifest, Member
from metaod.metafeatures import schema
from metaod.store import Store, metafeature_matrix, performance_matrix

__all__ = ["TestbedData"]


@dataclass(frozen=True, eq=False)
class TestbedData:
    """What an evaluation reads.

    Parameters
    ----------
    testbed : {"poc", "st"}
        Which.
    datasets : DataFrame
        By fingerprint, in the testbed's order: name, origin, motherset ('' if none), fold (0 if
        none), n_rows, n_columns and outlier_share.
    P : DataFrame of shape (n_datasets, n_models)
        Average precision of the models that can be picked.
    references : DataFrame
        Average precision of the reference models.
    metafeatures : dict of str to DataFrame
        By schema, what learning may use.
    files : dict of str to Path
        Files of the datasets that lie in the testbed's folder, by fingerprint.
    duplicates : tuple of (str, str)
        Names of members that are the same table as an earlier one, and that one's: they are
        counted once, as a copy on the training side would tell the answer.
    """

    # pytest takes what is called Test... for tests
    __test__ = False

    testbed: Testbed
    datasets: pd.DataFrame
    P: pd.DataFrame
    references: pd.DataFrame
    metafeatures: dict[str, pd.DataFrame]
    files: dict[str, Path]
    duplicates: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_store(
        cls,
        store: Store,
        manifest: Manifest,
        folder: Path,
        *,
        schemas: Sequence[str] = ("paper", "scores"),
    ) -> "TestbedData":
        """Read a testbed's rows of a store.

        Parameters
        ----------
        store : Store
            Where `metaod build` put what it computed.
        manifest : Manifest
            The testbed's.
        folder : Path
            The testbed's folder.
        schemas : sequence of str
            The meta-features to read.
        """
        if manifest.testbed == "childsets":
            raise UserError(
                "childsets of one's own are no testbed",
                where=str(folder),
                remedy="make one with: metaod testbed poc|st",
            )
        members: dict[str, Member] = {}
        duplicates: list[tuple[str, str]] = []
        for member in manifest.members:
            first = members.setdefault(member.fingerprint, member)
            if first is not member:
                duplicates.append((member.name, first.name))
        datasets = pd.DataFrame(
            {
                "name": [member.name for member in members.values()],
                "origin": [member.origin for member in members.values()],
                "motherset": [member.motherset or "" for member in members.values()],
                "fold": [member.fold or 0 for member in members.values()],
                "n_rows": [member.shape[0] for member in members.values()],
                "n_columns": [member.shape[1] for member in members.values()],
                "outlier_share": [member.outlier_share for member in members.values()],
            },
            index=pd.Index(members, name="dataset"),
        )
        known = {model.id for model in store.models()}
        asked = [name for item in METHODS for name in (item.reference, item.stand_in)]
        references = list(dict.fromkeys(name for name in asked if name is not None))
        lacking = [name for name in references if name not in known]
        if lacking:
            raise UserError(
                f"the store has no reference model {lacking[0]}",
                where=str(folder),
                remedy=f"build it with all detectors: {_build(folder)}",
            )
        P = _rows(performance_matrix(store), "performance", members, folder)
        averaged = performance_matrix(store, models=references)
        metafeatures = {}
        for name in schemas:
            found = _rows(_vectors(store, name), f"{name} meta-features", members, folder)
            metafeatures[name] = found[list(schema(name).learned)]
        files = {
            fingerprint: folder / member.file
            for fingerprint, member in members.items()
            if member.file is not None
        }
        return cls(
            manifest.testbed,
            datasets,
            P,
            _rows(averaged, "reference models", members, folder),
            metafeatures,
            files,
            tuple(duplicates),
        )


def _vectors(store: Store, name: str) -> pd.DataFrame:
    """Meta-features by this version's schema; of a store that has none of it, no rows."""
    version = schema(name).version
    try:
        return metafeature_matrix(store, name, version)
    except BadParameter:
        return pd.DataFrame()


def _rows(
    frame: pd.DataFrame, what: str, members: Mapping[str, Member], folder: Path
) -> pd.DataFrame:
    """The members' rows, in their order; one that is missing is named, with what to do."""
    missing = [name for name in members if name not in frame.index]
    if missing:
        first, more = members[missing[0]], len(missing) - 1
        build = f"run: {_build(folder)}"
        if first.file is None:
            # the testbed's folder does not hold the catalogue's sets
            build = "begin with: metaod db init --store STORE --shipped, or build from their folder"
        raise UserError(
            f"the store has no {what} of {first.name}" + (f" and {more} more" if more else ""),
            where=str(folder),
            remedy=build,
        )
    return frame.loc[list(members)]


def _build(folder: Path) -> str:
    return f"metaod build --store STORE --data {folder}"
