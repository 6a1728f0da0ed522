"""`python -m notion_search` is `notion-search`."""

from .cli import entry

entry()
