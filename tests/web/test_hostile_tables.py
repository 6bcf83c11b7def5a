"""Hostile names and cells in a real browser: the page and the report show them, and run nothing."""

import csv
import io

import pytest

ATTACKS = [
    "<img src=x onerror=hacked=1>",
    '"><script>hacked=1</script>',
    "</title></script><script>hacked=1</script>",
    "<svg/onload=hacked=1>",
    "'-(hacked=1)-'",
    "javascript:hacked=1",
    "{{ hacked }}${hacked=1}",
    "</bdi><iframe srcdoc='<script>parent.hacked=1</script>'>",
    "__proto__",
    "&lt;b&gt;\u202e\u2066]]>--><!--",
]
CHECK = """() => ({
  hacked: typeof window.hacked,
  made: document.querySelectorAll("main img, iframe, object, svg svg, [onerror], [onload]").length,
  scripts: [...document.scripts].filter((own) => own.textContent.startsWith("hacked")).length,
  links: document.querySelectorAll("a[href^='javascript:' i]").length,
})"""
OPEN_ALL = "() => document.querySelectorAll('details').forEach((own) => { own.open = true; })"
NOTHING = {"hacked": "undefined", "made": 0, "scripts": 0, "links": 0}


def hostile_table():
    """Return a table with hostile names, categories, names of rows, and cells that are findings."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([f"{attack}{i}" for i, attack in enumerate(ATTACKS)])
    for i in range(80):
        levels = [ATTACKS[i % 3], ATTACKS[3 + i % 4]]
        numbers = [10 + i % 7, 100 + (i * 37) % 23, 5.5 + i % 5, i * i % 31, i % 13, i % 11, i % 17]
        row = [f"{ATTACKS[i % len(ATTACKS)]} {i}", *levels, *numbers]
        if i in (20, 40, 60):
            row[3 + i // 20] = ATTACKS[i // 20]  # a text among numbers
        if i in (25, 45):
            row[3] = 99_999 * i
        writer.writerow(row)
    return text.getvalue().encode()


@pytest.mark.parametrize("name", [f"{ATTACKS[0]}.csv", "'-(hacked=1)-'.csv"])
def test_nothing_of_a_hostile_table_runs(open_tab, tmp_path, name):
    tab = open_tab()
    page = tab.page
    tab.give(hostile_table(), name)
    tab.see("columns")
    assert page.evaluate(CHECK) == NOTHING
    page.click("#detect")
    tab.see("result")
    assert page.locator("button.finding").count() >= 3
    page.evaluate(OPEN_ALL)
    page.locator("button.finding").first.click()
    tab.see("row-panel")
    page.fill("#correction", ATTACKS[0])
    page.press("#correction", "Enter")
    page.wait_for_function(
        "() => document.getElementById('wrong-counts').innerText.includes('1 wrong')"
    )
    page.locator("#rows-table tbody tr").first.click()
    page.wait_for_selector("#rows-table #row-panel:not([hidden])")
    page.fill("#wanted", "41")
    page.press("#wanted", "Enter")
    page.wait_for_selector("#looked-up #row-panel:not([hidden])")
    assert ATTACKS[0] in page.inner_text("main")
    assert page.evaluate(CHECK) == NOTHING
    tab.download("[data-get='report']").save_as(tmp_path / "report.html")
    page.click("#to-review")
    tab.see("review")
    assert page.evaluate(CHECK) == NOTHING
    assert "\u202e" not in page.inner_text("body")

    page = open_tab(link=(tmp_path / "report.html").as_uri()).page
    page.evaluate(OPEN_ALL)
    page.fill("#find", ATTACKS[1])
    page.locator("[data-sort] button").last.click()
    page.locator("#map-figure").click()
    assert ATTACKS[0] in page.inner_text("main")
    assert page.evaluate(CHECK) == NOTHING
