"""The report in a real browser."""

import re

import pytest
from made_summary import N_ROWS, made_summary

from metaod.report import render

HOSTILE = "<script>document.title='taken'</script><img src=x onerror=alert(1)>\"'"


class Opened:
    """A page and what went wrong in it."""

    def __init__(self, browser, path, **options):
        # without it the page scrolls slowly, and a point is elsewhere when it is clicked
        self.context = browser.new_context(reduced_motion="reduce", **options)
        self.page = self.context.new_page()
        self.problems = []
        self.requests = []
        self.page.on("console", lambda said: self.problems.append(said.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: self.problems.append("dialog") or dialog.dismiss())
        self.address = path.as_uri()
        self.page.goto(self.address)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    for name, text in (("plain", "plain"), ("hostile", HOSTILE), ("long", "W" * 60)):
        (folder / f"{name}.html").write_text(render(made_summary(text)), "utf-8")
    below = made_summary()  # a finding in a row that is not unusual
    rows = below["top"]["rows"]
    rows[45]["wrong"], rows[6]["wrong"] = rows[6]["wrong"], []
    rows[45]["is_flagged"] = below["map"]["flagged"][45] = True
    below["n_flagged"] += 3  # two others are not listed
    below["wrong"]["groups"][0]["cells"][0]["row"] = 46
    (folder / "below.html").write_text(render(below), "utf-8")
    return folder


@pytest.fixture
def open_page(browser, folder):
    opened = []

    def start(name="plain", **options):
        opened.append(Opened(browser, folder / f"{name}.html", **options))
        return opened[-1]

    yield start
    for one in opened:
        one.context.close()
        # content that the policy refuses is reported on the console
        assert one.problems == []
        assert one.requests == [one.address]


@pytest.fixture
def page(open_page):
    return open_page().page


def listed(page):
    return page.locator("#list tbody tr:visible")


def ranks(page):
    cells = page.locator("#list tbody tr:visible td:first-child")
    return [int(text) for text in cells.all_inner_texts()]


def diamonds(page):
    return page.locator("[data-part=flagged]").get_attribute("d").count("z")


def test_the_slider_moves_every_count(page):
    assert page.locator("[data-part=count]").inner_text() == "20"
    slider = page.locator("#threshold")
    slider.focus()
    line = page.locator("[data-part=line]").get_attribute("transform")
    page.keyboard.press("ArrowRight")
    assert page.locator("[data-part=count]").inner_text() == "21"
    assert page.locator("[data-part=share]").inner_text() == "7.0%"
    assert page.locator("[data-part=plain-count]").inner_text() == "21"
    assert page.locator("#number").input_value() == "21"
    assert slider.get_attribute("aria-valuetext").startswith(f"21 of {N_ROWS} rows flagged")
    assert page.locator("[data-part=line]").get_attribute("transform") != line
    assert diamonds(page) == listed(page).count() == 21
    page.keyboard.press("Home")
    assert diamonds(page) == listed(page).count() == 0
    page.keyboard.press("End")
    assert page.locator("[data-part=count]").inner_text() == str(N_ROWS)
    assert listed(page).count() == 60
    assert "240 more flagged rows are not in this list" in page.locator("#listed").inner_text()


def test_a_number_can_be_typed_and_taken_back(page):
    page.locator("#number").fill("7")
    assert diamonds(page) == 7
    page.locator("#reset").click()
    assert diamonds(page) == 20
    page.locator("#gap").click()
    assert diamonds(page) == 5
    page.locator("#number").fill("-3")
    assert diamonds(page) == 0
    page.locator("#number").fill("99999")
    assert page.locator("[data-part=count]").inner_text() == str(N_ROWS)


def test_the_line_can_be_dragged(page):
    page.locator("#score-figure").scroll_into_view_if_needed()
    box = page.locator("#score-figure").bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.5, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.3, y)
    page.mouse.up()
    near = int(page.locator("[data-part=count]").inner_text())
    assert near > 20
    page.mouse.move(box["x"] + box["width"] * 0.1, y)  # not pressed any more
    assert int(page.locator("[data-part=count]").inner_text()) == near


def test_headings_sort_the_rows(page):
    row = page.locator("th[data-sort=rank]")
    row.get_by_role("button").click()
    assert row.get_attribute("aria-sort") == "ascending"
    assert ranks(page) == list(range(1, 21))
    row.get_by_role("button").click()
    assert row.get_attribute("aria-sort") == "descending"
    assert ranks(page) == list(range(20, 0, -1))
    column = page.locator("th[data-sort='2']")
    column.get_by_role("button").press("Enter")
    assert row.get_attribute("aria-sort") is None
    assert [(rank - 1) * 7 % 10 for rank in ranks(page)] == sorted(
        (rank - 1) * 7 % 10 for rank in range(1, 21)
    )


def test_rows_can_be_found_by_text_by_reason_and_beyond_the_threshold(page):
    page.locator("#only").uncheck()
    assert listed(page).count() == 60
    page.locator("#find").fill("PLAIN8 outlier")
    assert all("plain8" in text for text in listed(page).all_inner_texts())
    assert 0 < listed(page).count() < 60
    page.locator("#find").fill("")
    page.locator("#by").select_option(index=2)
    assert ranks(page) == [place + 1 for place in range(50) if place % 3 == 2]


def test_the_map_names_rows_and_the_list_shows_them_on_the_map(page):
    page.locator("#list tbody tr:visible button").first.click()
    assert page.locator("[data-part=picked] circle").count() == 1
    ring = page.locator("[data-part=picked] circle").bounding_box()
    page.mouse.move(0, 0)
    page.mouse.click(ring["x"] + ring["width"] / 2, ring["y"] + ring["height"] / 2)
    assert page.locator("tr.picked td:first-child").inner_text() == "1"
    assert page.locator("#readout").inner_text().startswith("row 1, 1 in the order of scores")


def test_findings_lead_to_their_rows(open_page):
    page = open_page("below").page
    assert page.locator("#wrong-list tbody").count() == 3
    assert "and 27 more" in page.locator("#wrong-list tbody").last.inner_text()
    assert diamonds(page) == listed(page).count() == page.locator("tr.flagged").count() == 21
    assert "2 more flagged rows are not in this list" in page.locator("#listed").inner_text()
    assert "23 are flagged" in page.locator(".lead").last.inner_text()
    page.locator("#number").fill("9")  # rows with wrong cells are not flagged any more
    assert diamonds(page) == listed(page).count() == 9
    assert "are flagged" not in page.locator(".lead").last.inner_text()
    page.locator("#wrong-list a").first.click()
    row = page.locator("#row-46")
    assert row.locator("td.suspect").inner_text().startswith("plain")
    assert row.bounding_box()["y"] < page.viewport_size["height"]


def test_hostile_text_is_shown_and_nothing_runs(open_page):
    page = open_page("hostile").page
    assert page.title().startswith("Outliers in <script>")
    assert page.locator("h1").inner_text() == f"Outliers in {HOSTILE}"
    assert page.locator("img").count() == 0
    page.locator("#find").fill(HOSTILE.split(maxsplit=1)[0])
    assert listed(page).count() == 20


@pytest.mark.parametrize("name", ["plain", "hostile"])
@pytest.mark.parametrize("width", [320, 375, 1100])
def test_the_page_itself_never_scrolls_sideways(open_page, name, width):
    page = open_page(name, viewport={"width": width, "height": 800}).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [375, 1280])
def test_a_long_value_does_not_widen_the_list_of_findings(open_page, width):
    page = open_page("long", viewport={"width": width, "height": 800}).page
    box = page.locator(".scroll", has=page.locator("#wrong-list"))
    assert box.evaluate("(own) => own.scrollWidth <= own.clientWidth")


def test_without_scripts_everything_can_be_read(open_page):
    page = open_page(java_script_enabled=False).page
    assert page.locator("#list tbody tr:visible").count() == 60
    assert page.locator(".scripted:visible, #bar:visible").count() == 0
    assert page.locator("h2:visible").count() >= 8
    assert diamonds(page) == 20


def test_it_prints_what_is_listed_without_controls(open_page):
    page = open_page(color_scheme="dark").page
    page.emulate_media(media="print")
    assert page.locator("#bar:visible, .filters:visible").count() == 0
    assert listed(page).count() == 20
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == (
        "rgb(255, 255, 255)"
    )
    n_pages = len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))
    assert 2 <= n_pages <= 8


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(open_page, scheme):
    page = open_page(color_scheme=scheme).page
    low = page.evaluate(CONTRAST)
    assert low == []


def test_every_control_has_a_name(page):
    for control in page.locator("button:visible, input:visible, select:visible").all():
        name = control.evaluate(
            "e => e.textContent.trim() || e.ariaLabel || (e.labels && e.labels[0].textContent)"
        )
        assert name


CONTRAST = """() => {
  const parse = (text) => (text.match(/[0-9.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const found = new Set();
  for (const element of document.querySelectorAll("body *")) {
    const isText = Array.from(element.childNodes).some((n) => n.nodeType === 3 && n.data.trim());
    if (!isText || element.closest("script, style, template, title, desc")) continue;
    if (element.closest("[hidden], .skip, .unseen")) continue;
    const style = getComputedStyle(element);
    const ink = parse(element instanceof SVGElement ? style.fill : style.color);
    let ground = element, paper = [255, 255, 255, 0];
    while (ground && !(paper.length === 3 || paper[3] > 0)) {
      paper = parse(getComputedStyle(ground).backgroundColor);
      ground = ground.parentElement;
    }
    const [a, b] = [light(ink), light(paper)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.add(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`);
  }
  return Array.from(found);
}"""
