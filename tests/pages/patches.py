"""A change in the envelope that Codex' tool takes."""

from __future__ import annotations

ENVELOPE = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n+z\n*** Add File: b.py\n+new\n*** End Patch"
