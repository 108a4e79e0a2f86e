"""Of files that are damaged at random, what we show as sent is what the real Codex sends when it resumes them, or the
session is not written to.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest

from tests.agents.base import Block
from tests.agents.codex import views
from tests.interop.fetched import NotInstalled
from tests.interop.processes import ClientFailed
from viewer.stores.base import Store
from viewer.stores.registry import open_store

from .client import GPT_5, GPT_6, Client, Provider, program
from .damage import damaged
from .playing import WORKERS
from .scenes import shell
from .service import Service, calls, says

COUNT = 40
TURNS = 5


@dataclass(frozen=True, slots=True)
class Sound:
    """A session as the client wrote it."""

    name: str
    session_id: str
    file: str
    data: bytes
    model: str
    provider: Provider


SORTS: dict[str, tuple[str, Provider, dict[str, object], bool]] = {
    "paginated": (GPT_5, "ours", {}, False),
    "with tools in it": (GPT_6, "ours", {}, False),
    "legacy": (GPT_5, "ours", {"historyMode": "legacy"}, False),
    "compacted": (GPT_5, "ours", {}, True),
    "encrypted": (GPT_5, "openai", {}, True),
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Sound]:
    """A function from a sort to a session of it, which is made once."""
    made: dict[str, Sound] = {}

    def of(sort: str) -> Sound:
        if sort not in made:
            made[sort] = _said(sort, tmp_path_factory.mktemp("sound"))
        return made[sort]

    return of


def _said(sort: str, place: Path) -> Sound:
    model, provider, options, is_compacted = SORTS[sort]
    with Service() as service:
        client = Client(program(), place, service, model=model, provider=provider)
        with client.app_server() as server:
            session = server.start(**options)
            for number in range(TURNS):
                if number % 3 == 1:
                    service.replies += [
                        calls(shell("echo a"), shell(f"echo {number}"), text="Looking.", reasoning="Both.")
                    ]
                service.replies += [
                    says(f"{number}: Beans behind the leeks.", reasoning="Think." if number % 2 else "")
                ]
                server.turn(session, f"What grows in bed {number}?")
                if is_compacted and number == TURNS - 3:
                    server.compact(session)
            server.unload(session)
        file = client.rollout(session)
        return Sound(sort, session, file.name, file.read_bytes(), model, provider)


def sent(found: Sound, data: bytes, place: Path, service: Service) -> list[Block] | None:
    """What the client sends of a file when it resumes it; None where it refuses."""
    client = Client(program(), place, service, model=found.model, provider=found.provider)
    _put(client.home, found, data)
    before = len(service.requests)
    try:
        client.turn(found.session_id, "And on the roof?")
    except ClientFailed:
        return None
    return views.conversation(views.told(views.of_session(service.requests[before].body)))


def _put(home: Path, found: Sound, data: bytes) -> None:
    day = home / "sessions" / "2026" / "11" / "27"
    day.mkdir(parents=True)
    (day / found.file).write_bytes(data)


def shown(found: Sound, data: bytes, home: Path) -> tuple[list[Block], str]:
    """What we show as sent, and why the session is not written to, "" where it is."""
    _put(home, found, data)
    with open_store(Store("work", f"codex:///{home}", "configured")) as reader:
        refused = reader.refusal(found.session_id)
        return views.of_rows(reader.live(found.session_id)), refused.message if refused else ""


def _spoken(blocks: list[Block]) -> list[Block]:
    """Without what says nothing: of reasoning that is encrypted, no word is known. Reasoning in a row is one."""
    found: list[Block] = []
    for block in blocks:
        if block.kind == "reasoning" and found and found[-1].kind == "reasoning":
            found[-1] = replace(block, said=f"{found[-1].said}\n\n{block.said}")
        elif block.said or block.kind == "call":
            found.append(block)
    return found


def test_files_damaged_at_random(
    sound: Callable[[str], Sound],
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    try:
        sessions = [sound(sort) for sort in SORTS]
    except NotInstalled as missing:
        pytest.skip(f"Codex is not here: {missing}")

    def judged(seed: int) -> tuple[str, str]:
        """Whether both say the same, and what it is about."""
        chance, found = Random(seed), sessions[seed % len(sessions)]
        how, data = damaged(found.data, chance)
        place = tmp_path / str(seed)
        read, refusal = shown(found, data, place / "ours")
        with Service() as service:
            told = sent(found, data, place / "theirs", service)
        shutil.rmtree(place)
        label = f"{seed}: {found.name}, {how}"
        if told is not None and _spoken(told) == _spoken(read):
            return "equal and refused" if refusal else "equal", label
        return (
            "refused" if refusal else "DIFFERENT",
            f"{label}; sent {told is not None and len(told)}, read {len(read)}",
        )

    with ThreadPoolExecutor(WORKERS) as pool:
        results = list(pool.map(judged, range(COUNT)))
    counted = {kind: sum(each == kind for each, _ in results) for kind in sorted({each for each, _ in results})}
    record_property("damaged", counted)
    assert [label for kind, label in results if kind == "DIFFERENT"] == [], counted
    assert counted["equal"] > COUNT // 3, counted
