"""``metaod detect``."""

import io
import json
import re
import sys

import numpy as np
import pandas as pd
import pytest
from made_selection import MODELS, pick_with
from rich.cells import cell_len
from sklearn.metrics import average_precision_score

from metaod.cli import detect as command
from metaod.cli.targets import outputs_of
from metaod.detection import load
from metaod.errors import BadParameter, UserError
from metaod.models import ModelSpec, average_of

FRAME = pd.DataFrame(
    {
        "height": [*np.linspace(150, 190, 40).round(1), 900.0],
        "colour": ["red"] * 20 + ["green"] * 20 + ["black"],
        "score": [*(7 * row % 41 for row in range(40)), 40],
    }
)


@pytest.fixture
def table(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def test_the_screen_shows_the_pick_the_count_and_the_top_rows(call, table):
    out = call(table, "--contamination", "2%").out
    assert "pick: k nearest neighbours\n" in out
    assert MODELS[0] not in out
    assert "warning: the table is made up" in out
    assert "flagged: 1 of 41 rows (2.4%)" in out
    assert re.search(r"clear gap: rank 1 scores [\d.]+, rank 2 [\d.]+; --top-n 1", out)
    first = " ".join(re.split(r"^ +[12] ", out, flags=re.MULTILINE)[1].split())
    assert first.startswith("41 ")
    assert "yes height 900.0 (usually 152.1 to 189); colour black" in first


def test_verbose_shows_full_ids(call, table, monkeypatch):
    average = average_of(*map(ModelSpec.parse, MODELS)).id
    pick_with(monkeypatch, average)
    names = "pick: HBOS + Isolation forest + k nearest neighbours (average of their scores)"
    brief, full = call(table).out, call(table, "--verbose").out
    assert names in brief
    assert names in full
    for model in MODELS:
        assert model not in brief
        assert f"  {model}\n" in full


def test_cells_are_shown_as_the_file_has_them(call, tmp_path):
    frame = FRAME.assign(amount=[f"1.18{row % 7}.730,50" for row in range(41)])
    frame.loc[40, ["height", "amount"]] = [170.0, "9.185.730,55"]
    frame.iloc[::-1].to_csv(tmp_path / "t.csv", index=False, sep=";")
    frame.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        out = call(tmp_path / name, "--top", 1).out
        wrong, _, rows = out.partition("why it is unusual")
        assert " amount 9.185.730,55: " in wrong
        first = next(line for line in rows.splitlines() if line.split()[:1] == ["1"])
        assert " amount 9.185.730,55 (in no other row" in first


def test_a_word_that_was_taken_as_missing_is_shown(call, table):
    table.write_text(table.read_text().replace("900.0", "prefer not to say"))
    out = call(table, "--bad-values", "missing", "--top", "41").out
    assert "height prefer not to say (in no other row" in out.partition("why it is unusual")[2]


def test_top_of_none_shows_no_rows(call, table):
    assert "black" not in call(table, "--top", "0").out


def test_the_input_is_written_with_score_rank_and_flag(call, table, tmp_path):
    out = call(table, "-o", tmp_path / "scored.csv", "--contamination", "0.02").out
    written = pd.read_csv(tmp_path / "scored.csv")
    assert list(written.columns) == [
        "height", "colour", "score", "score_", "rank", "flag", "suspect",
    ]  # fmt: skip
    assert "added score_, rank, flag" in out
    pd.testing.assert_frame_equal(written[list(FRAME.columns)], FRAME)
    assert written["rank"].min() == 1
    assert written.loc[40, ["rank", "flag"]].tolist() == [1, 1]
    assert written["flag"].sum() == 1
    order = written.sort_values("score_", ascending=False)["rank"]
    assert order.is_monotonic_increasing


def test_pipes(call, table, monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(table.read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    result = call("-", "-o", "-")
    assert list(pd.read_csv(io.StringIO(result.out)).columns[-3:]) == [
        "rank", "flag", "suspect",
    ]  # fmt: skip
    assert "pick: " in result.err


def test_the_file_is_written_before_the_screen(call, table, tmp_path, monkeypatch):
    def gone(*_, **__):
        raise BrokenPipeError

    monkeypatch.setattr(command, "print_detection", gone)
    with pytest.raises(BrokenPipeError):
        call(table, "-o", tmp_path / "scored.csv")
    assert len(pd.read_csv(tmp_path / "scored.csv")) == len(FRAME)


def test_a_saved_pick_scores_new_rows_and_the_old_ones_as_before(call, table, tmp_path):
    call(table, "--save", tmp_path / "pick.mod", "-o", tmp_path / "a.csv")
    out = call(table, "--apply", tmp_path / "pick.mod", "-o", tmp_path / "b.csv").out
    assert "saved pick: k nearest neighbours" in out
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
    # in another order, with a column that is new and a colour that is
    new = pd.DataFrame(
        {"score": [3, 4], "note": "x", "colour": ["red", "blue"], "height": [160, 9999]}
    )
    new.to_csv(tmp_path / "new.csv", index=False)
    out = call(tmp_path / "new.csv", "--apply", tmp_path / "pick.mod", "-o", tmp_path / "c.csv").out
    assert "were ignored" in out
    assert pd.read_csv(tmp_path / "c.csv")["flag"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--apply", "p.mod", "--save", "q.mod"], "left out with --apply"),
        (["--apply", "p.mod", "--exclude", "LOF"], "left out with --apply"),
        (["--apply", "p.mod", "--contamination", "20%"], "left out with --apply"),
        (["--apply", "p.mod", "--seed", "7"], r"left out with --apply.* Got 7 instead"),
        (["--contamination", "60%"], "'auto' or a number"),
        (["--contamination", "5%", "--top-n", "3"], "both say how many"),
        (["--top-n", "21"], "at most half of the rows, 20 of 41"),
        (["--sort"], "add -o FILE"),
        (["--json", "-o", "-"], "both write to stdout"),
        (["-o", "scored.doc"], r"ends in \.csv, \.tsv"),
        (["-o", "scored.xlsx.gz"], r"ends in \.csv, \.tsv"),
        (["-o", "no/such/folder.csv"], "no folder"),
        (["--save", "no/such/pick.mod"], "no folder"),
        (["--apply", "absent.mod"], "no such file"),
    ],
    ids=" ".join,
)
def test_errors_come_before_fitting(call, table, monkeypatch, arguments, words):
    monkeypatch.chdir(table.parent)
    monkeypatch.setattr("metaod.detection._estimator.make_selection", None)
    with pytest.raises(UserError, match=words):
        call(table, *arguments)


def test_all_tables_must_exist_before_the_first_is_fitted(call, table, tmp_path, monkeypatch):
    monkeypatch.setattr("metaod.detection._estimator.make_selection", None)
    with pytest.raises(UserError, match=r"nofile\.csv"):
        call(table, tmp_path / "nofile.csv", "-o", f"{tmp_path / 'out'}/")
    assert not (tmp_path / "out").exists()


def test_a_read_only_folder_is_refused_first(call, table, tmp_path, monkeypatch):
    monkeypatch.setattr("metaod.detection._estimator.make_selection", None)
    # as root may write anywhere: the system's answer is made up
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(UserError, match="folder cannot be written"):
        call(table, "-o", tmp_path / "scored.csv")


def test_a_saved_pick_is_loaded_once(call, table, tmp_path, monkeypatch):
    call(table, "--save", tmp_path / "pick.mod")
    loaded = []

    def told(path, **options):
        loaded.append(path)
        return load(path, **options)

    monkeypatch.setattr("metaod.detection.load", told)
    other = tmp_path / "other.csv"
    FRAME[::-1].to_csv(other, index=False)
    call(table, other, "--apply", tmp_path / "pick.mod")
    assert loaded == [str(tmp_path / "pick.mod")]


@pytest.mark.parametrize(
    ("option", "target", "told"),
    [("-o", "-", "stdout"), ("-o", "t.csv", "is a file"), ("--save", "pick.mod", "one pick"),
     ("-o", ".", "t-scored.csv"), ("-o", "both.csv", "both/")],
)  # fmt: skip
def test_several_tables_need_a_folder(call, table, monkeypatch, option, target, told):
    monkeypatch.chdir(table.parent)
    with pytest.raises(UserError) as caught:
        call(table, table, option, target)
    assert told in str(caught.value)
    assert [path.name for path in table.parent.iterdir()] == ["t.csv"]


def test_the_screen_tells_which_rule_flags_and_how_clear_the_gap_is(call, table, tmp_path):
    def rule(*arguments):
        return json.loads(call(*arguments, "--json").out)["rule"]

    assert rule(table) == "gap"
    assert "\nclear gap: rank 1 scores" in call(table).out
    assert rule(table, "--contamination", "20%") == "share"
    assert "; --top-n 1 flags" in call(table, "--contamination", "20%").out
    smooth = np.random.default_rng(0).normal(size=(200, 2))
    pd.DataFrame(smooth, columns=["a", "b"]).to_csv(tmp_path / "smooth.csv", index=False)
    assert rule(tmp_path / "smooth.csv") == "few"
    assert "more flagged" not in call(tmp_path / "smooth.csv", "--top", "0").out
    assert "more flagged" in call(tmp_path / "smooth.csv", "--top", "1").out


def test_exactly_the_highest_scores_are_flagged(call, table, tmp_path):
    out = call(table, "--top-n", "3", "-o", tmp_path / "s.csv", "--save", tmp_path / "p.mod").out
    assert "flagged: 3 of 41 rows" in out
    written = pd.read_csv(tmp_path / "s.csv")
    assert written["flag"].sum() == 3
    assert written.nlargest(3, "score_")["flag"].tolist() == [1, 1, 1]
    out = call(table, "--apply", tmp_path / "p.mod", "--top-n", "5").out
    assert "flagged: 5 of 41 rows" in out


def test_json_holds_the_pick_and_the_flagged_rows(call, table, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text(table.read_text().replace("900.0", "0900.0"))
    result = call(other, "--json", "--top-n", "2", "-o", tmp_path / "s.csv")
    found = json.loads(result.out)
    assert found["source"] == str(other)
    assert (found["n_rows"], found["n_columns"], found["n_flagged"]) == (41, 3, 2)
    assert found["pick"] == {MODELS[0]: 1.0}
    assert "the table is made up" in found["warnings"]
    assert found["gap"]["n_above"] == 1
    assert found["gap"]["above"] == found["flagged"][0]["score"]
    assert found["flagged"][0]["row"] == 41
    assert found["flagged"][0]["rank"] == 1
    assert found["flagged"][0]["score"] > found["threshold"]
    # a number that begins with 0 stays as it was, so its column is text
    assert found["flagged"][0]["cells"] == {"height": "0900.0", "colour": "black", "score": 40}
    assert (tmp_path / "s.csv").exists()
    several = json.loads(call(other, other, "--json").out)
    assert [document["n_rows"] for document in several] == [41, 41]


def test_the_screen_shows_names_and_reasons_within_80_columns(call, tmp_path):
    frame = pd.DataFrame({"key": [f"K{i}" for i in range(41)], "same": "s"}).join(FRAME)
    frame = frame.rename(columns={"height": "a very long name of a column\x1b of heights"})
    frame["note"] = ["日本語のとても長いメモ" if i == 40 else "n" for i in range(41)]
    frame.to_csv(tmp_path / "t.csv", index=False)
    lines = call(tmp_path / "t.csv", "--top", "3", "--id", "key").out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.split()[:2] == ["rank", "row"])
    assert lines[start].split()[4:] == ["key", "why", "it", "is", "unusual"]
    first = " ".join(" ".join(lines[start + 2 : start + 5]).split())
    assert first.startswith("1 41 ")
    assert " yes K40 a very long name of a column\\x1b of heights 900.0 (usually 152" in first
    assert max(map(cell_len, (line.rstrip() for line in lines[start:]))) <= 80


def test_the_file_gets_a_column_why_on_request(call, table, tmp_path):
    call(table, "--top-n", "1", "-o", tmp_path / "s.csv", "--why")
    found = pd.read_csv(tmp_path / "s.csv", keep_default_na=False)
    assert list(found.columns[-5:]) == ["score_", "rank", "flag", "suspect", "why"]
    assert found["why"].iloc[40].startswith("height 900 (usually 152.1 to 189)")
    assert set(found["why"].iloc[:40]) == {""}
    again = call(tmp_path / "s.csv").out  # the column is not scored
    assert "not used: 'score_', 'rank', 'flag', 'suspect', 'why'" in again
    with pytest.raises(UserError, match="--why"):
        call(table, "--why")


def test_the_input_is_never_overwritten(call, table):
    before = table.read_bytes()
    with pytest.raises(UserError, match="the input itself"):
        call(table, "-o", table)
    other = table.with_name("t-scored.csv")
    other.write_bytes(before)
    with pytest.raises(UserError, match=r"t-scored\.csv"):
        call(table, other, "-o", table.parent)
    assert table.read_bytes() == other.read_bytes() == before


def test_files_of_one_command_do_not_overwrite_each_other(call, table, monkeypatch):
    monkeypatch.chdir(table.parent)
    before = table.read_bytes()
    for words in (
        ["-o", "s.csv", "--cells", "./s.csv"],
        ["-o", "s.csv", "--save", "s.csv"],
        ["--cells", "s.csv", "--marks", "s.csv"],
        ["--cells", "s.csv", "--accept", "s.csv", "--fix", "f.csv"],
    ):
        with pytest.raises(UserError, match="named twice"):
            call(table, *words)
    assert [path.read_bytes() for path in table.parent.iterdir()] == [before]


def test_files_in_a_folder_keep_their_formats(tmp_path):
    files = [tmp_path / name for name in ("a.tsv", "b.csv.gz", "c.xlsx", "d.mat", "e.parquet")]
    found = outputs_of("c", list(map(str, files)), [f"{tmp_path}/out/", None, None, None], ())
    names = ["a-scored.tsv", "b-scored.csv.gz", "c-scored.xlsx", "d-scored.csv"]
    assert [own.output.name for own in found] == [*names, "e-scored.parquet"]
    [found] = outputs_of("c", [str(tmp_path / "a.txt")], [None, str(tmp_path), None, None], ())
    assert found == (None, tmp_path / "a-cells.csv", None, None)


def test_roles_of_columns_are_saved_and_refused_with_apply(call, table, tmp_path):
    pick = tmp_path / "pick.mod"
    out = call(table, "--ignore", "colour", "--id", "score", "--save", pick).out
    heading = next(line.split() for line in out.splitlines() if line.split()[:1] == ["rank"])
    assert heading == ["rank", "row", "score", "flag", "score", "why", "it", "is", "unusual"]
    assert "the scores do not use: ignored: 'colour'; identifier: 'score'." in out
    assert load(pick).ignore == ["colour"]
    FRAME.drop(columns="colour").to_csv(tmp_path / "later.csv", index=False)
    assert "saved pick" in call(tmp_path / "later.csv", "--apply", pick).out
    with pytest.raises(BadParameter, match=r"'--ignore'.*--apply"):
        call(table, "--apply", pick, "--ignore", "colour")


def test_new_rows_are_read_with_the_options_of_a_saved_pick(call, tmp_path):
    lines = [f"{i % 7};{i * i % 11},5;{'k.A.' if i % 30 == 0 else i % 5}" for i in range(60)]
    for name in ("jan.csv", "feb.csv"):
        (tmp_path / name).write_text("\n".join(["a;b;c", *lines]) + "\n")
    with pytest.raises(UserError, match=r"'k\.A\.'"):
        call(tmp_path / "jan.csv", "--bad-values", "error")
    options = ("--na", "k.A.", "--bad-values", "error")
    call(tmp_path / "jan.csv", *options, "--save", tmp_path / "pick.mod")
    call(tmp_path / "feb.csv", "--apply", tmp_path / "pick.mod")
    # the user's own option counts
    with pytest.raises(UserError, match=r"'k\.A\.'"):
        call(tmp_path / "feb.csv", "--apply", tmp_path / "pick.mod", "--na", "?")


# a label: how well the pick ranks the labelled outliers


def write_labelled(path, seed=0, *, outliers=(3, 8, 20)):
    frame = pd.DataFrame(np.random.default_rng(seed).normal(size=(60, 3)), columns=list("abc"))
    frame.loc[[3, 8, 20], ["a", "b"]] += 2.5
    frame["bad"] = np.isin(np.arange(60), outliers).astype(int)
    frame.to_csv(path, index=False)
    return path


def test_the_screen_and_the_json_have_both_methods(call, tmp_path):
    path, scored = write_labelled(tmp_path / "t.csv"), tmp_path / "scored.csv"
    out = call(path, "--label", "bad", "-o", scored).out
    frame = pd.read_csv(scored)
    ap = average_precision_score(frame["bad"], frame["score"])
    lines = [line.split() for line in out.splitlines()]
    (pick,) = [words for words in lines if words[:2] == ["MetaOD's", "pick"]]
    assert float(pick[2]) == pytest.approx(ap, abs=6e-4)
    assert any(words[:2] == ["isolation", "forest"] for words in lines)
    measured = json.loads(call(path, "--label", "bad", "--json").out)["measured"]
    assert [row["method"] for row in measured] == ["MetaOD's pick", "isolation forest"]
    assert measured[0]["ap"] == pytest.approx(ap)


def test_without_a_label_or_without_outliers_nothing_is_measured(call, tmp_path):
    path = write_labelled(tmp_path / "t.csv", outliers=())
    assert "isolation forest" not in call(path).out
    assert json.loads(call(path, "--json").out)["measured"] is None
    out = call(path, "--label", "bad").out
    assert "note: Not measured: the label marks every row as an inlier." in out
