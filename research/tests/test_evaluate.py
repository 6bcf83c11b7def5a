"""``python -m research evaluate``: its errors and its output; test_reproduction tests the files."""

from dataclasses import replace

import pytest
from made_testbed import make_testbed
from matplotlib.figure import Figure

from research import evaluation
from research.__main__ import main
from research.methods import METHODS
from research.testbed_data import TestbedData
from research.testbeds.folder import LeftOut, Manifest


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    out = capsys.readouterr()
    return stop.value.code, out.out, out.err


def refused(capsys, *arguments):
    code, out, err = call(capsys, *arguments)
    assert code == 2, (out, err)
    assert out == ""
    assert err.startswith("metaod: error: ")
    assert err.count("\n") == 1, err
    return err


@pytest.fixture
def testbeds(tmp_path):
    left_out = (LeftOut("speech", 1, "gone"), LeftOut("gas", 5, "gone"))
    for name in ("poc", "st", "childsets"):
        (tmp_path / name).mkdir()
        Manifest(name, 0, (), left_out, {}).write(tmp_path / name)
    return tmp_path


def options(testbeds, name):
    return ("--store", testbeds / "t.db", "--testbed", testbeds / name, "--out", testbeds / "out")


def test_unknown_testbed(capsys, testbeds):
    assert "'poc', 'st'" in refused(capsys, "evaluate", "mine", *options(testbeds, "poc"))


def test_folder_of_another_testbed(capsys, testbeds):
    message = refused(capsys, "evaluate", "poc", *options(testbeds, "st"))
    assert "the folder holds st, not poc; make it with: python -m research testbed poc" in message
    message = refused(capsys, "evaluate", "st", *options(testbeds, "childsets"))
    assert "holds childsets, not st" in message


def test_a_folder_without_manifest(capsys, testbeds):
    message = refused(capsys, "evaluate", "poc", *options(testbeds, "nowhere"))
    assert "research testbed" in message


@pytest.mark.parametrize("testbed", ["poc", "st"])
def test_unknown_protocol(capsys, testbeds, testbed):
    arguments = ("evaluate", testbed, *options(testbeds, testbed), "--protocol", "twice")
    message = refused(capsys, *arguments)
    assert ("'folds'" if testbed == "poc" else "'leave-one-origin-out'") in message


def test_zero_processes(capsys, testbeds):
    message = refused(capsys, "evaluate", "poc", *options(testbeds, "poc"), "--jobs", 0)
    assert "--jobs" in message


def test_missing_store(capsys, testbeds):
    assert "t.db" in refused(capsys, "evaluate", "poc", *options(testbeds, "poc"))
    assert not (testbeds / "out").exists()


@pytest.mark.parametrize("module", ["matplotlib", "scikit_posthocs"])
def test_missing_libraries_are_reported_before_the_run(capsys, testbeds, monkeypatch, module):
    monkeypatch.setattr(evaluation, "find_spec", lambda name: None if name == module else name)
    message = refused(capsys, "evaluate", "poc", *options(testbeds, "poc"))
    assert '[research]"' in message


class FakeStore:
    def __init__(self, *_, **__):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@pytest.fixture
def quick(monkeypatch):
    """A testbed of random numbers in place of a store's, with few methods and empty figures."""
    kept = ("lof", "iforest", "global_best", "global_best_rank", "oracle")
    methods = tuple(item for item in METHODS if item.key in kept)
    monkeypatch.setattr(Figure, "savefig", lambda _, path, **__: path.touch())
    monkeypatch.setattr("metaod.store.Store", FakeStore)
    monkeypatch.setitem(evaluation.evaluate_testbed.__kwdefaults__, "methods", methods)

    def give(testbed, **values):
        data = replace(make_testbed(testbed), **values)
        monkeypatch.setattr(TestbedData, "from_store", lambda *_: data)
        return data

    return give


def test_prints_duplicates_and_left_out_datasets(capsys, testbeds, quick):
    data = quick("st", duplicates=(("dami/Pima", "odds/pima"),))
    data.references.iloc[0, 0] = None
    code, out, err = call(capsys, "evaluate", "st", *options(testbeds, "st"), "--seeds", 1,
                          "--no-sensitivity", "--protocol", "leave-one-out")  # fmt: skip
    assert code == 0, err
    place = testbeds / "out" / "leave-one-out"
    assert "ST, leave-one-out: 7 datasets" in out
    assert "counted once: dami/Pima is the same table as odds/pima" in out
    assert f"left out: 1 datasets without average precision of some method; {place}" in out
    assert f"tables and figures: {place}" in out
    assert "6 datasets of the paper's ST are not available" in out
    assert (place / "duplicates.csv").read_text().splitlines() == [
        "dataset,the same table as", "dami/Pima,odds/pima",
    ]  # fmt: skip
    assert "dami/Pima" in (place / "duplicates.md").read_text()
    assert err == ""  # progress is shown on a terminal alone
    assert not (testbeds / "out" / "leave-one-origin-out").exists()
    assert not list(place.glob("sensitivity*"))
    assert len((place / ".journal" / "picks.jsonl").read_text().splitlines()) == 8 * 2


def test_prints_no_message_without_left_out_datasets(capsys, testbeds, quick, monkeypatch):
    quick("st")
    monkeypatch.setattr(
        evaluation.Findings,
        "write",
        lambda *_: (testbeds / "out" / "leave-one-origin-out").mkdir(parents=True, exist_ok=True),
    )
    code, out, err = call(capsys, "evaluate", "st", *options(testbeds, "st"), "--seeds", 1,
                          "--no-sensitivity", "--protocol", "leave-one-origin-out")  # fmt: skip
    assert code == 0, err
    assert "counted once" not in out
    assert "left out" not in out
    assert not (testbeds / "out" / "leave-one-origin-out" / "duplicates.csv").exists()


def test_out_is_a_file(capsys, testbeds, quick):
    quick("poc")
    (testbeds / "out").write_text("a file")
    message = refused(capsys, "evaluate", "poc", *options(testbeds, "poc"))
    assert "cannot be used" in message
