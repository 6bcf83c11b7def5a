import json
import re
from importlib.resources import files

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from made_summary import Page, made_summary

from metaod.report import render, shown
from metaod.report._figures import draw_map, draw_scores
from metaod.report._page import script_data

ANYTHING = st.text(st.characters(codec=None, exclude_categories=()), max_size=80)
HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)//",
    "<!--",
    "]]>",
    "' onmouseover='alert(1)",
    '" onfocus="alert(1)" autofocus="',
    "{{ 7 * 7 }}{% include 'x' %}",
    "&lt;b&gt;&#60;",
    "<img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "\u2028\u2029",
    "<svg><style>*{display:none}</style></svg>",
]
TEXTS = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(codec=None, exclude_categories=()), max_size=40),
    st.lists(st.sampled_from([*HOSTILE, "<", ">", "&", '"', "'", "/", "`"])).map("".join),
).map(lambda text: shown(text, 60) or "-")

PLAIN = Page(render(made_summary()))


@given(TEXTS)
@settings(max_examples=60)
@example(shown(HOSTILE[0], 60))
def test_no_element_or_attribute_comes_from_the_data(text):
    page = Page(render(made_summary(text)))
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in PLAIN.elements]
    # the policy is the same too: no script or style was added
    assert page.elements == PLAIN.elements
    assert page.scripts == PLAIN.scripts


@given(TEXTS.filter(lambda text: text.strip() == text and text))
@settings(max_examples=30)
def test_texts_are_shown_as_they_are(text):
    page = Page(render(made_summary(text)))
    titles = "".join(page.texts)
    assert titles.count(text) >= PLAIN.texts.count("plain")
    assert f"Outliers in {text}" in titles


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.sampled_from(HOSTILE)),
        lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
        max_leaves=10,
    )
)
def test_the_data_of_the_script_parses_to_the_same_values(data):
    text = script_data(data)
    assert json.loads(text) == data
    assert not set(text) & set("<>&\u2028\u2029")


def test_the_data_of_the_script_holds_every_threshold_and_point():
    summary = made_summary()
    data = json.loads(PLAIN.scripts[0])
    assert list(zip(data["flagged"], data["thresholds"], strict=True)) == [
        tuple(cut) for cut in summary["scores"]["cuts"]
    ]
    assert data["map"]["row"] == list(summary["map"]["rows"])
    assert data["orders"] == [list(order) for order in summary["top"]["orders"]]


def test_the_policy_allows_the_own_script_and_style_alone():
    [policy] = [
        dict(attributes)["content"]
        for tag, attributes in PLAIN.elements
        if tag == "meta" and ("http-equiv", "Content-Security-Policy") in attributes
    ]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    names = {name for _, attributes in PLAIN.elements for name, _ in attributes}
    assert "style" not in names
    assert not any(name.startswith("on") for name in names)


def test_nothing_is_loaded():
    for tag, attributes in PLAIN.elements:
        own = dict(attributes)
        assert "src" not in own
        assert own.get("href", "#").startswith("#"), tag


def test_ids_are_unique_and_every_label_has_its_target():
    ids = [dict(attributes)["id"] for _, attributes in PLAIN.elements if "id" in dict(attributes)]
    assert len(ids) == len(set(ids))
    for _, attributes in PLAIN.elements:
        own = dict(attributes)
        for name in ("for", "aria-labelledby"):
            assert set(own.get(name, "").split()) <= set(ids)


def test_the_script_is_small():
    assert len(PLAIN.scripts[1].encode()) < 40_000


def figures():
    summary = made_summary()
    return [
        draw_scores(summary["scores"]),
        draw_map(summary["map"], summary["n_rows"]),
    ]


@pytest.mark.parametrize("drawn", figures(), ids=["scores", "map"])
def test_a_figure_is_an_image_with_a_title_and_a_description(drawn):
    figure = Page(drawn)
    tag, attributes = figure.elements[0]
    own = dict(attributes)
    assert (tag, own["role"]) == ("svg", "img")
    named = [
        dict(attributes).get("id")
        for tag, attributes in figure.elements
        if tag in {"title", "desc"}
    ]
    assert own["aria-labelledby"].split() == named
    assert "20" in " ".join(figure.texts)  # flagged rows


def test_figures_have_no_colours_of_their_own():
    style = files("metaod.report").joinpath("assets", "figures.css").read_text("utf-8")
    for drawn in figures():
        classes = set(re.findall(r'class="([^"]+)"', drawn))
        assert all(f".{name}" in style for one in classes for name in one.split())


# the user's text


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
