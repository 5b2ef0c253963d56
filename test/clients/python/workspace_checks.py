"""What the SDK does with a workspace, without a conversation."""

import subprocess
import tempfile
import uuid
from pathlib import Path

from bench import PLACE, call, check, workspace
from openhands.sdk.git.models import GitChangeStatus
from openhands.sdk.workspace import LocalWorkspace

START, SEARCH = "POST /api/bash/start_bash_command", "GET /api/bash/bash_events/search"
UPLOAD, DOWNLOAD = "POST /api/file/upload", "GET /api/file/download"


@check("the server says that it is alive, and which contract it keeps", "GET /health", "GET /server_info")
def _() -> None:
    it = workspace()
    assert it.alive
    major, minor, _ = it.get_server_info()["version"].split(".")
    assert (int(major), int(minor)) >= (1, 43)


@check("a command gives its output and its exit code", START, SEARCH)
def _() -> None:
    folder = tempfile.mkdtemp()
    result = workspace().execute_command("pwd; echo wrong >&2; exit 3", cwd=folder)
    assert (result.exit_code, result.stdout, result.stderr) == (3, f"{folder}\n", "wrong\n")
    assert not result.timeout_occurred


@check("a command with much output gives all of it", START, SEARCH)
def _() -> None:
    result = workspace().execute_command("seq 1 400000", timeout=60)
    assert result.exit_code == 0
    assert result.stdout == "".join(f"{number}\n" for number in range(1, 400001))


@check("a command that takes too long is ended", START, SEARCH)
def _() -> None:
    result = workspace().execute_command("echo before; sleep 60", timeout=2)
    assert result.exit_code == -1


@check("files go up and come back byte by byte", UPLOAD, DOWNLOAD)
def _() -> None:
    with tempfile.TemporaryDirectory() as folder:
        here, there, back = Path(folder, "a"), Path(folder, "deep", "er", "b"), Path(folder, "c")
        here.write_bytes(bytes(range(256)) * 100)
        it = workspace(working_dir=folder)
        up = it.file_upload(here, there)
        assert up.success, up.error
        assert there.read_bytes() == here.read_bytes()
        down = it.file_download(there, back)
        assert down.success, down.error
        assert back.read_bytes() == here.read_bytes()
        assert not it.file_download(Path(folder, "missing"), Path(folder, "d")).success


CHANGES, DIFF = "GET /api/git/changes", "GET /api/git/diff"


@check("changes and diffs of a repository are those that the SDK finds by itself", CHANGES, DIFF)
def _() -> None:
    with tempfile.TemporaryDirectory() as folder:
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", folder]
        subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
        for name in ("old", "gone", "moved"):
            Path(folder, name).write_text(f"{name}\n" * 5)
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-qm", "first"], check=True)
        Path(folder, "old").write_text("two\n")
        Path(folder, "gone").unlink()
        Path(folder, "moved").rename(Path(folder, "elsewhere"))
        Path(folder, "new").write_text("three\n")
        here, there = LocalWorkspace(working_dir=folder), workspace(working_dir=folder)

        def changes(it) -> dict[str, GitChangeStatus]:
            return {str(change.path): change.status for change in it.git_changes(folder)}

        assert changes(there) == changes(here), f"{changes(there)} is not {changes(here)}"
        assert changes(there)
        for name in ("old", "new"):
            path = str(Path(folder, name))
            assert there.git_diff(path) == here.git_diff(path), f"{there.git_diff(path)} is not {here.git_diff(path)}"


@check("the model and the secrets of the settings", "PATCH /api/settings", "PUT /api/settings/secrets")
def _() -> None:
    key = f"settings-{uuid.uuid4()}"
    llm = {"model": "openai/gpt-4o", "base_url": f"{PLACE['model']}/v1", "api_key": key}
    call("PATCH", "/api/settings", {"agent_settings_diff": {"llm": llm}})
    call("PUT", "/api/settings/secrets", {"name": "CONFORMANCE", "value": "value-of-it", "description": "For a test"})
    it = workspace()
    stored = it.get_llm()
    assert stored.model == "openai/gpt-4o"
    assert stored.api_key.get_secret_value() == key
    secrets = it.get_secrets(names=["CONFORMANCE"])
    assert secrets["CONFORMANCE"].get_value() == "value-of-it"
    assert it.get_mcp_config() == {}


@check("a named profile of a model", "POST /api/profiles/{name}", "GET /api/profiles/{name}")
def _() -> None:
    llm = {"model": "openai/gpt-4o-mini", "api_key": "profile-key-0123456789"}
    call("POST", "/api/profiles/conformance", {"llm": llm, "include_secrets": True})
    stored = workspace().get_llm(profile_name="conformance")
    assert stored.model == "openai/gpt-4o-mini"
    assert stored.api_key.get_secret_value() == "profile-key-0123456789"


@check("the skills of a project", "POST /api/skills")
def _() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "AGENTS.md").write_text("Always speak of rhubarb.\n")
        skills, _ = workspace(working_dir=folder).load_skills_from_agent_server(
            project_dirs=[folder], load_public=False, load_user=False, load_org=False
        )
        assert any("rhubarb" in skill.content for skill in skills)
