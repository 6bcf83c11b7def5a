"""The guide's recipe for "Add your labelled tables to the default learner", on tiny tables."""

import hashlib
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from made_commands import words_of

from metaod.artifacts import Artifact
from metaod.cli import main as command
from metaod.history import DEFAULT_FOREST, RECIPES, shipped_folder
from metaod.models import candidate_averages, model_space

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "learner.md"
N_SHIPPED = 12


def recipe():
    text = GUIDE.read_text("utf-8")
    section = text.partition("## Add your labelled tables to the default learner\n")[2]
    return re.findall(r"^    (metaod .*)$", section.partition("\n## ")[0], re.MULTILINE)


@pytest.fixture
def few_shipped(tmp_path, monkeypatch):
    """A shipped matrix of a few datasets, with the models that the default picks from."""
    folder = tmp_path / "shipped"
    shutil.copytree(shipped_folder(), folder)
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    recipe = RECIPES["default"]
    specs = (*model_space(recipe.space), *candidate_averages())
    models = {*(spec.id for spec in specs), DEFAULT_FOREST}
    datasets = pd.read_parquet(folder / "datasets.parquet")["fingerprint"].head(N_SHIPPED)
    for path in folder.glob("*.parquet"):
        rows = pq.read_table(path)
        for name, kept in (("dataset", datasets), ("fingerprint", datasets), ("model", models)):
            if name in rows.column_names:
                rows = rows.filter(pc.is_in(rows[name], pa.array(sorted(kept))))
        if path.stem == "models":
            rows = rows.filter(pc.is_in(rows["id"], pa.array(sorted(models))))
        pq.write_table(rows, path)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        manifest["files"][path.name] = {"rows": len(rows), "sha256": digest}
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    monkeypatch.setattr("metaod.history.shipped_folder", lambda: folder)


def write_table(path, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    frame["plant"] = rng.choice(["north", "south"], 60)
    frame["fault"] = (np.arange(60) % 20 == 7).astype(int)
    frame.loc[frame["fault"] == 1, ["a", "b"]] += 5.0
    frame.to_csv(path, index=False)


def test_the_recipe_of_the_guide_works(tmp_path, few_shipped, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    for seed in range(2):
        write_table(f"mine/table{seed}.csv", seed)
    write_table("table.csv", 9)
    screens = {}
    lines = recipe()
    assert [words_of(line)[0] for line in lines] == ["db", "build", "train", "compare", "detect"]
    for line in lines:
        words = [
            part
            for word in words_of(line)
            for part in (sorted(map(str, Path().glob(word))) if "*" in word else [word])
        ]
        with pytest.raises(SystemExit) as stop:
            command.main(words)
        screen = capsys.readouterr()
        assert stop.value.code == 0, screen.err
        screens[words[0]] = screen.out
    assert f"{N_SHIPPED + 2} labelled datasets of" in screens["train"]
    assert "40 models and 456 averages of them" in screens["train"]
    assert "mean of 2 tables" in screens["compare"]
    assert Artifact.load("mine.metaod").learner.name == RECIPES["default"].learner
    assert {"score", "rank", "flag"} <= set(pd.read_csv("scored.csv").columns)
