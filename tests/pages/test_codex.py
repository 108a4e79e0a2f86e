"""Codex' sessions on pages: commands of scripts, notes of hooks in a plan, lines that no client takes."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from tests.agents.codex.by_hand import CodexByHand, told
from tests.agents.talk import talk
from tests.html import read


@pytest.fixture
def agent(settings: Settings, tmp_path: Path) -> CodexByHand:
    settings.STORES = {"work": f"codex:///{tmp_path / 'codex'}"}
    settings.HERMES_HOME = settings.CLAUDE_HOME = settings.CODEX_HOME = tmp_path / "no-home"
    settings.DEMO_STORE = tmp_path / "no-demo.db"
    return CodexByHand(tmp_path / "codex")


def test_what_a_script_ran_is_shown_below_its_call(signed_in: Client, agent: CodexByHand) -> None:
    agent.write("s", talk(1))
    call = {"type": "custom_tool_call", "call_id": "c1", "name": "exec", "input": "await tools.exec_command()"}
    ran = {
        "type": "CommandExecution", "id": "exec-1", "command": ["/bin/bash", "-lc", "cat <b>NOTES.md"], "exit_code": 0,
        "cwd": "file:///work", "aggregated_output": "Be kind.",
    }  # fmt: skip
    agent.append("s", "response_item", call)
    agent.append("s", "event_msg", {"type": "item_completed", "item": ran})
    agent.append(
        "s", "response_item", {"type": "custom_tool_call_output", "call_id": "c1", "output": "Script completed"}
    )
    page = signed_in.get(f"/stores/work/sessions/{agent.id_of('s')}", follow=True)
    assert page.status_code == 200
    assert "exec_command, by the script" in page.content.decode()
    assert "cat &lt;b&gt;NOTES.md" in page.content.decode() and "<b>NOTES" not in page.content.decode()


def test_a_plan_says_which_notes_are_sent(signed_in: Client, agent: CodexByHand) -> None:
    agent.write("s", [])
    for message in talk(12):
        agent.say("s", message)
        if message["role"] == "user":
            note = told("developer", "Water the beds at dawn. " * 40, "hooks.additional_context")
            agent.append("s", "response_item", note)
    plan = read(signed_in.get(f"/stores/work/sessions/{agent.id_of('s')}/plan"))
    assert "Also sent: 12 notes" in plan.text
