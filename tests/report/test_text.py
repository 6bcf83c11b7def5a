from hypothesis import given
from hypothesis import strategies as st

from metaod.report import shown

ANYTHING = st.text(st.characters(codec=None, exclude_categories=()), max_size=80)


@given(ANYTHING, st.integers(2, 60))
def test_it_can_be_encoded_and_is_no_longer_than_asked(text, most):
    clean = shown(text, most)
    assert len(clean) <= most
    clean.encode("utf-8")
    assert not any(ord(character) < 32 for character in clean)


@given(st.text("aé漢ب😀 <>&\"'", max_size=40))
def test_plain_text_stays(text):
    assert shown(text, 40) == text


def test_marks_that_turn_text_around_are_written_out():
    assert shown("a\u202eb\ud800\x00", 40) == "a\\u202eb\\ud800\\x00"
