"""Which files a command line prints, for shells of all kinds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cost import calls
from tests.slow import one_in
from viewer.enforcement.commands import files_shown


def paths(command: str | list[str], directory: str = "") -> list[str]:
    return [shown.path for shown in files_shown(command, directory)]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat a.md", ["a.md"]),
        ("cat a.md b.md", ["a.md", "b.md"]),
        ("cat -n -- a.md", ["a.md"]),
        ("cat -- -a.md", ["-a.md"]),
        ("/bin/cat a.md", ["a.md"]),
        ("\\cat a.md", ["a.md"]),
        ("head -n 20 a.md", ["a.md"]),
        ("head -20 a.md", ["a.md"]),
        ("head -qn 20 a.md", ["a.md"]),
        ("head --lines=20 a.md", ["a.md"]),
        ("tail -n +5 a.md", ["a.md"]),
        ("tail +5 a.md", ["a.md"]),
        ("tail -c 100 a.md", ["a.md"]),
        ("less +G a.md", ["a.md"]),
        ("more a.md", ["a.md"]),
        ("bat -r 1:20 --style plain a.md", ["a.md"]),
        ("batcat --paging never a.md", ["a.md"]),
        ("nl -b a a.md", ["a.md"]),
        ("tac a.md", ["a.md"]),
        ("sed -n '1,200p' a.md", ["a.md"]),
        ("sed -ne 1,5p -e 9p a.md b.md", ["a.md", "b.md"]),
        ("sed -f script.sed a.md", ["a.md"]),
        ("sed -i s/x/y/ a.md", []),
        ("sed -Ei s/x/y/ a.md", []),
        ("sed 's/x/y/'", []),
        ("type C:\\ws\\memory\\a.md", ["C:\\ws\\memory\\a.md"]),
        ("Get-Content -Path .\\a.md -TotalCount 20", [".\\a.md"]),
        ("gc a.md, b.md -Raw", ["a.md", "b.md"]),
        ("Get-Content -Encoding UTF8 'my notes.md'", ["my notes.md"]),
        ("powershell -NoProfile -Command Get-Content a.md", ["a.md"]),
        ("cmd /c type a.md", ["a.md"]),
        ("cat 'my notes.md' \"b c.md\" d\\ e.md", ["my notes.md", "b c.md", "d e.md"]),
        ("cat me\"mo\"ry/'a'.md", ["memory/a.md"]),
        ("cat a.md && cat b.md; cat c.md || cat d.md\ncat e.md & cat f.md", [f"{x}.md" for x in "abcdef"]),
        ("cat a.md | head -n 3 | less", ["a.md"]),
        ("cat < a.md", ["a.md"]),
        ("head -3 <a.md 2>/dev/null", ["a.md"]),
        ("cat a.md 2>&1", ["a.md"]),
        ("cat a.md 2>> errors.txt", ["a.md"]),
        ("cat a.md > b.md", []),
        ("cat a.md >> b.md", []),
        ("cat a.md &> /dev/null", []),
        ("cat a.md | sort > b.md", []),
        ("cat a.md > b.md | sort", []),
        ("cat > a.md <<EOF\ncat b.md\nEOF\ncat c.md", ["c.md"]),
        ("cat <<'EOF' > a.md\ncat b.md\nEOF", []),
        ("cat <<-EOF\n\tcat b.md\n\tEOF\ncat c.md", ["c.md"]),
        ("cat <<A <<B\ncat b.md\nA\ncat b.md\nB\ncat c.md", ["c.md"]),
        ("cat <<< 'cat b.md'", []),
        ("cat <<EOF\ncat b.md", []),
        ("echo cat a.md", []),
        ("echo 'x; cat a.md'", []),
        ("cat 'x; cat a.md'", ["x; cat a.md"]),
        ("# cat a.md\ncat b.md # cat c.md", ["b.md"]),
        ("cat *.md memory/[0-9].md {a,b}.md a?.md", []),
        ("cat '*.md'", ["*.md"]),
        ('cat $FILE "$FILE" `which x` $(which y)', []),
        ("cat '$FILE'", ["$FILE"]),
        ('cat $HOME/a.md "${HOME}/b.md" ~/c.md', ["~/a.md", "~/b.md", "~/c.md"]),
        ("cat -", []),
        ("cat", []),
        ("grep x a.md; wc -l b.md; cp c.md d.md; rm e.md", []),
        ('for f in a.md b.md; do echo $f; cat "$f"; done', ["a.md", "b.md"]),
        ('for f in a.md b.md; do cat "m/$f" $f.bak; done', ["m/a.md", "m/b.md", "a.md.bak", "b.md.bak"]),
        ("for f in *.md a.md; do cat $f; done", ["a.md"]),
        ('W=/srv; export D="$W/m"; cat $W/a.md ${D}/b.md "$D/$X"', ["/srv/a.md", "/srv/m/b.md"]),
        ("W=/srv cat $W/a.md; X=$(pwd -P); cat $X/b.md '$W'/c.md", ["$W/c.md"]),
        ('cat $PWD/a.md "$(pwd)/b.md"', ["./a.md", "./b.md"]),
        ("cat \"m/$(date +%F).md\" m/`date +'%Y-%m-%d'`.md", ["m/YYYY-MM-DD.md"] * 2),
        ("d=$(date +%F); cat m/$d.md m/$(date -d yesterday +%F).md", ["m/YYYY-MM-DD.md"]),
        ("gc m/$(Get-Date -Format yyyy-MM-dd).md", ["m/YYYY-MM-DD.md"]),
        ("if [ -f a.md ]; then cat a.md; fi", ["a.md"]),
        ("sudo -n env X=1 LANG=C cat a.md", ["a.md"]),
        ("(cat a.md)", ["a.md"]),
        ("{ cat a.md; }", ["a.md"]),
        ("bash -lc 'cd memory && cat a.md'", ["memory/a.md"]),
        ("bash -c \"bash -c 'cat a.md'\"", ["a.md"]),
        ("bash a.sh", []),
        ("cat \\\n  a.md", ["a.md"]),
        ("cat a.md\r\ncat b.md\r\n", ["a.md", "b.md"]),
        ("cat 'a.md", ["a.md"]),
        ('cat "a.md', ["a.md"]),
    ],
)
def test_files_shown(command: str, expected: list[str]) -> None:
    assert paths(command) == expected


@pytest.mark.parametrize(
    ("command", "directory", "expected"),
    [
        ("cat a.md", "/srv", ["/srv/a.md"]),
        ("cat /etc/a.md ~/b.md C:\\c.md", "/srv", ["/etc/a.md", "~/b.md", "C:\\c.md"]),
        ("cd memory && cat a.md", "", ["memory/a.md"]),
        ("cd memory; cd ..; cat a.md", "/srv", ["/srv/memory/../a.md"]),
        ("cd /data && cat a.md", "/srv", ["/data/a.md"]),
        ("cd && cat a.md", "/srv", ["~/a.md"]),
        ("cd /d D:\\ws && type a.md", "", ["D:\\ws/a.md"]),
        ("Set-Location -Path memory; gc a.md", "", ["memory/a.md"]),
        ("cd - && cat a.md /b.md", "/srv", ["/b.md"]),
        ('cd "$DIR" && cat a.md; bash -c "cat b.md"', "/srv", []),
        ("cat a.md; cd memory; cat b.md", "", ["a.md", "memory/b.md"]),
        ("(cd memory && cat a.md); cat b.md", "", ["memory/a.md", "b.md"]),
        (
            "pushd memory; cat a.md; popd; cat b.md; popd; cat c.md",
            "/srv",
            ["/srv/memory/a.md", "/srv/b.md", "/srv/c.md"],
        ),
        ("D='C:\\ws'; cd $D && cat a.md", "", ["C:\\ws/a.md"]),
    ],
)
def test_the_directory_it_runs_in(command: str, directory: str, expected: list[str]) -> None:
    assert paths(command, directory) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["bash", "-lc", "cat a.md && cat b.md"], ["a.md", "b.md"]),
        (["/bin/zsh", "-c", "cat a.md"], ["a.md"]),
        (["powershell.exe", "-Command", "Get-Content a.md"], ["a.md"]),
        (["cat", "my notes.md", "*.md"], ["my notes.md", "*.md"]),
        (["cat", "a.md", ">", "b.md"], ["a.md", ">", "b.md"]),
        ([], []),
    ],
)
def test_a_list_is_a_command_without_a_shell(command: list[str], expected: list[str]) -> None:
    assert paths(command) == expected


def test_a_directory_longer_than_any_is_not_put_before_ten_thousand_names() -> None:
    command = f"cd {'x' * 50_000}; cat{' a' * 20_000}; cd /srv; cat b"
    assert sum(len(shown.path) for shown in files_shown(command)) < 100_000
    assert paths(f"cd {'x/' * 2_000}; cat a; cd /srv; cat b")[1:] == ["/srv/b"]


def test_the_name_as_typed_is_kept() -> None:
    assert files_shown("cd memory && cat './a.md'") == [("./a.md", "memory/./a.md")]


@given(st.text(st.sampled_from("cat d\n'\"\\$<>|&;()#`-f EO{}=") | st.characters(), max_size=60))
def test_any_text_is_read(command: str) -> None:
    assert all(shown.named for shown in files_shown(command))
    assert isinstance(files_shown(command.split(), None), list)


@pytest.mark.parametrize(
    "piece",
    one_in(3, [
     "'\"", "\\", "cat <<A\n", "for a in b; do cat $a;", "bash -c ", '"\\"', "a=b ", "$(", "(", ")", "( )", "a=x$a$a;",
     "cat $a$b$c;", "a;", "cat a|", "> a ", "<<A ", "cd ..;", "pushd a;popd;", "env ", "$(date +%F)", "cat a.md\n"]),
)  # fmt: skip
def test_reading_a_script_grows_with_it(piece: str) -> None:
    assert calls(files_shown, piece * (100_000 // len(piece))) < 30 * 100_000
