"""Claude Code's sessions on pages: the list, what was left by going back, what the client adds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from tests.agents.claude_code.by_hand import ClaudeByHand, record
from tests.agents.claude_code.recorded import RECORDED
from tests.agents.talk import heard, talk, turn
from tests.clients import ApiClient
from tests.html import read
from viewer.catalog import sync_worker
from viewer.catalog.models import SessionIndex
from viewer.history import index_cache
from viewer.stores.hermes import schema
from viewer.stores.message import message_of
from viewer.stores.registry import get_store, open_store
from viewer.stores.transcript import NONE


def store(settings: Settings, path: Path, tmp_path: Path) -> None:
    settings.STORES = {"work": f"claude-code:///{path}"}
    settings.HERMES_HOME = settings.CLAUDE_HOME = tmp_path / "no-home"
    settings.DEMO_STORE = tmp_path / "no-demo.db"


@pytest.fixture
def agent(settings: Settings, tmp_path: Path) -> ClaudeByHand:
    store(settings, tmp_path / "claude", tmp_path)
    return ClaudeByHand(tmp_path / "claude")


def test_the_list_says_where_it_works_and_who_has_it_open(signed_in: Client, agent: ClaudeByHand) -> None:
    agent.write("s", talk(2))
    with agent.compacting("s"):
        sync_worker.sync_all()
        (line,) = read(signed_in.get("/")).all("li", "session")
        assert "work on main" in line.text and "cli" in line.text
        assert line.one("div", "status").text == "running" and line.one("span", "dot")
    (line,) = read(signed_in.get("/")).all("li", "session")
    assert not line.all("span", "dot")


@pytest.mark.parametrize(("reported", "is_more"), [(25_000, True), (3, False)])
def test_what_the_client_notes_and_what_is_in_messages_are_told_apart(
    signed_in: Client, agent: ClaudeByHand, reported: int, is_more: bool
) -> None:
    agent.write("s", talk(2))
    usage = {"input_tokens": reported, "output_tokens": 0}
    content = [{"type": "text", "text": "word " * 90}]
    message = {
        "id": "msg_1",
        "role": "assistant",
        "model": "claude-opus-4-5-20251101",
        "content": content,
        "usage": usage,
    }
    agent.hang("s", agent.lines("s")[-1].get("uuid"), {"type": "assistant", "message": message})
    head = read(signed_in.get(f"/stores/work/sessions/{agent.id_of('s')}")).one("span", id="fill")
    assert ("reported" in head.text) != is_more
    titles = [each.attributes["title"] for each in head.all("span") if "title" in each.attributes]
    assert (
        all("in messages" in title for title in titles)
        and any("its prompt and tools" in title for title in titles) == is_more
    )
    side = read(signed_in.get(f"/stores/work/sessions/{agent.id_of('s')}/context")).one(id="side").one("dl")
    names, numbers = ([each.text for each in side.all(tag)] for tag in ("dt", "dd"))
    assert (names[-1] == "With prompt and tools") == is_more
    assert not is_more or numbers[-1] == "25k" and head.text.startswith("25k of"), "one number for one thing"
    drawing = read(signed_in.get(f"/stores/work/sessions/{agent.id_of('s')}/timeline"))
    assert ("without prompt and tools" in drawing.text) == is_more


@pytest.mark.parametrize("reported", [25_000, 0])
def test_the_plan_says_what_the_client_reports_besides_messages(
    signed_in: Client, agent: ClaudeByHand, reported: int
) -> None:
    agent.write("s", talk(12))
    if reported:
        content = [{"type": "text", "text": "word " * 90}]
        usage = {"input_tokens": reported, "output_tokens": 0}
        message = {"id": "msg_1", "role": "assistant", "model": "claude-opus-4-5", "content": content, "usage": usage}
        agent.hang("s", agent.lines("s")[-1].get("uuid"), {"type": "assistant", "message": message})
    href = f"/stores/work/sessions/{agent.id_of('s')}/plan?keep=6"
    plan = read(signed_in.get(href, headers={"HX-Request": "true"})).one(id="plan")
    assert "To summarise" in plan.text
    assert ("Messages alone. The agent reports 14.3k more" in plan.text) == bool(reported)


@pytest.mark.django_db
def test_messages_are_counted_ahead_where_something_was_compacted_alone(agent: ClaudeByHand) -> None:
    """The list shows what the client reports."""

    def counted() -> list[bool]:
        sync_worker.sync_all()
        with open_store(get_store("work")) as reader:
            return [tokens != NONE for tokens in index_cache.of(reader, agent.id_of("s")).tokens]

    agent.write("s", talk(2))
    assert counted() == [False] * len(talk(2))
    (line,) = SessionIndex.objects.all()
    assert (line.due, line.tokens) == (False, 10)
    boundary = {"type": "system", "subtype": "compact_boundary", "content": "", "compactMetadata": {}}
    agent.hang("s", None, boundary)
    summary = {"type": "user", "message": {"role": "user", "content": "What was said."}, "isCompactSummary": True}
    for said in (summary, record({"role": "assistant", "content": "And on."})):
        agent.hang("s", agent.lines("s")[-1]["uuid"], said)
    assert counted() == [True] * (len(talk(2)) + 2)


def test_a_boundary_says_what_the_client_noted(
    signed_in: Client, api_client: ApiClient, settings: Settings, tmp_path: Path
) -> None:
    recorded = RECORDED / "auto-compaction.again"
    store(settings, recorded, tmp_path)
    (path,) = recorded.glob("projects/*/*.jsonl")
    place = f"/stores/work/sessions/{path.stem}"
    notes = [each.text for each in read(signed_in.get(place)).all("p", "note") if "notes it" in each.text]
    found = [each["reported"] for each in api_client.get(f"{place}/compactions")["items"]]
    assert found and {each["trigger"] for each in found} <= {"auto", "manual"}
    assert len(notes) == len(found)
    assert all(
        f"{each['tokens_before']:,} tokens in the request before it" in note
        for each, note in zip(found, notes, strict=True)
    )


@pytest.mark.usefixtures("at_once")
def test_the_panel_says_when_the_client_notices_and_that_the_summary_stays(
    signed_in: Client, api_client: ApiClient, agent: ClaudeByHand
) -> None:
    agent.write("s", talk(12))
    place = f"/stores/work/sessions/{agent.id_of('s')}"
    command = f"cd /home/user/work && claude --resume {agent.id_of('s')}"
    _, planned = api_client.call("POST", f"{place}/plan", {"keep_last": 6})
    assert planned["pick_up"] == f"Claude Code goes on from it when the session is resumed: {command}"
    status, _ = api_client.call("POST", f"{place}/runs", {"keep_last": 6, "apply": True})
    assert status == 202
    card = read(signed_in.get(place)).one(id="run").one("section", "card")
    assert "Claude Code goes on from it when the session is resumed. Copy resume command" in card.text
    assert card.one("button", type="button").attributes["data-copy-text"] == command, "and not within the sentence"
    assert read(signed_in.get(place)).all("button", "resume")[-1].attributes["data-copy-text"] == command
    (made,) = api_client.get(f"{place}/compactions")["items"]
    assert made["reported"] is None, "it is ours"
    asked = f"{place}/boundaries/{made['handoff_id']}/undo"
    agent.say("s", {"role": "user", "content": "go on"})
    assert "has continued since the compaction" in read(signed_in.get(place)).text
    assert "stays in the store" in read(signed_in.get(asked)).text


def test_sub_agents_are_listed_when_they_are_asked_for(signed_in: Client, settings: Settings, tmp_path: Path) -> None:
    store(settings, RECORDED / "sub-agent.started", tmp_path)
    sync_worker.sync_all()
    page = read(signed_in.get("/"))
    assert len(page.all("li", "session")) == 1
    (link,) = [each for each in page.all("a") if each.text.startswith("shown")]
    page = read(signed_in.get("/" + link.attributes["href"]))
    assert len(page.all("li", "session")) == 2
    assert any("Count files" in line.text for line in page.all("li", "session"))
    places = [line.all("a")[0].attributes["href"] for line in page.all("li", "session")]
    resumed = [read(signed_in.get(place)).all("button", "resume") != [] for place in places]
    assert resumed == ["~2F" not in place for place in places] and True in resumed, "a sub-agent is not resumed"


def test_what_was_left_by_going_back(signed_in: Client, agent: ClaudeByHand) -> None:
    agent.write("s", [*talk(2), *turn("left")])
    place = f"/stores/work/sessions/{agent.id_of('s')}"
    assert "Left by going back" not in read(signed_in.get(place)).text
    assert "Nothing was left behind." in read(signed_in.get(f"{place}/abandoned")).text
    agent.take_back("s")
    page = read(signed_in.get(place))
    (link,) = [each for each in page.all("a") if "/abandoned" in each.attributes["href"]]
    assert link.text == f"{len(turn('left'))} messages"
    left = read(signed_in.get(f"{place}/abandoned"))
    assert "left" in left.one("section", id="left0").text
    behind = left.one("section", id="left0").one("p", "note").one("a").attributes["href"]
    assert signed_in.get(behind.partition("#")[0]).status_code == 200


def test_what_the_client_adds_is_named_as_such(signed_in: Client, settings: Settings, tmp_path: Path) -> None:
    recorded = RECORDED / "plain-turns.own-process"
    store(settings, recorded, tmp_path)
    (path,) = recorded.glob("projects/*/*.jsonl")
    page = read(signed_in.get(f"/stores/work/sessions/{path.stem}/context"))
    added = [each.one("summary").text for each in page.all("details", "prompt")]
    assert added and all(text.startswith("Added by Claude Code: ") for text in added)
    assert "date" in added[0] and "skill listing" in added[0]
    assert "Today's date is" in page.all("details", "prompt")[0].text


def test_a_copy_to_practise_on_has_what_is_in_context(
    signed_in: Client, agent: ClaudeByHand, settings: Settings
) -> None:
    schema.create(settings.DEMO_STORE)
    agent.write("s", talk(12))
    before = agent.rows()
    for name in ("s (practice copy)", "s (practice copy 2)"):
        answer = signed_in.post(f"/stores/work/sessions/{agent.id_of('s')}/practise")
        assert answer.status_code == 302
        assert read(signed_in.get(answer["Location"])).one("h1").text == name
    with open_store(get_store("demo")) as reader:
        live = reader.live(answer["Location"].rpartition("/")[2])
    assert heard([message_of(row) for row in live]) == agent.load("s")
    assert agent.rows() == before


def test_what_the_client_adds_is_escaped_and_redacted_as_messages_are(signed_in: Client, agent: ClaudeByHand) -> None:
    agent.write("s", talk(1))
    secret = "ghp_" + "a1B2c3D4e5" * 4
    sent = f"<script>alert(1)</script> {secret}"
    kind = {"type": "<img src=x onerror=alert(2)>"}
    line = {"type": "attachment", "attachment": kind, "rendered": [{"content": sent}], "gitBranch": "<b>main</b>"}
    agent.hang("s", agent.lines("s")[-1]["uuid"], line)
    place = f"/stores/work/sessions/{agent.id_of('s')}/context"
    answer = signed_in.get(place).content.decode()
    assert "&lt;script&gt;alert(1)" in answer and secret in answer
    assert "<script>alert" not in answer and "<img src=x" not in answer
    signed_in.cookies["palimpsest_mask"] = "1"
    assert secret not in signed_in.get(place).content.decode()


def test_links_to_what_was_left_lead_somewhere(signed_in: Client, agent: ClaudeByHand) -> None:
    agent.write("s", [*talk(2), *turn("left")])
    agent.take_back("s")
    left = read(signed_in.get(f"/stores/work/sessions/{agent.id_of('s')}/abandoned"))
    hrefs = {each.attributes["href"].partition("#")[0] for each in left.one("section", id="left0").all("a")}
    assert hrefs and {signed_in.get(href, follow=True).status_code for href in hrefs} == {200}


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("2.1.332", ""), ("2.0.14", ""), ("1.0.128", ""), ("", ""), ("next", ""),
        ("2.1.333", "2.1.333"), ("3.0.0-beta.1", "3.0.0"), ("2.2", "2.2"), ("3.0.0<script>", "3.0.0"),
    ],
)  # fmt: skip
def test_a_newer_version_than_any_that_was_tried_is_said_and_not_refused(
    signed_in: Client, api_client: ApiClient, agent: ClaudeByHand, version: str, said: str
) -> None:
    agent.write("s", talk(12))
    agent.hang("s", agent.lines("s")[-1]["uuid"], record({"role": "user", "content": "by another version"}))
    lines = agent.lines("s")
    lines[-1]["version"] = version
    (agent.project / f"{agent.id_of('s')}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    sentence = f"Written by Claude Code {said}; this site was tried with versions up to 2.1.332." if said else ""
    place = f"/stores/work/sessions/{agent.id_of('s')}"
    found = api_client.get(place)
    assert (found["untried_version"], found["can_compact"]) == (sentence, True)
    header = read(signed_in.get(place)).one("header", "about").text
    assert sentence in header and ("Written by" in header) == bool(said)


def edited(agent: ClaudeByHand, patch: object) -> None:
    """A session whose newest call edits a file; the client notes `patch` with the result."""
    path, sides = "/home/user/work/lib/a.py", {"old_string": "b", "new_string": "c"}
    asked = {"id": "e1", "function": {"name": "Edit", "arguments": json.dumps({"file_path": path, **sides})}}
    agent.write("s", [*talk(1), {"role": "assistant", "content": "", "tool_calls": [asked]}])
    result = record({"role": "tool", "tool_call_id": "e1", "content": f"The file {path} has been updated."})
    noted = {"toolUseResult": {"filePath": path, "structuredPatch": patch}}
    agent.hang("s", agent.lines("s")[-1]["uuid"], result | noted)


def test_an_edit_has_the_line_numbers_that_the_client_noted(signed_in: Client, agent: ClaudeByHand) -> None:
    numbers = {"oldStart": 41, "oldLines": 2, "newStart": 41, "newLines": 3}
    edited(agent, [numbers | {"lines": [" a", "-password=hunter2hunter2", "+c", "+d"]}])
    place = f"/stores/work/sessions/{agent.id_of('s')}"
    fold = read(signed_in.get(place)).all("details", "tool")[-1]
    assert fold.all("summary")[0].text.startswith("Edited lib/a.py +2 −1 ·")
    rows = [(row.attributes["data-line"], row.text) for row in fold.one("pre", "diff").all("span")]
    assert rows == [("41", "a"), ("42", "-password=hunter2hunter2"), ("42", "+c"), ("43", "+d")]
    assert fold.one("details", "fold").text.startswith("Result The file /home/user/work/lib/a.py")
    signed_in.cookies["palimpsest_mask"] = "1"
    assert "hunter2hunter2" not in read(signed_in.get(place)).text


@pytest.mark.parametrize(
    "patch",
    [7, [7], [{"oldStart": "1"}], [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": 7}], [{}], {}],
)
def test_a_note_of_another_shape_is_no_change(signed_in: Client, agent: ClaudeByHand, patch: object) -> None:
    edited(agent, patch)
    fold = read(signed_in.get(f"/stores/work/sessions/{agent.id_of('s')}")).all("details", "tool")[-1]
    assert [row.attributes.get("data-line") for row in fold.one("pre", "diff").all("span")] == [None, None]


def test_an_image_has_a_page_of_its_own_and_a_prompt_with_one_is_listed_by_its_words(
    signed_in: Client, agent: ClaudeByHand
) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "R0lGODlhAQABAAAAACw="}}
    asked = {"id": "r1", "function": {"name": "Read", "arguments": '{"file_path": "a.gif"}'}}
    agent.write(
        "s",
        [
            {"role": "user", "content": [image, {"type": "text", "text": "Why is it cut off? [Image #1]"}]},
            {"role": "assistant", "content": "", "tool_calls": [asked]},
            {"role": "tool", "tool_call_id": "r1", "content": [image]},
        ],
    )
    page = read(signed_in.get(f"/stores/work/sessions/{agent.id_of('s')}"))
    assert [item.text for item in page.one("ol", id="toc").all("li")] == ["Why is it cut off? [Image #1]"]
    links = [figure.one("a") for figure in page.all("figure", "image")]
    assert len(links) == 2 and all(link.one("img").attributes["alt"] for link in links)
    for link in links:
        answer = signed_in.get(link.attributes["href"])
        assert (answer["Content-Type"], answer["X-Content-Type-Options"]) == ("image/gif", "nosniff")
        assert answer["Content-Security-Policy"] == "default-src 'none'; style-src 'unsafe-inline'; sandbox"
        assert answer.content.startswith(b"GIF89a")


def test_a_result_that_the_client_marks_as_an_error_has_failed(signed_in: Client, agent: ClaudeByHand) -> None:
    """What a hook refuses has no exit code in its text: the mark alone says that nothing was committed."""
    agent.write("s", talk(1))
    content = [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "git commit -m 'Done'"}}]
    agent.hang("s", agent.lines("s")[-1].get("uuid"), {"type": "assistant", "message": heard_in("assistant", content)})
    refused = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "Pre-commit failed", "is_error": True}]
    agent.hang("s", agent.lines("s")[-1].get("uuid"), {"type": "user", "message": heard_in("user", refused)})
    listed = read(signed_in.get(f"/stores/work/sessions/{agent.id_of('s')}/failures")).one("ol", "listed-work")
    assert "failed" in listed.text and "committed" not in listed.text


def heard_in(role: str, content: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": "msg_1", "role": role, "model": "claude-opus-4-5-20251101", "content": content}
