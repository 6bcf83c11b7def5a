"""Averages as models: one id whatever the order, members read back exactly, a detector of them."""

from collections import Counter
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.errors import BadParameter
from metaod.models import (
    COMMITTEE,
    AverageDetector,
    ModelSpec,
    average_of,
    candidate_averages,
    member_ids,
    model_space,
)

SPACE = model_space("all")
REPRESENTATIVES = {model for average in candidate_averages() for model in average.members}
KNN, HBOS, FOREST = (
    ModelSpec("KNN", {"n_neighbors": 30, "method": "largest"}),
    ModelSpec("HBOS", {"n_bins": 10, "alpha": 0.1}),
    ModelSpec("IForest", {"n_estimators": 10}),
)

# texts that look like what stands between members and around them
values = st.one_of(
    st.text(alphabet='a+ "\\(),=', max_size=12),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
)
models = st.builds(
    ModelSpec,
    st.sampled_from(["A", "B.b", "C-c"]),
    st.dictionaries(st.sampled_from(["p", "n_q"]), values),
    st.sampled_from(["zscore", "robust"]),
)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(members=st.lists(models, min_size=2, max_size=4, unique=True), data=st.data())
def test_an_id_says_its_members_whatever_they_are_called(members, data):
    average = average_of(*members)
    assert average_of(*data.draw(st.permutations(members))) == average
    again = ModelSpec.parse(average.id)
    assert again == average
    assert set(again.members) == set(members)
    assert [member.id for member in again.members] == sorted(spec.id for spec in members)
    assert member_ids(average.id) == tuple(member.id for member in average.members)


def test_any_other_model_is_its_own_member():
    for spec in SPACE:
        assert spec.members == (spec,)
        assert not spec.is_average
        assert member_ids(spec.id) == (spec.id,)
    assert member_ids("any name of a learner's column") == ("any name of a learner's column",)


@pytest.mark.parametrize(
    "members",
    [(), (KNN,), (KNN, KNN), (KNN, HBOS, KNN), (KNN, average_of(HBOS, FOREST))],
    ids=["none", "one", "twice", "twice of three", "nested"],
)
def test_what_is_no_average(members):
    with pytest.raises(BadParameter, match="members") as caught:
        average_of(*members)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "ZAverage()",
        "ZAverage(members=none)",
        "ZAverage(members=5)",
        'ZAverage(members="")',
        'ZAverage(members=" + ")',
        'ZAverage(members="KNN()")',
        'ZAverage(members="KNN() + ")',
        'ZAverage(members="KNN() +  + HBOS()")',
        'ZAverage(members="KNN()+HBOS()")',
        'ZAverage(members="KNN() + HBOS")',
        'ZAverage(members="KNN() + KNN()")',
        'ZAverage(members="KNN() + HBOS(a=\\")")',
        'ZAverage(members="KNN() + HBOS()", weights=3)',
        'ZAverage(members="KNN() + HBOS()", scaling=robust)',
    ],
)
def test_malformed_members_are_said_wherever_they_are_met(text):
    spec = ModelSpec.parse(text)
    for meet in (
        lambda: spec.members,
        lambda: spec.is_random,
        lambda: spec.why_not(100, 3),
        spec.to_pyod,
        lambda: member_ids(text),
    ):
        with pytest.raises(BadParameter) as caught:
            meet()
        assert "\n" not in str(caught.value)


def test_representatives_are_of_the_extended_space_and_different():
    assert set(model_space("extended")) >= REPRESENTATIVES >= set(COMMITTEE)
    assert len(REPRESENTATIVES) == 14
    # more than other averages have, and every detector but the density once
    assert len(set(COMMITTEE)) == len(COMMITTEE) == 7
    assert sorted(spec.detector for spec in COMMITTEE) == [
        "IForest", "KDE", "KDE", "KNN", "MCD", "PCA", "SCiForest",
    ]  # fmt: skip


def test_candidates_are_all_twos_and_threes_and_the_committee():
    candidates = candidate_averages()
    assert len(candidates) == len(set(candidates)) == comb(14, 2) + comb(14, 3) + 1
    sizes = Counter(len(average.members) for average in candidates)
    assert sizes == {2: comb(14, 2), 3: comb(14, 3), 7: 1}
    assert set(candidates[-1].members) == set(COMMITTEE)
    # whatever else there is, and in whatever order
    assert candidate_averages(reversed(SPACE)) == candidates


def test_what_the_members_know_the_average_does():
    assert not average_of(KNN, HBOS).is_random
    assert average_of(KNN, FOREST).is_random
    average = average_of(FOREST, HBOS, KNN)
    assert average.why_not(100, 3) is None
    assert average.why_not(20, 3) == KNN.why_not(20, 3)
    assert not average.applies(20, 3)
    # of several reasons the first member's
    other = ModelSpec("ABOD", {"n_neighbors": 50})
    assert average_of(KNN, other).why_not(20, 3) == other.why_not(20, 3) != KNN.why_not(20, 3)
    assert average.equivalence == average


def test_its_detector_averages_the_members():
    X = np.random.default_rng(0).normal(size=(60, 3))
    detector = average_of(KNN, FOREST).to_pyod(random_state=3, contamination=0.2)
    assert isinstance(detector, AverageDetector)
    expected = AverageDetector([KNN, FOREST], random_state=3, contamination=0.2).fit(X)
    found = detector.fit(X)
    np.testing.assert_allclose(found.decision_scores_, expected.decision_scores_, rtol=1e-12)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    with pytest.raises(BadParameter, match="scaling"):
        average_of(KNN, ModelSpec("HBOS", {}, "nosuch")).to_pyod()
    with pytest.raises(BadParameter, match="bins"):
        average_of(KNN, ModelSpec("HBOS", {"bins": 3})).to_pyod()
