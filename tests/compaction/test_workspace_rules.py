"""Rules of the workspace: found, carried, told to the next turn, and checked."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction import Message, protocol, split
from compaction import workspace_rules as rules
from compaction.reads import Read
from compaction.workspace_rules import Finding, Requirement, TurnSpan

OPEN, CLOSE = protocol.RULES_OPEN, protocol.RULES_CLOSE


# --- sections --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("## Red Lines\nNo.", ["## Red Lines\nNo."]),
        ("### Red Lines\nNo.", ["### Red Lines\nNo."]),
        ("# Red Lines\nNo.", []),
        ("#### Red Lines\nNo.", []),
        ("##Red Lines\nNo.", []),
        ("Red Lines\nNo.", []),
        ("## red LINES \t\nNo.", ["## red LINES \t\nNo."]),
        ("##\tRed Lines\nNo.", ["##\tRed Lines\nNo."]),
        ("##   Red Lines ##\nNo.", ["##   Red Lines ##\nNo."]),
        ("## Red Lines #####  \nNo.", ["## Red Lines #####  \nNo."]),
        ("## Red Lines##\nNo.", []),
        ("## **Red Lines**\nNo.", ["## **Red Lines**\nNo."]),
        ("## _Red  Lines:_\nNo.", ["## _Red  Lines:_\nNo."]),
        ("## Red Lines: ##\nNo.", ["## Red Lines: ##\nNo."]),
        ("## `Red Lines`:\nNo.", ["## `Red Lines`:\nNo."]),
        ("## **Red** Lines\nNo.", []),
        ("## Red Lines: none\nNo.", []),
        ("## **Red Lines*\nNo.", []),
        ("   ## Red Lines\nNo.", ["## Red Lines\nNo."]),
        ("    ## Red Lines\nNo.", []),
        ("\t## Red Lines\nNo.", []),
        ("## My Red Lines\nNo.", []),
        ("## Red Lines today\nNo.", []),
        ("## Red Lines", ["## Red Lines"]),
        ("\ufeff## Red Lines\nNo.", ["## Red Lines\nNo."]),
        ("## Red Lines\n\n\nNo.\n\n\n", ["## Red Lines\n\n\nNo."]),
        ("## Red Lines\r\nNo.\r\n## B\r\n", ["## Red Lines\nNo."]),
        ("## Red Lines\rNo.\r## B\r", ["## Red Lines\nNo."]),
        ("## Red Lines\nNo.\n## B\nx", ["## Red Lines\nNo."]),
        ("## Red Lines\nNo.\n# B\nx", ["## Red Lines\nNo."]),
        ("## Red Lines\nNo.\n##\nx", ["## Red Lines\nNo."]),
        ("## Red Lines\nNo.\n### B\nx\n#### C\ny\n## D", ["## Red Lines\nNo.\n### B\nx\n#### C\ny"]),
        ("### Red Lines\nNo.\n#### B\nx\n### C", ["### Red Lines\nNo.\n#### B\nx"]),
        ("### Red Lines\nNo.\n## B", ["### Red Lines\nNo."]),
        ("### Red Lines\nNo.\n# B", ["### Red Lines\nNo."]),
        ("## Red Lines\nfirst\n## Red Lines\nsecond", ["## Red Lines\nfirst"]),
        ("## Red Lines\nNo.\n    ## not a heading\n", ["## Red Lines\nNo.\n    ## not a heading"]),
        ("", []),
    ],
)
def test_sections(content: str, expected: list[str]) -> None:
    assert rules.extract_sections(content, ["Red Lines"]) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("```\n## Red Lines\n```\n## Red Lines\nNo.", ["## Red Lines\nNo."]),
        ("~~~\n## Red Lines\n~~~", []),
        ("## Red Lines\n```sh\n## B\n```\nNo.\n## C", ["## Red Lines\n```sh\n## B\n```\nNo."]),
        ("## Red Lines\n````\n```\n## B\n```\n````\n## C", ["## Red Lines\n````\n```\n## B\n```\n````"]),
        ("## Red Lines\n```\n~~~\n## B\n~~~\n```\n## C", ["## Red Lines\n```\n~~~\n## B\n~~~\n```"]),
        ("## Red Lines\n```\n``` sh\n## B\n```\n## C", ["## Red Lines\n```\n``` sh\n## B\n```"]),
        ("## Red Lines\n```\n## B\n`````  \n## C", ["## Red Lines\n```\n## B\n`````"]),
        ("## Red Lines\n~~~ `x`\n## B\n~~~\n## C", ["## Red Lines\n~~~ `x`\n## B\n~~~"]),
        ("## Red Lines\n``` `x`\n## B\n```\n## C\n```", ["## Red Lines\n``` `x`"]),
        ("## Red Lines\n   ```\n## B\n  ```\n## C", ["## Red Lines\n   ```\n## B\n  ```"]),
        ("## Red Lines\n    ```\n## B\n    ```", ["## Red Lines\n    ```"]),
        ("<!--\n## Red Lines\nold\n-->\n## Red Lines\nNo.", ["## Red Lines\nNo."]),
        ("<!-- ## Red Lines -->\n## Red Lines\nNo.", ["## Red Lines\nNo."]),
        ("## Red Lines\n<!--\n## B\n```\n--> x\nNo.\n```\n## C", ["## Red Lines\n<!--\n## B\n```\n--> x\nNo.\n```"]),
        ("```\n<!--\n```\n## Red Lines\n-->\nNo.", ["## Red Lines\n-->\nNo."]),
        ("<!-- never closed\n## Red Lines\nNo.", ["## Red Lines\nNo."]),
        ("a <!-- b\n## Red Lines\n-->", ["## Red Lines\n-->"]),
        ("```\nnever closed\n## Red Lines\nNo.", ["## Red Lines\nNo."]),
        ("## Red Lines\n```\nNo.\n## B", ["## Red Lines\n```\nNo."]),
        ("````\n```\n## Red Lines\nNo.", ["## Red Lines\nNo."]),
        ("```\nx\n```\n```\n## Red Lines\nNo.", ["## Red Lines\nNo."]),
        ("````\nx\n## Red Lines\nNo.\n```", ["## Red Lines\nNo.\n```"]),
    ],
)
def test_code_and_comments_are_kept_and_not_read(content: str, expected: list[str]) -> None:
    assert rules.extract_sections(content, ["Red Lines"]) == expected


def test_a_name_may_be_written_as_its_heading_is() -> None:
    assert rules.extract_sections("## Red Lines\nNo.", ["**Red Lines:**"]) == ["## Red Lines\nNo."]
    assert rules.named_files(rules.sections_of("## **Session Startup**:\nRead `a.md`.")) == ("a.md",)


def test_sections_come_in_the_order_of_the_names() -> None:
    content = "## B\nb\n## A\na"
    assert rules.extract_sections(content, ["A", " b ", "C", "a"]) == ["## A\na", "## B\nb"]
    assert rules.extract_sections(content, []) == []


def test_older_names_stand_in_for_the_default_ones() -> None:
    older = "## Safety\ns\n## Every Session\ne"
    assert rules.sections_of(older) == ["## Every Session\ne", "## Safety\ns"]
    assert rules.sections_of(f"{older}\n## Red Lines\nr") == ["## Red Lines\nr"]
    assert rules.sections_of(older, ["Session Startup"]) == []
    assert rules.sections_of(older, ["Safety"]) == ["## Safety\ns"]
    for names in (protocol.RULE_SECTIONS, protocol.RULE_SECTIONS[::-1], [" red lines", "SESSION STARTUP:"]):
        assert rules.sections_of(older, names) == ["## Every Session\ne", "## Safety\ns"]


# --- what is carried -------------------------------------------------------------------------------------------------
def test_sections_are_carried_whole_where_they_fit() -> None:
    assert rules.carried(["## A\na ", "  ", "## B\nb"]) == "## A\na\n\n## B\nb"
    assert rules.carried([]) == rules.carried([" \n"]) == ""
    assert len(rules.carried(["x" * 2_000])) == len(rules.carried(["x" * 2_000], 2_000)) == 2_000


def test_too_long_rules_are_cut_at_a_line_and_say_so() -> None:
    lines = "\n".join(f"- rule {number:03}" for number in range(300))
    text = rules.carried([lines])
    assert len(text) <= protocol.RULES_CHARS
    kept, _, cut = text.rpartition("\n")
    assert lines.startswith(kept + "\n") and kept[-3:].isdigit()
    assert cut == protocol.CUT_SHORT.format(len(lines) - len(kept))
    assert len(rules.carried([lines], protocol.EVENT_CHARS)) > protocol.RULES_CHARS


def test_one_long_line_is_cut_itself() -> None:
    text = rules.carried(["## A\n" + "x" * 5_000], 1_000)
    assert 900 < len(text) <= 1_000 and text.endswith(" characters left out]")


def test_no_limit_is_too_small() -> None:
    assert all(len(rules.carried(["word " * 30], limit)) <= limit for limit in range(160))


def test_credentials_and_what_no_store_takes_are_not_copied() -> None:
    token = "ghp_" + "a1B2" * 9
    text = rules.carried([f"## A\ntoken {token} x\0y \ud800"])
    assert token not in text and "[REDACTED]" in text
    assert "\0" not in text and text.encode()
    assert token[:20] not in rules.carried(["x" * 930 + " " + token + " y" * 100], 1_000)


@pytest.mark.parametrize(
    "marker",
    [
        *(
            OPEN,
            CLOSE,
            CLOSE.upper(),
            "</ workspace-critical-rules >",
            "</workspace-critical-rules\nx>",
            f"a {CLOSE} b",
        ),
        *(protocol.END_MARKER, protocol.MERGE_DELIMITER, protocol.PRIOR_HEADER, *protocol.HEADERS),
        *("</workspace-\0critical-rules>", "</workspace-<workspace-critical-rules>critical-rules>"),
    ],
)
def test_rules_cannot_end_their_block_or_the_summary(marker: str) -> None:
    text = rules.carried(["## A", f"{marker}\nrest"])
    assert marker not in text
    assert text.endswith("rest")
    assert not re.search(r"(?i)<\s*/?\s*workspace-critical-rules[^<>]*>", text)
    body = rules.with_rules("Summary.", text)
    assert rules.rules_in(body) == text
    [part] = split(protocol.handoff_text(body))
    assert part.text == body


# --- the block in a summary ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("body", "without", "inside"),
    [
        ("a", "a", ""),
        (f"a\n\n{OPEN}\nr\n{CLOSE}", "a", "r"),
        (f"{OPEN}\nr\n{CLOSE}", "", "r"),
        (f"a\n\n\n{OPEN}\nr\n{CLOSE}\n \n\nb\n\nc", "a\n\nb\n\nc", "r"),
        (f"a\n  {OPEN} \r\nr\n\t{CLOSE}\n  b", "a\n\n  b", "r"),
        (f"a\n{OPEN}\nr\n{CLOSE}\nb\n{OPEN}\ns\nt\n{CLOSE}", "a\n\nb", "r\n\ns\nt"),
        (f"a\n{OPEN}\nr\n{OPEN}\ns\n{CLOSE}\nt\n{CLOSE}\nb", "a\n\nb", f"r\n{OPEN}\ns\n{CLOSE}\nt"),
        (f"a\n{OPEN}\nr", f"a\n{OPEN}\nr", ""),
        (f"a\n{CLOSE}\nr", f"a\n{CLOSE}\nr", ""),
        (f"a\n{CLOSE}\n{OPEN}\nr", f"a\n{CLOSE}\n{OPEN}\nr", ""),
        (f"a {OPEN}\nr\n{CLOSE}", f"a {OPEN}\nr\n{CLOSE}", ""),
        (f"a\n{OPEN}\nr\nsee {CLOSE}.", f"a\n{OPEN}\nr\nsee {CLOSE}.", ""),
        (f"a\n{OPEN}\nb\n{OPEN}\nr\n{CLOSE}", f"a\n{OPEN}\nb", "r"),
        ("", "", ""),
    ],
)
def test_a_block_is_taken_out_whole(body: str, without: str, inside: str) -> None:
    assert rules.without_rules(body) == without
    assert rules.rules_in(body) == inside


def test_rules_stand_last_and_once() -> None:
    once = rules.with_rules("a\n", "r")
    assert once == f"a\n\n{OPEN}\nr\n{CLOSE}"
    assert rules.with_rules(once, "s") == f"a\n\n{OPEN}\ns\n{CLOSE}"
    assert rules.with_rules(once, "") == "a"
    assert rules.with_rules("", "r") == rules.block("r")
    assert rules.block("") == ""


PIECES = st.sampled_from(
    (
        OPEN,
        CLOSE,
        f" {OPEN}\r",
        "a",
        "  b",
        "",
        "## Red Lines",
        protocol.END_MARKER,
        f"say {OPEN}",
        f"{CLOSE} x",
        "\x1c",
    )
)
BODIES = st.lists(PIECES | st.text(st.characters(), max_size=5), max_size=12).map("\n".join)


@given(BODIES, st.lists(BODIES, max_size=3), st.integers(0, 200))
def test_what_is_put_in_can_be_read_and_taken_out(body: str, sections: list[str], limit: int) -> None:
    text = rules.carried(sections, limit)
    both = rules.with_rules(body, text)
    assert len(text) <= limit
    assert rules.rules_in(both) == (text or rules.rules_in(rules.without_rules(body)))
    assert rules.without_rules(both) == rules.without_rules(body)
    assert rules.with_rules(both, text) == both


# --- files that the rules name ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Read `SOUL.md`, then `USER.md`.", ["SOUL.md", "USER.md"]),
        ("Read SOUL.md, USER.md; then (TOOLS.md).", ["SOUL.md", "USER.md", "TOOLS.md"]),
        ("**SOUL.md** and **`USER.md`**, *a.md*: _b.md_ **Read c.md**", ["SOUL.md", "USER.md", "a.md", "b.md", "c.md"]),
        ("`memory/YYYY-MM-DD.md` (today)", ["memory/YYYY-MM-DD.md"]),
        ("[the guide](docs/my%20guide.md#start) and [x](<a b.md>)", ["docs/my guide.md", "a b.md"]),
        ('[`SOUL.md`](./SOUL.md "Soul")', ["./SOUL.md"]),
        ("[SOUL.md](https://example.com/SOUL.md) or [x](mailto:a@b.md)", []),
        ("see https://example.com/a.md or http://b.md", []),
        ("example.com docs.example.org/a.md www.x.io", []),
        ("`cat ./SOUL.md && git status`", ["./SOUL.md"]),
        ("run `python tools/start.py --config=conf/a.toml -v`", ["tools/start.py", "conf/a.toml"]),
        ("`*.md` memory/*.md a?.md <name>.md {a,b}.md $HOME/a.md", []),
        ("`--flag.md` -x.md", []),
        ("v1.2.3, 2.0, e.g. i.e. 3.5k etc. and/or ...", []),
        ("`Makefile` `docs/START` `.env` `git` `main` `HEARTBEAT`", ["Makefile", "docs/START", ".env", "HEARTBEAT"]),
        ("SOUL.md `SOUL.md` ./SOUL.md", ["SOUL.md"]),
        (
            "`C:\\ws\\a.md` \\\\srv\\b.md ~/c.md /d.md ../e.md",
            ["C:\\ws\\a.md", "\\\\srv\\b.md", "~/c.md", "/d.md", "../e.md"],
        ),
        ("@docs/rules.md someone@example.md", ["docs/rules.md"]),
        ("请先阅读“记忆.md”、`灵魂.md`。", ["记忆.md", "灵魂.md"]),
        ("| file | why |\n|---|---|\n| SOUL.md | x |", ["SOUL.md"]),
        ("```\ncat SOUL.md\n```", ["SOUL.md"]),
        ("_index.md .hermes.md archive.tar.gz", ["_index.md", ".hermes.md", "archive.tar.gz"]),
        ("Never read `secrets.md` here. Read SOUL.md", ["SOUL.md"]),
        ("Don't open .ssh/config.md, b.md! SOUL.md", ["SOUL.md"]),
        ("Do not answer before you have read SOUL.md.", ["SOUL.md"]),
        ("If you have not read `SOUL.md` yet, or haven't read b.md, do.", ["SOUL.md", "b.md"]),
        ("Do not read a.md; read SOUL.md", ["SOUL.md"]),
        ("x" * 3_000 + " SOUL.md", []),
    ],
)
def test_named_files(line: str, expected: list[str]) -> None:
    assert list(rules.named_files([f"## Session Startup\n{line}"])) == expected


def test_only_the_startup_sections_name_files() -> None:
    sections = ["## Red Lines\na.md", "### every session ##\nb.md\n#### More\nc.md", "## x.md\nd.md", "e.md", ""]
    assert rules.named_files(sections) == ("b.md", "c.md")


def test_at_most_twenty_files_are_named() -> None:
    many = "\n".join(f"- f{number}.md" for number in range(50))
    assert rules.named_files([f"## Session Startup\n{many}"]) == tuple(f"f{number}.md" for number in range(20))


@given(st.text(st.sampled_from("`[]()<>*_./\\:@-# \na.mdY") | st.characters(), max_size=80))
def test_any_text_is_searched_for_files(text: str) -> None:
    assert all(name and "\n" not in name for name in rules.named_files([f"## Session Startup\n{text}"]))


@pytest.mark.parametrize(
    "piece", ["[", "`", "[](", "never read ", "a.", "`a.md` ", "*_", "``` \n", "## a\n", "never read a."]
)
def test_a_large_file_is_searched_in_time(piece: str) -> None:
    content = "## Session Startup\n" + piece * (50_000 // len(piece))
    assert rules.named_files(rules.sections_of(content)) in ((), ("a.md",))
    assert len(rules.carried([content])) <= protocol.RULES_CHARS


def test_a_pattern_of_a_date_becomes_that_day() -> None:
    assert rules.dated("memory/YYYY-MM-DD.md", date(2026, 3, 9)) == "memory/2026-03-09.md"
    assert rules.dated("yyyy-mm-dd/Yyyy-Mm-Dd", date(2026, 3, 9)) == "2026-03-09/2026-03-09"
    assert rules.dated("YYYY-MM.md", date(2026, 3, 9)) == "YYYY-MM.md"


# --- texts for the next turn -----------------------------------------------------------------------------------------
# What content filters and scanners for injected prompts look for: orders, haste, overrides, calls to hide or to run.
SCANNED = re.compile(
    r"ignor|disregard|overrid|overrul|must|immediate|urgent|execut|important|warning|critical(?!-rules)|mandatory"
    r"|require|instruction|prompt|obey|comply|command|secret|hidden|do not tell|pretend|you are now|act as|jailbreak"
    r"|bypass|password|at once|right now|curl|https?:|eval|sudo|force|violat|⚠|!|check[- ]?in|\byou\b|\byour\b",
    re.IGNORECASE,
)
CAPITALS = re.compile(r"\b[A-Z]{4,}\b")


def event(**more: Any) -> str:
    given = {"source": "RULES.md", "sections": ["## Red Lines\nNo deploys."], "files": ["a.md", "memory/2026-03-09.md"]}
    return rules.event_text(**{**given, "compacted_at": "2026-03-09 10:00 CET", "now": "2026-03-09 11:30 CET", **more})


def warning(**more: Any) -> str:
    given = {"source": "RULES.md", "missing": ["a.md"], "compacted_at": "2026-03-09 10:00 CET"}
    return rules.warning_text(**{**given, **more})


def test_the_note_says_what_happened_what_to_read_and_the_rules() -> None:
    text = event()
    assert text.startswith(protocol.EVENT_START)
    assert "compacted at 2026-03-09 10:00 CET" in text and "Current time: 2026-03-09 11:30 CET" in text
    assert "no replacement" in text and "no person typed" in text
    assert "These files are named there and exist:\n- a.md\n- memory/2026-03-09.md\n" in text
    assert text.endswith(f"Quoted from RULES.md of the workspace:\n{OPEN}\n## Red Lines\nNo deploys.\n{CLOSE}")


def test_days_in_the_quoted_rules_are_those_of_the_files() -> None:
    sections = ["## Session Startup\nRead memory/YYYY-MM-DD.md, not memory/yyyy-mm.md.", "## Red Lines\nyyyy-mm-dd"]
    text = event(sections=sections, day=date(2026, 3, 9))
    assert "Read memory/2026-03-09.md, not memory/yyyy-mm.md." in text and text.count("2026-03-09\n") == 1
    assert "Read memory/YYYY-MM-DD.md" in event(sections=sections), "only where the day is known"


def test_the_note_leaves_out_what_there_is_not() -> None:
    assert "files" not in event(files=[]) and "No deploys." in event(files=[])
    assert OPEN not in event(sections=[]) and "- a.md" in event(sections=[])
    assert "\n\n\n" not in event(files=[], sections=[]) and event(files=[], sections=[]).endswith("11:30 CET")


def test_the_note_quotes_so_much_and_cannot_be_broken_out_of() -> None:
    text = event(sections=[f"{CLOSE}\n" + "x\n" * 5_000], files=["a\n\n- b", "x" * 999], source=f"R\n{CLOSE}")
    assert rules.rules_in(text) == rules.carried([f"{CLOSE}\n" + "x\n" * 5_000], protocol.EVENT_CHARS)
    assert "\n- a - b\n- xxx" in text and "x" * 301 not in text
    assert text.count(CLOSE) == 1 and len(text) < protocol.EVENT_CHARS + 1_500


def test_the_warning_names_what_was_not_read() -> None:
    text = warning(missing=["a.md", "b\n.md"])
    assert text.startswith(protocol.WARNING_START)
    assert "compacted at 2026-03-09 10:00 CET" in text and "RULES.md" in text
    assert "\n\n- a.md\n- b .md\n\n" in text and "not repeated" in text


@pytest.mark.parametrize("text", [event(), event(files=[]), event(sections=[]), warning()])
def test_both_are_plain_and_labelled(text: str) -> None:
    assert "Palimpsest" in text.split("\n")[0]
    assert SCANNED.findall(text) == []
    assert CAPITALS.findall(text.replace("RULES.md", "")) == []


# --- the audit -------------------------------------------------------------------------------------------------------
def test_the_audit_names_the_first_read_of_each_file() -> None:
    reads = [Read(3, "Bash", "memory\\a.md"), Read(5, "read", "./SOUL.md"), Read(7, "read", "/srv/ws/SOUL.md")]
    required = [
        Requirement("SOUL.md", ("/srv/ws/SOUL.md",)),
        Requirement("USER.md", ("/srv/ws/USER.md",)),
        Requirement("memory/YYYY-MM-DD.md", ("/srv/ws/memory/b.md", "/srv/ws/memory/a.md")),
        Requirement("x", ()),
    ]
    assert rules.audit(reads, required, "/srv/ws") == (
        Finding("SOUL.md", "/srv/ws/SOUL.md", reads[1]),
        Finding("USER.md", "/srv/ws/USER.md", None),
        Finding("memory/YYYY-MM-DD.md", "/srv/ws/memory/a.md", reads[0]),
        Finding("x", "", None),
    )
    assert rules.audit(reads, [], "/srv/ws") == ()


@pytest.mark.parametrize(
    ("read", "wanted", "workspace", "found"),
    [
        ("c:\\WS\\soul.MD", "c:/ws/SOUL.md", "C:\\ws", True),
        ("soul.md", "/srv/ws/SOUL.md", "/srv/ws", False),
        ("~/ws/SOUL.md", "/home/ana/ws/SOUL.md", "/home/ana/ws", True),
        ("memory/../SOUL.md", "/srv/ws/SOUL.md", "/srv/ws", True),
        ("/other/SOUL.md", "/srv/ws/SOUL.md", "/srv/ws", False),
        ("xSOUL.md", "/srv/ws/SOUL.md", "/srv/ws", False),
    ],
)
def test_the_audit_compares_files_not_spellings(read: str, wanted: str, workspace: str, found: bool) -> None:
    [finding] = rules.audit([Read(0, "read", read)], [Requirement("SOUL.md", (wanted,))], workspace, "/home/ana")
    assert (finding.read is not None) is found


# --- turns -----------------------------------------------------------------------------------------------------------
def user(content: Any = "Please.") -> Message:
    return {"role": "user", "content": content}


def says(text: str | None = "Done.", *ids: str) -> Message:
    calls = [{"id": id_, "type": "function", "function": {"name": "read_file", "arguments": "{}"}} for id_ in ids]
    return {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}


def gives(id_: str) -> Message:
    return {"role": "tool", "tool_call_id": id_, "content": "text"}


SYSTEM: Message = {"role": "system", "content": "You help."}
HANDOFF = user(protocol.handoff_text("Summary."))
AGENTS_HANDOFF = {**HANDOFF, "role": "assistant"}


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], []),
        ([user()], []),
        ([user(), says()], [(0, 2)]),
        ([SYSTEM, user(), says(), user(), says()], [(1, 3), (3, 5)]),
        ([user(), says(None, "a", "b"), gives("b"), gives("a"), says()], [(0, 5)]),
        ([user(), says(None, "a"), gives("a")], []),
        ([user(), says("Let me see.", "a"), gives("a")], []),
        ([user(), says("Let me see.", "a")], []),
        ([user(), says(" ")], []),
        ([user(), says(None, "a"), gives("a"), user(), says()], [(0, 3), (3, 5)]),
        ([user(), says(None, "a"), user()], [(0, 2)]),
        ([user(), user(), says()], [(0, 3)]),
        ([user(), says(), user(), user()], [(0, 2)]),
        ([user(), says(), user(), user(), says()], [(0, 2), (2, 5)]),
        ([says(), user(), says()], [(1, 3)]),
        ([HANDOFF, says()], []),
        ([HANDOFF, user(), says()], [(1, 3)]),
        ([user(), AGENTS_HANDOFF, user(), says()], [(0, 4)]),
        ([user(), says(), HANDOFF, user(), says()], [(0, 2), (3, 5)]),
        ([user(event()), user(), says()], [(1, 3)]),
        ([user(), says(), user(event()), user(warning()), user(), says()], [(0, 2), (4, 6)]),
        ([user(), says(), user(warning()), says(None, "a"), gives("a"), says()], [(0, 6)]),
        ([user(), says(), user("[System: a notice]")], [(0, 2)]),
        ([user(), says(), gives("late")], [(0, 3)]),
        ([user(), says(), user(), gives("late")], [(0, 2)]),
        ([user(), says(), user(), says(None, "a")], [(0, 2)]),
    ],
)
def test_turns(messages: list[Message], expected: list[tuple[int, int]]) -> None:
    assert rules.turns(messages) == [TurnSpan(*each) for each in expected]


def test_turns_of_other_shapes() -> None:
    use = {"type": "tool_use", "id": "t", "name": "Read", "input": {}}
    back = {"type": "tool_result", "tool_use_id": "t", "content": "text"}
    claude = [user(), says(), user(), {"role": "assistant", "content": [{"type": "text", "text": "See."}, use]}]
    assert rules.turns(claude) == rules.turns([*claude, user([back])]) == [TurnSpan(0, 2)]
    assert rules.turns([*claude, user([back]), says()]) == [TurnSpan(0, 2), TurnSpan(2, 6)]
    openclaw = [
        user(),
        {"role": "assistant", "content": [{"type": "text", "text": "See."}, {**use, "type": "toolCall"}]},
    ]
    assert rules.turns(openclaw) == []
    assert rules.turns([*openclaw, {"role": "toolResult", "toolCallId": "t", "content": "x"}, says()]) == [
        TurnSpan(0, 4)
    ]
    item = {"type": "function_call", "call_id": "f", "name": "shell", "arguments": "{}"}
    assert rules.turns([user(), says(), item]) == []
