"""What undoing says it will do, and what it then does."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from tests.agents.hermes.at_work import HermesAtWork
from tests.factories.histories import history_of, receipt_of
from tests.factories.stores import Desk
from tests.slow import slow
from viewer.errors import NotFound, StoreError
from viewer.history import indexes, records
from viewer.history.models import Compaction
from viewer.runs import service, undoing
from viewer.runs.planning import Options
from viewer.runs.undoing import UndoOutlook
from viewer.stores import counting
from viewer.stores.hermes import lock_time, reading
from viewer.stores.hermes.reader import open_store
from viewer.stores.hermes.sessions import get_session
from viewer.stores.message import for_model

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]


def context(desk: Desk) -> tuple[int, int]:
    """Messages and tokens in context now."""
    with open_store(desk.store) as reader:
        rows = for_model(reading.live_context(reader, desk.session_id))
        count = counting.counter_for(get_session(reader, desk.session_id).model)
    return len(rows), sum(counting.row_tokens(row, count) for row in rows)


def newest(desk: Desk) -> int:
    with open_store(desk.store) as reader:
        return history_of(reader, desk.session_id).boundaries[-1].handoff_id


def outlook(desk: Desk) -> UndoOutlook:
    return service.outlook(desk.store, desk.session_id, newest(desk))


def rewind_to_a_kept_message(agent: HermesAtWork) -> None:
    users = [row[0] for row in agent.rows() if row[1] == "user"]
    agent.rewind(users[-3])


SINCE: dict[str, Callable[[HermesAtWork], object]] = {
    "nothing": lambda agent: None,
    "messages": lambda agent: agent.say("and now?", "now this", "thanks"),
    "take-backs": rewind_to_a_kept_message,
    "rewritten": lambda agent: agent.replace([row[1:] for row in agent.rows()], active_only=True),
    "its compaction": lambda agent: agent.compact(),
    "split": lambda agent: agent.end("compression"),
}


@pytest.mark.parametrize("version", [*slow(21), 31])
@pytest.mark.parametrize("whose", ["ours", "the agent's"])
@pytest.mark.parametrize("since", SINCE)
def test_the_result_is_what_was_said_first(
    open_desk: Callable[[int], Desk], version: int, whose: str, since: str
) -> None:
    desk = open_desk(version)
    if whose == "ours":
        assert service.start(desk.store, desk.session_id, Options(), apply=True).status == "applied"
    handoff_id = newest(desk)
    SINCE[since](HermesAtWork(desk.path, desk.session_id))
    try:
        said = service.outlook(desk.store, desk.session_id, handoff_id)
    except StoreError as gone:
        assert gone.code == "not_found" and since == "rewritten", "its handoff does not exist any more"
        return
    before = desk.live()
    assert (said.context_messages_before, said.context_tokens_before) == context(desk)
    if since in ("nothing", "messages", "take-backs"):
        assert said.refusal == ""
        service.undo(desk.store, desk.session_id, handoff_id)
        assert (said.context_messages_after, said.context_tokens_after) == context(desk)
        assert said.context_messages_after > said.context_messages_before
    else:
        assert said.refusal
        with pytest.raises(StoreError) as refused:
            service.undo(desk.store, desk.session_id, handoff_id)
        assert refused.value.message == said.refusal
        assert desk.live() == before


def test_the_warning_goes_by_the_agents_own_threshold(open_desk: Callable[[int], Desk]) -> None:
    desk = open_desk(21)
    config = desk.path.with_name("config.yaml")
    after = outlook(desk).context_tokens_after
    assert outlook(desk).warning == "", "far below three quarters of its window"
    config.write_text(f"compression: {{threshold_tokens: {after}}}")
    assert f"{after:,} of " in outlook(desk).warning and f"compacts by itself at {after:,}" in outlook(desk).warning
    config.write_text(f"compression: {{threshold_tokens: {after + 1}}}")
    assert outlook(desk).warning == ""
    config.write_text(f"compression: {{enabled: false, threshold_tokens: {after}}}")
    assert outlook(desk).warning == ""


def test_an_undo_that_would_hold_up_the_agent_says_so(
    open_desk: Callable[[int], Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = open_desk(21)
    assert outlook(desk).warning == ""
    monkeypatch.setattr(lock_time, "REINDEXED", 1e-3)  # as if the session were five thousand times as large
    assert "Writing will hold up the agent for about" in outlook(desk).warning
    assert "long enough for it to report an error" in outlook(desk).warning


@pytest.mark.parametrize("version", [21, 31])
def test_a_row_of_a_restored_backup_is_not_taken_for_our_handoff(
    open_desk: Callable[[int], Desk], version: int
) -> None:
    desk = open_desk(version)
    backup = shutil.copyfile(desk.path, desk.path.with_suffix(".backup"))
    run = service.start(desk.store, desk.session_id, Options(), apply=True)
    shutil.copyfile(backup, desk.path)
    for _ in receipt_of(run)["block"]:
        desk.append("said since the backup")
    before = desk.live()
    with pytest.raises(NotFound, match="not the handoff"):
        service.undo_run(run)
    assert desk.live() == before and not service.is_undoable(run)


def test_what_was_undone_here_is_known_where_the_rows_tell_something_else(open_desk: Callable[[int], Desk]) -> None:
    """All that was in context goes, and the next compaction begins with what was said since: as if taken back."""
    desk = open_desk(21)
    agent, handoff_id = HermesAtWork(desk.path, desk.session_id), newest(desk)
    agent.rewind(agent.rows()[0][0])
    agent.say(*(f"later {number}" for number in range(8)))
    agent.compact(head=2, tail=3)
    desk.rows(
        "UPDATE messages SET content = content || ' Later.', timestamp = 1.96e9 WHERE id = ?",
        next(row[0] for row in agent.rows() if row[6] == 1.95e9),
    )

    def boundaries() -> list[int]:
        indexes.forget()
        with open_store(desk.store) as reader:
            found = history_of(reader, desk.session_id)
            kept = indexes.index_of(reader, get_session(reader, desk.session_id))
        assert [each.handoff_id for each in kept.boundaries] == [each.handoff_id for each in found.boundaries]
        return [each.handoff_id for each in found.boundaries]

    assert handoff_id in boundaries()
    records.note_undone(desk.store.name, desk.session_id, handoff_id, {"block": [], "taken_back": []})
    desk.append("one more")
    assert handoff_id not in boundaries()


@pytest.mark.parametrize("version", [21, 31])
def test_the_rows_of_what_was_undone_are_nobodys_when_the_agent_wrote_its_transcript_anew(
    open_desk: Callable[[int], Desk], version: int
) -> None:
    """The rows that they were copies of are deleted, and what they say stands behind them."""
    desk = open_desk(version)
    agent, handoff_id = HermesAtWork(desk.path, desk.session_id), newest(desk)
    with open_store(desk.store) as reader:
        block = [each.block_ids for each in history_of(reader, desk.session_id).boundaries][-1]
    undoing.undo(desk.store, desk.session_id, handoff_id)
    assert Compaction.objects.get(handoff_id=handoff_id).undo["block"] == [*block]
    agent.replace([row[1:] for row in agent.rows()], active_only=True)
    with open_store(desk.store) as reader:
        history = history_of(reader, desk.session_id)
    assert not set(block) & {row for entry in history.entries for row in entry.rows}
