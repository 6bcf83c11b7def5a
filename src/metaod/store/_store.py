"""The store: transactions, the writer's lock, and reading and writing records."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from os import PathLike
from typing import Literal, Self, TypeVar

from sqlalchemy import Connection, select

from metaod.errors import BadParameter, UserError
from metaod.history import Evaluation, Sketch
from metaod.models import ModelSpec
from metaod.store import _rows as rows
from metaod.store import _schema as schema
from metaod.store import _server as server
from metaod.store._location import (
    StoreLocation,
    check_file,
    create_file,
    file_exists,
    write_file,
)
from metaod.store._locking import file_lock, lock_row, lock_server, unlock_row
from metaod.store._records import (
    Cell,
    DatasetRecord,
    JoinedOrigin,
    MetaFeatureRecord,
    ModelRecord,
)

Result = TypeVar("Result")
First = Callable[[Connection], None]
"""What is done first in the transaction that records a task on a dataset."""


class Store:
    """Datasets, models, evaluations, their cells, and meta-features, in a database.

    A dataset is identified by its fingerprint and a model by its id. Everything is written in
    transactions: a process that is killed leaves its finished transactions, and nothing else.

    Parameters
    ----------
    url_or_path : str or path-like
        The path of a SQLite file, ``"postgresql://USER@HOST/DATABASE"``, or another URL that
        SQLAlchemy knows. ``"sqlite://"`` is a store in memory.
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
        self.location = StoreLocation.parse(url_or_path)
        self.read_only = read_only
        self._timeout = timeout
        path = self.location.path
        if path is not None:
            if create and not file_exists(path):
                create_file(path, timeout)
            check_file(path, read_only=read_only)
        self.engine = self.location.engine(read_only=read_only, timeout=timeout)
        try:
            self._open(create=create)
        except BaseException:
            self.close()
            raise

    def _open(self, *, create: bool) -> None:
        with self.reading() as connection:
            version = schema.read_version(connection, str(self))
        if version is None:
            # a file is created with its tables
            if not create or self.location.path is not None:
                raise schema.not_a_store(str(self), "it lacks the table 'meta'")
            with self.writing() as connection:
                # looked for again under the lock: another process may have made them meanwhile
                if schema.read_version(connection, str(self)) is None:
                    if self.location.is_postgresql:
                        server.check_encoding(connection, str(self))
                    schema.make_tables(connection)
        with self.reading() as connection:
            schema.check_version(schema.read_version(connection, str(self)), str(self))
            schema.check_tables(connection, str(self))

    def close(self) -> None:
        """Close the database."""
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __str__(self) -> str:
        return str(self.location)

    def __repr__(self) -> str:
        return f"Store({str(self)!r})"

    def write_file(self, path: str | PathLike[str]) -> None:
        """Write a store in memory to a new file; the file is complete or absent.

        Parameters
        ----------
        path : path-like
            The file, which must not exist.
        """
        target = StoreLocation.parse(path).path
        if target is None or not self.location.is_sqlite or self.location.path is not None:
            legal = "the path of a file, for a store in memory"
            raise BadParameter("Store.write_file", "path", legal, str(path))
        with self.reading() as connection:
            write_file(target, connection.connection.driver_connection)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that reads one consistent state of the store."""
        engine = self.engine
        if self.location.is_postgresql:
            engine = engine.execution_options(
                isolation_level="REPEATABLE READ", postgresql_readonly=True
            )
        with self.location.user_errors(), engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(
        self, *, lock: Literal["alone", "shared", "none"] = "alone"
    ) -> Iterator[Connection]:
        """Open a transaction that is written as a whole, or not at all after an error.

        Parameters
        ----------
        lock : {"alone", "shared", "none"}, default="alone"
            On PostgreSQL: whether other writing transactions wait for this one, all of them or
            only those that must be alone. Elsewhere each is alone.
        """
        if self.read_only:
            remedy = "open it without read_only"
            raise UserError("the store is opened for reading only", where=str(self), remedy=remedy)
        engine = self.engine.execution_options(writes=True)
        with self.location.user_errors(), engine.begin() as connection:
            if self.location.is_postgresql and lock != "none":
                server.lock_transaction(connection, self._timeout, shared=lock == "shared")
            yield connection

    def repeat(self, operation: Callable[[], Result]) -> Result:
        """Call an operation, again if the connection to the server is lost meanwhile.

        Parameters
        ----------
        operation : callable
            It reads or writes in transactions, and gives the same result if it is done twice.
        """
        return server.repeated(operation) if self.location.is_postgresql else operation()

    @contextmanager
    def writer_lock(self, *, wait: float = 0.0) -> Iterator[None]:
        """Hold the lock of the only writer; another one gets an error that names the holder.

        For a SQLite file it is the operating system's lock on ``FILE.lock``, on PostgreSQL an
        advisory lock: both end with the process. In any other database it is the row ``writer``
        of the table ``meta``, which a killed process leaves behind: it is taken over if that
        process ran on this machine, and must otherwise be deleted by hand.

        Parameters
        ----------
        wait : float, default=0
            Seconds to wait for another holder of a file's lock.
        """
        path = self.location.path
        if path is not None:
            with file_lock(path.with_name(path.name + ".lock"), str(self), wait=wait):
                yield
            return
        if self.location.is_postgresql:
            with self.location.user_errors(), lock_server(self.engine, str(self)):
                yield
            return
        with self.writing() as connection:
            lock_row(connection, str(self))
        try:
            yield
        finally:
            with self.writing() as connection:
                unlock_row(connection)

    def only_builder(self) -> AbstractContextManager[None]:
        """Hold the writer's lock of a file; on a server builders share the work."""
        return nullcontext() if self.location.is_postgresql else self.writer_lock()

    def add_dataset(self, record: DatasetRecord) -> bool:
        """Add a dataset; return False, and keep the old record, if its fingerprint is known.

        A sketch is also added to a known dataset that lacks one.
        """
        with self.writing() as connection:
            return rows.insert_datasets(connection, [record]) == 1

    def add_models(self, specs: Iterable[ModelSpec], *, is_reference: bool = False) -> int:
        """Add the models that are new; return how many."""
        records = [ModelRecord(spec, is_reference) for spec in specs]

        def insert() -> int:
            with self.writing() as connection:
                return rows.insert_models(connection, records)

        return self.repeat(insert)

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
            They replace those of the same model, mode and trial. Their models were added before.
        metafeatures : iterable of MetaFeatureRecord
            They replace those of the same schema and version.
        first : callable, optional
            Called in the transaction, when the dataset is locked; an error ends the transaction.
        """
        evaluations, metafeatures = list(evaluations), list(metafeatures)
        if len({rows.trial_key(item) for item in evaluations}) < len(evaluations):
            legal, found = "of distinct trials", f"{len(evaluations)}"
            raise BadParameter("Store.record_task", "evaluations", legal, found)

        def record() -> None:
            with self.writing(lock="shared") as connection:
                # cells are computed from all trials: another task of the dataset waits
                key = self._key(connection, dataset, lock=True)
                if first is not None:
                    first(connection)
                models = rows.model_keys(connection)
                for item in evaluations:
                    if item.model not in models:
                        what = f"the model {item.model} is not in the store"
                        remedy = "add it first, with Store.add_models"
                        raise UserError(what, where=str(self), remedy=remedy)
                rows.replace_evaluations(connection, key, evaluations, models)
                rows.replace_metafeatures(connection, key, metafeatures)

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

    def sketches(self) -> dict[str, Sketch]:
        """Return the sketches of all datasets that have one, by fingerprint."""
        with self.reading() as connection:
            return rows.read_sketches(connection)

    def joined_origins(self) -> dict[str, JoinedOrigin]:
        """Return the datasets whose origins were joined to another, by fingerprint."""
        with self.reading() as connection:
            return rows.read_joined_origins(connection)

    def models(self) -> list[ModelRecord]:
        """Return all models, in the order of specs."""
        with self.reading() as connection:
            return rows.read_models(connection)

    def evaluations(self, dataset: str) -> list[Evaluation]:
        """Return one dataset's evaluations, ordered by mode, model and trial."""
        with self.reading() as connection:
            return rows.read_evaluations(connection, self._key(connection, dataset))

    def cells(self, dataset: str) -> list[Cell]:
        """Return one dataset's cells, ordered by mode and model."""
        with self.reading() as connection:
            return rows.read_cells(connection, self._key(connection, dataset))

    def metafeatures(self, dataset: str) -> list[MetaFeatureRecord]:
        """Return one dataset's meta-features, ordered by schema and version."""
        with self.reading() as connection:
            return rows.read_metafeatures(connection, self._key(connection, dataset))
