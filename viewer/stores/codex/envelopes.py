"""What Codex and the editors that it runs in add to a person's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viewer.stores.envelopes import Envelopes, headed, pattern, split, tags, tags_behind

# What the client says to a model about itself, and what it reports in a user's role.
_NAMES = (
    "environment_context", "user_instructions", "turn_aborted", "permissions instructions", "skills_instructions",
    "plugins_instructions", "apps_instructions", "recommended_plugins", "subagent_notification", "user_shell_command",
    "app-context", "skill", "hook_prompt", "model_switch", "personality_spec", "collaboration_mode", "token_budget",
    "context_window_reminder", "realtime_conversation", "codex_internal_context", "codex_delegation",
    "multi_agent_mode", "system-reminder", "in-app-browser-context",
)  # fmt: skip
_REQUEST = r"#+ My request for Codex:"

ENVELOPES = Envelopes(
    "Codex",
    leading=(
        tags(*_NAMES),
        pattern(r"# AGENTS\.md instructions[^\n]*\s*<INSTRUCTIONS>[\s\S]*?</INSTRUCTIONS>"),
        headed(r"# (?:Context from my IDE setup|[^\n]* mentioned by the user|In[- ]app browser[^\n]*):", _REQUEST),
        headed(r"This block is automatically supplied", _REQUEST),
        pattern(_REQUEST),
        pattern(r"</?image(?:\s+name=[^<>\n]*)?>\s*\Z"),  # a block before a picture, and one after it
    ),
    trailing=(tags_behind(*_NAMES),),
)

# Beginnings of the client's own texts in a user's role, in files that do not name the kinds of content.
WRAPPERS = (
    "<environment_context>", "# AGENTS.md instructions", "<user_instructions>", "<turn_aborted>",
    "<permissions instructions>", "<skills_instructions>", "<user_shell_command>", "<subagent_notification>",
    "<recommended_plugins>", "<plugins_instructions>", "<apps_instructions>", "<app-context>",
)  # fmt: skip


def typed_words(item: Mapping[str, Any]) -> str | None:
    """What a person typed in a user's message, as text; None where all of it is the client's."""
    parts = split(item.get("content"), ENVELOPES)
    return None if parts.kind else parts.words
