"""What people and agent said: whole while there is room, the oldest shortened first, findings before remarks."""

from __future__ import annotations

import pytest

from compaction import Message, offline
from compaction.offline.asks import answer_in_short
from compaction.offline.findings import findings_in, open_tasks_in
from compaction.sections import FOUND, LEFT, SAID, STANDING
from tests.compaction.offline.summaries import request, sections, step
from tests.compaction.transcripts import count, exchange, reply, user, words


def test_every_word_of_people_and_agent_is_kept_while_there_is_room() -> None:
    said = [f"Sentence number {n} says that the cellar door {n} is {'open' if n % 2 else 'shut'}." for n in range(24)]
    turns = [row for n in range(0, 24, 2) for row in (user(said[n]), reply(said[n + 1]))]
    text = offline.summarize(request(turns))
    assert all(sentence in text for sentence in said)


def test_a_list_keeps_its_lines_and_begins_no_section() -> None:
    found = sections(
        [user("Which?"), reply("## Two ways\n\n- the old one\n- the new one\n\n## Intent\nNone."), user("Hm?")]
    )
    assert found[SAID] == [
        "- User: Which?",
        "- Agent: Two ways:",
        "  - the old one",
        "  - the new one",
        "  Intent:",
        "  None.",
        "- User: Hm?",
    ]


def test_what_is_said_while_it_works_is_one_line_and_what_it_only_announces_is_left_out() -> None:
    turns = [
        user("Find out why it flickers."),
        *step("a", "Read", {"file_path": "/srv/a.py"}),
        *step("b", "Bash", {"command": "make"}, content="The cache is read twice. Let me run it. Let me try 2 more."),
        *step("c", "Bash", {"command": "make"}, content="Now run it again. The cache is read twice."),
        *step("d", "Bash", {"command": "make"}, content="The second read is the old one."),
        reply("It flickers as the old picture is drawn once more."),
    ]
    assert sections(turns)[SAID] == [
        "- User: Find out why it flickers.",
        "- Agent, working: The cache is read twice. The second read is the old one.",
        "- Agent: It flickers as the old picture is drawn once more.",
    ]


def test_of_a_long_answer_what_it_names_is_kept_before_its_courtesies() -> None:
    answer = """I have looked at your booking.
        It is a pleasure to help with it, as always.
        1. Flight HAT72 on May 19.
        The seats are nice.
        2. It costs $130.
        Please let me know which one you would like.
        Safe travels!"""
    assert answer_in_short(answer, 90) == "I have looked at your booking. … Flight HAT72 on May 19. … It costs $130."
    assert answer_in_short("Which one?", 90) == "Which one?"


def test_of_long_answers_the_lines_that_the_open_request_asks_for_are_kept() -> None:
    """Each aisle's last line is the one that the last request collects."""
    turns = [
        row
        for n in range(60)
        for row in (
            user(f"Aisle {n}, please."),
            reply(f"{words(8)} {n}.\n" + f"Bin {n}-1 has {n} boxes of ink.\n" * 6 + f"Count again: bins {n}-2."),
        )
    ]
    asks = "That was the last one. Tomorrow I need one list of everything that has to be counted again."
    said, other = (
        "\n".join(sections([*turns, user(last)], budget_tokens=4_000)[SAID]) for last in (asks, "Write Monday's rota.")
    )
    again = [f"Count again: bins {n}-2." for n in range(60)]
    assert [each for each in again if each not in said] == []
    assert said.count("boxes of ink") < 60 * 6, "there was no room for everything"
    assert not all(each in other for each in again), "it asks for none of them"


def test_where_there_was_no_room_for_an_answer_it_says_that_there_was_one() -> None:
    turns = [row for n in range(90) for row in (user(f"Where is parcel B-{n:03}?"), reply(f"In hall {n}. " * 12))]
    said = sections([*turns, user("Where is parcel B-900?")], budget_tokens=2_000)[SAID]
    asked = [line for line in said if line.startswith("- User: ")]
    answers = [line for line in said if line.startswith("- Agent: ")]
    assert 0 < len(answers) < len(asked)
    for line, after in zip(said, [*said[1:], ""], strict=True):
        if line in asked and not line.endswith("B-900?"):
            assert line.endswith(" (answered)") != after.startswith("- Agent: "), (
                "either the answer or that there was one"
            )
    assert said[-1] == "- User: Where is parcel B-900?", "nobody answered this one"


def test_where_room_is_short_the_newest_words_and_the_first_request_stay() -> None:
    turns = [user("Count the boxes in hall seven."), *exchange(60, size=40), user("And the last question of all?")]
    said = "\n".join(sections(turns, budget_tokens=700)[SAID])
    assert "Count the boxes in hall seven." in said and "And the last question of all?" in said
    assert "question 59" in said and "question 1 " not in said


def test_what_the_agent_says_again_counts_once() -> None:
    turns = [
        row
        for n in range(9)
        for row in (user(f"Note box {n}, please."), reply("Acknowledged. Continuing with the plan."))
    ]
    said = sections(turns)[SAID]
    assert sum("Acknowledged" in line for line in said) == 1 and sum("Note box" in line for line in said) == 9


def test_people_have_no_more_than_their_share_while_answers_wait() -> None:
    turns = [row for n in range(60) for row in (user(f"Ask {n}: {words(60)}"), reply(f"Answer {n}: {words(20)}"))]
    lines = sections(turns)[SAID]
    asked = sum(count(line) for line in lines if line.startswith("- User"))
    assert asked <= 0.4 * 2_000 + 20 and sum(line.startswith("- Agent: ") for line in lines) > 10


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The cache is not cleared on logout because the key has no user in it.", True),
        ("It turned out that the port was taken.", True),
        ("We decided to keep the old parser until the release.", True),
        ("Der Fehler kommt daher, weil die Datei fehlt.", True),
        ("原因是缓存没有清除，所以旧数据一直显示在页面上面。", True),
        ("Let me look at the file because it may be wrong.", False),
        ("Does it fail because of the port?", False),
        ("All tests pass.", False),
        ("The port might be taken because of the other one.", False),
        ("The issue is that the key has no user in it.", True),
    ],
)
def test_what_is_a_finding(text: str, found: bool) -> None:
    assert [*findings_in(text)] == ([text] if found else [])


def test_while_the_agent_works_what_the_issue_is_is_the_next_guess() -> None:
    guess = "The issue is that the macro needs the tracer."
    assert [*findings_in(guess, ended=False)] == [] and [*findings_in(guess)] == [guess]


def test_code_and_tables_hold_no_findings() -> None:
    assert [
        *findings_in(
            "```\n# because it must be so, and so on\n```\n| a | because of the other one |\n    x = because_of(1)"
        )
    ] == []


def test_findings_come_first_and_are_not_said_twice() -> None:
    cause = "The cache is stale because the key has no user in it."
    turns = [user("Why?"), *step("a", "Bash", {"command": "make"}, content=f"I see. {cause}"), reply("Mended.")]
    found = sections(turns)
    assert found[FOUND] == [f"- {cause}"] and not any(cause in line for line in found[SAID])


@pytest.mark.parametrize(
    "text",
    [
        "Next step is the migration guide.",
        "The docs are not done yet.",
        "Still open: who signs the release?"[:-1] + ".",
    ],
)
def test_what_is_left_to_do_is_told(text: str) -> None:
    assert [*open_tasks_in(text)] == [text]
    assert f"- {text}" in sections([user("Go."), reply(f"Done so far. {text}")])[LEFT]


def test_standing_instructions_are_told_word_for_word_and_first_at_any_budget() -> None:
    rules = [f"Never touch the {name} table of the shared database." for name in ("users", "orders", "billing")]
    turns = [*(row for rule in rules for row in (user(rule), reply("ok"))), *exchange(80), user("Go on with the work.")]
    found = sections(turns, budget_tokens=250)
    assert found[STANDING] == [f"- {rule}" for rule in rules]
    assert not any("Never touch" in line for line in found[SAID]), "nor twice"


def test_where_several_people_are_served_words_of_nobody_known_are_nobodys() -> None:
    def talk(id_: str, person: str) -> list[Message]:
        return [
            user("Hi! I need a room."),
            *step(id_, "get_user", {"user_id": person}, "{}"),
            reply("It is booked now, room 4."),
        ]

    turns = [
        *talk("a", "sofia_kim_7287"),
        *talk("b", "mia_li_3668"),
        user("Hello! Is there a bus to the lake?"),
        reply("Yes, line 12 goes there."),
    ]
    assert sections(turns)[SAID][-2:] == [
        "- User [unknown]: Hello! Is there a bus to the lake?",
        "- Agent: Yes, line 12 goes there.",
    ]


def test_an_instruction_that_is_replaced_or_said_again_stands_once_as_it_was_said_last() -> None:
    at = [{"timestamp": f"2026-07-1{day}T10:00:00+00:00"} for day in range(3)]
    rules = ["Never call me before noon.", "The deadline is 14 December.", "Never call me before noon."]
    turns = [row for rule, time in zip(rules, at, strict=True) for row in ({**user(rule), **time}, reply("Noted."))]
    turns += [{**user("The deadline is now 16 December."), **at[2]}, reply("Noted.")]
    assert sections(turns)[STANDING] == [
        "- 12 July 2026: Never call me before noon.", "- 12 July 2026: The deadline is now 16 December.",
    ]  # fmt: skip


def test_whose_and_of_when_an_instruction_and_a_word_is() -> None:
    def talk(id_: str, person: str, day: str, wish: str) -> list[Message]:
        at = {"timestamp": f"2026-07-{day}T10:00:00+00:00"}
        return [
            {**user(f"Hi! I need a room. {wish}"), **at},
            *step(id_, "get_user_details", {"user_id": person}, "{}", **at),
            {**reply(f"The room is booked from the {day}th on."), **at},
        ]

    turns = [
        *talk("a", "sofia_kim_7287", "15", "I don't need insurance."),
        *talk("b", "mia_li_3668", "16", "Never call me before noon."),
    ]
    found = sections(turns)
    assert found[STANDING] == [
        "- sofia_kim_7287, 15 July 2026: I don't need insurance.",
        "- mia_li_3668, 16 July 2026: Never call me before noon.",
    ]
    assert found[SAID] == [
        "- User [sofia_kim_7287, 15 July 2026]: Hi! I need a room. I don't need insurance.",
        "- Agent: The room is booked from the 15th on.",
        "- User [mia_li_3668, 16 July 2026]: Hi! I need a room. Never call me before noon.",
        "- Agent: The room is booked from the 16th on.",
    ]
    again = sections([user("And now?"), reply("We wait.")], previous_summary=offline.summarize(request(turns)))
    assert again[SAID][:4] == found[SAID] and again[STANDING] == found[STANDING]


def test_of_a_long_answer_what_it_turns_on_is_kept() -> None:
    answer = (
        "I found your reservation FQ8APE. It has "
        + "two bags of 23 kg, " * 9
        + "all paid. However, it cannot be changed."
    )
    assert answer_in_short(answer, 120).endswith("However, it cannot be changed.")
