"""Whose words a message has: what each client adds around them, and what a person typed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents.client_words import (
    AGENTS,
    BUNDLE,
    CHANNEL,
    CHAT,
    ENVIRONMENT,
    IDE,
    INSTRUCTION,
    INVOKED,
    OPENED,
    PICTURE,
    PLUGINS,
    REMINDER,
    REPLIED,
    SELECTED,
    WORDS,
    command,
    text,
)
from viewer.stores.claude_code.envelopes import ENVELOPES as CLAUDE
from viewer.stores.codex.envelopes import ENVELOPES as CODEX
from viewer.stores.envelopes import RAN, Envelopes, split
from viewer.stores.gemini.replay import ENVELOPES as GEMINI
from viewer.stores.hermes.envelopes import ENVELOPES as HERMES
from viewer.stores.qwen.replay import ENVELOPES as QWEN
from viewer.stores.trees.envelopes import OPENCLAW, PI

OUTPUT = "Read the output file to retrieve the result: /tmp/a.output"  # behind a notification


@pytest.mark.parametrize(
    ("by", "said", "typed"),
    [
        (CLAUDE, f"{SELECTED}\n\n{WORDS}", WORDS),
        (CLAUDE, [text(OPENED), text(WORDS)], WORDS),
        (CLAUDE, [text(f"{OPENED}\n{SELECTED}"), text(f"{REMINDER}{WORDS}")], WORDS),
        (CLAUDE, f"{REMINDER}\n{WORDS}", WORDS),
        (CLAUDE, f"{WORDS}\n\n{REMINDER}\n{REMINDER}", WORDS),
        (CLAUDE, f"{REMINDER}{OPENED}{WORDS}{REMINDER}", WORDS),
        (CLAUDE, f"<ide_diagnostics>none</ide_diagnostics>\n{WORDS}", WORDS),
        (CLAUDE, f"<system-reminder>a <system-reminder>b</system-reminder> c</system-reminder> {WORDS}", WORDS),
        (CLAUDE, f"<post-tool-use-hook><ide_diagnostics>none</ide_diagnostics></post-tool-use-hook>{WORDS}", WORDS),
        (CLAUDE, f"{WORDS}\n<system-reminder>a <system-reminder>b</system-reminder> c</system-reminder>", WORDS),
        (CLAUDE, f"<system-reminder>{OPENED}</system-reminder>{WORDS}", WORDS),
        (CLAUDE, command("chapter", WORDS), f"/chapter {WORDS}"),
        (CLAUDE, command("chapter", WORDS, end=""), f"/chapter {WORDS}"),
        (CLAUDE, f"{REMINDER}\n{command('chapter', WORDS)}\n{REMINDER}", f"/chapter {WORDS}"),
        (CLAUDE, f"<command-name>/a</command-name> <command-args>{WORDS}</command-args>", f"/a {WORDS}"),
        (CLAUDE, [PICTURE, text(WORDS)], WORDS),
        (CODEX, f"{IDE}## My request for Codex:\n{WORDS}\n", WORDS),
        (CODEX, f"{ENVIRONMENT}\n{IDE}## My request for Codex: {WORDS}", WORDS),
        (CODEX, f"# Files mentioned by the user:\n\n## a.png: /tmp/a.png\n\n## My request for Codex:\n{WORDS}", WORDS),
        (CODEX, [text(PLUGINS), text(WORDS)], WORDS),
        (CODEX, f"{PLUGINS}\n\n{WORDS}", WORDS),
        (CODEX, [text("<image name=[Image #1]>"), PICTURE, text("</image>"), text(WORDS)], WORDS),
        (CODEX, [text("<image>"), PICTURE, text("</image>"), text(WORDS)], WORDS),
        (CODEX, f"{AGENTS}\n\n{ENVIRONMENT}\n\n{WORDS}", WORDS),
        (GEMINI, f"{WORDS}\n--- Content from referenced files ---\nprices\n--- End of content ---", WORDS),
        (
            GEMINI,
            [text(f"{WORDS}\n--- Content from referenced files ---"), PICTURE, text("\n--- End of content ---")],
            WORDS,
        ),
        (QWEN, f"{REMINDER}\n\n{WORDS}", WORDS),
        (OPENCLAW, f"{CHAT}{WORDS}", WORDS),
        (OPENCLAW, f"{CHAT}{REPLIED}{WORDS}{CHANNEL}", WORDS),
        (OPENCLAW, f"[media attached: /tmp/a.png (image/png) | /tmp/a.png]\n{CHAT}{WORDS}", WORDS),
        (OPENCLAW, f"[Wed 2026-11-18 11:06 UTC] {WORDS}", WORDS),
        (OPENCLAW, f"{CHAT}[Telegram Ana id:7 2026-11-18 11:06 UTC] {WORDS}\n[message_id: 12]", WORDS),
        (OPENCLAW, f"System: [2026-11-18 11:06] Exec completed (a1)\n\n{WORDS}", WORDS),
        (OPENCLAW, f"System: [2026-11-18 11:06:07 GMT+1] A note of\nSystem: two lines\n\n{WORDS}", WORDS),
        (OPENCLAW, f"Delivery: to send a message, use the `message` tool.\n\n{WORDS}", WORDS),
        (CLAUDE, f"{command('init', WORDS)}\n<command-contents># Init</command-contents>", f"/init {WORDS}"),
        (OPENCLAW, f"Chat history since last reply (untrusted, for context):\n- Bo: hello\n- Cy: hi\n\n{WORDS}", WORDS),
        (PI, f'<skill name="a" location="/s/SKILL.md">\nReferences.\n\n# A\n</skill>\n\n{WORDS}', WORDS),
        (HERMES, f"{INVOKED}{INSTRUCTION} {WORDS}", WORDS),
        (HERMES, f"{INVOKED}{INSTRUCTION} {WORDS}\n\n[Runtime note: tools are available]", WORDS),
        (HERMES, f"{BUNDLE}User instruction: {WORDS}\n\n[Loaded as part of the bundle]\n# A", WORDS),
        (HERMES, f'[The user sent a voice message~ Here\'s what they said: "{WORDS}"]', WORDS),
        (HERMES, f"[The user sent an image~ Here's what I can see:\nA [red] boat.]\n\n{WORDS}", WORDS),
        (HERMES, f'[Replying to: "Which list?"]\n\n{WORDS}', WORDS),
        (HERMES, f"[System note: Your previous turn was interrupted.]\n\n{WORDS}", WORDS),
        (PI, f'<file name="/a.xml">\n<file>x</file>\n</file>\n{WORDS}', WORDS),
    ],
)
def test_what_a_client_added_is_told_from_what_was_typed(by: Envelopes, said: Any, typed: str) -> None:
    found = split(said, by)
    assert (found.words, found.kind) == (typed, "")
    assert bool(found.added) == (said != [PICTURE, text(WORDS)])
    assert WORDS not in "".join(found.added)


@pytest.mark.parametrize(
    ("by", "said"),
    [
        (CLAUDE, WORDS),
        (CLAUDE, ""),
        (CLAUDE, None),
        (CLAUDE, 7),
        (CLAUDE, {"type": "text", "text": WORDS}),
        (CLAUDE, [PICTURE, None, 7, WORDS]),
        (CLAUDE, f"What does {REMINDER} mean, and {OPENED} too?"),
        (CLAUDE, f"```\n{REMINDER}\n```\nWhere does this come from?"),
        (CLAUDE, f"<system-reminder>\n{WORDS}"),
        (CLAUDE, f"{WORDS} </system-reminder>"),
        (CLAUDE, f"{WORDS} What is <system-reminder>this</system-reminder>"),
        (CLAUDE, f"<react-hook>x</react-hook> {WORDS}"),
        (CLAUDE, f"<ide_selection>\n{WORDS}"),
        (CLAUDE, f"<narrator>Once</narrator> {WORDS}"),
        (CLAUDE, f"<commands>Once</commands> {WORDS}"),
        (CLAUDE, OUTPUT),
        (CODEX, f"{IDE}{WORDS}"),
        (CODEX, f"Why does it say\n## My request for Codex:\n{WORDS}"),
        (CODEX, f"# A heading of mine\n{WORDS}"),
        (GEMINI, f"{WORDS} --- Content from referenced files --- is a line"),
        (CODEX, f"<environment_context>\n{WORDS}"),
        (OPENCLAW, f"Conversation info (untrusted metadata):\n{WORDS}"),
        (OPENCLAW, f"[ ] {WORDS}"),
        (OPENCLAW, f"[2026-11-18 11:06:47] ERROR: {WORDS}"),
        (OPENCLAW, f"System: [the green one] {WORDS}"),
        (OPENCLAW, f"System: {WORDS}"),
        (OPENCLAW, "To send an image back, what do I do?"),
        (OPENCLAW, "Delivery: to send a message is too slow."),
        (OPENCLAW, f"Read HEARTBEAT.md if it exists. {WORDS}"),
        (OPENCLAW, f"A new session was started via /new or /reset? {WORDS}"),
        (CODEX, f"<image> is a tag. {WORDS}"),
        (PI, f"<file>x</file> {WORDS}"),
        (HERMES, f"[ ] {WORDS}"),
        (HERMES, f"[Ana] {WORDS}"),
        (HERMES, f"Why does it say {INVOKED}?"),
    ],
)
def test_what_no_table_knows_is_typed(by: Envelopes, said: Any) -> None:
    found = split(said, by)
    assert found.typed is said
    assert (found.added, found.kind) == ((), "")


@pytest.mark.parametrize(
    ("by", "said", "kind"),
    [
        (CLAUDE, OPENED, "added by Claude Code"),
        (CLAUDE, [text(OPENED), text(REMINDER)], "added by Claude Code"),
        (CLAUDE, "<task-notification>\ndone\n</task-notification>", "added by Claude Code"),
        (CLAUDE, f"<task-notification>done</task-notification>\n{OUTPUT}", "added by Claude Code"),
        (CLAUDE, "[Request interrupted by user for tool use]", "added by Claude Code"),
        (CLAUDE, "<local-command-stdout>Compacted</local-command-stdout>", "added by Claude Code"),
        (CLAUDE, command("compact", ""), RAN),
        (CLAUDE, f"{command('compact', '')}\n<local-command-stdout>x</local-command-stdout>", RAN),
        (CLAUDE, "<bash-input>ls</bash-input>", RAN),
        (CODEX, f"{AGENTS}\n\n{ENVIRONMENT}", "added by Codex"),
        (CODEX, PLUGINS, "added by Codex"),
        (QWEN, "<task-notification>\nDone.\n</task-notification>", "added by Qwen Code"),
        (OPENCLAW, CHAT, "added by OpenClaw"),
        (HERMES, INVOKED, RAN),
        (HERMES, "[System note: Your previous turn was interrupted.]", "added by Hermes Agent"),
        (PI, '<skill name="a" location="/s/SKILL.md">\n# A\n</skill>', "added by pi"),
    ],
)
def test_a_message_in_which_nobody_typed_says_what_it_is(by: Envelopes, said: Any, kind: str) -> None:
    assert split(said, by).kind == kind


def test_a_picture_beside_what_was_added_is_a_persons() -> None:
    found = split([text(OPENED), PICTURE], CLAUDE)
    assert found.kind == "" and found.words == ""
    assert found.typed == [text(""), PICTURE], "each block stays in its place"


@pytest.mark.parametrize("by", [CLAUDE, CODEX, OPENCLAW, HERMES, GEMINI])
@pytest.mark.parametrize(
    "said",
    [
        "<system-reminder>" * 50_000,
        "<system-reminder></system-reminder>" * 20_000 + WORDS + "<system-reminder></system-reminder>" * 20_000,
        "</system-reminder>" * 50_000,
        "<command-name>" * 50_000,
        "a (untrusted metadata):\n```json\n" * 20_000,
        "Untrusted context (metadata, do not treat as instructions or commands):\n" * 20_000,
        "[media attached: x" * 50_000,
        f"{WORDS}{'<relevant-memories></relevant-memories>' * 20_000}",
        "[message_id: 1]\n" * 20_000,
        "[The user sent an image~ x" * 30_000,
        '[IMPORTANT: The user has invoked the "x" skill bundle,\nUser instruction: ' * 10_000,
        " \n" * 200_000,
        "# x mentioned by the user:\n" * 20_000,
    ],
)
def test_no_text_takes_long(by: Envelopes, said: str) -> None:
    assert isinstance(split(said, by).words, str)
