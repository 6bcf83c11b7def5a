"""A local page to find and review outliers, and the JSON API underneath (extra ``web``)."""

from typing import TYPE_CHECKING, Any

from metaod._lazy import exports
from metaod.errors import MissingExtra

if TYPE_CHECKING:
    from metaod.web._limits import Limits
    from metaod.web._server import PageServer

__all__ = ["Limits", "PageServer"]

_find = exports(__name__)


def __getattr__(name: str) -> Any:
    try:
        return _find(name)
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package in ("starlette", "uvicorn"):
            raise MissingExtra(package, extra="web", needed_for="the local page") from error
        raise
