"""The store: what was evaluated, on which datasets, by which models."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, Engine, select

from metaod.errors import BadParameter, UserError
from metaod.history import Evaluation
from metaod.models import ModelSpec
from metaod.store import _rows as rows
from metaod.store import _schema as schema
from metaod.store._locking import file_lock, give_row_back, take_row
from metaod.store._migrations import migrate, refuse_version
from metaod.store._opening import (
    check_file,
    check_tables,
    create_file,
    is_there,
    make_tables,
    not_a_store,
    read_version,
)
from metaod.store._place import Place
from metaod.store._records import Cell, DatasetRecord, MetaFeatureRecord, ModelRecord

__all__ = ["Store"]


class Store:
    """Datasets, models, evaluations, their cells, and meta-features, in a database.

    A dataset is known by its fingerprint and a model by its id, so that nothing is computed
    twice and two stores can be merged. Everything that is written is written in transactions: a
    process that is killed at any moment leaves all its finished ones, and nothing else.

    Parameters
    ----------
    url_or_path : str or path-like
        A file's path, which SQLite will serve, or any URL that SQLAlchemy knows.
        ``"sqlite://"`` is a store in memory.
    create : bool, default=False
        Whether to make a new store where there is none.
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

    def __init__(
        self,
        url_or_path: str | PathLike[str],
        *,
        create: bool = False,
        read_only: bool = False,
        timeout: float = 30.0,
    ) -> None:
        if create and read_only:
            raise BadParameter("Store", "create", "False where read_only is True", create)
        self.place = Place.locate(url_or_path)
        self.read_only = read_only
        if self.place.path is not None:
            if create and not is_there(self.place.path):
                create_file(self.place.path, timeout)
            check_file(self.place.path, read_only=read_only)
        self._engine = self.place.engine(read_only=read_only, timeout=timeout)
        try:
            self._open(create=create)
        except BaseException:
            self.close()
            raise

    def _open(self, *, create: bool) -> None:
        with self.reading() as connection:
            version = read_version(connection, str(self))
        if version is None:
            # a file has its tables from the beginning
            if not create or self.place.path is not None:
                raise not_a_store(str(self), "it lacks the table 'meta'")
            with self.writing() as connection:
                make_tables(connection)
            return
        refuse_version(version, str(self), read_only=self.read_only)
        if version < schema.SCHEMA_VERSION:
            with self.writing() as connection:
                migrate(connection, version)
        with self.reading() as connection:
            check_tables(connection, str(self))

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __str__(self) -> str:
        return str(self.place)

    def __repr__(self) -> str:
        return f"Store({str(self)!r})"

    # transactions and the lock

    @property
    def engine(self) -> Engine:
        """SQLAlchemy's engine, for queries of your own."""
        return self._engine

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that sees one moment of the store."""
        with self.place.plain_words(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that is written whole, or not at all where anything goes wrong."""
        if self.read_only:
            raise UserError(
                "the store is opened for reading only",
                where=str(self),
                remedy="open it without read_only",
            )
        with (
            self.place.plain_words(),
            self._engine.execution_options(writes=True).begin() as connection,
        ):
            yield connection

    @contextmanager
    def writer_lock(self, *, wait: float = 0.0) -> Iterator[None]:
        """Be the only builder of this store; another one gets an error that says who holds it.

        Beside a SQLite file it is the operating system's lock on ``FILE.lock``, which ends with
        the process however that ends. In any other database it is the row ``writer`` of the
        table ``meta``: a process that was killed leaves it behind, and it is taken over where
        that process ran on this machine; otherwise a person has to delete it.

        Parameters
        ----------
        wait : float, default=0
            Seconds to wait for another holder of a file's lock.
        """
        if self.place.path is not None:
            lock = self.place.path.with_name(self.place.path.name + ".lock")
            with file_lock(lock, str(self), wait=wait):
                yield
            return
        with self.writing() as connection:
            take_row(connection, str(self))
        try:
            yield
        finally:
            with self.writing() as connection:
                give_row_back(connection)

    # writing

    def add_dataset(self, record: DatasetRecord) -> bool:
        """Add a dataset; False where its fingerprint is known already, whose record stays."""
        with self.writing() as connection:
            return rows.insert_datasets(connection, [record]) == 1

    def add_models(self, specs: Iterable[ModelSpec], *, is_reference: bool = False) -> int:
        """Add the models that are not there yet; say how many were new."""
        records = [ModelRecord(spec, is_reference) for spec in specs]
        with self.writing() as connection:
            return rows.insert_models(connection, records)

    def record_task(
        self,
        dataset: str,
        evaluations: Iterable[Evaluation] = (),
        metafeatures: Iterable[MetaFeatureRecord] = (),
    ) -> None:
        """Write what a finished task gives, with the cells that follow from it, at once.

        Parameters
        ----------
        dataset : str
            The dataset's fingerprint; the dataset has been added before.
        evaluations : iterable of Evaluation
            Those of the same model, mode and trial that are there already are replaced. Their
            models have been added before.
        metafeatures : iterable of MetaFeatureRecord
            Those of the same schema and version that are there already are replaced.
        """
        evaluations, metafeatures = list(evaluations), list(metafeatures)
        if len({rows.trial_of(item) for item in evaluations}) < len(evaluations):
            raise BadParameter(
                "Store.record_task", "evaluations", "of distinct trials", f"{len(evaluations)}"
            )
        with self.writing() as connection:
            key = self._key(connection, dataset)
            models = rows.model_keys(connection)
            for item in evaluations:
                if item.model not in models:
                    raise UserError(
                        f"the model {item.model} is not in the store",
                        where=str(self),
                        remedy="add it first, with Store.add_models",
                    )
            rows.replace_evaluations(connection, key, evaluations, models)
            rows.replace_metafeatures(connection, key, metafeatures)

    def _key(self, connection: Connection, dataset: str) -> int:
        found = connection.scalar(
            select(schema.datasets.c.key).where(schema.datasets.c.fingerprint == dataset)
        )
        if found is None:
            raise UserError(
                f"the dataset {dataset} is not in the store",
                where=str(self),
                remedy="add it first, with Store.add_dataset",
            )
        return int(found)

    # reading

    def datasets(self) -> list[DatasetRecord]:
        """All datasets, by collection and name."""
        with self.reading() as connection:
            return rows.read_datasets(connection)

    def models(self) -> list[ModelRecord]:
        """All models, in the order of specs."""
        with self.reading() as connection:
            return rows.read_models(connection)

    def evaluations(self, dataset: str) -> list[Evaluation]:
        """One dataset's evaluations, by mode, model and trial."""
        with self.reading() as connection:
            return rows.read_evaluations(connection, self._key(connection, dataset))

    def cells(self, dataset: str) -> list[Cell]:
        """One dataset's cells, by mode and model."""
        with self.reading() as connection:
            return rows.read_cells(connection, self._key(connection, dataset))

    def metafeatures(self, dataset: str) -> list[MetaFeatureRecord]:
        """One dataset's meta-features, by schema and version."""
        with self.reading() as connection:
            return rows.read_metafeatures(connection, self._key(connection, dataset))
