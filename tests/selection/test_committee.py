"""The committee is the same for every table, without a learner."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_selecting import averages_artifact, table

from metaod.detection import MetaOD
from metaod.errors import BadParameter, UserError
from metaod.models import COMMITTEE, average_of, expected_costs
from metaod.options import Picking
from metaod.selection import select
from metaod.selection._candidates import CommitteePick
from research.shipped import shipped_matrix, shipped_training_data

COMMITTEE_ID = average_of(*COMMITTEE).id
X = table(400, seed=80)
NEIGHBOURS = next(spec for spec in COMMITTEE if spec.detector == "KNN")


@pytest.mark.parametrize("seed", [0, 1])
def test_it_is_the_same_for_every_table(seed):
    selection = select(table(600 + 100 * seed, 2 + seed, seed=seed), pick="committee")
    assert selection.best == average_of(*COMMITTEE)
    assert len(selection.ranking) == 1
    assert selection.features is None
    assert selection.trust.warnings == ()


def test_what_is_fitted_is_the_average():
    model = MetaOD(pick="committee", random_state=3).fit(X)
    expected = average_of(*COMMITTEE).to_pyod(random_state=3).fit(X)
    np.testing.assert_allclose(model.decision_scores_, expected.decision_scores_, rtol=1e-12)
    assert set(model.fitted_.weights) == {spec.id for spec in COMMITTEE}


def test_the_explanation_says_that_it_is_fixed():
    selection = select(X, pick="committee")
    assert "It is fixed" in str(selection.explain())
    plain = json.loads(selection.to_json())
    assert plain["best"]["id"] == COMMITTEE_ID == plain["why"]["pick"]
    assert plain["why"]["is_fixed"] is True
    assert plain["learner"] is None
    assert plain["ranking"][0]["score"] is None
    assert "IForest" in selection._repr_html_()


def test_its_figures_are_those_of_the_historical_tables():
    data = shipped_training_data(("paper", "scores"), space="extended", averages=True)
    low, high = data.P.min(axis=1), data.P.max(axis=1)
    share = ((data.P[COMMITTEE_ID] - low) / (high - low)).dropna()
    gain = (data.P[COMMITTEE_ID] - data.reference).dropna()
    trust = select(X, pick="committee").trust
    assert trust.is_calibrated
    found = [trust.predicted, trust.low, trust.high, trust.beats, trust.loses]
    expected = [share.mean(), *share.quantile([0.1, 0.9]), (gain > 0.005).mean()]
    assert found == pytest.approx([*expected, (gain < -0.005).mean()], abs=0.005)
    assert "isolation forest" in trust.summary()
    assert COMMITTEE_ID in shipped_matrix(space="extended", averages=True)


def test_it_loads_no_learner(monkeypatch):
    def fail(*_, **__):
        raise AssertionError("the learner was loaded")

    monkeypatch.setattr("metaod.history.find_artifact", fail)
    selection = MetaOD(pick="committee").fit(X).selection_
    assert "isolation forest" in selection.trust.summary()
    assert selection.to_dict()["why"]["is_fixed"]
    with pytest.raises(AssertionError):
        selection.nearest()


def warnings_of(n_rows):
    return select(table(n_rows), pick="committee").trust.warnings


@pytest.mark.parametrize(("n_rows", "larger"), [(70, "all 1065"), (103, "1063 of the 1065")])
def test_a_table_smaller_than_nearly_all_gives_a_warning(n_rows, larger):
    sizes = np.sort(shipped_training_data(space="extended").datasets["n_rows"])
    assert f"{np.count_nonzero(sizes > n_rows)}" in larger
    assert any(larger in str(text) for text in warnings_of(n_rows))
    assert not any("have more" in str(text) for text in warnings_of(400))


def test_a_member_that_does_not_apply_is_left_out_with_a_warning():
    selection = select(table(60, seed=5), pick="committee")
    assert set(selection.passed_over) == {NEIGHBOURS}
    assert set(selection.best.members) == set(COMMITTEE) - {NEIGHBOURS}
    (warning,) = [text for text in selection.trust.warnings if "committee" in text]
    assert warning == (
        "the committee scores with 6 of its 7 models, without k nearest neighbours (needs at least "
        "301 rows, the table has 60)"
    )


def test_excluded_members_are_left_out():
    selection = select(X, pick="committee", exclude=["KDE", "ABOD"])
    assert {spec.detector for spec in selection.passed_over} == {"KDE"}
    assert len(selection.members) == 5
    told = "the committee scores with 5 of its 7 models, without 2 × KDE (excluded)"
    assert told in selection.trust.warnings
    assert select(X, pick="committee", space=["MCD"]).best.detector == "MCD"
    with pytest.raises(UserError, match="no model is left"):
        select(X, pick="committee", space="paper")


@settings(max_examples=50)
@given(
    n_rows=st.one_of(st.integers(5, 50_000), st.integers(50_000, 2_000_000)),
    n_columns=st.integers(1, 200),
    limit=st.one_of(st.none(), st.floats(0.05, 100)),
)
def test_members_together_keep_to_the_limit_of_time(n_rows, n_columns, limit):
    shape = (n_rows, n_columns)
    options = Picking(max_seconds=limit)
    try:
        found = CommitteePick.for_table(shape, options)
    except UserError:
        return
    members = found.best.members
    assert {*members, *found.left_out} == set(COMMITTEE)
    assert not {*members} & {*found.left_out}
    assert all(member.why_not(*shape) is None for member in members)
    [cost] = expected_costs([found.best], *shape, is_sampled=True)
    assert found.cost.seconds == pytest.approx(cost.seconds)
    if limit is not None:
        assert cost.seconds <= limit
    if len(members) > 1:
        n_learned = found.best.learned_rows(n_rows)
        seconds = [cost.seconds for cost in expected_costs(COMMITTEE, *shape, n_learned=n_learned)]
        by_member = dict(zip(COMMITTEE, seconds, strict=True))
        slow = [spec for spec, why in found.left_out.items() if "together" in why]
        assert all(by_member[spec] >= max(map(by_member.get, members)) for spec in slow)
    assert bool(found.warnings) == bool(found.left_out)


def test_of_members_that_are_too_slow_together_the_quickest_is_used():
    seconds = [cost.seconds for cost in expected_costs(COMMITTEE, *X.shape)]
    (first, quickest), (second, _), *_ = sorted(zip(seconds, COMMITTEE, strict=True))
    limit = second + first / 2
    assert select(X, pick="committee", max_seconds=limit).best == quickest


def test_members_are_judged_by_the_rows_that_members_learn_from():
    found = CommitteePick.for_table((100_000, 250), Picking(max_bytes=2 * 2**30))
    assert not found.left_out
    limited = CommitteePick.for_table((200_000, 20), Picking(max_seconds=5))
    assert {"IForest", "MCD"} <= {spec.detector for spec in limited.best.members}


def test_a_limit_that_no_member_keeps_is_told_with_all_members():
    excluded = COMMITTEE[0].id
    with pytest.raises(UserError, match="no model is left") as raised:
        CommitteePick.for_table((1_000, 5), Picking(max_seconds=1e-5, exclude=[excluded]))
    assert not isinstance(raised.value, BadParameter)


@pytest.mark.parametrize("learner", ["metaod", averages_artifact()], ids=type)
def test_it_refuses_a_learner(learner):
    with pytest.raises(BadParameter, match="left out with the committee"):
        select(X, learner=learner, pick="committee")
