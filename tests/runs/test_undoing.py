"""What undoing says it will do, and what it then does."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from tests.agents.hermes.at_work import HermesAtWork
from tests.factories.histories import history_of, receipt_of
from tests.factories.stores import HermesStore
from tests.slow import slow
from viewer.history import index_cache, records
from viewer.history.models import Compaction
from viewer.runs import service, undoing
from viewer.runs.planning import Options
from viewer.runs.undoing import UndoOutlook
from viewer.stores.errors import NotFound, StoreError
from viewer.stores.hermes import messages
from viewer.stores.hermes.paths import get_session
from viewer.stores.hermes.reader import open_store
from viewer.stores.message import for_model, row_tokens
from viewer.usage import counting

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]


def context(hermes_store: HermesStore) -> tuple[int, int]:
    """Messages and tokens in context now."""
    with open_store(hermes_store.store) as reader:
        rows = for_model(messages.live_context(reader, hermes_store.session_id))
        count = counting.counter_for(get_session(reader, hermes_store.session_id).model)
    return len(rows), sum(row_tokens(row, count) for row in rows)


def newest(hermes_store: HermesStore) -> int:
    with open_store(hermes_store.store) as reader:
        return history_of(reader, hermes_store.session_id).boundaries[-1].handoff_id


def outlook(hermes_store: HermesStore) -> UndoOutlook:
    return service.outlook(hermes_store.store, hermes_store.session_id, newest(hermes_store))


def rewind_to_a_kept_message(agent: HermesAtWork) -> None:
    users = [row[0] for row in agent.rows() if row[1] == "user"]
    agent.rewind(users[-2])


SINCE: dict[str, Callable[[HermesAtWork], object]] = {
    "nothing": lambda agent: None,
    "messages": lambda agent: agent.say("and now?", "now this", "thanks"),
    "take-backs": rewind_to_a_kept_message,
    "rewritten": lambda agent: agent.replace([row[1:] for row in agent.rows()], active_only=True),
    "its compaction": lambda agent: agent.compact(),
    "split": lambda agent: agent.end("compression"),
}


@pytest.mark.parametrize("version", [*slow(21), 31])
@pytest.mark.parametrize("whose", ["ours", *slow("the agent's")])
@pytest.mark.parametrize("since", SINCE)
def test_the_result_is_what_was_said_first(
    open_hermes_store: Callable[[int], HermesStore], version: int, whose: str, since: str
) -> None:
    hermes_store = open_hermes_store(version)
    if whose == "ours":
        assert service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True).status == "applied"
    handoff_id = newest(hermes_store)
    SINCE[since](HermesAtWork(hermes_store.path, hermes_store.session_id))
    try:
        said = service.outlook(hermes_store.store, hermes_store.session_id, handoff_id)
    except StoreError as gone:
        assert gone.code == "not_found" and since == "rewritten", "its handoff does not exist any more"
        return
    before = hermes_store.live()
    assert (said.context_messages_before, said.context_tokens_before) == context(hermes_store)
    if since in ("nothing", "messages", "take-backs"):
        assert said.refusal == ""
        service.undo(hermes_store.store, hermes_store.session_id, handoff_id)
        assert (said.context_messages_after, said.context_tokens_after) == context(hermes_store)
        assert said.context_messages_after > said.context_messages_before
    else:
        assert said.refusal
        with pytest.raises(StoreError) as refused:
            service.undo(hermes_store.store, hermes_store.session_id, handoff_id)
        assert refused.value.message == said.refusal
        assert hermes_store.live() == before


def test_the_warning_goes_by_the_agents_own_threshold(open_hermes_store: Callable[[int], HermesStore]) -> None:
    hermes_store = open_hermes_store(21)
    config = hermes_store.path.with_name("config.yaml")
    after = outlook(hermes_store).context_tokens_after
    assert outlook(hermes_store).warning == "", "far below three quarters of its window"
    config.write_text(f"compression: {{threshold_tokens: {after}}}")
    assert (
        f"{after:,} of " in outlook(hermes_store).warning
        and f"compacts by itself at {after:,}" in outlook(hermes_store).warning
    )
    config.write_text(f"compression: {{threshold_tokens: {after + 1}}}")
    assert outlook(hermes_store).warning == ""
    config.write_text(f"compression: {{enabled: false, threshold_tokens: {after}}}")
    assert outlook(hermes_store).warning == ""


@pytest.mark.parametrize("version", [21, 31])
def test_a_row_of_a_restored_backup_is_not_taken_for_our_handoff(
    open_hermes_store: Callable[[int], HermesStore], version: int
) -> None:
    hermes_store = open_hermes_store(version)
    backup = shutil.copyfile(hermes_store.path, hermes_store.path.with_suffix(".backup"))
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    shutil.copyfile(backup, hermes_store.path)
    for _ in receipt_of(run)["block"]:
        hermes_store.append("said since the backup")
    before = hermes_store.live()
    with pytest.raises(NotFound, match="no compaction with the id"):
        service.undo_run(run)
    assert hermes_store.live() == before and not service.is_undoable(run)


def test_what_was_undone_here_is_known_where_the_rows_tell_something_else(
    open_hermes_store: Callable[[int], HermesStore],
) -> None:
    """All that was in context goes, and the next compaction begins with what was said since: as if taken back."""
    hermes_store = open_hermes_store(21)
    agent, handoff_id = HermesAtWork(hermes_store.path, hermes_store.session_id), newest(hermes_store)
    agent.rewind(agent.rows()[0][0])
    agent.say(*(f"later {number}" for number in range(8)))
    agent.compact(head=2, tail=3)
    hermes_store.rows(
        "UPDATE messages SET content = content || ' Later.', timestamp = 1.96e9 WHERE id = ?",
        next(row[0] for row in agent.rows() if row[6] == 1.95e9),
    )

    def boundaries() -> list[int]:
        index_cache.forget()
        with open_store(hermes_store.store) as reader:
            found = history_of(reader, hermes_store.session_id)
            kept = index_cache.index_of(reader, get_session(reader, hermes_store.session_id))
        assert [each.handoff_id for each in kept.boundaries] == [each.handoff_id for each in found.boundaries]
        return [each.handoff_id for each in found.boundaries]

    assert handoff_id in boundaries()
    records.note_undone(hermes_store.store.name, hermes_store.session_id, handoff_id, {"block": [], "taken_back": []})
    hermes_store.append("one more")
    assert handoff_id not in boundaries()


@pytest.mark.parametrize("version", [21, 31])
def test_the_rows_of_what_was_undone_are_nobodys_when_the_agent_wrote_its_transcript_anew(
    open_hermes_store: Callable[[int], HermesStore], version: int
) -> None:
    """The rows that they were copies of are deleted, and what they say stands behind them."""
    hermes_store = open_hermes_store(version)
    agent, handoff_id = HermesAtWork(hermes_store.path, hermes_store.session_id), newest(hermes_store)
    with open_store(hermes_store.store) as reader:
        block = [each.block_ids for each in history_of(reader, hermes_store.session_id).boundaries][-1]
    undoing.undo(hermes_store.store, hermes_store.session_id, handoff_id)
    assert Compaction.objects.get(handoff_id=handoff_id).undo["block"] == [*block]
    agent.replace([row[1:] for row in agent.rows()], active_only=True)
    with open_store(hermes_store.store) as reader:
        history = history_of(reader, hermes_store.session_id)
    assert not set(block) & {row for entry in history.entries for row in entry.rows}
