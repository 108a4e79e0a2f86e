"""What the next turn needs and has lost: standing instructions, the last request, what that asks for, what is used."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compaction import Message
from compaction.loss import later as later_uses
from compaction.loss.later import used_later
from compaction.loss.records import Survival
from compaction.loss.remaining import occurrences
from compaction.loss.report import survival_of
from tests.compaction.transcripts import call, handoff, reply, result, user

PLAN = [
    user("Set up the new shop for us."),
    reply("Orders go through /srv/shop/orders.py, which needs the key shop-live-41."),
    reply("The newsletter goes out from /srv/mail/letters.py every Monday, because Ines asked for that."),
    user("Never write to the production database. I work from the office in Turin."),
    reply("Noted."),
    user("Now change the currency in /srv/shop/orders.py to CHF."),
]


def report(messages: list[Message], left: str, kept: int = 1) -> Survival:
    """What is lost if a summary takes the place of all but the last messages."""
    size = len(messages) - kept
    return survival_of(messages, range(size), [handoff(left), *messages[size:]])


def test_what_the_next_turn_fails_without_comes_first() -> None:
    found = report(PLAN, "A shop is set up.")
    assert [(one.matters, one.source) for one in found.things[:3]] == [
        ("instruction", "person"),
        ("request", "agent"),
        ("person", "person"),
    ]
    assert found.things[0].text == "Never write to the production database."
    assert "orders.py" in found.things[1].text
    assert {one.matters for one in found.things[3:]} == {""}
    assert len(found.things) == len({(one.message, one.line or one.text) for one in found.things}), "each line once"


@pytest.mark.parametrize(
    ("left", "needs", "instructions"),
    [
        ("A shop is set up.", (0, 1), (0, 1)),
        ("Orders go through /srv/shop/orders.py, which needs the key shop-live-41.", (1, 1), (0, 1)),
        ("Never write to the production database.", (0, 1), (1, 1)),
    ],
)
def test_the_last_request_and_what_it_asks_for(
    left: str, needs: tuple[int, int], instructions: tuple[int, int]
) -> None:
    found = report(PLAN, left)
    assert found.request is not None and found.request.text == PLAN[-1]["content"]
    assert (found.request.message, found.request.open, found.request.kept) == (5, True, True)
    assert (found.request.needs, found.instructions) == (needs, instructions)


def test_a_request_that_names_nothing_asks_for_lines_with_its_words() -> None:
    messages = [
        user("We count the shelves of the library."),
        reply("Shelf A-107: count again, two volumes are missing."),
        reply("Shelf B-230: all volumes are there."),
        reply("The count of the journals in room K-12 was right."),
        user("Which shelves have to be counted again?"),
    ]
    found = report(messages, "Shelves were counted.")
    assert found.request is not None and found.request.needs == (0, 1)
    assert [one.text for one in found.things if one.matters == "request"] == [messages[1]["content"]]


def test_the_next_turn_does_not_fail_without_what_a_finished_request_asked_for() -> None:
    for ending, matters in (("", {"request"}), ("Thank you, that is all.", set[str]())):
        messages = [*PLAN, reply("Done: /srv/shop/orders.py has prices in CHF now.")]
        messages += [user(ending), reply("You're welcome!")] if ending else []
        found = report(messages, "A shop is set up.", kept=len(messages) - len(PLAN))
        assert {one.matters for one in found.things if one.matters == "request"} == matters, ending


def test_an_answer_to_the_agent_is_no_request_of_its_own() -> None:
    """Nor is "go on": the request before it is the one."""
    messages = [
        user("Book the room K-400."),
        reply("For which day?"),
        user("Friday."),
        reply("Booked."),
        user("Go on."),
    ]
    found = report(messages, "Something is booked.")
    assert found.request is not None and (found.request.text, found.request.message) == ("Book the room K-400.", 0)
    assert not found.request.kept
    assert [one.matters for one in found.things if one.message == 0] == ["request"]
    again = report(messages, "The user asked: Book the room K-400.")
    assert again.request is not None and again.request.kept


def test_what_stays_counts_as_kept_and_a_replaced_instruction_does_not_count() -> None:
    messages = [
        user("Answer in French."),
        reply("D'accord."),
        user("Answer in German from now on."),
        reply("Gut."),
        user("Never use tables. What time is it?"),
    ]
    found = report(messages, "Talk about languages. The user wants answers in German from now on.")
    assert found.instructions[1] == 2, "the one in the last message, and German"
    assert not [one for one in found.things if one.matters == "instruction" and "French" in one.text]


def test_an_instruction_of_an_earlier_summary_is_one() -> None:
    earlier = "## Standing instructions\n- Never write to the production database.\n\n## Done\n- ran migrate.py"
    messages = [handoff(earlier), reply("Done with the views."), user("What is next?")]
    found = survival_of(messages, [0, 1], [handoff("Views are done."), messages[2]], [(0, earlier)])
    assert found.instructions == (0, 1)
    assert [(one.matters, one.source) for one in found.things if one.matters] == [("instruction", "summary")]


def test_a_line_is_shown_with_the_heading_above_it() -> None:
    messages = [user("Count."), reply("### Hall 3\n\nCount again: bin Q-1188."), user("Thanks, and the doors?")]
    found = report(messages, "Halls were counted.")
    assert [(one.above, one.text) for one in found.things if "Q-1188" in one.text] == [
        ("Hall 3", "Count again: bin Q-1188.")
    ]


def test_a_line_of_an_earlier_summary_counts_as_kept_with_what_is_shown_of_it() -> None:
    """A title that names something belongs to the line: *Put in* puts it back with the line."""
    earlier = (
        "## Completed Actions\n- You can use the gift card instead.\n\n## done\n- The mill was closed because it burnt."
    )
    messages = [handoff(earlier), reply("Noted."), user("What is next?")]

    def lost(summary: str) -> list[str]:
        found = survival_of(messages, [0, 1], [handoff(summary), messages[2]], [(0, earlier)])
        return [f"{one.above}: {one.text}" if one.above else one.text for one in found.things]

    lines = lost("Nothing.")
    assert len(lines) == 2 and not lost("Kept exactly:\n" + "\n".join(f"- {each}" for each in lines))
    assert not any("done" in each for each in lines), "the title of a section names nothing"


def test_what_later_messages_say_or_call_with_is_used() -> None:
    later = [
        user("Where was QX-1188 again?"),
        {**reply("I look."), "tool_calls": [call("1", arguments='{"path": "/srv/shop/orders.py"}')]},
        result("1", "PRINTED-7 is in it"),
    ]
    lost = ["qx-1188", "/srv/shop/orders.py", "PRINTED-7", "QX-118", "again? I", "ZZ-9", ""]
    assert used_later(lost, [], later) == {0, 1}
    assert used_later(lost, [reply("In shop/orders.py the currency is wrong.")], later) == {0}, "the path is known"
    assert used_later(lost, [], [result("1", "/srv/shop/orders.py:1: x"), *later]) == {0}, "the agent found it again"


def test_a_lost_text_is_compared_only_where_all_its_words_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Absolute paths begin alike, so with every message that has one, each lost path could be compared."""
    compared: list[str] = []

    def counted(text: str, within: str) -> Iterator[int]:
        compared.append(text)
        return occurrences(text, within)

    monkeypatch.setattr(later_uses, "occurrences", counted)
    lost = [f"/home/ines/shop/part{at}/views.py" for at in range(100)]
    later = [result(str(at), f"/home/ines/mail/letter{at}/views.py is read") for at in range(100)]
    assert used_later(lost, [], [*later, reply(f"Now {lost[7]} and {lost[9]}.")]) == {7, 9}
    assert sorted(compared) == [lost[7], lost[9]]
