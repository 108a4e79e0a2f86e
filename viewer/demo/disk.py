"""A session with one tool result of about 200,000 characters: every large file of a disk that is full."""

import random

from viewer.demo.prompts import PROMPTS
from viewer.demo.script import Clock, Script, ScriptedCall

_FOLDERS = (
    "/var/lib/timeseries/wal", "/var/lib/timeseries/chunks", "/var/log/journal/5f1d", "/home/ilse/Videos/garden",
    "/home/ilse/.cache/thumbnails/large", "/srv/photos/2019", "/srv/photos/2024", "/srv/music/live",
)  # fmt: skip
_ENDINGS = {"wal": "seg", "chunks": "chunk", "5f1d": "journal", "garden": "mp4", "large": "png", "live": "flac"}


def session() -> Script:
    """The session "What fills the disk?"."""
    columns = {"source": "cli", "model": "claude-opus-4-6", "cwd": "/root", "end_reason": "cli_close"}
    script = Script("What fills the disk?", Clock(ago=3 * 86400), PROMPTS["home"], columns)
    listing, total = _listing()
    script.user("The disk of the server is at 97 %. Last week it was at 60 %. List everything above 1 MB, please.")
    command = "find / -xdev -type f -size +1M -printf '%s %TY-%Tm-%Td %p\\n' | sort -rn"
    script.assistant(
        "That will be a long list; I only look, nothing is deleted.",
        [ScriptedCall("terminal", {"command": command}, listing)],
    )
    script.assistant(
        f"""One place stands out in {listing.count(chr(10))} lines: **`/var/lib/timeseries/wal`**.
It holds {total / 1e9:.1f} GB, all from the last eight days. A write-ahead log that only grows is read by nobody:

1. `systemctl status timeseries-compactor` to see whether the compactor runs
2. if it died, start it; it works the segments off from the oldest, and the folder shrinks by itself
3. do **not** delete segments by hand, they are the newest measurements""",
    )
    script.user("You're right, the compactor was killed when the memory was full, eight days ago. It's running again.")
    script.assistant(
        "Good. Then give it until tomorrow. I'd also let it restart by itself: `Restart=on-failure`, `RestartSec=60`."
    )
    return script


def _listing() -> tuple[str, int]:
    dice = random.Random(11)
    files = []
    for number in range(2700):
        folder = dice.choices(_FOLDERS, weights=(7, 3, 2, 1, 3, 4, 4, 2))[0]
        name = folder.rsplit("/", 1)[1]
        day = dice.randint(13, 20) if name == "wal" else dice.randint(1, 20)
        size = int(dice.lognormvariate(16, 0.9)) + (60_000_000 if name == "wal" else 1_048_576)
        path = f"{folder}/{name}-{number:06d}-{dice.getrandbits(48):012x}.{_ENDINGS.get(name, 'jpg')}"
        files.append((size, f"2026-11-{day:02d}", path))
    files.sort(reverse=True)
    total = sum(size for size, _, path in files if "/wal/" in path)
    return "".join(f"{size:>12} {day} {path}\n" for size, day, path in files), total
