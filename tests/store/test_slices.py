"""Slices: every model once, averages with their members, and the same sums however they are cut."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metaod.history import FIXED_REFERENCES, ReferenceScores, ReferenceSum, mega_ensemble
from metaod.models import (
    Budget,
    CellState,
    ModelSpec,
    Scored,
    candidate_averages,
    is_average,
    members_of,
    model_space,
)
from metaod.store._memory import expected_bytes
from metaod.store._slices import SLICE_SECONDS, Slicer


def slicer(space="paper", *, averages=False):
    models = model_space(space)
    specs = (*models, *candidate_averages(models)) if averages else models
    references = (*FIXED_REFERENCES, mega_ensemble(models, space))
    return specs, references, Slicer(specs, references, 5, Budget())


@pytest.mark.parametrize(("space", "averages"), [("paper", False), ("extended", True)])
@pytest.mark.parametrize("shape", [(200, 5), (30_000, 20), (400_000, 30)])
def test_every_model_is_in_one_slice(space, averages, shape):
    specs, references, made = slicer(space, averages=averages)
    slices = made.of(*shape)
    assert sorted(chain.from_iterable(part.specs for part in slices)) == sorted(specs)
    evaluated = [spec for part in slices for spec in part.references]
    if len(slices) == 1:
        assert sorted(evaluated) == sorted(item.spec for item in references)
        assert not slices[0].members
        return
    assert sorted(evaluated) == sorted(item.spec for item in references if item.all_needed)
    [mega] = [item for item in references if not item.all_needed]
    assert sorted(chain.from_iterable(part.members for part in slices)) == sorted(mega.members)
    assert len({part.name for part in slices}) == len(slices)
    for part in slices:
        assert part.members <= part.specs
        needed = set(chain.from_iterable(map(members_of, filter(is_average, part.specs))))
        assert needed <= part.specs, "a member of an average would be computed twice"


def test_only_costly_tables_are_cut_and_the_parts_are_alike():
    _, _, made = slicer()
    assert len(made.of(2_000, 20)) == 1
    slices = made.of(100_000, 20)
    assert len(slices) > 3
    seconds = [part.seconds for part in slices]
    largest = max(made.expected(unit, 100_000, 20).seconds for unit in made._units if unit)
    assert max(seconds) <= max(2 * SLICE_SECONDS, largest + SLICE_SECONDS)


def test_memory_grows_with_the_table_and_stays_within_the_budget():
    specs, references, _ = slicer()
    small, large, other = (
        expected_bytes(models, references, (), 5, Budget(), (rows, 20))
        for rows, models in ((1_000, specs), (20_000, specs), (20_000, ()))
    )
    assert small < 2**26 < large < 2**31 + 2**27
    assert other == large, "the Mega Ensemble needs all models"
    hbos, ocsvm = (
        expected_bytes(
            [spec for spec in specs if spec.detector == name], (), (), 5, Budget(), (3_000, 3)
        )
        for name in ("HBOS", "OCSVM")
    )
    assert hbos < 2e7 < 4 * 3_000**2 < ocsvm


MEMBERS = model_space("paper")[::25]


def scored_members(rng, n_rows, trials):
    for spec in MEMBERS:
        for trial in range(trials if spec.is_random else 1):
            if rng.random() < 0.1:
                yield Scored(spec, trial, CellState.FAILED, reason=f"broke {rng.random()}")
            else:
                yield Scored(spec, trial, CellState.OK, rng.lognormal(0, 3, n_rows), 1.0)


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(2, 200), parts=st.integers(1, 5))
def test_sums_do_not_depend_on_the_cut_or_the_order(seed, n_rows, parts):
    rng = np.random.default_rng(seed)
    mega = mega_ensemble(MEMBERS, "few")
    items = list(scored_members(rng, n_rows, 3))
    whole = ReferenceScores([mega], 3)
    for item in items:
        whole.add(item)
    part_of = {spec: int(rng.integers(parts)) for spec in MEMBERS}
    total = ReferenceSum()
    for part in rng.permutation(parts):
        own = ReferenceScores([mega], 3)
        of_part = [item for item in items if part_of[item.spec] == part]
        for k in rng.permutation(len(of_part)):
            own.add(of_part[k])
        total.add_sum(ReferenceSum.from_bytes(own.sums[0].to_bytes()))
    assert sorted(total.members) == sorted(MEMBERS)
    for trial in range(3):
        expected, found = whole.sums[0].finish(mega, trial), total.finish(mega, trial)
        assert (found.state, found.reason) == (expected.state, expected.reason)
        if expected.scores is None:
            assert found.scores is None
        else:
            assert found.scores.tobytes() == expected.scores.tobytes()


def test_units_share_a_computation():
    assert ModelSpec("LOF", {"n_neighbors": 5, "metric": "minkowski"}).work_unit == (
        ModelSpec("LOF", {"n_neighbors": 9, "metric": "euclidean"}).work_unit
    )
    assert ModelSpec("MCD").work_unit != ModelSpec("MCD", {"core": 0.75}).work_unit
