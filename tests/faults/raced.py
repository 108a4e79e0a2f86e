"""A story of the real agent (`tests.agents.hermes.story`) beside a running site.

What we do goes over HTTP, and the agent, the worker and the web server are killed at random moments. Judged after each
step, when all is quiet again.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, build_opener

from tests.agents.hermes.real import Hermes, HermesError
from tests.agents.hermes.story import Compacted, Step, Story
from tests.agents.hermes.told import Fault, Row, broken_pairs, carried, history_faults, row_of, undo_faults
from viewer.stores.hermes.known import KnownBlock, KnownUndone

from .site import NOT_REACHED, PATIENCE, SiteProcesses, until

STORE = "raced"
WHO = ("nobody", "nobody", "nobody", "worker", "web", "both")  # is killed


class Live:
    """A site with one store and one worker, and the agent that writes there; whoever was killed is started again."""

    def __init__(self, site: SiteProcesses, path: Path, start_agent: Callable[[], Hermes]) -> None:
        self.site, self.path, self.start_agent = site, path, start_agent
        self.kills, self.dead = 0, list[int]()  # agents that were killed: what they held, they hold until it expires
        self.agent = self._started()
        site.name_static_files()
        site.serve()
        site.worker()
        self.pages = self._signed_in()

    def _started(self) -> Hermes:
        agent = self.start_agent()
        agent.open(self.path)
        return agent

    def _signed_in(self) -> OpenerDirector:
        """A browser, as far as pages without a script need one."""
        pages = build_opener(HTTPCookieProcessor())
        link = self.site.manage("signin").strip().partition("/sign-in/")[2]
        self._submit(pages, f"/sign-in/{link}")
        return pages

    def _submit(self, pages: OpenerDirector, address: str) -> None:
        """Open the form there, and send it as it is. Raises HTTPError, and what a connection raises."""
        whole = f"http://127.0.0.1:{self.site.port}{address}"
        with pages.open(whole, timeout=PATIENCE) as form:
            token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form.read().decode())
        data = urlencode({"csrfmiddlewaretoken": token[1] if token else ""}).encode()
        pages.open(whole, data, timeout=PATIENCE).close()

    def kill(self, who: str) -> None:
        if who in ("worker", "both"):
            for process in self.site.workers():
                process.kill()
                self.kills += 1
        if who in ("web", "both") and self.site.web:
            self.site.web.kill()
            self.kills += 1

    def kill_agent(self) -> None:
        self.kills += 1
        self.dead.append(self.agent.pid)
        self.agent.kill()
        self.agent = self._started()

    def end(self) -> None:
        self.agent.kill()
        self.site.end()

    def up(self) -> None:
        """Everybody who was killed again."""
        if not self.site.workers():
            self.site.worker()
        if not (self.site.web and self.site.web.alive):
            self.site.serve()

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        return self.site.ask(method, f"/stores/{STORE}/sessions/{path}", body)

    def undo(self, session_id: str, handoff_id: int) -> int:
        """Press *Undo*; the status of the answer."""
        try:
            self._submit(self.pages, f"/stores/{STORE}/sessions/{session_id}/boundaries/{handoff_id}/undo")
        except HTTPError as refused:
            return refused.code
        return 200


class Raced(Story):
    """One session of a store of many."""

    def __init__(self, live: Live, seed: int) -> None:
        super().__init__(live.agent, live.path, seed, f"raced{seed}")
        self.live, self.runs = live, dict[int, Compacted]()

    def plan(self, limit: int) -> list[Step]:
        steps = super().plan(limit)
        more = {"load": "agent_dies", "loose": "branch", "double": "say_fast", "work_on": "we_compact"}
        return [(at, more[name] if name in more and self.random.random() < 0.5 else name) for at, name in steps]

    def _wait(self) -> None:
        self.hermes = self.live.agent
        self.now: float = self.hermes.ask("clock", ahead=0.0)

    def _killing(self, seconds: float) -> None:
        """Let something go on for so long at most, and kill somebody, perhaps."""
        time.sleep(self.random.uniform(0, seconds))
        self.live.kill(self.random.choice(WHO))

    # -- the agent

    def say_fast(self) -> None:
        """A turn and its answer within a moment of what was before."""
        self._say([self.author.user(told_apart=True)])
        self._say(self.author.step())

    def agent_dies(self) -> None:
        """Killed while it writes what was said."""
        self._wait()
        told = [self.author.user(told_apart=True), *self.author.step()]
        self.hermes.send("say", messages=list(map(self.author.wire, told)))
        self._dies(0.01)
        stored = " ".join(row.text + str(row.calls) for row in self.rows())
        self.ledger.said += [each for each in told if each.key in stored]

    def _dies(self, seconds: float) -> None:
        time.sleep(self.random.uniform(0, seconds))
        self.live.kill_agent()
        self._wait()
        self._hold()

    def _asked_to_compact(self, asked: dict[str, Any]) -> list[int]:
        if asked["late"] or self.random.random() < 0.9:
            return super()._asked_to_compact(asked)
        before = [row.id for row in self.rows(live=True)]
        self.hermes.send("compact_with", **asked)
        self._dies(0.05)
        self.counts["the agent was killed while it compacted"] += 1
        return before

    # -- we

    def we_compact(self) -> None:
        self._wait()
        before, said = self.rows(live=True), len(self.ledger.said)
        carries = carried(before, self.ledger)
        wanted = {
            "apply": True,
            "strategy": self.random.choice(("summary", "summary", "prune")),
            "keep_last": self.random.choice((None, 2, 6)),
        }
        status, run = self.live.ask("POST", f"{self.session_id}/runs", wanted)
        if status != 202:
            self.counts[f"we did not compact: {run['error']['code']}"] += 1
            return
        if self.random.random() < 0.4:
            self._say([self.author.user(told_apart=True)])
        self._killing(0.5)
        self.live.up()
        end = self.live.site.closed(int(run["id"]))
        self.counts[f"our run ended: {end['status']} {(end['error'] or {}).get('code', '')}".strip()] += 1
        if end["status"] == "ready":
            self.live.site.ask("POST", f"/runs/{end['id']}/discard")
        if end["status"] == "applied":
            known = self._map_of(int(end["id"]))
            made = Compacted("we", before, carries, said, known=known, handoff_id=known.handoff_id)
            self.compacted.append(made)
        if self.random.random() < 0.8:
            self.load()

    def _map_of(self, run: int) -> KnownBlock:
        [(handoff_id, receipt)] = self.live.site.rows(
            f"SELECT handoff_id, receipt FROM history_compaction WHERE run = {run}"
        )
        return KnownBlock(run, handoff_id, "", _map(_loaded(receipt)["copies"]), undone=False)

    def undo(self) -> list[Fault]:
        made = self._standing()
        if made is None:
            return []
        self._wait()
        expected, answers = self._expected(made), list[int]()
        self.wanted, self.undone = [row.id for row in expected], made.handoff_id
        before = [row.id for row in self.rows(live=True)]
        pressed = threading.Thread(target=self._press, args=(made.handoff_id, answers))
        pressed.start()
        if self.random.random() < 0.3:
            self._killing(0.2)
        pressed.join()
        self.live.up()
        after = [row.id for row in self.rows(live=True)]
        if after == before:
            return self._refused(made, f"status {answers[0]}" if answers else "the server was killed")
        if answers and answers[0] >= 400:
            return [Fault("changed although refused", f"status {answers[0]}: {sorted({*before} ^ {*after})[:9]}")]
        until(lambda: self._is_noted(made) or not answers, "a note of the undo")
        made.undone = True
        self.ledger.back -= self._summarised_again()
        self.counts[f"undone ({made.by})"] += 1
        faults = undo_faults(expected, self.rows(live=True), self.ledger)
        self.load()
        return faults

    def _press(self, handoff_id: int, answers: list[int]) -> None:
        try:
            answers.append(self.live.undo(self.session_id, handoff_id))
        except (*NOT_REACHED, OSError):
            pass

    def _is_noted(self, made: Compacted) -> bool:
        asked = f"SELECT undo FROM history_compaction WHERE handoff_id = {made.handoff_id} AND undone_at IS NOT NULL"
        noted = self.live.site.rows(asked)
        for (receipt,) in noted:
            made.noted = KnownUndone(**_loaded(receipt))
            self.ledger.undone.update(made.noted.block)
        return bool(noted)

    def branch(self) -> list[Fault]:
        """A session that goes on from what is in context now: it lacks no result and no call that this one has."""
        status, made = self.live.ask("POST", f"{self.session_id}/branches")
        if status != 201:
            self.counts[f"not branched: {made['error']['code']}"] += 1
            return []
        before, new = broken_pairs(self.rows(live=True)), made["id"]
        own, self.session_id = self.session_id, new
        problems = [each for each in broken_pairs(self.rows(live=True)) if each not in before]
        self.session_id = own
        return [Fault("branch breaks pairs", problem) for problem in problems]

    # -- reading

    def boundaries(self) -> list[int]:
        status, found = self.live.ask("GET", f"{self.session_id}/compactions")
        assert status == 200, found
        return [each["handoff_id"] for each in found["items"]]

    def history_faults(self) -> list[Fault]:
        return history_faults(self._shown(), self.rows(), self.ledger)

    def _shown(self) -> list[Row]:
        """The messages of History, by the API."""
        rows: list[Row] = []
        cursor = ""
        while True:
            status, page = self.live.ask("GET", f"{self.session_id}/messages?view=history&limit=500&cursor={cursor}")
            assert status == 200, page
            told = [each for each in page["items"] if each["kind"] == "message"]
            times = [datetime.fromisoformat(each["timestamp"]).timestamp() for each in told]
            rows += [row_of(each | {"timestamp": time}) for each, time in zip(told, times, strict=True)]
            if not page["next"]:
                return rows
            cursor = page["next"]

    def tell_all(self, steps: int) -> list[Fault]:
        """The whole story."""
        try:
            return self.tell(self.plan(steps))
        except HermesError as refused:
            return [Fault("Hermes failed", str(refused)[:300])]
        except AssertionError as failed:
            return [Fault("stuck", str(failed)[:3000])]


def _loaded(stored: Any) -> dict[str, Any]:
    """A stored JSON object, read already or not."""
    found: dict[str, Any] = json.loads(stored) if isinstance(stored, str) else stored
    return found


def _map(copies: dict[str, int]) -> dict[int, int]:
    """Copy -> the row it was made from, of a receipt's map."""
    return {int(copy): int(source) for source, copy in copies.items()}
