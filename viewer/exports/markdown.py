"""Markdown: a heading for each message, calls and results in fences, boundaries as a rule with their handoff quoted."""

from __future__ import annotations

from collections.abc import Iterator

from compaction import messages as engine
from viewer.rendering.images import data_image
from viewer.stores.clean_text import line

from . import quoting, words
from .facts import ExportFacts
from .source import ExportedMessage, ExportOutcome, ExportPlan
from .texts import ContentPart, parts, pretty


class MarkdownExport:
    """One Markdown text, readable without rendering."""

    def __init__(self, planned: ExportPlan, facts: ExportFacts) -> None:
        self.facts = facts

    def start(self) -> str:
        facts = [f"- {name}: {quoting.escaped(line(value, 500))}" for name, value in self.facts.lines]
        lines = [f"# {quoting.escaped(line(self.facts.name, 200))}", "", *facts, "", f"**{self.facts.redacting}**", ""]
        if self.facts.system_prompt:
            lines += ["## System prompt", "", quoting.fenced(self.facts.system_prompt)]
        return "\n".join([*lines, ""])

    def message(self, message: ExportedMessage) -> str:
        return _handoff(message) if message.kind == "handoff" else _message(message)

    def end(self, outcome: ExportOutcome) -> str:
        closing = [f"**{quoting.escaped(outcome.note)}**"] if outcome.note else []
        if self.facts.redacted:
            closing.append(words.redacted_places(outcome.redacted))
        if not self.facts.exported:
            closing.insert(0, "There is no message in this view.")
        return "---\n\n" + "\n\n".join([*closing, "End of the export."]) + "\n"


def _message(message: ExportedMessage) -> str:
    blocks = [f"## {_heading(message)}", *(quoting.escaped(note) for note in words.notes(message))]
    if message.row.reasoning:
        blocks += ["Thinking:", quoting.quoted(message.row.reasoning)]
    blocks += [_part(part) for part in parts(message.row)]
    for call in engine.calls({"tool_calls": message.row.tool_calls}):
        blocks.append(f"Calls **{quoting.escaped(line(call.name, 80) or 'a tool')}**:\n\n{_code(call.arguments)}")
    blocks += [f"{quoting.escaped(name)}:\n\n{_code(pretty(value))}" for name, value in message.row.extra.items()]
    return "\n\n".join(block.rstrip("\n") for block in blocks) + "\n\n"


def _heading(message: ExportedMessage) -> str:
    return " · ".join(quoting.escaped(word) for word in words.heading(message))


def _handoff(message: ExportedMessage) -> str:
    blocks = ["---", f"## {' · '.join(quoting.escaped(word) for word in words.of_handoff(message))}"]
    blocks += [quoting.escaped(line) for line in words.of_boundary(message)]
    blocks.append(words.NOBODYS)
    blocks.append(quoting.quoted(message.summary.strip()))
    if message.rules:
        blocks += [f"{words.RULES}:", quoting.quoted(message.rules)]
    if message.directive:
        blocks += ["The instructions to the model around it:", quoting.quoted(message.directive.strip())]
    blocks += [f"{quoting.escaped(name)}:\n\n{_code(pretty(value))}" for name, value in message.row.extra.items()]
    return "\n\n".join(block.rstrip("\n") for block in [*blocks, "---"]) + "\n\n"


def _part(part: ContentPart) -> str:
    return "\n\n".join(_lines(part))


def _lines(part: ContentPart) -> Iterator[str]:
    if part.kind == "prose":
        yield quoting.embedded(part.text)
    elif part.kind == "thinking":
        yield from ("Thinking:", quoting.quoted(part.text))
    elif part.kind == "call":
        yield from (f"Calls **{quoting.escaped(line(part.name, 80) or 'a tool')}**:", _code(part.text))
    elif part.kind == "image":
        yield _image(part.text)
    else:
        yield from (f"{quoting.escaped(line(part.name, 80))}:",) if part.name else ()
        yield _code(part.text)


def _code(text: str) -> str:
    text = pretty(text)
    return quoting.fenced(text, "json" if text[:1] in ("{", "[") and text[-1:] in ("}", "]") else "")


def _image(address: str) -> str:
    if image := data_image(address):
        return f"*An image ({image[0]}, {image[1]:,} bytes); it is in the HTML and JSON exports.*"
    if address.startswith("data:"):
        return "*An image of a kind that is not shown; it is in the JSON export.*"
    return f"*An image, not loaded:* {quoting.escaped(line(address, 2_000))}"
