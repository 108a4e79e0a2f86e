"""Whether a message typed behind the agent's question answers it, or is somebody else's, about something else.

Theory: a desk takes one letter after another in one thread. A letter says whom it is from at its end, the agent's reply
at its start whom it is to. A letter about another order than the one talked of is no answer, whoever wrote it, unless
the agent asked which one; in a chat, where nobody signs, it is none if it asks something itself.
"""

from __future__ import annotations

import re

from .names import names_of, words_of

_LOOKED_AT = 400  # characters at either end of a message
_NAME = r"([^\W\d_a-zà-ÿ][^\W\d_]+(?:[ -][^\W\d_a-zà-ÿ][^\W\d_]+)?)"
_SIGNED = re.compile(  # no thanks: these may name the agent
    r"(?i:\b(?:best|(?:all the |my )?best wishes|(?:(?:best|kind|kindest|warm|warmest|many) )?(?:regards|greetings)"
    r"|sincerely|yours(?: (?:truly|sincerely|faithfully))?"
    r"|(?:(?:viele|liebe|beste|schöne|mit freundlichen) )?gr(?:ü|ue)(?:ß|ss)en?|gruß|(?:vriendelijke )?groet(?:en|jes)?"
    r"|cordialement|bien à vous|(?:un )?saludos?|cordiali saluti|abraços|atenciosamente"
    rf"|с уважением))[,.!]?\s*[–—-]?\s*{_NAME}\W*\Z"
)
_ADDRESSED = re.compile(
    r"\A\W*(?i:hello|hi|hey|dear|good (?:morning|afternoon|evening)|hallo|guten (?:tag|morgen|abend)|liebe[rs]?|beste"
    r"|bonjour|ch[eè]re?|hola|estimad[oa]|ciao|cara|caro|olá|здравствуйте|привет)(?:,? (?i:mr|mrs|ms|frau|herr)\.?)?,? "
    rf"{_NAME}\s*[,!.:–—]"
)
_ASKS_WHICH = re.compile(
    r"(?i)\b(?:which|number|ids?|code|reference|provide|confirm|order|reservation|booking|ticket|welche\w*|nummer|quel\w*"
    r"|num[eé]ro|cuál\w*|quale|qual|numero|како[йе]|номер)\b|哪|编号|号码|どの|番号|어느|번호"
)
_ANSWERS = re.compile(
    r"(?i)^\W*(?:yes|yeah|yep|yup|no|nope|sure|ok(?:ay)?|ja|nein|oui|non|s[ií]|sim|não|да|нет|please|go ahead)\b"
)


def is_no_answer(text: str, question: str, reply: str, opening: str) -> bool:
    """Whether what a person typed behind a question begins something else.

    `reply` is the message that asks, `opening` the request it is about.
    """
    signed, to = _SIGNED.search(text[-_LOOKED_AT:]), _ADDRESSED.match(reply[:_LOOKED_AT])
    before = to or _SIGNED.search(opening[-_LOOKED_AT:])
    if signed and before and signed[1].casefold() != before[1].casefold():
        return True
    if _ASKS_WHICH.search(question) or not (signed or (re.search(r"[?？]", text) and not _ANSWERS.match(text))):
        return False
    known, new = _ids(f"{opening}\n{reply}"), _ids(text)
    return bool(new) and not new & known and not {_shape(id_) for id_ in new}.isdisjoint(map(_shape, known))


def _ids(text: str) -> set[str]:
    return {name for word in words_of(text) for kind, name in names_of(word) if kind == "id"}


def _shape(id_: str) -> str:
    """Equal for ids of one kind: their marks and their length."""
    return re.sub(r"[^\W_]", "x", id_)
