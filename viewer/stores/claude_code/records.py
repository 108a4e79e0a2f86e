"""The records of a session's file: what the tree and the index need from each line, without texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from viewer.stores.jsonl.files import ReadFile, RecordCache
from viewer.stores.jsonl.lines import Line, Place
from viewer.stores.jsonl.long_lines import CutText, is_cut
from viewer.stores.jsonl.values import interned, seconds
from viewer.stores.message import BOOKKEEPING_ROLES
from viewer.usage.pricing import TokenUsage

from .envelopes import typed_words
from .schema import BOUNDARY, IN_TREE, MARK, MESSAGE_TYPES, MICROCOMPACTED, unknown_in

# The client reads the object that a line begins with, whatever follows it.
READ: tuple[Place, ...] = ("alone", "marked", "cut", "first")
COPY = "palimpsestCopyOf"  # a key of ours in the copy of a record, which the client keeps
NO_UUID = "\0none"  # the uuid of all records without one: the client treats them as one record
(OWN_RECORD,) = BOOKKEEPING_ROLES
SYNTHETIC_MODEL = "<synthetic>"  # of replies that the client wrote itself
SUMMARY = "This session is being continued from a previous conversation that ran out of context"  # the beginning of one
QUEUED = "queue-operation"  # the type of the client's lines about words that were typed while a turn ran
MOST_LINES = 100  # of a request, by which it is recognised
MOST_TOKENS = 10**12  # in one field of a usage; a larger number does not count


@dataclass(frozen=True, slots=True)
class Piece:
    """One message of a line, or a part of one: the line's offset plus `at` is its id; `size` in characters."""

    at: int
    role: str
    size: int
    answers: str = ""
    is_prompt: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """The messages that a boundary keeps by reference: after the record `anchor`, in this order."""

    anchor: str
    uuids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BoundaryFacts:
    """The fields of a compaction boundary. `kept` is what it keeps by reference (`segment`: head, anchor and tail,
    where the kept ones are not listed), and `keeps_nothing` says that it has neither, not even an empty list.
    `logical_parent` was the end of the thread before it; `mark` identifies a compaction of ours.
    """

    kept: Kept | None
    segment: tuple[str, str, str] | None
    keeps_nothing: bool
    logical_parent: str
    mark: str


@dataclass(frozen=True, slots=True)
class Record:
    """One line. `position` is its number in the file; `time` in epoch seconds, 0.0 for none.

    `group` is the id of the model's response that an assistant's line is one block of, `usage` what that reports (None
    for nothing), `is_end` says that no line of it follows. `leaf` is the record that a line names as the end of the
    thread, `copy_of` the one of which a compaction of ours wrote a shortened copy; `unknown` names an unknown part
    (`schema`). `typed` has the hashes of the lines that a person typed. `is_read` says that the client reads it,
    `is_cut` that its message is too long to be read here.
    """

    position: int
    offset: int
    length: int
    type: str
    subtype: str = ""
    uuid: str = ""
    parent: str = ""
    time: float = 0.0
    group: str = ""
    pieces: tuple[Piece, ...] = ()
    calls: tuple[str, ...] = ()
    is_sidechain: bool = False
    is_summary: bool = False
    boundary: BoundaryFacts | None = None
    leaf: str = ""
    model: str = ""
    usage: TokenUsage | None = None
    is_end: bool = False
    copy_of: str = ""
    unknown: str = ""
    is_read: bool = True
    is_cut: bool = False
    typed: tuple[int, ...] = ()

    @property
    def is_in_tree(self) -> bool:
        return self.is_read and self.type in IN_TREE

    @property
    def is_boundary(self) -> bool:
        return self.boundary is not None

    @property
    def ends_response(self) -> bool:
        """Whether no line of the response before it can follow it."""
        return self.type in MESSAGE_TYPES and any(not piece.answers for piece in self.pieces)

    @property
    def answers(self) -> tuple[str, ...]:
        """The calls whose results it contains."""
        return tuple(piece.answers for piece in self.pieces if piece.answers)


SessionRecords = ReadFile[Record]


def record_of(line: Line, position: int) -> Record:
    """The record in a line; a record of no type for a line without an object."""
    value = line.object
    if value is None:
        return Record(position, line.offset, line.length, "")
    record = _record(value, line, position)
    return record if line.place in READ else replace(record, is_read=False, boundary=None, leaf="", unknown="")


def _record(value: dict[str, Any], line: Line, position: int) -> Record:
    kind = interned(value.get("type"))
    message = object_in(value, "message")
    queued = queued_of(value) if kind == "attachment" else None
    pieces = tuple(pieces_of(kind, value, message)) if kind in MESSAGE_TYPES and message else ()
    if queued:
        pieces = (Piece(0, "user", _size(queued), is_prompt=typed_words(value, queued) is not None),)
    subtype = interned(value.get("operation" if kind == QUEUED else "subtype"))
    typed = _typed(value, message.get("content") if queued is None else queued) if _is_prompt(pieces) else ()
    if kind == QUEUED and subtype == "enqueue":
        typed = _typed({}, value.get("content"))
        pieces = (Piece(0, "user", _size(value.get("content")), is_prompt=True),) if typed else ()
    if kind == "system" and subtype == MICROCOMPACTED:
        pieces = (Piece(0, OWN_RECORD, 0),)
    return Record(
        position=position,
        offset=line.offset,
        length=line.length,
        type=kind,
        subtype=subtype,
        uuid=interned(value.get("uuid")) or (NO_UUID if kind in IN_TREE else ""),
        parent=_parent(value.get("parentUuid")),
        time=seconds(value.get("timestamp")),
        group=interned(message.get("id")) if kind == "assistant" else "",
        pieces=pieces,
        calls=tuple(_calls(message)) if kind == "assistant" else (),
        is_sidechain=bool(value.get("isSidechain")),
        is_summary=is_summary(value),
        boundary=_boundary(value) if kind == "system" and subtype == BOUNDARY else None,
        leaf=interned(value.get("leafUuid")) if kind == "last-prompt" else "",
        model=interned(message.get("model")) if kind == "assistant" else "",
        usage=_usage(message) if kind == "assistant" else None,
        is_end=isinstance(message.get("stop_reason"), str),
        copy_of=interned(value.get(COPY)),
        unknown=unknown_in(value) if isinstance(value.get("uuid"), str) else "",
        is_cut=line.place == "cut" and is_cut([message, value.get("attachment")]),
        typed=typed,
    )


def _is_prompt(pieces: Iterable[Piece]) -> bool:
    return any(piece.is_prompt for piece in pieces)


def _typed(value: dict[str, Any], content: Any) -> tuple[int, ...]:
    """The hashes of the lines that a person typed; none for a command without words, which is not a message."""
    words = typed_words(value, content) if isinstance(content, (str, list)) else None
    lines = [line.strip() for line in (words or "").splitlines() if line.strip()]
    is_command = len(lines) == 1 and lines[0].startswith("/") and " " not in lines[0]
    return () if is_command else tuple(map(hash, lines[:MOST_LINES]))


def _parent(value: Any) -> str:
    return interned(value) if value is None or isinstance(value, str) else NO_UUID


def object_in(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The object in a field, an empty one where the field holds anything else."""
    field_value = value.get(name)
    return field_value if isinstance(field_value, dict) else {}


def is_summary(value: Mapping[str, Any]) -> bool:
    """Whether a line is a compaction's summary of an earlier conversation. The first versions of 1.0 did
    not flag it.
    """
    content = object_in(value, "message").get("content")
    blocks = content if isinstance(content, list) else [{"text": content}]
    first = blocks[0].get("text") if blocks and isinstance(blocks[0], dict) else None
    is_one = value.get("type") == "user" and isinstance(first, str) and first.lstrip().startswith(SUMMARY)
    return is_one or bool(value.get("isCompactSummary"))


def pieces_of(kind: str, value: dict[str, Any], message: dict[str, Any]) -> Iterator[Piece]:
    """The messages of a user's or assistant's line: each tool result is one, and the rest together is one."""
    content = message.get("content")
    if kind == "assistant" or not isinstance(content, list):
        kind = interned(message.get("role")) or kind
        typed = kind == "user" and not is_summary(value) and typed_words(value, content) is not None
        yield Piece(0, kind, _size(content), is_prompt=typed and _size(content) > 0)
        return
    rest: list[tuple[int, Any]] = []
    for at, block in enumerate(content):
        if isinstance(block, dict) and block.get("type") == "tool_result":
            yield Piece(at, "tool", _size(block.get("content")), answers=interned(block.get("tool_use_id")) or "?")
        else:
            rest.append((at, block))
    if rest:
        whole = len(rest) == len(content)
        typed = whole and not is_summary(value) and typed_words(value, content) is not None
        yield Piece(rest[0][0], "user", sum(_size(block) for _, block in rest), is_prompt=typed)


def queued_of(value: dict[str, Any]) -> Any:
    """What a person typed while a turn ran, which the client keeps as an attachment, or only in its queue; None for any
    other line.
    """
    if value.get("type") == QUEUED:
        return value.get("content")
    attachment = object_in(value, "attachment")
    return attachment.get("prompt") if attachment.get("type") == "queued_command" else None


def _calls(message: dict[str, Any]) -> Iterator[str]:
    content = message.get("content")
    for block in content if isinstance(content, list) else []:
        if isinstance(block, dict) and block.get("type") == "tool_use" and isinstance(block.get("id"), str):
            yield block["id"]


def _boundary(value: dict[str, Any]) -> BoundaryFacts:
    metadata = object_in(value, "compactMetadata")
    return BoundaryFacts(
        kept=_preserved(metadata),
        segment=_segment(metadata),
        keeps_nothing="preservedMessages" not in metadata and "preservedSegment" not in metadata,
        logical_parent=interned(value.get("logicalParentUuid")),
        mark=_mark(metadata),
    )


def _preserved(metadata: dict[str, Any]) -> Kept | None:
    preserved = object_in(metadata, "preservedMessages")
    if not isinstance(preserved.get("uuids"), list):
        return None
    uuids = [uuid for uuid in preserved["uuids"] if isinstance(uuid, str)]
    return Kept(interned(preserved.get("anchorUuid")), tuple(uuids)) if len(uuids) == len(preserved["uuids"]) else None


def _segment(metadata: dict[str, Any]) -> tuple[str, str, str] | None:
    segment = metadata.get("preservedSegment")
    if not isinstance(segment, dict):
        return None
    return interned(segment.get("headUuid")), interned(segment.get("anchorUuid")), interned(segment.get("tailUuid"))


def _mark(metadata: dict[str, Any]) -> str:
    return interned(object_in(metadata, MARK).get("id"))


def _usage(message: dict[str, Any]) -> TokenUsage | None:
    usage = message.get("usage")
    if not isinstance(usage, dict):
        return None
    by_time, tools = object_in(usage, "cache_creation"), object_in(usage, "server_tool_use")
    counts = [usage.get(name) for name in _COUNTS]
    counts += [by_time.get("ephemeral_1h_input_tokens"), tools.get("web_search_requests")]
    fresh, written, cached, output, long, searches = map(_count, counts)
    long = min(long, written)
    tier, speed = usage.get("service_tier"), usage.get("speed")
    is_clear = all(map(_is_count, counts)) and all(each is None or isinstance(each, str) for each in (tier, speed))
    return _one(fresh, written - long, long, cached, output, searches, interned(tier), interned(speed), is_clear)


_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


def _count(value: Any) -> int:
    return value if isinstance(value, int) and _is_count(value) else 0


def _is_count(value: Any) -> bool:
    """Whether a field of a usage is a possible number, or missing."""
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_TOKENS)


@lru_cache(maxsize=8)
def _one(*counts: Any) -> TokenUsage:
    """One shared object for the lines of a response."""
    return TokenUsage(*counts)


def _size(value: Any) -> int:
    """Characters of the texts in a content."""
    if isinstance(value, CutText):
        return value.size
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(map(_size, value))
    if isinstance(value, dict):
        return sum(_size(each) for name, each in value.items() if name not in ("type", "signature"))
    return 0


RECORDS: RecordCache[Record] = RecordCache(record_of)
