"""Whatever bytes come in: a table or an error that the user can fix, never anything else."""

import io

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sample_files import SAMPLES

from metaod.errors import UserError
from metaod.tables import Table, read_table

CALM = settings(
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
MAGIC = [
    *(b"", b"PAR1", b"\x93NUMPY\x01\x00", b"\x89HDF\r\n\x1a\n", b"MATLAB 5.0 MAT-file"),
    *(b"SQLite format 3\0", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1Book".ljust(90, b"\0"), b"{", b"["),
    *(b"PK\x03\x04", b"\x1f\x8b\x08", b"@relation r\n", b"\xff\xfe", b"\xef\xbb\xbf", b"sep=;\n"),
]


def table_or_user_error(source, **options):
    """Read; say in one line what was wrong where that fails. Anything else escapes."""
    try:
        table = read_table(source, max_bytes=2**22, **options)
    except UserError as error:
        assert str(error)
        assert "\n" not in str(error)
    else:
        assert isinstance(table, Table)
        assert table.n_rows > 0
        assert table.n_columns > 0


@st.composite
def damage(draw):
    """Describe one way to damage bytes: how, where (as a share) and with what."""
    how = draw(st.sampled_from(["cut", "overwrite", "delete", "insert"]))
    where = draw(st.floats(0, 1, exclude_max=True))
    what = draw(st.binary(min_size=1, max_size=12) | st.sampled_from([b"\xff" * 8, b"\0" * 8]))
    return how, where, what


def damaged(data, how, where, what):
    at = int(where * len(data))
    if how == "cut":
        return data[:at]
    skip = {"overwrite": len(what), "delete": len(what), "insert": 0}[how]
    return data[:at] + (b"" if how == "delete" else what) + data[at + skip :]


@pytest.mark.parametrize("kind", SAMPLES)
def test_samples_are_read(kind, tmp_path):
    ending, data = SAMPLES[kind]
    path = tmp_path / f"t{ending}"
    path.write_bytes(data)
    table = read_table(path)
    assert table.source == str(path)
    assert read_table(io.BytesIO(data)).frame.equals(table.frame)


@pytest.mark.parametrize("kind", SAMPLES)
@CALM
@given(st.lists(damage(), min_size=1, max_size=3), st.booleans())
def test_damaged_files(kind, tmp_path, damages, labelled):
    ending, data = SAMPLES[kind]
    for how, where, what in damages:
        data = damaged(data, how, where, what)
    label = "y" if labelled else None
    table_or_user_error(io.BytesIO(data), label=label)
    path = tmp_path / f"t{ending}"
    path.write_bytes(data)
    table_or_user_error(path, label=label)


@pytest.mark.parametrize(
    "ending",
    [
        *(".csv", ".tsv", ".json", ".arff", ".parquet", ".mat", ".h5", ".npy", ".npz"),
        *(".xlsx", ".gz"),
    ],
)
@CALM
@given(st.sampled_from(MAGIC), st.binary(max_size=300))
def test_arbitrary_bytes(ending, tmp_path, magic, data):
    path = tmp_path / f"t{ending}"
    path.write_bytes(magic + data)
    table_or_user_error(path)
    table_or_user_error(io.BytesIO(magic + data))


@CALM
@given(
    st.text(alphabet="01.,;\t |\"'?-eaNx\r\n", max_size=80),
    st.sampled_from([None, True, False]),
    st.sampled_from([None, ",", ";", " ", "\t"]),
    st.sampled_from([None, ".", ","]),
)
def test_arbitrary_text(text, header, delimiter, decimal):
    if decimal is not None and decimal == delimiter:
        decimal = None
    table_or_user_error(io.StringIO(text), header=header, delimiter=delimiter, decimal=decimal)


@CALM
@given(st.text(alphabet="@%{}?,'\"\\ 01.eaxy\n", max_size=80))
def test_arbitrary_arff_rows(rows):
    header = "@relation r\n@attribute a real\n@attribute b {x,y}\n@attribute c string\n@data\n"
    table_or_user_error(io.StringIO(header + rows))


@CALM
@given(st.text(alphabet="{}?,'\"\\ 01aeglinrstu@dyMHm-:\t\n", max_size=60))
def test_arbitrary_arff_declarations(declarations):
    table_or_user_error(io.StringIO(f"@relation r\n@attribute {declarations}\n@data\n1\n"))


@CALM
@given(st.text(alphabet='{}[]:,"\\ 01.eaxn\n', max_size=80))
def test_arbitrary_json(text):
    table_or_user_error(io.StringIO('{"a": 1}\n' + text))
    table_or_user_error(io.StringIO('[{"a": 1, "b": ' + text))
