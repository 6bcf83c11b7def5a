"""POC, ST and childsets of own tables, on generated mothersets."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from metaod.errors import BadFile, BadParameter, UserError
from metaod.history import fingerprint, iter_folder
from research.catalogue import catalogue
from research.childsets import labelling
from research.childsets.recipe import Recipe
from research.commands.testbed import app
from research.testbeds.building import build_poc, build_st
from research.testbeds.folder import read_manifest
from research.testbeds.sources import settings


@pytest.fixture(scope="module", autouse=True)
def quick_difficulty():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(labelling, "_LANDMARKS", 40)
        patch.setattr(labelling, "_FITTED_ROWS", 1_500)
        patch.setattr(labelling, "_FOREST_ROWS", 1_000)
        yield


def make_wave(sizes=(1657, 1647, 1696)):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], sizes)
    left, middle, right = (
        np.maximum(6 - np.abs(np.arange(1, 22) - peak), 0) for peak in (7, 11, 15)
    )
    u = rng.random((len(y), 1))
    X = u * np.array([left, left, right])[y] + (1 - u) * np.array([right, middle, middle])[y]
    return X + rng.normal(size=X.shape), y


def write_mothersets(folder, **tables):
    lines = ["name,task,origin,note,file"]
    folder.mkdir()
    for name, (X, y, task, origin, note) in tables.items():
        np.savez(folder / f"{name}.npz", X=X, y=y)
        lines.append(f"{name},{task},{origin},{note},{name}.npz")
    (folder / "catalog.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def mothersets(tmp_path_factory):
    rng = np.random.default_rng(1)
    concrete = rng.normal(size=(1030, 8))
    mfeat = rng.normal(size=(300, 6))
    classes = np.arange(300) % 3
    mfeat[:, 0] += 2 * classes
    return write_mothersets(
        tmp_path_factory.mktemp("data") / "mothersets",
        wave=(*make_wave(), "multiclass", "waveform", ""),
        concrete=(concrete, concrete[:, 0] + rng.normal(size=1030), "regression", "cement", ""),
        mfeat=(mfeat, classes, "multiclass", "mfeat", "digits"),
    )


@pytest.fixture(scope="module")
def poc(mothersets, tmp_path_factory):
    out = tmp_path_factory.mktemp("poc") / "deep" / "poc"
    return out, build_poc(out, mothersets=mothersets)


@pytest.fixture(scope="module")
def st(mothersets, tmp_path_factory):
    out = tmp_path_factory.mktemp("st")
    return out, build_st(out, mothersets=mothersets)


def test_settings_are_twenty_and_of_the_papers_table():
    assert len({setting.motherset for setting in settings()}) == 20
    for setting in settings():
        assert setting.number % 5 == 1  # the first sibling
        assert Recipe.from_number(setting.number + 4) == setting.recipe
        rows, _, outliers = setting.shape
        if setting.recipe.frequency != "any":
            assert 0.98 < outliers / rows / setting.recipe.frequency < 1.12
    assert {setting.motherset for setting in settings() if setting.must_agree} == {
        "wave",
        "imgseg",
        "magic.gamma",
    }
    known = {setting.stand_in.motherset for setting in settings() if setting.stand_in}
    assert known == {"mfeat", "texture"}


def test_poc_has_one_sibling_of_each_motherset_in_each_fold(poc):
    _, manifest = poc
    assert len(manifest.members) == 20
    for fold in range(1, 6):
        found = [member.motherset for member in manifest.members if member.fold == fold]
        assert sorted(found) == ["concrete", "mfeat", "synthetic", "wave"]
    assert len({member.fingerprint for member in manifest.members}) == 20
    origins = {member.motherset: member.origin for member in manifest.members}
    assert origins["concrete"] == "cement"


def test_unavailable_datasets_are_listed_and_counted(poc):
    _, manifest = poc
    assert len(manifest.left_out) == 16
    assert "particle" in {item.name for item in manifest.left_out}
    assert manifest.counts() == {"motherset": 15, "stand-in": 5, "left out": 80}
    assert manifest.stand_ins == {"gas": "mfeat"}
    stand_in = next(member for member in manifest.members if member.source == "stand-in")
    assert stand_in.name == "childsets/mfeat_0921"
    assert "commercially" in stand_in.note
    assert stand_in.paper_shape is None


def test_a_build_reads_the_folder_as_it_is(poc):
    out, manifest = poc
    members = {member.name: member for member in manifest.members}
    entries = iter_folder(out)
    assert [entry.full_name for entry in entries] == list(members)
    for entry in entries:
        dataset, member = entry.load(), members[entry.full_name]
        assert dataset.fingerprint == member.fingerprint
        assert dataset.origin == member.origin
        assert (*dataset.X.shape, dataset.y.sum()) == member.shape


def test_the_named_shape_is_the_papers(poc):
    _, manifest = poc
    wave = next(member for member in manifest.members if member.name == "childsets/wave_0661")
    assert wave.shape == (3024, 21, 16)
    assert wave.must_agree
    assert wave.agrees
    assert f"{wave.outlier_share:.4%}" == "0.5291%"


def test_manifest_round_trip(poc, st):
    for out, manifest in (poc, st):
        assert read_manifest(out) == manifest
        assert read_manifest(out / "manifest.json") == manifest


def read_files(folder, build, mothersets, **options):
    build(folder, mothersets=mothersets, **options)
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder): path.read_bytes() for path in paths}


def test_the_same_seed_gives_the_same_bytes(poc, mothersets, tmp_path):
    out, _ = poc
    again = read_files(tmp_path / "again", build_poc, mothersets)
    other = read_files(tmp_path / "other", build_st, mothersets, seed=1)
    first = {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert len(first) == 22
    assert again == first
    childsets = [file for file in other if file.suffix == ".npz"]
    assert len(childsets) == 4
    assert all(other[file] != first[file] for file in childsets)


def test_st_lists_the_sets_by_fingerprint_and_holds_the_childsets(st, poc):
    out, manifest = st
    assert manifest.counts() == {"catalogue": 41, "motherset": 3, "stand-in": 1, "left out": 17}
    known = catalogue()
    for member in manifest.members[:41]:
        assert member.fingerprint == known[member.name].fingerprint
        assert member.file is None
    assert manifest.left_out[0].name == "odds/speech"
    assert "--extra speech=FILE" in manifest.left_out[0].reason
    # the childsets are POC's first siblings
    firsts = {member.fingerprint for member in poc[1].members if member.replicate == 1}
    assert {member.fingerprint for member in manifest.members[41:]} == firsts
    assert len(iter_folder(out)) == 4


def test_st_leaves_out_sets_missing_from_the_data_folder(mothersets, tmp_path, monkeypatch):
    monkeypatch.setenv("METAOD_CACHE", str(tmp_path / "cache"))
    (tmp_path / "data").mkdir()
    manifest = build_st(tmp_path / "st", mothersets=mothersets, data=tmp_path / "data")
    assert manifest.counts() == {"motherset": 3, "stand-in": 1, "left out": 58}
    with pytest.raises(BadFile, match="is not a folder"):
        build_st(tmp_path / "st", mothersets=mothersets, data=tmp_path / "nowhere")


def test_speech_can_be_given(tmp_path):
    archive = tmp_path / "archive"
    write_original(archive / "gas_0321.csv")
    X = np.random.default_rng(0).normal(size=(3686, 400)).round(2)
    y = (np.arange(3686) < 61).astype(int)
    np.savez(tmp_path / "mine.npz", X=X, y=y)
    manifest = build_st(tmp_path / "st", archive=archive, extras={"Speech": tmp_path / "mine.npz"})
    [speech] = [member for member in manifest.members if member.source == "extra"]
    assert speech.name == "odds/speech"
    assert speech.fingerprint == fingerprint(X, y)
    [entry] = [entry for entry in iter_folder(tmp_path / "st") if entry.collection == "odds"]
    assert entry.load().fingerprint == speech.fingerprint
    np.savez(tmp_path / "less.npz", X=X[:-1], y=y[:-1])
    with pytest.raises(BadFile, match="is not odds/speech: 3685 rows"):
        build_st(tmp_path / "st", archive=archive, extras={"speech": tmp_path / "less.npz"})
    with pytest.raises(BadParameter, match="'speech'"):
        build_st(tmp_path / "st", archive=archive, extras={"wine": tmp_path / "mine.npz"})


def write_original(path, truth="nominal"):
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(
        {
            "point.id": [f"p{i}" for i in range(20)],
            "motherset": "gas",
            "origin": "multiclass",
            "original.label": range(20),
            "diff.score": 0.5,
            "ground.truth": [truth] * 18 + ["anomaly"] * 2,
            "V": np.linspace(0, 1, 20) + len(path.stem) + int(path.stem[-1]),
            "V.1": np.linspace(1, 0, 20),
        }
    ).to_csv(path, index=False)


def test_the_original_archive_comes_first(mothersets, tmp_path):
    archive = tmp_path / "archive"
    for number in (321, 322, 325):
        write_original(archive / "gas" / f"gas_benchmark_{number:04d}.csv")
    write_original(archive / "wave_0661.csv")
    manifest = build_poc(tmp_path / "poc", mothersets=mothersets, archive=archive)
    gas = [member for member in manifest.members if member.name.startswith("emmott/gas")]
    assert [member.name[-4:] for member in gas] == ["0321", "0322", "0325"]
    assert gas[0].shape == (20, 2, 2)
    assert gas[0].origin == "gas"
    # what the archive lacks is made
    assert manifest.counts()["archive"] == 4
    assert manifest.counts()["stand-in"] == 2
    names = [member.name for member in manifest.members]
    assert "emmott/wave_0661" in names
    assert "childsets/wave_0662" in names
    alone = build_poc(tmp_path / "alone", archive=archive)
    assert alone.counts() == {"archive": 4, "left out": 96}


def test_a_motherset_without_rows_of_its_difficulty_is_left_out(tmp_path):
    y = np.arange(400) % 2
    X = np.random.default_rng(0).normal(size=(400, 3)) + 20 * y[:, None]
    apart = write_mothersets(tmp_path / "m", skin=(X, y, "binary", "skin", ""))
    manifest = build_poc(tmp_path / "poc", mothersets=apart)
    [skin] = [item for item in manifest.left_out if item.name == "skin"]
    assert (skin.datasets, skin.reason) == (5, "skin has no row that is hard")


def test_files_that_are_not_the_archives(tmp_path):
    with pytest.raises(BadFile, match="is not a folder"):
        build_poc(tmp_path / "poc", archive=tmp_path / "nowhere")
    archive = tmp_path / "archive"
    archive.mkdir()
    with pytest.raises(BadFile, match="has no CSV"):
        build_poc(tmp_path / "poc", archive=archive)
    write_original(archive / "gas_0321.csv", truth="fine")
    with pytest.raises(
        UserError, match=r"gas_0321.csv, column 'ground.truth': holds anomaly, fine"
    ):
        build_poc(tmp_path / "poc", archive=archive)
    (archive / "gas_0321.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UserError, match=r"column 'ground.truth': is not in the table"):
        build_poc(tmp_path / "poc", archive=archive)
    (archive / "gas_0321.csv").write_text("a,ground.truth\nx,nominal\n")
    with pytest.raises(UserError, match=r"column 'a': is not numeric"):
        build_poc(tmp_path / "poc", archive=archive)


def test_a_folder_of_other_datasets_is_not_written_over(poc, mothersets, tmp_path):
    (tmp_path / "catalogue.csv").write_text("name\n")
    with pytest.raises(BadFile, match=r"catalogue.csv: is a list of other datasets; .*--out"):
        build_poc(tmp_path, mothersets=mothersets)
    assert (tmp_path / "catalogue.csv").read_text() == "name\n"
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be created"):
        build_poc(tmp_path / "file", mothersets=mothersets)


def test_no_source_of_childsets(tmp_path):
    with pytest.raises(UserError, match="--mothersets or --archive"):
        build_poc(tmp_path / "poc")
    write_original(tmp_path / "archive" / "other_0001.csv")
    with pytest.raises(UserError, match="none of the 20 mothersets"):
        build_poc(tmp_path / "poc", archive=tmp_path / "archive")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a testbed's manifest"),
        ('{"format": 9}', "is not a testbed's manifest"),
        ('{"format": 1}', "is a damaged manifest"),
        (
            '{"format": 1, "testbed": "st", "seed": 0, "members": [{"name": "a"}]}',
            "is a damaged manifest",
        ),
    ],
    ids=["text", "list", "later", "empty", "short"],
)
def test_damaged_manifests(tmp_path, text, words):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(BadFile, match=words):
        read_manifest(tmp_path)


def test_no_manifest(tmp_path):
    with pytest.raises(BadFile, match="research testbed"):
        read_manifest(tmp_path)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_commands_show_what_was_made(mothersets, tmp_path):
    done = run("poc", "--mothersets", mothersets, "--data", tmp_path, "--out", tmp_path / "poc")
    assert done.exit_code == 0, done.output
    for words in (
        "childsets/wave_0661",
        "the same",
        "mfeat stands in for gas",
        "left out: yeast (5)",
        "20 datasets (15 motherset, 5 stand-in, 80 left out)",
        "shapes checked against the paper: childsets/wave_0661",
    ):
        assert words in done.output
    done = run("st", "--mothersets", mothersets, "--out", tmp_path / "st")
    assert done.exit_code == 0, done.output
    assert "45 datasets (41 catalogue, 3 motherset, 1 stand-in, 17 left out)" in done.output


def test_a_named_shape_that_differs_is_an_error(tmp_path):
    X, y = make_wave((300, 300, 301))
    short = write_mothersets(tmp_path / "m", wave=(X, y, "multiclass", "waveform", ""))
    done = run("poc", "--mothersets", short, "--out", tmp_path / "poc")
    assert isinstance(done.exception, UserError)
    assert "childsets/wave_0661: is 543 rows × 21 columns with 3 outliers" in str(done.exception)
    assert len(read_manifest(tmp_path / "poc").members) == 10


def test_childsets_of_an_own_table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 4)), columns=list("abcd"))
    frame["grade"] = (frame["a"] + rng.normal(size=400)).round(3)
    frame.to_csv(tmp_path / "own.csv", index=False)
    options = ("--target", "grade", "--frequency", "0.05", "--difficulty", "hard")
    more = ("--irrelevance", "1.5", "--clusteredness", "clustered", "--replicates", "3")
    done = run("childsets", tmp_path / "own.csv", *options, *more, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    manifest = read_manifest(tmp_path / "out")
    assert manifest.testbed == "childsets"
    assert [member.shape for member in manifest.members] == [(190, 9, 10)] * 3
    assert manifest.members[0].recipe == Recipe("hard", 0.05, "clustered", 1.5)
    assert len(iter_folder(tmp_path / "out")) == 3
    written = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert written["members"][2]["replicate"] == 3
    assert set(written["versions"]) == {"python", "metaod", "numpy", "scipy", "scikit-learn"}


def test_childsets_of_a_folder_of_mothersets(mothersets, tmp_path):
    only = ("--only", "concrete", "--only", "synthetic", "--replicates", "1")
    done = run("childsets", mothersets, *only, "--frequency", "0.01", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert [member.origin for member in read_manifest(tmp_path / "out").members] == [
        "cement",
        "synthetic",
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--frequency", "2"), "(0, 0.5]"),
        (("--frequency", "often"), "(0, 0.5]"),
        (("--difficulty", "tough"), "'very hard'"),
        (("--task", "ranking"), "'multiclass'"),
        (("--target", "z"), "is not in the table"),
        (("--normal-at-least", "3"), "normal_at_least"),
    ],
    ids=["share", "word", "difficulty", "task", "target", "normal"],
)
def test_invalid_options(tmp_path, options, words):
    table = tmp_path / "own.csv"
    table.write_text("a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(50)))
    done = run("childsets", table, *options, "--out", tmp_path / "out")
    assert isinstance(done.exception, UserError)
    assert words in str(done.exception)


def test_other_invalid_options(mothersets, tmp_path):
    done = run("childsets", mothersets, "--only", "steel", "--out", tmp_path / "out")
    assert "'concrete'" in str(done.exception)
    done = run("st", "--mothersets", mothersets, "--extra", "speech", "--out", tmp_path / "out")
    assert "NAME=FILE" in str(done.exception)
    done = run("poc", "--mothersets", mothersets, "--data", Path("nowhere"), "--out", tmp_path)
    assert "nowhere: is not a folder" in str(done.exception)
