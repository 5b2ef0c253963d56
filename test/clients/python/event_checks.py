"""Every kind of event that a server can send, read by the SDK's own model."""

import copy
import importlib
import json
from pathlib import Path

from bench import PLACE, check
from openhands.sdk.event import Event
from openhands.sdk.tool.client_tool import ClientToolSpec, register_client_tools

TOOLS = (
    "apply_patch",
    "browser_use",
    "delegate",
    "file_editor",
    "gemini",
    "glob",
    "grep",
    "planning_file_editor",
    "task",
    "task_tracker",
    "terminal",
    "workflow",
)

# A client knows the actions of the tools that it has loaded; these are all that the SDK's authors publish.
for tool in TOOLS:
    importlib.import_module(f"openhands.tools.{tool}")

SAMPLES = json.loads(Path(PLACE["samples"]).read_text())
# Nor the actions of tools that clients declare: it reads those from the conversation's record before it reads events.
for sample in SAMPLES["whole"]:
    for tool in sample.get("tools") or []:
        if tool["kind"] == "ClientTool":
            spec = {"name": tool["title"], "description": tool["description"], "parameters": tool["input_schema"]}
            register_client_tools([ClientToolSpec.model_validate(spec)])
FILLED_IN = {"classification", "max_turns"}
"""Members that the SDK fills in by itself when they are absent."""

SPELLED = {"inputSchema": "input_schema"}
"""Members that the SDK reads under one name and writes under another."""


def inner_kind(sample: dict) -> str:
    part = sample.get("action") or sample.get("observation") or {}
    return " ".join(filter(None, [sample["kind"], part.get("kind"), sample.get("key")]))


def read(sample: dict) -> dict:
    # The SDK takes `kind` out of what it reads.
    return Event.model_validate(copy.deepcopy(sample)).model_dump(mode="json")


def without_nulls(value: object) -> object:
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {k: v for k, v in value.items() if v is not None and k not in FILLED_IN}
    return {SPELLED.get(k, k): without_nulls(v) for k, v in kept.items()}


def declare(sample: dict, form: str) -> None:
    @check(f"event, {form}: {inner_kind(sample)}")
    def _() -> None:
        assert without_nulls(read(sample)) == without_nulls(sample)


for form, samples in SAMPLES.items():
    for sample in samples:
        declare(sample, form)
