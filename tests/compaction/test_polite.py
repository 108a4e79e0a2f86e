"""Which messages ask for nothing: courtesies alone, in any wording, and never one that goes on to ask for something."""

from __future__ import annotations

import pytest

from compaction.polite import is_closing


@pytest.mark.parametrize(
    "text",
    [
        "Thank you, you too!###STOP###",
        "Thanks!",
        "Great, thank you so much for your help.",
        "Hello there!",
        "Hi Anna!",
        "No, that's all for now. Thank you!",
        "谢谢！",
        "Good morning",
        "I really appreciate your help with this. Thank you.",
        "Thank you for checking, that's what I wanted to know.",
        "Vielen Dank für Ihre Hilfe!",
        "Perfect, thanks a lot",
        "Lovely. I'll send it.",
        "That is the talk. Thank you.",
    ],
)
def test_thanks_and_greetings_ask_for_nothing(text: str) -> None:
    assert is_closing(text)


@pytest.mark.parametrize(
    "text",
    [
        "Thank you! Please downgrade all of them to economy.",
        "Thanks, but can you check the second one?",
        "Ghent Harbour, aisle 2, please.",
        "Fix the login.",
        "Hey, fix the login",
        "Hey, mend the lamp as well",
        "Good, delete them",
        "ok fix the bug",
        "Thanks. Fix the login.",
        "Thanks, delete the rest",
        "Hello! Build the site",
        "Great, the second one",
        "Hi, book a room in Ghent",
        "Thank you! The totals are still wrong.",
        "Cool add a test",
        "Do it then",
        "I'll send it.",
        "Thanks, I'll need the report by noon",
        "Great. I'll test it now and you fix the rest",
        "That is wrong. Thanks.",
        "That's the problem. Thanks.",
        "Help me",
        "All of it",
    ],
)
def test_a_courtesy_that_goes_on_to_ask_is_a_request(text: str) -> None:
    assert not is_closing(text)
