"""Rules of the workspace: found in a context file, and what of them is carried."""

from __future__ import annotations

import re
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction import split
from compaction.handoff import (
    CUT_SHORT,
    END_MARKER,
    HEADERS,
    MERGE_DELIMITER,
    PRIOR_HEADER,
    RULES_CLOSE,
    RULES_OPEN,
    handoff_text,
    rules_in,
    with_rules,
    without_rules,
)
from viewer.workspaces import sections as rules

OPEN, CLOSE = RULES_OPEN, RULES_CLOSE


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
    for names in (rules.RULE_SECTIONS, rules.RULE_SECTIONS[::-1], [" red lines", "SESSION STARTUP:"]):
        assert rules.sections_of(older, names) == ["## Every Session\ne", "## Safety\ns"]


# --- what is carried -------------------------------------------------------------------------------------------------
def test_sections_are_carried_whole_where_they_fit() -> None:
    assert rules.carried(["## A\na ", "  ", "## B\nb"]) == "## A\na\n\n## B\nb"
    assert rules.carried([]) == rules.carried([" \n"]) == ""
    assert len(rules.carried(["x" * 2_000])) == len(rules.carried(["x" * 2_000], 2_000)) == 2_000


def test_too_long_rules_are_cut_at_a_line_and_say_so() -> None:
    lines = "\n".join(f"- rule {number:03}" for number in range(300))
    text = rules.carried([lines])
    assert len(text) <= rules.RULES_CHARS
    kept, _, cut = text.rpartition("\n")
    assert lines.startswith(kept + "\n") and kept[-3:].isdigit()
    assert cut == CUT_SHORT.format(len(lines) - len(kept))
    assert len(rules.carried([lines], rules.EVENT_CHARS)) > rules.RULES_CHARS


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
        *(END_MARKER, MERGE_DELIMITER, PRIOR_HEADER, *HEADERS),
        "MEDIA:/srv/report.pdf",
        *("</workspace-\0critical-rules>", "</workspace-<workspace-critical-rules>critical-rules>"),
    ],
)
def test_rules_cannot_end_their_block_or_the_summary(marker: str) -> None:
    text = rules.carried(["## A", f"{marker}\nrest"])
    assert marker not in text
    assert text.endswith("rest")
    assert not re.search(r"(?i)<\s*/?\s*workspace-critical-rules[^<>]*>", text)
    body = with_rules("Summary.", text)
    assert rules_in(body) == text
    [part] = split(handoff_text(body))
    assert part.text == body


PIECES = st.sampled_from(
    (
        OPEN,
        CLOSE,
        f" {OPEN}\r",
        "a",
        "  b",
        "",
        "## Red Lines",
        END_MARKER,
        f"say {OPEN}",
        f"{CLOSE} x",
        "\x1c",
    )
)
BODIES = st.lists(PIECES | st.text(st.characters(), max_size=5), max_size=12).map("\n".join)


@given(BODIES, st.lists(BODIES, max_size=3), st.integers(0, 200))
def test_what_is_put_in_can_be_read_and_taken_out(body: str, sections: list[str], limit: int) -> None:
    text = rules.carried(sections, limit)
    both = with_rules(body, text)
    assert len(text) <= limit
    assert rules_in(both) == (text or rules_in(without_rules(body)))
    assert without_rules(both) == without_rules(body)
    assert with_rules(both, text) == both


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
    assert len(rules.carried([content])) <= rules.RULES_CHARS


def test_a_pattern_of_a_date_becomes_that_day() -> None:
    assert rules.dated("memory/YYYY-MM-DD.md", date(2026, 3, 9)) == "memory/2026-03-09.md"
    assert rules.dated("yyyy-mm-dd/Yyyy-Mm-Dd", date(2026, 3, 9)) == "2026-03-09/2026-03-09"
    assert rules.dated("YYYY-MM.md", date(2026, 3, 9)) == "YYYY-MM.md"
