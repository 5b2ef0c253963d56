"""A conversation as the SDK drives one."""

import hashlib
import json
import time
import urllib.request
import uuid

import httpx
from bench import MODEL_KEY, PLACE, agent, call, check, command, finish, leave, stored, talk, text, until, workspace
from openhands.sdk import LLM, Agent
from openhands.sdk.conversation.exceptions import ConversationRunError
from openhands.sdk.event import (
    ActionEvent,
    AgentErrorEvent,
    ConversationStateUpdateEvent,
    Event,
    MessageEvent,
    ObservationEvent,
    UserRejectObservation,
)
from openhands.sdk.hooks import HookConfig
from openhands.sdk.security.confirmation_policy import AlwaysConfirm, ConfirmRisky, NeverConfirm
from openhands.sdk.security.llm_analyzer import LLMSecurityAnalyzer
from pydantic import SecretStr

ONE = "/api/conversations/{conversation_id}"
DIGEST = 'printf %s "{}" | sha256sum'
"""A command that shows that it has a value without showing the value."""


def digest(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()


def transient(event: Event) -> bool:
    """Sent on the socket and never stored."""
    return event.kind in ("StreamingDeltaEvent", "ServerErrorEvent") or (
        isinstance(event, ConversationStateUpdateEvent) and event.key == "full_state"
    )


def same_on_both_sides(conversation) -> None:
    """The client's list, without what is live only, is the log: same events, same order, same contents."""
    conversation.state.events.reconcile()
    here = [event for event in conversation.state.events if not transient(event)]
    log = [Event.model_validate(item) for item in stored(conversation)]
    assert [event.id for event in here] == [event.id for event in log]
    assert here == log


@check("a task runs to the end, and both sides have the same events")
def _() -> None:
    with talk() as it:
        it.run(command("echo from the shell"), finish("It is done."))
        assert it.status == "finished"
        same_on_both_sides(it.conversation)
        observed = [event for event in it.conversation.state.events if isinstance(event, ObservationEvent)]
        assert "from the shell" in observed[0].observation.text
        assert [event.kind for event in it.seen if not transient(event)].count("ActionEvent") == 2
        assert it.conversation.state.stats.get_combined_metrics().accumulated_token_usage.prompt_tokens > 0


@check("the socket brings every event by itself, before anyone asks for the log")
def _() -> None:
    with talk() as it:
        it.run(command("true"), text("Ready."))
        brought = {event.id for event in it.seen}
        log = stored(it.conversation)
        until(lambda: {event["id"] for event in log} - {event.id for event in it.seen} <= early(log, it.seen))
        assert len(brought) == len(it.seen)


def early(log: list[dict], seen: list) -> set[str]:
    """Ids of the events from before the socket was open: they came with the first look at the log."""
    first = next(index for index, event in enumerate(log) if event["id"] in {other.id for other in seen})
    return {event["id"] for event in log[:first]}


@check("run returns soon after the end, also when there is nothing to do")
def _() -> None:
    with talk() as it:
        it.say(text("Short."))
        assert it.go() < 10, "the end of the run was not told"
        assert it.go() < 10, "a run of a finished conversation does not return"
        assert it.status == "finished"


@check("ten short runs in a row, each seen to its end")
def _() -> None:
    with talk() as it:
        for number in range(10):
            took = it.run(text(f"Answer {number}."))
            assert took < 10, f"run {number} took {took:.1f} s"
        same_on_both_sides(it.conversation)


@check("a client that comes later reads the same events")
def _() -> None:
    with talk() as it:
        it.run(command("echo once"), text("Ready."))
        with talk(conversation_id=it.conversation.id, folder=str(it.folder)) as again:
            same_on_both_sides(again.conversation)
            assert again.conversation.state.execution_status == "finished"
            again.run(text("And again."))
            until(lambda: sum(event.kind == "MessageEvent" for event in it.seen) == 4)
            same_on_both_sides(it.conversation)


@check("a connection that breaks in the middle of a run is taken up again, and nothing is missed")
def _() -> None:
    with talk(host=PLACE["relay"]) as it:
        go = it.folder / "go"
        it.say(command(f"touch began; while [ ! -e {go} ]; do sleep 0.05; done; echo over"), text("Ready."))
        it.conversation.run(blocking=False)
        until((it.folder / "began").exists)
        urllib.request.urlopen(PLACE["cut"], data=b"").close()
        go.touch()
        until(lambda: call("GET", f"/api/conversations/{it.conversation.id}")["execution_status"] == "finished")
        frames = len(it.seen)
        until(lambda: len(it.seen) > frames, within=15)
        until(lambda: it.conversation.state.execution_status == "finished")
        same_on_both_sides(it.conversation)


@check("a blocking run continues over a broken connection")
def _() -> None:
    with talk(host=PLACE["relay"]) as it:
        urllib.request.urlopen(PLACE["cut_later"], data=b"").close()
        took = it.run(command("sleep 1.5"), text("Ready."), within=25)
        assert took < 15, f"the run took {took:.1f} s"
        same_on_both_sides(it.conversation)


@check("pause lets the running call end, and run continues after it")
def _() -> None:
    with talk() as it:
        go = it.folder / "go"
        it.say(command(f"touch began; while [ ! -e {go} ]; do sleep 0.05; done; echo over"), text("Ready."))
        it.conversation.run(blocking=False)
        until((it.folder / "began").exists)
        it.conversation.pause()
        it.wait_for("PauseEvent")
        go.touch()
        it.wait_for("ObservationEvent")
        assert it.status == "paused"
        it.go()
        assert it.status == "finished"
        same_on_both_sides(it.conversation)


@check("a second run during a run joins it and is not refused")
def _() -> None:
    with talk() as it:
        it.say(command("touch began; sleep 1"), text("Ready."))
        it.conversation.run(blocking=False)
        until((it.folder / "began").exists)
        it.go()
        assert it.status == "finished"


@check("a message in the middle of a run is answered by it")
def _() -> None:
    with talk() as it:
        go = it.folder / "go"
        it.say(command(f"touch began; while [ ! -e {go} ]; do sleep 0.05; done"), text("Of the first."))
        it.conversation.run(blocking=False)
        until((it.folder / "began").exists)
        it.say(text("Of the second."))
        go.touch()
        it.go()
        same_on_both_sides(it.conversation)
        assert it.last("MessageEvent").llm_message.content[0].text == "Of the second."


@check("interrupt cancels the call that runs")
def _() -> None:
    with talk() as it:
        it.say(command("touch began; sleep 600"))
        it.conversation.run(blocking=False)
        until((it.folder / "began").exists)
        it.conversation.interrupt()
        it.wait_for("InterruptEvent")
        assert it.status == "paused"
        assert isinstance(it.wait_for("AgentErrorEvent"), AgentErrorEvent)
        same_on_both_sides(it.conversation)


@check("a policy makes actions wait, and run accepts them")
def _() -> None:
    with talk() as it:
        it.conversation.set_confirmation_policy(AlwaysConfirm())
        assert it.run(command("echo accepted"), text("Ready.")) < 10
        assert it.status == "waiting_for_confirmation"
        assert it.conversation.state.confirmation_policy == AlwaysConfirm()
        waiting = it.last("ActionEvent")
        it.go()
        assert it.status == "finished"
        assert it.last("ObservationEvent").action_id == waiting.id
        same_on_both_sides(it.conversation)


@check("waiting actions are rejected with a reason")
def _() -> None:
    with talk() as it:
        it.conversation.set_confirmation_policy(AlwaysConfirm())
        it.run(command("echo never"), text("Then not."))
        it.conversation.reject_pending_actions("Not on this machine.")
        refusal = it.wait_for("UserRejectObservation")
        assert isinstance(refusal, UserRejectObservation)
        assert refusal.rejection_reason == "Not on this machine."
        it.conversation.set_confirmation_policy(NeverConfirm())
        it.go()
        assert it.status == "finished"
        same_on_both_sides(it.conversation)


@check("policy and analyzer are shown as they were set")
def _() -> None:
    with talk() as it:
        policy = ConfirmRisky(threshold="MEDIUM", confirm_unknown=False)
        it.conversation.set_confirmation_policy(policy)
        it.conversation.set_security_analyzer(LLMSecurityAnalyzer())
        it.conversation.state.refresh_from_server()
        assert it.conversation.state.confirmation_policy == policy
        assert isinstance(it.conversation.state.security_analyzer, LLMSecurityAnalyzer)
        it.conversation.set_security_analyzer(None)
        it.conversation.state.refresh_from_server()
        assert it.conversation.state.security_analyzer is None


@check("a fork has the events of its source and goes its own way")
def _() -> None:
    with talk() as it:
        it.run(command("echo common"), text("Ready."))
        copy = it.conversation.fork(title="Another way", tags={"kind": "fork"})
        try:
            def said(conversation) -> list[str]:
                conversation.state.events.reconcile()
                events = (e for e in conversation.state.events if isinstance(e, MessageEvent))
                return [event.llm_message.content[0].text for event in events]

            assert said(copy) == said(it.conversation)
            info = copy.state.refresh_from_server()
            assert info["title"] == "Another way"
            assert info["tags"] == {"kind": "fork", "title": "Another way"}
            assert info["forked_from_conversation_id"] == str(it.conversation.id)
            copy.send_message(json.dumps([text("Elsewhere.")]))
            copy.run(timeout=20)
            assert said(copy)[-1] == "Elsewhere."
            assert len(said(it.conversation)) == 2
        finally:
            leave(copy)


@check("a fork from an event has the branch up to it")
def _() -> None:
    with talk() as it:
        it.run(text("First."))
        first = it.last("MessageEvent")
        it.run(text("Second."))
        copy = it.conversation.fork(from_event_id=first.id)
        try:
            assert [event for event in copy.state.events if isinstance(event, MessageEvent)][-1].id == first.id
        finally:
            leave(copy)
        try:
            it.conversation.fork(from_event_id=str(uuid.uuid4()))
            raise AssertionError("an unknown event was forked from")
        except httpx.HTTPStatusError as refusal:
            assert refusal.response.status_code == 404


@check("a secret reaches the command that names it, and no output shows it", f"POST {ONE}/secrets")
def _() -> None:
    with talk() as it:
        it.conversation.update_secrets({"RHUBARB": "value-of-rhubarb", "LAZY": lambda: "value-of-lazy"})
        it.run(command(f"{DIGEST.format('$RHUBARB$LAZY')}; echo $RHUBARB"), text("Ready."))
        assert digest("value-of-rhubarbvalue-of-lazy") in it.last("ObservationEvent").observation.text
        assert "value-of-rhubarb" not in json.dumps(stored(it.conversation))


@check("the secrets of a new conversation are known to it", f"POST {ONE}/secrets")
def _() -> None:
    with talk(secrets={"RHUBARB": "value-of-rhubarb"}) as it:
        it.run(command(DIGEST.format("$RHUBARB")), text("Ready."))
        assert digest("value-of-rhubarb") in it.last("ObservationEvent").observation.text


@check("the secrets of the settings are looked up by the server", f"POST {ONE}/secrets", "PUT /api/settings/secrets")
def _() -> None:
    call("PUT", "/api/settings/secrets", {"name": "STORED", "value": "value-of-stored"})
    with talk() as it:
        it.conversation.update_secrets(it.conversation.workspace.get_secrets(names=["STORED"]))
        it.run(command(DIGEST.format("$STORED")), text("Ready."))
        assert digest("value-of-stored") in it.last("ObservationEvent").observation.text


@check("no answer and no event holds the model's key")
def _() -> None:
    with talk() as it:
        it.run(text("Ready."))
        shown = [call("GET", f"/api/conversations/{it.conversation.id}"), stored(it.conversation)]
        assert MODEL_KEY not in json.dumps(shown)
        assert MODEL_KEY not in "".join(event.model_dump_json() for event in it.seen)
        assert it.conversation.state.agent.llm.api_key is None or MODEL_KEY not in str(it.conversation.state.agent.llm)


@check("a failing model raises, with a code and what to do")
def _() -> None:
    with talk() as it:
        it.say({"status": 401, "error": "Incorrect API key provided"})
        try:
            it.go()
            raise AssertionError("the run did not fail")
        except ConversationRunError as error:
            assert error.conversation_error is not None
            assert error.conversation_error.code == "LLMAuthenticationError"
            assert error.conversation_error.classification.user_action == "settings"
        it.run(text("Better."))
        assert it.status == "finished"


@check("the limit of iterations ends a run")
def _() -> None:
    with talk(max_iteration_per_run=2) as it:
        it.say(command("echo 1"), command("echo 2"), command("echo 3"), text("Ready."))
        try:
            it.go()
            raise AssertionError("the run did not fail")
        except ConversationRunError as error:
            assert error.conversation_error.code == "MaxIterationsReached"


@check("parallel calls are answered one by one, and an unknown tool is an error that the model sees")
def _() -> None:
    with talk() as it:
        [one], [two] = command("echo one")["toolCalls"], command("echo two")["toolCalls"]
        unknown = {"name": "rhubarb", "arguments": {}}
        it.run({"text": "All at once.", "toolCalls": [one, unknown, two]}, text("Ready."))
        same_on_both_sides(it.conversation)
        actions = [event for event in it.conversation.state.events if isinstance(event, ActionEvent)]
        assert len({event.llm_response_id for event in actions}) == 1
        assert [bool(event.thought) for event in actions].count(True) == 1
        assert "not found" in it.last("AgentErrorEvent").error


@check("files are edited, and the diff can be shown")
def _() -> None:
    with talk() as it:
        path = str(it.folder / "rhubarb.txt")

        def edit(**arguments: object) -> dict:
            return {"toolCalls": [{"name": "file_editor", "arguments": {"path": path, **arguments}}]}

        it.run(
            edit(command="create", file_text="one\ntwo\n"),
            edit(command="str_replace", old_str="two", new_str="three"),
            edit(command="view"),
            text("Ready."),
        )
        same_on_both_sides(it.conversation)
        assert (it.folder / "rhubarb.txt").read_text() == "one\nthree\n"
        observed = [event.observation for event in it.conversation.state.events if isinstance(event, ObservationEvent)]
        assert all(observation.visualize is not None for observation in observed)


@check("an id that the client chose is used, and found again")
def _() -> None:
    chosen = uuid.uuid4()
    with talk(conversation_id=chosen, tags={"origin": "test"}) as it:
        assert it.conversation.id == chosen
        assert it.conversation.state.refresh_from_server()["tags"] == {"origin": "test"}


@check("hooks are kept as they were sent")
def _() -> None:
    hooks = [{"command": "exit 0", "timeout": 5}]
    config = HookConfig.from_dict({"PreToolUse": [{"matcher": "terminal", "hooks": hooks}]})
    with talk(hook_config=config) as it:
        it.conversation.state.refresh_from_server()
        assert it.conversation.state.hook_config == config


@check("agents with other words than the defaults are taken")
def _() -> None:
    llm = LLM(model="openai/gpt-4o", base_url=f"{PLACE['model']}/v1", api_key=SecretStr(MODEL_KEY), temperature=0.2)
    with talk(agent=Agent(llm=llm, tools=[], include_default_tools=["FinishTool"])) as it:
        it.run(finish("Without any other tool."))
        assert it.status == "finished"
        same_on_both_sides(it.conversation)


@check("the agent that the server shows is one that the SDK reads")
def _() -> None:
    with talk() as it:
        shown = it.conversation.state.agent
        assert shown.kind == "Agent"
        assert shown.llm.model == "openai/gpt-4o"
        assert [tool.name for tool in shown.tools] == ["terminal", "file_editor"]
        assert it.conversation.state.workspace["working_dir"] == str(it.folder)
        assert it.conversation.state.persistence_dir
        assert it.conversation.state.id == it.conversation.id


@check("a side question is answered without a trace", f"POST {ONE}/ask_agent")
def _() -> None:
    with talk() as it:
        it.run(text("Ready."))
        before = len(stored(it.conversation))
        assert it.conversation.ask_agent(json.dumps([text("Rhubarb.")])) == "Rhubarb."
        assert len([event for event in stored(it.conversation) if event.get("key") != "stats"]) <= before


@check("a conversation with delete_on_close is deleted when it is closed")
def _() -> None:
    with talk(delete_on_close=True) as it:
        chosen = it.conversation.id
        it.conversation.close()
    try:
        call("GET", f"/api/conversations/{chosen}")
        raise AssertionError("it is still there")
    except urllib.request.HTTPError as gone:
        assert gone.code == 404


@check("a conversation that is deleted during a run ends the wait")
def _() -> None:
    with talk() as it:
        it.say(command("touch began; sleep 600"))
        it.conversation.run(blocking=False)
        until((it.folder / "began").exists)
        call("DELETE", f"/api/conversations/{it.conversation.id}")
        began = time.monotonic()
        try:
            it.conversation._wait_for_run_completion(poll_interval=0.2, timeout=20)
            raise AssertionError("the wait did not fail")
        except ConversationRunError:
            assert time.monotonic() - began < 5


@check("a wrong key is refused", "GET /health")
def _() -> None:
    stranger = workspace().model_copy(update={"api_key": "wrong"})
    stranger.reset_client()
    answer = stranger.client.get("/api/conversations/count")
    assert answer.status_code == 401
    assert stranger.alive


@check("agents keep their context over turns")
def _() -> None:
    with talk(agent=agent()) as it:
        it.run(text("First."))
        it.run(text("Second."))
        assert it.kinds().count("SystemPromptEvent") == 1
        same_on_both_sides(it.conversation)
