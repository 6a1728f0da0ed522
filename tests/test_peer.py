"""The real `claude` program, from npm, against Claude on loopback: the text function it is taken for."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from notion_search.demo.workspace import load

from .conftest import KEY

pytestmark = pytest.mark.peer

# Looked up before a test empties PATH.
NPM, NODE, HOME = shutil.which("npm"), shutil.which("node"), os.environ.get("HOME", "")
MARKER = "only-a-file-says-this"


@pytest.fixture(scope="session")
def real_claude(tmp_path_factory):
    """The path of the program, installed where no other test looks."""
    if not NPM or not NODE:
        pytest.skip("npm is not on this machine")
    folder = tmp_path_factory.mktemp("npm")
    environment = {**os.environ, "HOME": HOME, "PATH": f"{Path(NPM).parent}{os.pathsep}{os.defpath}"}
    install = [NPM, "install", "--no-fund", "--no-audit", "--prefix", str(folder), "@anthropic-ai/claude-code"]
    done = subprocess.run(install, env=environment, capture_output=True, text=True, timeout=300, check=False)
    program = folder / "node_modules/.bin/claude"
    if not program.exists():
        pytest.skip(f"the package cannot be had here: {done.stderr.strip()[-200:]}")
    return program


@pytest.fixture
def door(real_claude, claude_server, outside, monkeypatch):
    """Claude on loopback, reached by the real program alone; a home full of what must not be read."""
    for name, path in (("claude", real_claude), ("node", NODE)):
        (outside / "bin" / name).symlink_to(path)
    monkeypatch.setenv("PATH", f"{outside / 'bin'}{os.pathsep}{os.defpath}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", claude_server.url)
    settings = outside / "home/.claude"
    settings.mkdir()
    hook = {"type": "command", "command": f"touch {outside / 'hooked'}"}
    hooks = {event: [{"hooks": [hook]}] for event in ("SessionStart", "UserPromptSubmit", "Stop")}
    (settings / "settings.json").write_text(json.dumps({"hooks": hooks}))
    (settings / "CLAUDE.md").write_text(f"{MARKER} memory")
    (outside / "cwd" / "CLAUDE.md").write_text(f"{MARKER} project")
    return claude_server


@pytest.fixture
def without_sdk(run_process, outside):
    """Run the tool where the SDK cannot be imported."""
    (outside / "site/sitecustomize.py").write_text("import sys\nsys.modules['anthropic'] = None\n")
    return run_process


def test_the_real_program_is_a_text_function(door, serve_notion, without_sdk, outside):
    secret = outside / "secret.txt"
    secret.write_text(MARKER)
    serve_notion(
        load(
            {
                "pages": [
                    {"title": f"AI @{secret}", "blocks": [f"see @{secret}"]},
                    {"title": "에이전트 설계", "blocks": ["읽기"]},
                ]
            }
        )
    )
    door.says("expand", '["에이전트"]')
    door.says("rerank", '[{"index":2,"score":90,"why":"설계"},{"index":1,"score":10,"why":"file"}]')

    ended = without_sdk("AI", "--json", "--explain")

    assert ended.code == 0, ended.err
    assert ended.titles == ["에이전트 설계", f"AI @{secret}"]
    assert [result["relevance"] for result in ended.json] == [0.9, 0.1]
    assert [asked.stage for asked in door.asked] == ["expand", "rerank"]
    for asked in door.asked:
        body = asked.request.body
        assert body.get("tools", []) == []
        assert MARKER not in json.dumps(body)
        assert "workspace" in json.dumps(body["system"])  # our own words, not its
    assert not (outside / "hooked").exists()
    assert "2 program" in ended.err
