"""The sections of its rules that OpenClaw's settings name, as far as these can be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.openclaw.by_hand import OpenClawByHand
from tests.agents.reading import store_of
from viewer.stores.registry import agent_of

START, END = "{agents: {defaults: {compaction: {postCompactionSections: ", "}}}}"


@pytest.mark.parametrize(
    ("said", "sections"),
    [
        ('["Red Lines", "Every Session"]', ("Red Lines", "Every Session")),
        ("[]", ()),
        ('["A", 7, null, " ", ["B"]]', ("A",)),
        ('["A", // written by a person\n "B",]', ("A", "B")),
        (f'["{"x" * 300}"]', ("x" * 200,)),
        ("[" + '"A", ' * 30 + "]", ("A",) * 20),
        ('"A"', None),
        ("null", None),
        ("[", None),
        ("[" * 9_000, None),
        (f'["A"], more: "{"#" * 1_000_001}"', None),
    ],
    ids=("two", "none", "odd", "json5", "long", "many", "text", "null", "broken", "deep", "large"),
)
def test_the_sections_that_somebody_named(tmp_path: Path, said: str, sections: tuple[str, ...] | None) -> None:
    agent = OpenClawByHand(tmp_path / ".openclaw")
    of = agent_of(store_of(agent))
    assert of.own_rules().sections is None, "there is no such file"
    settings = tmp_path / ".openclaw" / "openclaw.json"
    settings.write_text(f"{START}{said}{END}")
    assert of.own_rules().sections == sections
    settings.write_text(f'{START}["Changed since"]{END}')
    assert of.own_rules().sections == ("Changed since",), "it is read anew when it has changed"


@pytest.mark.parametrize("said", [b"\xff\x00", b"[]", b"{agents: {defaults: 7}}", b""])
def test_what_is_no_such_file_names_none(tmp_path: Path, said: bytes) -> None:
    agent = OpenClawByHand(tmp_path / ".openclaw")
    (tmp_path / ".openclaw" / "openclaw.json").write_bytes(said)
    assert agent_of(store_of(agent)).own_rules().sections is None
