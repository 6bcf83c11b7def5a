"""A made-up dataset in several kinds of file, and a server on loopback that gives them."""

import io
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

from research.catalogue import Source

X = np.random.default_rng(0).normal(size=(30, 3)).round(6)
y = (np.arange(30) % 10 == 0).astype(np.int8)


def npz(X=X, y=y):
    buffer = io.BytesIO()
    np.savez(buffer, X=X, y=y)
    return buffer.getvalue()


def arff(X=X, y=y):
    lines = ["@relation made-up"]
    lines += [f"@attribute a{j} numeric" for j in range(X.shape[1])]
    lines += ["@attribute id numeric", "@attribute outlier {'yes','no'}", "@data"]
    for i, row in enumerate(X):
        label = "'yes'" if y[i] else "'no'"
        lines.append(",".join(map(str, [*row, i + 1, label])))
    return "\n".join(lines).encode()


def tar_gz(members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


class Server(ThreadingHTTPServer):
    """Answers with what it was told, and counts how often it was asked."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = {}
        self.hits = []
        self.released = threading.Event()

    def address(self, path):
        return f"http://127.0.0.1:{self.server_port}/{path}"

    def gives(self, path, content, kind="npz", *, status=200, member=None, promised=None):
        self.answers["/" + path] = (status, content, promised or len(content))
        return Source(self.address(path), kind, member=member)

    def hangs_at(self, path):
        self.answers["/" + path] = None
        return Source(self.address(path), "npz")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.hits.append(self.path)
        answer = self.server.answers.get(self.path, (404, b"", 0))
        if answer is None:
            self.server.released.wait(30)
            return
        status, content, promised = answer
        self.send_response(status)
        self.send_header("Content-Length", str(promised))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        pass
