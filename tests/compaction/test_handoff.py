"""Reading and writing the marker layouts of docs/hermes.md, section 4."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import compaction
from compaction import is_handoff
from compaction import messages as m
from compaction.handoff import (
    BY_ENGINE,
    CONTINUED_START,
    CURRENT_HEADER,
    EARLIER_FRAMING,
    END_MARKER,
    FLAG,
    FRAMING,
    HYPHEN_HEADER,
    LEGACY_HEADER,
    MERGE_DELIMITER,
    NEUTRAL,
    NOTE,
    NOTE_SENTENCE,
    OBJECTIVE,
    PRIOR_HEADER,
    PRUNE_SENTENCE,
    SUMMED_UP_END,
    SUMMED_UP_START,
    handoff_text,
    is_by_engine,
    split,
)
from compaction.llm.digest import request_of
from tests.compaction.transcripts import image
from tests.cost import within

LONG = (
    f"{CURRENT_HEADER} Earlier turns were compacted into the summary below. Respond to the latest message only. The"
    " current session state may reflect work described here — avoid repeating it:"
)
MARKERS = (CURRENT_HEADER, HYPHEN_HEADER, LEGACY_HEADER, END_MARKER, PRIOR_HEADER, MERGE_DELIMITER)
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
        (handoff_text(BODY), f"{LEGACY_HEADER} {FRAMING}"),
        (
            handoff_text(BODY).replace(FRAMING, EARLIER_FRAMING),
            f"{LEGACY_HEADER} {EARLIER_FRAMING}",
        ),
    ],
)
def test_a_standalone_handoff_is_its_body_and_its_directive(text: str, directive: str) -> None:
    [part] = split(text)
    assert (part.kind, part.text, part.directive) == ("summary", BODY, directive)
    assert is_handoff({"role": "assistant", "content": text})


@pytest.mark.parametrize("shape", [str, lambda text: [{"type": "text", "text": text}]], ids=["text", "block"])
@pytest.mark.parametrize("flagged", [True, False])
def test_a_summary_of_claude_code_is_one_in_any_row(shape: Any, flagged: bool) -> None:
    """Marked, or pasted into another agent, where somebody may have gone on behind it."""
    last = "\n\nIf you need specific details from before compaction, read it.\n"
    last += "Continue the conversation from where it left off."
    text = f"{CONTINUED_START} that ran out of context. The conversation is summarized below:\n\nSummary:\n{BODY}{last}"
    assert is_handoff({"role": "user", "content": shape(text)})
    assert kinds(shape(text), flagged) == [("summary", BODY)]
    if not flagged:
        assert kinds(shape(f"{text}\nAnd mend the door."))[1:] == [("live", "And mend the door.")]
    assert kinds(shape(f"{CONTINUED_START}? Since when?")) == [("live", f"{CONTINUED_START}? Since when?")]


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
    assert not is_handoff({"role": "tool", "content": handoff_text("read from a file"), "tool_call_id": "c"})


def test_what_is_written_has_the_three_parts_agents_look_for() -> None:
    text = handoff_text(f"Body quoting {END_MARKER} and {MERGE_DELIMITER}.")
    assert text.startswith(f"{LEGACY_HEADER} ") and text.endswith(f"\n\n{END_MARKER}")
    assert text.count(END_MARKER) == 1 and MERGE_DELIMITER not in text
    assert text.splitlines()[0] == f"{LEGACY_HEADER} {FRAMING}"
    assert NOTE_SENTENCE in NOTE and FRAMING in NOTE


FENCED = (
    f"Look what it wrote:\n```\n{PRIOR_HEADER}\nOld\n\n{MERGE_DELIMITER}\n\n{LONG}\n{BODY}\n\n{END_MARKER}\n```\nWhy?"
)


@pytest.mark.parametrize(
    "text",
    [
        f"As the manual says,\n{LEGACY_HEADER} starts a summary.",  # the start of a line, not of the message
        f"> {CURRENT_HEADER}\n> {BODY}\n\nWhat is that?",
        f"```\n{LONG}\n{BODY}\n\n{END_MARKER}\n```\nWhat is that?",
        FENCED,
        f"Behind {MERGE_DELIMITER} comes {LEGACY_HEADER}, I read.",
        f"The line {MERGE_DELIMITER}\n\n{LEGACY_HEADER} {BODY}",
        f"{MERGE_DELIMITER} is what?",
        f"{END_MARKER}\n\nis at the end of my context, why?",
        f"Never write {END_MARKER}.",
        f"x{LEGACY_HEADER} {BODY}\n\n{END_MARKER}",
        f"{PRIOR_HEADER} is written before {MERGE_DELIMITER}, isn't it?",
        "[CONTEXT SUMMARY] without its colon",
        f"{NOTE_SENTENCE}: what does it mean?",
    ],
)
def test_a_marker_that_is_only_shown_is_no_handoff_in_text_or_in_a_list(text: str) -> None:
    shapes: list[Any] = [
        text,
        [text],
        [{"type": "text", "text": text}],
        [image(), {"type": "input_text", "text": text}],
        [{"type": "text", "text": "Please read:"}, {"type": "text", "text": text}],
        {"type": "text", "text": text},
    ]
    for content in shapes:
        [part] = split(content)
        assert part.kind == "live" and part.content is content
        assert not is_handoff({"role": "user", "content": content})


def test_a_header_in_a_later_block_or_in_a_tool_result_is_no_handoff() -> None:
    whole = handoff_text(BODY)
    later = [{"type": "text", "text": "I found this:"}, {"type": "text", "text": whole}]
    read = [{"type": "tool_result", "tool_use_id": "t", "content": whole}, {"type": "text", "text": "go on"}]
    nested = [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": whole}]}]
    for content in (later, read, nested):
        assert [part.kind for part in split(content)] == ["live"]
        assert not is_handoff({"role": "user", "content": content})


def test_a_body_may_quote_the_end_marker_in_a_sentence() -> None:
    body = f"- The user asked what {END_MARKER} means.\n- Told them."
    for header in (f"{LEGACY_HEADER} ", f"{LONG}\n", f"{HYPHEN_HEADER}\n"):
        text = f"{header}{body}\n\n{END_MARKER}\n\nNext?"
        assert kinds(text) == [("summary", body), ("live", "Next?")]
        assert kinds([{"type": "text", "text": text}]) == [("summary", body), ("live", "Next?")]
    assert kinds(f"{body}\n\n{END_MARKER}\n\nNext?", flagged=True) == [("summary", body), ("live", "Next?")]


def test_live_text_behind_the_end_marker_may_quote_every_marker() -> None:
    live = f"What is {END_MARKER}?\n{END_MARKER}\n{MERGE_DELIMITER}\n\n{LEGACY_HEADER} x\n{PRIOR_HEADER}"
    assert kinds(f"{handoff_text(BODY)}\n\n{live}") == [("summary", BODY), ("live", live)]


def test_the_end_marker_without_a_line_of_its_own_still_ends_the_summary() -> None:
    assert kinds(f"{LEGACY_HEADER} {BODY} {END_MARKER} Go on.") == [("summary", BODY), ("live", " Go on.")]


def test_prior_text_may_quote_the_delimiter() -> None:
    prior = f"What is {MERGE_DELIMITER} for? I saw:\n```\n{MERGE_DELIMITER}\n{LEGACY_HEADER} an example\n```"
    text = f"{PRIOR_HEADER}\n{prior}\n\n{MERGE_DELIMITER}\n\n{LONG}\n{BODY}\n\n{END_MARKER}"
    assert kinds(text) == kinds(text, flagged=True) == [("prior", prior), ("summary", BODY)]
    bare = f"{prior}\n\n{MERGE_DELIMITER}\n\n{LONG}\n{BODY}\n\n{END_MARKER}"
    assert kinds(bare) == kinds(bare, flagged=True) == [("prior", prior), ("summary", BODY)]


def test_a_delimiter_on_the_line_of_the_prior_text_counts_behind_the_prior_header() -> None:
    text = f"{PRIOR_HEADER} Old question? {MERGE_DELIMITER} {LEGACY_HEADER} {BODY}"
    assert kinds(text) == [("prior", " Old question? "), ("summary", BODY)]


def layouts(header: str) -> dict[str, tuple[str, list[tuple[str, str]]]]:
    summary = f"{header}{BODY}\n\n{END_MARKER}"
    return {
        "standalone": (summary, [("summary", BODY)]),
        "no end marker": (f"{header}{BODY}", [("summary", BODY)]),
        "summary first": (f"{summary}\n\nNext?", [("summary", BODY), ("live", "Next?")]),
        "prior first": (
            f"{PRIOR_HEADER}\nOld.\n\n{MERGE_DELIMITER}\n\n{summary}",
            [("prior", "Old."), ("summary", BODY)],
        ),
        "prior first, restated": (
            f"{PRIOR_HEADER}\nOld.\n\n{MERGE_DELIMITER}\n\n{summary}\n\nNext?",
            [("prior", "Old."), ("summary", BODY), ("live", "Next?")],
        ),
        "no prior header": (f"Old.\n\n{MERGE_DELIMITER}\n\n{summary}", [("prior", "Old."), ("summary", BODY)]),
        "nothing before": (f"{MERGE_DELIMITER}\n\n{summary}", [("summary", BODY)]),
    }


@pytest.mark.parametrize("flagged", [False, True])
@pytest.mark.parametrize("shape", ["text", "block", "input_text", "strings", "dict"])
@pytest.mark.parametrize("header", [f"{LEGACY_HEADER} ", f"{LEGACY_HEADER} {FRAMING}\n", f"{LONG}\n",
                                    f"{LONG} ", f"{CURRENT_HEADER}\n", f"{HYPHEN_HEADER} "])  # fmt: skip
def test_every_layout_in_every_shape_flagged_or_not(header: str, shape: str, flagged: bool) -> None:
    for name, (text, parts) in layouts(header).items():
        content: Any = {
            "text": text,
            "block": [{"type": "text", "text": text}],
            "input_text": [{"type": "input_text", "text": text}],
            "strings": [text],
            "dict": {"type": "text", "text": text},
        }[shape]
        assert kinds(content, flagged) == parts, name
        row = {"role": "user", "content": content, **({FLAG: 1} if flagged else {})}
        assert is_handoff(row), name
        assert "\n\n".join(text for kind, text in parts if kind != "summary") == m.text(m.live_content(row)).replace(
            "Old.\nNext?",
            "Old.\n\nNext?",  # two blocks of a list are joined by one line break
        )


def test_the_parts_of_a_list_keep_blocks_that_are_not_text() -> None:
    picture, use = image(), {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    summary = {"type": "text", "text": f"{LONG}\n{BODY}\n\n{END_MARKER}"}
    parts = split([picture, summary, use, {"type": "text", "text": "Go."}])
    assert [part.kind for part in parts] == ["summary", "live"]
    assert parts[1].content == [picture, use, {"type": "text", "text": "Go."}]
    over_blocks = [{"type": "text", "text": LONG}, {"type": "text", "text": BODY}, {"type": "text", "text": END_MARKER}]
    assert kinds([*over_blocks, "Next?"]) == [("summary", BODY), ("live", "Next?")]


@pytest.mark.parametrize(
    ("flag", "flagged"),
    [(True, True), (1, True), (1.0, True), ("1", True), (False, False), (0, False), (None, False), ("", False),
     ("0", False), ([1], False), ({"x": 1}, False)],
)  # fmt: skip
def test_the_flag_in_every_form_a_database_gives_it(flag: Any, flagged: bool) -> None:
    assert is_handoff({"role": "user", "content": "What was done.", FLAG: flag}) is flagged


@given(
    st.one_of(st.text(), st.lists(st.sampled_from([*MARKERS, "\n", "\n\n", " ", "x", "---"]), max_size=9).map("".join))
)
@example(f"{END_MARKER}{END_MARKER[3:]}")  # two that share their dashes
def test_whatever_the_body_says_the_handoff_reads_back(body: str) -> None:
    text = handoff_text(body)
    assert text.count(END_MARKER) == 1 and MERGE_DELIMITER not in text
    [summary, live] = split(f"{text}\n\nNext?")
    assert (summary.kind, live.kind, live.text) == ("summary", "live", "Next?")
    assert summary.directive == f"{LEGACY_HEADER} {FRAMING}"
    if not any(marker in body for marker in NEUTRAL):
        assert summary.text == body.strip()


@given(
    st.lists(st.sampled_from([*MARKERS, FRAMING, "\n", "\n\n", "```\n", "  ", "one", "two"]), max_size=12),
    st.booleans(),
)
def test_no_text_of_a_row_is_lost_or_doubled(pieces: list[str], flagged: bool) -> None:
    text = "".join(pieces)
    for content in (text, [text], [{"type": "text", "text": piece} for piece in pieces]):
        before = copy.deepcopy(content)
        read = "".join(f"{part.directive}{part.text}" for part in split(content, flagged))
        assert content == before
        for word in ("one", "two"):
            assert read.count(word) == text.count(word)


@pytest.mark.slow
def test_a_row_full_of_markers_is_read_in_time() -> None:
    for marker in (MERGE_DELIMITER, END_MARKER, f"{MERGE_DELIMITER}\n", f"{LEGACY_HEADER} {END_MARKER} "):
        assert within(3, split, marker * 20_000)


def test_a_summary_merged_into_a_row_with_an_earlier_summary_leaves_both_and_the_words() -> None:
    earlier = handoff_text("The first half.")
    row = f"{PRIOR_HEADER}\n{earlier}\n\nLook at it.\n\n{MERGE_DELIMITER}\n\n"
    row += handoff_text("The second half.")
    assert [(part.kind, part.text) for part in split(row)] == [
        ("summary", "The first half."), ("prior", "Look at it."), ("summary", "The second half."),
    ]  # fmt: skip


def test_summaries_merged_one_after_the_other_are_told_apart() -> None:
    row = "Look at it."
    for body in ("one", "two", "three"):
        row = f"{PRIOR_HEADER}\n{row}\n\n{MERGE_DELIMITER}\n\n{handoff_text(body)}"
    assert [(part.kind, part.text) for part in split(row)] == [
        ("prior", "Look at it."), ("summary", "one"), ("summary", "two"), ("summary", "three"),
    ]  # fmt: skip


@pytest.mark.parametrize("summary", ["It was decided.", handoff_text("It was decided.")])
def test_a_summary_in_the_words_of_openclaw_and_pi(summary: str) -> None:
    """Only where the row is marked as one: anybody may type these words."""
    row = f"{SUMMED_UP_START}{summary}{SUMMED_UP_END}"
    (part,) = split(row, flagged=True)
    assert (part.kind, part.text) == ("summary", "It was decided.")
    assert part.directive.startswith("The conversation history before") and part.directive.endswith("</summary>")
    (part,) = split("Look: " + row)
    assert part.kind == "live"


# -- other engines -----------------------------------------------------------------------------------------------------

RECENT = (
    "[Recent Summary (d0, node 42)]\nThe tokens were rotated.\n\n- all of them\n[Expand for details: the [new] tokens]"
)
ARC = "[Session Arc Summary (d1, node 7)] [L2 bullet summary]\nThe desk moved.\n[Expand for details: lcm_expand(7)]"
CLAW = (
    '<summary id="sum_1f" kind="condensed" depth="1">\n  <parents>\n    <summary_ref id="sum_2a" />\n  </parents>\n'
    "  <content>\nThe desk moved.\n  </content>\n</summary>"
)
ROTATED, MOVED = "The tokens were rotated.\n\n- all of them", "The desk moved."


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (RECENT, [("summary", ROTATED)]),
        (f"\n{RECENT}  \n", [("summary", ROTATED)]),
        (RECENT.replace("Recent", "Durable"), [("summary", ROTATED)]),
        (RECENT.replace("Recent Summary (d0", "Depth-12 Summary (d12"), [("summary", ROTATED)]),
        (f"{ARC}\n\n---\n\n{RECENT}", [("summary", f"{MOVED}\n\n{ROTATED}")]),
        (f"{ARC}\n\n{RECENT}", [("summary", f"{MOVED}\n\n{ROTATED}")]),  # a row each, merged by the agent
        (
            f"{ARC}\n\n---\n\n{RECENT}\n\nGo on.\n\nNow.",
            [("summary", f"{MOVED}\n\n{ROTATED}"), ("live", "Go on.\n\nNow.")],
        ),
        (f"{ARC}\n\n---\n\nA rule of mine.", [("summary", MOVED), ("live", "A rule of mine.")]),
        (
            f"{OBJECTIVE}\nShip it.\n\n---\n\nToday.\n\n---\n\n{ARC}\n\n---\n\n{RECENT}",
            [("prior", f"{OBJECTIVE}\nShip it.\n\n---\n\nToday."), ("summary", f"{MOVED}\n\n{ROTATED}")],
        ),
        (f"{CLAW}\n\n{CLAW}\n\nGo on.", [("summary", f"{MOVED}\n\n{MOVED}"), ("live", "Go on.")]),
    ],
)
def test_what_another_engine_made_is_its_summaries_and_the_words_beside_them(
    text: str, parts: list[tuple[str, str]]
) -> None:
    assert kinds(text) == parts
    assert kinds([{"type": "text", "text": text}]) == parts
    assert is_handoff({"role": "user", "content": text})
    windows = kinds(text.replace("\n", "\r\n"))
    assert [(kind, said.replace("\r\n", "\n")) for kind, said in windows] == parts, "also with ends of lines of Windows"


def test_an_image_behind_what_another_engine_made_stays() -> None:
    summary, live = split([{"type": "text", "text": f"{RECENT}\n\nLook."}, image("a")])
    assert (summary.kind, live.kind, live.content) == (
        "summary",
        "live",
        [{"type": "text", "text": "Look."}, image("a")],
    )


@pytest.mark.parametrize("frame", [RECENT, ARC, CLAW, f"{OBJECTIVE}\nShip it.\n\n---\n\n{RECENT}"])
@pytest.mark.parametrize(
    "around",
    [
        "What does this mean?\n\n{}",
        "It says:\n{}",
        "```\n{}\n```",
        "> {}",
        "    {}",
        "- {}",
        "The engine writes {} in front of what it keeps.",
        "Such a row begins so:\n\n---\n\n{}\n\nand goes on.",
    ],
)
def test_a_message_that_quotes_what_another_engine_makes_is_no_handoff(frame: str, around: str) -> None:
    text = around.format(frame)
    if around != "    {}":  # white space in front is no quotation
        assert kinds(text) == [("live", text)]
        assert not is_handoff({"role": "user", "content": text})


@pytest.mark.parametrize(
    "text",
    [
        "[Recent Summary (d0, node 42)] begins a summary of hermes-lcm, [Expand for details: x] ends one.",
        "[Recent Summary (d0, node 42)]\nThe tokens were rotated.",  # its end was cut off
        "[Recent Summary of the talk]\nWe moved.\n[Expand for details: later]",
        "[Depth-first Summary (d3, node 1)]\nWe moved.\n[Expand for details: later]",
        '<summary id="sum_1f">More</summary>',
        f"{OBJECTIVE}\nShip it.",
        f"{OBJECTIVE}\nShip it.\n\n---\n\n[Recent Summary (d0, node 42)]\nThe tokens were",
    ],
)
def test_what_only_begins_as_another_engines_summary_is_no_handoff(text: str) -> None:
    assert kinds(text) == [("live", text)]
    assert not is_handoff({"role": "assistant", "content": text})


def test_a_result_of_a_tool_that_gives_such_summaries_is_no_handoff() -> None:
    assert not is_handoff({"role": "tool", "content": RECENT})


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "[Recent Summary (d0, node 1)]\n" + "[Expand for details: " * 100_000,
        "[Recent Summary (d0, node 1)]\nx\n[Expand for details: y]\n\n" * 30_000,
        f"{OBJECTIVE}\n" + "\n\n---\n\n[Recent Summary (d0, node 1)]\n" * 50_000,
        '<summary id="sum_1"' + " x" * 1_000_000,
        "[Recent Summary (d0, node 1)]\n" + "[Expand for details: x]   \n" * 100_000,
    ],
)
def test_long_texts_of_other_engines_are_read_in_no_time(text: str) -> None:
    assert within(2, split, text)


def test_a_request_that_an_engine_repeats_is_summarised_without_the_engines_line() -> None:
    messages = [{"role": "user", "content": f"{OBJECTIVE}\nShip it.\n\n---\n\n{RECENT}"}]
    messages += [{"role": ("assistant", "user")[n % 2], "content": f"{n} " + "word " * 300} for n in range(40)]
    planned = compaction.plan(messages, compaction.Policy(context_window=20_000), len)
    request = request_of(planned)
    assert request.previous_summary == ROTATED
    assert "Ship it." in request.digest
    assert OBJECTIVE not in request.digest


@pytest.mark.parametrize(
    ("text", "flagged", "engine"),
    [
        (handoff_text(f"{BY_ENGINE}\n\n{BODY}"), True, True),
        (handoff_text(f"{BY_ENGINE}\n\n{BODY}", "plain"), False, True),
        (f"{BY_ENGINE}\n\n{BODY}", True, True),  # pi's and OpenClaw's own record
        (f"{SUMMED_UP_START}{BY_ENGINE}\n\n{BODY}{SUMMED_UP_END}", True, True),
        (handoff_text(f"{PRUNE_SENTENCE} And more."), True, True),
        (handoff_text(BODY), True, False),
        (handoff_text(f"{BODY}\n{BY_ENGINE}"), True, False),  # somebody quoted it
        (f"{LONG}\n{BODY}\n\n{END_MARKER}", True, False),
    ],
)
def test_what_another_program_had_this_engine_make(text: str, flagged: bool, engine: bool) -> None:
    [part] = split(text, flagged)
    assert is_by_engine(part.directive, part.text) is engine
    assert not part.text.startswith(BY_ENGINE), "a later summary does not carry it on"
