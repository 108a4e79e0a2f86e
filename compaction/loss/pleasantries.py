"""Lines that only greet, thank or take leave.

Theory: a courtesy consists of nothing but the words of courtesies and the name of whom it addresses. A line with any
other word may say something ("Thank you for asking Priya"), so it counts.
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
    """Whether a line has nothing but names and the words of a courtesy."""
    if len(line.text) > _LONGEST or any(detail.kind != "name" for detail in line.details):
        return False
    return bool(_SIGNS.search(line.text)) and has_only_courtesies(line.rest() if line.details else line.text)
