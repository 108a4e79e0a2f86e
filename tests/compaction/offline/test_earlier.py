"""An earlier summary lives on: its lines travel, what may no longer be so is told as earlier, and its making is not."""

from __future__ import annotations

import pytest

from compaction import Policy, offline
from compaction.sections import DONE, FOUND, INTENT, LEFT, NAMES, SAID, STANDING, read_back
from tests.compaction.offline.summaries import request, sections, step, taken_apart
from tests.compaction.transcripts import compacted_by, count, exchange, reply, result, system, user

HAPPENED = [
    "User asked: 'Where is order B-20918?'", "Order B-20918 is in Ghent.", "/srv/app/orders.py",
    "USER: Where is order B-20918?", "ENOSPC no space left", "Order B-20918 is still outstanding.",
]  # fmt: skip
# The first words of their own lines, by the version that writes them.
OF_019 = """\
Recovered from a deterministic fallback because the LLM context summarizer was unavailable.
Previous compaction summary was present and should still be treated as background continuity context
- This fallback was generated locally without an LLM summary call.
- Secrets and credentials were redacted before preservation.
- The summary may be incomplete; prefer verifying current files
1. Called tool(s): terminal, read_file
None recoverable from compacted turns.
Unknown from deterministic fallback. Inspect current repository/session state if needed.
Unknown from deterministic fallback — the latest user ask is recorded once under
"## Historical Task Snapshot" above as historical context only. Do NOT treat it as an
unfulfilled instruction to re-answer; verify current state and continue from the
protected recent messages after this summary.
None.
None recoverable from deterministic fallback. (The latest user ask is preserved once
under "## Historical Task Snapshot" as historical context — it is NOT necessarily
outstanding.)
Continue from the most recent unfulfilled user ask and protected tail messages.
Summary generation was unavailable, so this is a best-effort deterministic fallback for 9 compacted message(s).
...[fallback summary truncated]"""
OF_022 = """\
None. This session contains no user-authored turns.
The previous compaction summary above remains background continuity context because the latest update failed.
(Exact identifiers from the compacted region — use these verbatim
(Every real user message from the compacted region, quoted verbatim.
The 12 compacted message(s) remain fully preserved in session history.
(The listed skills' instructions were pruned during context compression."""
CUT = "Unknown from deterministic fall⟪HERMES-CONTEXT-COMPRESSION: 1,066 of 8,971 chars omitted ...⟫"


@pytest.mark.parametrize("boilerplate", [OF_019, OF_022, CUT])
def test_what_only_says_how_a_summary_was_made_is_left_out(boilerplate: str) -> None:
    lines = [line for own in boilerplate.splitlines() for line in ("## Goal", own)]
    found = read_back("\n".join([*lines, "## Completed Actions", *HAPPENED]))
    assert [line for lines in found.values() for line in lines] == HAPPENED


def test_headings_of_other_summarisers_are_read_back() -> None:
    hermes = (
        "## Historical Task Snapshot\nUser asked: 'Fix it.'\n\n## Constraints & Preferences\n- Only use tabs.\n\n"
        "## Completed Actions\n1. Ran ls\n\n## Critical Context\nThe port is 8080.\n\n## Blocked\nNone.\n\n"
        "## Key Decisions\n- Keep the old parser.\n\n## Historical Pending User Asks\n- Which port?"
    )
    found = read_back(hermes)
    assert found[INTENT] == ["[earlier] User asked: 'Fix it.'"] and found[STANDING] == ["Only use tabs."]
    assert found[DONE] == ["Ran ls"] and found[FOUND] == ["[earlier] Keep the old parser."]
    assert found[LEFT] == ["[earlier] The port is 8080.", "[earlier] Which port?"]
    claude = "1. Primary Request and Intent:\n   Fix the login.\n\n7. Pending Tasks:\n   - write the docs"
    claude += "\n\n9. Optional Next Step:\n   - run it"
    found = read_back(claude)
    assert found[INTENT] == ["[earlier] Fix the login."]
    assert found[LEFT] == ["[earlier] write the docs", "[earlier] run it"]


def test_the_lines_of_a_summary_of_ours_come_back_as_they_were() -> None:
    turns = [user("Mend the door.\nAnd the window."), *step("a", "Edit", {"file_path": "/srv/a.py", "new_string": "x"})]
    first = sections([*turns, reply("The hinge broke because it was too long.\n- the door is mended"), user("Good.")])
    text = offline.summarize(
        request([*turns, reply("The hinge broke because it was too long.\n- the door is mended"), user("Good.")])
    )
    again = sections([user("Now the roof.")], previous_summary=text)
    assert (
        again[SAID][: len(first[SAID])] == first[SAID] and again[DONE] == first[DONE] and again[FOUND] == first[FOUND]
    )


def test_what_was_next_in_an_earlier_summary_is_told_as_earlier() -> None:
    earlier = "## Next step\n- complete part six"
    found = sections(
        [user("Go on."), *step("a", "close", {"part": "six"}), reply("Part six is closed.")], previous_summary=earlier
    )
    assert found[LEFT] == ["- [earlier] complete part six"]
    again = sections([user("And now?")], previous_summary="## Left and next\n- [earlier] complete part six")
    assert again[LEFT] == ["- [earlier] complete part six"], "said once"


def test_the_plan_of_an_earlier_summary_goes_on_until_there_is_a_newer_one() -> None:
    earlier = "## Plan\n- [x] Write the parser\n- [ ] Test the parser"
    assert sections([reply("Working.")], previous_summary=earlier)[LEFT] == [
        "- [earlier] [x] Write the parser", "- [earlier] [ ] Test the parser",
    ]  # fmt: skip
    newer = step("a", "TodoWrite", {"todos": [{"content": "Ship it", "status": "pending"}]})
    assert sections(newer, previous_summary=earlier)[LEFT] == ["- [ ] Ship it"]


def test_what_was_asked_before_is_open_until_it_is_answered() -> None:
    earlier = "## Intent\n- [x] Build the shed\n- [ ] Paint the door"
    working = sections([reply("", "a"), result("a")], previous_summary=earlier)
    assert working[INTENT] == ["- [answered] Build the shed", "- [open] Paint the door"]
    answered = sections([reply("The door is painted.")], previous_summary=earlier)
    assert answered[INTENT] == [
        "- [answered] Build the shed",
        "- [open] Paint the door",
        "  Agent: The door is painted.",
    ]
    later = "\n".join(["## Intent", *answered[INTENT]])
    assert sections([user("Now the roof, please.")], previous_summary=later)[INTENT] == [
        "- [answered] Build the shed", "- [open] Now the roof, please.",
    ]  # fmt: skip
    thanked = sections([user("Thanks!")], previous_summary=later)
    assert thanked[INTENT] == ["- [answered] Build the shed", "- [answered] Paint the door"]


def test_what_was_done_before_an_earlier_summary_is_not_forgotten_all_at_once() -> None:
    earlier = "## Done\n" + "\n".join(f"- Cancelled reservation OLD{n}" for n in range(40))
    turns = [user("Go on.")]
    for n in range(60):
        turns += step(f"c{n}", "Bash", {"command": f"make part-{n}"}, f"built part {n} of the whole thing, all is well")
    lines = sections(turns, previous_summary=earlier, budget_tokens=900)[DONE]
    assert sum("OLD" in line for line in lines) >= 4 and sum("Ran" in line for line in lines) >= 12
    assert "- Cancelled reservation OLD39" in lines, "the newest of them"


def test_names_of_an_earlier_summary_are_carried_with_their_labels() -> None:
    earlier = "## Names\n- files in /srv/app/src: a.py b.py c.py\n- user_id: mia_li_3668"
    found = sections([user("Go on."), reply("ok")], previous_summary=earlier)
    assert found[NAMES] == ["- files in /srv/app/src: a.py b.py c.py", "- user_id: mia_li_3668"]


def test_an_earlier_summary_alone_is_carried() -> None:
    assert sections([], previous_summary="## Done\n- Built the shed")[DONE] == ["- Built the shed"]


def test_of_files_that_another_agent_describes_the_names_are_carried() -> None:
    described = (
        "## Files\n- **`/srv/shop/basket.py`** — new: the merge.\n  ```python\n  def merge(a, b):\n      return a"
    )
    found = sections([user("Go on."), reply("ok")], previous_summary=described)
    assert found[NAMES] == ["- files: /srv/shop/basket.py"]


def test_a_second_summary_with_room_for_the_first_keeps_what_that_said() -> None:
    turns = [row for n in range(30) for row in (user(f"What of box {n}?"), reply(f"Box {n} is in hall {n * 7}."))]
    first = offline.summarize(request(turns, budget_tokens=1_200))
    more = [row for n in range(30, 40) for row in (user(f"What of box {n}?"), reply(f"Box {n} is in hall {n * 7}."))]
    second = offline.summarize(request(more, previous_summary=first, budget_tokens=count(first) + 500))
    lines = [line for line in first.splitlines() if line.startswith("- Agent")]
    assert sum(line in second for line in lines) >= 0.7 * len(lines) > 10


def test_summaries_of_summaries_do_not_grow() -> None:
    summary, sizes = "", []
    for step_ in range(12):
        turns = [*exchange(10, first=step_ * 10), user("Never book anything without asking me."), reply("Noted.")]
        summary = offline.summarize(request(turns, previous_summary=summary, budget_tokens=800))
        sizes.append(count(summary))
    assert max(sizes) <= 800 and summary.count("Never book anything without asking me.") == 1


def test_what_stood_before_an_earlier_summary_is_older_than_it() -> None:
    """The start of a session stays until the second compaction: it is not what people said last."""
    talk = [
        system("s"), user("Build the parser. Answer in French."), reply("I start."),
        user("Answer in German from now on."), reply("Ja."),
        user("Add CSV export to the parser."), reply("CSV export is added in csv.py."), *exchange(20, size=300),
    ]  # fmt: skip
    policy = Policy(context_window=16_000)
    made = compacted_by(talk, policy, offline.summarize, count)
    for round_ in range(2):
        made = compacted_by([*made.messages, *exchange(20 + round_, size=300)], policy, offline.summarize, count)
        found = taken_apart(made.summary)
        assert found[STANDING] == ["- Answer in German from now on."]
        assert not [line for line in found[INTENT] if line.startswith("- [open] Build")]


def test_what_a_harness_says_binds_nobody() -> None:
    nudge = "No tool calls found. Every response needs to use the 'bash' tool at least once."
    turns = [user("Draw the scale.")]
    for n in range(4):
        turns += [user(nudge), reply("", f"c{n}"), result(f"c{n}")]
    assert not sections(turns)[STANDING]


def test_what_another_summariser_says_of_the_moment_is_marked_as_earlier_and_what_is_ours_is_not() -> None:
    theirs = (
        "1. Primary Request and Intent:\n   Implement spotter-gqc.\n\n4. Problem Solving:\n   - the build fails\n\n"
        "5. Completed work:\n   - closed gqc.5\n\n7. Pending Tasks:\n   - complete gqc.6"
    )
    found = sections([user("Go on."), *step("a", "close", {"id": "gqc.6"}, "Closed gqc.6")], previous_summary=theirs)
    assert "- [earlier] Implement spotter-gqc." in found[INTENT] and found[FOUND] == ["- [earlier] the build fails"]
    assert found[LEFT] == ["- [earlier] complete gqc.6"] and "- closed gqc.5" in found[DONE]
    ours = f"## {INTENT}\n- [open] Mend the door.\n\n## {FOUND}\n- The hinge broke because of rust."
    again = sections([reply("", "a"), result("a")], previous_summary=ours)
    assert again[INTENT] == ["- [open] Mend the door."] and again[FOUND] == ["- The hinge broke because of rust."]


def test_what_an_earlier_summary_has_as_done_is_a_line_each_and_short() -> None:
    theirs = (
        f"## Completed Actions\n- Mended the door:\n  the hinge\n  ```\n  make door\n  ```\n- Painted {'it ' * 200}"
    )
    found = sections([user("Go on.")], previous_summary=theirs)[DONE]
    assert found[:3] == ["- Mended the door:", "- the hinge", "- make door"]
    assert len(found) == 4 and len(found[3]) <= 302
