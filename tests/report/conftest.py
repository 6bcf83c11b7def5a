from made_browser import browser

__all__ = ["browser"]
