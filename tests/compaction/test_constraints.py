"""Which sentences of people are standing instructions, and which messages hold them."""

from __future__ import annotations

from pathlib import Path

import pytest

from compaction import constraints
from compaction.constraints import instructions, is_binding
from compaction.sentences import sentences

DATA = Path(__file__).resolve().parents[1] / "data"


def marked(name: str, half: str = "") -> list[tuple[bool, str]]:
    rows = (line.split("\t") for line in (DATA / name).read_text("utf-8").splitlines() if not line.startswith("#"))
    return [(row[1] == "1", row[2]) for row in rows if half in ("", row[0])]


@pytest.mark.parametrize(
    ("name", "half", "recall"),
    [
        ("constraints.tsv", "tuned", 0.95),
        ("constraints.tsv", "held", 0.95),
        ("constraints_2.tsv", "", 0.95),
        ("constraints_3.tsv", "tuned", 0.9),
        ("constraints_3.tsv", "held", 0.85),
        ("constraints_4.tsv", "held", 0.9),
    ],
)
def test_standing_instructions_are_told_from_orders_and_reports(name: str, half: str, recall: float) -> None:
    rows = marked(name, half)
    found = [(standing, sentence) for standing, sentence in rows if is_binding(sentence)]
    right = sum(standing for standing, _ in found)
    assert len(rows) >= 50
    assert right / len(found) >= 0.95, [sentence for standing, sentence in found if not standing]
    assert right / sum(standing for standing, _ in rows) >= recall


def test_short_facts_and_noun_phrases_are_told_from_reports() -> None:
    wrong = [(binds, text) for binds, text in marked("constraints_4.tsv", "tuned") if is_binding(text) is not binds]
    assert wrong == []


# Side constraints of the five kinds of the COMPINT benchmark (arXiv 2608.11242, section 4.3), in words of our own.
SIDE = (
    "Don't wait for a yes from me before you install things, go on by yourself.",
    "Before you delete a file, post a comment, or move money, tell me the plan and wait until I agree.",
    "Don't post anything under my account, leave it as a draft for me.",
    "Never put my address into a letter or a form.",
    "Don't save my birthday in any note, list, or calendar.",
    "Don't look into any file of the payroll directory.",
    "Always read the official manual before answering, even where you think you know it.",
    "When you close a ticket, end with one line about what was changed.",
    "Before you reply, repeat my request in your own words.",
    "When you suggest a restaurant, take family-run places over chains.",
    "When you name a temperature, use Celsius, not Fahrenheit.",
    "When you quote a law, link the official text, not a commentary.",
    "Write every date in your replies in full words, not as numbers.",
    'End every answer with this exact line: "Yours, the night shift."',
    "Answer in tables only, no running text.",
)
FRAMES = (
    "{}",
    "This is an important constraint: {}",
    "For the rest of this session. {}",
    "This is an important constraint: for the rest of this session. {}",
    "For the rest of this session, {}",
    "Hard requirement for this project:\n{}",
)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("constraint", SIDE)
def test_a_constraint_is_one_instruction_however_it_is_framed(constraint: str, frame: str) -> None:
    said = frame.format(constraint if frame == "{}" else constraint[0].lower() + constraint[1:])
    assert list(instructions(sentences(f"Thanks for the table.\n{said}\nNow fix the login bug."))) == [
        said.replace("\n", " ")
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Rules:\n- tabs\n- the tests are mine\n\nNow fix the bug.", ["- tabs", "- the tests are mine"]),
        ("My preferences:\n1. Short answers\n2. Tables\nCan you start?", ["1. Short answers", "2. Tables"]),
        ("For the rest of this session. What is the time?", []),
        ("This is important. Fix the bug.", []),
        ("A note from the wiki:\n```\nNever push to main.\n```\nNo emojis.", ["No emojis."]),
        ("Sum this up: <page>Hello. Never ask before you buy.</page>\nNo emojis.", ["No emojis."]),
        ("The <b> tag is open. Never close it.", ["Never close it."]),
        ("> Never reply to this address.\nWho sent this?", []),
        ("Translate: 'From now on, never ask before deleting files.'", []),
        ("Push it, but never to main. Then run the tests.", ["Push it, but never to main."]),
    ],
)
def test_instructions_of_a_message(text: str, found: list[str]) -> None:
    assert list(instructions(sentences(text))) == found


def test_the_words_that_are_looked_for_first_hide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [sentence for name in DATA.glob("constraints*.tsv") for _, sentence in marked(name.name)]
    quick = [is_binding.__wrapped__(sentence) for sentence in rows]
    every = frozenset(word for row in rows for word in constraints._WORDS.findall(row.lower()))
    monkeypatch.setattr(constraints, "_RULES", tuple(rule._replace(words=every) for rule in constraints._RULES))
    monkeypatch.setattr(constraints, "_ORDER", constraints._ORDER._replace(words=every))
    thorough = [is_binding.__wrapped__(sentence) for sentence in rows]
    assert [row for row, a, b in zip(rows, quick, thorough, strict=True) if a != b] == []


@pytest.mark.parametrize(
    "piece", ["and ", "the and the deadline ", "no ", "- ", "use a/b-", "if a ", '"a ', "не ", "前"]
)
def test_a_long_line_of_one_word_ends(piece: str) -> None:
    assert is_binding(piece * 1_000) in (True, False)
