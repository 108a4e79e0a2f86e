"""The real Hermes takes our branches for its own: it lists, resumes and continues them, and leaves the parent alone."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.agents.hermes import ours
from tests.agents.hermes.conversations import words, write_session
from tests.agents.hermes.loaded import as_loaded, live, loaded, only
from tests.agents.hermes.model import Model
from tests.agents.hermes.ours import branch
from tests.agents.hermes.real import Hermes
from viewer.stores.hermes import branch as hermes_branch
from viewer.stores.hermes.reader import open_store

PROMPT = "You are the careful clerk of a walnut shop."


def branch_from(database: Path, session_id: str, ids: list[int]) -> str:
    return hermes_branch.branch(ours.store_of(database), session_id, ids, now=time.time())


def written(hermes: Hermes, session_id: str, **columns: Any) -> None:
    """A session with a system prompt of its own."""
    write_session(hermes, session_id, turns=8, distinct_ids=True)
    hermes.db("update_system_prompt", session_id, PROMPT)


def sent(model: Model) -> list[Any]:
    return [
        words(message["role"], message["content"], message.get("tool_calls"))
        for message in model.requests[-1]["messages"]
    ]


def test_it_resumes_a_branch_of_now_with_the_parents_prompt(hermes: Hermes, model: Model, database: Path) -> None:
    written(hermes, "parent")
    context, rows, parent = loaded(hermes, "parent"), hermes.rows("parent"), hermes.session("parent")
    made = branch(database, "parent")
    assert [as_loaded(message) for message in hermes.resume(made)] == context
    assert hermes.session(made)["system_prompt"] == PROMPT
    model.reply = "Another way."
    assert hermes.turn("Try another way.") == "Another way."
    assert sent(model)[0] == ("system", PROMPT), "the prompt is sent word for word, which keeps a provider's cache warm"
    assert sent(model)[-1] == ("user", "Try another way.")
    assert len(sent(model)) == len(context) + 2
    assert [row["content"] for row in live(hermes, made)[-2:]] == ["Try another way.", "Another way."]
    assert hermes.session(made)["message_count"] == len(context) + 2
    assert (hermes.rows("parent"), hermes.session("parent")) == (rows, parent)


def test_it_resumes_a_branch_from_before_a_compaction(hermes: Hermes, database: Path) -> None:
    written(hermes, "compacted")
    context, ids = loaded(hermes, "compacted"), [row["id"] for row in live(hermes, "compacted")]
    ours.compact(database, "compacted")
    hermes.append("compacted", "user", "And then this.")
    rows = hermes.rows("compacted")
    made = branch_from(database, "compacted", ids)
    assert loaded(hermes, made) == context
    assert hermes.rows("compacted") == rows
    assert len(loaded(hermes, "compacted")) < len(context)


def test_it_branches_from_before_its_own_compaction(hermes: Hermes, model: Model, database: Path) -> None:
    written(hermes, "its own")
    hermes.resume("its own")
    for number in range(3):
        hermes.turn(f"Question {number}: {'more to say ' * 60}")
    context, newest = loaded(hermes, "its own"), max(row["id"] for row in hermes.rows("its own"))
    model.reply = "## Goal\nIts own summary."
    hermes.compact()
    (boundary,) = ours.history_of(database, "its own").boundaries
    assert boundary.handoff_id > newest
    made = branch_from(database, "its own", list(boundary.before_ids))
    assert loaded(hermes, made) == context


def test_it_lists_the_branch_beside_its_parent(hermes: Hermes, database: Path) -> None:
    written(hermes, "listed")
    made = branch(database, "listed")
    listed = {row["id"]: row for row in hermes.db("list_sessions_rich")}
    assert listed.keys() == {"listed", made}
    assert listed[made]["title"] == "listed (branch)"
    assert hermes.db("resolve_session_by_title", "listed (branch)") == made
    assert hermes.db("resolve_session_by_title", "listed") == "listed"


def test_it_takes_the_branch_for_nobodys_continuation(hermes: Hermes, database: Path) -> None:
    """Not while the parent lives, and not when it was ended by a compaction since."""
    written(hermes, "forked")
    made = branch(database, "forked")
    for _ in range(2):
        assert hermes.db("get_compression_tip", "forked") == "forked"
        assert hermes.db("resolve_resume_session_id", "forked") == "forked"
        assert hermes.db("get_compression_tip", made) == made
        assert hermes.db("resolve_resume_session_id", made) == made
        hermes.db("end_session", "forked", "compression")


@only(31)
def test_turns_of_parent_and_branch_do_not_wait_for_each_other(hermes: Hermes, database: Path) -> None:
    written(hermes, "leased")
    made = branch(database, "leased")
    assert hermes.db("try_acquire_session_turn_lease", "leased", "one")
    assert hermes.db("try_acquire_session_turn_lease", made, "another")
    hermes.db("end_session", "leased", "compression")
    assert hermes.db("_session_turn_lease_key", made) == made
    assert hermes.db("find_live_compression_child", "leased") is None
    assert made not in [row["orphan_id"] for row in hermes.db("find_orphaned_gateway_sessions")]


def test_it_compacts_a_branch_and_ours_does_too(hermes: Hermes, model: Model, database: Path) -> None:
    written(hermes, "later")
    made = branch(database, "later")
    ours.compact(database, made)
    hermes.resume(made)
    for number in range(3):
        hermes.turn(f"Question {number}: {'more to say ' * 60}")
    model.reply = "## Goal\nThe branch's own end."
    assert any("The branch's own end" in str(message["content"]) for message in hermes.compact())
    assert hermes.db("get_compression_tip", made) == made


def test_its_pages_of_history_show_each_message_once(hermes: Hermes, database: Path) -> None:
    """Its display reads drop rows that say the same: copies stand in another session and are none of those."""
    written(hermes, "shown")
    made = branch(database, "shown")
    said = len(live(hermes, "shown"))
    assert len(hermes.db("get_messages", made)) == len(hermes.db("get_messages", "shown")) == said
    with open_store(ours.store_of(database)) as reader:
        assert len(ours.history_of(database, made).entries) == said
        assert reader.con.execute("PRAGMA integrity_check").fetchone() == ("ok",)
