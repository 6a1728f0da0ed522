"""Notion and Claude on loopback with injected latencies, in a process of their own."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from multiprocessing.managers import BaseManager

from tests.fakes.notion import FakeNotion, kind_of
from tests.fakes.server import Reply, Request, Server

from .work import ENGLISH, answer, tokens, workspace

BUDGET = (180, 60)  # calls to Notion, and the seconds it then says to wait
EDITED = 2  # pages


@dataclass(frozen=True, slots=True, kw_only=True)
class Latencies:
    """Seconds a service lets pass before it answers."""

    notion: float = 0.3
    claude: float = 0.8
    token: float = 0.01
    """For each token of Claude's answer, beside the rest."""

    def claude_answers(self, text: str) -> float:
        """Return the seconds until Claude has written this."""
        return self.claude + self.token * tokens(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call as its server saw it."""

    kind: str
    """search, children, me of Notion; expand, rerank of Claude."""
    path: str
    status: int
    arrived: float
    answered: float
    prompt: str = ""
    answer: str = ""


class Servers:
    """Both services over one workspace, and a log of the calls of one run."""

    def __init__(self, latencies: Latencies) -> None:
        """Serve until the process ends."""
        self._latencies = latencies
        self._edits = 0
        self._log: list[Call] = []
        self._yesterday = datetime.now(UTC) - timedelta(days=1)
        self._workspace = workspace(f"{self._yesterday:%Y-%m-%d %H:%M}")
        self._notion = FakeNotion(self._workspace, latency=latencies.notion)
        self._notion_answers, self._notion.answer = self._notion.answer, self._notion_call
        self._claude = Server(self._claude_call)

    def environment(self) -> Mapping[str, str]:
        """Return what leads a program here."""
        return {
            "NOTION_API_BASE_URL": self._notion.url,
            "NOTION_TOKEN": "ntn_benchmark",
            "ANTHROPIC_BASE_URL": self._claude.url,
            "ANTHROPIC_API_KEY": "sk-ant-benchmark",
        }

    def begin(self, calls: int = BUDGET[0], retry_after: int = BUDGET[1]) -> None:
        """Forget the log, and allow this many calls to Notion before it says to wait."""
        self._log.clear()
        self._notion.budget(calls, retry_after)

    def log(self) -> list[Call]:
        """Return the calls since the beginning, in order of arrival."""
        return sorted(self._log, key=lambda call: call.arrived)

    def edit(self) -> set[str]:
        """Change the text and the time of some pages; return their ids."""
        self._edits += 1
        time = self._yesterday + timedelta(minutes=self._edits)
        pages = [page for page in self._workspace.pages if page["url"].rpartition("/")[2].startswith("AI-agents")][
            :EDITED
        ]
        for page in pages:
            page["last_edited_time"] = f"{time:%Y-%m-%dT%H:%M}:00.000Z"
            piece = self._workspace.children[page["id"]][0]["paragraph"]["rich_text"][0]
            piece["plain_text"] = piece["text"]["content"] = f"Edit {self._edits}. {ENGLISH.opening}"
        return {page["id"] for page in pages}

    def close(self) -> None:
        """Stop both."""
        self._notion.close()
        self._claude.close()

    def _notion_call(self, request: Request) -> Reply:
        reply = self._notion_answers(request)
        self._keep(kind_of(request), request, reply)
        return reply

    def _claude_call(self, request: Request) -> Reply:
        body = request.body
        prompt = body["messages"][0]["content"]
        text = answer(prompt)
        asked = body.get("system", "") + prompt
        usage = {"input_tokens": round(tokens(asked)), "output_tokens": round(tokens(text))}
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": usage,
        }
        reply = Reply(body=message, wait=self._latencies.claude_answers(text))
        self._keep("rerank" if '"score"' in text else "expand", request, reply, prompt=asked, answer=text)
        return reply

    def _keep(self, kind: str, request: Request, reply: Reply, **said: str) -> None:
        answered = request.arrived + reply.wait
        call = Call(kind=kind, path=request.path, status=reply.status, arrived=request.arrived, answered=answered)
        self._log.append(replace(call, **said))


class ServerProcess(BaseManager):
    """The process; `Servers(latencies)` starts both in it."""


ServerProcess.register("Servers", Servers)
