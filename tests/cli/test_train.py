"""``metaod train`` and ``metaod learners``."""

import json

import numpy as np
import pytest

from metaod.artifacts import Artifact
from metaod.history import RECIPES, Evaluation
from metaod.metafeatures import schema
from metaod.models import CellState, ModelSpec, average_of, model_space
from metaod.store import DatasetRecord, MetaFeatureRecord, Store

SPECS = [ModelSpec("HBOS", {"n_bins": bins}) for bins in (5, 10, 20)]


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


def test_train_and_load(run, tmp_path, store):
    out = tmp_path / "my.metaod"
    screen = run("train", "--store", store, "--learner", "made_best", "--out", out)
    for words in (
        "made_best (Best)",
        "8 labelled datasets of 4 origins",
        "3 models",
        "paper (version 2)",
        str(out),
    ):
        assert words in screen
    artifact = Artifact.load(out)
    assert artifact.learner.models_ == tuple(spec.id for spec in SPECS)
    assert artifact.learner.features_ == schema("paper").learned
    assert len(artifact.datasets) == 8
    assert artifact.measure == "ap"
    assert artifact.n_origins == 4


def test_options_reach_the_learner(run, tmp_path, store):
    out = tmp_path / "my.metaod"
    arguments = ["train", "--store", store, "--learner", "metaod", "--out", out,
                 "--set", "k=2", "--set", "epochs=3", "--schema", "scores", "--schema", "paper",
                 "--measure", "roc_auc", "--seed", "7",
                 "--exclude-origin", "origin1", "--exclude-origin", "origin2"]  # fmt: skip
    run(*arguments)
    artifact = Artifact.load(out)
    learner = artifact.learner
    assert (learner.k, learner.epochs, learner.random_state) == (2, 3, 7)
    assert artifact.measure == "roc_auc"
    assert list(artifact.schemas) == ["scores", "paper"]
    assert artifact.learner.features_ == (*schema("scores").learned, *schema("paper").learned)
    assert len(artifact.datasets) == 4
    first = out.read_bytes()
    run(*arguments)
    assert out.read_bytes() == first


@pytest.mark.parametrize(
    ("fits", "words", "calibrated"),
    [(0, "not calibrated", False), (2, "by 2 fits", True),
     (5, "not calibrated: 4 origins for 5 fits are too few", False)],
    ids=str,
)  # fmt: skip
def test_the_closing_says_whether_it_is_calibrated(run, tmp_path, store, fits, words, calibrated):
    out = tmp_path / "my.metaod"
    screen = run("train", "--store", store, "--learner", "made_best",
                 "--out", out, "--calibrate", fits)  # fmt: skip
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
        (("--space", "extended", "--no-averages"), EXTENDED, "4 models "),
        (("--no-averages",), (*EXTENDED, *SPECS), "7 models "),
    ],
    ids=str,
)
def test_a_space_limits_what_is_learned(run, tmp_path, options, picked, words):
    path = fill(tmp_path / "mixed.db", specs=MIXED)
    out = tmp_path / "my.metaod"
    screen = run("train", "--store", path, "--learner", "made_best", "-o", out, *options)
    assert set(Artifact.load(out).learner.models_) == {spec.id for spec in picked}
    assert words in screen


def test_the_default_learns_as_the_shipped_one_does(run, tmp_path):
    path = fill(tmp_path / "mixed.db", specs=MIXED)
    with Store(str(path)) as opened:
        opened.add_dataset(
            DatasetRecord("fp1:" + "f" * 32, "idle", "idle", 100, 5, 10,
                          collection="made", source="generated", licence="CC0-1.0")
        )  # fmt: skip
    out = tmp_path / "my.metaod"
    screen = run("train", "--store", path, "-o", out, "--calibrate", 0, "--set", "n_estimators=2")
    artifact = Artifact.load(out)
    assert artifact.learner.name == RECIPES["default"].learner
    assert list(artifact.schemas) == list(RECIPES["default"].schemas)
    assert set(artifact.learner.models_) == {spec.id for spec in (*EXTENDED, AVERAGE)}
    assert "8 labelled datasets of 4 origins; the store has 1 more without these models" in screen


def test_a_store_without_models_of_the_space_is_refused(run, tmp_path, store):
    to = ("-o", tmp_path / "my.metaod")
    assert "'extended'" in run("train", "--store", store, *to, code=2)
    path = fill(tmp_path / "averages.db", specs=(AVERAGE, average_of(*EXTENDED[1:3])))
    options = ("--learner", "made_best", "--no-averages")
    assert "single model" in run("train", "--store", path, *to, *options, code=2)


def bad_input(store, tmp_path):
    base = ["--store", store, "--out", tmp_path / "a.metaod"]
    random = [*base, "--learner", "metaod"]
    best = [*base, "--learner", "made_best"]
    return {
        "learner": ([*base, "--learner", "nobody"], "'nobody'"),
        "parameter": ([*random, "--set", "depth=3"], "depth"),
        "type": ([*random, "--set", "random_state=many"], "'random_state'"),
        "no value": ([*random, "--set", "random_state"], "NAME=VALUE"),
        "twice": ([*random, "--set", "random_state=1", "--set", "random_state=2"], "given once"),
        "seed": ([*random, "--seed", "-1"], "--seed"),
        "large seed": ([*random, "--seed", 2**32], "'random_state'"),
        "no trees": ([*base, "--learner", "gain_forest", "--set", "n_estimators=0"],
                     "'n_estimators'"),
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
        "the store": (["--store", store, "--out", store], "is not a file that metaod saved"),
    }  # fmt: skip


def test_bad_input_is_one_line(run, tmp_path, store):
    for case, (arguments, words) in bad_input(store, tmp_path).items():
        more = () if "--learner" in arguments else ("--learner", "made_best")
        assert words in run("train", *arguments, *more, code=2), case
    assert not list(tmp_path.glob("*.metaod"))


def test_stores_that_lack_something(run, tmp_path):
    with Store(str(tmp_path / "empty.db"), create=True):
        pass
    fill(tmp_path / "plain.db", schemas=["scores"])
    fill(tmp_path / "idle.db", cells=False)
    for name, words in (
        ("empty", "holds no performance yet"),
        ("idle", "holds no performance yet"),
        ("plain", "no meta-features of schema 'paper'"),
    ):
        err = run("train", "--store", tmp_path / f"{name}.db", "--learner", "made_best",
                  "--out", tmp_path / "a.metaod", code=2)  # fmt: skip
        assert words in err
        assert "metaod build" in err


def test_learners_are_listed(run):
    out = run("learners")
    for name in ("metaod", "gain_forest", "made_best"):
        assert name in out
    lines = [line for line in out.splitlines() if line.strip()]
    listed = {item["name"]: item for item in json.loads(run("learners", "--json"))}
    assert len(lines) == len(listed) + 2  # a heading and its rule
    assert listed["made_best"]["title"] == "Best"
    assert "random_state" in listed["metaod"]["parameters"]
    assert all(item["summary"] for item in listed.values())
