"""What Hermes' own code writes and acts on, where ours only knows its words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compaction import messages as engine
from compaction import sections, split
from compaction.handoff import handoff_text
from tests.agents.hermes.real import Hermes
from tests.factories.messages import DIRECTIVES


def worked(orders: int, by_a_person: bool) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for n in range(orders):
        call = {"name": "terminal", "arguments": json.dumps({"command": f"find-order {n}"})}
        asked = [{"role": "user", "content": f"Where is order B-2{n}?"}] if by_a_person else []
        messages += [
            *asked,
            {"role": "assistant", "content": "", "tool_calls": [{"id": f"c{n}", "type": "function", "function": call}]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": f"B-2{n}: error, in Ghent"},
            {"role": "assistant", "content": f"Order B-2{n} is in Ghent."},
        ]
    return messages


@pytest.mark.parametrize("before", ["", "## Goal\nOrder B-27 was found.\n"])
@pytest.mark.parametrize("orders", [0, 3, 60])
@pytest.mark.parametrize("by_a_person", [True, False])
def test_of_its_summary_without_a_model_what_happened_is_folded_in(
    hermes: Hermes, before: str, orders: int, by_a_person: bool
) -> None:
    summary = hermes.ask("fallback", messages=worked(orders, by_a_person), before=before)
    [body] = [part.text for part in split(summary) if part.kind == "summary"]
    lines = [line for lines in sections.read_back(body).values() for line in lines]
    assert bool(lines) is bool(orders or "B-27" in body)
    assert [line for line in lines if "B-2" not in line and "find-order" not in line and "tool calls" not in line] == []


@pytest.mark.parametrize("directive", DIRECTIVES)
def test_its_gateway_finds_nothing_to_send_in_a_summary(hermes: Hermes, directive: str) -> None:
    if directive != "MEDIA:photo.png":  # which another adapter takes
        assert hermes.ask("media", text=directive) != []
    assert hermes.ask("media", text=handoff_text(directive)) == []


@pytest.mark.parametrize(
    ("name", "reply", "sent"),
    [
        ("plan.md", "Read {}.", True),
        ("plan.md", "- {}: written", True),
        ("plan.md", "Read `{}`.", False),
        ("plan.md", "```\n{}\n```", False),
        ("plan.md", "file:{}", False),
        ("main.py", "Read {}.", False),
    ],
)
def test_its_gateway_sends_bare_paths_of_some_kinds(
    hermes: Hermes, tmp_path: Path, name: str, reply: str, sent: bool
) -> None:
    """The facts of docs/hermes.md, section 3."""
    path = tmp_path / name
    path.write_text("x")
    assert hermes.ask("bare_files", text=reply.format(path)) == [str(path)] * sent
    assert hermes.ask("bare_files", text=handoff_text(f"Sent as MEDIA:{path}")) == []


def test_what_it_writes_in_a_users_name_is_typed_by_nobody(hermes: Hermes) -> None:
    texts = hermes.ask("own_user_rows")
    assert texts and [text for text in texts if engine.is_typed({"role": "user", "content": text})] == []
