"""The commands of ``make reproduce`` on generated data, and the committed results."""

import csv
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metaod.cli import main as product
from metaod.models import model_space
from metaod.store import _tasks
from research import running, sensitivity, testbed_data, timing
from research.__main__ import main
from research.evaluation import evaluate_testbed
from research.methods import METHODS
from research.publication import Findings, draw_results, unit_of
from research.results import Results
from research.running import Journal, Training
from research.tables import pairwise_table, summary_table
from research.testbed_data import TestbedData

# name among the paper's mothersets, origin, task, rows, columns
MOTHERSETS = (
    ("landsat", "satimage", "multiclass", 520, 5),
    ("pageb", "pageblocks", "binary", 200, 5),
    ("skin", "skin", "binary", 420, 3),
    ("synthetic", "synthetic", "binary", 1100, 4),
    ("yeast", "yeast", "multiclass", 260, 4),
)
TABLES = ("datasets", "performance-paper", "performance-all", "summary", "pairwise", "qth-best")
FIGURES = (
    "average-rank-paper", "average-rank-all", "critical-difference-paper",
    "critical-difference-all", "pairwise-matrix", "embedding",
)  # fmt: skip
STUDIES = tuple(study.key for study in sensitivity.STUDIES)
TIMES = ("selection-time", "largest-datasets")
BOTH = ("leave-one-out", "leave-one-origin-out")
COMMITTED = Path(__file__).parents[2] / "results"


def make_mothersets(folder):
    """Overlapping classes, so that there are outliers of every difficulty."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    with (folder / "catalog.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("name", "origin", "task", "file"))
        for name, origin, task, rows, columns in MOTHERSETS:
            classes = 2 if task == "binary" else 4
            shares = [0.7, 0.3] if classes == 2 else [0.25] * 4
            y = rng.choice(classes, size=rows, p=shares)
            X = rng.normal(size=(rows, columns)) + 1.2 * rng.normal(size=(classes, columns))[y]
            np.savez(folder / f"{name}.npz", X=X, y=y)
            writer.writerow((name, origin, task, f"{name}.npz"))


def metaod(*arguments):
    command = product.main if arguments[0] == "build" else main
    with pytest.raises(SystemExit) as stop:
        command([str(argument) for argument in arguments])
    assert stop.value.code == 0, arguments


@pytest.mark.usefixtures("quick_difficulty", "quick_figures")
def test_commands_of_make_reproduce_write_every_file(tmp_path, monkeypatch):
    """One test, because every step needs the files of the one before."""
    shorten(monkeypatch)
    prepare(tmp_path)
    for testbed in ("poc", "st"):
        evaluate(tmp_path, testbed)
    results = tmp_path / "results"
    assert files(results / "poc") == promised(varied=True, timed=True)
    for protocol in BOTH:
        varied = protocol == "leave-one-origin-out"
        assert files(results / "st" / protocol) == promised(varied=varied, timed=False)
    for part in ("poc", *(f"st/{protocol}" for protocol in BOTH)):
        assert_read_back(results / part, is_poc=part == "poc")
        assert_reproduced(Findings.read(results / part))
    assert_times_are_of_the_picks(results / "poc")
    assert_drawn_again(results)
    assert_again_from_the_journal(tmp_path, monkeypatch)


def prepare(place):
    make_mothersets(place / "mothersets")
    (place / "datasets").mkdir()
    metaod("testbed", "poc", "--mothersets", place / "mothersets", "--out", place / "poc")
    metaod("testbed", "st", "--mothersets", place / "mothersets", "--data", place / "datasets",
           "--out", place / "st")  # fmt: skip
    metaod("build", "--store", place / "t.db", "--data", place / "poc", "--data", place / "st",
           "--trials", 1)  # fmt: skip


def shorten(monkeypatch):
    """Few models, little training, the first point and the default of a study."""
    model_space = _tasks.model_space
    for module in (_tasks, testbed_data):
        monkeypatch.setattr(
            module, "model_space", lambda *args, **kw: model_space(*args, **kw)[::12]
        )
    small = {"epochs": 2, "n_estimators": 3}
    make_learner = running.make_learner

    def quick(name, **params):
        legal = make_learner(name).params()
        return make_learner(name, **params, **{k: v for k, v in small.items() if k in legal})

    monkeypatch.setattr(running, "make_learner", quick)
    monkeypatch.setattr(timing, "_warm_up", lambda: None)
    short = tuple(
        replace(
            study,
            settings=tuple(
                setting
                for place, setting in enumerate(study.settings)
                if place == 0 or setting.x == study.default
            ),
        )
        for study in sensitivity.STUDIES
    )
    for function in (sensitivity.run_sensitivity, sensitivity.write_sensitivity):
        monkeypatch.setitem(function.__kwdefaults__, "studies", short)


def evaluate(place, testbed):
    metaod("evaluate", testbed, "--store", place / "t.db", "--testbed", place / testbed,
           "--out", place / "results" / testbed, "--seeds", 1)  # fmt: skip


def files(folder):
    return {path.name for path in folder.iterdir() if path.is_file()}


def promised(*, varied, timed):
    tables = [*TABLES, *(["sensitivity"] if varied else []), *(["times"] if timed else [])]
    figures = [*FIGURES, *(TIMES if timed else ())]
    figures += [f"sensitivity-{key}" for key in STUDIES] if varied else []
    return (
        {"results.parquet", "performance.parquet", "run.json"}
        | ({"sensitivity.parquet"} if varied else set())
        | {f"{stem}.{kind}" for stem in tables for kind in ("csv", "md")}
        | {f"{stem}.{kind}" for stem in figures for kind in ("csv", "png", "svg")}
    )


def assert_read_back(folder, *, is_poc):
    results = Results.read(folder / "results.parquet")
    other = "st" if is_poc else "poc"
    assert results.methods == [item.key for item in METHODS if item.testbed != other]
    assert len(results.datasets) == (25 if is_poc else 5)
    assert results.left_out().empty
    summary = pd.read_csv(folder / "summary.csv").set_index("method")
    for item in METHODS:
        if item.key in results.methods:
            mean = results.by_dataset[item.key].mean()
            assert summary.loc[item.title, "MAP"] == pytest.approx(mean)
    assert summary["MAP"].idxmax() == "Oracle"


def assert_times_are_of_the_picks(folder):
    frame = Results.read(folder / "results.parquet").frame
    timed = frame[frame["select_seconds"].notna()].set_index("dataset")
    assert set(timed["method"]) == {"metaod"}
    assert len(timed) == 25
    kept = Journal(folder / ".journal" / "times.jsonl").done
    picks = {digest.split(" ")[-1]: entry["pick"] for digest, entry in kept.items()}
    assert picks == timed["pick"].to_dict()


def assert_drawn_again(results):
    shown = [path for path in results.rglob("*.*") if path.suffix in (".csv", ".md", ".svg")]
    before = {path: path.read_bytes() for path in shown}
    written = draw_results(results)
    assert {path for path in written if path.parent == results} == {
        results / f"embedding.{kind}" for kind in ("csv", "png", "svg")
    }
    for path, content in before.items():
        assert path.read_bytes() == content, path


def assert_again_from_the_journal(place, monkeypatch):
    poc = place / "results" / "poc"
    paths = sorted(poc.rglob("*.*"))
    before = {path: path.read_bytes() for path in paths if path.suffix in (".csv", ".md", ".svg")}
    journals = {path: path.read_bytes() for path in poc.rglob("*.jsonl")}
    assert len(journals) == 3
    monkeypatch.setattr(Training, "fit", lambda *_: pytest.fail("was fitted again"))
    for path in before:
        os.utime(path, (0, 0))
    evaluate(place, "poc")
    for path, content in before.items():
        assert path.stat().st_mtime > 0, f"{path} was not written again"
        assert path.read_bytes() == content, path
    for path, content in journals.items():
        assert path.read_bytes() == content, path


# what is committed

PARTS = ("poc", *(f"st/{protocol}" for protocol in BOTH))


@pytest.mark.parametrize("part", PARTS)
def test_committed_tables_are_those_of_the_committed_results(part):
    found = Findings.read(COMMITTED / part)
    by = unit_of(found.testbed)
    for stem, table in (
        ("summary", summary_table(found.results, by)),
        ("pairwise", pairwise_table(found.results, by)),
    ):
        committed = pd.read_csv(COMMITTED / part / f"{stem}.csv", keep_default_na=False,
                                na_values={"seed SD": "", "rank of paper's": ""})  # fmt: skip
        pd.testing.assert_frame_equal(committed, table, check_dtype=False, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("part", PARTS)
def test_methods_without_chance_reproduce_the_committed_results(part):
    """From the committed performance matrix of the paper's 302 models, by the same protocol."""
    found = Findings.read(COMMITTED / part)
    assert found.P is not None, f"results/{part}/performance.parquet is missing"
    assert sorted(found.P.columns) == sorted(spec.id for spec in model_space("paper"))
    assert_reproduced(found)


def assert_reproduced(found):
    datasets = found.results.datasets.loc[found.P.index]
    empty = pd.DataFrame(0.0, index=found.P.index, columns=["none"])
    data = TestbedData(found.testbed, datasets, found.P, empty, {"paper": empty}, {})
    again = ("global_best", "global_best_rank", "random_selection", "eub", "oracle")
    methods = [item for item in METHODS if item.key in again]
    results = evaluate_testbed(data, found.protocol, methods=methods)
    committed = found.results.by_dataset[results.methods].loc[results.by_dataset.index]
    pd.testing.assert_frame_equal(results.by_dataset, committed, rtol=0, atol=1e-9)


def test_side_by_side_replaces_its_section_only(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# Page\n\n## The paper's claims\n\nold\n\n## Between\n\nkept\n\n"
        "## Side by side\n\n### POC\n\nold\n\n## After\n\nkept\n"
    )
    metaod("compare-with-paper", "--page", page)
    text = page.read_text("utf-8")
    assert text.startswith("# Page\n\n## The paper's claims\n\n| the paper | here")
    claims, _, side_by_side = text.partition("\n\n## Between\n\nkept\n\n## Side by side\n\n")
    assert side_by_side.startswith("By `python -m research compare-with-paper")
    pairs = pd.read_csv(COMMITTED / "poc" / "pairwise.csv").set_index(["method 1", "method 2"])
    pair = pairs.loc["ISAC", "MetaOD"]
    shown = f"{-pair['ΔMAP']:+.4f} [{-pair['high']:+.4f}, {-pair['low']:+.4f}]"
    assert f"ISAC {shown}, {pair['p']:.4f}, {pair['losses']}-{pair['wins']}" in claims
    assert "{" not in claims
    assert text.endswith("\n\n## After\n\nkept\n")
    assert "old" not in text.partition("## After")[0].splitlines()
    summary = pd.read_csv(COMMITTED / "poc" / "summary.csv").set_index("method")
    row = summary.loc["MetaOD"]
    assert f"{row['MAP']:.4f} [{row['low']:.3f}, {row['high']:.3f}] | {row['seed SD']:.4f}" in text
