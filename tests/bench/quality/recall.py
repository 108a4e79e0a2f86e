"""What a compaction summarised away, asked for again: the question's own words are the query of `search_history`.

The questions are in `tests/data/recall/questions.json`: of ten transcripts, each compacted by the site itself, with
answers that are nowhere in the context that is left. A question is answered if an answer occurs in the texts of two
calls: the search, and its next page; or, where there is no further page, what is around the first hit.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from unittest.mock import patch

from tests.bench.quality.figures import Figure
from tests.bench.quality.messages import Message
from tests.bench.quality.transcripts import SHARED, Half, claude_code_rows, hermes_rows

QUESTIONS = Path(__file__).resolve().parents[2] / "data" / "recall" / "questions.json"


@dataclass(frozen=True)
class Asked:
    """A question of a half, and what two calls answered."""

    style: str
    answers: Sequence[str]
    first: str
    second: str
    seconds: float

    def is_in(self, *texts: str) -> bool:
        return any(re.search(answer, text, re.IGNORECASE) for answer in self.answers for text in texts)


def figures(half: Half) -> Iterator[Figure]:
    """Questions answered in one call and within two, by style; characters and processor seconds."""
    asked = answered(half)
    if not asked:
        return
    yield Figure("answered within two calls", sum(each.is_in(each.first, each.second) for each in asked), len(asked))
    yield Figure("answered by the first call", sum(each.is_in(each.first) for each in asked), len(asked))
    for style in sorted({each.style for each in asked}):
        own = [each for each in asked if each.style == style]
        yield Figure(f"within two calls: {style}", sum(each.is_in(each.first, each.second) for each in own), len(own))
    yield Figure("characters of a first answer", sum(len(each.first) for each in asked) // len(asked))
    yield Figure("characters of both", sum(len(each.first) + len(each.second) for each in asked) // len(asked))
    yield Figure("processor seconds of a first search, the longest", max(each.seconds for each in asked))


def answered(half: Half) -> list[Asked]:
    """All questions of a half, asked."""
    if not QUESTIONS.exists() or not SHARED.exists():
        return []
    questions = [each for each in json.loads(QUESTIONS.read_text(encoding="utf-8")) if each["half"] == half]
    _start_site()
    return [
        asked
        for number, (_, of_one) in enumerate(groupby(questions, key=lambda each: each["transcript"]))
        for asked in _asked(f"{half.replace(' ', '-')}-{number}", list(of_one))
    ]


def _asked(name: str, questions: Sequence[dict[str, Any]]) -> Iterator[Asked]:
    """The questions of one transcript, after its compaction."""
    from viewer.mcp import words
    from viewer.recall import texts
    from viewer.recall.reading import read_history
    from viewer.recall.search import search_history
    from viewer.stores.registry import get_store, open_store

    _compact(name, rows_of(questions[0]["source"]), questions[0]["window"])
    with open_store(get_store("bench")) as reader:
        for each in questions:
            texts.forget()
            began = time.process_time()
            first = search_history(reader, name, each["question"])
            seconds = time.process_time() - began
            if first.next:
                second = words.searched(search_history(reader, name, each["question"], cursor=first.next))
            elif first.hits:
                second = words.read(read_history(reader, name, around=first.hits[0].id, offset=first.hits[0].start))
            else:
                second = ""
            yield Asked(each["style"], each["answers"], words.searched(first), second, seconds)


def rows_of(source: dict[str, Any]) -> list[Message]:
    """The messages of a transcript: a file, sessions in it one after the other, a stretch of them."""
    path = SHARED / source["file"]
    if path.suffix == ".jsonl":
        rows = list(claude_code_rows(path))
    else:
        sessions = hermes_rows(path)
        rows = [row for title in source["sessions"] for row in sessions[title]]
    if source.get("drop_system"):
        rows = [row for row in rows if row["role"] != "system"]
    return rows[source.get("from", 0) : source.get("to") or len(rows)]


# -- the site ----------------------------------------------------------------------------------------------------------


@cache
def _start_site() -> Path:
    """The site in this process, on a directory of its own with an empty store `bench`."""
    place = Path(mkdtemp(prefix="palimpsest-recall-"))
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "viewer.settings",
        "PALIMPSEST_DATA_DIR": str(place),
        "PALIMPSEST_STORES": f"bench=sqlite:///{place / 'bench.db'}",
    }
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    from tests.factories.stores import create_empty

    create_empty(place / "bench.db")
    return place / "bench.db"


def _compact(name: str, rows: Sequence[Message], window: int) -> None:
    """Write the messages as a session, and compact it as the site does for a model with this window."""
    from viewer.runs import job, service
    from viewer.runs.planning import Options
    from viewer.stores.registry import get_store
    from viewer.usage import counting

    _write(name, rows)
    with patch.object(counting, "context_window", lambda *_: window):
        run = service.prepare(get_store("bench"), name, Options(strategy="summary", carry=False), apply=True)
        job.compact(run.pk)
    run.refresh_from_db()
    assert run.status == "applied", run.error_message


def _write(name: str, rows: Sequence[Message]) -> None:
    from tests.factories.stores import PRESENT, add_session, connected

    path = _start_site()
    add_session(path, name, title=name, model="gpt-5")
    with closing(connected(path)) as con, con:
        con.executemany(
            "INSERT INTO messages (session_id, role, content, tool_calls, tool_call_id, timestamp) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            [(name, *_columns(row), PRESENT + number) for number, row in enumerate(rows)],
        )


def _columns(row: Message) -> tuple[str, str | None, str | None, str | None]:
    content = row.get("content")
    if content is not None and not isinstance(content, str):
        content = "\0json:" + json.dumps(content)
    calls = row.get("tool_calls")
    return row["role"], content, json.dumps(calls) if calls else None, row.get("tool_call_id")
