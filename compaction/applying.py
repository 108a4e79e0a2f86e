"""Turns a plan and a summary into edits: every output message says where it came from, and the
result is checked here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from . import messages as m
from .errors import BadTranscript, SummaryRejected
from .handoff import (
    FLAG,
    MERGE_DELIMITER,
    NOTE,
    PRIOR_HEADER,
    bare,
    handoff_text,
    is_handoff,
    split,
    with_pins,
    with_recall,
    with_request,
    with_rules,
)
from .messages import Message, patched, without_old_images
from .planning import Plan
from .planning.boundaries import last_user, plural
from .planning.cut import fits, needs_note
from .tokens import message_tokens
from .tool_groups import loose_ends, repairs

Why = Literal["merged", "unwrapped", "shortened", "noted"]
WHYS: tuple[Why, ...] = ("merged", "unwrapped", "shortened", "noted")  # the first that applies names the rewrite


@dataclass(frozen=True, slots=True)
class Keep:
    """The input message at `index`, word for word."""

    index: int


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The input message at `index` with some keys changed; a value of None removes the key."""

    index: int
    changes: dict[str, Any]
    why: Why


@dataclass(frozen=True, slots=True)
class Insert:
    """A message that was not in the input: the handoff."""

    message: Message


Edit = Keep | Rewrite | Insert


@dataclass(frozen=True)
class Report:
    """The result for each input message, by index, and notes on other changes, as sentences for people."""

    kept: tuple[int, ...]
    shortened: tuple[int, ...]
    summarised: tuple[int, ...]
    repairs: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Result:
    """A compacted transcript: `edits` in output order, the `messages` they make, and the exact `handoff` written.

    An input index that no edit names is summarised away. Token totals are counted when first read.
    """

    edits: tuple[Edit, ...]
    messages: list[Message]
    summary: str
    handoff: str
    report: Report
    plan: Plan = field(compare=False)

    def __repr__(self) -> str:
        """Without the transcript, which may be long and private."""
        return f"Result({len(self.plan.messages):,} -> {plural(len(self.messages), 'message')})"

    @property
    def tokens_before(self) -> int:
        """Tokens of the whole input."""
        return self.plan.tokens_before

    @cached_property
    def tokens_after(self) -> int:
        """Tokens of the whole output."""
        kept = self.plan.sizes.total(edit.index for edit in self.edits if isinstance(edit, Keep))
        return kept + _written(self.plan, self.edits, self.messages)


def apply(plan: Plan, summary: str) -> Result:
    """Replace the plan's middle by the summary.

    Raises SummaryRejected if the summary is empty or the result would not be smaller than the input, BadTranscript if
    no valid result can be built. The input is untouched either way.
    """
    body = accepted(summary)
    draft = Rewrites(plan)
    if plan.policy.tail_only:
        return draft.result(body)
    for i in (*plan.head, *plan.tail):
        draft.unwrap(i)
    draft.drop_old_media()
    draft.note()
    return draft.result(body)


def accepted(summary: Any) -> str:
    """The summary's body without the markers, pins, rules or white space around it; raises SummaryRejected if empty."""
    if not isinstance(summary, str):
        raise SummaryRejected("not_text", "The summary is not text.")
    body = next((part.text for part in split(summary) if part.kind == "summary"), summary)
    body = bare(body).strip()
    if not body:
        raise SummaryRejected("empty", "The summary is empty.")
    return body


class Rewrites:
    """The changes to kept messages, collected rule by rule. `before` and `after` are the messages before and after the
    handoff.

    `name` is what sentences call the handoff.
    """

    def __init__(self, plan: Plan, name: str = "summary") -> None:
        self.plan = plan
        self.name = name
        self.before, self.after = plan.before, plan.tail
        self.kept = (*self.before, *self.after)
        self.changes: dict[int, dict[str, Any]] = {}
        self.whys: dict[int, set[Why]] = {}
        self.gone: set[int] = set()
        self.repairs: list[str] = []
        self.notes: list[str] = []

    def now(self, index: int) -> Message:
        """The message as changed so far."""
        return patched(self.plan.messages[index], self.changes.get(index, {}))

    def change(self, index: int, changes: dict[str, Any], why: Why) -> None:
        if "content" in changes:  # Hermes' copy of what was sent would contradict the new content
            changes = {**changes, "api_content": None}
        self.changes.setdefault(index, {}).update(changes)
        self.whys.setdefault(index, set()).add(why)

    def unwrap(self, index: int) -> None:
        """Take the earlier handoff out of a message that also has live text; only the live text stays."""
        message = self.plan.messages[index]
        if is_handoff(message) and not (index == 0 and m.is_system(message)):
            self.change(index, {"content": m.live_content(message), **self._flag(False)}, "unwrapped")

    def _flag(self, value: bool) -> dict[str, Any]:
        """The key by which Hermes recognises a summary. In another form its value is None, which removes the key."""
        return {FLAG: value if self.plan.policy.handoff == "hermes" else None}

    def drop_old_media(self) -> None:
        """Replace images before the newest user message with an image by stubs."""
        rows = self.plan.messages
        images = {i: n for i in self.kept if (n := m.image_count(m.body(self.now(i))))}
        back = range(len(rows) - 1, min(images, default=len(rows)), -1)
        newest = next((i for i in back if _user_image(rows[i])), 0)
        old = [i for i in images if i < newest]
        for i in old:
            row = self.now(i)
            self.change(i, {m.body_key(row): without_old_images(m.body(row))}, "shortened")
        if old:
            self.notes.append(f"{plural(sum(images[i] for i in old), 'earlier image')} left out.")

    def note(self) -> None:
        """Add the note about compaction to a system message 0, once."""
        if needs_note(self.plan.messages, self.plan.policy):
            self.change(0, {"content": _appended(self.now(0).get("content"), NOTE)}, "noted")
            self.notes.append("The system prompt got the note about compaction.")

    def result(self, body: str) -> Result:
        """The transcript with a handoff of this body in its place, after the checks."""
        if not self.plan.policy.tail_only:
            self._repair()
        policy = self.plan.policy
        followed = with_pins(with_recall(body, policy.recall), self._pinned())
        handoff = handoff_text(with_rules(with_request(followed, self._request()), policy.rules), policy.handoff)
        new: list[Edit] = []
        if self.plan.role is None:
            self._merge(handoff)
        else:
            new = [Insert(patched({"role": self.plan.role, "content": handoff}, self._flag(True)))]
        edits = (*self._edits(self.before), *new, *self._edits(self.after))
        output = [_message(self.plan.messages, edit) for edit in edits]
        _check(self, edits, output)
        _require_smaller(self.plan, edits, output)
        return Result(edits, output, body, handoff, self._report(edits), self.plan)

    def _pinned(self) -> list[str]:
        """The pinned messages that do not stay in the context by themselves."""
        kept = {m.words(self.plan.messages[i]).strip() for i in self.kept} if self.plan.policy.pinned else set()
        return [pin for pin in self.plan.policy.pinned if pin.partition(": ")[2].strip() not in kept]

    def _request(self) -> str:
        """The text of the message that the handoff repeats, "" if it repeats none."""
        quoted = self.plan.quoted
        return "" if quoted is None else m.words(self.plan.messages[quoted]).strip()

    def _repair(self) -> None:
        """Leave out calls without results and results without calls, and report each."""
        head, tail = ([self.now(i) for i in part] for part in (self.before, self.after))
        for at, changes in sorted(repairs(head, tail).items()):
            index = self.kept[at]
            is_result = m.answers(self.plan.messages[index])
            what = "a tool result without its call" if is_result else "a tool call without a result"
            if changes is None:
                self.gone.add(index)
            else:
                self.change(index, changes, "shortened")
            self.repairs.append(f"Message {index + 1}: {what} was left out.")

    def _merge(self, handoff: str) -> None:
        """Write the handoff into the first tail message.

        It goes before the user's last message, which is the one to answer. It goes after any other text, because text
        after the end marker would look new (hermes-agent #56372).
        """
        index = next(i for i in self.after if i not in self.gone)
        content = self.now(index).get("content")
        if index == last_user(self.plan.messages):
            content, side = _prepended(handoff, content), "in front of"
        else:
            content, side = _appended_behind(content, handoff), "behind"
        self.change(index, {"content": content, **self._flag(True)}, "merged")
        self.notes.append(f"The {self.name} stands {side} the text of message {index + 1}.")

    def _edits(self, indices: Sequence[int]) -> Iterator[Edit]:
        for index in indices:
            if index in self.changes and index not in self.gone:
                yield Rewrite(index, self.changes[index], next(why for why in WHYS if why in self.whys[index]))
            elif index not in self.gone:
                yield Keep(index)

    def _report(self, edits: Sequence[Edit]) -> Report:
        named = {edit.index for edit in edits if not isinstance(edit, Insert)}
        shortened = {i for i in named if "shortened" in self.whys.get(i, ())}
        gone = tuple(i for i in range(len(self.plan.messages)) if i not in named)
        kept = tuple(sorted(named - shortened))
        remarks = (tuple(self.repairs), tuple(self.notes))
        return Report(kept, tuple(sorted(shortened)), gone, *remarks)


def _user_image(message: Message) -> bool:
    """Whether a user sent an image. A screenshot in a tool_result block of a user row belongs to the tool."""
    return message.get("role") == "user" and any(map(m.is_image, m.blocks(message.get("content"))))


def _appended(content: Any, note: str) -> Any:
    if isinstance(content, (list, dict)):
        return [*m.blocks(content), {"type": "text", "text": note}]
    return f"{content or ''}\n\n{note}".lstrip()


def _prepended(handoff: str, content: Any) -> Any:
    """The handoff and the live content in one row, in the live content's own shape."""
    if not isinstance(content, (list, dict)):
        live = m.text(content)
        return f"{handoff}\n\n{live}" if live else handoff
    return [_text_block(f"{handoff}\n\n", content), *m.blocks(content)]


def _appended_behind(content: Any, handoff: str) -> Any:
    """The live content as prior context, then the handoff, in one row and in the live content's own shape."""
    before, behind = f"{PRIOR_HEADER}\n", f"\n\n{MERGE_DELIMITER}\n\n{handoff}"
    if not isinstance(content, (list, dict)):
        live = m.text(content)
        return f"{before}{live}{behind}" if live else handoff
    return [_text_block(before, content), *m.blocks(content), _text_block(behind, content)]


def _text_block(text: str, content: Any) -> dict[str, str]:
    """A text block in the same API shape as the other blocks."""
    responses = any(isinstance(b, dict) and b.get("type") in ("input_text", "input_image") for b in m.blocks(content))
    return {"type": "input_text" if responses else "text", "text": text}


def _message(messages: Sequence[Message], edit: Edit) -> Message:
    if isinstance(edit, Insert):
        return dict(edit.message)
    return patched(messages[edit.index], edit.changes if isinstance(edit, Rewrite) else {})


def _written(plan: Plan, edits: Sequence[Edit], output: Sequence[Message]) -> int:
    """Tokens of the messages that are not kept word for word."""
    new_messages = (message for edit, message in zip(edits, output, strict=True) if not isinstance(edit, Keep))
    return sum(message_tokens(message, plan.count) for message in new_messages)


def _require_smaller(plan: Plan, edits: Sequence[Edit], output: Sequence[Message]) -> None:
    """Refuse a result that is not smaller than what it replaces. Counts no more of the input than needed."""
    written = _written(plan, edits, output)
    kept = {edit.index for edit in edits if isinstance(edit, Keep)}
    replaced = (i for i in range(len(plan.messages) - 1, -1, -1) if i not in kept)
    if not plan.sizes.reach(replaced, written + 1):
        after = plan.sizes.total(kept) + written
        raise SummaryRejected(
            "not_smaller",
            f"With this summary the context would not shrink: {plan.tokens_before:,} tokens before, {after:,} after.",
        )


def _check(draft: Rewrites, edits: Sequence[Edit], output: Sequence[Message]) -> None:
    """Refuse a result that breaks a promise: calls and results are complete, no neighbour of the handoff has its role,
    each kept row occurs once.
    """
    named = [edit.index for edit in edits if not isinstance(edit, Insert)]
    if draft.plan.policy.tail_only:  # its agent completes pairs by itself, and lets any role follow any other
        broken = any(isinstance(edit, Rewrite) for edit in edits)
    else:
        loose = loose_ends(output)
        broken = bool(loose.calls or loose.results) or not _fits(draft, edits, output)
    if broken or named != sorted(set(named)) or not set(named) <= set(draft.kept):
        raise BadTranscript("unsafe_result", "No valid context can be built from this transcript; nothing was changed.")


def _fits(draft: Rewrites, edits: Sequence[Edit], output: Sequence[Message]) -> bool:
    """Whether the handoff's role fits between its neighbours. A merged handoff has its row's own role."""
    role, at = draft.plan.role, next((i for i, edit in enumerate(edits) if isinstance(edit, Insert)), None)
    if role is None or at is None:
        return True
    return fits(role, output[at - 1] if at else None, output[at + 1] if at + 1 < len(output) else None)
