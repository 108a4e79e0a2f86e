"""Why a session cannot be compacted, as a sentence."""

from __future__ import annotations

NOT_YET = "Codex' sessions can be read here; they cannot be compacted in place yet."
