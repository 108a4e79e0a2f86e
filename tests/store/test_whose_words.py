"""A person's words in sessions of every kind of file: in lists, contents and summary, without what clients add."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from compaction import SummaryRequest, counter_for, offline
from compaction import messages as chat
from tests.agents.base import Agent
from tests.agents.claude_code.by_hand import ClaudeByHand
from tests.agents.client_words import CHAT, ENVIRONMENT, IDE, OPENED, PLUGINS, REMINDER, WORDS, command
from tests.agents.codex.by_hand import INTERNAL, CodexByHand, told
from tests.agents.openclaw.by_hand import OpenClawByHand, OpenClawFilesByHand
from tests.agents.pi.by_hand import PiByHand
from tests.agents.pi.by_hand import said as entry_of
from tests.agents.reading import history, opened, sent
from tests.listed import activity_of
from viewer.stores.message import message_of
from viewer.stores.search.passages import words_of
from viewer.stores.search.query import parse

PNG = "iVBORw0KGgo="
SKILL = '<skill name="a" location="/s/SKILL.md">\n# Never write in red.\n</skill>'
SKILL_TEXT = "<skill>\n<name>a</name>\nNever write in red.\n</skill>"  # as Codex has it
KINDS: dict[str, Callable[[Path], Agent]] = {
    "claude-code": ClaudeByHand,
    "codex": CodexByHand,
    "openclaw": OpenClawByHand,
    "openclaw-files": OpenClawFilesByHand,
    "pi": PiByHand,
}
# What each client puts around a person's words, in front of and behind them, each a text or a block of its own.
AROUND: dict[str, list[tuple[list[str], list[str]]]] = {
    "claude-code": [([OPENED], []), ([REMINDER], []), ([], [REMINDER]), ([OPENED, REMINDER], [REMINDER])],
    "codex": [([f"{IDE}## My request for Codex:\n"], []), ([PLUGINS], []), ([ENVIRONMENT, PLUGINS], [])],
    "openclaw": [([CHAT], []), (["[media attached: /tmp/a.png (image/png)]", CHAT], [])],
    "openclaw-files": [([CHAT], [])],
    "pi": [([SKILL], [])],
}
CASES = [(kind, front, behind) for kind, found in AROUND.items() for front, behind in found]


@pytest.fixture
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> Agent:
    kind = request.param
    made = KINDS[kind](tmp_path / kind)
    made.write("s", [])
    return made


def ask(agent: Agent, blocks: Sequence[Any]) -> None:
    """A user's message of these texts (and of a picture for None), as the client keeps it."""
    if isinstance(agent, CodexByHand):
        picture = {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}
        content = [picture if each is None else {"type": "input_text", "text": each} for each in blocks]
        agent.append("s", "response_item", told("user", "", "unknown") | {"content": content})
        return
    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    block = {"type": "image", "source": source}
    if not isinstance(agent, ClaudeByHand):
        block = {"type": "image", "data": PNG, "mimeType": "image/png"}
    content = [block if each is None else {"type": "text", "text": each} for each in blocks]
    if isinstance(agent, ClaudeByHand):
        agent.say("s", {"role": "user", "content": content if len(content) > 1 else content[0]["text"]})
        return
    agent.append("s", "message", message=entry_of({"role": "user", "content": ""}) | {"content": content})  # type: ignore[attr-defined]


def previews(agent: Agent) -> list[str]:
    """What the table of contents says of each prompt."""
    with opened(agent) as reader:
        index = history(reader, agent.id_of("s"))
        ids = [index.entry(place).full_id for place in index.prompts]
        found = reader.previews(agent.id_of("s"), ids)
        return [found[each].text for each in ids]


@pytest.mark.parametrize(("agent", "front", "behind"), CASES, indirect=["agent"])
@pytest.mark.parametrize("inline", [True, False])
def test_what_was_typed_stands_for_the_message(agent: Agent, front: list[str], behind: list[str], inline: bool) -> None:
    blocks = ["\n".join([*front, WORDS, *behind])] if inline else [*front, WORDS, *behind]
    if front and front[0].startswith("# Context") and not inline:
        blocks = [f"{front[0]}{WORDS}"]  # its request stands in the same text
    ask(agent, blocks)
    with opened(agent) as reader:
        session = reader.session(agent.id_of("s"))
        assert session.first_words == activity_of(reader, agent.id_of("s")).first_words == WORDS
        (row,) = [row for row in reader.live(agent.id_of("s")) if row.role == "user"]
        message = message_of(row)
        assert chat.is_typed(message)
        assert chat.words(message).strip() == WORDS
        assert "".join(each.strip() for each in chat.added(message)).replace("\n", "") == "".join(
            each.strip() for each in [*front, *behind]
        ).replace("\n", ""), "nothing of it is lost"
        found = words_of(row)
        assert found.said.strip() == WORDS and WORDS not in found.added
        part = found.holding(parse("harbour"))
        assert "".join(piece.text for piece in found.passage_in(part, parse("harbour"))).strip() == WORDS
    assert previews(agent) == [WORDS]
    ((_, content),) = [each for each in sent_by(agent) if each[0] == "user"]
    assert chat.said(content) == chat.said(blocks), "what a model is sent is not touched"


def sent_by(agent: Agent) -> list[tuple[str, Any]]:
    with opened(agent) as reader:
        return sent(reader, agent.id_of("s"))


@pytest.mark.parametrize(
    ("agent", "added"),
    [("claude-code", REMINDER), ("codex", SKILL_TEXT), ("openclaw-files", CHAT), ("pi", SKILL)],
    indirect=["agent"],
)
def test_a_message_that_the_client_alone_wrote_is_no_prompt(agent: Agent, added: str) -> None:
    ask(agent, [added])
    ask(agent, [WORDS])
    assert previews(agent) == [WORDS]
    assert len([role for role, _ in sent_by(agent) if role == "user"]) == 2


@pytest.mark.parametrize("agent", KINDS, indirect=True)
def test_a_prompt_of_several_blocks_shows_its_words(agent: Agent) -> None:
    ask(agent, ["Please sort the list.", "And keep the names."])
    ask(agent, [None, "What is wrong on this screenshot?"])
    assert previews(agent) == ["Please sort the list. And keep the names.", "What is wrong on this screenshot?"]


def test_a_command_with_words_is_a_request_and_one_without_is_none(tmp_path: Path) -> None:
    agent = ClaudeByHand(tmp_path)
    agent.write("s", [])
    ask(agent, [command("compact", "")])
    ask(agent, [command("chapter", "rewrite chapter 1")])
    assert previews(agent) == ["/chapter rewrite chapter 1"]
    with opened(agent) as reader:
        ran, typed = map(message_of, reader.live(agent.id_of("s")))
    assert (chat.is_typed(ran), ran["display_kind"]) == (False, "a command that somebody ran")
    assert (chat.is_typed(typed), typed.get("display_kind")) == (True, None)


def test_what_the_person_typed_while_a_turn_ran_is_told_from_a_notice(tmp_path: Path) -> None:
    agent = ClaudeByHand(tmp_path)
    agent.write("s", [])
    agent.say("s", {"role": "user", "content": WORDS})
    for prompt in ("<task-notification>done</task-notification>", f"{REMINDER}\nAnd the boats."):
        line = {"type": "attachment", "attachment": {"type": "queued_command", "prompt": prompt}}
        agent.hang("s", agent.lines("s")[-1]["uuid"], line)
    assert previews(agent) == [WORDS, "And the boats."]


def test_the_newest_prompt_that_stands_for_a_title_is_what_was_typed(tmp_path: Path) -> None:
    agent = ClaudeByHand(tmp_path)
    path = agent.project / f"{agent.id_of('s')}.jsonl"
    for prompt, title in (
        (f"{OPENED}\n{WORDS}", WORDS),
        (command("compact", ""), WORDS),
        ("And\nthe boats.", "And the boats."),
    ):
        with path.open("a") as file:
            file.write(json.dumps({"type": "last-prompt", "lastPrompt": prompt}) + "\n")
        agent.hang("s", None, {"type": "user", "message": {"role": "user", "content": "x"}})
        with opened(agent) as reader:
            assert reader.session(agent.id_of("s")).title == title


@pytest.mark.parametrize("agent", ["openclaw", "openclaw-files"], indirect=True)
def test_a_reset_sends_what_it_keeps_of_a_users_messages_typed_or_not(agent: Agent) -> None:
    assert isinstance(agent, (OpenClawByHand, OpenClawFilesByHand))
    ask(agent, [f"{CHAT}{WORDS}"])
    ask(agent, [CHAT])
    with opened(agent) as reader:
        first = reader.raw(agent.id_of("s"), before=None, limit=2)[0].extra["id"]
    agent.append("s", "reset", reason="daily", firstKeptEntryId=first)
    assert [content for role, content in sent_by(agent) if role == "user"] == [f"{CHAT}{WORDS}", CHAT]


def test_codex_own_context_is_still_no_message(tmp_path: Path) -> None:
    agent = CodexByHand(tmp_path)
    agent.write("s", [])
    for text in (PLUGINS, ENVIRONMENT):
        item = told("user", text, "unknown")
        del item[INTERNAL]
        agent.append("s", "response_item", item)
    assert sent_by(agent) == [] and previews(agent) == []


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("claude-code", lambda words: command("chapter", words)),
        ("claude-code", lambda words: f"{OPENED}\n{words}"),
        ("claude-code", lambda words: f"{REMINDER}\n{words}"),
        ("codex", lambda words: f"{IDE}## My request for Codex:\n{words}"),
        ("openclaw", lambda words: f"{CHAT}{words}"),
        ("pi", lambda words: f"{SKILL}\n\n{words}"),
    ],
)
def test_a_summary_without_a_model_names_requests_and_no_tags(tmp_path: Path, kind: str, shape: Any) -> None:
    agent = KINDS[kind](tmp_path / kind)
    agent.write("s", [])
    for number in range(1, 6):
        ask(agent, [shape(f"Please rewrite chapter {number} of the harbour book.")])
        agent.say("s", {"role": "assistant", "content": f"Chapter {number} is rewritten."})
    with opened(agent) as reader:
        rows = tuple(message_of(row) for row in reader.live(agent.id_of("s")))
    request = SummaryRequest(sources=rows, budget_tokens=1_500, count=counter_for("test"))
    found = offline.summarize(request)
    for number in range(1, 6):
        assert f"rewrite chapter {number} of the harbour book" in found
    assert "Constraints" not in found, "what clients add binds nobody"
    assert not [sign for sign in ("<", "untrusted", "IDE", "may or may not", "Never write in red") if sign in found]
    assert "[added to this message by the client, not by the user]" in request.digest
