"""Several files as one table."""

import pandas as pd
import pytest

from metaod.errors import BadFile, BadParameter, UserError
from metaod.tables import Preparation, pattern_files, read_table

PARTS = {
    "b.csv": pd.DataFrame({"n": [4, 5], "text": ["u", "v"], "only": [2**60 + 1, 7]}),
    "a.csv": pd.DataFrame({"text": ["x", "y", "z"], "n": [1, 2, 3]}),
    "c.parquet": pd.DataFrame({"n": [6.5], "text": ["w"]}),
}


@pytest.fixture
def folder(tmp_path):
    for name, frame in PARTS.items():
        write = frame.to_parquet if name.endswith("parquet") else frame.to_csv
        write(tmp_path / name, index=False)
    (tmp_path / "d.csv").mkdir()
    return tmp_path


def test_rows_follow_in_the_order_of_the_names_and_name_their_file(folder):
    table = read_table(folder / "*.*")
    files = ["a.csv"] * 3 + ["b.csv"] * 2 + ["c.parquet"]
    assert table.frame["file"].tolist() == files
    assert table.frame["n"].tolist() == [1, 2, 3, 4, 5, 6.5]
    assert table.frame["text"].tolist() == list("xyzuvw")
    assert table.frame["only"].isna().tolist() == [True] * 3 + [False] * 2 + [True]
    codes = [warning.code for warning in table.warnings]
    assert codes == ["files-differ", "rounded-numbers"]
    cells = table.original.read_numbers([5, 3])
    assert cells["n"].tolist() == [6.5, 4]
    assert str(cells["only"].iloc[1]) == str(2**60 + 1)


def test_rows_are_the_same_wherever_a_pattern_is_named(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    here = folder.name
    patterns = (f"{folder}/*.csv", f"{here}/*.csv", f"./{here}/../{here}/*.csv")
    first, *others = [read_table(pattern).frame for pattern in patterns]
    for other in others:
        pd.testing.assert_frame_equal(first, other)
    (folder / "may").mkdir()
    (folder / "b.csv").rename(folder / "may/b.csv")
    assert set(read_table(f"{here}/**/*.csv").frame["file"]) == {"a.csv", "may/b.csv"}


def test_the_file_names_rows_and_is_no_evidence(folder):
    table = read_table(f"{folder}/*.csv")
    for given, role, used in (({}, "id", False), ({"category": "file"}, "used", True)):
        record = Preparation(**given).fit(table).record_
        [column] = [column for column in record.columns if column.name == "file"]
        assert (column.role, column.is_used) == (role, used)
    (folder / "e.csv").write_text("n,file\n1,2\n")
    assert read_table(f"{folder}/[be].csv").file_column == "file_"


def test_each_file_is_read_by_the_rules_for_one(tmp_path):
    for name, numbers in (("a", [1.5, 2.5]), ("b", [3.5, 4.5])):
        rows = [f"k;{number}".replace(".", ",") for number in [*numbers, sum(numbers)]]
        rows[-1] = rows[-1].replace("k", "Total")
        (tmp_path / f"{name}.txt").write_text("A title\n\nkey;price\n" + "\n".join(rows) + "\n")
    table = read_table(tmp_path / "?.txt")
    assert table.frame["price"].tolist() == [1.5, 2.5, 3.5, 4.5]
    (tmp_path / "b.txt").write_text("key;price\n" + "k;1,5\n" * 3 + "k;oops\n" + "k;1,5\n" * 9)
    with pytest.raises(UserError, match=rf"{tmp_path}/b\.txt, line 5"):
        read_table(tmp_path / "?.txt", bad_values="error")
    with pytest.raises(BadParameter, match="sheet"):
        read_table(tmp_path / "?.txt", sheet=1)


def test_what_is_no_pattern(folder):
    with pytest.raises(BadFile, match="does not exist"):
        read_table(folder / "x*.csv")
    (folder / "a[b].csv").write_text("n,m\n1,2\n")
    assert read_table(folder / "a[b].csv").n_columns == 2
    assert not pattern_files("postgresql://host/a*")
    (folder / "e.csv").write_text("other,columns\n1,2\n")
    with pytest.raises(BadFile, match="no column in common"):
        read_table(folder / "[ae].csv")
    with pytest.raises(BadFile, match="needs at least"):
        read_table(folder / "[ab].csv", max_bytes=450)
