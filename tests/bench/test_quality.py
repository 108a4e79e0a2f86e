"""The yardsticks of `make bench-quality`: a perfect summary gets 1.0, an empty one next to nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.bench.quality import (
    conformance_kit,
    constraints,
    five_compactions,
    lost_in_compaction,
    second_compaction,
    size,
    statements,
    verdicts,
)
from tests.bench.quality.__main__ import YARDSTICKS
from tests.bench.quality.engine import Compacted, Engine, Palimpsest, tokens
from tests.bench.quality.figures import Figure
from tests.bench.quality.messages import Message, results, shown, whole_until, words
from tests.bench.quality.spoken import Left, is_announcement, sentences
from tests.bench.quality.transcripts import HALVES, SHARED, Half, Transcript, half_of, parts
from tests.bench.quality.ways import as_openai, newest

TAIL = 4
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Cutting:
    """An engine that replaces all but the newest messages by what `write` makes of them."""

    write: Callable[[Sequence[Message]], str]

    def compact(self, messages: Sequence[Message]) -> Compacted:
        replaced, kept = messages[:-TAIL], messages[-TAIL:]
        summary = self.write(replaced)
        return Compacted([{"role": "user", "content": summary}, *kept], summary, tuple(replaced), 10_000)

    def summary_of(self, messages: Sequence[Message], earlier: str, characters: int) -> str:
        return "\n".join(filter(None, (earlier, self.write(messages))))


def everything(messages: Sequence[Message]) -> str:
    """What a perfect summary says: every word, and of each call that failed, that it did."""
    failed = any(flagged for message in messages for _, _, flagged in results(message))
    return "\n".join([*map(shown, messages), *(["That call failed."] if failed else [])])


PERFECT, EMPTY = Cutting(everything), Cutting(lambda messages: "")
THINGS = ("harbour", "lantern", "copper", "meadow", "orchard", "granite", "ribbon", "velvet", "willow", "saddle")


def talk(length: int = 80) -> list[Message]:
    """Every other message is a person's; each says something that no other does."""
    return [
        {
            "role": "assistant" if at % 2 else "user",
            "content": f"The {THINGS[at % 10]} shipment number {at} reached warehouse {at * 7} before the {at}th day.",
        }
        for at in range(length)
    ]


def work(length: int = 40) -> list[Message]:
    """One request and then calls with long output, in Anthropic's shape."""
    rows: list[Message] = [{"role": "user", "content": "Move every service of the harbour to the new registry."}]
    for at in range(length):
        call = {"type": "tool_use", "id": f"c{at}", "name": "Bash", "input": {"command": f"move {at}"}}
        said = {"type": "text", "text": f"Service {THINGS[at % 10]} {at} was moved because its lease {at * 3} ended."}
        output = {"type": "tool_result", "tool_use_id": f"c{at}", "content": f"line {at} of the output\n" * 60}
        rows += [{"role": "assistant", "content": [said, call]}, {"role": "user", "content": [output]}]
    return rows


TRANSCRIPTS = [Transcript("a desk", "chat", talk()), Transcript("a move", "coding", work(), shown(work()[0]))]


def _share(figures: Iterator[Figure], what: str) -> float:
    [found] = [figure for figure in figures if figure.what == what]
    assert found.of
    return found.got / found.of


def _call(flagged: bool, text: str = "done") -> verdicts.Verdict:
    call = {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "make"}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": text, "is_error": flagged}
    return {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}, flagged


MEASURES: dict[str, Callable[[Engine], float]] = {
    "statements, chat": lambda engine: _share(statements.figures(TRANSCRIPTS, engine, others=False), "chat, engine"),
    "statements, coding": lambda engine: _share(
        statements.figures(TRANSCRIPTS, engine, others=False), "coding, engine"
    ),
    "constraints": lambda engine: _share(constraints.figures(TRANSCRIPTS, engine), "one compaction"),
    "constraints after five": lambda engine: _share(constraints.figures(TRANSCRIPTS, engine), "five compactions"),
    "lost in compaction": lambda engine: _share(
        lost_in_compaction.figures("tuning", engine), "facts whose keywords share a line"
    ),
    "goal after five": lambda engine: _share(
        five_compactions.figures(TRANSCRIPTS, engine, others=False), "goal there after five, engine"
    ),
    "instructions after five": lambda engine: _share(
        five_compactions.figures(TRANSCRIPTS, engine, others=False), "  instructions there, engine"
    ),
    "failures told": lambda engine: _share(
        verdicts.figures([_call(True), _call(False)], engine), "failures that are told"
    ),
}


@pytest.mark.parametrize("name", MEASURES)
def test_a_perfect_summary_gets_all(name: str) -> None:
    assert MEASURES[name](PERFECT) == 1.0


@pytest.mark.parametrize("name", MEASURES)
def test_an_empty_summary_gets_next_to_nothing(name: str) -> None:
    assert MEASURES[name](EMPTY) < 0.1


def test_a_second_compaction_is_judged_by_what_the_first_summary_said() -> None:
    def once(messages: Sequence[Message]) -> str:
        return "" if "\n" in shown(messages[0]) else everything(messages)  # the first message is a summary

    what = "good second compactions"
    assert _share(second_compaction.figures(TRANSCRIPTS[:1], PERFECT), what) == 1.0
    assert _share(second_compaction.figures(TRANSCRIPTS[:1], Cutting(once)), what) < 0.1
    assert _share(second_compaction.figures(TRANSCRIPTS[:1], EMPTY), what) == 1.0  # it lost nothing that it said


def test_a_refused_second_compaction_is_a_good_one() -> None:
    class Refusing(Cutting):
        def compact(self, messages: Sequence[Message]) -> Compacted:
            made = super().compact(messages)
            return made if len(made.replaced) > 35 else Compacted(list(messages), refused="too_small")

    found = list(second_compaction.figures(TRANSCRIPTS[:1], Refusing(everything)))
    assert [figure.got for figure in found[:2]] == [found[0].of, found[0].of]


@pytest.mark.parametrize("name", ["statements, chat", "goal after five", "failures told"])
def test_the_engine_is_measured(name: str) -> None:
    assert 0 <= MEASURES[name](Palimpsest()) <= 1


def test_the_room_of_a_summary_is_shared_out_whole() -> None:
    written = "# Names\napi/users.py db_url x.y.z\n# Left\nTell the people at the harbour."
    found = {figure.what: figure for figure in size.figures(TRANSCRIPTS, Cutting(lambda messages: written))}
    assert found["section: Names"].got + found["section: Left"].got == pytest.approx(found["tokens of bare names"].of)
    assert 0 < found["tokens of bare names"].got < found["section: Names"].got
    assert found["characters of the longest line"].got == len("Tell the people at the harbour.")


class TestStatements:
    def test_a_statement_is_a_sentence_that_says_something(self) -> None:
        table = "| this table | holds | several | other | words |"
        text = f"Hello! Thank you so much.\n- The parser drops empty header lines. All tests pass.\n{table}\n"
        assert list(sentences(text)) == ["The parser drops empty header lines."]

    def test_fenced_lines_are_none(self) -> None:
        assert list(sentences("```\nimport this module before that other one\n```\nKeep old parser until Friday.")) == [
            "Keep old parser until Friday."
        ]

    @pytest.mark.parametrize(
        ("said", "announced"),
        [
            ("Now let me run the tests of the parser.", True),
            ("Good. Next I'll close this task and move on.", True),
            ("The migration uses a statement that SQLite does not know.", False),
            ("I was out of town when the bill came.", False),
        ],
    )
    def test_an_announcement_says_what_comes_at_once(self, said: str, announced: bool) -> None:
        assert is_announcement(said) is announced

    def test_what_a_shell_printed_is_nobody_s_word(self) -> None:
        prompt = "\n(Open file: n/a)\n(Current directory: /repo)\nbash-$"
        task = {
            "role": "user",
            "content": f"We're currently solving the following issue within our repository.{prompt}",
        }
        assert words({"role": "user", "content": f"all gone brown and spread out on the hills{prompt}"}) == ""
        assert words(task).startswith("We're currently")

    def test_politeness_in_front_of_a_statement_does_not_hide_it(self) -> None:
        assert len(list(sentences("Sure, my user number is mia_li_3668 and my city Austin."))) == 1

    @pytest.mark.parametrize(
        ("left", "kept"),
        [
            ("parser drops empty header lines", True),
            ("the PARSER, it drops empty header rows", True),  # four of five words
            ("parser drops empty", False),
            ("parser drops\nempty header lines", False),
            ("parser drops empty " + "grey stone wall " * 30 + "header lines", False),
            ("word " * 100 + "parser drops empty header lines " + "word " * 100, True),
        ],
    )
    def test_it_is_kept_where_one_line_has_most_of_its_words(self, left: str, kept: bool) -> None:
        assert Left([left]).has("The parser drops empty header lines.") is kept


class TestVerdicts:
    @pytest.mark.parametrize(
        ("summary", "claimed"),
        [
            ("- Ran `make`: failed: no rule", True),
            ("- Ran `make`: exit code 2", True),
            ("- Ran `make`: 1 error was found", False),  # the result's own words
            ("- Ran `make`: all was well", False),
            ("## Errors and blockers\n- make", True),
            ("## Errors and blockers\n\n## Done\n- make", False),
        ],
    )
    def test_a_claim_is_in_words_of_the_summary(self, summary: str, claimed: bool) -> None:
        call, result, _ = _call(False, "then 1 error was found, it says")
        assert verdicts.claims_failure(summary, call, result) is claimed


class TestTranscripts:
    def test_a_session_belongs_to_one_half_for_ever(self) -> None:
        assert [half_of(name) for name in ("258c7280-ae70-4798-800f-63464d01a85d", "Airline desk, week 30 #3")] == [
            "tuning",
            "held out",
        ]

    def test_a_cut_leaves_no_call_without_its_result(self) -> None:
        rows = work()
        assert all(not results(rows[whole_until(rows, share / 50)]) for share in range(50))

    def test_hermes_gets_every_call_and_result(self) -> None:
        rows = as_openai(work(3))
        called = [call["id"] for row in rows for call in row.get("tool_calls") or []]
        assert called == [row["tool_call_id"] for row in rows if row["role"] == "tool"] == ["c0", "c1", "c2"]

    def test_the_newest_messages_fit_and_begin_with_no_result(self) -> None:
        rows = work()
        for most in range(1_000, 2_000, 50):
            left = newest(rows, most)
            assert most - 600 < tokens(left) <= most
            assert left == rows[-len(left) :]
            assert not results(left[0])


class TestClones:
    """What is read of other projects, where a clone of theirs is in the cache."""

    def test_the_constraints_are_read_without_running_anything(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "sssc.py"
        path.write_text('import nothing_of_this_name\n\nSSSCS = [{"id": 1, "sssc": "Reply in verse."}]\n')
        monkeypatch.setattr(constraints, "COMPINT", path)
        found = {figure.what: figure for figure in constraints.figures(TRANSCRIPTS[:1], PERFECT)}
        assert (found["one compaction"].got, found["one compaction"].of) == (3, 3)

    def test_the_facts_of_a_half_are_those_that_nobody_compacted(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told = [{"fact_id": f"LM_{at}", "keywords": [f"number {at}"], "compacted": at < 4} for at in range(20)]
        (tmp_path / "d80_C1.json").write_text(json.dumps(talk()))
        (tmp_path / "d80_C1_meta.json").write_text(json.dumps({"facts": told}))
        monkeypatch.setattr(lost_in_compaction, "CLONE", tmp_path)
        halves = [next(iter(lost_in_compaction.figures(half, PERFECT))) for half in HALVES]
        assert sum(figure.of or 0 for figure in halves) == 16
        assert [figure.got for figure in halves] == [figure.of for figure in halves]


# What docs/quality.md says of the half for tuning, with room for one or two in a hundred, or for one thing of a few.
LEAST: dict[str, dict[str, float]] = {
    "statements": {
        "chat, engine": 0.67,
        "chat, engine, no announcements": 0.67,
        "coding, engine": 0.27,
        "coding, engine, no announcements": 0.93,
    },
    "constraints": {"one compaction": 1.0, "five compactions": 1.0},
    "kit": {
        "random sessions, room 20%": 0.52,
        "semantic sessions, room 20%": 0.41,
        "  safety_rule, room 20%": 0.95,
        "  hard_constraint, room 20%": 0.9,
        "random sessions, room 40%": 0.96,
        "semantic sessions, room 40%": 0.98,
        "  safety_rule, room 40%": 1.0,
        "  hard_constraint, room 40%": 1.0,
    },
    "second": {
        "good second compactions": 0.98,
        "mean share of the first summary's lines": 0.96,
        "least share": 0.8,
    },
    "five": {
        "goal there after five, engine": 1.0,
        "  instructions there, engine": 1.0,
        "statements after one, engine": 0.8,
        "  statements there, engine": 0.685,
        "  against one compaction": 0.84,
    },
    "verdicts": {
        "verdicts that are right": 0.985,
        "claims of failure that are true": 0.85,
        "failures that are told": 0.85,
    },
}
MOST: dict[str, dict[str, float]] = {
    "statements": {
        "  tokens left, chat, engine": 98_000,
        "  tokens left, coding, engine": 87_500,
        "contexts refused": 0,
    },
    "five": {"  tokens left, engine": 53_500},
    "kit": {
        "  stale values (fewer is better), room 20%": 0.425,
        "  stale values (fewer is better), room 40%": 0.825,
    },
    "size": {
        "tokens used of the room": 0.72,
        "tokens of bare names": 0.035,
        "characters of the longest line": 700,
    },
}
# Of the side constraints one transcript: of all five they take more time than everything else.
MEASURED: dict[str, Callable[[Half, Engine, bool], Iterator[Figure]]] = {
    **YARDSTICKS,
    "constraints": lambda half, engine, _: constraints.figures(parts(half)[:1], engine),
}


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.exists(), reason="the shared sessions are not here")
@pytest.mark.parametrize("yardstick", sorted(LEAST.keys() | MOST.keys()))
def test_no_figure_falls_behind_what_was_measured(yardstick: str) -> None:
    if yardstick == "kit":
        pytest.importorskip("compaction_kit", reason="make bench-quality installs it")
    found = {figure.what: figure for figure in MEASURED[yardstick]("tuning", Palimpsest(), False)}
    values = {what: each.got / each.of if each.of else each.got for what, each in found.items()}
    less = [f"{what}: {found[what]}" for what, least in LEAST.get(yardstick, {}).items() if values[what] < least]
    more = [f"{what}: {found[what]}" for what, most in MOST.get(yardstick, {}).items() if values[what] > most]
    assert (less, more) == ([], [])


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.exists(), reason="the shared sessions are not here")
def test_recall_answers_as_many_questions_as_was_measured() -> None:
    """In a process of its own: it sets the site up."""
    command = [sys.executable, "-m", "tests.bench.quality", "--only", "recall", "--half", "tuning"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = dict(re.findall(r"(?m)^ +(.+?) {2,}([\d.]+) \(", printed))
    assert float(found["answered within two calls"]) >= 0.93
    assert float(found["answered by the first call"]) >= 0.83


def test_the_kit_runs_the_engine() -> None:
    pytest.importorskip("compaction_kit", reason="make bench-quality installs it")
    found = [figure for figure in conformance_kit.figures("tuning", PERFECT) if "stale" not in figure.what]
    assert {figure.got / (figure.of or 1) for figure in found} == {1.0}
    assert _share(conformance_kit.figures("tuning", EMPTY), "random sessions, room 20%") < 0.1
