"""A server on a free port, a client that waits for jobs, and a small table."""

import threading
import time
from contextlib import contextmanager

import httpx

from metaod.web import Limits, PageServer


@contextmanager
def serving(tmp_path, limits=None, **options):
    """Serve in a thread; yield the server with its clients."""
    server = PageServer(limits=limits or Limits(), uploads=tmp_path, **options)
    thread = threading.Thread(target=server.run)
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started and thread.is_alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.started
    try:
        yield server
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


class Client(httpx.Client):
    """Uploads, waits for jobs, and returns what the API answers."""

    def upload(self, data, name="table.csv", **options):
        headers = {"Content-Type": "application/octet-stream", **options.pop("headers", {})}
        return self.post("/api/tables", params={"name": name}, content=data, headers=headers)

    def opened(self, data, name="table.csv"):
        """The path of a new table."""
        answer = self.upload(data, name)
        assert answer.status_code == 201, answer.text
        return answer.headers["Location"]

    def wait(self, table, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = self.get(table).json()
            if found["job"]["state"] != "running":
                return found["job"]
            time.sleep(0.05)
        raise AssertionError("the job does not end")

    def run(self, table, kind, **body):
        answer = self.post(f"{table}/{kind}", json=body)
        assert answer.status_code == 202, answer.text
        return self.wait(table)

    def scored(self, data, name="table.csv", **body):
        """The path of a new table that is scored."""
        table = self.opened(data, name)
        job = self.run(table, "detection", **body)
        assert job["state"] == "done", job
        return table


def client_of(server, **options):
    """A client that presents the token, unless other headers are given."""
    options.setdefault("headers", {"Authorization": f"Bearer {server.token}"})
    return Client(base_url=address_of(server), timeout=60, **options)


def address_of(server):
    return server.link.partition("/#")[0]


def made_csv(n_rows=60, header=b"name,size,weight,colour\n"):
    """A small table with two rows that stand out; the same every time."""
    colours = ("red", "green", "blue")
    rows = [
        f"item {i},{10 + i % 7}.5,{100 + (i * 37) % 23},{colours[i % 3]}" for i in range(n_rows)
    ]
    rows[7] = "item 7,99.5,250,red"
    rows[11] = "item 11,0.5,-90,violet"
    return header + "\n".join(rows).encode() + b"\n"
