"""A request of OpenClaw without what it adds: a system prompt, dates, a line on the run, a message of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tests.agents import chat_views
from tests.agents.base import Block, Json
from tests.agents.chat_views import text_of
from viewer.stores.message import StoredMessage

INTERNAL = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>"  # in a message of its own at the end
_DATE = re.compile(r"\[[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d UTC\] ")  # before each text of a user
_RUN = re.compile(r"(\n\n|\A)Runtime: agent=[^\n]*(\n[^\n]+)*\Z")  # behind the first one, or as a part of its own


def of_session(body: Json) -> list[Json]:
    """The messages of a request without the new prompt and the client's own at the end."""
    told = [each for each in body["messages"] if INTERNAL not in text_of(each)]
    return told[:-1]


def sent(messages: Sequence[Json]) -> list[Block]:
    """The blocks of messages of a request."""
    return _plain(chat_views.of_request(messages))


def read(rows: Sequence[StoredMessage]) -> list[Block]:
    """The blocks of rows of our reader."""
    return _plain(chat_views.of_rows(rows))


def built(messages: Sequence[Json]) -> list[Block]:
    """The blocks of the context that the client builds."""
    return _plain(chat_views.of_context([_in_words(each) for each in messages]))


def _in_words(message: Json) -> Json:
    if message["role"] != "compactionSummary":
        return message
    start = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
    return {"role": "user", "content": f"{start}{message['summary']}\n</summary>"}


def _plain(blocks: Sequence[Block]) -> list[Block]:
    told = (replace(each, said=_said(each.said)) if _is_text(each) else each for each in blocks)
    return [each for each in told if each.said or not _is_text(each)]


def _said(text: str) -> str:
    return _RUN.sub("", _DATE.sub("", text, 1))


def _is_text(block: Block) -> bool:
    return block.role == "user" and block.kind == "text"
