"""The specification's own walk taken literally, one call after another: what the tool is measured against."""

import json
import os
import sys
import urllib.request
from collections.abc import Mapping
from typing import Any

MODEL = "claude-haiku-4-5"
CANDIDATES = 30
SHOWN = 10
TEXT_BLOCKS = ("paragraph", "heading_1", "heading_2", "heading_3", "quote")

EXPAND = """Query: {query}

Produce 3-5 variants of this search query, covering:
- Synonyms ("AI tools" -> "machine learning software", "LLM applications")
- Cross-language Korean and English ("vacation" -> "휴가")
- Related concepts ("budget" -> "forecast", "spending")

Answer with a JSON array of variants."""

RERANK = """Query: {query}

Candidates:
{lines}

Score every candidate from 0 to 100 by its relevance to the query.
Answer with a JSON array of objects: {{index, score, why}} ordered by score descending."""


def main(query: str, environ: Mapping[str, str]) -> None:
    """Print the ten best pages as JSON."""
    variants = json.loads(claude(EXPAND.format(query=query), environ))
    found: dict[str, dict[str, Any]] = {}
    for variant in dict.fromkeys((query, *variants)):
        body = {"query": variant, "filter": {"property": "object", "value": "page"}, "page_size": 100}
        for page in notion("POST", "/v1/search", environ, body)["results"]:
            found.setdefault(page["id"], page)
    pages = list(found.values())[:CANDIDATES]
    candidates = [candidate(page, environ) for page in pages]
    lines = "\n".join(f"[{number}] {line(page)}" for number, page in enumerate(candidates, 1))
    ranking = json.loads(claude(RERANK.format(query=query, lines=lines), environ))
    results = [
        {**candidates[entry["index"] - 1], "relevance": entry["score"] / 100, "snippet": entry["why"]}
        for entry in ranking[:SHOWN]
    ]
    sys.stdout.write(json.dumps(results, ensure_ascii=False, indent=2) + "\n")


def candidate(page: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the page with its plain properties and the first 200 characters of its text."""
    blocks = notion("GET", f"/v1/blocks/{page['id']}/children?page_size=5", environ)["results"]
    texts = (plain(block[block["type"]]["rich_text"]) for block in blocks if block["type"] in TEXT_BLOCKS)
    values = {name: plain(value[value["type"]]) for name, value in page["properties"].items()}
    title = next(name for name, value in page["properties"].items() if value["type"] == "title")
    return {
        "id": page["id"],
        "url": page["url"],
        "title": values.pop(title),
        "excerpt": next(filter(None, texts), "")[:200],
        "properties": {name: value for name, value in values.items() if value},
    }


def plain(value: Any) -> str:  # noqa: ANN401 - any property's value
    """Return a property's value, or rich text, as plain text."""
    if isinstance(value, list):
        return ", ".join(filter(None, map(plain, value)))
    if isinstance(value, dict):
        return value.get("plain_text") or value.get("name") or value.get("start") or ""
    return "" if value is None else str(value)


def line(page: Mapping[str, Any]) -> str:
    """Return title, properties and excerpt as the specification lines them up."""
    properties = ", ".join(f"{name}: {value}" for name, value in page["properties"].items())
    return f"{page['title']} — {properties} — {page['excerpt']}"


def notion(method: str, path: str, environ: Mapping[str, str], body: object = None) -> dict[str, Any]:
    """Return Notion's answer to one call."""
    headers = {"Authorization": f"Bearer {environ['NOTION_TOKEN']}", "Notion-Version": "2026-03-11"}
    return call(method, environ["NOTION_API_BASE_URL"] + path, headers, body)


def claude(prompt: str, environ: Mapping[str, str]) -> str:
    """Return Claude's text."""
    headers = {"Authorization": f"Bearer {environ['ANTHROPIC_API_KEY']}", "anthropic-version": "2026-10-21"}
    body = {"model": MODEL, "max_tokens": 1000, "messages": [{"role": "user", "content": prompt}]}
    return call("POST", environ["ANTHROPIC_BASE_URL"] + "/v1/messages", headers, body)["content"][0]["text"]


def call(method: str, url: str, headers: Mapping[str, str], body: object) -> dict[str, Any]:
    """Return the JSON a server answers with."""
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, content, {**headers, "Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


if __name__ == "__main__":
    main(sys.argv[1], os.environ)
