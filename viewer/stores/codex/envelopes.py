"""What Codex and the editors that it runs in add to a person's words."""

from __future__ import annotations

from viewer.stores.envelopes import Envelopes, headed, pattern, tags, tags_behind

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
