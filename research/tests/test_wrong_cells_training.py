"""Training of the score of cells."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from metaod.tables import read_table
from metaod.wrong_cells import WrongCellFinder
from research.wrong_cells import training
from research.wrong_cells.training import Sample, add_constant, chosen_cells, train


@dataclass(frozen=True)
class MadeSource:
    origin: str

    @property
    def name(self):
        return f"made/{self.origin}"

    def load(self):
        rng = np.random.default_rng(len(self.origin))
        a = rng.normal(50, 10, 150).round(1)
        groups = rng.choice(["red", "green", "blue"], 150)
        return pd.DataFrame({"a": a, "b": (2 * a).round(1) + rng.integers(0, 3, 150), "c": groups})


@pytest.fixture(scope="module")
def samples():
    made = [Sample.make(MadeSource("o" * n), draw) for n in range(1, 9) for draw in range(2)]
    return [sample for sample in made if sample is not None]


def test_a_sample_marks_the_planted_cells_and_is_kept(samples, tmp_path):
    wrong = sum(int(sample.wrong.sum()) for sample in samples)
    assert wrong > 10
    assert sum(int(sample.n_unseen) for sample in samples) < 0.3 * wrong
    samples[0].write(tmp_path / "one.npz")
    again = Sample.read(tmp_path / "one.npz")
    np.testing.assert_array_equal(again.features, samples[0].features)
    assert again.origin == samples[0].origin


def test_chosen_cells_stand_for_all(samples):
    sample = samples[0]
    places, weights = chosen_cells(sample, np.arange(len(sample.wrong), dtype=float))
    assert len(set(places.tolist())) == len(places)
    assert set(np.flatnonzero(sample.wrong)) <= set(places.tolist())
    assert weights.sum() == pytest.approx(len(sample.wrong))


def test_the_second_score_learns_from_scores_of_other_origins(samples, monkeypatch):
    fitted = []
    fit = training._fit_alone

    def recorded(own, suspicion, settings):
        fitted.append({str(sample.origin) for sample in own})
        return fit(own, suspicion, settings)

    monkeypatch.setattr(training, "_fit_alone", recorded)
    scorer = train(samples, max_iter=4, min_samples_leaf=5)
    everything = {str(sample.origin) for sample in samples}
    assert fitted[-1] == everything
    left_out = [everything - own for own in fitted[:-1]]
    assert set.union(*left_out) == everything
    assert sum(map(len, left_out)) == len(everything)
    frame = MadeSource("new").load()
    found = WrongCellFinder(scorer=scorer).fit(read_table(frame)).found_
    assert found.row_scores.max() < 1


def test_a_constant_column_is_wrong_where_it_has_another_value():
    frame = MadeSource("new").load()
    for seed in range(20):
        extended, wrong = add_constant(
            frame, np.zeros(frame.shape, dtype=bool), np.random.default_rng(seed)
        )
        place = extended.columns.get_loc("constant")
        usual = extended["constant"].mode()[0]
        np.testing.assert_array_equal(wrong[:, place], (extended["constant"] != usual).to_numpy())
        assert not np.delete(wrong, place, axis=1).any()
