"""A server for all tests of the page and its API."""

import shutil

import pytest
from made_browser import browser  # noqa: F401 - a fixture

for _name in ("starlette", "uvicorn", "httpx"):
    pytest.importorskip(_name, reason=f"{_name} is not installed")

from made_server import address_of, client_of, made_csv, serving  # noqa: E402 - after the skips

from metaod.web import Limits  # noqa: E402 - after the skips

SLOW = 60_000  # milliseconds that a job may take on a busy machine
SIZES = {"desktop": (1200, 900), "phone": (390, 844)}
VIOLATIONS = (
    "addEventListener('securitypolicyviolation', e => console.error('CSP ' + e.blockedURI))"
)


@pytest.fixture(scope="session")
def uploads(tmp_path_factory):
    folder = tmp_path_factory.mktemp("uploads")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def server(uploads):
    limits = Limits(
        max_tables=50, max_jobs=4, max_mb=1, max_rows=2_000, max_columns=120, pause_seconds=1.0
    )
    with serving(uploads, limits) as found:
        yield found


@pytest.fixture(scope="session")
def client(server):
    with client_of(server) as found:
        yield found


@pytest.fixture(scope="session")
def table(client):
    """The path of a table that is inspected and scored; tests do not change it."""
    path = client.opened(made_csv(), "items.csv")
    assert client.run(path, "inspection")["state"] == "done"
    assert client.run(path, "detection")["state"] == "done"
    return path


class Tab:
    """A tab that remembers what it complains about and where it asks."""

    def __init__(self, context, link):
        self.page = context.new_page()
        self.page.set_default_timeout(SLOW)
        self.complaints = []
        self.asked = []
        self.page.on("console", lambda said: self.complaints.append(f"{said.type}: {said.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.add_init_script(VIOLATIONS)
        self.page.goto(link)

    def give(self, data, name="items.csv"):
        self.page.set_input_files("#file", {"name": name, "mimeType": "text/csv", "buffer": data})

    def see(self, part):
        self.page.wait_for_selector(f"#{part}:not([hidden])")

    def text(self, element):
        return self.page.inner_text(f"#{element}")

    def scored(self, data=None):
        self.give(made_csv() if data is None else data)
        self.see("columns")
        self.page.click("#detect")
        self.see("result")

    def answers(self, act):
        """Answer, and wait until the counts have changed."""
        before = self.text("counts")
        act()
        self.page.wait_for_function(
            "text => document.getElementById('counts').innerText !== text", arg=before
        )

    def download(self, selector):
        with self.page.expect_download() as expected:
            self.page.click(selector)
        return expected.value


@pytest.fixture(params=SIZES)
def size(request):
    """The name of a screen's size."""
    return request.param


@pytest.fixture
def open_tab(browser, server):  # noqa: F811 - the fixture
    """Open tabs; afterwards none may have complained or asked elsewhere."""
    contexts, tabs = [], []

    def make(size="desktop", link=None, **options):
        own = address_of(server)
        width, height = SIZES[size]
        viewport = {"width": width, "height": height}
        contexts.append(browser.new_context(viewport=viewport, accept_downloads=True, **options))
        cookie = f"metaod_token_{own.rpartition(':')[2]}"
        contexts[-1].add_cookies([{"name": cookie, "value": server.token, "url": own}])
        tabs.append(Tab(contexts[-1], link or own))
        return tabs[-1]

    yield make
    for tab in tabs:
        assert tab.complaints == []
        own = tab.page.url.split("#")[0].split("?")[0]
        assert [url for url in tab.asked if not url.startswith((own, "blob:" + own))] == []
    for context in contexts:
        context.close()
