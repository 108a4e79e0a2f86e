"""An agent that works for hours: one request, hundreds of calls. The real Hermes goes on from our compactions of it.

Of the oldest schema that is compacted, and of the newest. Schema 21 is August's layout by hermes-agent 0.18.2
(`stories.as_schema_21`): its loader repairs nothing, and it takes a row that
begins with a handoff wholly for a summary.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.hermes import ours
from tests.agents.hermes.author import Author
from tests.agents.hermes.real import Hermes, environment
from tests.agents.hermes.stories import REQUIREMENTS, as_schema_21
from tests.agents.hermes.told import Row, Said, broken_pairs, live_text, row_of

NOBODY = "http://127.0.0.1:9/v1"  # the agent's model is told here, not asked
WINDOW = 8_000
REQUEST = "Move all 48 services to the new registry, and never touch u99999z the payroll one. " * 3


@pytest.fixture(scope="module", params=[21, 31], ids=lambda version: f"schema{version}")
def version(request: pytest.FixtureRequest) -> int:
    found: int = request.param
    return found


@pytest.fixture(scope="module")
def process(version: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hermes]:
    home = tmp_path_factory.mktemp(f"long{version}") / "home"
    running = Hermes(environment(REQUIREMENTS[version]), home, NOBODY)
    yield running
    running.stop()


@pytest.fixture
def hermes(process: Hermes, version: int, database: Path) -> Iterator[Hermes]:
    process.open(database)
    if version == 21:
        as_schema_21(process, database)
    process.create_session("long", model="test-model")
    process.db("set_session_title", "long", "long")
    process.ask("hold", session_id="long", tail_tokens=1_000, protect_last=8)
    yield process
    process.close()


def say(hermes: Hermes, *told: Said) -> None:
    author = Author(0)
    hermes.ask("say", messages=[author.wire(each) for each in told])


def work(hermes: Hermes, author: Author, steps: int) -> None:
    say(hermes, *(each for _ in range(steps) for each in author.step()))


def compact(hermes: Hermes, database: Path) -> None:
    """Ours; the agent reads its transcript again before it goes on."""
    ours.compact_at(database, "long", hermes.ask("clock", ahead=0.0), "summary", WINDOW)
    hermes.ask("hold", session_id="long", tail_tokens=1_000, protect_last=8)


def loaded(hermes: Hermes) -> list[Row]:
    """What Hermes would send, but for its system prompt."""
    return [row_of(message) for message in hermes.reload()]


def requests(rows: list[Row]) -> list[int]:
    """Where the request stands, in a message of the user's or behind a summary."""
    return [at for at, row in enumerate(rows) if row.role == "user" and REQUEST.strip() in live_text(row.text)]


def summaries(hermes: Hermes, rows: list[Row]) -> list[int]:
    return [at for at, row in enumerate(rows) if hermes.is_summary(row.text)]


def test_the_request_stands_alone_before_the_handoff(hermes: Hermes, database: Path) -> None:
    author = Author(1)
    for _ in range(3):
        say(hermes, author.user(told_apart=True), author.reply())
    say(hermes, Said("user", REQUEST))
    work(hermes, author, 100)
    compact(hermes, database)
    rows = loaded(hermes)
    (at,) = summaries(hermes, rows)
    assert requests(rows) == [at - 1]
    assert rows[at - 1].text.strip() == REQUEST.strip()
    assert not broken_pairs(rows)


def test_six_in_a_row_while_the_turn_runs(hermes: Hermes, database: Path) -> None:
    author = Author(2)
    say(hermes, author.user(told_apart=True), author.reply(), Said("user", REQUEST))
    for _ in range(6):
        work(hermes, author, 30)
        compact(hermes, database)
        rows = loaded(hermes)
        assert len(requests(rows)) == len(summaries(hermes, rows)) == 1
        assert not broken_pairs(rows)
    say(hermes, Said("assistant", "All moved."), Said("user", "Thanks. What is next?"))
    assert loaded(hermes)[-1].text == "Thanks. What is next?"


def test_it_compacts_on_top_and_the_request_stays(hermes: Hermes, database: Path) -> None:
    author = Author(3)
    say(hermes, author.user(told_apart=True), author.reply(), Said("user", REQUEST))
    for _ in range(2):
        work(hermes, author, 60)
        compact(hermes, database)
    work(hermes, author, 60)
    before = len(loaded(hermes))
    hermes.ask("compact_with", summary=None, late=[])
    rows = loaded(hermes)
    assert len(rows) < before / 2, "Hermes did not compact"
    assert requests(rows), "the request left the context"
    assert ours.SUMMARY.splitlines()[1] in "\n".join(row.text for row in rows), "our summary was not carried on"
    assert not broken_pairs(rows)


def test_nobody_ever_typed(hermes: Hermes, database: Path) -> None:
    """A worker's session, compacted again and again: the handoff is its user message, and Hermes takes it for one."""
    author = Author(4)
    for _ in range(3):
        work(hermes, author, 40)
        compact(hermes, database)
        rows = loaded(hermes)
        (at,) = summaries(hermes, rows)
        assert rows[at].role == "user"
        assert not broken_pairs(rows)
    work(hermes, author, 40)
    before = len(loaded(hermes))
    hermes.ask("compact_with", summary="## Goal\nGo on with the m00001z services.", late=[])
    rows = loaded(hermes)
    assert len(rows) < before / 2, "Hermes did not compact"
    assert any(row.role == "user" for row in rows)
    assert not broken_pairs(rows)
