"""What twenty summaries that were read as the agent would taught: subjects, short forms, and what says nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from compaction import counter_for
from compaction.constraints import is_binding
from compaction.draft import ALSO_RAN
from compaction.names import measures
from compaction.requests import gist, is_assent
from compaction.troubles import trouble
from tests.compaction.offline_summaries import sections
from tests.compaction.transcripts import count, exchange, reply, user
from tests.compaction.work_steps import actions, step

MARKED = Path(__file__).resolve().parents[1] / "data" / "constraints_2.tsv"


def test_a_hundred_more_marked_sentences_are_told_apart() -> None:
    rows = [line.split("\t") for line in MARKED.read_text("utf-8").splitlines() if not line.startswith("#")]
    marked = [(wanted == "1", is_binding(sentence)) for _, wanted, sentence in rows]
    right = sum(wanted and found for wanted, found in marked)
    assert len(marked) == 100
    assert right / sum(found for _, found in marked) >= 0.95, "precision"
    assert right / sum(wanted for wanted, _ in marked) >= 0.9, "recall"


def test_two_changes_of_one_thing_are_told_in_turn_with_what_they_gave() -> None:
    def ship(id_: str, day: str, number: str) -> list[Any]:
        return step(id_, "schedule_shipment", {"order_id": "HZ-20418", "date": day}, f'{{"tracking": "{number}"}}')

    [line] = actions(ship("a", "2026-07-15", "SF13902"), ship("b", "2026-07-26", "SF13903"))
    assert line == (
        "- Scheduled shipment HZ-20418: date 2026-07-15, tracking SF13902, then date 2026-07-26, tracking SF13903"
    )


@pytest.mark.parametrize(
    ("name", "arguments", "output", "line"),
    [
        ("get_order", {"order_id": "B-1"}, '{"order_id": "B-1", "state": "sent"}', "- Looked up order B-1: state sent"),
        ("check_rooms", {"date": "2026-08-13"}, "2 free", "- Checked rooms (date 2026-08-13): 2 free"),
        ("web_search", {"query": "tea"}, "3 hits", "- web_search(query=tea): 3 hits"),
        (
            "web_search",
            {"query": "green tea export"},
            'Results for "green tea export":\nUp 4 %',
            "- web_search(query=green tea export): Up 4 %",
        ),
    ],
)
def test_what_was_looked_up_is_told_in_words(name: str, arguments: dict[str, str], output: str, line: str) -> None:
    assert actions(step("a", name, arguments, output)) == [line]


def test_what_only_shows_something_is_no_fix_and_a_folder_is_no_command() -> None:
    wrong = step("a", "Bash", {"command": "cd /srv && make publish"}, "Exit code 2\nno such target")
    help_ = step("b", "Bash", {"command": "cd /srv && make --help"}, "usage: make [target]")
    other = step("c", "Bash", {"command": "cd /srv && ls"}, "a b")
    found = sections([user("Publish it."), *wrong, *help_, *other])
    assert found["Errors and blockers"] == ["- `cd /srv && make publish`: exit 2: no such target"]


def test_a_look_at_another_machine_is_a_look() -> None:
    seen = step("a", "Bash", {"command": "ssh web-2 tail -n 50 /var/log/x.log"}, "1\n2\n3\nupstream timed out: x\n5\n6")
    assert sections([user("See why."), *seen])["Errors and blockers"] == []


def test_what_npm_reports_is_an_error() -> None:
    found = sections(
        [user("Go."), *step("a", "Bash", {"command": "npm run deploy"}, "npm ERR! missing script: deploy")]
    )
    assert found["Errors and blockers"] == ["- `npm run deploy`: npm ERR! missing script: deploy"]


def test_an_answer_is_not_parted_inside_a_number_or_a_path() -> None:
    assert gist("The total is 1.146 € now. See /srv/a.2026-07.pdf for it.", 200) == (
        "The total is 1.146 € now. See /srv/a.2026-07.pdf for it."
    )


def test_replies_that_say_nothing_are_no_state_and_rules_are_no_requests() -> None:
    turns = [
        user("Never call anybody after eight in the evening."), reply("Noted."),
        user("Move the order B-20918 to Friday, please."), reply("Moved B-20918 to Friday."),
        user("Thanks!"), reply("You're welcome!"),
        user("Now look at the bins of the north hall."), reply("", "a"),
    ]  # fmt: skip
    found = sections(turns)
    assert found["Current state"] == ["- Moved B-20918 to Friday."]
    assert found["Actions done"] == [
        '- Answered request: "Move the order B-20918 to Friday, please." -> Moved B-20918 to Friday.'
    ]


def test_commands_without_room_for_a_line_are_named_in_one() -> None:
    turns = [user("Work on it.")]
    for n in range(60):
        turns += step(f"c{n}", "Bash", {"command": f"make part-{n}"}, f"built part {n} of the whole thing, all is well")
        turns += step(f"t{n}", "Bash", {"command": "make test"}, f"{n} passed")
    [line] = [line for line in sections(turns, budget_tokens=900)["Actions done"] if ALSO_RAN in line]
    assert line.count("`make part-") > 6


def test_what_such_a_command_counted_is_told() -> None:
    turns = [user("Work on it.")]
    for n in range(60):
        turns += step(f"t{n}", "Bash", {"command": f"make test-{n % 30}"}, f"ok\n{n} passed, 0 failed in {n} s")
    [line] = [line for line in sections(turns, budget_tokens=500)["Actions done"] if ALSO_RAN in line]
    assert re.search(r"`make test-\d+` \(2 times\) -> \d+ passed, 0 failed in \d+ s", line)


def test_birth_dates_of_many_people_are_not_listed() -> None:
    turns = []
    for n in range(20):
        turns += [
            user(f"Hi! I am born on 19{n + 60}-03-21."),
            *step(f"a{n}", "get_user", {"user_id": f"mia_li_{n:04}"}),
        ]
        turns += [
            *step(f"b{n}", "book_room", {"user_id": f"mia_li_{n:04}", "dob": f"19{n + 60}-03-21"}),
            reply("Done."),
        ]
    listed = "\n".join(sections(turns, budget_tokens=4_000)["Identifiers"])
    assert "-03-21" not in listed


BOOKED = {"user_id": "mia_li_3668", "passengers": [{"first_name": "Mia", "last_name": "Li", "dob": "1990-04-05"}]}


def test_a_birth_date_that_a_call_was_made_with_is_listed_beside_its_person_again_and_again() -> None:
    profile = '{"name": "Noah Roy", "dob": "1971-01-02"}'
    turns = [user("Book it."), *step("u", "get_user", {"user_id": "noah_roy_12"}, profile)]
    turns += [*step("b", "book_flight", BOOKED, '{"ok": true}'), reply("Done."), *exchange(2)]
    first = sections(turns)
    assert "- born: Mia Li 1990-04-05" in first["Identifiers"]
    assert "1971" not in "\n".join(line for lines in first.values() for line in lines), "nobody asked for it"
    earlier = "## Identifiers\n- born: Mia Li 1990-04-05, Noah Roy 1971-01-02"
    found = sections([user("And now?"), reply("I look."), *exchange(2)], previous_summary=earlier)
    assert "- born: Mia Li 1990-04-05, Noah Roy 1971-01-02" in found["Identifiers"]


def test_code_names_that_two_calls_use_are_listed_before_those_of_one() -> None:
    def write(id_: str, names: list[str]) -> list[Any]:
        return step(
            id_, "Write", {"file_path": f"/srv/{id_}.py", "content": "\n".join(f"x = {name}(1)" for name in names)}
        )

    once = [f"only_{a}{b}_here" for a in "abcdefghij" for b in "abcdefghijklmnopqrst"]
    turns = [user("Write it."), *write("a", ["shared_name", *once[:100]]), *write("b", ["shared_name", *once[100:]])]
    text = " ".join(sections(turns, budget_tokens=500, count=counter_for("gpt-5"))["Identifiers"])
    assert "shared_name" in text.split()[:6] and count(text) < 500


def test_code_that_was_only_read_is_listed_where_files_are_written_the_newest_first() -> None:
    def shown(n: int) -> str:
        return "\n".join(
            f"  def load_{'abcdefghij'[n]}_{word}(row):" for word in ("orders", "stock", "prices", "users")
        )

    turns = [user("Go through the loaders."), *step("e", "Edit", {"file_path": "/srv/app/z.py", "new_string": "x = 1"})]
    for n in range(10):
        turns += step(f"r{n}", "Read", {"file_path": f"/srv/app/{n}.py"}, shown(n))
    text = " ".join(sections(turns, budget_tokens=220)["Identifiers"])
    assert "load_j_orders" in text and "load_a_orders" not in text
    looked = [user("Go through the loaders."), *step("r", "Read", {"file_path": "/srv/app/z.py"}, shown(9))]
    assert "load_j_orders" not in " ".join(sections(looked)["Identifiers"]), "nobody writes code here"


def test_files_of_the_project_that_a_tool_printed_come_before_its_other_paths() -> None:
    printed = "\n".join(f"GET /page/{n} 200 lib/shop/part{n}.ex" for n in range(8))
    turns = [user("Fix it."), *step("e", "Edit", {"file_path": "/srv/app/z.py", "new_string": "x = 1"})]
    text = " ".join(sections([*turns, *step("t", "Bash", {"command": "make"}, printed)])["Files"])
    assert text.count("lib/shop/part") > 6 and text.rindex("lib/shop/part") < text.index("/page/")


def test_the_start_of_a_dotted_name_is_not_listed_beside_it() -> None:
    written = {"file_path": "/srv/a.ex", "new_string": "Shop.Orders.total_of(order)\nShop.Orders\nShop.Prices"}
    words = " ".join(sections([user("Fix it."), *step("e", "Edit", written), *exchange(3)])["Identifiers"]).split()
    assert "Shop.Orders" not in words


def test_the_middle_of_a_file_that_was_written_whole_is_read() -> None:
    filler = "\n".join(f"# line {n} of the file" for n in range(400))
    written = {"file_path": "/srv/a.py", "content": f"{filler}\ndef in_the_middle(x):\n    pass\n{filler}"}
    text = " ".join(sections([user("Write it."), *step("a", "Write", written)])["Actions done"])
    assert "in_the_middle" in text


STATE = "(Open file: /repo/a.py)\n(Current directory: /repo)\nbash-$"


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (f"File updated. Please review the changes.\n{STATE}", "- Edited /repo/a.py (1 edit); code: total_of"),
        (f"Your proposed edit has introduced new syntax error(s).\n{STATE}", ""),
    ],
)
def test_an_edit_of_the_open_file_is_told_as_one(output: str, line: str) -> None:
    edit = reply("I edit it.\n```\nedit 3:3\ndef total_of(x):\nend_of_edit\n```")
    found = sections([user("Solve the issue in the repository."), edit, user(output)])
    assert found["Actions done"] == ([line] if line else [])
    assert bool(found["Errors and blockers"]) is not bool(line)


def test_an_address_that_was_set_is_told_and_a_birth_date_is_not() -> None:
    given = {"customer": "Mingde Trading", "address": "38F, 1266 West Nanjing Rd", "dob": "1980-01-02"}
    assert actions(step("a", "update_customer", given, '{"success": true}')) == [
        "- Updated customer: customer Mingde Trading, address 38F, 1266 West Nanjing Rd"
    ]


def test_thoughts_are_no_work() -> None:
    assert actions(step("a", "think", {"thought": "Both reservations are upcoming."}, "")) == []


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ('Traceback (most recent call last):\n  File "a.py", line 3\nValueError: no flag', "ValueError: no flag"),
        ("== test session ==\n=== FAILURES ===\nE   assert 1 == 2\n=== 1 failed in 3 s ===", "=== 1 failed in 3 s ==="),
        ("Requirement already satisfied: exceptiongroup>=1.0 in /opt/x", ""),
        ("hint: given pattern matching is enough to catch typing errors", ""),
    ],
)
def test_what_a_traceback_and_pip_say(output: str, told: str) -> None:
    assert trouble(output) == told


def test_colours_of_a_terminal_are_no_names() -> None:
    turns = [user("Test it."), *step("t", "Bash", {"command": "make"}, "\x1b[31mred\x1b[0m\n\x1b[1;33mhot\x1b[00m")]
    assert not re.search(r"\b(?:31|33|00)m\b", "\n".join(sections([*turns, *exchange(3)])["Identifiers"]))


def test_a_commit_is_told_by_its_counts_and_bare_versions_are_not_listed() -> None:
    printed = "[main 1a2b3c4] Add it\n 2 files changed, 108 insertions(+)\n create mode 100644 test/a_test.py"
    versions = "\n".join(f"Requirement already satisfied: pkg{n} in /opt/x (4.{n}.1)" for n in range(30))
    turns = [user("Commit it."), *step("a", "Bash", {"command": 'git commit -m "Add it"'}, printed)]
    turns += [*step("b", "Bash", {"command": "pip install -e ."}, versions), reply("Done with 4.3.1.")]
    found = sections(turns)
    assert '- Ran `git commit -m "Add it"`: 2 files changed, 108 insertions(+)' in found["Actions done"]
    assert "4.4.1" not in "\n".join(found["Identifiers"])


STANDS = "All files are written; the rule that makes the tests is missing yet, so I shall add it and run them."


def test_where_the_agent_stands_and_what_is_wrong_are_told_however_many_names_there_are() -> None:
    turns = [user("Work on it.")]
    for n in range(80):
        written = {"file_path": f"/srv/{n}.py", "content": "\n".join(f"x = load_{n}_{i}(1)" for i in range(9))}
        turns += step(f"w{n}", "Write", written)
        turns += step(f"v{n}", "Edit", {"file_path": f"/srv/{n}.py", "new_string": written["content"]})
    turns += [*step("t", "Bash", {"command": "make test"}, "Exit code 2\nno rule"), reply(STANDS)]
    found = sections(turns, budget_tokens=1_000)
    assert found["Current state"] == [f"- {STANDS}"]
    assert found["Errors and blockers"] == ["- `make test`: exit 2: no rule"]


def test_an_error_of_an_earlier_summary_that_was_got_over_since_is_gone() -> None:
    earlier = "## Errors and blockers\n- `make test`: exit 2: no rule\n- `git push`: fatal: no remote"
    turns = [user("Go on with it."), *step("a", "Bash", {"command": "make test"}, "12 passed")]
    assert sections(turns, previous_summary=earlier)["Errors and blockers"] == ["- `git push`: fatal: no remote"]


def test_what_was_done_before_an_earlier_summary_is_not_forgotten_all_at_once() -> None:
    earlier = "## Actions done\n" + "\n".join(f"- Cancelled reservation OLD{n}" for n in range(40))
    turns = [user("Go on.")]
    for n in range(60):
        turns += step(f"c{n}", "Bash", {"command": f"make part-{n}"}, f"built part {n} of the whole thing, all is well")
    lines = sections(turns, previous_summary=earlier, budget_tokens=900)["Actions done"]
    assert sum("OLD" in line for line in lines) >= 4 and sum("Ran" in line for line in lines) >= 12
    assert "- Cancelled reservation OLD39" in lines, "the newest of them"


@pytest.mark.parametrize(
    ("sentence", "binds"),
    [
        ("Rule: only deploy on Fridays.", True),
        ("Important: must be done by noon.", True),
        ("main.py: cannot open the file", False),
        ("warning: only the first line is read", False),
    ],
)
def test_a_label_of_rules_is_no_name_of_a_program(sentence: str, binds: bool) -> None:
    assert is_binding(sentence) is binds


def test_a_number_before_a_comma_has_no_unit_behind_it() -> None:
    assert measures("port 8443, line 583, 30 minutes, 1,200 files") == ["30 minutes", "1,200 files"]


def test_what_an_earlier_summary_quotes_as_done_stays_where_it_says_what_was_done() -> None:
    earlier = (
        "## Completed Actions\n1. The reservation SI5UKW is beyond the 24-hour window, so it was not cancelled.\n"
        "2. I can help you with that. Could you please provide your user ID?\n"
        "3. You're welcome! If you have any other questions, feel free to reach out.\n"
        "ASSISTANT: tool calls: get_user_details\nTOOL: [get_user_details] user_id=mia (587 chars result)\n"
    )
    found = sections([*exchange(3), user("Go on.")], previous_summary=earlier)["Actions done"]
    assert "- The reservation SI5UKW is beyond the 24-hour window, so it was not cancelled." in found
    assert not re.search("help you|welcome|tool calls|TOOL", "\n".join(found))


@pytest.mark.parametrize(
    ("question", "answer", "says_nothing"),
    [
        ("Would you like me to do that?", "Yes, please go ahead.", True),
        ("Could you please provide your user ID?", "I don't have it at hand.", True),
        ("Shall I issue a certificate of $50 for this flight?", "Yes.", False),
        ("Which template do you want?", "The blue one.", False),
        ("Which of these ports is it?", "8080", False),
    ],
)
def test_answers_that_say_nothing_by_themselves_are_not_told(question: str, answer: str, says_nothing: bool) -> None:
    assert is_assent(question, answer) is says_nothing
