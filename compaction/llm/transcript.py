"""The transcript as a summariser's model reads it: who said what, which tools were called, and their results.

Every message is one entry under a numbered label, and the digest is the sequence of entries. Words of people and
replies are complete; output and arguments of tools are cut to their start and end, and identical output is shown once.
Secrets are removed before anything is cut, so that no half of a secret stays. A line of the transcript that looks like
one of the labels is indented by a space, so tool output cannot pass for somebody's words. Directives that a program
acts on are reworded as well (`handoff.without_directives`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from .. import messages as m
from ..handoff import IMAGE_STUB, TEXT_TYPES, block_text, without_directives
from ..messages import Call, Message
from ..policy import ARGUMENTS_CHARS, OUTPUT_CHARS, REPEATED_CHARS
from ..redaction import redact, redact_value
from ..text.clip import middle_left_out

_LABEL = re.compile(
    r"(?m)^\[(?=(?:message|call) \d|result of |tool result|earlier summary|same output as |added to this message)"
)
_OWN_SECTIONS = ("tool_use", "tool_result")  # blocks that get a section of their own
_THINKING = ("thinking", "redacted_thinking", "reasoning")
_REACH = 16  # messages over which a late result still holds its call's entries together


@dataclass(frozen=True, slots=True)
class RenderedMessage:
    """One message as text with its blank line. `label` says what it is; `joined`: it belongs to the entry before it."""

    text: str
    label: str
    joined: bool = False


class _ShownCall(NamedTuple):
    """A call: its message's number, its position in that message, both from 1, and the tool."""

    message: int
    position: int
    tool: str


def entries(messages: Iterable[Message]) -> list[RenderedMessage]:
    """One entry per message, numbered from 1; a tool call and its results are joined. Never raises."""
    state = _State()
    for number, message in enumerate(messages, 1):
        state.add(number, message)
    return [RenderedMessage(text, label, state.joined[i]) for i, (text, label) in enumerate(state.texts)]


def earlier_summary(body: str) -> RenderedMessage:
    """An earlier summary as material, if it is too long to be carried next to the transcript."""
    return RenderedMessage(f"[earlier summary]\n{_set_off(body)}\n\n", "earlier summary")


@dataclass(slots=True)
class _State:
    """What the entries so far have shown: calls without a result, and outputs."""

    texts: list[tuple[str, str]] = field(default_factory=list)
    joined: list[bool] = field(default_factory=list)
    outputs: dict[str, int] = field(default_factory=dict)  # tool output to the message that shows it
    waiting: dict[str, list[_ShownCall]] = field(default_factory=dict)
    near: list[_ShownCall] = field(default_factory=list)
    answered: set[_ShownCall] = field(default_factory=set)

    def add(self, number: int, message: Message) -> None:
        self.joined.append(False)
        content = m.body(message)
        if m.role(message) in m.RESULT_ROLES:
            answered_call = self._call_of(number, m.answers(message)[0])
            label = f"message {number}, {_result_of(answered_call, _tool_name(message))}"
            sections = [self._output(number, _text(content))]
        else:
            label = f"message {number}, {_who(message)}"
            calls, answers = m.calls(message), m.answers(message)
            own = _OWN_SECTIONS if answers else _OWN_SECTIONS[:1] if isinstance(content, list) else ()
            sections = _by_a_person(message) if m.added(message) else [_set_off(redact(_text(content, own)))]
            self._called(number, calls, bool(answers))
            sections += [_call(i, call) for i, call in enumerate(calls, 1)]
            sections += self._results(number, content if answers else None)
        if rest := m.unread(message):
            sections.append(_set_off(middle_left_out(redact(m.as_json(rest)), OUTPUT_CHARS)))
        body = "\n".join(filter(None, sections)) or "(empty)"
        label += _when(message)
        self.texts.append((f"[{label}]\n{body}\n\n", label))

    def _results(self, number: int, content: Any) -> Iterator[str]:
        """Sections of the results inside a content list (Anthropic's shape)."""
        for block in m.blocks(content):
            if isinstance(block, dict) and block.get("type") == "tool_result":
                id_ = block.get("tool_use_id")
                label = _result_of(self._call_of(number, id_ if isinstance(id_, str) else ""), "")
                failed = ", failed" if block.get("is_error") is True else ""
                yield f"[{label}{failed}]\n{self._output(number, _text(block.get('content')))}"

    def _output(self, number: int, text: str) -> str:
        first = self.outputs.setdefault(text, number)
        if first != number and len(text) >= REPEATED_CHARS:
            return f"[same output as message {first}]"
        return _set_off(middle_left_out(redact_value(text), OUTPUT_CHARS)) or "(no output)"

    def _called(self, number: int, calls: list[Call], results: bool) -> None:
        if not results:
            self.near = []
        for position, call in enumerate(calls, 1):
            shown_call = _ShownCall(number, position, _name(call.name))
            self.near.append(shown_call)
            for id_ in filter(None, call.ids):
                self.waiting.setdefault(id_, []).append(shown_call)

    def _call_of(self, number: int, id_: str) -> _ShownCall | None:
        """The nearest call with that id that has no result; without an id the next open call of the row before."""
        calls = self.waiting.get(id_, []) if id_ else self.near
        while calls:
            call = calls.pop() if id_ else calls.pop(0)
            if call not in self.answered:
                self.answered.add(call)
                for i in range(number - 1, max(call.message - 1, number - 1 - _REACH), -1):
                    self.joined[i] = True
                return call
        return None


def _by_a_person(message: Message) -> list[str]:
    """Sections of a message in which a client added words to a person's: the person's first, then the client's, cut."""
    pictures = [IMAGE_STUB] * m.image_count(m.body(message))
    added = middle_left_out(redact("\n".join(m.added(message))), ARGUMENTS_CHARS)
    typed = _set_off(redact("\n".join(filter(None, (m.words(message), *pictures)))))
    return [typed, f"[added to this message by the client, not by the user]\n{_set_off(added)}"]


def _who(message: Message) -> str:
    role = m.role(message)
    if role != "user":
        kind = message.get("type")
        return _name(role) or (_name(f"item {kind}") if isinstance(kind, str) and kind else "no role")
    if m.is_user_message(message) and not m.is_typed(message) and m.text(message.get("content")).strip():
        return "notice written by the agent's program, not by the user"
    name = message.get("name")
    return f"user {_name(name)}".rstrip() if isinstance(name, str) else "user"


def _when(message: Message) -> str:
    """The time as ", 2026-11-21 10:03" in UTC, "" for a message without a time."""
    at = m.time_of(message)
    return f", {at:%Y-%m-%d %H:%M}" if at else ""


def _result_of(call: _ShownCall | None, tool: str) -> str:
    if call is None:
        return f"result of {tool}, whose call is not shown" if tool else "tool result, whose call is not shown"
    return f"result of call {call.position} in message {call.message}: {call.tool or tool or 'a tool'}"


def _call(position: int, call: Call) -> str:
    arguments = _set_off(middle_left_out(redact_value(call.arguments), ARGUMENTS_CHARS))
    return f"[call {position}: {_name(call.name) or 'a tool'}] {arguments}".rstrip()


def _tool_name(message: Message) -> str:
    name = message.get("tool_name") or message.get("name")
    return _name(name) if isinstance(name, str) else ""


@lru_cache(maxsize=1_024)
def _name(text: str) -> str:
    """A name for a label: one short line without brackets."""
    plain = without_directives(" ".join(text[:80].split()))
    return redact(plain.translate({ord("["): "(", ord("]"): ")"}))


def _text(content: Any, own: Sequence[str] = (), depth: int = 1) -> str:
    """The words of a content; images become stubs, unknown blocks JSON. Blocks of the `own` kinds have their own
    sections.
    """
    if isinstance(content, str):
        return content
    return "\n".join(piece for block in m.blocks(content) or [content] if (piece := _piece(block, own, depth)))


def _piece(block: Any, own: Sequence[str], depth: int) -> str:
    text = block_text(block)
    if text or block in (None, "", [], {}):
        return text
    kind = block.get("type") if isinstance(block, dict) else None
    if m.is_image(block):
        return IMAGE_STUB
    if kind == "tool_result" and kind not in own and depth:
        return _text(block.get("content"), depth=depth - 1)
    if kind in (*own, *_THINKING) or (kind in TEXT_TYPES and block.get("text") == ""):
        return ""
    return middle_left_out(redact(m.as_json(block)), ARGUMENTS_CHARS)


def _set_off(text: str) -> str:
    text = without_directives(text)
    if text.startswith("[") or "\n[" in text:  # found far quicker than by the expression
        return _LABEL.sub(" [", text)
    return text
