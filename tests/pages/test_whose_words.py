"""A person's words on pages, in exports and in the API, where a client put words of its own around them."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from tests.agents.claude_code.by_hand import ClaudeByHand
from tests.agents.client_words import OPENED, REMINDER, WORDS, command
from tests.clients import ApiClient
from tests.html import read
from viewer import exports
from viewer.catalog import sync_worker
from viewer.stores.hermes import schema

ANSWER = {"role": "assistant", "content": "Done."}
NOT_TYPED = "not typed by a person"


@pytest.fixture
def agent(settings: Settings, tmp_path: Path) -> ClaudeByHand:
    made = ClaudeByHand(tmp_path / "claude")
    settings.STORES = {"work": made.url}
    settings.HERMES_HOME = settings.CLAUDE_HOME = tmp_path / "no-home"
    settings.DEMO_STORE = tmp_path / "no-demo.db"
    return made


def place(agent: ClaudeByHand) -> str:
    return f"/stores/work/sessions/{agent.id_of('s')}"


def say(agent: ClaudeByHand, *texts: str) -> None:
    """A session without a title, of these requests and an answer to each."""
    (agent.project / f"{agent.id_of('s')}.jsonl").touch()
    for text in texts:
        agent.say("s", {"role": "user", "content": text})
        agent.say("s", ANSWER)


@pytest.mark.parametrize(
    ("text", "typed", "added"),
    [
        (f"{OPENED}\n{WORDS}", WORDS, "ide_opened_file"),
        (f"{REMINDER}\n{WORDS}", WORDS, "system-reminder"),
        (command("chapter", WORDS), f"/chapter {WORDS}", "command-message"),
    ],
)
def test_what_was_typed_is_shown_and_what_was_added_is_folded_below(
    signed_in: Client, agent: ClaudeByHand, text: str, typed: str, added: str
) -> None:
    say(agent, text)
    found = read(signed_in.get(place(agent)))
    turn = found.all("article", "user")[0]
    assert NOT_TYPED not in turn.text
    assert turn.one("div", "md").text == typed
    fold = turn.one("details", "added")
    assert fold.one("summary").text.startswith(f"Added by Claude Code: {added}")
    assert "open" not in fold.attributes
    assert fold.one("pre").text in " ".join(text.split())
    assert typed in found.one("h1").text, "a first request stands for the title"
    assert "A message without words" not in found.text


def test_what_the_model_sees_has_the_message_as_it_is_sent(signed_in: Client, agent: ClaudeByHand) -> None:
    """In its order, and nothing set apart: what was added first is read first by the model."""
    say(agent, f"{REMINDER}\n{WORDS}")
    turn = read(signed_in.get(f"{place(agent)}/context")).all("article", "user")[0]
    said = turn.one("div", "md").text
    assert said.index(REMINDER.split("\n")[1]) < said.index(WORDS)
    assert not turn.all("details", "added")


def test_a_command_is_shown_as_it_was_typed_also_where_the_model_sees_tags(
    signed_in: Client, agent: ClaudeByHand
) -> None:
    say(agent, command("chapter", WORDS))
    turn = read(signed_in.get(f"{place(agent)}/context")).all("article", "user")[0]
    assert turn.one("div", "md").text == f"/chapter {WORDS}"
    assert "<command-name>" in turn.one("details", "added").one("pre").text, "as it is sent"


def test_a_message_that_nobody_typed_says_so(signed_in: Client, agent: ClaudeByHand) -> None:
    say(agent, WORDS, REMINDER, command("compact", ""), "<bash-input>ls</bash-input>")
    page = read(signed_in.get(place(agent)))
    turns = [each.text for each in page.all("article", "user")]
    assert [NOT_TYPED in each for each in turns] == [False, True, False, False]
    assert ["somebody ran" in each for each in turns] == [False, False, True, True]
    assert REMINDER.split("\n")[1] in turns[1], "all of it is there"
    asked, *others = page.all("article", "user")
    assert not asked.all("details")
    folds = [each.one("details", "fold") for each in others]
    assert not any("open" in fold.attributes for fold in folds)
    assert [fold.one("summary").one("bdi").text for fold in folds] == [
        " ".join(REMINDER.split("\n")[1:-1]), "/compact", "ls"
    ]  # fmt: skip
    (row,) = (each.attributes["id"][1:] for each in others[:1])
    found = read(signed_in.get(f"{place(agent)}?around={row}&q=of"))
    assert "open" in found.one("article", id=f"m{row}").one("details", "fold").attributes, "where a link or hit leads"


def test_a_redacted_page_hides_secrets_in_what_was_added(signed_in: Client, agent: ClaudeByHand) -> None:
    secret = "sk-ant-api03-" + "abcdefgh12345678" * 4
    say(agent, f"<ide_selection>key = {secret}</ide_selection>\n{WORDS}")
    signed_in.cookies["palimpsest_mask"] = "1"
    shown = signed_in.get(place(agent)).content.decode()
    assert secret not in shown and "ide_selection" in shown and WORDS in shown


@pytest.mark.django_db
def test_a_file_for_people_names_what_was_added(agent: ClaudeByHand) -> None:
    say(agent, f"{OPENED}\n{WORDS}")
    text = b"".join(exports.export("work", agent.id_of("s"), "md", redact=False).chunks).decode()
    assert text.index(WORDS) < text.index("added by Claude Code") < text.index("<ide_opened_file>")


@pytest.mark.django_db
def test_the_api_names_a_session_as_pages_do_and_says_what_was_typed(
    agent: ClaudeByHand, api_client: ApiClient
) -> None:
    say(agent, f"{OPENED}\n{WORDS}", "And the boats.", REMINDER)
    sync_worker.sync_all()
    (listed,) = api_client.get("/stores/work/sessions")["items"]
    for found in (listed, api_client.get(place(agent))):
        assert (found["title"], found["name"]) == ("", WORDS)
    asked = [each for each in api_client.get(f"{place(agent)}/messages")["items"] if each["role"] == "user"]
    assert [each["typed"] for each in asked] == [WORDS, None, ""]
    assert [each["content"] for each in asked][0] == f"{OPENED}\n{WORDS}"
    sent = api_client.get(f"{place(agent)}/context")["messages"]
    assert [each["content"] for each in sent if each["role"] == "user"][0] == f"{OPENED}\n{WORDS}"
    assert {name for each in sent for name in each} <= {"role", "content", "tool_calls", "tool_call_id"}


@pytest.mark.django_db
def test_a_found_passage_has_what_was_typed(agent: ClaudeByHand, api_client: ApiClient) -> None:
    say(agent, *(f"{OPENED}\nPlease sort harbour list {number}." for number in range(3)))
    sync_worker.sync_all()
    hits = api_client.get("/stores/work/search", q="harbour")["items"]
    assert len(hits) == 3
    assert not [hit for hit in hits if "ide_opened" in str(hit)]
    assert len(api_client.get("/stores/work/search", q="ide_opened_file")["items"]) == 3, "it is found all the same"


@pytest.mark.usefixtures("at_once")
def test_a_compaction_writes_the_messages_as_they_stand(agent: ClaudeByHand, api_client: ApiClient) -> None:
    say(agent, *(f"{OPENED}\nPlease sort harbour list {number}. {'So it goes. ' * 60}" for number in range(12)))
    before = [line for line in agent.lines("s") if line["type"] == "user"]
    status, run = api_client.call("POST", f"{place(agent)}/runs", {"keep_last": 3, "apply": True})
    assert status == 202, run
    assert api_client.get(f"/runs/{run['id']}")["status"] == "applied"
    lines = agent.lines("s")
    assert [line for line in lines if line in before] == before
    summary = next(line["message"]["content"] for line in lines if line.get("isCompactSummary"))
    assert "Please sort harbour list" in str(summary) and "ide_opened_file" not in str(summary)
    kept = {content for role, content in agent.load("s") if role == "user" and content != summary}
    assert kept and kept <= {line["message"]["content"] for line in before}


def test_a_copy_to_practise_on_can_be_made(signed_in: Client, agent: ClaudeByHand, settings: Settings) -> None:
    schema.create(settings.DEMO_STORE)
    say(agent, f"{OPENED}\n{WORDS}")
    answer = signed_in.post(f"{place(agent)}/practise")
    assert answer.status_code == 302, answer.content
    assert WORDS in read(signed_in.get(answer["Location"])).text
