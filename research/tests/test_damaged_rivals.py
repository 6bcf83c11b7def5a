"""States whose parts are valid arrays but do not fit together are refused."""

import numpy as np
import pytest
from made_damage import FOREST, LATENT, narrower, other_features, without_models
from made_history import history

import research  # noqa: F401 - registers the learners
from metaod.learners import make_learner


@pytest.mark.parametrize(
    ("name", "params", "damage", "message"),
    [
        ("alors", FOREST, lambda s: s.update(known=s["known"] & False), "known models"),
        ("alors", FOREST, other_features, "different features"),
        ("supervised_surrogates", FOREST, lambda s: narrower(s["regression"]["forest"]),
         "the models"),
        ("argosmart", {}, lambda s: s.update({k: s[k][:0] for k in ("datasets", "performance")}),
         "there are no"),
        ("isac", {}, lambda s: s.update({k: s[k][:0] for k in ("centres", "performance")}),
         "there are no"),
        ("metaod_f", LATENT, without_models, "no model has"),
        ("metaod_f", LATENT, lambda s: s.update(valued=s["valued"] + 9), "not below"),
        ("metaod_c", {}, without_models, "no model has"),
        ("metaod_c", {}, lambda s: s.update(weight=-1.0), "weight"),
    ],
)  # fmt: skip
def test_a_damaged_state_is_not_restored(name, params, damage, message):
    state = make_learner(name, **params).fit(*history()).state()
    damage(state["learned"])
    with pytest.raises(ValueError, match=message):
        make_learner(name, **params).restore(state)


def test_the_rule_needs_the_sizes_as_features():
    state = make_learner("pyod_rule").fit(*history()).state()
    state["features"] = [f"f{i}" for i in range(len(state["features"]))]
    with pytest.raises(ValueError, match="n_rows"):
        make_learner("pyod_rule").restore(state)


def test_row_relevance_does_not_depend_on_the_scale_of_a_dataset():
    P, M, origins = history(missing=0.0)
    scaled = P.mul(np.exp2(np.arange(len(P)) % 3), axis=0)
    params = {**LATENT, **FOREST, "relevance": "row"}
    one, other = (make_learner("metaod_variant", **params).fit(p, M, origins) for p in (P, scaled))
    np.testing.assert_allclose(one.V_, other.V_)
