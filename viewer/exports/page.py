"""HTML: one self-contained file that runs no scripts, in the site's colours."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from html import escape

from compaction import messages as engine
from viewer.rendering.images import data_image
from viewer.rendering.markdown import rendered
from viewer.stores.clean_text import clean, line

from . import words
from .facts import ExportFacts
from .source import ExportedMessage, ExportOutcome, ExportPlan
from .style import STYLE
from .texts import ContentPart, parts, pretty


def policy(style: str) -> str:
    """What a page may load: only this style, and images and a typeface inside the page."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    loads = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; font-src data:"
    return f"{loads}; base-uri 'none'; form-action 'none'"


POLICY = policy(STYLE)


def head(name: str, style: str = STYLE) -> str:
    """A page from its start to its body, with its title."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(style)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="referrer" content="no-referrer">\n<title>{name}</title>\n<style>{style}</style>\n</head>\n'
        "<body>\n"
    )


class Page:
    """One page."""

    def __init__(self, planned: ExportPlan, facts: ExportFacts) -> None:
        self.facts = facts

    def start(self) -> str:
        name = _text(line(self.facts.name, 200))
        rows = "".join(f"<dt>{_text(term)}</dt><dd>{_text(line(value, 500))}</dd>" for term, value in self.facts.lines)
        prompt = _folded("System prompt", self.facts.system_prompt) if self.facts.system_prompt else ""
        return (
            head(name) + f'<header>\n<h1 dir="auto">{name}</h1>\n<dl>{rows}</dl>\n'
            f'<p class="redacting">{_text(self.facts.redacting)}</p>\n</header>\n<main>\n{prompt}'
        )

    def message(self, message: ExportedMessage) -> str:
        return message_html(message)

    def end(self, outcome: ExportOutcome) -> str:
        return foot(outcome, redacted=self.facts.redacted, empty=not self.facts.exported)


def foot(outcome: ExportOutcome, *, redacted: bool, empty: bool) -> str:
    """The end of a page."""
    none = "<p>There is no message in this view.</p>\n" if empty else ""
    note = f'<p class="incomplete">{_text(outcome.note)}</p>\n' if outcome.note else ""
    places = f"<p>{_text(words.redacted_places(outcome.redacted))}</p>\n" if redacted else ""
    return f"</main>\n<footer>\n{none}{note}{places}<p>End of the export.</p>\n</footer>\n</body>\n</html>\n"


def message_html(message: ExportedMessage, *labels: str) -> str:
    """A message or a handoff. With `labels` in its heading it is one of several of its kind and has no id."""
    return _handoff(message, labels) if message.kind == "handoff" else _message(message, labels)


def _message(message: ExportedMessage, labels: tuple[str, ...]) -> str:
    kind = message.row.role if message.row.role in ("user", "assistant", "tool") else "other"
    inside = [f'<p class="note">{_text(note)}</p>' for note in words.notes(message)]
    inside += [_folded("Thinking", message.row.reasoning)] if message.row.reasoning else []
    inside += [_part(part) for part in parts(message.row)]
    inside += [_call(call.name, call.arguments) for call in engine.calls({"tool_calls": message.row.tool_calls})]
    inside += _columns(message)
    away = "" if message.row.state == "live" else " away"
    mark = "" if labels else f' id="m{message.id}"'
    top = f'<article class="{kind}{away}"{mark}>\n{_heading(words.heading(message), labels)}'
    return f"{top}{''.join(inside)}</article>\n"


def _handoff(message: ExportedMessage, labels: tuple[str, ...]) -> str:
    lines = "".join(f"<p>{_text(line)}</p>\n" for line in words.of_boundary(message))
    rules = _folded(words.RULES, message.rules) if message.rules else ""
    directive = (
        _folded("The instructions to the model around it", message.directive.strip()) if message.directive else ""
    )
    summary = rendered(message.summary.strip(), colours=False)
    mark = "" if labels else f' id="b{message.id}"'
    return (
        f'<section class="boundary"{mark}>\n{_heading(words.of_handoff(message), labels)}{lines}'
        f'<p class="note">{_text(words.NOBODYS)}</p>\n<blockquote dir="auto">{summary}'
        f"</blockquote>\n{rules}{directive}{''.join(_columns(message))}</section>\n"
    )


def _heading(parts: list[str], labels: tuple[str, ...]) -> str:
    first, *others = (_text(word) for word in parts)
    marks = "".join(f" <b>{_text(label)}</b>" for label in labels)
    return f"<h2>{first}{marks}{''.join(f' <span>{other}</span>' for other in others)}</h2>\n"


def _columns(message: ExportedMessage) -> Iterator[str]:
    """The other columns of a raw row."""
    for name, value in message.row.extra.items():
        yield f'<div class="column"><b>{_text(line(name, 80))}</b>{_pre(pretty(value))}</div>\n'


def _part(part: ContentPart) -> str:
    if part.kind == "prose":
        return f'<div class="md" dir="auto">{rendered(part.text, colours=False)}</div>\n'
    if part.kind == "thinking":
        return _folded("Thinking", part.text)
    if part.kind == "call":
        return _call(part.name, part.text)
    if part.kind == "image":
        return _image(part.text)
    return (f"<p><code>{_text(line(part.name, 80))}</code></p>" if part.name else "") + _pre(part.text)


def _call(name: str, arguments: str) -> str:
    name = _text(line(name, 80) or "a tool")
    return f'<div class="call"><b>Calls <code>{name}</code></b>{_pre(pretty(arguments))}</div>\n'


def _folded(name: str, text: str) -> str:
    return f"<details><summary>{_text(name)}, {len(text):,} characters</summary>{_pre(text)}</details>\n"


def _image(address: str) -> str:
    if data_image(address):
        return f'<p><img src="{_text(address)}" alt="an image of the conversation"></p>\n'
    if address.startswith(("http://", "https://")):
        link = f'<a href="{_text(address)}" rel="noopener noreferrer nofollow">{_text(line(address, 300))}</a>'
        return f'<p class="note">An image, not loaded: {link}</p>\n'
    return f'<p class="note">An image that is not shown: {_text(line(address, 300))}</p>\n'


def _pre(text: str) -> str:
    return f'<pre dir="auto">{_text(text)}</pre>\n' if text else ""


def _text(text: str) -> str:
    return escape(clean(text))
