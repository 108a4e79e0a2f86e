"""One entry of a session's tree as a record: what the tree, the context and the index need, without texts.

An entry is one JSON object: a line of a file, or a row of `transcript_events`. Its number (`offset`) is the offset of
its line, or the row's `seq`, and is the id of its message.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from viewer.stores.envelopes import split
from viewer.stores.jsonl.lines import Line, Place, is_other_json
from viewer.stores.jsonl.values import interned, seconds
from viewer.stores.message import BOOKKEEPING_ROLES
from viewer.usage.pricing import TokenUsage, reported_cost

from .envelopes import OPENCLAW
from .plain_schema import ROLES, unknown_in, version_in
from .strict_schema import NOTHING, form_of

(OWN_RECORD,) = BOOKKEEPING_ROLES
MOST_TOKENS = 10**12  # in one field of a usage; a larger number does not count
HEADER, COMPACTION, RESET = "session", "compaction", "reset"
SENT_ROLES = ("user", "assistant", "tool", OWN_RECORD)
MESSAGE, CUSTOM_MESSAGE, BRANCH_SUMMARY, EDIT = "message", "custom_message", "branch_summary", "context_edit"
BROKEN_OFF = ("error", "aborted")  # stop reasons of a reply that no later request contains
CUSTOM, UNDONE = "custom", "palimpsest.undone"  # what a compaction becomes when it is taken back here, and its name
MARK, NOTE = "palimpsest", "palimpsest.pruned"  # a key of entries written here; the name of a note before edits
UNKNOWN = "?"  # the call of a result that does not name one
READ: tuple[Place, ...] = ("alone", "marked", "cut")  # both clients skip a line that is not one JSON text
NO_ID = "\0"  # begins the made-up id of an entry without one: nothing can refer to it
NOBODY = f"{NO_ID}?"  # the parent of an entry whose parent id is not a text
SYSTEM = "system"  # the role in which pi records what it says to a model about itself


class ResponseUsage(NamedTuple):
    """What a request reports, whether for a response, a summary or only a cache: its tokens, those of the whole context
    after it (0 for unknown), US dollars (None for unknown), and the model's names.
    """

    used: TokenUsage
    context: int
    dollars: float | None
    provider: str
    model: str


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One entry. `place` is its number in order, `length` in bytes, `time` in epoch seconds (0.0 for none), `size` in
    characters.

    `role` is that of its message in a chat, "" where it has none; OWN_RECORD where a model is not sent it. `target` is
    the entry that a leaf, an edit or a label refers to, `append_parent` the parent of entries that follow a leaf (None
    where it does not say), `first_kept` the first entry that a compaction or reset keeps (`first_place` in pi's oldest
    files, where it is a position among the entries, -1 for none). `form` is how OpenClaw classifies it
    (`strict_schema`), `is_unknown` says that it has none of pi's known forms (`plain_schema`); `message_role` is the
    role that the client gives a message, and `version` the version in a header, None for any other entry.

    `is_in_tree` says that the client reads it as an entry of the tree, `is_side` that it does not move the leaf,
    `tells` that it holds the client's own words to a model, `is_broken_off` that a reply ended in an error or was
    stopped, `is_cut` that it is too long and parts of it are left out here. For an edit with new words (`has_words`)
    `copy_of` is the number of the message that it changes. `is_user` says that it is a user's message, `is_prompt` that
    a person typed some of it. `is_marked` says that this site wrote it, `is_note` that it is the note before edits of
    ours, which shorten tool output, and `is_undone` that it was part of a compaction until that was undone here.
    """

    place: int
    offset: int
    length: int
    type: str
    id: str = ""
    parent: str = ""
    is_in_tree: bool = False
    time: float = 0.0
    role: str = ""
    size: int = 0
    is_user: bool = False
    is_prompt: bool = False
    is_side: bool = False
    tells: bool = False
    target: str = ""
    append_parent: str | None = None
    form: str = ""
    has_parent: bool = False
    first_kept: str = ""
    first_place: int = -1
    is_unknown: bool = False
    message_role: str = ""
    version: float | None = None
    has_words: bool = False
    is_broken_off: bool = False
    calls: tuple[str, ...] = ()
    answers: str = ""
    usage: ResponseUsage | None = None
    copy_of: int | None = None
    is_undone: bool = False
    is_cut: bool = False
    is_marked: bool = False
    is_note: bool = False

    @property
    def has_no_id(self) -> bool:
        """Whether nothing can refer to it."""
        return self.id.startswith(NO_ID)

    @property
    def is_damaged(self) -> bool:
        """Whether the client does not read its line, although an entry was found in it."""
        return bool(self.type) and not self.is_in_tree and self.version is None

    @property
    def names_any(self) -> bool:
        """Whether it has an id, or the id of another entry."""
        return not self.has_no_id or bool(self.parent or self.target or self.first_kept)

    @property
    def sent_role(self) -> str:
        """The role that it is sent in; OWN_RECORD for one that is in context and not sent, such as a reply that broke
        off.
        """
        return OWN_RECORD if self.is_left_out else self.role

    @property
    def is_left_out(self) -> bool:
        """Whether clients leave it out of requests: a reply that broke off, or a role they do not know."""
        return self.is_broken_off or (self.type == MESSAGE and self.role not in SENT_ROLES)

    @property
    def is_compaction(self) -> bool:
        """Whether it is a compaction that was not undone: a summary, or the note of edits."""
        return self.type == COMPACTION or (self.is_note and not self.is_undone)

    @property
    def is_summary(self) -> bool:
        """Whether it is no message of its own: a compaction, or new words for an earlier message."""
        return self.is_boundary or self.type == EDIT or self.is_note

    @property
    def is_boundary(self) -> bool:
        """Whether it is of a type that replaces everything before it."""
        return self.type in (COMPACTION, RESET)


def record_of(line: Line, position: int) -> TreeEntry:
    """The entry in a line; an entry of no type for a line without an object, which pi may still read as an entry."""
    if line.object is None:
        is_read = is_other_json(line.data)
        return TreeEntry(
            position, line.offset, line.length, "", f"{NO_ID}{position}", is_in_tree=is_read, is_unknown=is_read
        )
    is_read, is_cut = line.place in READ, line.place == "cut"
    return entry_of(line.object, position, line.offset, line.length, is_read=is_read, is_cut=is_cut)


def entry_of(
    value: dict[str, Any] | None, position: int, number: int, length: int, *, is_read: bool = True, is_cut: bool = False
) -> TreeEntry:
    """The entry in an object. `is_read` says that the client reads it, `is_cut` that parts of it were left out here. An
    entry of no type for None.
    """
    if value is None:
        return TreeEntry(position, number, length, "")
    kind = interned(value.get("type"))
    value_message = value.get("message")
    message: dict[str, Any] = value_message if kind == MESSAGE and isinstance(value_message, dict) else {}
    about = value.get("targetId")
    content = _content(kind, value, message)
    role = _role(kind, value, message)
    first_place = value.get("firstKeptEntryIndex") if kind == COMPACTION else None
    is_user = message.get("role") == "user" and role == "user" and _size(content) > 0
    return TreeEntry(
        place=position,
        offset=number,
        length=length,
        type=kind,
        id=interned(value.get("id")) or f"{NO_ID}{position}",
        parent=interned(value.get("parentId")) or (NOBODY if value.get("parentId") else ""),
        is_in_tree=is_read and kind != HEADER,
        time=seconds(value.get("timestamp")) or _milliseconds(message.get("timestamp")),
        role=role,
        size=_size(content),
        is_user=is_user,
        is_prompt=is_user and not split(message.get("content"), OPENCLAW).kind,
        is_side=value.get("appendMode") == "side",
        tells=message.get("role") == SYSTEM or (kind == COMPACTION and isinstance(value.get("systemMessage"), dict)),
        target=interned(about),
        append_parent=interned(value["appendParentId"]) if "appendParentId" in value else None,
        form=form_of(value) if is_read else NOTHING,
        has_parent="parentId" in value,
        first_kept=interned(value.get("firstKeptEntryId")),
        first_place=first_place if isinstance(first_place, int) else -1,
        is_unknown=bool(unknown_in(value)),
        message_role=interned(message.get("role")),
        version=version_in(value) if is_read and kind == HEADER else None,
        has_words=kind == EDIT and value.get("replacement") is not None,
        is_broken_off=role == "assistant" and message.get("stopReason") in BROKEN_OFF,
        calls=tuple(_calls(content)) if role == "assistant" else (),
        answers=(interned(message.get("toolCallId")) or UNKNOWN) if role == "tool" else "",
        usage=_usage(message or value),
        is_undone=kind == CUSTOM and value.get("customType") in (UNDONE, NOTE),
        is_cut=is_cut,
        is_marked=MARK in value,
        is_note=kind in (CUSTOM_MESSAGE, CUSTOM) and MARK in value and value.get("customType") == NOTE,
    )


def _role(kind: str, value: dict[str, Any], message: dict[str, Any]) -> str:
    if kind == MESSAGE:
        role = interned(message.get("role"))
        if role == SYSTEM or not message:
            return ""
        return OWN_RECORD if message.get("excludeFromContext") is True else ROLES.get(role, role or OWN_RECORD)
    if kind == RESET:
        return OWN_RECORD
    if kind == CUSTOM_MESSAGE or (kind == BRANCH_SUMMARY and value.get("summary")):
        return "user"
    return "user" if kind == COMPACTION else ""


def _content(kind: str, value: dict[str, Any], message: dict[str, Any]) -> Any:
    """The content of an entry; for a command that a person ran, its output."""
    if kind == MESSAGE:
        parts = [message.get("content"), message.get("command"), message.get("output"), message.get("summary")]
        return [part for part in parts if part is not None]
    if kind == EDIT:
        return value.get("replacement")
    return value.get("summary") if kind in (COMPACTION, BRANCH_SUMMARY) else value.get("content")


def _calls(content: Any) -> list[str]:
    """The ids of the calls in a content; without a call's own id, no result can refer to it."""
    if isinstance(content, list):
        return [call for part in content for call in _calls(part)]
    if isinstance(content, dict) and content.get("type") in ("toolCall", "tool_use"):
        return [content["id"]] if isinstance(content.get("id"), str) else []
    return []


def _usage(message: dict[str, Any]) -> ResponseUsage | None:
    usage = message.get("usage")
    if not isinstance(usage, dict):
        return None
    written = _count(usage, "cacheWrite")
    long = min(_count(usage, "cacheWrite1h"), written)
    numbers = (_count(usage, "input"), written - long, long, _count(usage, "cacheRead"), _count(usage, "output"))
    state, cost = _object(usage.get("contextUsage")), _object(usage.get("cost"))
    context = _count(state, "totalTokens") or _count(usage, "totalTokens") or sum(numbers)
    return ResponseUsage(
        _one(*numbers),
        context,
        reported_cost(cost.get("total"), sum(numbers)),
        interned(message.get("provider")),
        interned(message.get("model")),
    )


@lru_cache(maxsize=8)
def _one(fresh: int, written: int, written_long: int, cached: int, output: int) -> TokenUsage:
    """One shared object for the responses with equal numbers, such as those without a count."""
    return TokenUsage(fresh, written, written_long, cached, output)


def _count(value: dict[str, Any], name: str) -> int:
    number = value.get(name)
    return int(number) if isinstance(number, (int, float)) and 0 < number < MOST_TOKENS else 0


def tokens_of(value: dict[str, Any], name: str) -> int | None:
    """A number of tokens in an entry, None where it has none."""
    return _count(value, name) or None


_UNCOUNTED = frozenset(("type", "id", "textSignature", "thinkingSignature", "thoughtSignature"))


def _size(value: Any) -> int:
    """Characters of the texts in a content; 0 for one that is nested too deep to count."""
    try:
        return _characters(value)
    except RecursionError:
        return 0


def _characters(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(map(_characters, value))
    if isinstance(value, dict):
        return sum(_characters(each) for name, each in value.items() if name not in _UNCOUNTED)
    return 0


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _milliseconds(stamp: Any) -> float:
    return stamp / 1000 if isinstance(stamp, (int, float)) and 0 < stamp < 10**14 else 0.0
