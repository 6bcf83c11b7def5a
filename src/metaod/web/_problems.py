"""Errors as problem documents (RFC 9457) in the words of the page: what, where and the remedy."""

from http import HTTPStatus
from typing import Any

from metaod.errors import BadParameter, Message, MissingExtra, Setting, UserError, worded
from metaod.options import Reading

_REFUSALS = {  # the status, what is wrong and the remedy, by code
    "not-json": (400, "the body is not JSON", "send one JSON object in UTF-8"),
    "client-gone": (400, "the client stopped sending", "try again"),
    "no-token": (401, "there is no valid token", "give the token that metaod serve printed"),
    "foreign-site": (403, "a page of another site sent the request", "use the page of this server"),
    "no-page": (404, "there is no such page", "see docs/page.md"),
    "no-table": (404, "there is no such table, or it was deleted", "upload it again"),
    "no-method": (405, "this method is not possible here", "see docs/page.md"),
    "slow-client": (408, "the request stopped", "check the connection and try again"),
    "not-inspected": (409, "the table is not inspected", "inspect it first"),
    "not-scored": (409, "the table is not scored", "check it first"),
    "job-running": (409, "a job of this table is running", "wait until it is done, or cancel it"),
    "many-flags": (409, "the table has fewer rows", "flag fewer"),
    "no-row": (409, "there is no such row", "give another"),
    "no-finding": (409, "nothing is probably wrong there", "look at the findings again"),
    "answered": (409, "is answered already", "take that answer back first"),
    "no-answer": (409, "nothing is answered", "answer first"),
    "no-correction": (409, "no correction is accepted", "accept one first"),
    "large-body": (413, "the body is too large", "send less"),
    "large-upload": (413, "is larger than {most:g} MB", "remove rows, or raise --max-mb"),
    "media-type": (415, "the body is not {wanted}", "send {wanted}"),
    "wrong-host": (421, "the header Host names another server", "use the printed address"),
    "not-an-object": (422, "is not a JSON object", "send one"),
    "long-answer": (422, "columns are too many, or their names too long", "give fewer or shorter"),
    "memory": (422, "there is not enough memory", "give fewer rows or columns"),
    "process-ended": (500, "the computation ended; probably memory was short", "give fewer rows"),
    "defect": (500, "a defect in metaod ({kind})", "please report it; the server printed where"),
    "busy": (503, "as many {things} as are allowed", "delete another table, or try again later"),
    "slow-job": (504, "it took longer than {most:g} minutes", "give less, or raise --max-minutes"),
}


class Problem(UserError):
    """A request that is refused, or work that failed.

    Parameters
    ----------
    status : int
        The status code of the answer.
    what, where, remedy, code
        As in :class:`metaod.errors.UserError`.
    headers : dict of str, optional
        Further headers of the answer.
    """

    code = "bad-request"

    def __init__(
        self,
        status: int,
        what: str | Message,
        *,
        where: str | None = None,
        remedy: str | Message | None = None,
        code: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(what, where=where, remedy=remedy, code=code)
        self.status = status
        self.headers = headers or {}

    def members(self) -> dict[str, Any]:
        """Return the arguments that make the same problem in another process."""
        texts = {"what": self.what, "where": self.where, "remedy": self.remedy}
        given = {name: worded(text, page_word) for name, text in texts.items() if text}
        return {"status": self.status, "code": self.code, **given}

    def document(self) -> dict[str, Any]:
        """Return the problem document."""
        members = self.members()
        title, detail = HTTPStatus(self.status).phrase, members.pop("what")
        return {"title": title, "detail": detail, **members}


def refused(
    code: str, *, where: str | None = None, headers: dict[str, str] | None = None, **values: object
) -> Problem:
    """Return the problem of a code; the values are those of its texts."""
    status, what, remedy = _REFUSALS[code]
    what, remedy = what.format(**values), remedy.format(**values)
    return Problem(status, what, where=where, remedy=remedy, code=code, headers=headers)


def problem_of(error: BaseException) -> Problem:
    """Return the problem of an error."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, MemoryError):
        return refused("memory")
    if not isinstance(error, UserError):
        return refused("defect", kind=type(error).__name__)
    what = error.what
    if isinstance(error, BadParameter):  # the page shows no function names
        what = f"{page_word(Setting(error.name))} must be {error.legal}"
    status = 501 if isinstance(error, MissingExtra) else 422
    return Problem(status, what, where=error.where, remedy=error.remedy, code=error.code)


USES = {
    "ignore": "leave out",
    "id": "names the rows",
    "category": "categories",
    "date": "dates, not used",
    "time": "dates, use the time",
    "by": "groups: judge rows in their own",
    "over": "order: judge rows by their past",
    "target": "judge this column alone",
    "high": "only high values count",
    "low": "only low values count",
    "label": "known outliers, to measure",
}
"""What the page calls the uses of a column that a user can choose."""


def page_word(setting: Setting) -> str:
    """Write a setting as the page names it.

    >>> [page_word(own) for own in (Setting("header", False), Setting("time"), Setting("n_jobs"))]
    ['“First line”: is a row', '“dates, use the time”', '“n jobs”']
    """
    option = Reading.declared().get(setting.name)
    own = USES.get(setting.name) or (option and option.label) or setting.name.replace("_", " ")
    label, choices = f"“{own}”", () if option is None else option.choices.items()
    value = next((words for known, words in choices if known == setting.value), setting.value)
    return label if setting.value is None else f"{label}: {value}"
