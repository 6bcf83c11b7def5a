"""The recipe "Add a reader" of CONTRIBUTING, followed literally with an invented format."""

import sys
import types

import pytest

import metaod
from metaod.errors import BadFile, BadParameter
from metaod.tables.readers import READERS, Reader, begins_with

# step 1: src/metaod/tables/readers/key_values.py
KEY_VALUES = '''
"""Key-value text: a row a line, ``name=value`` between blanks."""

import pandas as pd

from metaod.tables.readers._reader import Content


def read(source, options):
    with source.open() as stream:
        _, *lines = stream.read().decode().splitlines()
    rows = [dict(field.split("=") for field in line.split()) for line in lines]
    return Content(pd.DataFrame(rows))  # text: read_table types the columns
'''

# step 2: in READERS of readers/__init__.py
MODULE = "metaod.tables.readers.key_values"
READER = Reader("key-value text", (".kv",), begins_with(b"#kv"), MODULE)


@pytest.fixture(autouse=True)
def key_values():
    module = types.ModuleType(MODULE)
    exec(KEY_VALUES, module.__dict__)  # stands for the new file
    sys.modules[MODULE] = module
    READERS.insert(0, READER)
    yield
    READERS.remove(READER)
    del sys.modules[MODULE]


@pytest.fixture
def write(tmp_path):
    def write(name):
        path = tmp_path / name
        path.write_text("#kv\na=1 b=2.5 y=0\na=3 b=4.5 y=1\n")
        return path

    return write


def test_a_file_of_the_new_format_is_read(write):
    table = metaod.read_table(write("t.kv"), label="y")
    assert table.frame.to_dict("list") == {"a": [1, 3], "b": [2.5, 4.5]}
    assert table.label.tolist() == [0, 1]
    assert metaod.read_table(write("without_ending")).n_columns == 3


def test_messages_use_its_declaration(write):
    with pytest.raises(BadFile, match=r"seems to be key-value text; rename it to t\.kv"):
        metaod.read_table(write("t.csv"))
    with pytest.raises(BadParameter, match="'sheet'"):
        metaod.read_table(write("t.kv"), sheet=0)
