"""The audit log: who uploaded, downloaded, answered or deleted what and when; no cell values."""

import datetime as dt
import json
import os
import re
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from metaod.errors import UserError

_TABLE = "/api/tables/(?P<table>[^/]+)"
_ACTIONS = {  # by method and path
    "sign in": "POST /api/session",
    "upload": "POST /api/(?:tables|example)",
    "answer": f"POST {_TABLE}/(?:findings|review)/answers",
    "take back": f"DELETE {_TABLE}/(?:findings|review)/answers/last",
    "download": f"GET {_TABLE}/(?:scored|corrected|cells|marks|report)",
    "delete": f"DELETE {_TABLE}",
}


class Audit:
    """Appends a line of JSON for each action to a file that only this user can read.

    Parameters
    ----------
    path : Path
        The file.
    """

    def __init__(self, path: Path) -> None:
        try:
            opened = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        except OSError as error:
            what = f"{path} cannot be written ({error.strerror})"
            raise UserError(
                what, where="--audit", remedy="name a file in a folder of yours"
            ) from error
        self._stream = os.fdopen(opened, "a", encoding="utf-8", buffering=1)

    def note(self, action: str, **facts: Any) -> None:
        """Write a line."""
        now = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
        self._stream.write(json.dumps({"time": now, "action": action, **facts}) + "\n")

    def watch(self, app: ASGIApp) -> ASGIApp:
        """Return an application that notes the actions that clients ask for."""

        async def watched(scope: Scope, receive: Receive, send: Send) -> None:
            asked = f"{scope.get('method')} {scope.get('path')}"
            found = ((own, re.fullmatch(form, asked)) for own, form in _ACTIONS.items())
            action, match = next(((own, match) for own, match in found if match), ("", None))
            if match is None:
                await app(scope, receive, send)
                return
            facts: dict[str, Any] = {"status": None, "n_received": 0, "n_sent": 0}

            async def counted_receive() -> Message:
                message = await receive()
                facts["n_received"] += len(message.get("body", b""))
                return message

            async def counted_send(message: Message) -> None:
                facts["status"] = message.get("status", facts["status"])
                facts["n_sent"] += len(message.get("body", b""))
                await send(message)

            client, _ = scope.get("client") or (None, 0)
            try:
                await app(scope, counted_receive, counted_send)
            finally:
                what = scope["path"].removeprefix("/api/")
                self.note(action, client=client, what=what, **match.groupdict(), **facts)

        return watched
