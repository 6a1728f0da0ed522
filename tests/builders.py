"""Values for tests, whole unless told otherwise."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from notion_search.demo.workspace import Workspace, load
from notion_search.types import Candidate, Listing

# Seconds that a busy machine may add to a bound of time; what such a test tells apart takes a minute or more.
SLACK = 5.0

PAGE_ID = "2b0f7c11-4a10-8001-9000-00000000a{:03}"


def page_id(number: int) -> str:
    """The id of a numbered page."""
    return PAGE_ID.format(number)


def make_candidate(number: int = 1, **changes: object) -> Candidate:
    """A candidate found by the variant "q", numbered for its id and position."""
    fields: dict[str, object] = {
        "source": "notion",
        "id": page_id(number),
        "url": f"https://app.notion.com/p/{number:032}",
        "title": f"Page {number}",
        "edited": "2026-11-03T09:08:00.000Z",
        "position": number,
        "found_by": ("q",),
    }
    return Candidate(**{**fields, **changes})


def make_listing(variant: str, *candidates: Candidate, **changes: object) -> Listing:
    """A listing of one variant."""
    return Listing(**{"source": "notion", "variant": variant, "candidates": candidates, **changes})


def small_workspace() -> Workspace:
    """A handful of pages in both languages, and one database."""
    return load(
        {
            "pages": [
                {"title": "Multi-agent orchestration", "blocks": ["How several agents share one task."]},
                {"title": "에이전트 설계", "blocks": ["# 목표", "에이전트의 책임을 나눈다."]},
                {"title": "AI agents handbook", "blocks": ["Start here."]},
                {"title": "AI reading list", "blocks": []},
                {"title": "Lunch menu", "blocks": ["Soup."]},
            ],
            "databases": [tasks()],
        }
    )


DATABASE_ID = "2b0f7c11-4a10-8077-b000-00000000d001"
SOURCE_ID = "2b0f7c11-4a10-80ff-87aa-000b00000001"


def tasks(rows: Sequence[Mapping[str, object]] | None = None, **changes: object) -> dict[str, object]:
    """A database of one data source named Tasks, for `load`."""
    schema = {
        "이름": "title",
        "Status": {"status": ["Open", "Done"]},
        "Topic": {"multi_select": ["AI", "Ops"]},
        "Notes": "rich_text",
    }
    some = [
        {"values": {"이름": "Agent rollout", "Status": "Done", "Topic": ["AI"]}, "blocks": ["Rolled out in May."]},
        {"values": {"이름": "Agent budget", "Status": "Open", "Topic": ["Ops"]}},
        {"values": {"이름": "Office move", "Status": "Done", "Topic": ["Ops"], "Notes": "Ask the agent of the owner."}},
        {"values": {"이름": "신규 온보딩 체크리스트", "Status": "Open"}},
    ]
    source = {"id": SOURCE_ID, "name": "Tasks", "schema": schema, "rows": some if rows is None else list(rows)}
    return {"id": DATABASE_ID, "title": "Tasks", "sources": [source], **changes}


def notion_page(number: int = 1, title: object = "Page", **changes: object) -> dict[str, object]:
    """A page as Notion sends it, with this title or these pieces of one, numbered for its id and its time."""
    pieces = title if isinstance(title, list) else [{"type": "text", "text": {"content": title}, "plain_text": title}]
    key = page_id(number)
    page = {
        "object": "page",
        "id": key,
        "created_time": "2026-01-05T09:00:00.000Z",
        "last_edited_time": f"2026-10-{number % 30 + 1:02}T09:08:00.000Z",
        "parent": {"type": "workspace", "workspace": True},
        "in_trash": False,
        "is_archived": False,
        "properties": {"title": {"id": "title", "type": "title", "title": pieces}},
        "url": f"https://app.notion.com/p/{key.replace('-', '')}",
    }
    return {**page, **changes}


def notion_list(*objects: object, cursor: str | None = None) -> dict[str, object]:
    """A list as Notion answers it; a cursor says there is more."""
    kind = {"type": "page_or_data_source", "page_or_data_source": {}}
    return {"object": "list", "results": objects, "has_more": cursor is not None, "next_cursor": cursor, **kind}


# All results of a vault, those too that are under the floor.
EVERYTHING = ("--min-relevance", "0")


def write(vault: Path, **notes: str) -> None:
    """Write notes into the vault, by name."""
    for name, text in notes.items():
        put(vault, f"{name}.md", text)


def put(vault: Path, path: str, text: str | bytes) -> None:
    """Write a file into the vault."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
    (vault / path).parent.mkdir(parents=True, exist_ok=True)
    (vault / path).write_bytes(data)


def ids(ended: Any) -> list[str]:
    """The ids a run printed as JSON."""
    return [result["id"] for result in ended.json]
