"""The recogniser of exact details: how well it does on lines marked by hand, and what it costs."""

from __future__ import annotations

import re

import pytest

from compaction.details import cjk, lexicon, recognise
from compaction.details.recognise import details_of
from compaction.loss.report import survival_of
from compaction.loss.statements import statements
from tests.compaction.details import EASTERN, HALVES, STRANGE, lines, measured
from tests.compaction.transcripts import handoff, reply, result, user
from tests.cost import within

ORIGINS = ("user", "assistant", "args", "tool")
PATTERNS = {
    f"{name}{at}": pattern
    for module in (recognise, cjk)
    for name, value in vars(module).items()
    for at, pattern in enumerate(value if isinstance(value, tuple) else (value,))
    if isinstance(pattern, re.Pattern)
}
HOSTILE = (
    *("a/", "_1", "A1", "1,", "a.", "-", ":", "=", "http://", "x@x.", "\\a", "1 ", "'", "\n", " ", "Error", "`a", "1-"),
    *("Aa ", "Aa-", "Aa & ", "AA ", "AAA ", "12 ", "+1 ", "0 12 ", "DE89 3704 ", "1.", "1:2", "May ", "12 May", "月1"),
    *(
        '"name": "',
        "a_",
        "aB",
        "a.b.",
        "a.b(",
        "def ",
        "- ",
        "# ",
        '{"a": [{',
        "}, {",
        "**",
        ". A",
        "我叫",
        "さん",
        "김민",
        "이름 ",
        "담당자: 김",
        "田中",
        "田中太",
        "氏名：",
        "联系人：",
        "\\n",
    ),
    *("$1 ", "1 000 ", "10 %", "-a ", "--a-b ", "ID ", "bucket a-", "É", "Ё", "ß", "|", "(", "€1,", "11-", "0x", "f"),
)


@pytest.mark.parametrize("half", HALVES)
def test_nearly_all_marked_details_are_found_and_little_else(half: str) -> None:
    found = measured(half)
    assert found.marked > 300
    assert found.recall >= 0.95, found.missed
    assert found.precision >= 0.9, found.wrong


@pytest.mark.parametrize(
    ("name", "recall", "precision"),
    [("strange", 0.95, 0.95), ("strange_held_out", 0.9, 0.9), *((name, 0.95, 0.95) for name in EASTERN)],
)
def test_so_it_is_in_kinds_of_text_the_rules_were_not_made_for(name: str, recall: float, precision: float) -> None:
    found = measured(name)
    assert found.recall >= recall, found.missed
    assert found.precision >= precision, found.wrong


def test_the_marked_lines_are_of_every_source_and_script() -> None:
    both = [line for name in (*HALVES, *STRANGE, *EASTERN) for line in lines(name)]
    texts = [line["text"] for line in both]
    assert len(set(texts)) == len(both) == 471
    assert {line["from"] for line in both} == set(ORIGINS)
    assert sum(bool(re.search(r"[а-я]", text)) for text in texts) >= 8
    assert sum(bool(re.search(r"[\u3040-\u9fff\uac00-\ud7af]", text)) for text in texts) >= 12
    assert all(detail in line["text"] for line in both for _, detail in (*line["details"], *line.get("either", ())))


def test_a_kind_is_the_one_marked() -> None:
    """Of the details that are found as they were marked, nine in ten have the same kind."""
    pairs = [
        (kind, marked)
        for half in HALVES
        for line in lines(half)
        for kind, text, _ in details_of(line["text"], line["from"])
        for marked, detail in line["details"]
        if text == detail
    ]
    assert len(pairs) > 400
    assert sum(kind == marked for kind, marked in pairs) >= 0.9 * len(pairs)


@pytest.mark.parametrize(
    ("text", "origin", "found"),
    [
        ("Use `JSON.parse`, `console.error` and Math.random()", "assistant", []),
        ("`todos.map` and storageUtils.loadTodos(x)", "assistant", ["todos.map", "storageUtils.loadTodos"]),
        ("Friday, 12 December 2026 at 14:30", "user", ["12 December 2026", "14:30"]),
        ("Paid on 2026-11-01, not 5 pieces.", "user", ["2026-11-01", "5 pieces"]),
        ("1. Read. 2. Write.", "assistant", []),
        ("Ask Dr. Okafor in Porto.", "user", ["Okafor", "Porto"]),
        ("However, that is Fine", "user", []),
        ('{"city": "Porto", "state": "open"}', "tool", ["Porto"]),
        ("12: def render(x):", "tool", ["render"]),
        ("</body></html>", "tool", []),
        ("<my-own-tag> <a-b-c>", "tool", []),
        ("Mail <t.wrona@noriva.example>", "tool", ["t.wrona@noriva.example"]),
        ("Case C-311/18, order 100-4458-91, § 573c", "user", ["C-311/18", "100-4458-91", "573c"]),
        ("open 24/7 at 16h30, ratio 3:1", "user", ["16h30"]),
        ("Call +49 30 1234567", "user", ["+49 30 1234567"]),
        ("call 0170 1234567", "user", ["0170 1234567"]),
        ("R$ 350,00 and CHF 1'250.00", "user", ["R$ 350,00", "CHF 1'250.00"]),
        ("Nov 22 03:14:07 web-02 [7] Out of memory", "tool", ["Nov 22 03:14:07", "web-02", "7"]),
        ('role "reporting_ro" may not', "tool", ["reporting_ro"]),
        ("Bitte auf mein Konto in der Lindenstraße 14", "user", ["Lindenstraße", "14"]),
    ],
)
def test_what_is_a_detail(text: str, origin: str, found: list[str]) -> None:
    assert [detail for _, detail, _ in details_of(text, origin)] == found


@pytest.mark.parametrize("origin", ORIGINS)
def test_a_detail_stands_where_it_says(origin: str) -> None:
    for name in (*HALVES, *STRANGE, *EASTERN):
        for line in lines(name):
            found = details_of(line["text"], "user")
            assert all(line["text"].startswith(detail, at) for _, detail, at in found)
            assert [at for _, _, at in found] == sorted({at for _, _, at in found}), "none inside another"


@pytest.mark.slow
@pytest.mark.parametrize("name", PATTERNS)
def test_no_expression_takes_long_on_a_text_made_to_hurt_it(name: str) -> None:
    pattern = PATTERNS[name]
    assert not [piece for piece in HOSTILE if not within(0.12, _walk, pattern, _hostile(piece, 50_000))]


def _walk(pattern: re.Pattern[str], text: str) -> None:
    for _ in pattern.finditer(text):
        pass


def _hostile(piece: str, length: int = 100_000) -> str:
    return (piece * (length // len(piece) + 1))[:length]


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
def test_100_000_characters_take_less_than_a_second(piece: str) -> None:
    text = _hostile(piece)
    assert within(1, lambda: [*statements(text, "args" if "{" in piece else "assistant", sentences=True)])


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["12 ", "- 4-02 17\n", "€1,", "B-10001 ", "Aa Bb ", '{"a": 1}, ', "x\n"])
def test_the_whole_report_grows_with_the_text(piece: str) -> None:
    text = _hostile(piece, 50_000)
    assert within(4, survival_of, [user(text), reply(text), result("a", text)], None, [handoff(text)])


def test_the_word_lists_hold_what_they_are_for() -> None:
    assert not lexicon.COMMON & {"porto", "priya"} and "JFK" not in lexicon.ACRONYMS


def test_a_word_is_common_in_all_kinds_of_text_not_in_one_collection_of_transcripts() -> None:
    found = details_of("She has Gold status, ask the Ledger team; the HTB box has Seat heating.", "user")
    assert [text for _, text, _ in found] == ["Gold", "Ledger", "HTB", "Seat"]
