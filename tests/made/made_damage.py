"""Damage to the saved states of learners, for tests that restore them."""

FOREST = {"n_estimators": 3}
LATENT = {"epochs": 2, "k": 2}


def narrower(forest):
    forest["values"] = forest["values"][:, :-1]


def without_models(learned):
    learned["valued"] = learned["valued"][:0]


def other_features(learned):
    # without the second feature the forest has one feature too many
    cleaning = learned["regression"]["cleaning"]
    cleaning.update({name: values[1:] for name, values in cleaning.items()})
