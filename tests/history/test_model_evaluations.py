"""Evaluations: averages of members' scores as the detector has them, and reference models."""

import numpy as np
import pytest
from scipy.stats import zscore

from metaod.history import REFERENCE_MODELS, MegaEnsemble, evaluate_models, measure
from metaod.history._evaluation import AverageScores, MegaScores
from metaod.models import (
    AverageDetector,
    CellState,
    ModelSpec,
    Scored,
    average_of,
    model_space,
    score_models,
)
from metaod.models._spec import averages_of

A, B, R = ModelSpec("HBOS"), ModelSpec("COF"), ModelSpec("LODA")
RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(size=(110, 3)), RNG.normal(0, 4, size=(10, 3))])
Y = np.repeat([0, 1], [110, 10]).astype(np.int8)

MEMBERS = [
    ModelSpec.parse("KNN(n_neighbors=10, method=largest, scaling=robust)"),
    ModelSpec.parse("HBOS(n_bins=10, alpha=0.1)"),
    ModelSpec.parse("IForest(n_estimators=20)"),
    ModelSpec.parse("SCiForest(n_dims=2, n_estimators=10, n_trials=3, max_depth=32)"),
]


def ok(spec, scores, trial=0, seconds=1.0):
    return Scored(spec, trial, CellState.OK, scores, seconds)


def averaged(average, items, trials=2):
    averaging = AverageScores([average], trials)
    for item in items:
        averaging.add(item)
    return list(averaging.scored())


def tempered(z):
    return np.where(np.abs(z) > 6, np.sign(z) * 6 * (1 + np.log(np.maximum(np.abs(z), 6) / 6)), z)


def test_the_average_is_of_tempered_standard_scores_in_each_trial():
    a, r0, r1 = RNG.normal(size=50), RNG.normal(size=50), RNG.normal(size=50)
    a[0] = 500.0
    # what is no member is of no concern
    items = [ok(A, a), ok(B, r0 * np.nan), ok(R, r0), ok(R, r1, trial=1)]
    found = averaged(average_of(A, R), items)
    assert [scored.trial for scored in found] == [0, 1]
    for scored, r in zip(found, (r0, r1), strict=True):
        expected = (tempered(zscore(a)) + tempered(zscore(r))) / 2
        np.testing.assert_allclose(scored.scores, expected, atol=1e-12)
        assert scored.seconds == 2.0


def test_averages_leave_what_they_share_as_it_is():
    scores = {spec: RNG.normal(size=40) for spec in (A, B)}
    scores[R] = RNG.normal(size=40)
    averages = averages_of([A, B, R])
    averaging = AverageScores([*averages, averages[0]], 1)
    for spec, own in scores.items():
        averaging.add(ok(spec, own))
    once = [item.scores for item in averaging.scored()]
    again = [item.scores for item in averaging.scored()]
    assert len(once) == len(averages) == 4
    np.testing.assert_array_equal(once, again)


def test_one_member_without_scores_leaves_its_averages_without():
    lost = Scored(R, 1, CellState.OVER_BUDGET, None, 0.0, "would take an hour")
    items = [ok(A, RNG.normal(size=9)), ok(R, RNG.normal(size=9)), lost]
    first, second = averaged(average_of(A, R), items)
    assert first.state == CellState.OK
    assert (second.state, second.scores) == (CellState.OVER_BUDGET, None)
    assert second.reason == "LODA(): would take an hour"


def test_evaluations_of_averages_are_the_detectors():
    averages = averages_of(MEMBERS)
    found = list(evaluate_models(X, Y, averages, trials=2))
    assert {item.model for item in found} == {average.id for average in averages}
    by_cell = {(item.model, item.trial): item for item in found}
    for average in averages:
        assert sum(item.model == average.id for item in found) == (2 if average.is_random else 1)
        for trial in range(2 if average.is_random else 1):
            item = by_cell[average.id, trial]
            scores = average.to_pyod(random_state=trial).fit(X).decision_scores_
            assert (item.ap, item.roc_auc, item.precision_at_n) == pytest.approx(
                tuple(measure(Y, scores)), abs=1e-9
            )
            assert item.seed == (trial if average.is_random else None)


def test_scores_are_those_of_the_detector():
    average = average_of(*MEMBERS[:3])
    averaging = AverageScores([average], 2)
    for scored in score_models(X, MEMBERS, trials=2):
        averaging.add(scored)
    for trial, scored in enumerate(averaging.scored()):
        assert (scored.spec, scored.trial) == (average, trial)
        expected = AverageDetector(MEMBERS[:3], random_state=trial).fit(X).decision_scores_
        np.testing.assert_allclose(scored.scores, expected, rtol=1e-9, atol=1e-9)


# reference models


def gather(members, items, trials=2):
    gathering = MegaScores(MegaEnsemble("some", members), trials)
    for item in items:
        gathering.add(item)
    return list(gathering.scored())


def test_no_reference_can_be_picked_from_the_space():
    space = set(model_space("paper"))
    mega = MegaEnsemble("paper", model_space("paper"))
    triple = (
        "IForest(n_estimators=200) + KNN(n_neighbors=100, method=largest)"
        " + OCSVM(kernel=rbf, nu=0.9)"
    )
    ids = [spec.id for spec in (*REFERENCE_MODELS, mega.spec)]
    assert ids == [
        "IForest()",
        "LOF()",
        "IForest(n_estimators=200)",
        'ZAverage(members="IForest(n_estimators=200) + KNN(n_neighbors=50, method=largest)")',
        f'ZAverage(members="{triple}")',
        "MegaEnsemble(space=paper)",
    ]
    assert not space & {*REFERENCE_MODELS, mega.spec}
    assert len(mega.members) == 302


def test_a_mean_in_each_trial():
    a, r0, r1 = RNG.normal(size=50), RNG.normal(size=50), RNG.normal(size=50)
    found = gather((A, R), [ok(A, a), ok(R, r0), ok(R, r1, trial=1)])
    for scored, r in zip(found, (r0, r1), strict=True):
        np.testing.assert_allclose(scored.scores, (zscore(a) + zscore(r)) / 2, atol=1e-12)
        assert scored.seconds == 2.0


def test_the_mega_ensemble_goes_on_without_a_member_and_says_so():
    a = RNG.normal(size=9)
    lost = Scored(B, 0, CellState.FAILED, None, 0.0, "broke")
    (found,) = gather((A, B), [ok(A, a), lost])
    assert found.state == CellState.OK
    assert found.reason == "without 1 of 2 models"
    np.testing.assert_allclose(found.scores, zscore(a))
    (none,) = gather((B,), [lost])
    assert (none.state, none.scores) == (CellState.FAILED, None)


def test_references_come_with_the_evaluations():
    spec = ModelSpec.parse("KNN(n_neighbors=50, method=largest)")
    mega = MegaEnsemble("one", (spec,))
    found = list(evaluate_models(X, Y, [spec, *REFERENCE_MODELS], trials=2, ensemble=mega))
    names = {spec.id, mega.spec.id, *(reference.id for reference in REFERENCE_MODELS)}
    assert {item.model for item in found} == names
    by_model = {(item.model, item.trial): item for item in found}
    assert len(by_model) == len(found) == 1 + 1 + 2 + 1 + 2 + 2 + 2
    for item in found:
        assert item.state == CellState.OK, item.reason
        assert item.seed == (None if item.model in ("LOF()", spec.id, mega.spec.id) else item.trial)
    assert by_model[mega.spec.id, 0].ap == by_model[spec.id, 0].ap
    plain = ModelSpec("IForest").to_pyod(random_state=0).fit(X).decision_scores_
    assert abs(by_model["IForest()", 0].ap - measure(Y, plain).ap) < 0.2
    exact = next(iter(evaluate_models(X, Y, [ModelSpec("LOF")])))
    assert exact.ap == pytest.approx(
        measure(Y, ModelSpec("LOF").to_pyod().fit(X).decision_scores_).ap, abs=1e-9
    )
