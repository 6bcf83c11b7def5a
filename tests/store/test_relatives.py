"""Relatives in a store: found, told, joined, exported and imported."""

import csv

import numpy as np
import pytest
from made_store import dataset
from sqlalchemy import update

from metaod.errors import UserError
from metaod.history import iter_folder, sketch
from metaod.store import (
    BuildOptions,
    Store,
    add_datasets,
    build,
    datasets_without_sketch,
    export_parquet,
    import_parquet,
    join_relatives,
    merge,
    record_of,
    stored_relatives,
)
from metaod.store import _schema as schema

LABELS = (np.arange(300) < 15).astype(int)


def table(number, n=300):
    X = np.random.default_rng(number).normal(size=(n, 5))
    X[LABELS[:n] == 1] += 4
    return X


def write(folder, **tables):
    folder.mkdir(exist_ok=True)
    for name, X in tables.items():
        np.savez(folder / f"{name}.npz", X=X, y=LABELS[: len(X)])
    return folder


def add(store, folder):
    return add_datasets(store, [(record_of(entry), entry) for entry in iter_folder(folder)])


@pytest.fixture
def store(tmp_path):
    data = write(tmp_path / "data", first=table(1), second=table(2), third=table(3))
    with Store(tmp_path / "a.db", create=True) as made:
        assert add(made, data) == (3, ())
        yield made


def origins(store):
    return {item.name: item.origin for item in store.datasets()}


def test_a_copy_is_told_and_gets_the_origin(store, tmp_path):
    copies = write(tmp_path / "new", again=table(2)[::-1] * 2 + 1, other=table(9))
    count, (note,) = add(store, copies)
    assert count == 2
    assert "again" in note
    assert "second" in note
    assert "it gets the same origin" in note
    assert origins(store)["again"] == "second"
    assert origins(store)["other"] == "other"
    (joined,) = store.joined_origins().values()
    assert joined.catalogue_origin == "again"
    assert "second" in joined.evidence
    assert add(store, copies) == (0, ())


def test_copies_among_new_tables(tmp_path):
    data = write(tmp_path / "data", one=table(1), two=table(1)[:200, :4])
    with Store("sqlite://", create=True) as store:
        _, notes = add(store, data)
        assert len(notes) == 1
        assert set(origins(store).values()) == {"one"}


def test_the_list_decides_on_origins(store, tmp_path):
    folder = write(tmp_path / "new", again=table(2)[::-1], same=table(3)[::-1])
    with (folder / "catalogue.csv").open("w", newline="") as file:
        lines = [("name", "origin"), ("again", "mine"), ("same", "third")]
        csv.writer(file).writerows(lines)
    _, (note,) = add(store, folder)
    assert "metaod db relatives --join" in note
    assert origins(store)["again"] == "mine"
    assert store.joined_origins() == {}


def test_a_build_tells_and_joins(store, tmp_path):
    folder = write(tmp_path / "new", again=table(2)[50:])
    told = []
    options = BuildOptions(detectors=("HBOS",), references=False)
    build(store, iter_folder(folder), options, on_plan=lambda plan: told.extend(plan.placed.notes))
    assert len(told) == 1
    assert origins(store)["again"] == "second"
    assert set(store.training_data().origins) == {"second"}


def filled(tmp_path, store):
    folder = write(tmp_path / "new", again=table(2)[::-1], part=table(2)[:150])
    for entry in iter_folder(folder):
        store.add_dataset(record_of(entry))
    return store


def test_relatives_are_joined_again_with_the_same_result(store, tmp_path):
    filled(tmp_path, store)
    pairs = {frozenset((item.one, item.other)) for item in stored_relatives(store)}
    assert pairs == {
        frozenset(pair) for pair in (("again", "second"), ("again", "part"), ("part", "second"))
    }
    for _ in range(2):
        written = join_relatives(store)
        assert {record.name for record, _ in written} == {"again", "second"}
        assert origins(store) == {
            "again": "part", "second": "part", "part": "part", "first": "first", "third": "third",
        }  # fmt: skip
        assert {item.catalogue_origin for _, item in written} == {"again", "second"}
        assert all(item.evidence for _, item in written)


def test_pairs_by_hand(store):
    join_relatives(store, [("first", "third", "the same sensor")])
    assert origins(store) == {"first": "first", "second": "second", "third": "first"}
    (joined,) = store.joined_origins().values()
    assert joined.evidence == "first and third: the same sensor"
    join_relatives(store)
    assert origins(store)["third"] == "third"
    with pytest.raises(UserError, match="no dataset is called 'fourth'"):
        join_relatives(store, [("first", "fourth", "why")])


def test_two_datasets_of_one_name(store):
    store.add_dataset(dataset(1, name="first", sketch=sketch(table(1)[:250])))
    ((pair,),) = [stored_relatives(store)]
    assert pair.one.startswith("first fp1:")
    assert len(join_relatives(store)) == 1


def test_sketches_and_joins_travel(store, tmp_path):
    join_relatives(filled(tmp_path, store))
    export_parquet(store, tmp_path / "out")
    for how in ("import", "merge"):
        with Store("sqlite://", create=True) as other:
            report = import_parquet(other, tmp_path / "out") if how == "import" else None
            report = report or merge(other, store)
            assert report.n_conflicts == 0
            assert other.joined_origins() == store.joined_origins()
            assert origins(other) == origins(store)
            theirs = {key: item.to_bytes() for key, item in other.sketches().items()}
            assert theirs == {key: item.to_bytes() for key, item in store.sketches().items()}


def test_a_joined_origin_is_no_conflict(store, tmp_path):
    export_parquet(store, tmp_path / "out")
    join_relatives(store, [("first", "third", "why")])
    assert import_parquet(store, tmp_path / "out").n_conflicts == 0
    assert origins(store)["third"] == "first"


def test_a_damaged_sketch_is_named(store):
    with store.writing() as connection:
        connection.execute(update(schema.sketches).values(sketch=b"no"))
    with pytest.raises(UserError, match=r"the sketch of fp1:.* is not a sketch of version 1"):
        store.sketches()


def test_a_store_without_sketches_gets_them(tmp_path):
    data = write(tmp_path / "data", one=table(1))
    (entry,) = iter_folder(data)
    record = record_of(entry)
    with Store("sqlite://", create=True) as store:
        store.add_dataset(dataset(0, fingerprint=record.fingerprint, name="one"))
        assert datasets_without_sketch(store) == ["one"]
        assert add_datasets(store, [(record, entry)]) == (0, ())
        assert datasets_without_sketch(store) == []


def test_relatives_that_two_builders_add_at_once(tmp_path, postgres):
    X = table(1)
    one, two = write(tmp_path / "one", one=X), write(tmp_path / "two", two=X[:250])
    options = BuildOptions(detectors=("HBOS",), trials=1, references=False, schemas=())
    url = postgres.new_url()

    def start_another(_):
        with Store(url) as other:
            build(other, iter_folder(two), options)

    with Store(url, create=True) as store:
        build(store, iter_folder(one), options, on_plan=start_another)
        # as if the second had been built first
        assert {item.name: item.origin for item in store.datasets()} == {"one": "two", "two": "two"}
        [joined] = store.joined_origins().values()
        assert joined.catalogue_origin == "one"
