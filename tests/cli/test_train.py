"""``metaod train`` and ``metaod learners``."""

import json

import numpy as np
import pytest

from metaod.artifacts import Artifact
from metaod.cli import main as command
from metaod.history import RECIPES, Evaluation
from metaod.metafeatures import schema
from metaod.models import CellState, ModelSpec, average_of, model_space
from metaod.store import DatasetRecord, MetaFeatureRecord, Store

SPECS = [ModelSpec("HBOS", {"n_bins": bins}) for bins in (5, 10, 20)]


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        command.main([str(argument) for argument in arguments])
    out = capsys.readouterr()
    return stop.value.code, out.out, out.err


def refused(capsys, words, *arguments):
    code, out, err = call(capsys, *arguments)
    assert code == 2, (out, err)
    assert err.startswith("metaod: error: ")
    assert err.count("\n") == 1, err
    assert words in err
    return err


def fill(path, *, schemas=("paper", "scores"), cells=True, specs=SPECS):
    rng = np.random.default_rng(0)
    with Store(str(path), create=True) as store:
        store.add_models(specs)
        for number in range(8):
            fingerprint = f"fp1:{number:032x}"
            store.add_dataset(
                DatasetRecord(fingerprint, f"set{number}", f"origin{number // 2}", 100, 5, 10,
                              collection="made", source="generated", licence="CC0-1.0")
            )  # fmt: skip
            evaluations = [
                Evaluation(spec.id, 0, CellState.OK, *rng.uniform(size=3), 0.1, 0, "",
                           "1.0")
                for spec in specs
            ]  # fmt: skip
            vectors = [
                MetaFeatureRecord(name, schema(name).version, schema(name).names,
                                  rng.normal(size=len(schema(name).names)))
                for name in schemas
            ]  # fmt: skip
            store.record_task(fingerprint, evaluations if cells else [], vectors)
    return path


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("store") / "my.db")


def test_train_and_load(capsys, tmp_path, store):
    out = tmp_path / "my.metaod"
    code, screen, err = call(
        capsys, "train", "--store", store, "--learner", "made_best", "--out", out
    )
    assert code == 0, err
    assert err == ""
    for words in (
        "made_best (Best)",
        "8 datasets of 4 origins",
        "3 models, by ap",
        "schema paper 2",
        str(out),
    ):
        assert words in screen
    artifact = Artifact.load(out)
    assert artifact.learner.models_ == tuple(spec.id for spec in SPECS)
    assert artifact.learner.features_ == schema("paper").learned
    assert len(artifact.datasets) == 8
    assert artifact.measure == "ap"
    assert artifact.n_origins == 4


def test_options_reach_the_learner(capsys, tmp_path, store):
    out = tmp_path / "my.metaod"
    arguments = ["train", "--store", store, "--learner", "metaod", "--out", out,
                 "--schema", "scores", "--schema", "paper", "--measure", "roc_auc", "--seed", "7",
                 "--exclude-origin", "origin1", "--exclude-origin", "origin2"]  # fmt: skip
    assert call(capsys, *arguments)[0] == 0
    artifact = Artifact.load(out)
    assert artifact.learner.random_state == 7
    assert artifact.measure == "roc_auc"
    assert list(artifact.schemas) == ["scores", "paper"]
    assert artifact.learner.features_ == (*schema("scores").learned, *schema("paper").learned)
    assert len(artifact.datasets) == 4
    first = out.read_bytes()
    assert call(capsys, *arguments)[0] == 0
    assert out.read_bytes() == first


def test_parameters_are_set(capsys, tmp_path, store):
    out = tmp_path / "my.metaod"
    code, _, err = call(capsys, "train", "--store", store, "--learner", "metaod", "--out", out,
                        "--set", "k=2", "--set", "epochs=3", "--seed", "1")  # fmt: skip
    assert code == 0, err
    learner = Artifact.load(out).learner
    assert (learner.k, learner.epochs, learner.random_state) == (2, 3, 1)


@pytest.mark.parametrize(
    ("fits", "words", "calibrated"),
    [(0, "not calibrated", False), (2, "by 2 fits", True),
     (5, "not calibrated: 4 origins for 5 fits are too few", False)],
    ids=str,
)  # fmt: skip
def test_the_closing_says_whether_it_is_calibrated(
    capsys, tmp_path, store, fits, words, calibrated
):
    out = tmp_path / "my.metaod"
    code, screen, err = call(capsys, "train", "--store", store, "--learner", "made_best",
                             "--out", out, "--calibrate", fits)  # fmt: skip
    assert code == 0, err
    (line,) = [line for line in screen.splitlines() if line.strip().startswith("calibration")]
    assert line.split("calibration")[1].strip() == words
    assert (Artifact.load(out).calibration is not None) == calibrated


EXTENDED = model_space("extended")[:4]
AVERAGE = average_of(*EXTENDED[:2])
MIXED = (*EXTENDED, AVERAGE, average_of(EXTENDED[0], SPECS[0]), *SPECS)


@pytest.mark.parametrize(
    ("options", "picked", "words"),
    [
        ((), MIXED, "7 models and 2 averages of them"),
        (("--space", "extended"), (*EXTENDED, AVERAGE), "4 models and 1 average of them"),
        (("--space", "extended", "--no-averages"), EXTENDED, "4 models, by ap"),
        (("--no-averages",), (*EXTENDED, *SPECS), "7 models, by ap"),
    ],
    ids=str,
)
def test_a_space_limits_what_is_learned(capsys, tmp_path, options, picked, words):
    path = fill(tmp_path / "mixed.db", specs=MIXED)
    out = tmp_path / "my.metaod"
    code, screen, err = call(
        capsys, "train", "--store", path, "--learner", "made_best", "-o", out, *options
    )
    assert code == 0, err
    assert set(Artifact.load(out).learner.models_) == {spec.id for spec in picked}
    assert words in screen


def test_the_default_learns_as_the_shipped_one_does(capsys, tmp_path):
    path = fill(tmp_path / "mixed.db", specs=MIXED)
    with Store(str(path)) as opened:
        opened.add_dataset(
            DatasetRecord("fp1:" + "f" * 32, "idle", "idle", 100, 5, 10,
                          collection="made", source="generated", licence="CC0-1.0")
        )  # fmt: skip
    out = tmp_path / "my.metaod"
    code, screen, err = call(
        capsys, "train", "--store", path, "-o", out, "--calibrate", 0, "--set", "n_estimators=2"
    )
    assert code == 0, err
    artifact = Artifact.load(out)
    assert artifact.learner.name == RECIPES["default"].learner
    assert list(artifact.schemas) == list(RECIPES["default"].schemas)
    assert set(artifact.learner.models_) == {spec.id for spec in (*EXTENDED, AVERAGE)}
    assert "8 datasets of 4 origins; the store has 1 more without these models" in screen


def test_a_store_without_models_of_the_space_is_refused(capsys, tmp_path, store):
    words = "holds no model of the space 'extended'; evaluate some with: metaod build --space"
    refused(capsys, words, "train", "--store", store, "-o", tmp_path / "my.metaod")
    path = fill(tmp_path / "averages.db", specs=(AVERAGE, average_of(*EXTENDED[1:3])))
    words = "holds no single model"
    refused(capsys, words, "train", "--store", path, "-o", tmp_path / "my.metaod",
            "--learner", "made_best", "--no-averages")  # fmt: skip


def bad_input(store, tmp_path):
    other = tmp_path / "table.csv"
    other.write_text("a,b\n1,2\n")
    base = ["--store", store, "--out", tmp_path / "a.metaod"]
    random = [*base, "--learner", "metaod"]
    best = [*base, "--learner", "made_best"]
    return {
        "learner": ([*base, "--learner", "nobody"], "'nobody'"),
        "parameter": ([*random, "--set", "depth=3"], "depth"),
        "type": ([*random, "--set", "random_state=many"], "'random_state'"),
        "fraction": ([*random, "--set", "random_state=1.5"], "'random_state'"),
        "no value": ([*random, "--set", "random_state"], "NAME=VALUE"),
        "twice": ([*random, "--set", "random_state=1", "--set", "random_state=2"], "given once"),
        "seed": ([*random, "--seed", "-1"], "--seed"),
        "large seed": ([*random, "--seed", 2**32], "'random_state'"),
        "negative seed": ([*base, "--learner", "metaod", "--set", "random_state=-1"],
                          "'random_state'"),
        "no trees": ([*base, "--learner", "gain_forest", "--set", "n_estimators=0"],
                     "'n_estimators'"),
        "features": ([*base, "--learner", "gain_forest", "--set", "max_features=5.0"],
                     "'max_features'"),
        "one fit": ([*best, "--calibrate", "1"], "0 for none, or 2 or more"),
        "measure": ([*best, "--measure", "seconds"], "'--measure'"),
        "schema": ([*best, "--schema", "dreams"], "'dreams'"),
        "space": ([*best, "--space", "outer"], "'outer'"),
        "schema twice": ([*best, "--schema", "paper", "--schema", "paper"], "different"),
        "origin": ([*best, "--exclude-origin", "origin9"], "'origin9'"),
        "all origins": (
            [*best, *(part for k in range(4) for part in ("--exclude-origin", f"origin{k}"))],
            "a dataset is left",
        ),
        "no store": (
            ["--store", tmp_path / "none.db", "--out", tmp_path / "a"],
            "there is no such store",
        ),
        "no folder": (["--store", store, "--out", tmp_path / "no" / "a"], "there is no folder"),
        "a folder": (["--store", store, "--out", tmp_path], "is a folder"),
        "the store": (["--store", store, "--out", store], "is not a file that metaod saved"),
        "another file": (["--store", store, "--out", other], "is not a file that metaod saved"),
    }  # fmt: skip


CASES = ["learner", "parameter", "type", "fraction", "no value", "twice", "seed", "large seed",
         "negative seed", "no trees", "features", "one fit", "measure", "schema", "space",
         "schema twice", "origin", "all origins", "no store", "no folder", "a folder",
         "the store", "another file"]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_one_line(capsys, tmp_path, store, case):
    arguments, words = bad_input(store, tmp_path)[case]
    assert len(bad_input(store, tmp_path)) == len(CASES)
    if "--learner" not in arguments:
        arguments = [*arguments, "--learner", "made_best"]
    refused(capsys, words, "train", *arguments)
    assert not list(tmp_path.glob("*.metaod"))


def test_stores_that_lack_something(capsys, tmp_path):
    with Store(str(tmp_path / "empty.db"), create=True):
        pass
    fill(tmp_path / "plain.db", schemas=["scores"])
    fill(tmp_path / "idle.db", cells=False)
    for name, words in (
        ("empty", "holds no performance yet"),
        ("idle", "holds no performance yet"),
        ("plain", "no meta-features of schema 'paper'"),
    ):
        err = refused(capsys, words, "train", "--store", tmp_path / f"{name}.db", "--learner",
                      "made_best", "--out", tmp_path / "a.metaod")  # fmt: skip
        assert "metaod build" in err


def test_learners_are_listed(capsys):
    code, out, err = call(capsys, "learners")
    assert code == 0, err
    for name in ("metaod", "gain_forest", "made_best"):
        assert name in out
    lines = [line for line in out.splitlines() if line.strip()]
    code, out, _ = call(capsys, "learners", "--json")
    listed = {item["name"]: item for item in json.loads(out)}
    assert len(lines) == len(listed) + 2  # a heading and its rule
    assert listed["made_best"]["title"] == "Best"
    assert "random_state" in listed["metaod"]["parameters"]
    assert all(item["summary"] for item in listed.values())
