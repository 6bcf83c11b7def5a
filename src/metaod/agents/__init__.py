"""Tools for programs that act for a user, such as language models: a server of the protocol MCP."""

from metaod.errors import MissingExtra

try:
    import mcp  # noqa: F401 - checked once, for one clear message
except ImportError as error:
    raise MissingExtra("mcp", extra="mcp", needed_for="metaod mcp") from error

from metaod.agents._access import Access
from metaod.agents._server import make_server, serve

__all__ = ["Access", "make_server", "serve"]
