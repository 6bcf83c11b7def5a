"""A testbed's datasets with their performance and meta-features, read from a store."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from metaod.database import Store, metafeature_matrix, performance_matrix
from metaod.errors import UserError
from metaod.evaluation.methods import METHODS, Testbed
from metaod.evaluation.testbeds.manifest import Manifest
from metaod.metafeatures.schema import schema

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
    """

    # pytest takes what is called Test... for tests
    __test__ = False

    testbed: Testbed
    datasets: pd.DataFrame
    P: pd.DataFrame
    references: pd.DataFrame
    metafeatures: dict[str, pd.DataFrame]
    files: dict[str, Path]

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
        members = {member.fingerprint: member for member in manifest.members}
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
        P = _rows(performance_matrix(store), datasets, folder)
        ids = [item.reference for item in METHODS if item.reference is not None]
        references = _rows(performance_matrix(store, models=ids), datasets, folder)
        metafeatures = {
            name: _rows(metafeature_matrix(store, name), datasets, folder)[
                list(schema(name).learned)
            ]
            for name in schemas
        }
        files = {
            fingerprint: folder / member.file
            for fingerprint, member in members.items()
            if member.file is not None
        }
        return cls(manifest.testbed, datasets, P, references, metafeatures, files)


def _rows(frame: pd.DataFrame, datasets: pd.DataFrame, folder: Path) -> pd.DataFrame:
    missing = [name for name in datasets.index if name not in frame.index]
    if missing:
        first, more = datasets.loc[missing[0], "name"], len(missing) - 1
        raise UserError(
            f"the store has nothing of {first}" + (f" and {more} more" if more else ""),
            where=str(folder),
            remedy=f"run: metaod build --store STORE --data {folder}",
        )
    return frame.loc[datasets.index]
