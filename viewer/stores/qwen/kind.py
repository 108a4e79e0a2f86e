"""Qwen Code's home as a kind of store: where its sessions are, and what one of them says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings

from viewer.stores import parsed_session as parsed
from viewer.stores.base import Store
from viewer.stores.google_contents import number, reported, rows_of, text_of
from viewer.stores.jsonl.values import seconds
from viewer.stores.message import StoredMessage
from viewer.stores.parsed import ParsedStores
from viewer.stores.parsed_session import ParsedFile, ParsedSession
from viewer.stores.settings_files import value_in

from .replay import QwenTree

_ID = re.compile(r"[0-9a-fA-F-]{32,36}")  # other files in the directory are no sessions


class QwenStores(ParsedStores):
    """A home of Qwen Code, `~/.qwen` by default."""

    name, schemes = "qwen", ("qwen:///",)
    client, command, room = "Qwen Code", "qwen --resume {}", "projects"
    tried = "0.24.4"

    def home(self) -> Path:
        home: Path = settings.QWEN_HOME
        return home

    def files(self, store: Store) -> Iterator[ParsedFile]:
        room = store.path / self.room
        for path, state in parsed.regular_files(room.glob("*/chats/*.jsonl")):
            if _ID.fullmatch(path.stem):
                yield ParsedFile(path.stem, path, state)
        for path, state in parsed.regular_files(room.glob("*/subagents/*/agent-*.jsonl")):
            session = path.parent.name
            noted = {each: text_of(value_in(path.with_suffix(".meta.json"), json.loads, each)) for each in _NOTED}
            above = re.sub(r"[^\w-]", "_", noted["parentAgentId"], flags=re.ASCII)
            yield ParsedFile(
                f"{session}/{path.stem}", path, state, f"{session}/agent-{above}" if above else session,
                noted["toolUseId"], title=noted["description"], model=noted["model"],
            )  # fmt: skip

    def parse(self, file: ParsedFile) -> ParsedSession:
        rows, records = list[StoredMessage](), list[tuple[int, dict[str, Any]]]()
        for line in parsed.lines_of(file.path):
            value = line.value(parsed.READ)
            if value is None:
                rows.append(parsed.broken_row(line, file.id))
                continue
            if isinstance(value.get("uuid"), str):
                records.append((parsed.id_of(line), value))
            rows.append(_row(value, parsed.id_of(line), file.id))
        tree, values = QwenTree(records, file.id), [each for _, each in records]
        first = values[0] if values else {}
        titles = (_payload(each, "customTitle") for each in reversed(values) if each.get("subtype") == "custom_title")
        windows = (number(each, "contextWindowSize") for each in reversed(values))
        forked = first.get("forkedFrom")
        return ParsedSession(
            messages=tree.messages,
            rows=rows,
            live=tree.live,
            compactions=tree.compactions,
            left=tree.left,
            lost=tree.lost,
            title=next(filter(None, titles), "") or file.title,
            model=_newest(values, "model") or file.model,
            cwd=text_of(first.get("cwd")),
            branch=_newest(values, "gitBranch"),
            version=_newest(values, "version"),
            branched_from=text_of(forked.get("sessionId")) if isinstance(forked, dict) else "",
            window=next(filter(None, windows), 0),
            began=next(filter(None, (seconds(each.get("timestamp")) for each in values)), 0.0),
            usage=reported(tree.requests(), tree.in_context, "openai"),
        )


_NOTED = ("toolUseId", "parentAgentId", "description", "model")


def _newest(values: list[dict[str, Any]], name: str) -> str:
    """The last text under this name, "" for none."""
    return next((each[name] for each in reversed(values) if isinstance(each.get(name), str)), "")


def _payload(record: dict[str, Any], name: str) -> str:
    payload = record.get("systemPayload")
    return text_of(payload.get(name)) if isinstance(payload, dict) else ""


def _row(value: dict[str, Any], row_id: int, session_id: str) -> StoredMessage:
    """A record as a row, under its subtype or type."""
    message, role = value.get("message"), text_of(value.get("subtype")) or text_of(value.get("type")) or "unknown"
    row = parsed.row_of(row_id, session_id, role, value, None)
    if not isinstance(message, dict):
        return row
    (first, *_) = rows_of(message.get("parts"), row)
    return parsed.row_of(row_id, session_id, role, {**value, "message": None}, first.content)
