"""What the calls of a session did: the files touched and the commands that failed, next to the contents."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Route, expect
from pytest_django import DjangoAssertNumQueries, Settings

from tests.agents.base import Agent
from tests.agents.claude_code.by_hand import ClaudeByHand
from tests.agents.codex.by_hand import ENVELOPE, CodexByHand
from tests.agents.openclaw.by_hand import OpenClawByHand
from tests.agents.pi.by_hand import PiByHand
from tests.browser import PHONE, Visit, at_rest, require_narrow
from tests.factories.stores import EmptyStore
from tests.html import Element, read
from viewer.rendering import tools

FRAGMENT = {"HX-Request": "true"}
Message = dict[str, Any]


def exchange(number: int, name: str, arguments: Any, result: str) -> list[Message]:
    """A call and its result."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    call = {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": text}}
    return [
        {"role": "assistant", "content": f"step {number}", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": result},
    ]


def files(page: Element) -> list[tuple[str, str]]:
    """Path and lines of each file, with how often it was changed."""
    return [
        (re.sub(r"(?<=[/\\]) ", "", item.one("a", "file").text), (item.all("summary") or item.all("p", "note"))[0].text)
        for item in page.one("ol", "listed-work").all("li")
        if item.all("a", "file")
    ]


def commands(page: Element) -> list[tuple[str, str]]:
    return [
        (item.all("a")[0].text, item.text.removeprefix(item.all("a")[0].text).replace(" ,", ",").strip())
        for item in page.one("ol", "listed-work").all("li")
        if item.all("span", "ref")
    ]


def made_by_hermes(empty_store: EmptyStore, calls: list[tuple[str, dict[str, Any], Any]]) -> str:
    href = empty_store.session("s", cwd="/home/me/site")
    empty_store.say("s", "user", "go")
    for number, (name, arguments, result) in enumerate(calls):
        empty_store.say("s", "assistant", "", tool_calls=[empty_store.call(name, str(number), **arguments)])
        empty_store.say("s", "tool", json.dumps(result), tool_call_id=str(number))
    return href


EDITED = {"success": True, "diff": "--- a/lib/x.py\n+++ b/lib/x.py\n@@ -1 +1,2 @@\n-a\n+b\n+c\n"}


def edit(path: str) -> dict[str, Any]:
    return {"path": path, "old_string": "a", "new_string": "b"}


def test_files_are_listed_by_how_often_they_were_changed_with_each_change(
    signed_in: Client, empty_store: EmptyStore
) -> None:
    href = made_by_hermes(
        empty_store,
        [
            ("patch", edit("/home/me/site/lib/x.py"), EDITED),
            ("write_file", {"path": "new.py", "content": "a\nb\nc\n"}, {"success": True}),
            ("read_file", {"path": "read.py"}, "text"),
            ("patch", edit("/home/me/site/lib/x.py"), {"success": True}),
            ("patch", edit("failed.py"), {"success": False, "error": "not found"}),
            ("patch", {"mode": "patch", "patch": ENVELOPE}, {"success": True}),
        ],
    )
    page = read(signed_in.get(f"{href}/files", headers=FRAGMENT))
    assert not page.all("html")
    assert files(page) == [
        ("lib/x.py", "2 times +3 −2"), ("a.py", "message 12 +2 −1"), ("b.py", "message 12 +1"),
        ("new.py", "message 4 +3"),
    ]  # fmt: skip
    first = page.one("ol", "listed-work").all("li")[0]
    assert first.one("a", "file").attributes["title"] == "/home/me/site/lib/x.py"
    touches = first.one("ol").all("li")
    assert [touch.text for touch in touches] == ["message 2 +2 −1", "message 8 +1 −1"]
    places = [touch.one("a").attributes["href"] for touch in touches]
    assert first.one("a", "file").attributes["href"] == places[0], "the first change"
    ends = [(link.text, link.attributes["href"]) for link in first.one("p", "ends").all("a")]
    assert ends == [("first", places[0]), ("last", places[1])]
    caller = read(signed_in.get(places[0])).one("article", id=places[0].partition("#")[2])
    (fold,) = caller.all("details", "tool")
    assert "open" in fold.attributes and fold.one("pre", "diff").text == "-a +b +c"
    assert read(signed_in.get(f"{href}/files")).one("h2", "quiet").text == "Files touched"


def test_a_file_is_listed_once_however_calls_name_it(signed_in: Client, empty_store: EmptyStore) -> None:
    names = ["/home/me/site/src/a.py", "src/a.py", "./src/a.py", "src/../src//a.py", "C:\\src\\..\\a.py", "d" * 5_000]
    href = made_by_hermes(empty_store, [("patch", edit(name), EDITED) for name in names])
    page = read(signed_in.get(f"{href}/files", headers=FRAGMENT))
    parts = [part.text for part in page.all("a", "file")[0].all("span")]
    assert parts == ["src/", "a.py"], "a line ends between these, never within a name"
    assert [path for path, _ in files(page)] == ["src/a.py", "C:\\src\\..\\a.py", "…" + "d" * tools.PATH_LIMIT]
    assert files(page)[0][1].startswith("4 times")
    titles = [link.attributes["title"] for link in page.all("a", "file")]
    assert titles == ["/home/me/site/src/a.py", "C:\\src\\..\\a.py", "…" + "d" * tools.PATH_LIMIT]


def test_failed_commands_are_listed_with_why_among_all_commits(signed_in: Client, empty_store: EmptyStore) -> None:
    ran = [
        ("git add -A && git commit -qm 'first'", 0),
        ("git -C /srv commit -m \"$(cat <<'EOF'\nSecond: more\nEOF\n)\"", 0),
        ("cd /home/me/site && make", 2),
        ("ls", 0),
        ("cd lib && make <i>", 1),
        ("git commit -m 'third'", 1),
        ("git commit-tree x; git log commit", 0),
        ("git commit", 0),
    ]
    output = {2: "make: reading\nmake: *** No rule to make target 'all'.  Stop.\n"}
    calls = [
        ("terminal", {"command": command}, {"exit_code": code, "output": output.get(code, "")}) for command, code in ran
    ]
    refused = ("terminal", {"command": "rm"}, "The user doesn't want to proceed with this tool use.")
    href = made_by_hermes(empty_store, [*calls, refused])
    page = read(signed_in.get(f"{href}/failures", headers=FRAGMENT))
    assert commands(page) == [
        ("git commit", "✓ message 16"),
        ("git commit -m 'third'", "message 12 failed, exit 1"),
        ("make <i>", "message 10 failed, exit 1, in lib"),
        ("make", "message 6 failed, exit 2 make: *** No rule to make target 'all'. Stop."),
        ('Second: more EOF )"', "✓ message 4"),
        ("first'", "✓ message 2"),
    ]
    place = page.one("ol", "listed-work").all("li")[3].one("a").attributes["href"]
    opened = [fold for fold in read(signed_in.get(place)).all("details", "tool") if "open" in fold.attributes]
    assert [fold.all("summary")[0].one("b").text for fold in opened] == ["Ran"]
    assert read(signed_in.get(f"{href}/failures")).one("h2", "quiet").text == "Commands that failed"


def test_commands_that_failed_in_the_same_way_are_one_line_with_the_place_in_a_file(
    signed_in: Client, empty_store: EmptyStore
) -> None:
    checks = "error: a check\nStarting\nlib/a.ex:58:13:pattern_match\nlib/b.ex:{}: no match\nFix these issues."
    ran = [("git add -A && git commit -m 'first'", checks.format(line)) for line in (7, 7, 8)]
    calls = [("terminal", {"command": command}, {"exit_code": 1, "output": output}) for command, output in ran]
    committed = ("terminal", {"command": "git add -A && git commit -m 'first'"}, {"exit_code": 0, "output": ""})
    href = made_by_hermes(empty_store, [calls[0], committed, *calls])
    page = read(signed_in.get(f"{href}/failures", headers=FRAGMENT))
    failed = "message {} failed, exit 1 error: a check lib/b.ex:{}: no match"
    assert commands(page) == [
        ("git commit -m 'first'", failed.format(10, 8)),
        ("git commit -m 'first'", failed.format(8, 7) + " 1 time before in the same way message 6"),
        ("first'", "✓ message 4"),
        ("git commit -m 'first'", failed.format(2, 7)),
    ]


def test_nothing_is_read_before_a_list_is_opened(
    signed_in: Client, empty_store: EmptyStore, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    href = made_by_hermes(empty_store, [("patch", edit("a.py"), EDITED)])
    page = read(signed_in.get(href))
    for name, title in (("files", "Files touched"), ("failures", "Commands that failed")):
        (fold,) = (each for each in page.all("details", "work") if each.one("summary").text == title)
        assert "open" not in fold.attributes
        assert fold.attributes["hx-get"] == fold.one("a").attributes["href"] == f"{href}/{name}"
        with django_assert_max_num_queries(9):
            signed_in.get(f"{href}/{name}", headers=FRAGMENT)
    talk = empty_store.session("talk")
    empty_store.chat("talk", 2)
    assert not read(signed_in.get(talk)).all("details", "work"), "no tool was called"
    assert "No call" in read(signed_in.get(f"{talk}/files")).text
    assert "No command failed" in read(signed_in.get(f"{talk}/failures")).text


def test_what_lists_say_is_redacted_and_escaped(signed_in: Client, empty_store: EmptyStore) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    href = made_by_hermes(
        empty_store,
        [
            ("write_file", {"path": f"<script>{token}\u202e.py", "content": "a"}, {"success": True}),
            ("terminal", {"command": f"curl -H '{token}' <b>"}, {"exit_code": 1, "output": ""}),
            ("terminal", {"command": f"git commit -m '{token}'"}, {"exit_code": 0, "output": ""}),
        ],
    )
    shown = [read(signed_in.get(f"{href}/{name}", headers=FRAGMENT)) for name in ("files", "failures")]
    assert all(token in page.text and not page.all("script") and not page.all("b") for page in shown)
    assert "\u202e" not in shown[0].text
    signed_in.cookies["palimpsest_mask"] = "1"
    for name in ("files", "failures"):
        assert token not in signed_in.get(f"{href}/{name}", headers=FRAGMENT).content.decode()


CLAUDE = (
    [
        (
            "Edit",
            {"file_path": "/home/user/work/a.py", "old_string": "x", "new_string": "y\nz"},
            "The file a.py has been updated.",
        ),
        ("Write", {"file_path": "/home/user/work/b.py", "content": "new"}, "File created successfully at: b.py"),
        ("Edit", {"file_path": "c.py", "old_string": "x", "new_string": "y"}, "<tool_use_error>no</tool_use_error>"),
    ],
    ("Bash", "command", "Exit code 2\nno"),
)
CODEX = (
    [
        ("apply_patch", {"input": ENVELOPE}, "Exit code: 0\nOutput:\nSuccess. Updated the following files:\nM a.py"),
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{ENVELOPE}\nEOF"]}, "Exit code: 1\nOutput:\nno"),
    ],
    ("shell_command", "command", "Exit code: 2\nWall time: 0.5 seconds\nOutput:\nno"),
)
PI = (
    [
        (
            "edit",
            {"path": "a.py", "edits": [{"oldText": "x", "newText": "y\nz"}]},
            "Successfully replaced 1 block(s) in a.py.",
        ),
        ("write", {"path": "b.py", "content": "new"}, "Successfully wrote 3 bytes to b.py"),
    ],
    ("bash", "command", "no\n\nCommand exited with code 2"),
)
OPENCLAW = (PI[0], ("exec", "command", "no\n\n(Command exited with code 2)"))  # fmt: skip


@pytest.mark.parametrize(
    ("of_kind", "made"),
    [(ClaudeByHand, CLAUDE), (CodexByHand, CODEX), (PiByHand, PI), (OpenClawByHand, OPENCLAW)],
)
def test_each_kind_of_agent_has_its_files_and_failures(
    signed_in: Client, settings: Settings, tmp_path: Path, of_kind: Callable[[Path], Agent], made: Any
) -> None:
    agent = of_kind(tmp_path / "home")
    settings.STORES = {"work": agent.url}
    settings.HERMES_HOME = settings.CLAUDE_HOME = settings.DEMO_STORE = tmp_path / "none"
    edits, (shell, named, failure) = made
    calls = [*edits, (shell, {named: "make"}, failure)]
    said = [message for number, call in enumerate(calls) for message in exchange(number, *call)]
    agent.write("s", [{"role": "user", "content": "go"}, *said])
    href = f"/stores/work/sessions/{agent.id_of('s')}"
    listed = files(read(signed_in.get(f"{href}/files", headers=FRAGMENT)))
    assert [(name, lines.partition("+")[2]) for name, lines in listed] == [("a.py", "2 −1"), ("b.py", "1")]
    failed = commands(read(signed_in.get(f"{href}/failures", headers=FRAGMENT)))
    assert failed[0][0] == "make" and "failed, exit 2" in failed[0][1]


@pytest.mark.slow
def test_a_list_is_opened_by_keys_and_is_closed_at_the_next_window(visit: Visit, empty_store: EmptyStore) -> None:
    ran = [("make", 2), *[("ls", 0)] * 60, ("make <i>", 1)]
    output = {2: "make: reading\nmake: *** No rule to make target 'all'.  Stop.\n"}
    calls = [
        ("terminal", {"command": command}, {"exit_code": code, "output": output.get(code, "")}) for command, code in ran
    ]
    screen = visit()
    screen.goto(made_by_hermes(empty_store, calls))
    screen.keyboard.press("Control+k")
    screen.keyboard.type("failed")
    expect(screen.locator("[role=option]").first).to_contain_text("Commands that failed")
    screen.keyboard.press("Enter")
    expect(screen.locator("#commands-failed .listed-work > li")).to_have_count(2)
    screen.keyboard.press("Tab")
    screen.keyboard.press("Enter")
    expect(screen.locator("details.tool[open] summary").first).to_contain_text("make <i>")
    expect(screen.locator("details.tool[open]").first).to_be_in_viewport()
    assert "around=" in screen.url
    assert not screen.locator("#commands-failed").evaluate("fold => fold.open")


@pytest.mark.slow
def test_a_key_leads_to_each_list_and_arrows_along_it(visit: Visit, empty_store: EmptyStore) -> None:
    failed = ("terminal", {"command": "make <i>"}, {"exit_code": 1, "output": ""})
    changed = [("patch", edit(name), EDITED) for name in ("lib/x.py", "lib/x.py", "b.py", "x" * 300)]
    screen = visit()
    screen.set_viewport_size({"width": 1500, "height": 800})
    screen.goto(made_by_hermes(empty_store, [*changed, *[failed] * 30]))
    screen.locator(".timeline svg").wait_for()
    at_rest(screen)
    now = screen.evaluate("scrollY")
    width = screen.evaluate("document.querySelector('main').offsetWidth")
    screen.keyboard.press("t")
    expect(screen.locator("#files-touched a.file").first).to_be_focused()
    screen.keyboard.press("ArrowDown")
    expect(screen.locator("#files-touched a.file").nth(1)).to_be_focused()
    screen.keyboard.press("ArrowUp")
    screen.keyboard.press("ArrowRight")
    expect(screen.get_by_role("link", name="message 2", exact=True)).to_be_focused()
    screen.keyboard.press("ArrowLeft")
    expect(screen.locator("#files-touched a.file").first).to_be_focused()
    assert not screen.locator("#files-touched .listed-work details").evaluate("fold => fold.open")
    screen.keyboard.press("F")
    expect(screen.locator("#commands-failed .listed-work a").first).to_be_focused()
    assert screen.evaluate("document.querySelector('main').offsetWidth") == width, "what is read does not move"
    assert screen.evaluate("scrollY") == now, "the lists are in a column that stays"
    screen.keyboard.press("Enter")
    expect(screen.locator("details.tool[open] summary").first).to_contain_text("make <i>")
    screen.set_viewport_size({"width": 360, "height": 760})
    screen.goto(f"{screen.url.partition('?')[0]}/files")
    require_narrow(screen, "a name without an end")
    talk = empty_store.session("talk")
    empty_store.chat("talk", 2)
    screen.goto(talk)
    screen.keyboard.press("t")
    expect(screen.locator("#said")).to_have_text("No tool was called in this session.")


@pytest.mark.slow
def test_what_is_pressed_before_a_list_is_there_is_for_the_list(visit: Visit, empty_store: EmptyStore) -> None:
    """Reading a whole session may take a second: nobody waits for it, and no key closes the list again."""
    changed = [("patch", edit(f"lib/{name}.py"), EDITED) for name in ("a", "b", "c", "d", "e", "f", "g", "h", "router")]
    screen = visit()
    screen.goto(made_by_hermes(empty_store, changed))
    late: list[Route] = []
    screen.route("**/files", lambda route: late.append(route))
    for key in ("t", "r", "o", "u", "ArrowDown"):
        screen.keyboard.press(key)
    files, field = screen.locator("#files-touched a.file"), screen.get_by_label("Show files with")
    expect(screen.locator("#files-touched")).to_have_attribute("open", "")
    late[0].continue_()
    expect(field).to_have_value("rou")
    expect(files.locator("visible=true")).to_have_text(["lib/router.py"])
    expect(files.locator("visible=true")).to_be_focused()
    screen.keyboard.press("ArrowUp")
    expect(field).to_be_focused()
    screen.keyboard.type("x")
    expect(screen.get_by_text("No file has this in its path.")).to_be_visible()
    screen.keyboard.press("Escape")
    expect(field).to_have_value("")
    expect(files.locator("visible=true")).to_have_count(9)
    for _ in range(9):
        screen.keyboard.press("ArrowDown")
    expect(files.last).to_be_focused()
    bottoms = "row => [row, row.closest('.answer')].map(each => each.getBoundingClientRect().bottom)"
    row, fades = files.last.evaluate(bottoms)
    assert row <= fades - 24, "what has the focus is not under the fade"
    screen.keyboard.press("ArrowUp")
    screen.keyboard.press("Enter")
    expect(screen.locator(".out.marked")).to_be_attached()


@pytest.mark.slow
def test_a_list_that_was_left_before_it_was_there_is_closed_by_keys(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    screen.goto(made_by_hermes(empty_store, [("patch", edit("lib/a.py"), EDITED)]))
    late: list[Route] = []
    screen.route("**/files", lambda route: late.append(route))
    screen.keyboard.press("t")
    screen.keyboard.press("f")  # is for the list
    work, find = screen.locator("#files-touched"), screen.locator("#find")
    find.focus()
    late[0].continue_()
    expect(work.locator("a.file")).to_be_visible()
    expect(find).to_be_focused()
    work.locator("> summary").focus()
    screen.keyboard.press("Enter")
    expect(work).not_to_have_attribute("open", "")


@pytest.mark.slow
def test_the_path_of_an_edit_is_whole_on_a_phone_and_opening_it_moves_nothing_where_that_is_not_wanted(
    visit: Visit, empty_store: EmptyStore
) -> None:
    path = "lib/spotter_web/channels/terminal_channel_for_everybody.ex"
    screen = visit(*PHONE)
    screen.goto(f"{made_by_hermes(empty_store, [('patch', edit(path), EDITED)])}?only=edits")
    shown = screen.locator(".match .path-end")
    expect(shown).to_have_text(path)
    assert shown.evaluate("line => line.scrollWidth <= line.clientWidth"), "nothing is cut"
    require_narrow(screen, "edits")
    moves = "fold => { fold.open = true; return getComputedStyle(fold, '::details-content').animationName !== 'none' }"
    for motion, moving in (("reduce", False), ("no-preference", True)):
        screen.emulate_media(reduced_motion=motion)  # type: ignore[arg-type]  # one of the two
        assert screen.locator(".match details.tool").evaluate(moves) == moving


def test_the_lists_are_there_when_the_sheet_of_a_phone_is(visit: Visit, empty_store: EmptyStore) -> None:
    href = made_by_hermes(empty_store, [("patch", edit("/src/beds.py"), '{"success": true}')])
    screen = visit(*PHONE)
    screen.goto(href)
    at_rest(screen)
    with screen.expect_response("**/files*"):
        screen.locator(".sheet-open").get_by_role("link", name="Find").click()
    expect(screen.locator("#files-touched .listed-work")).to_be_attached()
    screen.locator("#files-touched > summary").click()
    expect(screen.locator("#files-touched").get_by_role("link", name="beds.py").first).to_be_visible()
