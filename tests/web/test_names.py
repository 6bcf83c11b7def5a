"""Names of uploaded files."""

from metaod.tables import READ_ENDINGS
from metaod.web import _names as names


def test_every_file_that_can_be_read_keeps_its_ending():
    assert {names.stored_ending(f"t{ending}") for ending in READ_ENDINGS} == READ_ENDINGS
    assert {names.stored_ending(f"t{e}.gz") for e in READ_ENDINGS} == {
        f"{e}.gz" for e in READ_ENDINGS
    }
