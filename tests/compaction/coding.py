"""Sessions of Claude Code as messages, and a measure of what a summary keeps of them that knows nothing of the engine.

The measure is a few expressions of its own, so that what the engine does not recognise counts as lost, too: paths,
names of code in several parts, ids, numbers behind a label. The language's own names and CSS are none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from compaction import Message
from compaction import messages as m
from tests.compaction.survival import DATA

SESSIONS = DATA / "claude-code"
TUNED = SESSIONS / "258c7280-ae70-4798-800f-63464d01a85d.jsonl"
HELD_OUT = SESSIONS / "ae4a77f8-aedd-4bc1-888f-c94edc91af04.jsonl"
_DETAIL = re.compile(
    r"(?<![\w/<.])(?:~|\.{1,2})?/?[\w.@-]+(?:/[\w.@-]+)+"  # a path
    r"|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+[!?]?|\b[A-Za-z]\w*_\w+[!?]?|\b[a-z]+[0-9]*[A-Z]\w*|\b[A-Z][a-z0-9]+[A-Z]\w*"
    r"|\b(?=\w*\d)(?=\w*[A-Za-z])(?!\d+[a-z]{1,3}\b)[A-Za-z0-9][\w-]{4,}"  # an id
    r"|\b(?:port|line|ending in|PR|issue|pid|version|code)\s*[:#=]?\s*\d+|(?<![\w&])#\d+\b|\b\d+\.\d+\.\d+"
)
_STYLE = re.compile(r"#[0-9a-fA-F]{3,8}\b|\\u[0-9a-f]{4}|\d+(?:\.\d+)?(?:px|rem|em|ms|s|vh|vw)\b")
_OWN = re.compile(
    r"(?:Enum|Map|MapSet|String|List|Keyword|System|Path|File|IO|Integer|Float|Regex|DateTime|NaiveDateTime|Date|Time"
    r"|Process|Task|Agent|GenServer|Supervisor|Application|Logger|Kernel|Module|Code|Stream|Tuple|Access|Base|Atom"
    r"|Exception|Math|JSON|Object|Array|Promise|console|document|window|os|sys|re|json|self|this|cls)(?:\..*)?$"
    r"|is_(?:nil|list|map|binary|integer|atom|function|boolean|tuple|float|struct)$|to_string$"
)


def session(path: Path) -> list[Message]:
    """The messages of a Claude Code session, an answer of several rows as one; its own summaries are left out."""
    found: list[Message] = []
    answer = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row.get("type") not in ("user", "assistant") or row.get("isMeta") or row.get("isCompactSummary"):
            continue
        content, id_ = row["message"].get("content"), row["message"].get("id") or ""
        if row["type"] == "assistant" and id_ and id_ == answer:
            found[-1]["content"].extend(content)
            continue
        answer = id_ if row["type"] == "assistant" else ""
        content = content if isinstance(content, str) else list(content)
        found.append({"role": row["type"], "content": content, "timestamp": row.get("timestamp")})
    return found


def plain_share(summarised: Iterable[Message], left: str, later: Iterable[Message]) -> float:
    """Of the details of the summarised messages that later words and calls use again: the share that is left."""
    used = _details("\n".join(text for row in later for text in _texts(row, results=False)))
    known = _details("\n".join(text for row in summarised for text in _texts(row, results=True)))
    wanted = used & known
    whole = [rf"(?<![\w.]){re.escape(detail)}(?!\w)" for detail in wanted]
    return sum(1 for one in whole if re.search(one, left)) / len(whole) if whole else 1.0


def all_text(messages: Iterable[Message]) -> str:
    """All that messages say, calls and results included."""
    return "\n".join(text for row in messages for text in _texts(row, results=True))


def _details(text: str) -> set[str]:
    found = (match[0] for match in _DETAIL.finditer(_STYLE.sub(" ", text)))
    return {detail for detail in found if len(detail) > 3 and not _OWN.match(detail)}


def _texts(row: Message, results: bool) -> Iterator[str]:
    if results:
        yield m.text(m.body(row))
    elif m.role(row) not in m.RESULT_ROLES:
        yield m.said(row.get("content"))
    for call in m.calls(row):
        yield "\n".join(_leaves(json.loads(call.arguments)))


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _leaves(each)
    elif value is not None:
        yield str(value)
