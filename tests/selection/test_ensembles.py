"""Averages are ranked, constrained, picked, fitted and saved as one model."""

import json

import pytest
from made_costs import expected_cost
from made_learners import NAMES
from made_selecting import AVERAGES, MODELS, averages_artifact, averages_data, table

from metaod.errors import BadParameter, UserError
from metaod.history import train
from metaod.learners import make_learner
from metaod.models import ModelSpec, SpecDetector, average_of, member_ids
from metaod.selection import select

X = table(seed=70)
BEST = AVERAGES[0]
SHAPE = X.shape


def members(average):
    return dict.fromkeys(member_ids(average), 1 / len(member_ids(average)))


# the pick


def test_an_average_is_ranked_and_picked_as_one_model():
    made = averages_artifact()
    selection = select(X, learner=made)
    ranking = selection.ranking.set_index("model")
    assert set(ranking.index) == {*MODELS, *AVERAGES}
    assert selection.best.id == BEST == selection.ranking["model"][0]
    assert selection.members == member_ids(BEST)
    # what is said is of the average itself
    assert selection.trust.predicted == ranking.loc[BEST, "predicted"]
    assert (selection.trust.low, selection.trust.high) == tuple(ranking.loc[BEST, ["low", "high"]])
    why = selection.explain()
    assert why.pick == BEST
    place = averages_data().P.columns.get_loc(BEST)
    first = made.history.names.index(why.nearest["name"][0])
    assert why.nearest["performance"][0] == pytest.approx(made.history.P[first, place])
    assert "ZAverage" not in str(why)


def test_plain_data_has_full_ids_and_members():
    plain = json.loads(select(X, learner=averages_artifact()).to_json())
    assert plain["pick"] == pytest.approx(members(BEST))
    best = ModelSpec.parse(plain["best"]["id"])
    assert (plain["best"]["detector"], plain["best"]["scaling"]) == (best.detector, best.scaling)
    assert plain["best"]["id"] == plain["ranking"][0]["model"] == BEST


@pytest.mark.parametrize("name", NAMES)
def test_pick_single_gives_a_single_model(name):
    made = averages_artifact(name, calibrate=0)
    selection = select(X, learner=made, pick="learned-single")
    assert set(selection.ranking["model"]) == set(MODELS)
    assert selection.best.id == selection.ranking["model"][0]
    assert selection.members == (selection.best.id,)
    assert {spec.id for spec in selection.passed_over} == set(AVERAGES)
    assert isinstance(selection.detector(), SpecDetector)
    # the learner's scores are as they were: averages are out of the ranking, no more
    free = select(X, learner=made).ranking
    kept = free[free["model"].isin(MODELS)].reset_index(drop=True)
    assert kept["model"].tolist() == selection.ranking["model"].tolist()
    assert kept["score"].tolist() == selection.ranking["score"].tolist()


# constraints


def names(**constraints):
    selection = select(X, learner=averages_artifact(), **constraints)
    assert selection.best.id == selection.ranking["model"][0]
    return set(selection.ranking["model"])


def with_all(*detectors):
    return {
        model
        for model in (*MODELS, *AVERAGES)
        if all(spec.detector in detectors for spec in ModelSpec.parse(model).members)
    }


def test_a_space_has_the_averages_of_its_models():
    assert names(space=["HBOS", "IForest"]) == with_all("HBOS", "IForest")
    assert AVERAGES[2] in names(space=["HBOS", "IForest"])
    assert names(space=[MODELS[2], MODELS[3]]) == {MODELS[2], MODELS[3], AVERAGES[1]}
    assert names(space="paper") == {
        *(name for name in MODELS if not name.startswith("LODA")),
        *(name for name in AVERAGES if "LODA" not in name),
    }
    # by its own name too
    assert names(space=AVERAGES[4]) == {AVERAGES[4]}
    assert names(space="ZAverage") == set(AVERAGES)


def test_excluding_a_member_excludes_its_averages():
    for detector in ("KNN", "HBOS", "LODA"):
        left = names(exclude=detector)
        assert left == {name for name in (*MODELS, *AVERAGES) if detector not in name}
    assert names(exclude=MODELS[3]) == {
        *MODELS[:3],
        *MODELS[4:],
        *(name for name in AVERAGES if MODELS[3] not in member_ids(name)),
    }
    assert names(exclude=BEST) == {*MODELS, *AVERAGES[1:]}
    assert names(exclude="ZAverage") == set(MODELS)


def test_members_that_are_no_columns_can_be_excluded():
    data = averages_data()
    only = train(
        type(data)(**{**vars(data), "P": data.P[[*AVERAGES, MODELS[0]]]}), make_learner("made_best")
    )
    found = select(X, learner=only, exclude="HBOS").ranking["model"]
    assert set(found) == {MODELS[0], *(name for name in AVERAGES if "HBOS" not in name)}
    with pytest.raises(BadParameter, match="exclude"):
        select(X, learner=only, exclude="OCSWM")


def test_an_average_does_not_apply_if_a_member_does_not():
    small = table(30, seed=3)
    selection = select(small, learner=averages_artifact())
    assert not {MODELS[7], AVERAGES[3]} & set(selection.ranking["model"])
    over = selection.passed_over
    assert over[ModelSpec.parse(AVERAGES[3])] == over[ModelSpec.parse(MODELS[7])]


def test_of_an_average_the_known_costs_count():
    # what is known counts, and what is not is no reason to forget it
    known = ModelSpec.parse(BEST).members[0]
    half = expected_cost(average_of(ModelSpec("Unheard"), known), *SHAPE)
    assert half == expected_cost(known, *SHAPE)
    assert not expected_cost(average_of(ModelSpec("Un"), ModelSpec("Heard")), *SHAPE).is_known


def test_time_is_of_all_members_together():
    limit = expected_cost(ModelSpec.parse(BEST), *SHAPE).seconds
    assert BEST in names(max_seconds=limit * 1.001)
    bound = select(X, learner=averages_artifact(), max_seconds=limit * 0.999)
    assert BEST not in set(bound.ranking["model"])
    assert "would take about" in bound.passed_over[ModelSpec.parse(BEST)]
    assert (bound.ranking["seconds"] <= limit).all()
    # each member alone would have been quick enough
    assert set(member_ids(BEST)) <= set(bound.ranking["model"])


def test_memory_is_the_largest_of_its_members():
    most = expected_cost(ModelSpec.parse(BEST), *SHAPE).n_bytes
    assert BEST in names(max_bytes=most * 1.001)
    assert BEST not in names(max_bytes=most * 0.999)


def test_when_nothing_is_left():
    with pytest.raises(UserError) as one:
        select(X, learner=averages_artifact(), pick="learned-single", exclude=list(MODELS))
    assert one.value.code == "no-model"
    assert "pick" in one.value.remedy.values
