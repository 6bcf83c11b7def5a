"""Figures: the files, their text, and the same bytes on every run."""

import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from metaod.errors import BadParameter, MissingExtra, UserError
from research.figures import ranks
from research.figures.curves import write_curve
from research.figures.embedding import Panel, embed, write_embedding, write_embeddings
from research.figures.ranks import write_average_rank, write_critical_difference, write_pairs
from research.figures.style import looks
from research.figures.timing import timing_table, write_largest, write_selection_time
from research.methods import method
from research.publication import embed_testbed
from research.results import Results
from research.statistics import friedman_nemenyi, rank_intervals
from research.tables import pairwise_table, summary_table

CURVE = pd.DataFrame(
    {"x": [1, 2, 4], "mean": [0.2, 0.3, 0.35], "low": [0.1, np.nan, 0.3], "high": [0.3, 0.4, 0.4]}
)
LABELS = {"x_label": "rank k", "y_label": "MAP", "default": 2}
CAPTION = "POC: 30 childsets of 6 mothersets, 2 seeds"


def rank_data(results):
    table = summary_table(results, "motherset")
    runs = results.runs("motherset")
    ends = rank_intervals(list(runs.values()), results.origins("motherset"))
    table = table[["method", "category", "MAP", "low", "high", "rank of all"]]
    table = table.rename(columns={"rank of all": "rank"})
    return table.assign(rank_low=ends[:, 0], rank_high=ends[:, 1])


def titled(results):
    return results.matrix("motherset").rename(columns=lambda key: method(key).title)


def draw(kind, evaluation, folder):
    """Write one figure of each kind, from the same evaluation."""
    results, _, M = evaluation
    if kind == "average-rank":
        return write_average_rank(rank_data(results), folder, caption=CAPTION)
    if kind == "critical-difference":
        found = friedman_nemenyi(titled(results))
        return write_critical_difference(found, folder, caption=CAPTION)
    if kind == "pairs":
        return write_pairs(pairwise_table(results, "motherset"), folder, CAPTION)
    if kind == "embedding":
        return write_embedding(embed_testbed(results, M, "poc"), folder, CAPTION)
    if kind == "time":
        return write_selection_time(timing_table(results), folder, CAPTION)
    if kind == "largest":
        return write_largest(timing_table(results), folder, CAPTION)
    return write_curve(CURVE, folder, "curve", **LABELS, caption=CAPTION)


KINDS = (
    "average-rank",
    "critical-difference",
    "pairs",
    "embedding",
    "time",
    "largest",
    "curve",
)
OF_METHODS = ("average-rank", "critical-difference", "pairs")


@pytest.mark.parametrize("kind", KINDS)
def test_figures_name_all_methods_and_are_the_same_bytes_on_every_run(tmp_path, poc, kind):
    first = draw(kind, poc, tmp_path / "first")
    second = draw(kind, poc, tmp_path / "second")
    assert [path.suffix for path in first] == [".png", ".svg", ".csv"]
    for one, other in zip(first, second, strict=True):
        assert one.name == other.name
        assert one.read_bytes() == other.read_bytes()
    assert first[0].read_bytes().startswith(b"\x89PNG")
    assert b"<dc:date>" not in first[1].read_bytes()
    assert "POC: 30 childsets of 6 mothersets" in first[1].read_text()
    if kind in OF_METHODS:
        words = first[1].read_text(), first[2].read_text()
        for key in poc[0].methods:
            assert all(method(key).title in text for text in words)


def test_matplotlib_settings_of_the_user_are_ignored_and_kept(tmp_path, poc):
    plain = draw("average-rank", poc, tmp_path / "plain")
    with mpl.rc_context({"font.size": 30, "svg.fonttype": "path", "lines.linewidth": 9}):
        changed = draw("average-rank", poc, tmp_path / "changed")
        assert mpl.rcParams["font.size"] == 30
    assert plain[1].read_bytes() == changed[1].read_bytes()
    assert (
        "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()
    )


def test_average_rank_shows_mean_ap_and_sorts_by_rank(tmp_path):
    data = pd.DataFrame(
        {
            "method": ["LOF", "MetaOD", "GB", "EUB"],
            "category": ["no selection", "optimisation", "simple", "reference"],
            "MAP": [0.12821, 0.2035, 0.15, 0.3],
            "low": [0.1, 0.1502, 0.1, 0.2],
            "high": [0.2, 0.2504, 0.2, 0.4],
            "rank": [3.0, 1.5, 2.0, np.nan],
            "rank_low": [2.5, 1.0, 1.5, np.nan],
            "rank_high": [3.0, 2.0, 2.5, np.nan],
        }
    )
    _, svg, csv = write_average_rank(data, tmp_path)
    text = svg.read_text()
    assert "0.128 [0.100, 0.200]" in text
    assert "0.203 [0.150, 0.250]" in text or "0.204 [0.150, 0.250]" in text
    assert "EUB" not in text
    assert pd.read_csv(csv)["method"].tolist() == ["MetaOD", "GB", "LOF"]
    assert text.index(">MetaOD<") < text.index(">GB<") < text.index(">LOF<")
    # stems start at 0
    assert ">0<" in text


def test_marks_of_pairs_lie_on_the_side_that_is_ahead(monkeypatch, tmp_path):
    table = pd.DataFrame(
        {
            "method 1": ["LOF", "LOF", "GB"],
            "method 2": ["GB", "MetaOD", "MetaOD"],
            "ΔMAP": [-0.1, 0.02, 0.01],
            "low": [-0.2, -0.01, 0.001],
            "high": [-0.05, 0.05, 0.02],
            # the ranks of LOF and MetaOD favour the one with the smaller mean
            "better": ["GB", "MetaOD", ""],
            "p": [0.01, 0.01, 0.2],
            "n": 8,
        }
    )
    drawn = {}

    def keep(draw, size, data, folder, stem, caption):
        drawn.update(draw.keywords)
        return []

    monkeypatch.setattr(ranks, "write_figure", keep)
    write_pairs(table, tmp_path)
    for name, expected in (("ring", {("GB", "LOF"), ("GB", "MetaOD")}), ("dot", {("GB", "LOF")})):
        marked = drawn[name].stack()  # noqa: PD013 - of booleans
        assert set(marked.index[marked]) == expected
        assert (drawn["delta"].stack()[marked] > 0).all()  # noqa: PD013


def test_critical_difference_prints_its_numbers(tmp_path, poc):
    results, _, _ = poc
    found = friedman_nemenyi(titled(results))
    _, svg, csv = write_critical_difference(found, tmp_path, unit="motherset")
    text = svg.read_text()
    assert f"critical difference {found.critical_difference:.2f}" in text
    assert "over 6 mothersets" in text
    for name, rank in found.average_ranks.items():
        assert f"{name}  {rank:.2f}" in text or f"{rank:.2f}  {name}" in text
    data = pd.read_csv(csv)
    assert data["p against LOF"].to_numpy() == pytest.approx(found.nemenyi["LOF"].to_numpy())


# embedding


def test_siblings_are_embedded_near_each_other(poc):
    results, _, M = poc
    placed = embed(M)
    assert np.isfinite(placed.to_numpy()).all()
    mothersets = results.datasets["motherset"].loc[M.index].to_numpy()
    points = placed.to_numpy()
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    assert (mothersets[distance.argmin(axis=1)] == mothersets).mean() > 0.8


def test_mothersets_are_named_and_single_ones_are_grey(tmp_path, poc):
    results, _, M = poc
    groups = results.datasets["motherset"].copy()
    groups.loc[M.index[0]] = "lonely"
    data = embed(M).assign(group=groups).rename_axis("dataset").reset_index()
    _, svg, csv = write_embedding(data, tmp_path)
    text = svg.read_text()
    for name in set(groups) - {"lonely"}:
        assert name in text
    assert "lonely" not in text
    assert "the only one of its origin" in text
    assert len(pd.read_csv(csv)) == len(M)


def test_twenty_mothersets_look_different():
    assert len(set(looks(20))) == 20
    assert len(looks(100)) == 100


def test_too_few_datasets_or_missing_metafeatures_are_refused(tmp_path, poc):
    results, _, M = poc
    with pytest.raises(BadParameter, match="five datasets"):
        embed(M.iloc[:4])
    with pytest.raises(UserError, match="meta-features"):
        embed_testbed(results, M.iloc[1:], "poc")


# time


def test_times_are_means_over_seeds_with_their_share(poc):
    results, _, _ = poc
    table = timing_table(results)
    assert len(table) == 30
    own = results.frame[(results.frame["method"] == "metaod")]
    own = own[own["name"] == table["name"].iloc[4]]
    assert table["select_seconds"].iloc[4] == pytest.approx(own["select_seconds"].mean())
    assert table["share"].iloc[4] == pytest.approx(
        own["select_seconds"].mean() / own["train_seconds"].mean()
    )


def test_medians_and_means_are_printed(tmp_path, poc):
    table = timing_table(poc[0])
    text = write_selection_time(table, tmp_path)[1].read_text()
    for values, unit in ((table["select_seconds"], "s"), (100 * table["share"], "%")):
        middle, mean = f"{values.median():.2g} {unit}", f"{values.mean():.2g} {unit}"
        assert f"median {middle}, mean {mean} (30 datasets)" in text


def test_times_may_be_missing(tmp_path, poc):
    frame = poc[0].frame.copy()
    frame["train_seconds"] = np.nan
    frame.loc[frame["name"] == "mother_a_0", "select_seconds"] = np.nan
    table = timing_table(Results(frame))
    assert len(table) == 29
    text = write_selection_time(table, tmp_path)[1].read_text()
    assert "(29 datasets)" in text
    assert "training" not in text
    with pytest.raises(BadParameter, match="training"):
        write_largest(table, tmp_path)
    with pytest.raises(BadParameter, match="selection"):
        write_selection_time(table.iloc[:0], tmp_path)


def test_a_single_dataset_has_a_box(tmp_path, poc):
    assert write_selection_time(timing_table(poc[0]).iloc[:1], tmp_path)[0].is_file()


def test_the_ten_largest_are_shown(tmp_path, poc):
    _, svg, csv = write_largest(timing_table(poc[0]), tmp_path)
    names = pd.read_csv(csv)["name"].tolist()
    assert len(names) == 10
    assert {name[:8] for name in names} == {"mother_f", "mother_e"}
    text = svg.read_text()
    assert all(name in text for name in names)
    assert "mother_d" not in text


def test_embeddings_side_by_side_share_their_legend(tmp_path):
    data = pd.DataFrame({"x": [0.0, 1, 2, 3], "y": 0.0, "group": ["a", "a", "b", "c"]})
    other = data.assign(group=["a", "b", "b", "d"])
    _, svg, csv = write_embeddings([Panel("POC: 4", data), Panel("ST: 4", other)], tmp_path)
    text = svg.read_text()
    for word in ("POC: 4", "ST: 4", "the only one of its origin"):
        assert word in text
    assert text.count(">a<") == text.count(">b<") == 1
    assert ">c<" not in text
    assert ">d<" not in text
    assert len(pd.read_csv(csv)) == 8


# curves


def test_curves_name_their_axes_and_intervals(tmp_path):
    text = write_curve(CURVE, tmp_path, "c", **LABELS, log_x=True)[1].read_text()
    for word in ("rank k (log scale)", "MAP", "hollow: the default", "95 % over origins and seeds"):
        assert word in text
    assert "log scale" not in write_curve(CURVE, tmp_path, "c", **LABELS)[1].read_text()


def test_curve_with_text_on_the_axis(tmp_path):
    texts = ["paper schema", "scores schema", "a rather long name", "another long name"]
    data = pd.DataFrame({"x": texts, "mean": 0.3, "low": 0.2, "high": [0.4, 0.4, np.nan, 0.4]})
    text = write_curve(data, tmp_path, "texts", **LABELS)[1].read_text()
    assert all(name in text for name in texts)


def test_missing_library_names_the_extra(tmp_path, poc, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"\[research\]"):
        draw("average-rank", poc, tmp_path)
    assert not list(tmp_path.iterdir())
