"""JSON and JSON Lines: where the records are, what their columns are, and what is refused."""

import gzip
import io
import json
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.errors import BadFile
from metaod.tables import read_table
from metaod.tables.readers.json_files import _bytes_needed

ROWS = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}, {"a": 4, "b": "x"}]
COLUMNS = {"a": [1, 2, 4], "b": ["x", "y", "x"]}


def read(text, **options):
    return read_table(io.StringIO(text if isinstance(text, str) else json.dumps(text)), **options)


@pytest.mark.parametrize(
    "text",
    [
        "\n\n".join(map(json.dumps, ROWS)),
        "\ufeff" + "\r\n".join(map(json.dumps, ROWS)),
        "\n".join(json.dumps(list(row.values())) for row in ({"a": "a", "b": "b"}, *ROWS)),
        json.dumps(ROWS),
        json.dumps(ROWS, indent=2),
        json.dumps({"n": 2, "found": [1], "answer": {"rows": ROWS}}),
        json.dumps([["a", "b"], *(list(row.values()) for row in ROWS)]),
        json.dumps(COLUMNS),
        pd.DataFrame(ROWS).to_json(),
        pd.DataFrame(ROWS, index=["k", "l", "m"]).to_json(orient="index"),
    ],
)
def test_records_are_found_in_every_form(text):
    table = read(text)
    assert table.frame.to_dict("list") == COLUMNS
    assert table.warnings == () or list(table.frame.index) == ["k", "l", "m"]


def test_gzipped_files_and_other_encodings(tmp_path):
    path = tmp_path / "t.ndjson.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, ROWS)).encode("utf-16")))
    assert read_table(path).frame.to_dict("list") == COLUMNS
    assert read('[{"a": "é"}, {"a": "x"}]', encoding="latin-1").frame["a"].tolist() == ["é", "x"]


def test_a_first_column_of_lists_without_a_name_is_the_index():
    frame = read([[None, "a", None], ["k", 1, 2], ["l", 3, 4]]).frame
    assert frame.to_dict() == {"a": {"k": 1, "l": 3}, "column 3": {"k": 2, "l": 4}}


def test_objects_are_dotted_names_and_lists_are_text():
    deep = {"b": {"c": 1, "d": {"e": "é"}}, "tags": ["é", {"f": 1}], "none": {}}
    frame = read([deep, {"b": None, "g": 2}]).frame
    assert frame.columns.tolist() == ["b.c", "b.d.e", "tags", "b", "g"]
    assert frame.iloc[0, :3].tolist() == [1, "é", '["é", {"f": 1}]']
    np.testing.assert_array_equal(frame["g"], [np.nan, 2])


def test_one_list_of_several_is_named():
    lists = {"x": {"rows": ROWS}, "y": [{"c": 1}, {"c": 2}]}
    assert read(lists, variable="y").frame.to_dict("list") == {"c": [1, 2]}
    assert read(lists, variable="x.rows").n_columns == 2
    with pytest.raises(BadFile, match=r"several lists of records: 'x\.rows', 'y'.*'variable'"):
        read(lists)
    with pytest.raises(BadFile, match=r"no list of records 'z'.*'x\.rows', 'y'"):
        read(lists, variable="z")


def test_other_types_in_a_column_are_findings():
    table = read([{"a": n} for n in [*range(20), "oops", True]])
    assert table.misfits["a"].texts == ["oops", "True"]
    with pytest.raises(Exception, match=r"'oops'.*record 21"):
        read([{"a": n} for n in [*range(20), "oops"]], bad_values="error")


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ('{"a": 1}\n\n{"a": 2\n{"a": 3}', 3, "valid JSON"),
        ('[{"a": 1},\n{"a": 2,}]', 2, "valid JSON"),
        ('{"a": 1}\n{"b": 1, "b": 2}', 2, "'b' is there twice"),
        ('{"a": 1}\n{"a.b": 1, "a": {"b": 2}}', 2, r"two values named 'a\.b'"),
        ('{"a": 1}\n7', 2, "a number"),
        ("[1, 2]\n[3]", 2, "1 value"),
        ('{"a": 1}\n' + '{"a":' * 60 + "1" + "}" * 60, 2, "more than 50 objects"),
        ('{"a": ' + "[" * 200_000, 1, "too deeply"),
        ('{"a": 1}\n{"%s": 1}' % ("n" * 2000), 2, "2,000 characters"),
        ('{"a": 1}\n{"a": %s}' % ("1" * 5000), 2, "digits"),
        ('[{"a": 1}, null]', None, "record 2 is null"),
        ("[]", None, "no records"),
        ("[{}, {}]", None, "no records"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text, line, told):
    with pytest.raises(BadFile, match=told) as caught:
        read(text)
    assert caught.value.line == line


def test_rows_of_many_different_keys_are_refused():
    with pytest.raises(BadFile, match="needs at least"):
        read([{f"k{n}": 1} for n in range(300)], max_bytes=2**20)
    with pytest.raises(BadFile, match="columns"):
        read([{str(n): 1 for n in range(100_001)}])


VALUES = st.recursive(
    st.none() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=2), inner),
)


@given(VALUES, st.booleans())
@settings(derandomize=True, deadline=None)
def test_memory_is_known_before_a_text_is_decoded(value, ascii_only):
    text = json.dumps([value] * 300, ensure_ascii=ascii_only, separators=(",", ":")).encode()
    tracemalloc.start()
    decoded = json.loads(text.decode(), object_pairs_hook=dict)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(decoded) == 300
    assert peak <= _bytes_needed(text) + 2**14
