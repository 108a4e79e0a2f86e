"""What follows a compaction: its audit, the note, the warning. Real stores, real files, no agent but for its rows."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from compaction.handoff import END_MARKER, EVENT_START, LEGACY_HEADER, RULES_CLOSE, RULES_OPEN
from tests.agents.hermes.at_work import HermesAtWork
from tests.factories.session_lists import settle
from tests.factories.stores import HermesStore
from tests.factories.workspaces import today, write_workspace
from viewer.catalog import sync_worker
from viewer.enforcement import auditing, events
from viewer.enforcement.models import Audit, Event
from viewer.history import index_cache
from viewer.runs import service
from viewer.runs.models import Run
from viewer.runs.planning import Options
from viewer.stores.hermes import messages, writer
from viewer.stores.hermes.paths import get_session
from viewer.stores.hermes.reader import HermesReader as Reader
from viewer.stores.hermes.reader import open_store
from viewer.stores.message import StoredMessage
from viewer.workspaces.models import StoreRules
from viewer.workspaces.sections import EVENT_CHARS

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]
RULES = """# Ours

## Session Startup
1. Read `SOUL.md` and `memory/YYYY-MM-DD.md`.
2. Read `GONE.md`.

## Red Lines
Never push to main.
"""


@pytest.fixture
def workspace(tmp_path: Path, settings: Settings) -> Path:
    """A workspace with rules that ask for two files that exist and for one that does not."""
    place = write_workspace(tmp_path / "workspace", RULES)
    settings.WORKSPACES = [tmp_path]
    StoreRules.objects.create(store="hermes", workspace=str(place))
    return place


def compacted(hermes_store: HermesStore, *, carry: bool = True) -> Run:
    run = service.start(hermes_store.store, hermes_store.session_id, Options(carry=carry), apply=True)
    assert (run.status, run.error_message) == ("applied", "")
    return run


def say(hermes_store: HermesStore, *messages: dict[str, object]) -> list[int]:
    return writer.append(hermes_store.store, hermes_store.session_id, messages, now=time.time())


def read_call(call_id: str, path: str) -> dict[str, object]:
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": "read_file", "arguments": json.dumps({"path": path})},
    }


def turn(hermes_store: HermesStore, *reads: str, fails: Sequence[str] = (), ends: bool = True) -> list[int]:
    """A turn that reads files in parallel; the ids of its rows."""
    calls = [read_call(f"c{n}", path) for n, path in enumerate([*reads, *fails])]
    outcomes = ["1|Be kind."] * len(reads) + ['{"error": "File not found"}'] * len(fails)
    said: list[dict[str, object]] = [{"role": "user", "content": "And now?"}]
    if calls:
        said.append({"role": "assistant", "content": "", "tool_calls": calls})
        said.extend({"role": "tool", "tool_call_id": f"c{n}", "content": text} for n, text in enumerate(outcomes))
    if ends:
        said.append({"role": "assistant", "content": "Done."})
    return say(hermes_store, *said)


def look(hermes_store: HermesStore, **options: bool) -> Audit:
    """The newest audit, brought up to date."""
    settle()
    with open_store(hermes_store.store) as reader:
        session = get_session(reader, hermes_store.session_id)
        return auditing.look(reader, session, index_cache.index_of(reader, session), **options)[0]


def left_out(audit: Audit) -> list[str]:
    return [found["named"] for found in audit.findings if found["message"] is None]


def statuses(hermes_store: HermesStore) -> list[tuple[str, str]]:
    return [
        (event.kind, event.status) for event in events.of_session(hermes_store.store, hermes_store.session_id)[::-1]
    ]


@pytest.mark.parametrize("version", [21, 31])
def test_one_file_is_read_then_the_other(
    open_hermes_store: Callable[[int], HermesStore], workspace: Path, version: int
) -> None:
    hermes_store = open_hermes_store(version)
    run = compacted(hermes_store)
    handoff = hermes_store.rows("SELECT content FROM messages WHERE id = ?", run.handoff_id)[0][0]
    assert handoff.startswith(LEGACY_HEADER), "by which every version of Hermes knows it"
    assert handoff.endswith(f"Never push to main.\n{RULES_CLOSE}\n\n{END_MARKER}")
    audit = look(hermes_store)
    assert (audit.status, audit.settled, audit.run, audit.handoff_id) == ("not_yet", False, run.pk, run.handoff_id)
    assert audit.required == [{"named": name, "path": path} for name, path in
                              [("SOUL.md", "SOUL.md"), ("memory/YYYY-MM-DD.md", today())]]  # fmt: skip
    assert statuses(hermes_store) == [("note", "pending")]

    ids = turn(hermes_store, "./SOUL.md")
    for _ in range(3):
        audit = look(hermes_store)
        assert (audit.status, audit.settled, audit.turns) == ("missing", False, 1)
        assert left_out(audit) == [today()]
        assert statuses(hermes_store) == [("note", "pending"), ("warning", "pending")]
    assert audit.findings[0] | {"message": ids[1], "tool": "read_file"} == audit.findings[0]
    assert today() in events.text_of(Event.objects.get(kind="warning"))
    assert "SOUL.md" not in events.text_of(Event.objects.get(kind="warning"))

    turn(hermes_store, str(workspace / today()))
    audit = look(hermes_store)
    assert (audit.status, audit.settled, audit.turns, left_out(audit)) == ("passed", True, 2, [])
    assert statuses(hermes_store) == [("note", "expired"), ("warning", "expired")]


def test_both_at_once_pass_without_a_warning(hermes_store: HermesStore, workspace: Path) -> None:
    compacted(hermes_store)
    turn(hermes_store, "SOUL.md", today())
    audit = look(hermes_store)
    assert (audit.status, audit.settled, audit.turns) == ("passed", True, 1)
    assert statuses(hermes_store) == [("note", "expired")]


def test_after_two_turns_the_result_stands(hermes_store: HermesStore, workspace: Path) -> None:
    compacted(hermes_store)
    turn(hermes_store)
    look(hermes_store)
    turn(hermes_store, "SOUL.md", fails=[today()])
    audit = look(hermes_store)
    assert (audit.status, audit.settled, audit.turns, left_out(audit)) == ("missing", True, 2, [today()])
    turn(hermes_store, "SOUL.md", today())
    assert look(hermes_store).status == "missing"
    assert statuses(hermes_store) == [("note", "expired"), ("warning", "expired")]


def test_two_turns_seen_together_are_judged_one_by_one(hermes_store: HermesStore, workspace: Path) -> None:
    """The worker was away: there is nobody left to warn."""
    compacted(hermes_store)
    turn(hermes_store, "SOUL.md")
    turn(hermes_store, today())
    audit = look(hermes_store)
    assert (audit.status, audit.turns, statuses(hermes_store)) == ("passed", 2, [("note", "expired")])


def test_a_turn_that_goes_on_is_not_judged(hermes_store: HermesStore, workspace: Path) -> None:
    compacted(hermes_store)
    turn(hermes_store, ends=False)
    assert look(hermes_store).status == "not_yet"
    say(hermes_store, {"role": "assistant", "content": "I look first.", "tool_calls": [read_call("x", "SOUL.md")]})
    assert look(hermes_store).status == "not_yet"
    say(
        hermes_store,
        {"role": "tool", "tool_call_id": "x", "content": "1|Be kind."},
        {"role": "assistant", "content": "So."},
    )
    audit = look(hermes_store)
    assert (audit.status, left_out(audit)) == ("missing", [today()])


def test_reads_before_the_compaction_do_not_count(hermes_store: HermesStore, workspace: Path) -> None:
    turn(hermes_store, "SOUL.md", today())
    compacted(hermes_store)
    turn(hermes_store)
    assert left_out(look(hermes_store)) == ["SOUL.md", today()]


def test_a_turn_that_was_taken_back_does_not_count(hermes_store: HermesStore, workspace: Path) -> None:
    compacted(hermes_store)
    HermesAtWork(hermes_store.path, hermes_store.session_id).rewind(turn(hermes_store, "SOUL.md", today())[0])
    assert look(hermes_store).status == "not_yet"


def test_a_file_that_is_gone_by_then_is_not_missed(hermes_store: HermesStore, workspace: Path) -> None:
    compacted(hermes_store)
    turn(hermes_store, "SOUL.md")
    (workspace / today()).unlink()
    assert look(hermes_store).status == "passed"


def test_nothing_to_read_nothing_to_audit(hermes_store: HermesStore, workspace: Path) -> None:
    (workspace / "AGENTS.md").write_text("## Red Lines\nNever push.")
    compacted(hermes_store)
    audit = look(hermes_store)
    assert (audit.status, audit.settled) == ("nothing_required", False)
    assert audit.reason == "No file to read is named in a section called Session Startup or Every Session."
    assert statuses(hermes_store) == [("note", "pending")], "there are rules to tell of all the same"
    turn(hermes_store)
    assert look(hermes_store).settled
    assert statuses(hermes_store) == [("note", "expired")]


def test_a_file_that_does_not_exist_is_not_required(hermes_store: HermesStore, workspace: Path) -> None:
    (workspace / "AGENTS.md").write_text("## Session Startup\nRead `GONE.md`.")
    compacted(hermes_store)
    audit = look(hermes_store)
    assert (audit.status, audit.required) == ("nothing_required", [])
    assert audit.reason == "None of the files that the rules name exists: GONE.md."


def test_without_rules_no_note(hermes_store: HermesStore, workspace: Path) -> None:
    (workspace / "AGENTS.md").unlink()
    compacted(hermes_store)
    assert look(hermes_store).status == "nothing_required"
    assert "context file" in look(hermes_store).reason
    assert statuses(hermes_store) == []


def test_left_out_of_the_handoff_they_are_still_told_and_audited(hermes_store: HermesStore, workspace: Path) -> None:
    run = compacted(hermes_store, carry=False)
    assert RULES_OPEN not in hermes_store.rows("SELECT content FROM messages WHERE id = ?", run.handoff_id)[0][0]
    assert (look(hermes_store).status, statuses(hermes_store)) == ("not_yet", [("note", "pending")])


def test_undone_it_asks_nothing_any_more(hermes_store: HermesStore, workspace: Path) -> None:
    run = compacted(hermes_store)
    service.undo_run(run)
    assert statuses(hermes_store) == [("note", "expired")]
    assert look(hermes_store).status == "undone"


def test_a_later_compaction_takes_over(hermes_store: HermesStore, workspace: Path) -> None:
    first = compacted(hermes_store)
    turn(hermes_store, "SOUL.md")
    look(hermes_store)
    for _ in range(30):
        say(hermes_store, {"role": "user", "content": "more " * 400}, {"role": "assistant", "content": "yes " * 400})
    again = compacted(hermes_store)
    assert look(hermes_store).handoff_id == again.handoff_id
    before = Audit.objects.get(run=first.pk)
    assert (before.settled, before.status) == (True, "missing")
    live = "\n".join(str(row[1]) for row in hermes_store.live())
    assert live.count(RULES_OPEN) == 1
    assert statuses(hermes_store)[-1] == ("note", "pending")


def test_the_agents_own_is_armed_when_the_worker_sees_it(hermes_store: HermesStore, workspace: Path) -> None:
    agent = HermesAtWork(hermes_store.path, hermes_store.session_id)
    agent.compact()
    assert not Audit.objects.filter(session_id=hermes_store.session_id).exists()
    settle()
    sync_worker.sync_all()
    audit = Audit.objects.get(session_id=hermes_store.session_id)
    assert (audit.status, audit.run) == ("not_yet", None)
    assert statuses(hermes_store) == [("note", "pending")]
    turn(hermes_store, "SOUL.md")
    settle()
    sync_worker.sync_all()
    audit.refresh_from_db()
    assert (audit.status, left_out(audit)) == ("missing", [today()])
    assert statuses(hermes_store) == [("note", "pending"), ("warning", "pending")]


def test_long_over_when_it_is_seen_nobody_is_told(hermes_store: HermesStore, workspace: Path) -> None:
    """A store that is opened for the first time, years after."""
    HermesAtWork(hermes_store.path, hermes_store.session_id).compact()
    turn(hermes_store, "SOUL.md")
    hermes_store.rows(
        "UPDATE messages SET timestamp = MIN(timestamp, unixepoch()) - 400 WHERE session_id = ?",
        hermes_store.session_id,
    )
    of_then = f"memory/{time.strftime('%Y-%m-%d', time.localtime(time.time() - 400))}.md"  # yesterday's, at midnight
    (workspace / of_then).write_text("Then.")
    audit = look(hermes_store, arm=True)
    assert (audit.status, audit.settled, audit.late, left_out(audit)) == ("missing", True, True, [of_then])
    assert statuses(hermes_store) == []


def test_a_file_of_the_day_is_that_of_the_compaction(hermes_store: HermesStore, workspace: Path) -> None:
    """Seen days later, the file of today was not what the agent should have read."""
    (workspace / "memory" / "2001-02-03.md").write_text("Then.")
    HermesAtWork(hermes_store.path, hermes_store.session_id).compact()
    then = datetime(2001, 2, 3, 12, tzinfo=UTC).timestamp()
    hermes_store.rows("UPDATE messages SET timestamp = ? WHERE content LIKE '%own%Go on.%'", then)
    assert [each["path"] for each in look(hermes_store, arm=True).required] == ["SOUL.md", "memory/2001-02-03.md"]


def test_what_cannot_be_noted_is_shown_as_it_was(hermes_store: HermesStore, workspace: Path) -> None:
    """Our own database refuses to be written: a page shows what is known, and the next look notes it."""
    compacted(hermes_store)
    turn(hermes_store, "SOUL.md", today())
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA query_only = ON")
        try:
            assert look(hermes_store).status == "not_yet"
        finally:
            cursor.execute("PRAGMA query_only = OFF")
    assert look(hermes_store).status == "passed"


def test_each_event_is_delivered_to_one_caller(hermes_store: HermesStore, workspace: Path) -> None:
    compacted(hermes_store)
    seen_twice = [events.pending(hermes_store.store, hermes_store.session_id) for _ in range(2)]
    delivered = [events.deliver(each) for each in seen_twice]
    assert [len(each) for each in delivered] == [1, 0]
    text = delivered[0][0].text
    assert text.startswith(EVENT_START)
    assert "SOUL.md" in text and today() in text and "GONE.md" not in text.partition("## Session Startup")[0]
    assert "Never push to main." in text
    assert statuses(hermes_store) == [("note", "delivered")]
    (workspace / "SOUL.md").unlink()
    told = events.of_session(hermes_store.store, hermes_store.session_id)[0]
    assert (events.text_of(told), events.files_of(told)) == (text, ["SOUL.md", today()]), "it stays as it was told"


def test_the_note_names_the_files_of_the_day_it_is_asked_for(hermes_store: HermesStore, workspace: Path) -> None:
    compacted(hermes_store)
    (workspace / "GONE.md").write_text("Back.")
    (workspace / "SOUL.md").unlink()
    event = events.of_session(hermes_store.store, hermes_store.session_id)[0]
    assert events.files_of(event) == [today(), "GONE.md"]


def test_looking_again_costs_one_query_and_reads_no_row(
    hermes_store: HermesStore, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compacted(hermes_store)
    turn(hermes_store, ends=False)
    look(hermes_store)
    read: list[int] = []
    whole = messages.read_rows

    def noted(reader: Reader, ids: Sequence[int]) -> dict[int, StoredMessage]:
        read.extend(ids)
        return whole(reader, ids)

    monkeypatch.setattr(messages, "read_rows", noted)
    with open_store(hermes_store.store) as reader:
        session = get_session(reader, hermes_store.session_id)
        index = index_cache.index_of(reader, session)
        with CaptureQueriesContext(connection) as queries:
            auditing.look(reader, session, index)
    assert len(queries) == 1
    assert len(read) <= 1, "the last row alone tells that the turn goes on"


def test_a_workspace_behind_a_link_is_one_workspace(hermes_store: HermesStore, workspace: Path, tmp_path: Path) -> None:
    """Named by its link in the store's setting, and by its own path in the calls."""
    link = tmp_path / "link"
    link.symlink_to(workspace)
    StoreRules.objects.update(workspace=str(link))
    compacted(hermes_store)
    turn(hermes_store, str(workspace / "SOUL.md"), str(link / today()))
    assert look(hermes_store).status == "passed"


def test_what_is_kept_of_the_rules_is_short_and_without_credentials(hermes_store: HermesStore, workspace: Path) -> None:
    key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"
    (workspace / "AGENTS.md").write_text(f"{RULES}\nKey: {key}\n{'x ' * 5_000}")
    run = compacted(hermes_store)
    assert sum(map(len, run.rules["sections"])) <= 2 * EVENT_CHARS
    assert key not in str(run.rules) + str(events.of_session(hermes_store.store, hermes_store.session_id)[0].sections)


def test_past_midnight_the_file_of_the_new_day_is_asked_for(hermes_store: HermesStore, workspace: Path) -> None:
    """Armed on the day before: that day's file is there, but the startup asks for today's, if there is one."""
    yesterday = "memory/2001-02-03.md"
    (workspace / yesterday).write_text("Then.")
    compacted(hermes_store)
    Audit.objects.update(required=[{"named": "memory/YYYY-MM-DD.md", "path": yesterday}])
    turn(hermes_store)
    assert left_out(look(hermes_store)) == [today()]
    (workspace / today()).unlink()
    turn(hermes_store)
    assert look(hermes_store).findings == []


def test_of_a_very_long_turn_the_beginning_is_judged(
    hermes_store: HermesStore, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compacted(hermes_store)
    monkeypatch.setattr(auditing, "MOST_ROWS", 3)
    turn(hermes_store, "SOUL.md", today())
    audit = look(hermes_store)
    assert (audit.status, audit.turns, left_out(audit)) == ("missing", 1, [today()])


def test_of_long_texts_beginning_and_end_are_kept(hermes_store: HermesStore) -> None:
    """Not an image between blocks, but how a program ended."""
    image = {"type": "image", "source": {"type": "base64", "data": "A" * 100_000}}
    call = {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": "SOUL.md", "why": "x" * 5_000}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "Be kind."}, image]}
    with open_store(hermes_store.store) as reader:
        row = next(iter(messages.read_rows(reader, [turn(hermes_store)[0]]).values()))
    content = json.dumps({"output": "x" * 50_000, "exit_code": 1, "error": None}) + "\n\n[a remark]"
    cut = str(auditing._cut(replace(row, content=content)).content)
    assert len(cut) < 5_000 and json.loads(cut)["exit_code"] == 1
    assert str(auditing._cut(replace(row, content="x" * 50_000 + "code 1")).content).endswith("code 1")
    kept = auditing._cut(replace(row, content=[call, result])).content
    assert len(str(kept)) < 15_000
    assert kept[0] == call and kept[1]["content"][0]["text"] == "Be kind."


def test_a_date_may_be_left_to_the_shell(hermes_store: HermesStore, workspace: Path) -> None:
    compacted(hermes_store)
    function = {"name": "terminal", "arguments": json.dumps({"command": "cat SOUL.md memory/$(date +%F).md"})}
    call = {"id": "c", "type": "function", "function": function}
    say(
        hermes_store,
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "Be kind."},
        {"role": "assistant", "content": "Read."},
    )
    assert look(hermes_store).status == "passed"


def test_a_file_that_is_named_twice_is_required_once(hermes_store: HermesStore, workspace: Path) -> None:
    (workspace / "AGENTS.md").write_text(f"## Session Startup\nRead `SOUL.md`, then `{workspace}/SOUL.md` again.")
    compacted(hermes_store)
    turn(hermes_store)
    assert left_out(look(hermes_store)) == ["SOUL.md"]


@pytest.mark.parametrize("cwd", ["/box/agent", "C:\\Users\\ana\\ws"])
def test_an_agent_elsewhere_calls_its_workspace_otherwise(hermes_store: HermesStore, workspace: Path, cwd: str) -> None:
    """In a container or under Windows: its own directory is not here, the files are those of the store's workspace."""
    hermes_store.rows("UPDATE sessions SET cwd = ? WHERE id = ?", cwd, hermes_store.session_id)
    compacted(hermes_store)
    turn(hermes_store, cwd + cwd[0].replace("C", "\\") + "SOUL.md", today())
    assert look(hermes_store).status == "passed"


@pytest.mark.parametrize("time", ["0", "1.7e15", "-1e15", "9e999", "'then'"])
def test_any_time_that_a_row_may_hold_is_looked_at(hermes_store: HermesStore, workspace: Path, time: str) -> None:
    """None, microseconds, what no calendar has: the file of today counts then."""
    HermesAtWork(hermes_store.path, hermes_store.session_id).compact()
    hermes_store.rows(f"UPDATE messages SET timestamp = {time} WHERE session_id = ?", hermes_store.session_id)
    look(hermes_store, arm=True)
    for row_id in turn(hermes_store, "SOUL.md"):
        hermes_store.rows(f"UPDATE messages SET timestamp = {time} WHERE id = ?", row_id)
    audit = look(hermes_store)
    assert (audit.status, audit.late, left_out(audit)) == ("missing", False, [today()])
    assert all(events.text_of(event) for event in events.of_session(hermes_store.store, hermes_store.session_id))


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("moment", ["note", "warn"])
def test_killed_in_between_nothing_is_half_done(
    hermes_store: HermesStore, workspace: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Armed without its note, or judged without its warning, neither would ever be made up for."""

    def killed(*_: object) -> None:
        raise Killed

    HermesAtWork(hermes_store.path, hermes_store.session_id).compact()
    if moment == "warn":
        look(hermes_store, arm=True)
        turn(hermes_store, "SOUL.md")
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(events, moment, killed)
        look(hermes_store, arm=True)
    look(hermes_store, arm=True)
    assert statuses(hermes_store) == [("note", "pending"), ("warning", "pending")][: 1 + (moment == "warn")]


def test_in_a_restored_file_a_handoff_may_have_an_earlier_ones_number(
    hermes_store: HermesStore, workspace: Path
) -> None:
    before = hermes_store.path.read_bytes()
    first = compacted(hermes_store)
    turn(hermes_store, "SOUL.md", today())
    assert look(hermes_store).status == "passed"
    for rest in hermes_store.path.parent.glob(f"{hermes_store.path.name}-*"):
        rest.unlink()
    hermes_store.path.write_bytes(before)
    again = compacted(hermes_store)
    assert again.handoff_id == first.handoff_id
    audit = Audit.objects.get()
    assert (audit.run, audit.status, statuses(hermes_store)) == (again.pk, "not_yet", [("note", "pending")])
