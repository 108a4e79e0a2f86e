"""What lists and headers say of Codex' sessions: names, models, cost, clients, and what an index is given."""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import genai_prices
import pytest

from tests.agents.codex.by_hand import CodexByHand, agent, fresh, meta, reader, session_id
from tests.agents.codex.writing import with_meta
from tests.agents.reading import sent
from tests.agents.talk import heard, talk
from viewer.stores.base import Store
from viewer.stores.codex import database
from viewer.stores.errors import StoreUnavailable
from viewer.stores.reader import Reader
from viewer.stores.registry import agent_of, open_store
from viewer.usage.pricing import Cost

__all__ = ["agent", "reader", "session_id"]


def test_facts_of_a_session(agent: CodexByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", talk(1))
    found, facts = reader.session(session_id), reader.listing.sessions([session_id])[session_id]
    assert (found.title, found.model, found.cwd, found.git_branch, found.source) == (
        "s", "test-model", "/home/user/work", "main", "cli",
    )  # fmt: skip
    assert (facts.title, facts.model, facts.git_branch) == ("s", "test-model", "main")
    assert found.first_words.startswith("request0")
    assert found.is_open is None  # no client of this home locks


def test_cost_is_what_the_total_grew_by(agent: CodexByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", [])
    agent.append("s", "turn_context", {"model": "gpt-5", "cwd": "/srv"})
    for total in ((1_000, 400, 50), (1_000, 400, 50), (3_000, 400, 150)):
        usage = dict(zip(("input_tokens", "cached_input_tokens", "output_tokens"), total, strict=True))
        usage["total_tokens"] = total[0] + total[2]
        info = {"total_token_usage": usage, "last_token_usage": usage}
        agent.append("s", "event_msg", {"type": "token_count", "info": info})
    asked = genai_prices.Usage(input_tokens=3_000, cache_read_tokens=400, output_tokens=150)
    price = float(genai_prices.calc_price(asked, "gpt-5", provider_id="openai").total_price)
    told_now = reader.usage(session_id)
    assert told_now.cost and told_now.cost.dollars == pytest.approx(price) and told_now.tokens == 3_150


PARENT = "parent"
ASKED = {"input_tokens": 1_000, "cached_input_tokens": 0, "output_tokens": 100, "total_tokens": 1_100}


class OldRollout:
    """The file of a client whose lines have no numbers, written with times of our choice."""

    def __init__(self, agent: CodexByHand, name: str, **header: Any) -> None:
        self.agent, self.name, self.total, self.turns = agent, name, 0, 0
        self.time = 1_795_000_000.0
        agent.sql("INSERT INTO threads VALUES (?, ?, ?)", agent.id_of(name), str(self._path), name)
        self.line("session_meta", meta(agent.id_of(name)) | header)

    @property
    def _path(self) -> Path:
        return self.agent.day / f"rollout-2026-11-26T10-00-00-{self.agent.id_of(self.name)}.jsonl"

    def line(self, kind: str, payload: dict[str, Any], after: float = 0.001) -> None:
        self.time += after
        stamp = datetime.fromtimestamp(self.time, UTC).isoformat()
        with self._path.open("a") as file:
            file.write(json.dumps({"timestamp": stamp, "type": kind, "payload": payload}) + "\n")

    def request(self, *, pause: float, total: int | None = None, last: dict[str, int] | None = ASKED) -> None:
        """One turn with one request, after and within which so many seconds pass."""
        self.total = self.total + 1_100 if total is None else total
        self.turns += 1
        said = self.total // 11
        whole = {"input_tokens": self.total - said, "output_tokens": said, "total_tokens": self.total}
        self.line("event_msg", {"type": "task_started", "turn_id": f"t{self.turns}"}, pause)
        self.line("turn_context", {"turn_id": f"t{self.turns}", "model": "gpt-5"})
        info = {"total_token_usage": whole, "last_token_usage": last}
        self.line("event_msg", {"type": "token_count", "info": info}, pause)

    def copied(self, requests: int, *, header: bool = True, restamped: bool = True) -> None:
        """The lines of the session that it came from, as a fork repeats them."""
        began = self.time
        if not restamped:
            self.time -= 3_600
        if header:
            self.line("session_meta", meta(self.agent.id_of(PARENT)), 1.1 if restamped else 0.001)
        for _ in range(requests):
            self.request(pause=0.001 if restamped else 30.0)
        self.time = max(began, self.time)


def dollars(requests: int) -> Any:
    asked = genai_prices.Usage(input_tokens=1_000 * requests, output_tokens=100 * requests)
    return pytest.approx(float(genai_prices.calc_price(asked, "gpt-5", provider_id="openai").total_price))


FORKED = {"forked_from_id": "x"}
SPAWNED = {"parent_thread_id": "x", "source": {"subagent": {"thread_spawn": {"parent_thread_id": "x"}}}}


@pytest.mark.parametrize("came", [FORKED, SPAWNED], ids=["fork", "sub-agent"])
@pytest.mark.parametrize(("header", "restamped"), [(True, True), (True, False), (False, True), (False, False)])
def test_a_fork_costs_what_was_asked_in_it(
    agent: CodexByHand, reader: Reader, came: dict[str, Any], header: bool, restamped: bool
) -> None:
    made = OldRollout(agent, "s", **came)
    made.copied(10, header=header, restamped=restamped)
    assert reader.usage(agent.id_of("s")).cost is None, "nothing was asked in it yet"
    made.request(pause=5.0)
    made.line("session_meta", meta(agent.id_of("s")) | came, 5.0)  # as some clients write it again at a resume
    made.request(pause=5.0)
    assert reader.usage(agent.id_of("s")).cost == Cost(dollars(2))


def test_a_pause_while_a_fork_is_written_ends_no_copies(agent: CodexByHand, reader: Reader) -> None:
    made = OldRollout(agent, "s", **FORKED)
    for number in range(10):
        made.request(pause=2.0 if number == 5 else 0.001)
    made.request(pause=5.0)
    made.request(pause=5.0)
    assert reader.usage(agent.id_of("s")).cost == Cost(dollars(2))


@pytest.mark.parametrize("value", ["1000", -5, True, 1.5, [1], 10**15])
@pytest.mark.parametrize("field", ["input_tokens", "output_tokens", "total_tokens"])
def test_a_count_that_is_no_number_is_no_count(agent: CodexByHand, reader: Reader, field: str, value: Any) -> None:
    made = OldRollout(agent, "s")
    made.request(pause=5.0)
    made.line("event_msg", {"type": "token_count", "info": dict.fromkeys(COUNTS, ASKED | {field: value})})
    made.request(pause=5.0)
    found = reader.usage(agent.id_of("s"))
    assert found.cost == Cost(dollars(2)) and found.tokens == 1_100


COUNTS = ("total_token_usage", "last_token_usage")


@pytest.mark.parametrize("is_noted_first", [False, True])
def test_a_count_that_goes_on_from_another_sessions_is_no_cost(
    agent: CodexByHand, reader: Reader, is_noted_first: bool
) -> None:
    made = OldRollout(agent, "s", **SPAWNED)
    if is_noted_first:  # before any turn, with nothing as its last request
        made.request(pause=5.0, total=3_005_000_000, last=dict.fromkeys(ASKED, 0))
    made.total = 3_005_000_000
    made.request(pause=5.0)
    made.request(pause=5.0)
    assert reader.usage(agent.id_of("s")).cost == Cost(dollars(2))


def test_requests_that_nobody_counted_make_it_at_least_so_much(agent: CodexByHand, reader: Reader) -> None:
    made = OldRollout(agent, "s")
    made.request(pause=5.0)
    made.request(pause=5.0, total=900_000_000)
    assert reader.usage(agent.id_of("s")).cost == Cost(dollars(2), is_least=True)


def test_a_sub_agent_of_a_newer_client_says_where_its_own_lines_begin(agent: CodexByHand, reader: Reader) -> None:
    agent.write("s", [])
    for number in range(6):  # at once
        usage = {"input_tokens": 1_000 * (number + 1), "output_tokens": 100 * (number + 1)}
        usage["total_tokens"] = sum(usage.values())
        agent.append("s", "turn_context", {"model": "gpt-5", "cwd": "/srv"})
        info = {"total_token_usage": usage, "last_token_usage": ASKED}
        agent.append("s", "event_msg", {"type": "token_count", "info": info})
    lines = [json.loads(line) for line in agent.path(agent.id_of("s")).read_text().splitlines()]
    lines[0]["payload"] |= {**SPAWNED, "subagent_history_start_ordinal": lines[-4]["ordinal"]}
    agent.path(agent.id_of("s")).write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert reader.usage(agent.id_of("s")).cost == Cost(dollars(2))


@pytest.mark.parametrize(("noted", "window"), [(258_400, 258_400), ("much", 0), (-1, 0), (None, 0)])
def test_the_window_is_the_one_the_client_was_told(
    agent: CodexByHand, reader: Reader, session_id: str, noted: object, window: int
) -> None:
    agent.write("s", talk(1))
    agent.append("s", "event_msg", {"type": "token_count", "info": {"model_context_window": noted}})
    assert reader.session(session_id).window == reader.listing.sessions([session_id])[session_id].window == window


def test_a_locked_session_is_open(agent: CodexByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", talk(1))
    locks = agent.root / "thread-writer-locks"
    locks.mkdir()
    with (locks / f"{session_id}.lock").open("w") as held:
        assert reader.session(session_id).is_open is False  # a file alone is what a killed client left
        fcntl.flock(held, fcntl.LOCK_EX)
        assert reader.session(session_id).is_open is True


def test_the_title_is_no_copy_of_the_first_request(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with closing(sqlite3.connect(home / "state_5.sqlite")) as con:
        con.execute("CREATE TABLE threads (id, rollout_path, title, first_user_message)")
        con.execute("INSERT INTO threads VALUES ('a', '/x', 'Hello', 'Hello'), ('b', '/y', 'Gardens', 'Hello')")
        con.commit()
    (home / "state_4.sqlite").write_text("older")
    found = database.thread_rows(Store("c", f"codex://{home}", "configured"))
    assert (found.of("a").title, found.of("b").title) == ("", "Gardens")
    assert sorted(os.listdir(home)) == ["state_4.sqlite", "state_5.sqlite"]  # nothing was made beside them


def test_names_that_stand_in_a_file_of_their_own(agent: CodexByHand, session_id: str) -> None:
    for name in ("s", "other", "nameless"):
        agent.write(name, talk(1))
    agent.sql("UPDATE threads SET name = NULL WHERE id != ?", agent.id_of("other"))
    other = agent.id_of("other")
    named = [(session_id, "Beds"), (other, "Not this"), (session_id, "Beds,\n renamed"), (7, "x"), ("y", [])]
    listed = [json.dumps({"id": each, "thread_name": name}) for each, name in named]
    (agent.root / "session_index.jsonl").write_text("\n".join([*listed, "[]", "{broken", "null"]))
    titles = [fresh(agent).session(agent.id_of(each)).title for each in ("s", "other", "nameless")]
    assert titles == ["Beds, renamed", "other", ""]
    with (agent.root / "session_index.jsonl").open("a") as file:
        file.write("\n" + json.dumps({"id": session_id, "thread_name": "Roofs"}))
    found = fresh(agent)
    assert found.session(session_id).title == found.listing.sessions([session_id])[session_id].title == "Roofs"


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_what_stands_in_place_of_the_names(agent: CodexByHand, session_id: str, make: Any) -> None:
    agent.write("s", talk(1))
    make(agent.root / "session_index.jsonl")
    assert fresh(agent).session(session_id).title == "s"


def test_a_database_that_cannot_be_read_is_left_alone(agent: CodexByHand, session_id: str) -> None:
    agent.write("s", talk(1))
    (agent.root / "state_6.sqlite").write_bytes(b"no database" * 1_000)
    assert sent(fresh(agent), session_id) == heard(talk(1))


def test_a_search_index_is_given_each_message_once(agent: CodexByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", talk(1))
    first = reader.searchable(session_id, "")
    assert first is not None and len(first.messages) == 5
    agent.say("s", {"role": "user", "content": "a further word"})
    second = reader.searchable(session_id, first.cursor)
    assert second is not None and [each.text for each in second.messages] == ["a further word"]


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("0.171.0", ""),
        ("0.99.9", ""),
        ("0.180.2", "0.180.2"),
        ("1.4.0-alpha.1", "1.4.0"),
        ("", ""),
        ("new", ""),
        (7, ""),
    ],
)
def test_a_newer_client_is_said(agent: CodexByHand, session_id: str, version: object, said: str) -> None:
    agent.write("s", talk(1))
    with_meta(agent, "s", {"cli_version": version})
    told = agent_of(Store("codex", agent.url, "configured")).untried_version(session_id)
    assert told == (f"Written by Codex {said}; this site was tried with versions up to 0.171.0." if said else "")
    assert agent_of(Store("codex", agent.url, "configured")).untried_version("nobody") == ""


def test_no_home_no_store(tmp_path: Path) -> None:
    store = Store("c", f"codex://{tmp_path}", "configured")
    with pytest.raises(StoreUnavailable, match="no sessions of Codex"), open_store(store):
        pass


def test_how_a_session_is_resumed(agent: CodexByHand, session_id: str) -> None:
    agent.write("s", talk(1))
    owner = agent_of(Store("codex", agent.url, "configured"))
    assert owner.resume_command(session_id) == f"cd /home/user/work && codex resume {session_id}"
    assert owner.open_sessions() is None and owner.own_rules().reads == "AGENTS.md"


@pytest.mark.parametrize("has_numbers", [True, False])
def test_the_call_that_started_a_sub_agent_leads_to_its_session(
    agent: CodexByHand, session_id: str, has_numbers: bool
) -> None:
    """Whatever its result says of it, which is a name alone."""
    agent.write("s", talk(3))
    answers = [row.tool_call_id for row in fresh(agent).live(session_id) if row.role == "tool"]
    for call, thread, kind in ((answers[0], "t1", "started"), (answers[1], "t2", "completed"), ("", "t3", "started")):
        said = {"agent_thread_id": thread, "kind": kind}
        item = {"type": "SubAgentActivity", "id": call, **said}
        event = {"type": "item_completed", "item": item}
        agent.append(
            "s", "event_msg", event if has_numbers else {"type": "sub_agent_activity", "event_id": call, **said}
        )
    wrong = {"type": "SubAgentActivity", "kind": "started", "id": 7, "agent_thread_id": answers[2]}
    odd: Any
    for odd in ("", [], wrong):
        agent.append("s", "event_msg", {"type": "item_completed", "item": odd})
    other = {"type": "CommandExecution", "kind": "started", "id": answers[2], "agent_thread_id": "t4"}
    agent.append("s", "event_msg", {"type": "item_completed", "item": other})
    found = {row.tool_call_id: row.sub_agents for row in fresh(agent).live(session_id) if row.role == "tool"}
    assert found == dict.fromkeys(answers, ()) | {answers[0]: ("t1",)}
