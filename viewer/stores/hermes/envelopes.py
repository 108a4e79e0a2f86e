"""What Hermes Agent and its gateways put around a person's words: notes in brackets, and the text of a skill."""

from __future__ import annotations

from viewer.stores.envelopes import Envelopes, pattern

ADDED_START = "["  # the beginning of everything that is added
_INVOKED = r'\[(?:IMPORTANT|SYSTEM): The user has invoked the "'
_INSTRUCTION = "The user has provided the following instruction alongside the skill invocation:"

ENVELOPES = Envelopes(
    "Hermes Agent",
    leading=(
        pattern(rf"{_INVOKED}[\s\S]*{_INSTRUCTION}(?P<typed>[\s\S]*?)(?:\n\n\[Runtime note:[\s\S]*)?\Z"),
        pattern(
            rf'{_INVOKED}[^"\n]*" skill bundle,(?>[\s\S]*?\nUser instruction: )(?P<typed>[\s\S]*?)'
            r"\n\n\[Loaded as part of the [\s\S]*\Z"
        ),
        pattern(rf"{_INVOKED}[\s\S]*\Z", is_run=True),
        pattern(r'\[The user sent a voice message~[^"\n]*"(?P<typed>[\s\S]*?)"\s*\](?=\s|\Z)'),
        pattern(r"\[The user sent an? [a-z ]+~[\s\S]*?\](?=[^\S\n]*(?:\n|\Z))"),
        pattern(r"\[If you need a closer look, [^\n]*\](?=[^\S\n]*(?:\n|\Z))"),
        pattern(r'\[Replying to: "[\s\S]*?"\](?=\s|\Z)'),
        pattern(r"\[(?:System note|Note): [^\]]*\]"),
    ),
)
