"""A page in Notion's own flavour of Markdown, as `GET /v1/pages/{id}/markdown` answers it.

https://developers.notion.com/guides/data-apis/enhanced-markdown
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from .workspace import Json

MAX_UNKNOWN = 100

# What would mean something else than itself, anywhere and at the beginning of a line.
_SPECIAL = re.compile(r"[\\*~`$\[\]<>{}|^]")
_LEADING = re.compile(r"(?:#{1,6}|[-+])(?=\s|$)|:::|---|\d+(?=[.)])")

_MARKS = {
    "heading_1": "# ",
    "heading_2": "## ",
    "heading_3": "### ",
    "heading_4": "#### ",
    "bulleted_list_item": "- ",
    "quote": "> ",
}
_MEDIA = ("video", "audio", "file", "pdf")

Children = Mapping[str, Sequence[Json]]


def page_markdown(page_id: str, children: Children) -> Json:
    """Return the answer for a page whose blocks stand in `children`, by the id of what they stand in."""
    unknown = [block["id"] for block in _all(page_id, children) if _is_unknown(block)]
    return {
        "object": "page_markdown",
        "id": page_id,
        "markdown": "\n".join(_rendered(page_id, children)),
        "truncated": False,
        "unknown_block_ids": unknown[:MAX_UNKNOWN],
    }


def _all(key: str, children: Children) -> Iterator[Json]:
    for block in children.get(key, ()):
        yield block
        if block["type"] != "child_page":
            yield from _all(block["id"], children)


def _is_unknown(block: Json) -> bool:
    return block["type"] in ("bookmark", "embed", "link_preview", "unsupported", "breadcrumb")


def _rendered(key: str, children: Children) -> Iterator[str]:
    number = 0
    for block in children.get(key, ()):
        number = number + 1 if block["type"] == "numbered_list_item" else 0
        yield from _lines(block, number, children)


def _lines(block: Json, number: int, children: Children) -> Iterator[str]:
    kind, body = block["type"], block[block["type"]]
    inner = () if kind == "child_page" else _rendered(block["id"], children)
    text = _text(body.get("rich_text", ()))
    match kind:
        case "paragraph":
            yield _guarded(text) or "<empty-block/>"
            yield from _indented(inner)
        case "numbered_list_item" | "to_do":
            mark = f"{number}. " if number else f"- [{'x' if body['checked'] else ' '}] "
            yield mark + text
            yield from _indented(inner)
        case "toggle":
            yield from _wrapped("details", [f"<summary>{text}</summary>", *_indented(inner)])
        case "callout":
            icon = (body.get("icon") or {}).get("emoji", "")
            lines = [*([_guarded(text)] if text else []), *inner]
            yield from _wrapped("callout", _indented(lines), f' icon="{icon}" color="gray_bg"')
        case "code":
            yield from _code(body)
        case "equation":
            yield from ("$$", body["expression"], "$$")
        case "divider":
            yield "---"
        case "table":
            yield from _wrapped("table", _indented(_rows(children.get(block["id"], ()))), ' header-row="true"')
        case "column_list" | "column":
            yield from _wrapped("columns" if kind == "column_list" else kind, _indented(inner))
        case "synced_block":
            yield from _wrapped(kind, _indented(inner), f' url="{_url(block["id"])}"')
        case _ if kind in _MARKS:
            yield _MARKS[kind] + text
            yield from _indented(inner)
        case _:
            yield from _other(block)
            yield from inner


def _other(block: Json) -> Iterator[str]:
    """Yield what has a link where others have text."""
    kind, body, url = block["type"], block[block["type"]], _url(block["id"])
    if kind in ("child_page", "child_database"):
        tag = "page" if kind == "child_page" else "database"
        yield f'<{tag} url="{url}">{_escaped(body["title"])}</{tag}>'
    elif kind == "image":
        yield f"![{_text(body['caption'])}]({_source(body)})"
    elif kind in _MEDIA:
        yield f'<{kind} src="{_source(body)}">{_text(body["caption"])}</{kind}>'
    elif kind == "table_of_contents":
        yield "<table_of_contents/>"
    elif _is_unknown(block):
        yield f'<unknown url="{url}" alt="{body.get("block_type", kind)}"/>'


def _wrapped(tag: str, lines: Sequence[str] | Iterator[str], attributes: str = "") -> Iterator[str]:
    yield f"<{tag}{attributes}>"
    yield from lines
    yield f"</{tag}>"


def _indented(lines: Sequence[str] | Iterator[str]) -> Iterator[str]:
    # A line of this list may hold several: code and formulas are indented as a whole.
    for line in lines:
        yield from ("\t" + part for part in line.split("\n"))


def _rows(rows: Sequence[Json]) -> Iterator[str]:
    for row in rows:
        cells = (f"<td>{_text(cell)}</td>" for cell in row["table_row"]["cells"])
        yield from _wrapped("tr", _indented(cells))


def _code(body: Json) -> Iterator[str]:
    code = "".join(piece["plain_text"] for piece in body["rich_text"])
    # The fence is longer than any in the code, so that it ends where the code does.
    fence = max(["``", *re.findall("`+", code)], key=len) + "`"
    yield from (fence + body["language"], *code.split("\n"), fence)


def _text(pieces: Sequence[Json]) -> str:
    return _escaped("".join(piece["plain_text"] for piece in pieces))


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text).replace("\n", "<br>")


def _guarded(text: str) -> str:
    """Return a paragraph's text so that its beginning makes it nothing else."""
    leading = _LEADING.match(text)
    if not leading:
        return text
    place = leading.end() if leading[0].isdigit() else 0
    return text[:place] + "\\" + text[place:]


def _source(body: Json) -> str:
    url: str = body["external"]["url"]
    return url.replace("(", "%28").replace(")", "%29").replace(" ", "%20")


def _url(key: str) -> str:
    return f"https://app.notion.com/p/{key.replace('-', '')}"
