"""Averages in a build: cells as any other, from members that need not be computed for the store."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from metaod.errors import BadParameter
from metaod.history import iter_folder
from metaod.models import Budget, CellState, ModelSpec, average_of, model_space
from metaod.models import _spec as averages_module
from metaod.models._spec import averages_of
from metaod.store import BuildOptions, Store, build, verify

FEW = tuple(
    map(
        ModelSpec.parse,
        [
            "HBOS(n_bins=10, alpha=0.1)",
            "CBLOF(n_clusters=8)",
            "COPOD()",
            "KNN(n_neighbors=5, method=largest)",
        ],
    )
)
FAMILIES = ("HBOS", "CBLOF", "COPOD")
OPTIONS = BuildOptions(
    space="extended", detectors=FAMILIES, averages=True, trials=2, references=False, schemas=()
)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Use a few representatives: these tests do not depend on which there are."""
    monkeypatch.setattr(averages_module, "REPRESENTATIVES", FEW)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "data").mkdir()
    for number in range(2):
        X = rng.normal(size=(60, 3))
        X[:5] += 4
        frame = pd.DataFrame(X, columns=list("abc")).assign(y=np.repeat([1, 0], [5, 55]))
        frame.to_csv(tmp_path / "data" / f"set{number}.csv", index=False)
    return tmp_path / "data"


def run(path, folder, options):
    with Store(path, create=True) as store:
        return build(store, list(iter_folder(folder)), options)


def cells(path):
    with Store(path) as store:
        return {
            (record.name, cell.model): (cell.state, cell.ap, cell.n_trials)
            for record in store.datasets()
            for cell in store.cells(record.fingerprint)
        }


def test_averages_of_the_representatives_that_are_built():
    specs = OPTIONS.specs()
    averages = [spec for spec in specs if spec.is_average]
    assert set(averages) == set(averages_of(FEW[:3]))  # kNN is not among the families
    assert set(specs) - set(averages) == set(model_space("extended", detectors=FAMILIES))
    whole = BuildOptions(space="extended", averages=True)
    # the committee beside those of two or three
    assert {spec for spec in whole.specs() if spec.is_average} == {
        *averages_of(FEW),
        average_of(*averages_module.COMMITTEE),
    }
    assert set(whole.mega_ensemble().members) == set(model_space("extended"))
    with pytest.raises(BadParameter, match="no average that may be picked"):
        BuildOptions(space="extended", detectors=("PCA", "COPOD"), averages=True).specs()


def test_averages_come_with_the_models_or_after_them(tmp_path, folder):
    run(tmp_path / "once.db", folder, OPTIONS)
    at_once = cells(tmp_path / "once.db")
    run(tmp_path / "later.db", folder, replace(OPTIONS, averages=False))
    report = run(tmp_path / "later.db", folder, OPTIONS)
    assert cells(tmp_path / "later.db") == at_once
    # only what is an average was lacking
    assert all(spec.is_average for task in report.plan.tasks for spec in task.specs)
    assert not run(tmp_path / "later.db", folder, OPTIONS).plan.tasks
    random, fixed = average_of(FEW[0], FEW[1]).id, average_of(FEW[0], FEW[2]).id
    for name in ("set0", "set1"):
        assert at_once[name, random][0] == at_once[name, fixed][0] == CellState.OK
        assert (at_once[name, random][2], at_once[name, fixed][2]) == (2, 1)


def test_averages_are_models_to_learn_from(tmp_path, folder):
    run(tmp_path / "a.db", folder, OPTIONS)
    with Store(tmp_path / "a.db") as store:
        assert not any(item.is_reference for item in store.models())
        matrix = store.performance_matrix("ap")
        found = verify(store, list(iter_folder(folder)), sample=100)
    assert {spec.id for spec in OPTIONS.specs()} == set(matrix.columns)
    assert matrix.notna().all(axis=None)
    assert not found.differences


def test_what_a_member_lacks_its_averages_lack(tmp_path, folder):
    options = replace(OPTIONS, budget=Budget(seconds=0.0))
    run(tmp_path / "a.db", folder, options)
    found = cells(tmp_path / "a.db")
    states = {model: state for (_, model), (state, _, _) in found.items()}
    over = {model for model, state in states.items() if state == CellState.OVER_BUDGET}
    assert over & {member.id for member in FEW[:3]}
    for average in averages_of(FEW[:3]):
        lost = any(member.id in over for member in FEW[:3] if member.id in average.id)
        assert (states[average.id] != CellState.OK) == lost
    retried = replace(OPTIONS, retry=("over budget",))
    run(tmp_path / "a.db", folder, retried)
    run(tmp_path / "b.db", folder, OPTIONS)
    assert cells(tmp_path / "a.db") == cells(tmp_path / "b.db")
