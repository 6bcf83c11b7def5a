import math

import pytest
from made_store import (
    ENSEMBLE,
    HBOS,
    IFOREST,
    bad,
    content,
    dataset,
    filled_store,
    fingerprint,
    new_store,
    ok,
    vector,
)

from metaod.errors import BadParameter, UserError
from metaod.models import CellState
from metaod.store import Store, merge
from metaod.store import _rows as rows
from metaod.store._schema import Cell

ONE = fingerprint(1)


def cell(spec, ap=0.5, n_trials=1, **changes):
    known = {
        "model": spec.id,
        "n_trials": n_trials,
        "state": CellState.OK,
        "ap": ap,
        "roc_auc": ap,
        "precision_at_n": ap,
        "seconds": 1.0,
        "imported": True,
    }
    if n_trials > 1:
        known |= {"ap_std": 0.1, "roc_auc_std": 0.1, "precision_at_n_std": 0.1}
    return Cell(**(known | changes))


def add_imported(store, *cells):
    with store.writing() as connection:
        key = rows.dataset_keys(connection)[ONE]
        rows.write_content(connection, key, rows.Content(cells=cells), rows.model_keys(connection))


def merged(target_trials=(), source_trials=(), target_cells=(), source_cells=(), **keywords):
    """Merge two stores that know one dataset; return the target's evaluations and the report."""
    target, source = new_store(numbers=[1]), new_store(numbers=[1])
    target.record_task(ONE, target_trials)
    source.record_task(ONE, source_trials)
    add_imported(target, *target_cells)
    add_imported(source, *source_cells)
    before = content(source)
    report = merge(target, source, **keywords)
    assert content(source) == before
    assert target.inconsistencies() == []
    once = content(target)
    merge(target, source, **keywords)
    assert content(target) == once
    return target, report


def test_times_reasons_and_versions_are_no_conflict():
    other = ok(HBOS, seconds=9.0, reason="repaired", engine_version="2.0", ap=0.5 + 1e-10)
    target, report = merged([ok(HBOS)], [other])
    assert report.n_conflicts == 0
    assert repr(target.evaluations(ONE)) == repr([ok(HBOS)])


@pytest.mark.parametrize("prefer", ["target", "source"])
@pytest.mark.parametrize("other", [ok(HBOS, ap=0.5 + 1e-8), bad(HBOS), ok(HBOS, roc_auc=0.1)])
def test_a_trial_that_came_out_otherwise_is_a_conflict(prefer, other):
    target, report = merged([ok(HBOS)], [other], prefer=prefer)
    assert report.conflict_counts == {"evaluation": 1}
    assert str(report.conflicts[0]).startswith(
        f"evaluation of {HBOS.id} on {ONE}, trial 0: ap 0.5, roc_auc 0.75, "
    )
    kept = ok(HBOS) if prefer == "target" else other
    assert repr(target.evaluations(ONE)) == repr([kept])
    assert report.replaced["evaluations"] == (prefer == "source")


def test_other_reasons_why_there_are_no_scores_are_a_conflict():
    _, report = merged([bad(HBOS)], [bad(HBOS, 0, CellState.OVER_BUDGET)])
    assert report.conflict_counts == {"evaluation": 1}


def test_datasets_with_other_descriptions_are_conflicts():
    with new_store(numbers=[1, 2]) as target, new_store() as source:
        source.add_dataset(dataset(1, origin="elsewhere", source="/a/file", licence="other"))
        source.add_dataset(dataset(2, source="/a/file", licence="other"))
        source.add_dataset(dataset(3, name="set2"))
        report = merge(target, source)
        assert report.conflict_counts == {"dataset": 1, "name": 1}
        assert {item.kind: item.where for item in report.conflicts} == {
            "dataset": ONE,
            "name": "set2",
        }
        assert [item.fingerprint[-1] for item in target.datasets()] == ["1", "2", "3"]
        assert target.datasets()[0].origin == "origin1"
        assert target.datasets()[1].licence == "CC0-1.0"


def test_a_model_that_is_a_reference_only_there():
    with new_store() as target, Store("sqlite://", create=True) as source:
        source.add_models([HBOS], is_reference=True)
        source.add_models([ENSEMBLE], is_reference=True)
        report = merge(target, source)
        assert [str(item) for item in report.conflicts] == [
            f"model of {HBOS.id}: a model to pick here, a reference there"
        ]


def test_meta_features():
    with new_store(numbers=[1, 2]) as target, new_store(numbers=[1, 2]) as source:
        target.record_task(ONE, (), [vector(1.0, math.nan)])
        source.record_task(ONE, (), [vector(1.0 + 1e-12, math.nan)])
        source.record_task(fingerprint(2), (), [vector(7.0, 8.0)])
        report = merge(target, source)
        assert (report.added["meta-features"], report.n_conflicts) == (1, 0)
        source.record_task(ONE, (), [vector(1.0, 0.0)])
        report = merge(target, source)
        assert report.conflict_counts == {"meta-features": 1}
        assert math.isnan(target.metafeatures(ONE)[0].values[1])
        assert merge(target, source, prefer="source").replaced == {"meta-features": 1}
        assert target.metafeatures(ONE)[0].values.tolist() == [1.0, 0.0]


def test_meta_features_with_other_names_are_never_mixed():
    with new_store(numbers=[1, 2]) as target, new_store(numbers=[1, 2]) as source:
        target.record_task(ONE, (), [vector(1.0, 2.0)])
        source.record_task(fingerprint(2), (), [vector(1.0, 2.0, 3.0)])
        report = merge(target, source, prefer="source")
        assert report.conflict_counts == {"meta-features": 1}
        assert target.metafeatures(fingerprint(2)) == []


# cells without their trials


def test_an_imported_cell_is_added_where_there_is_none():
    target, report = merged([ok(HBOS)], [], [], [cell(IFOREST, 0.25, 5)])
    assert report.added["cells"] == 1
    assert [(item.model, item.imported) for item in target.cells(ONE)] == [
        (HBOS.id, False),
        (IFOREST.id, True),
    ]


def test_trials_stand_before_an_aggregate_on_either_side():
    trials = [ok(IFOREST, t, 0.5, roc_auc=0.5, precision_at_n=0.5) for t in range(2)]
    aggregate = cell(IFOREST, 0.50005, 2)
    for sides in (
        {"target_trials": trials, "source_cells": [aggregate]},
        {"source_trials": trials, "target_cells": [aggregate]},
    ):
        for prefer in ("target", "source"):
            target, report = merged(**sides, prefer=prefer)
            assert report.n_conflicts == 0
            assert [item.imported for item in target.cells(ONE)] == [False]
            assert len(target.evaluations(ONE)) == 2


def test_an_aggregate_that_contradicts_the_trials_is_a_conflict():
    for sides in (
        {"target_trials": [ok(HBOS)], "source_cells": [cell(HBOS, 0.6)]},
        {"source_trials": [ok(HBOS)], "target_cells": [cell(HBOS, 0.6)]},
    ):
        for prefer in ("target", "source"):
            target, report = merged(**sides, prefer=prefer)
            assert report.conflict_counts == {"cell": 1}
            assert repr(target.evaluations(ONE)) == repr([ok(HBOS)])
            assert not target.cells(ONE)[0].imported


def test_an_aggregate_of_another_number_of_trials_need_not_agree():
    _, report = merged(target_trials=[ok(IFOREST)], source_cells=[cell(IFOREST, 0.6, 5)])
    assert report.n_conflicts == 0


@pytest.mark.parametrize("prefer", ["target", "source"])
@pytest.mark.parametrize("other", [cell(HBOS, 0.6), cell(HBOS, 0.5, 2)])
def test_two_aggregates_that_differ(prefer, other):
    target, report = merged([], [], [cell(HBOS, 0.5)], [other], prefer=prefer)
    assert report.conflict_counts == {"cell": 1}
    kept = other if prefer == "source" else cell(HBOS, 0.5)
    assert repr(target.cells(ONE)) == repr([kept])


def test_an_aggregate_stands_for_as_many_trials_as_are_wanted():
    with new_store(numbers=[1]) as store:
        add_imported(store, cell(IFOREST, 0.5, 3))
        assert store.missing([ONE], {IFOREST.id: 3}) == {}
        assert store.missing([ONE], {IFOREST.id: 2}) == {}
        assert store.missing([ONE], {IFOREST.id: 5}) == {ONE: {IFOREST.id: (0, 1, 2, 3, 4)}}
        store.record_task(ONE, [ok(IFOREST, t) for t in range(5)])
        assert [item.imported for item in store.cells(ONE)] == [False]
        assert store.inconsistencies() == []


# refusals


def test_a_store_is_not_merged_into_itself(tmp_path):
    with filled_store(tmp_path / "a.db") as one, Store(tmp_path / "a.db") as two:
        for target, source in ((one, one), (one, two)):
            with pytest.raises(UserError, match="into itself"):
                merge(target, source)
    with new_store() as one, new_store() as two:
        merge(one, two)
        with pytest.raises(BadParameter, match="'prefer'"):
            merge(one, two, prefer="newest")


def test_not_beside_a_builder(tmp_path):
    with (
        filled_store(tmp_path / "a.db") as target,
        filled_store() as source,
        target.writer_lock(),
        pytest.raises(UserError, match="is writing to this store"),
    ):
        merge(target, source)


def test_all_or_nothing(tmp_path, monkeypatch):
    with new_store(tmp_path / "a.db", [1]) as target, filled_store() as source:
        before = content(target)

        def fails(*_):
            raise ZeroDivisionError

        monkeypatch.setattr("metaod.store._merging.rows.write_content", fails)
        with pytest.raises(ZeroDivisionError):
            merge(target, source)
        assert content(target) == before
        with target.writer_lock():
            pass


def test_of_many_conflicts_the_first_are_kept_and_all_counted(monkeypatch):
    monkeypatch.setattr("metaod.store._merging._MAX_EXAMPLES", 3)
    _, report = merged(
        [ok(IFOREST, t, 0.2) for t in range(9)], [ok(IFOREST, t, 0.3) for t in range(9)]
    )
    assert (report.n_conflicts, len(report.conflicts)) == (9, 3)
