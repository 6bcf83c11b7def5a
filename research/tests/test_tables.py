"""Tables: their content, and how they are written."""

import numpy as np
import pandas as pd
import pytest

from metaod.errors import BadFile
from research.figures.timing import timing_table
from research.publication import (
    Findings,
    draw_results,
    embed_testbed,
    unit_of,
    write_datasets,
    write_times,
)
from research.results import Results
from research.statistics import average_ranks, ranks, wilcoxon_p
from research.tables import (
    dataset_table,
    markdown,
    matching_table,
    pairwise_table,
    performance_table,
    show_pairwise,
    show_performance,
    show_summary,
    summary_table,
    times_table,
    write_table,
)


def test_dataset_table_shows_shapes_and_percent(st):
    results, _, _ = st
    table = dataset_table(results)
    assert table.columns.tolist() == [
        "dataset",
        "origin",
        "motherset",
        "fold",
        "rows",
        "columns",
        "% outliers",
    ]
    assert len(table) == 12
    assert table["% outliers"].tolist() == [5.0] * 12
    assert table["dataset"].is_monotonic_increasing


@pytest.mark.parametrize(("testbed", "rows"), [("poc", 6), ("st", 12)])
def test_performance_table_has_a_row_per_unit_mean_and_deviation(request, testbed, rows):
    results, _, _ = request.getfixturevalue(testbed)
    by = unit_of(testbed)
    table = performance_table(results, by)
    matrix = results.matrix(by)
    assert table.columns[0] == by
    assert len(table) == rows + 2
    assert table[by].tolist()[-2:] == ["average", "standard deviation"]
    assert table["MetaOD"].to_numpy()[:-2] == pytest.approx(matrix["metaod"].to_numpy())
    assert table["MetaOD"].iloc[-2] == pytest.approx(matrix["metaod"].mean())
    assert table["MetaOD"].iloc[-1] == pytest.approx(matrix["metaod"].std(ddof=1))
    assert table["MetaOD rank"].iloc[-2] == pytest.approx(ranks(matrix)["metaod"].mean())
    assert (table["Oracle rank"].iloc[:-2] <= 2).all()


def test_ranks_of_a_choice_of_methods_are_among_themselves(poc):
    results, _, _ = poc
    table = performance_table(results, "motherset", ["lof", "metaod"])
    assert table.columns.tolist() == ["motherset", "LOF", "LOF rank", "MetaOD", "MetaOD rank"]
    assert (table["LOF rank"] + table["MetaOD rank"]).iloc[:-1].tolist() == [3.0] * 7


def test_performance_is_shown_with_the_best_in_bold():
    table = pd.DataFrame(
        {
            "dataset": ["x", "average", "standard deviation"],
            "LOF": [0.25, 0.25, 0.1],
            "LOF rank": [1.5, 1.5, np.nan],
            "GB": [0.25, 0.2, 0.1],
            "GB rank": [1.5, 1.75, np.nan],
        }
    )
    assert show_performance(table).to_numpy().tolist() == [
        ["x", "**0.2500 (1.5)**", "**0.2500 (1.5)**"],
        ["average", "**0.2500 (1.5)**", "0.2000 (1.75)"],
        ["standard deviation", "0.1000", "0.1000"],
    ]


def test_summary_ranks_among_the_papers_and_among_all(poc):
    results, _, _ = poc
    table = summary_table(results, "motherset").set_index("method")
    matrix = results.matrix("motherset")
    assert len(table) == 19
    papers = table["rank of paper's"].dropna()
    assert len(papers) == 12
    assert papers.sum() == pytest.approx(12 * 13 / 2)
    assert table["rank of all"].sum() == pytest.approx(19 * 20 / 2)
    assert table.loc["AS", "rank of all"] == pytest.approx(average_ranks(matrix)["argosmart"])
    assert table.loc["MetaOD", "MAP"] == pytest.approx(matrix["metaod"].mean())
    assert table.loc["MetaOD", "seeds"] == 2
    assert table.loc["LOF", "seeds"] == 1
    assert np.isnan(table.loc["LOF", "seed SD"])
    seeds = results.frame.query("method == 'metaod'").groupby("seed")["ap"].mean()
    assert table.loc["MetaOD", "seed SD"] == pytest.approx(seeds.std())


def test_interval_of_a_mean_contains_the_seeds(poc):
    results, _, _ = poc
    frame = results.frame.copy()
    second = (frame["method"] == "metaod") & (frame["seed"] == 1)
    frame.loc[second, "ap"] = np.clip(frame.loc[second, "ap"] + 0.3, 0, 1)
    table = summary_table(Results(frame), "motherset").set_index("method")
    by_seed = frame[frame["method"] == "metaod"].groupby("seed")["ap"].mean()
    assert table.loc["MetaOD", "low"] < by_seed.min() < by_seed.max() < table.loc["MetaOD", "high"]
    assert show_summary(table.reset_index()).columns[2] == "MAP [95 %]"


def test_times_have_mean_and_median(poc):
    table = times_table(timing_table(poc[0])).set_index("time")
    rows = poc[0].frame.query("method == 'metaod'")
    seconds = rows.groupby("dataset")[["select_seconds", "train_seconds"]].mean()
    share = 100 * seconds["select_seconds"] / seconds["train_seconds"]
    row = table.loc["selection, % of training"]
    assert row["mean"] == pytest.approx(share.mean())
    assert row["median"] == pytest.approx(share.median())
    assert row["low"] < row["mean"] < row["high"]
    assert (row["datasets"], row["origins"]) == (30, 6)


def test_summary_counts_what_is_missing(st):
    results, _, _ = st
    frame = results.frame.copy()
    frame.loc[frame.index[frame["method"] == "isac"][:2], "ap"] = np.nan
    table = summary_table(Results(frame), "dataset").set_index("method")
    assert table.loc["ISAC", "without AP"] == 2
    assert table.loc["LOF", "without AP"] == 0
    assert set(table["n"]) == {10}


def test_pairwise_table_holds_every_pair_once(st):
    results, _, _ = st
    table = pairwise_table(results, "dataset")
    count = len(results.methods)
    assert len(table) == count * (count - 1) / 2
    matrix = results.matrix("origin")
    assert set(table["n"]) == {len(matrix)} == {6}
    row = table[(table["method 1"] == "iForest") & (table["method 2"] == "MetaOD")].iloc[0]
    assert row["p"] == wilcoxon_p(matrix["iforest"], matrix["metaod"])
    assert row["ΔMAP"] == pytest.approx(row["MAP 1"] - row["MAP 2"])
    assert ((table["p"] < 0.05) == (table["better"] != "")).all()


def test_pairs_are_shown_as_in_the_paper():
    table = pd.DataFrame(
        {
            "method 1": ["LOF", "LOF"],
            "method 2": ["GB", "MetaOD_C"],
            "MAP 1": [0.1, 0.1],
            "MAP 2": [0.12, 0.3],
            "p": [0.2, 0.00001],
            "better": ["", "MetaOD_C"],
            "ΔMAP": [-0.02, -0.2],
            "low": [-0.05, -0.3],
            "high": [0.01, -0.1],
            "wins": [3, 0],
            "losses": [5, 8],
            "ties": [0, 0],
            "n": [8, 8],
        }
    )
    text = markdown(show_pairwise(table)).splitlines()
    assert text[2].startswith("| **LOF (0.1000)** | **GB (0.1200)** | 0.2000 | -0.0200 [")
    assert text[3].startswith("| LOF (0.1000) | **MetaOD\\_C (0.3000)** | <0.0001 | -0.2000 [")
    assert text[3].endswith("| 0-8-0 | 8 |")


def test_matching_table_puts_the_oracle_at_one(poc):
    results, P, _ = poc
    table = matching_table(results, P, "motherset").set_index("method")
    assert table.loc["Oracle", "q, two-sided"] == 1
    assert table.loc["Oracle", "MAP of it, two-sided"] == pytest.approx(P.max(axis=1).mean())
    assert (table["q, one-sided"] >= table["q, two-sided"]).all()
    assert (table["p, two-sided"] >= 0.05).all()


# writing


def test_markdown_formats_and_escapes():
    table = pd.DataFrame(
        {
            "name": ["a|b", "c_d"],
            "n": [3, 40],
            "MAP": [0.123456, np.nan],
            "p": [0.00001, 0.5],
            "q": pd.array([1, None], dtype="Int64"),
        }
    )
    assert markdown(table).splitlines() == [
        "| name | n | MAP | p | q |",
        "|:--|--:|--:|--:|--:|",
        "| a\\|b | 3 | 0.1235 | <0.0001 | 1 |",
        "| c\\_d | 40 | – | 0.5000 | – |",
    ]


def test_tables_are_written_twice_with_the_same_bytes(tmp_path):
    table = pd.DataFrame({"x": [1 / 3], "name": ["é"]})
    csv, page = write_table(table, tmp_path / "new", "t")
    assert csv.read_bytes() == "x,name\n0.3333333333,é\n".encode()
    assert page.read_bytes() == "| x | name |\n|--:|:--|\n| 0.3333 | é |\n".encode()


@pytest.mark.usefixtures("quick_figures")
def test_everything_is_written(tmp_path, st):
    results, P, M = st
    some = ["lof", "global_best", "metaod", "random_selection", "squared_error", "oracle"]
    results = Results(results.frame[results.frame["method"].isin(some)])
    found = Findings("st", "leave-one-out", results, P, embed_testbed(results, M, "st"))
    assert found.caption == "ST, leave one out: 12 datasets of 6 origins, 2 seeds"
    written = found.write(tmp_path)
    assert all(path.is_file() for path in written)
    assert len(set(written)) == len(written)
    stems = {path.stem for path in written}
    assert stems == {
        "average-rank-all",
        "average-rank-paper",
        "critical-difference-all",
        "critical-difference-paper",
        "datasets",
        "embedding",
        "largest-datasets",
        "pairwise",
        "pairwise-matrix",
        "performance-all",
        "performance",
        "performance-paper",
        "qth-best",
        "results",
        "selection-time",
        "summary",
        "times",
    }
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in written}
    assert_drawn_again(tmp_path)


def assert_drawn_again(folder):
    """From the files alone, with the same bytes."""
    with pytest.raises(BadFile, match="research evaluate"):
        draw_results(folder)
    (folder / "run.json").write_text('{"testbed": "st", "protocol": "leave-one-out"}')
    before = {path: path.read_bytes() for path in folder.iterdir()}
    for path in before:
        if path.suffix in (".md", ".png"):
            path.unlink()
    draw_results(folder)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    (folder / "run.json").write_text('{"testbed": "st", "protocol": "folds"}')
    with pytest.raises(BadFile, match=r"run\.json"):
        Findings.read(folder)


def test_times_not_measured_and_datasets_left_out(tmp_path, poc):
    results, _, _ = poc
    frame = results.frame.drop(columns=["select_seconds", "train_seconds"])
    frame.loc[frame.index[frame["method"] == "isac"][0], "ap"] = np.nan
    assert write_times(Results(frame), tmp_path) == []
    written = write_datasets(Results(frame), tmp_path)
    assert [path.name for path in written] == [
        "datasets.csv",
        "datasets.md",
        "left-out.csv",
        "left-out.md",
    ]
    assert "ISAC" in (tmp_path / "left-out.md").read_text()
