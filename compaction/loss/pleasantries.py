"""Lines that only greet, thank or take leave.

Theory: a courtesy consists of nothing but the words of courtesies and the name of whom it addresses. A line with any
other word may say something ("Thank you for asking Priya"), so it counts.
"""

from __future__ import annotations

import re

from ..details.cjk import CJK
from ..sentences import set_of
from .statements import Statement

_LONGEST = 120  # characters of a courtesy
_SIGNS = re.compile(
    r"(?i)thank|thx|cheers|welcome|regards|hi|hello|hey|dear|good|bye|great|safe|happy|enjoy|dank|hallo|gruß|grüß|lieb|geehrte"
    r"|merci|bonjour|cordialement|gracias|hola|saludos|grazie|ciao|obrigad|olá|спасибо|здравствуйте|привет|уважаем"
    r"|谢谢|您好|你好|ありがとう|お世話|よろしく|감사|안녕|고맙"
)
_WORDS = set_of(
    """a all again and any anything are as at best bye care cheers day dear do else enjoy evening ever everything flight
    for forward from glad good goodbye great greetings happy have hello help helping here hey hi hope i in is it journey
    kind later let lot lovely luck many me morning mr mrs ms dr much my need nice of on our patience patient pleasant
    pleasure regards safe see so soon stay take team thank thanks thx the then there time to travel travels trip
    very warm we week weekend welcome wish wishes wonderful you your yours sincerely you're understanding
    vielen dank danke schön sehr herzlichen für ihre ihren deine hilfe geduld hallo guten tag morgen abend liebe lieber
    geehrte geehrter frau herr mit freundlichen grüßen grüße viele beste schönen
    merci beaucoup pour votre aide bonjour bonsoir bonne journée m mme mlle cher chère cordialement bien à vous
    gracias muchas por su tu ayuda hola buenos buenas días tardes sr sra estimado estimada saludos
    grazie mille ciao buongiorno obrigado obrigada muito olá спасибо большое здравствуйте привет добрый день уважаемый
    уважаемая с уважением"""
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_SPACELESS = re.compile(  # scripts in which a word is not what stands between spaces
    r"(?:谢谢您?|多谢|您好|你好|先生|女士|小姐|さん|様|ありがとうございま(?:す|した)|ありがとう|お世話になっております"
    r"|よろしくお願いいたします|よろしくお願いします|どうも|誠に|고객|님|씨|감사합니다|감사드립니다|고맙습니다|안녕하세요"
    r"|안녕히 계세요|대단히|정말|[\s、。，！!,.])+"  # noqa: RUF001
)


def is_courtesy(line: Statement) -> bool:
    """Whether a line has nothing but names and the words of a courtesy."""
    if len(line.text) > _LONGEST or any(detail.kind != "name" for detail in line.details):
        return False
    rest = line.rest() if line.details else line.text
    if CJK.search(rest) and _SPACELESS.fullmatch(rest):
        return True
    words = (word[0].casefold().replace("’", "'") for word in _WORD.finditer(rest))
    return all(word in _WORDS for word in words) and bool(_SIGNS.search(line.text))
