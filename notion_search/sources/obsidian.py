"""Obsidian's own marks on Markdown, read as the words they show; its tags."""

import re

from ..prose import lines_of

TAG_LENGTH = 100  # characters; what is longer is data behind a hash

# What marks may stand for in code is moved out of their reach, to characters no text uses.
_SHIELD = {ord(mark): 0x10F000 + ord(mark) for mark in "[]!%=^#|"}
_RESTORED = {moved: code for code, moved in _SHIELD.items()}
_CODE_SPAN = re.compile(r"(?<!`)(?P<marks>`++)[^`]++(?P=marks)(?!`)")

# None of these looks further than the next mark of its own kind: no text takes longer than its length.
_COMMENT = re.compile(r"%%.*?%%", re.DOTALL)
_EMBED = re.compile(r"!\[\[[^\[\]\n]*+\]\]")
_LINK = re.compile(r"\[\[([^\[\]|\n]*+)(?:\|([^\[\]\n]*+))?\]\]")
_HIGHLIGHT = re.compile(r"==(?=[^\s=])([^=\n]++)(?<=\S)==")
_BLOCK_ID = re.compile(r"(?:^|[ \t])\^[A-Za-z0-9-]++[ \t]*+$", re.MULTILINE)
_CALLOUT = re.compile(r"^(?=[ \t]*+>)([ \t>]*+)\[![^\[\]\n]++\][+-]?[ \t]*+", re.MULTILINE)
# What holds no tags is matched first and has no group: headings, links, HTML, addresses.
_TAG = re.compile(
    r"^[ \t]*+#{1,6}[ \t][^\n]*+|\[\[[^\[\]\n]*+\]\]|\[[^\[\]\n]*+\]\([^()\n]*+\)|<[A-Za-z/][^<>\n]*+>|https?://\S++"
    r"|(?<![\w#/&=\\])#(?P<tag>[\w/-]++)",
    re.MULTILINE,
)


def unmarked(markdown: str) -> tuple[str, tuple[str, ...]]:
    """Return the text as its reader sees it, and the tags in it in order; code stays as it is and holds no tags."""
    text = _COMMENT.sub("", _shielded(markdown))
    tags = _tags(text)
    text = links_as_text(_EMBED.sub("", text))
    text = _BLOCK_ID.sub("", _HIGHLIGHT.sub(r"\1", text))
    return _CALLOUT.sub(r"\1", text).translate(_RESTORED), tags


def links_as_text(text: str) -> str:
    """Return the text with each `[[link]]` as the words it shows."""
    return _LINK.sub(lambda found: (found[2] or "").strip() or _target(found[1]), text)


def _target(target: str) -> str:
    """Return where a link leads in words; a block's id says nothing to a reader."""
    parts = (part.strip() for part in target.rstrip("\\").split("#"))  # in tables the bar after it is escaped
    return " > ".join(part for part in parts if part and not part.startswith("^"))


def _shielded(markdown: str) -> str:
    if "`" not in markdown and "~~~" not in markdown:
        return markdown
    return "\n".join(
        line.text.translate(_SHIELD)
        if line.kind in ("opens", "code", "closes")
        else _CODE_SPAN.sub(lambda found: found[0].translate(_SHIELD), line.text)
        for line in lines_of(markdown)
    )


def _tags(text: str) -> tuple[str, ...]:
    found = (match["tag"].strip("/") for match in _TAG.finditer(text) if match["tag"])
    return tuple(dict.fromkeys(tag for tag in found if len(tag) <= TAG_LENGTH and any(map(str.isalpha, tag))))
