"""An agent that can only split (schema 14 to 16): it takes our splits and branches for its own, too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.hermes import ours
from tests.agents.hermes.conversations import words, write_session
from tests.agents.hermes.loaded import as_loaded
from tests.agents.hermes.model import Model
from tests.agents.hermes.ours import PROMPT, branch, compact_on_top, split
from tests.agents.hermes.real import Hermes, environment
from viewer.stores.hermes.presence import compact_reason
from viewer.stores.hermes.reader import open_store


@pytest.fixture(scope="session")
def process14(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hermes]:
    running = Hermes(environment("hermes-agent==0.16.0"), tmp_path_factory.mktemp("hermes14") / "home", model.url)
    yield running
    running.stop()


@pytest.fixture
def hermes(process14: Hermes, database: Path, model: Model) -> Iterator[Hermes]:
    model.requests.clear()
    assert process14.open(database)["schema_version"] == 14
    write_session(process14, "old", turns=9, distinct_ids=True)
    process14.db("update_system_prompt", "old", PROMPT)
    with open_store(ours.store_of(database)) as reader:
        assert "can only split" in compact_reason(reader)
    yield process14
    process14.close()


def said(model: Model) -> list[tuple[str, str]]:
    sent = model.requests[-1]["messages"]
    return [words(each["role"], each["content"], each.get("tool_calls")) for each in sent]


def test_it_follows_a_split_and_goes_on(hermes: Hermes, model: Model, database: Path) -> None:
    rows = hermes.rows("old")
    done = split(database, "old")
    assert hermes.db("get_compression_tip", "old") == done.part
    assert hermes.db("resolve_session_by_title", "old") == done.part
    assert [row["id"] for row in hermes.db("list_sessions_rich")] == [done.part]
    assert hermes.session(done.part)["title"] == "old #2"
    assert [as_loaded(each) for each in hermes.resume(done.part)] == [as_loaded(each) for each in done.messages]
    model.reply = "Going on."
    hermes.turn("Please go on.")
    assert (said(model)[0], said(model)[-1]) == (("system", PROMPT), ("user", "Please go on."))
    assert len(said(model)) == len(done.messages) + 2
    assert hermes.rows("old") == rows


def test_its_next_compaction_splits_on(hermes: Hermes, model: Model, database: Path) -> None:
    done = split(database, "old")
    compact_on_top(hermes, model, done)
    tip = hermes.db("get_compression_tip", "old")
    assert tip not in ("old", done.part)
    assert hermes.session(tip)["title"] == "old #3"


def test_it_lists_and_resumes_a_branch(hermes: Hermes, model: Model, database: Path) -> None:
    context = [as_loaded(each) for each in hermes.resume("old")]
    made = branch(database, "old")
    assert {row["id"] for row in hermes.db("list_sessions_rich")} == {"old", made}
    assert [as_loaded(each) for each in hermes.resume(made)] == context
    model.reply = "Another way."
    hermes.turn("Try another way.")
    assert said(model)[0] == ("system", PROMPT)
    for _ in range(2):
        assert hermes.db("get_compression_tip", "old") == "old"
        assert hermes.db("get_compression_tip", made) == made
        hermes.db("end_session", "old", "compression")
