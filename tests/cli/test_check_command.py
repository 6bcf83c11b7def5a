"""``metaod check``: exit codes, the summary, JUnit and JSON."""

import json
from xml.etree import ElementTree as ET

import pytest
from made_findings import FarFinder
from made_months import orders
from made_selection import pick_with

import metaod
from metaod.detection import _cells as cells

FINDINGS = 3


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Pick without a learner, and find far numbers as wrong cells."""
    with pytest.MonkeyPatch.context() as patch:
        pick_with(patch, "IForest(n_estimators=20, max_features=0.5)")
        patch.setattr(cells, "WrongCellFinder", FarFinder)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A pick, and the files of later months."""
    folder = tmp_path_factory.mktemp("months")
    metaod.MetaOD().fit(orders("2024-01", 0, 400)).save(folder / "pick.mod")
    later = orders("2024-02", 1, 300)
    later.to_csv(folder / "clean.csv", index=False)
    later.drop(columns="weight").to_csv(folder / "missing.csv", index=False)
    later.loc[[3, 7, 20, 21, 22, 23, 24, 25], "price"] *= 1000
    later.loc[7, "plant"] = "<a & b>\x07"
    later.to_csv(folder / "wrong.csv", index=False)
    return folder


@pytest.fixture
def check(run, folder):
    """Check a file of the folder; return what was printed."""
    return lambda name, *rest, code=0: run(
        "check", folder / name, "--against", folder / "pick.mod", *rest, code=code
    )


def test_exit_codes_and_the_last_line(check):
    assert check("clean.csv").splitlines()[-1].startswith("clean: ")
    wrong = check("wrong.csv", code=FINDINGS).splitlines()
    assert wrong[-1].startswith("findings: ")
    [heading] = [place for place, line in enumerate(wrong) if "similar wrong cells" in line]
    assert "price" in wrong[heading + 2]
    missing = check("missing.csv", code=FINDINGS)
    assert "finding: column 'weight' is missing" in missing
    assert check("clean.csv", "-q").count("\n") == 1
    assert check("wrong.csv", "--quiet", code=FINDINGS).count("\n") == 1


def test_the_number_of_flagged_rows_that_count_as_clean(check):
    n_flagged = json.loads(check("wrong.csv", "--json", code=FINDINGS))["n_flagged"]
    check("wrong.csv", "--max-findings", n_flagged)
    check("wrong.csv", "--max-findings", n_flagged - 1, code=FINDINGS)
    found = json.loads(check("wrong.csv", "--max-findings", n_flagged, "--json"))
    assert (found["passed"], found["problems"]) == (True, [])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("clean.csv", "--false-alarms", "0"), "--false-alarms"),
        (("clean.csv", "--false-alarms", "0.1%"), "use --false-alarms 0.008"),
        (("clean.csv", "--false-alarms", "5%", "--false-discoveries", "5%"), "--false-discoveries"),
        (("clean.csv", "--junit", "nowhere/check.xml"), "nowhere"),
        (("clean.csv", "--max-findings", "-1"), "--max-findings"),
        (("nothing.csv",), "nothing.csv"),
    ],
    ids=str,
)
def test_mistakes_are_one_line(check, arguments, told):
    assert told in check(*arguments, code=2)


def test_a_file_and_a_pick_are_needed(run, folder):
    assert "--against" in run("check", folder / "clean.csv", code=2)
    assert "FILE" in run("check", "--against", folder / "pick.mod", code=2)
    before = (folder / "clean.csv").read_bytes()
    for own in ("clean.csv", "pick.mod"):
        options = ("--against", folder / "pick.mod", "--junit", folder / own)
        assert "named twice" in run("check", folder / "clean.csv", *options, code=2)
    assert (folder / "clean.csv").read_bytes() == before
    assert "clean.csv" in run(
        "check", folder / "clean.csv", "--against", folder / "clean.csv", code=2
    )


def test_several_files_fail_if_one_does(check, folder, tmp_path):
    out = check("clean.csv", folder / "wrong.csv", "-q", "--junit", tmp_path / "j", code=FINDINGS)
    assert [line.split(":")[0] for line in out.splitlines()] == ["clean", "findings"]
    assert len(ET.parse(tmp_path / "j").getroot()) == 2
    documents = json.loads(check("wrong.csv", folder / "clean.csv", "--json", code=FINDINGS))
    assert [own["passed"] for own in documents] == [False, True]


@pytest.mark.parametrize(
    ("name", "code", "failed", "skipped"),
    [("clean.csv", 0, set(), set()), ("wrong.csv", FINDINGS, {"rows"}, set()),
     ("missing.csv", FINDINGS, {"columns"}, {"rows", "drift"})],
)  # fmt: skip
def test_junit_has_a_case_for_rows_drift_and_columns(check, tmp_path, name, code, failed, skipped):
    check(name, "--junit", tmp_path / "check.xml", code=code)
    [suite] = ET.parse(tmp_path / "check.xml").getroot()
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert set(cases) == {"columns", "drift", "rows"}
    assert {own for own in cases if cases[own].find("failure") is not None} == failed
    assert {own for own in cases if cases[own].find("skipped") is not None} == skipped
    assert (suite.get("tests"), suite.get("failures")) == ("3", str(len(failed)))
    if "rows" in failed:
        text = cases["rows"].find("failure").text
        assert [line.split(":")[0] for line in text.splitlines()][:2] == ["row 4", "row 8"]


def test_junit_holds_the_notes(check, tmp_path):
    check("clean.csv", "--false-discoveries", "1%", "--junit", tmp_path / "check.xml")
    [suite] = ET.parse(tmp_path / "check.xml").getroot()
    assert suite.find("system-out").text


def test_a_file_that_cannot_be_read_does_not_stop_the_others(check, folder, tmp_path):
    (folder / "empty.csv").touch()
    files = ("empty.csv", folder / "clean.csv")
    assert "empty.csv" in check(*files, "-q", "--junit", tmp_path / "check.xml", code=2)
    suites = ET.parse(tmp_path / "check.xml").getroot()
    assert [own.get("errors") for own in suites] == ["1", None]
    assert len([*suites.iter("error")]) == 1
