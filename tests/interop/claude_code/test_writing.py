"""What we write into a session of the real Claude Code: it resumes from exactly that, goes on, and it is undone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from tests.agents.base import Block
from tests.agents.claude_code import views
from tests.agents.claude_code.by_hand import ClaudeByHand
from tests.clients import ApiClient
from tests.interop.fetched import NotInstalled
from tests.store_api import StoreApi
from tests.writer_process import WriterProcess
from viewer.stores.base import Store
from viewer.stores.registry import get_store, open_store

from .client import Client, program
from .playing import NEXT
from .scenes import new_session, shell
from .service import Service, calls, says

TURNS = 9
KEPT = 4  # messages at the end that a compaction keeps at least
MUCH = "All that is known of this bed. " * 40  # so that a summary is worth while


@dataclass(frozen=True)
class Work:
    """A session of the real client, which the site knows as well."""

    client: Client
    session: str
    store_api: StoreApi
    place: Path

    @property
    def file(self) -> Path:
        return self.client.transcript(self.session)

    def compact(self, **wanted: Any) -> dict[str, Any]:
        run = self.store_api.run(self.session, apply=True, keep_last=KEPT, **wanted)
        assert run["status"] == "applied", run
        return run

    def undo(self, run: int) -> None:
        status, undone = self.store_api.api_client.call("POST", f"/runs/{run}/undo")
        assert (status, undone["status"]) == (200, "undone"), undone

    def read(self, session: str = "") -> list[Block]:
        """What we say that the model sees."""
        store = Store("work", f"claude-code:///{self.client.config}", "configured")
        with open_store(store) as reader:
            return views.conversation(views.told(reader.live(session or self.session)))

    @cached_property
    def _resumed(self) -> Iterator[Path]:
        return (self.place / f"resumed{number}" for number in range(100))

    def sent(self, session: str = "") -> list[Block]:
        """What the client sends when it resumes: a copy of it does, so that nothing is added here."""
        with Service() as service:
            self.client.copy(next(self._resumed), service).turn(session or self.session, NEXT)
            found = views.conversation(views.sent(service.of("turn")[0]))
        assert (found[-1].role, found[-1].said) == ("user", NEXT)
        assert found[:-1] == self.read(session)
        return found[:-1]

    def turns(self, count: int) -> list[Block]:
        """Go on for so many turns; what is said in them."""
        before = len(self.read())
        with self.client.open(self.session) as conversation:
            for number in range(count):
                conversation.turn(f"Later request {number}.")
        return self.read()[before:]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, str]]:
    """A client with a session that has parallel calls with long results, and its id."""
    with Service() as service:
        try:
            client = Client(program(), tmp_path_factory.mktemp("claude-code"), service)
        except NotInstalled as missing:
            pytest.skip(f"Claude Code is not here: {missing}")
        session = new_session()
        with client.open(session) as conversation:
            for number in range(TURNS):
                if number in (1, 2):
                    long = shell("python3 -c \"print('A line of the log, number 17.\\n' * 400)\"")
                    service.replies += [calls(long, shell("echo b")), says(f"Both are done, {number}.")]
                else:
                    service.replies += [says(f"{number}: {MUCH}")]
                conversation.turn(f"What grows in bed {number}?")
        client._answer_dialogs()
        yield client, session


@pytest.fixture
def work(
    original: tuple[Client, str],
    api_client: ApiClient,
    transactional_db: None,
    at_once: None,
    settings: Settings,
    tmp_path: Path,
) -> Iterator[Work]:
    """A copy of it."""
    client, session = original
    with Service() as service:
        copied = client.copy(tmp_path / "copy", service)
        settings.STORES = {"work": f"claude-code:///{copied.config}"}
        settings.HERMES_HOME = settings.CLAUDE_HOME = tmp_path / "no-home"
        settings.DEMO_STORE = tmp_path / "no-demo.db"
        yield Work(copied, session, StoreApi(api_client, "work", ClaudeByHand(copied.config)), tmp_path)


def is_summary(block: Block) -> bool:
    return block.said.startswith("[CONTEXT SUMMARY]")


def test_it_resumes_from_what_was_kept_and_the_summary(work: Work) -> None:
    before = work.sent()
    work.compact()
    after = work.sent()
    (at,) = [number for number, block in enumerate(after) if is_summary(block)]
    start, recent = after[:at], after[at + 1 :]
    assert start == before[:at] and len(recent) >= KEPT and recent == before[-len(recent) :]
    assert len(start) + len(recent) < len(before)


def test_it_goes_on_and_both_compact_on_top(work: Work) -> None:
    work.compact()
    work.client.service.replies += [calls(shell("echo c"), shell("echo d")), says("More is done.")]
    later = work.turns(2)
    assert [block.kind for block in later].count("result") == 2
    assert work.sent()[-len(later) :] == later
    work.client.compact(work.session)
    native = work.sent()
    assert not any(map(is_summary, native)) and any("The summary so far." in block.said for block in native)
    work.turns(TURNS)
    work.compact()
    assert [is_summary(block) for block in work.sent()].count(True) == 1
    assert len(work.store_api.compactions(work.session)) == 3


@pytest.mark.parametrize("strategy", ["summary", "prune"])
def test_undo(work: Work, strategy: str) -> None:
    before = work.read()
    run = work.compact(strategy=strategy)
    assert work.read() != before
    said = work.turns(2)
    assert work.sent()[-2:] == said[-2:]
    work.undo(run["id"])
    more = work.turns(1)
    assert work.sent() == [*before, *said, *more]
    again = work.compact(strategy=strategy)
    work.sent()
    work.undo(again["id"])
    assert work.sent() == [*before, *said, *more]


def test_what_prune_shortens_is_sent_shortened(work: Work) -> None:
    before = work.read()
    work.compact(strategy="prune")
    sent = work.sent()
    after = [block for block in sent if not is_summary(block)]
    assert len(sent) - 1 == len(after) == len(before), "a note says what was done"
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert changed and all(old.kind == new.kind == "result" and old.id == new.id for old, new in changed)
    assert all(len(new.said) < len(old.said) / 2 for old, new in changed)


def test_its_own_compaction_is_undone(work: Work) -> None:
    from viewer.runs.undoing import undo  # models can be imported only once Django is set up

    before = work.read()
    work.client.compact(work.session)
    assert work.sent() != before
    said = work.turns(2)
    (boundary,) = work.store_api.compactions(work.session)
    undo(get_store("work"), work.session, boundary["handoff_id"])
    sent = work.sent()
    assert sent[: len(before)] == before and sent[len(sent) - len(said) :] == said


def test_a_branch_is_a_session_of_the_client(work: Work) -> None:
    work.compact()
    status, branch = work.store_api.api_client.call("POST", f"{work.store_api.at(work.session)}/branches", {})
    assert status == 201, branch
    assert work.sent(branch["id"]) == work.read()
    stored = work.file.read_bytes()
    work.client.turn(branch["id"], "Go on in the branch.")
    assert work.file.read_bytes() == stored
    assert work.read(branch["id"])[:-2] == work.read()


def test_while_it_is_open_nothing_is_written(work: Work) -> None:
    with work.client.open(work.session) as conversation:
        conversation.turn("Is it open?")
        stored = work.file.read_bytes()
        refused = work.store_api.refusal("POST", f"{work.store_api.at(work.session)}/runs", {"apply": True})
        assert refused == "session_busy" and work.file.read_bytes() == stored
        (listed,) = [
            each for each in work.store_api.api_client.get("/stores/work/sessions")["items"] if not each["parent"]
        ]
        assert listed["active"] and work.store_api.api_client.get(work.store_api.at(work.session))["active"]
    assert not work.store_api.api_client.get(work.store_api.at(work.session))["active"]
    work.compact()


# The lines: where the thread ends, boundary, summary. The first byte of the boundary is written last.
@pytest.mark.parametrize("moment", ["overwritten 0.5", "behind"])
def test_a_writer_that_is_killed(work: Work, moment: str) -> None:
    before, is_written = work.read(), moment == "behind"
    work.store_api.written(f"claude-code:///{work.client.config}", work.session, moment)
    assert (work.read() == before) != is_written
    sent = work.sent()
    assert (sent == before) != is_written and any(map(is_summary, sent)) == is_written
    said = work.turns(1)
    work.compact()
    assert work.sent()[-len(said) :] == said


def test_two_writers_at_once(work: Work) -> None:
    """Both planned on what they read; one writes, the other is refused, and nothing of it is in the file."""
    work_of = ("work", f"claude-code:///{work.client.config}", work.session)
    with WriterProcess(*work_of) as first, WriterProcess(*work_of) as second:
        for each in (first, second):
            each.commit()
        ends = [each.ended() for each in (first, second)]
    assert sorted(ends) == [(0, ""), (0, "compaction_conflict")]
    assert [is_summary(block) for block in work.sent()].count(True) == 1


def padded(lines: list[bytes]) -> None:
    """NUL bytes behind a line in the middle, as a crash leaves them."""
    at = max(at for at, line in enumerate(lines) if b'"type":"assistant"' in line and b"4: All" in line)
    lines[at] = lines[at].rstrip(b"\n") + b"\0" * 300 + b"\n"


def lengthened(lines: list[bytes]) -> None:
    """A line of 33 MB, most of it a copy of a result that is not sent."""
    at = max(at for at, line in enumerate(lines) if b'"toolUseResult"' in line)
    record = json.loads(lines[at])
    lines[at] = json.dumps(record | {"toolUseResult": {"stdout": "x" * 33_000_000}}).encode() + b"\n"


@pytest.mark.parametrize("damage", [padded, lengthened])
def test_of_a_damaged_session_every_turn_is_in_context_or_in_the_summary(
    work: Work, damage: Callable[[list[bytes]], None]
) -> None:
    lines = work.file.read_bytes().splitlines(keepends=True)
    damage(lines)
    work.file.write_bytes(b"".join(lines))
    before = work.sent()
    work.compact()
    after = work.sent()
    assert len(after) < len(before)
    said = "\n".join(block.said for block in after)
    assert [number for number in range(TURNS) if f"bed {number}?" not in said] == []
