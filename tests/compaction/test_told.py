"""What a summary without a model tells: work, plans, errors, people and days, constraints; each case a small table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compaction import Message, SummaryRequest, offline
from compaction.code import DatedText, code_names
from compaction.constraints import is_binding
from compaction.requests import is_closing, is_output
from compaction.sections import ANSWERED, PLAN, TASK
from compaction.troubles import trouble
from tests.compaction.offline_summaries import request, sections
from tests.compaction.transcripts import count, reply, result, user
from tests.compaction.work_steps import actions, step

MARKED = Path(__file__).resolve().parents[1] / "data" / "constraints.tsv"


# --- constraints -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("half", ["tuned", "held"])
def test_marked_sentences_are_told_apart(half: str) -> None:
    rows = [line.split("\t") for line in MARKED.read_text("utf-8").splitlines() if not line.startswith("#")]
    marked = [(wanted == "1", is_binding(sentence)) for of, wanted, sentence in rows if of == half]
    right = sum(wanted and found for wanted, found in marked)
    assert len(marked) > 60
    assert right / sum(found for _, found in marked) >= 0.9, "precision"
    assert right / sum(wanted for wanted, _ in marked) >= 0.9, "recall"


def test_constraints_say_whose_and_when() -> None:
    def talk(id_: str, person: str, day: str, wish: str) -> list[Message]:
        at = {"timestamp": f"2026-07-{day}T10:00:00+00:00"}
        return [
            {**user(f"Hi! {wish}"), **at},
            *step(id_, "get_user_details", {"user_id": person}, "{}", **at),
            {**reply("Noted."), **at},
        ]

    turns = [
        *talk("a", "sofia_kim_7287", "15", "I don't need insurance."),
        *talk("b", "mia_li_3668", "16", "Never call me before noon."),
    ]
    assert sections(turns)["Constraints"] == [
        "- sofia_kim_7287, 15 July 2026: I don't need insurance.",
        "- mia_li_3668, 16 July 2026: Never call me before noon.",
    ]


# --- requests --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "closes"),
    [
        ("Thank you, you too!###STOP###", True),
        ("Thanks!", True),
        ("Great, thank you so much for your help.", True),
        ("Hello there!", True),
        ("No, that's all for now. Thank you!", True),
        ("谢谢！", True),
        ("Thank you! Please downgrade all of them to economy.", False),
        ("Thanks, but can you check the second one?", False),
        ("Ghent Harbour, aisle 2, please.", False),
        ("Fix the login.", False),
    ],
)
def test_thanks_greetings_and_markers_ask_for_nothing(text: str, closes: bool) -> None:
    assert is_closing(text) is closes


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("Your proposed edit has introduced new syntax error(s). Please read this error message carefully.", True),
        ("[File: /a/b.py (20 lines total)]\n1:import os", True),
        ("OBSERVATION:\nfile list", True),
        ("12:def f():\n13:    return 1\n14:\n15:def g():", True),
        ("README.md\n(Open file: n/a)\n(Current directory: /repo)\nbash-$", True),
        ("<task-notification>\n<task-id>b0be</task-id>", True),
        ("Please fix the bug in line 12: it returns None.", False),
        ("1. Fix the bug\n2. Add a test", False),
    ],
)
def test_outputs_in_rows_of_the_user_are_no_requests(text: str, output: bool) -> None:
    assert is_output(text) is output


def test_commands_in_code_fences_are_actions_and_what_follows_is_their_output() -> None:
    state = "(Open file: /repo/a.py)\n(Current directory: /repo)\nbash-$"
    turns = [
        user("Solve the issue in fields.py."),
        reply("Let me look.\n```\nfind_file fields.py\n```"),
        user(f"Found 1 matches: /repo/src/fields.py\n{state}"),
        reply("I run it.\n```\npython reproduce.py\n```"),
        user(f"344\n{state}"),
    ]
    found = sections(turns)
    assert found[TASK] == ["> Solve the issue in fields.py."]
    assert "- Ran `python reproduce.py`: 344" in found["Actions done"]
    assert any("find_file fields.py" in line for line in found["Actions done"])


def test_a_request_that_is_taken_back_is_not_told_as_open() -> None:
    found = sections(
        [user("Please rename all the tables."), reply("", "a"), result("a"), user("Stop. Never mind that.")]
    )
    assert found[TASK] == ["> Stop. Never mind that.", ANSWERED]
    assert found["Goal"] == []


# --- plans -----------------------------------------------------------------------------------------------------------
STEPS = [("Write the parser", "completed"), ("Test the parser", "in_progress"), ("Write the docs", "pending")]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("TodoWrite", {"todos": [{"content": text, "status": state} for text, state in STEPS]}),
        ("update_plan", {"plan": [{"step": text, "status": state} for text, state in STEPS]}),
        ("todo", {"todos": [{"id": i, "content": text, "status": state} for i, (text, state) in enumerate(STEPS)]}),
    ],
)
def test_the_newest_plan_is_told_whole_with_its_states(tool: str, arguments: dict[str, Any]) -> None:
    older = {key: [{**item, "status": "pending"} for item in items] for key, items in arguments.items()}
    found = sections([user("Write a parser."), *step("a", tool, older), *step("b", tool, arguments)])
    assert found[PLAN] == ["- [x] Write the parser", "- [ ] Test the parser (in progress)", "- [ ] Write the docs"]
    assert found["Actions done"] == [], "a plan is no work"


def test_the_plan_of_an_earlier_summary_goes_on_until_there_is_a_newer_one() -> None:
    earlier = "## Plan\n- [x] Write the parser\n- [ ] Test the parser"
    assert sections([reply("Working.")], previous_summary=earlier)[PLAN] == earlier.splitlines()[1:]
    newer = step("a", "TodoWrite", {"todos": [{"content": "Ship it", "status": "pending"}]})
    assert sections(newer, previous_summary=earlier)[PLAN] == ["- [ ] Ship it"]


# --- work ------------------------------------------------------------------------------------------------------------
def test_a_file_is_one_line_however_often_it_is_edited() -> None:
    edits = [step(f"e{i}", "Edit", {"file_path": "/srv/a.py", "new_string": f"def parse_{i}(x):"}) for i in range(3)]
    [line] = actions(*edits)
    assert line == "- Edited /srv/a.py (3 edits); code: parse_2 parse_1 parse_0"


@pytest.mark.parametrize(
    ("name", "arguments", "output", "line"),
    [
        (
            "cancel_reservation",
            {"reservation_id": "XEHM4B", "user_id": "noah_muller_9847"},
            "{}",
            "- Cancelled reservation XEHM4B for noah_muller_9847",
        ),
        (
            "book_flight",
            {"user_id": "mia_li_3668", "flights": [{"number": "HAT1", "date": "2026-05-20"}]},
            '{"reservation_id": "QQ12ZZ"}',
            "- Booked flight QQ12ZZ for mia_li_3668: flights HAT1 2026-05-20",
        ),
        ("mcp__desk__sendReminder", {"ticket": "T-12"}, "sent", "- Sent reminder T-12"),
        ("Bash", {"command": "npm test"}, "ok 1\n12 passed", "- Ran `npm test`: 12 passed"),
        ("frobnicate", {"level": 3}, "done", "- frobnicate(level=3): done"),
    ],
)
def test_calls_are_told_as_a_person_would(name: str, arguments: dict[str, Any], output: str, line: str) -> None:
    assert actions(step("a", name, arguments, output)) == [line]


def test_a_failure_that_was_got_over_is_told_with_its_fix() -> None:
    wrong = step("a", "book_flight", {"user_id": "mia_li_3668", "payment": 255}, "Error: the amount does not add up")
    right = step("b", "book_flight", {"user_id": "mia_li_3668", "payment": 305}, '{"reservation_id": "QQ12ZZ"}')
    found = sections([user("Book it."), *wrong, *right])
    assert found["Errors and blockers"] == []
    assert '(a try failed before: "Error: the amount does not add up")' in found["Actions done"][0]


def test_a_call_that_failed_twice_is_one_error() -> None:
    turns = [
        row for i in range(2) for row in step(f"c{i}", "Bash", {"command": "npm test"}, "Exit code 1\nno such file")
    ]
    assert sections([user("Test it."), *turns])["Errors and blockers"] == [
        "- `npm test` (2 times): exit 1: no such file"
    ]


def test_birth_dates_without_a_person_are_left_out_and_dependencies_give_no_names() -> None:
    people = json.dumps([{"dob": f"19{n}-03-21", "seat": f"A{n}B{n}C"} for n in range(50, 70)])
    listing = "\n".join(f"./node_modules/.pnpm/pkg{n}/index.d.ts" for n in range(90))
    turns = [user("Look."), *step("a", "list_rows", {}, people), *step("b", "Bash", {"command": "find ."}, listing)]
    text = offline.summarize(request(turns))
    assert "-03-21" not in text and "pkg2" not in text and "A55B55C" in text


def test_files_read_and_files_written_share_the_room_and_the_overflow_is_told() -> None:
    turns = [user("Work through all of them.")]
    for n in range(200):
        turns += step(f"r{n}", "Read", {"file_path": f"/srv/in/{n:03}.txt"}, "text")
        turns += step(f"w{n}", "Write", {"file_path": f"/srv/out/{n:03}.txt", "content": "x"}, "written")
    found = sections(turns, budget_tokens=600)
    files = {line.split(":")[0]: line for line in found["Files"]}
    read, written = files["- read in /srv/in"], files["- written in /srv/out"]
    assert read.count(".txt") > 20 and written.count(".txt") > 20
    assert read.endswith(" more)") and written.endswith(" more)")
    assert len(found["Actions done"]) < 10, "nothing is to be told of them but their names"


def test_lines_are_clipped_less_while_room_is_free() -> None:
    long = "The core runtime includes " + ", ".join(f"part number {n} of the whole" for n in range(60))
    text = offline.summarize(SummaryRequest((user("Explain it."), reply(long), user("And now?")), count=count))
    assert long in text


# --- errors ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("output", "told"),
    [
        ('{"exit_code": 1, "output": "ENOENT: missing file"}', "exit 1: ENOENT: missing file"),
        ('{"exit_code": 1, "output": "2 tests, 1 did not go well"}', "exit 1: 2 tests, 1 did not go well"),
        ("Exit code 2\nwhat happened", "exit 2: what happened"),
        ('{"success": false, "message": "Card was not taken"}', "Card was not taken"),
        ("Segmentation fault (core dumped)", "Segmentation fault (core dumped)"),
        ("EACCES: no", "EACCES: no"),
        ('{"exit_code": 0, "output": "0 errors"}', ""),
        ("[main 1a2b3c4] Fix error in the parser\n 1 file changed", ""),
        ("29d0b84 fix: remove invalid page option", ""),
        ("34→  TodoError,", ""),
        ("reconnecting to the supermarket", ""),
    ],
)
def test_what_is_an_error(output: str, told: str) -> None:
    assert trouble(output) == told


def test_a_tool_that_shows_text_shows_words_about_errors_too() -> None:
    code = "import x\n\nraise_error = 1\nfail_hard = 2\n# the error is here\n"
    assert trouble(code, shows=True) == ""
    assert trouble("File does not exist.", flagged=True, shows=True) == "File does not exist."


def test_a_change_that_went_well_is_told_beside_the_one_of_the_same_thing_that_failed_later() -> None:
    turns = [
        user("Change the address, then return it."),
        *step("a", "modify_order_address", {"order_id": "#W62", "city": "Denver"}, '{"status": "pending"}'),
        *step("b", "return_order_items", {"order_id": "#W62", "item_ids": ["98"]}, "Error: it was not delivered"),
        *step("c", "Edit", {"file_path": "/srv/a.py", "new_string": "def load_it(x):"}, "ok"),
        *step("d", "Edit", {"file_path": "/srv/a.py", "new_string": "y"}, "Error: old_string was not found"),
    ]
    found = sections(turns)
    assert "- Modified order address #W62: city Denver, status pending" in found["Actions done"]
    assert "- Edited /srv/a.py (1 edit); code: load_it" in found["Actions done"]
    assert [line.split(":")[-1] for line in found["Errors and blockers"]] == [
        " it was not delivered",
        " old_string was not found",
    ]


def test_a_yes_or_no_is_told_with_its_name_alone() -> None:
    variants = {str(n): {"available": n % 2 > 0} for n in range(9_000, 9_006)}
    given = step(
        "a", "get_product", {"product_id": "9523456873"}, json.dumps({"name": "T-Shirt", "variants": variants})
    )
    assert actions(given) == ["- Looked up product 9523456873: name T-Shirt"]


def test_two_sentences_without_a_space_are_no_name_of_code() -> None:
    said = DatedText("said", 0, "It did not work.We use load_all and Shop.Orders in __init__ now.")
    assert [*code_names([said])] == ["load_all", "Shop.Orders"]
