"""Anchors: what counts as an exact thing, which of them survive, and which lost ones were needed later."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import compaction
from compaction import Message, Policy
from compaction.anchors import anchors_in, anchors_of, commands_of, hindsight, survival
from compaction.names import names_of
from compaction.sentences import error_line, is_binding
from tests.compaction.survival import visible_text
from tests.compaction.transcripts import (
    SMALL,
    call,
    call_item,
    count,
    exchange,
    handoff,
    reply,
    result,
    result_item,
    system,
    transcripts,
    user,
)
from tests.cost import within


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("XEHM4B,", [("id", "XEHM4B")]),
        ("path=/srv/app/main.py:12", [("path", "/srv/app/main.py:12")]),
        ("/srv/app/main.py:12:3:", [("path", "/srv/app/main.py:12:3")]),
        ("see:src/a.py", [("path", "src/a.py")]),
        ("./run.sh", [("path", "./run.sh")]),
        ("~/.hermes/state.db", [("path", "~/.hermes/state.db")]),
        (r"C:\Users\ana\notes.md", [("path", r"C:\Users\ana\notes.md")]),
        ("README.md.", [("path", "README.md")]),
        ("https://example.com/a?b=1,", [("url", "https://example.com/a?b=1")]),
        ("url=https://example.com/a", [("url", "https://example.com/a")]),
        ("mia_li_3668", [("id", "mia_li_3668")]),
        ("bob@example.com.", [("id", "bob@example.com")]),
        ("3f78685", [("id", "3f78685")]),
        ("a1b2c3d4-0000-4000-8000-123456789abc", [("id", "a1b2c3d4-0000-4000-8000-123456789abc")]),
        ("ABC-123", [("id", "ABC-123")]),
        ("localhost:8080", [("id", "localhost:8080")]),
        ("v1.22.3", [("version", "v1.22.3")]),
        ("18005550199", [("id", "18005550199")]),
        ("$7,222", [("number", "$7,222")]),
        ("30%", [("number", "30%")]),
        ("250ms", [("number", "250ms")]),
        ("2024-05-24T16:40:00", [("date", "2024-05-24")]),
        ("B-20918,", [("id", "B-20918")]),
        ("#4711.", [("id", "#4711")]),
        ("INV-2024-001", [("id", "INV-2024-001")]),
        ("12A", [("id", "12A")]),
        ("4-02", [("id", "4-02")]),
        ("v1.2", [("version", "v1.2")]),
        ("acme-prod-logs", [("name", "acme-prod-logs")]),
        ("DATABASE_URL", [("name", "DATABASE_URL")]),
        ("db-primary-2.internal", [("id", "db-primary-2.internal")]),
        ("10.0.3.17:5432", [("id", "10.0.3.17:5432")]),
        ("订单B-44871已发", [("id", "B-44871")]),
        ("up-to-date", []),
        ("round-trip", []),
        ("##Title", []),
        ("hello", []),
        ("12345", []),
        ("e.g.", []),
        ("and/or", []),
        ("self.assertEqual", []),
        ("os.path", []),
        ("word.Next", []),
        ("x" * 600, []),
    ],
)
def test_names_in_a_word(word: str, names: list[tuple[str, str]]) -> None:
    assert list(names_of(word)) == names


def test_numbers_with_a_unit_stand_behind_a_space_too() -> None:
    text = "It took 30 minutes, 12.5 MB and 1,000 rows; 5 apples, v1.2.3 days."
    assert [a.text for a in anchors_of(text) if a.kind == "number"] == ["30 minutes", "12.5 MB", "1,000 rows"]


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("running\nKeyError: 'a'\nmore", "KeyError: 'a'"),
        ("Error: payment method not found", "Error: payment method not found"),
        ("fatal: not a git repository", "fatal: not a git repository"),
        ("E   ModuleNotFoundError: No module named 'x'", "E   ModuleNotFoundError: No module named 'x'"),
        ("错误：找不到文件", "错误：找不到文件"),  # noqa: RUF001  (what a Chinese tool prints)
        ("def fail(): raise ValueError('error')", ""),
        ("1508:     default_error_messages = {}", ""),
        ("3 passed, 0 failed, 0 errors", ""),
        ('{"output": "ok", "error": null}', ""),
        ('{"errors": [], "is_error": false, "failed": 0}', ""),
        ("timeout = 30", ""),
        ("src/errors.py", ""),
        ("Error: 404", "Error: 404"),
        ("a" * 200 + " error", ""),
        ("all fine", ""),
    ],
)
def test_error_lines(output: str, line: str) -> None:
    assert error_line(output) == line


@pytest.mark.parametrize(
    ("sentence", "binds"),
    [
        ("You must keep the API stable.", True),
        ("Never push to main.", True),
        ("please don’t touch the users table", True),
        ("Only use the 7447 card?", True),
        ("Bitte niemals löschen.", True),
        ("No borres nunca la base.", True),
        ("Никогда не удаляй.", True),
        ("不要推送到主分支。", True),
        ("必ず確認してください。", True),
        ("절대 배포하지 마세요.", True),
        ("I don't have the number.", False),
        ("The mustard is on the shelf.", False),
        ("It works.", False),
        ("self.only = only", False),
        ("1403:        \"format\": 'it cannot be a date',", False),
        ("cat: /srv/x: cannot open", False),
        ("12: Never push.", True),
    ],
)
def test_sentences_that_bind(sentence: str, binds: bool) -> None:
    assert is_binding(sentence) is binds


def test_commands_are_arguments_of_that_name() -> None:
    assert commands_of('{"command": "pytest -q tests", "cwd": "/srv"}') == ["pytest -q tests"]
    assert commands_of('{"path": "command"}') == commands_of("command: ls") == commands_of('["command"]') == []


STORY: list[Message] = [
    system("Read /etc/system.md first."),
    user("Fix /srv/app/main.py by 2026-12-01. Never touch the billing table."),
    {**reply("On it, ticket ABC-77."), "tool_calls": [call("a", "terminal", '{"command": "git log -3"}')]},
    result("a", "commit 3f78685\nfatal: bad object 9c0ffee1"),
]


def test_anchors_of_messages_know_their_kind_and_place() -> None:
    found = anchors_in(STORY)
    assert {(a.kind, a.text, a.message) for a in found} == {
        ("path", "/srv/app/main.py", 1),
        ("date", "2026-12-01", 1),
        ("constraint", "Never touch the billing table.", 1),
        ("id", "ABC-77", 2),
        ("command", "git log -3", 2),
        ("id", "3f78685", 3),
        ("id", "9c0ffee1", 3),
        ("error", "fatal: bad object 9c0ffee1", 3),
    }
    for anchor in found:
        if anchor.kind != "command":
            assert str(STORY[anchor.message]["content"])[anchor.start :].startswith(anchor.text)


def test_spoken_anchors_are_those_of_people_and_replies() -> None:
    assert {a.text for a in anchors_in(STORY, spoken=True)} == {
        "/srv/app/main.py",
        "2026-12-01",
        "Never touch the billing table.",
        "ABC-77",
    }


def test_a_handoff_is_nobodys_words() -> None:
    row = handoff("See /old/summary/path.", live="Now look at /srv/new.txt here.")
    assert [a.text for a in anchors_in([row])] == ["/srv/new.txt"]


def test_survival_by_kind_and_what_is_lost() -> None:
    left = "Work on /srv/app/main.py.\nNever touch the   billing table. See 3f78685a, XABC-77."
    found = survival(anchors_in(STORY), left)
    assert found.by_kind == {
        "path": (1, 1),
        "date": (0, 1),
        "constraint": (1, 1),
        "id": (0, 3),
        "command": (0, 1),
        "error": (0, 1),
    }
    assert [a.text for a in found.lost][:2] == ["2026-12-01", "ABC-77"], "oldest first; a part of a word is no survivor"
    assert found.total == 8 and found.share == pytest.approx(2 / 8)


def test_nothing_to_lose_is_nothing_lost() -> None:
    assert survival([], "anything").share == 1.0


def test_hindsight_counts_what_later_turns_used_again() -> None:
    later = [
        reply("I look at /srv/app/main.py again.", "b"),
        result("b", "shown again: 9c0ffee1"),
        {**reply(""), "tool_calls": [call("c", "terminal", '{"command": "git show 3f78685"}')]},
    ]
    found = hindsight(STORY, "The file is /srv/app/main.py.", later)
    assert found.by_kind == {"path": (1, 1), "id": (0, 1)}
    assert [a.text for a in found.lost] == ["3f78685"], "output that merely shows 9c0ffee1 again is no use"


def test_responses_items_are_read_like_calls_and_results() -> None:
    items = [call_item("a", "terminal", '{"command": "git log -3"}'), result_item("a", "fatal: bad object 9c0ffee1")]
    assert [a.text for a in anchors_in(items)] == ["git log -3", "9c0ffee1", "fatal: bad object 9c0ffee1"]
    assert survival(anchors_in(items), visible_text(items)).lost == ()
    assert not anchors_in(items, spoken=True)


@settings(deadline=None)
@given(transcripts)
def test_anchors_of_anything_survive_in_their_own_text(messages: list[Message]) -> None:
    found = anchors_in(messages)
    assert survival(found, visible_text(messages)).lost == ()
    assert {*anchors_in(messages, spoken=True)} <= {*found}


@given(st.text())
def test_any_text_has_anchors_that_stand_in_it(text: str) -> None:
    for anchor in anchors_of(text):
        assert text[anchor.start :].startswith(anchor.text) and anchor.text.strip()


@pytest.mark.slow
def test_looking_grows_with_the_text() -> None:
    """No expression may take more than linear time on text made to hurt it."""
    for piece in ("a/", "_1", "A1", "1,", "a.", "-", ":", "=", "http://", "x@x.", "\\a", "1 ", "'", "\n", " ", "Error"):
        for text in (piece * 100_000, json.dumps([piece * 50] * 2_000)):
            assert within(4, lambda text: [*anchors_of(text)], text)


def test_a_compaction_reports_what_survived_and_what_is_lost() -> None:
    messages = [system(), user("Fix /srv/old/app.py for ticket ABC-77."), *exchange(12), user("Go on."), reply("Yes.")]
    plan = compaction.plan(messages, Policy(context_window=4_000, protect_first_n=1), count)
    found = compaction.loss_report(compaction.apply(plan, "The ticket is ABC-77."))
    assert found.by_kind["path"] == (0, 1) and found.by_kind["id"] == (1, 1)
    lost = next(one for one in found.lost if one.kind == "path")
    assert (lost.kind, lost.text, lost.message) == ("path", "/srv/old/app.py", 1)
    assert (lost.source, lost.line) == ("person", "Fix /srv/old/app.py for ticket ABC-77.")


def test_what_only_an_earlier_summary_knew_counts_too() -> None:
    messages = [handoff("The port is localhost:8080, the file /srv/a/b.py."), *exchange(12)]
    plan = compaction.plan(messages, SMALL, count)
    survived = compaction.loss_report(compaction.apply(plan, "It listens on localhost:8080."))
    assert (survived.by_kind["id"], survived.by_kind["path"]) == ((1, 1), (0, 1))


def test_what_is_lost_names_no_credential() -> None:
    key = "abcdEFGH12345678ijkl"
    secret = [
        user("Never share password=hunter2pass1 with anyone."),
        {
            **reply(""),
            "tool_calls": [call("a", "sh", json.dumps({"command": f"curl -H 'Bearer {key}' https://x.org"}))],
        },
        result("a", f"Error: token={key} refused for https://bob:hunter2pass1@h.example/x/y"),
    ]
    messages = [system(), *exchange(1), *secret, *exchange(12, first=2), user("Go on."), reply("Yes.")]
    plan = compaction.plan(messages, Policy(context_window=4_000, protect_first_n=1), count)
    survival = compaction.loss_report(compaction.apply(plan, "Nothing of it."))
    lost = (*survival.lost, *survival.lost_printed, *survival.lost_statements)
    assert {anchor.kind for anchor in lost} >= {"statement", "command", "error", "url"}
    shown = [text for anchor in lost for text in (anchor.text, anchor.line)]
    assert not any(part in text for text in shown for part in (key, "hunter2pass1"))
    summary = compaction.summarize(plan, compaction.offline.summarize)
    kept = compaction.loss_report(compaction.apply(plan, summary))
    assert "instruction" not in {one.category for one in kept.lost_statements}, "it is quoted, without the password"


def test_names_end_where_chinese_and_japanese_punctuation_does() -> None:
    text = "打开 https://example.com/abc\uff0c看\uff08/srv/app/main.py\uff09。订单 XEHM4B。"
    assert [a.text for a in anchors_of(text)] == ["https://example.com/abc", "/srv/app/main.py", "XEHM4B"]
