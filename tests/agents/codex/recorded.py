"""Sessions that the client wrote, and what it sent of them: `python -m tests.interop.codex.record` writes them."""

from pathlib import Path

RECORDED = Path(__file__).parents[2] / "data" / "codex"
