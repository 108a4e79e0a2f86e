"""The special words of the pages, each with its explanation; the template tag `term` shows it at the word."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

TERMS = {
    "in context": "What the model is sent with the next request. It costs tokens each time, and has to fit into the "
    "model's window.",
    "summarised away": "No longer sent to the model, which has a summary in its place. The message is still in the "
    "session: here, in search, and for an undo.",
    "not sent any more": "The message is in the agent's store, but the link to it is lost: a later line is damaged "
    "or missing, so that the agent does not reach it from the newest message. It is still here and in search.",
    "compaction": "Replaces the long middle of a session by a summary, so that the agent has room to go on. Its start "
    "and its last messages stay as they are.",
    "boundary": "The place in a session where a compaction cut it: messages above it may be summarised away, "
    "messages below it are in context.",
    "handoff": "The message that carries a summary to the model. The agent's program writes it; nobody said it.",
    "detail": "A name, number, path, date or quoted string. One is lost when neither the summary nor a message "
    "that is kept has it.",
    "startup reading": "The files that a workspace asks its agent to read when it starts. A compaction takes them out "
    "of context, so the agent should read them again.",
}

register = template.Library()


@register.simple_tag
def term(word: str, label: str = "") -> SafeString:
    """The word as a button that shows its explanation, once on a page; `label` is what the button says instead."""
    return format_html(
        '<button type="button" class="term" popovertarget="what-{0}">{1}</button>'
        '<span popover id="what-{0}" class="explained"><b>{2}</b> {3}</span>',
        word.replace(" ", "-"),
        label or word,
        word.capitalize(),
        TERMS[word],
    )
