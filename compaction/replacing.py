"""Whether a person's newer instruction replaces an older one: the same subject with another value, or the opposite.

Theory: three things are read from both: what they are about (content words), what they set (numbers, dates, one of
several choices such as tabs and spaces), and whether they forbid. The newer one replaces the older if both are about
the same and set it differently, if one forbids what the other allows, or if it names the old value ("spaces instead of
tabs"). If both may hold, both are kept: a rule lost by mistake is worse than one too many. Measured on the labelled
pairs of tests/data/replacements.tsv.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from .constraints import unframed
from .sentences import set_of

# Values of which one is chosen, by kind.
_CHOICES = {
    word: kind
    for kind, words in {
        "language": "english german french spanish italian portuguese dutch russian chinese japanese korean polish "
        "danish swedish turkish arabic hindi englisch deutsch französisch spanisch italienisch anglais allemand "
        "français espagnol italien inglés alemán francés español italiano portugués inglês alemão francês "
        "espanhol português inglese tedesco francese spagnolo engels duits frans spaans nederlands "
        "英语 英文 中文 日语 日本語 英語",
        "day": "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays "
        "saturdays sundays montag dienstag mittwoch donnerstag freitag samstag sonntag lundi mardi mercredi jeudi "
        "vendredi samedi dimanche lunes martes miércoles jueves viernes sábado domingo tomorrow",
        "part of a day": "mornings afternoons evenings nights vormittags nachmittags",
        "indent": "tabs spaces tabulatoren leerzeichen",
        "spelling": "british american",
        "units": "metric imperial celsius fahrenheit",
        "quotes": "single double",
        "tone": "formal informal casual",
        "length": "short brief concise long detailed",
        "currency": "eur usd gbp yen yuan",
        "brightness": "light dark",
        "access": "private public",
        "package manager": "npm pnpm yarn bun",
    }.items()
    for word in words.split()
}
_NUMBERS = {
    word: str(number)
    for number, word in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), start=1
    )
}
_MONTH = (
    r"(?:jan(?:uar[yi]?|vier)?|feb(?:ruar[yi]?)?|février|mar(?:ch|s|zo)?|märz|apr(?:il)?|avril|abril|may|mai|mayo|june?"
    r"|juni|juin|junio|july?|juli|juillet|julio|aug(?:ust)?|août|agosto|sep(?:t(?:ember|embre|iembre)?)?"
    r"|o[ck]t(?:ober|obre|ubre)?|nov(?:ember|embre|iembre)?|de[cz](?:ember|iembre)?|décembre)"
)
_VALUES = (  # what reads as one value, with its kind
    ("text", re.compile(r"[\"“„«]([^\"”“»]+)[\"”“»]")),
    ("time", re.compile(r"\b\d{1,2}(?::\d\d)? ?(?:[ap]\.?m\b\.?|uhr\b|o['’]clock)|\b\d{1,2}:\d\d\b")),
    ("date", re.compile(rf"\b\d{{1,2}}(?:st|nd|rd|th|\.)?(?: of| de)? {_MONTH}\b|\b{_MONTH} \d{{1,2}}\b|\d+月\d+日")),
)
_WHEN = r"(?= (?:\d|one|two|noon|midnight|\w+day\b))"
_BOUNDS = (
    ("most", r"under|below|within|up to|at most|(?:no|not) more than|(?:not|never) exceed\w*|max(?:imum)?|höchstens"),
    ("least", r"over|above|at least|(?:no|not) (?:less|fewer) than|min(?:imum)?|mindestens"),
    ("before", rf"(?:before|until|by|vor|avant|antes de|до){_WHEN}"),
    ("after", rf"(?:after|since|nach|après|después de|после){_WHEN}"),
)
_BOUND = re.compile("|".join(rf"(?P<{name}>\b(?:{words})(?!\w))" for name, words in _BOUNDS))
_INSTEAD_OF = re.compile(
    r"\b(?:instead of|rather than|in place of|statt|anstelle von|au lieu de|en vez de|вместо)\s+(.+)"
)
_SCOPE = re.compile(r"\b(?:in|for|on|when|at|during|für|bei|pour|dans|para)\s+")
_INSTEAD = re.compile(r"\b(?:instead|stattdessen|plutôt|en su lugar|invece|вместо этого)\b")
_CHANGED = re.compile(
    r"\b(?:now|instead|from now on|actually|after all|again|no longer|any ?more|changed?|moved?|raised?|lower(?:ed)?"
    r"|extend(?:ed)?|postponed?|switch(?:ed)?|increased?|reduced?|jetzt|stattdessen|maintenant|désormais|plutôt|ahora"
    r"|adesso|agora|теперь)\b|改(?:成|为|到|為)|现在|に変更|になりました"
)
_SETS = re.compile(r"\b(?:is|are|ist|sind|beträgt|est|es|è|é|starts?|begins?|ends?)\b|:|=|—|是|为|は")
_FORBIDS = re.compile(
    r"\b(?:not|cannot|dont|never|no|without|nicht|keine?[nrms]?|nie|niemals|ne|nunca|non|não|не|никогда|geen|niet)\b"
    r"|n['’]t\b|\bstop (?=\w+ing\b)|不要|别|不得|禁止|ないで|ません"
)
_MINE = re.compile(r"\b(?:i|we|ich|wir|je|nous|yo|я|мы)\b|[我私저]")
# Words that say nothing of the subject.
_EMPTY = set_of(
    """a an the this that these those it its my our your their his her i you we they me us and or but so then to of in
    on at for with from is are be been am was will would should must shall may can could do does have has had
    need want like let get use keep make please always ever just only s t d m ll re ve not don dont never no
    cannot without needn longer any more anymore now instead again actually stop allowed fine ok okay free there here
    go up down old change changed move moved raise raised lower lowered extend extended postpone postponed switch
    switched increase increased reduce reduced der die das den dem ein eine einen ist sind beträgt auf im um zu
    mit und nicht kein keine keinen nie niemals jetzt stattdessen bitte erlaubt verwende benutze nutze le la les
    un une de du des en est et ne pas maintenant désormais plutôt utilise el los las es y nunca ahora usa il lo
    di è e non adesso o os é não agora в на и не никогда теперь можно это het op"""
)
_ONE_NAME = {
    **dict.fromkeys(("reply", "respond", "response"), "answer"),
    **dict.fromkeys(("$", "dollar", "dollars"), "usd"),
    **dict.fromkeys(("€", "euro", "euros"), "eur"),
    **{"e-mail": "email", "£": "gbp", "pounds": "gbp", "元": "yuan", "円": "yen"},
}
_TOKEN = re.compile(
    r"日本語|\w[语文語]|[元円]|[^\W\d_v]\w*\d\w*|\d[\d.,]*\d|\d|[぀-ヿ一-鿿]+|[^\W\d_]+(?:-[^\W\d_]+)*|[$€£]"
)
_UNSPACED = re.compile("是|为|為|改[成为為到]|现在|变成|は|です|に変更|になりました|不要|别|请|吧")
_CLAUSES = re.compile(r"[,;—–]\s+|\s(?:but|and|aber|und|mais|pero)\s")


class _Instruction(NamedTuple):
    """The parts of an instruction that are compared."""

    about: frozenset[str]  # content words
    values: dict[str, tuple[str, ...]]  # by kind
    bounds: frozenset[str]  # of numbers: "most", "least", "before", "after"
    forbids: bool
    sets: bool  # says what something is: "the deadline is ..."
    changed: bool  # says that something is different now
    instead: bool  # says so of one thing in the place of another
    mine: bool  # says what somebody does: "I speak ..."
    instead_of: frozenset[str]  # what it names as no longer so


def replaced(older: str, newer: str) -> bool:
    """Whether an instruction no longer holds because the same person gave a newer one; False if both may hold."""
    before = _read(unframed(older))
    return any(_replaces(before, _read(piece)) for piece in _pieces(unframed(newer)))


def _pieces(text: str) -> Iterator[str]:
    """A text, and its clauses: one clause is enough to replace a whole older instruction."""
    yield text
    if len(clauses := _CLAUSES.split(text)) > 1:
        yield from clauses


def _replaces(old: _Instruction, new: _Instruction) -> bool:
    if new.instead_of:
        old_words = old.about.union(*old.values.values())
        return not old.forbids and new.instead_of <= old_words and new.about <= old_words
    if not (old.about or old.values):
        return False
    if new.instead and old.forbids == new.forbids and old.values == new.values:
        return bool(old.about & new.about) and len(old.about - new.about) == len(new.about - old.about) == 1
    if old.about != new.about:
        return False
    if old.forbids != new.forbids:
        return old.values == new.values and old.bounds == new.bounds
    both = old.values.keys() & new.values.keys()
    different = [kind for kind in both if old.values[kind] != new.values[kind]]
    if not different:
        return False
    if old.bounds and new.bounds and old.bounds != new.bounds:
        return False
    setting = old.sets or new.changed
    if len(different) > 1 or old.values.keys() - new.values.keys():
        return setting
    if different[0] in ("number", "time", "date"):
        return setting or not old.forbids or bool(old.bounds)
    return not old.forbids and (setting or not (old.mine or different[0] == "day"))


@lru_cache(maxsize=1 << 12)  # each instruction is compared with all newer ones
def _read(text: str) -> _Instruction:
    text = text.lower().replace("’", "'")
    main_part, instead_of, about = text, frozenset[str](), frozenset[str]()
    if match := _INSTEAD_OF.search(text):
        main_part = text[: match.start()]
        old_value, *scope = _SCOPE.split(match[1], maxsplit=1)
        instead_of = _about(old_value)[0].union(*_about(old_value)[1].values())
        about = frozenset().union(*(_about(phrase)[0] for phrase in (*_SCOPE.split(main_part)[1:], *scope)))
    bare = _BOUND.sub(" ", main_part)
    content, values = _about(bare)
    return _Instruction(
        about if match else content,
        values,
        frozenset(match.lastgroup or "" for match in _BOUND.finditer(main_part)),
        bool(_FORBIDS.search(bare)),
        bool(_SETS.search(main_part)),
        bool(_CHANGED.search(text)),
        bool(_INSTEAD.search(main_part)),
        bool(_MINE.search(main_part)),
        instead_of,
    )


def _about(text: str) -> tuple[frozenset[str], dict[str, tuple[str, ...]]]:
    """The content words of a text, and the values in it by kind."""
    values: dict[str, tuple[str, ...]] = {}
    for kind, pattern in _VALUES:
        if matches := pattern.findall(text):
            values[kind] = tuple(re.sub(r"[\s.]", "", one) for one in matches)
            text = pattern.sub(" ", text)
    content = set()
    sets = _SETS.search(text)
    for token in _TOKEN.finditer(_UNSPACED.sub(lambda match: " " * len(match[0]), text)):
        word = _ONE_NAME.get(token[0], token[0])
        number = _NUMBERS.get(word, word)
        if number[0].isdigit() and not (sets and token.end() <= sets.start()):  # else the subject's: "ticket 12 is"
            values["number"] = (*values.get("number", ()), number.replace(",", ""))
        elif word in _CHOICES:
            values[_CHOICES[word]] = (*values.get(_CHOICES[word], ()), word)
        elif word not in _EMPTY and (stem := _stem(word)) not in _EMPTY:
            content.add(_ONE_NAME.get(stem, stem))
    return frozenset(content), values


def _stem(word: str) -> str:
    if "а" <= word[0] <= "я":
        return word[:5]
    if word.endswith("ing") and len(word) > 5:
        return word[:-3]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word
