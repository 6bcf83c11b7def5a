"""Errors of the server as problem documents (RFC 9457): what, where and the remedy."""

import json
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"


class Problem(Exception):
    """A request that is refused, or work that failed.

    Parameters
    ----------
    status : int
        The status code of the answer.
    what : str
        What was wrong.
    where : str, optional
        The file, column or parameter that it concerns.
    remedy : str, optional
        What to do next.
    headers : dict of str, optional
        Further headers of the answer.
    """

    def __init__(
        self,
        status: int,
        what: str,
        *,
        where: str | None = None,
        remedy: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(what)
        self.status = status
        self.what = what
        self.where = where
        self.remedy = remedy
        self.headers = headers or {}

    def document(self) -> dict[str, Any]:
        """Return the problem as plain data; absent members are left out."""
        members = {"detail": self.what, "where": self.where, "remedy": self.remedy}
        given = {name: value for name, value in members.items() if value}
        return {"title": HTTPStatus(self.status).phrase, "status": self.status, **given}

    def response(self) -> Response:
        """Return the problem as an answer."""
        content = json.dumps(self.document(), ensure_ascii=False).encode(errors="replace")
        return Response(content, self.status, self.headers, MEDIA_TYPE)


def defect(error: BaseException) -> Problem:
    """Return the problem of an error that nobody expected."""
    what = f"a defect in metaod ({type(error).__name__})"
    return Problem(500, what, remedy="please report it; the server printed where")
