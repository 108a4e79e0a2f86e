"""Items of the Responses interface, as files contain them: which are messages, and which are the
client's own context.
"""

from __future__ import annotations

import json
import marshal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from threading import Lock
from typing import Any

from cachetools import LRUCache, cached

from compaction import messages as chat
from compaction.handoff import is_handoff

from .envelopes import WRAPPERS, typed_words

INTERNAL = "internal_chat_message_metadata_passthrough"
CONTEXT = ""  # the role used here for what the client says to a model about itself, which is not a message
AGENT_MESSAGE = "agent_message"
ENCRYPTED = ("compaction", "compaction_summary", "context_compaction")
OUTPUTS = ("function_call_output", "custom_tool_call_output", "tool_search_output", "mcp_tool_call_output")
CALLS = ("function_call", "custom_tool_call", "local_shell_call", "tool_search_call")
# What the client sends to a model with one prompt, and leaves out of the context that its own compactions make.
NOTE_KINDS = frozenset({"hooks.additional_context", "skills.selected_skill_instructions"})
NOT_SENT = ("ghost_snapshot", "compaction_trigger")
# The first words of a summary that the client itself wrote (its templates/compact/summary_prefix.md).
SUMMARY_PREFIX = "Another language model started to solve this problem and produced a summary of its thinking process."
SUMMARY_KIND = "compaction.summary"
REPEATED = 8_000  # items that are recognised at once: those of a snapshot and the one before it

Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ItemFacts:
    """One item without its text: `id` as its maker gave it ("" for none), `digest` of its content, `size` in
    characters; `role` of a chat, CONTEXT for the client's own; `call` the call that it makes, `answers` the one whose
    result it is. `is_summary` says that it contains a compaction's summary, `is_note` that the client added it to the
    message before it, and drops it in compactions.
    """

    type: str
    id: str
    digest: int
    role: str
    size: int
    is_prompt: bool = False
    is_summary: bool = False
    call: str = ""
    answers: str = ""
    is_note: bool = False

    @property
    def is_of_model(self) -> bool:
        return self.role == "assistant"


def _as_bytes(item: Item) -> bytes:
    """A digest of an item's JSON, much quicker than reading its content."""
    try:
        data = marshal.dumps(dict(item), 2)
    except ValueError:  # a text in it was cut
        data = json.dumps(item).encode()
    return blake2b(data, digest_size=16).digest()


@cached(LRUCache[bytes, "ItemFacts"](REPEATED), key=_as_bytes, lock=Lock())
def facts_of(item: Item) -> ItemFacts:
    """The facts of an item, one object for all snapshots that contain it. An unknown type counts as something that the
    model said.
    """
    kind, role = _text(item.get("type")), _role(item)
    content = item.get("content") if kind in ("message", AGENT_MESSAGE) else None
    text = chat.said(content) if role == "user" else ""
    is_summary = kind in ENCRYPTED or (role == "user" and _is_summary(item, text))
    return ItemFacts(
        type=kind,
        id=_text(item.get("id")),
        digest=digest_of(item),
        role=role,
        size=_size(content if content is not None else {name: item[name] for name in item if name != INTERNAL}),
        is_prompt=role == "user"
        and kind == "message"
        and bool(content)
        and not is_summary
        and typed_words(item) is not None,
        is_summary=is_summary,
        call=_text(item.get("call_id")) if kind in CALLS else "",
        answers=(_text(item.get("call_id")) or "?") if kind in OUTPUTS else "",
        is_note=role == CONTEXT and bool(kinds_of(item)) and NOTE_KINDS.issuperset(kinds_of(item)),
    )


def digest_of(item: Item) -> int:
    """A 63-bit number for the content of an item, whatever its id."""
    content = {name: value for name, value in item.items() if name not in ("id", INTERNAL) and value is not None}
    data = json.dumps(content, sort_keys=True, ensure_ascii=False).encode("utf-8", "replace")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big") >> 1


def _role(item: Item) -> str:
    kind = item.get("type")
    if is_context(item):
        return CONTEXT
    if kind == "message":
        return _text(item.get("role")) or "user"
    if kind in OUTPUTS:
        return "tool"
    return "user" if kind == AGENT_MESSAGE or kind in ENCRYPTED else "assistant"


def is_context(item: Item) -> bool:
    """Whether an item is what the client says to a model about itself: tools, instructions, environment."""
    if item.get("type") == "additional_tools":
        return True
    if item.get("type") != "message":
        return False
    role, kinds = item.get("role"), kinds_of(item)
    if role in ("developer", "system"):
        return True
    if role != "user":
        return False
    if kinds and set(kinds) != {"unknown"}:
        return not any(kind.startswith("user.") or kind == SUMMARY_KIND for kind in kinds)
    starts = chat.said(item.get("content"))[:200].lstrip().startswith(WRAPPERS)
    return starts and typed_words(item) is None


def kinds_of(item: Item) -> tuple[str, ...]:
    """The kinds that the client names for the parts of a message, () for none."""
    around = item.get(INTERNAL)
    kinds = around.get("content_item_kinds") if isinstance(around, dict) else None
    return tuple(kind for kind in kinds if isinstance(kind, str)) if isinstance(kinds, list) else ()


def _is_summary(item: Item, text: str) -> bool:
    if SUMMARY_KIND in kinds_of(item) or text.startswith(SUMMARY_PREFIX):
        return True
    return is_handoff({"role": "user", "content": text})


# -- values ------------------------------------------------------------------------------------------------------------


def payload_of(value: dict[str, Any] | None) -> tuple[str, dict[str, Any]]:
    """Type and payload of a line's object; "" for no object. The oldest files have bare items in their lines."""
    if value is None:
        return "", {}
    payload, kind = value.get("payload"), value.get("type")
    if isinstance(payload, dict):
        return _text(kind), payload
    if "payload" in value:
        return "", {}
    if isinstance(kind, str):
        return "response_item", value
    return ("session_meta" if isinstance(value.get("id"), str) else ""), value


def _size(value: Any) -> int:
    """Characters of the texts in a value."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Sequence):
        return sum(map(_size, value))
    if isinstance(value, Mapping):
        return sum(_size(each) for name, each in value.items() if name not in ("type", "id", "encrypted_content"))
    return 0


def _text(value: Any) -> str:
    return sys.intern(value) if isinstance(value, str) else ""


def as_json(value: Any) -> str:
    """A value as the text of a call's arguments."""
    return json.dumps(value, ensure_ascii=False)
