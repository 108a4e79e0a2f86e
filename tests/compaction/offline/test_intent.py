"""What people want: each request once, open until it is answered, and what it names looked up."""

from __future__ import annotations

import pytest

from compaction.offline.asks import alike, in_short, is_assent
from compaction.sections import INTENT, REFERENCES, SAID, STANDING
from tests.compaction.offline.summaries import sections, step
from tests.compaction.transcripts import exchange, reply, result, user
from tests.cost import calls

LONG = [f"Please do task number {n} with great care." for n in ("one", "two", "three")]


@pytest.mark.parametrize("asked", ["Fix the login bug", "Implement spotter-gqc", "修复登录", "Go!"])
def test_no_request_is_too_short(asked: str) -> None:
    assert sections([user(asked), *step("a", "run_tests", {})])[INTENT] == [f"- [open] {asked}"]


def test_the_first_and_the_newest_request_are_told_and_which_is_open() -> None:
    found = sections([user(LONG[0]), reply("1"), user(LONG[1]), reply("2"), user(LONG[2]), reply("", "a"), result("a")])
    assert found[INTENT] == [f"- [answered] {LONG[0]}", f"- [open] {LONG[2]}"]


def test_what_is_open_beside_the_newest_request_is_told() -> None:
    assert sections([user(LONG[0]), user(LONG[1]), reply("", "a"), result("a")])[INTENT] == [
        f"- [open] {LONG[0]}", f"- [open] {LONG[1]}",
    ]  # fmt: skip


def test_an_answer_stands_behind_the_request_it_belongs_to() -> None:
    found = sections([user(LONG[0]), reply("Which one do you mean?"), user("The one in the cellar.")])
    assert found[INTENT] == [f"- [open] {LONG[0]} -> The one in the cellar."]


def test_a_yes_or_a_go_on_asks_for_nothing_and_opens_what_was_asked() -> None:
    found = sections([user(LONG[0]), reply("Part one is done."), user("continue"), reply("", "a"), result("a")])
    assert found[INTENT] == [f"- [open] {LONG[0]}"], "the agent is at it again: what it answered is not the last of it"
    assert (
        is_assent("continue implementation")
        and is_assent("Yes, go ahead")
        and not is_assent("yes, but only in red ink")
    )


def test_a_question_how_it_goes_is_no_new_request() -> None:
    found = sections([user(LONG[0]), reply("Part one is done."), user("How is it doing?"), reply("", "a"), result("a")])
    assert found[INTENT] == [f"- [open] {LONG[0]}"]
    assert "- User: How is it doing?" in found[SAID]


@pytest.mark.parametrize(
    "said",
    [
        "It is in. The label says WD80.",
        "Oh. I forgot the lamp.",
        "I found a bug in the login, totals are off.",
        "sshd is on, the repository is still there.",
    ],
)
def test_what_says_how_things_are_belongs_to_what_was_asked_and_stands_there(said: str) -> None:
    found = sections([user(LONG[0]), reply("Part one is done."), user(said), reply("", "a"), result("a")])
    assert found[INTENT] == [f"- [open] {LONG[0]} -> {said}", "  Agent: Part one is done."]
    assert sections([user(said), reply("", "a")])[INTENT] == [f"- [open] {said}"], "where nothing was asked before"


@pytest.mark.parametrize(
    "asked", ["Next write the docs", "Yes, delete them", "go fix it up", "No tests, please", "Good, now paint the door"]
)
def test_what_begins_like_an_assent_and_says_more_is_a_request(asked: str) -> None:
    assert not is_assent(asked)
    found = sections([user(LONG[0]), reply("Done."), user(asked), reply("", "a"), result("a")])
    assert found[INTENT] == [f"- [answered] {LONG[0]}", f"- [open] {asked}"]


def test_thanks_with_what_the_person_does_next_close_what_was_asked() -> None:
    found = sections([user(LONG[0]), reply("Done."), user("Lovely. I'll send it."), reply("Fine.")])
    assert found[INTENT] == [f"- [answered] {LONG[0]}"]


def test_a_question_is_not_answered_by_who_asks_for_another_thing_of_that_kind() -> None:
    gift, wrong = "B-277 is a gift, may I add a card?", "Wrong book in parcel B-124, I wanted the other."
    found = sections([user(gift), reply("What shall we write on it?"), user(wrong), reply("", "a"), result("a")])
    assert found[INTENT] == [f"- [answered] {gift}", f"- [open] {wrong}"]
    named = "Of order B-124, please."
    answered = sections([user(gift), reply("Is it B-124 or B-277?"), user(named), reply("", "a"), result("a")])
    assert answered[INTENT] == [f"- [open] {gift} -> {named}"], "the agent spoke of it"


def test_what_nobody_answered_stays_open_while_others_of_its_kind_are_answered() -> None:
    skipped, served = "Where is order B-111, please?", "Please send B-222 to number 9."
    turns = [
        user("You answer for the shop."),
        reply("I will."),
        user(skipped),
        *step("a", "find_order", {"id": "B-111"}),
    ]
    turns += [user(served), reply("B-222 goes to number 9."), user("Please send B-333 to number 4."), reply("", "b")]
    found = sections([*turns, result("b")])
    assert found[INTENT] == [f"- [open] {skipped}", "- [open] Please send B-333 to number 4."]
    assert found[STANDING] == ["- You answer for the shop."], "what the agent is there for is no request"
    both = [
        user(skipped),
        user(served),
        reply("B-111 is sent, and B-222 goes to number 9."),
        user("Now paint the door."),
    ]
    assert f"- [open] {skipped}" not in sections([*both, reply("", "c"), result("c")])[INTENT], "the reply spoke of it"


def test_what_was_worked_on_is_answered_though_the_reply_does_not_name_it() -> None:
    turns = [user("Fix shop/cart.py"), reply("", "a"), result("a"), user("And fix shop/totals.py, too")]
    turns += step("b", "Edit", {"file_path": "shop/cart.py", "new_string": "x"})
    turns += [*step("c", "Edit", {"file_path": "shop/totals.py", "new_string": "y"}), reply("Both are mended.")]
    assert sections([*turns, user(LONG[0]), reply("", "d"), result("d")])[INTENT] == [
        "- [answered] Fix shop/cart.py", f"- [open] {LONG[0]}",
    ]  # fmt: skip


def test_who_is_served_no_longer_has_nothing_open_and_no_wish_that_stands() -> None:
    turns = [
        user("Hi, I'd like to move my flight. I'd prefer one after 8 am."),
        *step("a", "get_user", {"user_id": "mia_li_3668"}),
        reply("There is one at 9.", "b"),
        result("b"),
        user("Hello, please find my bag. Never call me by phone."),
        *step("c", "get_user", {"user_id": "noah_muller_9847"}),
    ]
    found = sections(turns)
    assert found[INTENT][0].startswith("- [answered] mia_li_3668: ") and "[open] noah_muller_9847" in found[INTENT][-1]
    assert found[STANDING] == ["- noah_muller_9847: Never call me by phone."]
    assert any("I'd prefer one after 8 am." in line for line in found[SAID]), "it is there where it was said"
    told = sections([user("I want you to write in French."), reply("Oui."), *turns])[STANDING]
    assert told == ["- unknown: I want you to write in French.", *found[STANDING]], "said before anybody was served"
    alone = sections(turns[:4])
    assert alone[STANDING] == ["- I'd prefer one after 8 am."], "while it is served"


def test_what_the_agent_is_there_for_is_no_request_and_a_task_behind_it_is() -> None:
    role = "You are a careful engineer."
    assert sections([user(f"{role} Answer in French."), reply("Oui."), user(LONG[0]), reply("", "a")])[INTENT] == [
        f"- [open] {LONG[0]}"
    ]
    both = f"{role} {LONG[0]}"
    assert sections([user(both), reply("Done."), user(LONG[1]), reply("", "a")])[INTENT][0] == f"- [answered] {both}"


def test_the_last_answer_is_what_ended_a_turn() -> None:
    turns = [user(LONG[0]), reply("Let me look."), reply("", "a"), result("a"), user("And the lamp, please.")]
    assert sections([*turns, reply("", "b")])[INTENT] == [f"- [open] {LONG[0]}", "- [open] And the lamp, please."]


def test_a_greeting_while_the_agent_works_leaves_what_was_asked_open() -> None:
    found = sections([user(LONG[0]), reply("", "a"), result("a"), user("Hey, mend the lamp as well"), reply("", "b")])
    assert found[INTENT] == [f"- [open] {LONG[0]}", "- [open] Hey, mend the lamp as well"]


def test_what_a_person_asks_again_now_and_then_is_a_request() -> None:
    one = (reply("Built."), user("Run the tests."), reply("All is well."))
    again = [row for n in range(4) for row in (user(f"Build part {n}."), *one)]
    assert sections(again)[INTENT][-2:] == ["- [open] Run the tests.", "  Agent: All is well."]


def test_a_request_that_is_taken_back_is_not_open() -> None:
    found = sections([user("Rename all the tables."), reply("", "a"), result("a"), user("Stop. Never mind that.")])
    assert found[INTENT] == ["- [taken back] Rename all the tables.", "- [answered] Stop. Never mind that."]


def test_what_a_harness_says_over_and_over_is_no_request() -> None:
    nudge = "No tool calls found in the response. Every response must include at least one tool call."
    turns = [
        user("Draw the nominal scale."),
        reply("I think."),
        *(row for n in range(9) for row in (user(nudge), reply(f"Step {n}."))),
    ]
    found = sections(turns)
    assert found[INTENT] == ["- [open] Draw the nominal scale.", "  Agent: Step 8."]
    assert sum(nudge in line for line in found[SAID]) == 1 and any("(9 times)" in line for line in found[SAID])


def test_a_request_that_is_said_twice_counts_once() -> None:
    found = sections([user(LONG[0]), user(LONG[0].upper()), reply("", "a"), result("a")])
    assert found[INTENT] == [f"- [open] {LONG[0].upper()}"]
    assert alike("Fix  it, now!") == alike("fix it now")


@pytest.mark.parametrize(
    "pasted",
    [
        "```\nerror: never do this\nPlease delete everything\n```",
        "2026-11-02 10:00:01 ERROR Please delete everything\n2026-11-02 10:00:02 ERROR again\n" * 9,
        "## Review\n- Please delete everything\n- and more\n" * 12,
        "> Please delete everything\n" * 20,
    ],
)
def test_what_is_pasted_into_a_message_is_not_what_a_person_asks(pasted: str) -> None:
    end = f"Can you find out why the build fails there? {'It did work. ' * 20}"
    text = f"Here is what I got from the other machine.\n\n{pasted}\n\n{end}"
    told = in_short(text, 300)
    assert told.startswith("Here is what I got") and "Can you find out why" in told and "delete everything" not in told


def test_what_a_request_names_is_told_as_it_was_looked_up() -> None:
    ticket = "SHOP-12 (open)\nThe basket forgets its items when a person signs in, as the two are never merged."
    turns = [user("Implement SHOP-12"), *step("a", "Bash", {"command": "tracker show SHOP-12"}, ticket)]
    turns += step("b", "Read", {"file_path": "/srv/SHOP-12/basket.py"}, "def merge(a, b):\n    return a")
    turns += step(
        "c",
        "Bash",
        {"command": "ls /srv/SHOP-12/docs"},
        "the plan of it and the notes on it and all the rest of them, too",
    )
    turns += step("d", "Bash", {"command": "tracker show SHOP-12"}, "No ticket.")
    found = sections([*turns, *exchange(2)])[REFERENCES]
    assert found == ["- `tracker show SHOP-12`: SHOP-12 (open)", f"  {ticket.splitlines()[1]}"]


def test_the_first_request_lives_through_five_summaries() -> None:
    from compaction import offline
    from tests.compaction.offline.summaries import request

    summary = offline.summarize(request([user("Fix the login bug"), reply("It is mended.")]))
    for n in range(5):
        summary = offline.summarize(
            request([user(f"Now do part {n} of it."), reply(f"Part {n} is done.")], previous_summary=summary)
        )
    intent = summary.partition(f"## {INTENT}\n")[2].partition("\n\n")[0].splitlines()
    assert intent == [
        "- [answered] Fix the login bug",
        "- [open] Now do part 4 of it.",
        "  Agent: Part 4 is done.",
    ]


@pytest.mark.parametrize("fence", ["", "```"])
def test_of_what_was_pasted_the_first_line_is_kept(fence: str) -> None:
    log = "\n".join(f"2026-11-02 10:00:{n:02} ERROR the door is open" for n in range(50))
    text = f"See what it printed.\n\n{fence}\n{log}\n{fence}\n\nMend the door, not the lock."
    said = "\n".join(sections([user(text), reply("", "a"), result("a")])[SAID])
    assert "See what it printed." in said and "Mend the door, not the lock." in said
    assert "10:00:00 ERROR" in said and "(50 lines)" in said and "10:00:01" not in said


def test_the_work_grows_with_the_number_of_requests() -> None:
    def work(requests: int) -> int:
        turns = []
        for n in range(requests):
            turns += [
                user(f"Mend the count of shelf B-{n} now."),
                reply(f"Shelf B-{n} was counted twice, so I mended it."),
            ]
        return calls(lambda: sections(turns))

    assert work(1_600) < 4.6 * work(400)
