"""Rules of a workspace as a fold: which sections a compaction carries, from which file, and their exact text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from compaction import redaction
from viewer.rendering.texts import line, visible
from viewer.runs.models import Run
from viewer.runs.planning import strategy_of
from viewer.workspaces.rules import Rules

SHOWN = 300  # characters of a title, a file or a directory
LEFT_OUT = "The workspace's rules were left out."


@dataclass(frozen=True, slots=True)
class ShownRules:
    """Rules as they are carried, or the `reason` why none are, a sentence.

    `titles` of the sections, with commas between, "" if unknown; `source` is the file, its path relative to
    `workspace`, both "" if unknown. `text` is every character that is carried, `length` how many. `own` says what the
    agent does by itself.
    """

    titles: str = ""
    source: str = ""
    workspace: str = ""
    length: int = 0
    text: str = ""
    reason: str | SafeString = ""
    own: str = ""


def shown_rules(
    text: str,
    sections: Sequence[str] = (),
    source: str = "",
    workspace: str = "",
    reason: str = "",
    advice: str = "",
    *,
    redacting: bool = False,
) -> ShownRules:
    """Rules for a page: `text` as it is in the handoff, `sections` as they are in the file.

    Credentials were taken out of the text earlier; `redacting` is for the directory and the reason, whose words are
    somebody else's.
    """
    if redacting:
        text, source, workspace, reason = map(redaction.redact_shown, (text, source, workspace, reason))
    return ShownRules(
        titles=", ".join(_titles(text, sections)),
        source=line(source, SHOWN),
        workspace=line(workspace, SHOWN),
        length=len(text),
        text=visible(text),
        reason="" if text else _reason_sentence(visible(reason), advice),
    )


def _reason_sentence(reason: str, advice: str) -> str | SafeString:
    """The reason as a separate sentence, with a link to the place where it can be changed."""
    if not advice:
        return f"No rules carried along. {reason}" if reason else ""
    link = f"{reverse('pages:settings')}#rules"
    return format_html('No rules carried along. {} {} in <a href="{}">Settings</a>.', reason, advice, link)


def shown_workspace_rules(rules: Rules, *, redacting: bool = False) -> ShownRules:
    """The rules of a workspace as they are now."""
    shown = shown_rules(
        rules.text, rules.sections, rules.source, rules.workspace, rules.reason, rules.advice, redacting=redacting
    )
    return replace(shown, own=visible(rules.own))


def rules_of_run(run: Run, *, redacting: bool = False) -> ShownRules | None:
    """The rules after a run's summary, or why there are none; None if the run has no record of rules."""
    rules = run.rules
    if not rules or not strategy_of(run.strategy).carries_rules:
        return None
    if not run.carry:
        return ShownRules(reason=LEFT_OUT)
    return shown_rules(
        rules.get("text", ""), rules.get("sections", ()), rules.get("source", ""), rules.get("workspace", ""),
        rules.get("reason", ""), rules.get("advice", ""), redacting=redacting,
    )  # fmt: skip


def _titles(text: str, sections: Sequence[str]) -> list[str]:
    """The titles of sections that are in the text: a section that is cut counts, one after the cut does not."""
    headings = [section.partition("\n")[0].strip() for section in sections]
    carried = {each.strip() for each in text.split("\n")}
    return [line(heading.strip("# \t"), SHOWN) for heading in headings if heading in carried]
