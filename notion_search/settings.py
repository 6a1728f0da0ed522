"""The environment and the paths it names, read once into one frozen value."""

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from .defaults import MODEL
from .errors import SetupError
from .redaction import TOKEN_VARIABLES
from .words import quoted

NOTION_URL = "https://api.notion.com"
# The places there are, in the order they are searched and shown in.
SOURCES = ("notion", "drive", "vault")
CACHE_ROOTS = (("XDG_CACHE_HOME", ()), ("HOME", (".cache",)), ("LOCALAPPDATA", ()))
CONFIG_ROOTS = (("XDG_CONFIG_HOME", ()), ("HOME", (".config",)), ("APPDATA", ()))
CALLS_PER_MINUTE = 180  # Notion's budget on Free and Plus plans; 600 on Business and Enterprise


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the environment says."""

    notion_url: str
    model: str
    calls_per_minute: int
    wait_scale: float
    """1 outside of tests, which have no time for real pauses."""
    cache_folder: Path | None
    """None where the environment names no home to keep a cache in."""
    config_folder: Path | None
    """Where the user's own synonyms may lie; None where the environment names no home."""
    sources: tuple[str, ...]
    """Where to search when the command line does not say; empty where the environment does not say it either."""
    vaults: tuple[Path, ...]
    """Folders and archives of notes."""
    environ: Mapping[str, str] = field(repr=False)

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> "Settings":
        """Return the settings; raises SetupError naming the variable that is unusable."""
        return cls(
            notion_url=secure_url("NOTION_API_BASE_URL", environ.get("NOTION_API_BASE_URL", "").strip() or NOTION_URL),
            model=_model("NOTION_SEARCH_MODEL", environ),
            calls_per_minute=_positive("NOTION_SEARCH_CALLS_PER_MINUTE", environ, CALLS_PER_MINUTE),
            wait_scale=_share("NOTION_SEARCH_WAIT_SCALE", environ),
            cache_folder=_folder(environ, CACHE_ROOTS),
            config_folder=_folder(environ, CONFIG_ROOTS),
            sources=_sources("NOTION_SEARCH_SOURCES", environ),
            vaults=_vaults("NOTION_SEARCH_VAULT", environ),
            environ=environ,
        )

    def has_token(self) -> bool:
        """Whether the environment names a token, of whatever worth."""
        return any(self.environ.get(name, "").strip() for name in TOKEN_VARIABLES)

    def notion_token(self) -> str:
        """Return the first token set, trimmed; raises SetupError when there is none or it cannot be sent."""
        for name in TOKEN_VARIABLES:
            token = self.environ.get(name, "").strip()
            if token:
                return sendable(name, token)
        raise SetupError(
            "no Notion token: set NOTION_TOKEN to an integration's token "
            "(made at https://www.notion.so/profile/integrations), or try --demo"
        )

    def check_claude(self) -> None:
        """Raise SetupError when an address or a key for Claude is set that must not be used."""
        url = self.environ.get("ANTHROPIC_BASE_URL", "").strip()
        if url:
            secure_url("ANTHROPIC_BASE_URL", url)
        for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
            key = self.environ.get(name, "").strip()
            if key:
                sendable(name, key)


def is_model(text: str) -> bool:
    """Whether the text can be a model's id, those of cloud platforms included."""
    return bool(re.fullmatch(r"[A-Za-z0-9][\w.:/@-]{0,199}", text, re.ASCII))


def sendable(name: str, token: str) -> str:
    """Return the token when it can travel in a header; raises SetupError, showing no part of it."""
    if re.fullmatch(r"""[!#-&(-_a-~]+""", token):  # visible ASCII without quotation marks
        return token
    raise SetupError(
        f"{name}: the token holds a character that cannot be sent (a blank, a quotation mark, a line break "
        "or a letter outside ASCII): copy it again, without quotes"
    )


def secure_url(name: str, url: str) -> str:
    """Return the address without a trailing slash when a token may go there; raises SetupError otherwise."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise SetupError(f"{name}: not a web address: expected https://host") from None
    if not host or parts.scheme not in ("http", "https") or parts.query or parts.fragment or parts.username is not None:
        raise SetupError(f"{name}: expected https://host, with no user, query or fragment")
    if parts.scheme == "http" and not _is_loopback(host):
        raise SetupError(f"{name}: http would show the token to the network: use https (http only to this machine)")
    return url.rstrip("/")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _model(name: str, environ: Mapping[str, str]) -> str:
    text = environ.get(name, "").strip() or MODEL
    if is_model(text):
        return text
    raise SetupError(f"{name}: expected a model's id, such as {MODEL}")


def _positive(name: str, environ: Mapping[str, str], default: int) -> int:
    text = environ.get(name, "").strip()
    if not text:
        return default
    if text.isascii() and text.isdigit() and 1 <= int(text[:7]) <= 100_000:
        return int(text)
    raise SetupError(f"{name}: expected a whole number from 1 to 100000")


def _share(name: str, environ: Mapping[str, str]) -> float:
    text = environ.get(name, "").strip() or "1"
    with suppress(ValueError):
        if 0 < float(text) <= 1:
            return float(text)
    raise SetupError(f"{name}: expected a number above 0, at most 1")


def source_names(text: str) -> tuple[str, ...]:
    """Return the sources that the text names, each once, Notion first; none where it is blank or names another."""
    names = [name.strip().lower() for name in text.split(",")]
    known = [name for name in SOURCES if name in names]
    return tuple(known) if all(name in SOURCES or not name for name in names) else ()


def _sources(name: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    text = environ.get(name, "").strip()
    names = source_names(text)
    if text and not names:
        raise SetupError(f"{name}: expected some of {', '.join(SOURCES)}, separated by commas")
    return names


def vault(text: str) -> Path | None:
    """Return the folder or zip archive that the text names, with no link in its path, or None where there is none."""
    with suppress(OSError, ValueError, RuntimeError):  # no such home, a NUL, a loop of links
        path = Path(text).expanduser().resolve(strict=True)
        if path.is_dir() or (path.is_file() and path.suffix.lower() == ".zip"):
            return path
    return None


def _vaults(name: str, environ: Mapping[str, str]) -> tuple[Path, ...]:
    paths = [text for text in environ.get(name, "").split(os.pathsep) if text.strip()]
    found = {text: vault(text) for text in paths}
    for text, path in found.items():
        if path is None:
            raise SetupError(f"{name}: '{quoted(text, 100)}' is no folder and no zip archive")
    return tuple(dict.fromkeys(path for path in found.values() if path))


def _folder(environ: Mapping[str, str], roots: Sequence[tuple[str, Sequence[str]]]) -> Path | None:
    # The XDG rules ignore a relative path: https://specifications.freedesktop.org/basedir-spec/latest/
    for name, below in roots:
        root = environ.get(name, "")
        if root and Path(root).is_absolute():
            return Path(root, *below, "notion-search")
    return None
