"""Folders that lists of files tell once, and the full paths a reader makes of them."""

from __future__ import annotations

import pytest

from compaction import Message, Policy, counter_for, loss_report, offline
from compaction.folders import shared_folders, spelled_out
from tests.compaction.offline.summaries import step
from tests.compaction.transcripts import compacted_by, reply, user

APP = [f"/srv/app/{name}" for name in ("a.py", "lib/b.py", "lib/c.py")]


@pytest.mark.parametrize(
    ("paths", "folders"),
    [
        (APP, dict.fromkeys(APP, "/srv/app")),
        (APP[:2], {}),  # two are as short in full
        ([*APP, "/etc/hosts", "lib/b.py"], dict.fromkeys(APP, "/srv/app")),
        (["/a/x", "/b/y", "/c/z"], {}),
        (["/srv/my app/a", "/srv/my app/b", "/srv/my app/c"], {}),  # a space would end the folder
        (["/srv/app/", "/srv/app/a/", "/srv/app/b/", "/srv/app/c/"], dict.fromkeys(
            ["/srv/app/a/", "/srv/app/b/", "/srv/app/c/"], "/srv/app")),
    ],
)  # fmt: skip
def test_which_folder_is_told_once(paths: list[str], folders: dict[str, str]) -> None:
    assert shared_folders(paths) == folders


def test_lists_are_spelled_out_and_nothing_else_is() -> None:
    text = "## Files\n- written in /srv/app: a.py lib/b.py (and 2 more)\n- read: /etc/hosts\nSaid in /srv/app: be quick"
    spelled = "## Files\n- written in /srv/app: /srv/app/a.py /srv/app/lib/b.py (and 2 more)\n- read: /etc/hosts"
    assert spelled_out(text).startswith(spelled)


def test_a_path_below_a_folder_is_not_reported_as_lost() -> None:
    turns: list[Message] = [user("Please edit all of them.")]
    for n in range(40):
        turns += step(f"w{n}", "Write", {"file_path": f"/srv/shop/src/part_{n}.py", "content": "x = 1\n" * 40}, "ok")
    turns += [reply("Done."), *(row for n in range(4) for row in (user(f"And {n}?"), reply("Yes.")))]
    result = compacted_by(turns, Policy(context_window=16_000), offline.summarize, counter_for("gpt-5"))
    assert "/srv/shop/src" in result.summary
    assert [anchor.text for anchor in loss_report(result).lost if anchor.text.startswith("/srv/shop")] == []
