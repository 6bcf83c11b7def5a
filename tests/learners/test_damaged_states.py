"""States whose parts are valid arrays but do not fit together are refused."""

import pytest
from made_damage import FOREST, LATENT, narrower, other_features, without_models
from made_history import history

from metaod.learners import make_learner


@pytest.mark.parametrize(
    ("name", "params", "damage", "message"),
    [
        ("gain_forest", FOREST, other_features, "different features"),
        ("gain_forest", FOREST, lambda s: s.update(votes=s["votes"] * 0), "no vote"),
        ("gain_forest", FOREST, lambda s: s.update(leaves=s["leaves"] * 0), "leaves"),
        ("metaod", LATENT | FOREST, without_models, "no model has"),
        ("metaod", LATENT | FOREST, lambda s: s.update(valued=s["valued"] + 9), "not below"),
        ("metaod", LATENT | FOREST, lambda s: narrower(s["f"]), "dataset matrix"),
    ],
)  # fmt: skip
def test_a_damaged_state_is_not_restored(name, params, damage, message):
    state = make_learner(name, **params).fit(*history()).state()
    damage(state["learned"])
    with pytest.raises(ValueError, match=message):
        make_learner(name, **params).restore(state)


def test_every_model_has_one_index():
    state = make_learner("made_best").fit(*history()).state()
    state["order"] = state["order"] * 0
    with pytest.raises(ValueError, match="every model once"):
        make_learner("made_best").restore(state)
