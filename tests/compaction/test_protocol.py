"""Reading and writing the marker layouts of docs/hermes.md, section 4."""

from __future__ import annotations

from typing import Any

import pytest

from compaction import is_handoff, protocol, split
from compaction.protocol import CURRENT_HEADER, END_MARKER, HYPHEN_HEADER, LEGACY_HEADER, MERGE_DELIMITER, PRIOR_HEADER
from tests.compaction.transcripts import image

LONG = (
    f"{CURRENT_HEADER} Earlier turns were compacted into the summary below. Respond to the latest message only. The"
    " current session state may reflect work described here — avoid repeating it:"
)
BODY = "## Goal\nShip the release."


def kinds(content: Any, flagged: bool = False) -> list[tuple[str, str]]:
    return [(part.kind, part.text) for part in split(content, flagged)]


@pytest.mark.parametrize(
    ("text", "directive"),
    [
        (f"{LONG}\n{BODY}\n\n{END_MARKER}", LONG),
        (f"  \n{LONG}\n{BODY}\n\n{END_MARKER}\n", LONG),
        (f"{LONG}\n{BODY}", LONG),  # a reader that cut the end off
        (f"{LONG} {BODY}\n\n{END_MARKER}", LONG),  # framing and body on one line
        (f"{HYPHEN_HEADER}\n{BODY}\n\n{END_MARKER}", HYPHEN_HEADER),
        (f"{HYPHEN_HEADER} {BODY}\n\n{END_MARKER}", HYPHEN_HEADER),
        (f"{LEGACY_HEADER} {BODY}", LEGACY_HEADER),
        (f"{LEGACY_HEADER}\n{BODY}\n\n{END_MARKER}", LEGACY_HEADER),
        (protocol.handoff_text(BODY), f"{LEGACY_HEADER} {protocol.FRAMING}"),
    ],
)
def test_a_standalone_handoff_is_its_body_and_its_directive(text: str, directive: str) -> None:
    [part] = split(text)
    assert (part.kind, part.text, part.directive) == ("summary", BODY, directive)
    assert is_handoff({"role": "assistant", "content": text})


def test_a_merged_handoff_with_the_summary_first_keeps_the_live_text_to_the_letter() -> None:
    live = "  Book it.\n\nAnd thanks.\n"
    text = f"{LONG}\n{BODY}\n\n{END_MARKER}\n\n{live}"
    assert kinds(text) == [("summary", BODY), ("live", live)]
    assert split(text)[1].content == live


def test_a_merged_handoff_with_the_prior_text_first() -> None:
    text = f"{PRIOR_HEADER}\nOld question?\n\n{MERGE_DELIMITER}\n\n{LONG}\n{BODY}\n\n{END_MARKER}"
    assert kinds(text) == [("prior", "Old question?"), ("summary", BODY)]
    restated = f"{text}\n\nStill to do."
    assert kinds(restated) == [("prior", "Old question?"), ("summary", BODY), ("live", "Still to do.")]
    empty = f"{PRIOR_HEADER}\n\n\n{MERGE_DELIMITER}\n\n{LONG}\n{BODY}\n\n{END_MARKER}"
    assert kinds(empty) == [("summary", BODY)]


def test_a_delimiter_without_the_prior_header_needs_its_own_line_and_a_header_after_it() -> None:
    tail = f"{MERGE_DELIMITER}\n\n{LONG}\n{BODY}\n\n{END_MARKER}"
    assert kinds(f"Old question?\n\n{tail}") == [("prior", "Old question?"), ("summary", BODY)]
    assert kinds(f"The delimiter is {tail}")[0][0] == "live"
    assert kinds(f"Old\n\n{MERGE_DELIMITER}\n\nno header") == [("live", f"Old\n\n{MERGE_DELIMITER}\n\nno header")]


@pytest.mark.parametrize(
    "text",
    [
        f"Hermes starts its summaries with {CURRENT_HEADER} and a long passage.",
        f'What does "{LEGACY_HEADER}" mean?',
        f"It ends with\n{END_MARKER}\nas the notes say.",
        f"The pair is {PRIOR_HEADER} and {MERGE_DELIMITER}.",
        f"{PRIOR_HEADER}\nnothing follows",
        "[CONTEXT",
        "",
    ],
)
def test_a_quoted_marker_is_not_a_handoff(text: str) -> None:
    assert kinds(text) == [("live", text)]
    assert not is_handoff({"role": "user", "content": text})


def test_a_flagged_row_without_a_known_header_is_a_summary() -> None:
    assert kinds("What was done.", flagged=True) == [("summary", "What was done.")]
    assert kinds(f"What was done.\n\n{END_MARKER}\n\nGo on.", flagged=True) == [
        ("summary", "What was done."),
        ("live", "Go on."),
    ]
    assert kinds(f"{PRIOR_HEADER}\nOld\n\n{MERGE_DELIMITER}\n\nUnknown prose", flagged=True) == [
        ("prior", "Old"),
        ("summary", "Unknown prose"),
    ]
    assert kinds(None, flagged=True) == kinds("", flagged=True) == [("summary", "")]


def test_a_list_with_the_summary_in_its_first_text() -> None:
    picture = image()
    summary = {"type": "text", "text": f"{LONG}\n{BODY}\n\n{END_MARKER}\n\n"}
    parts = split([summary, {"type": "text", "text": "Look:"}, picture])
    assert [(p.kind, p.text) for p in parts] == [("summary", BODY), ("live", "Look:")]
    assert parts[1].content == [{"type": "text", "text": "Look:"}, picture]
    assert kinds([summary]) == [("summary", BODY)]
    assert split([{**summary, "text": f"{summary['text']}Look:"}, picture])[1].content == [
        {"type": "text", "text": "Look:"},
        picture,
    ]
    assert split([summary, picture])[1].content == [picture]


def test_a_list_with_the_prior_content_first() -> None:
    blocks = [
        {"type": "text", "text": f"{PRIOR_HEADER}\nSee this:"},
        image(),
        {"type": "text", "text": f"\n\n{MERGE_DELIMITER}\n\n{LONG}\n{BODY}\n\n{END_MARKER}"},
    ]
    parts = split(blocks)
    assert [(p.kind, p.text) for p in parts] == [("prior", "See this:"), ("summary", BODY)]
    assert parts[0].content == [{"type": "text", "text": "See this:"}, image()]
    assert blocks[0]["text"].startswith(PRIOR_HEADER), "the input is untouched"


@pytest.mark.parametrize(
    "content",
    [
        None,
        7,
        1.5,
        True,
        {},
        [],
        {"a": [1]},
        [None, 3, [], {"text": 4}],
        [{"type": "text"}],
        b"x",
        {"text": None},
        object(),
    ],
)
def test_garbage_reads_as_live_and_keeps_its_shape(content: Any) -> None:
    [part] = split(content)
    assert part.kind == "live" and part.content is content
    assert [part.kind for part in split(content, flagged=True)] == ["summary"]
    assert not is_handoff({"role": "user", "content": content})
    assert not is_handoff(content)


def test_a_tool_result_is_never_a_handoff() -> None:
    assert not is_handoff({"role": "tool", "content": protocol.handoff_text("read from a file"), "tool_call_id": "c"})


def test_what_is_written_has_the_three_parts_agents_look_for() -> None:
    text = protocol.handoff_text(f"Body quoting {END_MARKER} and {MERGE_DELIMITER}.")
    assert text.startswith(f"{LEGACY_HEADER} ") and text.endswith(f"\n\n{END_MARKER}")
    assert text.count(END_MARKER) == 1 and MERGE_DELIMITER not in text
    assert text.splitlines()[0] == f"{LEGACY_HEADER} {protocol.FRAMING}"
    assert protocol.NOTE_SENTENCE in protocol.NOTE and protocol.FRAMING in protocol.NOTE
