"""What a call made keeps its id where the result was cut down: the reply behind it names it."""

from __future__ import annotations

from typing import Any

import pytest

from compaction import Message
from compaction.deeds import Deed
from compaction.made import note_named
from compaction.messages import Call
from tests.compaction.transcripts import reply, user
from tests.compaction.work_steps import actions, step
from tests.cost import within

BOOKING: dict[str, Any] = {"user_id": "mia_li_3668", "origin": "JFK", "destination": "SEA", "flights": ["HAT136"]}


def booked(result: str, said: str, *more: list[Message]) -> list[str]:
    turns = [*step("a", "book_reservation", BOOKING, result), *(row for turn in more for row in turn)]
    return actions([*turns, reply(said)], [user("Thanks!"), reply("Your reservation ID is QQQ999.")])


@pytest.mark.parametrize(
    "result",
    [
        "[book_reservation] user_id=mia_li_3668 origin=JFK (711 chars result)",
        "[update_reservation_baggages] reservation_id=FQ8APE total_baggages=3 (711 chars result)",  # of another call
        "[Old tool output cleared to save context space]",
        '{"origin": "JFK", [... output cut ...]',
    ],
)
@pytest.mark.parametrize(
    "said",
    [
        "Your flight HAT136 is booked. Your new reservation ID is **HATHAV**. Anything else?",
        "Booked.\n- **Flight:** HAT136\n- Booking number: HATHAV\n- Payment: certificate_7504069",
    ],
)
def test_a_booking_has_the_id_that_the_reply_names(result: str, said: str) -> None:
    assert booked(result, said)[0].startswith("- Booked reservation HATHAV for mia_li_3668: ")


@pytest.mark.parametrize(
    ("said", "more"),
    [
        ("Your flight HAT136 is booked.", []),
        ("You have reservation ID HATHAV and reservation ID NO6JO3 now.", []),  # which of them was made?
        (
            "Reservation ID: HATHAV.",
            [step("b", "book_reservation", {**BOOKING, "origin": "EWR"}, "[cut]")],
        ),  # by which?
        ("The reservation code will be mailed.", []),
    ],
)
def test_what_is_not_clear_is_not_told(said: str, more: list[list[Message]]) -> None:
    lines = booked("[book_reservation] (711 chars result)", said, *more)
    assert all(line.startswith("- Booked reservation for mia_li_3668: ") for line in lines if "Booked" in line)
    assert any("Booked" in line for line in lines)


def test_the_id_of_a_result_counts_before_that_of_a_reply() -> None:
    lines = booked('{"reservation_id": "HATHAT"}', "Your old reservation ID is HATHAV.")
    assert lines[0].startswith("- Booked reservation HATHAT for mia_li_3668: ")


def test_two_bookings_alike_are_both_named() -> None:
    def turn(id_: str, made: str) -> list[Message]:
        said = reply(f"Your reservation ID is {made}.")
        return [*step(id_, "book_reservation", BOOKING, "[cut] (7 chars result)"), said, user("Thanks, and again!")]

    [line] = [line for line in actions(turn("a", "HATHAU"), turn("b", "HATHAV")) if "Booked" in line]
    assert line.startswith("- Booked reservation HATHAU HATHAV for mia_li_3668: ")


@pytest.mark.slow
@pytest.mark.parametrize("piece", [" ", "\n", " is", "*", " id", " reservation id"])
def test_no_reply_takes_long(piece: str) -> None:
    deed = Deed(Call(("a",), "book_reservation", "{}"), "change", 0, BOOKING, "[cut] (7 chars result)")
    said = "Your reservation id" + piece * (20_000 // len(piece)) + "!"
    assert within(0.5, note_named, [deed], [(1, said)], [])
