"""Lines that only greet, thank or say goodbye.

Theory: a courtesy consists only of words of courtesy and the name of the person addressed. A line with any other word
may be informative ("Thank you for asking Priya"), so it counts.
"""

from __future__ import annotations

import re

from ..polite import has_only_courtesies
from .statements import Statement

_LONGEST = 120  # characters of a courtesy
_SIGNS = re.compile(
    r"(?i)thank|thx|cheers|welcome|regards|hi|hello|hey|dear|good|bye|great|safe|happy|enjoy|dank|hallo|gruß|grüß|lieb|geehrte"
    r"|merci|bonjour|cordialement|gracias|hola|saludos|grazie|ciao|obrigad|olá|спасибо|здравствуйте|привет|уважаем"
    r"|谢谢|您好|你好|ありがとう|お世話|よろしく|감사|안녕|고맙"
)


def is_courtesy(line: Statement) -> bool:
    """Whether a line has only names and words of courtesy."""
    if len(line.text) > _LONGEST or any(detail.kind != "name" for detail in line.details):
        return False
    return bool(_SIGNS.search(line.text)) and has_only_courtesies(line.rest() if line.details else line.text)
