"""Errors as problem documents (RFC 9457) in the words of the page: what, where and the remedy."""

from http import HTTPStatus
from typing import Any

from metaod.errors import BadParameter, Message, MissingExtra, Setting, UserError, worded

LABELS = {
    "bad_values": "Values that do not fit",
    "decimal": "Decimal mark",
    "dayfirst": "Dates such as 03/04/2024",
    "header": "First line",
    "delimiter": "Delimiter",
    "encoding": "Encoding",
    "sheet": "Sheet of a workbook",
    "skip_rows": "Lines above the table",
    "skip_footer": "Rows at the end to leave out",
    "na": "A word for missing values",
}
"""What the page calls the options of reading."""


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
        """Return what makes the same problem in another process; absent members are left out."""
        texts = {"what": self.what, "where": self.where, "remedy": self.remedy}
        given = {name: worded(text, page_word) for name, text in texts.items() if text}
        return {"status": self.status, "code": self.code, **given}

    def document(self) -> dict[str, Any]:
        """Return the problem document."""
        members = self.members()
        title, detail = HTTPStatus(self.status).phrase, members.pop("what")
        return {"title": title, "detail": detail, **members}


def problem_of(error: BaseException, file: str = "", name: str = "") -> Problem:
    """Return the problem of an error; a file has the name that the user knows."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, UserError):
        status = 501 if isinstance(error, MissingExtra) else 422
        what, where, remedy = error.what, error.where, error.remedy
        if isinstance(error, BadParameter):  # the page knows no functions
            what = f"{page_word(Setting(error.name))} must be {error.legal}"
        texts = [
            worded(text, page_word).replace(file, name) if text else None
            for text in (what, where, remedy)
        ]
        return Problem(status, texts[0] or "", where=texts[1], remedy=texts[2], code=error.code)
    if isinstance(error, MemoryError):
        remedy = "give fewer rows or columns"
        return Problem(422, "there is not enough memory", remedy=remedy, code="memory")
    what = f"a defect in metaod ({type(error).__name__})"
    return Problem(500, what, remedy="please report it; the server printed where", code="defect")


def page_word(setting: Setting) -> str:
    """Write a setting as the page names it.

    >>> page_word(Setting("decimal", ",")), page_word(Setting("n_jobs"))
    ('“Decimal mark”: ,', '“n jobs”')
    """
    label = f"“{LABELS.get(setting.name, setting.name.replace('_', ' '))}”"
    return label if setting.value is None else f"{label}: {setting.value}"
