"""Credentials, and how no output comes to show a piece of one."""

from collections.abc import Mapping, Sequence

TOKEN_VARIABLES = ("NOTION_TOKEN", "NOTION_API_TOKEN", "NOTION_API_KEY")
SECRET_VARIABLES = (
    *TOKEN_VARIABLES,
    *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    *("GOOGLE_WORKSPACE_CLI_TOKEN", "GOOGLE_WORKSPACE_CLI_CLIENT_SECRET"),
)
LEAK = 7  # characters of a credential in a row that no output may show


def secrets(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return every credential the environment holds."""
    return tuple(value for name in SECRET_VARIABLES if (value := environ.get(name, "").strip()))


def redacted(text: str, hidden: Sequence[str]) -> str:
    """Return the text without any piece of a credential long enough to be recognised."""
    for secret in hidden:
        for start in range(len(secret) - LEAK + 1):
            text = text.replace(secret[start : start + LEAK], "*" * LEAK)
    return text
