"""What was done, a line a thing, with its outcome and what it got over; and what failed, by structure alone."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from compaction import Message
from compaction.offline.failures import failure
from compaction.offline.tool_calls import shows
from compaction.sections import DONE, FOUND, INTENT, LEFT, NAMES, SAID
from tests.compaction.offline.summaries import done, sections, step
from tests.compaction.transcripts import exchange, reply, user

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
    assert found[LEFT] == ["- [x] Write the parser", "- [ ] Test the parser (in progress)", "- [ ] Write the docs"]
    assert found[DONE] == [], "a plan is no work"


def test_of_a_small_edit_the_lines_that_it_adds_are_shown() -> None:
    old, new = "a = 1\nreturn a", "a = 1\nreturn round(a, 2)"
    small = step("a", "Edit", {"file_path": "/srv/a.py", "old_string": old, "new_string": new})
    assert done(small) == ["- Edited /srv/a.py (1 edit): `return round(a, 2)`"]
    long = step("b", "Edit", {"file_path": "/srv/b.py", "old_string": "x", "new_string": "y = 1\n" * 90})
    assert "y = 1" not in done(long)[0] or len(done(long)[0]) < 120
    twice = [step(f"c{n}", "Edit", {"file_path": "/c.yml", "old_string": "", "new_string": f"n: {n}"}) for n in (1, 2)]
    assert done(*twice) == ["- Edited /c.yml (2 edits); the last: `n: 2`"]


UUID, REQUEST = "550e8400-e29b-41d4-a716-446655440000", "req_011CSHoEeqs5C35K2UUqR7Fy"


def ran(output: str, command: str = "./x", **more: Any) -> list[Message]:
    return step("a", "sh", {"command": command}, output, **more)


CREATED = {"id": UUID, "text": r"\nThe hall\nDraft", "colour": "#3B4252", "took": "18ms", "ticket": "SHOP-123"}


@pytest.mark.parametrize(
    ("made", "line"),
    [
        (ran(f"ok\nThe hall is open\n{REQUEST} 3ms 18ms #3B4252"), "Ran `./x`: The hall is open (3 lines)"),
        (ran(f"POST /halls 200 18ms {REQUEST} saved"), "Ran `./x`: POST /halls 200 saved"),
        (ran(f"{REQUEST} 18ms"), "Ran `./x`"),
        (ran("2 passed in 0.12s (18ms)", f"./x {UUID}"), f"Ran `./x {UUID}`: 2 passed in 0.12s"),
        (ran(f"Saved to /var/{UUID}/a.log"), f"Ran `./x`: Saved to /var/{UUID}/a.log"),
        (ran(r"It says:\n\n[FORMAT] No.\nFix it."), "Ran `./x`: It says: [FORMAT] No. Fix it."),
        (ran(r"C:\new\temp was made"), r"Ran `./x`: C:\new\temp was made"),
        (step("a", "make", {"title": "x"}, json.dumps(CREATED)), "Made: title x, text The hall Draft, ticket SHOP-123"),
        (step("a", "mcp_make", {"title": "x"}, json.dumps(CREATED)),
         "mcp_make(title=x): text The hall Draft, ticket SHOP-123"),
        (step("a", "set_theme", {"colour": "#3B4252"}, json.dumps({"request": REQUEST, "took": "18ms", "a": "North"})),
         "Set theme: colour #3B4252, a North"),
        (step("a", "update_hall", {"state": "open"}, f"{REQUEST} updated"), "Updated hall: state open -> updated"),
    ],
)  # fmt: skip
def test_what_nobody_refers_to_is_left_out_of_an_output(made: list[Message], line: str) -> None:
    """Ids of requests, UUIDs, colours, bare durations, line breaks in JSON; what was called with stays."""
    assert done(made) == [f"- {line}"]


def test_what_nobody_refers_to_is_left_out_of_a_failure_that_was_got_over() -> None:
    failing = ran(f"exit code 1\nError: no hall ({REQUEST})", is_error=True)
    [line] = done(failing, step("b", "sh", {"command": "./x"}, "made it"))
    assert "no hall" in line and REQUEST not in line


def test_of_a_person_the_address_is_shown_and_the_birth_date_is_not() -> None:
    person = {"name": "Mia Li", "birth_date": "1990-04-05", "gender": "f", "email": "mia@a.example"}
    booked = step("a", "book_hall", {"hall": "North", "guests": [person], "ssn": "078-05-1120"})
    asked = step("b", "get_guest", {"guest_id": "mia_li_3668"}, json.dumps({**person, "address": {"city": "Ghent"}}))
    assert done(booked, asked) == [
        "- Booked hall for mia_li_3668: hall North, guests Mia Li mia@a.example -> ok",
        "- Looked up guest (guest_id mia_li_3668): name Mia Li, email mia@a.example, address Ghent",
    ]


def test_a_commit_is_told_with_its_number_and_where_it_was_pushed() -> None:
    output = (
        "[main 99b497c] Mend the door\n 2 files changed, 7 insertions(+)\nTo a.org:b\n   1fad3e1..99b497c main -> main"
    )
    commit = step("a", "Bash", {"command": "git commit -qam 'Mend the door' && git push"}, output)
    assert done(commit)[0].endswith(": [main 99b497c], 2 files changed, 7 insertions(+), 1fad3e1..99b497c main -> main")


def test_a_failure_that_the_kept_messages_got_over_is_none() -> None:
    failing = step("a", "Bash", {"command": "pytest -q"}, "1 failed\nexit code 1", is_error=True)
    turns = [user("Work on it."), *failing]
    assert sections(turns)[LEFT], "as far as it is known"
    passing = step("b", "Bash", {"command": "pytest -q"}, "2 passed")
    found = sections(turns, kept=tuple(passing))
    assert found[LEFT] == [] and found[DONE] == []


def test_what_the_agent_will_do_when_something_ends_is_left() -> None:
    turns = [
        user("Move the disks."),
        reply("The copy runs. Do not wipe the old one yet. When it is through I will scrub."),
    ]
    assert sections(turns)[LEFT] == ["- Do not wipe the old one yet.", "- When it is through I will scrub."]


def test_a_guess_on_the_way_is_no_finding_and_the_bug_is() -> None:
    turns = [
        user("Why does it fail?"),
        *step("a", "Bash", {"command": "make"}, content="The issue is that the macro is missing."),
        *step("b", "Bash", {"command": "make"}, content="That's the bug: the span is read as a pair."),
    ]
    assert sections(turns)[FOUND] == ["- That's the bug: the span is read as a pair."]
    earlier = step("c", "Bash", {"command": "make"}, content="The issue is that it is late because of the hook.")
    assert sections([turns[0], *earlier, *turns[1:]])[FOUND] == ["- That's the bug: the span is read as a pair."]
    before = sections([turns[0], *earlier, user("And why is it slow?"), *turns[1:]])[FOUND]
    assert len(before) == 2, "another question has a cause of its own"


def test_a_file_that_could_not_be_read_is_no_name() -> None:
    missing = step("a", "Read", {"file_path": "/srv/none.py"}, "File does not exist.", is_error=True)
    there = step("b", "Read", {"file_path": "/srv/there.py"}, "x = 1")
    assert "none.py" not in "".join(sections([user("Look at it."), *missing, *there])[NAMES])


def test_what_was_edited_since_the_newest_commit_is_left() -> None:
    def edit(at: int) -> list[Message]:
        return step(f"e{at}", "Edit", {"file_path": f"/srv/app/src/part{at}.py", "new_string": f"part = {at}"})

    commit = step("c", "Bash", {"command": "git commit -m 'One'"}, "[main 1234567] One")
    turns = [user("Work on it."), *edit(0), *commit]
    assert sections(turns)[LEFT] == []
    assert sections([*turns, *edit(1)])[LEFT] == ["- [not committed] edited: /srv/app/src/part1.py"]
    more = sections([*turns, *edit(1), *edit(2), *edit(3)])[LEFT]
    assert more == ["- [not committed] edited in /srv/app/src: part1.py part2.py part3.py"]
    assert sections([*turns, *edit(1)], kept=tuple(commit))[LEFT] == [], "committed since"
    assert sections([user("Work on it."), *edit(1)])[LEFT] == [], "where nothing is committed at all"


def test_commands_in_blocks_of_code_are_calls_and_their_outputs_no_words_of_a_person() -> None:
    """Of an agent without tools, whose harness answers as if a person typed; a person's words end in many ways."""
    turns = [user("Find the flag.")]
    for at in range(5):
        turns += [reply(f"Part {at} is next to look at.\n```\nmake part-{at}\n```"), user(f"built {at}\n(in: /srv)\n$")]
    found = sections([*turns, reply("It is in part 4.")])
    assert found[INTENT] == ["- [open] Find the flag.", "  Agent: It is in part 4."]
    assert found[DONE] == [f"- Ran `make part-{at}`: built {at}" for at in range(5)]
    assert not any(line.startswith("- User: built") for line in found[SAID])
    ending = sections(turns[:-1], kept=(turns[-1],))
    assert ending[INTENT] == ["- [open] Find the flag."], "nor is one of the kept messages"
    talk = [user("Show me code.")]
    for at in range(5):
        talk += [reply(f"Here it is.\n```\nmake part-{at}\n```"), user(f"Now part {at + 1}, and mind the {at} doors.")]
    assert sections(talk)[DONE] == [] and "- [open] Now part 5, and mind the 4 doors." in sections(talk)[INTENT]


def test_a_reply_of_many_blocks_ends_with_the_last_of_them() -> None:
    many = "```a\nb\n" * 8_000 + "```\nmake\n```"
    turns = [user("Go."), *(row for at in range(3) for row in (reply(many), user(f"built {at}\n$")))]
    assert sections(turns)[DONE] == ["- Ran `make` (3 times): built 2"]


def test_a_file_is_one_line_however_often_it_is_edited() -> None:
    edits = [step(f"e{i}", "Edit", {"file_path": "/srv/a.py", "new_string": f"def parse_{i}(x):"}) for i in range(3)]
    assert done(*edits) == ["- Edited /srv/a.py (3 edits); code: parse_2 parse_1 parse_0"]


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
        ("get_order", {"order_id": "B-1"}, '{"order_id": "B-1", "state": "sent"}', "- Looked up order B-1: state sent"),
        ("deploy", {}, None, "- deploy(): no result yet"),
    ],
)
def test_calls_are_told_as_a_person_would(name: str, arguments: dict[str, Any], output: str | None, line: str) -> None:
    assert done(step("a", name, arguments, output)) == [line]


def test_of_an_output_the_last_line_that_says_something_is_told() -> None:
    output = "def f():\n  return total_of(order)\nthe build went well\n}\n---\n</body></html>"
    assert done(step("a", "Bash", {"command": "make all"}, output)) == [
        "- Ran `make all`: the build went well (6 lines)"
    ]


def test_a_line_has_at_most_three_hundred_characters() -> None:
    notes = {"command": "journal " + "x" * 3_000}
    [line] = done(step("a", "Bash", notes, "word " * 900))
    assert len(line) <= 302


def test_repeated_calls_are_one_line_with_their_last_outcome() -> None:
    assert done(*(step(f"c{i}", "poll", {"job": 7}, f"state {i}") for i in range(5))) == [
        "- poll(job=7) (5 times): state 4"
    ]


def test_a_failure_that_was_got_over_is_told_with_its_fix() -> None:
    wrong = step("a", "book_flight", {"user_id": "mia_li_3668", "payment": 255}, "Error: the amount does not add up")
    right = step("b", "book_flight", {"user_id": "mia_li_3668", "payment": 305}, '{"reservation_id": "QQ12ZZ"}')
    found = sections([user("Book it."), *wrong, *right])
    assert found[LEFT] == []
    assert '(a try failed before: "Error: the amount does not add up")' in found[DONE][0]


def test_another_command_of_a_program_is_no_try_at_the_same() -> None:
    turns = [*step("a", "sh", {"command": "restic -r sftp:x snapshots"}, "Exit code 1\nno such host")]
    turns += step("b", "sh", {"command": "restic -r sftp:y backup /attic"}, "snapshot 5f0d9b13 saved")
    assert done(turns) == ["- Ran `restic -r sftp:y backup /attic`: snapshot 5f0d9b13 saved"]


def test_what_failed_to_the_end_is_left() -> None:
    turns = [
        row for i in range(2) for row in step(f"c{i}", "Bash", {"command": "npm test"}, "Exit code 1\nno such file")
    ]
    found = sections([user("Test it."), *turns])
    assert found[LEFT] == ["- [failed] `npm test` (2 times): exit 1: no such file"] and found[DONE] == []


def test_a_change_that_went_well_is_told_beside_the_one_of_the_same_thing_that_failed_later() -> None:
    turns = [
        user("Change the address, then return it."),
        *step("a", "modify_order_address", {"order_id": "#W62", "city": "Denver"}, '{"status": "pending"}'),
        *step("b", "return_order_items", {"order_id": "#W62", "item_ids": ["98"]}, "Error: it was not delivered"),
    ]
    found = sections(turns)
    assert found[DONE] == ["- Modified order address #W62: city Denver, status pending"]
    assert len(found[LEFT]) == 1 and found[LEFT][0].endswith("it was not delivered")


# --- failures --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("output", "told"),
    [
        ('{"exit_code": 1, "output": "ENOENT: missing file"}', "exit 1: ENOENT: missing file"),
        ("Exit code 2\nwhat happened", "exit 2: what happened"),
        ('{"success": false, "message": "Card was not taken"}', "Card was not taken"),
        ("Error: not enough seats on flight HAT290", "Error: not enough seats on flight HAT290"),
        ('{"exit_code": 0, "output": "3 errors were found and mended"}', ""),
        ("The change is good. It improves error handling and cannot fail.", ""),
        ("Error handling: improved everywhere; all 40 tests pass.", ""),
        ("Error 404: no such page", "Error 404: no such page"),
        ("npm notice: a new version is out, an error was mended in it", ""),
        ("setFilter, isLoading, error, activeTodosCount", ""),
        ("Process exited with code 0\nError: a word in a log", ""),
    ],
)
def test_a_call_failed_where_its_result_says_so_by_structure(output: str, told: str) -> None:
    assert failure(output) == told


def test_words_count_in_what_a_shell_printed_where_nothing_has_structure() -> None:
    assert failure("fatal: no such branch", words=True) == "fatal: no such branch"
    assert failure("npm warn deprecated error-ex@1: use another one", words=True) == ""
    assert done(step("a", "sh", {"command": "git pull"}, "fatal: no such branch")) == []
    table = step("a", "sh", {"command": "smartctl -A sda | grep Real"}, "5 Reallocated 0x0033 199 Pre-fail Always - 11")
    assert len(done(table)) == 1, "lines of a table that were looked for"
    plain = step("a", "sh", {"command": "make a"}, "warning: the error was mended")
    ended = step("b", "sh", {"command": "make b"}, "Exit code 1\nno")
    assert any("make a" in line for line in done(plain, ended)), "this shell says by a code what fails"


def test_a_flagged_result_failed_whatever_it_says() -> None:
    assert failure("File does not exist.", flagged=True) == "File does not exist."
    call, answer = step("a", "Edit", {"file_path": "/srv/a.py", "new_string": "x"}, "assert body['error']")
    assert done([call, {**answer, "is_error": True}]) == []
    assert done([call, answer]) != []


@pytest.mark.parametrize("name", ["Read", "Task", "Edit", "Write", "web_search"])
def test_words_about_errors_in_what_no_shell_printed_say_nothing(name: str) -> None:
    text = "an error is raised here and cannot be caught\n" * 3
    assert sections([user("Go."), *step("a", name, {"file_path": "/srv/a.py", "content": "y"}, text)])[LEFT] == []


@pytest.mark.parametrize(
    ("command", "only_shows"),
    [
        ("ls -la | head -3", True),
        ("bd list 2>/dev/null; echo '---'; bd show x 2>/dev/null", True),
        ("cd /srv && git log --oneline", True),
        ("cat a > b", False),
        (r'grep -r "one\|two" deps/ 2>/dev/null | head -15', True),
        ("curl -s https://shop.example/x | jq '.a | .b'", True),
        ("curl -X POST https://shop.example/x", False),
        ("git log && git push", False),
        ("make test 2>&1 | tail -5", False),
    ],
)
def test_whether_a_command_only_shows_something(command: str, only_shows: bool) -> None:
    assert shows(command) is only_shows


# --- names -----------------------------------------------------------------------------------------------------------
def test_names_stand_below_what_they_belong_to_and_only_where_no_line_has_them() -> None:
    rows = [{"order_id": f"R{i}X7Q{i}"} for i in range(1, 4)]
    turns = [user("Look at R1X7Q1."), *step("a", "list_orders", {}, json.dumps(rows))]
    turns += [*step("b", "check", {"order_id": "R2X7Q2", "verbose": "no"}, "x"), reply("R3X7Q3 is the last of them.")]
    turns += [row for i in range(40) for row in (user(f"Question {i}: {'word ' * 30}"), reply("word " * 30))]
    found = sections(turns, budget_tokens=500)[NAMES]
    assert found and all(line.startswith("- order_id: ") for line in found)


@pytest.mark.parametrize(
    "noise", ["3f2a9c1e-0b7d-4c55-9a1e-2f6b8d0c4e11", "toolu_01AbCdEf", "#2b2832", "153ms", "nThe"]
)
def test_ids_of_requests_colours_and_durations_are_no_names(noise: str) -> None:
    turns = [user("Look."), *step("a", "query", {"trace": noise, "order_id": "R2X7Q2"}, noise), *exchange(30)]
    assert noise not in "\n".join(sections(turns, budget_tokens=300)[NAMES])


def test_names_take_no_more_than_their_share() -> None:
    turns = [user(" ".join(f"A{i:03}B{i:03}" for i in range(900))), reply("I see."), *exchange(3)]
    lines = sections(turns, budget_tokens=1_000)[NAMES]
    assert len("\n".join(lines)) / 4 < 0.2 * 1_000 and not re.search(r"(?m)^- [\d ]+$", "\n".join(lines))


def test_what_is_next_is_left_however_much_is_said_since_until_it_is_spoken_of() -> None:
    said = [user("Build it."), reply("Part one is built. Next is WP14."), user("Good, go on with the paint.")]
    working = [row for n in range(9) for row in step(f"c{n}", "Bash", {"command": f"paint {n}"}, content=f"Wall {n}.")]
    assert "- Next is WP14." in sections([*said, *working, reply("All is painted.")])[LEFT]
    begun = step("d", "Bash", {"command": "make WP14"})
    assert sections([*said, *working, *begun, *working])[LEFT] == []


def test_commands_in_blocks_are_known_whatever_stays_and_wherever_their_prompt_is() -> None:
    """A harness' first message ends with its prompt, too; a file and a directory in it change."""
    prompt = "(Open file: {})\n(Current directory: /srv/{})\nbash-$ "
    task = user(f"Find the flag.\n{prompt.format('n/a', '')}")
    turns = [task]
    for at in range(6):
        turns += [
            reply(f"I look at part {at}.\n```\nmake part-{at}\n```"),
            user(f"built {at}\n{prompt.format(at, at)}"),
        ]
    found = sections(turns[2:-2], kept=(*turns[:2], *turns[-2:]), places=(*range(2, 11), 0, 1, 11, 12))
    assert found[INTENT] == ["- [open] Find the flag. (Open file: n/a) (Current directory: /srv/) bash-$"]
    assert found[DONE] == [f"- Ran `make part-{at}`: built {at}" for at in range(1, 5)]
    assert not any("built" in line for line in found[SAID])


def test_each_part_of_a_long_line_is_shortened_and_none_runs_into_another() -> None:
    failing = step("a", "Bash", {"command": f"git commit -m '{'mend the door ' * 12}'"}, f"Exit code 1\n{'lint ' * 60}")
    passing = step("b", "Bash", {"command": f"git commit -m '{'mend the door ' * 12}'"}, f"[main 1f3a9c2] {'a ' * 200}")
    [line] = done([*failing, *passing])
    assert len(line) <= 302 and '"): ' in line and line.startswith("- Ran `git commit")
