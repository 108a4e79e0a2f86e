"""Which answers are not a summary: an empty text, a refusal, a text that breaks off.

A rejected summary costs a second request, and an accepted bad one costs the transcript. But if a good summary is
rejected for its form, no summary can ever be made: so each rule applies only if it is certain. The offline summary is
checked too, and it may hold any words.
"""

from __future__ import annotations

import re
from typing import Any

from ..applying import accepted
from ..errors import SummaryRejected
from ..handoff import defused
from ..redaction import redact
from ..text import fences

SHORT = 500  # characters; a refusal is short, and a longer text that begins like one goes on to say something
_HEADING = re.compile(r"(?m)^#{1,6}\s")
_BARE = re.compile(r"#{1,6}(?:\s.*)?|[-*•>]|\d+[.)]")  # a heading or bullet without text
OPEN_ENDS = (",", "(", "[", "，", "、", "（", "「", "“")
_CANNOT = r"(?:can(?:['’]t|not| not)|(?:un|not )able to|won['’]t|will not)"
# How a refusal opens, in the languages models are used in most.
_REFUSAL = re.compile(
    r"(?i)(?:"
    rf"(?:(?:i['’]?m|i am|we['’]?re) (?:\w+ )?sorry|sorry|(?:i|my) apolog\w+)\b[^.!?\n]{{0,40}}?\b{_CANNOT}"
    rf"|i(?:['’]m| am)? {_CANNOT} (?:help|assist|comply|fulfil+|engage|summari[sz]e)\b"
    rf"|i(?:['’]m| am)? {_CANNOT} \w+ (?:with )?(?:this|that|your request|(?:a|the) summary)\b"
    r"|as an ai\b"
    r"|(?:es tut mir|tut mir) leid[^.\n]{0,30}\bkann"
    r"|ich kann (?:dabei|damit|dir|ihnen|diese\w*|dieser) (?:leider )?(?:\w+ ){0,3}nicht"
    r"|(?:je suis )?désolée?s?\b[^.\n]{0,20}\bne (?:peux|peut|suis)"
    r"|je ne (?:peux|suis) pas (?:vous |en mesure)"
    r"|lo siento[^.\n]{0,20}\bno puedo"
    r"|(?:desculpe|lamento|sinto muito)[^.\n]{0,20}\bnão (?:posso|consigo)"
    r"|mi dispiace[^.\n]{0,20}\bnon posso"
    r"|(?:извините|простите|к сожалению)[^.\n]{0,20}не могу"
    r"|(?:很?抱歉|对不起|對不起)[，,\s]{0,2}(?:但)?我?[^。\n]{0,6}(?:无法|無法|不能)"
    r"|(?:申し訳|すみません|ごめんなさい)[^\n]{0,60}(?:できません|できかね|いたしかね)"
    r"|죄송[^.\n]{0,40}(?:없습니다|수 없)"
    r")"
)


def checked(answer: Any) -> str:
    """The body of a summary, redacted, with markers defused as in a handoff.

    Raises SummaryRejected: not_text, empty, refusal, cut_off.
    """
    body = accepted(answer)
    if is_refusal(body):
        raise SummaryRejected("refusal", "The model declined to write a summary.")
    if breaks_off(body):
        raise SummaryRejected("cut_off", "The summary breaks off in the middle.")
    return defused(redact(body))


def is_refusal(text: str) -> bool:
    """Whether the text is short, has no heading and opens as models do when they decline."""
    text = text.strip()
    return len(text) <= SHORT and not _HEADING.search(text) and bool(_REFUSAL.match(text))


def breaks_off(body: str) -> bool:
    """Whether the text ends where no complete text ends: inside a code fence, on an empty heading or bullet, after a
    comma.

    A last line may end with a comma if the line before it does: lists are written like that.
    """
    lines = [line.strip() for line in body.splitlines() if line.strip()]
    if fences.open_behind(lines):
        return True
    last, before = lines[-1], lines[-2] if len(lines) > 1 else ""
    if _BARE.fullmatch(last):
        return True
    return last.endswith(OPEN_ENDS) and not before.endswith(last[-1])


def breaks_off_inside(body: str) -> bool:
    """Whether a model's text ends inside an unfinished table row, bold word or inline code.

    Only for text of a model that does not report why it stopped: quoted words may look like this on purpose.
    """
    lines = [line.strip() for line in body.splitlines() if line.strip()]
    last, before = lines[-1], lines[-2] if len(lines) > 1 else ""
    if last.startswith("|") and before.startswith("|") and before.endswith("|"):
        return not last.endswith("|")
    bold = re.match(r"(?:[-*•]\s+|\d+[.)]\s+)?\*\*[^*]*$", last)
    return bool(bold) or (last.count("`") % 2 == 1 and last[-1] not in ".!?。！？")
