"""The page in a real browser: from an upload to downloads, by mouse and by keys."""

import csv

import pandas as pd
from made_server import client_of, made_csv, serving

from metaod.web import Limits

SLOW_FLAGS = """() => {
  const real = window.fetch;
  const wait = () => new Promise((done) => setTimeout(done, 300));
  const late = (...given) => wait().then(() => real(...given));
  window.fetch = (...given) => (given[0].endsWith("/flags") ? late(...given) : real(...given));
}"""


def test_from_an_upload_to_the_downloads(open_tab, tmp_path, size):
    tab = open_tab(size)
    tab.give(made_csv(), "my items.csv")
    tab.see("columns")
    assert tab.text("columns-title") == "my items.csv"
    assert tab.text("columns-size") == "60 rows × 4 columns"
    tab.page.select_option("select[data-column='colour']", "ignore")
    tab.page.select_option("select[data-column='name']", "id")
    tab.page.click("#detect")
    tab.see("result")
    assert "of 60 unusual" in tab.text("result-title")
    assert "picked for this table" in tab.text("pick")
    first = tab.page.inner_text("#rows-table tbody tr:first-child")
    assert "item 7" in first
    assert "99.5" in first
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    tab.page.evaluate(SLOW_FLAGS)  # a download comes after them
    tab.page.focus("#threshold")
    tab.page.keyboard.press("Home")
    for _ in range(3):
        tab.page.keyboard.press("ArrowRight")
    assert tab.text("result-title").endswith("3 rows of 60 unusual")
    assert tab.page.locator("#rows-table tr.flagged").count() == 3
    assert tab.page.get_attribute("#threshold", "aria-valuetext") == "3 rows flagged"

    saved = tab.download("[data-get='scored']")
    assert saved.suggested_filename == "my items-scored.csv"
    saved.save_as(tmp_path / "scored.csv")
    with (tmp_path / "scored.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert [",".join(row[:-4]) for row in rows] == made_csv().decode().splitlines()
    assert [row[-2] for row in rows].count("1") == 3
    assert tab.download("[data-get='report']").suggested_filename == "my items-report.html"
    tab.page.click("#reset")
    tab.page.wait_for_function("() => document.getElementById('reset').disabled")
    assert tab.page.is_disabled("[data-get='marks']")
    tab.page.reload()  # the uses of columns stay
    tab.see("result")
    tab.page.click("[data-step=columns]")
    assert tab.page.input_value("select[data-column='colour']") == "ignore"
    assert tab.page.input_value("select[data-column='name']") == "id"
    tab.page.click("[data-step=result]")
    tab.page.click("#delete")
    tab.see("start")
    assert "#" not in tab.page.url


def test_a_review_by_clicks_and_keys(open_tab, tmp_path, size):
    tab = open_tab(size)
    tab.scored()
    tab.page.click("#to-review")
    tab.see("review")
    assert tab.text("counts").startswith("Answered 0")
    first = tab.text("question")
    assert tab.page.locator("#cells-table tbody tr").count() == 4
    tab.answers(lambda: tab.page.click("[data-answer=yes]"))
    assert tab.page.evaluate("document.activeElement.dataset.answer") == "yes"
    assert tab.text("question") != first
    assert "outliers 1" in tab.text("counts")
    row = first.split()[1]
    assert f"item {int(row) - 1}" in first
    ranked = tab.page.inner_text("#ranking-table tbody tr:first-child").split()
    assert row in ranked
    assert "yes" in ranked
    tab.answers(lambda: tab.page.keyboard.press("n"))
    tab.answers(lambda: tab.page.keyboard.press("u"))
    assert "Answered 3 · outliers 1 · unsure 1" in tab.text("counts")
    third = tab.text("question")
    tab.answers(lambda: tab.page.keyboard.press("b"))
    assert "Answered 2" in tab.text("counts")
    assert tab.text("question") != third
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    tab.page.reload()  # answers stay, and the page returns to where it was
    tab.see("review")
    assert "Answered 2" in tab.text("counts")
    tab.page.click("#to-result")
    tab.see("result")
    assert "you: yes" in tab.page.inner_text("#rows-table tbody tr:first-child")
    tab.download("[data-get='marks']").save_as(tmp_path / "items.marks.csv")
    words = pd.read_csv(tmp_path / "items.marks.csv")["answer"]
    assert words.tolist() == ["yes", "no", "unsure", "withdrawn"]


def test_findings_are_answered_by_clicks_and_keys(open_tab, size):
    tab = open_tab(size)
    lines = made_csv(120).decode().splitlines()
    lines[21], lines[41] = "item 20,77777.0,110,red", "item 40,12.5,-66666,red"
    tab.scored("\n".join(lines).encode())
    page, first = tab.page, tab.text("wrong-counts")
    size_finding = page.locator("button.finding", has_text="77777")
    assert "item 20" in size_finding.inner_text()
    size_finding.click()
    page.wait_for_selector("#row-panel:not([hidden])")
    assert tab.text("row-title") == "Row 21 · item 20"
    assert "77777" in page.inner_text("#row-table tr.apart .suspect")
    page.keyboard.press("c")
    page.keyboard.press("Enter")  # an empty value is no correction
    page.keyboard.type("twelve")
    page.keyboard.press("Enter")
    wait_for(page, "problem", "has no digit")
    assert tab.text("wrong-counts") == first
    page.fill("#correction", "12.5")
    page.keyboard.press("Enter")
    wait_for(page, "wrong-counts", "Answered: 1 wrong (1 with a correct value), 0 right.")
    n_cells = int(first.split()[0])
    assert tab.text("wrong-counts").startswith(f"{n_cells - 1} cell")
    assert not page.is_disabled("[data-get=marks]")
    assert page.locator("button.finding", has_text="77777").count() == 0
    page.wait_for_selector("#findings #row-panel:not([hidden])")  # the next finding
    if "item 40" not in tab.text("row-title"):
        page.locator("button.finding", has_text="-66666").click()
        wait_for(page, "row-title", "item 40")
    page.keyboard.press("n")
    wait_for(page, "wrong-counts", "1 right")
    assert page.locator("button.finding", has_text="-66666").count() == 0
    page.click("#rank-again")
    page.wait_for_selector("#rows-table tbody tr:first-child :text('you: yes')")
    assert "item 20" in page.inner_text("#rows-table tbody tr:first-child")
    page.locator("#rows-table tbody tr").first.click()
    page.wait_for_selector("#rows-table #row-panel:not([hidden])")
    assert "you: wrong, correct is 12.5" in page.inner_text("#row-table")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.keyboard.press("Escape")
    assert not page.is_visible("#row-panel")
    page.reload()  # answers stay
    tab.see("result")
    page.keyboard.press("b")
    wait_for(page, "wrong-counts", "0 right")
    wait_for(page, "row-title", "item 40")
    page.keyboard.press("b")
    page.wait_for_selector("#take-back", state="hidden")
    assert tab.text("wrong-counts") == first


def test_any_row_is_shown_whole_and_the_number_of_flags_is_typed(open_tab, size):
    tab = open_tab(size)
    tab.scored()
    page = tab.page
    page.fill("#wanted", "33")
    page.press("#wanted", "Enter")
    wait_for(page, "row-title", "Row 33")
    assert "item 32" in tab.text("row-title")
    ring = page.get_attribute("#map .ring", "d")
    assert ring
    page.keyboard.press("Escape")
    assert page.get_attribute("#map .ring", "d") == ""
    x, y = (float(number) for number in ring[1:].partition("a")[0].split())
    box = page.locator("#map").bounding_box()
    at = {"x": (x + 9) * box["width"] / 480, "y": y * box["height"] / 320}
    page.locator("#map").click(position=at)
    page.wait_for_selector("#looked-up #row-panel:not([hidden])")
    page.fill("#number", "5")
    page.press("#number", "Enter")
    assert tab.text("result-title").endswith("5 rows of 60 unusual")
    assert not page.is_disabled("#reset")
    assert page.locator("#rows-table tr.flagged").count() == 5
    assert "With the rows of wrong cells" not in tab.text("flagged")
    if page.is_visible("#to-gap"):
        page.click("#to-gap")
        assert page.input_value("#number") == tab.text("to-gap").split()[-1]
    page.evaluate("scrollTo(0, 300)")
    page.reload()
    tab.see("result")
    page.wait_for_function("() => scrollY === 300")
    page.click("[data-step=columns]")
    page.reload()
    tab.see("columns")
    for part in ("result", "columns"):
        page.go_back()
        tab.see(part)
    page.go_back()
    tab.see("start")
    page.go_forward()
    tab.see("columns")


def test_a_finding_that_is_not_listed_is_answered_alone(open_tab):
    lines = made_csv(200).decode().splitlines()
    for row in range(20, 146, 9):  # more cells than a pattern lists
        name, _, *others = lines[row].split(",")
        lines[row] = ",".join([name, "999", *others])
    tab = open_tab()
    tab.scored("\n".join(lines).encode())
    page = tab.page
    listed = page.locator("#findings [data-finding]").evaluate_all(
        "items => items.map((item) => Number(item.dataset.finding.split(' ')[0]))"
    )
    [row, *_] = [row for row in range(20, 146, 9) if row not in listed]
    page.fill("#wanted", str(row))
    page.press("#wanted", "Enter")
    wait_for(page, "row-title", f"Row {row}")
    page.keyboard.press("a")  # there is no choice of the whole pattern here
    page.keyboard.press("y")
    wait_for(page, "wrong-counts", "Answered: 1 wrong")


def test_words_are_not_broken(open_tab):
    rows = "\n".join(f"teilstationär,{i % 9},{i * i % 31},10.02.2024" for i in range(60))
    tab = open_tab("phone")
    tab.scored(f"Aufnahmeart,Anzahl,Dauer,Aufnahmedatum\n{rows}".encode())
    tab.page.evaluate("""() => {
      const [summary, details] = ["summary", "details"].map((own) => document.createElement(own));
      summary.append("x".repeat(200));
      details.append(summary);
      document.getElementById("findings").append(details);
      document.getElementById("wrong").hidden = false;
    }""")
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab.page.click("#to-review")
    tab.see("review")
    broken = """() => [...document.querySelectorAll("#cells-table td:not(.quiet) .whole")]
      .filter((own) => own.getClientRects().length > 1).map((own) => own.innerText)"""
    assert tab.page.evaluate(broken) == []
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def wait_for(page, element, text):
    page.wait_for_function(
        "([id, text]) => document.getElementById(id).innerText.includes(text)", arg=[element, text]
    )


def test_two_tabs_review_one_table(open_tab, server):
    one = open_tab()
    one.scored()
    other = open_tab(link=one.page.url)
    for tab in (one, other):
        tab.see("result")
        tab.page.click("#to-review")
        tab.see("review")
    one.answers(lambda: one.page.keyboard.press("y"))
    other.answers(lambda: other.page.keyboard.press("n"))
    assert "is answered already" in other.text("problem")
    assert other.text("question") == one.text("question")
    # the browser writes the refusal to the console by itself
    assert [said for said in other.complaints if "409" not in said] == []
    other.complaints.clear()


def test_a_bad_file_is_explained_and_can_be_read_otherwise(open_tab):
    tab = open_tab()
    rows = b"".join(b"%d,%d\n" % (i, i * 7 % 11) for i in range(200))
    tab.give(b"a,b\n" + rows + b"oops\n", "bad.csv")
    tab.see("columns")
    assert "bad.csv" in tab.text("problem")
    assert "line 202" in tab.text("problem")
    assert "“Rows at the end to leave out, as totals”: 1" in tab.text("problem")
    assert "=" not in tab.text("problem")  # no parameters of Python
    assert tab.page.is_disabled("#detect")
    tab.page.reload()
    tab.see("columns")
    assert "line 202" in tab.text("problem")
    tab.page.fill("[name=skip_footer]", "1")
    tab.page.click("#reading-form button")
    tab.page.wait_for_selector("#columns-table:not([hidden])")
    assert not tab.page.is_visible("#problem")
    assert tab.text("columns-size") == "200 rows × 2 columns"
    tab.page.click("[data-step=start]")
    tab.give(b"\x89PNG\r\n\x1a\n" + bytes(99), "picture.csv")
    tab.page.wait_for_function(
        "() => document.getElementById('problem').innerText.includes('picture.csv')"
    )


def test_uses_of_columns_that_are_not_shown_are_sent(open_tab):
    tab = open_tab()
    names = [f"c{i}" for i in range(110)]
    rows = "\n".join(",".join(str(i * j % 13 % 2) for j in range(1, 111)) for i in range(30))
    tab.give(f"{','.join(names)}\n{rows}".encode())
    tab.see("columns")
    tab.page.select_option("select[data-column='c3']", "ignore")
    tab.page.click("#more-columns")
    assert tab.page.input_value("select[data-column='c3']") == "ignore"
    assert tab.page.evaluate("document.activeElement.dataset.column") == "c100"
    tab.page.select_option("select[data-column='c109']", "label")
    tab.page.select_option("select[data-column='c108']", "id")
    for _ in range(2):  # the second time most columns are not shown
        tab.page.click("#reading summary")
        with tab.page.expect_request("**/inspection") as sent:
            tab.page.click("#reading-form button")
        given = {"reading": {"label": "c109"}, "roles": {"ignore": ["c3"], "id": ["c108"]}}
        assert sent.value.post_data_json == given
        tab.see("working")
        tab.see("columns")


def test_a_file_that_is_too_large_is_refused(open_tab):
    tab = open_tab()
    tab.page.wait_for_function("() => document.getElementById('most').innerText !== ''")
    tab.give(b"a,b\n" + b"1,2\n" * 2**18)
    tab.page.wait_for_selector("#problem:not([hidden])")
    assert "more than the 1 MB" in tab.text("problem")
    tab.see("start")
    assert not [url for url in tab.asked if "api/tables" in url]


def test_a_job_can_be_cancelled(open_tab):
    tab = open_tab()
    tab.give(made_csv())
    tab.see("columns")
    tab.page.click("#detect")
    tab.see("working")
    tab.page.click("#cancel")
    tab.see("columns")
    assert "Cancelled" in tab.text("problem")
    tab.page.click("#detect")
    tab.see("result")


def test_the_example_is_opened_by_keys_alone(open_tab):
    tab = open_tab(color_scheme="dark")
    for _ in range(12):
        tab.page.keyboard.press("Tab")
        if tab.page.evaluate("document.activeElement.id") == "example":
            break
    tab.page.keyboard.press("Enter")
    tab.see("columns")
    assert "24 known outliers" in tab.text("columns-size")
    assert tab.page.evaluate("document.activeElement.id") == "columns-title"


def test_a_table_that_is_gone_leads_to_the_start(open_tab, server):
    tab = open_tab()
    tab.give(made_csv())
    tab.see("columns")
    with client_of(server) as client:
        client.delete(f"/api/tables/{tab.page.url.partition('#')[2].split('/')[0]}")
    tab.page.click("#detect")
    tab.see("start")
    assert "upload it again" in tab.text("problem")
    tab.complaints = [said for said in tab.complaints if "404" not in said]


def test_the_link_opens_the_page_in_one_browser_and_the_token_in_others(open_tab, tmp_path):
    with serving(tmp_path, Limits(), token="a-token-of-the-tests") as guarded:
        first = open_tab(link=guarded.link)
        known = "() => document.getElementById('version').innerText !== ''"
        first.page.wait_for_function(known)
        assert first.page.url.endswith("/")  # no code in the history
        first.page.goto(guarded.link)
        first.page.reload()
        first.page.wait_for_function(known)
        other = open_tab(link=guarded.link)
        other.see("sign-in")
        other.page.fill("#token", "wrong")
        other.page.press("#token", "Enter")
        other.page.wait_for_selector("#problem:not([hidden])")
        other.page.fill("#token", "a-token-of-the-tests")
        other.page.press("#token", "Enter")
        other.page.wait_for_function(known)
        for tab in (first, other):  # the browser writes refusals to the console by itself
            tab.complaints = [said for said in tab.complaints if "401" not in said]
