"""A function of a test run in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.conftest import ROOT


def in_child(path: Path, session_id: str, **limits: int) -> dict[str, Any]:
    """What `tests.store.child` answers."""
    request = json.dumps({"path": str(path), "session_id": session_id, **limits})
    done = subprocess.run(
        [sys.executable, "-m", "tests.store.child", request], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
