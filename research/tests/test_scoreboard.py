"""The scoreboard: tables that are found, what is left out of training, answers, the command."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metaod.errors import UserError
from metaod.history import LabelledDataset, TrainingData, fingerprint, iter_folder, measure
from research import scoreboard
from research.__main__ import main
from research.commands import scoreboard as command
from research.scoreboard import OWN, Entrant, Scoreboard, Selector, compared, entrants
from research.shipped import shipped_datasets, shipped_matrix, shipped_metafeatures
from research.sketches import sketch

KNN = "KNN(n_neighbors=5, method=largest)"


def made(n_rows=60, outliers=6, columns=3, seed=0):
    X = np.random.default_rng(seed).normal(size=(n_rows, columns))
    X[:outliers] += 4
    return X, (np.arange(n_rows) < outliers).astype(np.int8)


def labelled(X, y, name="some/table", origin="unknown", key=None):
    frame = pd.DataFrame(X).rename(columns="c{}".format)
    return LabelledDataset(name, frame, y, origin, key or fingerprint(frame, y), Path("table.npz"))


def save(folder, name, **options):
    path = folder / f"{name}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    X, y = made(**options)
    np.savez(path, X=X, y=y)


def selector(folder, text, name="mine"):
    path = folder / f"{name}.py"
    path.write_text(text)
    return Selector.read(path)


class Given(Entrant):
    """A table that is not in a folder."""

    def load(self):
        return self.entries


@pytest.fixture(scope="module")
def history():
    """Few columns of the shipped history."""
    datasets = shipped_datasets()
    P = shipped_matrix(space="extended").iloc[:, :3]
    return TrainingData.from_frames(P, {"paper": shipped_metafeatures()}, datasets)


@pytest.fixture
def bench(tmp_path, history):
    return Scoreboard(tmp_path / "kept", history)


def test_tables_of_adbench_are_known_by_name_and_shape(tmp_path):
    save(tmp_path, "classical/15_Hepatitis", n_rows=80, outliers=13, columns=19)
    save(tmp_path, "other/Hepatitis", n_rows=80, outliers=14, columns=19)
    save(tmp_path, "other/glass", n_rows=214, outliers=8)
    for part in range(4):
        save(tmp_path, f"nlp/agnews_{part}")
    save(tmp_path, "cv/CIFAR10_0")
    found = list(entrants(iter_folder(tmp_path), "adbench"))
    loaded = {item.table: item.load() for item in found}
    parts = [f"agnews/agnews_{part}" for part in range(4)]
    assert list(loaded) == ["glass", "hepatitis", *parts]
    assert loaded["hepatitis"].y.sum() == 13
    assert loaded["glass"] is None  # another number of outliers
    assert [item.table for item in entrants(iter_folder(tmp_path), "oddbench")] == []


def test_large_tables_of_adbench_are_sampled(tmp_path, monkeypatch):
    monkeypatch.setattr(scoreboard, "MOST_ROWS", 50)
    save(tmp_path, "15_Hepatitis", n_rows=80, outliers=13)
    [entrant] = entrants(iter_folder(tmp_path), "adbench")
    first, again = entrant.load(), entrant.load()
    assert first.X.shape == (50, 3)
    assert 0 < first.y.sum() < 13
    pd.testing.assert_frame_equal(first.X, again.X)


def test_origin_and_relatives_are_left_out_of_the_history(bench, tmp_path):
    origins = bench.history.origins
    key = origins.index[0]
    X, y = made(n_rows=200)
    bench.sketches[origins.index[1]] = sketch(X)
    cases = {
        origins.iloc[0]: labelled(*made(), key=key),
        origins.iloc[1]: labelled(X[::-1], y[::-1]),  # a relative, by its rows
        origins.iloc[2]: labelled(*made(seed=1), origin=origins.iloc[2]),
    }
    text = "def fit(history):\n    return set(history.origins)\ndef select(table, seen):\n    "
    mine = selector(tmp_path, text + "raise KeyError(len(seen))")
    for origin, dataset in cases.items():
        with pytest.raises(UserError, match="KeyError"):
            bench.reach(mine, Given("oddbench", "t", dataset))
        (seen,) = bench._fitted[mine.digest, bench.left_out(dataset)]
        assert origin not in seen
        assert len(seen) > 0.7 * origins.nunique()
    assert bench.left_out(labelled(*made(seed=5))) == frozenset()
    assert bench.left_out(labelled(*made(seed=5)), origins.iloc[2])


@pytest.mark.parametrize(
    "body",
    [
        "return [1.0, 2.0]",
        "return table['c0'].where(table['c0'] > 0)",
        "return 'Foo(x=1)'",
        "return 'nonsense'",
        "return 'KNN(k=3)'",
        "return {'a': 1}",
        "raise RuntimeError('line one\\nline two')",
        "return table['no such column']",
    ],
)
def test_wrong_answers_are_one_line_with_the_file_and_the_table(tmp_path, body):
    mine = selector(tmp_path, f"def select(table):\n    {body}")
    with pytest.raises(UserError) as error:
        mine.answer(labelled(*made()), ())
    assert str(error.value).startswith("mine.py on some/table: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["select = 3", "1 / 0", "def select(:", None])
def test_a_file_without_a_selector_is_refused(tmp_path, text):
    path = tmp_path / "mine.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match=r"mine\.py"):
        Selector.read(path)


def test_scores_and_ids_are_measured_and_kept(bench, tmp_path, monkeypatch):
    X, y = made()
    dataset = labelled(X, y)
    calls = tmp_path / "calls"
    counting = f"    open({str(calls)!r}, 'a').write('x')\n"
    by_scores = selector(tmp_path, f"def select(table):\n{counting}    return table['c0']")
    by_id = selector(tmp_path, f"def select(table):\n    return {KNN!r}", "by_id")
    tables, lines = [Given("oddbench", "t", dataset)], []
    for _ in range(2):
        row = bench.run(by_scores, tables, lines.append).iloc[0]
    assert row["ap"] == pytest.approx(measure(y, X[:, 0]).ap)
    assert calls.read_text() == "x"
    assert len(lines) == 1
    row = bench.run(by_id, tables, lines.append).iloc[0]
    assert row["pick"] == KNN
    assert row["roc_auc"] > 0.9
    assert {seed for _, seed in bench.scores.read(dataset.fingerprint)} == set(range(5))
    # a table of the matrix
    known = bench.cells.index[0]
    shipped = replace(dataset, fingerprint=known[0])
    by_id = selector(tmp_path, f"def select(table):\n    return {known[1]!r}", "matrix")
    row = bench.reach(by_id, Given("oddbench", "t", shipped))
    assert row["ap"] == bench.cells.loc[known, "ap"]


def test_methods_are_compared_with_one_of_them():
    ap = pd.DataFrame({"a": [0.5, 0.4, 0.9], "b": [0.4, 0.4, 0.5]})
    table = compared(ap, ap[["b"]], "b", list("xyz")).set_index("method")
    assert list(table.index) == ["a", "b"]
    found = table.loc["a"]
    assert found["AP gain"] == pytest.approx(0.5 / 3)
    assert (found["AP wins"], found["AP losses"]) == (2, 0)
    assert 0 <= found["AP low"] < found["AP gain"] < found["AP high"]
    assert found["AP rank"] == pytest.approx((1 + 1.5 + 1) / 3)
    assert np.isnan(found["ROC AUC"])


def example():
    """The selector that docs/scoreboard.md shows."""
    page = (Path(scoreboard.__file__).parents[1] / "docs" / "scoreboard.md").read_text("utf-8")
    [text] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    return text


def test_the_command_prints_the_row_of_the_documented_example(tmp_path, capsys, monkeypatch):
    for part in range(3):
        save(tmp_path, f"data/oddbench/made_{part}", seed=part)
    (tmp_path / "mine.py").write_text(example())
    monkeypatch.setattr(command, "OWN", OWN[1:])  # the learner takes long to train
    paths = [str(tmp_path / name) for name in ("mine.py", "data", "kept")]
    with pytest.raises(SystemExit) as stop:
        main(["scoreboard", paths[0], "--data", paths[1], "--kept", paths[2]])
    out = capsys.readouterr().out
    assert stop.value.code in (0, None)
    rows = {line.split(" | ")[0].strip("| "): line for line in out.splitlines() if "| " in line}
    title = example().splitlines()[0].strip('".')
    assert {title, "MetaOD: committee", "MetaOD: IForest"} <= rows.keys()
    assert "adbench: 0 tables" in out


def test_the_command_refuses_a_selector_in_one_line(tmp_path, capsys):
    save(tmp_path, "data/oddbench/made")
    (tmp_path / "mine.py").write_text("def choose(table):\n    pass\n")
    with pytest.raises(SystemExit) as stop:
        main(["scoreboard", str(tmp_path / "mine.py"), "--data", str(tmp_path / "data")])
    assert stop.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_command_says_which_tables_it_knows(tmp_path, capsys):
    save(tmp_path, "data/mine/made")
    with pytest.raises(SystemExit) as stop:
        main(["scoreboard", "--data", str(tmp_path / "data"), "--kept", str(tmp_path / "kept")])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert (error.count("\n"), "oddbench" in error) == (1, True)
