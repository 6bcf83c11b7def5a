"""Cells are the aggregates of their trials, in whatever order these are written."""

import math

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from made_store import HBOS, IFOREST, LOF, bad, fingerprint, new_store, ok

from metaod.models import CellState
from metaod.store import _rows as rows
from metaod.store import merge
from metaod.store._schema import Cell

SETTINGS = settings(derandomize=True, deadline=None, max_examples=15, stateful_step_count=10)
NUMBERS = (1, 2)

figures = st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 1.0])
places = st.tuples(st.sampled_from([HBOS, IFOREST, LOF]), st.integers(0, 2))


def trial_key(item):
    return (item.model, item.trial)


@st.composite
def evaluations(draw):
    chosen = draw(st.lists(places, max_size=5, unique=True))
    made = []
    for spec, trial in chosen:
        state = draw(st.sampled_from([CellState.OK] * 3 + list(CellState)))
        if state == CellState.OK:
            made.append(ok(spec, trial, draw(figures)))
        else:
            made.append(bad(spec, trial, state, draw(st.sampled_from(["", "why"]))))
    return made


class TwoStores(RuleBasedStateMachine):
    """Two stores beside dictionaries of what they should hold."""

    def __init__(self):
        super().__init__()
        self.stores = [new_store(numbers=NUMBERS), new_store(numbers=NUMBERS)]
        self.expected = [{}, {}]

    @rule(which=st.integers(0, 1), number=st.sampled_from(NUMBERS), made=evaluations())
    def record(self, which, number, made):
        self.stores[which].record_task(fingerprint(number), made)
        self.expected[which] |= {(number, *trial_key(item)): item for item in made}

    @rule(which=st.integers(0, 1), prefer=st.sampled_from(["target", "source"]))
    def merge(self, which, prefer):
        merge(self.stores[which], self.stores[1 - which], prefer=prefer)
        mine, theirs = self.expected[which], self.expected[1 - which]
        for place, item in theirs.items():
            known = mine.get(place)
            differs = known is not None and (known.state, str(known.ap)) != (
                item.state,
                str(item.ap),
            )
            if known is None or (differs and prefer == "source"):
                mine[place] = item

    @rule(which=st.integers(0, 1), number=st.sampled_from(NUMBERS), place=places, ap=figures)
    def add_imported_cell(self, which, number, place, ap):
        spec, _ = place
        numbers = dict.fromkeys(("ap", "roc_auc", "precision_at_n", "seconds"), ap)
        cell = Cell(spec.id, 1, CellState.OK, **numbers, imported=True)
        with self.stores[which].writing() as connection:
            key = rows.dataset_keys(connection)[fingerprint(number)]
            if cell.model not in {item.model for item in rows.read_cells(connection, key)}:
                models = rows.model_keys(connection)
                rows.write_content(connection, key, rows.Content(cells=[cell]), models)

    @invariant()
    def evaluations_are_as_expected(self):
        for store, expected in zip(self.stores, self.expected, strict=True):
            for number in NUMBERS:
                found = {
                    (number, *trial_key(item)): item
                    for item in store.evaluations(fingerprint(number))
                }
                wanted = {place: item for place, item in expected.items() if place[0] == number}
                assert repr(sorted(found.items())) == repr(sorted(wanted.items()))

    @invariant()
    def cells_are_what_trials_give(self):
        for store in self.stores:
            assert store.inconsistencies() == []

    @invariant()
    def the_matrix_has_figures_only_where_cells_are_ok(self):
        for store in self.stores:
            P = store.performance_matrix()
            for number in NUMBERS:
                states = {cell.model: cell.state for cell in store.cells(fingerprint(number))}
                for model in (HBOS.id, IFOREST.id, LOF.id):
                    value = P[model].get(fingerprint(number), math.nan)
                    assert math.isnan(value) == (states.get(model) != CellState.OK)

    def teardown(self):
        for store in self.stores:
            store.close()


TestTwoStores = TwoStores.TestCase
TestTwoStores.settings = SETTINGS
