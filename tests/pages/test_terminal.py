"""Terminal output: colours as classes, redrawn lines in their last state, no escape on any page."""

from __future__ import annotations

import pytest

from viewer.rendering import blocks, terminal


def shown(text: str) -> str:
    return str(terminal.as_html(terminal.played(text)))


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("plain <b>", "plain &lt;b&gt;"),
        ("\x1b[31mred\x1b[0m ink", '<span class="r">red</span> ink'),
        ("\x1b[1;32mok\x1b[22m still\x1b[39m no", '<span class="g b">ok</span><span class="g"> still</span> no'),
        ("\x1b[38;5;196mx\x1b[38;2;0;200;0my", '<span class="r">x</span><span class="g">y</span>'),
        ("\x1b[38;5;244mgrey", "grey"),
        ("\x1b[41;97m FAIL \x1b[0m x", '<span class="r b"> FAIL </span> x'),
        ("\x1b[90mdim\x1b[m", '<span class="d">dim</span>'),
        ("10%\r50%\r100%\ndone", "100%\ndone"),
        ("10%\x1b[2K\r100%", "100%"),
        ("a\nb\n\x1b[2Aone\ntwo\nend", "one\ntwo\nend"),
        ("1: 0%\n2: 0%\n\x1b[2A1: 9%\x1b[2B\nend", "1: 9%\n2: 0%\n\nend"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("\x1b]0;title\x07\x1b]8;;http://e.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r\x1b\\x\x1b(By\x1b7z", "xyz"),
        ("cut off \x1b[3", "cut off "),
        ("bell\x07", "bell␇"),
    ],
)
def test_what_stood_on_the_screen(text: str, html: str) -> None:
    assert shown(text) == html


def test_an_output_with_escapes_is_a_terminal_and_cut_like_others() -> None:
    (made,) = blocks.of_output("\x1b[32m" + "line of text\n" * 5_000, "/whole")
    assert isinstance(made, blocks.Terminal)
    assert 400 < made.html.count("line of text") < 550
    assert made.rest == blocks.Rest("/whole", 65_005)
    (made,) = blocks.of_output("".join(f"\r{at}%" for at in range(9_000)) + "\rready", "/whole")
    assert isinstance(made, blocks.Terminal)
    assert (made.html, made.rest) == ("ready", None)


def test_many_changes_of_style_cost_little() -> None:
    (made,) = blocks.of_output("\x1b[31mx\x1b[32my" * 20_000, "/whole")
    assert isinstance(made, blocks.Terminal)
    assert len(made.html) < 60_000
    assert made.rest is not None
