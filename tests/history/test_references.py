"""Reference models: what they are, and means of standardised scores gathered as they pass by."""

import numpy as np
import pytest
from scipy.stats import zscore

from metaod.history import REFERENCE_MODELS, MegaEnsemble, evaluate_models, measure
from metaod.history._evaluation import MegaScores
from metaod.models import CellState, ModelSpec, Scored, model_space

A, B, R = ModelSpec("HBOS"), ModelSpec("COF"), ModelSpec("LODA")
RNG = np.random.default_rng(0)


def ok(spec, scores, trial=0, seconds=1.0):
    return Scored(spec, trial, CellState.OK, scores, seconds)


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
    X = np.vstack([RNG.normal(size=(110, 3)), RNG.normal(0, 4, size=(10, 3))])
    y = np.repeat([0, 1], [110, 10]).astype(np.int8)
    spec = ModelSpec.parse("KNN(n_neighbors=50, method=largest)")
    mega = MegaEnsemble("one", (spec,))
    found = list(evaluate_models(X, y, [spec, *REFERENCE_MODELS], trials=2, ensemble=mega))
    names = {spec.id, mega.spec.id, *(reference.id for reference in REFERENCE_MODELS)}
    assert {item.model for item in found} == names
    by_model = {(item.model, item.trial): item for item in found}
    assert len(by_model) == len(found) == 1 + 1 + 2 + 1 + 2 + 2 + 2
    for item in found:
        assert item.state == CellState.OK, item.reason
        assert item.seed == (None if item.model in ("LOF()", spec.id, mega.spec.id) else item.trial)
    assert by_model[mega.spec.id, 0].ap == by_model[spec.id, 0].ap
    plain = ModelSpec("IForest").to_pyod(random_state=0).fit(X).decision_scores_
    assert abs(by_model["IForest()", 0].ap - measure(y, plain).ap) < 0.2
    exact = next(iter(evaluate_models(X, y, [ModelSpec("LOF")])))
    assert exact.ap == pytest.approx(
        measure(y, ModelSpec("LOF").to_pyod().fit(X).decision_scores_).ap, abs=1e-9
    )
