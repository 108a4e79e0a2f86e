"""Changes of files as diffs: unified, patch envelopes, old and new strings; and code fetched in colours."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from tests.agents.codex.by_hand import ENVELOPE
from tests.factories.stores import EmptyStore
from tests.html import read
from viewer.rendering import blocks, diffs

FRAGMENT = {"HX-Request": "true"}


def test_an_envelope_is_read_file_by_file() -> None:
    made = diffs.change_of({"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{ENVELOPE}\nEOF\n"]})
    assert made is not None
    assert made == diffs.Change(
        ENVELOPE, (diffs.FileLines("a.py", 2, 1), diffs.FileLines("b.py", 1, 0)), 3, 1, len(ENVELOPE)
    )
    html = diffs.as_html(made.text)
    assert '<span class="file">a.py\n</span>' in html and '<span class="file">b.py (new)\n</span>' in html
    assert '<span class="add">+new\n</span>' in html and "***" not in html


@pytest.mark.parametrize(
    ("patch", "shown", "files"),
    [
        ("*** Delete File: /w/x.py", ["x.py (deleted)"], ["/w/x.py"]),
        ("*** Add File: /w/x.py", ["x.py (new)"], ["/w/x.py"]),
        ("*** Update File: /w/x.py", ["x.py"], ["/w/x.py"]),
        ("*** Update File: /w/x.py\n*** Move to: /w/y.py", ["x.py → y.py"], ["/w/y.py"]),
        ("*** Update File: x.py\n*** Move to: y.py\n@@\n-a\n+b", ["x.py → y.py", "-a", "+b"], ["y.py"]),
        ("*** Update File: x.py\n@@\n-a\n+b", ["-a", "+b"], ["x.py"]),
    ],
)
def test_a_file_that_is_moved_or_deleted_is_named_in_its_change(patch: str, shown: list[str], files: list[str]) -> None:
    change = diffs.written(f"*** Begin Patch\n{patch}\n*** End Patch")
    assert [each.name for each in change.files] == files
    made = read(HttpResponse(blocks.as_html([blocks.called(change, "", "/w")])))
    assert [row.text for row in made.one("pre", "diff").all("span")] == shown


def test_old_and_new_strings_are_compared() -> None:
    made = diffs.change_of({"file_path": "x.py", "old_string": "a\nb\nc", "new_string": "a\nB\nc"})
    assert made is not None
    assert made.text.split("\n") == ["@@", " a", "-b", "+B", " c"]
    assert (made.added, made.removed) == (1, 1)
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": ""}, {"odd": 1}, 7]
    made = diffs.change_of({"file_path": "x.py", "edits": edits})
    assert made is not None
    assert (made.added, made.removed) == (1, 2)


def test_a_line_of_dashes_or_pluses_within_a_change_is_counted() -> None:
    made = diffs.change_of({"path": "x", "old_string": "-- old --", "new_string": "++ new"})
    assert made is not None
    assert (made.added, made.removed) == (1, 1)


def test_a_change_too_long_to_compare_is_not_counted() -> None:
    made = diffs.change_of({"path": "x", "old_string": "a\n" * 50_000, "new_string": "b\n" * 50_000})
    assert made is not None
    assert (made.added, made.removed, made.length) == (None, None, 200_000)
    assert len(made.text) < 10_000


def test_what_asks_for_no_change_is_none() -> None:
    odd: list[Any] = [{}, {"patch": 7}, {"old_string": "a"}, {"edits": []}, {"command": "diff a b"}, [], None, "text"]
    for arguments in odd:
        assert diffs.change_of(arguments) is None


def test_an_edit_is_shown_as_a_diff_and_says_what_it_did(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    call = empty_store.call("Edit", "1", file_path="viewer/x.py", old_string="a\nb", new_string="a\nc")
    empty_store.say("s", "assistant", "", tool_calls=[call])
    empty_store.say("s", "tool", "The file viewer/x.py has been updated.", tool_call_id="1")
    fold = read(signed_in.get(href)).one("details", "tool")
    assert fold.one("b").text == "Edited"
    assert fold.all("summary")[0].one(cls="path-end").text == "viewer/x.py"
    assert fold.all("summary")[0].one(cls="ref").text.startswith("+1 −1 ·")
    assert [span.text for span in fold.one("pre", "diff").all("span")] == ["a", "-b", "+c"]
    assert fold.one("details", "fold").one("summary").text == "Result"
    assert "Arguments" not in fold.text


def test_lines_have_the_numbers_that_the_diff_states_and_no_others() -> None:
    text = (
        "diff --git a/lib/x.py b/lib/x.py\nindex 1..2 100644\n--- a/lib/x.py\n+++ b/lib/x.py\n"
        "@@ -7,3 +7,3 @@ def f():\n a\n-b\n+c\n d\n\\ No newline at end of file\n@@ -40 +40,2 @@\n e\n+<f>\n"
        "--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-g\n"
    )
    rows = [(row.kind, row.text, row.number, row.file) for row in diffs.rows_of(text)]
    assert rows == [
        ("file", "lib/x.py", None, "lib/x.py"),
        ("hunk", "⋯ def f():", None, "lib/x.py"),
        ("", " a", 7, "lib/x.py"),
        ("del", "-b", 8, "lib/x.py"),
        ("add", "+c", 8, "lib/x.py"),
        ("", " d", 9, "lib/x.py"),
        ("", "\\ No newline at end of file", None, "lib/x.py"),
        ("hunk", "⋯", None, "lib/x.py"),
        ("", " e", 40, "lib/x.py"),
        ("add", "+<f>", 41, "lib/x.py"),
        ("file", "gone (deleted)", None, "gone"),
        ("del", "-g", 1, "gone"),
    ]
    assert '<span class="add" data-line="41">+&lt;f&gt;\n</span>' in diffs.as_html(text)
    assert [row.number for row in diffs.rows_of("@@\n-a\n+b\n@@ context\n c")] == [None] * 4
    assert diffs.written("*** Begin Patch\n*** End Patch").files == ()


def test_a_change_that_the_agent_notes_is_shown_once_with_its_numbers(
    signed_in: Client, empty_store: EmptyStore
) -> None:
    href = empty_store.session("s", cwd="/home/me/site")
    diff = "--- a/lib/x.py\n+++ b/lib/x.py\n@@ -7,2 +7,3 @@\n def f():\n-    return 1\n+    a = 1\n+    return a\n"
    call = empty_store.call("patch", "1", path="/home/me/site/lib/x.py", old_string="return 1", new_string="return a")
    caller = empty_store.say("s", "assistant", "", tool_calls=[call])
    empty_store.say("s", "tool", json.dumps({"success": True, "diff": diff}), tool_call_id="1")
    fold = read(signed_in.get(href)).one("details", "tool")
    path = fold.all("summary")[0].one(cls="path-end")
    assert (path.text, path.attributes["title"]) == ("lib/x.py", "/home/me/site/lib/x.py")
    assert fold.all("summary")[0].one(cls="lines-changed").text == "+2 −1"
    shown = fold.one("pre", "diff")
    assert [span.attributes.get("data-line") for span in shown.all("span")] == ["7", "8", "8", "9"]
    assert "lib/x.py" not in shown.text
    assert fold.one(cls="out").one("pre", "code").text == '{ "success" : true }'
    (lazy,) = (each for each in fold.one(cls="in").all("div") if "data-colours" in each.attributes)
    coloured = read(signed_in.get(lazy.attributes["data-colours"], headers=FRAGMENT)).one("pre", "diff")
    assert [span.text for span in coloured.all("span", "k")] == ["def", "return", "return"]
    assert [row.attributes["data-line"] for row in coloured.all("span") if "data-line" in row.attributes] == [
        "7", "8", "8", "9",
    ]  # fmt: skip
    sent = read(signed_in.get(f"{href}/context")).one("details", "tool")
    assert len(sent.all("pre", "diff")) == 2, "what the model sees is the result with its diff"
    assert caller


def test_a_written_file_is_all_added(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    calls = [
        empty_store.call("write_file", "1", path="a.py", content="a\n\n<b>\n"),
        empty_store.call("write_file", "2", path="b.py", content=""),
    ]
    empty_store.say("s", "assistant", "", tool_calls=calls)
    for each in "12":
        empty_store.say("s", "tool", json.dumps({"success": True}), tool_call_id=each)
    first, second = read(signed_in.get(href)).all("details", "tool")
    assert [(row.attributes["data-line"], row.text) for row in first.one("pre", "diff").all("span")] == [
        ("1", "+a"), ("2", "+"), ("3", "+<b>"),
    ]  # fmt: skip
    assert first.all("summary")[0].one(cls="lines-changed").text == "+3"
    assert "An empty file." in second.text


@pytest.mark.parametrize(
    ("name", "listed", "text"), [("TodoWrite", "todos", "content"), ("update_plan", "plan", "step")]
)
def test_a_to_do_list_is_a_list(signed_in: Client, empty_store: EmptyStore, name: str, listed: str, text: str) -> None:
    href = empty_store.session("s")
    items = [{text: "<a>", "status": "completed", "id": "1"}, {text: "b", "status": "in_progress"}]
    arguments = {listed: items, "merge": True}
    empty_store.say("s", "assistant", "", tool_calls=[empty_store.call(name, "1", **arguments)])
    empty_store.say("s", "tool", "fine", tool_call_id="1")
    fold = read(signed_in.get(href)).one("details", "tool")
    assert [item.text for item in fold.one("ul", "tasks").all("li")] == ["✓ done: <a>", "◐ in progress: b"]
    assert "{" not in fold.text


@pytest.mark.parametrize(
    "todos", [[], "a", [{"content": "a"}], [{"status": "done"}], [7], [{"content": "a", "status": 1}]]
)
def test_what_is_no_to_do_list_is_shown_as_it_is(todos: Any) -> None:
    assert blocks.tasks({"todos": todos}) is None


def test_what_stands_beside_a_to_do_list_is_shown() -> None:
    todos = [{"content": "a", "status": "done"}]
    value = {"todos": todos, "plan": "text", "explanation": ["odd"], "merge": True}
    tasks, rest = blocks.fields_of(value, "", 100, "", False)
    assert isinstance(tasks, blocks.Tasks) and isinstance(rest, blocks.Code)
    assert "merge" not in rest.html and all(word in rest.html for word in ("plan", "text", "explanation", "odd"))
    assert len(list(blocks.fields_of({"plan": todos, "explanation": ""}, "", 100, "", False))) == 1


def test_code_in_a_fold_is_complete_and_coloured_on_demand(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    code = "def f():\n    return 1\n"
    empty_store.say("s", "assistant", "", tool_calls=[empty_store.call("read_file", "1", path="a.py")])
    empty_store.say("s", "tool", code, tool_call_id="1")
    fold = read(signed_in.get(href)).one("details", "tool")
    assert fold.one(cls="out").one("code").text == "def f(): return 1"
    assert not fold.all("span", "k")
    (lazy,) = (each for each in fold.one(cls="out").all("div") if "data-colours" in each.attributes)
    coloured = read(signed_in.get(lazy.attributes["data-colours"], headers=FRAGMENT))
    assert coloured.one("code").text.replace(" ", "") == "deff():return1"
    assert [span.text for span in coloured.all("span", "k")] == ["def", "return"]
    of_htmx = [name for element in fold.walk() for name in element.attributes if name.startswith("hx-")]
    assert not of_htmx, "it looks at each when the page starts"
    for query in (
        "part=call&at=0",
        "part=call&at=9",
        "part=call&at=x",
        "part=result&language=nonsense",
        "part=odd",
        "",
    ):
        assert signed_in.get(f"{href}/messages/1/colours?{query}", headers=FRAGMENT).status_code == 200
    assert signed_in.get(f"{href}/messages/99/colours?part=said", headers=FRAGMENT).status_code == 404
    opened = signed_in.get(f"{href}/messages/1/colours?part=said")
    assert opened.status_code == 302 and opened["Location"].startswith(href), "by itself it is a place in its session"


def test_a_marked_result_comes_in_colours_at_once(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    empty_store.say("s", "assistant", "", tool_calls=[empty_store.call("read_file", "1", path="a.py")])
    result = empty_store.say("s", "tool", "def f():\n    return 1\n", tool_call_id="1")
    fold = read(signed_in.get(f"{href}?around={result}")).one("details", "tool")
    assert "open" in fold.attributes
    assert fold.one(cls="out").all("span", "k")
    assert not [element for element in fold.walk() if "data-colours" in element.attributes]


def test_a_messages_text_can_be_copied(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    empty_store.say("s", "user", "**bold** <b>\n\u202e")
    empty_store.say("s", "assistant", [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}])
    page = read(signed_in.get(href))
    links = [
        button.attributes["data-copy"] for button in page.all("button", "plain") if "data-copy" in button.attributes
    ]
    answers = [signed_in.get(link) for link in links]
    assert [answer.content.decode() for answer in answers] == ["**bold** <b>\n\u202e", "one\ntwo"]
    assert {answer["Content-Type"] for answer in answers} == {"text/plain; charset=utf-8"}
    assert {answer["X-Content-Type-Options"] for answer in answers} == {"nosniff"}
    signed_in.cookies["palimpsest_mask"] = "1"
    empty_store.say("s", "user", "key sk-ant-api03-" + "a1B2" * 23)
    assert "a1B2a1B2" not in signed_in.get(f"{href}/messages/3?part=said&as=text").content.decode()


def test_a_large_image_has_its_own_address(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    large = "data:image/png;base64," + "iVBOR" * 20_000
    empty_store.say("s", "user", [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": large}}])
    source = read(signed_in.get(href)).one("img").attributes["src"]
    answer = signed_in.get(source)
    assert answer["Content-Type"] == "image/png"
    assert "sandbox" in answer["Content-Security-Policy"]
    assert len(answer.content) == 75_000
    assert signed_in.get(source.replace("image=1", "image=0")).status_code == 404
    assert signed_in.get(source.replace("image=1", "image=x")).status_code == 404


def test_json_is_laid_out_only_as_far_as_it_is_shown(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    empty_store.say("s", "tool", json.dumps([{"number": at} for at in range(9_000)]))
    out = read(signed_in.get(href)).one(cls="out")
    assert len(out.one("code").text) < 7_000
    assert "Show all (" in out.text
