"""What remains to be evaluated, so that nothing is evaluated twice."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from sqlalchemy import Connection, select

from metaod.models import CellState, Mode
from metaod.store import _rows as rows
from metaod.store import _schema as schema
from metaod.store._store import Store

__all__ = ["missing"]

Lacking = dict[str, tuple[int, ...]]

# a few datasets at a time: all trials of a large store would fill the memory
_BATCH = 64


def missing(
    store: Store,
    datasets: Iterable[str],
    wanted: Mapping[str, int],
    mode: Mode = Mode.FAST,
    *,
    retry: Collection[CellState] = (),
) -> dict[str, Lacking]:
    """Say which trials of which models on which datasets are not in the store.

    Parameters
    ----------
    store : Store
        Where to look.
    datasets : iterable of str
        Fingerprints; a dataset that is not in the store lacks everything.
    wanted : mapping of str to int
        Number of trials by model id: 1 for a model that is not random.
    mode : Mode, default=Mode.FAST
        How faithful to PyOD's own bits the scores are.
    retry : collection of CellState, optional
        Trials that ended so count as not made.

    Returns
    -------
    dict
        Of every dataset that lacks anything, the models that lack trials, and which. An imported
        cell stands for its trials where it has as many as are wanted; else they are all lacking.

    Examples
    --------
    >>> with Store("sqlite://", create=True) as store:
    ...     missing(store, ["fp1:" + 32 * "0"], {"HBOS()": 1, "IForest()": 3})
    {'fp1:0...0': {'HBOS()': (0,), 'IForest()': (0, 1, 2)}}
    """
    plan: dict[str, Lacking] = {}
    names = list(datasets)
    states = [state.value for state in CellState if state not in retry]
    with store.reading() as connection:
        keys, models = rows.dataset_keys(connection), rows.model_keys(connection)
        by_key = {models[model]: n for model, n in wanted.items() if model in models}
        for start in range(0, len(names), _BATCH):
            batch = names[start : start + _BATCH]
            known = [keys[dataset] for dataset in batch if dataset in keys]
            finished = _finished(connection, known, by_key, mode, states)
            for dataset in batch:
                made = finished[keys[dataset]] if dataset in keys else set()
                lacking = {
                    model: tuple(t for t in range(n) if (models.get(model), t) not in made)
                    for model, n in wanted.items()
                }
                if any(lacking.values()):
                    plan[dataset] = {model: trials for model, trials in lacking.items() if trials}
    return plan


def _finished(
    connection: Connection,
    datasets: Sequence[int],
    wanted: Mapping[int, int],
    mode: Mode,
    states: Sequence[str],
) -> defaultdict[int, set[tuple[int | None, int]]]:
    """Read the trials (model, trial) that each dataset has, by keys."""
    found: defaultdict[int, set[tuple[int | None, int]]] = defaultdict(set)
    trials, cells = schema.evaluations, schema.cells
    query = select(trials.c.dataset, trials.c.model, trials.c.trial).where(
        trials.c.dataset.in_(datasets), trials.c.mode == mode.value, trials.c.state.in_(states)
    )
    for dataset, model, trial in connection.execute(query):
        found[dataset].add((model, trial))
    imported = select(cells.c.dataset, cells.c.model, cells.c.n_trials).where(
        cells.c.dataset.in_(datasets),
        cells.c.mode == mode.value,
        cells.c.state.in_(states),
        cells.c.imported,
    )
    for dataset, model, n_trials in connection.execute(imported):
        if n_trials >= wanted.get(model, 0):
            found[dataset].update((model, trial) for trial in range(n_trials))
    return found
