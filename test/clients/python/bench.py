"""What every check needs: where server and model are, agents, conversations, and an order of results."""

import io
import json
import os
import sys
import threading
import time
import traceback
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from openhands.sdk import LLM, Agent, Conversation, Tool
from openhands.sdk.conversation.impl.remote_conversation import RemoteConversation
from openhands.sdk.event import Event
from openhands.sdk.workspace import RemoteWorkspace
from pydantic import SecretStr

PLACE = json.loads(os.environ["PARLEY_CONFORMANCE"])
"""Server, key, model, working directory and samples, as `scripts/conformance-python.mjs` tells them."""

MODEL_KEY = "model-key-0123456789"

Check = Callable[[], None]
checks: list[tuple[str, tuple[str, ...], Check]] = []
leaving: list[threading.Thread] = []


def check(name: str, *needs: str) -> Callable[[Check], Check]:
    """Declares a check. `needs`: operations such as `POST /api/x`; without one of them the check is left out."""

    def declare(function: Check) -> Check:
        checks.append((name, needs, function))
        return function

    return declare


def run_checks(only: str | None) -> int:
    """Runs every check whose name contains `only`; prints one line each, then the count. Returns the exit code."""
    served = operations()
    passed = failed = 0
    for name, needs, function in checks:
        if only is not None and only not in name:
            continue
        missing = [need for need in needs if need not in served]
        if missing:
            print(f"left out: {name} ({', '.join(missing)} is not served)", flush=True)
            continue
        began = time.monotonic()
        try:
            # Forks print the events that they receive; the SDK has no option against it.
            with redirect_stdout(io.StringIO()):
                function()
            passed += 1
            print(f"ok: {name} ({time.monotonic() - began:.1f} s)", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED: {name} ({time.monotonic() - began:.1f} s)\n{traceback.format_exc()}", flush=True)
    for thread in leaving:
        thread.join()
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed or not passed else 0


def operations() -> set[str]:
    """`METHOD path` of everything that the server documents."""
    with urllib.request.urlopen(f"{PLACE['server']}/openapi.json") as answer:
        paths = json.load(answer)["paths"]
    return {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}


def workspace(host: str = PLACE["server"], working_dir: str | None = None) -> RemoteWorkspace:
    folder = working_dir or os.path.join(PLACE["working_dir"], uuid.uuid4().hex)
    return RemoteWorkspace(host=host, api_key=PLACE["key"], working_dir=folder)


def agent(**members: object) -> Agent:
    llm = LLM(
        model="openai/gpt-4o",
        base_url=f"{PLACE['model']}/v1",
        api_key=SecretStr(MODEL_KEY),
        stream=True,
        num_retries=0,
    )
    return Agent(llm=llm, tools=[Tool(name="terminal"), Tool(name="file_editor")], **members)


class Talk:
    """A conversation, the events that its socket brought, and its folder."""

    def __init__(self, conversation: RemoteConversation, seen: list[Event]) -> None:
        self.conversation = conversation
        self.seen = seen
        self.folder = Path(conversation.workspace.working_dir)

    def say(self, *answers: dict) -> None:
        """Sends a message that makes the model answer like this."""
        self.conversation.send_message(json.dumps(list(answers)))

    def run(self, *answers: dict, within: float = 20) -> float:
        """Sends it, runs to the end, and says how many seconds the run took. Fails when that is more than `within`."""
        self.say(*answers)
        return self.go(within=within)

    def go(self, within: float = 20) -> float:
        began = time.monotonic()
        self.conversation.run(timeout=within)
        took = time.monotonic() - began
        assert took < within, f"the run took {took:.1f} s"
        return took

    @property
    def status(self) -> str:
        return self.conversation.state.refresh_from_server()["execution_status"]

    def kinds(self) -> list[str]:
        return [event.kind for event in self.conversation.state.events]

    def last(self, kind: str) -> Event:
        return [event for event in self.conversation.state.events if event.kind == kind][-1]

    def wait_for(self, kind: str, within: float = 20) -> Event:
        """The first event of this kind that the socket brings, or has brought."""
        until(lambda: any(event.kind == kind for event in self.seen), within)
        return next(event for event in self.seen if event.kind == kind)


@contextmanager
def talk(
    conversation_id: uuid.UUID | None = None, host: str = PLACE["server"], folder: str | None = None, **members
) -> Iterator[Talk]:
    """A started conversation; closed afterwards. `members`: of the conversation, `agent` of which the agent."""
    seen: list[Event] = []
    conversation = Conversation(
        agent=members.pop("agent", None) or agent(),
        workspace=workspace(host, folder),
        conversation_id=conversation_id,
        callbacks=[seen.append],
        visualizer=None,
        **members,
    )
    try:
        yield Talk(conversation, seen)
    finally:
        leave(conversation)


def leave(conversation: RemoteConversation) -> None:
    """Closes it in the background: the SDK waits five seconds for a frame that does not come."""
    thread = threading.Thread(target=conversation.close)
    thread.start()
    leaving.append(thread)


def call(method: str, path: str, body: object = None) -> object:
    """A plain request, for what a check has to know beside the client."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"X-Session-API-Key": PLACE["key"], "Content-Type": "application/json"}
    request = urllib.request.Request(PLACE["server"] + path, data=data, headers=headers, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def stored(conversation: RemoteConversation) -> list[dict]:
    """Every event of the log as the server has it now."""
    items: list[dict] = []
    page = ""
    while True:
        answer = call("GET", f"/api/conversations/{conversation.id}/events/search?limit=100{page}")
        items.extend(answer["items"])
        if not answer["next_page_id"]:
            return items
        page = f"&page_id={answer['next_page_id']}"


def until(holds: Callable[[], bool], within: float = 20) -> None:
    """Waits for a condition that has no event."""
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline, f"did not come true within {within} s"
        time.sleep(0.02)


def command(line: str) -> dict:
    return {"toolCalls": [{"name": "terminal", "arguments": {"command": line}}]}


def text(words: str) -> dict:
    return {"text": words}


def finish(message: str) -> dict:
    return {"toolCalls": [{"name": "finish", "arguments": {"message": message}}]}


def main() -> None:
    sys.exit(run_checks(sys.argv[1] if len(sys.argv) > 1 else None))
