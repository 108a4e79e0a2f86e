"""What is typed behind a question answers it only if it is of the same person and about the same thing."""

from __future__ import annotations

import re

import pytest

from compaction import Message, counter_for
from compaction.facts import gather, requests_of
from compaction.requests import TurnMessage, requests_in
from tests.compaction.offline_summaries import sections
from tests.compaction.transcripts import reply, stored, user
from tests.compaction.work_steps import step
from viewer.stores.hermes.demo import support

GIFT = "B-52266 is a gift, may I add a card? Best, Chiara"
ASKS = "Hello Chiara, with pleasure: wrapped in blue paper. What shall we write on it?"


def answers(opening: str, question: str, typed: str) -> list[str]:
    said = (opening, True), (question, False), (typed, True)
    requests = requests_in(TurnMessage(at, by_person, words) for at, (words, by_person) in enumerate(said))
    return [answer for _, _, answer in requests[0].answers]


@pytest.mark.parametrize(
    ("opening", "question", "typed"),
    [
        (GIFT, ASKS, "Order B-31678: the cover of The Quiet Engine is torn. Best, Amina"),
        (GIFT, ASKS, "How do I send B-17167 back, and who pays? Best, Chiara"),  # the same name, another order
        (GIFT, ASKS, "Where do I find your shop?\nKind regards,\nJan"),  # no order at all, another name
        ("Is B-52266 on its way?", "It is. Shall we ring the bell?", "And where is B-40118?"),
        ("Wann kommt B-52266? Gruß, Elif", "Heute. Sollen wir klingeln?", "Der Einband ist gerissen. Grüße, Daan"),
    ],
)
def test_another_letter_is_no_answer(opening: str, question: str, typed: str) -> None:
    assert answers(opening, question, typed) == []


@pytest.mark.parametrize(
    ("opening", "question", "typed"),
    [
        (GIFT, ASKS, "Happy birthday, Oma! Best, Chiara"),
        (GIFT, ASKS, "Happy birthday, please."),
        (GIFT, ASKS, "Is it too late to write more on B-52266? Best, Chiara"),
        ("Where is B-52266? Best, Hugo", "Hello Hugo, which order do you mean?", "B-40118, sorry. Best, Hugo"),
        ("Is B-52266 on its way?", "It is. Shall we ring the bell?", "Yes. Is B-40118 with it?"),
        ("Book HAT136 for me.", "HAT136 is full. Shall I take the next one?", "I prefer HAT201, thank you Mia"),
    ],
)
def test_what_answers_stays_an_answer(opening: str, question: str, typed: str) -> None:
    assert answers(opening, question, typed) == [typed]


def test_no_customer_of_the_demo_answers_for_another() -> None:
    rows = [stored(row) for row in support.session().rows]
    requests = requests_of(gather(rows, tuple(range(len(rows)))).turns, ())
    answered = [(request.opening, answer) for request in requests for _, _, answer in request.answers]
    assert len(answered) > 40
    assert [pair for pair in answered if re.search(r"B-\d+", pair[1])] == []


def test_where_nothing_was_changed_answers_are_told_before_what_was_looked_up() -> None:
    turns: list[Message] = []
    for n in range(100, 160):
        turns += [user(f"Where is order B-20{n}? It should have been here."), reply("One moment.")]
        turns += step(f"c{n}", "track_parcel", {"order": f"B-20{n}"}, f'{{"depot": "Ghent", "gate": "G-{n}"}}')
        turns += [reply(f"Parcel **B-20{n}** is at gate G-{n}.")]
    lines = sections(turns, budget_tokens=1_000, count=counter_for("gpt-5"))["Actions done"]
    assert lines and all(line.startswith("- Answered request:") for line in lines)
