"""The store: reading and writing records."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, select

from metaod.errors import BadParameter, UserError
from metaod.history import Evaluation
from metaod.models import ModelSpec
from metaod.store import _rows as rows
from metaod.store import _schema as schema
from metaod.store._queries import Queries
from metaod.store._schema import Cell, DatasetRecord, MetaFeatureRecord, ModelRecord

First = Callable[[Connection], None]
"""What is done first in the transaction that records a task on a dataset."""


class Store(Queries):
    """Datasets, models, evaluations, their cells, and meta-features, in a database.

    A dataset is identified by its fingerprint and a model by its id. Everything is written in
    transactions: a process that is killed leaves its finished transactions, and nothing else.

    Parameters
    ----------
    url_or_path : str or path-like
        The path of a SQLite file, or ``"postgresql://USER@HOST/DATABASE"``. ``"sqlite://"`` is a
        store in memory.
    create : bool, default=False
        Whether to create the store if it does not exist.
    read_only : bool, default=False
        Whether to refuse to write.
    timeout : float, default=30.0
        Seconds to wait for another process's transaction.

    Examples
    --------
    >>> from metaod.models import ModelSpec
    >>> with Store("sqlite://", create=True) as store:
    ...     store.add_models([ModelSpec("HBOS", {"n_bins": 10}), ModelSpec("LODA")])
    ...     [model.id for model in store.models()]
    2
    ['HBOS(n_bins=10)', 'LODA()']
    """

    def add_dataset(self, record: DatasetRecord) -> bool:
        """Add a dataset; return False, and keep the old record, if its fingerprint is known."""
        return self.add_datasets([record]) == 1

    def add_datasets(self, records: Sequence[DatasetRecord]) -> int:
        """Add the datasets that are new; return how many."""
        return self._insert(rows.insert_datasets, records)

    def add_models(self, specs: Iterable[ModelSpec], *, is_reference: bool = False) -> int:
        """Add the models that are new; return how many."""
        records = [ModelRecord(spec, is_reference) for spec in specs]
        return self._insert(rows.insert_models, records)

    def _insert(self, insert: Callable[[Connection, Any], int], records: Sequence[Any]) -> int:
        def write() -> int:
            with self.writing() as connection:
                return insert(connection, records)

        return self.repeat(write)

    def record_task(
        self,
        dataset: str,
        evaluations: Iterable[Evaluation] = (),
        metafeatures: Iterable[MetaFeatureRecord] = (),
        *,
        first: First | None = None,
    ) -> None:
        """Write the results of a finished task, and the cells that follow, in one transaction.

        Parameters
        ----------
        dataset : str
            The fingerprint of a dataset that was added before.
        evaluations : iterable of Evaluation
            They replace those of the same model and trial. Their models were added before.
        metafeatures : iterable of MetaFeatureRecord
            They replace those of the same schema and version.
        first : callable, optional
            Called in the transaction, when the dataset is locked; an error ends the transaction.
        """
        content = rows.Content(list(evaluations), (), list(metafeatures))
        trials = {(item.model, item.trial) for item in content.evaluations}
        if len(trials) < len(content.evaluations):
            legal, found = "of distinct trials", f"{len(content.evaluations)}"
            raise BadParameter("Store.record_task", "evaluations", legal, found)

        def record() -> None:
            with self.writing(lock="shared") as connection:
                # cells are computed from all trials: another task of the dataset waits
                key = self._key(connection, dataset, lock=True)
                if first is not None:
                    first(connection)
                models = rows.model_keys(connection)
                for model, _ in sorted(trials):
                    if model not in models:
                        what = f"the model {model} is not in the store"
                        remedy = "add it first, with Store.add_models"
                        raise UserError(what, where=str(self), remedy=remedy)
                rows.write_content(connection, key, content, models)

        self.repeat(record)

    def _key(self, connection: Connection, dataset: str, *, lock: bool = False) -> int:
        table = schema.datasets
        query = select(table.c.key).where(table.c.fingerprint == dataset)
        if lock:
            query = query.with_for_update(key_share=True)
        found = connection.scalar(query)
        if found is None:
            what = f"the dataset {dataset} is not in the store"
            remedy = "add it first, with Store.add_dataset"
            raise UserError(what, where=str(self), remedy=remedy)
        return int(found)

    def datasets(self) -> list[DatasetRecord]:
        """Return all datasets, ordered by collection and name."""
        with self.reading() as connection:
            return rows.read_datasets(connection)

    def models(self) -> list[ModelRecord]:
        """Return all models, in the order of specs."""
        with self.reading() as connection:
            return rows.read_models(connection)

    def evaluations(self, dataset: str) -> list[Evaluation]:
        """Return one dataset's evaluations, ordered by model and trial."""
        with self.reading() as connection:
            return rows.read_evaluations(connection, self._key(connection, dataset))

    def cells(self, dataset: str) -> list[Cell]:
        """Return one dataset's cells, ordered by model."""
        with self.reading() as connection:
            return rows.read_cells(connection, self._key(connection, dataset))

    def metafeatures(self, dataset: str) -> list[MetaFeatureRecord]:
        """Return one dataset's meta-features, ordered by schema and version."""
        with self.reading() as connection:
            return rows.read_metafeatures(connection, self._key(connection, dataset))
