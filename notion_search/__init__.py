"""Find pages in Notion by meaning: expand, search, excerpt, rerank, render."""

__version__ = "0.1.0"
