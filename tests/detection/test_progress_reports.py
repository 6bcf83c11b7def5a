"""Reports of progress: the stages, the fraction, and the time left."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_selecting import artifact, table
from made_selection import pick_with

import metaod
from metaod.detection import MetaOD, compare, detect, detect_file, load, write_scored
from metaod.models import ModelSpec, average_of, expected_scoring
from metaod.selection import Tracker, part_of, select
from metaod.selection import _progress as module

KNN, HBOS = "KNN(n_neighbors=5, method=largest)", "HBOS(n_bins=10, alpha=0.1)"
BROKEN = "KNN(n_neighbors=500, method=largest)"


def check_reports(reports):
    """The fraction is unknown first, never falls, and ends at 1."""
    fractions = [report.fraction for report in reports if report.fraction is not None]
    assert [report.fraction for report in reports][-len(fractions) :] == fractions
    assert fractions == sorted(fractions)
    assert fractions[0] >= 0
    assert fractions[-1] == 1
    assert reports[-1].seconds_left == 0
    assert {report.stage for report in reports} <= set(module.STAGES)
    assert all(report.next_fraction is None or
               report.fraction <= report.next_fraction <= 1 for report in reports)  # fmt: skip
    assert all(report.seconds_left is None or report.seconds_left >= 0 for report in reports)


def stages(reports):
    return list(dict.fromkeys(report.stage for report in reports))


@pytest.fixture
def picking(monkeypatch):
    def use(*models):
        pick_with(monkeypatch, *models)

    return use


def test_the_stages_of_a_fit():
    reports = []
    MetaOD(artifact()).fit(table(), progress=reports.append)
    check_reports(reports)
    assert stages(reports) == ["prepare", "check", "measure", "pick", "fit", "score"]


def test_detecting_writing_and_applying(picking, tmp_path):
    picking(KNN, HBOS)
    reports = []
    found = detect(metaod.load_example(), progress=reports.append)
    check_reports(reports)
    assert stages(reports) == ["prepare", "check", "fit", "score"]
    reports = []
    write_scored(found, tmp_path / "s.csv", why=True, progress=reports.append)
    check_reports(reports)
    assert stages(reports) == ["explain", "write"]
    reports = []
    detect(metaod.load_example(), model=found.model, progress=reports.append)
    check_reports(reports)
    assert stages(reports) == ["prepare", "check", "score"]


def test_the_committee_is_not_measured():
    reports = []
    MetaOD(pick="committee").fit(table(400), progress=reports.append)
    check_reports(reports)
    assert stages(reports) == ["prepare", "check", "pick", "fit", "score"]
    fits = [report.detail for report in reports if report.stage == "fit"]
    assert fits[0] == "1 of 7, IForest"
    assert fits[-1].startswith("7 of 7, ")


def test_a_file_is_read(tmp_path):
    path = tmp_path / "table.csv"
    pd.DataFrame(table()).to_csv(path, index=False)
    for use in (MetaOD(artifact()).fit, lambda *a, **k: select(*a, learner=artifact(), **k)):
        reports = []
        use(path, progress=reports.append)
        check_reports(reports)
        assert stages(reports)[:2] == ["read", "prepare"]


@pytest.mark.parametrize("why", [False, True])
@pytest.mark.parametrize("output", [None, "s.csv"])
def test_a_file_is_read_in_chunks(picking, tmp_path, output, why):
    picking(KNN, HBOS)
    pd.DataFrame(table(400)).to_csv(tmp_path / "t.csv", index=False)
    reports = []
    target = None if output is None else tmp_path / output
    detect_file(tmp_path / "t.csv", target, sample_rows=100, why=why, progress=reports.append)
    check_reports(reports)
    assert [report.fraction == 1 for report in reports].index(True) >= len(reports) - 2
    assert reports[-1].stage == ("score" if output is None else "write")
    if output is not None:
        assert [report.detail for report in reports if report.stage == "write"][-2] == "400 of 400"
        scoring = [report for report in reports if report.stage == "score"]
        assert all(report.seconds_left is None for report in scoring)


def test_members_that_fail_do_not_turn_the_fraction_back(picking):
    picking(average_of(*map(ModelSpec.parse, (KNN, BROKEN))).id, HBOS)
    reports = []
    MetaOD().fit(table(60), progress=reports.append)
    check_reports(reports)
    picking(BROKEN, HBOS)
    reports = []
    MetaOD().fit(table(60), progress=reports.append)
    check_reports(reports)
    assert [report.detail for report in reports if report.stage == "fit"] == [
        "1 of 1, KNN",
        "2 of 2, HBOS",
    ]


def test_what_the_callback_raises_stops_the_work(picking):
    picking(KNN, HBOS)

    class Cancelled(Exception):
        pass

    def cancel(report):
        if report.stage == "fit":
            raise Cancelled

    with pytest.raises(Cancelled):
        MetaOD().fit(table(), progress=cancel)


def test_selecting_comparing_loading_and_explaining(picking, tmp_path):
    reports = []
    select(pd.DataFrame(table()), learner=artifact(), progress=reports.append)
    check_reports(reports)
    picking(KNN)
    model = MetaOD().fit(table())
    model.save(tmp_path / "pick")
    reports = []
    load(tmp_path / "pick", progress=reports.append)
    check_reports(reports)
    reports = []
    model.explain_rows(list(range(80)) * 3, progress=reports.append)
    check_reports(reports)
    assert [report.detail for report in reports] == ["", "100 of 240", "200 of 240", "240 of 240"]
    reports = []
    compare(metaod.load_example(), trials=2, progress=reports.append)
    check_reports(reports)
    assert [report.detail for report in reports].count("PyOD's ADEngine") == 2


SPECS = [ModelSpec.parse(model) for model in (KNN, HBOS, "OCSVM(nu=0.1, kernel=rbf)")]


@given(st.lists(st.tuples(st.sampled_from(SPECS), st.floats(0, 1e4)), min_size=1, max_size=12))
def test_the_time_left_follows_the_cost_laws_and_the_machine(steps):
    now, reports = [0.0], []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.time, "monotonic", lambda: now[0])
        tracker = Tracker(reports.append)
        tracker.stage("prepare")
        tracker.plan_fits([spec for spec, _ in steps], (20_000, 20))
        for spec, seconds in steps:
            tracker.fit(spec)
            now[0] += seconds
        tracker.scoring(20_000)
        tracker.finish("score")
    check_reports(reports)
    expected = sum(tracker._expected)
    assert reports[1].seconds_left == pytest.approx(expected)
    for report in reports[1:-2]:
        assert report.seconds_left <= 4 * expected + 1e-9


def test_a_slower_machine_takes_longer(monkeypatch):
    now, reports = [0.0], []
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    tracker = Tracker(reports.append)
    tracker.plan_fits([SPECS[0]] * 3, (20_000, 50))
    for _ in range(3):
        tracker.fit(SPECS[0])
        now[0] += 2 * tracker._expected[0]
    one = tracker._expected[0]
    assert [report.seconds_left for report in reports] == pytest.approx([3 * one, 4 * one, 2 * one])


def test_rows_that_are_scored_later_are_part_of_the_time_left():
    reports = []
    tracker = Tracker(reports.append)
    tracker.plan_fits(SPECS[:2], (5_000, 20), n_new=10**6, n_threads=2)
    tracker.fit(SPECS[0])
    scoring = sum(expected_scoring(SPECS[:2], 10**6, 20)) / 2
    assert reports[0].seconds_left == pytest.approx(sum(tracker._expected) + scoring)
    tracker.scoring(10**6)(500_000)
    assert reports[-2].fraction == pytest.approx(0.95 * (1 - scoring / reports[0].seconds_left))
    assert reports[-1].fraction == pytest.approx((reports[-2].fraction + 0.95) / 2)


@given(st.lists(st.floats(0, 1), min_size=1), st.floats(0, 0.5), st.floats(0.5, 1))
def test_a_part_stays_in_its_bounds(fractions, start, stop):
    reports = []
    receive = part_of(reports.append, start, stop)
    for fraction in sorted(fractions):
        receive(module.ProgressReport("fit", fraction, 1.0))
    found = [report.fraction for report in reports]
    assert found == sorted(found)
    assert found[0] >= start
    assert found[-1] <= stop + 1e-12


def test_without_a_callback_nothing_is_reported():
    assert part_of(None, 0, 1) is None
    Tracker(None).finish("score")
