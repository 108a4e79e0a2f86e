"""Which file of a workspace an agent reads, and which files are never read whatever their name is."""

from __future__ import annotations

import os
import re
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.workspaces.context_files import LARGEST, ContextFile, NotRead, read_context_file


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "home" / "ws"
    made.mkdir(parents=True)
    return made


def found(workspace: Path, *roots: Path, databases: tuple[Path, ...] = ()) -> ContextFile | None:
    roots = roots or (workspace.parent,)
    return read_context_file(str(workspace), [str(root) for root in roots], [os.stat(path) for path in databases])


def refusal(workspace: Path, **more: tuple[Path, ...]) -> str:
    with pytest.raises(NotRead) as caught:
        found(workspace, **more)
    return str(caught.value)


# -- which file --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "chosen"),
    [
        ([".hermes.md", "HERMES.md", "AGENTS.md", "CLAUDE.md"], ".hermes.md"),
        (["HERMES.md", "AGENTS.md"], "HERMES.md"),
        (["AGENTS.md", "CLAUDE.md"], "AGENTS.md"),
        (["agents.md", "CLAUDE.md"], "agents.md"),
        (["CLAUDE.md", "claude.md"], "CLAUDE.md"),
        (["claude.md", "README.md"], "claude.md"),
        (["hermes.md", "Agents.md", ".cursorrules", "README.md"], None),
        ([], None),
    ],
)
def test_the_first_that_the_agent_would_take_is_taken(workspace: Path, files: list[str], chosen: str | None) -> None:
    for name in files:
        (workspace / name).write_text(f"rules of {name}")
    expected = chosen and ContextFile(str(workspace), chosen, f"rules of {chosen}")
    assert found(workspace) == expected


def test_an_empty_one_is_passed_over_as_the_agent_does(workspace: Path) -> None:
    (workspace / ".hermes.md").write_text("\ufeff \n")
    (workspace / "HERMES.md").write_text("never read beside .hermes.md")
    (workspace / "AGENTS.md").write_text("")
    assert found(workspace) is None
    (workspace / "CLAUDE.md").write_text("rules")
    assert found(workspace) == ContextFile(str(workspace), "CLAUDE.md", "rules")


def test_files_of_hermes_may_stand_above_up_to_the_root_of_the_repository(workspace: Path, tmp_path: Path) -> None:
    deep = workspace / "src" / "app"
    deep.mkdir(parents=True)
    (tmp_path / "home" / ".hermes.md").write_text("above the repository")
    (workspace / ".hermes.md").write_text("root")
    (workspace / "AGENTS.md").write_text("not this one: only in the workspace itself")
    assert found(deep, tmp_path) is None, "no repository, so nothing above counts"
    (workspace / ".git").write_text("gitdir: elsewhere")  # of a worktree: a file
    assert found(deep, tmp_path) == ContextFile(str(workspace), ".hermes.md", "root")
    (workspace / "src" / "HERMES.md").write_text("nearer")
    assert found(deep, tmp_path) == ContextFile(str(workspace / "src"), "HERMES.md", "nearer")
    (deep / "AGENTS.md").write_text("nearest, but not a file of Hermes")
    assert found(deep, tmp_path) == ContextFile(str(workspace / "src"), "HERMES.md", "nearer")


def test_nothing_above_an_allowed_directory_is_looked_at(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".hermes.md").symlink_to("/etc/passwd")
    (tmp_path / "home" / ".hermes.md").write_text("in between")
    (workspace / "AGENTS.md").write_text("rules")
    assert found(workspace, workspace) == ContextFile(str(workspace), "AGENTS.md", "rules")
    assert found(workspace, workspace, tmp_path / "home") == ContextFile(
        str(tmp_path / "home"), ".hermes.md", "in between"
    )


# -- what is refused ---------------------------------------------------------------------------------------------------


def _device(path: Path) -> None:
    try:
        os.mknod(path, 0o600 | 0o020000, os.makedev(1, 3))  # /dev/null
    except PermissionError:
        pytest.skip("devices are made by root alone")


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the whole path is too long for a socket
    try:
        socket.socket(socket.AF_UNIX).bind(path.name)
    finally:
        os.chdir(here)


def _hard_link(path: Path) -> None:
    elsewhere = path.parent.parent / "elsewhere.md"
    elsewhere.write_text("secret")
    path.hardlink_to(elsewhere)


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(50_000_000)


UNFIT: list[tuple[str, Callable[[Path], object], str]] = [
    (
        "link",
        lambda path: path.symlink_to("/etc/passwd"),
        "is a symbolic link; rules are read only from a regular file",
    ),
    ("link inside", lambda path: path.symlink_to("rules.md"), "is a symbolic link"),
    ("dangling", lambda path: path.symlink_to("nowhere"), "is a symbolic link"),
    ("directory", lambda path: path.mkdir(), "is a directory; rules are read only from a regular file"),
    ("pipe", lambda path: os.mkfifo(path), "is a named pipe"),
    ("socket", _socket, "is a socket"),
    ("device", _device, "is a device"),
    ("hard link", _hard_link, "a hard link"),
    ("huge", _huge, "has 50,000,000 bytes; at most 1,000,000 are read"),
    ("too long", lambda path: path.write_bytes(b"x" * (LARGEST + 1)), "has 1,000,001 bytes"),
    ("NUL", lambda path: path.write_bytes(b"## Red Lines\n\0"), "is no text: it holds NUL bytes"),
    ("image", lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00"), "is no text"),
    ("UTF-16", lambda path: path.write_bytes("## Red Lines".encode("utf-16")), "is no text"),
    ("Latin", lambda path: path.write_bytes("## Résumé".encode("latin-1")), "is no text in UTF-8"),
    ("page", lambda path: path.write_text("## Red Lines\n<script>alert(1)</script>"), "looks like a web page"),
]


@pytest.mark.filterwarnings("ignore:unclosed <socket")
@pytest.mark.parametrize(("make", "reason"), [each[1:] for each in UNFIT], ids=[each[0] for each in UNFIT])
def test_what_is_not_an_ordinary_text_of_the_workspace_is_refused(
    workspace: Path, make: Callable[[Path], object], reason: str
) -> None:
    (workspace / "CLAUDE.md").write_text("never instead of it")
    make(workspace / "AGENTS.md")
    sentence = refusal(workspace)
    assert sentence.startswith(f"AGENTS.md in {workspace} ")
    assert reason in sentence
    assert re.fullmatch(r"[^\n]+\.", sentence)


def test_the_largest_text_is_read_whole_and_a_byte_order_mark_is_left_out(workspace: Path) -> None:
    (workspace / "AGENTS.md").write_bytes(b"\xef\xbb\xbf" + b"x" * (LARGEST - 3))
    read = found(workspace)
    assert read and read.text == "x" * (LARGEST - 3)


def test_the_database_of_a_store_is_never_opened(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing an ordinary handle on it would drop the locks of connections of this process."""
    database = workspace / "AGENTS.md"
    database.write_text("## Red Lines")
    link = tmp_path / "state.db"
    link.symlink_to(database)
    opened = _opened_names(monkeypatch)
    assert "AGENTS.md" in refusal(workspace, databases=(link,))
    assert "the database of a store" in refusal(workspace, databases=(link,))
    assert "AGENTS.md" not in opened and "ws" in opened


def _opened_names(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    opened: list[str] = []
    really = os.open

    def noted(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        opened.append(path)
        return really(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", noted)
    return opened


def _instead(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def exchange(path: Path) -> None:
        path.rename(path.with_name("old"))  # so that its inode is not given to the new one
        make(path)

    return exchange


@pytest.mark.parametrize(
    ("exchange", "reason"),
    [
        (_instead(lambda path: path.symlink_to("/etc/passwd")), "cannot be read: too many levels of symbolic"),
        (_instead(lambda path: path.write_text("other")), "was exchanged for another file"),
        (_instead(lambda path: None), "cannot be read: no such file or directory"),
        (_instead(Path.mkdir), "was exchanged for another file"),
        (_instead(os.mkfifo), "was exchanged for another file"),
        (lambda path: path.write_bytes(b"x" * (LARGEST + 1)), "bytes"),
        (lambda path: path.with_name("other").hardlink_to(path), "a hard link"),
    ],
    ids=["link", "other file", "gone", "directory", "pipe", "grown", "hard link"],
)
def test_a_file_exchanged_between_two_looks_is_refused(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, exchange: Callable[[Path], object], reason: str
) -> None:
    file = workspace / "AGENTS.md"
    file.write_text("## Red Lines")
    really = os.open

    def late(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == file.name:
            exchange(file)
        return really(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", late)
    assert reason in refusal(workspace)


def test_a_file_that_grows_while_it_is_read_is_not_read_on(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = workspace / "AGENTS.md"
    file.write_text("## Red Lines")
    really = os.fdopen

    def late(handle: int, mode: str, closefd: bool) -> object:
        os.truncate(file, 1 << 42)  # more than any memory holds
        return really(handle, mode, closefd=closefd)

    monkeypatch.setattr(os, "fdopen", late)
    assert "grew beyond 1,000,000 bytes" in refusal(workspace)


def test_a_directory_exchanged_for_a_link_is_not_followed(workspace: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "AGENTS.md").write_text("secret")
    workspace.rmdir()
    workspace.symlink_to(elsewhere)  # after its real path was found
    assert "cannot be read: not a directory" in refusal(workspace)
    workspace.unlink()
    assert "cannot be read: no such file or directory" in refusal(workspace)


@contextmanager
def nobody() -> Iterator[None]:
    """Not root, whom no mode of a file keeps out."""
    user = os.geteuid()
    if not user:
        os.seteuid(65534)
    try:
        yield
    finally:
        if not user:
            os.seteuid(user)


def test_a_file_that_may_not_be_read_is_refused() -> None:
    with tempfile.TemporaryDirectory() as made:  # pytest's own are closed to others
        workspace = Path(os.path.realpath(made), "ws")
        workspace.mkdir()
        (workspace / "AGENTS.md").write_text("## Red Lines")
        (workspace / "AGENTS.md").chmod(0)
        for directory in (workspace, workspace.parent):
            directory.chmod(0o711)  # to pass through, not to list
        with nobody():
            assert refusal(workspace) == f"AGENTS.md in {workspace} cannot be read: permission denied."


def test_no_handle_is_left_open(workspace: Path) -> None:
    def handles() -> int:
        return len(os.listdir("/dev/fd"))

    before = handles()
    (workspace / "AGENTS.md").symlink_to("/etc/passwd")
    refusal(workspace)
    (workspace / "AGENTS.md").unlink()
    found(workspace)
    (workspace / "AGENTS.md").write_bytes(b"\0")
    refusal(workspace)
    workspace.rename(workspace.with_name("gone"))
    refusal(workspace)
    assert handles() == before


# -- pages of the web --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("<script>", False),
        ("text <SCRIPT src=x>", False),
        ("<script\n>", False),
        ("a `code` <script>", False),
        ("a ``code` <script>", False),
        ("```\ncode\n```\n<script>", False),
        ("```\n<script> in a fence that never closes", False),
        ("````\n```\n<script>\n", False),
        ("~~~\n```\n<script>\n~~~ no end\n", False),
        ("``` a`b\n<script>\n```", False),
        ("~~~\n```\n<script>\n```", True),  # what never closes opens nothing: the fence behind it counts
        ("```\ncode\r<script>\r```", True),  # a line may end in a carriage return alone
        ("<!--\n```\n<script>\n```\n-->", False),  # there is no code in a comment
        ("`<script\n>`", False),
        ("<script`>`", False),
        ("<scripting> and script>", True),
        ("write `<script>` so", True),
        ("a ``code` <script>`", True),
        ("write ``<script> with ` in it`` so", True),
        ("```html\n<script>\n```", True),
        ("```html\r\n<script>\r\n```\r\n", True),
        ("   ~~~~\n~~~\n<script>\n~~~~~  \n", True),
    ],
)
def test_script_counts_outside_of_code_alone(workspace: Path, text: str, taken: bool) -> None:
    (workspace / "AGENTS.md").write_bytes(text.encode())
    if taken:
        read = found(workspace)
        assert read and read.text == text
    else:
        assert "<script> tag outside of code" in refusal(workspace)


_OCTETS = st.binary(max_size=200) | st.lists(
    st.sampled_from([b"`", b"```", b"~~~", b"\n", b"<script>", b"<", b"\xef\xbb\xbf", b"\xff", b"\0", b"a", b" "])
).map(b"".join)


@given(_OCTETS)
def test_whatever_stands_in_the_file_it_is_read_or_refused(octets: bytes) -> None:
    with tempfile.TemporaryDirectory() as made:
        workspace = Path(os.path.realpath(made))
        (workspace / "AGENTS.md").write_bytes(octets)
        try:
            read = found(workspace)
        except NotRead as refused:
            assert str(refused).startswith("AGENTS.md in ")
        else:
            assert (read.text if read else "").strip() == octets.decode("utf-8-sig").strip()


def test_a_megabyte_of_backticks_takes_no_time(workspace: Path) -> None:
    """Runs of a thousand lengths, none with its like, on the one line that has a tag."""
    runs = " ".join("`" * length for length in range(1, 1_400))
    (workspace / "AGENTS.md").write_text(f"<script>{runs}")
    assert "looks like a web page" in refusal(workspace)
