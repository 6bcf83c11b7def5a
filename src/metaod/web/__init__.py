"""A local page to find and review outliers, and the JSON API underneath (extra ``web``)."""

from typing import TYPE_CHECKING, Any

from metaod.errors import MissingExtra

if TYPE_CHECKING:
    from metaod.web._limits import Limits
    from metaod.web._server import PageServer

__all__ = ["Limits", "PageServer"]

_HOMES = {"Limits": "_limits", "PageServer": "_server"}


def __getattr__(name: str) -> Any:
    from importlib import import_module  # noqa: PLC0415 - only if something is used

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"metaod.web.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package in ("starlette", "uvicorn"):
            raise MissingExtra(package, extra="web", needed_for="the local page") from error
        raise
