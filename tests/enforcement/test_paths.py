"""A file is one file, however and on whatever platform its path is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.workspaces.paths import inside, is_absolute, normal, same

POSIX, DRIVE, SHARE = "/srv/ws", "C:\\Users\\Ana\\ws", "\\\\server\\share\\ws"


@pytest.mark.parametrize(
    ("path", "workspace", "expected"),
    [
        ("SOUL.md", POSIX, "/srv/ws/SOUL.md"),
        ("./memory//a.md", POSIX, "/srv/ws/memory/a.md"),
        ("memory/./x/../a.md", POSIX, "/srv/ws/memory/a.md"),
        ("../other/a.md", POSIX, "/srv/other/a.md"),
        ("../../../../a.md", POSIX, "/a.md"),
        ("memory\\a.md", POSIX, "/srv/ws/memory/a.md"),
        ("/etc/hosts", POSIX, "/etc/hosts"),
        ("/srv/ws/", POSIX, "/srv/ws"),
        ("///etc///hosts", POSIX, "/etc/hosts"),
        ("/", POSIX, "/"),
        (".", POSIX, "/srv/ws"),
        (" SOUL.md\n", POSIX, "/srv/ws/SOUL.md"),
        ("", POSIX, ""),
        ("  ", POSIX, ""),
        ("SOUL.md", "", "SOUL.md"),
        ("../a.md", "", "../a.md"),
        ("a.md", "/", "/a.md"),
        ("~/a.md", POSIX, "/home/ana/a.md"),
        ("~", POSIX, "/home/ana"),
        ("~backup/a.md", POSIX, "/srv/ws/~backup/a.md"),
        ("a.md", "~/ws/", "/home/ana/ws/a.md"),
        ("file:///srv/ws/my%20notes.md", POSIX, "/srv/ws/my notes.md"),
        ("file://localhost/srv/a.md", POSIX, "/srv/a.md"),
        ("FILE:///C:/Users/a.md", POSIX, "c:/Users/a.md"),
        ("file://server/share/a.md", POSIX, "//server/share/a.md"),
        ("SOUL.md", DRIVE, "c:/Users/Ana/ws/SOUL.md"),
        ("memory\\a.md", DRIVE, "c:/Users/Ana/ws/memory/a.md"),
        ("D:\\x\\..\\a.md", DRIVE, "d:/a.md"),
        ("c:/a.md", DRIVE, "c:/a.md"),
        ("C:\\..\\..\\a.md", DRIVE, "c:/a.md"),
        ("\\temp\\a.md", DRIVE, "c:/temp/a.md"),
        ("/c/Users/a.md", DRIVE, "c:/Users/a.md"),
        ("/mnt/d/a.md", DRIVE, "d:/a.md"),
        ("/cygdrive/c", DRIVE, "c:/"),
        ("/mnt/c/a.md", POSIX, "/mnt/c/a.md"),
        ("/code/a.md", DRIVE, "c:/code/a.md"),
        ("\\\\?\\C:\\a.md", DRIVE, "c:/a.md"),
        ("\\\\?\\UNC\\server\\share\\a.md", DRIVE, "//server/share/a.md"),
        ("\\\\server\\share\\a.md", DRIVE, "//server/share/a.md"),
        ("a.md", SHARE, "//server/share/ws/a.md"),
    ],
)
def test_normal(path: str, workspace: str, expected: str) -> None:
    assert normal(path, workspace, home="/home/ana") == expected


def test_without_a_home_a_tilde_stays_one_place() -> None:
    assert normal("~/./a.md", POSIX) == "~/a.md"
    assert normal("~", POSIX) == "~/"
    assert normal("~/a.md", POSIX, home="C:\\Users\\Ana") == "c:/Users/Ana/a.md"


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("/srv/a.md", "/srv/a.md", True),
        ("/srv/a.md", "/srv/A.md", False),
        ("c:/Users/A.md", "c:/users/a.MD", True),
        ("c:/a.md", "d:/a.md", False),
        ("//Server/share/a.md", "//server/Share/A.md", True),
        ("/srv/u\u0308ber.md", "/srv/\u00fcber.md", True),
        ("", "", False),
    ],
)
def test_same(a: str, b: str, expected: bool) -> None:
    assert same(a, b) is expected
    assert same(b, a) is expected


@pytest.mark.parametrize(
    ("path", "workspace", "expected"),
    [
        ("/srv/ws", "/srv/ws", True),
        ("/srv/ws/a/b.md", "/srv/ws", True),
        ("/srv/ws2/a.md", "/srv/ws", False),
        ("/srv", "/srv/ws", False),
        ("/a.md", "/", True),
        ("c:/WS/a.md", "c:/ws", True),
        ("c:/a.md", "c:/", True),
        ("/srv/ws/a.md", "", False),
        ("", "", False),
    ],
)
def test_inside(path: str, workspace: str, expected: bool) -> None:
    assert inside(path, workspace) is expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/a", True), ("~/a", True), ("C:a", True), ("\\\\s\\a", True), ("file:///a", True), ("a/b", False), ("", False)],
)
def test_is_absolute(path: str, expected: bool) -> None:
    assert is_absolute(path) is expected


TEXTS = st.text(st.sampled_from("/\\.:~aC%?\0 \ud800é") | st.characters(), max_size=30)


@given(TEXTS, TEXTS, TEXTS)
def test_any_text_has_a_normal_form(path: str, workspace: str, home: str) -> None:
    found = normal(path, workspace, home)
    assert "\\" not in found
    assert "/./" not in found
    assert "//" not in found[1:]
    assert same(found, found) is (found != "")


def test_a_very_long_path_is_read() -> None:
    assert normal("../a/./" * 200_000 + "b\0.md", POSIX) == "/srv/a/b\0.md"
